"""Following a job's output from any host: what comes, who may ask, what a hostile owner can do."""

import os
import subprocess

import pytest
from cluster import BIN, ROOT, SANITIZED, Cluster, live_for, wait_until



@pytest.fixture(scope="module")
def cluster():
    with Cluster(nodes=("n1", "n2")) as c:
        yield c


class Follower:
    """A glog -f that runs, its output in a file."""

    def __init__(self, cluster, *args, user=None):
        self.path = cluster.dir / f"log/follow-{os.urandom(4).hex()}"
        kw = {"user": cluster.ctld_user.pw_uid, "group": cluster.ctld_user.pw_gid, "extra_groups": []} if user else {}
        with open(self.path, "wb") as out:
            self.p = subprocess.Popen([str(BIN["glog"]), *map(str, args)], stdin=subprocess.DEVNULL, stdout=out,
                                      stderr=subprocess.PIPE, env=cluster.env, **kw)

    def text(self):
        return self.path.read_text()

    def end(self):
        err = self.p.communicate(timeout=60)[1].decode()
        return self.p.returncode, self.text(), err


def test_follows_to_the_end_of_the_job(cluster):
    job = cluster.submit("echo first; while [ ! -e follow-go ]; do sleep 0.05; done; echo last; exit 3")
    cluster.wait_state(job, "RUNNING")
    f = Follower(cluster, "-f", job)
    wait_until(lambda: f.text() == "first\n", "what is there already")
    (cluster.dir / "jobs/follow-go").touch()
    assert f.end() == (0, "first\nlast\n", "")
    assert cluster.wait_state(job, "FAILED")["exit_code"] == 3


def test_all_of_it_or_its_end_of_jobs_that_have_ended(cluster):
    job = cluster.submit("seq 1 20000; echo trouble >&2", "--error=%j.err")
    cluster.wait_state(job, "COMPLETED")
    everything = "".join(f"{i}\n" for i in range(1, 20001))
    assert cluster.run("glog", job).stdout == everything
    assert cluster.run("glog", "-f", job).stdout == everything
    assert cluster.run("glog", "-n", 3, job).stdout == "19998\n19999\n20000\n"
    assert cluster.run("glog", "-n", 0, job).stdout == ""
    assert cluster.run("glog", "-n", 99999, job).stdout == everything
    assert cluster.run("glog", "--stderr", job).stdout == "trouble\n"
    # Also when the agent has forgotten the run and was started anew; not when the file is gone.
    cluster.agents["n1"].kill()
    cluster.agents["n2"].kill()
    for n in cluster.nodes:
        cluster.start_agent(n)
    cluster.wait_nodes()
    wait_until(lambda: cluster.run("glog", job, check=False).stdout == everything, "the agent to serve it again")
    os.unlink(cluster.dir / f"jobs/gpusched-{job}.out")
    r = cluster.run("glog", job, check=False)
    assert r.returncode == 1 and "No such file" in r.stderr and r.stdout == ""


def test_a_task_of_an_array(cluster):
    job = cluster.submit("echo task $GPUSCHED_ARRAY_TASK_ID", "--array=3-9:3", "--output=task-%A_%a.out")
    cluster.wait_state(job, "COMPLETED")
    assert cluster.run("glog", f"{job}_6").stdout == "task 6\n"
    assert cluster.run("glog", "-f", f"{job}_9").stdout == "task 9\n"
    r = cluster.run("glog", job, check=False)
    assert r.returncode == 2 and "is an array" in r.stderr and f"glog {job}_3" in r.stderr
    assert cluster.run("glog", f"{job}_4", check=False).returncode == 3
    for several in (f"{job}_[3,6]", f"{job}_3,{job}_6"):
        r = cluster.run("glog", several, check=False)
        assert r.returncode == 2 and "expected a single job or task" in r.stderr


