"""Replicas of services on a node: ports, what they say of themselves, how they end. The program gprobe has a stand-in
that says what the test writes, so that each case can be had at will."""

import contextlib
import os
import pathlib
import shutil
import signal
import socket
import time

import pytest

from cluster import BUILD, free_ports, wait_until
from launcher import Job, Launcher, alive, processes

STANDIN = pathlib.Path(__file__).resolve().parents[1] / "helpers/gprobe_standin"
LOW = free_ports(12) + 1  # with one more at each side
PORTS = (LOW, LOW + 9)
SERVICE = {"name": "chat", "ports": 1, "ready": "http:/health", "probe_every_ms": 1000, "probe_timeout_ms": 500,
           "probe_fails": 3, "load_time_s": 60, "drain_s": 7, "starts_per_day": 100, "valid_days": 30}
SLEEP = "echo $$ > pid.$GPUSCHED_SLOT; exec sleep 1000"


class Node(Launcher):
    """A launcher whose shepherds find the stand-in."""

    def __init__(self, ports=f"{PORTS[0]}-{PORTS[1]}", **options):
        super().__init__(start=False, **({"service_ports": ports} if ports else {}), **options)
        self.slots = {}
        programs = self.dir / "programs"
        programs.mkdir()
        programs.chmod(0o755)
        shutil.copy(BUILD / "noded/gshepherd", programs)
        shutil.copy(STANDIN, programs / "gprobe")
        self.shepherd_program = programs / "gshepherd"
        self.start()

    def send(self, kind, value):
        """Orders name the slot too."""
        run = value.get("run")
        if run and kind != "MSG_START_RUN":
            run["task"] = self.slots.get(run["job"], 0)
        super().send(kind, value)

    def replica(self, script=SLEEP, slot=0, service=None, job=None, **order):
        job = job or self.job(script, service)
        self.slots[self.next_job] = slot
        return self.start_run(job, run={"job": self.next_job, "task": slot, "attempt": 1}, **order)

    def job(self, script=SLEEP, service=None, **spec):
        return Job(self.munge, self.owner(), f"#!/bin/sh\n{script}\n", array="0-63", cwd=str(self.jobs),
                   service={**SERVICE, **(service or {})}, **spec)

    def shepherd_of(self, run):
        mark = f"{self.dir}/run/runs/{run[0]}_1_1".encode()
        return wait_until(lambda: [p for p, cmd in processes() if cmd[-1] == mark], "its shepherd")[0]

    def say(self, run, *lines, slot=0):
        """What the stand-in is to say."""
        path = self.dir / f"spool/runs/{run[0]}_{slot}_{run[1]}/say"
        with open(path, "a") as f:
            f.write("".join(line + "\n" for line in lines))
        with contextlib.suppress(PermissionError):
            path.chmod(0o666)

    def health(self, run):
        r = self.runs[run].get("replica", {})
        return r.get("health"), r.get("text", "")

    def wait_health(self, run, health, text=""):
        return self.wait(lambda: self.health(run) == (health, text) and self.runs[run], f"{health} {text}")

    def ready(self, *more, **kw):
        """A replica that is READY."""
        run = self.replica(*more, **kw)
        self.wait_running(run)
        self.say(run, "health ready", slot=kw.get("slot", 0))
        self.wait_health(run, "READY")
        return run


@pytest.fixture(name="node")
def fixture_node():
    node = Node()
    yield node
    node.close()


def variables(node, name):
    path = node.jobs / name
    text = node.wait(lambda: path.exists() and path.read_text().endswith("done\n") and path.read_text(), name)
    return dict(line.split("=", 1) for line in text.splitlines()[:-1])


# --- the start ----------------------------------------------------------------------------------

