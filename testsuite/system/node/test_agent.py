"""The agent can be ended, killed and started again at any time, and no run notices."""

import contextlib
import os
import pathlib
import pwd
import signal
import subprocess

import pytest
from cluster import BIN, ROOT, Cluster, Daemon, wait_until
from launcher import alive


@pytest.fixture(scope="module")
def cluster():
    with Cluster(nodes=("n1", "n2")) as c:
        yield c


@pytest.fixture(scope="module")
def files():
    """A cluster of which nothing runs."""
    with Cluster(start=False) as c:
        yield c


def children(pid):
    """The children of a process, as pids."""
    with contextlib.suppress(OSError):
        return [int(p) for p in pathlib.Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
    return []


def command_of(pid):
    """Of a process that may be gone by now."""
    with contextlib.suppress(OSError):
        return [pathlib.Path(f"/proc/{pid}/cmdline").read_text()]
    return []


def halves_of(pid):
    """The network half and the launcher below the agent's first process: (pid, pid)."""
    def both():
        for half in children(pid):
            for launcher in children(half):
                return half, launcher
        return None
    return wait_until(both, f"both halves of {pid}")


def halves(agent):
    return halves_of(agent.pid)


def status_of(pid):
    return dict(line.split(":\t") for line in pathlib.Path(f"/proc/{pid}/status").read_text().splitlines() if ":\t" in line)


def capabilities(pid):
    status = status_of(pid)
    return [status[f"Cap{s}"].strip("0") for s in ("Inh", "Prm", "Eff", "Bnd", "Amb")]


def has_open(pid, path):
    """Is that very file open there, under its name of now?"""
    for fd in pathlib.Path(f"/proc/{pid}/fd").iterdir():
        with contextlib.suppress(OSError):
            if os.readlink(fd) == str(path):
                return True
    return False


def waiting_job(cluster, name, *options):
    """A running job that ends with exit code 3 when the file NAME appears."""
    job = cluster.submit(f"while [ ! -e {name} ]; do sleep 0.05; done; exit 3", "--gpus=1", *options)
    cluster.wait_state(job, "RUNNING")
    return job


def release(cluster, name):
    (cluster.dir / "jobs" / name).touch()


def node_of(cluster, job):
    return cluster.job(job)["node"]


def test_ended_and_started_again(cluster):
    job = waiting_job(cluster, "restart")
    node = node_of(cluster, job)
    assert cluster.agents[node].stop() == 0
    cluster.start_agent(node)
    cluster.wait_nodes(nodes=[node])
    assert cluster.state(job) == "RUNNING"
    release(cluster, "restart")
    assert cluster.wait_state(job, "FAILED")["exit_code"] == 3


def test_result_while_the_agent_is_away(cluster):
    job = waiting_job(cluster, "away")
    node = node_of(cluster, job)
    cluster.agents[node].kill()
    release(cluster, "away")
    wait_until(lambda: not any(f"{job}_0_1" in text for p in cluster.shepherds() for text in command_of(p)), "the run to end")
    assert cluster.state(job) == "RUNNING"  # nobody has told yet
    cluster.start_agent(node)
    assert cluster.wait_state(job, "FAILED")["exit_code"] == 3


@pytest.mark.parametrize("victim", ["network half", "launcher"])
def test_a_killed_half_is_started_again(cluster, victim):
    name = victim.replace(" ", "-")
    job = waiting_job(cluster, name)
    node = node_of(cluster, job)
    agent = cluster.agents[node]
    before = halves(agent)
    os.kill(before[victim == "launcher"], signal.SIGKILL)
    wait_until(lambda: not set(before) & set(halves(agent)), "two new halves")
    assert agent.alive()
    cluster.wait_nodes(nodes=[node])
    assert cluster.state(job) == "RUNNING"
    release(cluster, name)
    assert cluster.wait_state(job, "FAILED")["exit_code"] == 3


def test_halves_die_with_the_agent(cluster):
    both = halves(cluster.agents["n1"])
    cluster.agents["n1"].kill()
    wait_until(lambda: not any(pathlib.Path(f"/proc/{p}").exists() for p in both), "both halves to be gone")
    cluster.start_agent("n1")
    cluster.wait_nodes(nodes=["n1"])


def test_two_agents_for_one_node(cluster):
    second = Daemon("second gnoded", cluster.agent_argv("n1"), cluster.dir / "log/second.log", cluster.env)
    second.wait()
    assert second.process.returncode == 1
    assert "in use by another agent" in second.tail()
    cluster.wait_nodes(nodes=["n1"])


@pytest.mark.skipif(not ROOT, reason="only root has privileges to drop")
def test_network_half_has_no_privilege(cluster):
    """And owns no file: uid 0 without capabilities could still write /etc/passwd."""
    half, launcher = halves(cluster.agents["n1"])
    wait_until(lambda: capabilities(half) == [""] * 5, "a network half without capabilities")
    status = status_of(half)
    assert status["NoNewPrivs"] == "1"
    assert len(set(status["Uid"].split())) == len(set(status["Gid"].split())) == 1
    uid, gid = (int(status[which].split()[0]) for which in ("Uid", "Gid"))
    try:
        own = pwd.getpwnam("gpusched-agent")
        assert (uid, gid) == (own.pw_uid, own.pw_gid)
    except KeyError:
        assert 65520 <= uid == gid <= 65533 and not status["Groups"].strip()
        assert f"the network half is uid {uid}" in cluster.agents["n1"].tail()
        with pytest.raises(KeyError):
            pwd.getpwuid(uid)
    assert status_of(launcher)["Uid"].split() == ["0"] * 4
    # What it can reach of root's: nothing but what anybody may.
    probe = "import os, sys; sys.exit(any(os.access(p, os.W_OK) for p in ('/etc/passwd', '/etc', '/root', sys.argv[1])))"
    assert subprocess.run(["/usr/bin/python3", "-c", probe, str(cluster.run_base / "run-n1")], user=uid, group=gid, extra_groups=[],
                          check=False).returncode == 0


@pytest.mark.skipif(not ROOT, reason="only root can stay root")
def test_network_half_that_is_told_to_stay_root(cluster):
    cluster.agents["n1"].stop()
    cluster.start_agent("n1", "--user=root")
    cluster.wait_nodes(nodes=["n1"])
    half, _ = halves(cluster.agents["n1"])
    wait_until(lambda: capabilities(half) == [""] * 5, "a network half without capabilities")
    assert status_of(half)["Uid"].split() == ["0"] * 4
    cluster.agents["n1"].stop()
    cluster.start_agent("n1")
    cluster.wait_nodes(nodes=["n1"])


@pytest.mark.skipif(not ROOT, reason="only root can become another user")
def test_network_half_as_another_user(cluster):
    cluster.agents["n1"].stop()
    cluster.start_agent("n1", "--user=nobody")
    cluster.wait_nodes(nodes=["n1"])
    half, launcher = halves(cluster.agents["n1"])
    nobody = {str(pwd.getpwnam("nobody").pw_uid)}

    def uids():
        status = pathlib.Path(f"/proc/{half}/status").read_text().splitlines()
        return set([line.split()[1:] for line in status if line.startswith("Uid:")][0])

    wait_until(lambda: uids() == nobody, "a network half that is nobody")
    job = cluster.submit("exit 4", "--gpus=1")
    assert cluster.wait_state(job, "FAILED")["exit_code"] == 4
    assert pathlib.Path(f"/proc/{launcher}").exists()
    cluster.agents["n1"].stop()
    cluster.start_agent("n1")
    cluster.wait_nodes(nodes=["n1"])


def test_daemon_and_pid_file(cluster):
    cluster.agents["n2"].stop()
    pid_file, log = cluster.dir / "n2.pid", cluster.dir / "root-s-log/gnoded-n2.log"
    log.parent.mkdir(mode=0o700)
    argv = [a for a in cluster.agent_argv("n2") if a != "--foreground"]
    r = subprocess.run([str(a) for a in [*argv, "--daemon", f"--pid-file={pid_file}", f"--log={log}"]],
                       env=cluster.env, capture_output=True, text=True, timeout=60, check=False)
    assert r.returncode == 0, r.stderr + log.read_text()
    pid = int(pid_file.read_text())
    assert "node n2, incarnation" in log.read_text()
    log.rename(f"{log}.1")
    os.kill(pid, signal.SIGHUP)
    wait_until(log.exists, "a new log file")
    # The network half writes there too, though it is a user that may not even enter the folder.
    wait_until(lambda: all(has_open(p, log) for p in (pid, *halves_of(pid))), "all three processes to have it open")
    cluster.wait_nodes(nodes=["n2"])
    os.kill(pid, signal.SIGTERM)
    wait_until(lambda: not pid_file.exists() and not alive(pid), "the agent and its pid file to be gone")
    cluster.start_agent("n2")
    cluster.wait_nodes(nodes=["n2"])


@pytest.mark.parametrize("argv, status, text", [
    (["--node=a b"], 2, "node name"),
    (["--pretend=cpus=0"], 2, "cpus=0"),
    (["--simulate=0"], 2, "--nodes"),
    (["--nodes=n[1-2]"], 2, "--simulate"),
    (["--daemon", "--log=stderr"], 2, "--log"),
    (["stray"], 2, "stray"),
    (["--shepherd=/nowhere"], 2, "/nowhere"),
    (["--user=no-such-user-here"], 1, "no such user"),
    (["--config=/nowhere"], 1, "/nowhere"),
    (["--simulate=3", "--nodes=n[1-2]"], 2, "names only 2"),
    (["--simulate=0", "--nodes=n[2-1]"], 2, "'2-1'"),
])
def test_mistakes(files, argv, status, text, tmp_path):
    r = subprocess.run([str(BIN["gnoded"]), f"--rundir={tmp_path}/run", f"--spool={tmp_path}/spool", *argv],
                       env=files.env, capture_output=True, text=True, timeout=60, check=False)
    assert r.returncode == status, r.stderr
    assert text in r.stderr


def test_what_would_be_reported(files):
    r = subprocess.run([str(BIN["gnoded"]), "--test", "--node=n9", "--pretend=cpus=3,mem=5G"], env=files.env,
                       capture_output=True, text=True, timeout=60, check=True)
    assert "cpus:        3" in r.stdout and "5120 MiB" in r.stdout and "n9" in r.stdout
