"""14: what one user can take from the others (see README.md for what the unit tests cover)."""

import os
import resource
import select
import socket

import pytest
from cluster import ROOT, SANITIZED, Cluster, wait_until
from peer import Peer, packed

needs_root = pytest.mark.skipif(not ROOT, reason="needs two users")
NAMES = {"filter": {"nodes": ["n[1-16384]"]}}


@pytest.fixture(scope="module", name="c")
def fixture_c():
    with Cluster(controller='waits_per_user = "64M";') as c:
        yield c


def resident_mb(pid):
    with open(f"/proc/{pid}/statm", "rb") as f:
        return int(f.read().split()[1]) * os.sysconf("SC_PAGESIZE") >> 20


@needs_root
@pytest.mark.parametrize("n, kind, value", [
    (200, "MSG_WATCH_JOBS", {"filter": {"ids": list(range(1000, 1000 + 16384))}}),
    (200, "MSG_WATCH_JOBS", NAMES),
    (1000, "MSG_WATCH_JOBS", {"filter": {"names": [f"{i:060}" for i in range(1000)]}}),
], ids=["ids", "nodes", "names"])
def test_requests_that_stay_open_hold_little(c, n, kind, value):
    """A thousand open requests of one session held 2 GB, and a user may have thousands of sessions."""
    body = packed(kind, value)[16:]
    before = resident_mb(c.ctld.pid)
    with Peer(c, user="bin") as thief, Peer(c, user="daemon") as other:
        refused = 0
        for number in range(1, n + 1):
            thief.send_bytes(packed(kind, body, number))
        thief.number = n
        done = thief.send("MSG_PING")
        while (got := thief.receive())[:2] != ("MSG_PONG", done):
            if got[0] == "MSG_REPLY":
                assert "waits_per_user" in got[2]["text"]
                refused += 1
        assert 0 < refused < n
        # (AddressSanitizer keeps what was freed for a while.)
        assert SANITIZED or resident_mb(c.ctld.pid) < before + 150
        # somebody else is not concerned, and the first one's other requests are not either
        other.send_bytes(packed(kind, body, 7))
        assert other.receive()[0] == "MSG_JOB_CHUNK"
        assert thief.call("MSG_LIST_JOBS", {"filter": {"ids": [4711]}})[-1]["code"] != 16
    with Peer(c, user="bin") as thief:  # what went with its session is given back
        thief.send_bytes(packed(kind, body, 7))
        assert thief.receive()[0] == "MSG_JOB_CHUNK"


@needs_root
def test_another_user_is_served_between_the_requests_of_one(c):
    """Each takes some milliseconds of the loop; the other's one waits for one of them and not for all."""
    n = 120

    def answered_before_the_other():
        with Peer(c, user="bin") as thief, Peer(c, user="daemon") as other:
            body = packed("MSG_LIST_JOBS", {"filter": {"nodes": ["n[1-8000]"]}})[16:]
            thief.send_bytes(b"".join(packed("MSG_LIST_JOBS", body, i) for i in range(1, n + 1)))
            assert thief.receive()[0] == "MSG_REPLY"  # it is at them
            assert other.call("MSG_PING")[-1].get("code", 0) == 0
            answered = 1
            while select.select([thief.p.stdout], [], [], 0)[0] or len(thief.buffer) >= 16:
                assert thief.receive()[0] == "MSG_REPLY"
                answered += 1
            for _ in range(answered, n):
                assert thief.receive()[2].get("code", 0) == 0
            return answered

    # Where this test is kept waiting, more are answered before it looks: of several tries one shows the order.
    wait_until(lambda: answered_before_the_other() < n / 2, "the other to be served between them")


