"""Services on a whole cluster, as their owner sees them: gsubmit --service, and gserve."""

import json
import os
import pty
import pwd
import re
import select
import subprocess
import urllib.request

import pytest

from cluster import BIN, BUILD, DEADLINE, Cluster, free_ports, wait_until

PARTITIONS = """( { name = "batch"; nodes = "ALL"; default = true; max_time = "1-00:00:00"; grace = "2s"; services = true; },
  { name = "jobs"; nodes = "ALL"; max_time = "1:00:00"; } )"""
# A server that says its version, and whose health is a file that the test can take away.
SERVER = """
cat > server.py <<'END'
import http.server, os, sys
class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        sick = os.path.exists("sick." + os.environ["GPUSCHED_SLOT"])
        body = sys.argv[1].encode() + b" " + os.environ["GPUSCHED_SLOT"].encode()
        self.send_response(503 if self.path == "/health" and sick else 200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)
    def log_message(self, *args):
        pass
http.server.ThreadingHTTPServer(("127.0.0.1", int(os.environ["GPUSCHED_PORT"])), Handler).serve_forever()
END
exec /usr/bin/python3 server.py VERSION
"""
# On a slow machine an answer may take more than 100 ms now and then, and five in a row do not: whoever is not READY has another
# replica started in its place.
QUICK = ("--ports=1", "--ready=http:/health", "--probe=100ms,timeout=100ms,fail=5", "--settle=0", "--drain=3s")


class Services(Cluster):
    """With ports for replicas on its node, which has four GPUs."""

    def start_agent(self, node, *options, env=None):
        low = self.low = getattr(self, "low", 0) or free_ports(20)
        super().start_agent(node, f"--service-ports={low}-{low + 19}", "--service-address=127.0.0.1", *options, env=env)

    def script(self, version="one", *lines):
        path = self.dir / f"jobs/{version}.sh"
        head = "".join(f"#GPUSCHED {line}\n" for line in lines)
        path.write_text("#!/bin/sh\n" + head + SERVER.replace("VERSION", version))
        return path

    def serve(self, name, *options, version="one", **kw):
        return int(self.run("gsubmit", "--parsable", f"--service={name}", *QUICK, *options, self.script(version), **kw).stdout)

    def service(self, name):
        return json.loads(self.run("gserve", "show", name, "--json").stdout)["services"][0]

    def endpoints(self, name):
        return self.run("gserve", "endpoints", name).stdout.split()

    def wait_ready(self, name, n, state="SERVING"):
        def is_so():
            s = self.service(name)
            return s if s["ready"] == n and s["state"] == state and len(self.endpoints(name)) == n else None
        return wait_until(is_so, lambda: f"{n} replicas of {name}: {self.run('gserve', 'show', name, check=False).stdout}")

    def answers(self, name):
        """What its replicas say."""
        return sorted(urllib.request.urlopen(f"http://{e}/", timeout=60).read().decode() for e in self.endpoints(name))

    def wait_gone(self, name):
        wait_until(lambda: self.run("gserve", "show", name, check=False).returncode == 3, f"the end of {name}")


@pytest.fixture(scope="module")
def cluster():
    with Services(partitions=PARTITIONS) as c:
        yield c


@pytest.fixture(autouse=True)
def clean(cluster):
    yield
    for s in json.loads(cluster.run("gserve", "--json").stdout)["services"]:
        cluster.run("gserve", "stop", s["name"], check=False)
        cluster.wait_gone(s["name"])


