"""1 and 2: frames that are forged, tampered with, spliced or played again, in sessions that are open.

The handshake's own attacks are in testsuite/system/ops/test_hostile.py (see README.md).
"""

import hashlib
import os
import pwd
import re
import socket
import struct
import subprocess

import pytest
from cluster import ROOT, Cluster, wait_until
from peer import ERRORS, HEAD, Peer, packed
from proto import SCHEMA_OF, TYPES

needs_root = pytest.mark.skipif(not ROOT, reason="needs a second user")
SCRIPT = b"#!/bin/sh\ntrue\n"
SIGNATURE, TOKEN, SPEC = (ERRORS[f"ERR_{name}"] for name in ("SIGNATURE", "TOKEN", "JOB_SPEC"))


@pytest.fixture(scope="module", name="c")
def fixture_c():
    with Cluster() as c:
        yield c


@pytest.fixture(autouse=True)
def nothing_accepted(c):
    """Whatever was tried: no job came of it that the test did not ask for, and the controller goes on."""
    before = set(c.jobs())
    yield
    left = set(c.jobs()) - before
    if left:
        c.run("gcancel", *left)
    assert c.ctld.alive() and c.run("gctl", "ping").returncode == 0


def blake(data):
    return hashlib.blake2b(data, digest_size=32).digest()


def encode(c, payload, user=None, *options):
    """munge's credential for these bytes, made by that user."""
    p = pwd.getpwnam(user) if user else None
    kw = {"user": p.pw_uid, "group": p.pw_gid, "extra_groups": []} if p and ROOT else {}
    return subprocess.run(["munge", f"--socket={c.socket}", "--cipher=aes256", *options], input=payload, check=True,
                          capture_output=True, **kw).stdout.strip()


class Signed:
    """A job as its owner signs it."""

    def __init__(self, c, user=None, **change):
        p = pwd.getpwnam(user) if user else pwd.getpwuid(os.geteuid())
        spec = {"version": 1, "cluster": "test", "nonce": os.urandom(16), "uid": p.pw_uid, "gid": p.pw_gid,
                "script_hash": blake(SCRIPT), "name": "forged", "cwd": b"/", "output": b"/dev/null",
                "tasks_per_node": 1, "max_attempts": 1, "umask": 0o22, **change}
        self.spec = SCHEMA_OF.encode("SignedSpec", spec)
        self.credential = encode(c, b"gpusched-job-1" + blake(self.spec), user)

    def submit(self, **change):
        job = {"spec": self.spec, "script": SCRIPT, "request": {"hold": True, "time_limit_s": 60}}
        return {"credential": self.credential, "jobs": [{**job, **change}]}


def test_what_is_signed_as_it_should_be_is_taken(c):
    """Else all that is refused below would show nothing."""
    with Peer(c) as p:
        assert len(p.call("MSG_SUBMIT", Signed(c).submit())[0]["job_ids"]) == 1


# --- frames --------------------------------------------------------------------------------------

FROM_USERS = {"MSG_STEP_REPORTS", "MSG_LIST_STEPS", "MSG_LIST_SERVICES", "MSG_SERVICE_CONTROL", "MSG_LOOK_AS"}
FROM_OTHERS = [k for k, n in TYPES.items() if (32 <= n < 112 or n >= 128) and k not in FROM_USERS] + ["MSG_NONE", 7777, 65535, 5000, 31]


@pytest.mark.parametrize("kind", FROM_OTHERS)
def test_a_user_may_not_send_what_others_send(c, kind):
    with Peer(c) as p:
        p.send_bytes(packed(kind, b"", 1))
        assert "closed" in p.ended() or "lost" in p.ended()


@pytest.mark.parametrize("data", [
    packed("MSG_PING", b"", 1, flags=1), packed("MSG_PING", b"", 1, flags=0x8000),
    HEAD.pack(64 * 1024 + 1, TYPES["MSG_LIST_JOBS"], 0, 1), HEAD.pack(2**32 - 1, TYPES["MSG_SUBMIT"], 0, 1),
    HEAD.pack(2**31, TYPES["MSG_PING"], 0, 1),
    packed("MSG_PING", b"\0", 1), packed("MSG_LIST_JOBS", b"\x0a\x05\x0a\x01", 1), packed("MSG_LIST_JOBS", b"\xff" * 11, 1),
    packed("MSG_JOB_WHY", {"ids": [1]})[:-1] + b"\xff",
    packed("MSG_JOB_CONTROL", b"\x0b\x0c", 1),  # a group, which nothing uses
], ids=["flag", "high flag", "too long", "4 GiB", "2 GiB of a ping", "a byte behind", "cut inside", "endless number",
        "half a number", "group"])
def test_frames_that_cannot_be(c, data):
    with Peer(c) as p:
        p.send_bytes(data)
        assert p.ended()


