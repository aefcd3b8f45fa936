"""Parsl: its blocks of workers are jobs; one worker pool a node, through srun."""

import pytest
from cluster import wait_until
from desk import client


@pytest.fixture(scope="module")
def call(desk):
    bin = client("parsl")
    return lambda what: desk.program(bin, "parsl", what, cwd=desk.folder(f"parsl-{what}"))


def test_work(desk, call):
    """A block that is given back is cancelled."""
    answer = call("work")
    assert answer["total"] == sum(i * i for i in range(20)) and answer["shell"] == "from a shell\n"
    wait_until(lambda: desk.state(int(answer["job"])) in ("CANCELLED", "COMPLETED"), "the block to be gone")


def test_two_nodes(call):
    assert call("nodes") == {"nodes": ["n1", "n2"]}


def test_failure(call):
    assert call("failure") == {"error": "made to fail"}
