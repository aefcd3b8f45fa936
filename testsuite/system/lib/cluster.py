"""cluster.py - whole clusters on loopback, for the system tests

A Cluster has its own munge daemon, controller and agents in one folder, on a free port; several can
exist at once. Nothing sleeps for a fixed time: `wait_until` waits for a condition and says what it
was waiting for when it gives up. Everything that was started is ended by pid in `close`.

The build under test is $GPUSCHED_BUILD (default ./build); a sanitizer build reports through exit codes and
log files, which `close` reads: a report fails the test.
"""

import contextlib
import json
import os
import pathlib
import pwd
import random
import re
import shutil
import signal
import socket
import subprocess
import tempfile
import threading
import time

TOP = pathlib.Path(__file__).resolve().parents[3]
BUILD = pathlib.Path(os.environ.get("GPUSCHED_BUILD", TOP / "build")).resolve()
ROOT = os.geteuid() == 0
DEADLINE = float(os.environ.get("GPUSCHED_TEST_DEADLINE", "60"))  # seconds that any condition may take

BIN = {
    "gctld": BUILD / "ctld/gctld",
    "gnoded": BUILD / "noded/gnoded",
    "munged": shutil.which("munged") or "/usr/sbin/munged",
}
for _c in ("gsubmit", "gqueue", "gcancel", "ginfo", "gctl", "gprio", "gserve", "gshare", "gacct", "greport"):
    BIN[_c] = BUILD / "cmds" / _c
BIN["glog"] = BUILD / "cmds/glog"
BIN["grun"] = BUILD / "cmds/grun"
BIN["gfeed"] = BUILD / "cmds/gfeed"
BIN["gtop"] = BUILD / "cmds/gtop"
BIN["gactivate"] = BUILD / "cmds/gactivate"
BIN["stream_hostile"] = BUILD / "testsuite/system/helpers/stream_hostile"
BIN["stream_reader"] = BUILD / "testsuite/system/helpers/stream_reader"
DAEMONS = ("gctld", "gnoded", "gweb", "gfeed", "gstepd", "grun", "srun", "gtop")  # and what lives as long as a job
# A sanitizer build: several times slower, and what was freed is kept for a while.
SANITIZED = BIN["gctl"].exists() and b"__asan_init" in BIN["gctl"].read_bytes()

# A shell that has the tests in the background ignores SIGINT, and what is ignored stays so in every program that they start.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN and threading.current_thread() is threading.main_thread():
    signal.signal(signal.SIGINT, signal.default_int_handler)


class Failed(AssertionError):
    """A command or condition that should have held did not; the text has the logs' ends."""


def wait_until(condition, what, timeout=DEADLINE):
    """Call `condition` until it returns something true, which is returned. `what` is a text, or makes one then."""
    end = time.monotonic() + timeout
    pause = 0.005
    while True:
        value = condition()
        if value:
            return value
        if time.monotonic() > end:
            text = what() if callable(what) else what
            raise Failed(f"waited {timeout:.0f} s for: {text}; last value: {value!r}")
        time.sleep(pause)
        pause = min(pause * 1.5, 0.1)


def live_for(seconds):
    """Let things go on for a random interval before the next fault: the only wait without a condition."""
    time.sleep(seconds)


def our_ports():
    """Below the ports that the kernel gives to whoever connects: nobody gets one while its daemon is away."""
    return 10000, int(pathlib.Path("/proc/sys/net/ipv4/ip_local_port_range").read_text().split()[0])


