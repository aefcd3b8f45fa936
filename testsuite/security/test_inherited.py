"""8: what a job's process is given by whoever started it: one list, under an agent that is odd in all that can be inherited.

[execve(2), fork(2), credentials(7), sched(7), prctl(2)]
"""

import json
import os
import pathlib
import resource
import sys

import pytest

from cluster import ROOT
from launcher import Job, Launcher

pytestmark = pytest.mark.skipif(not ROOT, reason="needs root to be odd, and to become somebody else")

CALLS = """
import ctypes, os, platform
libc = ctypes.CDLL(None, use_errno=True)
IOPRIO_SET, IOPRIO_GET, SET_MEMPOLICY, GET_MEMPOLICY = \\
    {"x86_64": (251, 252, 238, 239), "aarch64": (30, 31, 237, 236)}[platform.machine()]
PDEATHSIG, DUMPABLE, SECUREBITS, TIMERSLACK, SUBREAPER, THP = (1, 2), 3, (28, 27), (29, 30), (36, 37), (41, 42)
"""

# As a service manager, an operator's shell or a bug may have left it.
ODD = CALLS + """
import resource, signal, sys
os.umask(0o057)
os.setpriority(os.PRIO_PROCESS, 0, -7)
os.sched_setscheduler(0, os.SCHED_BATCH, os.sched_param(0))
os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
libc.syscall(IOPRIO_SET, 1, 0, 2 << 13 | 1)
libc.syscall(SET_MEMPOLICY, 3, ctypes.byref(ctypes.c_ulong(1)), 64)  # interleaved
libc.prctl(TIMERSLACK[0], 7000000, 0, 0, 0)
libc.prctl(THP[0], 1, 0, 0, 0)
libc.prctl(SECUREBITS[0], 1 << 6, 0, 0, 0)  # no ambient capabilities
libc.prctl(SUBREAPER[0], 1, 0, 0, 0)
libc.personality(0x0040000)  # addresses as they come
try:
    with open("/proc/self/oom_score_adj", "w") as f:
        f.write("-321")
except PermissionError:  # root in a sandbox
    pass
for limit, value in ((resource.RLIMIT_CORE, 4096), (resource.RLIMIT_STACK, 1 << 24), (resource.RLIMIT_CPU, 7200)):
    resource.setrlimit(limit, (value, resource.getrlimit(limit)[1]))
for sig in (signal.SIGHUP, signal.SIGUSR2, 33, 60):
    libc.signal(sig, ctypes.c_void_p(1))
signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGUSR1, signal.SIGTERM})
os.execv(sys.argv[1], sys.argv[1:])
"""

# The shell is asked before Python has ignored signals of its own.
PROBE = """#!/bin/sh
cp /proc/self/status status
exec /usr/bin/python3 probe.py
"""
PROBE_PY = CALLS + """
import json, resource
status = dict(l.split(":", 1) for l in open("status").read().splitlines())
def asked(option):
    value = ctypes.c_int(-1)
    libc.prctl(option, ctypes.byref(value), 0, 0, 0)
    return value.value
policy = ctypes.c_int(-1)
libc.syscall(GET_MEMPOLICY, ctypes.byref(policy), None, 0, None, 0)
names = [n for n in dir(resource) if n.startswith("RLIMIT_") and n != "RLIMIT_OFILE"]
json.dump({
    "ids": {k: status[k].split() for k in ("Uid", "Gid")}, "groups": sorted(map(int, status["Groups"].split())),
    "capabilities": {k: int(status[k], 16) for k in ("CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb")},
    "no_new_privs": int(status["NoNewPrivs"]), "securebits": libc.prctl(SECUREBITS[1], 0, 0, 0, 0),
    "signals": {k: int(status[k], 16) for k in ("SigPnd", "ShdPnd", "SigBlk", "SigIgn", "SigCgt")},
    "descriptors": sorted(int(f) for f in os.listdir("/proc/self/fd") if os.path.exists("/proc/self/fd/" + f)),
    "session": os.getsid(0) == os.getpid(), "tty": int(open("/proc/self/stat").read().rsplit(")", 1)[1].split()[4]),
    "umask": int(status["Umask"], 8), "nice": os.nice(0), "scheduler": os.sched_getscheduler(0), "cpus": sorted(os.sched_getaffinity(0)),
    "io_priority": libc.syscall(IOPRIO_GET, 1, 0), "memory_policy": policy.value, "timer_slack": libc.prctl(TIMERSLACK[1], 0, 0, 0, 0),
    "no_huge_pages": libc.prctl(THP[1], 0, 0, 0, 0), "personality": libc.personality(0xffffffff),
    "oom_score_adj": int(open("/proc/self/oom_score_adj").read()), "death_signal": asked(PDEATHSIG[1]), "subreaper": asked(SUBREAPER[1]),
    "dumpable": libc.prctl(DUMPABLE, 0, 0, 0, 0), "limits": {n[7:].lower(): resource.getrlimit(getattr(resource, n)) for n in names},
    "label": open("/proc/self/attr/current").read().strip("\\0\\n") if os.path.exists("/proc/self/attr/current") and not no_label() else "",
    "namespaces": {n: os.readlink("/proc/self/ns/" + n) for n in sorted(os.listdir("/proc/self/ns"))},
}, open("probe", "w"))
""".replace("import json, resource\n", """import json, resource
def no_label():
    try:
        return not open("/proc/self/attr/current").read()
    except OSError:  # no security module is there
        return True
""")


