#!/usr/bin/env python3
"""drive.py - clients of a real cluster record every call and answer under faults; is the history linearizable?

usage: drive.py [--seconds N] [--clients N] [--seed N] [--faults WORD,...]

Clients submit (again and again with the same token), cancel, hold, release, update, requeue and read jobs that cannot
start. Meanwhile the controller is killed, stopped for a moment, given a full disk, and its wall clock is stepped
(--faults: kill, pause, disk, clock; disk needs root, clock needs Debian's package faketime). Afterwards the history of
each job must be one that a single uninterrupted controller could have given (linear.py); no two tokens have one job, and
no token two.

Exit status: 0 it is; 1 it is not, and the histories are printed; 77 a fault was asked for that cannot be had here.
"""

import argparse
import glob
import json
import pathlib
import random
import re
import signal
import subprocess
import sys
import threading
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "system/lib")]

from cluster import ROOT, Cluster, Failed, wait_until  # noqa: E402
from linear import FOREVER, Call, judge  # noqa: E402

CALLS_OF_A_JOB = 40   # then another one takes its place
UNANSWERED = 6        # of one job: each doubles the search at worst
AT_ONCE = 5           # jobs that are worked on
NOT_REACHED = 4       # exit status: there was no answer
VERBS = {"cancel": ("gcancel",), "hold": ("gctl", "hold"), "release": ("gctl", "release"), "requeue": ("gctl", "requeue")}


class History:
    """The calls of one job, and its id once a client knows it."""

    def __init__(self, token):
        self.token, self.ids, self.calls, self.lock = token, set(), [], threading.Lock()

    def is_full(self):
        return len(self.calls) >= CALLS_OF_A_JOB or sum(c.answered == FOREVER for c in self.calls) >= UNANSWERED

    def id(self):
        return next(iter(self.ids), None)


class Client(threading.Thread):
    def __init__(self, run, number, seed):
        super().__init__()
        self.run_, self.number, self.rng, self.failure = run, number, random.Random(seed), None

    def ask(self, *argv):
        return self.run_.cluster.run(*argv, check=False, env={"GPUSCHED_RETRY": "2"}, timeout=120)

    def call(self, history, verb, argument=None):
        call = Call(verb, argument, client=self.number)
        with history.lock:
            history.calls.append(call)
        call.sent = time.monotonic()
        answer = getattr(self, "submit" if verb == "submit" else "read" if verb == "read" else "control")(history, verb, argument)
        if answer == "no room":  # so it changed nothing
            with history.lock:
                history.calls.remove(call)
        elif answer is not None:
            call.answer, call.answered = answer, time.monotonic()
        self.run_.count(verb, answer)

    def submit(self, history, *_):
        r = self.ask("gsubmit", "--parsable", "--begin=now+30days", f"--token={history.token}", "--wrap", "true")
        if r.returncode:
            return self.without_answer(r)
        history.ids.add(int(r.stdout))
        return "done"

    def control(self, history, verb, argument):
        words = ("gctl", "update", history.id(), f"--nice={argument}") if verb == "update" else (*VERBS[verb], history.id())
        r = self.ask(*words)
        if r.returncode == 0:
            return "done"
        if r.returncode == 1 and re.search(r"cannot be \w+: it is", r.stderr):
            return "refused"
        return self.without_answer(r)

    def read(self, history, *_):
        r = self.ask("gqueue", "--all", "--json", "-j", history.id())
        if r.returncode:
            return self.without_answer(r)
        job = json.loads(r.stdout)["jobs"][0]
        held = job["reason"] in ("JobHeldUser", "JobHeldAdmin")
        return ("HELD" if held and job["state"] == "PENDING" else job["state"], job["nice"])

    def without_answer(self, r):
        """Whether it was done is not known, or it was refused for want of room."""
        if r.returncode == NOT_REACHED:
            return None
        if r.returncode == 1 and "disk is " in r.stderr:
            return "no room"
        raise Failed(f"{' '.join(map(str, r.args))}: exit {r.returncode}: {r.stderr}")

    def run(self):
        try:
            while not self.run_.over():
                history = self.run_.pick(self.rng)
                if history.id() is None or self.rng.random() < 0.1:
                    self.call(history, "submit")
                    continue
                verb = self.rng.choice(["cancel", "hold", "release", "update", "requeue", "requeue", "read", "read", "read"])
                self.call(history, verb, self.rng.randrange(100) if verb == "update" else None)
        except Exception as e:  # told by the main thread
            self.failure = e


class Faults:
    """What happens to the controller. Each fault ends with a controller that answers."""

    def __init__(self, cluster, faults, rng):
        self.cluster, self.rng, self.faults, self.counts = cluster, rng, faults, dict.fromkeys(faults, 0)
        self.env = {}
        if "clock" in faults:
            library = glob.glob("/usr/lib/*/faketime/libfaketime.so.1")
            if not library:
                sys.exit(cannot("clock", "apt-get install faketime"))
            self.offset = cluster.dir / "offset"
            self.offset.write_text("+0")
            self.env = {"LD_PRELOAD": library[0], "FAKETIME_TIMESTAMP_FILE": str(self.offset), "FAKETIME_NO_CACHE": "1",
                        "FAKETIME_DONT_FAKE_MONOTONIC": "1"}

    def kill(self):
        self.cluster.ctld.kill()
        self.cluster.start_ctld(env=self.env)

    def pause(self):
        self.cluster.ctld.process.send_signal(signal.SIGSTOP)
        time.sleep(self.rng.uniform(0.05, 0.5))  # is the fault itself
        self.cluster.ctld.process.send_signal(signal.SIGCONT)

    def disk(self):
        fill = self.cluster.dir / "state/fill"
        try:
            with open(fill, "wb") as f:
                while f.write(b"\0" * 65536):
                    f.flush()
        except OSError:
            pass
        if self.rng.random() < 0.5:
            self.cluster.ctld.kill()
            self.cluster.start_ctld(env=self.env, wait=False)
        time.sleep(self.rng.uniform(0.1, 0.5))
        fill.unlink()
        if not self.cluster.ctld.alive():  # it may end for want of space: what it acknowledged is what counts
            self.cluster.start_ctld(env=self.env)
        self.cluster.wait_ctld()

    def clock(self):
        self.offset.write_text(f"{self.rng.choice([-120, -5, 0, 5, 120]):+d}")

    def one(self):
        fault = self.rng.choice(self.faults)
        self.counts[fault] += 1
        getattr(self, fault)()


