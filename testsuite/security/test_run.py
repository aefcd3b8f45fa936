"""What a job, its owner, the network half and a hostile controller may try on a node.

Numbers are those of the checklist in reliability.md (1.6): 4 hostile controller, 6 privilege drop,
7 environment, 8 descriptors and signals, 16 secrets.
"""

import contextlib
import ctypes
import json
import os
import pathlib
import platform
import pwd
import signal
import socket
import struct
import time

import pytest

from cluster import ROOT, wait_until
from launcher import Job, Launcher, alive, blake
from proto import SCHEMA_OF, TYPES, frame, varint

libc = ctypes.CDLL(None, use_errno=True)
needs_root = pytest.mark.skipif(not ROOT, reason="needs root to become somebody else")


def never(lau, run, *words):
    r = lau.wait_over(run)
    assert r["state"] == "NEVER", r
    assert "\n" not in r["detail"]
    for word in words:
        assert word.lower() in r["detail"].lower(), r["detail"]
    assert "RUNNING" not in lau.history[run]


# --- 4: a controller that has turned hostile -----------------------------------------------------

def signed(lau, **spec):
    spec.setdefault("cwd", str(lau.jobs))
    return Job(lau.munge, lau.owner(), "#!/bin/sh\necho ran >> ran\n", **spec)


@pytest.fixture(name="nothing_ran")
def fixture_nothing_ran(lau):
    yield
    assert not (lau.jobs / "ran").exists()


def test_altered_script(lau, nothing_ran):
    job = signed(lau)
    never(lau, lau.start_run(job, script=job.script + b"#"), "script")


@pytest.mark.parametrize("change", [
    {"name": "other"}, {"args": [b"x"]}, {"env": [b"LD_PRELOAD=/x.so"]}, {"cwd": "/"}, {"output": b"/etc/passwd"},
    {"max_attempts": 999}, {"umask": 0}, {"nonce": os.urandom(16)}, {"show_output": True}])
def test_altered_spec(lau, nothing_ran, change):
    job = signed(lau)
    never(lau, lau.start_run(job, spec=SCHEMA_OF.encode("SignedSpec", {**job.spec, **change})), "sign")


def output_of(lau, script):
    run = lau.submit(f"{{ {script}; }} > {lau.jobs}/said")
    lau.wait_over(run)
    assert lau.runs[run]["state"] == "ENDED", lau.runs[run]
    return (lau.jobs / "said").read_text()


def test_settings_only_tighten(lau):
    """What a node's runs are held to: a controller adds to it, however it puts it."""
    before = output_of(lau, "ulimit -Hn; ulimit -Hr")
    lau.send("MSG_NODE_SETTINGS", {
        "epoch": 1, "containment": ["none", "", "cgroup2," * 9], "private_kinds": ["nothing", ""],
        "rlimits": ["nofile=unlimited", "rtprio=99", "core=0", "nofile", "x=1"], "max_processes": 0xffffffff,
        "gpu_devices": "/etc/shadow", "devices": ["/dev/sda", "/bin/sh", "/dev/../etc/passwd"], "sample_ms": 1})
    assert output_of(lau, "ulimit -Hn; ulimit -Hr; ulimit -Hc") == before + "0\n"
    # It is what the next launcher goes by, and an older controller has nothing to say.
    lau.restart()
    lau.send("MSG_NODE_SETTINGS", {"epoch": 0, "rlimits": ["core=unlimited", "nofile=10"]})
    assert output_of(lau, "ulimit -Hn; ulimit -Hr; ulimit -Hc") == before + "0\n"
    lau.send("MSG_NODE_SETTINGS", {"epoch": 1, "rlimits": ["nofile=99:100"]})
    assert output_of(lau, "ulimit -Sn; ulimit -Hn") == "99\n100\n"


