"""What holds a run to what it was given: devices, memory, processes.

Row 9 of the checklist in reliability.md (1.6), GPU escape, as far as it is about device files. The files stand for GPUs: no
driver has their numbers, so that open(2) fails with ENXIO where it is permitted and with EPERM where the filter denies it.
"""

import ctypes
import os
import pathlib
import platform
import stat
import struct
import subprocess

import pytest

from cluster import BUILD, ROOT, TOP, Cluster, Daemon, wait_until

needs_root = pytest.mark.skipif(not ROOT, reason="device filters and limits need root")
MAJOR = 240  # for local use [kernel: admin-guide/devices]

OPEN_ALL = r"""
for f in {dir}/gpu*; do
    python3 -c 'import os, sys
try: os.open(sys.argv[1], os.O_RDWR)
except OSError as e: print(os.path.basename(sys.argv[1]), e.errno)' "$f"
done
echo "cuda=$CUDA_VISIBLE_DEVICES gpus=$GPUSCHED_GPUS"
"""
ENXIO, EPERM = 6, 1


def start(c, *options):
    c.start_munged()
    c.start_ctld()
    for node in c.nodes:
        c.start_agent(node, *options)
    c.wait_nodes()


def active(c):
    log = pathlib.Path(c.agents["n1"].log).read_text()
    return log.split("containment ", 1)[1].split(" ", 1)[0].rstrip(",").split(",")


@pytest.fixture(name="box", scope="module")
def fixture_box():
    if not ROOT:
        pytest.skip("device filters and limits need root")
    with Cluster(start=False, gpus="demo:4") as c:
        dev = c.dir / "dev"
        dev.mkdir(mode=0o755)
        for i in range(4):
            os.mknod(dev / f"gpu{i}", stat.S_IFCHR | 0o666, os.makedev(MAJOR, i))
            os.chmod(dev / f"gpu{i}", 0o666)
        os.mknod(dev / "site", stat.S_IFCHR | 0o666, os.makedev(MAJOR, 77))
        os.chmod(dev / "site", 0o666)
        v2 = pathlib.Path("/sys/fs/cgroup/cgroup.controllers")
        have = [w for w in ("pids", "cpu") if pathlib.Path(f"/sys/fs/cgroup/{w}").exists() or (v2.exists() and w in v2.read_text().split())]
        start(c, *([f"--containment={','.join(have)}"] if have else []), "--gpu-devices", f"{dev}/gpu[0-3]", "--device", dev / "site", "--max-processes", "60")
        if "devices" not in active(c):
            pytest.skip("this kernel has no device filter for cgroups")
        yield c


def output(c, job, *states):
    c.wait_state(job, *(states or ("COMPLETED",)))
    return (c.dir / f"jobs/{job}.out").read_text()


def run(c, script, *options, user=None, **kw):
    return c.submit(script, "--output=%j.out", *options, user=user or c.ctld_user.pw_name, **kw)


def opened(text):
    return {line.split()[0]: int(line.split()[1]) for line in text.splitlines() if line.startswith("gpu")}


def test_a_run_opens_its_own_gpus_and_no_other(box):
    script = OPEN_ALL.format(dir=box.dir / "dev") + "touch held-$GPUSCHED_JOB_ID; while [ ! -e go ]; do sleep 0.05; done"
    jobs = [run(box, script, "--gpus=1") for _ in range(4)]
    wait_until(lambda: all((box.dir / f"jobs/held-{j}").exists() for j in jobs), "all four to have looked")
    (box.dir / "jobs/go").touch()
    held = []
    for j in jobs:
        text = output(box, j)
        mine = [k for k, e in opened(text).items() if e == ENXIO]
        assert len(mine) == 1 and [e for e in opened(text).values()].count(EPERM) == 3, text
        assert f"cuda=0 gpus={mine[0][3:]}\n" in text
        held += mine
    assert sorted(held) == ["gpu0", "gpu1", "gpu2", "gpu3"]


