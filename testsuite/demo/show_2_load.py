#!/usr/bin/python3
"""The number of replicas follows the load, and each decision is a sentence with its numbers"""

from stage import narrate  # first: it says where the others are
from test_scaling import SCALES, Scaling
from test_services import PARTITIONS, QUICK


def show(stage):
    c = stage.c

    def load(running, waiting, wanted):
        stage.say(f"The metrics say: {running} requests in service, {waiting} waiting; 4 are meant for each replica")
        c.load(running, waiting)
        print(f"  ... until {wanted} are wanted, and ready", flush=True)
        c.wait_wanted(wanted, "in flight")
        stage.type("gserve", "-o", "NAME,STATE,READY,WANTED,IN-FLIGHT,WAITING", "chat")

    c.load(2)
    stage.type("gsubmit", "--service=chat", *QUICK, "--replicas=1-4", *SCALES, c.script())
    stage.until_ready(1)
    load(11, 0, 3)
    load(9, 2, 4)
    load(2, 0, 1)
    shown = stage.type("gserve", "show", "chat")
    stage.sure("LAST-DECISION" in shown, "gserve show has the last decision")
    stage.say("All of them are in the events")
    shown = stage.type("gctl", "events", "-o", "EVENT,TEXT", env={"COLUMNS": "120"})
    stage.sure("(1 before)" in shown and "(3 before)" in shown, "each of them has its numbers")
    stage.stop()


def make():
    c = Scaling(partitions=PARTITIONS)
    c.load(0)
    return c


if __name__ == "__main__":
    narrate(__file__, show, make, __doc__)
