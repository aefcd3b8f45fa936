"""What gpusched.conf says of how a node holds its runs: told to its agent, kept there, taken back.

One cluster; its folder is not below /tmp, which runs have one of their own of.
"""

import pathlib
import tempfile

import pytest

from cluster import ROOT, Cluster, wait_until

PRIVATE = 'private = [ "tmp" ]; rlimits = [ "nofile=64:128" ]; max_processes = 40;'


@pytest.fixture(name="c", scope="module")
def fixture_c():
    if not ROOT:
        pytest.skip("what holds runs needs root")
    tempfile.tempdir = "/var/lib"
    try:
        cluster = Cluster(start=False, node_defaults=f"node_defaults = {{ {PRIVATE} }};")
    finally:
        tempfile.tempdir = None
    with cluster:
        cluster.start_munged()
        cluster.start_ctld()
        cluster.start_agent("n1")
        cluster.wait_nodes()
        yield cluster


def said(c, *words):
    log = pathlib.Path(c.agents["n1"].log)
    wait_until(lambda: any(all(w in line for w in words) for line in log.read_text().splitlines()), f"the agent to say {words}")


def output_of(c, script):
    job = c.submit(script, user="daemon")
    c.wait_state(job, "COMPLETED")
    return (c.dir / f"jobs/gpusched-{job}.out").read_text()


def configure(c, text):
    c.node_defaults = f"node_defaults = {{ {text} }};"
    c.write_conf()
    c.run("gctl", "reconfigure")


def node(c):
    return c.run("gctl", "show", "node", "n1").stdout


def test_runs_are_held_as_it_says(c):
    said(c, "the controller says how runs are held here")
    assert output_of(c, "ulimit -Sn; ulimit -Hn") == "64\n128\n"
    (c.dir / "probe").touch()
    pathlib.Path("/tmp/gpusched-settings-probe").touch()
    try:
        text = output_of(c, "ls /tmp")
    finally:
        pathlib.Path("/tmp/gpusched-settings-probe").unlink()
    if "private one cannot be had" not in pathlib.Path(c.agents["n1"].log).read_text():
        assert text == ""


def test_a_reload_tells_it_and_takes_it_back(c):
    configure(c, 'rlimits = [ "nofile=70:80" ];')
    wait_until(lambda: output_of(c, "ulimit -Hn") == "80\n", "the new limits")
    configure(c, "")
    wait_until(lambda: int(output_of(c, "ulimit -Hn")) > 128, "limits as without the configuration")
    configure(c, PRIVATE)
    wait_until(lambda: output_of(c, "ulimit -Hn") == "128\n", "the first limits")


def test_an_agent_that_starts_anew_knows_it_before_any_controller(c):
    c.agents["n1"].stop()
    c.ctld.stop()
    log = pathlib.Path(c.agents["n1"].log)
    before = len(log.read_text())
    c.start_agent("n1")
    wait_until(lambda: "launcher of node n1" in log.read_text()[before:], "the launcher")
    line = next(x for x in log.read_text()[before:].splitlines() if "launcher of node n1" in x)
    assert "tmp" in line.split("n1: ")[1].split(",") or "cannot be had" in log.read_text()
    c.start_ctld()
    c.wait_nodes()
    assert output_of(c, "ulimit -Hn") == "128\n"


def test_less_than_is_demanded_gets_no_work(c):
    configure(c, 'containment = [ "pids", "devices" ];')
    c.agents["n1"].stop()
    c.start_agent("n1", "--cgroup=none")
    wait_until(lambda: "containment: pids, devices not active: not wanted" in node(c), "the reason to be told")
    assert c.node_states()["n1"] == "invalid"
    job = c.submit("true", user="daemon")
    c.agents["n1"].stop()
    configure(c, "")
    c.start_agent("n1")
    c.wait_state(job, "COMPLETED")
    assert "not active" not in node(c)
