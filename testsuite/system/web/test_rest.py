"""/v1/: what the commands say with --json, over HTTP; events that go on; jobs that were signed elsewhere."""

import base64
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time

import pytest
from cluster import BIN, ROOT, TOP, wait_until
from webserver import GWEB, Events, missing, web_cluster

pytestmark = pytest.mark.skipif(bool(missing()), reason=missing())
needs_root = pytest.mark.skipif(not ROOT, reason="needs other users")

ANA, BOB, OPERATOR, HEAD = ("games", "mail", "bin", "news") if ROOT else (None,) * 4
POLICY = f"""
accounts = ( {{ name = "lab"; coordinators = [ "{HEAD}" ]; }},
  {{ name = "red"; parent = "lab"; members = [ "{ANA}" ]; }}, {{ name = "blue"; members = [ "*" ]; }} );
default_account = "blue";
""" if ROOT else ""


@pytest.fixture(scope="module", name="web")
def fixture_web():
    with web_cluster(policy=POLICY, roles=f'operators = [ "{OPERATOR}" ];' if ROOT else "", controller='keep_ended = "1h";') as w:
        yield w


def listed(web, command, *options, what):
    return {x.get("id") or x.get("name"): x for x in json.loads(web.c.run(command, *options, "--json").stdout)[what]}


def caught_up(web, job, state, user=None):
    """The snapshot knows it."""
    def look():
        r = web.as_user(f"/v1/job/{job}", user=user)
        return r.status == 200 and r.json["jobs"][0]["state"] == state and r.json
    return wait_until(look, f"job {job} to be {state}")


def test_lists_are_those_of_the_commands(web):
    c = web.c
    held = c.submit("true", "--hold", "--gpus=1", "--job-name=<script>alert(1)</script>")
    runs = c.submit("sleep 600", "--gpus=2")
    c.wait_state(runs, "RUNNING")
    caught_up(web, runs, "RUNNING"), caught_up(web, held, "PENDING")
    changing = {"elapsed_s", "last_heard", "position", "position_of", "order", "cost_max"}
    for path, command, what in (("/v1/jobs", ["gqueue"], "jobs"), ("/v1/nodes", ["ginfo", "--gpus"], "nodes"),
                                ("/v1/partitions", ["ginfo"], "partitions"), ("/v1/services", ["gserve"], "services")):
        r = web.as_user(path)
        assert r.status == 200 and r.headers["Content-Type"] == "application/json", r.body
        assert r.json["version"] == 1 and r.json["cluster"] == "test" and r.json["taken"] > 0

        def same(path=path, command=command, what=what):
            """The snapshot is a little older than what a command is told."""
            ours = {x.get("id") or x.get("name"): x for x in web.as_user(path).json[what]}
            theirs = listed(web, *command, what=what)
            if what == "jobs":
                return theirs.keys() <= ours.keys() and all(
                    {k: v for k, v in ours[i].items() if k not in changing} == {k: v for k, v in j.items() if k not in changing}
                    for i, j in theirs.items())
            return theirs.keys() == ours.keys() and all(ours[i]["state"] == x["state"] for i, x in theirs.items())
        wait_until(same, f"{path} to be what {command} says")
    assert web.as_user("/v1/stats").json["stats"][0]["name"]
    assert {s["account"] for s in web.as_user("/v1/shares").json["shares"]} >= ({"lab", "red", "blue"} if ROOT else set())
    c.run("gcancel", held, runs)


def test_one_of_them(web):
    job = web.c.submit("true", "--array=1-3", "--hold")
    caught_up(web, job, "PENDING")
    for path in (f"/v1/job/{job}", "/v1/node/n1", "/v1/partition/batch"):
        assert web.as_user(path).status == 200, path
    for path, code in (("/v1/job/999999", "job.unknown"), ("/v1/job/x", "job.unknown"), ("/v1/node/n9", "node.unknown"),
                       ("/v1/partition/x", "partition.unknown"), ("/v1/service/x", "service.unknown")):
        r = web.as_user(path)
        assert (r.status, r.error) == (404, code), path
    assert web.as_user("/v1/nothing").status == 404
    r = web.signed("POST", "/v1/nodes", body="")
    assert r.status == 405 and r.headers["Allow"] == "GET" and r.error == "usage"
    web.c.run("gcancel", job)


