"""Memory of a GPU that a job has borrowed (--gpu-mem-burst) and that another needs: who is asked, who waits, who ends."""

import json

import pytest
from cluster import Cluster, wait_until
from test_gpus import TYPES, Machine, h100
from test_parts import SUM

NODE = 'nodes = ( { name = "gpu04"; gpus = "h100:%d"; share = "watch"; } );'
PARTITIONS = """(
  { name = "batch"; nodes = "ALL"; default = true; preempt_mode = "requeue"; grace = "600s"; },
  { name = "quick"; nodes = "ALL"; preempt_mode = "requeue"; grace = "3s"; },
  { name = "dear"; nodes = "ALL"; preempt_mode = "cancel"; grace = "3s"; }
)"""
# Keeps what it is told, and goes on; when it is told twice it ends.
SERVER = """
echo $$ >$GPUSCHED_JOB_ID.pid
echo serving
trap 'cat "$GPUSCHED_INTERRUPT_FILE" >$GPUSCHED_JOB_ID.file; echo asked >>$GPUSCHED_JOB_ID.asked
test $(wc -l <$GPUSCHED_JOB_ID.asked) -lt 2 || exit' TERM
while :; do sleep 0.05; done
"""


class Site(Cluster):
    def __init__(self, machine, gpus=1):
        super().__init__(nodes=("gpu04",), start=False, hardware=f"{TYPES}\n{NODE % gpus}", partitions=PARTITIONS)
        self.machine = machine
        self.start_munged()
        self.start_ctld()
        self.agent()
        self.wait_nodes()

    def agent(self):
        self.start_agent("gpu04", "--gpu-recheck=1h", "--gpu-timeout=2s", env=self.machine.env)

    def borrower(self, mb, *options, script=SERVER):
        job = self.submit(script, *options)
        pid = wait_until(lambda: (f := self.dir / f"jobs/{job}.pid").exists() and f.read_text().strip(), "its pid")
        return job, pid, mb

    def uses(self, *borrowers):
        self.machine.set(h100(0), *(f"process gpu=0 pid={pid} mem={mb}" for _, pid, mb in borrowers))
        for job, _, mb in borrowers:
            wait_until(lambda: f'"gpu_mem_now_mb":{mb}' in self.run("gctl", "show", "job", job, "--json").stdout,
                       f"job {job} to be seen with {mb} MiB")

    def waiting(self, *options, script="sleep 1000"):
        """One that needs what somebody has borrowed."""
        job = self.submit(script, *options)
        wait_until(lambda: self.job(job)["reason"] == "GpuBurst", lambda: self.job(job))
        assert self.state(job) == "CONFIGURING"
        return job

    def asked(self, job):
        return (self.dir / f"jobs/{job}.asked").exists()

    def notes(self, job):
        text = self.run("gctl", "events", "--json", "--job", job, "--kind=run.note").stdout
        return [e["text"] for e in json.loads(text)["events"]]

    def output(self, job):
        return (self.dir / f"jobs/gpusched-{job}.out").read_text()

    def clear(self):
        self.machine.set(h100(0))
        self.run("gcancel", "--state", "PENDING,CONFIGURING,RUNNING", check=False)
        self.run("gcancel", "--signal=KILL", "--state", "RUNNING,COMPLETING", check=False)
        wait_until(lambda: all(j["ended"] if "ended" in j else j["state"] not in
                               ("PENDING", "CONFIGURING", "RUNNING", "COMPLETING") for j in self.jobs().values()), self.jobs)


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    machine = Machine(tmp_path_factory.mktemp("nvml") / "machine")
    machine.set(h100(0))
    with Site(machine) as c:
        yield c


@pytest.fixture(name="c")
def fixture_c(site):
    yield site
    site.clear()


BURST = ("--gpu-mem=20G", "--gpu-mem-burst=60G")


