"""What was used, from three sides: gacct's runs, greport's lines and gshare's undecayed usage are the same to the microsecond,
of whole GPUs, parts of them and MIG instances, however often the controller was killed."""

import json
import os
import random

import pytest
from cluster import BIN, SANITIZED, Cluster, Daemon, wait_until
from rivals import BLUE, GREEN, RED, Rivals

KILLS = int(os.environ.get("GPUSCHED_TEST_KILLS", "40" if SANITIZED else "200"))

PRICES = {"h100": 4.0, "l40s": 8.0, "1g.10gb": 0.5, "3g.40gb": 1.5}
CPU = 0.25
HARDWARE = f"""
gpu_types = ( {{ name = "h100"; mem = "80G"; price = {PRICES["h100"]}; }},
  {{ name = "l40s"; mem = "48G"; mem_reserve = "8G"; price = {PRICES["l40s"]}; }},
  {{ name = "1g.10gb"; mem = "10G"; mig_of = "h100"; price = {PRICES["1g.10gb"]}; }},
  {{ name = "3g.40gb"; mem = "40G"; mig_of = "h100"; price = {PRICES["3g.40gb"]}; }} );
nodes = ( {{ name = "s[1-2]"; cpus = 64; gpus = "l40s:2"; share = "watch"; }},
  {{ name = "m[1-2]"; cpus = 64; gpus = "h100:1";
    mig = ( {{ gpus = "0"; layout = "1g.10gb:7"; }}, {{ gpus = "1"; layout = "3g.40gb:2"; }} ); }} );
"""
ACCOUNTS = ((RED, "red"), (BLUE, "blue"), (GREEN, "rest"))
POLICY = f"""
prices = {{ currency = "EUR"; cpu = {CPU}; }};
accounts = ( {{ name = "lab"; }}, {{ name = "red"; parent = "lab"; members = [ "{RED}" ]; }},
  {{ name = "blue"; parent = "lab"; members = [ "{BLUE}" ]; }}, {{ name = "rest"; members = [ "*" ]; }} );
"""
ASKS = (["--gpus=h100:1"], ["--gpus=l40s:2"], ["--gpu-share=25%"], ["--gpu-mem=10G"], ["--gpu-mem=20G", "--gpu-share=40%"],
        ["--nodes=2", "--gpus-per-node=h100:1"], ["--gpus=1g.10gb:3"], ["--gpus=3g.40gb:1"], ["--gpus=1g.10gb:1", "--array=0-4%2"], ["--gpu-share=10%", "--array=1-3"], [])


@pytest.fixture(scope="module")
def cluster():
    with Cluster(nodes=("s1", "s2", "m1", "m2"), start=False, hardware=HARDWARE, policy=POLICY, controller='keep_ended = "3s";') as c:
        c.start_munged()
        c.start_ctld()
        c.agents["sim"] = Daemon("gnoded --simulate", [BIN["gnoded"], "--simulate=0", "--nodes=s[1-2],m[1-2]"],
                                 c.dir / "log/simulate.log", c.env)
        c.wait_nodes()
        yield c


def listed(c, *options, files=()):
    """In the controller and its history, and in archives."""
    return [j for source in ([], *([f"--file={f}"] for f in files))
            for j in json.loads(c.run("gacct", "--json", *source, *options).stdout)["jobs"]]


def part_of(run):
    """What one of its GPUs counts as."""
    return run["gpu_us"] / (run["held_us"] * len(run["gpus"])) if run.get("gpus") and run["held_us"] else None


def report(c, *by, files=()):
    """Lines of all sources, added up."""
    sums = {}
    for source in ([], *([f"--file={f}"] for f in files)):
        for line in json.loads(c.run("greport", "use", "--json", *source, *[f"--by={b}" for b in by]).stdout)["report"]:
            into = sums.setdefault(tuple(line.get("keys", [])), dict.fromkeys(("gpu_us", "cost"), 0))
            for what in into:
                into[what] += line[what]
    return sums


