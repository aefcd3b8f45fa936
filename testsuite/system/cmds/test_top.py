"""gtop in terminals of several sizes: every screen, every key that acts, a controller that stops and comes back, and what it says
where there is no terminal."""

import contextlib
import os
import signal
import socket
import subprocess
import threading

import pytest
from cluster import BIN, ROOT, SANITIZED, Cluster, wait_until
from terminal import Terminal
from tools import need

SIZES = ((80, 24), (120, 40), (200, 60))


@pytest.fixture(scope="module")
def cluster():
    need("tmux", "ps")
    if not BIN["gtop"].exists():
        pytest.skip("gtop was not built: libncurses-dev is missing, or --disable-gtop")
    policy = 'accounts = ( { name = "vision"; members = [ "*" ]; }, { name = "speech"; members = [ "*" ]; } );'
    with Cluster(nodes=("h1", "h2", "h3"), gpus="h100:8", cpus=32, policy=policy) as c:
        me = "root" if ROOT else c.ctld_user.pw_name
        c.me = me
        c.long = c.submit("sleep 600", "--gpus=6", "--time=60", "--job-name=train", "--account=vision")
        c.other = c.submit("sleep 600", "--gpus=8", "--time=30", "--job-name=rerank", "--account=speech")
        c.run("gctl", "drain", "h3", "bad fan")
        c.waits = c.submit("sleep 600", "--gpus=8", "--time=60", "--job-name=embed", "--account=vision")
        c.odd = c.submit("true", "--hold", "--job-name=<script>é日本 %s \\x1b", "--account=vision")
        c.array = c.submit("true", "--array=0-9", "--gpus=8", "--job-name=pages", "--account=vision")
        c.wait_state(c.long, "RUNNING")
        c.wait_state(c.other, "RUNNING")
        yield c


def end(t):
    t.keys("q")
    t.shows("ended with 0")


@pytest.mark.parametrize("size", SIZES, ids=lambda s: f"{s[0]}x{s[1]}")
def test_every_screen(cluster, size):
    with Terminal(cluster, "gtop", *size) as t:
        t.shows("gtop test", "live", "[1 Map]", "GPUs  h100 14/24 held", "8 drained", "2 running, 12 waiting", "h3   dddddddd", "q quit")
        t.keys("l", "l")
        t.shows("h3 drained", "bad fan")
        t.keys("2")
        picture = t.shows("[2 Queue]", "NODELIST(REASON)", "embed", "rerank", "(Resources", f"{cluster.array}_[0-9]", "<scrip")
        first = next(line for line in picture.splitlines() if " PD " in line)
        assert "embed" in first, "what starts next stands on top"
        t.keys("3")
        picture = t.shows("[3 Running]", "USE IDLE", "train", "rerank")
        assert "embed" not in picture
        t.keys("4")
        t.shows("[4 Accounts]", "vision", "speech", "LEVEL-FS")
        t.keys("5")
        t.shows("[5 Services]", "there is no service")
        t.keys("6")
        t.shows("[6 Node]", "h1 ", "h1:0", "h1:7", "CPUs free")
        t.keys("Tab")
        t.shows("[1 Map]")
        t.keys("?")
        t.shows("Keys", "cancel the job, after a question")
        t.keys("q")
        end(t)


def test_small(cluster):
    """40x10 shows less, and what is smaller says so."""
    with Terminal(cluster, "gtop --screen=queue", 40, 10) as t:
        t.shows("gtop test", "1 [2 Queue] 3", "JOBID", "(Resources")
        t.keys("1")
        t.shows("[1 Map]", "h1", "dddddddd")
        t.resize(18, 3)
        t.shows("too small")
        t.resize(80, 24)
        t.shows("2 running", "q quit")
        end(t)


def test_why_and_filters(cluster):
    with Terminal(cluster, "gtop --screen=queue", 80, 24) as t:
        t.shows("embed")
        t.keys("/")
        t.shows("filter (part of any column):")
        t.keys("-l", "EMB")
        t.keys("Enter")
        picture = t.shows("only /EMB", "embed")
        assert "rerank" not in picture
        t.keys("Enter")
        t.shows("HELD BY", "Resources", f"Job {cluster.waits} embed")
        t.keys("q")
        t.keys("Escape")
        t.shows("rerank")
        t.keys("a")
        t.keys("-l", "speech")
        t.keys("Enter")
        picture = t.shows("only account=speech", "rerank")
        assert "embed" not in picture
        t.keys("Escape")
        t.keys("u")
        t.keys("-l", "no.such.user")
        t.keys("Enter")
        t.shows("no job fits the filter")
        t.keys("Escape")
        t.shows("embed")
        end(t)


