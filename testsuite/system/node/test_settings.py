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


def script(path, text):
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)
    return path


def start_with(c, *options):
    c.agents["n1"].stop()
    log = pathlib.Path(c.agents["n1"].log)
    before = len(log.read_text())
    c.start_agent("n1", *options)
    wait_until(lambda: "registered, epoch" in log.read_text()[before:], "the agent to be back")  # it reads the configuration, too


def test_programs_come_from_one_folder(c):
    """A controller that was taken over can choose among what root has put there."""
    trace, folder = c.dir / "trace", c.dir / "programs"
    folder.mkdir(mode=0o755)
    good = script(folder / "good", f'echo "$0 $GPUSCHED_JOB_ID" >> {trace}')
    outside = script(c.dir / "outside", f"echo outside >> {trace}")
    try:
        start_with(c, f"--programs={folder}", "--health-interval=1s")  # which is how often one that is missing is looked for
        configure(c, f'prolog = "{good}"; epilog = "{good}"; epilog_timeout = "5s";')
        c.wait_nodes()
        job = c.submit("true", user="daemon")
        c.wait_state(job, "COMPLETED")
        assert trace.read_text() == f"{good} {job}\n" * 2

        configure(c, f'prolog = "{good}"; epilog = "{outside}";')
        wait_until(lambda: f"epilog '{outside}' does not lie in {folder}" in node(c), "the reason to be told")
        assert c.node_states()["n1"] == "drained"
        waits = c.submit("true", user="daemon")
        configure(c, f'prolog = "{folder}/late";')
        wait_until(lambda: f"prolog '{folder}/late': No such file" in node(c), "the next reason")
        assert c.state(waits) == "PENDING"
        script(folder / "late", f"echo late >> {trace}")
        c.wait_state(waits, "COMPLETED")
        assert trace.read_text().splitlines()[2:] == ["late"]

        # What the agent's own command line says counts, also of one that is refused; and none takes none.
        configure(c, f'prolog = "{outside}";')
        wait_until(lambda: "does not lie in" in node(c), "the reason")
        start_with(c, f"--programs={folder}", f"--prolog={good}")
        c.wait_nodes()
        job = c.submit("true", user="daemon")
        c.wait_state(job, "COMPLETED")
        assert trace.read_text().splitlines()[3:] == [f"{good} {job}"]
        start_with(c, "--programs=none")
        wait_until(lambda: "--programs=none takes none" in node(c), "the reason of none")
        assert "outside" not in trace.read_text()
    finally:
        configure(c, "")
        start_with(c)
        c.wait_nodes()


def test_a_health_check_of_the_configuration(c):
    """It is run at once and on its interval; taken back, it no longer holds the node. No other place than the folder."""
    folder, sick, count = c.dir / "checks", c.dir / "sick", c.dir / "count"
    folder.mkdir(mode=0o755)
    check = script(folder / "check", f'echo "$(env | sort | tr "\n" " ")" >> {count}\n[ ! -e {sick} ] || {{ echo fan 3; exit 1; }}')
    outside = script(c.dir / "outside-check", f"touch {c.dir}/evil")
    try:
        start_with(c, f"--programs={folder}", "--health-interval=1s")
        c.wait_nodes()
        sick.touch()
        configure(c, f'health_check = "{check}"; health_interval = "1s"; health_check_timeout = "5s";')
        wait_until(lambda: "health check ended with exit code 1: fan 3" in node(c), "the node to be drained")
        assert c.node_states()["n1"] == "drained"
        waits = c.submit("true", user="daemon")
        at = len(count.read_text().splitlines())
        wait_until(lambda: len(count.read_text().splitlines()) > at + 1, "more checks")
        assert c.state(waits) == "PENDING"
        sick.unlink()
        c.wait_state(waits, "COMPLETED")
        path = count.read_text().splitlines()[0].split()
        assert [x.split("=")[0] for x in path if "=" in x and not x.startswith(("PWD=", "_=", "SHLVL=", "OLDPWD="))] == ["GPUSCHED_NODE", "PATH"]

        # An agent that starts anew knows it before any controller; another program takes its place at once.
        sick.touch()
        wait_until(lambda: c.node_states()["n1"] == "drained", "the node to be drained")
        start_with(c, f"--programs={folder}")
        assert c.node_states()["n1"] == "drained"
        configure(c, f'health_check = "{script(folder / "well", "exit 0")}";')
        c.wait_nodes()

        configure(c, f'health_check = "{outside}";')
        wait_until(lambda: f"health check '{outside}' does not lie in {folder}" in node(c), "the reason to be told")
        configure(c, f'health_check = "{check}"; health_interval = "1s";')
        wait_until(lambda: "fan 3" in node(c), "the check's reason")
        configure(c, "")
        c.wait_nodes()
        assert not (c.dir / "evil").exists()

        # The agent's own command line counts.
        start_with(c, f"--health-check={folder / 'well'}")
        configure(c, f'health_check = "{check}";')
        c.wait_nodes()
        c.wait_state(c.submit("true", user="daemon"), "COMPLETED")
    finally:
        configure(c, "")
        start_with(c)
        c.wait_nodes()


def test_less_than_is_demanded_gets_no_work(c):
    configure(c, 'containment = [ "pids", "devices" ];')
    c.agents["n1"].stop()
    c.start_agent("n1", "--cgroup=none")
    why = "containment: pids, devices not active: --cgroup=none"
    wait_until(lambda: why in node(c), "the reason to be told")
    assert c.node_states()["n1"] == "invalid"
    assert c.run("ginfo", "--nodes", "-h", "--format=REASON%99").stdout.strip() == why
    said(c, f"nothing is started here: {why}")
    job = c.submit("true", user="daemon")
    # The agent is there all the same, and hears of a configuration that demands less.
    configure(c, "")
    c.wait_state(job, "COMPLETED")
    assert "not active" not in node(c)
    c.agents["n1"].stop()
    c.start_agent("n1")
    c.wait_nodes()