def test_two_gpus_are_numbered_from_zero(box):
    text = output(box, run(box, OPEN_ALL.format(dir=box.dir / "dev"), "--gpus=2"))
    assert [e for e in opened(text).values()].count(ENXIO) == 2
    assert "cuda=0,1 gpus=" in text


def test_a_run_without_gpus_opens_none(box):
    text = output(box, run(box, OPEN_ALL.format(dir=box.dir / "dev")))
    assert set(opened(text).values()) == {EPERM}
    assert "cuda= gpus=\n" in text


@pytest.mark.parametrize("trick", [
    "export CUDA_VISIBLE_DEVICES=0,1,2,3 NVIDIA_VISIBLE_DEVICES=all;",
    "unset CUDA_VISIBLE_DEVICES;",
    "exec setsid --wait sh -c '",
], ids=["overwritten", "cleared", "another session"])
def test_variables_and_sessions_open_nothing(box, trick):
    script = OPEN_ALL.format(dir=box.dir / "dev")
    if trick.endswith("'"):
        (box.dir / "jobs/look.sh").write_text(script)
        trick, script = "exec setsid --wait sh ./look.sh", ""
    text = output(box, run(box, f"{trick} {script}", "--gpus=1"))
    assert sorted(opened(text).values()) == [EPERM, EPERM, EPERM, ENXIO]


def test_a_daemon_it_leaves_is_filtered_too(box):
    (box.dir / "jobs/late.sh").write_text(f"{{ {OPEN_ALL.format(dir=box.dir / 'dev')} }} >late.tmp; mv late.tmp late")
    job = run(box, "setsid sh ./late.sh </dev/null >/dev/null 2>&1 & while [ ! -e late ]; do sleep 0.05; done")
    output(box, job)
    assert set(opened((box.dir / "jobs/late").read_text()).values()) == {EPERM}


def test_nobody_makes_a_device(box):
    """Root's own job: what it is given it opens, and mknod(2) is denied all the same."""
    text = output(box, run(box, f"""python3 -c 'import os, stat
for number in range(4):
    try: os.mknod("made%d" % number, stat.S_IFCHR | 0o600, os.makedev({MAJOR}, number))
    except OSError as e: print("errno", e.errno)'""", "--gpus=4", user="root"))
    assert text == "errno 1\n" * 4


def test_what_the_site_grants_and_what_everybody_needs(box):
    text = output(box, run(box, f"""python3 -c 'import errno, os, pty
for path in "/dev/null /dev/zero /dev/full /dev/random /dev/urandom".split(): os.close(os.open(path, os.O_RDWR))
pty.openpty()
try: os.open("{box.dir}/dev/site", os.O_RDWR)
except OSError as e: print(errno.errorcode[e.errno])'"""))
    assert text == "ENXIO\n"


def test_it_cannot_make_a_cgroup_of_its_own(box):
    text = output(box, run(box, r"""
mount=$(sed -n 's/^[^ ]* [^ ]* [^ ]* [^ ]* \([^ ]*\) .* - cgroup2 .*/\1/p' /proc/self/mountinfo | head -n 1)
leaf=$mount$(sed -n 's/^0:://p' /proc/self/cgroup)
mkdir "$leaf/mine" 2>/dev/null && echo made
echo $$ 2>/dev/null > "$mount/cgroup.procs" && echo left
echo tried"""))
    assert text == "tried\n"


def test_more_memory_than_booked_ends_it_with_that_reason(box):
    if "memory" not in active(box):
        pytest.skip("no memory controller here")
    beside = run(box, "python3 -c 'x = bytearray(40 << 20); print(len(x))'; while [ ! -e enough ]; do sleep 0.05; done",
                 "--mem=200M")
    box.wait_state(beside, "RUNNING")
    job = run(box, "python3 -c 'x = bytearray(300 << 20); print(len(x))'", "--mem=100M")
    end = box.wait_state(job, "OUT_OF_MEMORY", "FAILED", "COMPLETED")
    assert end["state"] == "OUT_OF_MEMORY", end
    assert "100 MiB" in box.run("gctl", "show", "job", job).stdout
    (box.dir / "jobs/enough").touch()
    assert output(box, beside) == f"{40 << 20}\n"


