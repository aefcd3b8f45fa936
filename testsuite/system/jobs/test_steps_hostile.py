"""Job steps that are not as they should be: too large, too many, too late, of names that nobody expects; nodes that are lost."""

import contextlib
import os
import re
import resource
import select
import signal
import socket
import struct
import subprocess

import pytest
from cluster import DEADLINE, SANITIZED, Cluster, wait_until
from proto import Schema
from steps import SRUN, Run, alive, script, srun_out

pytestmark = pytest.mark.skipif(not SRUN.exists(), reason="srun is not built")
SCHEMA = Schema()
NEW, CONTROL, STATE, END, REPLY = 2, 3, 24, 25, 26  # of common/net/steplink.h
NONE = 0xffffffff


class Link:
    """A client of a run's gstepd, without srun."""

    def __init__(self, run):
        self.s = socket.socket(socket.AF_UNIX)
        self.s.settimeout(DEADLINE)
        self.s.connect(str(run.dir / "run/step.sock"))
        self.bytes, self.ended = b"", False

    def put(self, kind, message, **values):
        self.raw(kind, SCHEMA.encode(message, values))

    def raw(self, kind, data, step=NONE):
        self.s.sendall(struct.pack(">HBI", len(data) + 5, kind, step) + data)

    def has_message(self):
        return len(self.bytes) >= 2 and len(self.bytes) >= 2 + struct.unpack(">H", self.bytes[:2])[0]

    def take(self):
        """The next message as (kind, dictionary or None); None at the end."""
        while True:
            if self.has_message():
                n = struct.unpack(">H", self.bytes[:2])[0]
                kind, data = self.bytes[2], self.bytes[7:2 + n]
                self.bytes = self.bytes[2 + n:]
                name = {STATE: "StepState", END: "StepEnd", REPLY: "Reply"}.get(kind)
                return kind, SCHEMA.decode(name, data) if name else None
            got = self.s.recv(65536)
            if not got:
                return None
            self.bytes += got

    def new(self, *args, **more):
        env = [b"PATH=" + os.environ["PATH"].encode()]
        self.put(NEW, "StepRequest", args=[a.encode() for a in args], env=env, cwd=b"/", umask=0o22, tasks=1, no_gpus=True,
                 exact=True, cpus_per_task=1, mpi="none", name="many", **more)

    def close(self):
        self.s.close()


@pytest.fixture(name="run")
def fixture_run():
    run = Run()
    assert run.srun("-n1", "true").returncode == 0
    yield run
    run.close()


def take_all(link):
    """What has arrived. True: the step is over."""
    first = True
    while first or link.has_message():
        first = False
        kind, m = link.take()
        assert kind != STATE or m["state"] != "REFUSED", m
        assert kind != END or not m.get("exit_code"), m
        link.ended = kind == END
    return link.ended


def test_ten_thousand_at_once(run):
    """Each has its turn; another user's job notices nothing, and nothing of it stays."""
    other = Run()
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    n = min(1000 if SANITIZED else 10000, hard - 1000)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    try:
        links = {}
        for _ in range(n):
            link = Link(run)
            link.new("true")
            links[link.s.fileno()] = link
        poll = select.poll()
        for fd in links:
            poll.register(fd, select.POLLIN)
        ended = 0
        assert other.srun("-n1", "true").returncode == 0
        while links:
            ready = poll.poll(DEADLINE * 1000)
            assert ready, f"{len(links)} steps have not ended"
            ended += sum(take_all(links[fd]) for fd, _ in ready)
            for fd, _ in ready:
                if links[fd].ended:
                    poll.unregister(fd)
                    links.pop(fd).close()
        assert ended == n
        assert other.srun("-n1", "true").returncode == 0
        assert run.srun("-n4", "true").returncode == 0
        link = Link(run)
        link.put(CONTROL, "StepControl", verb="LIST")
        assert link.take()[0] == REPLY
        link.close()
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
        other.close()


