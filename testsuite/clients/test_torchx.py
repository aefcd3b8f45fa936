"""TorchX: the roles of an app are jobs whose processes srun starts."""

import pytest
from desk import client


@pytest.fixture(scope="module")
def call(desk):
    bin = client("torchx")
    return lambda what: desk.program(bin, "torchx", what, cwd=desk.folder(f"torchx-{what}"))


def test_work(desk, call):
    answer = call("work")
    assert (answer["state"], answer["text"], answer["listed"]) == ("SUCCEEDED", "said", True)
    desk.wait_state(answer["job"], "COMPLETED")


def test_failure(call):
    assert call("failure")["state"] == "FAILED"


def test_cancel(desk, call):
    answer = call("cancel")
    assert answer["state"] == "CANCELLED"
    desk.wait_state(answer["job"], "CANCELLED")


def test_requeue(call):
    answer = call("requeue")
    assert (answer["state"], answer["begun"]) == ("SUCCEEDED", 2)


def test_replicas(call):
    """Each replica is a part of a heterogeneous job."""
    answer = call("replicas")
    assert (answer["state"], answer["files"]) == ("SUCCEEDED", 2)