def test_ports_are_distinct_and_in_the_environment(node):
    script = "env | grep GPUSCHED_ > env.$GPUSCHED_SLOT; echo done >> env.$GPUSCHED_SLOT; exec sleep 1000"
    runs = [node.replica(script, slot=i, service={"ports": 3}) for i in range(3)]
    seen = []
    for i, run in enumerate(runs):
        r = node.wait_running(run)["replica"]
        env = variables(node, f"env.{i}")
        assert r["health"] == "LOADING" and len(r["ports"]) == 3
        assert env["GPUSCHED_PORTS"] == ",".join(str(p) for p in r["ports"])
        assert (env["GPUSCHED_PORT"], env["GPUSCHED_SERVICE"], env["GPUSCHED_SLOT"]) == (str(r["ports"][0]), "chat", str(i))
        seen += r["ports"]
    assert len(set(seen)) == 9 and all(PORTS[0] <= p <= PORTS[1] for p in seen)
    # One is left, which is too few; what ends gives its own back, and the one that was free longest comes first.
    refused = node.wait_over(node.replica(slot=3, service={"ports": 3}))
    assert (refused["state"], refused["cause"]) == ("NEVER", "CAUSE_LAUNCH") and "there are 1" in refused["detail"]
    node.end(runs[1], grace=0)
    node.wait_over(runs[1])
    again = node.wait_running(node.replica(slot=4, service={"ports": 3}))["replica"]["ports"]
    assert again[0] == PORTS[1] and set(again[1:]) < set(node.runs[runs[1]]["replica"]["ports"])


def test_what_gprobe_is_given(node):
    run = node.replica('echo "$@" > args; exec sleep 1000', service={
        "live": "tcp", "metrics": "vllm", "metrics_path": "/m"}, job=node.job(
            'echo "$@" > args; exec sleep 1000', {"live": "tcp", "metrics": "vllm", "metrics_path": "/m"},
            args=[b"one", b"--two"]))
    port = node.wait_running(run)["replica"]["ports"][0]
    node.wait(lambda: (node.jobs / "args").exists() and (node.jobs / "args").read_text(), "the script")
    run_dir = f"{node.dir}/spool/runs/{run[0]}_0_1"
    assert (node.jobs / "options").read_text().split("\n") == [
        "--fd=3", "--name=chat", "--ready=http:/health", "--live=tcp", "--every=1000", "--timeout=500", "--fails=3",
        "--load-time=60", "--metrics=vllm", "--metrics-path=/m", f"--port={port}", "--drain=7",
        f"--run-dir={run_dir}", "--", f"{run_dir}/script", "one", "--two"]
    assert (node.jobs / "args").read_text() == "one --two\n"


def test_a_port_that_another_program_has_is_passed_over(node):
    with socket.socket() as taken, socket.socket(socket.AF_INET) as local:
        for s, address, port in ((taken, "", PORTS[0]), (local, "127.0.0.1", PORTS[0] + 1)):
            s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            s.bind((address, port))
            s.listen()
        assert node.wait_running(node.replica())["replica"]["ports"] == [PORTS[0] + 2]


BIND = """
import os, socket, sys
for family, host in ((socket.AF_INET, ""), (socket.AF_INET6, "::")):
    for port in (int(p) for p in sys.argv[1:]):
        with socket.socket(family) as s:
            s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                s.bind((host, port))
                print("bound", port)
            except PermissionError:
                print("refused", port)
print("done")
"""


def test_no_run_binds_the_ports_of_another(node):
    """The replica still loads: who listens at its port would get its clients' requests."""
    if "cgroup2" not in node.hello["containment"]:
        pytest.skip("no cgroup v2 here")
    (node.jobs / "bind.py").write_text(BIND)
    port = node.wait_running(node.replica())["replica"]["ports"][0]
    other = node.submit(f"/usr/bin/python3 bind.py {port} {PORTS[0]} {PORTS[1]} {PORTS[0] - 1} {PORTS[1] + 1}", array="0")
    node.wait_over(other)
    said = node.output(other, f"gpusched-{other[0]}_0.out").split("\n")
    assert said[:3] == said[5:8] == [f"refused {p}" for p in (port, *PORTS)]
    assert said[3:5] == said[8:10] == [f"bound {p}" for p in (PORTS[0] - 1, PORTS[1] + 1)]
    own = node.replica(f"/usr/bin/python3 bind.py $GPUSCHED_PORT {port} > bound", slot=1)
    mine = node.wait_running(own)["replica"]["ports"][0]
    node.wait_over(own)
    assert (node.jobs / "bound").read_text().split("\n")[:2] == [f"bound {mine}", f"refused {port}"]


