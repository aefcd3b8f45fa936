"""PSI/J's own calls."""

import json
import pathlib
import sys
from datetime import timedelta

from psij import Job, JobAttributes, JobExecutor, JobSpec, JobState, ResourceSpecV1

HERE = pathlib.Path.cwd()


def submit(executable, arguments, **more):
    spec = JobSpec(executable=executable, arguments=arguments, directory=HERE, stdout_path=HERE / "out.txt", stderr_path=HERE / "err.txt",
                   attributes=JobAttributes(duration=timedelta(minutes=5), queue_name="batch"), inherit_environment=True, **more)
    job = Job(spec)
    JobExecutor.get_instance("slurm").submit(job)
    return job


def answer(job, status):
    return {"state": status.state.name if status else None, "exit": status.exit_code if status else None, "job": int(job.native_id)}


def work():
    job = submit("/bin/echo", ["from", "a job"])
    status = job.wait(timedelta(seconds=120))
    return {**answer(job, status), "text": (HERE / "out.txt").read_text()}


def failure():
    job = submit("/bin/sh", ["-c", "exit 3"])
    return answer(job, job.wait(timedelta(seconds=120)))


def cancel():
    job = submit("/bin/sleep", ["600"])
    job.wait(timedelta(seconds=120), target_states=[JobState.ACTIVE])
    job.cancel()
    return answer(job, job.wait(timedelta(seconds=120)))


def tasks():
    job = submit("/bin/sh", ["-c", "echo $SLURM_PROCID $SLURMD_NODENAME"], launcher="srun",
                 resources=ResourceSpecV1(node_count=2, processes_per_node=2, cpu_cores_per_process=1, exclusive_node_use=False))
    status = job.wait(timedelta(seconds=120))
    return {**answer(job, status), "text": sorted((HERE / "out.txt").read_text().splitlines())}


print(json.dumps(globals()[sys.argv[1]]()))
