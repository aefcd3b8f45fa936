"""What a run and the cluster say to each other while it runs: interruption, ack, checkpoint, suspension."""

import os
import signal
import time

import pytest

from cluster import Cluster, live_for, wait_until
from launcher import Job, Launcher, alive


@pytest.fixture(name="lau", params=["", "none"], ids=["best", "subreaper"])
def fixture_lau(request):
    launcher = Launcher(cgroup=request.param)
    yield launcher
    launcher.close()


@pytest.fixture(name="cluster", scope="module")
def fixture_cluster():
    with Cluster(partitions='( { name = "batch"; nodes = "ALL"; default = true; grace = "3000s"; },'
                            '  { name = "short"; nodes = "ALL"; grace = "3s"; } )') as c:
        yield c


def there(lau, name):
    wait_until((lau.jobs / name).exists, f"the file {name}")


def text_in(cluster, name):
    path = cluster.dir / "jobs" / name
    return wait_until(lambda: path.exists() and path.read_text(), f"text in {name}")


def values(text):
    return dict(line.split("=", 1) for line in text.splitlines())


# --- acknowledgement ----------------------------------------------------------------------------

def test_an_ack_that_is_there_already_ends_it_at_once(lau):
    """Nothing to save: made before there was anything to acknowledge. It changes nothing until then."""
    by_limit = lau.submit("trap '' TERM; touch $GPUSCHED_RUN_DIR/ack; while :; do sleep 0.1; done",
                          order={"time_limit_s": 2, "grace_s": 3000})
    by_order = lau.submit("trap '' TERM; touch $GPUSCHED_RUN_DIR/ack; echo up > up; while :; do sleep 0.1; done")
    lau.wait_running(by_order)
    there(lau, "up")
    lau.end(by_order, cause="CAUSE_PREEMPT", grace=3000)
    assert lau.result(by_order) == ("CAUSE_PREEMPT", 0, 9)
    assert lau.result(by_limit) == ("CAUSE_TIME_LIMIT", 0, 9)
    assert lau.runs[by_limit]["elapsed_us"] >= 2_000_000


def test_an_order_that_is_said_again_warns_once(lau):
    """A controller that has lost its session says again what it wants, and no longer for whom."""
    run = lau.submit("""
        trap 'echo TERM >> terms' TERM; echo up > up
        while ! [ -e go ]; do sleep 0.05; done; cat $GPUSCHED_INTERRUPT_FILE > why""")
    there(lau, "up")
    lau.end(run, cause="CAUSE_PREEMPT", grace=3000, by_user="deploy", by_job=4820, requeue=True)
    there(lau, "terms")
    lau.end(run, cause="CAUSE_PREEMPT", grace=3000)
    lau.signal(run, 28)  # orders are obeyed in their order: WINCH kills nobody
    lau.end(run, cause="CAUSE_PREEMPT", grace=3000)
    (lau.jobs / "go").touch()
    assert lau.result(run) == ("CAUSE_PREEMPT", 0, 0)
    assert (lau.jobs / "terms").read_text() == "TERM\n"
    why = (lau.jobs / "why").read_text()
    assert "by_user=deploy\n" in why and "by_job=4820\n" in why


# --- in a whole cluster -------------------------------------------------------------------------

def test_an_ack_frees_the_gpus_long_before_the_deadline(cluster):
    """All GPUs of the node; who waits for them starts at once, though the grace is most of an hour."""
    job = cluster.submit("""
        trap 'cat $GPUSCHED_INTERRUPT_FILE > ack.why; touch $GPUSCHED_RUN_DIR/ack' TERM
        echo up > ack.up; while :; do sleep 0.05; done""", "--gpus=4")
    text_in(cluster, "ack.up")
    after = cluster.submit("true", "--gpus=4")
    before = time.time()
    cluster.run("gcancel", job)
    why = values(text_in(cluster, "ack.why"))
    cluster.wait_state(after, "COMPLETED")
    assert cluster.job(job)["state"] == "CANCELLED"
    assert why["reason"] == "cancel" and why["then"] == "end" and why["by_user"]
    assert before + 2999 < int(why["deadline"]) <= time.time() + 3000


