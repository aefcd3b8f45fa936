"""dask-jobqueue: the workers of a Dask cluster are jobs."""

import pytest
from cluster import wait_until
from desk import client


@pytest.fixture(scope="module")
def call(desk):
    bin = client("dask")
    return lambda what: desk.program(bin, "dask", what, cwd=desk.folder(f"dask-{what}"))


@pytest.fixture(autouse=True)
def nothing_left(desk):
    """A Dask cluster that is closed has cancelled its workers' jobs."""
    yield
    wait_until(lambda: not desk.run("gqueue", "-h").stdout, "the workers to be gone")


def test_work(desk, call):
    answer = call("work")
    assert answer["total"] == sum(i * i for i in range(100)) and len(answer["jobs"]) == 2
    for job in answer["jobs"]:
        desk.wait_state(int(job), "CANCELLED", "COMPLETED")


def test_failure_in_a_worker(call):
    assert call("failure") == {"error": "ZeroDivisionError"}


def test_refused(call):
    assert "invalid partition" in call("refused")["error"].lower()


def test_fewer(call):
    assert call("fewer") == {"done": True}


def test_a_cancelled_worker_is_replaced(desk, call):
    answer = call("lost")
    assert int(answer["second"]) > int(answer["first"])
    desk.wait_state(int(answer["first"]), "CANCELLED")
