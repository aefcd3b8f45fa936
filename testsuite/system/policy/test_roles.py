"""Who may do what on a living cluster, and what private listings keep from whom: all that tells of jobs."""

import json
import pathlib
import pwd
import re
import subprocess
import sys

import pytest
from cluster import BIN, ROOT, TOP, Cluster, wait_until

sys.path.append(str(pathlib.Path(__file__).resolve().parents[2] / "security"))
from peer import ERRORS, Peer  # noqa: E402

pytestmark = pytest.mark.skipif(not ROOT, reason="needs other users")

# sys is an administrator by his group; the other account's coordinator is nobody here.
OWNER, OTHER, HEAD, OPERATOR, ADMIN, WEB = "games", "mail", "news", "bin", "sys", "www-data"
POLICY = f"""
accounts = (
  {{ name = "lab"; coordinators = [ "{HEAD}" ]; }},
  {{ name = "red"; parent = "lab"; members = [ "{OWNER}" ]; }},
  {{ name = "blue"; members = [ "{OTHER}" ]; coordinators = [ "lp" ]; }}
);
default_account = "blue";
"""
SERVICES = '( { name = "batch"; nodes = "ALL"; default = true; max_time = "1-00:00:00"; grace = "2s"; services = true; } )'
ROLES = f"""roles = {{ admins = [ "@{ADMIN}" ]; operators = [ "{OPERATOR}" ]; web_users = [ "{WEB}" ]; %s }};"""


@pytest.fixture(scope="module", name="cluster")
def fixture_cluster():
    with Cluster(policy=POLICY + ROLES % "", controller='keep_ended = "1s";') as c:
        yield c


def set_private(c, *what):
    names = ", ".join(f'"{w}"' for w in what)
    c.policy = POLICY + ROLES % (f"private_data = [ {names} ];" if what else "")
    c.write_conf()
    c.run("gctl", "reconfigure")


def status(c, user, *argv):
    return c.run(*argv, check=False, user=user).returncode


def test_coordinator(cluster):
    c = cluster
    job = c.submit("sleep 60", "--begin=now+1hour", user=OWNER)
    assert c.job(job)["account"] == "red"
    for argv in (["gctl", "update", job, "--nice=10"], ["gctl", "update", job, "--partition=batch"], ["gctl", "hold", job]):
        assert status(c, OTHER, *argv) == 5, argv
        assert status(c, HEAD, *argv) == 0, argv
    assert c.job(job)["reason"] == "JobHeldAdmin"
    r = c.run("gctl", "release", job, check=False, user=OWNER)
    assert r.returncode == 5
    assert "only a coordinator of its account, an operator or an administrator may release" in r.stderr
    for argv in (["gctl", "update", job, "--cpus=2"], ["gctl", "update", job, "--nice=-1"], ["gctl", "suspend", job]):
        assert status(c, HEAD, *argv) == 5, argv
    c.run("gctl", "release", job, user=HEAD)
    c.run("gctl", "hold", job, user=OPERATOR)
    assert status(c, HEAD, "gctl", "release", job) == 5
    c.run("gcancel", job, "--reason=too much", user=HEAD)
    events = json.loads(c.run("gctl", "events", "--job", job, "--json", user=HEAD).stdout)["events"]
    assert [e["kind"] for e in events][-1] == "job.cancel"
    assert events[-1]["text"].startswith("as coordinator: ")
    assert status(c, OTHER, "gctl", "events", "--job", job) == 5


