"""Launcher and shepherds killed, started again, and started anew on what they left: real munge and real processes."""

import contextlib
import os
import pathlib
import pwd
import signal
import subprocess
import time

import pytest

from cluster import BUILD, ROOT, wait_until
from launcher import Job, Launcher, alive
from test_launcher import fixture_any_lau, fixture_lau, pid_in, wait_gone  # noqa: F401

FAILPOINTS = "#define ENABLE_FAILPOINTS 1" in (BUILD / "config.h").read_text()


# --- restarts ------------------------------------------------------------------------------------

def test_a_run_outlives_the_launcher(any_lau):
    run = any_lau.submit("until [ -e go ]; do sleep 0.05; done; exit 8", order={"gpus": [1]})
    any_lau.wait_running(run)
    any_lau.restart()
    assert any_lau.state(run) == "RUNNING" and any_lau.runs[run]["gpus"] == [1]
    (any_lau.jobs / "go").touch()
    assert any_lau.result(run) == ("CAUSE_EXIT", 8, 0)
    any_lau.restart()
    assert any_lau.result(run) == ("CAUSE_EXIT", 8, 0)
    any_lau.forget(run)
    wait_until(lambda: not any_lau.record_dir(run).exists(), "the record to be forgotten")
    any_lau.restart()
    assert run not in any_lau.runs


def test_a_run_that_ended_meanwhile(any_lau):
    run = any_lau.submit("until [ -e go ]; do sleep 0.05; done; exit 8")
    any_lau.wait_running(run)
    shepherd = any_lau.shepherd(run)
    any_lau.kill()
    (any_lau.jobs / "go").touch()
    wait_gone(shepherd)
    any_lau.start()
    assert any_lau.state(run) == "ENDED" and any_lau.result(run) == ("CAUSE_EXIT", 8, 0)


def test_orders_reach_a_shepherd_of_the_launcher_before(lau):
    run = lau.submit("trap 'exit 3' TERM; echo up > up; while :; do sleep 0.05; done")
    wait_until((lau.jobs / "up").exists, "the program")
    lau.restart()
    lau.end(run)
    assert lau.result(run) == ("CAUSE_CANCEL", 3, 0)


def test_a_killed_shepherd_is_lost_and_nothing_of_its_run_is_left(any_lau):
    run = any_lau.submit("echo $$ > pid; (setsid sh -c 'echo $$ > pid2; exec sleep 1000' &); exec sleep 1000",
                         order={"gpus": [0]})
    pids = pid_in(any_lau, "pid"), pid_in(any_lau, "pid2")
    os.kill(any_lau.shepherd(run), signal.SIGKILL)
    r = any_lau.wait_over(run)
    assert r["cause"] == "CAUSE_LOST" and r.get("exit_code", 0) == 0 and "shepherd" in r["detail"]
    assert r["elapsed_us"] > 0 and r["end_time"] > r["start_time"]
    assert not any(alive(p) for p in pids)
    assert any_lau.result(any_lau.submit("exit 0", order={"gpus": [0]})) == ("CAUSE_EXIT", 0, 0)


def test_shepherd_and_launcher_killed_together(any_lau):
    run = any_lau.submit("echo $$ > pid; (setsid sh -c 'echo $$ > pid2; exec sleep 1000' &); exec sleep 1000")
    pids = pid_in(any_lau, "pid"), pid_in(any_lau, "pid2")
    shepherd = any_lau.shepherd(run)
    any_lau.kill()
    os.kill(shepherd, signal.SIGKILL)
    wait_gone(shepherd)
    any_lau.start()
    assert any_lau.wait_over(run)["cause"] == "CAUSE_LOST"
    assert not any(alive(p) for p in pids)


@pytest.mark.skipif(not ROOT, reason="needs users who are not the owner")
@pytest.mark.parametrize("fresh", [False, True])
def test_a_mark_in_somebody_else_s_environment_ends_nobody(fresh):
    """Without cgroups what a killed shepherd leaves is found by GPUSCHED_RUN_DIR, which any user may write into any environment."""
    with contextlib.closing(Launcher(cgroup="none")) as lau:
        run = lau.submit("(setsid sh -c 'echo $$ > pid; exec sleep 1000' &); exec sleep 1000")
        pid, shepherd = pid_in(lau, "pid"), lau.shepherd(run)
        lau.wait_running(run)
        other = pwd.getpwnam("daemon")
        bystander = subprocess.Popen(["sleep", "1000"], env={"GPUSCHED_RUN_DIR": str(lau.run_dir(run))},
                                     user=other.pw_uid, group=other.pw_gid, extra_groups=[])
        try:
            lau.kill()
            os.kill(shepherd, signal.SIGKILL)
            wait_gone(shepherd)
            assert alive(pid)  # the job's first process ends with its shepherd, what it has started does not
            if fresh:
                (lau.dir / "run/incarnation").unlink()
            lau.start()
            assert lau.wait_over(run)["cause"] == ("CAUSE_NODE_FAIL" if fresh else "CAUSE_LOST")
            assert not alive(pid) and bystander.poll() is None
        finally:
            bystander.kill()
            bystander.wait()


