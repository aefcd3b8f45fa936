"""upgrade.py - this release and an older one in one cluster, changed under running jobs

usage: upgrade.py OLD_BUILD [CASE...]

OLD_BUILD is a build folder of the older release (make check-upgrade OLD=COMMIT makes one). Each case starts a cluster of one release,
lets jobs run, end, wait, be suspended and stream, replaces one part after the other by that of the other release, and asks each time that every
job is told, obeys and ends as it should. Prints a line for each thing that was seen; exit 1 if one is not as it should be.
"""

import json
import os
import pathlib
import subprocess
import sys
import traceback

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "system/lib"))
from cluster import BIN, BUILD, Cluster, Daemon, wait_until  # noqa: E402

NEW = BUILD
OLD = None  # main() sets it
ENDED = ("COMPLETED", "FAILED", "CANCELLED", "TIMEOUT", "NODE_FAIL")


class Mixed(Cluster):
    """A cluster whose parts are of different builds."""

    def __init__(self, build, **kw):
        self.build = {"ctld": build, "agent": build, "cmds": build}
        super().__init__(start=False, **kw)
        self.extra_env = {"GSUBMIT_NO_SUMMARY": ""}  # signed, and an older launcher refuses it
        self.start()

    def of(self, part, argv):
        return [str(a).replace(str(BUILD), str(self.build[part]), 1) for a in argv]

    @property
    def env(self):
        env = super().env
        env.pop("GSUBMIT_NO_SUMMARY")
        return {**env, "PATH": f"{self.build['cmds']}/cmds:{os.environ['PATH']}"}

    def start_ctld(self, *options, env=None, wait=True):
        self.ctld = Daemon("gctld", [*self.of("ctld", [BIN["gctld"]]), "--foreground", "-f", self.conf, *options],
                           self.dir / "log/gctld.log", {**self.env, **(env or {})})
        if wait:
            self.wait_ctld()

    def agent_argv(self, node):
        return self.of("agent", super().agent_argv(node))

    def run(self, command, *args, **kw):
        if command in BIN:
            command = str(self.build["cmds"] / "cmds" / command)
        return super().run(command, *args, **kw)

    def replace(self, part, build, kill=False):
        """Another release of the controller or of the agent; its jobs go on."""
        daemon = self.ctld if part == "ctld" else self.agents["n1"]
        daemon.kill() if kill else daemon.stop()
        self.build[part] = build
        if part == "ctld":
            self.start_ctld()
        else:
            self.start_agent("n1")
        self.wait_nodes()


class Seen:
    """What was looked at, and whether it was as it should be."""

    def __init__(self):
        self.bad = 0

    def __call__(self, what, good, told=""):
        self.bad += not good
        print(f"  {'ok ' if good else 'BAD'} {what}{'' if good else f': {told}'}", flush=True)


def finish(c, job, *states):
    return c.wait_state(job, *(states or ENDED))


