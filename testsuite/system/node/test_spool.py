"""A run that fills the spool: it is ended, and nobody else notices. A private /tmp with a size: nobody else could."""

import contextlib
import os
import pathlib
import shutil
import subprocess
import tempfile

import pytest

from cluster import ROOT, Cluster, wait_until
from launcher import Launcher

FILL = {
    "files": "dd if=/dev/zero of=$GPUSCHED_RUN_DIR/big bs=1M 2>/dev/null",
    "deep": "cd $GPUSCHED_RUN_DIR; for i in $(seq 150); do mkdir d; cd d; done; dd if=/dev/zero of=big bs=1M 2>/dev/null",
    "unlinked": "exec 3>$GPUSCHED_RUN_DIR/big; rm $GPUSCHED_RUN_DIR/big; dd if=/dev/zero bs=1M >&3 2>/dev/null",
    "many": "cd $GPUSCHED_RUN_DIR; i=0; (while : >f$i; do i=$((i+1)); done 2>/dev/null)",
}


class Spool:
    """A small file system of its own."""

    def __init__(self):
        self.dir = tempfile.mkdtemp(prefix="gpusched-test-")
        self.path = os.path.join(self.dir, "spool")
        os.mkdir(self.path, 0o755)
        r = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=48m,nr_inodes=4000,mode=755", "spool", self.path], check=False)
        self.mounted = r.returncode == 0

    def close(self):
        if self.mounted:
            subprocess.run(["umount", "-l", self.path], check=True)
        shutil.rmtree(self.dir, ignore_errors=True)


@pytest.fixture(name="spool")
def fixture_spool():
    if not ROOT:
        pytest.skip("mounting needs root")
    spool = Spool()
    if not spool.mounted:
        pytest.skip("no mounts here")
    try:
        yield spool
    finally:
        spool.close()


@pytest.mark.parametrize("how", FILL)
def test_who_fills_it_is_ended(spool, how):
    """And who is started meanwhile waits a moment; the end of who ran there before reaches the disk."""
    with contextlib.closing(Launcher(folder=spool.dir, spool_min_free_mb=8)) as lau:
        before = lau.submit("while [ ! -e go ]; do sleep 0.05; done")
        other = lau.submit("echo mine > $GPUSCHED_RUN_DIR/small; while [ ! -e go ]; do sleep 0.05; done")
        lau.wait(lambda: lau.state(before) == lau.state(other) == "RUNNING", "both")
        filler = lau.submit(FILL[how] + "; sleep 1000")

        def is_full():
            room = os.statvfs(spool.path)
            return room.f_bavail * room.f_frsize < 8 << 20 or room.f_favail < 1000

        lau.wait(lambda: is_full() or lau.state(filler) == "ENDED", "the spool to be full")  # that may be over before it is looked at
        (lau.jobs / "go").touch()
        after = lau.submit("true")
        with_gpu = lau.submit("true", order={"gpus": [3]})  # what it waits with is its own
        end = lau.wait_over(filler)
        assert end["cause"] == "CAUSE_SPOOL" and end["exit_signal"] == 9, end
        assert "filled the spool, where 8M must be free" in end["detail"], end
        for run in (before, other, after, with_gpu):
            assert lau.wait_over(run)["cause"] == "CAUSE_EXIT", lau.runs[run]
            assert not lau.runs[run].get("exit_code") and not lau.runs[run].get("node_trouble")
        exits = os.path.join(spool.path, "exits")
        lau.wait(lambda: len(os.listdir(exits)) == 5, "all ends to be on disk")


def test_what_no_run_has_filled(spool):
    """The node says it, starts nothing, and comes back by itself."""
    with Cluster(start=False) as c:
        c.start_munged()
        c.start_ctld()
        c.start_agent("n1", "--spool-min-free=8M", f"--spool={spool.path}")
        c.wait_nodes()
        small = c.submit("head -c 2M /dev/zero > $GPUSCHED_RUN_DIR/small; echo there; exec sleep 1000", "--output=%j.out")
        out = c.dir / f"jobs/{small}.out"
        wait_until(lambda: out.exists() and "there" in out.read_text(), "a run with some files")
        with open(os.path.join(spool.path, "foreign"), "wb") as f:
            f.write(bytes(45 << 20))

        def node():
            return " ".join(c.run("gctl", "show", "node", "n1").stdout.split())

        wait_until(lambda: "must have 8M and 1000; no run holds it" in node(), "the operator to be told")
        job = c.submit("true")
        assert c.state(job) == "PENDING"
        os.unlink(os.path.join(spool.path, "foreign"))
        c.wait_state(job, "COMPLETED")
        assert "no run holds it" not in node() and c.state(small) == "RUNNING"


