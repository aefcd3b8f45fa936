"""Toil: each job of a workflow is a job; a failed one is tried again as often as it is told."""

import pytest
from desk import PROGRAMS, client


@pytest.fixture(scope="module")
def call(desk):
    bin = client("toil")

    def run(name, *options):
        folder = desk.folder(f"toil-{name}")
        (folder / "flow.py").write_text((PROGRAMS / "toil.py").read_text())
        return desk.use(bin / "python3", "flow.py", "store", "--batchSystem", "slurm", "--maxLocalJobs", 1, "--caching", "false",
                        "--statePollingWait", 1, "--clean", "always", *options, bin=bin, cwd=folder, check=False)
    return run


def test_work(desk, call):
    r = call("work")
    assert "total 5" in r.stdout, r.stdout + r.stderr


def test_failure(call):
    r = call("failure", "--bad", 1, "--retryCount", 0)
    assert r.returncode != 0 and "made to fail" in r.stderr + r.stdout