def test_operator_and_administrator(cluster):
    c = cluster
    job = c.submit("sleep 60", "--hold", user=OWNER)
    for user in (OPERATOR, ADMIN):
        for argv in (["gctl", "drain", "n1", "why"], ["gctl", "resume", "n1"], ["gctl", "partition", "batch", "drain"],
                     ["gctl", "partition", "batch", "up"], ["gctl", "events"], ["gctl", "update", job, "--cpus=2"],
                     ["gctl", "update", job, "--nice=-5"]):
            assert status(c, user, *argv) == 0, (user, argv)
            assert status(c, HEAD, *argv) == 5, argv
    r = c.run("gctl", "reconfigure", check=False, user=OPERATOR)
    assert r.returncode == 5 and "only an administrator may have the configuration read again" in r.stderr
    assert status(c, ADMIN, "gctl", "reconfigure") == 0
    assert status(c, OPERATOR, "gctl", "shutdown") == 5
    c.run("gcancel", job, user=OPERATOR)


def ids(c, user, *argv):
    text = c.run(*argv, "--json", user=user).stdout
    return {j.get("id", j.get("job")) for jobs in json.loads(text).values() if isinstance(jobs, list) for j in jobs}


def test_private_jobs(cluster):
    c = cluster
    set_private(c)
    job = c.submit("sleep 60", "--begin=now+1hour", user=OWNER)
    old = c.submit("true", user=OWNER)
    wait_until(lambda: old in ids(c, None, "gacct", "-S", "now-1h", "-s", "CD"), "its end")
    wait_until(lambda: old not in c.jobs(), "its history")
    assert job in ids(c, OTHER, "gqueue")
    set_private(c, "jobs")
    try:
        for user, sees in ((OTHER, False), ("lp", False), (OWNER, True), (HEAD, True), (OPERATOR, True), (ADMIN, True), (None, True)):
            for argv in (["gqueue"], ["gqueue", "--all"], ["gprio"], ["gacct", "-S", "now-1h", "-s", "PD,CD"]):
                assert (job in ids(c, user, *argv)) == sees, (user, argv)
            assert (old in ids(c, user, "gacct", "-S", "now-1h")) == sees
            none = 0 if sees else 3
            for argv in (["gqueue", "--jobs", job], ["gctl", "show", "job", job], ["gqueue", "--why", job],
                         ["gprio", "-j", job], ["gctl", "events", "--job", job], ["gctl", "events", "--job", old]):
                assert status(c, user, *argv) == none, (user, argv)
            lines = c.run("greport", "use", "--by=user", "-S", "now-1h", user=user).stdout
            assert (OWNER in lines) == sees, (user, lines)
        # What cannot be seen cannot be told from what is not there.
        for argv in (["gcancel"], ["gctl", "hold"], ["gctl", "update", "--nice=3"], ["gqueue", "--why"], ["gcancel", "--signal=USR1"],
                     ["gctl", "renew"], ["gctl", "update", "--job-name=x"], ["glog"], ["gctl", "requeue"]):
            for form in ("{}", "{}_99"):
                told, gone = (c.run(*argv, form.format(i), check=False, user=OTHER) for i in (job, old))
                assert told.returncode == gone.returncode == (2 if argv[-1] in ("renew", "--job-name=x") and "_" in form else 3), argv
                assert re.sub(rf"\b{job}(?!\d)", "N", told.stderr) == re.sub(rf"\b{old}(?!\d)", "N", gone.stderr), argv
        assert c.state(job) == "PENDING"
    finally:
        set_private(c)
        c.run("gcancel", job)


def test_private_reasons(cluster):
    """Who must end, who stands before: his own jobs by their ids, others' are only counted."""
    c = cluster
    theirs, mine = c.submit("sleep 60", "--gpus=2", user=OWNER), c.submit("sleep 60", "--gpus=2", user=OTHER)
    for job in (theirs, mine):
        c.wait_state(job, "RUNNING")
    waits = c.submit("true", "--gpus=4", user=OTHER)

    def clears():
        why = c.run("gqueue", "--why", waits, "--json", user=OTHER).stdout
        return " ".join(b["clears"] for j in json.loads(why)["jobs"] for b in j["why"]["blockers"])
    try:
        assert f"{theirs}, {mine} must end" in clears() or f"{mine}, {theirs} must end" in clears()  # whichever ran first
        set_private(c, "jobs")
        assert f"{mine} and 1 more must end" in clears()
        c.run("gcancel", mine)
        c.wait_state(mine, "CANCELLED")
        wait_until(lambda: "1 job of another must end" in clears(), "one less")
    finally:
        set_private(c)
        c.run("gcancel", theirs, mine, waits, check=False)