def test_nothing_starts_below_what_the_configuration_demands():
    """Neither before nor after a restart, whatever is ordered; what runs already goes on, and is told of."""
    lau = Launcher(cgroup="none")
    try:
        here = signed(lau)
        runs = lau.submit("while [ ! -e go ]; do sleep 0.05; done; touch done", cwd=str(lau.jobs))
        lau.wait_running(runs)
        lau.send("MSG_NODE_SETTINGS", {"epoch": 1, "containment": ["devices", "memory"]})
        why = "containment: devices, memory not active: --cgroup=none"
        never(lau, lau.start_run(here), why)
        assert f"nothing is started here: {why}" in lau.log()
        before = len(lau.log())
        lau.restart()
        assert f"nothing is started here: {why}" in lau.log()[before:]
        never(lau, lau.start_run(here), why)
        assert not (lau.jobs / "ran").exists()
        (lau.jobs / "go").touch()
        assert lau.wait_over(runs)["state"] == "ENDED"
        assert (lau.jobs / "done").exists()
        lau.send("MSG_NODE_SETTINGS", {"epoch": 1})
        run = lau.start_run(here)
        assert lau.wait_over(run)["state"] == "ENDED"
        assert (lau.jobs / "ran").read_text() == "ran\n"
    finally:
        lau.close()


def test_every_flipped_bit_of_the_spec_is_noticed(lau, nothing_ran):
    job = signed(lau)
    runs = []
    for i in range(len(job.bytes)):
        b = bytearray(job.bytes)
        b[i] ^= 1 << i % 8
        runs.append(lau.start_run(job, spec=bytes(b)))
    for run in runs:
        never(lau, run)


def test_byte_after_the_spec(lau, nothing_ran):
    job = signed(lau)
    never(lau, lau.start_run(job, spec=job.bytes + b"\0"))


def test_unknown_field_and_version(lau, nothing_ran):
    for change in ({"version": 2}, {"version": 0}):
        never(lau, lau.start_run(signed(lau, **change)), "version")
    job = signed(lau)
    job.bytes += varint(99 << 3) + varint(1)
    job.credential = lau.munge.encode(b"gpusched-job-1" + blake(job.bytes), job.user)
    never(lau, lau.start_run(job))


def test_another_cluster(lau, nothing_ran):
    never(lau, lau.start_run(signed(lau, cluster="other")), "cluster")


def test_no_credential_and_no_munge_credential(lau, nothing_ran):
    for credential in (b"", b"x", b"MUNGE:", b"MUNGE:AAAA:", b"MUNGE:" + b"A" * 20000 + b":", b"\xff\0"):
        never(lau, lau.start_run(signed(lau), credential=credential))


def test_flipped_bits_of_the_credential(lau, nothing_ran):
    job = signed(lau)
    runs = []
    for i in range(8, len(job.credential) - 4, 7):
        c = bytearray(job.credential)
        c[i] = ord("A") if c[i] != ord("A") else ord("B")
        runs.append(lau.start_run(job, credential=bytes(c)))
    for run in runs:
        never(lau, run)


def test_credential_for_something_else(lau, nothing_ran):
    job = signed(lau)
    for payload in (b"gpusched-hello-1" + blake(job.bytes), b"gpusched-job-1", blake(job.bytes),
                    b"gpusched-job-1" + blake(b"other"), b"gpusched-job-1" + blake(job.bytes)[:31],
                    b"gpusched-job-1" + blake(job.bytes) + b"x", b"gpusched-job-1" + blake(job.bytes) * 65):
        never(lau, lau.start_run(job, credential=lau.munge.encode(payload, job.user)))


def test_credential_that_is_not_encrypted(lau, nothing_ran):
    job = signed(lau)
    plain = lau.munge.encode(b"gpusched-job-1" + blake(job.bytes), job.user, "--cipher=none")
    never(lau, lau.start_run(job, credential=plain))


@needs_root
def test_signed_by_somebody_else(lau, nothing_ran):
    victim, thief = lau.owner(), pwd.getpwnam("daemon")
    job = signed(lau)
    payload = b"gpusched-job-1" + blake(job.bytes)
    never(lau, lau.start_run(job, credential=lau.munge.encode(payload, thief)), "uid")
    # root's signature is no better: the uid of the spec must be the credential's
    never(lau, lau.start_run(job, credential=lau.munge.encode(payload)), "uid")
    own = Job(lau.munge, thief, "#!/bin/sh\n", gid=victim.pw_gid)
    never(lau, lau.start_run(own), "gid")
    own = Job(lau.munge, thief, "#!/bin/sh\n", uid=victim.pw_uid)
    never(lau, lau.start_run(own), "uid")