def test_cancel_hold_release(cluster):
    job = cluster.submit("true", "--gpus=8", "--job-name=victim", "--account=vision", "--hold")
    with Terminal(cluster, "gtop --screen=queue --filter=victim", 120, 40) as t:
        t.shows("victim", "JobHeld")
        t.keys("r")
        t.shows(f"Released job {job}")
        wait_until(lambda: "Held" not in cluster.job(job)["reason"], "the job to be released")
        t.shows_no("JobHeld")
        t.keys("h")
        t.shows(f"Held job {job}", "JobHeld")
        t.keys("c")
        t.shows(f"Cancel job {job} victim (PD)? y/N")
        t.keys("n")
        t.shows("nothing was done")
        assert cluster.state(job) == "PENDING"
        t.keys("c")
        t.shows("y/N")
        t.keys("y")
        t.shows(f"Cancelled job {job}", "no job fits the filter")
        assert cluster.state(job) == "CANCELLED"
        end(t)


def test_cancel_tasks(cluster):
    """What waits of an array is cancelled as what waits of it."""
    array = cluster.submit("true", "--array=1-5", "--gpus=8", "--job-name=some", "--account=vision", "--hold")
    with Terminal(cluster, "gtop --screen=queue --filter=some", 120, 40) as t:
        t.shows(f"{array}_[1-5]")
        t.keys("c")
        t.shows(f"Cancel job {array}_[1-5] some")
        t.keys("y")
        t.shows(f"Cancelled 5 tasks of job {array}")
        end(t)


@pytest.mark.skipif(not ROOT, reason="needs another user")
def test_not_another_users(cluster):
    """Only one's own, and gctld would refuse it too."""
    job = cluster.submit("true", "--hold", "--job-name=theirs", user=cluster.ctld_user.pw_name)
    with Terminal(cluster, "gtop --screen=queue --filter=theirs", 120, 40) as t:
        t.shows(f"{job} batch")
        t.keys("c")
        t.shows(f"job {job} is {cluster.ctld_user.pw_name}'s")
        end(t)
    cluster.run("gcancel", job)


def test_events(cluster):
    """A change shows without a key, and the cursor stays with its job."""
    with Terminal(cluster, "gtop --screen=queue --filter=seen", 120, 40) as t:
        t.shows("no job fits the filter")
        a = cluster.submit("true", "--hold", "--job-name=seen-a", "--account=vision")
        t.shows("seen-a")
        cluster.run("gcancel", a)
        t.shows_no("seen-a")
        end(t)


def test_controller_stops_and_restarts(cluster):
    with Terminal(cluster, "gtop --screen=queue", 120, 40) as t:
        t.shows("live", "embed")
        os.kill(cluster.ctld.pid, signal.SIGSTOP)
        picture = t.shows("NO ANSWER")
        assert "embed" in picture, "what was known stays"
        t.keys("3")  # and keys work meanwhile
        t.shows("[3 Running]", "train")
        t.keys("2")
        t.shows("[2 Queue]")
        os.kill(cluster.ctld.pid, signal.SIGCONT)
        t.shows("live")
        cluster.ctld.kill()
        t.shows("NO ANSWER", f"127.0.0.1:{cluster.port}")
        cluster.start_ctld()
        t.shows("live", "embed", "rerank")
        job = cluster.submit("true", "--hold", "--job-name=after", "--account=vision")
        t.shows("after")
        cluster.run("gcancel", job)
        end(t)
    cluster.wait_nodes("idle", "mixed", "allocated", "drained", "draining")


def test_pause(cluster):
    with Terminal(cluster, "gtop --screen=queue --filter=still", 120, 40) as t:
        t.shows("live")
        t.keys("Space")
        t.shows("PAUSED at")
        job = cluster.submit("true", "--hold", "--job-name=still", "--account=vision")
        t.keys("j")
        assert f" {job} " not in t.text()
        t.keys("Space")
        t.shows("live", f"{job} batch")
        cluster.run("gcancel", job)
        end(t)