def test_private_dependency(cluster):
    """Nobody learns from what he waits for whether another's job is there, or how it ends."""
    c = cluster
    theirs = c.submit("sleep 60", "--array=1-3", "--begin=now+1hour", user=OWNER)
    mine = c.submit("true", "--hold", user=OTHER)
    c.submit("true", "--hold", "-d", f"afterok:{theirs}", user=OTHER)
    set_private(c, "jobs")
    try:
        def told(user, what):
            r = c.run("gsubmit", "--test-only", "--array=1-3", "-d", what, "--wrap=true", check=False, user=user)
            return r.returncode, r.stderr
        for form in ("after:{}", "afterany:{}", "afterok:{}?singleton", "afterok:{}_2", "afterany:{}_[1-2]", "aftercorr:{}", "afterok:{}_9"):
            assert told(OTHER, form.format(theirs))[0] == 3, form
            assert "job " + str(theirs) in told(OTHER, form.format(theirs))[1]
        for user in (OWNER, HEAD, OPERATOR, ADMIN):
            assert told(user, f"afterok:{theirs}")[0] == 0, user
        assert told(OTHER, f"afterok:{mine}")[0] == 0
        r = c.run("gctl", "update", mine, f"--dependency=afterok:{theirs}", check=False, user=OTHER)
        assert r.returncode == 3 and f"job {theirs} is not known: it never existed, or ended too long ago" in r.stderr
        (c.dir / "jobs/bulk").write_text(json.dumps({"wrap": "true", "dependency": f"afterok:{theirs}"}) + "\n")
        r = c.run("gsubmit", "--bulk=bulk", check=False, user=OTHER)
        assert r.returncode == 3 and f"job {theirs}" in r.stderr, r
    finally:
        set_private(c)
        c.run("gcancel", "--user", f"{OWNER},{OTHER}")


def test_private_nodes(cluster):
    """On nodes and GPUs the jobs of others are counted and not named."""
    c = cluster
    c.run("gcancel", c.submit("true", "--hold", "--array=1-1000"))  # ids that no other number is
    theirs, mine = c.submit("sleep 60", "--gpus=2", user=OWNER), c.submit("sleep 60", "--gpus=1", user=OTHER)
    for job in (theirs, mine):
        c.wait_state(job, "RUNNING")
    try:
        for private in ((), ("jobs",)):
            set_private(c, *private)
            for user, all_of_it in ((OTHER, not private), (OWNER, not private), (HEAD, not private), (OPERATOR, True), (None, True)):
                seen = {mine, theirs} if all_of_it else {mine} if user == OTHER else {theirs}
                node, = json.loads(c.run("ginfo", "--nodes", "--json", user=user).stdout)["nodes"]
                assert {r["job"] for r in node["runs"]} == seen, (user, private)
                assert len(node["runs"]) + node.get("others_runs", 0) == 2
                node, = json.loads(c.run("ginfo", "--gpus", "--json", user=user).stdout)["nodes"]
                gpus = node["devices"]
                assert {r["job"] for g in gpus for r in g.get("runs", [])} == seen
                assert sum(len(g.get("runs", [])) + g.get("others_runs", 0) for g in gpus) == 3
                for argv in (["ginfo", "--nodes", "-o", "NODE,RUNS,JOBS"], ["ginfo", "--gpus", "-o", "JOBS"], ["gctl", "show", "node", "n1"]):
                    text = c.run(*argv, user=user).stdout
                    assert {j for j in (mine, theirs) if str(j) in text.split() or f"{j}," in text} <= seen, (user, argv, text)
                assert ("1 of others" in c.run("ginfo", "--gpus", "-o", "JOBS", user=user).stdout) == (len(seen) == 1)
    finally:
        set_private(c)
        c.run("gcancel", theirs, mine)