@needs_root
def test_user_name_must_be_the_uid_s(lau, nothing_ran):
    never(lau, lau.start_run(signed(lau), user="root"), "uid")
    never(lau, lau.start_run(signed(lau), user="no-such-user"), "does not exist")


@needs_root
def test_user_who_does_not_exist_any_more(lau, nothing_ran):
    ghost = pwd.struct_passwd(("ghost", "x", 54321, 54321, "", "/", "/bin/sh"))
    job = Job(lau.munge, ghost, "#!/bin/sh\necho ran >> ran\n")
    never(lau, lau.start_run(job), "ghost", "54321", "does not exist")
    never(lau, lau.start_run(job, user=""), "54321", "does not exist")


def test_signature_that_is_too_old():
    lau = Launcher(age=1)
    try:
        job = signed(lau)
        end = time.time() + 2.5
        wait_until(lambda: time.time() > end, "the signature to age", 10)
        never(lau, lau.start_run(job), "sign")
        assert lau.result(lau.submit("exit 0")) == ("CAUSE_EXIT", 0, 0)
        assert not (lau.jobs / "ran").exists()
    finally:
        lau.close()


def test_expired_and_replayed_credential_is_fine(lau):
    """munge's own life is minutes; a job may wait for days."""
    job = signed(lau)
    job.credential = lau.munge.encode(b"gpusched-job-1" + blake(job.bytes), job.user, "--ttl=1")
    end = time.time() + 2.5
    wait_until(lambda: time.time() > end, "the credential to expire", 10)
    assert lau.result(lau.start_run(job)) == ("CAUSE_EXIT", 0, 0)
    lau.restart()
    assert lau.result(lau.start_run(job)) == ("CAUSE_EXIT", 0, 0)


def test_signature_is_used_as_often_as_its_owner_allowed(lau):
    job = signed(lau, max_attempts=2)
    for i in range(2):  # whatever job it is said to be
        assert lau.result(lau.start_run(job)) == ("CAUSE_EXIT", 0, 0)
    never(lau, lau.start_run(job), "2 times")
    never(lau, lau.start_run(job, run={"job": 99, "attempt": 3}), "2 times")
    lau.restart()
    never(lau, lau.start_run(job), "2 times")
    lau.kill()
    for p in sorted((lau.dir / "run").rglob("*"), reverse=True):  # tmpfs is lost
        p.rmdir() if p.is_dir() else p.unlink()
    lau.start()
    never(lau, lau.start_run(job), "2 times")
    assert (lau.jobs / "ran").read_text() == "ran\n" * 2


def test_a_spec_in_place_of_another_goes_on_counting(lau):
    """Its nonce is the same: neither of the two, in turns, is started more often than it says."""
    first = signed(lau, max_attempts=2)
    second = signed(lau, max_attempts=3, name="other", nonce=first.spec["nonce"])
    for job in (first, second):
        assert lau.result(lau.start_run(job)) == ("CAUSE_EXIT", 0, 0)
    never(lau, lau.start_run(first), "2 times")
    lau.restart()
    never(lau, lau.start_run(first), "2 times")
    assert lau.result(lau.start_run(second)) == ("CAUSE_EXIT", 0, 0)
    never(lau, lau.start_run(second), "3 times")
    assert (lau.jobs / "ran").read_text() == "ran\n" * 3


def test_attempts_that_never_came_use_nothing_of_the_signature(lau):
    job = signed(lau, max_attempts=1)
    never(lau, lau.start_run(job, run={"job": 98, "attempt": 1000001}), "attempt 1000001")
    assert lau.result(lau.start_run(job, run={"job": 99, "attempt": 2})) == ("CAUSE_EXIT", 0, 0)
    never(lau, lau.start_run(job, run={"job": 99, "attempt": 3}), "1 times")


def test_the_controller_may_allow_a_lower_age(lau):
    job = signed(lau)
    made = time.time()
    wait_until(lambda: time.time() > made + 2.5, "the signature to age", 10)
    lau.send("MSG_LAUNCHER_EPOCH", {"epoch": 1, "signature_age_s": 1})
    never(lau, lau.start_run(job), "1 s are allowed")
    lau.send("MSG_LAUNCHER_EPOCH", {"epoch": 1})  # says nothing of it
    never(lau, lau.start_run(job), "1 s are allowed")
    lau.send("MSG_LAUNCHER_EPOCH", {"epoch": 2, "signature_age_s": 3600})
    assert lau.result(lau.start_run(job, epoch=2)) == ("CAUSE_EXIT", 0, 0)
    lau.send("MSG_LAUNCHER_EPOCH", {"epoch": 1, "signature_age_s": 1})  # no longer in charge
    assert lau.result(lau.start_run(job, epoch=2)) == ("CAUSE_EXIT", 0, 0)


