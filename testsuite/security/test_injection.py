"""12 and 13: what stands in any field of any request: SQL, the log, terminals, numbers and lists without end."""

import os
import re
import sqlite3

import pytest
from anything import Anything
from cluster import ROOT, Cluster
from peer import ERRORS, Peer, message_of, packed
from proto import SCHEMA_OF, TYPES, varint

USERS = [k for k, n in TYPES.items() if 1 <= n < 32] + ["MSG_STREAM_DATA", "MSG_STREAM_CREDIT", "MSG_STREAM_CLOSE"]
# Plain text that means something to SQL, shells, formats and tables, and bytes that are no plain text.
PLAIN = ["'; DROP TABLE job; --", "\" OR \"\"=\"", "%s%n%n%n", "$(touch /tmp/evil)`id`", "../../../etc/shadow", "\\", "-rf",
         "x" * 60000, "x" * (64 << 10), "=1+1", "ünï", "\u00a0"]
NOT_PLAIN = [b"a\nb", b"a\rb", b"\x1b[2J\x1b]0;title\x07", b"a\0b", b"\xff\xfe", b"\xc0\x80", b"\xed\xa0\x80", b"\x7f", b"\xc2\x9b31m",
             "a\u2028b".encode(), "a\u202eb".encode(), "a\u2066b".encode(), b"a\tb"]


@pytest.fixture(scope="module", name="c")
def fixture_c():
    with Cluster() as c:
        c.held = c.submit("true", "--hold")
        c.logs = lambda: b"".join(open(d.log, "rb").read() for d in [c.ctld, *c.agents.values()])
        yield c
        log_is_one_record_a_line(c)
        assert "job" in tables(c)


def tables(c):
    c.ctld.stop()
    with sqlite3.connect(c.dir / "state/state.db") as db:
        assert db.execute("PRAGMA integrity_check").fetchone() == ("ok",)
        return [r[0] for r in db.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]


def log_is_one_record_a_line(c):
    for line in c.logs().splitlines():
        assert re.match(rb"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d", line), line
        assert not re.search(rb"[\x00-\x08\x0b-\x1f\x7f]", line), line
        line.decode("utf-8")


def texts_of(message, depth=0):
    """Ways to the text fields of a message: tuples of names."""
    for name, (_, kind, _) in SCHEMA_OF.messages[message].items():
        if kind == "string":
            yield (name,)
        elif kind in SCHEMA_OF.messages and depth < 3:
            for way in texts_of(kind, depth + 1):
                yield (name, *way)


def with_text(message, way, data):
    """The bytes of a message that has only that field; `data` need not be text."""
    number, kind, _ = SCHEMA_OF.messages[message][way[0]]
    body = data if len(way) == 1 else with_text(kind, way[1:], data)
    return varint(number << 3 | 2) + varint(len(body)) + body


def requests_with(data):
    for kind in USERS:
        if kind in ("MSG_SHUTDOWN", "MSG_BACKUP", "MSG_ARCHIVE"):
            continue
        for way in texts_of(message_of(kind)):
            yield kind, way, with_text(message_of(kind), way, data)


def ask(c, peer, kind, body):
    """Its reply; a session that was closed for it is opened again."""
    if peer is None:
        peer = Peer(c)
    peer.number += 1
    if kind.startswith("MSG_STREAM") or kind == "MSG_WATCH_JOBS":  # no reply, unless it is refused
        peer.send_bytes(packed(kind, body, peer.number))
        return peer, None
    peer.send_bytes(packed(kind, body, peer.number))
    while True:
        got = peer.receive()
        if got is None:
            peer.close()
            return None, None
        if got[0] == "MSG_REPLY" and got[1] == peer.number:
            return peer, got[2]


@pytest.mark.parametrize("data", NOT_PLAIN, ids=[f"{i}" for i in range(len(NOT_PLAIN))])
def test_what_is_not_plain_text_is_refused_in_every_field(c, data):
    peer, n = None, 0
    for kind, way, body in requests_with(data):
        peer, reply = ask(c, peer, kind, body)
        n += 1
        if reply is not None:
            assert reply.get("code"), (kind, way)
            assert ERRORS["ERR_USAGE"] == reply["code"] or reply["code"] in (ERRORS["ERR_JOB_SPEC"], ERRORS["ERR_NOT_PERMITTED"]), \
                (kind, way, reply)
            said = (reply.get("text", "") + reply.get("hint", "")).encode()
            assert not re.search(rb"[\x00-\x1f\x7f]", said) and data not in said, (kind, way, said)
    if peer:
        peer.close()
    assert n > 50 and c.run("gctl", "ping").returncode == 0


def test_text_that_means_something_elsewhere(c):
    """It is text: a name that is not known, or one that is shown as it is, on one line."""
    peer = None
    for text in PLAIN:
        for kind, _, body in requests_with(text.encode()):
            if kind == "MSG_RECONFIGURE":
                continue
            peer, reply = ask(c, peer, kind, body)
            if reply is not None:
                said = reply.get("text", "")
                assert len(said) < 4096 and "\n" not in said, (kind, text[:40])
    if peer:
        peer.close()
    assert not os.path.exists("/tmp/evil")
    assert c.state(c.held) == "PENDING"