def test_who_gives_back_lives(c):
    server = c.borrower(51200, *BURST)
    c.uses(server)
    owner = c.waiting("--gpu-mem=50G")
    seen = c.job(owner)
    assert seen["reason_text"].startswith(f"waits for GPU memory that job {server[0]} has borrowed: returned within ")
    wait_until(lambda: c.asked(server[0]), "it to be asked")
    told = dict(line.split("=") for line in (c.dir / f"jobs/{server[0]}.file").read_text().split())
    assert told.pop("deadline").isdigit() and told.pop("by_user")
    assert told == {"reason": "reclaim", "by_job": str(owner), "gpu_mem_mb": "20480", "then": "requeue"}
    wait_until(lambda: c.job(server[0])["reason"] == "GpuBurst", "it to be said of the server")
    assert c.job(server[0])["reason_text"].startswith(f"job {owner} needs the GPU memory that this job has borrowed: return it within ")
    assert "GpuBurst" in c.run("gqueue", "--why", owner).stdout
    # Less, and not yet enough.
    server = (*server[:2], 40960)
    c.uses(server)
    assert c.state(owner) == "CONFIGURING"
    server = (*server[:2], 30000)
    c.machine.set(h100(0), f"process gpu=0 pid={server[1]} mem=30000")
    c.wait_state(owner, "RUNNING")
    wait_until(lambda: not c.job(server[0])["reason"], lambda: c.job(server[0]))
    assert c.state(server[0]) == "RUNNING"
    assert (c.dir / f"jobs/{server[0]}.asked").read_text() == "asked\n"
    run_dir = next(c.dir.glob(f"spool-gpu04/runs/{server[0]}_*"))
    wait_until(lambda: not (run_dir / "interrupt").exists(), "the warning to be withdrawn")
    wait_until(lambda: len(c.notes(server[0])) == 2, lambda: c.notes(server[0]))
    assert c.notes(server[0]) == ["used 50G of 29.6G of GPU 0; others have the rest of its burst of 60G",
                                  "gave back what it had borrowed of a GPU"]
    # What it takes now that others are there it takes from them.
    c.machine.set(h100(0), f"process gpu=0 pid={server[1]} mem=40960")
    end = c.wait_state(server[0], "OUT_OF_MEMORY")
    assert end["reason"] == "GpuMemory"
    assert c.state(owner) == "RUNNING"


def test_who_does_not_is_ended(c):
    """With a clear state, its output kept, and again or not as its partition's mode and its owner say; who came
    computes what it would have alone."""
    solo = c.submit(SUM, "--gpu-mem=50G")
    c.wait_state(solo, "COMPLETED")
    server = c.borrower(51200, "-p", "quick", "--requeue", *BURST)
    c.uses(server)
    owner = c.submit(SUM, "--gpu-mem=50G")
    c.wait_state(owner, "COMPLETED")
    assert c.output(owner) == c.output(solo) != ""
    again = wait_until(lambda: (j := c.job(server[0]))["attempt"] == 2 and j, lambda: c.job(server[0]))
    text = "used 50G of 29.6G of GPU 0; others have the rest of its burst of 60G"
    assert text in again["comment"]
    wait_until(lambda: "serving\n" in c.output(server[0]), lambda: f"its output: {c.output(server[0])!r}")
    c.clear()
    for options in ("-p", "quick", "--no-requeue"), ("-p", "dear", "--requeue"):
        server = c.borrower(51200, *options, *BURST)
        c.uses(server)
        owner = c.submit("sleep 1000", "--gpu-mem=50G")
        end = c.wait_state(server[0], "PREEMPTED")
        assert (end["reason"], end["reason_text"]) == ("GpuBurst", text)
        assert "then=end\n" in (c.dir / f"jobs/{server[0]}.file").read_text()
        assert "serving\n" in c.output(server[0])
        c.wait_state(owner, "RUNNING")
        line = c.run("gacct", "-j", server[0], "-h", "--csv", "-o", "STATE,DETAIL").stdout.strip()
        assert line == f"PREEMPTED,{text}"
        c.clear()


def test_an_acknowledgement_ends_it_at_once(c):
    server = c.borrower(51200, "--no-requeue", *BURST, script=SERVER.replace("echo asked", "touch $GPUSCHED_RUN_DIR/ack; echo asked"))
    c.uses(server)
    owner = c.submit("sleep 1000", "--gpu-mem=50G")
    assert c.wait_state(server[0], "PREEMPTED")["reason"] == "GpuBurst"
    c.wait_state(owner, "RUNNING")


def test_one_of_two_is_asked(c):
    """Each of them has borrowed enough: who would lose less."""
    first = c.borrower(30720, "--gpu-mem=10G", "--gpu-mem-burst=60G")
    c.uses(first)
    second = c.borrower(40960, "--gpu-mem=10G", "--gpu-mem-burst=60G")
    c.uses(first, second)
    owner = c.waiting("--gpu-mem=25G")
    wait_until(lambda: c.asked(second[0]), "the second to be asked")
    assert f"job {second[0]} " in c.job(owner)["reason_text"]
    second = (*second[:2], 20480)
    c.machine.set(h100(0), *(f"process gpu=0 pid={pid} mem={mb}" for _, pid, mb in (first, second)))
    c.wait_state(owner, "RUNNING")
    assert not c.asked(first[0])
    assert c.state(first[0]) == c.state(second[0]) == "RUNNING"


def test_nobody_needs_it_any_more(c):
    server = c.borrower(51200, *BURST)
    c.uses(server)
    owner = c.waiting("--gpu-mem=50G")
    wait_until(lambda: c.asked(server[0]), "it to be asked")
    # The launcher is not younger than what it waits for an order that was lost.
    run_dir = next(c.dir.glob(f"spool-gpu04/runs/{server[0]}_*"))
    assert (run_dir / "interrupt").exists()
    c.run("gcancel", owner)
    c.wait_state(owner, "CANCELLED")
    wait_until(lambda: not (run_dir / "interrupt").exists(), "the warning to be withdrawn")
    wait_until(lambda: c.notes(server[0])[-1:] == ["what it has borrowed of a GPU is no longer needed"], lambda: c.notes(server[0]))
    wait_until(lambda: not c.job(server[0])["reason"], lambda: c.job(server[0]))
    assert c.state(server[0]) == "RUNNING"
    # And may be asked again.
    (c.dir / f"jobs/{server[0]}.asked").unlink()
    c.waiting("--gpu-mem=50G")
    wait_until(lambda: c.asked(server[0]), "it to be asked again")


