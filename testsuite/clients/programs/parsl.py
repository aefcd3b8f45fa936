"""Parsl's own calls: blocks of workers are jobs, started with one srun task a node."""

import json
import os
import sys
import time

import parsl
from parsl import bash_app, python_app
from parsl.config import Config
from parsl.executors import HighThroughputExecutor
from parsl.launchers import SrunLauncher
from parsl.providers import SlurmProvider


@python_app
def square(x):
    return x * x


@python_app
def job_of_worker():
    import os
    return os.environ["SLURM_JOB_ID"], os.environ["SLURMD_NODENAME"]


@python_app
def bad():
    raise ValueError("made to fail")


@bash_app
def shell(stdout="shell.out"):
    return "echo from a shell"


def load(nodes=1):
    provider = SlurmProvider(partition="batch", nodes_per_block=nodes, init_blocks=1, max_blocks=1, cores_per_node=2, exclusive=False,
                             walltime="00:10:00", launcher=SrunLauncher(), cmd_timeout=20)
    executor = HighThroughputExecutor(label="blocks", address="127.0.0.1", max_workers_per_node=2, provider=provider,
                                      heartbeat_period=2, heartbeat_threshold=10, encrypted=False)
    return parsl.load(Config(executors=[executor], usage_tracking=0, run_dir="runs", strategy="none"))


def work():
    with load():
        total = sum(f.result(timeout=120) for f in [square(i) for i in range(20)])
        shell().result(timeout=120)
        job = job_of_worker().result(timeout=120)[0]
    with open("shell.out") as f:
        return {"total": total, "shell": f.read(), "job": job}


def nodes():
    with load(nodes=2):
        seen = set()
        end = time.time() + 120
        while len(seen) < 2 and time.time() < end:
            seen.update(f.result(timeout=120)[1] for f in [job_of_worker() for _ in range(8)])
    return {"nodes": sorted(seen)}


def failure():
    with load():
        try:
            bad().result(timeout=120)
        except ValueError as e:
            return {"error": str(e)}


print(json.dumps(globals()[sys.argv[1]]()))
sys.stdout.flush()
os._exit(0)
