"""GPUs that are found: NVML's stand-in (testsuite/nvml) plays the machine."""

import contextlib
import json
import os
import pathlib
import stat
import subprocess

import pytest
from cluster import BIN, BUILD, ROOT, Cluster, Daemon, wait_until

STANDIN = BUILD / "testsuite/nvml"


class Machine:
    """A file that describes a machine, and the environment in which it is seen."""

    def __init__(self, path):
        self.path = path
        self.env = {"LD_LIBRARY_PATH": str(STANDIN), "NVML_STANDIN": str(path)}

    def set(self, *lines):
        new = self.path.with_suffix(".new")
        new.write_text("".join(line + "\n" for line in lines))
        new.rename(self.path)


def h100(i, more=""):
    return f'gpu uuid=GPU-{i} name="NVIDIA H100 80GB HBM3" pci=0:{16 + i:x}:0 minor={i} mem=81559 {more}'


def mig(gpu, i, profile="1g.10gb"):
    return f"mig gpu={gpu} gi={i} ci=0 uuid=MIG-{gpu}-{i} profile={profile} mem=9856"


@pytest.fixture
def machine(tmp_path):
    return Machine(tmp_path / "machine")


# --- gnoded --inventory ---------------------------------------------------------------------------

def inventory(machine, *options):
    return subprocess.run([BIN["gnoded"], "--inventory", *options], env=machine.env, text=True,
                          stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False)


def test_inventory(machine):
    machine.set(h100(0), h100(1), h100(2, "mig=1"), mig(2, 1), mig(2, 2), "link gpu=0 to=1", "link gpu=1 to=0")
    r = inventory(machine, "-N", "gpu04")
    assert r.returncode == 0 and not r.stderr
    assert "node:    gpu04\n" in r.stdout
    assert "gpus:    h100:2,1g.10gb:2\n" in r.stdout
    assert all(len(line) <= 80 for line in r.stdout.splitlines())
    r = inventory(machine, "--json")
    assert r.returncode == 0
    told = json.loads(r.stdout)
    assert told["version"] == 1 and told["driver"] == "550.54.15" and told["cuda"] == "12.4"
    assert [(g["uuid"], g["type"], g["host"]) for g in told["gpus"] if g["mig"] or not g["mig_mode"]] == \
        [("GPU-0", "h100", 0), ("GPU-1", "h100", 1), ("MIG-2-1", "1g.10gb", 2), ("MIG-2-2", "1g.10gb", 2)]
    assert told["gpus"][0]["nvlink_peers"] == [1]


def test_inventory_says_how_close_they_are(machine):
    """Two sockets, two GPUs under each switch, NVLinks between one pair: as nvidia-smi topo -m shows it."""
    machine.set(*(h100(i, f"path={i // 4}/0/{i // 2}/0") for i in range(4)), *(h100(i, "mig=1 path=1/0/0/0") for i in (4,)), mig(4, 1),
                *["link gpu=0 to=2", "link gpu=2 to=0"] * 4)
    r = inventory(machine)
    assert r.returncode == 0 and not r.stderr
    assert r.stdout.endswith("""
       GPU0  GPU1  GPU2  GPU3  GPU4
GPU0      X   PIX   NV4   PHB   SYS
GPU1    PIX     X   PHB   PHB   SYS
GPU2    NV4   PHB     X   PIX   SYS
GPU3    PHB   PHB   PIX     X   SYS
GPU4    SYS   SYS   SYS   SYS     X

  NV#   so many NVLinks
  PIX   a PCIe switch
  PHB   a host bridge
  SYS   the link between NUMA nodes

  gpu_near = [ "NV4:0,2", "PIX:0-1", "PIX:2-3", "PHB:0-3" ];
""")
    gpus = json.loads(inventory(machine, "--json").stdout)["gpus"]
    assert gpus[0]["near"] == "X,PIX,NV4,PHB,SYS"
    assert gpus[0]["nvlink_peers"] == [2] and gpus[0]["peer_nvlinks"] == [4]
    assert [g["pcie_groups"] for g in gpus] == [[0, 0, 0, 0], [0, 0, 0, 0], [0, 0, 2, 2], [0, 0, 2, 2], [4] * 4, [4] * 4]
    # What nobody knows is not shown as a table of nothing.
    machine.set(h100(0), h100(1))
    assert "GPU0" not in inventory(machine).stdout
    assert json.loads(inventory(machine, "--json").stdout)["gpus"][0]["near"] == "X,-"


EVERYTHING = (
    "driver version=550.54.15 cuda=12040",
    'gpu uuid=GPU-0 name="NVIDIA H100 80GB HBM3" pci=0:1b:0 minor=5 mem=81559 power=650',
    'gpu uuid=GPU-1 name="NVIDIA L40S" pci=0:{:x}:{:x} minor=4 mem=46068 power=350 ecc=0',
    'gpu uuid=GPU-2 name="NVIDIA H100 80GB HBM3" pci=0:2b:0 minor=7 mem=81559 mig=1 ecc=-1',
    "mig gpu=2 gi=3 ci=1 uuid=MIG-2-3 profile=3g.40gb mem=40192",
    "link gpu=0 to=2", "link gpu=2 to=0", "link gpu=1 to=switch")


