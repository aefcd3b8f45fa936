"""What accounts used: the sums of gshare are those of the runs, whatever was killed meanwhile; limits hold and are named."""

import json

import pytest
from cluster import Cluster, wait_until
from judge import Judge
from rivals import BLUE, GREEN, RED, Rivals

PARTITIONS = """(
  { name = "batch"; nodes = "ALL"; default = true; preempt_mode = "requeue"; grace = "2s"; },
  { name = "small"; nodes = "ALL"; grace = "2s"; limits = { gpus = "h100:2"; }; per_user = { running = 1; }; },
  { name = "gpu"; nodes = "ALL"; grace = "2s"; require_gpu = true; per_gpu = { cpus = 3; mem = "2G"; };
    per_job = { gpus = "any:4"; }; },
  { name = "team"; nodes = "ALL"; grace = "2s"; accounts = [ "lab" ]; },
  { name = "shut"; nodes = "ALL"; grace = "2s"; state = "drain"; },
  { name = "asleep"; nodes = "ALL"; grace = "2s"; state = "down"; }
)"""
POLICY = f"""
accounts = (
  {{ name = "lab"; shares = 3; limits = {{ gpus = "h100:12"; }}; }},
  {{ name = "red"; parent = "lab"; shares = 1; members = [ "{RED}" ]; per_user = {{ running = 2; queued = 4; }}; }},
  {{ name = "blue"; parent = "lab"; shares = 1; members = [ "{BLUE}" ]; limits = {{ gpus = "h100:4"; cpus = 40; }}; }},
  {{ name = "rest"; shares = 1; members = [ "*" ]; per_job = {{ time = "2:00:00"; }}; }}
);
qos = (
  {{ name = "normal"; default = true; }},
  {{ name = "tight"; limits = {{ gpus = "any:3"; }}; per_user = {{ running = 1; }}; }}
);
licences = ( {{ name = "solver"; count = 2; }} );
"""


@pytest.fixture(scope="module")
def judged():
    with Cluster(nodes=("n1", "n2"), gpus="h100:8", cpus=64, partitions=PARTITIONS, policy=POLICY, start=False) as c:
        judge = Judge(c)
        c.start()
        yield c, judge


@pytest.fixture(name="jobs")
def fixture_jobs(judged):
    rivals = Rivals(*judged)
    yield rivals
    rivals.clear()


def refused(jobs, user, *options, account=None):
    """Refuse it must; what it said."""
    named = [f"--account={account}"] if account else []
    r = jobs.c.run("gsubmit", *named, *options, stdin="#!/bin/sh\n", check=False, **jobs.who(user))
    assert r.returncode in (1, 3, 5), r.stdout
    return r.stderr


def waits(jobs, job, reason, *words):
    """The reason is in the listing, its text says limit and use."""
    held = jobs.wait_reason(job, reason)
    for word in words:
        assert word in held["reason_text"]
    assert jobs.c.run("gqueue", "-h", "-j", job, "-o", "REASON").stdout.split()[0] == reason


# --- which jobs --------------------------------------------------------------------------------

def test_jobs_of_an_account_and_a_qos(jobs):
    """-A and -q of gqueue and gcancel, as squeue and scancel have them; an account has those below it."""
    red = jobs.submit(RED, "--hold", account="red")
    blue = jobs.submit(BLUE, "--hold", account="blue")
    tight = jobs.submit(GREEN, "--hold", "--qos=tight", "--gpus=1", "-t", "60", account="rest")

    def listed(*options):
        return sorted(int(i) for i in jobs.c.run("gqueue", "-h", "-o", "%i", *options).stdout.split())

    assert listed("-A", "red") == [red]
    assert listed("--account=lab") == [red, blue]
    assert listed("-A", "blue,rest") == [blue, tight]
    assert listed("-q", "tight") == [tight]
    assert listed("-q", "normal", "-A", "lab") == [red, blue]
    assert listed("-q", "tight", "-A", "lab") == []
    jobs.c.run("gcancel", "-A", "lab", "-q", "normal")
    assert listed() == [tight]


