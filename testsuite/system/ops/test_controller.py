"""The controller as a daemon: who it is, what it is told while it runs, what it asks others."""

import contextlib
import ctypes
import json
import os
import pathlib
import re
import select
import shutil
import signal
import socket
import stat
import subprocess

import pytest
from cluster import BIN, ROOT, Cluster, wait_until
from launcher import alive


@pytest.fixture(scope="module", name="cluster")
def cluster_fixture():
    with Cluster(nodes=["n1", "n2"]) as c:
        yield c


def log_of(cluster):
    return pathlib.Path(cluster.ctld.log).read_text(encoding="utf-8", errors="replace")


def stats(cluster):
    return {s["name"]: s["value"] for s in json.loads(cluster.run("gctl", "stats", "--json").stdout)["stats"]}


# --- who it is -----------------------------------------------------------------------------------

def test_first_line_says_it_all(cluster):
    line = wait_until(lambda: log_of(cluster), "the first line of the log").splitlines()[0]
    for part in ("cluster test", "epoch 1", f"state in {cluster.dir}/state", "0 jobs", f"port {cluster.port}"):
        assert part in line


@pytest.mark.skipif(not ROOT, reason="only root can become somebody else")
def test_holds_no_privilege(cluster):
    status = pathlib.Path(f"/proc/{cluster.ctld.pid}/status").read_text(encoding="ascii")
    field = dict(line.split(":\t", 1) for line in status.splitlines() if ":\t" in line)
    assert field["Uid"].split() == [str(cluster.ctld_user.pw_uid)] * 4
    assert field["Gid"].split() == [str(cluster.ctld_user.pw_gid)] * 4
    assert "0" not in field["Groups"].split()
    for caps in ("CapEff", "CapPrm", "CapInh", "CapAmb"):
        assert int(field[caps], 16) == 0


def test_makes_no_core_dumps(cluster):
    limits = pathlib.Path(f"/proc/{cluster.ctld.pid}/limits").read_text(encoding="ascii")
    assert "Max core file size        0                    0" in limits


@pytest.mark.skipif(not ROOT, reason="needs a second user")
def test_another_user_is_refused(cluster):
    r = subprocess.run([BIN["gctld"], "-f", cluster.conf], user="nobody", capture_output=True, text=True, check=False)
    assert r.returncode == 1
    assert f"controller.user is '{cluster.ctld_user.pw_name}'" in r.stderr


def test_mistakes_are_told_together(cluster, tmp_path):
    conf = tmp_path / "bad.conf"
    conf.write_text(cluster.conf_text().replace("cpus =", "cpsu =").replace("max_time", "max_tme"))
    r = subprocess.run([BIN["gctld"], "--test-config", conf], capture_output=True, text=True, check=False)
    assert r.returncode == 1
    assert "did you mean 'cpus'" in r.stderr and "did you mean 'max_time'" in r.stderr
    assert "untouched" in r.stderr
    conf.write_text(cluster.conf_text())
    assert subprocess.run([BIN["gctld"], "--test-config", conf], capture_output=True, check=False).returncode == 0
    shown = subprocess.run([BIN["gctld"], "--show-config", conf], capture_output=True, text=True, check=True).stdout
    conf.write_text(shown)
    again = subprocess.run([BIN["gctld"], "--show-config", conf], capture_output=True, text=True, check=True).stdout
    assert shown == again


@pytest.mark.parametrize("argv", [["extra"], ["--no-such-option"], ["--config"]])
def test_wrong_options(argv):
    assert subprocess.run([BIN["gctld"], *argv], capture_output=True, check=False).returncode == 2