def test_without_an_ack_it_is_killed_when_its_grace_is_over(cluster):
    job = cluster.submit("""
        trap 'cat $GPUSCHED_INTERRUPT_FILE > grace.why' TERM
        echo $$ > grace.up; while :; do sleep 0.1; done""", "-p", "short", "--gpus=1")
    text_in(cluster, "grace.up")
    cluster.run("gcancel", job)
    why = values(text_in(cluster, "grace.why"))
    assert cluster.wait_state(job, "CANCELLED")["exit_signal"] == 9
    # (The deadline is whole seconds.)
    assert cluster.job(job)["end_time"] >= int(why["deadline"]), "it had all of its grace"


def test_a_job_that_comes_back_knows(cluster):
    job = cluster.submit("""
        trap 'cat $GPUSCHED_INTERRUPT_FILE > again.why.$GPUSCHED_RESTART_COUNT; touch $GPUSCHED_RUN_DIR/ack' TERM
        echo up > again.up.$GPUSCHED_RESTART_COUNT; [ $GPUSCHED_RESTART_COUNT = 1 ] && exit 0
        while :; do sleep 0.05; done""", "--gpus=1")
    text_in(cluster, "again.up.0")
    cluster.run("gctl", "requeue", job)
    assert values(text_in(cluster, "again.why.0"))["then"] == "requeue"
    cluster.wait_state(job, "COMPLETED")


def test_checkpoint_and_progress_are_seen(cluster):
    job = cluster.submit("""
        printf '\\033[1mepoch 1\\nand more\\n' > $GPUSCHED_RUN_DIR/progress
        touch $GPUSCHED_RUN_DIR/checkpoint; stat -c %Y $GPUSCHED_RUN_DIR/checkpoint > note.at
        while ! [ -e note.go ]; do sleep 0.1; done
        touch $GPUSCHED_RUN_DIR/checkpoint; stat -c %Y $GPUSCHED_RUN_DIR/checkpoint > note.last""", "--gpus=1")
    seen = wait_until(lambda: (lambda j: j if j.get("checkpoint_time") else None)(cluster.job(job)), "a checkpoint")
    assert abs(seen["checkpoint_time"] - int(text_in(cluster, "note.at"))) <= 1
    assert seen["progress"] == "\\x1B[1mepoch 1"
    assert "\\x1B[1mepoch 1" in cluster.run("gqueue", "-j", job, "-o", "JOBID,PROGRESS").stdout
    shown = cluster.run("gctl", "show", "job", job).stdout
    assert "PROGRESS" in shown and "CHECKPOINT" in shown
    cluster.ctld.kill()  # what is safe is known to a controller that is started again
    cluster.start_ctld()
    cluster.wait_nodes()
    assert cluster.job(job)["checkpoint_time"] == seen["checkpoint_time"]
    wait_until(lambda: cluster.job(job).get("progress"), "the node to say again what is of the moment")
    (cluster.dir / "jobs/note.go").touch()
    end = cluster.wait_state(job, "COMPLETED")
    assert abs(end["checkpoint_time"] - int(text_in(cluster, "note.last"))) <= 1
    assert not end.get("progress")


def test_progress_that_changes_all_the_time_is_told_now_and_then(lau):
    """The launcher hears of it at most once in ten seconds, and not at all of what changed in between."""
    run = lau.submit("i=0; while [ $i -lt 60 ]; do i=$((i+1)); echo $i > $GPUSCHED_RUN_DIR/progress; sleep 0.05; done")
    began = time.monotonic()
    lau.wait_over(run)
    # STARTING, RUNNING, once more with progress, ENDED; a slow machine takes more than ten seconds for it.
    assert len(lau.history[run]) <= 4 + (time.monotonic() - began) // 10


# --- suspension, at the launcher ----------------------------------------------------------------

COUNT = "n=0; while :; do n=$((n+1)); echo $n > count.new; mv count.new count; sleep 0.01; done"


def stands_still(lau):
    """A program that is stopped writes nothing; what it had under way was over before that was said."""
    before = (lau.jobs / "count").read_text()
    live_for(0.3)
    return (lau.jobs / "count").read_text() == before


def counts(lau):
    before = (lau.jobs / "count").read_text()
    wait_until(lambda: (lau.jobs / "count").read_text() != before, "the program to count")