def test_waits_for_the_start(cluster):
    script = "echo up; while [ ! -e wait-go ]; do sleep 0.05; done; echo down"
    plain = cluster.submit(script, "--hold")
    array = cluster.submit(script, "--hold", "--array=1-2", "--output=wait-%a.out")
    which = [str(plain), f"{array}_2"]
    f = [Follower(cluster, "-f", w) for w in which]
    wait_until(lambda: stat(cluster, "watch.waiting") == 2, "both to wait")
    for w in which:
        cluster.run("gctl", "release", w)
    for one in f:
        wait_until(lambda one=one: one.text() == "up\n", "the first line")
    (cluster.dir / "jobs/wait-go").touch()
    for one, w in zip(f, which):
        assert one.end() == (0, "up\ndown\n", f"glog: job {w} is PENDING: waiting for its start\n")
    # What never starts is said to be so.
    gone = cluster.submit("true", "--hold")
    f = Follower(cluster, "-f", gone)
    wait_until(lambda: stat(cluster, "watch.waiting") == 1, "it to wait")
    cluster.run("gcancel", gone, f"{array}_1")
    code, out, err = f.end()
    assert (code, out) == (1, "") and "is CANCELLED: it has not started" in err


def test_follows_a_job_that_is_run_again(cluster):
    job = cluster.submit("echo attempt $GPUSCHED_RESTART_COUNT; "
                         "while [ ! -e again-$GPUSCHED_RESTART_COUNT ]; do sleep 0.05; done", "--requeue",
                         "--output=again-%j.out")
    cluster.wait_state(job, "RUNNING")
    f = Follower(cluster, "-f", job)
    wait_until(lambda: f.text() == "attempt 0\n", "the first attempt")
    cluster.run("gctl", "requeue", job)
    wait_until(lambda: f.text() == "attempt 0\nattempt 1\n", "the second attempt")
    (cluster.dir / "jobs/again-1").touch()
    assert f.end()[:2] == (0, "attempt 0\nattempt 1\n")


def test_what_appends_to_its_file_is_not_shown_twice(cluster):
    job = cluster.submit("echo attempt $GPUSCHED_RESTART_COUNT; "
                         "while [ ! -e once-$GPUSCHED_RESTART_COUNT ]; do sleep 0.05; done", "--requeue",
                         "--output=once-%j.out", "--open-mode=append")
    cluster.wait_state(job, "RUNNING")
    f = Follower(cluster, "-f", job)
    for attempt in (1, 2):
        wait_until(lambda n=attempt: f.text().endswith(f"attempt {n - 1}\n"), f"attempt {attempt - 1}")
        cluster.run("gctl", "requeue", job)
    wait_until(lambda: f.text().endswith("attempt 2\n"), "attempt 2")
    (cluster.dir / "jobs/once-2").touch()
    code, out, err = f.end()
    assert (code, out) == (0, "attempt 0\nattempt 1\nattempt 2\n")
    # The file is one: glog may have read on in it before it heard of the second attempt.
    again = [line.rsplit(", on", 1)[0] for line in err.splitlines() if "run again" in line]
    assert again in ([f"glog: job {job} is run again: attempt {n}" for n in told] for told in ((2, 3), (3,)))