def test_detaches_and_tells_when_it_is_ready():
    with Cluster(nodes=["n1"], start=False) as c, socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as notify:
        notify.bind(str(c.dir / "notify"))
        os.chmod(c.dir / "notify", 0o777)
        notify.settimeout(30)
        pid_file = c.dir / "gctld.pid"
        c.write_conf(c.conf_text().replace('pid_file = ""', f'pid_file = "{pid_file}"; log = "{c.dir}/state/log"'))
        c.start_munged()
        argv = [BIN["gctld"], "--daemon", "-f", c.conf]
        env = {**c.env, "NOTIFY_SOCKET": str(c.dir / "notify")}
        r = subprocess.run(argv, env=env, capture_output=True, text=True, check=False)
        assert r.returncode == 0, r.stderr
        pid = int(pid_file.read_text())
        try:
            assert c.run("gctl", "ping").returncode == 0  # at once: it was ready when the command returned
            assert b"READY=1" in notify.recv(1000)
            r = subprocess.run(argv, env=env, capture_output=True, text=True, check=False)
            assert r.returncode == 1 and f"another controller runs, pid {pid}" in r.stderr
            assert int(pid_file.read_text()) == pid
            c.write_conf(c.conf_text())  # without the pid file it is the state directory that is taken
            r = subprocess.run([BIN["gctld"], "-f", c.conf], env=env, capture_output=True, text=True, check=False)
            assert r.returncode == 1 and str(pid) in r.stderr
        finally:
            os.kill(pid, signal.SIGTERM)
            wait_until(lambda: not pathlib.Path(f"/proc/{pid}").exists(), "the daemon to end")
        assert b"STOPPING=1" in notify.recv(1000)
        assert not pid_file.exists() or not pid_file.read_text()
        assert "ended" in (c.dir / "state/log").read_text()


# --- while it runs -------------------------------------------------------------------------------

def test_reconfigure_is_all_or_nothing(cluster):
    good = cluster.conf_text()
    job = cluster.submit("sleep 600", "--gpus=1", "--time=10:00:00")
    cluster.wait_state(job, "RUNNING")
    try:
        cluster.write_conf(good.replace("1-00:00:00", "2:00:00").replace("cpus = 16", "cpsu = 16"))
        r = cluster.run("gctl", "reconfigure", check=False)
        assert r.returncode == 1 and "did you mean 'cpus'" in r.stderr
        part = json.loads(cluster.run("ginfo", "--json").stdout)["partitions"][0]
        assert part["max_time_s"] == 86400

        cluster.write_conf(good.replace("1-00:00:00", "2:00:00").replace('cluster = "test"', 'cluster = "toast"'))
        r = cluster.run("gctl", "reconfigure", check=False, env={"GPUSCHED_CLUSTER": "test"})
        assert r.returncode == 1 and "cluster" in r.stderr

        cluster.write_conf(good.replace("1-00:00:00", "2:00:00"))
        r = cluster.run("gctl", "reconfigure")
        assert "partitions.batch.max_time 1-00:00:00 -> 2:00:00" in r.stdout
        part = json.loads(cluster.run("ginfo", "--json").stdout)["partitions"][0]
        assert part["max_time_s"] == 7200
        assert cluster.state(job) == "RUNNING"
        r = cluster.run("gsubmit", "--time=3:00:00", "--wrap", "true", check=False)
        assert r.returncode == 1
    finally:
        cluster.write_conf(good)
        os.kill(cluster.ctld.pid, signal.SIGHUP)
        wait_until(lambda: json.loads(cluster.run("ginfo", "--json").stdout)["partitions"][0]["max_time_s"] == 86400,
                   "SIGHUP to bring the old limit back")
        cluster.run("gcancel", job)
        cluster.wait_state(job, "CANCELLED")


