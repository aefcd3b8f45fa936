"""gprobe by itself: a pipe instead of a shepherd, and a server that answers whatever a test likes."""

import contextlib
import fcntl
import os
import pathlib
import re
import signal
import socket
import socketserver
import subprocess
import threading
import time

import pytest
from cluster import BUILD, DEADLINE, wait_until

GPROBE = BUILD / "noded/gprobe"
pytestmark = pytest.mark.skipif(not GPROBE.exists(), reason="gprobe is not built")

VLLM = 'vllm:num_requests_running{{engine="0"}} {}\nvllm:num_requests_waiting{{engine="0"}} {}\n'
SLEEP = ("sh", "-c", "exec sleep 1000")
STOPS_LATE = ("sh", "-c", 'trap "touch term" TERM; touch up; while :; do sleep 0.05; done')


def answer(body, status="200 OK", head=""):
    data = body if isinstance(body, bytes) else body.encode()
    return f"HTTP/1.1 {status}\r\nContent-Length: {len(data)}\r\n{head}\r\n".encode() + data


class Server:
    """A thread that answers: `pages` has of each path the bytes, or a function of the connection."""

    def __init__(self, address="127.0.0.1"):
        self.pages, self.hits, self.taken, server = {}, {}, 0, self

        class Handler(socketserver.BaseRequestHandler):
            def handle(self):
                with contextlib.suppress(OSError):
                    server.serve(self.request)

        class Listener(socketserver.ThreadingTCPServer):
            allow_reuse_address = True
            daemon_threads = True
            request_queue_size = 64

        self.listener = Listener((address, 0), Handler)
        self.port = self.listener.server_address[1]
        threading.Thread(target=self.listener.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True).start()

    def serve(self, conn):
        self.taken += 1
        conn.settimeout(DEADLINE)
        head = b""
        while b"\r\n\r\n" not in head:
            got = conn.recv(4096)
            if not got:
                return
            head += got
        path = head.split()[1].decode()
        page = self.pages.get(path, answer("", "404 Not Found"))
        if callable(page):
            page(conn)
        else:
            conn.sendall(page)
        self.hits[path] = self.hits.get(path, 0) + 1

    def wait_hits(self, path, more):
        until = self.hits.get(path, 0) + more
        wait_until(lambda: self.hits.get(path, 0) >= until, f"{more} requests of {path}")

    def close(self):
        self.listener.shutdown()
        self.listener.server_close()


class Gprobe:
    def __init__(self, folder, *options, script=SLEEP, full=False, every=100):
        self.dir = folder
        self.read, self.write = os.pipe()
        os.set_blocking(self.read, False)
        if full:
            fcntl.fcntl(self.write, fcntl.F_SETPIPE_SZ, 4096)
            self.junk = os.write(self.write, b"x" * 4096)
        self.bytes = b""
        self.p = subprocess.Popen(
            [str(GPROBE), f"--fd={self.write}", "--name=chat", f"--every={every}", f"--run-dir={folder}", *map(str, options), "--",
             *map(str, script)],
            pass_fds=[self.write], cwd=folder, stdin=subprocess.DEVNULL, stderr=(folder / "err").open("wb"))
        os.close(self.write)

    def lines(self):
        if self.read >= 0:
            with contextlib.suppress(BlockingIOError):
                while got := os.read(self.read, 65536):
                    self.bytes += got
        return self.bytes.decode().splitlines()

    def wait_line(self, pattern):
        found = wait_until(lambda: [x for x in self.lines() if re.fullmatch(pattern, x)],
                           lambda: f"a line {pattern}; so far: {self.lines()}; {self.err()}")
        return found[0]

    def wait_last(self, line):
        kind = line.split()[0]
        wait_until(lambda: [x for x in self.lines() if x.split()[0] == kind][-1:] == [line],
                   lambda: f"{line}; so far: {self.lines()}")

    def err(self):
        return (self.dir / "err").read_text()

    def wait_err(self, text):
        wait_until(lambda: text in self.err(), lambda: f"{text} in {self.err()}")

    def wait(self):
        return self.p.wait(DEADLINE)

    def script(self):
        pid = wait_until(lambda: pathlib.Path(f"/proc/{self.p.pid}/task/{self.p.pid}/children").read_text(), "the script")
        return int(pid.split()[0])

    def private_kb(self):
        text = pathlib.Path(f"/proc/{self.p.pid}/smaps_rollup").read_text()
        return sum(int(n) for n in re.findall(r"^Private_\w+: +(\d+)", text, re.M))

    def is_sanitized(self):
        return "asan" in pathlib.Path(f"/proc/{self.p.pid}/maps").read_text()

    def close(self):
        if self.p.poll() is None:
            self.p.kill()
            self.p.wait()
        self.close_pipe()

    def close_pipe(self):
        if self.read >= 0:
            os.close(self.read)
        self.read = -1


