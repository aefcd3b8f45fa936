"""Accounts, QOS, prices, licences: what a user of a shared cluster sees of the policy, and what he can do about it."""

import json

import pytest
from cluster import ROOT, Cluster, wait_until

PARTITIONS = """( { name = "batch"; nodes = "ALL"; default = true; max_time = "1-00:00:00"; grace = "2s"; },
  { name = "other"; nodes = "n1"; } )"""
POLICY = """
prices = { currency = "EUR"; cpu = 0.1; };
accounts = (
  { name = "research"; shares = 3; },
  { name = "vision"; parent = "research"; shares = 2; members = [ "@games" ]; limits = { gpus = "demo:4"; }; },
  { name = "speech"; parent = "research"; shares = 1; members = [ "bin" ]; },
  { name = "guest"; shares = 1; members = [ "*" ]; required_labels = [ "project" ]; } );
default_account = "guest";
qos = ( { name = "normal"; default = true; priority = 10; },
  { name = "urgent"; priority = 100; max_wait = "2m"; accounts = [ "vision" ]; } );
licences = ( { name = "lic"; count = 2; } );
"""

pytestmark = pytest.mark.skipif(not ROOT, reason="needs several users")


class Shared(Cluster):
    def conf_text(self):
        return super().conf_text().replace('mem = "80G";', 'mem = "80G"; price = 2.5;')


@pytest.fixture(scope="module")
def cluster():
    with Shared(nodes=("n1", "n2"), partitions=PARTITIONS, node_defaults=POLICY) as c:
        yield c


@pytest.fixture(autouse=True)
def clean(cluster):
    yield
    cluster.run("gcancel", "--state", "PENDING,CONFIGURING,RUNNING", check=False)
    wait_until(lambda: not cluster.run("gqueue", "-h").stdout, "an empty queue")


def submit(cluster, user, *options):
    return int(cluster.run("gsubmit", "--parsable", "-t", "30", *options, "--wrap", "sleep 600", user=user).stdout)


def reason(cluster, job):
    return wait_until(lambda: cluster.job(job).get("reason"), f"why {job} waits")


def test_accounts_and_qos_of_their_members(cluster):
    group = submit(cluster, "games", "--hold")
    named = submit(cluster, "bin", "--hold")
    other = submit(cluster, None, "--hold", "--label=project=x")
    assert [cluster.job(j)["account"] for j in (group, named, other)] == ["vision", "speech", "guest"]
    assert [cluster.job(j)["qos"] for j in (group, named, other)] == ["normal"] * 3
    r = cluster.run("gsubmit", "--wrap", "true", check=False)
    assert r.returncode == 1 and "account guest requires --label project=NAME" in r.stderr
    r = cluster.run("gsubmit", "-A", "vision", "--wrap", "true", user="bin", check=False)
    assert r.returncode in (1, 5) and "vision" in r.stderr
    r = cluster.run("gsubmit", "-q", "urgent", "--wrap", "true", user="bin", check=False)
    assert r.returncode != 0 and "account speech may not use it" in r.stderr
    assert cluster.run("gsubmit", "-q", "nosuch", "--wrap", "true", user="bin", check=False).returncode == 3
    assert cluster.job(submit(cluster, "games", "-q", "urgent", "--hold"))["qos"] == "urgent"


def test_a_limit_and_what_would_start_it(cluster):
    first = submit(cluster, "games", "--gpus=3")
    cluster.wait_state(first, "RUNNING")
    second = submit(cluster, "games", "--gpus=2")
    assert reason(cluster, second) == "AssocGrpGRES"
    text = cluster.run("gqueue", "--why", second).stdout
    assert "AssocGrpGRES" in text and "vision: limit demo:4, holds 3, +2" in text and f"{first} must end" in text
    why = json.loads(cluster.run("gqueue", "--why", second, "--json").stdout)["jobs"][0]["why"]
    assert [b["reason"] for b in why["blockers"]] == ["AssocGrpGRES"]
    option = why["changes"][0]["option"]
    assert "WOULD START IT NOW" in text and option in text
    cluster.run("gctl", "update", second, *option.split(), user="games")
    cluster.wait_state(second, "RUNNING")