def test_a_node_s_own_lower_age_counts():
    lau = Launcher(age=1)
    try:
        lau.send("MSG_LAUNCHER_EPOCH", {"epoch": 1, "signature_age_s": 3600})
        job = signed(lau)
        made = time.time()
        wait_until(lambda: time.time() > made + 2.5, "the signature to age", 10)
        never(lau, lau.start_run(job), "1 s are allowed")
    finally:
        lau.close()


def test_a_start_that_failed_does_not_use_the_signature(lau):
    job = signed(lau, max_attempts=1, output=b"later/out")
    assert lau.result(lau.start_run(job))[0] == "CAUSE_LAUNCH_OWNER"
    (lau.jobs / "later").mkdir()
    (lau.jobs / "later").chmod(0o777)
    assert lau.result(lau.start_run(job)) == ("CAUSE_EXIT", 0, 0)
    never(lau, lau.start_run(job), "1 times")


def test_names_with_control_characters(lau, nothing_ran):
    before = lau.pid
    for field in ("partition", "account", "qos", "nodelist", "gpu_type", "submit_host", "user"):
        lau.send("MSG_START_RUN", lau.order(signed(lau), **{field: "x\nPATH=/evil"}))
    assert lau.result(lau.submit("exit 0")) == ("CAUSE_EXIT", 0, 0)
    assert lau.pid == before and len(lau.runs) == 1


@needs_root
def test_root_s_jobs_only_where_they_are_allowed(canary, lau):
    root = pwd.getpwuid(0)
    run = lau.submit("id -u > id", user=root)
    assert lau.result(run) == ("CAUSE_EXIT", 0, 0)
    strict = Launcher(allow_root=False)
    try:
        never(strict, strict.submit("id -u", user=root), "root")
        assert strict.result(strict.submit("exit 0")) == ("CAUSE_EXIT", 0, 0)
    finally:
        strict.close()


# --- a network half that has turned hostile ------------------------------------------------------

GARBAGE = [
    b"\0" * 64, b"\xff" * 64, b"GET / HTTP/1.0\r\n\r\n" + b"x" * 100,
    struct.pack(">IHHQ", 0xffffffff, TYPES["MSG_END_RUN"], 0, 0),                # longer than any may be
    struct.pack(">IHHQ", 4, TYPES["MSG_LAUNCHER_HELLO"], 0, 0) + b"\0" * 4,      # the launcher's own to say
    struct.pack(">IHHQ", 4, TYPES["MSG_SUBMIT"], 0, 0) + b"\0" * 4,              # a user's
    struct.pack(">IHHQ", 0, 9999, 0, 0),
    struct.pack(">IHHQ", 0, TYPES["MSG_END_RUN"], 1, 0),                         # flags
    frame("MSG_START_RUN", b"\x0a\xff"), frame("MSG_START_RUN", b"\x08" + b"\xff" * 11),
    frame("MSG_END_RUN", b"\xff" * 100), frame("MSG_FORGET_RUN", b"\x0a\x7f"),
]


@pytest.mark.parametrize("number", range(len(GARBAGE)))
def test_garbage_ends_the_launcher_or_nothing_and_never_a_run(lau, number):
    run = lau.submit("until [ -e go ]; do sleep 0.05; done; exit 3")
    lau.wait_running(run)
    lau.sock.send(GARBAGE[number])
    order = lau.order(signed(lau))
    with contextlib.suppress(OSError):
        lau.send("MSG_START_RUN", order)
    # either it still obeys, or it ends by itself
    wait_until(lambda: lau.runs.get((order["run"]["job"], 1)) or (not lau.drain(0.01) and lau.process.poll() is not None),
               "an answer or the end")
    lau.kill()
    lau.start()
    assert lau.state(run) == "RUNNING"
    (lau.jobs / "go").touch()
    assert lau.result(run) == ("CAUSE_EXIT", 3, 0)