def test_a_byte_behind_a_body(c):
    """22-49933: what is behind a message is no part of it, and not passed over."""
    with Peer(c) as p:
        body = SCHEMA_OF.encode("Submit", Signed(c).submit())
        p.send_bytes(packed("MSG_SUBMIT", body + b"\0", 1))
        assert p.ended()


def test_a_frame_that_is_cut_off_does_nothing(c):
    with Peer(c) as p:
        p.send_bytes(packed("MSG_SUBMIT", Signed(c).submit(), 1)[:-1])
    with Peer(c) as p:
        assert p.call("MSG_PING")


# --- credentials ---------------------------------------------------------------------------------

def refused(c, submit, *codes, user=None):
    with Peer(c, user=user) as p:
        answer = p.call("MSG_SUBMIT", submit)
        assert len(answer) == 1 and answer[0]["code"] in codes, answer
        return answer[0]["text"]


def test_no_credential(c):
    for credential in (b"", b"MUNGE:", b"MUNGE:AAAA:", b"\0", b"\xff" * 100, b"MUNGE:" + b"A" * 9000 + b":"):
        with Peer(c) as p:
            answer = p.call("MSG_SUBMIT", {**Signed(c).submit(), "credential": credential})
            assert answer[-1]["code"] in (SIGNATURE, ERRORS["ERR_AUTH"]), answer


@needs_root
def test_root_s_credential_with_a_user_s_frame(c):
    """22-29500, 23-49935: whose the session is and who signed must be one."""
    theirs = Signed(c)
    assert "uid" in refused(c, theirs.submit(), SIGNATURE, user="bin")
    mine = Signed(c, "bin")
    assert "uid" in refused(c, mine.submit(), SIGNATURE)
    lie = Signed(c, "bin", uid=0, gid=0)
    refused(c, lie.submit(), SIGNATURE, SPEC, user="bin")
    mine.credential = theirs.credential
    refused(c, mine.submit(), SIGNATURE, user="bin")


def test_credential_of_other_bytes(c):
    a, b = Signed(c), Signed(c)
    refused(c, {**a.submit(), "credential": b.credential}, SIGNATURE)
    refused(c, a.submit(script=SCRIPT + b"#"), SIGNATURE, SPEC)
    refused(c, a.submit(spec=a.spec + b"\x08\x01"), SIGNATURE, SPEC)
    refused(c, {"credential": a.credential, "jobs": [a.submit()["jobs"][0], b.submit()["jobs"][0]]}, SIGNATURE)
    # not even the one that was signed is taken from the two
    with Peer(c) as p:
        assert p.call("MSG_LIST_JOBS", {"filter": {"names": ["forged"], "include_ended": True}})[0] is not None


@pytest.mark.parametrize("tag", [b"gpusched-hello-1", b"gpusched-attach1", b"", b"gpusched-job-2", b"gpusched-job-1\0"])
def test_credential_for_something_else(c, tag):
    s = Signed(c)
    s.credential = encode(c, tag + blake(s.spec))
    refused(c, s.submit(), SIGNATURE)


def test_credential_that_has_expired_or_is_not_encrypted(c):
    s = Signed(c)
    s.credential = subprocess.run(["munge", f"--socket={c.socket}", "--cipher=none"], check=True, capture_output=True,
                                  input=b"gpusched-job-1" + blake(s.spec)).stdout.strip()
    refused(c, s.submit(), SIGNATURE)


@pytest.mark.parametrize("change", [{"version": 2}, {"version": 0}, {"cluster": "elsewhere"}, {"nonce": b"short"}])
def test_signed_and_yet_not_acceptable(c, change):
    with Peer(c) as p:
        answer = p.call("MSG_SUBMIT", Signed(c, **change).submit())
        assert len(answer) == 1 and answer[0]["code"], answer


def test_one_spec_in_place_of_another(c):
    """By its owner, with the nonce, the script and the array that it had; anything else changes nothing."""
    nonce = os.urandom(16)
    first = Signed(c, nonce=nonce)

    def put(p, spec, **change):
        return p.call("MSG_RESIGN", {"jobs": [job], "specs": [spec.spec], "credential": spec.credential, **change})

    with Peer(c) as p:
        (job,) = p.call("MSG_SUBMIT", first.submit())[0]["job_ids"]
        for change in ({"nonce": os.urandom(16)}, {"uid": 1}, {"gid": 1}, {"cluster": "elsewhere"}, {"script_hash": blake(b"other")},
                       {"array": "1-3"}, {"version": 2}, {"interactive": {"kind": "PIPES", "patience_s": 9}, "version": 2},
                       {"tasks_per_node": 2}, {"cwd": b"relative"}, {"name": "a\nb"}):
            answer = put(p, Signed(c, **{"nonce": nonce, **change}))
            assert answer[-1]["code"], (change, answer)
        other = Signed(c, nonce=nonce, name="other")
        for wrong in ({"specs": [first.spec]},                     # not what this signs
                      {"specs": [other.spec[:-1]]}, {"specs": [b""]}, {"specs": [b"\xff" * 40]},
                      {"specs": [other.spec, other.spec]}, {"jobs": [job, job], "specs": [other.spec, other.spec]},
                      {"credential": first.credential}, {"jobs": [job | 1 << 40]}, {"jobs": [job + 1000]}):
            answer = put(p, other, **wrong)
            assert answer[-1]["code"], (wrong, answer)
        if ROOT:
            with Peer(c, user="bin") as q:  # signed by its owner, sent by another; signed by another
                assert put(q, other)[-1]["code"] == SIGNATURE
                assert put(q, Signed(c, user="bin", nonce=nonce, name="mine"))[-1]["code"] == ERRORS["ERR_NOT_PERMITTED"]
        assert c.job(job)["name"] == "forged"
        assert put(p, other)[0]["done"] == 1 and c.job(job)["name"] == "other"
        again = Signed(c, nonce=nonce)  # and back
        assert put(p, again)[0]["done"] == 1 and c.job(job)["name"] == "forged"