def test_names_come_out_as_they_went_in(c):
    names = [t for t in PLAIN if len(t) < 200]
    ids = [c.submit("true", "--hold", f"--job-name={t}") for t in names]
    jobs = c.jobs()
    assert [jobs[i]["name"] for i in ids] == names
    lines = c.run("gqueue", "--noheader", "--jobs", ",".join(map(str, ids))).stdout.splitlines()
    assert len(lines) == len(ids)
    c.ctld.kill()
    c.start_ctld()
    jobs = c.jobs()
    assert [jobs[i]["name"] for i in ids] == names
    c.run("gcancel", *ids)


# --- 12: numbers and lists without end, through the commands -------------------------------------

HOSTLISTS = ["n[0-4294967295]", "n[1-18446744073709551615]", "n[1-3,1-3]", "n[[1-2]]", "n[1-2", "n1-2]", "n[]", "n[01-3]",
             "n[3-1]", "n[1-5:2]", "n[-1]", "n[1-]", ",", "n1,,n2", "[1-9]", "n[1-9999][1-9999][1-9999]", "n" * 65, "n[" + "1," * 30000 + "1]",
             "n[1-2]" * 20]
ARRAYS = ["0-4294967295", "0-18446744073709551615", "1-2147483647%0", "1-5:0", "5-1", "1-", "-1", "", ",", "1,,2", "0-9%-1",
          "0-9%0", "0-9%4294967296", "1-3,1-3:0", "0-999999999:1", "1%%2", "a", "0x10", "1e9", "9" * 400]
NUMBERS = ["--time=99999999999999999999", "--time=-1", "--time=1-99:99:99:99", "--time=2147483648-0", "--mem=18446744073709551615G",
           "--mem=-1", "--mem=1e9", "--cpus-per-task=4294967297", "--cpus-per-task=-1", "--gpus=any:4294967297", "--gpus=demo:0x4",
           "--nodes=1-4294967296", "--nice=99999999999", "--begin=now+99999999999999999999", "--deadline=9999999-01-01",
           "--dependency=afterok:18446744073709551616", "--dependency=after:1+99999999999999999999", "--requeue-on=exit:256",
           "--requeue-delay=99999999999999999999", "--signal=4294967297@10", "--signal=TERM@99999999999999999999",
           "--licenses=x:18446744073709551617", "--gpu-mem-min=99999999999T", "--max-wait=99999999999999999999"]


def refused(r):
    assert r.returncode in (1, 2, 3), (r.args[1:3], r.returncode, r.stderr[:300])
    assert "error: " in r.stderr and len(r.stderr) < 4096 and "\x1b" not in r.stderr
    assert r.stdout == ""


@pytest.mark.parametrize("text", HOSTLISTS, ids=[h[:24] for h in HOSTLISTS])
def test_hostlists_that_cannot_be(c, text):
    refused(c.run("gsubmit", "--hold", f"--nodelist={text}", "--wrap", "true", check=False))
    refused(c.run("gsubmit", "--hold", f"--exclude={text}", "--wrap", "true", check=False))
    refused(c.run("gctl", "drain", text, "why", check=False))
    refused(c.run("gctl", "update", c.held, f"--nodelist={text}", check=False))
    with Peer(c) as p:  # not checked by the command first
        for kind, value in (("MSG_LIST_JOBS", {"filter": {"nodes": [text]}}), ("MSG_LIST_NODES", {"names": [text]}),
                            ("MSG_JOB_CONTROL", {"verb": "UPDATE", "filter": {"ids": [c.held]}, "change": {"nodelist": text},
                                                 "fields": ["NODELIST"]})):
            answers = p.call(kind, value)
            assert answers and (answers[-1].get("code") or answers[0].get("errors") or text == "[1-9]"), (kind, answers)


@pytest.mark.parametrize("text", ARRAYS, ids=[a[:24] or "empty" for a in ARRAYS])
def test_array_expressions_that_cannot_be(c, text):
    refused(c.run("gsubmit", "--hold", f"--array={text}", "--wrap", "true", check=False))


@pytest.mark.parametrize("option", NUMBERS)
def test_numbers_that_cannot_be(c, option):
    refused(c.run("gsubmit", "--hold", option, "--wrap", "true", check=False))


@pytest.mark.skipif(not ROOT, reason="needs a second user")
def test_any_message_of_the_schema(c):
    """1500 requests of an ordinary user with values that nobody would think of."""
    a = Anything(13)
    a.ids = [c.held, 1, 2**63]
    jobs = set(c.jobs())
    p = None
    for _ in range(1500):
        p = p or Peer(c, user="bin")
        kind = a.random.choice(USERS)
        p.send(kind, a.message(message_of(kind)))
        if p.p.poll() is not None:
            p.close()
            p = None
    if p:
        p.close()
    assert c.ctld.alive() and c.run("gctl", "ping").returncode == 0
    assert {i for i, j in c.jobs().items() if j["user"] != "bin"} == jobs
    assert c.state(c.held) == "PENDING"
    c.ctld.kill()
    c.start_ctld()
    assert c.state(c.held) == "PENDING"
