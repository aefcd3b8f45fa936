"""Memory and files that never come: a user with a file system of his own (FUSE) can make who looks wait for ever.

As CVE-2018-1120 did to ps(1): whoever reads the memory of his process waits for a page that he never delivers.
"""

import contextlib
import ctypes
import os
import pathlib
import signal
import struct
import threading

import pytest

from cluster import ROOT, wait_until
from launcher import Launcher, alive

INIT, GETATTR, OPEN, READ = 26, 3, 14, 15
FORGOTTEN = (2, 36, 42)  # FORGET, INTERRUPT, BATCH_FORGET: nobody waits for an answer
ENOSYS = 38

WAITER = """
import ctypes, os, sys
libc = ctypes.CDLL(None)
libc.mmap.restype = ctypes.c_void_p
os.stat(sys.argv[1])  # its size
at = libc.mmap(None, ctypes.c_size_t(4096), 1, 1, os.open(sys.argv[1], os.O_RDONLY), ctypes.c_long(0))
open("waiter", "w").write(str(os.getpid()))
libc.syscall(128, ctypes.c_void_p(at), None, None, ctypes.c_size_t(8))  # rt_sigtimedwait(2), with a set that never comes
"""


class Never:
    """A file that can be opened and mapped, and whose bytes never come."""

    def __init__(self, path):
        self.path, self.libc = path, ctypes.CDLL(None, use_errno=True)
        path.touch()
        try:
            self.fd = os.open("/dev/fuse", os.O_RDWR)
        except OSError:
            pytest.skip("no FUSE here")
        options = f"fd={self.fd},rootmode=100644,user_id=0,group_id=0,allow_other"
        if self.libc.mount(b"never", os.fsencode(path), b"fuse", 0, options.encode()) < 0:
            os.close(self.fd)
            pytest.skip("no FUSE here")
        threading.Thread(target=self.serve, daemon=True).start()

    def serve(self):
        with contextlib.suppress(OSError):  # the end
            while True:
                request = os.read(self.fd, 1 << 16)
                _, opcode, unique = struct.unpack_from("=IIQ", request)
                if opcode in FORGOTTEN or opcode == READ:
                    continue
                body = {INIT: struct.pack("=IIIIHHII36x", 7, 31, 0, 0, 1, 1, 4096, 1),
                        GETATTR: struct.pack("=QII", 3600, 0, 0) + struct.pack("=QQQQQQIIIIIIIIII", 1, 4096, 8, 0, 0, 0, 0, 0, 0,
                                                                              0o100644, 1, 0, 0, 0, 4096, 0),
                        OPEN: struct.pack("=QII", 1, 0, 0)}.get(opcode)
                os.write(self.fd, struct.pack("=IiQ", 16 + len(body or b""), 0 if body else -ENOSYS, unique) + (body or b""))

    def close(self):
        self.libc.umount2(os.fsencode(self.path), 1)  # MNT_FORCE: all who wait are told that it is over
        self.libc.umount2(os.fsencode(self.path), 2)


@pytest.mark.skipif(not ROOT or os.uname().machine != "x86_64", reason="needs root, and a number of a system call")
def test_memory_that_never_comes_does_not_hold_up_the_shepherd():
    """Who waits for signals that are named there cannot be killed; all else of his run can, and is."""
    lau = Launcher()
    never = Never(lau.dir / "never")
    try:
        run = lau.submit(f"python3 - {never.path} <<'END' &\n{WAITER}\nEND\necho $$ > pid; exec sleep 1000")
        wait_until(lambda: (lau.jobs / "waiter").exists() and (lau.jobs / "waiter").read_text(), lambda: f"the waiter: {lau.output(run)}")
        waiter, other = (int((lau.jobs / name).read_text()) for name in ("waiter", "pid"))
        wait_until(lambda: pathlib.Path(f"/proc/{waiter}/syscall").read_text().startswith("128 "),
                   lambda: "it to wait: " + pathlib.Path(f"/proc/{waiter}/syscall").read_text() + lau.output(run))
        lau.signal(run, signal.SIGWINCH)
        lau.end(run, grace=0)
        wait_until(lambda: not alive(other), "the rest of the run to be killed")
        never.close()
        assert lau.wait_over(run)["cause"] == "CAUSE_CANCEL"
    finally:
        never.close()
        lau.close()


READER = """
import mmap, os, sys
os.stat(sys.argv[1])
m = mmap.mmap(os.open(sys.argv[1], os.O_RDONLY), 4096, prot=mmap.PROT_READ)
open("reader", "w").write(str(os.getpid()))
m[0]
"""


@pytest.mark.skipif(not ROOT, reason="needs root: mounts")
@pytest.mark.parametrize("cgroup", ["", "none"], ids=["best", "subreaper"])
def test_a_process_that_cannot_be_killed_does_not_hold_up_a_launcher(cgroup):
    """After a new incarnation: all else goes on, and what the process holds stays held until it has ended."""
    lau = Launcher(cgroup=cgroup)
    never = Never(lau.dir / "never")
    try:
        run = lau.submit(f"python3 - {never.path} <<'END' &\n{READER}\nEND\nexec sleep 1000", order={"gpus": [3]})
        wait_until(lambda: (lau.jobs / "reader").exists() and (lau.jobs / "reader").read_text(), "the reader")
        reader = int((lau.jobs / "reader").read_text())
        wait_until(lambda: pathlib.Path(f"/proc/{reader}/stat").read_text().rsplit(")", 1)[1].split()[0] in "DS", "it to wait")
        lau.wait_running(run)
        lau.kill()
        os.kill(lau.shepherd(run), signal.SIGKILL)
        (lau.dir / "run/incarnation").unlink()
        lau.start()
        assert lau.state(run) not in ("ENDED", "NEVER") and alive(reader)
        assert "is held by run" in lau.wait_over(lau.submit("exit 0", order={"gpus": [3]}))["detail"]
        assert lau.result(lau.submit("exit 3", order={"gpus": [2]})) == ("CAUSE_EXIT", 3, 0)
        never.close()
        assert lau.wait_over(run)["cause"] == "CAUSE_NODE_FAIL"
        assert not alive(reader)
    finally:
        never.close()
        lau.close()
