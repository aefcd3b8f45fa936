"""judge.py - a journal of facts about a cluster, judged by testsuite/sim/checker

Facts of clients (what they were told) are noted here with the time at which they were known; facts
of the nodes are written by the shepherds themselves, through GPUSCHED_JOURNAL, which daemons built with
--enable-failpoints honour. Both use the machine's monotonic clock, so they merge by time.
"""

import random
import subprocess
import threading
import time

from cluster import BUILD, Failed, wait_until

FINAL = {"COMPLETED", "FAILED", "CANCELLED", "TIMEOUT", "NODE_FAIL", "PREEMPTED", "OUT_OF_MEMORY", "DEADLINE"}


class Judge:
    """Make it before the agents start: it sets the variable that they inherit."""

    def __init__(self, cluster):
        self.cluster = cluster
        self.path = cluster.dir / "journal"
        self.path.touch()
        self.path.chmod(0o666)
        cluster.extra_env["GPUSCHED_JOURNAL"] = str(self.path)
        self.facts = []
        self.lock = threading.Lock()

    def fact(self, text):
        with self.lock:
            self.facts.append((time.monotonic_ns() // 1000, text))

    def observe(self, *filters):
        """Note what the controller says of its jobs; returns them."""
        jobs = self.cluster.jobs(*filters)
        for j in jobs.values():
            self.fact(f"state {j['id']} {j['state']} {j.get('exit_code', 0)} {j.get('exit_signal', 0)} "
                      f"{j.get('attempt', 0)}")
        return jobs

    def node_facts(self):
        out = []
        for line in self.path.read_text().splitlines():
            words = line.split()
            out.append((int(words[-1]), line))  # the time is the last word of each
        return out

    def wait_ended(self, ids, timeout=120):
        try:
            wait_until(lambda: self.all_ended(ids), f"{len(ids)} jobs to end", timeout)
        except Failed:
            jobs = self.cluster.jobs()
            raise Failed("these have not ended: " + ", ".join(
                f"{i} {jobs[i]['state']} {jobs[i].get('reason', '')}: {jobs[i].get('comment', '')}" if i in jobs else f"{i} unknown"
                for i in ids if i not in jobs or jobs[i]["state"] not in FINAL)) from None

    def all_ended(self, ids):
        """False too when the controller does not answer just now."""
        try:
            jobs = self.cluster.jobs()
        except Failed:
            return False
        return all(i in jobs and jobs[i]["state"] in FINAL for i in ids)

    def verdict(self):
        """Raise with the violations, if there are any."""
        merged = sorted([*self.node_facts(), *self.facts], key=lambda f: f[0])
        (self.cluster.dir / "facts").write_text("".join(f"{text}\n" for _, text in merged))
        r = subprocess.run([BUILD / "testsuite/sim/checker", self.cluster.dir / "facts"], capture_output=True,
                           text=True, check=False)
        if r.returncode:
            raise Failed(f"the checker found broken promises:\n{r.stdout}{r.stderr}")
        return r.stdout


class Load(threading.Thread):
    """Submits jobs one after another, each with a token that is repeated until there is an answer;
    cancels some of them. Ends after `count` jobs or on stop()."""

    def __init__(self, judge, name, count=10 ** 9, seed=0, script="exit $(($GPUSCHED_JOB_ID % 3))", options=()):
        super().__init__(daemon=True)
        self.judge, self.label, self.count = judge, name, count
        self.random = random.Random(seed)
        self.script, self.options = script, options
        self.ids, self.cancelled, self.failure = [], set(), None
        self.stopping = threading.Event()

    def run(self):
        try:
            for n in range(self.count):
                if self.stopping.is_set():
                    break
                self.ids.append(self.submit(n))
                if self.random.random() < 0.1:
                    self.cancel(self.ids[-1])
        except Exception as e:  # pylint: disable=broad-except
            self.failure = e

    def stop(self):
        self.stopping.set()
        self.join(90)
        if self.is_alive():
            raise Failed(f"the client {self.label} hangs")
        if self.failure:
            raise self.failure

    def again(self, *argv, stdin=None):
        """Run a command until the controller has answered it."""
        def answered():
            r = self.judge.cluster.run(*argv, stdin=stdin, check=False)
            return r if r.returncode != 4 else None
        return wait_until(answered, f"an answer to {argv}", 90)

    def submit(self, n):
        token = f"{self.label}-{n}"
        r = self.again("gsubmit", "--parsable", "--token", token, "--output=/dev/null", *self.options,
                       stdin=f"#!/bin/sh\n{self.script}\n")
        if r.returncode:
            raise Failed(f"submit {token}: exit {r.returncode}: {r.stderr}")
        job = int(r.stdout)
        self.judge.fact(f"submit {job} 0 {token}")
        return job

    def cancel(self, job):
        r = self.again("gcancel", str(job))
        if r.returncode == 0:
            self.judge.fact(f"cancel {job}")
            self.cancelled.add(job)