def test_inventory_has_everything(machine):
    """Each property of a GPU, for people and for programs. One of them has the address of a device of this host's, for what is
    read in /sys."""
    near = next((p.parent for p in sorted(pathlib.Path("/sys/bus/pci/devices").glob("0000:*.0/local_cpulist")) if p.read_text().strip()), None)
    bus, device = (int(x, 16) for x in near.name[5:-2].split(":")) if near else (0x3b, 0)
    machine.set(*(line.format(bus, device) for line in EVERYTHING))
    told = json.loads(inventory(machine, "--json").stdout)
    assert (told["driver"], told["cuda"], told["asked"], told["trouble"]) == ("550.54.15", "12.4", True, "")
    of = {g["uuid"]: g for g in told["gpus"]}
    want = {
        "GPU-0": {"type": "h100", "mem_mb": 81559, "pci": "0000:1b:00.0", "minor": 5, "mig": False, "mig_mode": False, "ecc": "on",
                  "power_w": 650, "nvlinks": 1, "nvlink_peers": [of["GPU-2"]["host"]], "numa": -1, "name": "NVIDIA H100 80GB HBM3"},
        "GPU-1": {"type": "l40s", "mem_mb": 46068, "minor": 4, "ecc": "off", "power_w": 350, "nvlinks": 1, "nvlink_peers": []},
        "GPU-2": {"mig_mode": True, "mig": False, "ecc": "none", "minor": 7, "nvlink_peers": [of["GPU-0"]["host"]]},
        "MIG-2-3": {"type": "3g.40gb", "mem_mb": 40192, "mig": True, "gpu_instance": 3, "compute_instance": 1, "minor": 7,
                    "host": of["GPU-2"]["host"], "pci": "0000:2b:00.0"}}
    if near:
        want["GPU-1"].update(pci=near.name, numa=int((near / "numa_node").read_text()), cpus=(near / "local_cpulist").read_text().strip())
    for uuid, values in want.items():
        assert {k: of[uuid][k] for k in values} == values, uuid
    text = inventory(machine).stdout
    assert "driver:  550.54.15, CUDA 12.4\n" in text and "h100:1" in text and "3g.40gb:1" in text
    line = next(x for x in text.splitlines() if "0000:1b:00.0" in x).split()
    assert line[1:3] == [str(of["GPU-0"]["host"]), "h100"] and line[-4:] == ["-", "on", "650W", str(of["GPU-2"]["host"])]
    assert "/dev/nvidia5\n" in text and "/dev/nvidia7  instance 3/1\n" in text
    assert not near or f"/dev/nvidia4  CPUs {want['GPU-1']['cpus']}\n" in text


def test_inventory_of_device_files(machine):
    """Of makers whose library is not known: the files that the site names."""
    machine.env["LD_LIBRARY_PATH"] = ""
    r = inventory(machine, "--gpu-devices=/dev/null")
    assert r.returncode == 0 and "\n0    /dev/null  (c 1:3)\n" in r.stdout
    files = f"{machine.path.parent}/gpu[0-1]"
    (machine.path.parent / "gpu1").touch()
    r = inventory(machine, "--gpu-devices", files)
    assert r.returncode == 1
    assert r.stdout.count("trouble: ") == 2 and "gpu0': No such file or directory" in r.stdout and "gpu1' is no device file" in r.stdout
    told = json.loads(inventory(machine, "--json", "--gpu-devices", files).stdout)
    assert [(f["index"], bool(f["trouble"])) for f in told["files"]] == [(0, True), (1, True)]
    told = json.loads(inventory(machine, "--json", "--gpu-devices=/dev/null").stdout)
    assert told["files"] == [{"index": 0, "path": "/dev/null", "major": 1, "minor": 3, "trouble": ""}]
    r = inventory(machine, "--gpu-devices=gpu0")
    assert r.returncode == 2 and "expected paths of device files" in r.stderr
    r = inventory(machine, "--gpu-devices=/dev/null,/dev/zero")
    assert r.returncode == 2 and "expected files of one folder, as in /dev/dri/renderD[128,136]" in r.stderr


def test_inventory_where_containers_have_the_library(machine):
    """/usr/local/nvidia/lib64, of which LD_LIBRARY_PATH alone tells where nobody has told the dynamic linker."""
    mounts = "mount -t tmpfs nvidia /usr/local && mkdir -p /usr/local/nvidia/lib64 && cp {}/libnvidia-ml.so.1 /usr/local/nvidia/lib64"
    if not ROOT or str(BUILD).startswith("/usr/local") or subprocess.run(["unshare", "-m", "true"], check=False, capture_output=True).returncode:
        pytest.skip("needs root and mounts")
    machine.set(h100(0))
    del machine.env["LD_LIBRARY_PATH"]
    r = subprocess.run(["unshare", "-m", "sh", "-c", f'{mounts.format(STANDIN)} && exec "$0" --inventory', BIN["gnoded"]],
                       env={**os.environ, **machine.env}, capture_output=True, text=True, check=False)
    assert r.returncode == 0 and "gpus:    h100:1\n" in r.stdout, r.stdout + r.stderr