# --- limits ------------------------------------------------------------------------------------

@pytest.mark.parametrize("user, account, take, more, reason, words", [
    (BLUE, "blue", ["--gpus=3"], ["--gpus=2"], "AssocGrpGRES", ["blue", "h100:4", "holds 3", "+2"]),
    (BLUE, "blue", ["--cpus-per-task=30"], ["--cpus-per-task=11"], "AssocGrpCpuLimit", ["blue", "40", "30"]),
    (RED, "red", ["--gpus=8"], ["--gpus=5"], "AssocGrpGRES", ["lab", "h100:12", "holds 8", "+5"]),
    (GREEN, "rest", ["--qos=tight", "--gpus=1", "-t", "60"], ["--qos=tight", "--gpus=1", "-t", "60"], "QOSMaxJobsPerUserLimit",
     ["tight", "1"]),
    (GREEN, "rest", ["-p", "small", "--gpus=1", "-t", "60"], ["-p", "small", "--gpus=1", "-t", "60"],
     "PartitionMaxJobsPerUserLimit", ["small", "1"]),
    (GREEN, "rest", ["-L", "solver:2", "-t", "60"], ["-L", "solver", "-t", "60"], "Licenses", ["solver", "2"]),
], ids=["account gpus", "account cpus", "parent's gpus", "qos running per user", "partition running per user", "licences"])
def test_a_limit_holds_until_something_ends(jobs, user, account, take, more, reason, words):
    first = jobs.running(user, *take, account=account)
    second = jobs.submit(user, *more, account=account)
    waits(jobs, second, reason, *words)
    assert reason in jobs.c.run("gqueue", "--why", second).stdout
    jobs.end(first)
    jobs.wait_up(second)


def test_running_of_each_user(jobs):
    two = [jobs.running(RED, account="red") for _ in range(2)]
    third = jobs.submit(RED, account="red")
    waits(jobs, third, "AssocMaxJobsPerUserLimit", "red", "2")
    jobs.submit(RED, "--hold", account="red")
    told = refused(jobs, RED, account="red")
    assert "red" in told and "4" in told, told
    jobs.end(*two)
    jobs.wait_up(third)


def test_what_never_fits_a_limit_is_refused(jobs):
    for gpus in ("h100:5", "5"):  # of any type: there is no other
        told = refused(jobs, BLUE, f"--gpus={gpus}", account="blue")
        assert "blue" in told and "h100:4" in told and "5" in told, told
    told = refused(jobs, GREEN, "--time=3:00:00", account="rest")
    assert "rest" in told and "2:00:00" in told and "3:00:00" in told, told
    told = refused(jobs, GREEN, "--qos=tight", "--gpus=4", account="rest")
    assert "tight" in told and "3" in told, told
    told = refused(jobs, GREEN, "-L", "solver:3", account="rest")
    assert "solver" in told and "2" in told, told
    told = refused(jobs, GREEN, "-p", "gpu", "--gpus=5", account="rest")
    assert "gpu" in told and "any:4" in told, told


def test_who_may_use_what(jobs):
    assert "--gpus" in refused(jobs, GREEN, "-p", "gpu", account="rest")
    assert "rest" in refused(jobs, GREEN, "-p", "team", account="rest")
    assert "drain" in refused(jobs, GREEN, "-p", "shut", account="rest")
    assert "nosuch" in refused(jobs, GREEN, account="nosuch")
    assert "nosuch" in refused(jobs, GREEN, "-q", "nosuch", account="rest")
    assert "nosuch" in refused(jobs, GREEN, "-p", "nosuch", account="rest")
    asleep = jobs.submit(GREEN, "-p", "asleep", "-t", "60", account="rest")
    waits(jobs, asleep, "PartitionDown", "asleep")
    each = jobs.running(GREEN, "-p", "gpu", "--gpus=2", "-t", "60", account="rest")
    j = jobs.c.job(each)
    assert (j["cpus"], j["mem_mb"]) == (6, 4096)
    assert jobs.c.job(jobs.running(RED, "-p", "team", account="red"))["state"] == "RUNNING"


