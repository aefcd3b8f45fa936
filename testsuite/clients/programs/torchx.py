"""TorchX's own calls: an app whose role is a job."""

import json
import pathlib
import sys
import time

from torchx.runner import get_runner
from torchx.schedulers.api import Stream
from torchx.specs import AppDef, AppState, Resource, Role

HERE = pathlib.Path.cwd()


def app(script, replicas=1, **more):
    role = Role(name="role", image=str(HERE), entrypoint="sh", args=["-c", script], num_replicas=replicas,
                resource=Resource(cpu=1, gpu=0, memMB=200), **more)
    return AppDef(name="app", roles=[role])


def submit(runner, *args, **kw):
    return runner.run(app(*args, **kw), scheduler="slurm", cfg={"partition": "batch", "time": "5", "job_dir": str(HERE)})


def answer(runner, handle, **more):
    status = runner.wait(handle, wait_interval=0.5)
    return {"state": status.state.name, "job": int(handle.rsplit("/", 1)[1]), **more}


def work():
    with get_runner() as r:
        handle = submit(r, "echo $TORCHX_JOB_ID >work.txt; echo said")
        a = answer(r, handle, text="")
        a["text"] = "".join(r.log_lines(handle, "role", 0, streams=Stream.STDOUT)).strip()
        listed = [x.app_id for x in r._scheduler("slurm").list()]
        return {**a, "listed": str(a["job"]) in listed}


def replicas():
    with get_runner() as r:
        handle = submit(r, "echo $SLURM_PROCID >replica.$(cat /proc/sys/kernel/random/uuid)", replicas=2)
        a = answer(r, handle)
        return {**a, "files": len(list(HERE.glob("replica.*")))}


def failure():
    with get_runner() as r:
        return answer(r, submit(r, "exit 3"))


def cancel():
    with get_runner() as r:
        handle = submit(r, "sleep 600")
        while r.status(handle).state != AppState.RUNNING:
            time.sleep(0.2)
        r.cancel(handle)
        return answer(r, handle)


def requeue():
    """The script that TorchX writes calls `scontrol requeue` for a role that fails and has retries."""
    with get_runner() as r:
        handle = submit(r, "echo begun >>count; [ $(wc -l <count) -gt 1 ]", max_retries=1)
        a = answer(r, handle)
        return {**a, "begun": len(pathlib.Path("count").read_text().split())}


print(json.dumps(globals()[sys.argv[1]]()))