def test_reconfigure_of_accounts(cluster):
    good = cluster.conf_text()
    accounts = """
accounts = ( { name = "research"; quota = { guaranteed = "any:%d"; }; },
  { name = "vision"; parent = "research"; members = [ "*" ]; quota = { guaranteed = "any:2"; }; } );
qos = ( { name = "normal"; default = true; } );
"""
    try:
        cluster.write_conf(good + accounts % 1)
        r = cluster.run("gctl", "reconfigure", check=False)
        assert r.returncode == 1
        assert "accounts[1].quota: any guaranteed to vision = 2, research has 1" in r.stderr

        cluster.write_conf(good + accounts % 2)
        r = cluster.run("gctl", "reconfigure")
        assert "accounts.vision added" in r.stdout and "qos.normal added" in r.stdout
        cluster.write_conf(good + (accounts % 2).replace('{ guaranteed = "any:2"', '{ limit = "any:1"; guaranteed = "any:1"', 2))
        r = cluster.run("gctl", "reconfigure")
        assert "accounts.vision.quota.guaranteed any:2 -> any:1" in r.stdout
        assert "accounts.vision.quota.limit none -> any:1" in r.stdout
    finally:
        cluster.write_conf(good)
        r = cluster.run("gctl", "reconfigure")
    assert "accounts.research removed" in r.stdout


def test_a_node_comes_and_goes_by_reconfigure(cluster):
    good = cluster.conf_text()
    try:
        cluster.nodes.append("n3")
        cluster.write_conf()
        cluster.run("gctl", "reconfigure")
        cluster.start_agent("n3")
        cluster.wait_nodes()
        job = cluster.submit("true", "--gpus=1")
        cluster.wait_state(job, "COMPLETED")
    finally:
        cluster.nodes.remove("n3")
        cluster.write_conf(good)
        cluster.run("gctl", "reconfigure")
    assert sorted(cluster.node_states()) == ["n1", "n2"]
    cluster.agents.pop("n3").stop()
    cluster.wait_nodes()


def test_what_leaves_although_it_is_in_use(cluster):
    """Said with numbers, first as a question, which changes nothing; the jobs stay visible, and end when the node is there again."""
    good, extra = cluster.conf_text(), '{ name = "extra"; nodes = "ALL"; }'

    def with_extra():
        return re.sub(r"(partitions = \()", rf"\1 {extra},", cluster.conf_text())

    try:
        cluster.nodes.append("n3")
        cluster.write_conf(with_extra())
        cluster.run("gctl", "reconfigure")
        cluster.start_agent("n3")
        cluster.wait_nodes()
        job = cluster.submit("while ! [ -e left ]; do sleep 0.05; done", "--gpus=1", "--nodelist=n3", "--partition=extra")
        cluster.wait_state(job, "RUNNING")
        waits = cluster.submit("true", "--partition=extra", "--hold", "--array=1-7")

        cluster.nodes.remove("n3")
        cluster.write_conf(good)
        said = ("nodes.n3 is dropped with 1 run on 1 GPU", "partitions.extra is dropped while 7 of its jobs wait and 1 run")
        before = cluster.run("gctl", "events", "--kind=controller.reconfigure").stdout
        r = cluster.run("gctl", "reconfigure", "--dry-run")
        assert all(f"warning: {s}" in r.stderr for s in said), r.stderr
        assert "nodes.n3 removed" in r.stdout and r.stdout.endswith(" changes, not made\n"), r.stdout
        assert sorted(cluster.node_states()) == ["n1", "n2", "n3"]
        assert cluster.run("gctl", "events", "--kind=controller.reconfigure").stdout == before
        r = cluster.run("gctl", "reconfigure")
        assert all(f"warning: {s}" in r.stderr for s in said) and "not made" not in r.stdout
        assert sorted(cluster.node_states()) == ["n1", "n2"]
        assert cluster.state(job) == "RUNNING" and f"{waits}_" in cluster.run("gqueue").stdout
        (cluster.dir / "jobs/left").touch()

        cluster.nodes.append("n3")
        cluster.write_conf(with_extra())
        assert cluster.run("gctl", "reconfigure").stderr == ""
        cluster.wait_state(job, "COMPLETED")
        cluster.run("gcancel", waits)
    finally:
        (cluster.dir / "jobs/left").touch()
        cluster.nodes[:] = ["n1", "n2"]
        cluster.write_conf(good)
        cluster.run("gctl", "reconfigure")
    cluster.agents.pop("n3").stop()


