"""Accounting: each job exactly once wherever it is, sums that agree to the microsecond, and who may ask what."""

import csv
import io
import json
import os
import pwd
import re
import signal
import sqlite3
import subprocess
import time

import pytest
from cluster import BIN, BUILD, ROOT, Cluster, wait_until
from rivals import BLUE, GREEN, RED, Rivals

PARTITIONS = """(
  { name = "batch"; nodes = "ALL"; default = true; preempt_mode = "requeue"; grace = "1s"; min_run = "0s"; },
  { name = "urgent"; nodes = "ALL"; tier = 10; preempt_mode = "off"; grace = "1s"; }
)"""
POLICY = f"""
prices = {{ currency = "EUR"; cpu = 0.5; }};
accounts = (
  {{ name = "lab"; shares = 3; }},
  {{ name = "red"; parent = "lab"; shares = 1; members = [ "{RED}" ]; }},
  {{ name = "blue"; parent = "lab"; shares = 1; members = [ "{BLUE}" ]; }},
  {{ name = "rest"; shares = 1; members = [ "*" ]; }}
);
"""


@pytest.fixture(scope="module")
def cluster():
    with Cluster(nodes=("n1", "n2"), gpus="h100:8", cpus=64, partitions=PARTITIONS, policy=POLICY,
                 controller='keep_ended = "1s";') as c:
        yield c


@pytest.fixture(name="jobs")
def fixture_jobs(cluster):
    rivals = Rivals(cluster)
    yield rivals
    rivals.clear()


def acct(c, *options):
    return {j["id"]: j for j in acct_list(c, *options)}


def acct_list(c, *options):
    return json.loads(c.run("gacct", "--json", *options).stdout)["jobs"]


def shares(c):
    return json.loads(c.run("gshare", "--json").stdout)["shares"]


def wait_ended(c, ids):
    """They have ended; they may be history already."""
    wait_until(lambda: set(ids) <= set(acct(c, "-S", "now-1h", "-s", "CD,F,CA,TO,PR")), f"{ids} to end")


def in_history(c, ids):
    """They have left the controller's memory."""
    return wait_until(lambda: not set(ids) & set(c.jobs("--all")), "jobs to become history")


