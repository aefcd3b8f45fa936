"""Shepherds are forked from a template (noded/shepherd/fork_server.h): no different from executed ones, and nothing depends on it."""

import os
import pathlib
import signal
import stat
import tempfile

import pytest

from cluster import ROOT, wait_until
from launcher import SHEPHERD, Launcher, alive, parent

WAITS = "trap 'exit 0' TERM; echo up; while :; do sleep 0.1; done"


@pytest.fixture(name="lau")
def fixture_lau():
    launcher = Launcher()
    yield launcher
    launcher.close()


def template(lau):
    return wait_until(lau.template, "a template")


def kind(link):
    """What a descriptor is, without the numbers of this one."""
    return link.split(":")[0] if link[0] != "/" else link


def seen(lau, run):
    """All that a shepherd has of its own, as /proc tells it, without what differs between any two runs."""
    proc = pathlib.Path(f"/proc/{lau.shepherd(run)}")
    name = f"{run[0]}_0_{run[1]}"
    changing = ("State", "Pid", "Tgid", "NSpid", "NStgid", "NSpgid", "NSsid", "Ngid", "Vm", "Rss", "Hugetlb", "voluntary", "nonvoluntary")
    see = {
        "cmdline": (proc / "cmdline").read_bytes().replace(name.encode(), b"ID").rstrip(b"\0"),
        "comm": (proc / "comm").read_text(),
        "exe": os.readlink(proc / "exe"),
        "cwd": os.readlink(proc / "cwd"),
        "environ": (proc / "environ").read_bytes(),
        "limits": (proc / "limits").read_text(),
        "oom": (proc / "oom_score_adj").read_text(),
        "cgroup": (proc / "cgroup").read_text(),
        "leads its session": os.getsid(int(proc.name)) == int(proc.name),
        "the launcher's child": parent(proc.name) == lau.pid,
    }
    see |= {f"fd {fd}": kind(os.readlink(proc / "fd" / fd)).replace(name, "ID").replace(proc.name, "PID") for fd in os.listdir(proc / "fd")}
    return see | dict(line.split(":", 1) for line in (proc / "status").read_text().splitlines() if not line.startswith(changing))


@pytest.mark.skipif(not ROOT, reason="nobody else looks into a shepherd")
def test_no_difference_to_one_that_was_executed(lau):
    template(lau)
    runs = [lau.submit(WAITS)]
    lau.wait_running(runs[0])
    assert "template" not in lau.log()
    lau.end_template()
    runs.append(lau.submit(WAITS))
    lau.wait_running(runs[1])
    assert not lau.template()
    for run in runs:
        wait_until(lambda run=run: "up" in lau.output(run), "the job's first line")

    see = {}

    def differ():
        try:
            forked, executed = (seen(lau, r) for r in runs)
        except OSError as e:
            return {"what was there a moment ago": e}
        see.update(forked)
        return {k: (forked.get(k), executed.get(k)) for k in forked.keys() | executed.keys() if forked.get(k) != executed.get(k)}

    wait_until(lambda: not differ(), lambda: f"no difference, but: {differ()}")  # one may be at work just now
    assert see["the launcher's child"] and see["leads its session"] and see["exe"] == str(SHEPHERD.resolve())


def test_runs_outlive_it_and_begin_without_it(lau):
    run = lau.submit(WAITS)
    lau.wait_running(run)
    lau.end_template()
    assert lau.result(lau.submit("exit 3")) == ("CAUSE_EXIT", 3, 0)
    assert lau.state(run) == "RUNNING"
    lau.end(run)
    assert lau.result(run)[0] == "CAUSE_CANCEL"


def test_it_ends_with_its_launcher(lau):
    pid = template(lau)
    run = lau.submit(WAITS)
    lau.wait_running(run)
    lau.kill()
    wait_until(lambda: not alive(pid), "the end of the template")
    lau.start()
    assert lau.wait_running(run) and template(lau) != pid