def test_from_submit_to_stop(cluster):
    r = cluster.run("gsubmit", "--service=chat", *QUICK, "--replicas=2", "--gpus=1", cluster.script())
    assert r.stdout.startswith("Submitted service chat (job ") and r.stdout.endswith("): 2 replicas\n")
    s = cluster.wait_ready("chat", 2)
    assert (s["generation"], s["wanted"], s["request"]["min"], s["request"]["kept"]) == (1, 2, 2, 2)
    assert cluster.answers("chat") == ["one 0", "one 1"]
    line = cluster.run("gserve", "--noheader", "-o", "NAME,STATE,READY,WANTED,REPLICAS,GPUS").stdout.split()
    assert line == ["chat", "SERVING", "2", "2", "2", "any:1"]
    shown = cluster.run("gserve", "show", "chat").stdout
    assert "READY-PROBE" in shown and "http:/health" in shown and all(e in shown for e in cluster.endpoints("chat"))
    told = json.loads(cluster.run("gserve", "endpoints", "chat", "--json").stdout)["endpoints"]
    assert [(e["service"], e["slot"], e["node"], e["address"]) for e in told] == [("chat", i, "n1", "127.0.0.1") for i in (0, 1)]
    assert cluster.run("gserve", "stop", "chat").stdout == "Stopping service chat\n"
    cluster.wait_gone("chat")


def test_an_unready_replica_is_no_endpoint(cluster):
    cluster.serve("chat", "--replicas=2")
    cluster.wait_ready("chat", 2)
    sick = cluster.dir / "jobs/sick.1"
    sick.touch()
    wait_until(lambda: cluster.answers("chat") == ["one 0"], "one endpoint less")
    assert cluster.service("chat")["state"] == "DEGRADED"
    sick.unlink()
    cluster.wait_ready("chat", 2)


def test_scale(cluster):
    cluster.serve("chat")
    cluster.wait_ready("chat", 1)
    assert cluster.run("gserve", "scale", "chat", "3").stdout == "Scaled service chat\n"
    s = cluster.wait_ready("chat", 3)
    assert (s["request"]["min"], s["request"]["max"]) == (3, 3)
    cluster.run("gserve", "scale", "chat", "1-2", "--kept=1")
    s = cluster.wait_ready("chat", 1)
    assert (s["request"]["min"], s["request"]["max"], s["request"]["kept"]) == (1, 2, 1)
    r = cluster.run("gserve", "scale", "chat", "500", check=False)
    assert r.returncode == 1 and "slots" in r.stderr and "gserve update" in r.stderr


def test_pause_and_resume(cluster):
    cluster.serve("chat", "--replicas=2")
    cluster.wait_ready("chat", 2)
    cluster.run("gserve", "pause", "chat")
    cluster.wait_ready("chat", 0, "PAUSED")
    assert not cluster.endpoints("chat")
    cluster.run("gserve", "resume", "chat")
    cluster.wait_ready("chat", 2)


def test_update_and_undo(cluster):
    """What is not said stays; each replica is replaced; undo brings back the one before without a new signature."""
    cluster.serve("chat", "--replicas=2", "--gpus=1", "--mem=1G")
    first = cluster.wait_ready("chat", 2)
    r = cluster.run("gserve", "update", "chat", "--test-only", cluster.script("two"))
    assert r.stdout.startswith("service chat, 2 replicas: the first of the next generation would start now on n1")
    r = cluster.run("gserve", "update", "chat", cluster.script("two"))
    assert r.stdout.startswith("Updating service chat (job ")
    wait_until(lambda: cluster.service("chat")["generation"] == 2, "the next generation")
    s = cluster.wait_ready("chat", 2)
    assert [a.split()[0] for a in cluster.answers("chat")] == ["two", "two"]
    assert s["undo_job"] == first["job"] and s["spec"] == first["spec"]
    old, new = (cluster.job(s[which]) for which in ("undo_job", "job"))
    assert all(old[k] == new[k] for k in ("gpus", "mem_mb", "cpus", "partition", "qos", "account"))
    assert cluster.run("gserve", "undo", "chat").stdout == "Undoing the update of service chat\n"
    wait_until(lambda: cluster.service("chat")["generation"] == 1, "the first generation again")
    cluster.wait_ready("chat", 2)
    assert [a.split()[0] for a in cluster.answers("chat")] == ["one", "one"]


