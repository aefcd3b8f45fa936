#!/usr/bin/python3
"""What a service is guaranteed is lent to batch while it is idle, and taken back; its kept replicas are never displaced"""

from stage import narrate  # first: it says where the others are
from test_services import PARTITIONS, QUICK, Services

POLICY = """
accounts = (
  { name = "serving"; members = [ "*" ]; quota = { guaranteed = "demo:2"; }; },
  { name = "lab"; members = [ "*" ]; }
);
qos = (
  { name = "normal"; default = true; },
  { name = "production"; priority = 100; preempts = [ "scavenger" ]; },
  { name = "scavenger"; priority = -100; min_run = "0s"; }
);
"""


def show(stage):
    c = stage.c
    (c.dir / "jobs/train.sh").write_text("#!/bin/sh\nexec sleep 3600\n")
    queue = ("gqueue", "-o", "JOBID,NAME,ACCOUNT,QOS,STATE,GPUS")

    def running(account):
        return [j["id"] for j in c.jobs("--account", account).values() if j["state"] == "RUNNING"]

    stage.say("The node has four GPUs; two are guaranteed to the account serving, which needs none. lab has them all")
    for _ in range(4):
        stage.type("gsubmit", "--account=lab", "--gpus=1", "--output=/dev/null", "train.sh")
    stage.until(lambda: len(running("lab")) == 4, "four jobs of lab run")
    stage.say("A service comes: what was lent is taken back, and no more")
    stage.type("gsubmit", "--service=chat", *QUICK, "--account=serving", "--qos=production", "--burst-qos=scavenger",
               "--replicas=2-4", "--kept=2", "--gpus=1", c.script())
    stage.until_ready(2)
    stage.type(*queue)
    stage.sure(len(running("lab")) == 2, "two jobs of lab were requeued, two run on")

    stage.say("lab ends its jobs: now the service may have more than its two, at another quality of service")
    stage.type("gcancel", "--account", "lab")
    stage.type("gserve", "scale", "chat", "4", "--kept=2")
    stage.until_ready(4)
    stage.type("gserve", "show", "chat")
    kept = c.endpoints("chat")[:2]

    stage.say("lab has something urgent for two GPUs: the two above --kept make room")
    stage.type("gsubmit", "--account=lab", "--qos=production", "--gpus=2", "--output=/dev/null", "train.sh")

    def made_room():
        stage.sure(set(kept) <= set(c.endpoints("chat")), "the kept replicas are endpoints", quiet=True)
        return len(running("lab")) == 1
    stage.until(made_room, "its job runs")
    stage.type(*queue)
    stage.type("gserve", "show", "chat")
    stage.sure(c.endpoints("chat") == kept, "the two that are kept served all the time")
    stage.type("gserve", "--why", "chat")
    stage.stop()


def make():
    return Services(partitions=PARTITIONS.replace('grace = "2s"', 'preempt_mode = "requeue"; grace = "2s"'), policy=POLICY)


if __name__ == "__main__":
    narrate(__file__, show, make, __doc__)