def test_private_steps(cluster):
    c = cluster
    job = c.submit("sleep 60", "--ntasks=1", user=OWNER)
    c.wait_state(job, "RUNNING")
    told = {"job": job, "attempt": 1, "steps": [{"step": 3, "name": "s", "nodelist": "n1", "start_time": 1}]}
    try:
        with Peer(c, user=OWNER) as owner, Peer(c, user=OTHER) as other:
            assert owner.call("MSG_STEP_REPORTS", told)[-1].get("code", 0) == 0
            assert other.call("MSG_STEP_REPORTS", told)[-1]["code"] == ERRORS["ERR_NOT_PERMITTED"]
            assert len(other.call("MSG_LIST_STEPS")) == 2
            set_private(c, "jobs")
            assert other.call("MSG_STEP_REPORTS", told)[-1]["code"] == ERRORS["ERR_NO_JOB"]
            assert len(other.call("MSG_LIST_STEPS")) == 1
            assert len(owner.call("MSG_LIST_STEPS")) == 2
            asked = {"ended": True, "filter": {"ids": [job]}}
            assert not other.call("MSG_LIST_STEPS", asked)[:-1] and owner.call("MSG_LIST_STEPS", asked)[:-1]
    finally:
        set_private(c)
        c.run("gcancel", job)


def test_private_services(cluster):
    c = cluster
    c.partitions = SERVICES
    set_private(c)
    c.run("gsubmit", "--service=chat", "--wrap=sleep 60", user=OWNER)
    try:
        assert "chat" in c.run("gserve", user=OTHER).stdout
        assert status(c, OTHER, "gserve", "scale", "chat", "2") == 5
        set_private(c, "jobs")
        assert "chat" not in c.run("gserve", user=OTHER).stdout and "chat" in c.run("gserve", user=OWNER).stdout
        for argv in (["gserve", "show", "chat"], ["gserve", "scale", "chat", "2"], ["gserve", "stop", "chat"]):
            r = c.run(*argv, check=False, user=OTHER)
            assert r.returncode == 3 and "there is no service chat" in r.stderr, r
        r = c.run("gsubmit", "--service=chat", "--wrap=true", check=False, user=OTHER)
        assert r.returncode == 1 and OWNER not in r.stderr and "of another user" in r.stderr, r
        assert status(c, HEAD, "gserve", "scale", "chat", "2") == 0
    finally:
        set_private(c)
        c.run("gserve", "stop", "chat", user=OWNER)
        wait_until(lambda: status(c, OWNER, "gserve", "show", "chat") == 3, "the end of the service")


# What the answer to each request tells of jobs, and the test that it keeps back what is private; None: nothing.
TOLD = {
    "PING": None, "STATS": None, "SHOW_CONFIG": None, "LIST_PARTITIONS": None,  # numbers of jobs at most
    "NODE_CONTROL": None, "PARTITION_CONTROL": None, "RECONFIGURE": None, "SHUTDOWN": None, "BACKUP": None, "ARCHIVE": None,  # not for users
    "SUBMIT": "test_private_dependency", "SUBMIT_BULK": "test_private_dependency", "LIST_NODES": "test_private_nodes",
    "JOB_CONTROL": "test_private_jobs", "LIST_JOBS": "test_private_jobs", "LIST_PRIOS": "test_private_jobs",
    "LIST_ACCT": "test_private_jobs", "REPORT": "test_private_jobs", "LIST_EVENTS": "test_private_jobs",
    "WAIT_JOBS": "test_private_jobs", "RESIGN": "test_private_jobs", "STREAM_OPEN": "test_private_jobs",
    "LIST_SERVICES": "test_private_services", "SERVICE_CONTROL": "test_private_services",
    "STEP_REPORTS": "test_private_steps", "LIST_STEPS": "test_private_steps",
    "JOB_WHY": "test_private_reasons", "WATCH_JOBS": "test_private_watch", "LIST_SHARES": "test_private_usage", "SHOW_SCRIPT": "test_scripts",
    "LOOK_AS": "test_web_user",
    # by the number of a stream that was opened
    "STREAM_DATA": None, "STREAM_CREDIT": None, "STREAM_CLOSE": None,
}


