"""Snakemake 9 with its executor plugin for Slurm: a DAG, a job that fails and is tried again, cancel, arrays."""

import os
import shutil
import signal
import threading

import pytest
from cluster import wait_until
from desk import PROGRAMS, client

FLAGS = ("--executor", "slurm", "--jobs", 4, "--latency-wait", 20, "--default-resources", "slurm_partition=batch",
         "--slurm-init-seconds-before-status-checks", 1, "--seconds-between-status-checks", 1)


@pytest.fixture(scope="module")
def bin():
    return client("snakemake")


def snakemake(desk, bin, folder, *args, **kw):
    if not (folder / "Snakefile").exists():
        shutil.copy(PROGRAMS / "Snakefile", folder)
    return desk.use("snakemake", *FLAGS, *args, bin=bin, cwd=folder, **kw)


def named(desk, since):
    """The jobs with a higher id than that, by id."""
    return [j for i, j in sorted(desk.jobs().items()) if i > since]


def newest(desk):
    return max(desk.jobs(), default=0)


def test_work_with_a_job_that_is_tried_again(desk, bin):
    folder, since = desk.folder("snakemake-work"), newest(desk)
    snakemake(desk, bin, folder, "--retries", 1)
    assert (folder / "sum.txt").read_text().strip() == str(sum(i * i for i in range(6)))
    states = [j["state"] for j in named(desk, since)]
    assert sorted(states) == ["COMPLETED"] * 13 + ["FAILED"]


def test_failure(desk, bin):
    folder, since = desk.folder("snakemake-failure"), newest(desk)
    r = snakemake(desk, bin, folder, "never.txt", check=False)
    assert r.returncode == 1 and "Error in rule never" in r.stderr
    assert [j["state"] for j in named(desk, since)] == ["FAILED"]


def test_arrays(desk, bin):
    folder, since = desk.folder("snakemake-array"), newest(desk)
    snakemake(desk, bin, folder, "--slurm-array-jobs", "number", "--slurm-array-limit", 10, *(f"numbers/{i}.txt" for i in range(5)))
    assert [(folder / f"numbers/{i}.txt").read_text() for i in range(5)] == [f"{i}\n" for i in range(5)]
    jobs = named(desk, since)
    assert any("array" in str(j) for j in jobs) and all(j["state"] == "COMPLETED" for j in jobs)


class Aside:
    """A snakemake beside the test; `pid` is a file with its pid."""

    def __init__(self, desk, bin, name, *args):
        self.folder, self.since = desk.folder(f"snakemake-{name}"), newest(desk)
        shutil.copy(PROGRAMS / "Snakefile", self.folder)
        self.thread = threading.Thread(target=self.drive, args=(desk, bin, args))
        self.thread.start()

    def drive(self, desk, bin, args):
        self.answer = desk.use("sh", "-c", "echo $$ >pid; exec snakemake \"$@\"", "sh", *FLAGS, *args, bin=bin, cwd=self.folder, check=False)

    def end(self):
        self.thread.join()
        return self.answer


def test_cancel(desk, bin):
    """Ctrl-C: Snakemake cancels what it has submitted."""
    aside = Aside(desk, bin, "cancel", "long.txt")
    wait_until((aside.folder / "began").exists, "the job to run", 120)
    os.kill(int((aside.folder / "pid").read_text()), signal.SIGINT)
    assert aside.end().returncode != 0
    wait_until(lambda: [j["state"] for j in named(desk, aside.since)] == ["CANCELLED"], "the job to be cancelled")


def test_requeue(desk, bin):
    """A job that is requeued under Snakemake goes on being waited for."""
    aside = Aside(desk, bin, "requeue", "--slurm-requeue", "again.txt")
    wait_until((aside.folder / "count").exists, "the job to run", 120)
    job = newest(desk)
    desk.slurm("scontrol", "requeue", job)
    r = aside.end()
    assert r.returncode == 0, r.stderr
    assert len((aside.folder / "count").read_text().split()) == 2
    desk.wait_state(job, "COMPLETED")
