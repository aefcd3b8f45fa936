"""Runs with parts of GPUs on their node: what one takes beyond its part, and with whom it shares."""

import json
import os
import pathlib
import pwd
import re
import shutil
import signal
import subprocess
import tempfile

import pytest
from cluster import ROOT, TOP, Cluster, wait_until
from launcher import Job, Launcher, alive
from test_gpus import TYPES, Machine, h100

PART = {"gpus": [0], "gpu_uuids": ["GPU-0"], "gpu_type": "h100", "share_charge": 250, "share_milli": 250,
        "share_mb": 20480}
# Some seconds of work whose result is the same wherever it is done.
SUM = "awk 'BEGIN { for (i = 0; i < 300000; i++) { x = (x * 69069 + i) % 65521; if (i % 1000 == 0) print i, x } }'"


@pytest.fixture(scope="module")
def machine(tmp_path_factory):
    m = Machine(tmp_path_factory.mktemp("nvml") / "machine")
    m.set(h100(0), h100(1))
    return m


@pytest.fixture(scope="module")
def one(machine):
    """A launcher that ends who uses more than his part."""
    lau = Launcher(env=machine.env, sample_ms=100, over_memory="end")
    yield lau
    lau.close()


def pid_of(lau, run):
    """The process of a job that has said its number first of all."""
    return int(wait_until(lambda: lau.output(run).split("\n")[0] if "\n" in lau.output(run) else None, "its pid"))


def start(lau, script, **more):
    run = lau.submit(f"echo $$\n{script}", order={**PART, **more})
    lau.wait_running(run)
    return run, pid_of(lau, run)


def uses(machine, **mem):
    machine.set(h100(0), h100(1), *(f"process gpu=0 pid={pid[1:]} mem={mb}" for pid, mb in mem.items()))


def test_who_takes_more_is_ended(one, machine):
    solo, _ = start(one, SUM)
    one.wait_over(solo)
    want = one.output(solo).split("\n", 1)[1]
    greedy, pid = start(one, "sleep 300")
    flag = one.jobs / "go"
    good, other = start(one, f"{SUM}; while ! [ -e {flag} ]; do sleep 0.05; done")
    uses(machine, **{f"p{pid}": 24883, f"p{other}": 20480})
    end = one.wait_over(greedy)
    assert end["state"] == "ENDED" and end["cause"] == "CAUSE_GPU_MEMORY" and end["exit_signal"] == 9
    assert end["detail"] == "used 24.3G of 20G of GPU 0"
    assert end["used"]["gpu_mem_peak_mb"] == 24883
    assert one.state(good) == "RUNNING"
    flag.touch()
    assert one.result(good) == ("CAUSE_EXIT", 0, 0)
    assert one.output(good).split("\n", 1)[1] == want
    assert not one.runs[good].get("detail")


def test_memory_of_others_is_never_charged(one, machine):
    """Also with a run on another GPU, and when the other run comes while the GPUs are being sampled."""
    machine.set(h100(0), h100(1))
    run, pid = start(one, "sleep 300")
    whole, _ = start(one, "sleep 300", gpus=[1], gpu_uuids=["GPU-1"])
    second, other = start(one, "sleep 300")
    uses(machine, **{f"p{pid}": 1024, f"p{other}": 15360})
    greedy, third = start(one, "sleep 300", share_mb=1024)  # after its end the others were looked at too
    uses(machine, **{f"p{pid}": 1024, f"p{other}": 15360, f"p{third}": 1025})
    one.wait_over(greedy)
    uses(machine, **{f"p{pid}": 1024})
    one.end(second, grace=0)
    assert one.wait_over(second)["used"]["gpu_mem_peak_mb"] == 15360
    sampled = one.jobs / "sampled"
    told = f"write call=nvmlDeviceGetMemoryInfo gpu=0 path={sampled}"
    slow = "slow call=nvmlDeviceGetMemoryInfo gpu=0 ms=900"
    mine = f"process gpu=0 pid={pid} mem=1024"
    for _ in range(3):
        machine.set(h100(0), h100(1), mine, told, slow)
        wait_until(sampled.exists, "the beginning of a sample")
        second, other = start(one, "sleep 300")
        sampled.unlink(missing_ok=True)
        machine.set(h100(0), h100(1), mine, f"process gpu=0 pid={other} mem=15360", told)
        wait_until(sampled.exists, "the sample after it")
        machine.set(h100(0), h100(1), mine)
        one.end(second, grace=0)
        one.wait_over(second)
        sampled.unlink(missing_ok=True)
    machine.set(h100(0), h100(1))
    one.end(whole, grace=0)
    one.wait_over(whole)
    one.end(run, grace=0)
    assert one.wait_over(run)["used"]["gpu_mem_peak_mb"] == 1024