def test_sums_agree_whatever_is_killed(cluster, jobs):
    """Ended, cancelled, requeued, suspended and preempted jobs and the tasks of arrays, in memory and in history: gacct
    says what gshare says."""
    c = cluster
    ids = []
    for n in range(6):
        user, account = ((RED, "red"), (BLUE, "blue"), (GREEN, "rest"))[n % 3]
        ids.append(jobs.submit(user, f"--gpus={n % 4 + 1}", "--time=60", account=account, script=f"sleep 0.3; exit {n % 2}"))
        c.ctld.kill()
        c.start_ctld()
    wait_ended(c, ids)
    cancelled = jobs.running(BLUE, "--gpus=1", account="blue")
    c.run("gcancel", cancelled)
    requeued = jobs.running(RED, "--gpus=2", account="red")
    c.run("gctl", "requeue", requeued)
    jobs.wait_up(requeued, attempt=2)
    array = jobs.submit(RED, "--array=0-4%3", "--gpus=1", account="red", script="sleep 0.2")
    stopped = jobs.running(RED, "--gpus=2", account="red")
    c.run("gctl", "suspend", stopped)
    c.wait_state(stopped, "SUSPENDED")
    c.ctld.kill()
    c.start_ctld()
    c.wait_nodes()
    c.run("gctl", "resume", stopped)
    jobs.end(stopped)
    wait_ended(c, [stopped])
    victims = [jobs.running(GREEN, "--gpus=8", account="rest") for _ in range(1)]
    urgent = jobs.running(BLUE, "-p", "urgent", "--gpus=8", account="blue")
    jobs.end(requeued, urgent, *victims)
    ids += [cancelled, requeued, urgent, array, stopped, *victims]
    wait_until(lambda: len(acct_list(c, "-j", array, "-s", "CD")) == 5, "all tasks to end")
    wait_ended(c, ids)
    c.ctld.kill()
    c.start_ctld()
    c.wait_nodes()

    def agree(listed):
        have = {(j["id"], j.get("part", 0)): j for j in listed}
        assert len(have) == len(listed)
        usage = {(s["account"], s["user"]): s for s in shares(c) if s["user"]}
        for key, s in usage.items():
            runs = [r for j in have.values() for r in j["runs"] if (r["account"], j["user"]) == key]
            assert sum(r["gpu_us"] for r in runs) == s["gpu_us"], key
            assert sum(r["held_us"] * r["cpus"] for r in runs) == s["cpu_us"], key
            assert sum(r["cost"] for r in runs) == pytest.approx(s["cost"], abs=1e-6), key
        assert sum(j["gpu_us"] for j in have.values()) == sum(s["gpu_us"] for s in usage.values()) > 0
        assert set(ids) <= {i for i, _ in have}

    def reported(*by):
        lines = json.loads(c.run("greport", "use", "--json", *[f"--by={b}" for b in by]).stdout)["report"]
        return {tuple(r["keys"] if "keys" in r else []): r for r in lines}

    agree(acct_list(c, "--runs"))
    in_history(c, ids)
    listed = acct_list(c, "--runs")
    agree(listed)
    have = acct(c, "--runs")
    assert have[stopped]["suspended_us"] > 0 and have[stopped]["runs"][0]["held_us"] >= have[stopped]["suspended_us"]
    assert have[requeued]["attempts"] == have[requeued]["runs_billed"] >= 2
    assert have[requeued]["gpu_us"] > have[requeued]["runs"][-1]["gpu_us"] > 0
    assert have[cancelled]["state"] == "CANCELLED" and "cancelled by" in have[cancelled]["comment"]
    assert have[ids[0]]["exit_code"] == 0 and have[ids[1]]["exit_code"] == 1 and have[ids[1]]["state"] == "FAILED"
    usage = {s["account"]: s["gpu_us"] for s in shares(c) if not s["user"]}
    lines = reported("account")
    assert {a: lines[(a,)]["gpu_us"] for a in ("lab", "red", "blue", "rest")} == usage
    for by in (["user"], ["gpu"], ["day"], ["account", "user"], ["day", "gpu"], ["label:project"]):
        assert reported(*by)[()]["gpu_us"] == lines[()]["gpu_us"] == usage["lab"] + usage["rest"]
    assert reported("user")[(RED,)]["gpu_us"] == usage["red"] or RED == BLUE
    assert lines[()]["jobs"] == len(listed) == lines[("lab",)]["jobs"] + lines[("rest",)]["jobs"]
    assert sum(r["cost"] for k, r in reported("day").items() if k) == pytest.approx(sum(j["cost"] for j in listed))
    assert lines[()]["started"] == len(listed) and lines[()]["wait_max_s"] == max(j.get("wait_s", 0) for j in listed)
    # Each task of an array is one; and what all lines say, the parts of them say together.
    by_label = reported("label:none")
    assert by_label[("",)]["jobs"] == len(listed)
    assert reported("day", "gpu")[()]["jobs"] == len(listed) and reported("user", "state")[()]["jobs"] == len(listed)
    assert sum(r["jobs"] for k, r in reported("user").items() if k) == len(listed)
    # Below the table: what was given of what there was, 16 GPUs since the cluster began.
    *_, total, given = c.run("greport", "use").stdout.splitlines()
    assert total.split()[0] == "all" and re.fullmatch(r"h100: [0-9.]+ of [0-9.]+ GPU-hours given \([0-9.]+%\)", given)
    assert c.run("greport", "wait").stdout.splitlines()[-1].split()[0] == "all"
    began = min(e["time"] for e in events(c) if e["kind"] == "cluster.capacity")
    before = time.time()
    [h100] = json.loads(c.run("greport", "use", "--json").stdout)["types"]
    after = time.time()
    assert h100["type"] == "h100" and h100["gpu_us"] == lines[()]["gpu_us"] and not h100["known_since_time"]
    assert 16e6 * (before - began - 1) <= h100["capacity_us"] <= 16e6 * (after - began + 1)  # events have whole seconds
    [past] = json.loads(c.run("greport", "use", "--json", "-S", "2020-01-01", "-E", "2020-02-01").stdout)["types"] or [None]
    assert past is None
    c.ctld.kill()
    c.start_ctld()
    again = acct(c, "--runs")
    assert {i: j["gpu_us"] for i, j in again.items()} == {i: j["gpu_us"] for i, j in have.items()}