def test_ports_outlive_the_launcher(node):
    first = node.ready()
    ports = node.runs[first]["replica"]["ports"]
    since = node.runs[first]["replica"]["ready_time"]
    node.restart()
    r = node.runs[first]
    assert r["replica"]["ports"] == ports and r["replica"]["health"] == "READY"
    assert r["replica"]["ready_time"] == since and r["replica"]["ready_us"] > 0
    assert node.wait_running(node.replica(slot=1))["replica"]["ports"] != ports


def test_a_node_without_ports():
    node = Node(ports=None)
    try:
        refused = node.wait_over(node.replica())
        assert (refused["state"], refused["cause"]) == ("NEVER", "CAUSE_LAUNCH")
        assert "no ports for services" in refused["detail"] and not refused.get("node_trouble")
        assert node.wait_running(node.replica(service={"ports": 0, "ready": "file"}))["replica"].get("ports", []) == []
    finally:
        node.close()


# --- what is refused ----------------------------------------------------------------------------

@pytest.mark.parametrize("wrong, said", [
    ({"ready": "http:health"}, "ready"), ({"ready": "http:/a b"}, "ready"), ({"live": "http:/\r\nX: y"}, "live"),
    ({"metrics": "vllm", "metrics_path": "x"}, "metrics path"), ({"ports": 9}, "ports"), ({"name": "../x"}, "name"),
    ({"starts_per_day": 0}, "starts"), ({"valid_days": 100000}, "validity")])
def test_what_no_owner_may_sign(node, wrong, said):
    refused = node.wait_over(node.replica(service=wrong))
    assert refused["state"] == "NEVER" and said in refused["detail"]


def test_another_path_than_was_signed(node):
    """A controller cannot make a node fetch something else: the spec is what the owner signed, or nothing."""
    job = node.job()
    job.bytes = job.bytes.replace(b"http:/health", b"http:/admin!")
    refused = node.wait_over(node.replica(job=job))
    assert refused["state"] == "NEVER" and refused.get("signature_refused")


def test_starts_a_day(node):
    job = node.job("exit 0", {"starts_per_day": 3}, max_attempts=1)
    for slot in (0, 1, 0):
        assert node.wait_over(node.replica(job=job, slot=slot))["state"] == "ENDED"
    refused = node.wait_over(node.replica(job=job, slot=2))
    assert refused["state"] == "NEVER" and "3 a day" in refused["detail"]
    node.restart()
    assert node.wait_over(node.replica(job=job, slot=2))["state"] == "NEVER"


def test_the_age_of_a_signature():
    """As long as its owner said, and no longer than the node allows; the age of other signatures does not count."""
    node = Node(age=1, service_age_s=100)
    try:
        job, plain = node.job(), Job(node.munge, node.owner(), "#!/bin/sh\nexit 0\n", cwd="/")
        signed = time.time()
        wait_until(lambda: time.time() - signed > 3, "the signatures to be older")
        assert node.wait_over(node.start_run(plain))["state"] == "NEVER"
        assert node.wait_running(node.replica(job=job))["replica"]["health"] == "LOADING"
    finally:
        node.close()
    node = Node(service_age_s=1)
    try:
        job = node.job()
        signed = time.time()
        wait_until(lambda: time.time() - signed > 3, "the signature to be older")
        refused = node.wait_over(node.replica(job=job))
        assert refused["state"] == "NEVER" and "1 s are allowed" in refused["detail"]
    finally:
        node.close()


# --- health and load ----------------------------------------------------------------------------

def test_health_is_told_at_once(node):
    run = node.replica()
    node.wait_running(run)
    node.say(run, "health loading connection refused")
    node.wait_health(run, "LOADING", "connection refused")
    before = time.time()
    node.say(run, "health ready")
    r = node.wait_health(run, "READY")["replica"]
    assert before - 1 < r["ready_time"] / 1e6 <= time.time()
    node.say(run, "health unready 503 \x1b[2J")
    node.wait(lambda: node.health(run)[0] == "UNREADY", "UNREADY")
    assert node.health(run)[1] == "503 \\x1B[2J"
    ready_us = node.runs[run]["replica"]["ready_us"]
    assert 0 < ready_us <= (time.time() - before) * 1e6
    node.say(run, "health ready")
    node.wait_health(run, "READY")
    node.say(run, "end the live probe failed")
    node.wait_health(run, "UNREADY", "it is to end")
    node.end(run, grace=0)
    r = node.wait_over(run)
    assert r["replica"]["text"] == r["detail"] == "the live probe failed"
    assert r["replica"]["ready_us"] >= ready_us and len(r["replica"]["ports"]) == 1


