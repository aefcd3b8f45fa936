"""From the change of user to the program: the owner's files may hang there, and other processes of the owner may stop or kill the one
that becomes the program. Neither holds a node's GPUs, and the time is charged."""

import contextlib
import json
import os
import pathlib
import signal
import subprocess
import threading

import pytest

from cluster import ROOT, Cluster, wait_until
from hangfs import fixture_hanging, fixture_place  # noqa: F401
from launcher import Launcher

pytestmark = pytest.mark.skipif(not ROOT, reason="needs a user who is not root")
PROLOG = """#!/bin/sh
while [ -e {dir}/waits ]; do sleep 0.02; done
"""
GPU = {"gpus": [0]}


def launcher(place, **options):
    """With a task prolog that waits while there is a file `waits`: the owner's processes reach the one that runs it."""
    prolog = place / "prolog"
    prolog.write_text(PROLOG.format(dir=place))
    prolog.chmod(0o755)
    return contextlib.closing(Launcher(task_prolog=str(prolog), **options))


def state_of(pid):
    with contextlib.suppress(OSError):
        return pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0]
    return ""


def early(lau, run):
    """The process that is to become the run's program, and is its owner's by now."""
    shepherd = lau.shepherd(run)
    path = pathlib.Path(f"/proc/{shepherd}/task/{shepherd}/children")
    for pid in map(int, path.read_text().split()):
        with contextlib.suppress(OSError):
            if f"Uid:\t{lau.owner().pw_uid}\t" in pathlib.Path(f"/proc/{pid}/status").read_text():
                return pid
    return 0


def as_owner(lau, sig, pid):
    owner = lau.owner()
    subprocess.run(["sh", "-c", f"kill -{sig} {pid}"], user=owner.pw_uid, group=owner.pw_gid, extra_groups=[], check=False,
                   stderr=subprocess.DEVNULL)


@pytest.mark.parametrize("cgroup", ["", "none"])
@pytest.mark.parametrize("limit, cause, text", [
    (0, "CAUSE_LAUNCH", "not started after 1 s: entering the working directory '{path}' took too long"),
    (1, "CAUSE_TIME_LIMIT", "entering the working directory '{path}' took too long")])
def test_a_folder_that_does_not_answer(hanging, cgroup, limit, cause, text):
    """The launch ends after its time, or the run's, though the process cannot be killed; its GPU is another's by then."""
    with contextlib.closing(Launcher(cgroup=cgroup, launch_timeout_ms=60000 if limit else 1000)) as lau:
        hanging.hang()
        run = lau.submit("echo ran >ran", cwd=str(hanging.path), order={**GPU, "time_limit_s": limit})
        r = lau.wait_over(run)
        assert r["state"] == "ENDED" and r["cause"] == cause and text.format(path=hanging.path) in r["detail"], r
        assert r["elapsed_us"] >= 1_000_000
        wait_until(lambda: [state_of(pid) for pid in hanging.waiting] == ["D"],
                   lambda: f"one process to hang: {[state_of(pid) for pid in hanging.waiting]}")
        assert lau.result(lau.submit("exit 3", order=GPU)) == ("CAUSE_EXIT", 3, 0)


@pytest.mark.parametrize("cgroup", ["", "none"])
def test_a_process_that_is_stopped_once_goes_on(place, cgroup):
    with launcher(place, cgroup=cgroup) as lau:
        (place / "waits").touch()
        run = lau.submit("exit 3")
        pid = wait_until(lambda: early(lau, run), "the process")
        as_owner(lau, "STOP", pid)
        wait_until(lambda: state_of(pid) == "S", "it to be continued")
        (place / "waits").unlink()
        assert lau.result(run) == ("CAUSE_EXIT", 3, 0)


@pytest.mark.parametrize("cgroup", ["", "none"])
def test_a_process_that_is_stopped_again_and_again(place, cgroup):
    """Not for ever, and not for the whole of the launch's time."""
    with launcher(place, cgroup=cgroup) as lau:
        (place / "waits").touch()
        run = lau.submit("echo ran >ran", order=GPU)
        pid = wait_until(lambda: early(lau, run), "the process")
        stops = threading.Thread(target=as_owner, args=(lau, "STOP", f"{pid} && while kill -STOP {pid}; do :; done #"))
        stops.start()
        r = lau.wait_over(run)
        stops.join()
        assert r["cause"] == "CAUSE_LAUNCH_OWNER" and "its process was stopped 16 times" in r["detail"], r
        assert r["elapsed_us"] > 0 and not (lau.jobs / "ran").exists()
        (place / "waits").unlink()
        assert lau.result(lau.submit("exit 3", order=GPU)) == ("CAUSE_EXIT", 3, 0)


def test_a_process_that_is_killed_before_it_executes(place):
    with launcher(place) as lau:
        (place / "waits").touch()
        run = lau.submit("echo ran >ran")
        as_owner(lau, "KILL", wait_until(lambda: early(lau, run), "the process"))
        r = lau.wait_over(run)
        assert r["cause"] == "CAUSE_LAUNCH_OWNER" and "was killed before the program was executed" in r["detail"], r
        assert r["elapsed_us"] > 0 and not (lau.jobs / "ran").exists()


def test_a_program_that_stops_itself_stays_stopped(place):
    with launcher(place) as lau:
        run = lau.submit("echo $$ >pid; kill -STOP $$; exit 3")
        pid = int(wait_until(lambda: (lau.jobs / "pid").exists() and (lau.jobs / "pid").read_text().strip(), "the program"))
        lau.wait_running(run)
        wait_until(lambda: state_of(pid) == "T", "it to stop itself")
        lau.signal(run, signal.SIGCONT)
        assert lau.result(run) == ("CAUSE_EXIT", 3, 0)


def test_what_hangs_is_charged_and_tried_again(hanging):
    """In a cluster: from the order on, each time; the job is held with the reason in the end, its GPU is free, the node not drained."""
    hardware = 'gpu_types = ( { name = "h100"; } );\nnodes = ( { name = "n1"; gpus = "h100:1"; } );'
    with Cluster(start=False, hardware=hardware) as c:
        c.start_munged()
        c.start_ctld()
        c.start_agent("n1", "--launch-timeout=1s")
        c.wait_nodes()
        job = c.submit("true", "--hold", "--gpus=h100:1", f"--chdir={hanging.path}", "--output=/dev/null")
        hanging.hang()
        c.run("gctl", "release", job)
        wait_until(lambda: "launch failed 3 times" in c.run("gqueue", "--why", job).stdout, "the job to be held")
        runs = [j["runs"] for j in json.loads(c.run("gacct", "-j", job, "--runs", "--json").stdout)["jobs"]][0]
        assert len(runs) == 3 and all(r["cause"] == "launch" for r in runs), runs
        assert all(r["elapsed_us"] >= 1_000_000 for r in runs), runs
        assert c.node_states()["n1"] == "idle"
        other = c.submit("true", "--gpus=h100:1")
        c.wait_state(other, "COMPLETED")