def test_each_job_exactly_once_on_its_way(cluster, jobs):
    """Asked again and again while jobs end and become history: never twice, never missing."""
    c = cluster
    ids = [jobs.submit(RED, "--gpus=1", account="red", script="sleep 0.2") for _ in range(20)]
    wait_ended(c, ids)
    asked = 0
    while set(ids) & set(c.jobs("--all")) or asked < 5:
        have = [(j["id"], j.get("tasks")) for j in acct_list(c, "-u", RED)]  # each task of an array is one
        assert len(have) == len(set(have))
        assert set(ids) <= {i for i, _ in have}
        asked += 1
    total = c.run("gacct", "-j", ",".join(map(str, ids))).stdout.splitlines()[-1].split()
    assert total[:3] == ["total", "20", "jobs"]


def test_which_jobs_and_columns(cluster, jobs):
    c = cluster
    one = jobs.submit(RED, "--gpus=2", "--label=project=x", "-J", "one,two", account="red", script="exit 3")
    two = jobs.running(BLUE, "--gpus=h100:1", account="blue")
    waits = jobs.submit(GREEN, "--hold", account="rest")
    wait_ended(c, [one])
    for _ in range(2):  # in memory, then in history
        assert set(acct(c, "-A", "lab")) >= {one, two}
        assert one in acct(c, "-L", "project=x", "-s", "F") and one not in acct(c, "-L", "project=y")
        assert one in acct(c, "-L", "project") and two not in acct(c, "-L", "project")
        assert one not in acct(c, "-A", "blue") and one not in acct(c, "-s", "COMPLETED")
        assert two in acct(c, "-s", "R") and one not in acct(c, "-s", "R")
        assert one not in acct(c, "-E", "yesterday") and one in acct(c, "-S", "yesterday")
        assert one not in acct(c, "-S", "2020-01-01", "-E", "2020-02-01")
        assert waits not in acct(c) and waits in acct(c, "-s", "PD")
        node = acct(c, "-j", one)[one]["nodes"]
        assert one in acct(c, "-N", node) and one not in acct(c, "-N", "n1" if node == "n2" else "n2")
        rows = list(csv.DictReader(io.StringIO(c.run("gacct", "-j", one, "--csv", "-o", "JOBID,NAME,EXIT,LABELS,GPUS").stdout)))
        assert rows == [{"JOBID": str(one), "NAME": "one,two", "EXIT": "3:0", "LABELS": "project=x", "GPUS": "h100:2"}]
        assert c.run("gacct", "-h", "-j", one, "-o", "NAME%3").stdout == "on+\n"
        in_history(c, [one])
    running = acct(c, "-j", two)[two]
    wait_until(lambda: acct(c, "-j", two)[two]["gpu_us"] > running["gpu_us"] > 0, "a running job to use more and more")
    assert c.run("gacct", "-j", "999999", check=False).returncode == 3
    assert c.run("gacct", "-S", "2026-02-30", check=False).returncode == 2
    runs = c.run("gacct", "-j", one, "--runs", "-h", "-o", "JOBID,ATTEMPT,CAUSE,EXIT").stdout.split()
    assert runs == [str(one), "1", "exit", "3:0"]


def test_the_loop_does_not_wait_for_questions(cluster, jobs):
    """A user's many questions are answered, or he is told to come back; others go on."""
    c = cluster
    job = jobs.running(RED, "--gpus=1", account="red")
    for _ in range(20):
        assert job in acct(c, "-S", "2020-01-01")
    stats = lambda: {s["name"]: s["value"] for s in json.loads(c.run("gctl", "stats", "--json").stdout)["stats"]}  # noqa: E731
    assert stats()["acct.walks"] > 0
    wait_until(lambda: stats()["acct.open"] == 0, "all questions to be answered")


def test_replayed(cluster, jobs):
    """What has become history is a history that gsim replays, on the configuration that it was made with."""
    c = cluster
    ids = [jobs.submit(user, f"--gpus={n}", "--time=60", account=account, script="sleep 0.2")
           for n, (user, account) in enumerate(((RED, "red"), (BLUE, "blue"), (GREEN, "rest")), 1)]
    wait_ended(c, ids)
    in_history(c, ids)

    def moved():
        with sqlite3.connect(f"file:{c.dir}/state/history.db?mode=ro", uri=True) as db:
            return {i for i, in db.execute("SELECT id FROM job")}

    wait_until(lambda: set(ids) <= moved(), "jobs to be in history.db")
    r = subprocess.run([BUILD / "ctld/gsim/gsim", "--quiet", "--json", "-f", c.conf, "--format=accounting", "--checker=1",
                        f"--jobs={c.dir}/replayed", c.dir / "state/history.db"], capture_output=True, text=True, check=True)
    have = acct(c, "--runs")
    with open(c.dir / "replayed") as f:
        rows = list(csv.DictReader(f))
    replayed = {int(row["job_id"]): row for row in rows}
    for n, i in enumerate(ids, 1):
        row = replayed[i]
        held = sum(run["held_us"] for run in have[i]["runs"]) / 1e6
        assert (row["account"], row["partition"], int(row["gpus"])) == (have[i]["account"], "batch", n)
        assert float(row["end_s"]) - float(row["start_s"]) == pytest.approx(held, abs=0.001)
    assert json.loads(r.stdout)["jobs"]["ended"] == len(rows)  # each task of an array is one


