"""The audit trail: each verb of ctld/core/accounts/roles.h that changes something leaves an event that says who, what, when, from
where and why."""

import json
import pwd
import re
import signal
import subprocess
import time

import pytest
from cluster import BIN, ROOT, TOP, Cluster, wait_until

pytestmark = pytest.mark.skipif(not ROOT, reason="needs other users")

OWNER, HEAD, OPERATOR, ADMIN = "games", "news", "bin", "sys"
POLICY = f"""
accounts = ( {{ name = "red"; members = [ "{OWNER}" ]; coordinators = [ "{HEAD}" ]; }}, {{ name = "blue"; }} );
default_account = "red";
roles = {{ admins = [ "{ADMIN}" ]; operators = [ "{OPERATOR}" ]; }};
"""
PARTITIONS = '( { name = "batch"; nodes = "ALL"; default = true; grace = "2s"; }, { name = "other"; nodes = "ALL"; } )'
WHY = "--reason=ticket 4711"


class Job:
    """A job of OWNER for one change, as it must be for that: it waits held, or runs."""

    def __init__(self, c, runs=False):
        self.id = c.submit("sleep 600", *([] if runs else ["--hold", "--account=red"]), "--time=10", user=OWNER)
        if runs:
            c.wait_state(self.id, "RUNNING")


def waiting(c):
    return Job(c).id


def running(c):
    return Job(c, runs=True).id


def suspended(c):
    job = running(c)
    c.run("gctl", "suspend", job)
    c.wait_state(job, "SUSPENDED")
    return job


def held_by(user):
    def make(c):
        job = waiting(c)
        c.run("gctl", "hold", job, user=user)
        return job
    return make


def nothing(c):
    return None


def draining(c):
    c.run("gctl", "drain", "n2", "first")


def draining_gpu(c):
    c.run("gctl", "drain", "n2:0", "first")


def down(c):
    c.run("gctl", "node", "down", "n2", "first")


JOB = "JOB"  # stands for the job's id
# Verb: who does it, to what, the words, the event that it leaves, what of it is said besides who and why.
CHANGES = {
    "VERB_SUBMIT": [(OWNER, nothing, ["gsubmit", "--hold", "--comment=ticket 4711", "-J", "trial", "--wrap=true"], "job.submit",
                     "trial")],
    "VERB_RECONFIGURE": [(ADMIN, nothing, ["gctl", "reconfigure"], "controller.reconfigure", "0 changes")],
    "VERB_SHUTDOWN": [(ADMIN, nothing, ["gctl", "shutdown"], "controller.shutdown", "")],
    "VERB_BACKUP": [(ADMIN, nothing, ["gctl", "backup", "DIR/state/audit.db"], "controller.backup", "state/audit.db")],
    "VERB_ARCHIVE": [(ADMIN, nothing, ["gctl", "archive", "--older-than=1d", "DIR/state/old.db"], "controller.archive", "state/old.db")],
    "VERB_NODE": [
        (OPERATOR, nothing, ["gctl", "drain", "n1"], "node.drain", ""),
        (OPERATOR, draining, ["gctl", "resume", "n2"], "node.resume", ""),
        (OPERATOR, nothing, ["gctl", "drain", "n2:1"], "node.drain", "1: "),
        (OPERATOR, draining_gpu, ["gctl", "resume", "n2:0"], "node.resume", "0: "),
        (OPERATOR, nothing, ["gctl", "node", "down", "n2"], "node.down", ""),
        (OPERATOR, down, ["gctl", "resume", "n1,n2"], "node.resume", ""),
        (OPERATOR, nothing, ["gctl", "node", "clear", "n1"], "node.clear", "")],
    "VERB_PARTITION": [(OPERATOR, nothing, ["gctl", "partition", "other", "drain"], "partition.state", "other: drain")],
    "VERB_JOB_CANCEL": [(OWNER, waiting, ["gcancel", JOB], "job.cancel", ""), (OPERATOR, running, ["gcancel", JOB], "job.cancel", ""),
                        (HEAD, waiting, ["gcancel", JOB], "job.cancel", "as coordinator: ")],
    "VERB_JOB_HOLD": [(HEAD, waiting, ["gctl", "hold", JOB], "job.hold", "as coordinator: ")],
    "VERB_JOB_RELEASE": [(OWNER, waiting, ["gctl", "release", JOB], "job.release", "")],
    "VERB_JOB_SIGNAL": [(OWNER, running, ["gcancel", "--signal=CONT", JOB], "job.signal", f"signal {int(signal.SIGCONT)}"),
                        (OPERATOR, running, ["gcancel", "--batch", "--signal=CONT", JOB], "job.signal", "to the script alone")],
    "VERB_JOB_REQUEUE": [(HEAD, running, ["gctl", "requeue", JOB], "job.requeue", ""),
                         (OPERATOR, running, ["gctl", "requeue", "--hold", JOB], "job.requeue", "")],
    "VERB_JOB_SUSPEND": [(OPERATOR, running, ["gctl", "suspend", JOB], "job.suspend", "")],
    "VERB_JOB_RESUME": [(OWNER, suspended, ["gctl", "resume", JOB], "job.resume", "")],
    "VERB_JOB_RANK": [(HEAD, waiting, ["gctl", "update", JOB, "--nice=7"], "job.update", "as coordinator: nice 0 -> 7"),
                      (OWNER, waiting, ["gctl", "update", JOB, "--partition=other"], "job.update", "partition batch -> other")],
    "VERB_JOB_UPDATE": [(OWNER, waiting, ["gctl", "update", JOB, "--gpus=demo:2", "--mem=2G", "--exclude=n1", "--time=20"], "job.update",
                         "gpus none -> demo:2, mem none -> 2G, time 10:00 -> 20:00, exclude none -> n1"),
                        (OPERATOR, running, ["gctl", "update", JOB, "--comment=slow disk"], "job.update", "comment none -> slow disk")],
    "VERB_JOB_LONGER": [(OPERATOR, running, ["gctl", "update", JOB, "--time=30"], "job.update", "time 10:00 -> 30:00")],
    "VERB_JOB_RESIGN": [(OWNER, waiting, ["gctl", "renew", JOB], "job.resign", ""),
                        (OWNER, waiting, ["gctl", "update", JOB, "--job-name=b", "--open-mode=append"], "job.resign",
                         " -> b, open-mode truncate -> append")],
    "VERB_JOB_RELEASE_COORDINATOR": [(HEAD, held_by(HEAD), ["gctl", "release", JOB], "job.release", "as coordinator: ")],
    "VERB_JOB_RELEASE_ADMIN": [(OPERATOR, held_by(ADMIN), ["gctl", "release", JOB], "job.release", "")],
    "VERB_BOOST": [(OPERATOR, waiting, ["gctl", "update", JOB, "--nice=-3"], "job.update", "nice 0 -> -3")],
    "VERB_ANY_ACCOUNT": [(OPERATOR, nothing, ["gsubmit", "--hold", "--account=blue", "--comment=ticket 4711", "--wrap=true"],
                          "job.submit", "")],
}
# They look, or are about what is a verb of its own above; what agents tell is nobody's doing.
LOOKS = {"VERB_LOOK", "VERB_LOOK_AS", "VERB_LIST", "VERB_ASK", "VERB_OUTPUT", "VERB_STREAM", "VERB_AGENT", "VERB_JOB_SEE", "VERB_JOB_OUTPUT", "VERB_JOB_SCRIPT",
         "VERB_JOB_EVENTS", "VERB_JOB_STEPS", "VERB_EVENTS", "VERB_BUDGETS"}  # steps: what their manager tells