def test_filters_and_pages(web):
    c = web.c
    jobs = [c.submit("true", "--hold", f"--job-name=page{i}") for i in range(5)]
    caught_up(web, jobs[-1], "PENDING")
    names = ",".join(f"page{i}" for i in range(5))
    seen, after, pages = [], 0, 0
    while True:
        r = web.as_user(f"/v1/jobs?name={names}&limit=2&after={after}").json
        seen += [j["id"] for j in r["jobs"]]
        pages += 1
        if "next" not in r:
            break
        after = r["next"]
    assert seen == jobs and pages == 3

    def ids(query):
        return [j["id"] for j in web.as_user("/v1/jobs?" + query).json["jobs"]]
    assert ids("name=page3") == [jobs[3]]
    assert ids(f"ids={jobs[1]},{jobs[2]}") == jobs[1:3]
    assert ids(f"name={names}&state=PD") == jobs and ids(f"name={names}&state=R") == []
    assert ids(f"name={names}&partition=batch") == jobs and ids(f"name={names}&partition=x") == []
    assert ids(f"name={names}&user=nobody") == []
    assert ids("name=page1&node=n1") == []
    c.run("gcancel", jobs[0])
    caught_up(web, jobs[0], "CANCELLED")
    assert jobs[0] not in ids(f"name={names}") and jobs[0] in ids(f"name={names}&state=all") and ids("state=CA&name=page0") == jobs[:1]
    for wrong in ("stat=R", "limit=0", "limit=1001", "limit=x", "limit=1&limit=2", "state=WHAT", "node=n[1-", "after=-1", "ids=x", "user=,",
                  "name=%01"):
        r = web.as_user("/v1/jobs?" + wrong)
        assert (r.status, r.error) == (400, "usage"), wrong
    assert "perhaps state" in web.as_user("/v1/jobs?stat=R").json["error"]["hint"]
    c.run("gcancel", *jobs[1:])


def test_what_did_not_change_is_not_sent_again(web):
    r = wait_until(lambda: web.as_user("/v1/partitions"), "an answer")
    tag = r.headers["ETag"]

    def again():
        header = {**web.sign("GET", "/v1/partitions"), "If-None-Match": tag}
        return web.request("GET", "/v1/partitions", headers=header)
    r = again()
    assert r.status == 304 and not r.body or r.headers["ETag"] != tag
    job = web.c.submit("true", "--hold")
    wait_until(lambda: again().status == 200, "another snapshot")
    web.c.run("gcancel", job)


