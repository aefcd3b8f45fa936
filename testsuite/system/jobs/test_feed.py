"""gfeed and gactivate on whole clusters: what they write, and real load balancers under load, which lose no request."""

import json
import os
import signal
import socket
import threading
import time
import urllib.error
import urllib.request

import pytest

from cluster import BIN, Daemon, free_port, live_for, wait_until
from load import Load
from test_services import PARTITIONS, Services
from tools import need

# /slow/SECONDS takes its time; the load is told in vLLM's words.
SERVER = """
cat > server.py <<'END'
import http.server, os, sys, threading, time
running = answered = 0
lock = threading.Lock()
class Server(http.server.ThreadingHTTPServer):
    request_queue_size = 256
class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        global running, answered
        if self.path == "/metrics":
            return self.say("vllm:num_requests_running %d\\nvllm:num_requests_waiting 0\\n"
                            "vllm:request_success_total %d\\n" % (running, answered))
        if self.path == "/health":
            return self.say("well", 503 if os.path.exists("sick." + os.environ["GPUSCHED_SLOT"]) else 200)
        with lock:
            running += 1
        if self.path.startswith("/slow/"):
            time.sleep(float(self.path[6:]))
        self.say(sys.argv[1] + " " + os.environ["GPUSCHED_SLOT"])
        with lock:
            running, answered = running - 1, answered + 1
    def say(self, text, status=200):
        self.send_response(status)
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text.encode())
    def log_message(self, *args):
        pass
Server(("127.0.0.1", int(os.environ["GPUSCHED_PORT"])), Handler).serve_forever()
END
exec /usr/bin/python3 server.py VERSION
"""
HAPROXY = """
global
    stats socket {dir}/haproxy.sock mode 600 level admin
defaults
    mode http
    timeout connect 2s
    timeout client 60s
    timeout server 60s
    timeout queue 60s
    retries 3
    option redispatch 1
frontend chat
    bind 127.0.0.1:{port}
    default_backend chat
backend chat
    option httpchk GET /health
    default-server inter 500ms fall 3 rise 1
    server-template chat 8 127.0.0.1:9 check disabled
    {backup}
"""
NGINX = """
daemon off;
pid {dir}/nginx.pid;
error_log {dir}/log/nginx.log;
worker_processes 2;
events {{ worker_connections 1000; }}
http {{
    access_log off;
    client_body_temp_path {dir}/nginx-body; proxy_temp_path {dir}/nginx-proxy; fastcgi_temp_path {dir}/nginx-fastcgi;
    uwsgi_temp_path {dir}/nginx-uwsgi; scgi_temp_path {dir}/nginx-scgi;
    include {dir}/upstream.conf;
    server {{
        listen 127.0.0.1:{port};
        location / {{
            proxy_pass http://chat;
            proxy_next_upstream error timeout http_502 http_503;
            proxy_read_timeout 60s;
        }}
    }}
}}
"""


class Feeding(Services):
    """With gfeed, gactivate and load balancers, which are ended with it."""

    def __init__(self, *args, **kw):
        self.others = []
        super().__init__(*args, **kw)

    def script(self, version="one", *lines):
        path = self.dir / f"jobs/{version}.sh"
        path.write_text("#!/bin/sh\n" + SERVER.replace("VERSION", version))
        return path

    def begin(self, name, *argv):
        d = Daemon(name, argv, self.dir / f"log/{name}.log", self.env)
        self.others.append(d)
        return d

    def feed(self, *options):
        return self.begin("gfeed", BIN["gfeed"], *options)

    def read(self, name):
        """A file of JSON; None while it is not there."""
        path = self.dir / name
        return json.loads(path.read_text()) if path.exists() else None

    def fed(self, name="all.json", service="chat"):
        """The slots that the file says to serve."""
        of = {s["name"]: s for s in (self.read(name) or {"services": []})["services"]}
        return [e["slot"] for e in of[service]["endpoints"]] if service in of else None

    def wait_fed(self, *slots):
        wait_until(lambda: self.fed() == list(slots), lambda: f"slots {slots} in the file: {self.read('all.json')}")

    def haproxy(self, backup=""):
        """Returns the port of its frontend."""
        port = free_port()
        conf = self.dir / "haproxy.cfg"
        conf.write_text(HAPROXY.format(dir=self.dir, port=port, backup=backup))
        return self.begin("haproxy", "/usr/sbin/haproxy", "-db", "-f", conf), port

    def haproxy_servers(self):
        """Of `show servers state`: name, address with port, state."""
        with socket.socket(socket.AF_UNIX) as s:
            s.connect(f"{self.dir}/haproxy.sock")
            s.sendall(b"show servers state chat\n")
            text = b"".join(iter(lambda: s.recv(65536), b"")).decode()
        rows = [line.split() for line in text.splitlines()[2:] if line.split()[3:4] != ["wake"] and line.strip()]
        state = {0: "ready", 8: "drain"}
        return {r[3]: (f"{r[4]}:{r[18]}", state.get(int(r[6]) & ~4, "maint")) for r in rows}

    def haproxy_ready(self):
        try:
            return sorted(a for a, s in self.haproxy_servers().values() if s == "ready" and a != "127.0.0.1:9")
        except OSError:
            return None

    def end_others(self):
        while self.others:
            self.others.pop().kill(signal.SIGTERM)


