"""job_steps.py - what job steps cost: for run.py"""

import os
import pathlib
import re
import statistics
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "system/lib"))
from cluster import BUILD, Cluster, wait_until  # noqa: E402

# Runs a command so often, one after another, and prints how many ms each call took.
TIMER = """
import subprocess, sys, time
for _ in range(int(sys.argv[1])):
    t = time.monotonic()
    subprocess.run(sys.argv[2:], check=True, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
    print("ms", (time.monotonic() - t) * 1000)
"""


def script_of(folder, n, *command):
    timer = folder / "timer.py"
    timer.write_text(TIMER)
    timer.chmod(0o644)
    return f"/usr/bin/python3 {timer} {n} {' '.join(command)}"


def timed(c, n, command, *options):
    """Milliseconds of each of n calls, within one job."""
    job = c.submit(f"#SBATCH --output=timed.out\n{script_of(c.dir / 'jobs', n, command)}", *options,
                   env={"PATH": f"{BUILD}/cmds/steps:{c.env['PATH']}"})
    j = c.wait_state(job, "COMPLETED", "FAILED", timeout=300)
    text = (c.dir / "jobs/timed.out").read_text()
    if j["state"] != "COMPLETED":
        raise RuntimeError(text)
    return [float(x) for x in re.findall(r"^ms (\S+)", text, re.M)]


def percentile(values, p):
    values = sorted(values)
    return values[min(len(values) - 1, int(len(values) * p / 100))]


def cost_of(pid):
    """Resident KiB and seconds of processor time."""
    fields = pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    rss = int(re.search(r"VmRSS:\s+(\d+)", pathlib.Path(f"/proc/{pid}/status").read_text())[1])
    return rss, (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def bench_job_steps(res, slurm_figures, nodes=64, tasks=512):
    with Cluster() as c:
        timed(c, 20, "srun -n1 true")
        rss, cpu = cost_of(c.ctld.pid)
        took = timed(c, 1000, "srun -n1 true")
        rss, cpu = (after - before for after, before in zip(cost_of(c.ctld.pid), (rss, cpu)))
    theirs = {p: f"Slurm {slurm_figures[name][0]:.3g} ms" for p, name in ((50, "step_of_one_task_p50"), (99, "step_of_one_task_p99"))
              if name in slurm_figures}
    res.add("a step of one task, p50", statistics.median(took), "ms", "10 ms", theirs.get(50, ""))
    res.add("a step of one task, p99", percentile(took, 99), "ms", "", theirs.get(99, ""))
    res.add("steps one after another", 1000 * len(took) / sum(took), "/s")
    res.add("1,000 steps: the controller's processor time", cpu * 1000, "ms")
    res.add("1,000 steps: growth of the controller", rss / 1024, "MiB")
    with Cluster(nodes=[f"n{i}" for i in range(1, nodes + 1)]) as c:
        wait_until(lambda: len(c.node_states()) == nodes, "all nodes")
        took = timed(c, 6, f"srun -n{tasks} true", f"--nodes={nodes}", f"--ntasks={tasks}")
    res.add(f"{tasks} tasks on {nodes} agents of this machine, median", statistics.median(took[1:]), "ms", "1 s",
            f"the first step, which reaches all nodes: {took[0]:.3g} ms")