def test_inventory_in_trouble(machine):
    machine.set(h100(0), h100(1), "hang call=nvmlDeviceGetUUID gpu=1")
    r = inventory(machine, "--gpu-timeout=300ms")
    assert r.returncode == 1
    assert "gpus:    h100:1\n" in r.stdout
    assert "trouble: nvmlDeviceGetUUID does not come back" in r.stdout
    machine.set(h100(0), "fail call=nvmlInit result=999")
    r = inventory(machine)
    assert r.returncode == 1
    assert "trouble: nvmlInit: Unknown Error" in r.stdout
    assert json.loads(inventory(machine, "--json").stdout)["trouble"] == "nvmlInit: Unknown Error"


def test_inventory_without(machine):
    machine.env["LD_LIBRARY_PATH"] = ""
    r = inventory(machine)
    assert r.returncode == 0
    assert "gpus:    none\n" in r.stdout
    r = subprocess.run([BIN["gnoded"], "--json"], text=True, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                       stderr=subprocess.PIPE, check=False)
    assert r.returncode == 2 and "--json goes with --inventory" in r.stderr


# --- whole clusters -------------------------------------------------------------------------------

PRINT = 'echo "$CUDA_VISIBLE_DEVICES $GPUSCHED_GPUS $GPUSCHED_GPU_UUIDS"'


TYPES = "gpu_types = ( " + ", ".join(f'{{ name = "{t}"; mem = "{m}G"; }}' for t, m in
                                     (("h100", 80), ("1g.10gb", 10), ("3g.40gb", 40))) + " );"


@contextlib.contextmanager
def cluster(machine, gpus, valid=True, keys=""):
    """A cluster of one node that has that machine."""
    node_conf = f'nodes = ( {{ name = "gpu04"; gpus = "{gpus}"; {keys} }} );'
    with Cluster(nodes=("gpu04",), start=False, hardware=f"{TYPES}\n{node_conf}") as c:
        c.start_munged()
        c.start_ctld()
        start_agent(c, machine)
        if valid:
            c.wait_nodes()
        yield c


def start_agent(c, machine):
    c.start_agent("gpu04", "--gpu-recheck=1s", "--gpu-timeout=1s", env=machine.env)


def node(c):
    return json.loads(c.run("ginfo", "-N", "--json").stdout)["nodes"][0]


def wait_note(c, note):
    return wait_until(lambda: node(c)["gpu_note"] == note, f"'{note}' instead of '{node(c)['gpu_note']}'")


def output(c, job):
    c.wait_state(job, "COMPLETED")
    return (c.dir / f"jobs/gpusched-{job}.out").read_text().strip()


def cuda(c, hosts):
    """What CUDA_VISIBLE_DEVICES is for these: under a device filter numbers begin at 0."""
    filtered = "devices" in node(c)["containment"].split(",")
    return ",".join(str(i) for i in range(len(hosts.split(",")))) if filtered else hosts


# Files that stand for NVIDIA's: no driver has the number here, so what is granted fails with ENXIO.
DEVICES = r"""python3 -c 'import os
for f in sorted(os.listdir("{dev}")):
    try: os.open("{dev}/" + f, os.O_RDWR)
    except OSError as e: print(f, e.errno)'"""


def test_found_gpus_switch_the_filter_on(machine):
    machine.set(h100(1).replace("minor=1", "minor=5"), h100(0).replace("minor=0", "minor=4"))
    with cluster(machine, "h100:2") as c:
        if "devices" not in node(c)["containment"].split(","):
            pytest.skip("no device filter without root")
        dev = c.dir / "dev"
        dev.mkdir(mode=0o755)
        for i in range(4, 7):
            os.mknod(dev / str(i), stat.S_IFCHR | 0o666, os.makedev(195, i))
            (dev / str(i)).chmod(0o666)
        assert output(c, c.submit(DEVICES.format(dev=dev), "--gpus=h100:1")) == "4 6\n5 1\n6 1"
        assert output(c, c.submit(DEVICES.format(dev=dev))) == "4 1\n5 1\n6 1"


def test_found_and_bound(machine):
    machine.set(h100(3), h100(1), h100(2), h100(0))
    with cluster(machine, "h100:4") as c:
        assert node(c)["gpu_note"] == ""
        held = c.submit("while [ ! -e go ]; do sleep 0.05; done", "--gpus=h100:1")
        c.wait_state(held, "RUNNING")
        # Bound in the order of PCI addresses.
        assert output(c, c.submit(PRINT, "--gpus=h100:2")) == f"{cuda(c, '1,2')} 1,2 GPU-1,GPU-2"
        (c.dir / "jobs/go").touch()
        c.wait_state(held, "COMPLETED")


def test_mig_by_uuid(machine):
    machine.set(h100(0), h100(1, "mig=1"), mig(1, 1), mig(1, 2))
    with cluster(machine, "h100:1,1g.10gb:2") as c:
        assert node(c)["gpu_note"] == ""
        assert output(c, c.submit(PRINT, "--gpus=1g.10gb:2")) == \
            "MIG-1-1,MIG-1-2 MIG-1-1,MIG-1-2 MIG-1-1,MIG-1-2"
        assert output(c, c.submit(PRINT, "--gpus=h100:1")) == "0 0 GPU-0"