def test_a_fork_bomb_stays_in_its_run(box):
    if "pids" not in active(box):
        pytest.skip("no pids controller here")
    job = run(box, r"""python3 -c 'import os, time
n = 0
while True:
    try: pid = os.fork()
    except OSError as e:
        print("errno", e.errno, n < 60, flush=True)
        break
    if pid == 0:
        time.sleep(600)
    n += 1'""")
    assert output(box, job) == "errno 11 True\n"
    wait_until(lambda: not box.shepherds(), "the shepherd's end")


def test_cpu_time_in_proportion_to_what_was_booked(box):
    if "cpu" not in active(box):
        pytest.skip("no cpu controller here")
    weights = {}
    for cpus in (1, 3):
        job = run(box, f"cat /proc/self/cgroup > cpu-{cpus}.tmp; mv cpu-{cpus}.tmp cpu-{cpus}; while [ ! -e cpu-go ]; do sleep 0.05; done",
                  f"--cpus-per-task={cpus}")
        wait_until((box.dir / f"jobs/cpu-{cpus}").exists, f"job {job}")
        groups = {name: path for _, names, path in (x.split(":", 2) for x in (box.dir / f"jobs/cpu-{cpus}").read_text().splitlines())
                  for name in names.split(",")}
        if "cpu" in groups:
            file = pathlib.Path(f"/sys/fs/cgroup/cpu{groups['cpu']}/cpu.shares")
        else:
            file = pathlib.Path(f"/sys/fs/cgroup{groups['']}/cpu.weight")
        weights[cpus] = int(file.read_text())
    (box.dir / "jobs/cpu-go").touch()
    assert weights[3] == 3 * weights[1] > 0


def test_who_may_log_in(box):
    """etc/examples/login: whoever has a run on the node, and root; nobody while that cannot be known. Its rule for systemd's slices
    denies what it does not name."""
    def login(user, node="n1", **env):
        return box.run(TOP / "etc/examples/login/gpusched-login", node, check=False, env={"PAM_USER": user, **env})

    job = run(box, "while [ ! -e out ]; do sleep 0.05; done")
    box.wait_state(job, "RUNNING")
    user = box.ctld_user.pw_name
    assert login(user).returncode == 0 and login("root").returncode == 0
    for who, where in (("nobody", "n1"), (f"nobody,{user}", "n1"), ("", "n1"), (user, "n2"), ("no-such-user", "n1")):
        assert login(who, where).returncode == 1, (who, where)
    assert "no job that runs on n1" in login("nobody").stdout
    assert "does not answer" in login(user, GPUSCHED_CONF="/nowhere").stdout
    (box.dir / "jobs/out").touch()
    output(box, job)
    assert login(user).returncode == 1
    rule = (TOP / "etc/examples/login/user-slice.conf").read_text()
    assert "\nDevicePolicy=closed\n" in rule and "nvidia" not in "".join(x for x in rule.splitlines() if x.startswith("DeviceAllow"))


def test_nothing_is_left_behind(box):
    """After all that: no cgroup of a run, in any hierarchy."""
    tag = output(box, run(box, "sed -n 's/^0:://p' /proc/self/cgroup")).strip().split("/")[-2]
    # os.walk() passes over folders that go away meanwhile: other tests' cgroups.
    wait_until(lambda: not [d for d, subs, _ in os.walk("/sys/fs/cgroup")
                            if os.path.basename(d) == tag and any(s.startswith("run-") for s in subs)], "the runs' cgroups to be gone")


# NVIDIA's files: GPUs, and what opens MIG instances, by the numbers that the driver says in /proc. No driver has them here.
GPU_MAJOR, CAPS_MAJOR = 195, 242
MIGS = {(1, 0): 12, (2, 0): 21, (2, 1): 22, (3, 0): 31, (9, 0): 93}  # (GPU instance, compute instance) of GPU 0: the latter's minor
AS_WITH_A_DRIVER = """
set -e
mount -t tmpfs driver /proc/driver
cp -r {dir}/driver/. /proc/driver
mount --bind {dir}/devices /proc/devices
exec "$0" "$@"
"""