def test_orders_that_name_nothing(lau):
    for value in ({}, {"run": {}}, {"run": {"job": 5}}, {"run": {"attempt": 1}}):
        lau.send("MSG_START_RUN", value)
        lau.send("MSG_END_RUN", {**value, "epoch": 1})
        lau.send("MSG_SIGNAL_RUN", {**value, "epoch": 1, "signal": 9})
    lau.send("MSG_SIGNAL_RUN", {"run": {"job": 5, "attempt": 1}, "epoch": 1, "signal": 4000000000})
    lau.send("MSG_FORGET_RUN", {"runs": [{"job": 5, "attempt": 1}] * 100})
    assert lau.result(lau.submit("exit 0")) == ("CAUSE_EXIT", 0, 0)
    assert len(lau.runs) == 1


def test_a_living_run_cannot_be_forgotten(lau):
    run = lau.submit("until [ -e go ]; do sleep 0.05; done; exit 3", order={"gpus": [0]})
    lau.wait_running(run)
    lau.forget(run)
    never(lau, lau.submit("exit 0", order={"gpus": [0]}), "held")
    (lau.jobs / "go").touch()
    assert lau.result(run) == ("CAUSE_EXIT", 3, 0)


# --- 6, 8: who the job is, and what it inherits ----------------------------------------------------

PROBE = """#!/usr/bin/python3
import json, os, signal
status = dict(l.split(":", 1) for l in open("/proc/self/status").read().splitlines())
def regain(call, *args):
    try:
        call(*args)
        return True
    except OSError:
        return False
json.dump({
    "uids": status["Uid"].split(), "gids": status["Gid"].split(), "groups": sorted(map(int, status["Groups"].split())),
    "caps": {k: status[k].strip() for k in ("CapInh", "CapPrm", "CapEff", "CapAmb")},
    "nnp": status["NoNewPrivs"].strip(), "blocked": status["SigBlk"].strip(), "pending": status["SigPnd"].strip(),
    "ignored": int(status["SigIgn"], 16), "regain": [regain(os.setuid, 0), regain(os.seteuid, 0), regain(os.setgid, 0),
    regain(os.setresuid, 0, 0, 0), regain(os.setgroups, [0])],
    "fds": sorted(int(f) for f in os.listdir("/proc/self/fd") if os.path.exists("/proc/self/fd/" + f)),
    "links": [os.readlink(f"/proc/self/fd/{i}") for i in range(3)], "cwd": os.getcwd(),
    "umask": os.umask(0), "sid": os.getsid(0) == os.getpid(), "env": dict(os.environ), "oom": open("/proc/self/oom_score_adj").read().strip(),
    "dumpable": os.access("/proc/self/environ", os.R_OK), "argv": open("/proc/self/cmdline").read().split("\\0"),
}, open("probe", "w"))
"""


def probe(lau, **spec):
    spec.setdefault("cwd", str(lau.jobs))
    job = Job(lau.munge, spec.pop("user", None) or lau.owner(), PROBE, **spec)
    assert lau.result(lau.start_run(job)) == ("CAUSE_EXIT", 0, 0)
    return json.loads((lau.jobs / "probe").read_text())


@needs_root
@pytest.mark.parametrize("cgroup", ["", "none"])
def test_the_job_is_its_owner_and_cannot_be_anybody_else(cgroup):
    lau = Launcher(cgroup=cgroup)
    try:
        user = lau.owner()
        p = probe(lau)
        assert p["uids"] == [str(user.pw_uid)] * 4  # real, effective, saved, file system
        assert p["gids"] == [str(user.pw_gid)] * 4
        assert p["groups"] == sorted(os.getgrouplist(user.pw_name, user.pw_gid))
        assert all(int(c, 16) == 0 for c in p["caps"].values())
        assert p["regain"] == [False] * 5
        assert p["nnp"] == "1"
        assert p["oom"] == "0"
    finally:
        lau.close()


def test_the_job_inherits_nothing(lau):
    p = probe(lau, umask=0o027)
    assert p["fds"] == [0, 1, 2]
    assert p["links"][0] == "/dev/null" and p["links"][1] == p["links"][2]
    assert int(p["blocked"], 16) == 0 and int(p["pending"], 16) == 0
    python_ignores = 1 << signal.SIGPIPE - 1 | 1 << signal.SIGXFSZ - 1  # the interpreter's own doing
    assert p["ignored"] & ~python_ignores == 0
    assert p["cwd"] == str(lau.jobs) and p["umask"] == 0o027 and p["sid"]
    assert "SECRET_OF_THE_AGENT" not in p["env"]


