"""Fail the Nth: each call of a kind that launcher and shepherd make for a run, failed in turn.

Whatever fails: a script that runs at all runs as its owner and held as always, nothing of a run lives on after its end was
told, the end says what was, and the next run on the same GPU is as good as ever. `GPUSCHED_TEST_EVERY_N=1` (`make
fail-the-nth`) takes every N, once and with those that follow; otherwise it is the first few and some of the rest.
"""

import contextlib
import errno
import mmap
import os
import pathlib
import re
import signal
import struct
import tempfile

import pytest

from cluster import BUILD, ROOT, SANITIZED, Failed, wait_until
from launcher import SHEPHERD, Launcher
from test_gpus import Machine, h100
from test_parts import MPS, Mps

LIBRARY = BUILD / "testsuite/system/helpers/failing.so"
EVERY = os.environ.get("GPUSCHED_TEST_EVERY_N")
BLOCK = struct.Struct("16siIIIII")

# The owner's identity and all that holds a run, as the script sees it.
PROOF = """
exec 2>&1
id -u; id -g; id -G; umask
grep -E '^(Uid|Gid|Groups|Cap|NoNewPrivs|SigBlk|SigIgn|Seccomp)' /proc/self/status
cat /proc/self/cgroup
cat /proc/self/oom_score_adj
cat /proc/self/limits
ls -A /tmp /dev/shm; ls /proc/self/fd
awk '{print $5}' /proc/self/mountinfo | grep -E '^/(proc|tmp|var/tmp|dev/shm|dev/mqueue)$' | sort
for device in /dev/fuse /dev/net/tun /dev/loop-control /dev/kmsg /dev/vhost-net; do (: < $device); done
ls -ld /proc/1
echo end of it
"""


class Failing:
    """The block of failing.c."""

    def __init__(self, path, pid=0):
        self.path, self.pid = path, pid
        path.write_bytes(bytes(BLOCK.size))
        path.chmod(0o666)
        with open(path, "r+b") as f:
            self.map = mmap.mmap(f.fileno(), BLOCK.size)

    def arm(self, call, nth, error=errno.EMFILE, times=1):
        self.map[:] = BLOCK.pack(call.encode(), self.pid, nth, times, error, 0, 0)

    def arm_in(self, pid, call, nth, times):
        self.pid = pid
        self.arm(call, nth, times=times)

    def rest(self):
        """Nothing fails any more; how many have failed."""
        failed = BLOCK.unpack(self.map[:])[6]
        self.map[:] = BLOCK.pack(b"", 0, 0, 0, 0, 0, 0)
        return failed


class Node(Launcher):
    """A launcher, and shepherds, of which one may fail."""

    def __init__(self):
        super().__init__(start=False, folder=tempfile.mkdtemp(prefix="gpusched-test-", dir="/var/lib"),  # runs have their own /tmp
                         private="tmp,shm,ipc,proc", containment="devices", gpus="/dev/full")
        wrap = self.dir / "libexec"
        wrap.mkdir()
        self.in_shepherd = Failing(self.dir / "in-shepherd")
        (wrap / "gshepherd").write_text(f"#!/bin/sh\nLD_PRELOAD={LIBRARY} GPUSCHED_FAILING={self.in_shepherd.path} "
                                        f"exec {SHEPHERD} \"$@\"\n")
        (wrap / "gshepherd").chmod(0o755)
        self.shepherd_program = wrap / "gshepherd"
        self.in_launcher = Failing(self.dir / "in-launcher")
        self.env |= {"LD_PRELOAD": str(LIBRARY), "GPUSCHED_FAILING": str(self.in_launcher.path)}
        self.start()
        self.in_launcher.pid = self.pid

    def restart(self):
        self.kill()
        self.start()
        self.in_launcher.pid = self.pid

    def proof(self, run):
        with contextlib.suppress(FileNotFoundError):
            return re.sub(r"\b[0-9]+_0_1\b", "ID", self.output(run))
        return None

    def leaf(self, run):
        root = pathlib.Path(next(line.split()[1] for line in pathlib.Path("/proc/mounts").read_text().splitlines()
                                 if line.split()[2] == "cgroup2"))
        tag = 0xcbf29ce484222325  # as in launcher.c
        for c in os.fsencode(os.path.realpath(self.dir / "run")):
            tag = (tag ^ c) * 0x100000001b3 & 2**64 - 1
        return list(root.glob(f"gpusched/n1.{(tag ^ tag >> 32) & 2**32 - 1:08x}/run-{run[0]}_0_{run[1]}*"))

    def left(self, run):
        return [p for p in (*self.leaf(run), self.run_dir(run), self.record_dir(run), self.dir / f"spool/private/{run[0]}_0_1") if p.exists()]

    def live(self, run):
        """Processes of the run."""
        found = []
        for leaf in self.leaf(run):
            with contextlib.suppress(OSError):
                found += (leaf / "cgroup.procs").read_text().split()
        return found


