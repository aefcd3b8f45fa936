"""launcher.py - a launcher with real munge, real shepherds and real jobs, for tests

`Launcher` stands for one node's agent: it keeps what the launcher said of each run and can kill and
start the launcher again. `Owner` is a user who signs jobs. Nothing sleeps for a fixed time.
"""

import contextlib
import hashlib
import os
import pathlib
import pwd
import select
import shutil
import signal
import socket
import struct
import subprocess
import tempfile
import time

from cluster import BUILD, DEADLINE, ROOT, Failed, sanitizer_reports, wait_until
from proto import BODY, SCHEMA_OF, TYPES, frame

HOST = BUILD / "testsuite/system/helpers/launcher_host"
SHEPHERD = BUILD / "noded/gshepherd"
MUNGED = shutil.which("munged") or "/usr/sbin/munged"
CLUSTER = "test"


class Munge:
    """A munge daemon of our own."""

    def __init__(self, folder):
        self.dir = pathlib.Path(folder)
        self.dir.mkdir(mode=0o755)
        self.socket, self.key = self.dir / "socket", self.dir / "key"
        self.key.write_bytes(os.urandom(1024))
        self.key.chmod(0o400)
        self.process = None
        self.start()

    def start(self):
        self.process = subprocess.Popen(
            [MUNGED, "--foreground", "--force", f"--key-file={self.key}", f"--socket={self.socket}",
             f"--pid-file={self.dir}/pid", f"--seed-file={self.dir}/seed", "--num-threads=2"],
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=open(self.dir / "log", "ab"))
        wait_until(lambda: self.socket.exists() or self.process.poll() is not None, "munged's socket")

    def stop(self):
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        self.socket.unlink(missing_ok=True)

    def encode(self, payload, user=None, *options):
        """A credential of these bytes, made by `user` (a pwd entry)."""
        kw = {"user": user.pw_uid, "group": user.pw_gid, "extra_groups": []} if user and ROOT else {}
        r = subprocess.run(["munge", f"--socket={self.socket}", "--cipher=aes256", *options], input=payload,
                           capture_output=True, check=True, timeout=DEADLINE, **kw)
        return r.stdout.strip()


def blake(data):
    return hashlib.blake2b(data, digest_size=32).digest()


class Job:
    """Something signed: spec bytes, script, credential."""

    def __init__(self, munge, user, script, sign=True, **spec):
        self.user = user
        self.script = script if isinstance(script, bytes) else script.encode()
        self.spec = {"version": 1, "cluster": CLUSTER, "nonce": os.urandom(16), "uid": user.pw_uid,
                     "gid": user.pw_gid, "script_hash": blake(self.script), "name": "test", "env": [],
                     "cwd": "/tmp", "max_attempts": 10, "tasks_per_node": 1, "umask": 0o22,
                     "no_summary": True}
        self.spec.update(spec)
        self.bytes = SCHEMA_OF.encode("SignedSpec", self.spec)
        self.credential = munge.encode(b"gpusched-job-1" + blake(self.bytes), user) if sign else b""