@pytest.mark.skipif(not ROOT, reason="who is not dumpable shows its descriptors to root alone")
def descriptors(pid):
    found = {}
    for f in pathlib.Path(f"/proc/{pid}/fd").iterdir():
        with contextlib.suppress(FileNotFoundError):  # closed by now
            found[int(f.name)] = os.readlink(f)
    return found


def test_descriptors_that_the_agent_leaks_end_with_it():
    """What was open in whoever started the agent, without close-on-exec, as a service manager's bug would have it."""
    lau = Launcher(start=False)
    try:
        secret = lau.dir / "secret"
        secret.write_text("secret")
        leaks = [os.open(secret, os.O_RDONLY), os.open("/", os.O_RDONLY | os.O_DIRECTORY)]
        lau.start(leak=leaks)
        run = lau.submit("ls -l /proc/self/fd > fds; echo up > up; until [ -e go ]; do sleep 0.05; done")
        wait_until((lau.jobs / "up").exists, "the run")
        held = {pid: descriptors(pid) for pid in (lau.process.pid, lau.pid, lau.shepherd(run))}
        assert str(secret) in held[lau.process.pid].values()
        assert str(secret) not in held[lau.pid].values() and "/" not in held[lau.pid].values()
        pid = lau.shepherd(run)
        shepherd = held[pid]
        assert {n for n, to in shepherd.items() if to == "/dev/null"} == {0, 1, 2}
        sockets = lambda: [n for n, to in descriptors(pid).items() if to.startswith("socket:")]  # noqa: E731
        wait_until(lambda: sockets() == [4], lambda: f"nothing of the agent's, and its orders: {sockets()}")
        assert str(secret) not in shepherd.values()
        assert "secret" not in (lau.jobs / "fds").read_text()
        (lau.jobs / "go").touch()
        assert lau.result(run) == ("CAUSE_EXIT", 0, 0)
        for fd in leaks:
            os.close(fd)
    finally:
        lau.close()


# --- 7: a hostile environment ----------------------------------------------------------------------

HOSTILE = [b"LD_PRELOAD=/tmp/evil.so", b"BASH_ENV=/tmp/evil", b"ENV=/tmp/evil", b"IFS=/", b"PS4=$(touch /tmp/evil)",
           b"GPUSCHED_JOB_ID=1", b"GPUSCHED_RUN_DIR=/root", b"GPUSCHED_EVIL=1", b"CUDA_VISIBLE_DEVICES=0,1,2,3",
           b"NVIDIA_VISIBLE_DEVICES=all", b"BASH_FUNC_ls%%=() { echo evil; }", b"LINES=a\nb", b"=x=y",
           b"GCONV_PATH=/tmp", b"MALLOC_CHECK_=3", b"TMPDIR=/root"]


def test_the_owner_s_environment_is_the_owner_s_alone(lau):
    env = [e for e in HOSTILE if not e.startswith(b"=")]
    run = lau.start_run(Job(lau.munge, lau.owner(), """#!/usr/bin/python3
import os, time
open("env", "wb").write(b"\\0".join(k + b"=" + v for k, v in os.environb.items()))
open("up", "w").write("up")
while not os.path.exists("go"):
    time.sleep(0.05)
""", cwd=str(lau.jobs), env=env))
    wait_until((lau.jobs / "up").exists, "the run")
    if ROOT:  # who is not dumpable shows it to root alone
        shepherd = pathlib.Path(f"/proc/{lau.shepherd(run)}/environ").read_bytes()
        launcher = pathlib.Path(f"/proc/{lau.pid}/environ").read_bytes()
        for e in env:
            assert e not in shepherd and e not in launcher
        assert b"SECRET_OF_THE_AGENT" not in shepherd
    job = (lau.jobs / "env").read_bytes().split(b"\0")
    assert b"LD_PRELOAD=/tmp/evil.so" in job and b"BASH_FUNC_ls%%=() { echo evil; }" in job
    for e in (b"GPUSCHED_JOB_ID=1000", b"GPUSCHED_EVIL=1", b"GPUSCHED_RUN_DIR=/root", b"CUDA_VISIBLE_DEVICES=0,1,2,3",
              b"NVIDIA_VISIBLE_DEVICES=all"):
        assert e not in job
    assert b"CUDA_VISIBLE_DEVICES=" in job and f"GPUSCHED_RUN_DIR={lau.run_dir(run)}".encode() in job
    (lau.jobs / "go").touch()
    lau.wait_over(run)