class Work:
    """Jobs that see what is replaced, and how each should end."""

    def __init__(self, c, tag):
        self.c, self.tag, self.go = c, tag, c.dir / f"jobs/go-{tag}"
        self.user = c.ctld_user.pw_name
        stays = f"while [ ! -e {self.go} ]; do sleep 0.05; done; "
        self.runs = self.submit(stays + "echo $GPUSCHED_GPUS; exit 5", "--gpus=1")
        self.meanwhile = self.submit(f"while [ ! -e {self.go}-meanwhile ]; do sleep 0.05; done; exit 7")
        self.cancelled = self.submit("trap 'echo bye; exit 9' TERM; while :; do sleep 0.05; done")
        self.suspended = self.submit(stays + "exit 3", "--gpus=1")
        self.array = self.submit(stays + "exit 0", "--array=0-5%2")
        self.after = self.submit("true", "-d", f"afterany:{self.runs}")
        self.held = self.submit("exit 2", "--hold")
        self.asks = self.submit("trap 'touch $GPUSCHED_RUN_DIR/ack' USR1; while [ ! -e " + str(self.go) + " ]; do sleep 0.05; done; exit 0")
        for job in (self.runs, self.meanwhile, self.cancelled, self.suspended, self.asks):
            c.wait_state(job, "RUNNING")
        self.run("gctl", "suspend", self.suspended)
        c.wait_state(self.suspended, "SUSPENDED")
        self.grun = subprocess.Popen([c.build["cmds"] / "cmds/grun", "sh", "-c", "read x; echo got $x; exit 4"], env=c.env, stdin=subprocess.PIPE,
                                     stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=c.dir / "jobs",
                                     **({"user": c.ctld_user.pw_uid, "group": c.ctld_user.pw_gid, "extra_groups": []} if os.geteuid() == 0 else {}))
        wait_until(lambda: any(j["state"] == "RUNNING" and j["name"] in ("sh", "grun") for j in c.jobs().values()), "grun's job to run")

    def submit(self, script, *options):
        return self.c.submit(script, "--output=%j.out", *options, user=self.user)

    def run(self, *args, **kw):
        return self.c.run(*args, **kw)

    def lives(self, seen, what):
        states = {n: self.c.state(getattr(self, n)) for n in ("runs", "cancelled", "suspended", "asks", "held", "after")}
        want = {"runs": "RUNNING", "cancelled": "RUNNING", "suspended": "SUSPENDED", "asks": "RUNNING", "held": "PENDING", "after": "PENDING"}
        seen(f"{what}: what ran runs, what was suspended is, what waited waits", states == want, states)

    def end_meanwhile(self):
        """While the agent is away: its shepherd keeps the end."""
        pathlib.Path(f"{self.go}-meanwhile").touch()
        wait_until(lambda: not any(f"/{self.meanwhile}_".encode() in pathlib.Path(f"/proc/{p}/cmdline").read_bytes()
                                   for p in self.c.shepherds() if pathlib.Path(f"/proc/{p}").exists()), "the end of its shepherd", 30)

    def ends(self, seen, what):
        c = self.c

        def told(name, want, job):
            got = (job["state"], job.get("exit_code", 0), job.get("exit_signal", 0))
            seen(f"{what}: {name}", got == want, got)

        told("what ended while nobody looked is told as it was", ("FAILED", 7, 0), finish(c, self.meanwhile))
        c.run("gcancel", self.cancelled)
        told("cancelled, with its grace", ("CANCELLED", 9, 0), finish(c, self.cancelled))
        out = (c.dir / f"jobs/{self.cancelled}.out").read_text()
        seen(f"{what}: what it said last is there", "bye\n" in out, out)
        c.run("gctl", "resume", self.suspended)
        c.wait_state(self.suspended, "RUNNING")
        c.run("gcancel", "--signal=USR1", self.asks)
        c.run("gctl", "release", self.held)
        told("released, and started now", ("FAILED", 2, 0), finish(c, self.held))
        self.go.touch()
        told("what ran all the time", ("FAILED", 5, 0), finish(c, self.runs))
        told("what was suspended and goes on", ("FAILED", 3, 0), finish(c, self.suspended))
        told("what had a signal", ("COMPLETED", 0, 0), finish(c, self.asks))
        told("what waited for it", ("COMPLETED", 0, 0), finish(c, self.after))
        wait_until(lambda: set(self.tasks()) <= set(ENDED), lambda: f"the array to end: {self.tasks()}")
        seen(f"{what}: all tasks of an array", self.tasks() == {"COMPLETED": 6}, self.tasks())
        try:
            out, err = self.grun.communicate("word\n", timeout=30)
            seen(f"{what}: grun's input, output and exit code", (out, self.grun.returncode) == ("got word\n", 4), (out, err, self.grun.returncode))
        except subprocess.TimeoutExpired:
            self.grun.kill()
            seen(f"{what}: grun's input, output and exit code", False, self.grun.communicate())

    def tasks(self):
        """How many of its tasks are in which state."""
        rows = json.loads(self.run("gqueue", "--all", "--json", "-j", self.array).stdout)["jobs"]
        return {s: sum(r["task_count"] for r in rows if r["state"] == s) for s in {r["state"] for r in rows}}


