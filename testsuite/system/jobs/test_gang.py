"""A job on several nodes: it starts, ends and comes again as a whole."""

import contextlib
import os
import pathlib
import shutil
import signal
import time

import pytest
from cluster import Cluster, wait_until
from judge import Judge

NODES = ("n1", "n2", "n3")

# Each rank says what it was told and waits to be let go, with the exit code that `go-RANK` holds.
SCRIPT = """
echo $GPUSCHED_NODE_RANK $GPUSCHED_NNODES $GPUSCHED_NODELIST $GPUSCHED_NODE $GPUSCHED_GPU_COUNT "$CUDA_VISIBLE_DEVICES"
trap 'cp "$GPUSCHED_INTERRUPT_FILE" "told-$GPUSCHED_JOB_ID-$GPUSCHED_NODE_RANK"; exit 99' TERM
touch up-$GPUSCHED_JOB_ID-$GPUSCHED_RESTART_COUNT-$GPUSCHED_NODE_RANK
while [ ! -s go-$GPUSCHED_JOB_ID-$GPUSCHED_NODE_RANK ]; do sleep 0.05; done
exit $(cat go-$GPUSCHED_JOB_ID-$GPUSCHED_NODE_RANK)
"""


@pytest.fixture(scope="module")
def judged():
    c = Cluster(nodes=NODES, start=False,
                partitions='( { name = "batch"; nodes = "ALL"; default = true; grace = "60s"; } )')
    with c:
        judge = Judge(c)
        c.start()
        yield c, judge


def submit(judged, *options, script=SCRIPT):
    c, judge = judged
    job = c.submit(script, "--output=gang-%j.out", *options)
    judge.fact(f"submit {job} 0 gang-{job}")
    return job


def go(c, job, rank, code=0):
    (c.dir / f"jobs/go-{job}-{rank}").write_text(f"{code}\n")


def wait_up(c, job, ranks=2, attempt=1):
    c.wait_state(job, "RUNNING")
    for rank in range(ranks):
        path = c.dir / f"jobs/up-{job}-{attempt - 1}-{rank}"
        wait_until(path.exists, f"rank {rank} of attempt {attempt} to be up")


def children(pid):
    found = [pid]
    with contextlib.suppress(OSError):
        for task in pathlib.Path(f"/proc/{pid}/task").iterdir():
            for child in (task / "children").read_text().split():
                found += children(int(child))
    return found


def power_off(judged, node):
    """Nothing of the node is left, nor of its tmpfs."""
    c, judge = judged
    mark = f"/run-{node}".encode()
    c.agents[node].kill()
    # Its halves die with the agent; what was told before they did counts.
    for pid in c.shepherds():
        with contextlib.suppress(OSError):
            if mark not in pathlib.Path(f"/proc/{pid}/cmdline").read_bytes():
                continue
            os.kill(pid, signal.SIGSTOP)
            for child in reversed(children(pid)):
                with contextlib.suppress(OSError):
                    os.kill(child, signal.SIGKILL)
    judge.fact(f"reboot {node} {time.monotonic_ns() // 1000}")
    shutil.rmtree(c.run_base / f"run-{node}")


def test_all_ranks_run_and_are_told_who_they_are(judged):
    c, _ = judged
    job = submit(judged, "--nodes=2", "--gpus-per-node=2")
    wait_up(c, job)
    seen = c.job(job)
    assert (seen["nodes"], seen["n_nodes"], seen["gpus_held"]) == ("n[1-2]", 2, 4)
    assert "demo:4" in c.run("gqueue").stdout and "n[1-2]" in c.run("gqueue").stdout
    shown = c.run("gctl", "show", "job", job).stdout
    assert "RANK 0            n1: running, GPUs 0,1\n" in shown
    assert "RANK 1            n2: running, GPUs 0,1\n" in shown
    assert job in c.jobs("--nodelist=n2") and job not in c.jobs("--nodelist=n3")
    go(c, job, 0)
    # The one that is ready waits for the other, and its GPUs are free.
    other = submit(judged, "--gpus=4", "--nodelist=n1", script="exit 0")
    c.wait_state(other, "COMPLETED")
    assert c.state(job) == "RUNNING"
    go(c, job, 1)
    c.wait_state(job, "COMPLETED")
    out = c.dir / "jobs"
    assert (out / f"gang-{job}.out").read_text() == "0 2 n[1-2] n1 2 0,1\n"
    assert (out / f"gang-{job}.out.1").read_text() == "1 2 n[1-2] n2 2 0,1\n"


