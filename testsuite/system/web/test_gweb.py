"""gweb: its metrics, a controller that goes and comes, and clients that are slow, many or hostile"""

import contextlib
import http.client
import json
import os
import pathlib
import random
import re
import resource
import shutil
import socket
import subprocess
import time

import pytest
import webserver
from cluster import DEADLINE, Daemon, TOP, wait_until
from prometheus import Prometheus, need_prometheus

pytestmark = pytest.mark.skipif(bool(webserver.missing()), reason=webserver.missing() or "-")

PAGES = ("", "/jobs", "/nodes", "/partitions", "/jobs-users-accts", "/scheduler", "/exporter", "/gpus")
MONITORING = TOP / "etc/monitoring"
SEED = int(os.environ.get("WEB_SEED", "20"))


@pytest.fixture(scope="module")
def web():
    """For tests that leave it as it was."""
    with webserver.web_cluster(nodes=("n1", "n2")) as w:
        yield w


def series(text):
    """{"name{labels}": value} of a page of metrics."""
    return {m[1]: float(m[2]) for m in re.finditer(r"^([a-zA-Z_]\w*(?:\{.*\})?) (\S+)$", text, re.M)}


def metrics(web, page=""):
    r = web.get("/metrics" + page)
    assert r.status == 200
    return series(r.body.decode())


def raw(web, data, timeout=DEADLINE):
    """All that comes back for these bytes, until the server closes."""
    with socket.create_connection(("127.0.0.1", web.port), timeout=timeout) as s:
        with contextlib.suppress(OSError):
            s.sendall(data)
            s.shutdown(socket.SHUT_WR)
        out = b""
        with contextlib.suppress(OSError):
            while chunk := s.recv(65536):
                out += chunk
        return out


# --- metrics --------------------------------------------------------------------------------------

def test_a_qos_says_how_long_jobs_may_wait():
    """Its max_wait is that of its jobs which say none themselves."""
    with webserver.web_cluster(policy='qos = ( { name = "quick"; default = true; max_wait = "1:00:00"; }, { name = "any"; } );') as w:
        jobs = [w.c.submit("true"), w.c.submit("true", "--max-wait=1:00:00", "--qos=any"), w.c.submit("true", "--qos=any")]
        targets = [j["wait_target_s"] for j in json.loads(w.c.run("gqueue", "--all", "--json", *(f"--job={j}" for j in jobs)).stdout)["jobs"]]
        assert sorted(targets) == [0, 3600, 3600]
        wait_until(lambda: metrics(w).get('gpusched_wait_in_target_total{partition="batch",in_target="yes"}') == 2, lambda: metrics(w))


def test_jobs_are_counted(web):
    running = web.c.submit("sleep 600", "--gpus=2")
    held = web.c.submit("true", "--gpus=1", "--hold")
    array = web.c.submit("sleep 600", "--array=0-9%1", "--gpus=1")
    mine = web.c.run("id", "-un").stdout.strip()
    try:
        wait_until(lambda: (lambda m: m.get('gpusched_jobs{partition="batch",state="RUNNING"}') == 2
                            and m.get('gpusched_gpus{type="demo",state="held"}') == 3)(metrics(web)), "two to run")
        # Each page is of a snapshot of its own.
        for page, want in {
                "": {'gpusched_jobs{partition="batch",state="PENDING"}': 10, 'gpusched_jobs_waiting{reason="JobHeldUser"}': 1,
                     'gpusched_gpus{type="demo",state="held"}': 3, 'gpusched_gpus{type="demo",state="free"}': 5, "gpusched_up": 1},
                "/jobs": {"slurm_jobs_pending": 10, "slurm_jobs_hold": 1, "slurm_jobs_gpus_alloc": 3},
                "/partitions": {'slurm_partition_jobs_pending{partition="batch"}': 10},
                "/jobs-users-accts": {f'slurm_user_jobs_running{{username="{mine}"}}': 2},
                "/exporter": {"slurm_queue_running": 2, "slurm_gpus_total": 8, "slurm_gpus_idle": 5}}.items():
            figures = lambda page=page, want=want: {k: v for k, v in metrics(web, page).items() if k in want}  # noqa: E731
            wait_until(lambda figures=figures, want=want: figures() == want, lambda figures=figures, want=want: f"{want}, not {figures()}")
        wait_until(lambda: metrics(web)["gpusched_snapshot_age_seconds"] < 60, "a snapshot that is young")
        wait_until(lambda: (lambda m: m['slurm_node_gpus_alloc{node="n1"}'] + m['slurm_node_gpus_alloc{node="n2"}'] == 3)(
            metrics(web, "/nodes")), "three GPUs of nodes to be held")
    finally:
        web.c.run("gcancel", running, held, array)
    wait_until(lambda: metrics(web)['gpusched_gpus{type="demo",state="free"}'] == 8, "all GPUs to be free")
    wait_until(lambda: metrics(web).get('gpusched_jobs_ended_total{partition="batch",state="CANCELLED"}', 0) >= 2,
               "the ends to be counted")
    wait_until(lambda: 'gpusched_jobs{partition="batch",state="PENDING"}' not in metrics(web), "no job to wait")