def test_why_acct_prios_events(web):
    c = web.c
    fills = c.submit("sleep 600", "--gpus=4", user=ANA)
    c.wait_state(fills, "RUNNING")
    waits = c.submit("true", "--gpus=4", user=ANA)
    why = wait_until(lambda: (r := web.as_user(f"/v1/job/{waits}/why", user=ANA).json) and r["jobs"][0]["why"]["blockers"] and r, "its reason")
    told = json.loads(c.run("gqueue", "--why", waits, "--json").stdout)["jobs"][0]["why"]
    assert [b["reason"] for b in why["jobs"][0]["why"]["blockers"]] == [b["reason"] for b in told["blockers"]]
    assert web.as_user("/v1/job/999999/why").error == "job.unknown"
    prios = web.as_user("/v1/prios", user=ANA).json
    assert waits in {p["id"] for p in prios["prios"]} and "age" in prios["weights"]
    c.run("gcancel", fills, waits)
    c.wait_state(fills, "CANCELLED")
    jobs = {j["id"]: j for j in web.as_user(f"/v1/acct?ids={fills}", user=ANA).json["jobs"]}
    assert jobs[fills]["state"] == "CANCELLED" and jobs[fills]["gpu_us"] > 0
    few = web.as_user("/v1/acct?limit=1&state=all").json
    assert len(few["jobs"]) == 1 and few["more"] is True
    events = wait_until(lambda: web.as_user(f"/v1/events?job={fills}", user=ANA).json["events"], "events")
    assert events[0]["kind"] == "job.submit" and events[-1]["kind"] == "job.cancel"
    first = web.as_user(f"/v1/events?job={fills}&limit=1", user=ANA).json
    assert web.as_user(f"/v1/events?job={fills}&after={first['next']}", user=ANA).json["events"] == events[1:]
    assert [e["kind"] for e in web.as_user(f"/v1/events?job={fills}&kind=job.cancel", user=ANA).json["events"]] == ["job.cancel"]
    assert web.as_user("/v1/acct?since=yesterdaz").status == 400


def check_private_metrics(web):
    """Users are named to operators alone, by whatever proof; for all others the sums stay."""
    token = web.login(OPERATOR, "--token=1").stdout.strip()
    for page, label in (("jobs-users-accts", "username"), ("exporter", "user")):
        path, row = f"/metrics/{page}", f'slurm_user_jobs_running{{{label}="{ANA}"}} 1'
        total = 'slurm_account_jobs_running{account="red"} 1'
        wait_until(lambda: row not in web.get(path).body.decode(), "the configuration to be known")
        others = [web.get(path), web.request("GET", path, unix=True), web.as_user(path, user=BOB), web.as_user(path, user=ANA)]
        for text in (r.body.decode() for r in others):
            assert total in text and "slurm_user_" not in text and "# Jobs are private here" in text
        for r in (web.as_user(path, user=OPERATOR), web.get(path, Authorization=f"Bearer {token}")):
            assert r.status == 200 and row in r.body.decode() and total in r.body.decode()


@needs_root
def test_what_is_private(web):
    """As the controller tells each user, in lists, events and answers of its own."""
    c = web.c
    theirs = c.submit("sleep 600", "--gpus=1", user=ANA)
    mine = c.submit("sleep 600", "--gpus=1", user=BOB)
    c.wait_state(theirs, "RUNNING"), c.wait_state(mine, "RUNNING")
    old = c.policy
    c.policy = old.replace("operators", 'private_data = [ "jobs", "usage" ]; operators')
    c.write_conf()
    c.run("gctl", "reconfigure")
    try:
        def private():
            r = web.as_user("/v1/jobs", user=BOB).json
            return {j["id"] for j in r["jobs"]} & {theirs, mine} == {mine}
        wait_until(private, "the configuration to be known")  # what is known of users is kept for a while
        for user, sees in ((BOB, {mine}), (ANA, {theirs}), (HEAD, {theirs}), (OPERATOR, {theirs, mine}), (None, {theirs, mine})):
            def look():
                return {j["id"] for j in web.as_user("/v1/jobs", user=user).json["jobs"]} & {theirs, mine} == sees
            wait_until(look, f"what {user} sees")
            for job in (theirs, mine):
                there = 200 if job in sees else 404
                for path in (f"/v1/job/{job}", f"/v1/job/{job}/why", f"/slurm/v0.0.40/job/{job}"):
                    assert web.as_user(path, user=user).status == there, (user, path)
            assert {j["id"] for j in web.as_user(f"/v1/acct?ids={theirs},{mine}", user=user).json["jobs"]} == sees
            def node_of(user=user):
                return web.as_user("/v1/node/n1", user=user).json["nodes"][0]
            # Nodes are asked for less often than jobs.
            wait_until(lambda: {r["job"] for r in node_of()["runs"]} == sees, f"the runs of the node that {user} sees")
            node = node_of()
            assert node["others_runs"] == 2 - len(sees)
            gpus = {r["job"] for g in node["devices"] for r in g["runs"]}
            assert gpus == sees and sum(g["others_runs"] for g in node["devices"]) == 2 - len(sees)
        check_private_metrics(web)
        users = {s["user"] for s in web.as_user("/v1/shares", user=BOB).json["shares"]}
        assert ANA not in users
        stream = Events(web, "/v1/watch", web.sign("GET", "/v1/watch", user=BOB))
        assert stream.next()[1] == "hello"
        c.run("gcancel", theirs)
        c.run("gcancel", mine)
        seen = set()
        while mine not in seen:
            seen |= {j["id"] for j in stream.next("jobs")[2]["jobs"]}
        assert theirs not in seen
        stream.close()
    finally:
        c.policy = old
        c.write_conf()
        c.run("gctl", "reconfigure")
        c.run("gcancel", theirs, mine, check=False)


