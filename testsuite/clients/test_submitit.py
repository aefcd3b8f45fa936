"""submitit: Python functions as jobs, as arrays, as several tasks through srun, and again after a signal."""

import pytest
from desk import client


@pytest.fixture(scope="module")
def call(desk):
    bin = client("submitit")
    return lambda what: desk.program(bin, "submitit", what, cwd=desk.folder(f"submitit-{what}"))


def test_work(call):
    assert call("work") == {"result": 1024, "state": "COMPLETED", "done": True}


def test_failure(call):
    answer = call("failure")
    assert "made to fail" in answer["error"] and answer["state"] == "FAILED"


def test_cancel(call):
    assert call("cancel")["state"].split()[0] == "CANCELLED"


def test_array(call):
    answer = call("array")
    assert answer["results"] == [i * i for i in range(6)]
    assert [i.split("_")[1] for i in answer["ids"]] == [str(i) for i in range(6)]
    assert answer["states"] == ["COMPLETED"] * 6


def test_several_tasks(call):
    results = sorted(call("tasks")["results"])
    assert [r[:3] + r[4:] for r in results] == [[0, 4, 0, 2], [1, 4, 1, 2], [2, 4, 0, 2], [3, 4, 1, 2]]


def test_requeue(call):
    assert call("requeue") == {"restarts": "1", "begun": 2}