def test_a_file_that_is_cut_or_removed_or_huge(cluster):
    job = cluster.submit("""
        wait_for() { while [ ! -e cut-$1 ]; do sleep 0.05; done; }
        echo the first; wait_for 1; truncate -s 0 cut.out; echo two; wait_for 2; rm cut.out; echo three
        wait_for 3""", "--output=cut.out", "--open-mode=append")
    cluster.wait_state(job, "RUNNING")
    f = Follower(cluster, "-f", job)
    wait_until(lambda: f.text() == "the first\n", "the first line")
    (cluster.dir / "jobs/cut-1").touch()
    wait_until(lambda: f.text() == "the first\ntwo\n", "what came after it was cut")
    (cluster.dir / "jobs/cut-2").touch()
    wait_until(lambda: f.text() == "the first\ntwo\nthree\n", "what came after it was removed")
    (cluster.dir / "jobs/cut-3").touch()
    assert f.end() == (0, "the first\ntwo\nthree\n", "")
    # Places beyond 32 bits, in a file with a hole.
    job = cluster.submit("truncate -s 5G huge.out; echo; echo far; while [ ! -e huge-go ]; do sleep 0.05; done; "
                         "echo further", "--output=huge.out", "--open-mode=append")
    cluster.wait_state(job, "RUNNING")
    wait_until(lambda: (cluster.dir / "jobs/huge.out").stat().st_size > 5 << 30, "the file")
    f = Follower(cluster, "-f", "-n", 1, job)
    wait_until(lambda: f.text() == "far\n", "its last line")
    (cluster.dir / "jobs/huge-go").touch()
    assert f.end() == (0, "far\nfurther\n", "")
    assert cluster.run("glog", "-n", 2, job).stdout == "far\nfurther\n"
    (cluster.dir / "jobs/huge.out").unlink()


def test_a_gang_by_rank_and_node(cluster):
    job = cluster.submit("echo rank $GPUSCHED_NODE_RANK", "--nodes=2", "--output=gang-%j-%t.out")
    cluster.wait_state(job, "COMPLETED")
    assert cluster.run("glog", job).stdout == "rank 0\n"
    assert cluster.run("glog", "--rank=1", job).stdout == "rank 1\n"
    nodes = {cluster.run("glog", "--node", n, job).stdout for n in cluster.nodes}
    assert nodes == {"rank 0\n", "rank 1\n"}
    assert cluster.run("glog", "--rank=2", job, check=False).returncode == 2


def test_what_is_not_there(cluster):
    assert cluster.run("glog", 999999, check=False).returncode == 3
    assert cluster.run("glog", check=False).returncode == 2
    job = cluster.submit("true", "--hold")
    r = cluster.run("glog", job, check=False)
    assert r.returncode == 1 and "not started" in r.stderr
    cluster.run("gcancel", job)


@pytest.mark.skipif(not ROOT, reason="needs several users")
def test_only_the_owner_and_root(cluster):
    user = "nobody"
    job = cluster.submit("umask 077; echo secret", user=user)
    cluster.wait_state(job, "COMPLETED")
    assert cluster.run("glog", job, user=user).stdout == "secret\n"
    assert cluster.run("glog", job).stdout == "secret\n"  # root, who reads as the owner
    r = cluster.run("glog", job, user="mail", check=False)
    assert r.returncode == 5 and r.stdout == ""
    # The controller's own user may open streams at the controller; the node refuses it all the same.
    r = cluster.run("glog", job, user=cluster.ctld_user.pw_name, check=False)
    assert r.returncode == 5 and r.stdout == "" and "may not read the output of run" in r.stderr


HOSTILE = {
    # by the controller, or by gtap, that finds no confirmation in it: whoever is first
    "flood": ("closed protocol: more bytes than were asked for", "closed ok:"),
    "long-chunk": "closed protocol: more bytes than were asked for",
    "false-credit": "closed protocol: credit for what never came",
    "junk": "closed ok:",
    "twice": "session: ",
    "many": "closed busy: at most 64 streams",
    "replay": "closed munge.replay: ",
    "other-run": "closed auth",
    "other-node": "closed auth",
    "session-hello": "closed auth",
    "unrestricted": "closed auth",
    "cut-hello": "closed protocol: ",
    "spoiled-hello": "closed ok:",
}