def test_a_whole_gpu_has_no_limit(one, machine):
    """Nor is a part held to what others on the card use."""
    whole, pid = start(one, "sleep 300", gpus=[1], gpu_uuids=["GPU-1"], share_charge=0, share_milli=0, share_mb=0)
    part, _ = start(one, "sleep 300")
    greedy, third = start(one, "sleep 300")
    machine.set(h100(0), h100(1), f"process gpu=1 pid={pid} mem=81000", f"process gpu=0 pid={third} mem=30000",
                f"process gpu=0 pid={os.getpid()} mem=40000")
    one.wait_over(greedy)
    assert one.state(whole) == one.state(part) == "RUNNING"
    # Whole or shared, never both.
    again = one.submit("true", order={**PART, "share_charge": 0})
    assert one.wait_over(again)["state"] == "NEVER" and "is held by run" in one.runs[again]["detail"]
    again = one.submit("true", order={**PART, "gpus": [1], "gpu_uuids": ["GPU-1"]})
    assert one.wait_over(again)["state"] == "NEVER" and "is held by run" in one.runs[again]["detail"]
    machine.set(h100(0), h100(1))
    for run in (whole, part):
        one.end(run, grace=0)
        one.wait_over(run)


def test_who_borrows_gives_back(one, machine):
    """Up to the burst while nobody has it; then only what is his."""
    run, pid = start(one, "sleep 300", share_burst_mb=30720)
    uses(machine, **{f"p{pid}": 24883})
    whole, _ = start(one, "sleep 300", gpus=[1], gpu_uuids=["GPU-1"])
    second, other = start(one, "sleep 300", share_mb=40960)
    greedy, third = start(one, "sleep 300", share_mb=1024)  # after its end the others were looked at too
    uses(machine, **{f"p{pid}": 24883, f"p{other}": 40960, f"p{third}": 1025})
    assert one.wait_over(greedy)["detail"] == "used 1025M of 1024M of GPU 0"
    assert one.state(run) == "RUNNING"
    third, _ = start(one, "true; sleep 300", share_mb=20480)
    end = one.wait_over(run)
    assert end["cause"] == "CAUSE_RECLAIM"
    assert end["detail"] == "used 24.3G of 20G of GPU 0; others have the rest of its burst of 30G"
    machine.set(h100(0), h100(1))
    for run in (whole, second, third):
        one.end(run, grace=0)
        one.wait_over(run)


def test_warned(machine, one):
    """It is told once, kept with its end, and goes on; a warning ends its output. Also when the agent was killed."""
    machine.set(h100(0), h100(1))
    lau = Launcher(env=machine.env, sample_ms=100, munge=one.munge, over_memory="warn")
    flag = lau.jobs / "go"
    run, pid = start(lau, f"while ! [ -e {flag} ]; do sleep 0.05; done; echo done")
    lau.restart()
    uses(machine, **{f"p{pid}": 24883})
    note = "used 24.3G of 20G of GPU 0"
    lau.wait(lambda: lau.runs[run].get("detail") == note, "the note")
    assert lau.state(run) == "RUNNING"
    line = f"== gpusched: job {run[0]} {note}"
    flag.touch()
    assert lau.result(run) == ("CAUSE_EXIT", 0, 0)
    assert lau.runs[run]["detail"] == note
    assert lau.output(run).splitlines()[1:] == ["done", line]
    machine.set(h100(0), h100(1))
    lau.close()