def test_close_together(machine):
    """Two sockets, on each two switches with two GPUs: a job gets a pair under one switch, four of one socket, also where others are
    taken, and after a restart; a job of one takes what is left of a switch."""
    machine.set(*[h100(i, f"path={i // 4}/{i // 2}/0/0") for i in range(8)])
    hold = "while [ ! -e go$GPUSCHED_JOB_ID ]; do sleep 0.05; done"
    with cluster(machine, "h100:8") as c:
        def held(n):
            job = c.submit(hold, f"--gpus=h100:{n}")
            c.wait_state(job, "RUNNING")
            return job

        def free(job):
            (c.dir / f"jobs/go{job}").touch()
            c.wait_state(job, "COMPLETED")

        def gpus(job):
            listed = json.loads(c.run("ginfo", "--gpus", "--json").stdout)["nodes"][0]["devices"]
            return [g["index"] for g in listed if any(r["job"] == job for r in g["runs"])]

        assert gpus(first := held(1)) == [0]
        assert gpus(pair := held(2)) == [2, 3]
        assert gpus(four := held(4)) == [4, 5, 6, 7]
        assert gpus(last := held(1)) == [1]
        free(pair)
        free(first)
        free(four)
        c.ctld.stop()
        c.start_ctld()
        c.wait_nodes()
        assert gpus(first := held(1)) == [0]  # 1 is taken: no pair is broken up
        assert gpus(held(3)) == [4, 5, 6]  # of one socket, though 2 and 3 are a pair
        assert gpus(held(2)) == [2, 3]
        shown = c.run("gctl", "show", "node", "gpu04").stdout
        assert "\nGPU2   NODE  NODE     X   PIX   SYS   SYS   SYS   SYS\n" in shown and "\n  PIX   a PCIe switch\n" in shown
        assert "\ngpu04:7    SYS,SYS,SYS,SYS,NODE,NODE,PIX,X\n" in c.run("ginfo", "--gpus", "-o", "GPU,NEAR").stdout
        free(last)


def linked(gpus, *but):
    """All of them have two NVLinks to each other, but those."""
    return [h100(i, f"path=0/0/{i}/0") for i in range(gpus)] + [
        f"link gpu={a} to={b}" for a in range(gpus) for b in range(gpus) if a != b and (a, b) not in but for _ in range(2)]


def test_close_as_demanded(machine):
    """What --inventory prints is taken as it is; the GPU whose links are down is left out until they are back."""
    machine.set(*linked(4))
    key = next(line for line in inventory(machine).stdout.splitlines() if "gpu_near" in line)
    assert key == '  gpu_near = [ "NV2:0-3", "PHB:0-3" ];'
    with cluster(machine, "h100:4", keys=key) as c:
        wait_note(c, "")
        machine.set(*linked(4, (2, 0), (2, 1), (2, 3), (0, 2), (1, 2), (3, 2)))
        wait_note(c, "3 of 4 h100, GPU-2: NV2 to GPU 0 wanted, PHB found")
        assert output(c, c.submit(PRINT, "--gpus=h100:3")).endswith("GPU-0,GPU-1,GPU-3")
        wide = c.submit(PRINT, "--gpus=h100:4")
        assert "trouble" in c.run("ginfo", "--gpus", "-o", "GPU,STATE,REASON").stdout
        assert c.state(wide) == "PENDING"
        machine.set(*linked(4))
        wait_note(c, "")
        c.wait_state(wide, "COMPLETED")


def test_close_as_written():
    """Without hardware, as written: jobs get a pair, and everybody can see why."""
    with Cluster(nodes=("n1",), hardware=TYPES + '\nnodes = ( { name = "n1"; gpus = "h100:4"; gpu_near = [ "NV4:0,2", "NV4:1,3" ]; } );') as c:
        held = c.submit("while [ ! -e go ]; do sleep 0.05; done", "--gpus=h100:2")
        c.wait_state(held, "RUNNING")
        listed = json.loads(c.run("ginfo", "--gpus", "--json").stdout)["nodes"][0]["devices"]
        assert [g["index"] for g in listed if g["runs"]] == [0, 2]
        assert "\nGPU0      X     -   NV4     -\n" in c.run("gctl", "show", "node", "n1").stdout
        assert 'gpu_near = [ "NV4:0,2", "NV4:1,3" ]' in c.run("gctl", "show", "config").stdout
        # one of the other pair goes: no pair is left for who wants one
        single = c.submit("while [ ! -e go ]; do sleep 0.05; done", "--gpus=h100:1")
        c.wait_state(single, "RUNNING")
        refused = c.run("gsubmit", "--gpus=h100:3", "--gpu-link=nvlink", "--wrap", "true", check=False)
        assert refused.returncode and "--gpu-link=nvlink: no node of " in refused.stderr and "so close to each other" in refused.stderr
        refused = c.run("gsubmit", "--gpus=h100:2", "--gpu-link=fast", "--wrap", "true", check=False)
        assert refused.returncode == 2 and "--gpu-link=fast: must be nvlink, pcie, numa or any" in refused.stderr
        pair, other = (c.submit("true", "--gpus=h100:2", "--gpu-link=nvlink", "--time=1:00:00") for _ in range(2))
        why = c.run("gqueue", "--why", str(pair)).stdout
        assert "It needs GPUs linked by nvlink or closer." in " ".join(why.split())
        c.run("gctl", "update", str(other), "--gpus=h100:1", "--gpu-link=any")
        c.wait_state(other, "COMPLETED")
        assert c.state(pair) == "PENDING"
        asked = json.loads(c.run("gqueue", "--json").stdout)["jobs"]
        assert [j["gpu_link"] for j in asked if j["id"] == pair] == ["nvlink"]
        (c.dir / "jobs/go").touch()
        for job in (held, pair):
            c.wait_state(job, "COMPLETED")


