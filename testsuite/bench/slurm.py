"""slurm.py - Slurm on this machine, in a folder, for comparison

A one-node Slurm (Debian's slurm-wlm) with its own munge daemon and ports, tuned for many short jobs as
its own high-throughput guide says. Needs root. Figures it gives are printed by run.py beside ours.
"""

import contextlib
import os
import pathlib
import shutil
import signal
import socket
import stat
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "system/lib"))
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import job_steps  # noqa: E402
from cluster import Daemon, free_port, wait_until  # noqa: E402

CONF = """
ClusterName=bench
SlurmctldHost={host}(127.0.0.1)
SlurmctldPort={port1}
SlurmdPort={port2}
SlurmUser=root
AuthType=auth/munge
AuthInfo=socket={dir}/munge.socket
CredType=cred/munge
StateSaveLocation={dir}/state
SlurmdSpoolDir={dir}/spool
SlurmctldPidFile={dir}/slurmctld.pid
SlurmdPidFile={dir}/slurmd.pid
SlurmctldLogFile={dir}/slurmctld.log
SlurmdLogFile={dir}/slurmd.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
SchedulerParameters=batch_sched_delay=0,sched_min_interval=2000,defer_batch,default_queue_depth=10000,sched_interval=1
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
JobCompType=jobcomp/none
MpiDefault=none
ReturnToService=2
SlurmdParameters=config_overrides
MaxJobCount=200000
MinJobAge=2
NodeName={host} NodeAddr=127.0.0.1 CPUs=64 RealMemory=64000
PartitionName=batch Nodes={host} Default=YES MaxTime=INFINITE State=UP OverSubscribe=NO
"""


def available():
    return os.geteuid() == 0 and all(shutil.which(p) for p in ("slurmctld", "slurmd", "sbatch"))


class Slurm:
    def __init__(self, conf=CONF, gres=""):
        """Texts of slurm.conf and gres.conf; {dir}/gpu0 to gpu3 stand for devices."""
        self.dir = pathlib.Path(tempfile.mkdtemp(prefix="slurm-bench-"))
        self.dir.chmod(0o755)
        for d in ("state", "spool", "jobs"):
            (self.dir / d).mkdir()
        key = self.dir / "munge.key"
        key.write_bytes(os.urandom(1024))
        key.chmod(0o400)
        (self.dir / "slurm.conf").write_text(conf.format(
            host=socket.gethostname().split(".")[0], dir=self.dir, port1=free_port(), port2=free_port()))
        if gres:
            for i in range(4):
                os.mknod(self.dir / f"gpu{i}", 0o600 | stat.S_IFCHR, os.makedev(195, i))
            (self.dir / "gres.conf").write_text(gres.format(dir=self.dir))
        self.env = {**os.environ, "SLURM_CONF": str(self.dir / "slurm.conf")}
        self.daemons = []
        try:
            self.bring_up(key)
        except BaseException:
            self.close()
            raise

    def bring_up(self, key):
        self.start("munged", [shutil.which("munged"), "--foreground", "--force", f"--key-file={key}",
                              f"--socket={self.dir}/munge.socket", f"--pid-file={self.dir}/munged.pid",
                              f"--seed-file={self.dir}/munge.seed", "--num-threads=2"])
        wait_until((self.dir / "munge.socket").exists, "munged")
        self.start("slurmctld", [shutil.which("slurmctld"), "-D", "-i"])
        self.start("slurmd", [shutil.which("slurmd"), "-D"])
        wait_until(lambda: self.run("sinfo", "-h", "-o", "%t").stdout.strip() == "idle", "Slurm's node to be idle")

    def start(self, name, argv):
        self.daemons.append(Daemon(name, argv, self.dir / f"{name}.out", self.env))

    def run(self, *argv, stdin=None):
        return subprocess.run(argv, capture_output=True, text=True, env=self.env, cwd=self.dir / "jobs", input=stdin,
                              check=False)

    def submit(self, script, *options):
        r = self.run("sbatch", "--parsable", "-o", "/dev/null", *options, stdin=f"#!/bin/sh\n{script}\n")
        if r.returncode:
            raise RuntimeError(r.stderr)
        return r.stdout.strip()

    def idle(self):
        return not self.run("squeue", "-h").stdout.strip()

    def close(self):
        for d in reversed(self.daemons):
            with contextlib.suppress(Exception):
                d.kill(signal.SIGTERM)
        shutil.rmtree(self.dir, ignore_errors=True)


def measure():
    """The figures of design section 10, Slurm's column: name -> (value, unit)."""
    out = {}
    s = Slurm()
    try:
        mark = s.dir / "jobs/mark"
        n = 50
        t = time.monotonic()
        for _ in range(n):
            s.submit("exit 0")
        out["submit_command"] = ((time.monotonic() - t) / n * 1000, "ms")
        wait_until(s.idle, "Slurm to be idle")
        first = []
        for i in range(15):
            path = f"{mark}{i}"
            t = time.monotonic()
            s.submit(f"date +%s.%N >{path}")
            acked = time.time()
            wait_until(lambda p=pathlib.Path(path): p.exists() and p.read_text().strip(), "a job to run")
            first.append(float(pathlib.Path(path).read_text()) - acked)
            wait_until(s.idle, "Slurm to be idle")
        first.sort()
        out["submit_to_first_instruction_p50"] = (first[len(first) // 2] * 1000, "ms")
        n = 300
        script = s.dir / "jobs/true.sh"
        script.write_text("#!/bin/sh\nexit 0\n")
        t = time.monotonic()
        s.run("sh", "-c", 'n=$0; while [ "$n" -gt 0 ]; do "$@" >/dev/null || exit 1; n=$((n - 1)); done', str(n),
              "sbatch", "--parsable", "-o", "/dev/null", str(script))
        wait_until(s.idle, "Slurm to be idle", 120)
        out["jobs_end_to_end_commands"] = (n / (time.monotonic() - t), "/s")
        t = time.monotonic()
        s.submit("exit 0", f"--array=1-{n}")
        wait_until(s.idle, "Slurm to be idle", 120)
        out["jobs_end_to_end_array"] = (n / (time.monotonic() - t), "/s")
        steps = s.dir / "jobs/steps"
        s.submit(job_steps.script_of(s.dir / "jobs", 100, "srun", "-n1", "true") + f" >{steps}.part && mv {steps}.part {steps}", "-n1")
        wait_until(steps.exists, "the steps", 120)
        took = [float(line.split()[1]) for line in steps.read_text().splitlines()]
        out["step_of_one_task_p50"] = (job_steps.percentile(took, 50), "ms")
        out["step_of_one_task_p99"] = (job_steps.percentile(took, 99), "ms")
    finally:
        s.close()
    return out


if __name__ == "__main__":
    for name, (value, unit) in measure().items():
        print(f"slurm.{name} {value:.2f} {unit}")