class Run:
    def __init__(self, cluster, seed):
        self.cluster, self.seed, self.ending, self.lock = cluster, seed, threading.Event(), threading.Lock()
        self.histories, self.counts = [], {}
        self.working = [self.fresh() for _ in range(AT_ONCE)]

    def fresh(self):
        self.histories.append(History(f"h{self.seed}-{len(self.histories)}"))
        return self.histories[-1]

    def pick(self, rng):
        with self.lock:
            at = rng.randrange(AT_ONCE)
            if self.working[at].is_full():
                self.working[at] = self.fresh()
            return self.working[at]

    def over(self):
        return self.ending.is_set()

    def count(self, verb, answer):
        with self.lock:
            key = (verb, "no answer" if answer is None else answer if isinstance(answer, str) else "answered")
            self.counts[key] = self.counts.get(key, 0) + 1

    def judged(self):
        """What is wrong, as text; "" if nothing is."""
        wrong = []
        for h in self.histories:
            if len(h.ids) > 1:
                wrong.append(f"token {h.token} has the jobs {sorted(h.ids)}")
            verdict = judge(h.calls)
            if not verdict.right:
                stuck = "".join(f"\n    the job is {job}: {call}" for job, call in verdict.stuck)
                wrong.append(f"job {h.id()} ({h.token}): no order of its calls is right; what could not come next:{stuck}\n  all:\n    "
                             + "\n    ".join(map(str, sorted(h.calls, key=lambda c: c.sent))))
        ids = [i for h in self.histories for i in h.ids]
        if len(ids) != len(set(ids)):
            wrong.append("two tokens have the same job")
        return "\n".join(wrong)


def cannot(fault, why):
    print(f"drive.py: the fault '{fault}' cannot be had here: {why}", file=sys.stderr)
    return 77


def drive(cluster, seconds, clients, seed, faults, pause=0.5):
    """Run the clients for so long; returns (run, counts of faults)."""
    rng = random.Random(seed)
    run, bad = Run(cluster, seed), Faults(cluster, faults, rng)
    if bad.env:
        cluster.ctld.stop()
        cluster.start_ctld(env=bad.env)
    threads = [Client(run, i, rng.random()) for i in range(clients)]
    end = time.monotonic() + seconds
    try:
        for t in threads:
            t.start()
        while time.monotonic() < end and not any(t.failure for t in threads):
            time.sleep(rng.uniform(0, 2 * pause))  # clients work meanwhile
            bad.one()
    finally:
        run.ending.set()
        for t in threads:
            t.join()
    for t in threads:
        if t.failure:
            raise t.failure
    return run, bad.counts


def main():
    p = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    p.add_argument("--seconds", type=float, default=60)
    p.add_argument("--clients", type=int, default=4)
    p.add_argument("--seed", type=int, default=random.randrange(1 << 30))
    p.add_argument("--faults", default="kill,pause,disk,clock" if ROOT else "kill,pause,clock")
    args = p.parse_args()
    faults = args.faults.split(",")
    if "disk" in faults and not ROOT:
        return cannot("disk", "it mounts a small file system, as root")
    print(f"seed {args.seed}, faults {', '.join(faults)}", flush=True)
    with Cluster(start=False, controller='min_free = "0"; keep_ended = "1h";') as c, small_disk(c, "disk" in faults):
        c.start()
        run, counts = drive(c, args.seconds, args.clients, args.seed, faults)
    calls = sum(len(h.calls) for h in run.histories)
    unknown = sum(n for (_, answer), n in run.counts.items() if answer == "no answer")
    wrong = run.judged()
    print(f"{calls} calls on {len(run.histories)} jobs by {args.clients} clients, {unknown} without an answer; "
          + ", ".join(f"{n} x {f}" for f, n in counts.items()))
    print(wrong or "linearizable")
    return 1 if wrong else 0


class small_disk:
    """The state folder of a cluster on a file system of 64 MiB of its own."""

    def __init__(self, cluster, wanted):
        self.path, self.wanted, self.owner = cluster.dir / "state", wanted, cluster.ctld_user

    def __enter__(self):
        if self.wanted:
            own = f"uid={self.owner.pw_uid},gid={self.owner.pw_gid},mode=700"
            subprocess.run(["mount", "-t", "tmpfs", "-o", f"size=64m,{own}", "tmpfs", self.path], check=True)
        return self

    def __exit__(self, *_):
        if self.wanted:
            subprocess.run(["umount", "-l", self.path], check=True)


if __name__ == "__main__":
    sys.exit(main())
