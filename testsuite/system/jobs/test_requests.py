"""What jobs ask for of nodes and GPUs, and configurations that change under them."""

import pytest
from cluster import BUILD, Cluster, wait_until
from rivals import RED, Rivals

HARDWARE = """
gpu_types = ( { name = "h100"; mem = "80G"; }, { name = "l40s"; mem = "48G"; } );
nodes = ( { name = "h1"; cpus = 16; gpus = "h100:8"; features = [ "nvlink", "ib" ]; },
  { name = "h2"; cpus = 16; gpus = "h100:8"; features = [ "nvlink" ]; },
  { name = "s1"; cpus = 16; gpus = "l40s:8"; features = [ "ib", "slow" ]; } );
"""
BATCH = '{ name = "batch"; nodes = "ALL"; default = true; grace = "2s"; }'
EXTRA = '{ name = "extra"; nodes = "ALL"; grace = "2s"; }'
POLICY = f"""
accounts = ( {{ name = "red"; members = [ "{RED}", "root" ]; }}, {{ name = "side"; members = [ "{RED}", "root" ]; }} );
qos = ( {{ name = "normal"; default = true; }}, {{ name = "other"; }} );
"""
HOUR = ("--time=60",)


@pytest.fixture(name="c")
def fixture_c():
    with Cluster(nodes=("h1", "h2", "s1"), hardware=HARDWARE, partitions=f"( {BATCH}, {EXTRA} )", policy=POLICY) as c:
        yield c


def where(jobs, *options):
    job = jobs.running(RED, *HOUR, *options, account="red")
    nodes = jobs.c.job(job)["nodes"]
    jobs.end(job)
    jobs.c.wait_state(job, "COMPLETED")
    return nodes


def test_places(c):
    jobs = Rivals(c)
    assert where(jobs, "--gpus=h100:4|l40s:4") in ("h1", "h2")
    assert where(jobs, "--gpus=l40s:1") == "s1"
    assert where(jobs, "--gpus=1", "--gpu-mem-min=60G", "-C", "ib") == "h1"
    assert where(jobs, "-C", "nvlink&!ib") == "h2"
    assert where(jobs, "-C", "slow|nvlink&ib", "-x", "s1") == "h1"
    assert where(jobs, "--gpus=h100:1", "--prefer", "ib") == "h1"
    assert where(jobs, "-w", "h2") == "h2"
    assert where(jobs, "--nodes=2-3", "--gpus-per-node=h100:2") == "h[1-2]"
    assert where(jobs, "--nodes=2-3", "--gpus=h100:12") == "h[1-2]"
    # The second choice where the first is taken.
    both = [jobs.running(RED, *HOUR, "--gpus=h100:8", account="red") for _ in range(2)]
    assert where(jobs, "--gpus=h100:4|l40s:4") == "s1"
    alone = jobs.submit(RED, *HOUR, "--exclusive", "-w", "h1", account="red")
    jobs.wait_reason(alone, "Resources")
    jobs.end(*both)
    jobs.wait_up(alone)
    assert c.job(alone)["nodes"] == "h1"
    late = jobs.submit(RED, *HOUR, "-w", "h1", account="red")
    jobs.wait_reason(late, "Resources")
    jobs.end(alone)
    jobs.wait_up(late)
    for wrong in (["-C", "nosuch"], ["-C", "nvlink&"], ["-w", "h9"], ["--gpus=h100:9"], ["--gpus=a100:1"], ["--nodes=4"],
                  ["--gpu-mem-min=90G", "--gpus=1"], ["--gpus=l40s:1", "--gpu-mem-min=60G"], ["-x", "h[1-2],s1"]):
        r = c.run("gsubmit", "-A", "red", *wrong, stdin="#!/bin/sh\n", check=False, **jobs.who(RED))
        assert r.returncode in (1, 2, 3) and r.stderr.startswith("gsubmit: error: "), (wrong, r.stdout, r.stderr)
    jobs.clear()


def test_a_mistake_changes_nothing(c):
    """All mistakes are named with their lines, and what is in force stays."""
    before = c.run("gctl", "show", "config").stdout
    good = c.conf_text()
    c.write_conf(good.replace('name = "side";', 'name = "side"; quota = { guaranteed = "h100:17"; };')
                 .replace('name = "other";', 'name = "other"; preempts = [ "nosuch" ];'))
    r = c.run("gctl", "reconfigure", check=False)
    assert r.returncode == 1 and "accounts[1].quota: h100 guaranteed to side = 17, the nodes have 16" in r.stderr, r.stderr
    assert "1 more mistakes" in r.stderr
    r = c.run(BUILD / "ctld/gctld", "--test-config", c.conf, check=False)
    assert r.returncode == 1 and "= 17, the nodes have 16" in r.stderr + r.stdout and "nosuch" in r.stderr + r.stdout
    c.write_conf(good.replace('name = "other";', 'name = "other"; preempts = [ "normal" ];')
                 .replace('name = "normal";', 'name = "normal"; preempts = [ "other" ];'))
    r = c.run("gctl", "reconfigure", check=False)
    assert r.returncode == 1 and "normal" in r.stderr and "other" in r.stderr, r.stderr
    c.write_conf(good.replace('name = "side";', 'name = "side"; parent = "side";'))
    assert c.run("gctl", "reconfigure", check=False).returncode == 1
    assert c.run("gctl", "show", "config").stdout == before
    c.write_conf(good)
    c.run("gctl", "reconfigure")


@pytest.mark.parametrize("kind", ["partition", "account", "qos"])
def test_what_is_taken_away_under_jobs(c, kind):
    """Runs go on to their end. What waits for a partition waits until that is there again; without account or QOS it goes on."""
    options = {"partition": ["-p", "extra"], "account": ["-A", "side"], "qos": ["-q", "other"]}[kind]
    jobs = Rivals(c)
    account = None if kind == "account" else "red"
    runs = jobs.running(RED, "--gpus=h100:8", "-w", "h1", *HOUR, *options, account=account)
    stays = jobs.running(RED, "--gpus=h100:8", "-w", "h2", *HOUR, *options, account=account)
    waits = jobs.submit(RED, "--gpus=h100:8", *HOUR, *options, account=account)
    jobs.wait_reason(waits, "Resources")
    good = c.conf_text()
    less = {"partition": good.replace(f", {EXTRA}", ""), "qos": good.replace(', { name = "other"; }', ""),
            "account": good.replace(f', {{ name = "side"; members = [ "{RED}", "root" ]; }}', "")}[kind]
    assert less != good
    c.write_conf(less)
    told = c.run("gctl", "reconfigure").stdout
    name = {"partition": "extra", "account": "side", "qos": "other"}[kind]
    assert name in told and "removed" in told, told
    held = wait_until(lambda: c.job(waits)["reason_text"], "a reason")
    assert c.state(runs) == c.state(stays) == "RUNNING" and c.state(waits) == "PENDING"
    assert kind != "partition" or held == "its partition is no longer configured"
    r = c.run("gsubmit", *options, stdin="#!/bin/sh\n", check=False, **jobs.who(RED))
    assert r.returncode == 3 and name in r.stderr
    c.ctld.kill()
    c.start_ctld()
    c.wait_nodes()
    assert c.state(runs) == "RUNNING" and c.job(runs)["attempt"] == 1
    jobs.end(runs)
    c.wait_state(runs, "COMPLETED")
    if kind == "partition":
        assert c.state(waits) == "PENDING"
        c.write_conf(good)
        c.run("gctl", "reconfigure")
    jobs.wait_up(waits)
    jobs.clear()