@pytest.fixture(name="mig", scope="module")
def fixture_mig():
    """A node with an H100 that is cut into instances, one of which belongs to nobody here, and what drivers say of it in /proc,
    which only the agent and its runs see."""
    if not ROOT or subprocess.run(["unshare", "-m", "mount", "-t", "tmpfs", "driver", "/proc/driver"], check=False,
                                  capture_output=True).returncode:
        pytest.skip("a driver in /proc needs root and mounts")
    hardware = 'gpu_types = ( { name = "h100"; }, { name = "1g.10gb"; } );\nnodes = ( { name = "n1"; gpus = "h100:1,1g.10gb:4"; } );'
    with Cluster(start=False, hardware=hardware) as c:
        access = {f"mig/{name}/access": minor for (gi, ci), minor in MIGS.items()
                  for name, minor in ((f"gi{gi}", gi * 10), (f"gi{gi}/ci{ci}", minor))}
        for name, minor in {**access, "mig/config": 1, "mig/monitor": 2}.items():
            path = c.dir / "driver/nvidia/capabilities/gpu0" / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(f"DeviceFileMinor: {minor}\nDeviceFileMode: 292\n")
        (c.dir / "driver/nvidia/capabilities/gpu0/mig/gi3/ci0/access").unlink()
        (c.dir / "devices").write_text(f"Character devices:\n  1 mem\n{GPU_MAJOR} nvidia\n{CAPS_MAJOR} nvidia-caps\n\n"
                                       f"Block devices:\n{CAPS_MAJOR + 1} nvidia-caps\n")
        dev = c.dir / "dev"
        dev.mkdir(mode=0o755)
        files = {f"cap{minor:03}": (CAPS_MAJOR, minor) for minor in {1, 2, *access.values()}}
        for name, number in {**files, "nvidia0": (GPU_MAJOR, 0), "nvidia1": (GPU_MAJOR, 1), "other": (CAPS_MAJOR + 1, 10)}.items():
            os.mknod(dev / name, stat.S_IFCHR | 0o666, os.makedev(*number))
            os.chmod(dev / name, 0o666)
        (c.dir / "machine").write_text("\n".join([
            'gpu uuid=GPU-0 name="NVIDIA H100 80GB HBM3" pci=0:1b:0 minor=0 mem=81559 mig=1',
            'gpu uuid=GPU-1 name="NVIDIA H100 80GB HBM3" pci=0:2b:0 minor=1 mem=81559',
            *(f"mig gpu=0 gi={gi} ci={ci} uuid=MIG-{gi}-{ci} profile=1g.10gb mem=9856" for gi, ci in MIGS if gi != 9)]) + "\n")
        c.start_munged()
        c.start_ctld()
        c.agents["n1"] = Daemon("gnoded n1", ["unshare", "-m", "sh", "-c", AS_WITH_A_DRIVER.format(dir=c.dir), *c.agent_argv("n1")],
                                c.dir / "log/gnoded-n1.log",
                                {**c.env, "LD_LIBRARY_PATH": str(BUILD / "testsuite/nvml"), "NVML_STANDIN": str(c.dir / "machine")})
        c.wait_nodes()
        if "devices" not in active(c):
            pytest.skip("this kernel has no device filter for cgroups")
        yield c


OPEN_DEV = r"""
python3 -c 'import os
for f in sorted(os.listdir("{dir}/dev")):
    try: os.open("{dir}/dev/" + f, os.O_RDONLY)
    except OSError as e: e.errno == 6 and print(f, end=" ")'
echo "$GPUSCHED_GPU_UUIDS"
"""