def test_taken_as_found(machine):
    """Nobody has written what the node has: neither GPUs nor their types."""
    machine.set(h100(0), h100(1, "mig=1"), mig(1, 1), mig(1, 2),
                'gpu uuid=GPU-9 name="NVIDIA Odd 9000" pci=0:20:0 minor=9 mem=8192')
    hardware = 'gpu_types = ( { name = "big"; match = "NVIDIA H100*"; } );\nnodes = ( { name = "gpu04"; } );'
    with Cluster(nodes=("gpu04",), start=False, hardware=hardware) as c:
        c.start_munged()
        c.start_ctld()
        start_agent(c, machine)
        c.wait_nodes()
        wait_until(lambda: [(g["type"], g["total"]) for g in node(c)["gpus"]] ==
                   [("big", 1), ("1g.10gb", 2), ("odd-9000", 1)], "what the node has")
        assert node(c)["gpu_note"] == ""
        jobs = [c.submit(PRINT, f"--gpus={g}") for g in ("big:1", "1g.10gb:2", "odd-9000:1")]
        assert [output(c, j).split()[-1] for j in jobs] == ["GPU-0", "MIG-1-1,MIG-1-2", "GPU-9"]


def test_fewer_than_demanded(machine):
    machine.set(*[h100(i) for i in range(7)])
    with cluster(machine, "h100:8") as c:
        assert node(c)["gpu_note"] == "7 of 8 h100"
        assert node(c)["state"] == "idle"
        wide = c.submit("true", "--gpus=h100:8")
        assert output(c, c.submit(PRINT, "--gpus=h100:7")).startswith("0,1,2,3,4,5,6 ")
        assert c.state(wide) == "PENDING"
        machine.set(*[h100(i) for i in range(8)])
        c.wait_state(wide, "COMPLETED")


def test_vanishing(machine):
    """A GPU goes while jobs run: its neighbours keep their numbers, jobs go on, it comes back."""
    machine.set(*[h100(i) for i in range(4)])
    with cluster(machine, "h100:4") as c:
        held = c.submit("while [ ! -e go ]; do sleep 0.05; done; " + PRINT, "--gpus=h100:4")
        c.wait_state(held, "RUNNING")
        machine.set(h100(0), h100(2), h100(3))
        wait_note(c, "3 of 4 h100, GPU-1 missing")
        assert "GPU-1 missing" in c.run("ginfo", "-N", "-o", "NODE,REASON").stdout
        assert c.state(held) == "RUNNING"
        (c.dir / "jobs/go").touch()
        assert output(c, held) == "0,1,2,3 0,1,2,3 GPU-0,GPU-1,GPU-2,GPU-3"
        # CUDA counts those that are there.
        assert output(c, c.submit(PRINT, "--gpus=h100:3")) == "0,1,2 0,1,2 GPU-0,GPU-2,GPU-3"
        for again in (c.agents["gpu04"], c.ctld):
            again.stop()
        c.start_ctld()
        start_agent(c, machine)
        c.wait_nodes()
        wait_note(c, "3 of 4 h100, GPU-1 missing")
        machine.set(*[h100(i) for i in range(4)])
        wait_note(c, "")
        assert output(c, c.submit(PRINT, "--gpus=h100:4")) == "0,1,2,3 0,1,2,3 GPU-0,GPU-1,GPU-2,GPU-3"


def test_one_in_trouble(machine):
    """A GPU that hangs NVML: the others are given, the agent lives."""
    machine.set(h100(0), h100(1), "hang call=nvmlDeviceGetMemoryInfo gpu=0")
    with cluster(machine, "h100:2") as c:
        assert node(c)["gpu_note"] == "1 of 2 h100, a GPU: nvmlDeviceGetMemoryInfo does not come back"
        assert output(c, c.submit(PRINT, "--gpus=h100:1")) == f"{cuda(c, '1')} 1 GPU-1"
        machine.set(h100(0), h100(1), "crash call=nvmlDeviceGetName gpu=1")
        wait_note(c, "1 of 2 h100, GPU-1 drained: nvmlDeviceGetName crashes, a GPU: nvmlDeviceGetName crashes")
        assert output(c, c.submit(PRINT, "--gpus=h100:1")) == "0 0 GPU-0"


