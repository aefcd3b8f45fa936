#!/usr/bin/python3
"""An update, its undo and an update that does not work, behind HAProxy at 200 requests a second: none is lost

SHORT=1 leaves out the update that does not work, which takes half a minute."""

import os

from stage import narrate  # first: it says where the others are
from load import Load
from test_feed import Feeding, start_haproxy, wait_same
from test_services import PARTITIONS, QUICK


def feed(stage):
    """HAProxy, fed by gfeed; returns the address of its frontend."""
    c = stage.c
    _, port = start_haproxy(c)
    words = ["--service=chat", f"--haproxy={c.dir}/haproxy.sock,backend=chat"]
    print("$ gfeed", stage.short(" ".join(words)), "&", flush=True)
    c.feed(*words)
    return f"http://127.0.0.1:{port}/"


def none_lost(stage, load):
    load.goes_on()
    stage.sure(not load.failures, f"{load.count()} requests answered until now, 0 failed", load.failures[:3])


def give_up(stage, load):
    c = stage.c
    stage.say("A version that ends before it is ready: after three tries the update is given up, the old replicas stay")
    (c.dir / "jobs/broken.sh").write_text("#!/bin/sh\necho no model here >&2\nexit 1\n")
    stage.type("gserve", "update", "chat", "broken.sh")

    stage.until(lambda: "was given up" in c.run("gctl", "events", "--json").stdout, "it is given up")
    s = c.service("chat")
    stage.type("gserve", "show", "chat")
    stage.sure(s["generation"] == 1 and s["ready"] == 2, "both old replicas serve", s)
    none_lost(stage, load)


def show(stage):
    c = stage.c
    url = feed(stage)
    stage.type("gsubmit", "--service=chat", *QUICK, "--replicas=2", "--gpus=1", c.script("one"))
    wait_same(c, 2)
    stage.curl(url)
    with Load(url) as load:
        load.until_answered_by("one 0", "one 1")
        stage.say("200 requests a second go there from now on. First the question, then the update")
        stage.type("gserve", "update", "chat", "--test-only", c.script("two"))
        stage.type("gserve", "update", "chat", c.script("two"))
        stage.until(lambda: c.service("chat")["generation"] == 2, "generation 2 has taken over")
        wait_same(c, 2)
        stage.sure(stage.curl(url).startswith("two "), "the new version answers")
        none_lost(stage, load)

        stage.say("Back: the version before needs no new signature")
        stage.type("gserve", "undo", "chat")
        stage.until(lambda: c.service("chat")["generation"] == 1, "generation 1 is back")
        wait_same(c, 2)
        stage.sure(stage.curl(url).startswith("one "), "the old version answers")
        none_lost(stage, load)
        if not os.environ.get("SHORT"):
            give_up(stage, load)
    stage.stop()


def make():
    return Feeding(partitions=PARTITIONS, cpus=32)


if __name__ == "__main__":
    narrate(__file__, show, make, __doc__)