def test_tasks_of_an_array(web):
    """Of tasks that wait together each change shows, and none is counted twice."""
    def counted():
        return sum(v for k, v in metrics(web).items() if re.match(r'gpusched_jobs\{.*"(PENDING|RUNNING|COMPLETING|COMPLETED)"', k))

    before = counted()
    web.c.submit("sleep 0.2", "--array=0-19%3", "--gpus=1")
    wait_until(lambda: 'state="RUNNING"' in str(metrics(web)), "a task to run")
    while 'state="PENDING"' in str(metrics(web)):
        assert counted() <= before + 20
    wait_until(lambda: 'state="RUNNING"' not in str(metrics(web)) and 'state="PENDING"' not in str(metrics(web)),
               "all tasks to end")


def test_hostile_names(web):
    """A job's name is in no label; what is in one is escaped, and each page can be parsed."""
    job = web.c.submit("sleep 600", '--job-name=<script>alert("1")</script>\\', '--comment="} 1 #')
    try:
        wait_until(lambda: metrics(web).get('gpusched_jobs{partition="batch",state="RUNNING"}'), "it to run")
        for page in PAGES:
            r = web.get("/metrics" + page)
            assert r.status == 200 and b"script" not in r.body
            for line in r.body.decode().splitlines():
                assert line.startswith("# ") or re.fullmatch(
                    r'[a-zA-Z_:][\w:]*(\{\w+="(?:[^"\\]|\\[\\"n])*"(,\w+="(?:[^"\\]|\\[\\"n])*")*\})? \S+', line), line
    finally:
        web.c.run("gcancel", job)


def test_headers_of_answers(web):
    for path in ("/metrics", "/v1/whoami", "/nothing"):
        h = web.get(path).headers
        assert h["X-Content-Type-Options"] == "nosniff" and h["X-Frame-Options"] == "DENY"
        assert "default-src 'none'" in h["Content-Security-Policy"] and "unsafe" not in h["Content-Security-Policy"]
    r = web.request("GET", "/metrics", headers={"Accept-Encoding": "gzip"})
    assert r.headers["Content-Encoding"] == "gzip" and r.headers["Vary"] == "Accept-Encoding"


# --- Prometheus -----------------------------------------------------------------------------------

def test_monitoring_files():
    need_prometheus("promtool")
    for args in (["check", "config", "prometheus.yml"], ["test", "rules", "alerts_test.yml"]):
        r = subprocess.run(["promtool", *args], cwd=MONITORING, capture_output=True, text=True, check=False)
        assert r.returncode == 0, r.stdout + r.stderr


def test_names_exist():
    """Rules and dashboards ask for nothing that gweb does not say."""
    listed = subprocess.run([webserver.GWEB, "--metrics"], capture_output=True, text=True, check=True).stdout
    names = set(re.findall(r"^\.It Li (\w+)", listed, re.M))
    used = set()
    for name in ("alerts.yml", "dashboard-cluster.json", "dashboard-gpus.json"):
        text = (MONITORING / name).read_text()
        used |= set(re.findall(r"\b(?:gpusched|slurm|DCGM_FI)_\w+", text))
        if name.endswith(".json"):
            panels = json.loads(text)["panels"]
            assert len({p["id"] for p in panels}) == len(panels)
            assert all(t["expr"] for p in panels for t in p["targets"])
    used = {re.sub(r"_(bucket|sum|count)$", "", n) if n.startswith("gpusched_wait_seconds") else n for n in used}
    missing = {n for n in used if n not in names and not n.startswith("gpusched_ctld_")}
    assert not missing