def test_suspended_it_does_nothing_and_then_goes_on(lau):
    run = lau.submit(f"setsid sh -c '{COUNT}'", order={"time_limit_s": 3600})
    there(lau, "count")
    for _ in range(3):
        counts(lau)
        lau.suspend(run)
        assert stands_still(lau)
        lau.suspend(run, False)
    counts(lau)
    lau.end(run)
    r = lau.wait_over(run)
    assert 900_000 <= r["suspended_us"] < r["elapsed_us"]
    assert not r.get("suspended")


def test_suspended_time_is_not_of_the_limit(lau):
    """Suspended as soon as it runs, for longer than its limit, it has all of that limit after it."""
    run = lau.submit(COUNT, order={"time_limit_s": 2, "grace_s": 1})
    lau.wait_state(run, "STARTING", "RUNNING")
    lau.suspend(run)
    live_for(3)
    lau.drain()
    assert lau.state(run) == "RUNNING"
    lau.suspend(run, False)
    there(lau, "count")
    counts(lau)
    assert lau.result(run)[0] == "CAUSE_TIME_LIMIT"
    r = lau.runs[run]
    assert r["suspended_us"] >= 3_000_000 and r["elapsed_us"] - r["suspended_us"] >= 1_900_000


def test_what_is_suspended_reacts_to_its_end(lau):
    run = lau.submit(f"trap 'cat $GPUSCHED_INTERRUPT_FILE > why; exit 7' TERM; {COUNT}")
    there(lau, "count")
    lau.suspend(run)
    lau.end(run, cause="CAUSE_PREEMPT", grace=3000)
    assert lau.result(run) == ("CAUSE_PREEMPT", 7, 0)
    assert "reason=preempt" in (lau.jobs / "why").read_text()


@pytest.mark.parametrize("how", ["end", "kill"])
def test_what_is_suspended_can_be_killed(lau, how):
    run = lau.submit(f"trap '' TERM; echo $$ > pid; {COUNT}")
    there(lau, "count")
    pid = int((lau.jobs / "pid").read_text())
    lau.suspend(run)
    if how == "end":
        lau.end(run, grace=0)
        assert lau.result(run) == ("CAUSE_CANCEL", 0, 9)
    else:
        os.kill(pid, signal.SIGKILL)
        assert lau.result(run) == ("CAUSE_EXIT", 0, 9)
    assert not alive(pid)


def test_a_suspension_outlives_the_launcher(lau):
    run = lau.submit(COUNT)
    there(lau, "count")
    lau.suspend(run)
    lau.restart()
    lau.wait_running(run)
    assert lau.runs[run]["suspended"] and stands_still(lau)
    assert lau.runs[run]["suspended_us"] < lau.runs[run]["elapsed_us"]
    lau.suspend(run, False)
    counts(lau)
    lau.kill()
    lau.start()
    lau.wait_running(run)
    assert not lau.runs[run].get("suspended") and lau.runs[run]["suspended_us"] >= 300_000


def test_a_shepherd_killed_over_a_suspended_run_leaves_nothing(lau):
    run = lau.submit(f"echo $$ > pid; {COUNT}")
    there(lau, "count")
    lau.suspend(run)
    os.kill(lau.shepherd(run), signal.SIGKILL)
    r = lau.wait_over(run)
    assert r["cause"] == "CAUSE_LOST" and 0 < r["suspended_us"] <= r["elapsed_us"]
    assert not alive(int((lau.jobs / "pid").read_text()))


def test_suspended_before_it_runs(lau):
    """The order comes as early as it can: the program is stopped as soon as it has begun."""
    run = lau.start_run(Job(lau.munge, lau.owner(), f"#!/bin/sh\n{COUNT}\n", cwd=str(lau.jobs)))
    lau.wait_state(run, "STARTING", "RUNNING")
    lau.suspend(run)
    assert lau.history[run][:2] == ["STARTING", "RUNNING"]
    lau.suspend(run, False)
    there(lau, "count")
    counts(lau)


def test_continued_from_outside_it_is_stopped_again(lau):
    run = lau.submit(f"echo $$ > pid; {COUNT}")
    there(lau, "count")
    pid = int((lau.jobs / "pid").read_text())
    lau.suspend(run)
    lau.signal(run, int(signal.SIGCONT))
    assert stands_still(lau)
    os.kill(pid, signal.SIGCONT)  # as its owner may, from another session
    wait_until(lambda: stands_still(lau), "it to be stopped again")
    lau.suspend(run, False)
    counts(lau)