def test_restarts_in_the_midst_of_it(c):
    """It is asked once, its deadline stays, and who waits for it starts all the same."""
    server = c.borrower(51200, *BURST)
    c.uses(server)
    owner = c.waiting("--gpu-mem=50G")
    wait_until(lambda: c.asked(server[0]), "it to be asked")
    run_dir = next(c.dir.glob(f"spool-gpu04/runs/{server[0]}_*"))
    told = (run_dir / "interrupt").read_text()
    c.ctld.kill()
    c.start_ctld()
    wait_until(lambda: c.job(owner)["reason"] == "GpuBurst", lambda: c.job(owner))
    c.agents["gpu04"].kill()
    c.agent()
    wait_until(lambda: c.job(owner)["reason"] == "GpuBurst" and c.job(owner)["attempt"] == 2, lambda: c.job(owner))
    assert c.state(owner) == "CONFIGURING"
    assert (run_dir / "interrupt").read_text() == told
    server = (*server[:2], 20480)
    c.uses(server)
    c.wait_state(owner, "RUNNING")
    wait_until(lambda: not c.job(server[0])["reason"], lambda: c.job(server[0]))
    wait_until(lambda: not (run_dir / "interrupt").exists(), "the warning to be withdrawn")
    assert (c.dir / f"jobs/{server[0]}.asked").read_text() == "asked\n"


def test_looks_that_say_nothing(c):
    """That the driver does not say who has what is no giving back: neither when it was known before, nor to a new launcher."""
    server = c.borrower(51200, *BURST)
    c.uses(server)
    owner = c.waiting("--gpu-mem=50G")
    wait_until(lambda: c.asked(server[0]), "it to be asked")
    run_dir = next(c.dir.glob(f"spool-gpu04/runs/{server[0]}_*"))
    for restart in False, True:
        c.machine.set(h100(0), "fail call=nvmlDeviceGetComputeRunningProcesses result=999")
        if restart:
            c.agents["gpu04"].kill()
            c.agent()
        wait_until(lambda: c.job(owner)["attempt"] == 1 + restart and c.job(owner)["reason"] == "GpuBurst", lambda: c.job(owner))
        # Who comes now waits for a look.
        third = c.submit("sleep 1000", "--gpu-mem=1G")
        wait_until(lambda: c.state(third) == "RUNNING" or c.job(third)["reason"] == "GpuBurst", lambda: c.job(third))
        assert (run_dir / "interrupt").exists()
        assert c.state(owner) == "CONFIGURING"
        c.run("gcancel", third)
    assert c.notes(server[0]) == ["used 50G of 29.6G of GPU 0; others have the rest of its burst of 60G"]
    server = (*server[:2], 20480)
    c.uses(server)
    c.wait_state(owner, "RUNNING")


def test_a_cancel_counts_instead(c):
    server = c.borrower(51200, *BURST)
    c.uses(server)
    owner = c.waiting("--gpu-mem=50G")
    wait_until(lambda: c.asked(server[0]), "it to be asked")
    c.run("gcancel", server[0])
    c.wait_state(server[0], "CANCELLED")
    c.wait_state(owner, "RUNNING")


def test_more_than_its_burst_elsewhere(tmp_path):
    """Who is asked to give back of one GPU is ended all the same for what he takes of another."""
    machine = Machine(tmp_path / "machine")
    machine.set(h100(0), h100(1))
    with Site(machine, 2) as c:
        server, pid, _ = c.borrower(51200, "--gpus=2", *BURST)

        def uses(*mb):
            machine.set(h100(0), h100(1), *(f"process gpu={i} pid={pid} mem={mb[i]}" for i in range(2)))

        uses(51200, 51200)
        wait_until(lambda: '"gpu_mem_now_mb":51200' in c.run("gctl", "show", "job", server, "--json").stdout, "it to be seen")
        owner = c.waiting("--gpu-mem=50G")
        wait_until(lambda: c.asked(server), "it to be asked")
        there = c.job(owner)["gpu_indices"][0]
        # Of the other GPU more than its burst, but less beyond that than it is to give back of this one.
        uses(*(51200 if i == there else 65536 for i in range(2)))
        end = c.wait_state(server, "OUT_OF_MEMORY")
        assert end["reason_text"] == f"used 64G of 60G of GPU {1 - there}"
        c.wait_state(owner, "RUNNING")