# --- the audit trail ---------------------------------------------------------------------------

def events(c, *options, **kw):
    return json.loads(c.run("gctl", "events", "--json", *options, **kw).stdout)["events"]


def test_who_did_what(cluster, jobs):
    """What was just done is there at once, in order, with who, from where and why; and stays when the controller is killed."""
    c = cluster
    job = jobs.running(RED, "--gpus=1", account="red")
    c.run("gctl", "drain", "n2", "fan is loud")
    c.run("gcancel", job, "--reason=wrong input")
    have = events(c, "--job", job)
    assert [e["kind"] for e in have] == ["job.submit", "job.cancel"]
    assert have[1]["uid"] == os.geteuid() and "wrong input" in have[1]["text"] and "127.0.0.1" in have[1]["host"]
    assert [e["seq"] for e in have] == sorted(e["seq"] for e in have)
    drained = events(c, "--kind=node.drain", "-w", "n2")
    assert drained and "fan is loud" in drained[-1]["text"] and not events(c, "--kind=node.drain", "-w", "n1")
    assert {e["kind"].split(".")[0] for e in events(c, "-k", "node")} == {"node"}
    mine = events(c, "--me", "--since=now-1h")
    assert have[1]["seq"] in [e["seq"] for e in mine] and all(e["uid"] == os.geteuid() for e in mine)
    assert not events(c, "--until=now-1h", "--since=now-2h")
    if ROOT:
        assert [e["seq"] for e in events(c, "--job", job, user=RED)] == [e["seq"] for e in have]
        assert c.run("gctl", "events", "--job", job, user=GREEN, check=False).returncode == 5
        assert c.run("gctl", "events", user=RED, check=False).returncode == 5
        assert all(e["kind"] for e in events(c, "--me", user=RED))
        in_history(c, [job])
        assert [e["seq"] for e in events(c, "--job", job, user=RED)] == [e["seq"] for e in have]
        assert c.run("gctl", "events", "--job", job, user=GREEN, check=False).returncode == 5
        assert c.run("gctl", "events", "--job", "99999999", user=GREEN, check=False).returncode == 3
    c.ctld.kill()
    c.start_ctld()
    assert [e["seq"] for e in events(c, "--job", job)] == [e["seq"] for e in have]
    c.run("gctl", "resume", "n2")


class Watcher:
    """A gctl events --follow --json beside the test."""

    def __init__(self, c, *options, user=None):
        kw = {}
        if user:
            p = pwd.getpwnam(user)
            kw = {"user": p.pw_uid, "group": p.pw_gid, "extra_groups": []}
        self.path = c.dir / f"log/events-{os.urandom(4).hex()}"
        with open(self.path, "w") as out:
            self.p = subprocess.Popen([str(BIN["gctl"]), "events", "--follow", "--json", *options], stdin=subprocess.DEVNULL,
                                      stdout=out, stderr=subprocess.PIPE, text=True, env=c.env, **kw)

    def parts(self):
        """What came in whole lines."""
        return [json.loads(line) for line in self.path.read_text().splitlines(keepends=True) if line.endswith("\n")]

    def events(self):
        return [e for part in self.parts() for e in part["events"]]

    def until(self, kind):
        wait_until(lambda: kind in [e["kind"] for e in self.events()] or self.p.poll() is not None, f"a {kind}")
        assert self.p.poll() is None, self.p.communicate()[1]

    def stop(self):
        self.p.send_signal(signal.SIGINT)
        said = self.p.communicate(timeout=40)[1]
        assert self.p.returncode == 130 and "to go on from here: events --follow --since=" in said
        return said.split("--since=")[1].strip()