def test_every_request_is_thought_of():
    """A new one that users may send does not pass by what is private."""
    rows = re.findall(r"^\tROW\((\w+), (\w+),", (TOP / "ctld/rpc/rpc.c").read_text(), re.M)
    assert {name for name, verb in rows if verb != "AGENT"} == set(TOLD)
    assert {t for t in TOLD.values() if t} <= set(globals())


def test_who_loses_a_role_sees_no_more(cluster):
    """What is followed and watched goes on by what the configuration says now."""
    c = cluster
    ended = []

    def begin(*argv):
        follower = subprocess.Popen([BIN[argv[0]], *argv[1:], "--json"], env={**c.env, "GPUSCHED_RETRY": "1"}, stdout=subprocess.PIPE,
                                    stderr=subprocess.PIPE, text=True, user=OPERATOR, extra_groups=[])
        ended.append(follower)
        return follower
    watch = begin("gqueue", "--watch")
    follow = begin("gctl", "events", "--follow")
    old = c.policy
    try:
        assert json.loads(watch.stdout.readline()) and json.loads(follow.stdout.readline())
        c.policy = POLICY + (ROLES % 'private_data = [ "jobs" ];').replace(OPERATOR, "nobody")
        c.write_conf()
        c.run("gctl", "reconfigure")
        hidden = c.submit("true", "--hold", user=OWNER)
        mine = c.submit("true", "--hold", user=OPERATOR)
        seen = set()
        for line in watch.stdout:
            seen |= {j["id"] for j in json.loads(line).get("jobs", [])}
            if mine in seen:
                break
        assert mine in seen and hidden not in seen
        out, err = follow.communicate(timeout=60)
        assert follow.returncode == 5 and "only an operator or an administrator may see everybody's events" in err
        assert hidden not in {e.get("job") for line in out.splitlines() for e in json.loads(line).get("events", [])}
    finally:
        for follower in ended:
            follower.kill()
            follower.communicate()
        c.policy = old
        c.write_conf()
        c.run("gctl", "reconfigure")
        c.run("gcancel", "--user", f"{OWNER},{OPERATOR}")


def test_private_watch(cluster):
    """Others' changes do not reach a watcher; his own do."""
    c = cluster
    set_private(c, "jobs")
    watch = subprocess.Popen([BIN["gqueue"], "--watch", "--json"], env=c.env, stdout=subprocess.PIPE, text=True,
                             user=OTHER, extra_groups=[])
    try:
        hidden = c.submit("true", "--hold", user=OWNER)
        c.run("gctl", "release", hidden, user=OWNER)
        mine = c.submit("true", "--hold", user=OTHER)
        seen = set()
        for line in watch.stdout:
            seen |= {j["id"] for j in json.loads(line).get("jobs", [])}
            if mine in seen:
                break
        assert hidden not in seen
        c.run("gcancel", mine)
    finally:
        watch.kill()
        watch.wait()
        watch.stdout.close()
        set_private(c)