# --- again ---------------------------------------------------------------------------------------

def test_equal_bytes_are_one_job_and_changed_ones_none(c):
    nonce = os.urandom(16)
    first = Signed(c, nonce=nonce)
    with Peer(c) as p, Peer(c) as q:
        ids = [x.call("MSG_SUBMIT", first.submit())[0]["job_ids"] for x in (p, q, p)]
        assert ids[0] == ids[1] == ids[2]
        (reply,) = p.call("MSG_SUBMIT", Signed(c, nonce=nonce, name="other").submit())
        assert reply["code"] == TOKEN, reply
    c.ctld.kill()
    c.start_ctld()
    with Peer(c) as p:
        assert p.call("MSG_SUBMIT", first.submit())[0]["job_ids"] == ids[0]
        (reply,) = p.call("MSG_SUBMIT", Signed(c, nonce=nonce, name="other").submit())
        assert reply["code"] == TOKEN, reply


def greeting(c, role=b"controller@test", version=1, tag=b"gpusched-hello-1"):
    """A greeting whose credential is good and whose Noise part is not."""
    payload = tag + struct.pack(">H", 1) + os.urandom(32)
    for text in (b"test", role):
        payload += struct.pack(">H", len(text)) + text
    cred = encode(c, payload, None, f"--restrict-uid={c.ctld_user.pw_uid}")
    return b"GPUSCHED" + struct.pack(">HHI", version, 0, len(cred)) + cred + struct.pack(">H", 48) + os.urandom(48)


def answer_to(c, data, port=None):
    with socket.create_connection(("127.0.0.1", port or c.port), timeout=20) as s:
        s.sendall(data)
        s.shutdown(socket.SHUT_WR)
        got = b""
        try:
            while part := s.recv(4096):
                got += part
        except ConnectionResetError:
            pass
    assert len(got) in (0, 12), got  # a refusal and nothing more: magic, code, no Noise message
    return struct.unpack(">H", got[8:10])[0] if got else None


@pytest.mark.parametrize("version", [0, 2, 255, 65535])
def test_unknown_version(c, version):
    assert answer_to(c, greeting(c, version=version)) == ERRORS["ERR_VERSION"]


def test_greetings_to_somebody_else(c):
    for role in (b"controller@elsewhere", b"agent@test", b"controller@test/n1/x", b"attach@test/n1/1_0_1", b"", b"@"):
        assert answer_to(c, greeting(c, role)) not in (0,)
    assert answer_to(c, greeting(c, tag=b"gpusched-job-1xx")) not in (0,)


def test_a_greeting_is_good_once_and_for_one_controller(c):
    """2: the same credential again, at another controller of the realm, after a restart of munge and controller."""
    data = greeting(c)
    answer_to(c, data)
    assert answer_to(c, data) not in (0,)
    with Cluster(nodes=(), gpus="", munge_from=c, start=False, hardware='gpu_types = (); nodes = ( { name = "m1"; cpus = 1; } );') as d:
        d.write_conf(d.conf_text().replace('cluster = "test"', 'cluster = "other"'))
        d.start_munged()
        d.start_ctld()
        assert answer_to(c, data, d.port) not in (0,)
    c.munged.kill()
    c.socket.unlink(missing_ok=True)
    c.start_munged()
    c.ctld.kill()
    c.start_ctld()
    before = set(c.jobs())
    answer_to(c, data)  # munge has forgotten it; without the secret nobody can go on
    assert set(c.jobs()) <= before
    wait_until(lambda: c.node_states().get("n1") == "idle", "the node")


def test_the_log_says_what_was_refused_and_nothing_secret(c):
    log = open(c.ctld.log, encoding="utf-8").read()
    assert re.search(r"refused: ", log) and "session closed: " in log
    assert "MUNGE:" not in log