@pytest.mark.parametrize("mode", HOSTILE)
def test_clients_that_break_the_rules(cluster, mode):
    """Each is cut off, and nothing of anybody else's is: a follower goes on, no gtap is left."""
    job = cluster.submit("echo up; while [ ! -e hostile-go ]; do sleep 0.05; done; echo down")
    cluster.wait_state(job, "RUNNING")
    good = Follower(cluster, "-f", job)
    wait_until(lambda: good.text() == "up\n", "the good one's stream")
    r = cluster.run(BIN["stream_hostile"], mode, job, 1, cluster.job(job)["node"])
    assert r.stdout.startswith(HOSTILE[mode]), r.stdout
    wait_until(lambda: stat(cluster, "streams.open") == 1, "only the good one to be left")
    if ROOT:  # who is not dumpable shows its program to root alone
        wait_until(lambda: len(cluster.processes("gtap")) == 1, "only the good one's gtap to be left")
    (cluster.dir / "jobs/hostile-go").touch()
    assert good.end() == (0, "up\ndown\n", "")
    (cluster.dir / "jobs/hostile-go").unlink()


@pytest.mark.skipif(not ROOT, reason="needs several users")
def test_reads_with_the_rights_of_the_owner_only(cluster):
    """What the owner puts in the place of his output is his to choose; root opens none of it."""
    secret = cluster.dir / "jobs/roots-own"
    secret.write_text("root only\n")
    secret.chmod(0o600)
    job = cluster.submit("echo mine", "--output=hostile-%j.out", user="nobody")
    cluster.wait_state(job, "COMPLETED")
    out = cluster.dir / f"jobs/hostile-{job}.out"
    out.unlink()
    out.symlink_to(secret)
    r = cluster.run("glog", job, check=False)  # asked by root
    assert r.returncode == 1 and r.stdout == "" and "Permission denied" in r.stderr
    out.unlink()
    os.mkfifo(out)
    r = cluster.run("glog", job, check=False)
    assert r.returncode == 1 and "no regular file" in r.stderr
    out.unlink()
    out.symlink_to("/dev/zero")
    r = cluster.run("glog", job, check=False)
    assert r.returncode == 1 and "no regular file" in r.stderr


def test_a_slow_reader_holds_up_nobody_and_nothing_grows(cluster):
    job = cluster.submit("head -c 40000000 /dev/zero", "--output=big-%j.out")
    cluster.wait_state(job, "COMPLETED")
    before = {p.pid: rss(p.pid) for p in [cluster.ctld, *children_of(cluster)]}
    slow = subprocess.Popen([str(BIN["glog"]), str(job)], stdout=subprocess.PIPE, env=cluster.env)
    slow.stdout.read(1)
    wait_until(lambda: stat(cluster, "streams.open") == 1, "the stream to be open")
    passed = stat(cluster, "streams.bytes")
    quick = cluster.run("glog", job).stdout
    assert len(quick) == 40000000
    assert stat(cluster, "streams.bytes") - passed >= 40000000
    after = {pid: rss(pid) for pid in before}
    # What waits is not looked at again and again either.
    used = {pid: cpu_ticks(pid) for pid in before}
    live_for(1)
    assert all(cpu_ticks(pid) - used[pid] < 50 for pid in before)
    # (Sanitizers keep what was freed for a while.)
    assert SANITIZED or all(after[p] - before[p] < 16 << 20 for p in before), (before, after)
    assert len(slow.stdout.read()) == 39999999
    assert slow.wait() == 0