def test_web_user(cluster):
    """gweb's user sees all and acts on nothing; looking as another it is told what that one would be told."""
    c = cluster
    web, other = (pwd.getpwnam(n).pw_uid for n in (WEB, OTHER))
    job = c.submit("sleep 60", "--hold", user=OWNER)
    mine = c.submit("sleep 60", "--hold", user=OTHER)
    for argv in (["gcancel", job], ["gctl", "release", job], ["gctl", "update", job, "--nice=5"], ["gctl", "drain", "n1", "x"],
                 ["gctl", "show", "job", "--script", job], ["gsubmit", "--wrap=true"], ["gctl", "events"]):
        assert status(c, WEB, *argv) == 5, argv
    assert status(c, WEB, "glog", job) != 0
    set_private(c, "jobs", "usage")
    try:
        with Peer(c, user=WEB) as p, Peer(c, user=OTHER) as plain, Peer(c) as root:
            def seen(peer):
                return {j["id"] for part in peer.call("MSG_LIST_JOBS")[:-1] for j in part["jobs"]}

            def opened(peer, of):
                peer.send("MSG_STREAM_OPEN", {"stream": 1, "run": {"job": of, "attempt": 1}, "node": "n1", "hello": b"x"})
                while (got := peer.receive())[0] != "MSG_STREAM_CLOSE":
                    pass
                return got[2]["code"], got[2]["text"]

            def look(peer, **as_whom):
                wait_until(lambda: (r := peer.call("MSG_LOOK_AS", as_whom))[-1].get("code", 0) != ERRORS["ERR_BUSY"] and r, "its name")
                return peer.call("MSG_LOOK_AS", as_whom)
            assert {job, mine} <= seen(p)
            told, reply = look(p, uid=other)
            assert not reply.get("code") and told["user"] == OTHER and told["private_jobs"] and not told.get("staff")
            assert mine in seen(p) and job not in seen(p)
            assert p.call("MSG_JOB_WHY", {"ids": [job]})[-1]["code"] == ERRORS["ERR_NO_JOB"]
            assert p.call("MSG_LIST_EVENTS", {"by_uid": True, "uid": other})[-1].get("code", 0) == 0
            assert p.call("MSG_LIST_EVENTS", {})[-1]["code"] == ERRORS["ERR_NOT_PERMITTED"]
            for kind, body in (("MSG_JOB_CONTROL", {"verb": 1, "filter": {"ids": [mine]}}), ("MSG_SHOW_SCRIPT", {"job": mine}),
                               ("MSG_RECONFIGURE", {})):
                assert p.call(kind, body)[-1]["code"] == ERRORS["ERR_NOT_PERMITTED"], kind
            # Streams: as that user to its jobs alone, and it is the node that refuses what is no greeting.
            assert opened(p, job) == (ERRORS["ERR_NO_JOB"], f"no job {job}")
            assert opened(p, mine)[0] != ERRORS["ERR_NOT_PERMITTED"]
            assert look(p, uid=0)[0]["admin"] and {job, mine} <= seen(p)  # as an administrator: to look
            assert p.call("MSG_SHUTDOWN", {})[-1]["code"] == ERRORS["ERR_NOT_PERMITTED"]
            assert look(p, uid=4000000000)[-1]["code"] == ERRORS["ERR_NOT_PERMITTED"]
            assert look(p, self=True)[0]["user"] == WEB and {job, mine} <= seen(p)
            assert opened(p, mine)[0] == ERRORS["ERR_NOT_PERMITTED"]
            for peer, code in ((plain, ERRORS["ERR_NOT_PERMITTED"]), (root, 0)):
                assert look(peer, uid=web)[-1].get("code", 0) == code
            # Who loses the role can no more look as others.
            look(p, uid=other)
            old = c.policy
            c.policy = old.replace(f'"{WEB}"', '"nobody"')
            c.write_conf()
            c.run("gctl", "reconfigure")
            assert p.call("MSG_LIST_JOBS")[-1]["code"] == ERRORS["ERR_NOT_PERMITTED"]
    finally:
        set_private(c)
        c.run("gcancel", job, mine, check=False)


