"""Who must make room for whom: reclaim, tiers, QOS, what is protected, and faults in the midst of it."""

import json
import time

import pytest
from cluster import Cluster, wait_until
from judge import Judge
from rivals import BLUE, GREEN, RED, Rivals

NODES = ("n1", "n2", "n3", "n4")
WHOLE = ("--gpus=h100:8", "--time=60")
PARTITIONS = """(
  { name = "batch"; nodes = "ALL"; default = true; preempt_mode = "requeue"; grace = "60s"; },
  { name = "quick"; nodes = "ALL"; preempt_mode = "requeue"; grace = "1s"; },
  { name = "dear"; nodes = "ALL"; preempt_mode = "cancel"; grace = "60s"; },
  { name = "safe"; nodes = "ALL"; preempt_mode = "off"; },
  { name = "young"; nodes = "ALL"; preempt_mode = "requeue"; grace = "60s"; min_run = "1:00:00"; },
  { name = "urgent"; nodes = "ALL"; tier = 10; }
)"""
POLICY = f"""
accounts = (
  {{ name = "red"; members = [ "{RED}" ]; quota = {{ guaranteed = "h100:16"; }}; }},
  {{ name = "blue"; members = [ "{BLUE}" ]; quota = {{ guaranteed = "h100:16"; }}; }},
  {{ name = "rest"; members = [ "*" ]; }}
);
qos = (
  {{ name = "normal"; default = true; }},
  {{ name = "production"; priority = 100; preempts = [ "scavenger" ]; }},
  {{ name = "scavenger"; priority = -100; min_run = "0s"; }}
);
"""


@pytest.fixture(scope="module")
def judged():
    with Cluster(nodes=NODES, gpus="h100:8", cpus=64, partitions=PARTITIONS, policy=POLICY, start=False) as c:
        judge = Judge(c)
        c.start()
        yield c, judge


@pytest.fixture(name="jobs")
def fixture_jobs(judged):
    """After each test what the clients and the nodes saw is judged."""
    c, judge = judged
    rivals = Rivals(c, judge)
    yield rivals
    rivals.clear()
    judge.observe()
    judge.fact("quiet")
    judge.verdict()


def fill(jobs, user, *options, n=4, **kw):
    """So many jobs, each on a whole node."""
    ids = [jobs.submit(user, *WHOLE, *options, **kw) for _ in range(n)]
    jobs.wait_up(*ids)
    return ids


def preempted(c):
    """How many jobs were, by cause."""
    stats = json.loads(c.run("gctl", "stats", "--json").stdout)["stats"]
    return {s["name"].removeprefix("core.preempted_"): s["value"] for s in stats if s["name"].startswith("core.preempted_")}