def test_slow(machine):
    """A driver that takes its time: everything is found, and nobody waits for it but who needs a GPU. One that is slower than a look
    may take is as one that hangs."""
    slow = (h100(0), h100(1), "slow call=* ms=3")
    machine.set(*slow)
    r = inventory(machine)
    assert r.returncode == 0 and "gpus:    h100:2\n" in r.stdout
    machine.set(h100(0), h100(1), "slow call=* ms=60")
    r = inventory(machine, "--gpu-timeout=100ms")
    assert r.returncode == 1 and "does not come back" in r.stdout
    machine.set(*slow)
    with cluster(machine, "h100:2") as c:
        assert node(c)["gpu_note"] == ""
        assert output(c, c.submit(PRINT, "--gpus=h100:2")).endswith(" GPU-0,GPU-1")
        held = c.submit("while [ ! -e go ]; do sleep 0.05; done; " + PRINT, "--gpus=h100:1")
        c.wait_state(held, "RUNNING")
        machine.set(h100(0), h100(1), *(f"slow call=nvmlDeviceGet{what} ms=900 gpu=1" for what in ("UUID", "Name")))
        wait_until(lambda: "GPU-1 drained: nvmlDeviceGet" in node(c)["gpu_note"], lambda: f"a look to be given up: {node(c)['gpu_note']}")
        assert output(c, c.submit("echo quick")) == "quick"  # who needs none
        (c.dir / "jobs/go").touch()
        assert output(c, held).endswith(" GPU-0")
        machine.set(*slow)
        wait_note(c, "")


def test_none_can_be_asked(machine):
    machine.set(h100(0), "fail call=nvmlInit result=999")
    with cluster(machine, "h100:1", valid=False) as c:
        wait_until(lambda: node(c)["state"] == "invalid", "the node to be invalid")
        assert node(c)["reason"] == "GPUs: nvmlInit: Unknown Error"
        job = c.submit(PRINT, "--gpus=h100:1")
        machine.set(h100(0))
        assert output(c, job) == "0 0 GPU-0"
        events = json.loads(c.run("gctl", "events", "--json", "--kind=node.invalid").stdout)["events"]
        assert [e["text"] for e in events] == ["GPUs: nvmlInit: Unknown Error", "no longer: GPUs: nvmlInit: Unknown Error"]


def test_inventory_stays_a_table(machine):
    """Names as long as can be, limits of power that are not known, and GPUs that cannot be asked."""
    machine.set(h100(0), f'gpu uuid=GPU-1 name="NVIDIA {"Long " * 10}Edition" pci=0:40:0 minor=1 mem=81559', h100(2, "lost=1"))
    r = inventory(machine)
    table = r.stdout[r.stdout.index("SLOT"):].splitlines()
    rows = [x for x in table if not x.startswith(" ")]
    assert len(rows) == 4 and len({len(x[:x.rindex("  ")]) for x in rows}) == 1 and "0W" not in r.stdout.replace("00W", "")
    machine.set("fail call=nvmlInit result=999")
    r = inventory(machine)
    assert r.returncode == 1 and "driver:  not known\ngpus:    not known\ntrouble: nvmlInit: Unknown Error\n" in r.stdout


def test_layout_changed(machine):
    """Another MIG layout under a running job: its instance is given to nobody else."""
    machine.set(h100(0, "mig=1"), mig(0, 1), mig(0, 2), mig(0, 3))
    with cluster(machine, "1g.10gb:3") as c:
        held = c.submit("while [ ! -e go ]; do sleep 0.05; done; " + PRINT, "--gpus=1g.10gb:1")
        c.wait_state(held, "RUNNING")
        machine.set(h100(0, "mig=1"), mig(0, 1), mig(0, 9, "3g.40gb"))
        wait_note(c, "1 of 3 1g.10gb, MIG-0-2 missing, MIG-0-3 missing, 1 3g.40gb not configured (MIG-0-9)")
        wait = c.submit(PRINT, "--gpus=1g.10gb:1")
        (c.dir / "jobs/go").touch()
        assert output(c, held) == "MIG-0-1 MIG-0-1 MIG-0-1"
        assert output(c, wait) == "MIG-0-1 MIG-0-1 MIG-0-1"


def layout(*groups):
    return "mig = ( " + ", ".join(f'{{ gpus = "{g}"; layout = "{what}"; }}' for g, what in groups) + " );"


MIG_TYPES = """gpu_types = ( { name = "h100"; mem = "80G"; }, { name = "1g.10gb"; mem = "10G"; mig_of = "h100"; },
{ name = "3g.40gb"; mem = "40G"; mig_of = "h100"; } );"""


@contextlib.contextmanager
def cut(machine, demanded):
    """A cluster of one node of which that is demanded."""
    with Cluster(nodes=("gpu04",), start=False,
                 hardware=f'{MIG_TYPES}\nnodes = ( {{ name = "gpu04"; {demanded} }} );') as c:
        c.start_munged()
        c.start_ctld()
        start_agent(c, machine)
        c.wait_nodes()
        yield c


