"""A service on a whole cluster follows its load: up, down, to zero and awake; each decision is a sentence with numbers."""

import json

import pytest

from cluster import DEADLINE, wait_until
from test_services import PARTITIONS, QUICK, Services

# One of them has all of the load, in vLLM's words: the file `load` says how many requests run and how many wait.
SERVER = """
cat > server.py <<'END'
import fcntl, http.server, os
lock = open("load.lock", "w")
class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            running, waiting = open("load").read().split()
        except OSError:
            running, waiting = 0, 0
        text = f"vllm:num_requests_running {running}\\nvllm:num_requests_waiting {waiting}\\nvllm:kv_cache_usage_perc 0.1\\n"
        self.send_response(200)
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text.encode())
    def log_message(self, *args):
        pass
http.server.ThreadingHTTPServer(("127.0.0.1", int(os.environ["GPUSCHED_PORT"])), Handler).serve_forever()
END
exec /usr/bin/python3 server.py
"""
SCALES = ("--metrics=vllm", "--target=4", "--scale-window=2s,1s", "--scale-down=2s")


class Scaling(Services):
    def script(self, version="one", *lines):
        path = self.dir / f"jobs/{version}.sh"
        path.write_text("#!/bin/sh\n" + SERVER)
        return path

    def load(self, running, waiting=0):
        new = self.dir / "jobs/load.new"
        new.write_text(f"{running} {waiting}\n")
        new.rename(self.dir / "jobs/load")

    def wait_wanted(self, n, word, timeout=DEADLINE):
        """So many replicas, and the sentence that says why has this word in it, and the number."""
        def is_so():
            s = self.service("chat")
            return s["wanted"] == n and s["ready"] == n and len(self.endpoints("chat")) == n and s
        s = wait_until(is_so, lambda: f"{n} replicas: {self.run('gserve', 'show', 'chat', check=False).stdout}", timeout)
        assert s["decision"].startswith(f"{n}: ") and word in s["decision"], s["decision"]
        return s


@pytest.fixture
def cluster():
    with Scaling(partitions=PARTITIONS) as c:
        c.load(0)
        yield c


def said(c):
    """The decisions, as the trail of events has them."""
    r = c.run("gctl", "events", "--json")
    return [e["text"] for e in json.loads(r.stdout)["events"] if e["kind"] == "service.scale"]


def test_up_and_down_with_the_load(cluster):
    c = cluster
    c.load(2)
    c.serve("chat", "--replicas=1-4", *SCALES)
    c.wait_ready("chat", 1)
    c.load(11)  # 4 a replica
    c.wait_wanted(3, "in flight")
    c.load(9, 2)  # a replica takes no more than 3, since others wait
    c.wait_wanted(4, "in flight")
    c.load(40)
    s = c.wait_wanted(4, "in flight")
    assert s["state"] == "SERVING"
    c.load(2)
    # Where starts take seconds the load was a surprise for as long, and replicas are kept for such bursts until that is less than a
    # fifteenth of the service's life.
    c.wait_wanted(1, "in flight", 5 * DEADLINE)
    texts = said(c)
    assert [t for t in texts if "(1 before)" in t] and [t for t in texts if "(3 before)" in t], texts
    assert "LAST-DECISION" in c.run("gserve", "show", "chat").stdout


def test_to_zero_and_awake(cluster):
    c = cluster
    c.load(3)
    c.serve("chat", "--replicas=0-3", "--to-zero=8s", *SCALES)
    c.run("gserve", "wake", "chat")
    c.wait_ready("chat", 1)
    c.load(0)
    wait_until(lambda: c.service("chat")["state"] == "IDLE" and not c.endpoints("chat"), "no replica")
    assert c.service("chat")["decision"].startswith("0: "), c.service("chat")["decision"]
    c.load(6)
    c.run("gserve", "wake", "chat")
    c.wait_wanted(2, "in flight")
    # A load that is not known lowers nothing.
    c.ctld.kill()
    c.start_ctld()
    c.wait_wanted(2, "in flight")
