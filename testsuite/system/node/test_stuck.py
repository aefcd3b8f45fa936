"""Processes that hang in the kernel and cannot be killed, for real: they write to a file system that is frozen (FIFREEZE) until it is
thawed again, and no signal reaches them meanwhile."""

import contextlib
import fcntl
import os
import pathlib
import subprocess

import pytest

from cluster import ROOT, Cluster, wait_until
from test_gpus import Machine, cluster, h100, node, output
from tools import need

FIFREEZE, FITHAW = 0xC0045877, 0xC0045878  # [ioctl_list(2)]: _IOWR('X', 119, int), 120


class Disk:
    """An ext4 of its own, on a loop device."""

    def __init__(self, folder):
        self.image, self.path, self.frozen = folder / "image", folder / "disk", False
        self.path.mkdir()
        with open(self.image, "wb") as f:
            f.truncate(16 << 20)
        subprocess.run(["mkfs.ext4", "-q", self.image], check=True, capture_output=True)
        subprocess.run(["mount", "-o", "loop", self.image, self.path], check=True, capture_output=True)
        self.path.chmod(0o777)

    def call(self, what):
        fd = os.open(self.path, os.O_RDONLY | os.O_DIRECTORY)
        try:
            fcntl.ioctl(fd, what, 0)
        finally:
            os.close(fd)

    def freeze(self):
        self.frozen = True
        self.call(FIFREEZE)

    def thaw(self):
        if self.frozen:
            self.call(FITHAW)
        self.frozen = False

    def close(self):
        with contextlib.suppress(OSError):
            self.thaw()
        wait_until(lambda: subprocess.run(["umount", self.path], check=False, capture_output=True).returncode == 0, "umount")


@pytest.fixture(name="disk")
def fixture_disk(tmp_path):
    if not ROOT:
        pytest.skip("mounting needs root")
    need("mkfs.ext4", "mount")
    try:
        disk = Disk(tmp_path)
    except (subprocess.CalledProcessError, OSError) as e:
        pytest.skip(f"no loop devices here: {e}")
    try:
        yield disk
    finally:
        disk.close()


def state_of(pid):
    with contextlib.suppress(OSError):
        return pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0]
    return ""


def node_text(c, node="n1"):
    return " ".join(c.run("gctl", "show", "node", node).stdout.split())


def test_a_job_that_cannot_be_killed(disk):
    """It stays COMPLETING and holds its GPU, its node is drained for a reason that names it, the operator reads it; an agent that comes
    again finds it; what another job runs there goes on; and when the disk answers it ends as it was ended."""
    hardware = 'gpu_types = ( { name = "h100"; } );\nnodes = ( { name = "n1"; gpus = "h100:2"; } );'
    with Cluster(start=False, hardware=hardware) as c:
        c.start_munged()
        c.start_ctld()
        c.start_agent("n1", "--kill-wait=500ms")
        c.wait_nodes()
        other = c.submit("while ! [ -e go ]; do sleep 0.05; done", "--gpus=h100:1")
        job = c.submit(f"echo $$ >pid; while ! [ -e frozen ]; do sleep 0.02; done; exec dd if=/dev/zero of={disk.path}/file bs=1 count=1",
                       "--gpus=h100:1")
        c.wait_state(other, "RUNNING")
        pid = int(wait_until(lambda: (f := c.dir / "jobs/pid").exists() and f.read_text().strip(), "the job"))
        try:
            disk.freeze()
            (c.dir / "jobs/frozen").touch()
            wait_until(lambda: state_of(pid) == "D", "the job to hang in the kernel")
            c.run("gcancel", job)
            why = f"1 process of job {job} cannot be killed: {pid} (dd), state D"
            wait_until(lambda: why in node_text(c), "the operator to be told")
            assert c.state(job) == "COMPLETING" and state_of(pid) == "D"
            assert c.node_states()["n1"].startswith("drain")
            assert why in " ".join(c.run("gctl", "show", "job", job).stdout.split())
            assert why in c.run("gctl", "events", "--kind=node.drain", "--json").stdout
            assert c.state(other) == "RUNNING"
            # Another agent finds what it is; and who takes the drain back is not contradicted.
            c.agents["n1"].kill()
            c.run("gctl", "resume", "n1")
            c.start_agent("n1", "--kill-wait=500ms")
            c.wait_nodes()
            wait_until(lambda: c.state(other) == "RUNNING" and c.state(job) == "COMPLETING", "both to be known again")
            third = c.submit("true", "--gpus=h100:1")
            (c.dir / "jobs/go").touch()
            c.wait_state(other, "COMPLETED")
            c.wait_state(third, "COMPLETED")  # on the other's GPU: the drain is gone, this one's GPU is not
            fourth = c.submit("true", "--gpus=h100:2")
            assert c.state(job) == "COMPLETING" and c.state(fourth) == "PENDING"
            assert "cannot be killed" not in node_text(c)
        finally:
            disk.thaw()
        c.wait_state(job, "CANCELLED")
        c.wait_state(fourth, "COMPLETED")
        wait_until(lambda: not pathlib.Path(f"/proc/{pid}").exists(), "the process to be gone")