@pytest.mark.skipif(not ROOT, reason="needs root: runs of two users")
def test_one_user_at_a_time(machine, one):
    lau = Launcher(env=machine.env, sample_ms=100, munge=one.munge, share_users="one")
    mine, _ = start(lau, "sleep 300")
    second, _ = start(lau, "sleep 300")
    his = lau.start_run(Job(lau.munge, pwd.getpwnam("daemon"), "#!/bin/sh\ntrue\n"), **PART)
    assert lau.wait_over(his)["state"] == "NEVER" and "of another user" in lau.runs[his]["detail"]
    for run in (mine, second):
        lau.end(run, grace=0)
        lau.wait_over(run)
    his = lau.start_run(Job(lau.munge, pwd.getpwnam("daemon"), "#!/bin/sh\ntrue\n", output=b"/dev/null"), **PART)
    assert lau.result(his) == ("CAUSE_EXIT", 0, 0)
    lau.close()


@pytest.mark.skipif(not ROOT, reason="needs root: runs of two users")
def test_the_configuration_says_whose(machine, one):
    """It arrives at the node: what the agent keeps of it makes a launcher refuse, of a controller that does not mind."""
    machine.set(h100(0), h100(1))

    def node(users):
        return f'nodes = ( {{ name = "gpu04"; gpus = "h100:2"; share = "watch"; over_memory = "warn"; share_users = "{users}"; }} );'
    with Cluster(nodes=("gpu04",), start=False, hardware=f"{TYPES}\n{node('any')}") as c:
        c.start_munged()
        c.start_ctld()
        c.start_agent("gpu04", "--gpu-recheck=1h", "--gpu-timeout=2s", "--sample-every=100ms", env=machine.env)
        c.wait_nodes()
        kept, text = c.dir / "spool-gpu04/settings", c.conf_text()
        for users in "any", "one":
            before = kept.read_bytes() if users == "one" else None
            c.write_conf(text.replace(node("any"), node(users)))
            c.run("gctl", "reconfigure")
            wait_until(lambda: kept.exists() and kept.read_bytes() != before, "the agent to be told")
            lau = Launcher(env=machine.env, sample_ms=100, munge=one.munge, start=False)
            shutil.copy(kept, lau.dir / "spool/settings")
            lau.start()
            mine, _ = start(lau, "sleep 300")
            his = lau.start_run(Job(lau.munge, pwd.getpwnam("daemon"), "#!/bin/sh\ntrue\n", output=b"/dev/null"), **PART)
            if users == "any":
                assert lau.result(his) == ("CAUSE_EXIT", 0, 0)
            else:
                assert lau.wait_over(his)["state"] == "NEVER" and "of another user" in lau.runs[his]["detail"]
            lau.close()
        # One that does so by itself is given nothing as long as the configuration does not know.
        c.agents["gpu04"].stop()
        c.start_agent("gpu04", "--gpu-recheck=1h", "--gpu-timeout=2s", "--share-users=one", env=machine.env)
        log = c.dir / "log/gnoded-gpu04.log"
        wait_until(lambda: log.read_text().count("node gpu04: registered") == 2, log.read_text)
        for users, seen in ("one", "idle,"), ("any", 'invalid,"share_users ""any"": its agent has --share-users=one"'), ("one", "idle,"):
            c.write_conf(text.replace(node("any"), node(users)))
            c.run("gctl", "reconfigure")
            wait_until(lambda: c.run("ginfo", "-N", "-h", "--csv", "-o", "STATE,REASON").stdout.strip() == seen,
                       lambda: c.run("ginfo", "-N", "-h", "--csv", "-o", "STATE,REASON").stdout)


# --- what people see ------------------------------------------------------------------------------