def test_stats_count(cluster):
    before = stats(cluster)
    for _ in range(3):
        cluster.wait_state(cluster.submit("true"), "COMPLETED")
    after = stats(cluster)
    assert after["core.started"] - before["core.started"] == 3
    assert after["core.ended"] - before["core.ended"] == 3
    assert after["store.commits"] > before["store.commits"]
    assert after["sessions.handshakes"] > before["sessions.handshakes"]
    assert 0 < after["loop.stall"] <= after["loop.stall_ever"]
    assert after["gate.held"] <= 1  # the answer that says so
    assert after["core.nodes_up"] == 2


def test_what_nobody_waits_for_is_committed_too(cluster):
    def written():
        return b"".join((cluster.dir / "state" / f"state.db{end}").read_bytes() for end in ("", "-wal")).count(b"RUNNING")

    before = written()
    job = cluster.submit("until [ -e go ]; do sleep 0.05; done")
    wait_until(lambda: written() > before, "the run to be RUNNING on disk, though nobody asked")
    (cluster.dir / "jobs/go").touch()
    cluster.wait_state(job, "COMPLETED")


def test_listing_in_many_chunks(cluster):
    ids = [cluster.submit("true", "--hold", "--job-name", f"many{i % 2}") for i in range(5)]
    listed = cluster.jobs("--name", "many1")
    assert sorted(listed) == ids[1::2]
    assert cluster.run("gqueue", "--jobs", "999999", check=False).returncode == 3
    cluster.run("gcancel", "--name", "many0,many1")
    for i in ids:
        cluster.wait_state(i, "CANCELLED")


# --- what it asks others -------------------------------------------------------------------------

def test_fence_program_frees_a_lost_node(tmp_path):
    called = tmp_path / "called"
    fence = tmp_path / "fence"
    fence.write_text(f'#!/bin/sh\necho "$1 $GPUSCHED_NODE $GPUSCHED_CLUSTER" >> {called}\nenv | cut -d= -f1 | sort '
                     f'| tr "\\n" " " > {tmp_path}/env\n[ -e {tmp_path}/works ]\n')
    fence.chmod(0o755)
    for p in (tmp_path, *tmp_path.parents):  # the controller's user must get there
        if p.stat().st_uid == os.geteuid() and p != pathlib.Path("/"):
            p.chmod(p.stat().st_mode | stat.S_IXOTH | stat.S_IROTH | (stat.S_IWOTH if p == tmp_path else 0))
    settings = f'fence = "{fence}"; fence_timeout = "20s"; heartbeat = "200ms"; node_timeout = "2s";'
    with Cluster(nodes=["n1"], controller=settings) as c:
        job = c.submit("sleep 600", "--gpus=4")
        c.wait_state(job, "RUNNING")
        c.agents["n1"].kill()
        wait_until(lambda: called.exists() and called.read_text(), "the fence program to be called")
        assert called.read_text().splitlines()[0] == "n1 n1 test"
        env = tmp_path / "env"
        names = set(wait_until(lambda: env.exists() and env.read_text(), "its environment").split())
        assert names - {"PWD", "SHLVL", "_", "OLDPWD"} == {"PATH", "LC_ALL", "GPUSCHED_NODE", "GPUSCHED_CLUSTER"}
        wait_until(lambda: "fence program failed" in log_of(c), "its failure in the log")
        assert c.state(job) == "RUNNING"  # it was never sure
        for pid in c.shepherds():
            os.kill(pid, signal.SIGKILL)
        (tmp_path / "works").touch()
        c.run("gctl", "node", "down", "n1", "--confirmed-off", "--reason=test")
        c.wait_state(job, "NODE_FAIL", "PENDING", "CONFIGURING")