def test_every_change_is_told_as_it_happens(tmp_path):
    """Each request that changes something, by the table of testsuite/unit/rpc/test_rpc.c: who, when, what, from where, why."""
    with Cluster(nodes=("n1", "n2")) as c:
        w = Watcher(c)
        w.until("controller.start")
        running = c.submit("sleep 600")
        c.wait_state(running, "RUNNING")
        held = c.submit("true", "--begin=now+1hour")
        bulk = c.dir / "bulk.jsonl"
        bulk.write_text('{"wrap": "true", "hold": true}\n')
        c.run("gsubmit", "--bulk", bulk)
        did = [("job.submit", [])]
        for kind, command in [
                ("job.hold", ["gctl", "hold", held, "--reason=because"]),
                ("job.release", ["gctl", "release", held, "--reason=because"]),
                ("job.suspend", ["gctl", "suspend", running, "--reason=because"]),
                ("job.resume", ["gctl", "resume", running, "--reason=because"]),
                ("job.signal", ["gcancel", "--signal=CONT", running, "--reason=because"]),
                ("job.update", ["gctl", "update", running, "--comment=x", "--reason=because"]),
                ("job.requeue", ["gctl", "requeue", running, "--reason=because"]),
                ("job.cancel", ["gcancel", running, "--reason=because"]),
                ("node.drain", ["gctl", "drain", "n2", "because"]),
                ("node.resume", ["gctl", "resume", "n2", "--reason=because"]),
                ("node.down", ["gctl", "node", "down", "n2", "because"]),
                ("node.clear", ["gctl", "node", "clear", "n1", "because"]),
                ("partition.state", ["gctl", "partition", "batch", "drain", "--reason=because"]),
                ("controller.reconfigure", ["gctl", "reconfigure"]),
                ("controller.backup", ["gctl", "backup", c.dir / "state/because.db"])]:
            if kind == "job.suspend":
                c.wait_state(running, "RUNNING")
            if kind in ("job.signal", "job.requeue"):
                c.wait_state(running, "RUNNING")
            if kind == "job.resume":
                c.wait_state(running, "SUSPENDED")
            c.run(*command)
            did.append((kind, command))
            w.until(kind)
        have = w.events()
        for kind, command in did:
            one = [e for e in have if e["kind"] == kind][-1]
            assert one["uid"] == os.geteuid() and "127.0.0.1" in one["host"] and one["time"] > 0, one
            assert "because" not in str(command[-1:]) or "because" in one["text"], one
        assert [e["kind"] for e in have].count("job.submit") == 3
        c.run("gctl", "partition", "batch", "up")
        # It goes on after a break, and one from its cursor, or from the middle, has exactly the rest.
        middle = next(p["cursor"] for p in w.parts() if p["cursor"])
        c.ctld.kill()
        c.start_ctld()
        wait_until(lambda: [e["kind"] for e in w.events()].count("controller.start") == 2, "the second start")
        wait_until(lambda: [e["kind"] for e in w.events()].count("cluster.capacity") == 2, "it to count the GPUs")
        last = c.submit("true", "--hold")
        wait_until(lambda: last in [e["job"] for e in w.events()], "what came after the break")
        wait_until(lambda: len(w.events()) == len(events(c, "--since=yesterday")), "the watcher to have all")
        seqs = [e["seq"] for e in w.events()]
        assert seqs == sorted(set(seqs)) and seqs == [e["seq"] for e in events(c, "--since=yesterday")]
        rest = Watcher(c, f"--since={middle}")
        wait_until(lambda: last in [e["job"] for e in rest.events()], "the rest")
        assert [e["seq"] for e in rest.events()] == [s for s in seqs if s > middle]
        assert [e["seq"] for e in events(c, f"--since={middle}")] == [s for s in seqs if s > middle]
        only = Watcher(c, "--kind=node", "--since=1")
        c.run("gctl", "resume", "n2")
        wait_until(lambda: len(only.events()) == 5, "all about nodes")
        rest.p.kill()
        only.p.kill()
        c.run("gctl", "shutdown")
        assert c.ctld.wait() == 0
        c.start_ctld()
        w.until("controller.shutdown")
        assert int(w.stop()) >= seqs[-1]
        assert c.run("gctl", "events", "--since=999999999999", check=False).returncode == 2
        for bad in (["--until=now"], ["--sort=TIME"]):
            r = c.run("gctl", "events", "--follow", *bad, check=False)
            assert r.returncode == 2 and "--follow" in r.stderr and bad[0].split("=")[0] in r.stderr
        if ROOT:
            assert c.run("gctl", "events", "--follow", user=RED, check=False).returncode == 5
            mine = Watcher(c, "--me", user=RED)
            c.submit("true", "--hold", user=RED)
            mine.until("job.submit")
            assert {e["uid"] for e in mine.events()} == {pwd.getpwnam(RED).pw_uid}
            mine.p.kill()