def test_figures_of_the_controller_exist(web):
    text = "".join((MONITORING / n).read_text() for n in ("alerts.yml", "dashboard-cluster.json"))
    said = metrics(web)
    assert set(re.findall(r"\bgpusched_ctld_\w+", text)) <= set(said)


def test_promtool_finds_nothing(web):
    need_prometheus("promtool")
    for page in ("", "/jobs", "/nodes", "/partitions", "/jobs-users-accts", "/scheduler", "/gpus"):
        r = subprocess.run(["promtool", "check", "metrics"], input=web.get("/metrics" + page).body, capture_output=True, check=False)
        assert r.returncode == 0 and not r.stderr, (page, r.stderr)


def test_prometheus_scrapes(web, tmp_path):
    """Debian's prometheus takes all pages; no rule fails and no alert of a sound cluster fires."""
    need_prometheus("prometheus")
    jobs = "".join(f"  - job_name: p{i}\n    metrics_path: /metrics{p}\n    static_configs: [{{ targets: ['127.0.0.1:{web.port}'] }}]\n"
                   for i, p in enumerate(PAGES))
    shutil.copy(MONITORING / "alerts.yml", tmp_path)
    with Prometheus(tmp_path, f"global: {{ scrape_interval: 1s, evaluation_interval: 1s }}\nrule_files: [alerts.yml]\nscrape_configs:\n{jobs}") as p:
        wait_until(lambda: p.all_up(len(PAGES)), lambda: f"all scrapes: {p.ask('targets')}")
        for name, value in (("gpusched_up", 1), ("slurm_nodes", 2)):  # the first scrape may have been before the first snapshot
            wait_until(lambda name=name, value=value: [v for _, v in p.query(name)] == [value], lambda name=name: f"{name}: {p.query(name)}")
        wait_until(lambda: all(r["health"] == "ok" for g in p.ask("rules")["groups"] for r in g["rules"]), "rules to be evaluated")
        assert not [a for a in p.ask("alerts")["alerts"] if a["state"] == "firing"]


# --- the controller goes --------------------------------------------------------------------------

def test_controller_restarts():
    with webserver.web_cluster() as web:
        job = web.c.submit("sleep 600", "--gpus=1")
        running = 'gpusched_jobs{partition="batch",state="RUNNING"}'
        held = 'gpusched_gpus{type="demo",state="held"}'
        wait_until(lambda: metrics(web).get(running) == 1 and metrics(web).get(held) == 1, "it to run")
        web.c.ctld.kill()
        wait_until(lambda: metrics(web)["gpusched_up"] == 0, "gweb to notice")
        before = metrics(web)["gpusched_snapshot_age_seconds"]
        wait_until(lambda: metrics(web)["gpusched_snapshot_age_seconds"] > before, "the age to grow")
        m = metrics(web)
        assert m[running] == 1 and m[held] == 1  # as it was
        web.c.start_ctld()
        wait_until(lambda: metrics(web)["gpusched_up"] == 1, "gweb to be back")
        assert metrics(web)[running] == 1
        web.c.run("gcancel", job)
        wait_until(lambda: running not in metrics(web), "it to end")
        wait_until(lambda: metrics(web).get('gpusched_jobs_ended_total{partition="batch",state="CANCELLED"}') == 1, "its end to count")


def test_starts_before_the_controller():
    with webserver.web_cluster() as web:
        web.c.ctld.kill()
        web.close()
        web.daemon = Daemon("gweb", [webserver.GWEB, f"--listen=127.0.0.1:{web.port}", "--period=100ms"],
                            web.c.dir / "log/gweb.log", web.c.env)
        wait_until(lambda: b"\ngpusched_up 0\n" in raw(web, b"GET /metrics HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
                   if _listens(web.port) else False, "answers without a controller")
        web.c.start_ctld()
        wait_until(lambda: metrics(web)["gpusched_up"] == 1, "gweb to find it")


def _listens(port):
    with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), timeout=1):
        return True
    return False