# No more than 40 at a time, and no longer than a minute, whatever becomes of the test.
TREE = """
import os, resource, time
resource.setrlimit(resource.RLIMIT_NPROC, (40, 40))
os.setsid()
os.nice(19)
end = time.time() + 60
open("begun", "w").close()
while not os.path.exists("enough") and time.time() < end:
    try:
        if os.fork() and os.fork():
            os._exit(0)
    except OSError:
        time.sleep(0.001)
"""


@pytest.mark.skipif(not ROOT, reason="needs a user of whom nothing else runs")
def test_what_forks_again_and_again_does_not_hold_up_a_launcher():
    """Without cgroups: whatever was seen is killed, and there are others by then."""
    with contextlib.closing(Launcher(cgroup="none")) as lau:
        run = lau.submit(f"python3 -c '{TREE}' & exec sleep 1000", user=pwd.getpwnam("games"))
        lau.wait_running(run)
        wait_until((lau.jobs / "begun").exists, "the tree")
        shepherd = lau.shepherd(run)
        lau.kill()
        os.kill(shepherd, signal.SIGKILL)
        wait_gone(shepherd)
        (lau.dir / "run/incarnation").unlink()
        try:
            lau.start()
            assert lau.result(lau.submit("exit 3")) == ("CAUSE_EXIT", 3, 0)
        finally:
            (lau.jobs / "enough").touch()
        assert lau.wait_over(run)["cause"] == "CAUSE_NODE_FAIL"


def test_a_new_incarnation_leaves_nothing_alive(any_lau):
    run = any_lau.submit("echo $$ > pid; trap '' TERM; while :; do sleep 0.1; done", order={"gpus": [3]})
    ended = any_lau.submit("exit 5")
    pid = pid_in(any_lau, "pid")
    any_lau.wait_over(ended)
    any_lau.wait_running(run)
    old, shepherd = any_lau.hello["incarnation"], any_lau.shepherd(run)
    any_lau.kill()
    (any_lau.dir / "run/incarnation").unlink()
    any_lau.start()
    assert any_lau.hello["incarnation"] != old
    assert any_lau.runs[run]["state"] == "ENDED" and any_lau.runs[run]["cause"] == "CAUSE_NODE_FAIL"
    assert any_lau.runs[run]["incarnation"] == old
    assert any_lau.result(ended) == ("CAUSE_EXIT", 5, 0)
    assert not alive(pid) and not alive(shepherd)
    r = any_lau.wait_over(any_lau.submit("exit 0", order={"incarnation": old}))
    assert r["state"] == "NEVER" and "incarnation" in r["detail"]


def test_unacknowledged_ends_are_on_disk_and_survive_tmpfs(lau):
    run = lau.submit("exit 6")
    lau.wait_over(run)
    copy = lau.dir / f"spool/exits/{run[0]}_0_1"
    wait_until(copy.exists, "the copy on disk")
    lau.kill()
    for p in sorted((lau.dir / "run").rglob("*"), reverse=True):
        p.rmdir() if p.is_dir() else p.unlink()
    lau.start()
    assert lau.result(run) == ("CAUSE_EXIT", 6, 0)
    lau.forget(run)
    wait_until(lambda: not copy.exists(), "the copy to be forgotten")


def test_torn_records_after_a_power_loss(lau):
    run = lau.submit("exit 0")
    lau.wait_over(run)
    alive_run = lau.submit("echo $$ > pid; exec sleep 1000")
    pid = pid_in(lau, "pid")
    lau.kill()
    for r, name in ((run, "exit"), (alive_run, "launch")):
        f = lau.record_dir(r) / name
        mode = f.stat().st_mode  # it says whether anything was forked
        f.chmod(0o600)
        f.write_bytes(f.read_bytes()[:-1])
        f.chmod(mode)
    (lau.dir / "run/incarnation").write_text("x")
    lau.start()
    assert lau.runs[run]["cause"] == "CAUSE_NODE_FAIL"  # never guess 0
    assert lau.state(alive_run) == "ENDED" and lau.runs[alive_run]["cause"] in ("CAUSE_NODE_FAIL", "CAUSE_LOST")
    assert not alive(pid)


def test_one_launcher_for_a_directory(lau):
    with pytest.raises(Exception, match="in use by another agent"):
        Launcher(folder=lau.dir, munge=lau.munge)


def test_no_descriptors_or_zombies_are_left(lau):
    fds = pathlib.Path(f"/proc/{lau.pid}/fd")
    job = Job(lau.munge, lau.owner(), "#!/bin/sh\n", output="/dev/null", max_attempts=1000)

    def some():
        runs = [lau.start_run(job) for _ in range(60)]
        for run in runs:
            assert lau.result(run) == ("CAUSE_EXIT", 0, 0)
        lau.forget(*runs)
        wait_until(lambda: not lau.shepherds(), "shepherds to end")
        lau.wait_over(lau.start_run(job))

    def count():
        return len(list(fds.iterdir())) if ROOT else 0  # who is not dumpable shows them to root alone

    some()
    before = count()
    for _ in range(2):
        some()
        wait_until(lambda: count() <= before + 4, lambda: f"{count()} descriptors to be those {before} of before")  # the run at hand has a few
    children = pathlib.Path(f"/proc/{lau.pid}/task/{lau.pid}/children")
    wait_until(lambda: all(alive(int(p)) for p in children.read_text().split()), "zombies to be taken away")