def test_load_comes_in_one_message_for_all(node):
    runs = [node.ready(slot=i) for i in range(3)]
    for i, run in enumerate(runs):
        node.say(run, f"load {i}.5 {i} {100 * i} {10 * i} {1000 * i}", slot=i)
    node.wait(lambda: all(r in node.load for r in runs), "the load of all")
    last = node.load[runs[2]]
    assert (last["known"], last["running"], last["waiting"], last["kv_milli"]) == (True, 2.5, 2.0, 200)
    assert (last["requests"], last["tokens"]) == (20, 2000) and abs(last["time"] / 1e6 - time.time()) < 600
    began, told = time.monotonic(), len(node.loads)
    for n in range(30):  # faster than any of it is told
        for i, run in enumerate(runs):
            node.say(run, f"load {n} 0 0 {10 * i + n} {1000 * i}", slot=i)
        node.drain(0.05)
    node.wait(lambda: all(node.load[r].get("running") == 29 for r in runs), "the last load")
    assert len(node.loads) - told <= time.monotonic() - began + 2  # one each second; the first may have waited, and the last not
    node.say(runs[0], "load unknown")
    node.wait(lambda: not node.load[runs[0]].get("known"), "a load that is not known")
    assert node.load[runs[0]]["requests"] == 29
    # What does not change is repeated, for a controller that was not there.
    node.loads.clear()
    node.wait(lambda: {(r["run"]["job"], r["run"]["attempt"]) for _, m in node.loads for r in m} >= set(runs), "repetition")
    node.end(runs[0], grace=0)
    assert node.wait_over(runs[0])["replica"]["requests"] == 29


def test_a_suspended_replica_is_not_ready(node):
    run = node.ready()
    node.suspend(run)
    node.wait_health(run, "UNREADY", "it is suspended")
    node.suspend(run, False)
    node.wait_health(run, "READY")


# --- the end ------------------------------------------------------------------------------------

@pytest.mark.parametrize("cause", ["CAUSE_SCALE", "CAUSE_ROLL", "CAUSE_CANCEL", "CAUSE_PREEMPT", "CAUSE_RECLAIM"])
def test_an_ordered_end_is_told_to_gprobe_alone(node, cause):
    run = node.ready("trap 'date +%s.%N > term; exit 3' TERM; echo $$ > pid.0; while :; do sleep 0.01; done")
    node.end(run, cause, grace=30, signal=int(signal.SIGUSR1))
    node.wait_health(run, "UNREADY", "it is to end")
    node.wait(lambda: (node.jobs / "told").exists(), "the drain")
    with contextlib.suppress(FileNotFoundError):
        assert "reason=" in (node.dir / f"spool/runs/{run[0]}_0_1/interrupt").read_text()
    # The script was not signalled by the shepherd: gprobe does that, 0.3 s after it was told.
    assert node.result(run) == (cause, 3, 0)
    told = (node.jobs / "told").stat().st_mtime
    assert float((node.jobs / "term").read_text()) - told > 0.25
    assert (node.jobs / "told").read_text() == "TERM\n"
    assert node.runs[run]["replica"] .get("text", "") == "" and node.runs[run]["replica"]["health"] == "READY"
    assert node.runs[run]["replica"]["requests"] == 7  # its last word


def test_what_does_not_drain_is_killed(node):
    run = node.ready("trap '' TERM; echo $$ > pid.0; while :; do sleep 0.05; done")
    node.end(run, grace=1)
    assert node.result(run)[0] == "CAUSE_CANCEL"
    assert not alive(int((node.jobs / "pid.0").read_text()))


def test_the_time_limit_drains_too(node):
    run = node.ready("trap 'exit 4' TERM; while :; do sleep 0.01; done", time_limit_s=4, grace_s=30)
    assert node.result(run) == ("CAUSE_TIME_LIMIT", 4, 0)
    assert (node.jobs / "told").read_text() == "TERM\n"


