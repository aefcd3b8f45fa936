"""nipype: the nodes of a workflow are jobs, one by one (SLURM) or all at once with dependencies (SLURMGraph)."""

import pytest
from desk import client


@pytest.fixture(scope="module")
def call(desk):
    bin = client("nipype")
    return lambda what: desk.program(bin, "nipype", what, cwd=desk.folder(f"nipype-{what}"), env={"NIPYPE_NO_ET": "1", "NO_ET": "1"})


def test_work(call):
    assert call("work") == {"total": 30}


def test_dependencies(call):
    assert call("graph") == {"total": 30}


def test_failure(call):
    answer = call("failure")
    assert "made to fail" in answer["error"] + answer["crash"]