def test_update_without_room(cluster):
    """--test-only says that no room is left beside those that run, and why."""
    cluster.serve("chat", "--replicas=2", "--gpus=2")
    cluster.wait_ready("chat", 2)
    r = cluster.run("gserve", "update", "chat", "--test-only", cluster.script("two"))
    assert "there is no room for one more beside those that run (--surge=1)" in r.stdout and "Resources" in r.stdout
    r = cluster.run("gserve", "update", "chat", "--test-only", "--surge=0", cluster.script("two"))
    assert "takes the place of an old one" in r.stdout


def test_why(cluster):
    cluster.serve("chat", "--replicas=1", "--gpus=4")
    cluster.wait_ready("chat", 1)
    assert cluster.run("gserve", "--why", "chat").stdout == "No replica that is wanted waits for a node\n"
    cluster.run("gserve", "scale", "chat", "2")
    wait_until(lambda: cluster.service("chat")["pending"] == 1, "a replica that waits")
    wait_until(lambda: "Resources" in cluster.run("gserve", "--why", "chat").stdout, "the reason")


def test_two_of_one_name(cluster):
    cluster.serve("chat")
    r = cluster.run("gsubmit", "--service=chat", *QUICK, cluster.script(), check=False)
    assert r.returncode == 1 and "there is a service chat already" in r.stderr and "gserve update chat SCRIPT" in r.stderr


def test_update_while_one_rolls(cluster):
    cluster.serve("chat", "--replicas=1", "--gpus=4")
    cluster.wait_ready("chat", 1)
    cluster.run("gserve", "update", "chat", cluster.script("two"))  # there is no room: it waits
    r = cluster.run("gserve", "update", "chat", cluster.script("three"), check=False)
    assert r.returncode == 1 and "is being updated to generation 2" in r.stderr
    cluster.run("gserve", "undo", "chat")
    cluster.wait_ready("chat", 1)
    assert cluster.answers("chat") == ["one 0"]
    r = cluster.run("gserve", "undo", "chat", check=False)
    assert r.returncode == 1 and "no generation before" in r.stderr


def test_words_of_a_script(cluster):
    """All options in #GPUSCHED lines, and what a plain job says of them."""
    path = cluster.script("one", "--service=chat --replicas=1-3 --kept=1 --ports=2", "--ready=http:/health --live=tcp",
                          "--probe=200ms,timeout=100ms --metrics=vllm --target=64", "--request-wait=500ms --drain=1")
    cluster.run("gsubmit", path)
    s = cluster.service("chat")
    spec, asked = s["spec"], s["request"]
    assert (asked["min"], asked["max"], asked["kept"], asked["target"], asked["request_wait_ms"]) == (1, 3, 1, 64, 500)
    assert (spec["ports"], spec["live"], spec["probe_every_ms"], spec["probe_timeout_ms"], spec["probe_fails"],
            spec["metrics"], spec["drain_s"], spec["valid_days"]) == (2, "tcp", 200, 100, 3, "vllm", 1, 90)
    assert cluster.job(s["job"])["array"] == f"0-{2 * 3 + 1 + 16 - 1}"
    assert cluster.job(s["job"])["name"] == "chat"
    assert {"key": "service", "value": "chat"} in cluster.job(s["job"])["labels"]


@pytest.mark.parametrize("options, want", [
    (["--replicas=4-2"], "--replicas=4-2: MIN is above MAX"),
    (["--array=0-3"], "--array: the tasks of a service are its replicas"),
    (["--nodes=2"], "--nodes: a replica of a service runs on one node"),
    (["--ntasks=2"], "--ntasks: a service has no steps"),
    (["--time=5"], "--time: a service has no time limit"),
    (["--target=5"], "--target: the load is not known without --metrics"),
    (["--ports=0", "--metrics=vllm"], "--metrics: they are fetched from a replica's port"),
    (["--metrics=prometheus"], "--metrics=prometheus: expected vllm"),
    (["--ready=http:/a b"], "a path has no spaces"),
    (["--live=http:/a\nb"], "a path has no spaces"),
    (["--replicas=0-4"], "with MIN 0 nothing would start a replica"),
    (["--service=Chat!"], "--service=Chat!: a name is"),
    (["--no-requeue", "--wait"], "--no-requeue: a replica that ends is always started again"),
])
def test_what_makes_no_sense(cluster, options, want):
    r = cluster.run("gsubmit", "--service=chat", *QUICK, *options, cluster.script(), check=False)
    assert r.returncode in (2, 125) and want in r.stderr
    assert not json.loads(cluster.run("gserve", "--json").stdout)["services"]


