"""Planned starts: who is first waits no longer than was said, and what fits before it may pass.

All jobs are of one user: what he used before counts for all of them alike.
"""

import json

import pytest
from cluster import Cluster, wait_until
from rivals import RED, Rivals

PARTITIONS = """(
  { name = "batch"; nodes = "ALL"; default = true; grace = "2s"; },
  { name = "shallow"; nodes = "ALL"; grace = "2s"; plan_depth = 1; },
  { name = "prime"; nodes = "ALL"; tier = 5; grace = "2s"; }
)"""
HOUR = 3600


@pytest.fixture(scope="module")
def cluster():
    with Cluster(nodes=("n1", "n2"), gpus="h100:8", cpus=64, partitions=PARTITIONS) as c:
        yield c


@pytest.fixture(name="jobs")
def fixture_jobs(cluster):
    rivals = Rivals(cluster)
    yield rivals
    rivals.clear()


def planned(cluster, job):
    """When and where it is planned to start, in seconds from its submit; None: it is not."""
    j = cluster.job(job)
    return (j["planned_start_time"] - j["submit_time"], j["planned_nodes"]) if j.get("planned_start_time") else None


def wait_planned(cluster, job):
    return wait_until(lambda: planned(cluster, job), lambda: f"a planned start: {cluster.job(job)}")


def why(cluster, job):
    return json.loads(cluster.run("gqueue", "--why", job, "--json").stdout)["jobs"][0]["why"]


def blocked(cluster, jobs):
    """n1 is full for an hour, n2 half full for two; a gang of both waits for them."""
    one = jobs.running(RED, "--gpus=8", "--time=60", "-w", "n1")
    two = jobs.running(RED, "--gpus=4", "--time=120", "-w", "n2")
    gang = jobs.submit(RED, "--nodes=2", "--gpus-per-node=h100:8", "--time=60")
    when, where = wait_planned(cluster, gang)
    assert 2 * HOUR - 60 <= when <= 2 * HOUR + 60 and where == "n[1-2]"
    return one, two, gang


def test_what_is_short_passes_and_what_is_long_does_not(cluster, jobs):
    one, two, gang = blocked(cluster, jobs)
    before = planned(cluster, gang)
    long = jobs.submit(RED, "--gpus=4", "--time=10:00:00")
    wait_planned(cluster, long)
    short = jobs.submit(RED, "--gpus=4", "--time=30")
    jobs.wait_up(short)
    assert cluster.job(short)["node"] == "n2"
    assert cluster.state(long) == "PENDING" and planned(cluster, long)[0] >= before[0], "behind the gang"
    assert planned(cluster, gang) == before
    text = cluster.run("gqueue", "--why", gang).stdout
    assert "PLANNED START" in text and "n[1-2]" in text and "no backfilled job can delay it" in text
    def rows():
        return [r.split()[:2] for r in cluster.run("gqueue", "--start", "-h", "-o", "JOBID,POS").stdout.splitlines()]
    wait_until(lambda: rows() == [[str(gang), "1"], [str(long), "2"]], lambda: f"the gang first: {rows()}")
    # All end early: the gang starts at once, then the long one.
    jobs.end(short, one)
    cluster.wait_state(short, "COMPLETED")
    assert cluster.state(long) == "PENDING"
    jobs.end(two)
    jobs.wait_up(gang, ranks=2)
    assert cluster.state(long) == "PENDING"
    jobs.end(gang)
    jobs.wait_up(long)


def test_without_a_limit_nothing_passes(cluster, jobs):
    one, two, gang = blocked(cluster, jobs)
    endless = jobs.submit(RED, "--gpus=1", "--time=unlimited")
    wait_until(lambda: cluster.job(endless)["reason"], "a reason")
    # As many as are left beside it, for as long as that is; grace and rounding count too.
    fits = jobs.running(RED, "--gpus=1", "--time=60")
    assert cluster.state(endless) == "PENDING" and cluster.state(gang) == "PENDING"
    jobs.end(one, two, fits)
    jobs.wait_up(gang, ranks=2)
    jobs.end(gang)
    jobs.wait_up(endless)