@pytest.fixture(name="node", scope="module")
def fixture_node():
    if not ROOT or SANITIZED:
        pytest.skip("needs root, and the library first of all")
    n = Node()
    if "devices" not in n.hello["containment"] or "tmp" not in n.hello["containment"]:
        n.close()
        pytest.skip("this kernel does not hold runs")
    yield n
    n.close()


@pytest.fixture(name="usual", scope="module")
def fixture_usual(node):
    run = node.submit(PROOF, order={"gpus": [0], "mem_mb": 64})
    assert node.result(run) == ("CAUSE_EXIT", 0, 0), node.runs[run]
    text = node.proof(run)
    assert text.endswith("end of it\n") and "Operation not permitted" in text and "NoNewPrivs:\t1" in text
    return text


def one(node, usual, where, call, nth, error, times):
    """A run under which the Nth call fails. False: it made no so many."""
    block = node.in_launcher if where == "launcher" else node.in_shepherd
    block.arm(call, nth, error, times)
    run = node.submit(PROOF, order={"gpus": [0], "mem_mb": 64})
    report = node.wait_over(run)
    live = node.live(run)
    failed = block.rest()
    what = f"{where}: {call} {nth}x{times}: {report['state']} {report.get('cause')} {report.get('detail')}"
    assert not live, f"{what}: processes {live} live on after its end was told"
    wait_until(lambda: not node.shepherds(), f"{what}: the shepherd's end")
    text = node.proof(run)
    if text:
        assert usual.startswith(text), f"{what}: not held as always:\n{text}"
    done = text == usual
    assert done or report.get("cause") != "CAUSE_EXIT" or report.get("exit_code"), f"{what}, and it did not run"
    assert not (done and report["state"] == "NEVER"), f"{what}, and it ran"
    again = node.submit(PROOF, order={"gpus": [0], "mem_mb": 64})
    assert node.result(again) == ("CAUSE_EXIT", 0, 0), f"after {what}: {node.runs[again]}"
    assert node.proof(again) == usual, what
    node.forget(run, again)
    wait_until(lambda: not node.left(run), lambda: f"{what}: nothing to be left, but {node.left(run)}")
    return failed > 0


def some():
    """1, 2, 3, ... or, in short, some of them."""
    n = 1
    while True:
        yield n
        n += 1 if EVERY or n < 4 else n // 2


TIMES = pytest.mark.parametrize("times", [1, 12] if EVERY else [2], ids=str)
LAUNCHER = ["open", "mkdirat", "write", "renameat", "fchmod", "fchown", "flock", "socket", "pidfd_open",
            "sendmsg", "recv", "posix_spawn"]  # the last two leave it without a template
SHEPHERD_CALLS = ["open", "mkdir", "mkdirat", "write", "renameat", "fchmod", "fchown", "clone3", "mount", "unshare", "bpf",
                  "setgroups", "setresgid", "setresuid", "capset", "prctl", "setrlimit", "chdir", "dup2", "pipe2", "socket", "sendto",
                  "signalfd", "close_range", "keyctl"]


@TIMES
@pytest.mark.parametrize("where, call", [*(("launcher", c) for c in LAUNCHER), *(("shepherd", c) for c in SHEPHERD_CALLS)])
def test_the_nth_call_fails(node, usual, where, call, times):
    error = {"write": errno.ENOSPC, "renameat": errno.ENOSPC, "posix_spawn": errno.EAGAIN, "clone3": errno.EAGAIN}.get(
        call, errno.EMFILE if where == "launcher" else errno.ENOMEM)
    if call == "posix_spawn":
        node.end_template()
    if call in ("sendmsg", "recv"):
        node.restart()  # without a template they are not called, and one that failed before leaves none for a minute
    for nth in some():
        if not one(node, usual, where, call, nth, error, times):
            break
    assert nth > 1, f"the {where} never calls {call}"