def test_all_mistakes_at_once(cluster):
    r = cluster.run("gsubmit", "--service=chat", "--array=0-3", "--time=5", "--target=3", "--ready=tcp", "--wrap", "true", check=False)
    assert r.returncode == 2 and r.stderr.count("error: ") == 4


def test_a_partition_without_services(cluster):
    r = cluster.run("gsubmit", "--service=chat", "-p", "jobs", "--wrap", "true", check=False)
    assert r.returncode == 1 and "takes no services" in r.stderr


def test_unknown_services(cluster):
    for words in (["show", "nosuch"], ["nosuch"], ["endpoints", "nosuch"], ["pause", "nosuch"], ["scale", "nosuch", "2"],
                  ["--why", "nosuch"], ["update", "nosuch", cluster.script()]):
        r = cluster.run("gserve", *words, check=False)
        assert r.returncode == 3 and "there is no service nosuch" in r.stderr, words
    r = cluster.run("gserve", "show", "nosuch", "--json", check=False)
    assert r.returncode == 3 and json.loads(r.stdout)["error"]["code"] == "service.unknown"
    r = cluster.run("gserve", "pasue", "chat", check=False)
    assert r.returncode == 3 and "did you mean gserve pause?" in r.stderr


@pytest.mark.skipif(os.geteuid() != 0, reason="needs another user")
def test_another_users_service(cluster):
    cluster.serve("chat")
    for words in (["scale", "chat", "2"], ["pause", "chat"], ["undo", "chat"], ["stop", "chat"]):
        r = cluster.run("gserve", *words, user="nobody", check=False)
        assert r.returncode == 5, words
    r = cluster.run("gserve", "update", "chat", cluster.script("two"), user="nobody", check=False)
    assert r.returncode == 5 and "only its owner may update" in r.stderr
    assert cluster.run("gserve", "show", "chat", user="nobody").stdout
    assert "chat" not in cluster.run("gserve", "--me", user="nobody").stdout


def test_watch_has_a_line_for_each_change(cluster):
    cluster.serve("chat")
    cluster.wait_ready("chat", 1)
    with subprocess.Popen([BIN["gserve"], "--watch", "--json"], stdout=subprocess.PIPE, text=True, env=cluster.env) as p:
        first = json.loads(p.stdout.readline())
        assert [s["state"] for s in first["services"]] == ["SERVING"]
        cluster.run("gserve", "scale", "chat", "2")
        while json.loads(p.stdout.readline())["services"][0]["ready"] != 2:
            pass
        cluster.run("gctl", "shutdown")  # it sits that out
        cluster.ctld.wait()
        cluster.start_ctld()
        cluster.run("gserve", "pause", "chat")
        while json.loads(p.stdout.readline())["services"][0]["state"] != "PAUSED":
            pass
        p.terminate()