# --- sums --------------------------------------------------------------------------------------

def shares(c):
    return json.loads(c.run("gshare", "--json").stdout)["shares"]


def of_account(rows, account, user=""):
    return sum(r["gpu_us"] for r in rows if r["account"] == account and r["user"] == user)


def test_usage_is_the_sum_over_runs(judged, jobs):
    """Preempted, cancelled, ended and restarted ones; the controller is killed again and again."""
    c, _ = judged
    before = shares(c)
    ids = []
    for n in range(12):
        user, account = ((RED, "red"), (BLUE, "blue"), (GREEN, "rest"))[n % 3]
        ids.append(jobs.submit(user, f"--gpus={n % 4 + 1}", "--time=60", account=account, script="sleep 0.5"))
        c.ctld.kill()
        c.start_ctld()
    judged[1].wait_ended(ids)
    requeued = jobs.running(RED, "--gpus=2", "--time=60", account="red")
    ids.append(requeued)
    c.run("gctl", "requeue", requeued)
    jobs.wait_up(requeued, attempt=2)
    jobs.end(requeued)
    c.wait_state(requeued, "COMPLETED")
    c.ctld.kill()
    c.start_ctld()
    c.wait_nodes()
    after = shares(c)
    rows = {a: of_account(after, a) - of_account(before, a) for a in ("lab", "red", "blue", "rest")}
    for account, user in (("red", RED), ("blue", BLUE), ("rest", GREEN)):
        assert of_account(after, account, user) - of_account(before, account, user) == rows[account] > 0
    assert rows["lab"] == rows["red"] + rows["blue"]
    # Every run of these jobs, to the second of the listing; the first attempt of one is not listed any more.
    for account in ("blue", "rest"):
        listed = sum(j["elapsed_s"] * j["gpus"][0]["count"] for j in c.jobs().values() if j["id"] in ids and j["account"] == account)
        gpus = sum(j["gpus"][0]["count"] for j in c.jobs().values() if j["id"] in ids and j["account"] == account)
        assert listed <= rows[account] / 1e6 < listed + gpus
    c.ctld.stop()
    c.start_ctld()
    assert [(r["account"], r["user"], r["gpu_us"]) for r in shares(c)] == [(r["account"], r["user"], r["gpu_us"]) for r in after]


def test_fair_share_agrees_with_what_was_used(judged, jobs):
    """Of two accounts of equal shares, who used less goes first, in gshare, gprio and when there is room."""
    c, _ = judged
    red = jobs.running(RED, "--gpus=8", "--time=60", account="red")
    used = of_account(shares(c), "red") + of_account(shares(c), "blue")
    wait_until(lambda: c.job(red)["elapsed_s"] * 8e6 > used, "red to have used more than both before")
    jobs.end(red)
    c.wait_state(red, "COMPLETED")
    blockers = [jobs.running(GREEN, "--gpus=8", "--time=60", account="rest") for _ in range(2)]
    red = jobs.submit(RED, "--gpus=1", "--time=60", account="red")
    blue = jobs.submit(BLUE, "--gpus=1", "--time=60", account="blue")

    def points():
        p = {j["id"]: j["points"]["fair_share"] for j in json.loads(c.run("gprio", "--json").stdout)["jobs"]}
        return p.get(red) is not None and p.get(blue) is not None and p[blue] > p[red]
    wait_until(points, lambda: c.run("gprio").stdout)
    level = {r["account"]: r["level_fs"] for r in shares(c) if not r["user"]}  # None: it has used nothing
    assert level["blue"] is None or level["blue"] > level["red"]
    jobs.end(blockers[0])
    jobs.wait_up(red, blue)
    assert c.job(blue)["start_time"] <= c.job(red)["start_time"]