def test_what_people_see(machine):
    """A note while it runs, in the log of events too; then, with another policy, its end."""
    machine.set(h100(0), h100(1))
    node = 'nodes = ( { name = "gpu04"; gpus = "h100:2"; share = "watch"; } );'
    agent = ("--gpu-recheck=1h", "--gpu-timeout=2s", "--sample-every=100ms")
    with Cluster(nodes=("gpu04",), start=False, hardware=f"{TYPES}\n{node}") as c:
        (c.dir / "mails").mkdir()
        (c.dir / "mails").chmod(0o777)
        program, sent = c.dir / "mail", c.dir / "mails/sent"
        program.write_text(f'#!/bin/sh\necho "$2" >>{sent}\n')
        program.chmod(0o755)
        c.controller_extra = f'mail_program = "{program}";'
        c.write_conf()
        c.start_munged()
        c.start_ctld()
        c.start_agent("gpu04", *agent, "--over-memory=note", env=machine.env)
        c.wait_nodes()
        flag, text = c.dir / "jobs/go", "used 24.3G of 20G of GPU 0"
        job = c.submit("echo $$ >pid; sleep 300", "--gpu-mem=20G", "--mail-type=FAIL")
        good = c.submit(f"while ! [ -e {flag} ]; do sleep 0.05; done", "--gpu-mem=20G")
        pid = wait_until(lambda: [t for f in c.dir.glob("jobs/pid") if (t := f.read_text().strip())], "its pid")[0]
        machine.set(h100(0), h100(1), f"process gpu=0 pid={pid} mem=24883")
        wait_until(lambda: f"NOTE              {text}\n" in c.run("gctl", "show", "job", job).stdout, "the note")
        c.wait_state(job, "RUNNING")
        notes = json.loads(c.run("gctl", "events", "--json", "--job", job, "--kind=run.note").stdout)["events"]
        assert [(e["node"], e["text"]) for e in notes] == [("gpu04", text)]
        c.agents["gpu04"].kill()
        c.start_agent("gpu04", *agent, env=machine.env)
        end = c.wait_state(job, "OUT_OF_MEMORY")
        assert end["reason"] == "GpuMemory" and text in end["reason_text"]
        wait_until(lambda: sent.exists() and sent.read_text().endswith(f": {text}\n"), "a mail that says so")
        assert text in c.run("gctl", "show", "job", job).stdout
        line = c.run("gacct", "-j", job, "-h", "--csv", "-o", "STATE,DETAIL,GPUMEM").stdout.strip()
        assert line == f"OUT_OF_MEMORY,{text},24G"
        flag.touch()
        c.wait_state(good, "COMPLETED")


def test_what_parts_count_for_in_sums(machine):
    """A quarter of a GPU that is left idle is a quarter of its hours, in gacct's last line as in greport."""
    machine.set(h100(0, "compute=0"), h100(1, "compute=80"))
    node = 'nodes = ( { name = "gpu04"; gpus = "h100:2"; share = "watch"; } );'
    with Cluster(nodes=("gpu04",), start=False, hardware=f"{TYPES}\n{node}") as c:
        c.start_munged()
        c.start_ctld()
        c.start_agent("gpu04", "--gpu-recheck=1h", "--gpu-timeout=2s", "--sample-every=100ms", env=machine.env)
        c.wait_nodes()
        wait = f"while ! [ -e {c.dir}/jobs/go ]; do sleep 0.05; done"
        part, whole = c.submit(wait, "--gpu-share=25%"), c.submit(wait, "--gpus=1")
        used = lambda j: json.loads(c.run("gctl", "show", "job", j, "--json").stdout)["jobs"][0]["runs"][0]["used"]  # noqa: E731
        for job in part, whole:
            c.wait_state(job, "RUNNING")
            wait_until(lambda: used(job).get("gpu_seen_us", 0) > 1_000_000, "samples")  # pylint: disable=cell-var-from-loop
        (c.dir / "jobs/go").touch()
        for job in part, whole:
            c.wait_state(job, "COMPLETED")
        a, b = json.loads(c.run("gacct", "-j", f"{part},{whole}", "--json").stdout)["jobs"]
        assert a["gpu_held_us"] // 4 - a["gpu_us"] in (0, -1) and b["gpu_held_us"] == b["gpu_us"]
        line = json.loads(c.run("greport", "use", "--by=user", "--json").stdout)["report"][-1]
        seen = a["used"]["gpu_seen_us"] / 4 + b["used"]["gpu_seen_us"]
        assert abs(line["gpu_idle_us"] - a["used"]["gpu_idle_us"] / 4) <= 10 and abs(line["gpu_seen_us"] - seen) <= 10
        assert line["gpu_idle_us"] < line["gpu_us"]
        total = c.run("gacct", "-j", f"{part},{whole}", "-o", "JOBID%20,EFF,IDLE").stdout.splitlines()[-1].split()
        eff, idle = (f"{100 * x / line['gpu_seen_us']:.0f}%" for x in (line["gpu_busy_us"], line["gpu_idle_us"]))
        assert total[-2:] == [eff, idle], total


