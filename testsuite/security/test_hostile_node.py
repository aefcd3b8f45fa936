"""5: peers that say they are a node, and nodes that lie."""

import json

import pytest
from anything import Anything
from cluster import ROOT, Cluster, wait_until
from peer import Peer, message_of, packed

needs_root = pytest.mark.skipif(not ROOT, reason="needs users besides the agents'")
HERE = {"node": "n2", "version": "0.1.0", "boot_id": "b", "incarnation": "b-1", "cpus": 16, "mem_mb": 65536,
        "containment": "none"}


@pytest.fixture(scope="module", name="cluster")
def fixture_cluster():
    with Cluster(nodes=("n1", "n2")) as c:
        c.victim = c.submit("sleep 1000", "--gpus=1", "--nodelist=n1")
        c.wait_state(c.victim, "RUNNING")
        c.agents.pop("n2").stop()
        yield c


@pytest.fixture(name="c")
def fixture_c(cluster):
    """n1 is a node as it should be and has a run; n2 is whoever the test makes it."""
    yield cluster
    assert cluster.ctld.alive()
    job = cluster.job(cluster.victim)
    assert job["state"] == "RUNNING" and job["node"] == "n1"


def rogue(c, **register):
    p = Peer(c, node="n2")
    p.send("MSG_REGISTER", {**HERE, **register})
    return p


def registered(c, **register):
    p = rogue(c, **register)
    kind, _, message = p.receive()
    assert kind == "MSG_REGISTERED"
    return p, message["epoch"]


def come_in(c, node, user=None):
    """The exit status of a peer that tries."""
    with Peer(c, node=node, user=user, wait=False) as p:
        return p.p.wait(40), p.p.stderr.read().decode()


@needs_root
def test_users_are_no_nodes(c):
    for user in ("bin", c.ctld_user.pw_name):
        status, why = come_in(c, "n2", user)
        assert status == 3 and "permission" in why, why


@pytest.mark.parametrize("name", ["n3", "N2", "n2.example", "n1/n2", "n[1-2]", "../n2", "n2 ", "x" * 255])
def test_nodes_that_the_configuration_does_not_name(c, name):
    assert come_in(c, name)[0] == 3


@pytest.mark.parametrize("node", ["n1", "n3", "", "N2"])
def test_right_door_wrong_name(c, node):
    with rogue(c, node=node) as p:
        assert p.ended()
    wait_until(lambda: "as another node" in c.ctld.tail(), "the log to say why")


def test_nothing_is_heard_before_it_has_registered(c):
    for kind, value in (("MSG_RUN_REPORT", {"run": {"job": c.victim, "attempt": 1}, "state": "ENDED"}), ("MSG_HEARTBEAT", {})):
        with Peer(c, node="n2") as p:
            p.send(kind, value)
            assert p.ended()


def test_registers_once(c):
    p, _ = registered(c)
    with p:
        p.send("MSG_REGISTER", HERE)
        assert p.ended()


def test_a_node_asks_nothing_that_users_ask(c):
    for kind in ("MSG_PING", "MSG_LIST_JOBS", "MSG_JOB_CONTROL", "MSG_SHUTDOWN", "MSG_STREAM_OPEN", "MSG_START_RUN", "MSG_SUBMIT"):
        p, _ = registered(c)
        with p:
            p.send_bytes(packed(kind, b"", 1))
            assert p.ended(), kind


def test_the_end_of_another_node_s_run(c):
    """Whatever n2 says of n1's run: it goes on, as n1 says."""
    p, epoch = registered(c)
    with p:
        for state in ("ENDED", "NEVER", "STARTING", "RUNNING"):
            for attempt in (1, 2, 0, 2**32 - 1):
                p.send("MSG_RUN_REPORT", {"run": {"job": c.victim, "attempt": attempt}, "state": state, "cause": "CAUSE_EXIT",
                                          "incarnation": "b-1", "epoch": epoch, "exit_code": 7, "gpus": [0],
                                          "gpu_type": "demo", "cpus": 1, "mem_mb": 1, "uid": 0})
        p.send("MSG_HEARTBEAT", {"load": 1.0})
        wait_until(lambda: c.run("gctl", "ping").returncode == 0, "the controller")
        job = c.job(c.victim)
        assert job["state"] == "RUNNING" and job["node"] == "n1"


ABSURD = ({"sm_pct": 101}, {"fb_used_mb": 2**63}, {"temp_c": 2**31}, {"power_mw": 2**32 - 1}, {"energy_mj": 2**64 - 1}, {"last_xid_time": -1},
          {"uuid": "GPU-1,GPU-2"}, {"uuid": "x" * 96})