def new_job(c, seen, what):
    """What is submitted now runs, its output is told, and it is accounted for."""
    for name, build in (("older", OLD), ("newer", NEW)):
        c.build["cmds"] = build
        job = c.submit("echo hello; exit 6", "--gpus=1", "--output=%j.out", user=c.ctld_user.pw_name)
        end = finish(c, job)
        seen(f"{what}: a job of the {name} gsubmit", (end["state"], end.get("exit_code")) == ("FAILED", 6), end)
        r = c.run("glog", job, check=False, user=c.ctld_user.pw_name)
        seen(f"{what}: its output through the {name} glog", r.stdout.startswith("hello\n"), r.stdout + r.stderr)
        for command in (("gqueue", "--all"), ("ginfo",), ("gprio",), ("gshare",), ("gacct",), ("greport", "use"),
                        ("gctl", "stats"), ("gctl", "show", "job", job), ("gctl", "show", "node", "n1")):
            r = c.run(*command, check=False)
            seen(f"{what}: the {name} {' '.join(map(str, command))}", r.returncode == 0 and r.stdout, r.stdout + r.stderr)


def agent_first(seen):
    """The order that the manual names: agents, then the controller."""
    with Mixed(OLD) as c:
        work = Work(c, "agent")
        c.agents["n1"].stop()
        work.end_meanwhile()
        c.build["agent"] = NEW
        c.start_agent("n1")
        c.wait_nodes()
        work.lives(seen, "newer agent")
        more = Work(c, "both")
        c.replace("ctld", NEW)
        work.lives(seen, "newer controller too")
        work.ends(seen, "older shepherds, all else newer")
        more.end_meanwhile()
        more.ends(seen, "submitted to the older controller")
        new_job(c, seen, "all newer")


def controller_first(seen):
    with Mixed(OLD) as c:
        work = Work(c, "ctld")
        c.replace("ctld", NEW, kill=True)
        work.lives(seen, "newer controller")
        new_job(c, seen, "newer controller, older agent")
        more = Work(c, "more")
        c.agents["n1"].kill()
        work.end_meanwhile()
        more.end_meanwhile()
        c.build["agent"] = NEW
        c.start_agent("n1")
        c.wait_nodes()
        work.lives(seen, "newer agent too")
        work.ends(seen, "older shepherds, all else newer")
        more.ends(seen, "submitted to the newer controller")


def agent_back(seen):
    """A newer agent is not liked: the older one in its place, under jobs of the newer one."""
    with Mixed(NEW) as c:
        c.build["cmds"] = OLD
        work = Work(c, "back")
        c.agents["n1"].stop()
        work.end_meanwhile()
        c.build["agent"] = OLD
        c.start_agent("n1")
        c.wait_nodes()
        work.lives(seen, "older agent again")
        new_job(c, seen, "older agent again")
        work.ends(seen, "newer shepherds under an older agent")


def controller_back(seen):
    """A database of the newer release is none for the older: it says so, and touches nothing."""
    with Mixed(NEW) as c:
        job = c.submit("exit 8", user=c.ctld_user.pw_name)
        finish(c, job)
        c.ctld.stop()
        c.build["ctld"] = OLD
        c.start_ctld(wait=False)
        try:
            code = c.ctld.wait(20)
        except AssertionError:
            code = None
        if code is None:
            seen("older controller: the same schema, so it takes over", finish(c, job)["exit_code"] == 8)
            c.ctld.stop()
        else:
            text = c.ctld.tail(3)
            print("      " + text.splitlines()[-1].split(" ", 1)[1])
            seen("older controller: it ends and names both versions", code != 0 and ("schema" in text or "version" in text), text)
        c.build["ctld"] = NEW
        c.start_ctld()
        c.wait_nodes()
        seen("newer controller again: all is there", finish(c, job)["exit_code"] == 8)


CASES = {f.__name__: f for f in (agent_first, controller_first, agent_back, controller_back)}


def main():
    global OLD
    if len(sys.argv) < 2 or not (pathlib.Path(sys.argv[1]) / "ctld/gctld").exists():
        sys.exit(__doc__)
    OLD = pathlib.Path(sys.argv[1]).resolve()
    seen = Seen()
    for name in sys.argv[2:] or CASES:
        print(f"{name}: {CASES[name].__doc__ or ''}".rstrip(": "), flush=True)
        try:
            CASES[name](seen)
        except Exception:
            traceback.print_exc()
            seen(f"{name} to its end", False, "see above")
    print(f"{seen.bad} not as it should be" if seen.bad else "all as it should be")
    sys.exit(bool(seen.bad))


if __name__ == "__main__":
    main()
