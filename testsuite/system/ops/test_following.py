"""Who follows the cluster sleeps until something happens; a cursor that means nothing here is told, not guessed at."""

import json
import pathlib
import platform
import signal
import subprocess

import pytest
from cluster import BIN, Cluster, wait_until

POLL = 7  # of x86-64
FOR_EVER = 0xffffffff  # -1, an int: what the upper half of its register has is the C library's affair


@pytest.fixture(scope="module", name="cluster")
def fixture_cluster():
    with Cluster() as c:
        yield c


def sleeps(process):
    """It is in poll(2) without a time at which it would wake."""
    words = pathlib.Path(f"/proc/{process.pid}/syscall").read_text().split()
    return len(words) > 4 and int(words[0]) == POLL and int(words[3], 16) & FOR_EVER == FOR_EVER


@pytest.mark.skipif(platform.machine() != "x86_64", reason="knows the system calls of x86-64")
@pytest.mark.parametrize("words", (["gqueue", "--watch"], ["gctl", "events", "--follow"], ["gctl", "wait", "JOB"],
                                   ["gsubmit", "--wait", "--hold", "--wrap=true"], ["glog", "-f", "JOB"]))
def test_nobody_polls(cluster, words):
    c = cluster
    job = c.submit("echo begun; sleep 600")
    c.wait_state(job, "RUNNING")
    shown = c.dir / "log/shown"
    words = [str(job) if w == "JOB" else w for w in words]
    with open(shown, "w") as out:
        p = subprocess.Popen([BIN[words[0]], *words[1:]], env=c.env, cwd=c.dir / "jobs", stdout=out, stderr=subprocess.DEVNULL)
    try:
        # It is under way: what has shown nothing yet may give up when the controller goes.
        wait_until(lambda: shown.stat().st_size or words[:2] == ["gctl", "wait"], f"{words} to show something")
        wait_until(lambda: sleeps(p), f"{words} to sleep")
        # After a break, too.
        c.ctld.kill()
        c.start_ctld()
        c.wait_nodes()
        wait_until(lambda: sleeps(p), f"{words} to sleep again")
        assert p.poll() is None
    finally:
        p.kill()
        p.wait()
        c.run("gcancel", job, check=False)


def test_events_of_a_number_that_is_none(cluster):
    c = cluster
    last = json.loads(c.run("gctl", "events", "--json").stdout)["events"][-1]["seq"]
    for more in ([], ["--follow"]):
        r = c.run("gctl", "events", f"--since={last + 100000}", *more, check=False)
        assert r.returncode == 2 and f"no event has the number {last + 100000} yet: the last one is " in r.stderr
        for bad in ("0", "-1", "99999999999999999999999", "1x", "\xff", ""):
            r = c.run("gctl", "events", f"--since={bad}", *more, check=False)
            assert r.returncode == 2 and "--since" in r.stderr, (bad, r)


def test_watching_from_a_number_that_is_none(cluster):
    """Of another cluster, of the future, of a term long ago: all jobs are told, and that they are."""
    c = cluster
    job = c.submit("true", "--hold")
    for since in (1, 88120, 2**63):
        p = subprocess.Popen([BIN["gqueue"], "--watch", "--json", f"--since={since}"], env=c.env, stdout=subprocess.PIPE,
                             stderr=subprocess.PIPE, text=True)
        part = json.loads(p.stdout.readline())
        p.send_signal(signal.SIGINT)
        said = p.communicate(timeout=60)[1]
        assert job in {j["id"] for j in part["jobs"]}
        assert f"{since} is not known any more: all jobs follow" in said
    for bad in ("0", "-1", "x", "99999999999999999999999", ""):
        r = c.run("gqueue", "--watch", f"--since={bad}", check=False)
        assert r.returncode == 2 and "--since" in r.stderr, (bad, r)
