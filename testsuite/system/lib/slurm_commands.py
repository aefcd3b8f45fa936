"""slurm_commands.py - a cluster whose users call Slurm's names"""

import subprocess

from cluster import BUILD, DEADLINE, Cluster

NAMES = BUILD / "cmds/slurm-names"
US, RS = "\x1f", "\x1e"

PARTITIONS = """( { name = "batch"; nodes = "ALL"; default = true; grace = "2s"; },
  { name = "other"; nodes = "n1"; max_time = "1:00:00"; grace = "60s"; } )"""
POLICY = """accounts = ( { name = "vision"; members = ( "root", "daemon" ); },
  { name = "nlp"; parent = "vision"; shares = 2; members = ( "root" ); } );
default_account = "vision";
qos = ( { name = "normal"; default = true; }, { name = "high"; priority = 10; accounts = ( "nlp" ); } );"""


class SlurmCommands(Cluster):
    """Two nodes of four GPUs."""

    def __init__(self, **kw):
        super().__init__(nodes=("n1", "n2"), gpus="h100:4", partitions=PARTITIONS, **kw)

    def call(self, name, *args, stdin=None, env=None, check=0):
        """Run one of Slurm's names; `check` is the exit status that it must have, None: any."""
        r = subprocess.run([NAMES / name, *map(str, args)], capture_output=True, text=True, input=stdin, check=False,
                           cwd=self.dir / "jobs", env={**self.env, **(env or {})}, timeout=DEADLINE)
        assert check is None or r.returncode == check, f"{name} {args}: {r.returncode}\n{r.stdout}{r.stderr}"
        return r

    def out(self, name, *args, **kw):
        return self.call(name, *args, **kw).stdout

    def batch(self, script, *options, **kw):
        """The id of a job that sbatch submits."""
        return int(self.out("sbatch", "--parsable", *options, stdin=f"#!/bin/bash\n{script}\n", **kw))

    def ends(self, job, state):
        """Wait until the job has ended so, as sacct says it."""
        return self.wait_state(job, state)