@pytest.mark.parametrize("entry", [b"=x", b"NOVALUE", b"", b"A\0B=c", b"A=b\0c", b"BIG=" + b"x" * 2_000_000],
                         ids=["no name", "no value", "empty", "NUL in name", "NUL in value", "2 MB"])
def test_environment_that_cannot_be(lau, entry, nothing_ran):
    never(lau, lau.start_run(signed(lau, env=[entry])))


# --- 16, 17: what others see of it ------------------------------------------------------------------

@needs_root
def test_nobody_else_sees_a_run(lau):
    """16, 17: records, scripts and environments are not for others."""
    other = pwd.getpwnam("daemon")
    run = lau.submit("echo up > up; until [ -e go ]; do sleep 0.05; done", env=[b"TOKEN=secret"])
    wait_until((lau.jobs / "up").exists, "the run")
    spy = lau.submit(f"""
        for f in {lau.run_dir(run)}/script {lau.record_dir(run)}/launch {lau.dir}/run/runs {lau.dir}/spool/runs \\
                 {lau.dir}/spool/exits {lau.dir}/spool/starts {lau.dir}/run/state {lau.dir}/run/lock \\
                 /proc/{lau.shepherd(run)}/environ /proc/{lau.shepherd(run)}/fd {lau.dir}/run {lau.dir}/spool; do
            [ -r $f ] && echo readable $f
        done
        ls {lau.run_dir(run)} {lau.record_dir(run)} 2>/dev/null
        touch {lau.dir}/run/x {lau.dir}/spool/x {lau.dir}/spool/runs/x 2>/dev/null && echo writable
        kill -9 {lau.shepherd(run)} 2>/dev/null && echo killed
        exit 0""", user=other)
    assert lau.result(spy) == ("CAUSE_EXIT", 0, 0)
    assert lau.output(spy) == ""
    # nor may the owner himself speak to his shepherd
    own = lau.submit(f"""/usr/bin/python3 -c '
import socket
for p in ("{lau.record_dir(run)}/ctl", "{lau.dir}/run/notify"):
    s = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    try:
        s.sendto(b"x", p)
        print("sent to", p)
    except PermissionError:
        pass'
        kill -9 {lau.shepherd(run)} 2>/dev/null && echo killed; exit 0""")
    assert lau.result(own) == ("CAUSE_EXIT", 0, 0)
    assert lau.output(own) == ""
    (lau.jobs / "go").touch()
    assert lau.result(run) == ("CAUSE_EXIT", 0, 0)


ADD_KEY, KEYCTL = {"x86_64": (248, 250), "aarch64": (217, 219)}.get(platform.machine(), (0, 0))
JOIN, SEARCH, SESSION = 1, 10, -3  # [keyctl(2)]
KEYS = f"""exec /usr/bin/python3 -c '
import ctypes
call = ctypes.CDLL(None).syscall
def found(name): return call({KEYCTL}, {SEARCH}, {SESSION}, b"user", name, 0) > 0
print(found(b"of the agent"), found(b"of a job"))
call({ADD_KEY}, b"user", b"of a job", b"secret", 6, {SESSION})
print(found(b"of a job"))'"""


@needs_root
def test_a_job_is_served_as_others_are():
    """8: however nice the agent is, as service managers may have it."""
    os.setpriority(os.PRIO_PROCESS, 0, -5)
    os.sched_setscheduler(0, os.SCHED_BATCH, os.sched_param(0))
    try:
        lau = Launcher()
    finally:
        os.sched_setscheduler(0, os.SCHED_OTHER, os.sched_param(0))
        os.setpriority(os.PRIO_PROCESS, 0, 0)
    try:
        run = lau.submit("/usr/bin/python3 -c 'import os; print(os.nice(0), os.sched_getscheduler(0))'")
        assert lau.result(run) == ("CAUSE_EXIT", 0, 0)
        assert lau.output(run) == f"0 {os.SCHED_OTHER}\n"
    finally:
        lau.close()


