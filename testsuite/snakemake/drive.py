"""drive.py - Snakemake 7 drives a cluster through gsubmit: every job of its DAG runs, once and well

usage: drive.py [NUMBERS]      a DAG of 2 * NUMBERS + 1 jobs, by default 301

Each job is a snakemake of its own, a second of processor time: this takes some minutes. Debian's
snakemake is installed if apt-get can. The status script is the one in etc/examples.
"""

import os
import pathlib
import shutil
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "system/lib"))
from cluster import TOP, Cluster  # noqa: E402

NUMBERS = int(sys.argv[1]) if len(sys.argv) > 1 else 150
JOBS = 2 * NUMBERS + 1 + 1  # and one square a second time


def prepare():
    if not shutil.which("snakemake") and os.geteuid() == 0:
        subprocess.run(["apt-get", "install", "-y", "-qq", "--no-install-recommends", "snakemake"], check=False,
                       env={**os.environ, "DEBIAN_FRONTEND": "noninteractive"}, stdout=subprocess.DEVNULL)
    if not shutil.which("snakemake"):
        sys.exit("check-snakemake needs Debian's snakemake: apt-get install snakemake (as root)")


def check(condition, what):
    if not condition:
        sys.exit(f"check-snakemake: {what}")


def main():
    prepare()
    with Cluster(nodes=("n1", "n2"), cpus=16, controller='keep_ended = "2h";') as c:
        work = c.dir / "jobs"
        shutil.copy(HERE / "Snakefile", work)
        (work / "logs").mkdir(mode=0o777)
        r = c.run("snakemake", "--config", f"n={NUMBERS}", "--jobs", 4 * os.cpu_count(), "--cluster", "gsubmit --parsable -c {threads} -o logs/%j.out",
                  "--cluster-status", TOP / "etc/examples/snakemake/status.sh", "--restart-times", 1,
                  "--max-jobs-per-second", 100, "--max-status-checks-per-second", 100, "--latency-wait", 20, "--quiet",
                  env={"HOME": str(work), "XDG_CACHE_HOME": str(work / "cache")}, check=False, timeout=1800)
        check(r.returncode == 0, f"snakemake exited with {r.returncode}:\n{r.stdout[-2000:]}{r.stderr[-4000:]}")
        total = (work / "sum.txt").read_text().strip()
        check(total == str(sum(i * i for i in range(NUMBERS))), f"the sum is {total}")
        states = [j["state"] for j in c.jobs().values()]
        check(len(states) == JOBS, f"{len(states)} jobs were submitted, not {JOBS}")
        check(states.count("COMPLETED") == JOBS - 1 and states.count("FAILED") == 1, f"the jobs ended {sorted(set(states))}")
        print(f"{JOBS} jobs of snakemake, one of them a second time; the sum is right")


if __name__ == "__main__":
    main()