def test_layout_demanded(machine):
    """Two GPUs cut as demanded and a whole one; one cut otherwise under a running job, and back."""
    whole = h100(2)
    as_demanded = [h100(0, "mig=1"), mig(0, 1), mig(0, 2), h100(1, "mig=1"), mig(1, 1), mig(1, 2), whole]
    machine.set(*as_demanded)
    with cut(machine, layout(("0-1", "1g.10gb:2"))) as c:
        wait_until(lambda: [(g["type"], g["free"]) for g in node(c)["gpus"]] == [("1g.10gb", 4), ("h100", 1)],
                   "four instances and the GPU that nothing is said of")
        assert node(c)["gpu_note"] == ""
        held = c.submit("while [ ! -e go ]; do sleep 0.05; done; " + PRINT, "--gpus=1g.10gb:1")
        c.wait_state(held, "RUNNING")
        machine.set(h100(0, "mig=1"), mig(0, 1), mig(0, 9, "3g.40gb"), *as_demanded[3:])
        wait_note(c, "2 of 4 1g.10gb, GPU 0: 1g.10gb:2 wanted, 1g.10gb:1,3g.40gb:1 found")
        assert c.state(held) == "RUNNING"
        assert [g["state"] for g in gpus(c)] == ["trouble", "trouble", "free", "free", "free"]
        assert gpus(c)[1]["reason"] == "GPU 0: 1g.10gb:2 wanted, 1g.10gb:1,3g.40gb:1 found"
        assert output(c, c.submit(PRINT, "--gpus=1g.10gb:2")).endswith(" MIG-1-1,MIG-1-2")
        wide = c.submit(PRINT, "--gpus=1g.10gb:3")
        (c.dir / "jobs/go").touch()
        assert output(c, held).endswith(" MIG-0-1")
        assert c.state(wide) == "PENDING"
        machine.set(*as_demanded)
        assert output(c, wide).endswith(" MIG-0-1,MIG-0-2,MIG-1-1")
        assert node(c)["gpu_note"] == ""
        assert output(c, c.submit(PRINT, "--gpus=h100:1")).endswith(" GPU-2")


def test_layout_reloaded(machine):
    """Another layout is written while a job holds an instance; the GPU is cut so when it has ended."""
    machine.set(h100(0, "mig=1"), mig(0, 1), mig(0, 2), h100(1, "mig=1"), mig(1, 1), mig(1, 2))
    with cut(machine, layout(("0-1", "1g.10gb:2"))) as c:
        held = c.submit("while [ ! -e go ]; do sleep 0.05; done; " + PRINT, "--gpus=1g.10gb:1")
        c.wait_state(held, "RUNNING")
        c.write_conf(c.conf_text().replace(layout(("0-1", "1g.10gb:2")),
                                           layout(("0", "3g.40gb:2"), ("1", "1g.10gb:2"))))
        said = c.run("gctl", "reconfigure").stdout
        assert "nodes.gpu04.mig 0-1 1g.10gb:2 -> 0 3g.40gb:2, 1 1g.10gb:2" in said
        wait_until(lambda: "GPU 0: 3g.40gb:2 wanted, 1g.10gb:2 found" in node(c)["gpu_note"], "the difference")
        later = c.submit(PRINT, "--gpus=3g.40gb:2")
        assert output(c, c.submit(PRINT, "--gpus=1g.10gb:2")).endswith(" MIG-1-1,MIG-1-2")
        assert c.state(held) == "RUNNING"
        (c.dir / "jobs/go").touch()
        assert output(c, held).endswith(" MIG-0-1")
        machine.set(h100(0, "mig=1"), mig(0, 8, "3g.40gb"), mig(0, 9, "3g.40gb"), h100(1, "mig=1"), mig(1, 1),
                    mig(1, 2))
        assert output(c, later).endswith(" MIG-0-8,MIG-0-9")
        wait_note(c, "")
        assert sorted((g["type"], g["total"]) for g in node(c)["gpus"]) == [("1g.10gb", 2), ("3g.40gb", 2)]