@pytest.fixture
def server():
    s = Server()
    yield s
    s.close()


@pytest.fixture
def start(tmp_path):
    started = []

    def make(*options, **kw):
        started.append(Gprobe(tmp_path, *options, **kw))
        return started[-1]

    yield make
    for g in started:
        g.close()


# --- the script -------------------------------------------------------------------------------------


@pytest.mark.parametrize("script, status", [
    (("sh", "-c", "exit 7"), 7), (("true",), 0), (("sh", "-c", "kill -9 $$"), -9), (("sh", "-c", "kill -TERM $$"), -15),
    (("sh", "-c", "kill -SEGV $$"), -11), (("./none",), 127), (("/etc/passwd",), 126)])
def test_it_ends_as_its_script(start, script, status):
    g = start(script=script)
    assert g.wait() == status
    assert g.lines()[0] == "health loading"


def test_what_a_script_inherits(start, tmp_path):
    """What it has without gprobe, and a process group of its own."""
    script = ("sh", "-c", "grep -E '^Sig(Blk|Ign|Cgt)' /proc/self/status; ls /proc/self/fd")
    alone = subprocess.run(script, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=True)
    g = start(script=("sh", "-c", f"({script[2]}) >seen; cut -d\" \" -f1,5 /proc/$$/stat >group"))
    assert g.wait() == 0
    assert (tmp_path / "seen").read_text() == alone.stdout
    pid, group = (tmp_path / "group").read_text().split()
    assert pid == group


def test_it_is_killed(start):
    g = start()
    script = g.script()
    g.p.kill()
    g.wait()
    wait_until(lambda: not pathlib.Path(f"/proc/{script}").exists()
               or pathlib.Path(f"/proc/{script}/stat").read_text().rsplit(") ", 1)[1][0] == "Z", "the script to be killed too")


def test_signals(start, tmp_path):
    """They go to the script's own process, not to what it has started."""
    g = start(script=("sh", "-c", 'trap "echo usr1 >>got" USR1; trap "echo int >>got; kill $!; exit 3" INT; '
                                  'sleep 1000 & touch up; while kill -0 $!; do sleep 0.05; done; exit 4'))
    wait_until((tmp_path / "up").exists, "the script")
    got = tmp_path / "got"
    for n in (1, 2):
        g.p.send_signal(signal.SIGUSR1)
        wait_until(lambda n=n: got.exists() and got.read_text() == "usr1\n" * n, "a signal")
    g.p.send_signal(signal.SIGCONT)  # the shepherd sends it to all
    g.p.send_signal(signal.SIGINT)
    assert g.wait() == 3
    assert got.read_text() == "usr1\nusr1\nint\n"


# --- probes -----------------------------------------------------------------------------------------


