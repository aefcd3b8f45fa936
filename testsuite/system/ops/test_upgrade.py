"""Agents and their records: of the release after ours, half there, with other modes, and cgroups of nobody.

The outcomes are those of ARCHITECTURE.md, 7: record and shepherd, running; exit record, ended; record without a shepherd, killed and LOST;
another incarnation, NODE_FAIL (test_restarts.py); a cgroup without a record, killed and said.
"""

import os
import pathlib
import signal
import struct
import subprocess

import pytest

from cluster import ROOT, wait_until
from launcher import Launcher, alive

UNKNOWN = bytes([0xba, 0x3e, 3]) + b"new"  # field 999, a text: what only a later release writes


@pytest.fixture(name="lau", scope="module")
def fixture_lau():
    launcher = Launcher()
    yield launcher
    launcher.close()


def fnv(data):
    h = 0xcbf29ce484222325
    for b in data:
        h = (h ^ b) * 0x100000001b3 & 0xffffffffffffffff
    return h


def of_the_next_release(path):
    """In place: its shepherd holds a lock on it."""
    data = path.read_bytes()
    body = data[24:] + UNKNOWN
    mode = path.stat().st_mode
    path.chmod(0o600)
    path.write_bytes(data[:12] + struct.pack(">IQ", len(body), fnv(body)) + body)
    path.chmod(mode)


def test_records_of_the_next_release(lau):
    ended, runs, lost = lau.submit("exit 7"), lau.submit("while [ ! -e go ]; do sleep 0.02; done; exit 5"), lau.submit("exec sleep 1000")
    lau.wait_over(ended)
    lau.wait_running(runs)
    lau.wait_running(lost)
    shepherd = lau.shepherd(lost)
    lau.kill()
    for run, names in ((ended, ["launch", "exit"]), (runs, ["launch", "started"]), (lost, ["launch", "started"])):
        for name in names:
            of_the_next_release(lau.record_dir(run) / name)
    os.kill(shepherd, signal.SIGKILL)
    wait_until(lambda: not alive(shepherd), "the shepherd's end")
    lau.start()
    assert lau.result(ended) == ("CAUSE_EXIT", 7, 0)
    assert lau.wait_over(lost)["cause"] == "CAUSE_LOST"
    assert lau.state(runs) == "RUNNING"
    (lau.jobs / "go").touch()
    assert lau.result(runs) == ("CAUSE_EXIT", 5, 0)


@pytest.mark.parametrize("mode", [0o700, 0o000, 0o777])
def test_records_with_other_modes(lau, mode):
    """A directory that root's agent reads all the same; the mode of a launch record says only whether anything was forked."""
    run = lau.submit("while [ ! -e on ]; do sleep 0.02; done; exit 4")
    lau.wait_running(run)
    lau.kill()
    if ROOT or mode & 0o700 == 0o700:
        lau.record_dir(run).chmod(mode)
    lau.start()
    assert lau.state(run) == "RUNNING"
    (lau.jobs / "on").touch()
    assert lau.result(run) == ("CAUSE_EXIT", 4, 0)
    (lau.jobs / "on").unlink()


def test_half_a_record_that_was_being_written(lau):
    run = lau.submit("while [ ! -e half ]; do sleep 0.02; done; exit 6")
    lau.wait_running(run)
    lau.kill()
    for name in ("exit.tmp", "notes.tmp", "started.tmp"):
        (lau.record_dir(run) / name).write_bytes(b"GPSREC1\nhalf")
    lau.start()
    assert lau.state(run) == "RUNNING"
    (lau.jobs / "half").touch()
    assert lau.result(run) == ("CAUSE_EXIT", 6, 0)
    lau.forget(run)
    wait_until(lambda: not lau.record_dir(run).exists(), "the records to be removed")


@pytest.mark.parametrize("name", ["run-999_0_1", "run-999_0_1.site", "run-of-nobody"])
def test_a_cgroup_without_a_record(lau, name):
    if not lau.hello["containment"].startswith("cgroup2"):
        pytest.skip("no cgroups here")
    run = lau.submit("sed -n 's/^0:://p' /proc/self/cgroup > own; sed -n 's/^[^ ]* [^ ]* [^ ]* [^ ]* \\([^ ]*\\) .* - cgroup2 .*/\\1/p' "
                     "/proc/self/mountinfo | head -n 1 > mount")
    lau.wait_over(run)
    root = pathlib.Path((lau.jobs / "mount").read_text().strip() + os.path.dirname((lau.jobs / "own").read_text().strip()))
    lau.kill()
    leaf = root / name
    leaf.mkdir(parents=True)
    with subprocess.Popen(["sleep", "1000"]) as stray:
        try:
            (leaf / "cgroup.procs").write_text(str(stray.pid))
            lau.start()
            assert stray.wait(30) == -signal.SIGKILL
        finally:
            stray.kill()
    wait_until(lambda: f"cgroup of run {name[4:]} had processes and no record: killed" in lau.log(), "the log to say so")
    wait_until(lambda: not leaf.exists(), "its cgroup to be removed")
