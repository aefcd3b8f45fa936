#!/usr/bin/python3
"""A server, the agent and the controller die under requests: endpoints follow, and nothing that serves is disturbed"""

import os
import pathlib
import signal
import sys

from stage import narrate  # first: it says where the others are
from load import Load
from show_4_update import feed, none_lost
from test_feed import Feeding, wait_same
from test_services import PARTITIONS, QUICK

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1] / "bench"))
from services import server_of  # noqa: E402


def show(stage):
    c = stage.c
    url = feed(stage)
    stage.type("gsubmit", "--service=chat", *QUICK, "--replicas=2", "--gpus=1", c.script("one"))
    wait_same(c, 2)
    places = c.endpoints("chat")
    with Load(url) as load:
        load.until_answered_by("one 0", "one 1")
        stage.say("The controller is killed: the replicas serve on, and their endpoints are as they were")
        c.ctld.kill()
        none_lost(stage, load)
        c.start_ctld()
        c.wait_nodes()
        stage.sure(stage.type("gserve", "endpoints", "chat").split() == places, "the same endpoints")
        stage.say("The agent of the node is killed")
        c.agents["n1"].kill()
        none_lost(stage, load)
        c.start_agent("n1")
        c.wait_nodes()
        wait_same(c, 2)
        stage.sure(stage.type("gserve", "endpoints", "chat").split() == places, "the same endpoints")
        none_lost(stage, load)
    stage.say("A server is killed: it is no endpoint, and is started again after a pause that doubles with each failure")
    victim = server_of(c, c.service("chat")["replicas"][0])
    print("$ kill -9 " + str(victim), flush=True)
    os.kill(victim, signal.SIGKILL)
    stage.until(lambda: c.endpoints("chat") == places[1:], "it is out")
    stage.type("gserve", "show", "chat")
    stage.until_ready(2)
    wait_same(c, 2)
    stage.type("gserve", "show", "chat")
    stage.curl(url)
    stage.stop()


def make():
    return Feeding(partitions=PARTITIONS, cpus=32)


if __name__ == "__main__":
    narrate(__file__, show, make, __doc__)