def test_a_users_signal_goes_to_the_script(node):
    run = node.ready("trap 'echo got > got' USR1; trap 'echo term > term' TERM; "
                     "echo up > up; while :; do sleep 0.01; done")
    wait_until((node.jobs / "up").exists, "the script")
    for number, name in ((signal.SIGUSR1, "got"), (signal.SIGTERM, "term")):
        node.signal(run, int(number))
        wait_until((node.jobs / name).exists, name)
    node.send("MSG_SIGNAL_RUN", {"run": {"job": run[0], "attempt": 1}, "epoch": 1, "signal": int(signal.SIGKILL),
                                 "script_only": True})
    assert node.result(run) == ("CAUSE_EXIT", 128 + signal.SIGKILL, 0)
    assert not (node.jobs / "told").exists()


def test_a_missing_gprobe_is_the_nodes_fault(node):
    (node.dir / "programs/gprobe").unlink()
    r = node.wait_over(node.replica())
    assert r["cause"] == "CAUSE_LAUNCH" and "gprobe" in r["detail"]


# --- gprobe itself ------------------------------------------------------------------------------

SERVER = """#!/usr/bin/python3
import http.server, os, signal, sys, threading, time
busy = 0
class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        global busy
        if self.path == "/work":
            busy += 1
            time.sleep(4)
            while not os.path.exists("drains"):
                time.sleep(0.05)
            busy -= 1
        body = f"vllm:num_requests_running {busy}\\nvllm:num_requests_waiting 0\\n".encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)
    def log_message(self, *args):
        pass
signal.signal(signal.SIGTERM, lambda *_: os._exit(5))
http.server.ThreadingHTTPServer(("", int(os.environ["GPUSCHED_PORT"])), Handler).serve_forever()
"""


@pytest.mark.skipif(not (BUILD / "noded/gprobe").exists(), reason="no gprobe here")
def test_a_server_behind_gprobe(node):
    """It loads, is READY, says its load, and answers what is in flight before it ends."""
    shutil.copy(BUILD / "noded/gprobe", node.dir / "programs/gprobe")
    (node.jobs / "server").write_text(SERVER)
    run = node.replica("exec /usr/bin/python3 server", service={
        "metrics": "vllm", "probe_every_ms": 1000, "probe_timeout_ms": 1000, "drain_s": 20})
    port = node.wait_running(run)["replica"]["ports"][0]
    node.wait(lambda: node.health(run)[0] == "READY", "READY")
    node.wait(lambda: node.load.get(run, {}).get("known"), "its load")
    with socket.create_connection(("127.0.0.1", port)) as client:
        client.sendall(b"GET /work HTTP/1.0\r\n\r\n")
        node.wait(lambda: node.load[run].get("running") == 1, "the request to be seen")
        node.end(run, "CAUSE_SCALE", grace=25)
        node.wait_health(run, "UNREADY", "it is to end")
        (node.jobs / "drains").touch()
        assert client.makefile("rb").read().startswith(b"HTTP/1.0 200")
    assert node.result(run) == ("CAUSE_SCALE", 5, 0)
    assert node.runs[run]["replica"]["ready_us"] > 0


# --- a hostile owner ----------------------------------------------------------------------------

def cpu_s(pid):
    fields = pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def test_a_flood_costs_its_owner_alone(node):
    good = node.ready()
    programs = node.dir / "programs"
    (programs / "gprobe").unlink()
    (programs / "gprobe").write_text("""#!/usr/bin/python3
import os
n = 0
while True:
    n += 1
    os.write(3, b"health ready\\nhealth unready %d\\nload %d 0 0 0 0\\nend \\xff\\x00\\n" % (n, n % 1000) + b"x" * 4000)
""")
    (programs / "gprobe").chmod(0o755)
    flood = node.replica(slot=1)
    node.wait_running(flood)
    node.wait(lambda: flood in node.load, "the flood")
    shepherd, frames = node.shepherd_of(flood), node.frames
    used = cpu_s(shepherd) + cpu_s(node.pid)
    began = time.monotonic()
    node.wait(lambda: time.monotonic() - began > 5, "the flood to last")
    lasted = time.monotonic() - began
    assert cpu_s(shepherd) + cpu_s(node.pid) - used < lasted / 10  # of a core
    assert node.frames - frames < lasted * 4
    node.say(good, "health unready x")  # which comes through
    node.wait_health(good, "UNREADY", "x")
    node.end(flood, grace=0)
    assert node.wait_over(flood)["cause"] == "CAUSE_CANCEL"
