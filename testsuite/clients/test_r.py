"""R: batchtools with its template for Slurm, and rslurm."""

import pytest
from cluster import wait_until
from desk import PROGRAMS, debian


@pytest.fixture(scope="module")
def call(desk):
    def run(package, what):
        debian(f"r-cran-{package}", "Rscript", "-e", f"library({package})")
        folder = desk.folder(f"{package}-{what}")
        return desk.use("Rscript", "--vanilla", PROGRAMS / f"{package}.R", what, cwd=folder).stdout.splitlines()[-1]
    return run


def test_batchtools_work(call):
    assert call("batchtools", "work") == "results 1,4,9,16 done 4"


def test_batchtools_array(call):
    assert call("batchtools", "array") == "results 1,2,3,4,5 done 5"


def test_batchtools_failure(call):
    text = call("batchtools", "failure")
    assert text.startswith("errors 2: ") and "made to fail" in text


def test_batchtools_cancel(desk, call):
    words = call("batchtools", "cancel").split()
    assert words[:2] == ["done", "0"]
    for job in words[3].split(","):
        desk.wait_state(int(job), "CANCELLED")


def test_rslurm_work(desk, call):
    assert call("rslurm", "work") == "results 1,4,9,16,25,36 completed TRUE"


def test_rslurm_failure(desk, call):
    assert "made to fail" in call("rslurm", "failure")
    wait_until(lambda: set(desk.states("rfail")) == {"FAILED"}, "the job to fail")


def test_rslurm_cancel(desk, call):
    assert call("rslurm", "cancel") == "completed"
    wait_until(lambda: set(desk.states("rcancel")) == {"CANCELLED"}, "the job to be cancelled")
