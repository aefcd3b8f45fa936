"""A disk of the controller that is full or nearly so: submits are refused in time, and nothing ends."""

import contextlib
import os
import subprocess
import threading

import pytest
from cluster import ROOT, Cluster, wait_until

pytestmark = pytest.mark.skipif(not ROOT, reason="mounts a small file system")


@contextlib.contextmanager
def small(c, size):
    """The state folder on a file system of its own."""
    own = f"uid={c.ctld_user.pw_uid},gid={c.ctld_user.pw_gid},mode=700"
    subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={size},{own}", "tmpfs", c.dir / "state"], check=True)
    try:
        yield c.dir / "state"
    finally:
        c.ctld.kill()
        subprocess.run(["umount", "-l", c.dir / "state"], check=True)


def free_mb(path):
    s = os.statvfs(path)
    return s.f_bavail * s.f_frsize >> 20


def fill(path):
    """What others write; returns how much that is."""
    with open(path, "ab", buffering=0) as f:
        with contextlib.suppress(OSError):
            while True:
                f.write(bytes(65536))
        with contextlib.suppress(OSError):
            while True:
                f.write(bytes(512))
        return f.tell()


def submit_script(c, size):
    return c.run("gsubmit", "--parsable", "--hold", check=False, env={"GPUSCHED_RETRY": "0"},
                 stdin=f"#!/bin/sh\n# {os.urandom(size // 2).hex()}\n")


def test_submits_leave_min_free():
    """Six clients at once, with scripts of 2 MB: what is on its way to the disk counts as if it were there."""
    with Cluster(nodes=["n1"], controller='min_free = "24M"; max_script = "4M";', start=False) as c, small(c, "96m") as state:
        c.start()
        running = c.submit("while [ ! -e go ]; do sleep 0.05; done; exit 3", "--output=/dev/null")
        c.wait_state(running, "RUNNING")
        accepted, refused, least = [running], [], []

        def loop():
            for _ in range(40):
                r = submit_script(c, 2000000)
                least.append(free_mb(state))
                if r.returncode:
                    refused.append(r)
                    return
                accepted.append(int(r.stdout))

        threads = [threading.Thread(target=loop) for _ in range(6)]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
        assert len(refused) == 6 and all(r.returncode == 1 and "controller.min_free keeps 24" in r.stderr for r in refused), refused
        assert min(least) >= 20 and len(accepted) > 6, (least, accepted)
        c.ctld.kill()
        c.start_ctld()
        (c.dir / "jobs/go").touch()
        assert c.wait_state(running, "FAILED")["exit_code"] == 3
        known = c.jobs()
        assert [i for i in accepted if i not in known] == []


def test_a_full_disk_is_waited_for():
    """Others have filled the disk: gctld takes the end of a run all the same and refuses submits. Started without any room it
    says so and ends not; it goes on when there is some."""
    with Cluster(nodes=["n1"], controller='min_free = "0";', start=False) as c, small(c, "40m") as state:
        c.start()
        running = c.submit("while [ ! -e go ]; do sleep 0.05; done; exit 3", "--output=/dev/null")
        c.wait_state(running, "RUNNING")
        assert fill(state / "others") > 1 << 20
        r = submit_script(c, 1000)
        assert r.returncode == 1 and "disk" in r.stderr, r
        (c.dir / "jobs/go").touch()
        assert c.wait_state(running, "FAILED")["exit_code"] == 3
        assert running in c.jobs()
        c.ctld.kill()
        fill(state / "others")
        c.start_ctld(wait=False)
        wait_until(lambda: "disk is" in submit_script(c, 1000).stderr, "a refusal")
        assert c.ctld.alive()
        os.unlink(state / "others")
        wait_until(lambda: submit_script(c, 1000).returncode == 0, "room to be seen")
        assert c.jobs()[running]["state"] == "FAILED"