def test_a_fence_program_s_word_and_one_that_hangs(tmp_path):
    """0 is its word that the node is off: what ran there runs elsewhere. One that hangs is killed with its group, which is no word."""
    fence, pids = tmp_path / "fence", tmp_path / "pids"
    fence.write_text(f'#!/bin/sh\n[ "$1" = n1 ] && exit 0\nsleep 1000 &\necho $$ $! > {pids}\nwait\n')
    fence.chmod(0o755)
    for p in (tmp_path, *tmp_path.parents):  # the controller's user must get there
        if p.stat().st_uid == os.geteuid() and p != pathlib.Path("/"):
            p.chmod(p.stat().st_mode | stat.S_IXOTH | stat.S_IROTH | (stat.S_IWOTH if p == tmp_path else 0))
    settings = f'fence = "{fence}"; fence_timeout = "1s"; heartbeat = "200ms"; node_timeout = "1s";'
    with Cluster(nodes=["n1", "n2"], controller=settings) as c:
        goes, stays = (c.submit("sleep 600", "--gpus=1", f"--nodelist={n}") for n in c.nodes)
        for job in (goes, stays):
            c.wait_state(job, "RUNNING")
        for node in c.nodes:
            c.agents[node].kill()
        wait_until(lambda: c.job(goes)["state"] == "PENDING", "what ran on n1 to wait again")
        wait_until(lambda: "did not end in time and was killed" in log_of(c), "the other to be killed")
        wait_until(lambda: pids.exists() and not any(alive(int(pid)) for pid in pids.read_text().split()), "all of it to be gone")
        assert c.state(stays) == "RUNNING"
        for pid in c.shepherds():
            os.kill(pid, signal.SIGKILL)


def test_jobs_on_a_lost_node_say_so():
    """gqueue, gctl show job and --why: NodeUnknown while the node does not respond."""
    with Cluster(nodes=["n1"], controller='heartbeat = "200ms"; node_timeout = "1s";') as c:
        job = c.submit("sleep 600", "--gpus=1")
        c.wait_state(job, "RUNNING")
        c.agents["n1"].kill()
        wait_until(lambda: "n1 (NodeUnknown)" in c.run("gqueue").stdout, "gqueue to say so")
        assert "NodeUnknown" in c.run("gctl", "show", "job", job).stdout
        assert "NodeUnknown: node n1 does not respond: the state of the job is not known" in " ".join(c.run("gqueue", "--why", job).stdout.split())
        for pid in c.shepherds():
            os.kill(pid, signal.SIGKILL)


def test_a_heartbeat_is_not_changed_under_agents(cluster):
    """They go by the one that they were told when they registered. A node_timeout that is right for a shorter one would take all of
    them for lost, and have them fenced, though they are well."""
    text = cluster.conf.read_text()
    quick = 'node_timeout = "2s"; heartbeat = "1s";'
    cluster.write_conf(text.replace(f'port = {cluster.port};', f'port = {cluster.port}; {quick}'))
    r = cluster.run("gctl", "reconfigure", check=False)
    cluster.write_conf(text)
    assert r.returncode and "cannot be changed while gctld runs: controller.heartbeat" in r.stderr, r.stdout + r.stderr
    assert cluster.run("gctl", "reconfigure").returncode == 0


def test_what_a_fence_program_says_is_a_line_in_the_log(tmp_path):
    """The first of its lines, with what became of it; however much it says."""
    fence = tmp_path / "fence"
    fence.write_text("#!/bin/sh\nprintf 'no route\\033[31m\\007 to the bmc\\nmore\\n' >&2\nyes | head -c 5000000 >&2\nexit 5\n")
    fence.chmod(0o755)
    for p in (tmp_path, *tmp_path.parents):  # the controller's user must get there
        if p.stat().st_uid == os.geteuid() and p != pathlib.Path("/"):
            p.chmod(p.stat().st_mode | stat.S_IXOTH | stat.S_IROTH)
    settings = f'fence = "{fence}"; heartbeat = "200ms"; node_timeout = "1s";'
    with Cluster(nodes=["n1"], controller=settings) as c:
        c.wait_state(c.submit("sleep 600"), "RUNNING")
        c.agents["n1"].kill()
        wait_until(lambda: "fence program failed (exit status 5): no route" in log_of(c), "what it said in the log")
        assert "\ny\n" not in log_of(c) and "\033" not in log_of(c) and len(log_of(c)) < 100000
        for pid in c.shepherds():
            os.kill(pid, signal.SIGKILL)