@pytest.fixture(scope="module")
def cluster():
    with Feeding(partitions=PARTITIONS, cpus=32) as c:
        try:
            yield c
        finally:
            c.end_others()


@pytest.fixture(autouse=True)
def clean(cluster):
    yield
    cluster.end_others()
    for s in json.loads(cluster.run("gserve", "--json").stdout)["services"]:
        cluster.run("gserve", "stop", s["name"], check=False)
        cluster.wait_gone(s["name"])
    for name in ("all.json", "eds.json", "targets.json", "upstream.conf", "models.yaml", "chat.json"):
        (cluster.dir / name).unlink(missing_ok=True)
    for sick in cluster.dir.glob("jobs/sick.*"):
        sick.unlink()


def files_of(d):
    """They are written in this order: what all.json says the others say, too."""
    return [f"--{kind}={d}/{name}" for kind, name in
            (("envoy", "eds.json"), ("prometheus", "targets.json"), ("nginx", "upstream.conf"), ("litellm", "models.yaml"),
             ("json", "all.json"))]


# --- files ---------------------------------------------------------------------------------------


def test_files_follow(cluster):
    """All formats say what gserve endpoints says, while replicas come, fall ill and go."""
    d = cluster.dir
    cluster.feed("--service=chat", *files_of(d))
    wait_until(lambda: cluster.fed() == [], "a service that is not there has no endpoints")
    assert cluster.read("all.json")["services"][0]["state"] == "UNKNOWN" and cluster.read("targets.json") == []
    assert "down" in (d / "upstream.conf").read_text() and "model_list: []" in (d / "models.yaml").read_text()
    cluster.serve("chat", "--replicas=2")
    cluster.wait_ready("chat", 2)
    cluster.wait_fed(0, 1)
    endpoints = cluster.endpoints("chat")
    assert cluster.read("targets.json") == [
        {"targets": [e], "labels": {"service": "chat", "node": "n1", "slot": str(i), "generation": "1"}}
        for i, e in enumerate(endpoints)]
    cluster_of = cluster.read("eds.json")["resources"][0]
    addresses = [e["endpoint"]["address"]["socket_address"] for e in cluster_of["endpoints"][0]["lb_endpoints"]]
    assert [f"{a['address']}:{a['port_value']}" for a in addresses] == endpoints and cluster_of["cluster_name"] == "chat"
    assert [f"\tserver {e};" in (d / "upstream.conf").read_text() for e in endpoints] == [True, True]
    assert (d / "models.yaml").read_text().count("model: \"hosted_vllm/chat\"") == 2
    (d / "jobs/sick.1").touch()
    cluster.wait_fed(0)
    (d / "jobs/sick.1").unlink()
    cluster.wait_fed(0, 1)
    cluster.run("gserve", "stop", "chat")
    cluster.wait_fed()
    cluster.wait_gone("chat")
    wait_until(lambda: not list(d.glob("*.gfeed")), "no file that is being written to stay")


