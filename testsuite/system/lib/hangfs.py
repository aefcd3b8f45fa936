"""hangfs.py - a file system in user space (fuse(4)) that takes requests and does not answer them

A process that asks for anything in it waits in the kernel; once its request was read no signal ends it, SIGKILL neither.
"""

import contextlib
import ctypes
import errno
import os
import pathlib
import struct
import tempfile
import threading

import pytest

from cluster import ROOT, wait_until

LIBC = ctypes.CDLL(None, use_errno=True)
HEADER = struct.Struct("<IIQQIIII")  # length, opcode, unique, node, uid, gid, pid, padding
INIT, GETATTR = 26, 3
MNT_FORCE, MNT_DETACH = 1, 2
ROOT_ATTR = struct.pack("<QII" "QQQQQQ" "III" "IIIIIII", 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0o40777, 2, 0, 0, 0, 4096, 0)
INITIALISED = struct.pack("<IIIIHHIIHHI", 7, 31, 65536, 0, 12, 10, 65536, 1, 1, 0, 0).ljust(64, b"\0")


class HangingFolder:
    """An empty folder that everybody may write to; from hang() on it answers nothing any more."""

    def __init__(self, path):
        self.path, self.hangs, self.waiting = pathlib.Path(path), False, set()
        self.path.mkdir()
        self.fd = os.open("/dev/fuse", os.O_RDWR | os.O_CLOEXEC)
        options = f"fd={self.fd},rootmode=40000,user_id=0,group_id=0,allow_other"
        if LIBC.mount(b"hangfs", os.fsencode(self.path), b"fuse", 0, options.encode()):
            os.close(self.fd)
            raise OSError(ctypes.get_errno(), "mount")
        self.thread = threading.Thread(target=self.serve, daemon=True)
        self.thread.start()

    def serve(self):
        with contextlib.suppress(OSError):  # ENODEV: it was unmounted
            while True:
                self.answer(os.read(self.fd, 1 << 18))

    def answer(self, request):
        _, op, unique, _, _, _, pid, _ = HEADER.unpack_from(request)
        if self.hangs and op != INIT:
            self.waiting |= {pid} - {0}  # the kernel tells of signals, as 0
            return
        body = {INIT: INITIALISED, GETATTR: ROOT_ATTR}.get(op, b"")
        error = 0 if body else -errno.ENOENT
        os.write(self.fd, struct.pack("<IiQ", 16 + len(body), error, unique) + body)

    def hang(self):
        self.hangs = True

    def close(self):
        """All that waits goes on, with an error."""
        path = os.fsencode(self.path)
        wait_until(lambda: LIBC.umount2(path, MNT_FORCE) == 0 or LIBC.umount2(path, MNT_DETACH) == 0, "umount")
        self.thread.join()
        os.close(self.fd)


@pytest.fixture(name="place")
def fixture_place():
    """A folder that jobs of all users can reach."""
    with tempfile.TemporaryDirectory(prefix="gpusched-test-") as d:
        os.chmod(d, 0o755)
        yield pathlib.Path(d)


@pytest.fixture(name="hanging")
def fixture_hanging(place):
    if not ROOT:
        pytest.skip("mounting needs root")
    try:
        folder = HangingFolder(place / "hanging")
    except OSError as e:
        pytest.skip(f"no file systems in user space here: {e}")
    try:
        yield folder
    finally:
        folder.close()