def test_update_knows_the_policy(cluster):
    job = submit(cluster, "games", "--gpus=1", "--hold")
    for change, words in ((["--account=speech"], "speech"), (["--qos=nosuch"], "nosuch"), (["--gpus=5"], "demo:4"),
                          (["--licenses=lic:3"], "lic")):
        r = cluster.run("gctl", "update", job, *change, user="games", check=False)
        assert r.returncode != 0 and words in r.stderr, (change, r.stderr)
    before = cluster.job(job)
    assert (before["account"], before["qos"]) == ("vision", "normal")
    cluster.run("gctl", "update", job, "--qos=urgent", "--licences=lic", "--max-wait=5", user="games")
    after = cluster.job(job)
    assert (after["qos"], after["licences"], after["max_wait_s"]) == ("urgent", "lic:1", 300)


def test_licences(cluster):
    first = submit(cluster, "bin", "-L", "lic:2")
    cluster.wait_state(first, "RUNNING")
    second = submit(cluster, "bin", "-L", "lic")
    assert reason(cluster, second) == "Licenses"
    assert "lic: 2 licences" in cluster.run("gqueue", "--why", second).stdout
    cluster.run("gcancel", first)
    cluster.wait_state(second, "RUNNING")


def test_cost_is_told_before(cluster):
    r = cluster.run("gsubmit", "--test-only", "--gpus=2", "-t", "60", "--wrap", "true", user="bin")
    assert r.stdout.startswith("would start now on n") and r.stdout.endswith("; up to EUR 5.10\n")
    blockers = [submit(cluster, "bin", "--gpus=4") for _ in range(2)]
    cluster.wait_state(blockers[1], "RUNNING")
    r = cluster.run("gsubmit", "--test-only", "--gpus=2", "-t", "60", "--wrap", "true", user="bin")
    assert r.stdout.startswith("would wait until ") and "; up to EUR 5.10\n" in r.stdout
    job = submit(cluster, "bin", "--gpus=2")
    assert cluster.run("gqueue", "-h", "-j", job, "-o", "COST").stdout.strip() == "2.55"
    start = cluster.run("gqueue", "--start", "-h", "-o", "JOBID,SCHEDNODES").stdout.split()
    assert start[0] == str(job) and start[1] in ("n1", "n2")


def test_who_used_what(cluster):
    job = submit(cluster, "games", "--gpus=4")
    cluster.wait_state(job, "RUNNING")
    cluster.run("gcancel", job)
    cluster.wait_state(job, "CANCELLED")

    def share(user):
        rows = json.loads(cluster.run("gshare", "--json").stdout)["shares"]
        return next((s for s in rows if s["user"] == user), None)

    used = wait_until(lambda: (share("games") or {}).get("gpu_us") and share("games"), "usage of games")
    assert used["account"] == "vision" and used["cost"] > 0
    rows = json.loads(cluster.run("gshare", "--json").stdout)["shares"]
    tree = {s["account"]: s for s in rows if not s["user"]}
    assert tree["research"]["gpu_us"] == sum(s["gpu_us"] for s in rows if s["user"] and s["account"] in ("vision", "speech"))
    assert [s["depth"] for s in (tree["research"], tree["vision"])] == [0, 1]
    only = cluster.run("gshare", "-h", "-u", "games", "-o", "ACCOUNT,USER").stdout.split()
    assert only == ["research", "vision", "vision", "games"]
    assert "guest" not in cluster.run("gshare", "-A", "research").stdout


def test_factors_of_a_priority(cluster):
    blockers = [submit(cluster, "bin", "--gpus=4") for _ in range(2)]
    cluster.wait_state(blockers[1], "RUNNING")
    plain = submit(cluster, "games", "--gpus=1")
    urgent = submit(cluster, "games", "--gpus=1", "-q", "urgent")
    p = {x["id"]: x for x in json.loads(cluster.run("gprio", "--json").stdout)["jobs"]}
    assert p[urgent]["points"]["qos"] == 5000 and p[plain]["points"]["qos"] == 500
    assert p[urgent]["factors"]["wait"] >= 0 and p[plain]["factors"]["wait"] == 0
    for x in p.values():
        assert x["priority"] == sum(v for k, v in x["points"].items() if k != "nice") - x["points"]["nice"]
    assert cluster.run("gprio", "-h", "-o", "JOBID").stdout.split()[0] == str(urgent)


def test_reasons_of_several_jobs_are_each_their_own(cluster):
    blockers = [submit(cluster, "bin", "--gpus=4") for _ in range(2)]
    cluster.wait_state(blockers[1], "RUNNING")
    a = submit(cluster, "bin", "--gpus=1")
    b = submit(cluster, "bin", "--hold")
    reason(cluster, a)
    jobs = cluster.jobs()
    assert "GPU" in jobs[a]["reason_text"] or "needs" in jobs[a]["reason_text"]
    assert jobs[a]["reason_text"] != jobs[b].get("reason_text")