def test_ready_and_unready(start, server):
    server.pages["/health"] = answer("", "503 Service Unavailable")
    g = start("--ready=http:/health", "--fails=2", f"--port={server.port}")
    g.wait_line("health loading /health: status 503")
    for page in (answer("moved", "302 Found", "Location: /other\r\n"), answer("", "101 Switching Protocols"), b"HTTP/2 200\r\n\r\n",
                 b"what?\r\n", b"", answer("x")[:-1], b"HTTP/1.1 200 OK\r\n" + b"x" * 20000, b"HTTP/1.1 200 OK\r\n" + b"a: b\r\n" * 5000):
        server.pages["/health"] = page
        server.wait_hits("/health", 3)
    assert not [x for x in g.lines() if not x.startswith("health loading")]
    server.pages["/health"] = answer("", "204 No Content")
    g.wait_line("health ready")
    server.pages["/health"] = answer("", "500 \x1b[31m")
    g.wait_line("health unready /health: status 500")
    server.pages["/health"] = answer("y" * 1000000)  # the rest of a long body is not read
    g.wait_last("health ready")
    assert g.p.poll() is None
    assert all(len(x) < 512 and x.isprintable() for x in g.lines())


def test_without_a_probe_it_is_ready_at_once(start):
    g = start()
    g.wait_line("health ready")


def test_a_file(start, tmp_path):
    g = start("--ready=file")
    g.wait_line("health loading there is no file ready in its run directory")
    (tmp_path / "ready").touch()
    g.wait_line("health ready")
    (tmp_path / "ready").unlink()
    g.wait_line("health unready there is .*")


def own_address():
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as s:
        try:
            s.connect(("192.0.2.1", 9))
        except OSError:
            return None
        return s.getsockname()[0]


def test_another_address(start):
    address = own_address()
    if not address or address.startswith("127."):
        pytest.skip("this machine has no address but the loopback's")
    server = Server(address)
    server.pages["/health"] = answer("ok")
    g = start("--ready=http:/health", f"--port={server.port}")
    found = wait_until(lambda: [x for x in g.lines() if x != "health loading"], "an answer, or why there is none")
    server.close()
    if found[0] != "health ready":
        pytest.skip(f"another address of this machine is its first: {found[0]}")


def test_a_server_that_clients_cannot_reach(start, server):
    """It listens at 127.0.0.1 alone, and its owner is told."""
    g = start("--ready=tcp", f"--port={server.port}")
    g.wait_line("health ready")
    if not own_address() or own_address().startswith("127."):
        pytest.skip("this machine has no address but the loopback's")
    g.wait_err("the server answers at 127.0.0.1 only")


def test_a_server_that_clients_reach(start):
    server = Server("0.0.0.0")
    g = start("--ready=tcp", f"--port={server.port}")
    g.wait_line("health ready")
    wait_until(lambda: server.taken >= 4, "more probes")
    server.close()
    assert g.err() == ""


def test_a_port_without_a_server(start, server):
    server.close()
    g = start("--ready=tcp", f"--port={server.port}")
    g.wait_line(f"health loading 127.0.0.1:{server.port}: Connection refused.*")


def silence(conn):
    conn.recv(1)


def trickle(conn):
    conn.sendall(b"HTTP/1.1 200 OK\r\n\r\n")
    while True:
        conn.sendall(b"x")
        time.sleep(0.02)


@pytest.mark.parametrize("page, found", [(silence, "no answer in 100 ms"), (trickle, "an answer that did not end in 100 ms")])
def test_a_server_that_hangs(start, server, page, found):
    server.pages["/health"] = page
    g = start("--ready=http:/health", "--timeout=100", f"--port={server.port}")
    g.wait_line(f"health loading 127.0.0.1:{server.port}: {found}")


@pytest.mark.parametrize("ready", ["http:/health", "http:/other"])
def test_a_live_probe_that_fails(start, server, ready):
    server.pages.update({"/health": answer("ok"), "/other": answer("ok")})
    g = start(f"--ready={ready}", "--live=http:/health", "--fails=2", f"--port={server.port}")
    g.wait_line("health ready")
    server.pages["/health"] = answer("", "500 No")
    assert g.wait() == -signal.SIGTERM
    g.wait_line("end its live probe failed 2 times in a row: /health: status 500")
    g.wait_err("the replica is ended")