def test_watch_ends_with_its_service(cluster):
    cluster.serve("chat")
    cluster.wait_ready("chat", 1)
    with subprocess.Popen([BIN["gserve"], "--watch", "chat"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                          env=cluster.env) as p:
        assert p.stdout.readline().split()[0] == "NAME" and p.stdout.readline().split()[0] == "chat"
        cluster.run("gserve", "stop", "chat")
        assert "there is no service chat" in p.communicate()[1] and p.returncode == 3


def test_watch_on_a_terminal_draws_anew(cluster):
    outer, inner = pty.openpty()
    cluster.serve("chat")
    with subprocess.Popen([BIN["gserve"], "show", "chat", "--watch"], stdout=inner, stdin=subprocess.DEVNULL,
                          env={**cluster.env, "TERM": "xterm"}) as p:
        os.close(inner)
        text = ""
        try:
            for change, seen in (None, "SERVING"), ("2", "WANTED +2"):  # it may have been SERVING already when it was first drawn
                if change:
                    cluster.run("gserve", "scale", "chat", change)
                while not re.search(seen, text.rpartition("\033[2J")[2]):
                    assert select.select([outer], [], [], DEADLINE)[0], text
                    text += os.read(outer, 65536).decode()
        finally:
            p.terminate()
        assert text.count("\033[H\033[2J") > 1
    os.close(outer)


def test_slots_that_are_not_wanted_are_no_queue(cluster):
    """gqueue lists the replicas that run, and those that wait for a node; the slots in reserve if it is asked for them."""
    job = cluster.serve("chat", "--replicas=2")
    cluster.wait_ready("chat", 2)
    words = lambda: cluster.run("gqueue", "-h", "-o", "JOBID,STATE").stdout.split()  # noqa: E731
    wait_until(lambda: words() == [f"{job}_0", "RUNNING", f"{job}_1", "RUNNING"], lambda: f"both replicas and no other slot: {words()}")
    squeue = BUILD / "cmds/slurm-names/squeue"
    assert "PD" not in cluster.run(squeue, "-h").stdout and "PD" in cluster.run(squeue, "-h", "-t", "PD").stdout
    assert "PENDING" in cluster.run("gqueue", "-h", "-t", "PENDING", "-o", "JOBID,STATE").stdout
    assert "NotWanted" in cluster.run("gqueue", "-h", "-j", job, "-o", "JOBID,REASON").stdout


def test_services_are_not_cancelled_with_jobs(cluster):
    """gcancel of all of a user leaves services, with one sentence each; slots in reserve do not count as waiting."""
    cluster.serve("chat", "--replicas=2-4")
    cluster.serve("other")
    cluster.wait_ready("chat", 2)
    cluster.wait_ready("other", 1)

    def none_waits():
        pending = json.loads(cluster.run("ginfo", "--json").stdout)["partitions"][0]["jobs_pending"]
        return pending == 0 and not json.loads(cluster.run("gprio", "--json").stdout)["jobs"]
    wait_until(none_waits, lambda: "no slot in reserve to count as waiting: " + "\n".join(
        cluster.run(*command).stdout for command in (("ginfo",), ("gprio", "--json"), ("gserve", "show", "chat"), ("gserve", "show", "other"))))
    job = cluster.submit("sleep 100")
    r = cluster.run("gcancel", "--me", check=False)
    assert r.returncode == 1 and r.stderr.count("is not cancelled with jobs") == 2 and r.stderr.count("error") == 2, r.stderr
    assert "gserve stop chat ends it" in r.stderr and "Cancelled 1 job" in r.stdout, r.stdout + r.stderr
    cluster.wait_state(job, "CANCELLED")
    r = cluster.run("gcancel", "--user", pwd.getpwuid(os.geteuid()).pw_name, "-t", "RUNNING", check=False)
    assert r.stderr.count("is not cancelled with jobs") == 2 and r.stderr.count("error") == 2, r.stderr
    slots = cluster.service("chat")["job"]
    for named in ([f"{slots}_[0-1]"], [f"{slots}_0", f"{slots}_1"]):
        r = cluster.run("gcancel", *named, check=False)
        assert r.returncode == 1 and r.stderr.count("a replica of service chat would be started again") == 1, r.stderr
    assert cluster.service("chat")["ready"] == 2
    cluster.run("gcancel", str(cluster.service("other")["job"]))
    cluster.wait_gone("other")