# --- backups -----------------------------------------------------------------------------------

def verify(c, path):
    return subprocess.run([BIN["gctld"], "--config", c.conf, "--verify", path], capture_output=True, text=True, check=False)


def test_backup_is_verified_and_restored(tmp_path):
    with Cluster(nodes=("n1",), controller='keep_ended = "1h";') as c:
        done = [c.submit("true", "--gpus=1") for _ in range(5)]
        for job in done:
            c.wait_state(job, "COMPLETED")
        waits = c.submit("true", "--hold", "--gpus=2")
        copy = c.dir / "state/copy of 100%.db"
        c.run("gctl", "backup", copy)
        assert c.run("gctl", "backup", copy, check=False).returncode == 1  # never replaced
        assert c.run("gctl", "backup", "copy.db", check=False).returncode == 2
        if ROOT:
            assert c.run("gctl", "backup", c.dir / "state/other.db", check=False, user="games").returncode == 5
        later = c.submit("sleep 600", "--gpus=1")
        c.wait_state(later, "RUNNING")
        used = sum(s["gpu_us"] for s in shares(c) if s["user"])
        good = verify(c, copy)
        assert good.returncode == 0 and "good: 6 jobs" in good.stdout, good.stderr
        assert c.run("gctl", "verify", copy).stdout == good.stdout
        none = c.run("gctl", "verify", tmp_path / "none.db", check=False)
        assert none.returncode == 1 and "none.db" in none.stderr
        assert sorted(p.name for p in (c.dir / "state").glob("copy*")) == [copy.name]  # nothing was left beside it
        # What is wrong is said: a page, a file of something else, no file, another cluster's.
        bytes_of = bytearray(copy.read_bytes())
        half = len(bytes_of) // 2 // 4096 * 4096
        bytes_of[half:half + 4096] = os.urandom(4096)
        (tmp_path / "bad.db").write_bytes(bytes_of)
        (tmp_path / "text.db").write_text("nothing of the kind\n" * 100)
        for name in ("bad.db", "text.db", "none.db"):
            r = verify(c, tmp_path / name)
            assert r.returncode == 1 and name in r.stderr, (name, r)
        c.ctld.kill()
        moved = c.dir / "moved.db"
        copy.rename(moved)
        for f in (c.dir / "state").iterdir():
            f.unlink()
        moved.rename(c.dir / "state/state.db")
        c.start_ctld("--takeover")
        assert set(acct(c, "-s", "CD")) == set(done) and c.state(waits) == "PENDING"
        assert sum(s["gpu_us"] for s in shares(c) if s["user"]) == used == sum(j["gpu_us"] for j in acct(c).values())
        new = c.submit("true", "--gpus=1")
        assert new > later
        c.wait_state(new, "COMPLETED")


def test_show_job_of_what_is_history(cluster, jobs):
    """gctl show job: a job that the controller has forgotten is told from its history, with its runs; so are tasks."""
    job = cluster.submit("exit 3", "--gpus=2", "-J", "gone")
    array = cluster.submit("true", "--array=0-2")
    waits = cluster.submit("true", "--hold")
    wait_until(lambda: not {job, array} & set(cluster.jobs()), "both to be history")
    text = cluster.run("gctl", "show", "job", job, f"{array}_1", waits).stdout
    records = re.findall(r"^JOBID +(\S+)$", text, re.M)
    assert set(records) == {str(waits), str(job), f"{array}_1"}  # its runs have lines of their own
    assert re.search(r"^EXIT +3:0$", text, re.M) and re.search(r"^STATE +FAILED$", text, re.M) and "ATTEMPT" in text
    whole = json.loads(cluster.run("gctl", "show", "job", "--json", job, waits).stdout)
    assert [j["id"] for j in whole["jobs"]] == [waits]
    assert [(j["id"], j["exit_code"], len(j["runs"])) for j in whole["history"]] == [(job, 3, 1)]
    r = cluster.run("gctl", "show", "job", 999999, job, check=False)
    assert r.returncode == 3 and "job 999999: not known" in r.stderr and f"{job}" in r.stdout
    cluster.run("gcancel", waits)