def test_an_early_end_moves_it_up(cluster, jobs):
    """What was said is kept or bettered, and the first promise is remembered."""
    one, two, gang = blocked(cluster, jobs)
    first = why(cluster, gang)["first_planned_start_time"]
    jobs.end(two)
    cluster.wait_state(two, "COMPLETED")
    wait_until(lambda: planned(cluster, gang)[0] <= HOUR + 60, lambda: f"an earlier plan: {cluster.job(gang)}")
    assert why(cluster, gang)["first_planned_start_time"] == first
    jobs.end(one)
    jobs.wait_up(gang, ranks=2)


def test_a_higher_tier_goes_first(cluster, jobs):
    one, two, gang = blocked(cluster, jobs)
    prime = jobs.submit(RED, "-p", "prime", "--nodes=2", "--gpus-per-node=8", "--time=60")
    when, _ = wait_planned(cluster, prime)
    assert when <= 2 * HOUR + 60
    wait_until(lambda: planned(cluster, gang) and planned(cluster, gang)[0] >= when + HOUR - 60,
               lambda: f"the gang's plan behind the other's: {cluster.job(gang)}")
    jobs.end(one, two)
    jobs.wait_up(prime, ranks=2)
    assert cluster.state(gang) == "PENDING"
    jobs.end(prime)
    jobs.wait_up(gang, ranks=2)


def test_plan_depth(cluster, jobs):
    jobs.running(RED, "-p", "shallow", "--gpus=8", "--time=60", "-w", "n1")
    jobs.running(RED, "-p", "shallow", "--gpus=8", "--time=60", "-w", "n2")
    first = jobs.submit(RED, "-p", "shallow", "--gpus=8", "--time=60")
    wait_planned(cluster, first)
    second = jobs.submit(RED, "-p", "shallow", "--gpus=7", "--time=60")
    wait_until(lambda: cluster.job(second)["reason"], "a reason")
    assert planned(cluster, second) is None and planned(cluster, first)
    # Another partition has its own depth.
    third = jobs.submit(RED, "--gpus=7", "--time=60")
    wait_planned(cluster, third)


def test_what_is_planned_outlives_the_controller(cluster, jobs):
    one, two, gang = blocked(cluster, jobs)
    first = why(cluster, gang)["first_planned_start_time"]
    cluster.ctld.kill()
    cluster.start_ctld()
    cluster.wait_nodes()
    wait_until(lambda: (planned(cluster, gang) or (0, ""))[1] == "n[1-2]", "the gang's plan")
    assert planned(cluster, gang)[0] <= 2 * HOUR + 60
    assert why(cluster, gang)["first_planned_start_time"] == first
    long = jobs.submit(RED, "--gpus=4", "--time=10:00:00")
    wait_planned(cluster, long)
    assert cluster.state(long) == "PENDING"
    jobs.end(one, two)
    jobs.wait_up(gang, ranks=2)
    assert cluster.job(gang)["attempt"] == 1


def test_a_drained_node_moves_the_plan(cluster, jobs):
    """Where what is planned on is lost, the plan moves and says for what."""
    one, two, gang = blocked(cluster, jobs)
    cluster.run("gctl", "drain", "n2", "new driver")
    wait_until(lambda: planned(cluster, gang) is None or "n2" not in planned(cluster, gang)[1],
               lambda: f"no plan on a drained node: {cluster.job(gang)}")
    held = " ".join(b["text"] for b in why(cluster, gang)["blockers"])
    assert "drain" in held
    cluster.run("gctl", "resume", "n2")
    wait_planned(cluster, gang)
    jobs.end(one, two)
    jobs.wait_up(gang, ranks=2)