def watch(web, query="", last=None, user=None):
    header = web.sign("GET", "/v1/watch" + query, user=user)
    return Events(web, "/v1/watch" + query, {**header, **({"Last-Event-ID": last} if last else {})})


def test_events(web):
    c = web.c
    stream = watch(web)
    assert stream.answer.status == 200 and stream.answer.headers["Content-Type"] == "text/event-stream"
    assert stream.next()[1] == "hello"
    job = c.submit("true", "--hold")

    def until(stream, job, state):
        while True:
            number, _, data = stream.next("jobs")
            assert str(data["cursor"]) == number
            for j in data["jobs"]:
                if (j["id"], j["state"]) == (job, state):
                    return number
    at = until(stream, job, "PENDING")
    c.run("gctl", "release", job)
    until(stream, job, "COMPLETED")
    stream.close()

    # From where it was: what came since.
    stream = watch(web, last=at)
    until(stream, job, "COMPLETED")
    stream.close()
    # Only what it wants.
    stream = watch(web, "?name=wanted")
    assert stream.next()[1] == "hello"
    other, wanted = c.submit("true", "--hold"), c.submit("true", "--hold", "--job-name=wanted")
    assert [j["id"] for j in stream.next("jobs")[2]["jobs"]] == [wanted]
    stream.close()
    # From somewhere that nobody knows.
    for last in ("1", "nonsense", "99999999999999999999"):
        stream = watch(web, last=last)
        assert stream.next()[1] == "fresh", last
        stream.close()
    assert web.as_user("/v1/watch?limit=1").status == 400
    c.run("gcancel", other, wanted)


def test_events_go_on_over_a_restart_of_the_controller(web):
    c = web.c
    before = c.submit("true", "--hold")
    caught_up(web, before, "PENDING")
    stream = watch(web)
    at, kind, _ = stream.next()
    assert kind == "hello"
    c.ctld.kill()
    c.start_ctld()
    c.wait_nodes()
    during = c.submit("true", "--hold")
    known = set()
    while during not in known:
        _, kind, data = stream.next("jobs", "fresh")
        if kind == "fresh":  # all anew, as it asks for
            known |= {j["id"] for j in web.as_user("/v1/jobs").json["jobs"]}
        else:
            known |= {j["id"] for j in data["jobs"]}
    stream.close()
    # One that was away meanwhile.
    stream = watch(web, last=at)
    known = set()
    while during not in known:
        _, kind, data = stream.next("jobs", "fresh")
        known |= {during} if kind == "fresh" else {j["id"] for j in data["jobs"]}
    stream.close()
    c.run("gcancel", before, during)


def test_a_gweb_that_was_restarted(web):
    stream = watch(web)
    at = stream.next()[0]
    web.close()
    stream.close()
    web.start()
    stream = watch(web, last="1" + at)
    assert stream.next()[1] == "fresh"
    stream.close()