def test_one_fails_and_all_end(judged):
    c, _ = judged
    job = submit(judged, "--nodes=3", "--gpus-per-node=2")
    wait_up(c, job, 3)
    go(c, job, 2, 7)
    end = c.wait_state(job, "FAILED")
    assert (end["exit_code"], end["exit_signal"]) == (7, 0)
    assert end["reason_text"] == "rank 2 on n3: ended with exit code 7"
    for rank in (0, 1):
        assert "reason=peer\n" in (c.dir / f"jobs/told-{job}-{rank}").read_text()
    shown = c.run("gctl", "show", "job", job).stdout
    assert "n3: ended 7:0, GPUs 0,1\n" in shown and "n1: ended 99:0 peer, GPUs 0,1\n" in shown


def test_the_time_limit_ends_all(judged):
    c, _ = judged
    job = submit(judged, "--nodes=2", "--time=0:02")
    c.wait_state(job, "TIMEOUT")


def test_cancelled_as_a_whole(judged):
    c, judge = judged
    job = submit(judged, "--nodes=2")
    wait_up(c, job)
    c.run("gcancel", job)
    judge.fact(f"cancel {job}")
    c.wait_state(job, "CANCELLED")


def test_outlives_controller_and_agents(judged):
    c, _ = judged
    job = submit(judged, "--nodes=2", "--gpus-per-node=1")
    wait_up(c, job)
    c.ctld.kill()
    c.agents["n1"].kill()
    go(c, job, 1)
    c.start_ctld()
    c.start_agent("n1")
    c.wait_nodes()
    assert c.job(job)["attempt"] == 1
    go(c, job, 0)
    c.wait_state(job, "COMPLETED")


def test_killed_controller_between_the_ends(judged):
    """Who failed first is known after a restart too."""
    c, _ = judged
    job = submit(judged, "--nodes=2", script=SCRIPT.replace("exit 99", "while [ ! -s go-late ]; do sleep 0.05; done; exit 99"))
    wait_up(c, job)
    go(c, job, 0, 5)
    c.wait_state(job, "COMPLETING")
    c.ctld.kill()
    c.start_ctld()
    c.wait_nodes()
    assert c.state(job) == "COMPLETING"
    (c.dir / "jobs/go-late").write_text("1\n")
    assert c.wait_state(job, "FAILED")["exit_code"] == 5


def test_a_dead_node_requeues_all_of_it(judged):
    c, _ = judged
    job = submit(judged, "--nodes=2", "--gpus-per-node=4", "--requeue")
    wait_up(c, job)
    power_off(judged, "n2")
    c.run("gctl", "node", "down", "n2", "--confirmed-off", "--reason=no power")
    wait_until(lambda: c.job(job)["attempt"] == 2, "the second attempt")
    wait_up(c, job, attempt=2)
    assert c.job(job)["nodes"] == "n[1,3]"
    assert "reason=peer\n" in (c.dir / f"jobs/told-{job}-0").read_text()
    assert "then=requeue\n" in (c.dir / f"jobs/told-{job}-0").read_text()
    go(c, job, 0)
    go(c, job, 1)
    assert c.wait_state(job, "COMPLETED")["attempt"] == 2
    c.start_agent("n2")
    c.run("gctl", "resume", "n2")
    c.wait_nodes()


def test_a_rebooted_node_requeues_all_of_it(judged):
    c, _ = judged
    job = submit(judged, "--nodes=3", "--requeue")
    wait_up(c, job, 3)
    power_off(judged, "n3")
    assert c.state(job) == "RUNNING"  # nobody knows
    c.start_agent("n3")
    wait_until(lambda: c.job(job)["attempt"] == 2, "the second attempt")
    wait_up(c, job, 3, attempt=2)
    for rank in range(3):
        go(c, job, rank)
    c.wait_state(job, "COMPLETED")


def test_what_never_fits_is_refused(judged):
    c, _ = judged
    r = c.run("gsubmit", "--nodes=4", stdin="#!/bin/sh\n", check=False)
    assert r.returncode == 1 and "nodes" in r.stderr


def test_the_judge_agrees_with_all_of_it(judged):
    c, judge = judged
    judge.wait_ended(list(c.jobs()))
    judge.observe()
    judge.fact("quiet")
    assert "0 violations" in judge.verdict()
