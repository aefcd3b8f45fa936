"""gnoded --simulate: many agents in one process, each a real one to the controller."""

import json

import pytest
from cluster import BIN, Cluster, Daemon, wait_until

NODES = [f"s{i:03}" for i in range(1, 201)]


@pytest.fixture(scope="module")
def cluster():
    with Cluster(nodes=NODES, gpus="demo:8", cpus=64, start=False) as c:
        c.start_munged()
        c.start_ctld()
        c.sim = start(c)
        c.agents["simulated"] = c.sim
        c.wait_nodes()
        yield c


def start(c):
    return Daemon("gnoded --simulate", [BIN["gnoded"], "--simulate=0", "--nodes=s[001-200]"],
                  c.dir / "log/simulate.log", c.env)


def test_all_register(cluster):
    assert set(cluster.node_states().values()) == {"idle"}
    wait_until(lambda: "200 of 200 nodes are registered" in cluster.sim.tail(), "the count in the log")


def test_runs_end_as_labelled(cluster):
    a = cluster.submit("true", "--gpus=1")
    b = cluster.submit("true", "--gpus=8", "--label", "sim=0.2:7")
    assert cluster.wait_state(a, "COMPLETED")["exit_code"] == 0
    end = cluster.wait_state(b, "FAILED")
    assert end["exit_code"] == 7


def test_cancel_ends_a_long_one(cluster):
    job = cluster.submit("true", "--gpus=1", "--label", "sim=100000")
    cluster.wait_state(job, "RUNNING")
    cluster.run("gcancel", job)
    cluster.wait_state(job, "CANCELLED")


def test_their_gpus_seem_to_work(cluster):
    """Samples that could be, of those that a run holds and of those that none does."""
    job = cluster.submit("true", "--gpus=3", "--label", "sim=100000")
    node = cluster.wait_state(job, "RUNNING")["node"]

    def devices():
        return json.loads(cluster.run("ginfo", "--gpus", node, "--json").stdout)["nodes"][0]["devices"]

    def busy():
        return [g.get("sm_pct", 0) > 50 and g["power_mw"] > 300000 for g in devices() if g.get("sample_known")] == [True] * 3 + [False] * 5
    wait_until(busy, "three busy GPUs and five idle ones")
    before = devices()
    wait_until(lambda: all(g["energy_mj"] > b["energy_mj"] for g, b in zip(devices(), before)), "energy")
    cluster.run("gcancel", job)
    cluster.wait_state(job, "CANCELLED")
    wait_until(lambda: not any(g.get("sm_pct", 0) for g in devices()), "idle GPUs")


def test_the_controllers_restart_loses_nothing(cluster):
    jobs = [cluster.submit("true", "--gpus=8", "--label", "sim=5") for _ in range(20)]
    for job in jobs:
        cluster.wait_state(job, "RUNNING", "COMPLETED")  # a slow machine is not done with the last before the first has ended
    cluster.ctld.kill()
    cluster.start_ctld()
    for job in jobs:
        cluster.wait_state(job, "COMPLETED")
    cluster.wait_nodes("idle")


def test_its_end_is_the_loss_of_its_nodes(cluster):
    """A new process is a new incarnation of each node: what ran there has ended with the old one."""
    job = cluster.submit("true", "--gpus=1", "--no-requeue", "--label", "sim=100000")
    cluster.wait_state(job, "RUNNING")
    cluster.sim.kill()
    cluster.sim = cluster.agents["simulated"] = start(cluster)
    cluster.wait_state(job, "NODE_FAIL")
    assert json.loads(cluster.run("gqueue", "--all", "--json", "--jobs", job).stdout)["jobs"][0]["node"]