# --- what clients may not -------------------------------------------------------------------------

@pytest.mark.parametrize("target,status", [
    ("/metrics/../v1/jobs", 400), ("/%2e%2e/etc/passwd", 400), ("//metrics", 400), ("/metrics%2fjobs", 400),
    ("/metrics%00", 400), ("/a\\b", 400), ("/%c0%ae", 400), ("/metrics/nothing", 404), ("/metrics?x=%zz", 400),
    ("/" + "a" * 2000, 400), ("/metrics?" + "&".join(f"a{i}" for i in range(65)), 400), ("/metrics?x=1", 200),
])
def test_paths(web, target, status):
    out = raw(web, f"GET {target} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n".encode())
    assert out.startswith(f"HTTP/1.1 {status} ".encode()), out[:200]


@pytest.mark.parametrize("host,status", [
    ("localhost", 200), ("127.0.0.1:1", 200), ("[::1]", 200), (socket.gethostname(), 200), ("evil.example", 421),
    ("localhost.evil.example", 421), ("localhost@evil.example", 421), ("", 421),
])
def test_hosts(web, host, status):
    out = raw(web, f"GET /metrics HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n".encode())
    assert out.startswith(f"HTTP/1.1 {status} ".encode()), out[:200]


def test_bodies_and_heads(web):
    for head, statuses in (
            (b"GET /metrics HTTP/1.1\r\n\r\n", (400,)),  # no Host
            (b"POST /metrics HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1\r\n\r\nx", (405,)),
            (b"GET /metrics HTTP/1.1\r\nHost: localhost\r\nContent-Length: 5\r\n\r\nhello", (413,)),
            (b"GET /metrics HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n", (413,)),
            (b"POST /v1/submit HTTP/1.1\r\nHost: localhost\r\nContent-Length: 99999999999\r\n\r\n", (401, 404, 413)),
            (b"GET /metrics HTTP/1.1\r\nHost: localhost\r\nX: " + b"a" * 40000 + b"\r\n\r\n", (413, 431, 400)),
    ):
        out = raw(web, head)
        assert out.startswith(tuple(f"HTTP/1.1 {s} ".encode() for s in statuses)), (head[:80], out[:200])


def test_slow_clients():
    """A request that comes byte by byte ends with its time, however often a byte comes; others are answered."""
    with webserver.web_cluster("--request-time=1s") as web:
        slow = [socket.create_connection(("127.0.0.1", web.port), timeout=DEADLINE) for _ in range(20)]
        head = iter(b"GET /metrics HTTP/1.1\r\nHost: localhost\r\nX: " + b"a" * 100000)

        def all_closed():
            byte = bytes([next(head)])
            for s in list(slow):
                try:
                    s.sendall(byte)
                except OSError:
                    slow.remove(s)
            return not slow

        wait_until(all_closed, lambda: f"{len(slow)} slow connections to be closed")
        wait_until(lambda: metrics(web)["gpusched_web_slow_total"] >= 20, "them to be counted")
        # An answer that nobody reads costs its connection no more than its time: others go on.
        s = socket.create_connection(("127.0.0.1", web.port))
        s.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        s.sendall(b"GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n" * 20)
        assert metrics(web)["gpusched_up"] == 1
        s.close()


def few_open(sockets, n):
    """Those that the server has not closed, if they are so few; else None."""
    for s in sockets:
        if s.fileno() < 0:  # when it was looked at before
            continue
        s.setblocking(False)
        with contextlib.suppress(BlockingIOError, ConnectionError):
            if not s.recv(1):
                s.close()
    alive = [s for s in sockets if s.fileno() >= 0]
    return alive if len(alive) <= n else None


