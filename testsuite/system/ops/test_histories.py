"""Client histories: what clients were answered under faults is what one uninterrupted controller could have answered."""

import sys

import pytest
from cluster import ROOT, TOP, Cluster

sys.path.insert(0, str(TOP / "testsuite/histories"))

from drive import drive, small_disk  # noqa: E402
from linear import FOREVER, Call, judge  # noqa: E402


def call(verb, sent, answered, answer, argument=None):
    return Call(verb, argument, sent, answered, answer)


RIGHT = {
    "one after another": [call("submit", 0, 1, "done"), call("cancel", 2, 3, "done"), call("read", 4, 5, ("CANCELLED", 0))],
    "at once, in the other order": [call("submit", 0, 1, "done"), call("update", 2, 9, "refused", 7), call("cancel", 3, 8, "done")],
    "no answer, and it was done": [call("submit", 0, 1, "done"), call("cancel", 2, FOREVER, None), call("read", 6, 7, ("CANCELLED", 0))],
    "no answer, and it was done late": [call("submit", 0, 1, "done"), call("cancel", 2, FOREVER, None), call("read", 3, 4, ("PENDING", 0)),
                                        call("read", 6, 7, ("CANCELLED", 0))],
    "no answer, and it was not done": [call("submit", 0, 1, "done"), call("cancel", 2, FOREVER, None), call("read", 6, 7, ("PENDING", 0))],
    "requeued in between": [call("submit", 0, 1, "done"), call("cancel", 2, 3, "done"), call("requeue", 4, 9, "done"),
                            call("read", 5, 6, ("CANCELLED", 0)), call("read", 7, 8, ("PENDING", 0))],
}
WRONG = {
    "an acknowledged cancel is forgotten": [call("submit", 0, 1, "done"), call("cancel", 2, 3, "done"), call("read", 4, 5, ("PENDING", 0))],
    "what was read goes back": [call("submit", 0, 1, "done"), call("update", 2, 9, "done", 7), call("read", 3, 4, ("PENDING", 7)),
                                call("read", 5, 6, ("PENDING", 0))],
    "done twice": [call("submit", 0, 1, "done"), call("cancel", 2, 3, "done"), call("cancel", 4, 5, "done")],
    "an acknowledged submit is forgotten": [call("submit", 0, 1, "done"), call("read", 2, 3, "unknown")],
    "refused though it waits": [call("submit", 0, 1, "done"), call("hold", 2, 3, "refused")],
    "without an answer, done twice": [call("submit", 0, 1, "done"), call("cancel", 2, FOREVER, None), call("read", 3, 4, ("CANCELLED", 0)),
                                      call("requeue", 5, 6, "done"), call("read", 7, 8, ("CANCELLED", 0))],
}


@pytest.mark.parametrize("name", RIGHT)
def test_the_checker_accepts(name):
    assert judge(RIGHT[name]).right


@pytest.mark.parametrize("name", WRONG)
def test_the_checker_refuses(name):
    verdict = judge(WRONG[name])
    assert not verdict.right and verdict.stuck


def test_histories_under_kills_and_pauses():
    with Cluster(start=False, controller='keep_ended = "1h";') as c:
        c.start()
        run, faults = drive(c, seconds=6, clients=3, seed=1, faults=["kill", "pause"])
        assert not run.judged()
        done = {verb for verb, answer in run.counts if answer == "done"}
        assert sum(faults.values()) and {"submit", "cancel"} <= done, (faults, run.counts)


@pytest.mark.skipif(not ROOT, reason="mounts a small file system")
def test_histories_on_a_full_disk():
    with Cluster(start=False, controller='min_free = "0"; keep_ended = "1h";') as c, small_disk(c, True):
        c.start()
        run, faults = drive(c, seconds=6, clients=3, seed=2, faults=["disk"])
        assert not run.judged() and faults["disk"], run.counts