def test_1024_run_and_the_others_wait(run):
    links, first = [], None
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    try:
        for i in range(1030):
            links.append(Link(run))
            links[-1].new("sleep", "1000", overlap=True)
            kind, m = links[-1].take()
            assert kind == STATE and m["state"] == ("CREATED" if i < 1024 else "WAITS"), (i, m)
            first = first or m["step"]
        refused = Link(run)
        refused.new("true", overlap=True, immediate=True)
        assert refused.take()[1]["text"] == "Requested nodes are busy"
        links[0].put(CONTROL, "StepControl", verb="SIGNAL", step=first, signal=signal.SIGKILL)
        assert links[1024].take()[1]["state"] == "CREATED"
        r = subprocess.run([SRUN, "-I", "true"], env=run.env, cwd=run.dir / "work", capture_output=True, text=True, check=False)
        assert r.returncode == 1 and "Requested nodes are busy" in r.stderr
    finally:
        for link in links:
            link.close()
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def test_what_is_no_message(run):
    """It ends that client, and nothing else."""
    for kind, data in ((NEW, b"\xff" * 100), (NEW, b""), (99, b"x"), (CONTROL, b"\xff\xff"), (1, b"x" * 16000)):
        link = Link(run)
        link.raw(kind, data)
        link.s.shutdown(socket.SHUT_WR)
        while link.take():
            pass
        link.close()
    link = Link(run)
    link.new("true", nodelist="n[1-99999999]")
    assert link.take()[1]["text"] == "Requested node configuration is not available"
    link.close()
    link = Link(run)
    link.new("true", nodelist="n1,n1,[", exclude="]x[", parts_follow=1000)
    assert link.take() is None
    assert run.srun("-n1", "true").returncode == 0


HOSTILE = "a\x1b[31m\nb\tc|d\"'\\;$(touch owned)\u202e%s%n"


def test_hostile_names(run):
    """In the names of steps, programs, folders and files; what a terminal would obey is escaped."""
    work = run.dir / "work"
    (work / HOSTILE.replace("/", "")).mkdir()
    r = run.srun("-n1", "-J", HOSTILE, "-D", work / HOSTILE, "sh", "-c", 'basename "$PWD"; echo "$SLURM_JOB_NAME"')
    assert r.returncode == 0 and r.stdout.startswith(HOSTILE), r.stderr
    r = run.srun("-n1", f"./{HOSTILE}")
    assert r.returncode == 13 and "\x1b" not in r.stderr and "Permission denied" in r.stderr, r.stderr
    r = run.srun("-n1", "-o", f"{HOSTILE}.%t.%99999999j.%q", "echo", "x")
    assert "\x1b" not in r.stderr
    r = run.srun("-n1", "-w", HOSTILE, "true")
    assert r.returncode == 1 and "\x1b" not in r.stderr
    for option in ("--gres", "--gpus", "--cpu-bind", "--mpi", "--distribution", "--time", "--mem", "-N", "-n"):
        r = run.srun(option, HOSTILE, "true") if option[1] != "-" else run.srun(f"{option}={HOSTILE}", "true")
        assert r.returncode == 1 and "\x1b" not in r.stderr, (option, r.stderr)
    assert not (work / "owned").exists()


# --- jobs on several nodes ------------------------------------------------------------------------


@pytest.fixture(name="cluster", scope="module")
def fixture_cluster():
    with Cluster(nodes=tuple(f"n{i}" for i in range(1, 9))) as c:
        yield c


def test_more_nodes_than_a_bridge_has_links(cluster):
    """Seven links by three processes of at most three."""
    text = script(cluster, """
export GPUSCHED_BRIDGE_LINKS=3
srun sh -c 'echo task $SLURM_PROCID $SLURMD_NODENAME'
head -c 100000 /dev/zero | srun -N8 -n8 wc -c
srun -N8 -n8 head -c 100000 /dev/zero | wc -c
""", "--nodes=8", "--ntasks=16")
    tasks = [line.split() for line in text.splitlines() if line.startswith("task ")]
    assert sorted(int(t[1]) for t in tasks) == list(range(16))
    assert {t[2] for t in tasks} == {f"n{i}" for i in range(1, 9)}
    assert text.count("\n100000") == 8 and "\n800000\n" in text and "script 0" in text, text