def test_jobs_on_instances(machine):
    """All the ways to ask for MIG instances, what they cost, and what limits them."""
    machine.set(h100(0, "mig=1"), *[mig(0, i) for i in range(4)], mig(0, 4, "3g.40gb"), h100(1))
    types = MIG_TYPES.replace('mem = "10G";', 'mem = "10G"; price = 0.5;')
    hardware = f'{types}\nnodes = ( {{ name = "gpu04"; {layout(("0", "1g.10gb:4,3g.40gb:1"))} }} );'
    policy = """accounts = ( { name = "lab"; quota = { guaranteed = "1g.10gb:2"; limit = "1g.10gb:3"; }; },
{ name = "few"; per_job = { gpus = "1g.10gb:1,any:2"; }; } ); default_account = "lab";"""
    with Cluster(nodes=("gpu04",), start=False, hardware=hardware, policy=policy) as c:
        c.start_munged()
        c.start_ctld()
        start_agent(c, machine)
        c.wait_nodes()
        wait_until(lambda: len(node(c)["gpus"]) == 3, "the GPU that is not cut")
        asked = {"--gpus=1g.10gb:2": "MIG-0-0,MIG-0-1", "--gpus-per-node=3g.40gb:1": "MIG-0-4",
                 "--gres=gpu:1g.10gb:2": "MIG-0-0,MIG-0-1", "--gpus=3g.40gb:2|h100:1": "GPU-1",
                 "--gpus=1g.10gb:1|h100:1": "MIG-0-0"}
        for option, given in asked.items():
            assert output(c, c.submit(PRINT, option)).split()[-1] == given, option
        assert output(c, c.submit(PRINT, "--gpus=1", "--gpu-mem-min=30G")).split()[-1] in ("MIG-0-4", "GPU-1")
        assert output(c, c.submit(PRINT, "--gpus=1", "--gpu-mem-min=60G")).split()[-1] == "GPU-1"
        assert output(c, c.submit(PRINT, "--gpus=any:3")).split()[-1] == "MIG-0-0,MIG-0-1,MIG-0-2"
        script = c.dir / "jobs/script.sh"
        script.write_text(f"#!/bin/bash\n#SBATCH --gres=gpu:1g.10gb:2\n{PRINT}\n")
        job = c.run("gsubmit", "--parsable", "--output=gpusched-%j.out", script, cwd=c.dir / "jobs").stdout.strip()
        assert output(c, int(job)).split()[-1] == "MIG-0-0,MIG-0-1"

        r = c.run("gsubmit", "-A", "few", "--gpus=1g.10gb:2", "--wrap", "true", check=False)
        assert r.returncode == 1 and "1g.10gb:1" in r.stderr
        r = c.run("gsubmit", "--gpus=1g.10gb:5", "--wrap", "true", check=False)
        assert r.returncode == 1 and "1g.10gb:4" in r.stderr
        held = [c.submit("while [ ! -e go ]; do sleep 0.05; done", f"--gpus=1g.10gb:{n}") for n in (2, 2)]
        c.wait_state(held[0], "RUNNING")
        wait_until(lambda: "1g.10gb:3" in c.run("gqueue", "--why", held[1]).stdout, "the quota to be named")
        told = c.run("gsubmit", "--test-only", "--gpus=1g.10gb:1", "--time=60", "--wrap", "true").stdout
        assert "up to 0.50" in told, told
        (c.dir / "jobs/go").touch()
        for job in held:
            c.wait_state(job, "COMPLETED")


def test_layout_of_simulated_nodes():
    """Agents that have no hardware have what is demanded."""
    with Cluster(nodes=("m1", "m2"), start=False, hardware=f"""{MIG_TYPES}
nodes = ( {{ name = "m[1-2]"; cpus = 8; gpus = "h100:1"; {layout(("0", "1g.10gb:7"), ("1", "3g.40gb:2"))} }} );""") as c:
        c.start_munged()
        c.start_ctld()
        waits = c.submit("true", "--gpus=3g.40gb:2")
        c.agents["simulated"] = Daemon("gnoded --simulate", [BIN["gnoded"], "--simulate=0", "--nodes=m[1-2]"],
                                       c.dir / "log/simulate.log", c.env)
        wait_until(lambda: c.state(waits) != "PENDING", "a start on what only the configuration has")
        told = json.loads(c.run("ginfo", "-N", "--json").stdout)["nodes"][0]
        assert [(g["type"], g["total"]) for g in told["gpus"]] == [("h100", 1), ("1g.10gb", 7), ("3g.40gb", 2)]


def test_configured_without_hardware(machine):
    machine.env["LD_LIBRARY_PATH"] = ""
    with cluster(machine, "h100:2") as c:
        assert node(c)["gpu_note"] == ""
        assert output(c, c.submit(PRINT, "--gpus=h100:2")) == "0,1 0,1"  # no UUIDs


def gpus(c):
    told = json.loads(c.run("ginfo", "--gpus", "gpu04", "--json").stdout)
    return told["nodes"][0]["devices"]


def test_drained_one_by_one(machine):
    machine.set(*[h100(i) for i in range(3)])
    with cluster(machine, "h100:3") as c:
        held = c.submit("while [ ! -e go ]; do sleep 0.05; done", "--gpus=h100:1")
        c.wait_state(held, "RUNNING")
        assert c.run("gctl", "drain", "gpu04:GPU-0", "ECC", "errors").stdout == "gpu04:0: draining, 1 job on it\n"
        assert c.run("gctl", "drain", "gpu04:2", "fan").stdout == "gpu04:2: drained\n"
        assert [g["state"] for g in gpus(c)] == ["draining", "free", "drained"]
        assert output(c, c.submit(PRINT, "--gpus=h100:1")).endswith(" GPU-1")
        assert "gpu04:2" in c.run("ginfo", "--gpus").stdout
        assert "GPU-2 drained: fan" in c.run("gctl", "show", "node", "gpu04").stdout
        assert c.run("gctl", "drain", "gpu04:9", "x", check=False).returncode == 3
        wide = c.submit(PRINT, "--gpus=h100:2")
        c.ctld.stop()
        c.start_ctld()
        c.wait_nodes()
        assert [g["reason"] for g in gpus(c)] == ["ECC errors", "", "fan"]
        assert c.run("gctl", "resume", "gpu04:GPU-2").stdout == "gpu04:2: free\n" or c.state(wide) != "PENDING"
        assert output(c, wide).endswith(" GPU-1,GPU-2")
        (c.dir / "jobs/go").touch()
        c.wait_state(held, "COMPLETED")