def test_a_prolog_that_cannot_be_killed(disk):
    """It is given up after its time: the node is drained, the job waits for another one; the agent serves meanwhile."""
    with Cluster(start=False, nodes=("n1", "n2")) as c:
        prolog = c.dir / "prolog"
        prolog.write_text(f"#!/bin/sh\necho $$ >{c.dir}/jobs/prolog-pid\n[ $GPUSCHED_NODE = n2 ] || exec dd if=/dev/zero of={disk.path}/file bs=1 count=1\n")
        prolog.chmod(0o755)
        c.start_munged()
        c.start_ctld()
        for node in c.nodes:
            c.start_agent(node, f"--prolog={prolog}", "--program-timeout=2s")
        c.wait_nodes()
        try:
            disk.freeze()
            job = c.submit("echo $GPUSCHED_NODE", "-w", "n1")
            wait_until(lambda: "cannot be killed" in node_text(c), "the operator to be told")
            assert "prolog cannot be killed" in node_text(c)
            assert c.state(job) == "PENDING"
            second = c.submit("echo $GPUSCHED_NODE")
            c.wait_state(second, "COMPLETED")
            assert (c.dir / f"jobs/gpusched-{second}.out").read_text() == "n2\n"
        finally:
            disk.thaw()
        c.run("gctl", "resume", "n1")
        c.wait_state(job, "COMPLETED")


def hanging(c, names=("gnoded-gpus", "gnoded-watch")):
    """The processes of this cluster that ask the driver and are in the kernel."""
    found = set()
    for pid in c.processes("gnoded"):
        with contextlib.suppress(OSError):
            if pathlib.Path(f"/proc/{pid}/comm").read_text().strip() in names and state_of(pid) == "D":
                found.add(pid)
    return found


def test_a_driver_that_cannot_be_killed_over_one_gpu(disk, tmp_path):
    """That GPU is drained, by name; the others are given; one process hangs and not one more each second; after the thaw all is well."""
    machine = Machine(tmp_path / "machine")
    machine.set(h100(0), h100(1))
    with cluster(machine, "h100:2") as c:
        try:
            disk.freeze()
            machine.set(h100(0), h100(1), f"write call=nvmlDeviceGetMemoryInfo gpu=0 path={disk.path}/file")
            wait_until(lambda: "nvmlDeviceGetMemoryInfo does not come back" in node(c)["gpu_note"], lambda: node(c)["gpu_note"])
            assert "GPU-0" in node(c)["gpu_note"] and node(c)["gpu_note"].startswith("1 of 2 h100")
            for i in range(5):  # each looks at its GPU before, too
                assert output(c, c.submit(f"echo {i}; sleep 1", "--gpus=h100:1")) == str(i)
            assert len(hanging(c, ["gnoded-gpus"])) == 1
            assert len(hanging(c)) <= 3  # of those who sample, one of each kind
        finally:
            disk.thaw()
        machine.set(h100(0), h100(1))
        wait_until(lambda: not hanging(c) and node(c)["gpu_note"] == "", lambda: node(c)["gpu_note"])
        both = c.submit("true", "--gpus=h100:2")
        c.wait_state(both, "COMPLETED")


def test_a_driver_that_cannot_be_killed_at_all(disk, tmp_path):
    """No GPU is known: the agent says in what it hangs and starts no other process to hang there, look after look."""
    machine = Machine(tmp_path / "machine")
    machine.set(h100(0), h100(1))
    with cluster(machine, "h100:2") as c:
        log = pathlib.Path(c.agents["gpu04"].log)
        try:
            disk.freeze()
            machine.set(h100(0), h100(1), f"write call=nvmlInit path={disk.path}/file")
            told = "nvmlInit does not come back, and cannot be killed; no other is started"
            wait_until(lambda: log.read_text().count(told) > 3, "looks that are not made")
            assert len(hanging(c, ["gnoded-gpus"])) == 1
            job = c.submit("echo after", "--gpus=h100:2")
            assert "nvmlInit does not come back" in " ".join(c.run("gctl", "show", "node", "gpu04").stdout.split())
        finally:
            disk.thaw()
        machine.set(h100(0), h100(1))
        wait_until(lambda: not hanging(c) and node(c)["gpu_note"] == "", lambda: node(c)["gpu_note"])
        assert output(c, job) == "after"