def test_larger_than_its_job(cluster):
    text = script(cluster, """
srun -n5 true
srun -N3 -n3 true
srun -n1 -c 99 true
srun -n1 --gpus=9 true
srun -w n8,n7,n6,n5 true
srun -r2 -n1 true
srun -n2 true && echo and this one fits
""", "--nodes=2", "--ntasks=4", "--nodelist=n1,n2")
    assert "and this one fits" in text
    refused = [line for line in text.splitlines() if line.startswith("srun: error:")]
    assert len(refused) == 6, text
    assert refused[0].endswith(": More processors requested than permitted")
    assert refused[1] == "srun: error: Only allocated 2 nodes asked for 3"


def test_after_the_job(cluster):
    """The job's variables are still there, its run is not."""
    c = cluster
    job = c.submit("#SBATCH --output=env.out\nenv | grep -E '^(GPUSCHED|SLURM)_'")
    c.wait_state(job, "COMPLETED")
    env = dict(line.split("=", 1) for line in (c.dir / "jobs/env.out").read_text().splitlines())
    r = subprocess.run([SRUN, "true"], env={**c.env, **env}, cwd=c.dir / "jobs", capture_output=True, text=True, check=False,
                       timeout=DEADLINE)
    over = f"srun: error: Unable to confirm allocation for job {job}: Job/step already completing or completed\n"
    assert (r.returncode, r.stderr) == (1, over)
    r = srun_out(c, f"--jobid={job}", "true")
    assert (r.returncode, r.stderr) == (1, over)
    r = srun_out(c, "--jobid=99999999", "true")
    assert (r.returncode, r.stderr) == (
        1, "srun: error: Unable to confirm allocation for job 99999999: Invalid job id specified\n")


def shepherds_of(c, node):
    found = []
    for pid in c.shepherds():
        with contextlib.suppress(OSError), open(f"/proc/{pid}/cmdline", "rb") as f:
            if f"run-{node}/".encode() in f.read():
                found.append(pid)
    return found


def test_a_node_of_a_step_is_lost(cluster):
    """The shepherd of the second node: the step ends, the job ends as one on several nodes does, and nothing is left."""
    c = cluster
    job = c.submit("#SBATCH --output=lost.out\nsrun sh -c 'echo pid $$; exec sleep 600'\necho script $?", "--nodes=3", "--ntasks=3",
                   "--nodelist=n1,n2,n3", "--no-requeue", env={"PATH": f"{SRUN.parent}:{c.env['PATH']}"})
    out = c.dir / "jobs/lost.out"
    wait_until(lambda: out.exists() and out.read_text().count("pid") == 3, "the tasks to run")
    pids = [int(p) for p in re.findall(r"pid (\d+)", out.read_text())]
    wait_until(lambda: len(shepherds_of(c, "n2")) == 1, "those of earlier jobs to be gone")
    os.kill(shepherds_of(c, "n2")[0], signal.SIGKILL)
    c.wait_state(job, "NODE_FAIL", "FAILED", "CANCELLED")
    wait_until(lambda: not any(alive(p) for p in pids), "its tasks to end")
    text = script(c, "srun -n8 -N8 hostname | wc -l", "--nodes=8", "--ntasks=8")
    assert "8\n" in text


def test_test_only_says_where(cluster):
    r = srun_out(cluster, "--test-only", "-N2", "-n4", "true")
    said = re.fullmatch(
        r"srun: Job (\d+) to start at \d{4}-\d\d-\d\dT\d\d:\d\d:\d\d using 4 processors on nodes n\[\d-\d\] in partition batch\n",
        r.stderr)
    assert r.returncode == 0 and said, r.stderr
    assert cluster.submit("true") == int(said[1])
    r = srun_out(cluster, "--test-only", "-N99", "true")
    assert r.returncode == 1 and r.stderr.startswith("srun: error: allocation failure: "), r.stderr
