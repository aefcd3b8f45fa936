"""dask-jobqueue's own calls: workers as jobs, more and fewer of them, and one that is lost."""

import json
import os
import socket
import subprocess
import sys
import time

from dask.distributed import Client
from dask_jobqueue import SLURMCluster


def cluster(**more):
    return SLURMCluster(queue="batch", cores=1, processes=1, memory="500MB", walltime="00:10:00", interface="lo", log_directory="logs",
                        scheduler_options={"dashboard_address": None}, death_timeout=120, **more)


def job_of_worker():
    return os.environ["SLURM_JOB_ID"]


def work():
    with cluster() as c, Client(c) as client:
        c.scale(jobs=2)
        client.wait_for_workers(2, timeout=120)
        total = client.submit(sum, client.map(lambda x: x * x, range(100))).result(timeout=120)
        jobs = sorted(set(client.run(job_of_worker).values()))
        script = c.job_script()
    return {"total": total, "jobs": jobs, "script": script}


def failure():
    with cluster() as c, Client(c) as client:
        c.scale(jobs=1)
        try:
            client.submit(lambda: 1 / 0).result(timeout=120)
        except ZeroDivisionError:
            return {"error": "ZeroDivisionError"}


def refused():
    c = SLURMCluster(queue="no-such-partition", cores=1, memory="500MB", interface="lo", log_directory="logs",
                     scheduler_options={"dashboard_address": None})
    job = c.new_worker_spec()
    worker = list(job.values())[0]
    try:
        c.sync(worker["cls"](c.scheduler_address, name="w", **worker["options"]).start)
    except RuntimeError as e:
        return {"error": str(e)}
    return {"error": ""}


def fewer():
    with cluster() as c, Client(c) as client:
        c.scale(jobs=3)
        client.wait_for_workers(3, timeout=120)
        c.scale(jobs=1)
        while len(client.scheduler_info()["workers"]) != 1:
            time.sleep(0.1)
    return {"done": True}


def lost():
    """A worker whose job is cancelled: adaptive scaling asks for another one."""
    with cluster() as c, Client(c) as client:
        c.adapt(minimum_jobs=1, maximum_jobs=1, interval="500ms")
        client.wait_for_workers(1, timeout=120)
        first = list(client.run(job_of_worker).values())[0]
        subprocess.run(["scancel", first], check=True)
        while True:
            try:
                jobs = list(client.run(job_of_worker).values())
            except Exception:
                jobs = []
            if jobs and jobs[0] != first:
                return {"first": first, "second": jobs[0]}
            time.sleep(0.2)


if __name__ == "__main__":
    print(json.dumps(globals()[sys.argv[1]]()))
