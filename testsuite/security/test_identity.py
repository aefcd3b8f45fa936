"""15: a job, a run, a node is never taken for another one (see README.md for what other files cover)."""

import pytest
from cluster import ROOT, Cluster, Daemon, wait_until


@pytest.fixture(name="c")
def fixture_c():
    with Cluster(nodes=("n1", "n2")) as c:
        yield c


def test_job_ids_are_never_given_twice(c):
    """Killed right after each acknowledgement, and right after one that nobody has read."""
    seen = []
    for _ in range(5):
        seen.append(c.submit("true", "--hold"))
        c.ctld.kill()
        c.start_ctld()
        seen.append(c.submit("true", "--hold"))
        c.run("gcancel", seen[-1])
    assert seen == sorted(set(seen))
    assert set(seen) <= set(c.jobs())


@pytest.mark.skipif(not ROOT, reason="needs a second user")
def test_a_token_is_its_user_s(c):
    """Of two users each has his own job for one token."""
    mine = c.run("gsubmit", "--hold", "--parsable", "--token=same", "--wrap", "true").stdout
    r = c.run("gsubmit", "--hold", "--parsable", "--token=same", "--wrap", "true", user=c.ctld_user.pw_name)
    again = c.run("gsubmit", "--hold", "--parsable", "--token=same", "--wrap", "true").stdout
    assert again == mine
    assert r.returncode == 0 and r.stdout != mine
    assert c.jobs()[int(r.stdout)]["user"] == c.ctld_user.pw_name


def test_a_node_under_another_name(c):
    """Its runs stay those of the node that they were started on, booked, until it is heard of again; what they hold
    on the machine is given to nobody, whatever the machine is called."""
    job = c.submit("sleep 1000", "--gpus=1", "--nodelist=n1")
    c.wait_state(job, "RUNNING")
    c.agents.pop("n1").stop()
    c.agents.pop("n2").stop()
    argv = c.agent_argv("n1")
    argv[argv.index("n1")] = "n2"
    c.agents["n2"] = Daemon("gnoded n1 as n2", argv, c.dir / "log/renamed.log", c.env)
    wait_until(lambda: c.ctld.tail(50).count("node n2: registered") == 2, "it to come in as n2")
    other = c.submit("touch ran", "--gpus=4", "--nodelist=n2")
    wait_until(lambda: "held by run" in c.job(other)["reason_text"], "what it thinks of four GPUs")
    assert c.state(job) == "RUNNING" and c.job(job)["node"] == "n1"
    c.run("gcancel", other)
    c.agents.pop("n2").stop()
    assert not (c.dir / "jobs/ran").exists()
    c.start_agent("n1")
    c.wait_nodes(nodes=["n1"])
    c.run("gcancel", job)
    assert c.wait_state(job, "CANCELLED")["node"] == "n1"
    wait_until(lambda: not c.shepherds(), "shepherds to end")