def ptrace(request, pid, data=0):
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.ptrace(ctypes.c_long(request), ctypes.c_long(pid), ctypes.c_void_p(0), ctypes.c_void_p(data)) < 0:
        raise OSError(ctypes.get_errno(), "ptrace")


def test_a_program_that_does_not_die_stops_nobody(tmp_path):
    """One that was killed and cannot be waited for yet, as one that hangs in the kernel; here since a tracer has it."""
    fence, pids = tmp_path / "fence", tmp_path / "pids"
    fence.write_text(f'#!/bin/sh\necho $$ >> {pids}\nexec sleep 1000\n')
    fence.chmod(0o755)
    for p in (tmp_path, *tmp_path.parents):  # the controller's user must get there
        if p.stat().st_uid == os.geteuid() and p != pathlib.Path("/"):
            p.chmod(p.stat().st_mode | stat.S_IXOTH | stat.S_IROTH | (stat.S_IWOTH if p == tmp_path else 0))
    settings = f'fence = "{fence}"; fence_timeout = "2s"; heartbeat = "200ms"; node_timeout = "1s";'
    seize, wall = 0x4206, 0x40000000
    with Cluster(nodes=["n1"], controller=settings) as c:
        job = c.submit("sleep 600", "--gpus=1")
        c.wait_state(job, "RUNNING")
        c.agents["n1"].kill()
        pid = int(wait_until(lambda: pids.exists() and pids.read_text().split(), "the fence program")[0])
        ptrace(seize, pid)
        wait_until(lambda: "did not end in time and was killed" in log_of(c), "it to be killed")
        assert c.run("gqueue", "--noheader", "--format=JOBID").stdout.split() == [str(job)]
        assert alive(pid) or pathlib.Path(f"/proc/{pid}").exists()
        os.waitpid(pid, wall)  # the tracer takes its end; then the controller can
        wait_until(lambda: not pathlib.Path(f"/proc/{pid}").exists(), "the controller to take its end")
        for p in c.shepherds():
            os.kill(p, signal.SIGKILL)


def test_restored_backup_gives_no_orders_until_it_is_told_to():
    with Cluster(nodes=["n1"]) as c:
        c.ctld.stop()
        backup = c.dir / "backup"
        shutil.copytree(c.dir / "state", backup)
        c.start_ctld()
        c.wait_nodes()
        lost = c.submit("sleep 600", "--gpus=1")
        c.wait_state(lost, "RUNNING")
        c.ctld.kill()
        for f in (c.dir / "state").iterdir():
            f.unlink()
        for f in backup.iterdir():
            shutil.copy(f, c.dir / "state" / f.name)
            if ROOT:
                os.chown(c.dir / "state" / f.name, c.ctld_user.pw_uid, c.ctld_user.pw_gid)
        c.start_ctld()
        wait_until(lambda: "takeover" in log_of(c), "the controller to see that its state is old")
        r = c.run("gsubmit", "--wrap", "true", check=False)
        assert r.returncode == 1 and "takeover" in r.stderr
        c.ctld.stop()
        c.start_ctld("--takeover")
        new = c.submit("true", "--gpus=1")
        assert new > lost
        c.wait_state(new, "COMPLETED")
        # The run that nobody knows any more goes on, with its GPU. The other one's shepherd ends a moment after its job.
        wait_until(lambda: len(c.shepherds()) <= 1, lambda: f"the shepherd of job {new} to end: {c.shepherds()}")
        assert len(c.shepherds()) == 1
        node = json.loads(c.run("ginfo", "--nodes", "--json").stdout)["nodes"][0]
        assert node["gpus"][0]["free"] == 3
        assert "belongs to no known job" in c.run("gctl", "show", "node", "n1").stdout
        # Until an administrator says that it is not wanted.
        r = c.run("gctl", "node", "clear", "n1", check=False)
        assert r.returncode == 2 and "reason" in r.stderr
        c.run("gctl", "node", "clear", "n1", "of before the backup")
        wait_until(lambda: json.loads(c.run("ginfo", "--nodes", "--json").stdout)["nodes"][0]["gpus"][0]["free"] == 4, "its end")
        wait_until(lambda: not c.shepherds(), "shepherds to end")