def test_a_burst_is_taken_back(machine):
    """What is nobody's may be used beyond one's part, until somebody comes for it: who has it then is ended, and says why;
    who came computes what it would have alone."""
    machine.set(h100(0))
    node = 'nodes = ( { name = "gpu04"; gpus = "h100:1"; share = "watch"; } );'
    with Cluster(nodes=("gpu04",), start=False, hardware=f"{TYPES}\n{node}") as c:
        c.start_munged()
        c.start_ctld()
        c.start_agent("gpu04", "--gpu-recheck=1h", "--gpu-timeout=2s", env=machine.env)
        c.wait_nodes()
        c.extra_env.clear()  # with summaries
        flag, text = c.dir / "jobs/go", "used 34.3G of 23.6G of GPU 0; others have the rest of its burst of 40G"
        out = lambda job: c.dir / f"jobs/gpusched-{job}.out"  # noqa: E731
        solo = c.submit(SUM, "--gpu-mem=60G", "--no-summary")
        c.wait_state(solo, "COMPLETED")
        borrower = c.submit("echo $$ >pid; sleep 300", "--gpu-mem=20G", "--gpu-mem-burst=40G", "--no-requeue")
        pid = wait_until(lambda: [t for f in c.dir.glob("jobs/pid") if (t := f.read_text().strip())], "its pid")[0]
        machine.set(h100(0), f"process gpu=0 pid={pid} mem=35123")
        # One with a part of 1G is no reason: what it borrows is still nobody's.
        small = c.submit(f"while ! [ -e {flag} ]; do sleep 0.05; done", "--gpu-mem=1G")
        c.wait_state(small, "RUNNING")
        wait_until(lambda: c.run("gctl", "show", "job", borrower, "--json").stdout.count('"gpu_mem_now_mb":35123'),
                   lambda: c.run("gctl", "show", "job", borrower, "--json").stdout)
        assert c.state(borrower) == "RUNNING"
        told = c.run("ginfo", "--gpus", "-h", "-o", "JOBS").stdout
        assert f"{borrower} 20G to 40G" in told and f"{small} 1G" in told
        owner = c.submit(f"{SUM}; while ! [ -e {flag} ]; do sleep 0.05; done", "--gpu-mem=55G", "--no-summary")
        end = c.wait_state(borrower, "PREEMPTED")
        assert end["reason"] == "GpuBurst" and text in end["reason_text"]
        assert re.search(r" PREEMPTED 0:15 in [\d:]+", out(borrower).read_text()) and f"\n   reason {text}\n" in out(borrower).read_text()
        assert c.state(small) == "RUNNING"
        flag.touch()
        for job in small, owner:
            c.wait_state(job, "COMPLETED")
        assert out(owner).read_text() == out(solo).read_text() != ""


