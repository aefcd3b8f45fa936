"""Submitit's own calls: work, failure, cancel, arrays, several tasks, requeue after a time limit."""

import json
import os
import pathlib
import subprocess
import sys
import time

import submitit
from submitit.helpers import Checkpointable


class Counter(Checkpointable):
    """Counts until it is preempted by its time limit's signal; begins again where it was."""

    def __init__(self, path):
        self.path = pathlib.Path(path)

    def __call__(self):
        with self.path.open("a") as f:
            f.write("begun\n")
        while len(self.path.read_text().split()) < 2:
            time.sleep(0.05)
        return os.environ["SLURM_RESTART_COUNT"]


def executor(**more):
    e = submitit.AutoExecutor(folder="logs/%j")
    e.update_parameters(slurm_partition="batch", timeout_min=5, cpus_per_task=1, mem_gb=1, **more)
    return e


def fail():
    raise ValueError("made to fail")


def where():
    env = submitit.JobEnvironment()
    return [env.global_rank, env.num_tasks, env.local_rank, env.node, env.num_nodes]


def wait_for(path):
    while not pathlib.Path(path).exists():
        time.sleep(0.05)


def ended(job):
    """The state that sacct says, once the job has ended: what submitit has asked lately may be older."""
    while job.get_info(mode="force").get("State", "PENDING") in ("PENDING", "RUNNING", "COMPLETING", "CONFIGURING"):
        time.sleep(0.2)
    return job.state


def work():
    job = executor().submit(pow, 2, 10)
    return {"result": job.result(), "state": ended(job), "done": job.done()}


def failure():
    job = executor().submit(fail)
    e = job.exception()
    return {"error": str(e), "state": ended(job)}


def cancel():
    job = executor().submit(time.sleep, 600)
    while job.get_info(mode="force").get("State") != "RUNNING":
        time.sleep(0.2)
    job.cancel(check=True)
    return {"state": ended(job)}


def array():
    jobs = executor(slurm_array_parallelism=3).map_array(pow, range(6), [2] * 6)
    return {"results": [j.result() for j in jobs], "ids": [j.job_id for j in jobs], "states": [ended(j) for j in jobs]}


def tasks():
    job = executor(nodes=2, tasks_per_node=2).submit(where)
    return {"results": job.results()}


def requeue():
    job = executor().submit(Counter("count"))
    wait_for("count")
    subprocess.run(["scancel", job.job_id, "--signal", "USR2"], check=True)
    return {"restarts": job.result(), "begun": len(pathlib.Path("count").read_text().split())}


print(json.dumps(globals()[sys.argv[1]]()))
