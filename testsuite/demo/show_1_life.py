#!/usr/bin/python3
"""A script becomes a service: submitted, ready, healthy or not, and stopped"""

import pathlib

from stage import narrate  # first: it says where the others are
from test_services import PARTITIONS, QUICK, Services


def show(stage):
    c = stage.c
    script = c.script()
    stage.say("The same options, directives and signature as of a job, and --test-only")
    stage.type("gsubmit", "--service=chat", *QUICK, "--replicas=2", "--gpus=1", "--test-only", script)
    stage.type("gsubmit", "--service=chat", *QUICK, "--replicas=2", "--gpus=1", script)
    stage.until_ready(2)
    stage.type("gserve")
    stage.type("gserve", "show", "chat")

    stage.say("No proxy: clients go to the replicas themselves")
    places = stage.type("gserve", "endpoints", "chat").split()
    answers = [stage.curl(f"http://{place}/") for place in places]
    stage.sure(answers == ["one 0", "one 1"], "each replica answers, on a port of its own", answers)

    stage.say("The health page of replica 1 says 503: it is no endpoint while it does")
    sick = pathlib.Path(c.dir / "jobs/sick.1")
    stage.type("touch", sick)
    stage.until(lambda: c.endpoints("chat") == places[:1], "one endpoint is left")
    stage.type("gserve", "endpoints", "chat")
    stage.sure("DEGRADED" in stage.type("gserve", "chat"), "the service is DEGRADED")
    stage.type("rm", sick)
    stage.until_ready(2)

    stage.say("One number more, and the end")
    stage.type("gserve", "scale", "chat", "3")
    stage.until_ready(3)
    stage.type("gserve", "endpoints", "chat")
    stage.stop()


def make():
    return Services(partitions=PARTITIONS)


if __name__ == "__main__":
    narrate(__file__, show, make, __doc__)
