"""A backup is restored under what ran since: nothing that a node knows of is lost to accounting, and nothing is billed
twice."""

import json
import os

from cluster import ROOT, Cluster, unprivileged, wait_until
from test_backup import backup, restore

USERS = ("games", "man") if ROOT else (unprivileged().pw_name,) * 2
POLICY = f'accounts = ( {{ name = "vision"; members = [ "{USERS[0]}" ]; }}, {{ name = "speech"; members = [ "{USERS[1]}" ]; }} );'


def until(name):
    return f"while ! [ -e {name} ]; do sleep 0.05; done; echo x >>ran-$GPUSCHED_JOB_ID"


def records(c):
    """Of each job, or task, what gacct says: whose it is, how it ended, and how long its runs held GPUs."""
    jobs = json.loads(c.run("gacct", "--json", "--runs", "--since=now-1hours").stdout)["jobs"]
    return {(j["id"], j["tasks"] if j["array"] else ""): j for j in jobs if not j.get("several")}


def used(c):
    lines = json.loads(c.run("greport", "use", "--json", "--by=account", "--since=now-1hours").stdout)["report"]
    return {line["keys"][0]: line["gpu_us"] for line in lines if line.get("keys")}


def free(c):
    return {n["name"]: n["gpus"][0]["free"] for n in json.loads(c.run("ginfo", "--nodes", "--json").stdout)["nodes"]}


def test_runs_of_jobs_that_the_backup_does_not_know_are_billed():
    with Cluster(nodes=("n1", "n2"), gpus="demo:8", controller='keep_ended = "1s";', policy=POLICY) as c:
        first, second = ({"user": u} for u in USERS)
        before = c.submit("true", "--gpus=1", "-A", "vision", **first)
        known = c.submit(until("end-b"), "--gpus=1", "-A", "vision", **first)
        waits = c.submit("echo x >>again", "--gpus=1", "--hold", "-A", "vision", **first)
        c.wait_state(known, "RUNNING")
        wait_until(lambda: before not in c.jobs("--all"), "the first to be history")
        path = backup(c)
        # Since then: three that live over the restore, on one node and on two and as a task; as many that end while
        # there is no controller; one that has ended and is history by then.
        lives = c.submit(until("end-b"), "--gpus=1", "-J", "lives", "-A", "vision", **first)
        ends = c.submit(until("end-a") + "; exit 3", "--gpus=2", "-J", "ends", "-A", "speech", **second)
        gang = c.submit(until("end-b"), "--gpus=2", "-N", "2", "-A", "speech", **second)
        gang_ends = c.submit(until("end-a"), "--gpus=2", "-N", "2", "-A", "vision", **first)
        array = c.submit("if [ $GPUSCHED_ARRAY_TASK_ID = 3 ]; then " + until("end-a") + "; else " + until("end-b") + "; fi",
                         "--gpus=1", "--array=3-4", "-A", "speech", **second)
        c.run("gctl", "release", waits)
        wait_until(lambda: waits not in c.jobs("--all"), "what waited to be history")
        wait_until(lambda: {j["state"] for j in c.jobs().values()} == {"RUNNING"}, "all to run")
        over = set(records(c))
        c.ctld.kill()
        wait_until(lambda: len(c.shepherds()) <= 9, "those of ended jobs to end")
        assert len(c.shepherds()) == 9  # of known, lives, ends, two and two of the gangs and two tasks
        (c.dir / "jobs/end-a").touch()
        wait_until(lambda: len(c.shepherds()) == 5, "those to end that are to end now")
        restore(c, path)
        c.start_ctld("--takeover")
        c.wait_nodes()
        # An agent that comes again says all of it again.
        c.agents["n1"].kill()
        c.start_agent("n1")
        c.wait_nodes()
        c.ctld.kill()
        c.start_ctld()
        c.wait_nodes()
        (c.dir / "jobs/end-b").touch()
        wait_until(lambda: not c.shepherds() and set(free(c).values()) == {8}, "all to end")

        def told():
            return set(records(c)) >= over | {(j, "") for j in (known, lives, ends, gang, gang_ends)} | {(array, "3"), (array, "4")}
        wait_until(told, lambda: f"all of it to be in the history: {sorted(records(c))}")
        r = records(c)
        for job, user, account, runs in ((lives, 0, "vision", 1), (ends, 1, "speech", 1), (gang, 1, "speech", 2),
                                         (gang_ends, 0, "vision", 2), ((array, "3"), 1, "speech", 1), ((array, "4"), 1, "speech", 1)):
            one = r[job if isinstance(job, tuple) else (job, "")]
            assert (one["user"], one["account"]) == (USERS[user], account), one
            assert len(one["runs"]) == runs and all(x["account"] == account and x["gpu_us"] > 0 for x in one["runs"]), one
            assert one["state"] == ("FAILED" if job == ends else "COMPLETED") and one["partition"] == "batch"
        assert r[lives, ""]["name"] == "lives" and r[ends, ""]["exit_code"] == 3
        # What waited at the backup and has run since: whatever becomes of it now, no run of it is lost.
        assert (c.dir / "jobs/again").read_text() == "x\n" * sum(1 for x in r[waits, ""]["runs"])
        sums = {a: sum(x["gpu_us"] for one in r.values() for x in one["runs"] if x["account"] == a) for a in ("vision", "speech")}
        assert used(c) == sums
        # And so it stays, whoever comes again.
        shares = c.run("gshare", "--json").stdout
        for node in c.nodes:
            c.agents[node].kill()
            c.start_agent(node)
        c.wait_nodes()
        c.ctld.stop()
        c.start_ctld()
        c.wait_nodes()
        assert used(c) == sums
        usage = {s["user"]: s["gpu_us"] for s in json.loads(shares)["shares"] if s["user"]}
        again = {s["user"]: s["gpu_us"] for s in json.loads(c.run("gshare", "--json").stdout)["shares"] if s["user"]}
        assert usage == again
        # Of what its state knows by now gshare has each run once.
        for i, user in enumerate(USERS):
            mine = sum(x["gpu_us"] for one in r.values() for x in one["runs"] if one["user"] == user)
            assert usage[user] <= mine or i