def test_nothing_is_lost_while_the_controller_is_away(cluster):
    """The files stay, byte for byte, but for what all.json says of the silence; so they do for a new gfeed."""
    d = cluster.dir
    feed = cluster.feed("--all", *files_of(d))
    cluster.serve("chat", "--replicas=1")
    cluster.wait_ready("chat", 1)
    cluster.wait_fed(0)
    before = {p: (d / p).read_bytes() for p in ("eds.json", "targets.json", "upstream.conf", "models.yaml")}
    cluster.ctld.kill()
    wait_until(lambda: not cluster.read("all.json")["controller"]["answers"], "the file to say it")
    told = cluster.read("all.json")["controller"]
    assert abs(time.time() - told["since"]) < 60 and told["error"]
    feed.kill()
    cluster.feed("--all", *files_of(d))
    wait_until(lambda: (d / "log/gfeed.log").read_text().count("the outputs stay as they are") == 2, "each says it once")
    assert before == {p: (d / p).read_bytes() for p in before} and cluster.fed() == [0]
    cluster.start_ctld()
    wait_until(lambda: cluster.read("all.json")["controller"]["answers"], "it is back")
    cluster.run("gserve", "scale", "chat", "2")
    cluster.wait_fed(0, 1)
    assert (d / "log/gfeed.log").read_text().count("the controller does not answer") == 2


def test_a_file_for_each_service(cluster):
    """--all finds new services; a service that went while there was no gfeed has an empty file; a lost file comes back."""
    d = cluster.dir
    (d / "of-gone.json").write_text("{}")
    cluster.feed("--all", f"--json={d}/of-%s.json", f"--json={d}/all.json")
    cluster.serve("chat")
    wait_until(lambda: cluster.fed("of-chat.json") == [0], "its own file")
    wait_until(lambda: cluster.fed("of-gone.json", "gone") == [], "the other is empty")
    (d / "of-chat.json").unlink()
    wait_until(lambda: cluster.fed("of-chat.json") == [0], "it is made again")
    for p in d.glob("of-*.json"):
        p.unlink()


def test_reload_runs_after_each_change(cluster):
    """And once more if it failed, and if gfeed may have died before it."""
    d = cluster.dir
    ran = d / "ran"
    command = f"[ -e {d}/fail ] && exit 3; cat {d}/all.json > {ran}.new && mv {ran}.new {ran}"
    cluster.serve("chat")
    cluster.wait_ready("chat", 1)
    feed = cluster.feed("--service=chat", f"--json={d}/all.json,reload={command}")
    wait_until(lambda: cluster.fed("ran") == [0], "the command has run")
    feed.kill()
    ran.unlink()
    cluster.feed("--service=chat", f"--json={d}/all.json,reload={command}")
    wait_until(lambda: cluster.fed("ran") == [0], "it has run at the beginning")
    (d / "fail").touch()
    cluster.run("gserve", "scale", "chat", "2")
    wait_until(lambda: "exit status 3" in (d / "log/gfeed.log").read_text(), "a line about the failure")
    (d / "fail").unlink()
    wait_until(lambda: cluster.fed("ran") == [0, 1], "it was tried again")
    ran.unlink()


# --- HAProxy -------------------------------------------------------------------------------------


def wait_same(cluster, n):
    """HAProxy's servers are the endpoints."""
    cluster.wait_ready("chat", n)
    wait_until(lambda: cluster.haproxy_ready() == sorted(cluster.endpoints("chat")),
               lambda: f"haproxy: {cluster.haproxy_servers()}, endpoints: {cluster.endpoints('chat')}")


def start_haproxy(cluster, backup=""):
    proxy, port = cluster.haproxy(backup)
    wait_until(lambda: cluster.haproxy_ready() is not None, "haproxy's socket")
    return proxy, port


def roll(cluster, load, version, n=2):
    cluster.run("gserve", "update", "chat", cluster.script(version))
    wait_until(lambda: all(a.split()[0] == version for a in cluster.answers("chat")), "the next generation")
    cluster.wait_ready("chat", n)
    load.goes_on()