def test_one_slow_answer(web):
    """A controller that once answered after a second is asked again as soon as ever."""
    c = web.c

    def state():
        return web.as_user("/v1/nodes").json["nodes"][0]["state"]
    for i in range(6):  # nothing tells when it is asked: in some rounds the question falls into the pause
        job = c.submit("sleep 600", "--gpus=1")
        time.sleep(0.02 * i)
        os.kill(c.ctld.pid, signal.SIGSTOP)
        time.sleep(1)
        os.kill(c.ctld.pid, signal.SIGCONT)
        wait_until(lambda: state() == "mixed", "the node to be listed anew", timeout=30)
        c.run("gcancel", job)
        wait_until(lambda: state() == "idle", "the GPU to be free", timeout=30)


def test_many_watchers(web):
    streams = [watch(web, f"?name=many{i % 3}") for i in range(60)]
    for s in streams:
        assert s.next()[1] == "hello"
    jobs = [web.c.submit("true", "--hold", f"--job-name=many{i}") for i in range(3)]
    for i, s in enumerate(streams):
        told = []
        while not told:  # jobs of tests before may be gone first
            told = [j["id"] for j in s.next("jobs")[2]["jobs"]]
        assert told == [jobs[i % 3]]
        s.close()
    web.c.run("gcancel", *jobs)


@needs_root
def test_a_job_that_was_signed(web):
    c = web.c
    body = c.run("gsubmit", "--sign-only", "--job-name=signed", "--hold", "--wrap=true", user=ANA).stdout
    assert json.loads(body)["cluster"] == "test"
    assert not [j for j in c.jobs().values() if j["name"] == "signed"]
    r = web.signed("POST", "/v1/jobs", body, user=BOB)
    assert (r.status, r.error) == (403, "permission")
    r = web.signed("POST", "/v1/jobs", body, user=ANA)
    assert r.status == 200, r.body
    job = r.json["jobs"][0]["id"]
    assert (c.job(job)["user"], c.job(job)["account"], c.job(job)["name"]) == (ANA, "red", "signed")
    # Once more is the same job.
    r = web.signed("POST", "/v1/jobs", body, user=ANA)
    assert r.status in (200, 403, 409, 502) and (r.status != 200 or r.json["jobs"][0]["id"] == job)
    assert len([j for j in c.jobs().values() if j["name"] == "signed"]) == 1
    # Bytes that were changed, and what is none.
    raw = bytearray(base64.b64decode(json.loads(body)["submit"]))
    at = bytes(raw).index(b"#!/bin/sh")
    raw[at + 10:at + 14] = b"evil"
    changed = json.dumps({"submit": base64.b64encode(bytes(raw)).decode()})
    assert web.signed("POST", "/v1/jobs", changed, user=ANA).status in (400, 403)
    for wrong in ("", "{}", "[]", '{"submit":1}', '{"submit":"%%"}', '{"submit":""}', '{"submit":"AAAA"}', "x" * 100):
        r = web.signed("POST", "/v1/jobs", wrong, user=ANA)
        assert (r.status, r.error) == (400, "usage"), wrong
    refused = c.run("gsubmit", "--sign-only", "--partition=none", "--wrap=true", user=ANA).stdout
    r = web.signed("POST", "/v1/jobs", refused, user=ANA)
    assert (r.status, r.error) == (404, "partition.unknown")
    c.run("gcancel", job)
    for options in (("--test-only", "--wrap=true"), ("--bulk=x",)):
        assert c.run("gsubmit", "--sign-only", *options, check=False).returncode == 2, options