def agree(c, ids, prices=None, files=()):
    """All sums are the same, of runs on GPUs of just these types."""
    # Also those that were cancelled before they had a run.
    assert {j["id"] for j in listed(c, files=files)} == set(ids)
    jobs = listed(c, "--runs", files=files)
    runs = [(j["user"], r) for j in jobs for r in j["runs"]]
    assert len({(j["id"], j.get("part", 0)) for j in jobs}) == len(jobs)
    # gacct's runs are gshare's users' ...
    shares = json.loads(c.run("gshare", "--json").stdout)["shares"]
    users = {(s["account"], s["user"]): s for s in shares if s["user"]}
    assert {(r["account"], user) for user, r in runs} == set(users)
    for (account, user), s in users.items():
        of = [r for u, r in runs if (r["account"], u) == (account, user)]
        assert sum(r["gpu_us"] for r in of) == s["gpu_us"]
        assert sum(r["held_us"] * r["cpus"] for r in of) == s["cpu_us"]
        assert sum(r["cost"] for r in of) == pytest.approx(s["cost"], abs=1e-6)
    # ... and greport's lines, by whatever they are told apart.
    total = sum(s["gpu_us"] for s in users.values())
    accounts = {s["account"]: s["gpu_us"] for s in shares if not s["user"] and s["account"] != "root"}
    lines = report(c, "account", files=files)
    assert {a: lines[(a,)]["gpu_us"] for a in accounts} == accounts
    for by in ("user", "gpu", "day", "state", "partition"):
        lines = report(c, by, files=files)
        assert lines[()]["gpu_us"] == total == sum(line["gpu_us"] for keys, line in lines.items() if keys)
        assert lines[()]["cost"] == pytest.approx(sum(r["cost"] for _, r in runs), abs=1e-6 * len(runs))
    types = report(c, "gpu", files=files)
    for kind, price in (prices or PRICES).items():
        of = [r for _, r in runs if r["gpu_type"] == kind]
        assert of and sum(r["gpu_us"] for r in of) == types[(kind,)]["gpu_us"]
        for r in of:
            assert r["cost"] == pytest.approx(r["gpu_us"] * price / 3600e6 + r["held_us"] * r["cpus"] * CPU / 3600e6, abs=2e-6)
    return runs


def test_whole_gpus_parts_and_instances_after_many_kills(cluster):
    c = cluster
    rivals, rng, ids = Rivals(c), random.Random(22), []
    for n in range(KILLS):
        user, account = ACCOUNTS[n % 3]
        ids.append(rivals.submit(user, "--label", f"sim={rng.choice((0, 0.2, 1))}:{rng.choice((0, 0, 1))}", "--time=60",
                                 *ASKS[n % len(ASKS)], account=account))
        if n % 7 == 6:
            # Each may have ended, or not begun.
            c.run("gcancel", rng.choice(ids[-7:]), check=False)
            c.run("gctl", "requeue", rng.choice(ids[-7:]), check=False)
            stopped = rng.choice(ids[-7:])
            for verb in ("suspend", "resume"):
                c.run("gctl", verb, stopped, check=False)
        c.ctld.kill()
        c.start_ctld()
    c.wait_nodes()
    wait_until(lambda: not c.run("gqueue", "--noheader").stdout, "all jobs to end", 120)
    agree(c, ids)
    wait_until(lambda: not c.jobs("--all"), "all jobs to become history")
    runs = agree(c, ids)
    parts = {round(part, 3) for _, r in runs if (part := part_of(r)) and r["held_us"] > 1e5}
    assert {0.1, 0.25, 0.5, 1} <= parts
    # Half of it goes into a file, then the rest into another, and new jobs come: nothing is lost or counted twice.
    files = [c.dir / "state/old.db", c.dir / "state/older.db"]
    c.run("gctl", "archive", "--older-than=0s", files[0])
    agree(c, ids)
    c.run("gctl", "archive", "--older-than=0s", "--delete", files[0])
    assert not listed(c)
    for _ in range(2):
        ids += [rivals.submit(RED, "--label", "sim=0.2:0", "--time=60", *asks, account="red") for asks in ASKS]
        wait_until(lambda: not c.run("gqueue", "--noheader").stdout, "all jobs to end", 120)
        wait_until(lambda: not c.jobs("--all"), "all jobs to become history")
        agree(c, ids, files=files[:1])
    c.run("gctl", "archive", "--older-than=0s", "--delete", files[1])
    c.ctld.kill()
    c.start_ctld()
    agree(c, ids, files=files)