@TIMES
@pytest.mark.parametrize("call", ["open", "socket", "sendto"])
def test_the_nth_call_fails_when_a_run_is_ended(node, call, times):
    """An order that cannot be passed on now is passed on later."""
    for nth in some():
        run = node.submit("exec sleep 1000", order={"gpus": [0]})
        node.wait_running(run)
        node.in_launcher.arm(call, nth, times=times)
        node.end(run, grace=1)
        report = node.wait_over(run)
        live = node.live(run)
        failed = node.in_launcher.rest()
        assert report["cause"] == "CAUSE_CANCEL" and not live, (nth, report, live)
        if not failed:
            break
    assert nth > 1


@TIMES
@pytest.mark.parametrize("call", ["open", "flock", "pidfd_open"])
def test_the_nth_call_fails_when_a_shepherd_was_killed(node, call, times):
    """What cannot be looked at now is not taken for gone: a run is lost when nothing of it is left, and not before."""
    for nth in some():
        run = node.submit("sleep 1000 & exec sleep 1000", order={"gpus": [0]})
        node.wait_running(run)
        shepherd = node.shepherd(run)
        node.in_launcher.arm(call, nth, times=times)
        os.kill(shepherd, signal.SIGKILL)
        report = node.wait_over(run)
        live = node.live(run)
        failed = node.in_launcher.rest()
        assert report["cause"] == "CAUSE_LOST" and not live, (nth, report, live)
        if not failed:
            break
    assert nth > 1 or call != "open"


@TIMES
@pytest.mark.parametrize("call", ["open", "flock", "pidfd_open"])
def test_the_nth_call_fails_when_a_launcher_follows_another(node, call, times):
    """Runs that live are not taken for lost, by one that cannot look at them as it starts or thereafter."""
    for nth in some():
        run = node.submit("while ! [ -e go-$GPUSCHED_JOB_ID ]; do sleep 0.02; done; exit 7", order={"gpus": [0]})
        node.wait_running(run)
        node.kill()
        node.in_launcher.pid = 0
        node.start(wait=False)
        node.in_launcher.arm_in(node.pid, call, nth, times)
        try:
            node.wait(lambda: node.hello, "the launcher's hello")
        except Failed:
            assert node.process.wait(60) == 1, "it ends, and says why"  # the service manager starts it again
            node.in_launcher.rest()
            node.start()
            failed = 1
        else:
            failed = node.in_launcher.rest()
        assert node.state(run) in ("STARTING", "RUNNING"), (nth, node.runs.get(run))
        other = node.submit("true", order={"gpus": [0]})
        assert "held by run" in node.wait_state(other, "NEVER")["detail"], nth
        (node.jobs / f"go-{run[0]}").touch()
        assert node.result(run) == ("CAUSE_EXIT", 7, 0), (nth, node.runs[run])
        if not failed:
            break


@pytest.mark.skipif(SANITIZED, reason="the library first of all")
def test_mps_that_is_wanted_again_cannot_be_started(tmp_path):
    """While the daemon of before still ends: whoever waits for the next one is told, once."""
    machine, block = Machine(tmp_path / "machine"), Failing(tmp_path / "block")
    machine.set(h100(0), h100(1))
    machine.env |= {"LD_PRELOAD": str(LIBRARY), "GPUSCHED_FAILING": str(block.path)}
    mps = Mps(machine, None)
    block.pid = mps.lau.pid
    try:
        (mps.folder / "stubborn").touch()
        first, _ = mps.start()
        mps.ends(first)
        wait_until(lambda: "quit" in mps.told.read_text(), "the daemon to be told to quit")
        block.arm("pipe2", 1)
        second = mps.lau.wait_over(mps.lau.submit("true", order=MPS))
        assert block.rest() == 1 and second["detail"].startswith("MPS: there is no pipe")
        third, _ = mps.start()
        mps.ends(third)
        mps.stopped()
    finally:
        mps.close()