def test_mig_capabilities_of_others_stay_closed(mig):
    """Beside its GPU's file a run opens the two capabilities of its instance; none of another instance, of its neighbour in the
    same GPU instance, nor those that make and watch instances."""
    script = OPEN_DEV.format(dir=mig.dir)
    hold = script + "touch mig-$GPUSCHED_JOB_ID; while [ ! -e done ]; do sleep 0.05; done"
    jobs = [run(mig, hold, "--gpus=1g.10gb:1") for _ in range(3)] + [run(mig, hold, "--gpus=h100:1")]
    wait_until(lambda: all((mig.dir / f"jobs/mig-{j}").exists() for j in jobs), "all four to have looked")
    (mig.dir / "jobs/done").touch()
    assert {output(mig, j) for j in jobs} == {"cap010 cap012 nvidia0 MIG-1-0\n", "cap020 cap021 nvidia0 MIG-2-0\n",
                                              "cap020 cap022 nvidia0 MIG-2-1\n", "nvidia1 GPU-1\n"}
    assert output(mig, run(mig, script, "--gpus=1g.10gb:2")).startswith("cap010 cap012 cap020 cap021 nvidia0 ")
    assert output(mig, run(mig, script)) == "\n"


def test_a_mig_instance_that_cannot_be_opened_is_given_to_nobody(mig):
    """The driver does not say what opens the fourth: it is told with its reason, and no run starts on it."""
    why = "MIG-3-0: no program can open it: /proc/driver/nvidia/capabilities/gpu0/mig/gi3/ci0/access names no device minor"
    assert why in " ".join(mig.run("gctl", "show", "node", "n1").stdout.split())
    rows = [line for line in mig.run("ginfo", "--gpus", "n1").stdout.splitlines() if "1g.10gb" in line]
    assert len(rows) == 4 and len([r for r in rows if "missing" in r]) == 1, rows
    jobs = [run(mig, "while [ ! -e closed ]; do sleep 0.05; done", "--gpus=1g.10gb:1") for _ in range(4)]
    for job in jobs[:3]:
        mig.wait_state(job, "RUNNING")
    assert mig.state(jobs[3]) == "PENDING"
    (mig.dir / "jobs/closed").touch()
    for job in jobs:
        assert output(mig, job) == ""


@needs_root
def test_the_sites_minimum_is_enforced():
    with Cluster(start=False) as c:
        c.start_munged()
        c.start_ctld()
        c.start_agent("n1", "--cgroup=none", "--containment=devices,memory")
        assert c.agents["n1"].wait() == 1
        assert "--containment: devices, memory not available here (--cgroup=none); available: subreaper" in c.agents["n1"].tail(50)
        assert c.node_states()["n1"] not in ("idle", "mixed")
        daemon = c.run(*c.agent_argv("n1")[:1], "--daemon", *c.agent_argv("n1")[2:], "--cgroup=none", "--containment=devices", check=False)
        assert daemon.returncode == 1


class Closed:
    """A program on a cgroup that lets none be attached below it [bpf(2), BPF_PROG_ATTACH without flags]: what a kernel that refuses
    a run's filter looks like."""
    CALL = {"x86_64": 321, "aarch64": 280}.get(platform.machine())
    LOAD, ATTACH, DETACH, CGROUP_DEVICE_PROG, CGROUP_DEVICE = 5, 8, 9, 15, 6
    libc = ctypes.CDLL(None, use_errno=True)

    def bpf(self, command, *words):
        text = struct.pack(*words)
        buffer = ctypes.create_string_buffer(text, 120)
        r = self.libc.syscall(self.CALL, command, buffer, len(text))
        if r < 0:
            raise OSError(ctypes.get_errno(), "bpf")
        return r

    def __init__(self, path):
        allow = struct.pack("<BBhiBBhi", 0xb7, 0, 0, 1, 0x95, 0, 0, 0)  # r0 = 1; exit
        self.code, self.licence = ctypes.create_string_buffer(allow, len(allow)), ctypes.create_string_buffer(b"GPL")
        self.program = self.bpf(self.LOAD, "<IIQQ", self.CGROUP_DEVICE_PROG, 2, ctypes.addressof(self.code), ctypes.addressof(self.licence))
        self.group = os.open(path, os.O_RDONLY | os.O_DIRECTORY)

    def __enter__(self):
        self.bpf(self.ATTACH, "<IIII", self.group, self.program, self.CGROUP_DEVICE, 0)

    def __exit__(self, *_):
        self.bpf(self.DETACH, "<IIII", self.group, self.program, self.CGROUP_DEVICE, 0)
        os.close(self.group)
        os.close(self.program)


