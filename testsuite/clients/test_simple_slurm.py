"""simple_slurm: jobs from Python, whose scripts go to sbatch's input."""

import pytest
from desk import client


@pytest.fixture(scope="module")
def call(desk):
    bin = client("simple-slurm")
    return lambda what: desk.program(bin, "simple_slurm", what, cwd=desk.folder(f"simple-slurm-{what}"))


def test_work(desk, call):
    answer = call("work")
    assert answer["text"] == "42\n"
    desk.wait_state(answer["job"], "COMPLETED")


def test_failure(desk, call):
    desk.wait_state(call("failure")["job"], "FAILED")


def test_cancel(desk, call):
    desk.wait_state(call("cancel")["job"], "CANCELLED")


def test_array_and_dependency(call):
    assert call("array")["text"] == ["3", "4", "5", "6", "7"]