# --- the disk ------------------------------------------------------------------------------------

@pytest.mark.skipif(not ROOT, reason="mounts a small file system")
def test_full_disk_loses_nothing():
    """Refused in time, with a mark and without one; the end of a run finds room, and nothing that was accepted is lost."""
    with Cluster(nodes=["n1"], controller='min_free = "1T";', start=False) as c:
        state = c.dir / "state"
        own = f"uid={c.ctld_user.pw_uid},gid={c.ctld_user.pw_gid},mode=700"
        subprocess.run(["mount", "-t", "tmpfs", "-o", f"size=24m,{own}", "tmpfs", state], check=True)
        try:
            c.start()
            r = c.run("gsubmit", "--wrap", "true", check=False)
            assert r.returncode == 1 and "MiB" in r.stderr and "free" in r.stderr
            c.write_conf(c.conf_text().replace('min_free = "1T";', 'min_free = "0";'))
            c.run("gctl", "reconfigure")
            running = c.submit("while [ ! -e go ]; do sleep 0.05; done; exit 3", "--output=/dev/null")
            c.wait_state(running, "RUNNING")
            accepted = [running]
            for i in range(60):  # a megabyte each
                r = c.run("gsubmit", "--parsable", "--hold", check=False, env={"GPUSCHED_RETRY": "0"},
                          stdin=f"#!/bin/sh\n# {os.urandom(500000).hex()} {i}\n")
                if r.returncode:
                    break
                accepted.append(int(r.stdout))
            else:
                pytest.fail("60 MB went onto a disk of 24")
            assert r.returncode == 1 and "disk" in r.stderr, r
            (c.dir / "jobs/go").touch()
            c.wait_state(running, "FAILED")
            c.ctld.kill()
            subprocess.run(["mount", "-o", f"remount,size=200m,{own}", state], check=True)
            c.start_ctld()
            assert c.wait_state(running, "FAILED")["exit_code"] == 3
            known = c.jobs()
            assert [i for i in accepted if i not in known] == []
        finally:
            c.ctld.kill()
            subprocess.run(["umount", "-l", state], check=True)


def test_shutdown_tells_and_ends():
    with Cluster(nodes=["n1"]) as c:
        job = c.submit("true")
        c.wait_state(job, "COMPLETED")
        assert c.run("gctl", "shutdown").returncode == 0
        assert c.ctld.wait() == 0
        c.start_ctld()
        wait_until(lambda: "epoch 2" in log_of(c), "the first line of the log")
        assert c.state(job) == "COMPLETED"


def test_a_log_that_is_not_read_stalls_nothing():
    with Cluster(nodes=["n1"], start=False) as c:
        fifo = c.dir / "log/fifo"
        os.mkfifo(fifo)
        fifo.chmod(0o666)
        end = os.open(fifo, os.O_RDWR | os.O_NONBLOCK)
        try:
            with contextlib.suppress(BlockingIOError):
                while True:  # full: the first line that is written waits
                    os.write(end, b"." * 4096)
            c.write_conf(c.conf_text().replace('pid_file = ""', f'pid_file = ""; log = "{fifo}"'))
            c.start()
            job = c.submit("exit 0")
            assert c.wait_state(job, "COMPLETED")["exit_code"] == 0
            assert stats(c)["log.lost"] == 0  # all waits in the queue
            text = b""
            while b"registered" not in text:
                assert select.select([end], [], [], 30)[0]
                text += os.read(end, 65536)
            assert c.ctld.stop() == 0
            text += os.read(end, 65536)
            assert text.endswith(b"ended\n")
        finally:
            os.close(end)