@needs_root
def test_keys_of_the_agent_and_of_other_jobs_are_not_there():
    """17: who is in a session keyring has what is in it, whoever he has become [session-keyring(7)]."""
    if not KEYCTL or libc.syscall(KEYCTL, JOIN, None) < 0 or libc.syscall(ADD_KEY, b"user", b"of the agent", b"secret", 6, SESSION) < 0:
        pytest.skip("no keys on this host")
    lau = Launcher()
    try:
        for user in ("nobody", "daemon", "nobody"):
            run = lau.submit(KEYS, user=pwd.getpwnam(user))
            assert lau.result(run) == ("CAUSE_EXIT", 0, 0)
            assert lau.output(run) == "False False\nTrue\n"
    finally:
        lau.close()


@needs_root
def test_daemons_leave_no_core():
    """What is not dumpable belongs to root in /proc, whoever runs it [proc(5)]: so as somebody else."""
    lau = Launcher(user=pwd.getpwnam("nobody"))
    try:
        run = lau.submit("until [ -e go ]; do sleep 0.05; done")
        lau.wait_running(run)
        if b"libasan" in pathlib.Path(f"/proc/{lau.pid}/maps").read_bytes():
            pytest.skip("the sanitizer's leak checker needs dumpable processes")
        assert os.stat(f"/proc/{lau.process.pid}/environ").st_uid == lau.user.pw_uid  # dumpable: the test's own
        for pid in (lau.pid, lau.shepherd(run)):
            assert os.stat(f"/proc/{pid}/environ").st_uid == 0
        (lau.jobs / "go").touch()
        lau.wait_over(run)
    finally:
        lau.close()


@needs_root
def test_cgroup_cannot_be_left(lau):
    if not lau.hello["containment"].startswith("cgroup2"):
        pytest.skip("the host gives no cgroup2")
    run = lau.submit("""
        for f in $(find /sys/fs/cgroup -name cgroup.procs 2>/dev/null); do echo $$ > $f; done 2>/dev/null
        setsid sh -c 'echo $$ > pid; exec sleep 1000' & while ! [ -s pid ]; do sleep 0.01; done; exit 0""")
    assert lau.result(run) == ("CAUSE_EXIT", 0, 0)
    assert not alive(int((lau.jobs / "pid").read_text()))


@needs_root
@pytest.mark.parametrize("which", ["run", "spool"])
def test_loose_directories_are_refused(which):
    with pytest.raises(Exception, match="not writable by others"):
        lau = Launcher(start=False)
        try:
            (lau.dir / which).chmod(0o777)
            lau.start()
        finally:
            lau.close()


@pytest.mark.parametrize("which", ["run/runs", "spool/runs", "spool/exits", "spool/private", "spool/mps", "run/holds", "run/file"])
def test_links_in_place_of_directories_are_refused(which):
    """The agent gives its directories the modes that they must have: through a link those of something else."""
    lau = Launcher(start=False)
    try:
        other = lau.dir / "other"
        other.mkdir(mode=0o755)
        (other / "file").write_text("alive\n")
        if which == "run/file":
            which = "run/runs"
            (lau.dir / which).write_text("")
        else:
            (lau.dir / which).symlink_to(other)
        with pytest.raises(Exception, match="is a link or a file; it must be a directory"):
            lau.start()
        assert other.stat().st_mode & 0o7777 == 0o755 and [p.name for p in other.iterdir()] == ["file"]
    finally:
        lau.close()


@needs_root
@pytest.mark.parametrize("uid, mode, text", [(0, 0o777, "can be changed by others"), (65534, 0o755, "is not root's")])
def test_directories_that_others_could_rename_are_refused(uid, mode, text):
    """Closed directories in one that is not: another could be put in their place."""
    lau = Launcher(start=False)
    try:
        os.chown(lau.dir, uid, -1)
        lau.dir.chmod(mode)
        with pytest.raises(Exception, match=text):
            lau.start()
        lau.dir.chmod(0o1777)
        os.chown(lau.dir, 0, -1)
        lau.start()
    finally:
        lau.close()
