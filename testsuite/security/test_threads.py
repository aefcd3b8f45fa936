"""A program whose first thread has ended seems to be a zombie, and is none: cgroup.kill passes it by, and so does who looks for the living."""

import pathlib
import platform

import pytest

from cluster import wait_until
from launcher import Launcher

HEADLESS = """
import ctypes, os, threading, time
threading.Thread(target=lambda: [time.sleep(0.01) for _ in iter(int, 1)]).start()
open("headless", "w").write(str(os.getpid()))
ctypes.CDLL(None).syscall(60, 0)  # exit(2), of this thread alone
"""


def state_of(pid):
    try:
        return pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0]
    except OSError:
        return None


def threads_of(pid):
    try:
        return len(list(pathlib.Path(f"/proc/{pid}/task").iterdir()))
    except OSError:
        return 0


@pytest.mark.skipif(platform.machine() != "x86_64", reason="a number of a system call")
@pytest.mark.parametrize("script", ["exec python3 headless.py", "python3 headless.py & exec sleep 1000"])
@pytest.mark.parametrize("cgroup", ["", "none"])
def test_a_program_without_its_first_thread_is_killed(cgroup, script):
    """The run ends, as it was ordered, and leaves nothing behind: nobody keeps a GPU that way."""
    lau = Launcher(cgroup=cgroup)
    try:
        (lau.jobs / "headless.py").write_text(HEADLESS)
        run = lau.submit(script)
        pid = int(wait_until(lambda: (f := lau.jobs / "headless").exists() and f.read_text(), lambda: lau.output(run)))
        wait_until(lambda: state_of(pid) == "Z" and threads_of(pid) == 2, "its first thread to have ended")
        lau.end(run, grace=0)
        assert lau.result(run)[0] == "CAUSE_CANCEL"
        wait_until(lambda: not threads_of(pid), "the rest of it to be gone")
    finally:
        lau.close()