def verbs():
    return re.findall(r"^\s*X\((VERB_\w+),", (TOP / "ctld/core/accounts/roles.h").read_text(), re.M)


def events(c, *options):
    return json.loads(c.run("gctl", "events", "--json", *options).stdout)["events"]


@pytest.fixture(scope="module", name="cluster")
def fixture_cluster():
    with Cluster(nodes=("n1", "n2"), policy=POLICY, partitions=PARTITIONS) as c:
        yield c


def test_every_verb_is_here():
    assert sorted(verbs()) == sorted([*CHANGES, *LOOKS])


@pytest.mark.parametrize("verb", [v for v in verbs() if v in CHANGES])
def test_what_changes_something_leaves_who_when_from_where_and_why(cluster, verb):
    c = cluster
    for user, prepare, words, kind, says in CHANGES[verb]:
        job, began = prepare(c), time.time()
        last = events(c)[-1]["seq"]
        words = [str(job) if w == JOB else w.replace("DIR", str(c.dir)) for w in words]
        c.run(*words, *([] if words[0] == "gsubmit" else [WHY]), user=user)
        if verb == "VERB_SHUTDOWN":
            c.ctld.wait()
            c.start_ctld()
            c.wait_nodes()
        done = [e for e in events(c, f"--since={last}") if e["kind"] == kind and e["uid"] == pwd.getpwnam(user).pw_uid]
        assert done and {e["seq"] for e in done} <= {e["seq"] for e in events(c, f"--by={user}", f"--kind={kind}")}, words
        for e in done:
            assert "127.0.0.1" in e["host"] and began - 2 < e["time"] < time.time() + 2, e
            assert says in e["text"] and e["text"].endswith("ticket 4711"), e
            assert not job or e["job"] == job, e
        if job:
            c.run("gcancel", job, check=False)
    c.run("gctl", "resume", "n[1-2]")
    c.run("gctl", "partition", "other", "up")


def test_who_asks_and_goes_is_named(cluster):
    """Two who have the configuration read at once, one of whom does not wait for the answer: an event for each."""
    c = cluster
    last = events(c)[-1]["seq"]
    for n in range(5):
        p = [subprocess.Popen([BIN["gctl"], "reconfigure", f"--reason=try {n}{who}"], env=c.env, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True) for who in "ab"]
        for q in p:
            assert q.wait() == 0, q.stdout.read()
    told = [e["text"] for e in events(c, f"--since={last}", "--kind=controller.reconfigure")]
    assert sorted(told) == sorted(f"0 changes: try {n}{who}" for n in range(5) for who in "ab")


def test_a_reason_that_is_none_is_refused(cluster):
    c = cluster
    for words in (["reconfigure"], ["shutdown"], ["backup", c.dir / "state/x.db"], ["archive", "--older-than=1d", c.dir / "state/y.db"],
                  ["resign", "1"], ["hold", "1"], ["drain", "n1"], ["partition", "batch", "up"]):
        for bad in ("a\nb", "x" * 256, "\x1b[31m"):
            r = c.run("gctl", *words, f"--reason={bad}", check=False)
            assert r.returncode == 2 and "--reason" in r.stderr, (words, bad, r)
    for words in (["ping"], ["stats"], ["show", "node"], ["verify", "/none"], ["wait", "1"], ["list-errors"], ["show", "config"]):
        r = c.run("gctl", *words, "--reason=why", check=False)
        assert r.returncode == 2 and "--reason" in r.stderr, (words, r)
    assert c.ctld.alive() and not (c.dir / "state/x.db").exists()


def test_by_and_me_exclude_each_other(cluster):
    for words in (["--me", "--by=bin"], ["--by=bin", "--me"]):
        r = cluster.run("gctl", "events", *words, check=False)
        assert r.returncode == 2 and all(w.split("=")[0] in r.stderr for w in words), r