# --- killed at every named point -----------------------------------------------------------------

POINTS = {  # where: what may be told in the end
    "launcher_before_record": {"absent", "EXIT"},
    "launcher_after_record": {"NEVER"},
    "launcher_before_spawn": {"NEVER"},
    "launcher_after_spawn": {"EXIT"},
    "launcher_before_told": {"EXIT"},
    "shepherd_before_fork": {"LOST"},
    "shepherd_before_exec": {"LAUNCH_OWNER"},
    "shepherd_before_started": {"LOST"},
    "shepherd_before_epilog": {"LOST"},
    "shepherd_after_epilog": {"LOST"},
    "shepherd_before_exit_record": {"LOST"},
    "shepherd_after_exit_record": {"EXIT"},
    "shepherd_before_news": {"LOST"},
}


@pytest.mark.skipif(not FAILPOINTS, reason="the build has no failpoints")
def test_no_point_of_a_node_is_left_out():
    said = subprocess.run([BUILD / "ctld/gctld", "--list-failpoints"], capture_output=True, text=True, check=True).stdout
    assert {line.split()[0] for line in said.splitlines() if line.startswith(("launcher_", "shepherd_"))} == set(POINTS)


@pytest.mark.skipif(not FAILPOINTS, reason="the build has no failpoints")
@pytest.mark.parametrize("point", POINTS)
def test_killed_at_a_failpoint(point):
    lau = Launcher(start=False)
    try:
        lau.start(GPUSCHED_FAILPOINT=point)
        run = lau.submit("echo x >> count; exit 3", order={"gpus": [0]})
        if point.startswith("launcher"):
            wait_until(lambda: not alive(lau.pid), "the launcher to be killed")
            lau.kill()
            lau.start()
            if run in lau.runs:
                lau.wait_over(run)
        else:
            lau.wait_over(run)
        r = lau.runs.get(run)
        told = "absent" if not r else "NEVER" if r["state"] == "NEVER" else r["cause"].removeprefix("CAUSE_")
        assert told in POINTS[point]
        count = (lau.jobs / "count").read_text() if (lau.jobs / "count").exists() else ""
        assert count in ("", "x\n")
        if told == "EXIT":
            assert r["exit_code"] == 3 and count == "x\n"
        elif told in ("NEVER", "absent", "LAUNCH"):
            assert count == ""
        lau.restart()
        assert (run in lau.runs) == (told != "absent")
        if r:
            assert lau.runs[run]["state"] == r["state"]
        # nothing is left, the GPU is free, and a use that executed nothing was taken back
        assert lau.result(lau.submit("exit 0", order={"gpus": [0]})) == ("CAUSE_EXIT", 0, 0)
    finally:
        lau.close()


def test_a_new_incarnation_and_a_shepherd_that_has_not_said_who_it_is(any_lau):
    run = any_lau.submit("exec sleep 1000")
    any_lau.wait_running(run)
    shepherd = any_lau.shepherd(run)
    any_lau.kill()
    (any_lau.record_dir(run) / "started").unlink()
    (any_lau.dir / "run/incarnation").unlink()
    any_lau.start()
    assert any_lau.wait_over(run)["cause"] == "CAUSE_NODE_FAIL"
    assert not alive(shepherd)


def test_tmpfs_cleared_under_a_run(any_lau):
    """No record is left of it; a new incarnation ends it all the same, and its shepherd ends too."""
    run = any_lau.submit("echo $$ > pid; exec sleep 1000")
    pid, shepherd = pid_in(any_lau, "pid"), any_lau.shepherd(run)
    any_lau.kill()
    for p in sorted((any_lau.dir / "run").rglob("*"), reverse=True):
        p.rmdir() if p.is_dir() else p.unlink()
    any_lau.start()
    assert run not in any_lau.runs
    if any_lau.hello["containment"].startswith("cgroup2"):
        wait_gone(pid, shepherd)
    else:
        os.kill(pid, signal.SIGKILL)
        wait_gone(shepherd)


def test_more_ends_than_a_hello_holds(lau):
    """Ends that nobody acknowledged are all told, the many after the hello."""
    count = 5000
    for job in range(100000, 100000 + count):
        lau.end((job, 1))
    lau.wait(lambda: len(lau.runs) == count, "all to be told")
    lau.restart()
    lau.wait(lambda: len(lau.runs) == count, "all to be told again")
    lau.forget(*lau.runs)
    wait_until(lambda: not list((lau.dir / "run/runs").iterdir()), "all to be forgotten")