# --- MPS -------------------------------------------------------------------------------------------

MPS = {**PART, "share_mps": True}
SHOWN = "echo $CUDA_VISIBLE_DEVICES $CUDA_MPS_PIPE_DIRECTORY $CUDA_MPS_ACTIVE_THREAD_PERCENTAGE " \
        "$CUDA_MPS_PINNED_DEVICE_MEM_LIMIT $CUDA_MPS_LOG_DIRECTORY"


class Mps:
    """A launcher whose MPS is a stand-in."""

    def __init__(self, machine, munge, **options):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="gpusched-mps-"))
        self.folder.chmod(0o755)
        self.told = self.folder / "told"
        self.told.touch()
        self.told.chmod(0o666)
        self.program = self.folder / "nvidia-cuda-mps-control"
        shutil.copy(TOP / "testsuite/system/helpers/mps_standin", self.program)
        self.lau = Launcher(env=machine.env, sample_ms=100, munge=munge, mps=self.program, **options)

    def start(self, user=None, then="sleep 300", **more):
        user = user or self.lau.owner()
        output = self.lau.jobs / f"{self.lau.next_job}.out"
        script = f"#!/bin/sh\necho $$\n{SHOWN}\n{then}\n"
        run = self.lau.start_run(Job(self.lau.munge, user, script, output=str(output).encode()), **{**MPS, **more})
        self.lau.wait_running(run)
        lines = wait_until(lambda: output.exists() and (t := output.read_text().splitlines())[1:] and t, "its output")
        return run, lines[1].split()

    def starts(self):
        return [line.split()[1:] for line in self.told.read_text().splitlines() if line.startswith("start")]

    def ends(self, *runs):
        for run in runs:
            self.lau.end(run, grace=0)
            self.lau.wait_over(run)

    def stopped(self):
        """Nothing of any daemon is left."""
        wait_until(lambda: not list((self.lau.dir / "spool/mps").iterdir()), "MPS to be stopped")
        wait_until(lambda: not any(alive(int(pid)) for _, _, pid in self.starts()), "its processes to end")

    def close(self):
        self.lau.close()
        shutil.rmtree(self.folder)


@pytest.fixture
def mps(request, machine, one):
    machine.set(h100(0), h100(1))
    m = Mps(machine, one.munge, **getattr(request, "param", {}))
    yield m
    m.close()


@pytest.mark.parametrize("mps", [{}, {"cgroup": "none"}], indirect=True, ids=["cgroup", "none"])
def test_mps_of_one_user(mps, machine):
    """Started once, for as long as one of his runs is there, whoever of us is killed meanwhile."""
    owner = mps.lau.owner().pw_uid
    first, seen = mps.start()
    assert seen == ["GPU-0", f"{mps.lau.dir}/spool/mps/{owner}.0/pipe", "25", "0=20480M"]
    # MPS is on the GPU as much as the runs are, and in nobody's way.
    machine.set(h100(0), h100(1), f"process gpu=0 pid={mps.starts()[0][2]} mem=30")
    mps.lau.restart()
    second, seen = mps.start(share_milli=125, share_mb=8192, share_burst_mb=16384)
    assert seen[2:] == ["12.5", "0=16384M"]
    assert [s[:2] for s in mps.starts()] == [[str(owner), "GPU-0"]]
    mps.ends(first)
    third, _ = mps.start()  # answered after whatever the end of the first has led to
    assert len(mps.starts()) == 1 and alive(int(mps.starts()[0][2]))
    # One that has died is started anew.
    os.kill(int(mps.starts()[0][2]), signal.SIGKILL)
    wait_until(lambda: not alive(int(mps.starts()[0][2])), "the daemon to be gone")
    fourth, _ = mps.start()
    assert len(mps.starts()) == 2
    mps.ends(second, third, fourth)
    mps.stopped()
    # And again, though it does not quit.
    if mps.lau.cgroup:
        (mps.folder / "stubborn").touch()
    fifth, _ = mps.start()
    mps.lau.kill()
    os.kill(mps.lau.shepherd(fifth), signal.SIGKILL)
    mps.lau.start()
    mps.lau.wait_over(fifth)
    mps.stopped()
    assert len(mps.starts()) == 3