def test_more_names_than_a_cluster_has(c):
    with Peer(c) as p:
        for text in ("n[0-4294967295]", "n[1-99999]", "n[1-16385]", "n[1-400]m[1-400]"):
            for kind in ("MSG_LIST_JOBS", "MSG_LIST_PRIOS", "MSG_LIST_ACCT", "MSG_WATCH_JOBS"):
                (reply,) = p.call(kind, {"filter": {"nodes": [text]}})
                assert reply["code"] == 2 and "16384" in reply["text"], (kind, reply)
            (reply,) = p.call("MSG_LIST_JOBS", {"filter": {"nodes": ["n[1-16000]", text]}})
            assert reply["code"] == 2


def test_connections_that_say_nothing(c):
    """More than may be unauthenticated at a time, all from one address: a client still comes in."""
    silent = []
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    try:
        for _ in range(1500):
            s = socket.socket()
            s.setblocking(False)
            s.connect_ex(("127.0.0.1", c.port))
            silent.append(s)
        c.run("gqueue")  # tries again for some seconds; who has been silent for 250 ms makes room
    finally:
        for s in silent:
            s.close()
    c.run("gctl", "ping")


def test_a_client_that_reads_nothing(c):
    """Its answers stay where they are; the controller stops reading from it and keeps little."""
    job = c.submit("true", "--hold")
    before = resident_mb(c.ctld.pid)
    with Peer(c) as deaf:
        one = packed("MSG_SHOW_CONFIG", {}, 1)
        os.set_blocking(deaf.p.stdin.fileno(), False)
        end = 200_000
        while end > 0 and select.select([], [deaf.p.stdin], [], 1)[1]:
            end -= 1
            deaf.p.stdin.write(one * 64)
        assert end > 0, "the controller takes all that one sends"
        c.run("gctl", "ping")
        assert SANITIZED or resident_mb(c.ctld.pid) < before + 200
    c.run("gcancel", job)
    wait_until(lambda: c.run("gctl", "ping").returncode == 0, "the controller")


@needs_root
def test_how_much_one_user_may_queue():
    """Number of jobs, tasks of an array, script and environment: what is too much is refused by its limit, and another user has his own."""
    policy = 'accounts = ( { name = "all"; members = [ "*" ]; per_user = { queued = 20; }; } );\ndefault_account = "all";'
    with Cluster(start=False, controller='max_script = "16K"; max_jobs = 60;', policy=policy) as c:
        c.start_munged()
        c.start_ctld()

        def submit(*options, user="bin", text="true\n", **kw):
            return c.run("gsubmit", "--hold", "--parsable", *options, user=user, stdin="#!/bin/sh\n" + text, check=False, **kw)

        def refused(r, *words):
            assert r.returncode == 1 and not r.stdout and all(w in r.stderr for w in words), (words, r)

        refused(submit("--array=1-21"), "its limit is 20")
        assert submit("--array=1-15").returncode == 0
        for _ in range(5):
            assert submit().returncode == 0
        refused(submit(), "its limit is 20")
        assert submit(user="daemon").returncode == 0
        refused(submit(user="daemon", text="#" * (16 << 10)), "16")
        assert submit(user="daemon", text="#" * (15 << 10)).returncode == 0
        refused(submit(user="daemon", env={f"BIG{i}": "x" * 120_000 for i in range(15)}), "environment")
        for user, limit in (("daemon", "its limit is 20"), ("nobody", "its limit is 20"), ("games", "60")):  # the cluster's, in the end
            while (r := submit(user=user)).returncode == 0:
                pass
            refused(r, limit)
        assert sum(j["user"] == "games" for j in c.jobs().values()) < 20


@needs_root
def test_ten_thousand_polls_of_one_hold_up_nobody(c):
    n = 10_000
    with Peer(c, user="bin") as thief:
        body = packed("MSG_LIST_JOBS", {})[16:]
        thief.send_bytes(b"".join(packed("MSG_LIST_JOBS", body, i) for i in range(1, n + 1)))
        done = thief.receive()[0] == "MSG_REPLY"  # it is at them
        job = c.submit("true", user="daemon")
        c.wait_state(job, "COMPLETED")
        while done < n:
            kind, _, value = thief.receive()
            if kind == "MSG_REPLY":
                assert value.get("code", 0) == 0
                done += 1