def test_the_user_is_told(spool):
    with Cluster(start=False) as c:
        c.start_munged()
        c.start_ctld()
        c.start_agent("n1", "--spool-min-free=8M", f"--spool={spool.path}")
        c.wait_nodes()
        job = c.submit(FILL["files"] + "; sleep 1000", "--output=%j.out", env={"GSUBMIT_NO_SUMMARY": "no"})
        c.wait_state(job, "FAILED")
        shown = " ".join(c.run("gctl", "show", "job", job).stdout.split())
        assert "SpoolFull" in shown and "filled the spool, where 8M must be free" in shown, shown
        text = (c.dir / f"jobs/{job}.out").read_text()
        assert f"== gpusched: job {job} its files, " in text, text
        assert c.node_states()["n1"] == "idle"


@pytest.fixture(name="sized", scope="module")
def fixture_sized():
    """In a folder that is not below /tmp, which runs have one of their own of."""
    if not ROOT:
        pytest.skip("mounts need root")
    tempfile.tempdir = "/var/lib"
    try:
        c = Cluster(start=False)
    finally:
        tempfile.tempdir = None
    with c:
        epilog = c.dir / "task-epilog"
        epilog.write_text("#!/bin/sh\nls /tmp /var/tmp\n")
        epilog.chmod(0o755)
        c.start_munged()
        c.start_ctld()
        c.start_agent("n1", "--private-tmp=64M", "--private=shm", f"--task-epilog={epilog}")
        c.wait_nodes()
        yield c


def run(c, script, state="COMPLETED", user="daemon", **kw):
    job = c.submit(script, "--output=%j.out", *kw.pop("options", ()), user=user, **kw)
    c.wait_state(job, state)
    return job, (c.dir / f"jobs/{job}.out").read_text()


def test_a_tmp_with_a_size(sized):
    """ENOSPC for who fills it, both of it together; the next finds it empty; of the spool and the node's mounts nothing."""
    mounts = sized.mounts()
    before = os.statvfs(sized.dir / "spool-n1")
    for user in ("daemon", "nobody"):
        script = "ls -A /tmp /var/tmp; id -u; dd if=/dev/zero of=/var/tmp/some bs=1M count=40 2>/dev/null; " \
            "dd if=/dev/zero of=/tmp/more bs=1M count=40; rm /var/tmp/some; touch /tmp/seen; df -k /tmp | awk 'NR == 2 { print $2 }'; stat -c %a /tmp"
        _, text = run(sized, script, user=user)
        assert text.startswith("/tmp:\n\n/var/tmp:\n") and "No space left on device" in text, text
        assert "65536\n1777\n" in text
        assert text.endswith("/tmp:\nmore\nseen\n\n/var/tmp:\n"), text  # the task epilog's: it is where the job was
    assert sized.mounts() == mounts
    assert os.statvfs(sized.dir / "spool-n1").f_blocks == before.f_blocks
    wait_until(lambda: not list((sized.dir / "spool-n1/private").iterdir()), "the directories to be removed")


def test_who_has_filled_it_is_told(sized):
    job, text = run(sized, "dd if=/dev/zero of=/tmp/big bs=1M 2>/dev/null; exit 1", "FAILED", env={"GSUBMIT_NO_SUMMARY": "no"})
    assert "its private /tmp of 64M is full" in " ".join(sized.run("gctl", "show", "job", job).stdout.split())
    assert f"== gpusched: job {job} its private /tmp of 64M is full" in text
    job, text = run(sized, "dd if=/dev/zero of=/tmp/big bs=1M 2>/dev/null; exit 1", "FAILED")  # who wants no summary
    assert "==" not in text


def test_shm_is_no_larger_than_what_was_booked(sized):
    _, text = run(sized, "df -k /dev/shm | awk 'NR == 2 { print $2 }'", options=("--mem=96M",))
    assert text.split()[0] == str(96 * 1024), text


def test_the_controller_says_a_size(sized):
    """The smaller one counts; an end of the shepherd leaves nothing mounted."""
    sized.node_defaults = 'node_defaults = { private_tmp = "16M"; };'
    sized.write_conf()
    sized.run("gctl", "reconfigure")
    wait_until(lambda: "16384\n" in run(sized, "df -k /tmp | awk 'NR == 2 { print $2 }'")[1], "runs to have it")
    mounts = sized.mounts()
    job = sized.submit("sleep 1000", user="daemon")
    sized.wait_state(job, "RUNNING")
    sized.run("gcancel", job)
    sized.wait_state(job, "CANCELLED")
    assert sized.mounts() == mounts
