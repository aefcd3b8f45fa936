"""Quota of parts of GPUs: who borrows with parts gives back just as many as are reclaimed, and what all of them used is the same everywhere."""

import json
import re

import pytest
from cluster import Cluster, wait_until
from rivals import BLUE, RED, Rivals
from test_sums import CPU, agree, listed

PRICE = 8.0
HARDWARE = f"""
gpu_types = ( {{ name = "l40s"; mem = "48G"; mem_reserve = "8G"; price = {PRICE}; }} );
nodes = ( {{ name = "n1"; cpus = 32; mem = "64G"; gpus = "l40s:4"; share = "watch"; }} );
"""
PARTITIONS = '( { name = "batch"; nodes = "ALL"; default = true; preempt_mode = "requeue"; grace = "60s"; } )'
POLICY = f"""
prices = {{ currency = "EUR"; cpu = {CPU}; }};
accounts = (
  {{ name = "red"; members = [ "{RED}" ]; quota = {{ guaranteed = "l40s:2"; }}; }},
  {{ name = "blue"; members = [ "{BLUE}" ]; quota = {{ guaranteed = "l40s:2"; }}; }} );
"""
HALVES = (["--gpu-share=50%"], ["--gpu-mem=20G"])


@pytest.fixture(scope="module")
def cluster():
    with Cluster(nodes=("n1",), cpus=32, hardware=HARDWARE, partitions=PARTITIONS, policy=POLICY) as c:
        yield c


def why(c, job):
    return " ".join(c.run("gqueue", "--why", job).stdout.split())


def gpu_of(c, job):
    """The GPU that it has, as the node's list says."""
    devices = json.loads(c.run("ginfo", "--gpus", "--json", "n1").stdout)["nodes"][0]["devices"]
    return next(d["index"] for d in devices if job in [r["job"] for r in d["runs"]])


def test_just_enough_is_given_back(cluster):
    c, jobs = cluster, Rivals(cluster)
    red = [jobs.submit(RED, "--time=60", *HALVES[n % 2], account="red") for n in range(8)]  # 2 of its own, 2 borrowed
    jobs.wait_up(*red)
    cards = {job: gpu_of(c, job) for job in red}
    assert sorted(cards.values()) == [0, 0, 1, 1, 2, 2, 3, 3]

    # A whole one: the two on one card go, no others.
    whole = jobs.submit(BLUE, "--time=60", "--gpus=l40s:1", account="blue")
    first, told = jobs.wait_told(*red)
    second, _ = jobs.wait_told(*[j for j in red if j != first])
    assert (told["reason"], told["by_job"], told["by_account"], told["then"]) == ("reclaim", str(whole), "blue", "requeue")
    assert cards[first] == cards[second]
    waits = why(c, whole)
    jobs.say("ack", first)
    jobs.say("ack", second)
    jobs.wait_up(whole)
    assert sorted(jobs.told()) == sorted((first, second)), "no more than was needed"
    ends = re.search(r"on n1, (\d+), (\d+) must", waits)
    assert ends and {int(i) for i in ends.groups()} == {first, second}, waits

    # Two halves: one borrower for each.
    for n in range(2):
        left = [j for j in red if j not in jobs.told()]
        half = jobs.submit(BLUE, "--time=60", *HALVES[n], account="blue")
        victim, told = jobs.wait_told(*left)
        assert told["by_job"] == str(half)
        jobs.say("ack", victim)
        jobs.wait_up(half)
        assert len(jobs.told()) == 3 + n

    # Blue has all that is guaranteed to it: half a GPU more it does not get from red, who is no longer over its own.
    last = jobs.submit(BLUE, "--time=60", "--gpu-share=50%", account="blue")
    jobs.wait_reason(last, "Resources", "Priority", "AssocGrpGRES")
    words = why(c, last)
    assert "needs any:1/50% on one node of batch" in words and "It needs 50% of each GPU." in words, words
    assert len(jobs.told()) == 4
    words = why(c, first)
    assert f"Last note: preempted for job {whole} of {BLUE} (reclaim)." in words, words

    # All end; what each had of a GPU is what it is billed, everywhere.
    jobs.end(*jobs.ids)
    wait_until(lambda: not c.run("gqueue", "-h").stdout, "all jobs to end")
    assert len(agree(c, jobs.ids, {"l40s": PRICE})) == len(jobs.ids) + 4
    for job in listed(c, "--runs"):
        for run in job["runs"]:
            assert abs(run["gpu_us"] - (1 if job["id"] == whole else 0.5) * run["held_us"]) <= 1, run
