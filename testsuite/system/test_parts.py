"""Runs with parts of GPUs on their node: what one takes beyond its part, and with whom it shares."""

import os

import pytest
from cluster import ROOT, wait_until
from launcher import Job, Launcher
from test_gpus import Machine, h100

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
    lau = Launcher(env=machine.env, over_memory="end")
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


@pytest.mark.parametrize("policy", ["note", "warn"])
def test_noted(machine, one, policy):
    """It is told once, kept with its end, and goes on; a warning ends its output. Also when the agent was killed."""
    machine.set(h100(0), h100(1))
    lau = Launcher(env=machine.env, munge=one.munge, over_memory=policy)
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
    assert lau.output(run).splitlines()[1:] == ["done"] + ([line] if policy == "warn" else [])
    machine.set(h100(0), h100(1))
    lau.close()


@pytest.mark.skipif(not ROOT, reason="needs root: runs of two users")
def test_one_user_at_a_time(machine, one):
    import pwd
    lau = Launcher(env=machine.env, munge=one.munge, share_users="one")
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
