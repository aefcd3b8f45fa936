"""simple_slurm's own calls."""

import json
import pathlib
import sys
import time

from simple_slurm import Slurm


def submit(command, **options):
    return Slurm(partition="batch", time="5", **options).sbatch(command, verbose=False)


def state(job):
    s = Slurm()
    s.squeue.update_squeue()
    return s.squeue.jobs.get(job, {}).get("ST")


def ended(job):
    while state(job):
        time.sleep(0.1)


def work():
    job = submit("echo $((6 * 7)) >work.txt; exit 0", job_name="work")
    ended(job)
    return {"job": job, "text": pathlib.Path("work.txt").read_text()}


def failure():
    job = submit("exit 3", job_name="failure")
    ended(job)
    return {"job": job}


def cancel():
    job = submit("sleep 600", job_name="cancel")
    while state(job) != "R":
        time.sleep(0.1)
    Slurm().scancel.cancel_job(job)
    ended(job)
    return {"job": job}


def array():
    job = submit("echo $SLURM_ARRAY_TASK_ID >array.$SLURM_ARRAY_TASK_ID", job_name="array", array=range(3, 8))
    later = submit("cat array.* >all.txt", job_name="after", dependency=dict(afterok=job))
    while not pathlib.Path("all.txt").exists():
        time.sleep(0.1)
    ended(later)
    return {"job": job, "text": pathlib.Path("all.txt").read_text().split()}


print(json.dumps(globals()[sys.argv[1]]()))