def test_haproxy_loses_no_request(cluster):
    """200 requests a second, while the service is scaled and rolled, and gfeed and gctld are killed."""
    need("haproxy")
    _, port = start_haproxy(cluster)
    options = ("--service=chat", f"--haproxy={cluster.dir}/haproxy.sock,backend=chat", f"--json={cluster.dir}/all.json")
    feed = cluster.feed(*options)
    cluster.serve("chat", "--replicas=2")
    wait_same(cluster, 2)
    with Load(f"http://127.0.0.1:{port}/") as load:
        load.until_answered_by("one 0", "one 1")
        cluster.run("gserve", "scale", "chat", "4")
        wait_same(cluster, 4)
        load.until_answered_by("one 0", "one 1", "one 2", "one 3")
        cluster.run("gserve", "scale", "chat", "2")
        wait_same(cluster, 2)
        load.goes_on()
        feed.kill()
        load.goes_on()
        cluster.run("gserve", "scale", "chat", "3")
        cluster.wait_ready("chat", 3)
        feed = cluster.feed(*options)
        wait_same(cluster, 3)
        cluster.ctld.kill()
        load.goes_on()
        cluster.start_ctld()
        wait_same(cluster, 3)
        cluster.run("gserve", "scale", "chat", "2")
        wait_same(cluster, 2)
        roll(cluster, load, "two")
        wait_same(cluster, 2)
        load.goes_on()
    assert not load.failures, (len(load.failures), load.count(), load.failures[:5])
    assert any(a.startswith("two") for a in load.answers) and load.count() > 500
    print(f"haproxy: {load.count()} requests, slowest {load.slowest:.3f} s")


def test_haproxy_restarts(cluster):
    """All is set anew, also while the controller is away."""
    need("haproxy")
    proxy, _ = start_haproxy(cluster)
    cluster.feed("--service=chat", f"--haproxy={cluster.dir}/haproxy.sock,backend=chat")
    cluster.serve("chat", "--replicas=2")
    wait_same(cluster, 2)
    cluster.ctld.kill()
    proxy.kill()
    start_haproxy(cluster)
    wait_until(lambda: len(cluster.haproxy_ready() or ()) == 2, "its servers are back")
    cluster.start_ctld()
    wait_same(cluster, 2)
    log = (cluster.dir / "log/gfeed.log").read_text()
    assert "--haproxy: chat:" in log and "works again" in log


def test_haproxy_drains(cluster):
    """What is in flight finishes on a replica that is on its way out; then its server is in maintenance."""
    need("haproxy")
    _, port = start_haproxy(cluster)
    cluster.feed("--service=chat", f"--haproxy={cluster.dir}/haproxy.sock,backend=chat", f"--json={cluster.dir}/all.json")
    cluster.serve("chat", "--replicas=1", "--metrics=vllm", "--drain=30s")
    wait_same(cluster, 1)
    server = next(n for n, (_, s) in cluster.haproxy_servers().items() if s == "ready")
    answer = []

    def slow():
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/slow/6", timeout=60) as r:
            answer.append(r.read().decode())
    t = threading.Thread(target=slow)
    t.start()
    wait_until(lambda: cluster.service("chat")["in_flight"] >= 1, "the request is in flight")
    cluster.run("gserve", "pause", "chat")
    wait_until(lambda: cluster.haproxy_servers()[server][1] == "drain", lambda: f"drain: {cluster.haproxy_servers()}")
    wait_until(lambda: cluster.read("all.json")["services"][0]["draining"], "the file says so")
    assert not answer
    t.join()
    assert answer == ["one 0"]
    wait_until(lambda: cluster.haproxy_servers()[server][1] == "maint", "maintenance")


# --- nginx ---------------------------------------------------------------------------------------


def start_nginx(cluster, *keys):
    """Behind gfeed's file; returns gfeed, the options it was started with, and the port."""
    d, port = cluster.dir, free_port()
    conf = d / "nginx.conf"
    conf.write_text(NGINX.format(dir=d, port=port))
    reload = f"reload=/usr/sbin/nginx -c {conf} -s reload 2>>{d}/log/reload.log"
    options = ("--service=chat", f"--nginx={','.join([f'{d}/upstream.conf', *keys, reload])}", f"--json={d}/all.json")
    feed = cluster.feed(*options)
    wait_until((d / "upstream.conf").exists, "the file that nginx includes")
    cluster.begin("nginx", "/usr/sbin/nginx", "-c", conf, "-e", d / "log/nginx.log")

    def listens():
        with socket.socket() as s:
            return s.connect_ex(("127.0.0.1", port)) == 0
    wait_until(listens, "nginx")
    return feed, options, port