def test_ten_thousand_connections():
    """No more of one address than it may have; the others are closed at once, and then there is room again."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    with contextlib.suppress(ValueError, OSError):
        resource.setrlimit(resource.RLIMIT_NOFILE, (min(hard, 20000), hard))
    with webserver.web_cluster("--max-per-address=200") as web:
        held, refused = [], 0
        for _ in range(10000):
            try:
                held.append(socket.create_connection(("127.0.0.1", web.port), timeout=DEADLINE))
            except OSError:
                refused += 1
            if len(held) >= 900:  # those that the server has closed
                held = wait_until(lambda held=held: few_open(held, 200 + 300), "the others to be closed")
        status = pathlib.Path(f"/proc/{web.daemon.pid}/status").read_text()
        assert int(re.search(r"VmRSS:\s+(\d+)", status)[1]) < 256 * 1024
        for s in held:
            s.close()
        wait_until(lambda: _answers(web), "room again")
        assert metrics(web)["gpusched_web_refused_total"] > 5000
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def _answers(web):
    with contextlib.suppress(OSError, http.client.HTTPException):
        return web.get("/metrics").status == 200
    return False


# --- fuzz -----------------------------------------------------------------------------------------

WORDS = [b"GET", b"POST", b"HEAD", b"OPTIONS", b"DELETE", b"TRACE", b"CONNECT", b" ", b"  ", b"\t", b"/", b"/metrics", b"/v1/jobs",
         b"/v1/watch", b"/v1/job/1", b"/v1/submit", b"/login/x", b"?", b"&", b"=", b"%", b"%00", b"%2e", b"..", b"HTTP/1.1", b"HTTP/1.0",
         b"HTTP/9.9", b"\r\n", b"\n", b"\r", b"\0", b"Host: localhost", b"Host: x", b"Content-Length: 3", b"Content-Length: -1",
         b"Content-Length: 18446744073709551616", b"Transfer-Encoding: chunked", b"Transfer-Encoding: gzip, chunked", b"0\r\n\r\n",
         b"ffffffffffffffff\r\n", b"Expect: 100-continue", b"Connection: close", b"Connection: keep-alive, Upgrade", b"Cookie: gweb=",
         b"Cookie: a=b; a=c;;", b"Authorization: Munge ", b"Authorization: Bearer x", b"Accept-Encoding: gzip;q=", b"Range: bytes=0-",
         b"Last-Event-ID: 99999999999999999999", b"X-Remote-User: root", b"Origin: http://evil.example", b"a" * 300, b"\xff\xfe", b"{}"]
SOUND = b"GET /metrics HTTP/1.1\r\nHost: localhost\r\nAccept: */*\r\nConnection: close\r\n\r\n"


def hostile(rng):
    """Words of HTTP in any order, or a sound request of which some bytes are others."""
    if rng.random() < 0.5:
        return b"".join(rng.choice(WORDS) for _ in range(rng.randrange(1, 40))) + rng.choice([b"", b"\r\n\r\n"])
    data = bytearray(SOUND * rng.randrange(1, 4))
    for _ in range(rng.randrange(1, 12)):
        at = rng.randrange(len(data))
        data[at:at + rng.randrange(3)] = rng.choice([bytes([rng.randrange(256)]), rng.choice(WORDS), b""])
    return bytes(data)


def test_fuzzed_requests():
    """WEB_SEED=N: another seed. No answer is an internal error, each connection ends, and gweb goes on."""
    rng = random.Random(SEED)
    with webserver.web_cluster("--request-time=1s") as web:
        for batch in range(10):
            open_ones = []
            for _ in range(150):
                data = hostile(rng)
                s = socket.create_connection(("127.0.0.1", web.port), timeout=DEADLINE)
                with contextlib.suppress(OSError):
                    s.sendall(data)
                open_ones.append((s, data))
            for s, data in open_ones:
                answer = b""
                with contextlib.suppress(ConnectionError), s:
                    while more := s.recv(65536):
                        answer = (answer + more)[:65536]
                assert not answer.startswith((b"HTTP/1.1 500", b"HTTP/1.0 500")), (SEED, batch, data)
            assert web.daemon.alive(), (SEED, batch)
        assert metrics(web)["gpusched_up"] == 1
        wait_until(lambda: metrics(web)["gpusched_web_connections"] <= 2, "all connections to be closed")