def test_mps_is_no_process_that_was_left(mps, machine):
    """Neither while its user has runs there, also for a launcher that was started since, nor while it ends."""
    lau = mps.lau
    (mps.folder / "stubborn").touch()
    first, _ = mps.start()
    _, _, pid = mps.starts()[0]
    machine.set(h100(0), h100(1), f"process gpu=0 pid={pid} mem=30")
    lau.restart()
    lau.looked = {}
    lau.send("MSG_GPU_CHECK", {"uuids": ["GPU-0"]})
    lau.wait(lambda: lau.looked, "the look")
    assert lau.looked == {"GPU-0": ""}
    lau.end(first, grace=0)
    lau.wait_over(first)
    whole = lau.submit("sleep 300", order={"gpus": [0], "gpu_uuids": ["GPU-0"], "gpu_type": "h100"})
    lau.wait_running(whole)
    mps.stopped()
    mps.ends(whole)
    assert not lau.faults


def test_what_outlives_mps_is_found(mps, machine):
    lau = mps.lau
    run, _ = mps.start()
    with subprocess.Popen(["sleep", "1000"], user=lau.owner().pw_uid if ROOT else None) as other:
        try:
            machine.set(h100(0), h100(1), f"process gpu=0 pid={other.pid} mem=30")
            mps.ends(run)
            mps.stopped()
            lau.wait(lambda: lau.faults, "the fault")
            assert [f["uuid"] for f in lau.faults] == ["GPU-0"] and f"process {other.pid} (sleep" in lau.faults[0]["text"]
        finally:
            other.kill()


def test_mps_that_does_not_start(mps):
    (mps.folder / "broken").touch()
    run = mps.lau.submit("true", order=MPS)
    end = mps.lau.wait_over(run)
    assert end["state"] == "NEVER" and end["cause"] == "CAUSE_LAUNCH"
    assert end["detail"] == f"MPS: '{mps.program} -d' failed: Cannot open /dev/nvidiactl"
    mps.stopped()
    mps.program.unlink()
    run = mps.lau.submit("true", order=MPS)
    assert "No such file or directory" in mps.lau.wait_over(run)["detail"]
    run = mps.lau.submit("true", order={**MPS, "gpus": [0, 1], "gpu_uuids": ["GPU-0", "GPU-1"]})
    assert "a part of one GPU" in mps.lau.wait_over(run)["detail"]
    mps.stopped()


@pytest.mark.skipif(not ROOT, reason="needs root: runs of two users")
def test_mps_of_two_users(mps):
    users = [pwd.getpwnam("nobody"), pwd.getpwnam("daemon")]
    runs = [mps.start(u)[0] for u in users]
    runs.append(mps.start(users[0], gpus=[1], gpu_uuids=["GPU-1"])[0])
    assert [s[:2] for s in mps.starts()] == [[str(users[0].pw_uid), "GPU-0"], [str(users[1].pw_uid), "GPU-0"],
                                            [str(users[0].pw_uid), "GPU-1"]]
    for user, (_, _, pid) in zip((*users, users[0]), mps.starts()):
        assert pathlib.Path(f"/proc/{pid}").stat().st_uid == user.pw_uid
    folder = mps.lau.dir / f"spool/mps/{users[1].pw_uid}.0"
    assert folder.stat().st_mode & 0o777 == 0o700 and folder.stat().st_uid == users[1].pw_uid
    mps.ends(runs[1])
    wait_until(lambda: not folder.exists(), "his MPS to be stopped")
    wait_until(lambda: not alive(int(mps.starts()[1][2])), "its end")
    assert [alive(int(s[2])) for s in mps.starts()] == [True, False, True]
    mps.ends(runs[0], runs[2])
    mps.stopped()