def test_nginx_loses_no_request(cluster):
    need("nginx")
    cluster.serve("chat", "--replicas=2")
    cluster.wait_ready("chat", 2)
    feed, options, port = start_nginx(cluster)
    with Load(f"http://127.0.0.1:{port}/") as load:
        load.until_answered_by("one 0", "one 1")
        cluster.run("gserve", "scale", "chat", "3")
        load.until_answered_by("one 2")
        cluster.run("gserve", "scale", "chat", "2")
        cluster.wait_ready("chat", 2)
        feed.kill()
        load.goes_on()
        cluster.feed(*options)
        cluster.ctld.kill()
        load.goes_on()
        cluster.start_ctld()
        roll(cluster, load, "two")
    assert not load.failures, (len(load.failures), load.count(), load.failures[:5])
    print(f"nginx: {load.count()} requests, slowest {load.slowest:.3f} s")


# --- gactivate -----------------------------------------------------------------------------------

TO_ZERO = ("--replicas=0-2", "--metrics=vllm", "--target=64", "--scale-window=2s,1s", "--scale-down=1s", "--to-zero=2s")


def activate(cluster, *options, service="chat"):
    port = free_port()
    cluster.begin("gactivate", BIN["gactivate"], f"{service}={port}", *options)

    def listens():
        with socket.socket() as s:
            return s.connect_ex(("127.0.0.1", port)) == 0
    wait_until(listens, "gactivate listens")
    return port


@pytest.mark.parametrize("proxy", ["haproxy", "nginx"])
def test_to_zero_and_back(cluster, proxy):
    """A request that finds no replica is held and answered; gactivate is the backup of a load balancer."""
    need(proxy)
    held = activate(cluster)
    if proxy == "haproxy":
        _, port = start_haproxy(cluster, f"server wake 127.0.0.1:{held} backup")
        cluster.feed("--service=chat", f"--haproxy={cluster.dir}/haproxy.sock,backend=chat", f"--json={cluster.dir}/all.json")
    else:
        _, _, port = start_nginx(cluster, f"backup=127.0.0.1:{held}")
    cluster.serve("chat", *TO_ZERO)
    for _ in range(2):
        def is_empty():
            s = cluster.service("chat")
            return s["state"] == "IDLE" and not any(r["node"] for r in s["replicas"]) and cluster.fed() == []
        wait_until(is_empty, lambda: f"no replica: {cluster.service('chat')}")
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/", timeout=60) as r:
            assert r.status == 200 and r.read().decode().startswith("one ")


def test_bounds_of_gactivate(cluster):
    """Beyond --max-held and --wake-wait: 503 for HTTP, the end for others. A silent connection wakes nothing."""
    port = activate(cluster, "--max-held=2", "--wake-wait=2s", service="nosuch")
    url = f"http://127.0.0.1:{port}/"

    def status():
        with pytest.raises(urllib.error.HTTPError) as e:
            urllib.request.urlopen(url, timeout=30)
        return e.value.code
    begin = time.monotonic()
    assert status() == 503 and time.monotonic() - begin > 1.9  # held, and then refused
    silent = [socket.create_connection(("127.0.0.1", port)) for _ in range(2)]
    assert status() == 503
    with socket.create_connection(("127.0.0.1", port)) as other:
        other.sendall(b"\x16\x03\x01 no HTTP")
        other.settimeout(30)
        try:
            assert other.recv(100) == b""
        except ConnectionResetError:
            pass
    for s in silent:
        s.close()
    wait_until(lambda: "more are refused" in (cluster.dir / "log/gactivate.log").read_text(), "a line about it")


def test_what_waits_for_a_service_that_is_stopped(cluster):
    """It is answered long before --wake-wait; so is what comes later, until there is the service again."""
    url = f"http://127.0.0.1:{activate(cluster)}/"
    daemon = cluster.others[-1]
    stopped = (503, b"service chat is stopped or gone\n")

    def ask():
        try:
            with urllib.request.urlopen(url, timeout=60) as r:
                return r.status, r.read()
        except urllib.error.HTTPError as e:
            return e.code, e.read()

    def stop_while_one_waits(state):
        """In that state of the service."""
        before, answers = len(os.listdir(f"/proc/{daemon.pid}/fd")), []
        t = threading.Thread(target=lambda: answers.append(ask()))
        t.start()
        wait_until(lambda: len(os.listdir(f"/proc/{daemon.pid}/fd")) > before, "it is held")
        wait_until(lambda: cluster.service("chat")["state"] == state, f"{state}: {cluster.service('chat')}")
        cluster.run("gserve", "stop", "chat")
        t.join()
        cluster.wait_gone("chat")
        return answers

    cluster.serve("chat", *TO_ZERO)
    assert ask() == (200, b"one 0")
    cluster.run("gserve", "pause", "chat")
    wait_until(lambda: not any(r["node"] for r in cluster.service("chat")["replicas"]), "no replica")
    assert stop_while_one_waits("PAUSED") == [stopped]
    assert ask() == stopped
    (cluster.dir / "jobs/sick.0").touch()  # it starts, and is never ready
    cluster.serve("chat", *TO_ZERO)
    assert stop_while_one_waits("WAKING") == [stopped]
    (cluster.dir / "jobs/sick.0").unlink()
    cluster.serve("chat", *TO_ZERO)
    assert ask() == (200, b"one 0")