def test_never_ready(start, tmp_path):
    g = start("--ready=file", "--load-time=1", script=("sh", "-c", 'trap "" TERM; touch up; exec sleep 1000'))
    assert g.wait() == -signal.SIGKILL  # 10 s after TERM, which this script ignores
    g.wait_line("end it was not ready within its load time: there is no file ready in its run directory")


# --- load -------------------------------------------------------------------------------------------


def with_metrics(start, server, *options, preset="vllm", **kw):
    return start(f"--metrics={preset}", f"--port={server.port}", *options, **kw)


def chunks(*parts):
    return (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
            + b"".join(b"%x\r\n%s\r\n" % (len(p), p) for p in parts) + b"0\r\n\r\n")


WELL = {
    "plain": answer(VLLM.format("3.0", 7)),
    "crlf": answer(VLLM.format(3, 7).replace("\n", "\r\n")),
    "comments": answer("# HELP vllm:num_requests_running 99\n\n# TYPE x gauge\n" + VLLM.format("3 1700000000000", "7 # {a=\"b\"} 5") + "# EOF\n"),
    "chunks": chunks(b"vllm:num_requests_run", b"ning 3\nvllm:num_re", b"quests_waiting 7\n"),
    "no end of line": answer(VLLM.format(3, 7).rstrip("\n")),
    "no length": b"HTTP/1.0 200 OK\r\n\r\n" + VLLM.format(3, 7).encode(),
    "long lines": answer("x" * 100000 + " 1\ny{z=\"" + "\\\"" * 100000 + "\"} 2\n" + VLLM.format(3, 7)),
    "sums": answer("".join(f'vllm:num_requests_running{{engine="{i}",x="}} 9\\""}} 1\n' for i in range(3)) + "vllm:num_requests_waiting 7\n"),
}


@pytest.mark.parametrize("page", WELL.values(), ids=WELL)
def test_metrics(start, server, page):
    server.pages["/metrics"] = page
    g = with_metrics(start, server)
    g.wait_line("load 3 7 0 0 0")