def test_slurmrest(web):
    """What Telegraf's slurm input reads of v0.0.38, each with its type."""
    c = web.c
    job = c.submit("sleep 600", "--gpus=2", "--time=60")
    c.wait_state(job, "RUNNING")
    caught_up(web, job, "RUNNING")

    def ask(path):
        r = web.as_user("/slurm/" + path)
        assert r.status == 200, r.body
        assert r.json["errors"] == []
        return r.json
    j, = (x for x in ask("v0.0.38/jobs")["jobs"] if x["job_id"] == job)
    for key, kind in (("name", str), ("job_state", str), ("state_reason", str), ("partition", str), ("nodes", str), ("node_count", int),
                      ("priority", int), ("nice", int), ("command", str), ("standard_output", str), ("standard_error", str),
                      ("standard_input", str), ("current_working_directory", str), ("submit_time", int), ("start_time", int), ("cpus", int),
                      ("tasks", int), ("time_limit", int), ("tres_req_str", str)):
        assert isinstance(j[key], kind), key
    assert (j["job_state"], j["time_limit"], j["nodes"]) == ("RUNNING", 60, "n1") and "gres/gpu=2" in j["tres_req_str"]
    wait_until(lambda: ask("v0.0.38/nodes")["nodes"][0]["state"] == "mixed", "the node to be listed anew")
    n, = ask("v0.0.38/nodes")["nodes"]
    for key, kind in (("name", str), ("state", str), ("cores", int), ("cpus", int), ("alloc_cpus", int), ("real_memory", int),
                      ("free_memory", int), ("alloc_memory", int), ("tres", str), ("tres_used", str), ("weight", int), ("slurmd_version", str)):
        assert isinstance(n[key], kind), key
    assert "gres/gpu=4" in n["tres"] and "gres/gpu=2" in n["tres_used"]
    p, = ask("v0.0.38/partitions")["partitions"]
    assert (p["name"], p["state"], p["nodes"], p["total_nodes"], p["total_cpus"]) == ("batch", "UP", "n1", 1, 16) and "cpu=16" in p["tres"]
    d = ask("v0.0.38/diag")["statistics"]
    for key in ("server_thread_count", "jobs_canceled", "jobs_submitted", "jobs_started", "jobs_completed", "jobs_failed", "jobs_pending",
                "jobs_running", "schedule_cycle_last", "schedule_cycle_mean", "bf_queue_len", "bf_queue_len_mean"):
        assert isinstance(d[key], int), key
    assert d["bf_active"] is False and ask("v0.0.38/ping")["pings"][0]["ping"] == "UP" and ask("v0.0.38/reservations")["reservations"] == []

    j, = (x for x in ask("v0.0.40/jobs/")["jobs"] if x["job_id"] == job)
    assert j["job_state"] == ["RUNNING"] and j["time_limit"] == {"set": True, "infinite": False, "number": 60}
    assert j["exit_code"]["status"] == ["SUCCESS"] and j["job_resources"]["nodes"] == "n1"
    assert ask(f"v0.0.40/job/{job}")["jobs"] == [j]
    n, = ask("v0.0.40/nodes/")["nodes"]
    assert n["state"] == ["MIXED"] and n["gres"] == "gpu:demo:4" and n["gres_used"] == "gpu:demo:2" and n["partitions"] == ["batch"]
    assert ask("v0.0.40/node/n1")["nodes"] == [n]
    p, = ask("v0.0.40/partitions/")["partitions"]
    assert p["nodes"] == {"configured": "n1", "total": 1} and p["partition"] == {"state": ["UP"]} and p["tres"]["configured"]
    for path in ("job/999999", "node/n9", "partition/x"):
        r = web.as_user("/slurm/v0.0.40/" + path)
        assert r.status == 404 and r.json["errors"][0]["description"]
    c.run("gcancel", job)


