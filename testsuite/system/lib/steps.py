"""steps.py - for tests of job steps: a run that is played in a folder, and scripts that call srun"""

import contextlib
import os
import pathlib
import re
import shutil
import signal
import subprocess
import tempfile

from cluster import BUILD, DEADLINE, wait_until

SRUN = BUILD / "cmds/steps/srun"
SALLOC = BUILD / "cmds/steps/salloc"
GSTEPD = BUILD / "noded/gstepd"


class Run:
    """A folder that plays the first run of job 12 on n1, with 4 CPUs and 2 GPUs."""

    def __init__(self):
        self.dir = pathlib.Path(tempfile.mkdtemp(prefix="steps-"))
        (self.dir / "run").mkdir(mode=0o700)
        (self.dir / "work").mkdir()
        self.env = {k: v for k, v in os.environ.items() if not k.startswith(("GPUSCHED", "SLURM", "CUDA"))}
        self.env.update(
            LC_ALL="C.UTF-8", GPUSCHED_STEPD=str(GSTEPD), GPUSCHED_RUN_DIR=str(self.dir / "run"), GPUSCHED_JOB_ID="12",
            SLURM_JOB_ID="12", SLURM_JOB_NAME="job", GPUSCHED_ATTEMPT="1", GPUSCHED_NODE="n1", GPUSCHED_NODELIST="n1",
            GPUSCHED_NODE_RANK="0", GPUSCHED_CPUS="4", GPUSCHED_GPUS="4,5", CUDA_VISIBLE_DEVICES="0,1",
            GPUSCHED_GPU_UUIDS="GPU-a,GPU-b", SLURM_NTASKS="4", SLURM_NNODES="1", SLURMD_NODENAME="n1",
            GPUSCHED_CONF=str(self.dir / "none.conf"))

    def start(self, *args, **kw):
        kw = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True, **kw}
        env = {**self.env, **kw.pop("env", {})}
        return subprocess.Popen([str(SRUN), *map(str, args)], cwd=self.dir / "work", env=env, **kw)

    def srun(self, *args, stdin="", env=None, text=True):
        return subprocess.run([str(SRUN), *map(str, args)], input=stdin, capture_output=True, text=text, check=False,
                              cwd=self.dir / "work", env={**self.env, **(env or {})}, timeout=DEADLINE)

    def daemons(self):
        """The pids of gstepd of this run."""
        found = []
        for pid in filter(str.isdigit, os.listdir("/proc")):
            with contextlib.suppress(OSError):
                if (os.readlink(f"/proc/{pid}/exe") == str(GSTEPD)
                        and str(self.dir).encode() in pathlib.Path(f"/proc/{pid}/environ").read_bytes()):
                    found.append(int(pid))
        return found

    def kill_daemons(self):
        """They are gone when they have closed their sockets: a process that ends has lost its memory, and so what
        daemons() looks for, before that."""
        pids = self.daemons()
        for pid in pids:
            os.kill(pid, signal.SIGKILL)
        wait_until(lambda: all(_has_ended(pid) for pid in pids), "gstepd to be gone")

    def close(self):
        for pid in self.daemons():
            with contextlib.suppress(OSError):
                os.kill(pid, signal.SIGKILL)
        shutil.rmtree(self.dir, ignore_errors=True)


def alive(pid):
    with contextlib.suppress(OSError):
        return pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(") ", 1)[1][0] != "Z"
    return False


def srun_out(c, *args, command=SRUN, stdin=""):
    return subprocess.run([str(command), *map(str, args)], capture_output=True, text=True, input=stdin, check=False,
                          cwd=c.dir / "jobs", timeout=DEADLINE, env={**c.env, "PATH": f"{SRUN.parent}:{c.env['PATH']}"})


def script(c, text, *options):
    """Run it as the script of a job with steps; what it has written once it says that it is done."""
    job = c.submit(f"#SBATCH --output=steps-%j.out\n{text}\necho script $?", *options,
                   env={"PATH": f"{SRUN.parent}:{c.env['PATH']}"})
    out = c.dir / f"jobs/steps-{job}.out"
    wait_until(lambda: out.exists() and re.search(r"^script \d+$", out.read_text(), re.M), "the script to end")
    c.wait_state(job, "COMPLETED", "FAILED")
    return out.read_text()


def _has_ended(pid):
    try:
        return pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except OSError:
        return True
