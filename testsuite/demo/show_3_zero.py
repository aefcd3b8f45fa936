#!/usr/bin/python3
"""Without requests there is no replica; the next request is held, wakes one, and is answered"""

from stage import narrate  # first: it says where the others are
from test_feed import TO_ZERO, Feeding, activate
from test_services import PARTITIONS, QUICK


def show(stage):
    c = stage.c

    def nothing_runs():
        s = c.service("chat")
        return s["state"] == "IDLE" and not any(r["node"] for r in s["replicas"])

    stage.type("gsubmit", "--service=chat", *QUICK, *TO_ZERO, "--gpus=1", c.script())
    port = activate(c)
    print(f"$ gactivate chat={port} &", flush=True)
    for _ in range(2):
        stage.until(nothing_runs, "no replica is there, and no GPU is taken")
        stage.type("gserve", "chat")
        stage.say("A request comes. It is held until a replica is ready, and then passed to it")
        answer = stage.curl(f"http://127.0.0.1:{port}/")
        stage.sure(answer.startswith("one "), "a replica has answered it", answer)
        stage.type("gserve", "-o", "NAME,STATE,READY,WANTED", "chat")
    stage.say("By hand")
    stage.until(nothing_runs, "no replica is there again")
    stage.type("gserve", "wake", "chat")
    stage.until(lambda: c.service("chat")["ready"] > 0, "one is ready")
    stage.stop()


def make():
    return Feeding(partitions=PARTITIONS, cpus=32)


if __name__ == "__main__":
    narrate(__file__, show, make, __doc__)
