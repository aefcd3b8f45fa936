"""Whatever happens to agent, launcher, shepherd, controller or node: node and controller agree again at once.

Heartbeats are five minutes apart here, and no wait is that long: they agree by what is told when they meet again.
"""

import os
import pathlib
import re
import signal

import pytest

from cluster import Cluster, wait_until
from test_agent import halves, release, waiting_job

RUN = re.compile(rb"(\d+)_0_1(_0)?\0")


@pytest.fixture(name="cluster", scope="module")
def fixture_cluster():
    with Cluster(controller='heartbeat = "5m"; node_timeout = "1h";') as c:
        yield c


def there(c):
    """The jobs that have a shepherd on the node: {job: pid}."""
    found = {}
    for pid in c.shepherds():
        try:
            said = RUN.search(pathlib.Path(f"/proc/{pid}/cmdline").read_bytes())
        except OSError:
            continue
        if said:
            found[int(said[1])] = pid
    return found


def booked(c):
    """The jobs that have something of the node, as the controller says."""
    return {i for i, j in c.jobs().items() if j["state"] in ("CONFIGURING", "RUNNING", "COMPLETING", "SUSPENDED")}


def kill(pid):
    os.kill(pid, signal.SIGKILL)


class Case:
    def __init__(self, c, name):
        self.c, self.name = c, name
        self.stays, self.ends = (waiting_job(c, f"{name}-{what}", "--no-requeue") for what in ("stays", "ends"))

    def let_end(self):
        """Nobody is there whom its shepherd could tell."""
        release(self.c, f"{self.name}-ends")
        wait_until(lambda: self.ends not in there(self.c), "its run to end")

    def start_agent(self):
        self.c.start_agent("n1")

    def agent_ended(self):
        self.c.agents["n1"].stop()
        self.let_end()
        self.start_agent()

    def agent_killed(self):
        self.c.agents["n1"].kill()
        self.let_end()
        self.start_agent()

    def launcher_killed(self):
        kill(halves(self.c.agents["n1"])[1])
        release(self.c, f"{self.name}-ends")

    def network_half_killed(self):
        kill(halves(self.c.agents["n1"])[0])
        release(self.c, f"{self.name}-ends")

    def controller_killed(self):
        self.c.ctld.kill()
        self.let_end()
        self.c.start_ctld()

    def all_killed(self):
        self.c.ctld.kill()
        self.c.agents["n1"].kill()
        self.let_end()
        self.start_agent()
        self.c.start_ctld()

    def shepherd_killed(self):
        kill(there(self.c)[self.stays])
        release(self.c, f"{self.name}-ends")

    def shepherd_and_agent_killed(self):
        self.c.agents["n1"].kill()
        kill(there(self.c)[self.stays])
        self.let_end()
        self.start_agent()

    def node_rebooted(self):
        self.c.agents["n1"].kill()
        for pid in there(self.c).values():
            kill(pid)
        (self.c.run_base / "run-n1/incarnation").unlink()
        self.start_agent()


# What becomes of the run that stays and of the one that ends meanwhile.
OUTCOMES = {
    "agent_ended": ("RUNNING", "FAILED"),
    "agent_killed": ("RUNNING", "FAILED"),
    "launcher_killed": ("RUNNING", "FAILED"),
    "network_half_killed": ("RUNNING", "FAILED"),
    "controller_killed": ("RUNNING", "FAILED"),
    "all_killed": ("RUNNING", "FAILED"),
    "shepherd_killed": ("NODE_FAIL", "FAILED"),
    "shepherd_and_agent_killed": ("NODE_FAIL", "FAILED"),
    "node_rebooted": ("NODE_FAIL", "NODE_FAIL"),
}


@pytest.mark.parametrize("name", OUTCOMES)
def test_they_agree_after(cluster, name):
    case = Case(cluster, name.replace("_", "-"))
    getattr(case, name)()
    stays, ends = OUTCOMES[name]
    cluster.wait_state(case.ends, ends)
    cluster.wait_state(case.stays, stays)
    want = {case.stays} if stays == "RUNNING" else set()
    wait_until(lambda: booked(cluster) == set(there(cluster)) == want,
               lambda: f"{want} on both sides: {booked(cluster)}, {there(cluster)}")
    cluster.wait_nodes("mixed" if want else "idle")
    if ends == "FAILED":
        assert cluster.job(case.ends)["exit_code"] == 3
    if want:
        release(cluster, f"{case.name}-stays")
        assert cluster.wait_state(case.stays, "FAILED")["exit_code"] == 3