def test_ascii(cluster):
    """Where the terminal has no UTF-8, nothing but ASCII goes there."""
    with Terminal(cluster, "gtop --screen=queue", 200, 60, env={"LC_ALL": "C", "TERM": "vt100"}) as t:
        picture = t.shows("embed", "<script>\\xC3\\xA9\\xE6\\x97")
        assert picture.isascii()
        end(t)


def test_signals(cluster):
    """The terminal is as before, and the exit status is the signal's."""
    with Terminal(cluster, "gtop", 80, 24) as t:
        t.shows("live")
        os.kill(wait_until(lambda: t.pid("gtop"), "gtop's pid"), signal.SIGTERM)
        t.shows("ended with 143")
    with Terminal(cluster, "gtop", 80, 24) as t:
        t.shows("live")
        t.keys("C-c")
        t.shows("ended with 0")


def test_without_a_terminal(cluster):
    """It says so and what there is instead; --once prints the map into a pipe."""
    r = cluster.run("gtop", check=False)
    assert r.returncode == 2 and "standard output is no terminal" in r.stderr
    assert "gqueue and ginfo" in r.stderr and "gtop --once" in r.stderr and not r.stdout
    with Terminal(cluster, "gtop", 80, 24, env={"TERM": "dumb"}) as t:
        t.shows("TERM=dumb", "gqueue and ginfo", "ended with 2")
    if not SANITIZED:  # ncurses leaves behind what it began with
        with Terminal(cluster, "gtop", 80, 24, env={"TERM": "no-such-terminal"}) as t:
            t.shows("TERM=no-such-terminal is not known", "ended with 2")
    r = cluster.run("gtop", "--once")
    first, *nodes, legend = r.stdout.splitlines()
    assert first.startswith("GPUs  h100 14/24 held") and "h3   dddddddd" in "".join(nodes) and legend.startswith(". free")
    assert "\033" not in r.stdout and r.stdout.isascii()
    assert cluster.run("gtop", "--once", env={"COLUMNS": "30"}).stdout.splitlines()[1].startswith("h1   ")


def test_once_without_a_controller(cluster):
    r = cluster.run("gtop", "--once", check=False, env={"GPUSCHED_CONTROLLER": "127.0.0.1", "GPUSCHED_MUNGE_SOCKET": "/nonexistent"})
    assert r.returncode == 4 and "munge" in r.stderr


def test_wrong_options(cluster):
    r = cluster.run("gtop", "--screen=maps", check=False)
    assert r.returncode == 2 and "--screen=maps: no such screen" in r.stderr
    assert subprocess.run([BIN["gtop"], "nosuch"], capture_output=True, check=False).returncode == 2


class Network:
    """Between gtop and the controller: passes bytes on, stops, or puts others in their place."""

    def __init__(self, port):
        self.port, self.mode, self.open = port, "pass", []
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.address = f"127.0.0.1:{self.listener.getsockname()[1]}"
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        with contextlib.suppress(OSError):
            while True:
                client, _ = self.listener.accept()
                server = socket.create_connection(("127.0.0.1", self.port))
                self.open += [client, server]
                for a, b in ((client, server), (server, client)):
                    threading.Thread(target=self.carry, args=(a, b, b is client), daemon=True).start()

    def carry(self, source, to, down):
        with contextlib.suppress(OSError):
            while data := source.recv(65536):
                wait_until(lambda: self.mode != "stop", "the network to go on")
                to.sendall(os.urandom(len(data)) if down and self.mode == "noise" else data)
            to.shutdown(socket.SHUT_WR)

    def close(self):
        for s in (self.listener, *self.open):
            s.close()


def test_bad_network(cluster):
    """Answers that stop for a while, or are noise: keys work meanwhile, and what is known stays."""
    network = Network(cluster.port)
    with contextlib.closing(network), Terminal(cluster, "gtop --screen=queue", 120, 40, env={"GPUSCHED_CONTROLLER": network.address}) as t:
        t.shows("live", "embed")
        for mode in ("stop", "noise"):
            network.mode = mode
            assert "embed" in t.shows("NO ANSWER")
            t.keys("1")
            t.shows("[1 Map]", "h3   dddddddd")
            t.keys("2", "Enter")
            t.shows("asking the controller")
            network.mode = "pass"
            t.shows("live")
            t.keys("q")
            t.shows("[2 Queue]", "NODELIST(REASON)", "embed")
        end(t)
