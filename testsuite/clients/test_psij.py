"""PSI/J: jobs, their states and exit codes, several tasks through its launcher srun."""

import pytest
from desk import client


@pytest.fixture(scope="module")
def call(desk):
    bin = client("psij")
    return lambda what: desk.program(bin, "psij", what, cwd=desk.folder(f"psij-{what}"))


def test_work(call):
    answer = call("work")
    assert (answer["state"], answer["text"]) == ("COMPLETED", "from a job\n")


def test_failure(call):
    answer = call("failure")
    assert (answer["state"], answer["exit"]) == ("FAILED", 3)


def test_cancel(desk, call):
    answer = call("cancel")
    assert answer["state"] == "CANCELED"
    desk.wait_state(answer["job"], "CANCELLED")


def test_several_tasks(call):
    answer = call("tasks")
    assert (answer["state"], answer["text"]) == ("COMPLETED", ["0 n1", "1 n1", "2 n2", "3 n2"])