@pytest.mark.skipif(not ROOT, reason="who is not dumpable shows its program to root alone")
def test_goes_on_at_the_next_byte_after_a_break(cluster):
    """Whatever part dies: nothing of the output is missing, and nothing is there twice."""
    job = cluster.submit("n=0; while [ ! -e break-go ]; do n=$((n+1)); echo line $n; sleep 0.01; done; echo end $n")
    cluster.wait_state(job, "RUNNING")
    f = Follower(cluster, "-f", job)

    def more(what):
        seen = len(f.text())
        wait_until(lambda: len(f.text()) > seen or f.p.poll() is not None, what)
        assert f.p.poll() is None, f.end()

    def end_taps():
        pids = wait_until(lambda: cluster.processes("gtap"), "its gtap")
        for pid in pids:
            os.kill(pid, 9)

    def restart_agent():
        node = cluster.job(job)["node"]
        cluster.agents[node].kill()
        cluster.start_agent(node)
        cluster.wait_nodes()

    def restart_ctld():
        cluster.ctld.kill()
        cluster.start_ctld()
        cluster.wait_nodes()

    more("the first lines")
    for what in (end_taps, restart_agent, restart_ctld):
        what()
        more(f"lines after {what.__name__}")
    assert cluster.state(job) == "RUNNING"  # all of that is nothing to the job
    (cluster.dir / "jobs/break-go").touch()
    code, out, err = f.end()
    assert code == 0, err
    lines = out.splitlines()
    assert lines == [f"line {n}" for n in range(1, len(lines))] + [f"end {len(lines) - 1}"]
    wait_until(lambda: not cluster.processes("gtap"), "no gtap to be left")
    # Its client's death is noticed.
    job = cluster.submit("echo up; exec sleep 600")
    cluster.wait_state(job, "RUNNING")
    f = Follower(cluster, "-f", job)
    wait_until(lambda: f.text() == "up\n", "the first line")
    f.p.kill()
    f.end()
    wait_until(lambda: not cluster.processes("gtap"), "gtap to end with its client")
    cluster.run("gcancel", job)


def rss(pid):
    with open(f"/proc/{pid}/status") as f:
        return next(int(line.split()[1]) << 10 for line in f if line.startswith("VmRSS"))


def cpu_ticks(pid):
    with open(f"/proc/{pid}/stat") as f:
        return sum(map(int, f.read().rsplit(")", 1)[1].split()[11:13]))


class Process:
    def __init__(self, pid):
        self.pid = pid


def children_of(cluster):
    """The processes of the agents: supervisor, both halves."""
    found, todo = [], [a.pid for a in cluster.agents.values()]
    while todo:
        pid = todo.pop()
        found.append(Process(pid))
        with open(f"/proc/{pid}/task/{pid}/children") as f:
            todo += [int(p) for p in f.read().split() if not is_shepherd(p)]
    return found


def is_shepherd(pid):
    try:
        return os.readlink(f"/proc/{pid}/exe").endswith(("gshepherd", "gtap"))
    except OSError:
        return True


def stat(cluster, name):
    for line in cluster.run("gctl", "stats").stdout.splitlines():
        words = line.split()
        if words and words[0] == name:
            return float(words[1].replace(",", ""))
    raise AssertionError(name)


def test_one_user_cannot_have_all_streams():
    with Cluster(nodes=("n1",), controller="streams_per_user = 2;") as c:
        script = "echo up; while [ ! -e go ]; do sleep 0.05; done"
        job = c.submit(script)
        c.wait_state(job, "RUNNING")
        followers = [Follower(c, "-f", job) for _ in range(2)]
        for f in followers:
            wait_until(lambda f=f: f.text() == "up\n", "a follower's stream")
        at_once = {"GPUSCHED_RETRY": "0"}
        r = c.run("glog", job, check=False, env=at_once)
        assert r.returncode == 4 and r.stdout == "", r
        assert "connections to runs (glog, grun): you have 2" in r.stderr
        assert "one user may have 2 (controller.streams_per_user)" in r.stderr
        if ROOT:
            other = c.submit("echo theirs", user="nobody")
            c.wait_state(other, "COMPLETED")
            assert c.run("glog", other, user="nobody", env=at_once).stdout == "theirs\n"
        # More by a reload, or when one has ended.
        c.write_conf(c.conf_text().replace("streams_per_user = 2", "streams_per_user = 3"))
        c.run("gctl", "reconfigure")
        assert c.run("glog", job, env=at_once).stdout == "up\n"
        c.write_conf(c.conf_text())
        c.run("gctl", "reconfigure")
        followers[0].p.kill()
        wait_until(lambda: stat(c, "streams.open") == 1, "the first one's stream to be closed")
        assert c.run("glog", job, env=at_once).stdout == "up\n"
        (c.dir / "jobs/go").touch()
        assert followers[1].end()[:2] == (0, "up\n")