EVERYTHING = (-1, -1)
LIMITS = {"as": EVERYTHING, "core": (0, -1), "cpu": EVERYTHING, "data": EVERYTHING, "fsize": EVERYTHING, "memlock": EVERYTHING,
          "msgqueue": (819200,) * 2, "nice": (0, 0), "nofile": (1024, 524288), "nproc": EVERYTHING, "rss": EVERYTHING, "rtprio": (0, 0),
          "rttime": EVERYTHING, "sigpending": (65536,) * 2, "stack": (8 << 20, -1)}
SYS_RESOURCE = 24


def limit(name, value):
    """As a job may have it: root in a sandbox, which has not all capabilities, goes no higher than it is itself."""
    own = resource.getrlimit(getattr(resource, "RLIMIT_" + name.upper(), resource.RLIMIT_CORE))[1]
    status = pathlib.Path("/proc/self/status").read_text()
    if own == -1 or int(status.split("CapEff:")[1].split()[0], 16) >> SYS_RESOURCE & 1:
        return value
    return own if value == -1 else min(value, own)


def label():
    try:
        return pathlib.Path("/proc/self/attr/current").read_text().strip("\0\n")
    except OSError:
        return ""


def probe(lau):
    (lau.jobs / "probe.py").write_text(PROBE_PY)
    job = Job(lau.munge, lau.owner(), PROBE, cwd=str(lau.jobs), umask=0o026)
    run = lau.start_run(job)
    assert lau.result(run) == ("CAUSE_EXIT", 0, 0), lau.output(run)
    return json.loads((lau.jobs / "probe").read_text())


def test_all_that_a_job_inherits():
    lau = Launcher(start=False)
    try:
        lau.start(under=(sys.executable, "-c", ODD))
        user, p = lau.owner(), probe(lau)
        assert p == {
            "ids": {"Uid": [str(user.pw_uid)] * 4, "Gid": [str(user.pw_gid)] * 4},
            "groups": sorted(os.getgrouplist(user.pw_name, user.pw_gid)),
            "capabilities": dict.fromkeys(("CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb"), 0),
            "no_new_privs": 1, "securebits": 0,
            "signals": dict.fromkeys(("SigPnd", "ShdPnd", "SigBlk", "SigIgn", "SigCgt"), 0),
            "descriptors": [0, 1, 2], "session": True, "tty": 0, "umask": 0o026,
            "nice": 0, "scheduler": os.SCHED_OTHER, "cpus": sorted(os.sched_getaffinity(1)), "io_priority": 0, "memory_policy": 0,
            "timer_slack": 50000, "no_huge_pages": 0, "personality": 0, "oom_score_adj": 0,
            "death_signal": 9,  # with its shepherd
            "subreaper": 0, "dumpable": 1,
            "limits": {name: list(map(lambda value: limit(name, value), both)) for name, both in LIMITS.items()},
            "label": label(),
            "namespaces": {n: os.readlink(f"/proc/self/ns/{n}") for n in sorted(os.listdir("/proc/self/ns"))},
        }
    finally:
        lau.close()
