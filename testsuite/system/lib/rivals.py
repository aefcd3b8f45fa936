"""rivals.py - jobs of several users that compete, and do what the test tells them by files

A job of SCRIPT says `up` when it runs, keeps what it is told when it is to end, and goes on until the
test lets it end, acknowledge or mark its work. Files are named after the job and its attempt.
"""

import pwd
import os

from cluster import DEADLINE, ROOT, wait_until

# Whose jobs they are. An ordinary user tests alone: he is all of them.
ME = pwd.getpwuid(os.geteuid()).pw_name
RED, BLUE, GREEN = ("games", "news", "mail") if ROOT else (ME, ME, ME)

SCRIPT = """
me=$GPUSCHED_JOB_ID-$GPUSCHED_RESTART_COUNT-$GPUSCHED_NODE_RANK
trap 'cp "$GPUSCHED_INTERRUPT_FILE" "new-$me" && mv "new-$me" "told-$me"' TERM
touch "up-$me"
while [ ! -e "end-$GPUSCHED_JOB_ID" ] && [ ! -e "end-$me" ]; do
    [ ! -e "ack-$me" ] || touch "$GPUSCHED_RUN_DIR/ack"
    [ ! -e "mark-$me" ] || touch "$GPUSCHED_RUN_DIR/checkpoint"
    sleep 0.1
done
"""


class Rivals:
    """The jobs of one test on a cluster."""

    def __init__(self, cluster, judge=None):
        self.c, self.judge, self.ids = cluster, judge, []

    @staticmethod
    def who(user):
        return {"user": user} if ROOT else {}

    def submit(self, user, *options, script=SCRIPT, account=None):
        named = [f"--account={account}"] if account else []
        job = self.c.submit(script, "--output=/dev/null", *named, *options, **self.who(user))
        self.ids.append(job)
        if self.judge:
            self.judge.fact(f"submit {job} 0 rival-{job}")
        return job

    def path(self, kind, job, attempt=1, rank=0):
        return self.c.dir / f"jobs/{kind}-{job}-{attempt - 1}-{rank}"

    def wait_up(self, *jobs, attempt=1, ranks=1):
        """They run, and their scripts have set up their traps."""
        for job in jobs:
            for rank in range(ranks):
                wait_until(self.path("up", job, attempt, rank).exists,
                           lambda job=job: f"job {job} to be up; queue:\n{self.queue()}")
            self.c.wait_state(job, "RUNNING")

    def running(self, user, *options, **kw):
        """Submit it and see it run."""
        job = self.submit(user, *options, **kw)
        self.wait_up(job)
        return job

    def say(self, kind, job, attempt=1, rank=0):
        self.path(kind, job, attempt, rank).touch()

    def end(self, *jobs):
        """All attempts of them end by themselves, now or when they start."""
        for job in jobs:
            (self.c.dir / f"jobs/end-{job}").touch()

    def told(self, *jobs):
        """Which of them (or of all) were told to end."""
        return [j for j in jobs or self.ids if list((self.c.dir / "jobs").glob(f"told-{j}-*"))]

    def wait_told(self, *jobs, attempt=1, rank=0):
        """One of them is told to end: returns it, and what it was told."""
        def one():
            return next((j for j in jobs if self.path("told", j, attempt, rank).exists()), None)
        job = wait_until(one, lambda: f"one of {jobs} to be told to end; queue:\n{self.queue()}")
        lines = self.path("told", job, attempt, rank).read_text().splitlines()
        return job, dict(line.split("=", 1) for line in lines)

    def wait_reason(self, job, *reasons):
        """It waits, and was looked at: the scheduler found nothing else to do for it."""
        def held():
            j = self.c.job(job)
            return j if j["state"] == "PENDING" and j.get("reason") in reasons else None
        return wait_until(held, lambda: f"job {job} to wait for {reasons}: {self.c.job(job)}")

    def queue(self):
        return self.c.run("gqueue", "-j", ",".join(map(str, self.ids)), "-o", "JOBID,USER,ACCOUNT,PARTITION,QOS,ST,GPUS,ATTEMPT,NODE,WHY").stdout

    def clear(self):
        """Nothing of them is left."""
        self.end(*self.ids)
        live = [j for j, v in self.c.jobs().items() if v["state"] in ("PENDING", "CONFIGURING", "RUNNING", "SUSPENDED")]
        if live:
            self.c.run("gcancel", *live, check=False)
            if self.judge:
                for job in live:
                    self.judge.fact(f"cancel {job}")
        wait_until(lambda: not self.c.run("gqueue", "-h").stdout, "an empty queue", DEADLINE)