def send_much(conn):
    conn.sendall(b"HTTP/1.1 200 OK\r\n\r\n")
    line = VLLM.format(1, 1).encode() * 1000
    for _ in range(50_000_000 // len(line)):
        conn.sendall(line)


def send_for_ever(conn):
    conn.sendall(b"HTTP/1.1 200 OK\r\n\r\n" + VLLM.format(1, 1).encode())
    while True:
        conn.sendall(b"# nothing\n")
        time.sleep(0.02)


def one_chunk(conn):
    conn.sendall(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3000000\r\n")
    for _ in range(0x3000000 // 65536):
        conn.sendall(b"x" * 65536)


BAD = {
    "50 MB": (send_much, "more than 4 MiB"),
    "for ever": (send_for_ever, "did not end"),
    "a chunk of 48 MiB": (one_chunk, "more than 4 MiB"),
    "silent": (silence, "no answer"),
    "nan": (answer(VLLM.format("NaN", 1)), "no number of requests"),
    "inf": (answer(VLLM.format("+Inf", 1)), "no number of requests"),
    "negative": (answer(VLLM.format(1, -3)), "no number of requests"),
    "words": (answer(VLLM.format("many", 1)), "no number of requests"),
    "missing": (answer("vllm:num_requests_running 1\n"), "vllm:num_requests_waiting is missing"),
    "empty": (answer(""), "is missing"),
    "bytes": (answer(bytes(range(256)) * 100), "is missing"),
    "half": (b"HTTP/1.0 200 OK\r\n\r\n" + VLLM.format(1, 12).encode()[:-2], "breaks off"),
    "shorter": (answer(VLLM.format(1, 12))[:-3], "breaks off"),
    "500": (answer(VLLM.format(1, 1), "500 Error"), "status 500"),
    "gzip": (answer(VLLM.format(1, 1), head="Transfer-Encoding: gzip\r\n"), "Transfer-Encoding"),
    "no http": (b"220 mail.example ESMTP\r\n", "no HTTP answer"),
    "closed": (b"", "closed without an answer"),
}


@pytest.mark.parametrize("page, why", BAD.values(), ids=BAD)
def test_bad_metrics(start, server, page, why):
    server.pages["/metrics"] = answer(VLLM.format(1, 0))
    ms = 5000 if "MiB" in why else 1000  # on a slow machine much takes its time, and is to be refused for its size
    g = with_metrics(start, server, f"--timeout={ms}", every=ms)
    g.wait_line("load 1 0 0 0 0")
    server.pages["/metrics"] = page
    g.wait_last("load unknown")
    g.wait_err(why)
    if not g.is_sanitized():
        assert g.private_kb() < 1024
    server.pages["/metrics"] = answer(VLLM.format(2, 0))
    g.wait_last("load 2 0 0 0 0")
    assert g.err().count("gprobe:") == 1
    assert g.p.poll() is None


def test_a_load_is_told_again(start, server):
    """So that its reader knows how old it is."""
    server.pages["/metrics"] = answer(VLLM.format(3, 7))
    g = with_metrics(start, server)
    wait_until(lambda: g.lines().count("load 3 7 0 0 0") >= 2, "the same load once more")


def test_an_unready_replica_has_no_load(start, server):
    server.pages.update({"/metrics": answer(VLLM.format(1, 0)), "/health": answer("ok")})
    g = with_metrics(start, server, "--ready=http:/health", "--fails=1")
    g.wait_line("load 1 0 0 0 0")
    server.pages["/health"] = answer("", "503 Busy")
    g.wait_line("health unready .*")
    g.wait_last("load unknown")
    server.pages["/health"] = answer("ok")
    g.wait_last("load 1 0 0 0 0")


def test_the_load_file(start, tmp_path):
    g = start("--metrics=file")
    g.wait_line("load unknown")
    g.wait_err("the load is not known: load: No such file")
    new, path = tmp_path / "load.new", tmp_path / "load"

    def put(text, age=0):
        new.write_text(text)
        os.utime(new, (time.time() - age, time.time() - age))
        new.rename(path)

    put("running=3 waiting=7 kv=0.4 requests=12 tokens=300\n")
    g.wait_last("load 3 7 400 12 300")
    put("running=4", age=60)
    g.wait_last("load unknown")
    put("running=5")
    g.wait_last("load 5 0 0 12 300")
    put("running=many")
    g.wait_last("load unknown")
    put("running=6")
    g.wait_last("load 6 0 0 12 300")
    put("running=7 " + " " * 100000)
    g.wait_last("load unknown")
    put("running=8")
    g.wait_last("load 8 0 0 12 300")
    path.unlink()
    os.mkfifo(path)  # with no writer: reading it would wait
    g.wait_last("load unknown")
    g.wait_err("load is no plain file")


# --- the pipe ---------------------------------------------------------------------------------------


def test_a_pipe_that_is_full(start, server):
    server.pages.update({"/metrics": answer(VLLM.format(0, 0)), "/health": answer("", "503 Busy")})
    g = with_metrics(start, server, "--ready=http:/health", full=True)
    server.wait_hits("/health", 2)
    server.pages["/health"] = answer("ok")
    for n in range(1, 4):
        server.pages["/metrics"] = answer(VLLM.format(n, 0))
        server.wait_hits("/metrics", 2)
    g.wait_line("x{4096}health ready")
    g.wait_line("load 3 0 0 0 0")
    first, second = [line.lstrip("x") for line in g.lines()][:2]
    assert (first, second) == ("health ready", "load 3 0 0 0 0")
    server.pages["/health"] = answer("", "503 Busy")
    g.wait_line("health unready .*")


def test_a_pipe_without_a_reader(start, server):
    server.pages["/health"] = answer("", "503 Busy")
    g = start("--ready=http:/health", f"--port={server.port}", script=("sh", "-c", "while [ ! -e end ]; do sleep 0.05; done; exit 9"))
    server.wait_hits("/health", 1)
    g.close_pipe()
    server.pages["/health"] = answer("ok")
    server.wait_hits("/health", 3)
    (g.dir / "end").touch()
    assert g.wait() == 9


def test_no_pipe(tmp_path):
    with (tmp_path / "plain").open("wb") as f:
        r = subprocess.run([GPROBE, f"--fd={f.fileno()}", "--", "true"], pass_fds=[f.fileno()], stderr=subprocess.PIPE, text=True, check=False)
    assert r.returncode == 1
    assert "expected a pipe" in r.stderr
    assert subprocess.run([GPROBE, "--", "sh", "-c", "exit 5"], check=False).returncode == 5
    r = subprocess.run([GPROBE, "--ready=udp", "--", "true"], stderr=subprocess.PIPE, text=True, check=False)
    assert r.returncode == 2
    assert "--ready=udp: expected http:/PATH, tcp or file" in r.stderr


# --- drain ------------------------------------------------------------------------------------------


def test_drain_waits_for_what_is_in_flight(start, server, tmp_path):
    server.pages.update({"/metrics": answer(VLLM.format(2, 1)), "/health": answer("ok")})
    g = with_metrics(start, server, "--ready=http:/health", "--live=http:/health", "--fails=1", "--drain=3600", script=STOPS_LATE)
    g.wait_line("load 2 1 0 0 0")
    wait_until((tmp_path / "up").exists, "the script")
    g.p.terminate()
    server.wait_hits("/metrics", 8)  # more than its two seconds
    server.pages["/health"] = answer("", "503 Draining")  # neither told nor a reason to end
    server.wait_hits("/health", 3)
    g.p.terminate()  # that is known
    for page in (answer(VLLM.format(0, 0)), answer("", "500 Error"), answer(VLLM.format("NaN", 0)), answer(VLLM.format(1, 0))):
        server.pages["/metrics"] = page
        server.wait_hits("/metrics", 1)
    server.pages["/metrics"] = answer(VLLM.format(4, 0))
    g.wait_last("load 4 0 0 0 0")
    assert not (tmp_path / "term").exists()
    server.pages["/metrics"] = answer(VLLM.format(0, 0))
    wait_until((tmp_path / "term").exists, "TERM")
    g.wait_last("health ready")
    assert not [x for x in g.lines() if x.startswith("end")]
    assert g.p.poll() is None  # KILL is the shepherd's
    os.kill(g.script(), signal.SIGKILL)
    assert g.wait() == -signal.SIGKILL


def test_drain_without_metrics(start):
    g = start("--drain=3600")
    g.wait_line("health ready")
    g.p.terminate()
    assert g.wait() == -signal.SIGTERM


def test_drain_before_it_is_ready(start, server, tmp_path):
    server.pages["/metrics"] = answer(VLLM.format(1, 0))
    g = with_metrics(start, server, "--ready=file", "--drain=3600")
    g.wait_line("health loading there.*")
    g.p.terminate()
    assert g.wait() == -signal.SIGTERM


def test_drain_is_over(start, server):
    server.pages["/metrics"] = answer(VLLM.format(1, 0))
    g = with_metrics(start, server, "--drain=1")
    g.wait_line("load 1 0 0 0 0")
    g.p.terminate()
    assert g.wait() == -signal.SIGTERM


@pytest.mark.parametrize("late", [False, True])
def test_drain_by_the_deadline(start, server, tmp_path, late):
    """Whatever is in flight; also where the deadline comes, or becomes nearer, while it is drained."""
    server.pages["/metrics"] = answer(VLLM.format(1, 0))
    g = with_metrics(start, server, "--drain=3600")
    g.wait_line("load 1 0 0 0 0")
    path = tmp_path / "interrupt"
    path.write_text(f"reason=scale\ndeadline={int(time.time()) + (3600 if late else 3)}\nthen=end\n")
    g.p.terminate()
    if late:
        server.wait_hits("/metrics", 5)
        assert g.p.poll() is None
        path.write_text(f"reason=preempt\ndeadline={int(time.time()) + 3}\nthen=requeue\n")
    assert g.wait() == -signal.SIGTERM