def test_without_its_filter_nothing_runs(box):
    """Fail closed: the kernel takes filters when the agent starts, and later does not."""
    mount = next(line.split()[1] for line in pathlib.Path("/proc/mounts").read_text().splitlines() if line.split()[2] == "cgroup2")
    leaf = output(box, run(box, "sed -n 's/^0:://p' /proc/self/cgroup")).strip()
    with Closed(pathlib.Path(mount + leaf).parent):
        for options in (["--gpus=1"], []):
            job = run(box, "echo ran > ran", *options)
            why = wait_until(lambda j=job: (lambda text: "filter" in text and text)(box.run("gctl", "show", "job", j).stdout),
                             "the reason to be told")
            assert "device filter" in why
            box.run("gcancel", job)
    assert not (box.dir / "jobs/ran").exists()
    box.run("gctl", "resume", "n1", check=False)
    output(box, run(box, "true", "--gpus=1"))


@needs_root
def test_a_run_is_put_near_its_gpu(tmp_path):
    """On the CPUs that /sys says are near it, if what was booked fits there; one without GPUs is not put anywhere. What /sys says is
    seen by the agent alone."""
    cpus = sorted(os.sched_getaffinity(0))
    near = next((f for f in sorted(pathlib.Path("/sys/bus/pci/devices").glob("0000:*.0/local_cpulist"))), None)
    if len(cpus) < 2 or not near:
        pytest.skip("needs two CPUs and PCI")
    bus, device = (int(x, 16) for x in near.parent.name[5:-2].split(":"))
    (tmp_path / "machine").write_text(f'gpu uuid=GPU-0 name="NVIDIA H100 80GB HBM3" pci=0:{bus:x}:{device:x} minor=0 mem=81559\n')
    (tmp_path / "near").write_text(f"{cpus[-1]}\n")
    tmp_path.chmod(0o755)
    with Cluster(start=False, gpus="h100:1", cpus=len(cpus)) as c:
        c.start_munged()
        c.start_ctld()
        c.agents["n1"] = Daemon("gnoded n1", ["unshare", "-m", "sh", "-c", f'mount --bind {tmp_path}/near {near} && exec "$0" "$@"', *c.agent_argv("n1")],
                                c.dir / "log/gnoded-n1.log",
                                {**c.env, "LD_LIBRARY_PATH": str(BUILD / "testsuite/nvml"), "NVML_STANDIN": str(tmp_path / "machine")})
        c.wait_nodes()
        script = "python3 -c 'import os; print(*sorted(os.sched_getaffinity(0)))'"
        assert output(c, run(c, script, "--gpus=1", "--cpus-per-task=1")) == f"{cpus[-1]}\n"
        assert output(c, run(c, script, "--gpus=1", "--cpus-per-task=2")) == " ".join(map(str, cpus)) + "\n"
        assert output(c, run(c, script)) == " ".join(map(str, cpus)) + "\n"


def test_words_of_containment_are_checked():
    with Cluster(start=False) as c:
        r = c.run("gnoded", "--containment=devices,memry", check=False)
        assert r.returncode == 2
        assert "no 'memry'; there are cgroup2, devices, memory, pids, cpu" in r.stderr


@needs_root
def test_a_missing_device_file_is_named():
    with Cluster(start=False) as c:
        start(c, "--gpu-devices", f"{c.dir}/none[0-3]")
        if "devices" not in active(c):
            pytest.skip("this kernel has no device filter for cgroups")
        job = c.submit("true", "--gpus=1")
        wait_until(lambda: "none0" in c.run("gctl", "show", "job", job).stdout, "the reason to name the file")