def lent(c):
    """Of each account whole GPUs that it holds, has lent and has borrowed; over all, as much is lent as borrowed."""
    rows = json.loads(c.run("gshare", "--json").stdout)["shares"]
    gpus = {r["account"]: r["gpus"][0] for r in rows if not r["user"]}
    told = {a: tuple(g[k] // 1000 for k in ("held_milli", "lent_milli", "borrowed_milli")) for a, g in gpus.items()}
    assert sum(t[1] for t in told.values()) == sum(t[2] for t in told.values())
    return told


# --- two accounts -------------------------------------------------------------------------------

def test_what_is_lent_is_taken_back(judged, jobs):
    c, _ = judged
    before = preempted(c)
    red = fill(jobs, RED, account="red")  # 16 of its own, 16 borrowed
    assert lent(c) == {"red": (32, 0, 16), "blue": (0, 16, 0), "rest": (0, 0, 0)}
    table = c.run("gshare", "-h", "-A", "red,blue", "-o", "ACCOUNT,USER,HELD,LENT,BORROWED").stdout.splitlines()
    assert ["red", "h100:32", "h100:16"] in [line.split() for line in table] and ["blue", "h100:16"] in [line.split() for line in table]
    first = jobs.submit(BLUE, *WHOLE, account="blue")
    victim, why = jobs.wait_told(*red)
    left = int(why.pop("deadline")) - time.time()
    assert 0 < left <= 61
    assert why == {"reason": "reclaim", "by_job": str(first), "by_user": BLUE, "by_account": "blue", "by_qos": "normal",
                   "then": "requeue"}
    assert c.state(victim) == "COMPLETING" and c.state(first) == "PENDING"
    shown = c.run("gqueue", "--start", "-j", first, "-h", "-o", "SCHEDNODES").stdout.strip()
    node = c.job(victim)["node"]
    assert shown == node, "planned where room is made"
    jobs.say("ack", victim)
    jobs.wait_up(first)
    assert c.job(first)["node"] == node
    assert lent(c) == {"red": (24, 0, 8), "blue": (8, 8, 0), "rest": (0, 0, 0)}
    assert jobs.wait_reason(victim, "Resources", "Priority", "AssocGrpGRES")["attempt"] == 1
    assert jobs.told() == [victim], "no more than was needed"
    words = " ".join(c.run("gqueue", "--why", victim).stdout.split())
    assert f"Last note: preempted for job {first} of {BLUE} (reclaim)." in words
    assert preempted(c) == {"tier": before["tier"], "qos": before["qos"], "reclaim": before["reclaim"] + 1}

    # Blue takes back all that is its own, and nothing more.
    second = jobs.submit(BLUE, *WHOLE, account="blue")
    other, why = jobs.wait_told(*[j for j in red if j != victim])
    assert why["by_job"] == str(second)
    jobs.say("ack", other)
    jobs.wait_up(second)
    third = jobs.submit(BLUE, *WHOLE, account="blue")
    jobs.wait_reason(third, "Resources", "Priority", "AssocGrpGRES")
    assert sorted(jobs.told()) == sorted([victim, other])

    # When there is room the interrupted ones run again: nobody is stopped for them, nor for the third.
    jobs.end(first)
    c.wait_state(first, "COMPLETED")
    jobs.wait_up(third)
    jobs.end(second, third)
    jobs.wait_up(victim, other, attempt=2)
    assert sorted(jobs.told()) == sorted([victim, other])
    assert {j: c.job(j)["attempt"] for j in red} == {j: 2 if j in (victim, other) else 1 for j in red}


def test_private_jobs_do_not_say_who_takes_it_back(judged, jobs):
    c, _ = judged
    open_policy = c.policy
    c.policy += 'roles = { private_data = [ "jobs" ]; };\n'
    c.write_conf()
    c.run("gctl", "reconfigure")
    try:
        red = fill(jobs, RED, account="red")
        first = jobs.submit(BLUE, *WHOLE, account="blue")
        victim, why = jobs.wait_told(*red)
        del why["deadline"]
        assert why == {"reason": "reclaim", "by_qos": "normal", "then": "requeue"}
        assert c.job(victim)["comment"] == "preempted for another's job (reclaim)"
        jobs.say("ack", victim)
        jobs.wait_up(first)
    finally:
        c.policy = open_policy
        c.write_conf()
        c.run("gctl", "reconfigure")


def test_who_does_not_listen_has_his_grace(judged, jobs):
    c, _ = judged
    red = fill(jobs, RED, "-p", "quick", account="red")
    blue = jobs.submit(BLUE, *WHOLE, account="blue")
    victim, why = jobs.wait_told(*red)
    assert why["reason"] == "reclaim" and int(why["deadline"]) - time.time() <= 2
    jobs.wait_up(blue)
    jobs.wait_reason(victim, "Resources", "Priority", "AssocGrpGRES")
    assert jobs.told() == [victim]


# --- tiers, QOS, modes ---------------------------------------------------------------------------

def test_a_higher_tier(judged, jobs):
    c, _ = judged
    batch = fill(jobs, RED, account="red")
    urgent = jobs.submit(GREEN, "-p", "urgent", *WHOLE, account="rest")
    victim, why = jobs.wait_told(*batch)
    assert (why["reason"], why["by_user"], why["by_account"], why["then"]) == ("preempt", GREEN, "rest", "requeue")
    jobs.say("ack", victim)
    jobs.wait_up(urgent)
    jobs.end(urgent)
    jobs.wait_up(victim, attempt=2)
    assert jobs.told() == [victim]


def test_mode_cancel_and_no_requeue(judged, jobs):
    c, _ = judged
    dear = fill(jobs, RED, "-p", "dear", account="red", n=2) + fill(jobs, RED, "--no-requeue", account="red", n=2)
    urgent = [jobs.submit(GREEN, "-p", "urgent", *WHOLE, account="rest") for _ in dear]
    left = list(dear)
    while left:
        job, why = jobs.wait_told(*left)
        left.remove(job)
        assert (why["reason"], why["then"]) == ("preempt", "end")
        jobs.say("ack", job)
        assert c.wait_state(job, "PREEMPTED")["attempt"] == 1
    jobs.wait_up(*urgent)


def test_mode_off(judged, jobs):
    c, _ = judged
    safe = fill(jobs, RED, "-p", "safe", account="red")
    urgent = jobs.submit(GREEN, "-p", "urgent", *WHOLE, account="rest")
    jobs.wait_reason(urgent, "Resources")
    blue = jobs.submit(BLUE, *WHOLE, account="blue")
    jobs.wait_reason(blue, "Resources", "Priority")
    assert jobs.told() == []
    jobs.end(safe[0])
    jobs.wait_up(urgent)
    assert jobs.told() == [] and c.state(blue) == "PENDING"


def test_min_run_protects_unless_the_qos_says_otherwise(judged, jobs):
    young = fill(jobs, RED, "-p", "young", account="red", n=3)
    scavenger = fill(jobs, RED, "-p", "young", "--qos=scavenger", account="red", n=1)
    urgent = [jobs.submit(GREEN, "-p", "urgent", *WHOLE, account="rest") for _ in range(2)]
    assert jobs.wait_told(*young, *scavenger)[0] == scavenger[0]
    jobs.say("ack", scavenger[0])
    jobs.wait_up(urgent[0])
    jobs.wait_reason(urgent[1], "Resources")
    assert jobs.told() == scavenger


def test_a_qos_preempts_those_it_names(judged, jobs):
    c, _ = judged
    normal = fill(jobs, GREEN, account="rest", n=3)
    scavenger = fill(jobs, GREEN, "--qos=scavenger", account="rest", n=1)
    first = jobs.submit(GREEN, "--qos=production", *WHOLE, account="rest")
    victim, why = jobs.wait_told(*normal, *scavenger)
    assert victim == scavenger[0] and why["reason"] == "preempt" and why["by_qos"] == "production"
    jobs.say("ack", victim)
    jobs.wait_up(first)
    second = jobs.submit(GREEN, "--qos=production", *WHOLE, account="rest")
    jobs.wait_reason(second, "Resources")
    assert jobs.told() == scavenger and c.state(victim) == "PENDING"


def test_no_more_victims_than_needed(judged, jobs):
    """Two GPUs more are wanted than are free: of those that free them, who has least to lose."""
    c, _ = judged
    large = fill(jobs, RED, account="red", n=3)
    small = jobs.running(RED, "--gpus=h100:2", "--time=60", account="red")
    other = jobs.running(RED, "--gpus=h100:4", "--time=60", account="red")
    wait_until(lambda: 4 * c.job(other)["elapsed_s"] > 2 * c.job(small)["elapsed_s"] + 2, "the later one to have more to lose")
    urgent = jobs.submit(GREEN, "-p", "urgent", "--gpus=h100:4", "--time=60", account="rest")
    assert jobs.wait_told(*large, small, other)[0] == small
    jobs.say("ack", small)
    jobs.wait_up(urgent)
    assert jobs.told() == [small]


def test_what_a_checkpoint_made_safe_is_not_lost(judged, jobs):
    c, _ = judged
    first, *later = fill(jobs, RED, account="red")
    wait_until(lambda: min(c.job(j)["elapsed_s"] for j in later) >= 3, "work that would be lost")
    jobs.say("mark", first)
    wait_until(lambda: c.job(first).get("checkpoint_time"), lambda: f"the mark: {c.job(first)}")
    jobs.submit(GREEN, "-p", "urgent", *WHOLE, account="rest")
    assert jobs.wait_told(first, *later)[0] == first


def test_a_gang_makes_room_as_a_whole(judged, jobs):
    c, _ = judged
    gang = jobs.submit(RED, "--nodes=3", "--gpus-per-node=h100:8", "--time=60", account="red")
    jobs.wait_up(gang, ranks=3)
    safe = fill(jobs, RED, "-p", "safe", account="red", n=1)
    urgent = jobs.submit(GREEN, "-p", "urgent", *WHOLE, account="rest")
    for rank in range(3):
        _, why = jobs.wait_told(gang, rank=rank)
        assert (why["reason"], why["by_job"], why["then"]) == ("preempt", str(urgent), "requeue")
        jobs.say("ack", gang, rank=rank)
    jobs.wait_up(urgent)
    jobs.wait_reason(gang, "Resources", "Priority")
    jobs.end(urgent)
    jobs.wait_up(gang, attempt=2, ranks=3)
    assert c.state(safe[0]) == "RUNNING"


# --- faults in the midst of it -------------------------------------------------------------------

def test_controller_killed_before_the_victim_ends(judged, jobs):
    """The one it was done for gets the place, not those who waited longer."""
    c, _ = judged
    batch = fill(jobs, RED, account="red")
    waiting = jobs.submit(RED, *WHOLE, account="red")
    jobs.wait_reason(waiting, "Resources", "Priority", "AssocGrpGRES")
    urgent = jobs.submit(GREEN, "-p", "urgent", *WHOLE, account="rest")
    victim, _ = jobs.wait_told(*batch)
    for _ in range(3):
        c.ctld.kill()
        c.start_ctld()
        c.wait_nodes()
        assert c.state(victim) == "COMPLETING"
    jobs.wait_reason(urgent, "Resources", "Priority")
    jobs.say("ack", victim)
    jobs.wait_up(urgent)
    assert c.job(urgent)["attempt"] == 1
    assert jobs.told() == [victim] and c.state(waiting) == "PENDING" and c.state(victim) == "PENDING"


def test_controller_killed_while_it_reclaims(judged, jobs):
    c, _ = judged
    red = fill(jobs, RED, account="red")
    blue = [jobs.submit(BLUE, *WHOLE, f"--cpus-per-task={n}", account="blue") for n in (1, 2)]
    first, _ = jobs.wait_told(*red)
    c.ctld.kill()
    c.start_ctld()
    c.wait_nodes()
    second, _ = jobs.wait_told(*[j for j in red if j != first])
    jobs.say("ack", first)
    jobs.say("ack", second)
    jobs.wait_up(*blue)
    c.ctld.kill()
    c.start_ctld()
    c.wait_nodes()
    jobs.wait_reason(first, "Resources", "Priority", "AssocGrpGRES")
    assert sorted(jobs.told()) == sorted([first, second])
    jobs.end(*blue)
    jobs.wait_up(first, second, attempt=2)


def test_the_node_is_lost_meanwhile(judged, jobs):
    """The victim never ends, so room is made elsewhere."""
    c, _ = judged
    batch = fill(jobs, RED, account="red")
    urgent = jobs.submit(GREEN, "-p", "urgent", *WHOLE, account="rest")
    victim, _ = jobs.wait_told(*batch)
    node = c.job(victim)["node"]
    c.agents[node].kill()
    c.run("gctl", "node", "down", node, "no network")
    other, why = jobs.wait_told(*[j for j in batch if j != victim])
    assert why["by_job"] == str(urgent)
    jobs.say("ack", other)
    jobs.wait_up(urgent)
    assert c.job(urgent)["node"] != node
    c.start_agent(node)
    c.run("gctl", "resume", node)
    c.wait_nodes()
    jobs.say("ack", victim)
    wait_until(lambda: c.job(victim)["attempt"] == 2 or c.job(other)["attempt"] == 2, "one of the two to run again")