def test_one_that_does_not_answer(lau):
    """Nobody can say whether a shepherd was started: whoever holds the record's lock does; nobody runs twice."""
    pid = template(lau)
    os.kill(pid, signal.SIGSTOP)
    run = lau.submit("echo once")
    r = lau.wait_over(run)
    wait_until(lambda: "did not answer" in lau.log() and not alive(pid), "the end of the template")
    assert r["state"] in ("ENDED", "NEVER") and "CAUSE_EXIT" not in r.get("cause", "")
    assert not (lau.jobs / f"gpusched-{run[0]}.out").exists()
    assert lau.result(lau.submit("exit 4")) == ("CAUSE_EXIT", 4, 0)


def test_a_shepherd_of_a_release_without_it():
    with tempfile.TemporaryDirectory(prefix="gpusched-test-") as d:
        old = pathlib.Path(d) / "gshepherd"
        old.write_text(f"#!/bin/sh\n[ $# -eq 1 ] || exit 2\nexec {SHEPHERD} \"$@\"\n")
        old.chmod(0o755 | stat.S_IXUSR)
        pathlib.Path(d).chmod(0o755)
        lau = Launcher(start=False)
        lau.shepherd_program = old
        lau.start()
        try:
            assert lau.result(lau.submit("exit 5")) == ("CAUSE_EXIT", 5, 0)
            wait_until(lambda: "has ended; each is executed" in lau.log(), "word of the template's end")
            assert lau.result(lau.submit("exit 6")) == ("CAUSE_EXIT", 6, 0)
        finally:
            lau.close()


def stopped(lau):
    pid = template(lau)
    os.kill(pid, signal.SIGSTOP)
    wait_until(lambda: "T" in pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0], "it to stop")
    return pid


def test_a_launcher_that_waits_for_it_does_all_else(lau):
    """It answers others, passes orders on that come before the shepherd, and starts all that was ordered once there is an answer."""
    pid = stopped(lau)
    runs = [lau.submit(f"exit {n}") for n in range(3)]
    cancelled, unknown = lau.submit("exit 9"), (4242, 1)
    for run in (*runs, cancelled):
        lau.wait_state(run, "STARTING")
    lau.end(cancelled)
    lau.end(unknown)
    lau.wait_over(unknown)
    assert "did not answer" not in lau.log() and not lau.shepherds()
    os.kill(pid, signal.SIGCONT)
    assert [lau.result(r) for r in runs] == [("CAUSE_EXIT", n, 0) for n in range(3)]
    assert lau.wait_over(cancelled)["cause"] == "CAUSE_CANCEL"
    assert lau.template() == pid


def test_it_ends_while_many_wait_for_it(lau):
    """Only of the one that it was asked for it is not known whether it began: nobody begins that again."""
    stopped(lau)
    runs = []
    for n in range(4):  # one after the other: munge may answer for the second before the first
        runs.append(lau.submit(f"echo once; exit {n}"))
        lau.wait_state(runs[-1], "STARTING")
    lau.end_template()
    assert lau.wait_over(runs[0])["state"] == "NEVER"
    assert [lau.result(r) for r in runs[1:]] == [("CAUSE_EXIT", n, 0) for n in range(1, 4)]
    assert not (lau.jobs / f"gpusched-{runs[0][0]}.out").exists()


def test_a_launcher_that_ends_meanwhile_starts_what_it_was_asked_for(lau):
    pid = stopped(lau)
    runs = [lau.submit(f"exit {n}") for n in range(3)]
    for run in runs:
        lau.wait_state(run, "STARTING")
    lau.stop()
    os.kill(pid, signal.SIGCONT)
    wait_until(lambda: not alive(pid), "the end of the template")
    lau.start()
    assert [lau.result(r) for r in runs] == [("CAUSE_EXIT", n, 0) for n in range(3)]
