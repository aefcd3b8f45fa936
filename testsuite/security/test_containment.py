"""What holds a run to what it was given: devices, memory, processes.

Row 9 of the checklist in reliability.md (1.6), GPU escape, as far as it is about device files. The files stand for GPUs: no
driver has their numbers, so that open(2) fails with ENXIO where it is permitted and with EPERM where the filter denies it.
"""

import os
import pathlib
import stat

import pytest

from cluster import ROOT, Cluster, wait_until

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
        pids = pathlib.Path("/sys/fs/cgroup/pids").exists() or (v2.exists() and "pids" in v2.read_text())
        start(c, *(["--containment=pids"] if pids else []), "--gpu-devices", f"{dev}/gpu[0-3]", "--device", dev / "site", "--max-processes", "60")
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
    assert not box.shepherds()


def test_nothing_is_left_behind(box):
    """After all that: no cgroup of a run, in any hierarchy."""
    tag = output(box, run(box, "sed -n 's/^0:://p' /proc/self/cgroup")).strip().split("/")[-2]
    wait_until(lambda: not list(pathlib.Path("/sys/fs/cgroup").glob(f"**/{tag}/run-*")), "the runs' cgroups to be gone")


@needs_root
def test_the_sites_minimum_is_enforced():
    with Cluster(start=False) as c:
        c.start_munged()
        c.start_ctld()
        c.start_agent("n1", "--cgroup=none", "--containment=devices,memory")
        wait_until(lambda: not c.agents["n1"].alive() or "'devices' is demanded" in pathlib.Path(c.agents["n1"].log).read_text(),
                   "the agent to refuse")
        assert "'devices' is demanded and cannot be had here; active would be subreaper" in c.agents["n1"].tail(50)
        assert c.node_states()["n1"] not in ("idle", "mixed")


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