class Launcher:
    def __init__(self, cgroup="", allow_root=True, user=None, age=0, env=None, folder=None, munge=None, start=True,
                 **options):
        self.dir = pathlib.Path(folder or tempfile.mkdtemp(prefix="gpusched-test-"))
        self.dir.chmod(0o755)
        self.user = user  # whom the launcher runs as; None: as we are
        self.cgroup, self.allow_root, self.age = cgroup, allow_root, age
        self.env, self.options = env or {}, options
        self.shepherd_program = SHEPHERD
        self.munge = munge or Munge(self.dir / "munge")
        self.own_munge = munge is None
        for sub in ("run", "spool", "log"):
            d = self.dir / sub
            d.mkdir(mode=0o755, exist_ok=True)
            if user and ROOT:
                os.chown(d, user.pw_uid, user.pw_gid)
        self.jobs = self.dir / "jobs"
        self.jobs.mkdir(exist_ok=True)
        self.jobs.chmod(0o1777)
        self.runs, self.history, self.creds, self.frames = {}, {}, {}, 0
        self.faults, self.looked = [], {}  # of GPUs, as last told
        self.used = None  # by runs, as last told
        self.loads, self.load = [], {}  # of replicas: each message, and what each said last
        self.process = self.pid = self.sock = self.hello = self.inventory = None
        self.next_job = 1
        if start:
            self.start()

    # --- the process ---------------------------------------------------------------------------

    def start(self, wait=True, leak=(), under=(), **env):
        """`under`: a command that executes what follows it."""
        self.sock, theirs = socket.socketpair()
        self.sock.setblocking(False)
        kw = {"user": self.user.pw_uid, "group": self.user.pw_gid, "extra_groups": []} if self.user and ROOT else {}
        e = {"PATH": "/usr/bin:/bin", "SECRET_OF_THE_AGENT": "1",
             "ASAN_OPTIONS": f"log_path={self.dir}/log/asan:exitcode=99:detect_leaks=1",
             "UBSAN_OPTIONS": f"log_path={self.dir}/log/ubsan:print_stacktrace=1:halt_on_error=1", **self.env, **env}
        log = open(self.dir / "log/launcher", "ab")
        (self.dir / "log").chmod(0o777)
        self.process = subprocess.Popen(
            [str(a) for a in (*under, HOST, theirs.fileno(), "n1", CLUSTER, self.dir / "run", self.dir / "spool",
                              self.munge.socket, self.shepherd_program, self.cgroup, int(self.allow_root), self.age,
                              *(f"{k}={v}" for k, v in self.options.items()))],
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=log, pass_fds=[theirs.fileno(), *leak], env=e,
            start_new_session=True, **kw)
        theirs.close()
        line = self.process.stdout.readline()
        if not line:
            raise Failed(f"launcher_host ended with {self.process.wait()}:\n{self.log()}")
        self.pid = int(line)
        self.buffer, self.hello = b"", None
        if wait:
            self.wait(lambda: self.hello, "the launcher's hello")

    def kill(self):
        """As a crash of the agent's whole: no farewell."""
        with contextlib.suppress(ProcessLookupError):
            os.kill(self.pid, signal.SIGKILL)
        self.process.kill()
        self.process.wait()
        self.drain()
        self.sock.close()
        self.process.stdout.close()

    def stop(self):
        """In an orderly way; returns the launcher's exit status."""
        self.sock.close()
        status = self.process.wait(30)
        self.process.stdout.close()
        return status

    def restart(self, **env):
        self.kill()
        self.start(**env)

    def log(self):
        return (self.dir / "log/launcher").read_text(errors="replace")

    # --- messages ------------------------------------------------------------------------------

    def send(self, kind, value):
        data, end = frame(kind, value), time.monotonic() + DEADLINE
        while data:
            readable, writable, _ = select.select([self.sock], [self.sock], [], DEADLINE)
            if writable:
                data = data[self.sock.send(data):]
            elif readable:  # what is not read may be why nothing can be written
                self.drain()
            if time.monotonic() > end:
                raise Failed("the launcher takes no orders any more")

    def drain(self, timeout=0.0):
        """Take in what has come; False when the launcher has closed."""
        ready, _, _ = select.select([self.sock], [], [], timeout)
        if ready:
            try:
                data = self.sock.recv(1 << 20)
            except ConnectionError:
                return False
            if not data:
                return False
            self.buffer += data
        while len(self.buffer) >= 16:
            length, kind, _, _ = struct.unpack(">IHHQ", self.buffer[:16])
            if len(self.buffer) < 16 + length:
                break
            body, self.buffer = self.buffer[16:16 + length], self.buffer[16 + length:]
            self.take({v: k for k, v in TYPES.items()}[kind], body)
        return True

    def take(self, kind, body):
        self.frames += 1
        m = SCHEMA_OF.decode(BODY[kind], body)
        if kind == "MSG_LAUNCHER_HELLO":
            self.hello, self.runs = m, {}
            for r in m.get("runs", []):
                self.note(r)
        elif kind == "MSG_LAUNCHER_RUN":
            self.note(m)
        elif kind == "MSG_LAUNCHER_GPUS":
            self.inventory = m
        elif kind == "MSG_GPU_REPORT":
            self.faults = m.get("faults", [])
            self.looked = {g["uuid"]: g.get("trouble", "") for g in m.get("looked", [])}
        elif kind == "MSG_LAUNCHER_USED":
            self.used = m
        elif kind == "MSG_RUNS_LOAD":
            self.loads.append((time.monotonic(), m["runs"]))
            self.load.update({(r["run"]["job"], r["run"]["attempt"]): r for r in m["runs"]})
        else:
            self.creds[m["id"]] = m

    def note(self, report):
        key = (report["run"]["job"], report["run"]["attempt"])
        self.runs[key] = report
        self.history.setdefault(key, []).append(report["state"])

    def wait(self, condition, what, timeout=DEADLINE):
        end = time.monotonic() + timeout
        while not (value := condition()):
            left = end - time.monotonic()
            if left <= 0:
                raise Failed(f"waited {timeout:.0f} s for {what}; runs {str(self.runs)[-2000:]}\n{self.log()[-4000:]}")
            if not self.drain(min(left, 0.05)) and not condition():
                raise Failed(f"the launcher ended while waiting for {what}\n{self.log()}")
        return value

    def wait_end(self):
        """Until the launcher has closed the connection by itself."""
        wait_until(lambda: not self.drain(0.01), "the launcher to close")

    # --- orders --------------------------------------------------------------------------------

    def order(self, job, **order):
        """A StartRun for a signed job, not sent."""
        value = {"run": {"job": self.next_job, "attempt": 1}, "epoch": 1, "incarnation": self.hello["incarnation"],
                 "spec": job.bytes, "script": job.script, "credential": job.credential, "user": job.user.pw_name,
                 "partition": "batch", "cpus": 1, "grace_s": 5}
        self.next_job += 1
        value.update(order)
        return value

    def start_run(self, job, **order):
        value = self.order(job, **order)
        self.send("MSG_START_RUN", value)
        return value["run"]["job"], value["run"]["attempt"]

    def submit(self, script, user=None, order=None, **spec):
        """Sign shell text as a user, and start it."""
        user = user or self.owner()
        spec.setdefault("cwd", str(self.jobs))
        return self.start_run(Job(self.munge, user, f"#!/bin/sh\n{script}\n", **spec), **(order or {}))

    def owner(self):
        return self.user or (pwd.getpwnam("nobody") if ROOT else pwd.getpwuid(os.geteuid()))

    def end(self, run, cause="CAUSE_CANCEL", grace=5, **more):
        self.send("MSG_END_RUN", {"run": {"job": run[0], "attempt": run[1]}, "epoch": more.pop("epoch", 1),
                                  "cause": cause, "grace_s": grace, **more})

    def signal(self, run, number, epoch=1):
        self.send("MSG_SIGNAL_RUN", {"run": {"job": run[0], "attempt": run[1]}, "epoch": epoch, "signal": number})

    def suspend(self, run, stop=True, epoch=1):
        """Order it; wait until the launcher says that it is so."""
        self.send("MSG_SUSPEND_RUN", {"run": {"job": run[0], "attempt": run[1]}, "epoch": epoch, "suspend": stop})
        self.wait(lambda: self.runs.get(run, {}).get("suspended", False) == stop, f"{run} to be suspended: {stop}")

    def forget(self, *runs):
        self.send("MSG_FORGET_RUN", {"runs": [{"job": j, "attempt": a} for j, a in runs]})

    def state(self, run):
        return self.runs.get(run, {}).get("state")

    def wait_state(self, run, *states, timeout=DEADLINE):
        return self.wait(lambda: self.runs[run] if self.state(run) in states else None,
                         f"run {run} to be {'/'.join(states)}", timeout)

    def wait_over(self, run, timeout=DEADLINE):
        return self.wait_state(run, "ENDED", "NEVER", timeout=timeout)

    def wait_running(self, run):
        return self.wait_state(run, "RUNNING")

    def result(self, run):
        """(cause, code, signal) of a run that is over."""
        r = self.wait_over(run)
        return r.get("cause"), r.get("exit_code", 0), r.get("exit_signal", 0)

    def output(self, run, name=None):
        return (self.jobs / (name or f"gpusched-{run[0]}.out")).read_text(errors="replace")

    # --- looking in ----------------------------------------------------------------------------

    def record_dir(self, run):
        return self.dir / f"run/runs/{run[0]}_0_{run[1]}"

    def run_dir(self, run):
        return self.dir / f"spool/runs/{run[0]}_0_{run[1]}"

    def shepherds(self):
        return [p for p, cmd in processes() if b"gshepherd" in cmd[0] and str(self.dir).encode() in cmd[-1]]

    def shepherd(self, run):
        mark = str(self.record_dir(run)).encode()
        return wait_until(lambda: [p for p, cmd in processes() if cmd[-1] == mark], f"the shepherd of {run}")[0]

    def template(self):
        """What its shepherds are forked from, or nothing."""
        found = [p for p, cmd in processes() if cmd[0].endswith(b"gshepherd") and cmd[1:2] == [b"template"] and parent(p) == self.pid]
        return found[0] if found else None

    def end_template(self):
        """Shepherds are executed from now on, for a minute."""
        pid = self.template()
        if pid:
            os.kill(pid, signal.SIGKILL)
            wait_until(lambda: f"template {pid} has ended" in self.log(), "the launcher to see its template's end")

    def close(self):
        with contextlib.suppress(Exception):
            if self.process.poll() is None:
                for run in list(self.runs):
                    if self.state(run) in ("STARTING", "RUNNING"):
                        self.end(run, grace=0, epoch=2**63)
                        self.wait_over(run, 20)
        status = None
        if self.process and self.process.poll() is None:
            status = self.stop()
        for pid in self.shepherds():
            with contextlib.suppress(OSError):
                os.kill(pid, signal.SIGKILL)
        if self.own_munge:
            self.munge.stop()
        reports = sanitizer_reports(self.dir / "log")
        if not reports and status in (None, 0):
            shutil.rmtree(self.dir, ignore_errors=True)
        if reports or status not in (None, 0):
            raise Failed(f"launcher ended with {status}; {reports}\n{self.log()}")


def processes():
    """(pid, [argv...]) of all that can be seen."""
    for p in pathlib.Path("/proc").iterdir():
        if p.name.isdigit():
            with contextlib.suppress(OSError):
                cmd = (p / "cmdline").read_bytes().rstrip(b"\0").split(b"\0")
                yield int(p.name), cmd


def parent(pid):
    """Nothing when it is gone."""
    with contextlib.suppress(OSError):
        return int(pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[1])
    return None


def alive(pid):
    with contextlib.suppress(OSError):
        return pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] not in "ZX"
    return False