def test_bytes_both_ways(cluster):
    """Large, slow, and with halves that end: as if nothing was between."""
    d = cluster.dir
    echo = 'cat > echo.py <<"X"\nimport os, socketserver, sys\n' \
           "class Echo(socketserver.StreamRequestHandler):\n" \
           "    def handle(self):\n" \
           "        for part in iter(lambda: self.request.recv(65536), b''):\n" \
           "            self.wfile.write(part)\n" \
           "        self.wfile.write(b'END')\n" \
           "class Server(socketserver.ThreadingTCPServer):\n    daemon_threads = True\n" \
           "Server(('127.0.0.1', int(os.environ['GPUSCHED_PORT'])), Echo).serve_forever()\nX\nexec /usr/bin/python3 echo.py"
    (d / "jobs/echo.sh").write_text("#!/bin/sh\n" + echo)
    port = activate(cluster, service="echo")
    early = socket.create_connection(("127.0.0.1", port))
    early.sendall(b"early ")
    early.shutdown(socket.SHUT_WR)  # held before there is a service at all
    cluster.run("gsubmit", "--service=echo", "--ports=1", "--ready=tcp", "--probe=100ms,timeout=100ms,fail=2", d / "jobs/echo.sh")
    early.settimeout(60)
    assert b"".join(iter(lambda: early.recv(100), b"")) == b"early END"
    block = os.urandom(1 << 20)
    with socket.create_connection(("127.0.0.1", port)) as s:
        s.settimeout(60)
        sender = threading.Thread(target=lambda: (s.sendall(block * 8), s.shutdown(socket.SHUT_WR)))
        sender.start()
        live_for(0.5)  # nothing is read: what is under way is bounded
        got = b"".join(iter(lambda: s.recv(1 << 16), b""))
        sender.join()
    assert got == block * 8 + b"END"


def test_gactivate_ends_in_order(cluster):
    """TERM: what was passed on finishes."""
    cluster.serve("chat", "--replicas=1")
    cluster.wait_ready("chat", 1)
    port = activate(cluster)
    answer = []
    url = f"http://127.0.0.1:{port}/slow/2"
    t = threading.Thread(target=lambda: answer.append(urllib.request.urlopen(url, timeout=60).read()))
    t.start()
    daemon = cluster.others[-1]
    before = len(os.listdir(f"/proc/{daemon.pid}/fd"))
    wait_until(lambda: len(os.listdir(f"/proc/{daemon.pid}/fd")) > before or answer, "the connection was passed on")
    live_for(0.5)
    daemon.process.terminate()
    t.join()
    assert answer == [b"one 0"] and daemon.wait() == 0


# --- options -------------------------------------------------------------------------------------


@pytest.mark.parametrize("options, want", [
    (["--all"], "there is no output"),
    (["--json=x"], "expected one of --service, --mine and --all"),
    (["--all", "--mine", "--json=x"], "expected one of --service, --mine and --all"),
    (["--service=Chat", "--json=x"], "no name of a service"),
    (["--all", "--haproxy=/x"], "backend=NAME is missing"),
    (["--all", "--haproxy=/x,backend=a;b"], "expected letters, digits"),
    (["--all", "--json=x,backup=1:2"], "no such key"),
    (["--all", "--nginx=x,backup=a b:1"], "expected letters, digits"),
    (["--all", "--json=x,port=0"], "port"),
    (["--all", "--json="], "expected a path"),
])
def test_options_that_make_no_sense(cluster, options, want):
    r = cluster.run("gfeed", *options, check=False)
    assert r.returncode == 2 and want in r.stderr