def test_what_its_gpus_are_said_to_do(c):
    """Samples that cannot be, and more of them than a node has GPUs: refused, its session ends. Those of GPUs that it does not have
    are left out, and n1's GPUs are not its affair."""
    def devices(node):
        return json.loads(c.run("ginfo", "--gpus", node, "--json").stdout)["nodes"][0]["devices"]

    before = [g.get("sample_known") for g in devices("n1")]
    for sample in ABSURD:
        p, _ = registered(c)
        with p:
            p.send("MSG_RUNS_USED", {"gpus": [sample]})
            assert p.ended(), sample
    p, _ = registered(c)
    with p:
        p.send("MSG_RUNS_USED", {"gpus": [{"temp_c": 1}] * 65})
        assert p.ended()
    p, _ = registered(c)
    with p:
        p.send("MSG_RUNS_USED", {"gpus": [{"index": 0, "temp_c": 41}, {"index": 2**32 - 1, "temp_c": 42}, {"uuid": "GPU-of-n1", "temp_c": 43}]})
        wait_until(lambda: devices("n2")[0].get("temp_c") == 41, "the sample that can be")
        assert sum(bool(g.get("sample_known")) for g in devices("n2")) == 1
    assert [g.get("sample_known") for g in devices("n1")] == before


def test_a_run_that_was_never_ordered(c):
    """Its GPUs stay booked until somebody looks; no job of a user comes of it."""
    jobs = set(c.jobs())
    p, epoch = registered(c, runs=[{"run": {"job": c.victim, "attempt": 9}, "state": "RUNNING", "incarnation": "b-1",
                                    "epoch": 1, "gpus": [0, 1], "gpu_type": "demo", "cpus": 1, "mem_mb": 1, "uid": 0}],
                          max_job=c.victim, max_epoch=1)
    with p:
        assert set(c.jobs()) == jobs and epoch == 1


def test_two_of_one_name(c):
    """The later one of another incarnation takes the place of the first, which is closed."""
    first, _ = registered(c)
    with first:
        second, _ = registered(c, incarnation="b-2")
        with second:
            assert first.ended()
            second.send("MSG_HEARTBEAT", {})
            wait_until(lambda: c.node_states()["n2"] in ("idle", "mixed"), "the later one")


@pytest.mark.parametrize("gpus", [
    [{"index": 0, "type": "demo"}], [{"index": i, "type": "demo"} for i in range(3)],
    [{"index": 0, "type": "demo"}] * 4, [{"index": i, "type": "other"} for i in range(4)],
], ids=["one", "three", "one four times", "another type"])
def test_fewer_or_other_gpus_than_configured(c, gpus):
    """Nothing is started on a GPU that the node does not have."""
    with rogue(c, gpus=gpus) as p:
        wait_until(lambda: p.p.poll() is not None or c.node_states()["n2"] != "unknown", "a verdict")
        job = c.submit("true", "--gpus=4", "--nodelist=n2", "--time=1")
        order = None
        if p.p.poll() is None:
            p.send("MSG_HEARTBEAT", {})
            wait_until(lambda: c.job(job)["reason"] or c.state(job) != "PENDING", "a reason")
            while p.buffer or order is None:
                order = p.receive()[0]
                if order == "MSG_REGISTERED":
                    break
        assert order != "MSG_START_RUN"
        assert c.state(job) == "PENDING", json.dumps(c.job(job))
        c.run("gcancel", job)


def test_any_message_of_the_schema(c):
    """800 messages with values that nobody would think of; the controller goes on, and starts again with what it has."""
    a = Anything(5)
    a.ids = [c.victim, c.victim, 77]
    p = None
    for _ in range(800):
        if p is None:
            p, _ = registered(c)
        kind = a.random.choice(("MSG_RUN_REPORT", "MSG_RUN_REPORT", "MSG_HEARTBEAT", "MSG_REGISTER", "MSG_STREAM_DATA",
                                "MSG_STREAM_CREDIT", "MSG_STREAM_CLOSE"))
        value = a.message(message_of(kind))
        if kind == "MSG_RUN_REPORT" and a.random.random() < 0.9:
            value["run"] = {"job": a.random.choice(a.ids), "attempt": a.random.choice((1, 2, 0, 2**32 - 1)),
                            "rank": a.random.choice((0, 0, 1, 2**32 - 1)), "task": a.random.choice((0, 0, 7))}
        p.send(kind, value)
        if p.p.poll() is not None:
            p.close()
            p = None
    if p:
        p.close()
    wait_until(lambda: "session closed: " in c.ctld.tail(1000), "one at least to be closed for it")
    assert c.ctld.alive()
    c.run("gctl", "ping")
    assert c.ctld.stop() == 0
    c.start_ctld()
    c.wait_nodes(nodes=["n1"])