def test_private_usage(cluster):
    c = cluster
    job = c.submit("true", user=OWNER)
    wait_until(lambda: job in ids(c, None, "gacct", "-S", "now-1h", "-s", "CD"), "its end")
    c.submit("true", "--hold", user=OTHER)

    def users(user):
        return {s["user"] for s in json.loads(c.run("gshare", "--json", user=user).stdout)["shares"] if s.get("user")}

    assert OWNER in users(OTHER)
    set_private(c, "usage")
    try:
        assert OWNER in users(OWNER) and OWNER in users(HEAD) and OWNER in users(OPERATOR)
        assert OWNER not in users(OTHER) and users(OTHER) <= {OTHER}
        assert job not in ids(c, OTHER, "gacct", "-S", "now-1h")
        assert job in ids(c, HEAD, "gacct", "-S", "now-1h")
        live = c.submit("true", "--hold", user=OWNER)
        assert live in ids(c, OTHER, "gqueue")
    finally:
        set_private(c)


def test_output(cluster):
    """The controller does not even ask the node, which would refuse it too."""
    c = cluster
    job = c.submit("echo of-games; sleep 60", user=OWNER, cwd="/tmp")
    c.wait_state(job, "RUNNING")
    for user in (OTHER, HEAD, OPERATOR):
        r = c.run("glog", job, check=False, user=user)
        assert r.returncode == 5 and "of-games" not in r.stdout
        assert "only its owner or an administrator may follow its output" in r.stderr, r.stderr
    c.run("gcancel", job, user=OWNER)


def test_scripts(cluster):
    """Scripts and environments are for the owner and administrators, and are erased in the file too."""
    c = cluster
    job = c.submit("sleep 60 # secret-of-games", "--hold", user=OWNER, env={"API_KEY": "key-of-games"})
    for user in (OWNER, ADMIN, None):
        assert c.run("gctl", "show", "job", "--script", job, user=user).stdout == "#!/bin/sh\nsleep 60 # secret-of-games\n"
        assert "API_KEY=key-of-games" in c.run("gctl", "show", "job", "--env", job, user=user).stdout.splitlines()
    for user in (OTHER, HEAD, OPERATOR):
        for what in ("--script", "--env"):
            r = c.run("gctl", "show", "job", what, job, check=False, user=user)
            assert r.returncode == 5 and "games" not in r.stdout
            assert "only its owner or an administrator may read its script" in r.stderr
    assert status(c, OWNER, "gctl", "show", "job", "--script", 999999) == 3
    assert status(c, OWNER, "gctl", "show", "job", "--script", "--env", job) == 2
    set_private(c, "jobs")
    assert status(c, OTHER, "gctl", "show", "job", "--script", job) == 3
    set_private(c)

    # It outlives its job by what is configured.
    c.controller_extra = 'keep_ended = "1s"; keep_scripts = "1h";'
    set_private(c)
    c.run("gcancel", job, user=OWNER)
    wait_until(lambda: job not in c.jobs(), "it to be forgotten")
    for user, want in ((OWNER, 0), (ADMIN, 0), (None, 0), (OTHER, 3), (OPERATOR, 3), (HEAD, 3)):
        assert status(c, user, "gctl", "show", "job", "--script", job) == want, user
    c.ctld.stop()
    c.start_ctld()
    c.wait_nodes()
    assert "secret-of-games" in c.run("gctl", "show", "job", "--script", job, user=OWNER).stdout
    c.controller_extra = 'keep_ended = "1s"; keep_scripts = "2s";'
    set_private(c)
    wait_until(lambda: status(c, OWNER, "gctl", "show", "job", "--script", job) == 3, "it to be erased")
    c.ctld.stop()
    try:
        for name in ("state.db", "history.db"):
            data = (c.dir / "state" / name).read_bytes()
            assert b"secret-of-games" not in data and b"key-of-games" not in data, name
    finally:
        c.controller_extra = 'keep_ended = "1s";'
        c.write_conf()
        c.start_ctld()
        c.wait_nodes()