def free_port():
    low, above = our_ports()
    return free_ports(1, low, (low + above) // 2)


def free_ports(n, low=0, above=0):
    """The first of `n` ports in a row that nobody has: of those of which `free_port` gives none."""
    if not low:
        low, above = sum(our_ports()) // 2, our_ports()[1]
    while True:
        first = random.SystemRandom().randrange(low, above - n + 1)
        with contextlib.ExitStack() as held, contextlib.suppress(OSError):
            for port in range(first, first + n):
                held.enter_context(contextlib.closing(socket.socket())).bind(("127.0.0.1", port))
            return first


def unprivileged():
    """A user that is not root: who the controller runs as, and whose jobs root's agents run."""
    return pwd.getpwnam("daemon") if ROOT else pwd.getpwuid(os.geteuid())


def sanitizer_reports(folder):
    """What the sanitizers wrote there. A process that is killed while its leaks are looked for leaves a note of that
    and no report."""
    found = {p.name: p.read_text(errors="replace")[:4000] for p in sorted(folder.glob("*san.*"))}
    killed = re.compile(r"==\d+==Unable to get registers from thread \d+\.\s*")
    return "".join(f"--- {name}\n{text}" for name, text in found.items() if not killed.fullmatch(text))


class Daemon:
    """One process that we started: known by its pid, its output in a log."""

    def __init__(self, name, argv, log, env=None):
        self.name, self.log = name, log
        with open(log, "ab") as out:
            self.process = subprocess.Popen(
                [str(a) for a in argv], stdin=subprocess.DEVNULL, stdout=out, stderr=out, env=env,
                start_new_session=True, cwd=pathlib.Path(log).parent)
        self.pid = self.process.pid

    def alive(self):
        return self.process.poll() is None

    def wait(self, timeout=DEADLINE):
        return wait_until(lambda: (not self.alive()) and (self.process.returncode,), f"end of {self.name}",
                          timeout)[0]

    def kill(self, sig=signal.SIGKILL):
        if self.alive():
            self.process.send_signal(sig)
        return self.wait()

    def stop(self):
        """End it in an orderly way; returns the exit status."""
        if self.alive():
            self.process.terminate()
            try:
                self.process.wait(30)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()
                raise Failed(f"{self.name} did not end within 30 s of TERM") from None
        return self.process.returncode

    def tail(self, lines=15):
        return "\n".join(pathlib.Path(self.log).read_text(errors="replace").splitlines()[-lines:])


class Cluster:
    def __init__(self, nodes=("n1",), gpus="demo:4", cpus=16, controller="", partitions=None, node_defaults="",
                 start=True, munge_from=None, tmpfs=None, policy="", hardware=""):
        """Extra text for the controller group, or a whole partitions list, in gpusched.conf syntax;
        `policy` is more sections (accounts, QOS), `hardware` stands for the nodes and types of GPUs.
        The agents' records go to a folder in `tmpfs`, as on a real node; without it they are with everything else."""
        self.dir = pathlib.Path(tempfile.mkdtemp(prefix="gpusched-test-"))
        self.dir.chmod(0o755)
        self.run_base = pathlib.Path(tempfile.mkdtemp(prefix="gpusched-test-", dir=tmpfs)) if tmpfs else self.dir
        self.nodes, self.gpus, self.cpus = list(nodes), gpus, cpus
        self.port = free_port()
        self.ctld_user = unprivileged()
        self.controller_extra, self.node_defaults = controller, node_defaults
        self.policy, self.hardware = policy, hardware
        self.partitions = partitions or \
            '( { name = "batch"; nodes = "ALL"; default = true; max_time = "1-00:00:00"; grace = "2s"; } )'
        self.ctld = self.munged = None
        self.agents = {}
        self.extra_env = {"GSUBMIT_NO_SUMMARY": "yes"}  # tests compare whole outputs
        for sub in ("munge", "log", "jobs"):
            (self.dir / sub).mkdir()
            (self.dir / sub).chmod(0o755)
        (self.dir / "jobs").chmod(0o1777)
        (self.dir / "leaks").mkdir()
        for daemon in DAEMONS:
            (self.dir / "leaks" / daemon).write_text("detect_leaks=1")
        (self.dir / "lsan.supp").write_text("leak:libpmix.so\n")  # what it keeps after its server has been finalized (gpmix)
        self.make_state()
        self.key = munge_from.key if munge_from else self.dir / "munge/key"
        if not munge_from:
            self.key.write_bytes(os.urandom(1024))
            self.key.chmod(0o400)
        self.write_conf()
        if start:
            self.start()

    # --- files ---------------------------------------------------------------------------------

    def make_state(self):
        state = self.dir / "state"
        state.mkdir(exist_ok=True)
        state.chmod(0o700)
        if ROOT:
            os.chown(state, self.ctld_user.pw_uid, self.ctld_user.pw_gid)

    @property
    def conf(self):
        return self.dir / "gpusched.conf"

    @property
    def socket(self):
        return self.dir / "munge/socket"

    def conf_text(self):
        gpu_type = self.gpus.split(":")[0]
        types = f'gpu_types = ( {{ name = "{gpu_type}"; mem = "80G"; }} );' if gpu_type else ""
        gpus = f'gpus = "{self.gpus}";' if self.gpus else ""
        nodes = ", ".join(f'{{ name = "{n}"; cpus = {self.cpus}; {gpus} }}' for n in self.nodes)
        hardware = self.hardware or f"{types}\nnodes = ( {nodes} );"
        agent = "root" if ROOT else self.ctld_user.pw_name
        return f"""
cluster = "test";
controller = {{ host = "127.0.0.1"; listen = "127.0.0.1"; port = {self.port};
  user = "{self.ctld_user.pw_name}"; agent_user = "{agent}"; state_dir = "{self.dir}/state"; pid_file = "";
  munge_socket = "{self.socket}"; {self.controller_extra} }};
{hardware}
{self.node_defaults}
partitions = {self.partitions};
{self.policy}
"""

    def write_conf(self, text=None):
        self.conf.write_text(text or self.conf_text())
        self.conf.chmod(0o644)

    # --- processes -----------------------------------------------------------------------------

    @property
    def asan_options(self):
        """Leaks are searched for in the daemons, where they add up, and in all programs where the commands are tried. The
        search is a good part of a command's time, and a process that ends with its answer leaves nothing behind."""
        all_programs = "system/cmds/" in os.environ.get("PYTEST_CURRENT_TEST", "")
        return f"log_path={self.dir}/log/asan:exitcode=99:detect_leaks={int(all_programs)}:include_if_exists={self.dir}/leaks/%b"

    @property
    def env(self):
        e = {k: v for k, v in os.environ.items() if not k.startswith(("GPUSCHED", "GSUBMIT", "COLUMNS"))}
        e.update(GPUSCHED_CONF=str(self.conf), GPUSCHED_MUNGE_SOCKET=str(self.socket), LC_ALL="C.UTF-8",
                 PATH=f"{BUILD}/cmds:{e['PATH']}",
                 ASAN_OPTIONS=self.asan_options,
                 UBSAN_OPTIONS=f"log_path={self.dir}/log/ubsan:print_stacktrace=1:halt_on_error=1",
                 LSAN_OPTIONS=f"suppressions={self.dir}/lsan.supp:print_suppressions=0")
        e.update(self.extra_env)
        return e

    def start(self):
        self.start_munged()
        self.start_ctld()
        for node in self.nodes:
            self.start_agent(node)
        self.wait_nodes()

    def start_munged(self):
        self.munged = Daemon("munged", [
            BIN["munged"], "--foreground", "--force", f"--key-file={self.key}", f"--socket={self.socket}",
            f"--pid-file={self.dir}/munged.pid", f"--seed-file={self.dir}/munge/seed", "--num-threads=2"],
            self.dir / "log/munged.log", self.env)
        wait_until(lambda: self.socket.exists() and self.munged.alive(), "munged's socket")

    def start_ctld(self, *options, env=None, wait=True):
        self.ctld = Daemon("gctld", [BIN["gctld"], "--foreground", "-f", self.conf, *options],
                           self.dir / "log/gctld.log", {**self.env, **(env or {})})
        if wait:
            self.wait_ctld()

    def wait_ctld(self):
        def answers():
            if not self.ctld.alive():
                raise Failed(f"gctld ended with {self.ctld.process.returncode}:\n{self.ctld.tail()}")
            return self.run("gctl", "ping", check=False).returncode == 0
        wait_until(answers, "the controller to answer")

    def agent_argv(self, node):
        rundir, spool = self.run_base / f"run-{node}", self.dir / f"spool-{node}"
        for d in (rundir, spool):
            d.mkdir(exist_ok=True)
        return [BIN["gnoded"], "--foreground", "--node", node, "--rundir", rundir, "--spool", spool,
                "--pretend", f"cpus={self.cpus},mem=64G", "--shepherd", BUILD / "noded/gshepherd", *(["--allow-root"] if ROOT else [])]

    def start_agent(self, node, *options, env=None):
        self.agents[node] = Daemon(f"gnoded {node}", [*self.agent_argv(node), *options],
                                   self.dir / f"log/gnoded-{node}.log", {**self.env, **(env or {})})

    def node_states(self):
        r = self.run("ginfo", "--nodes", "--json", check=False)
        if r.returncode:
            return {}
        return {n["name"]: n["state"] for n in json.loads(r.stdout)["nodes"]}

    def wait_nodes(self, *states, nodes=None):
        want = set(states or ("idle", "mixed", "allocated"))
        names = nodes or self.nodes
        wait_until(lambda: all(self.node_states().get(n) in want for n in names), f"{names} to be {sorted(want)}")

    # --- commands ------------------------------------------------------------------------------

    def processes(self, program):
        """The pids of that program in this cluster, of whatever daemon's children: they work below its folder."""
        found = set()
        for pid in filter(str.isdigit, os.listdir("/proc")):
            try:
                if (os.readlink(f"/proc/{pid}/exe").endswith("/" + program)
                        and os.readlink(f"/proc/{pid}/cwd").startswith(f"{self.dir}/")):
                    found.add(int(pid))
            except OSError:
                pass
        return found

    def run(self, command, *args, check=True, user=None, stdin=None, env=None, cwd=None, timeout=DEADLINE):
        """Run one of our commands (or any program); returns the CompletedProcess with text output."""
        argv = [str(BIN.get(command, command)), *map(str, args)]
        kw = {}
        p = pwd.getpwnam(user) if user else None
        if p and (ROOT or p.pw_uid != os.geteuid()):
            kw = {"user": p.pw_uid, "group": p.pw_gid, "extra_groups": []}
        r = subprocess.run(argv, capture_output=True, text=True, errors="replace", input=stdin, cwd=cwd or self.dir / "jobs",
                           env={**self.env, **(env or {})}, timeout=timeout, check=False, **kw)
        if check and r.returncode:
            raise Failed(f"{command} {' '.join(map(str, args))}: exit {r.returncode}\n{r.stdout}{r.stderr}\n"
                         f"--- gctld:\n{self.ctld.tail() if self.ctld else ''}")
        return r

    def submit(self, script, *options, **kw):
        """Submit shell text as a script; returns the job id."""
        return int(self.run("gsubmit", "--parsable", *options, stdin=f"#!/bin/sh\n{script}\n", **kw).stdout)

    def jobs(self, *filters):
        r = self.run("gqueue", "--all", "--json", *filters)
        return {j["id"]: j for j in json.loads(r.stdout)["jobs"]}

    def job(self, job_id):
        return self.jobs("--jobs", job_id)[job_id]

    def state(self, job_id):
        return self.job(job_id)["state"]

    def wait_state(self, job_id, *states, timeout=DEADLINE):
        return wait_until(lambda: (lambda j: j if j["state"] in states else None)(self.job(job_id)),
                          lambda: f"job {job_id} to be {'/'.join(states)} (it is {self.state(job_id)})", timeout)

    def mounts(self):
        """The machine's mounts, but for those of other tests in folders of their own."""
        places, ours = ("/tmp/", "/dev/shm/"), (f"{self.dir}/", f"{self.run_base}/")
        lines = pathlib.Path("/proc/self/mountinfo").read_text().splitlines()
        return [x for x in lines if (at := x.split()[4] + "/") in places or at.startswith(ours) or
                not (at.startswith(places) or "/gpusched-" in at)]

    # --- the end -------------------------------------------------------------------------------

    def shepherds(self):
        """Pids of shepherds of this cluster's runs (they have our folder in their command line)."""
        mark = str(self.run_base).encode()
        found = []
        for p in pathlib.Path("/proc").iterdir():
            if p.name.isdigit():
                with contextlib.suppress(OSError):
                    cmd = (p / "cmdline").read_bytes()
                    if cmd.split(b"\0")[0].endswith(b"gshepherd") and mark in cmd:
                        found.append(int(p.name))
        return found

    def close(self, keep=False):
        """End everything; fails on a sanitizer report."""
        with contextlib.suppress(Exception):
            if self.ctld and self.ctld.alive():
                self.run("gcancel", "--state", "PENDING,CONFIGURING,RUNNING", check=False, timeout=20)
                wait_until(lambda: not self.shepherds(), "shepherds to end", 10)
        for d in [*self.agents.values(), self.ctld, self.munged]:
            if d:
                with contextlib.suppress(Failed):
                    d.stop()
        for pid in self.shepherds():
            with contextlib.suppress(OSError):
                os.kill(pid, signal.SIGKILL)
        reports = sanitizer_reports(self.dir / "log")
        if not keep and not reports:
            for d in {self.dir, self.run_base}:
                shutil.rmtree(d, ignore_errors=True)
        if reports:
            raise Failed(f"sanitizer reports in {self.dir}/log:\n{reports}")

    def __enter__(self):
        return self

    def __exit__(self, kind, value, trace):
        if kind and self.ctld:
            print(f"--- gctld (in {self.dir}):\n{self.ctld.tail(30)}")
            for a in self.agents.values():
                print(f"--- {a.name}:\n{a.tail(30)}")
        keep = kind is not None and os.environ.get("GPUSCHED_TEST_KEEP")
        self.close(keep=bool(keep))