def test_openapi_says_what_is_answered(web):
    """Each answer is as the document has it: every field, and each with its type."""
    doc = web.get("/v1/openapi.json").json
    assert doc["openapi"].startswith("3.") and doc == json.loads(web.c.run(GWEB, "--openapi").stdout)
    schemas = doc["components"]["schemas"]
    job = web.c.submit("sleep 600", "--gpus=1", "--label=a=b")
    web.c.wait_state(job, "RUNNING")
    caught_up(web, job, "RUNNING")

    def check(value, schema, at):
        if "$ref" in schema:
            schema = schemas[schema["$ref"].rsplit("/", 1)[1]]
        if value is None:
            assert schema.get("nullable"), at
            return
        if "allOf" in schema:
            check(value, schema["allOf"][0], at)
        elif "oneOf" in schema:
            assert isinstance(value, (str, int, dict)), at
        elif schema["type"] == "array":
            for i, v in enumerate(value):
                check(v, schema["items"], f"{at}[{i}]")
        elif schema["type"] == "object":
            for k in schema.get("required", ()):
                assert k in value, f"{at}.{k}"
            for k, v in value.items():
                if "properties" in schema:
                    assert k in schema["properties"], f"{at}.{k}"
                    check(v, schema["properties"][k], f"{at}.{k}")
        else:
            kinds = {"string": str, "integer": int, "number": (int, float), "boolean": bool}
            assert isinstance(value, kinds[schema["type"]]), (at, value)
    for path, methods in doc["paths"].items():
        if "get" not in methods or path in ("/v1/watch", "/v1/openapi.json"):
            continue
        name = {"job": job, "node": "n1", "partition": "batch", "service": "none"}.get(path.split("/")[2], "")
        for url in (path.replace("{name}", str(name)), path.replace("{name}", "none")):
            r = web.as_user(url)
            answer = methods["get"]["responses"][str(r.status)]["content"]["application/json"]["schema"]
            check(r.json, answer, url)
    web.c.run("gcancel", job)


SCHEMATHESIS = "schemathesis==4.32.5"


@pytest.fixture(scope="module", name="schemathesis")
def fixture_schemathesis():
    """Its folder, outside the tree; kept for the next time."""
    folder = os.path.join(tempfile.gettempdir(), f"gpusched-schemathesis-{os.getuid()}")
    program = os.path.join(folder, "bin/schemathesis")
    if not os.path.exists(program):
        shutil.rmtree(folder, ignore_errors=True)
        made = subprocess.run([sys.executable, "-m", "venv", folder], capture_output=True, text=True, check=False)
        if made.returncode:
            pytest.skip(f"no venv: {(made.stderr or made.stdout).strip()[-200:]}")
        r = subprocess.run([os.path.join(folder, "bin/pip"), "install", "-q", "--timeout=15", "--retries=1", SCHEMATHESIS],
                           capture_output=True, text=True, check=False)
        if r.returncode:
            shutil.rmtree(folder, ignore_errors=True)
            pytest.skip(f"schemathesis cannot be installed: {r.stderr.strip()[-200:]}")
    return program


def test_schemathesis(web, schemathesis):
    """Requests that it makes of the document, valid and not: no answer is of another form, and none is a failure of ours."""
    token = web.login(ANA, "--token=1").stdout.strip()
    job = web.c.submit("true", "--hold", user=ANA)
    r = subprocess.run([schemathesis, "run", f"{web.url}/v1/openapi.json", "-H", f"Authorization: Bearer {token}",
                        "--checks=not_a_server_error,status_code_conformance,content_type_conformance,response_schema_conformance",
                        "--max-examples=20", "--seed=1", "--exclude-path=/v1/watch", "--request-timeout=30", "--no-color"],
                       capture_output=True, text=True, cwd=web.c.dir, check=False)
    assert r.returncode == 0, r.stdout[-6000:] + r.stderr[-2000:]
    assert web.daemon.alive() and BIN["gctl"]
    web.c.run("gcancel", job)


def test_the_manual_has_all_of_it():
    page = (TOP / "man/gweb-http.7").read_text()
    doc = json.loads(subprocess.run([GWEB, "--openapi"], capture_output=True, text=True, check=True).stdout)
    for path, methods in doc["paths"].items():
        for part in path.split("{name}"):
            assert part in page or part.rstrip("/") in page, path
        for p in methods.get("get", {}).get("parameters", []):
            assert re.search(rf"\b{p['name']}\b", page), (path, p["name"])
