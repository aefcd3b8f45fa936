"""drive.py - Snakemake 7 drives a cluster: every job of its DAG runs, once and well

usage: drive.py [NUMBERS]      a DAG of 2 * NUMBERS + 1 jobs, by default 301

First through gsubmit (--cluster, with the status script in etc/examples), then through libdrmaa (--drmaa, with
Debian's python3-drmaa) with a fifth of the numbers. Each job is a snakemake of its own, a second of processor time:
this takes some minutes. Debian's packages are installed if apt-get can.
"""

import os
import pathlib
import shutil
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "system/lib"))
from cluster import BUILD, TOP, Cluster  # noqa: E402

NUMBERS = int(sys.argv[1]) if len(sys.argv) > 1 else 150
PYTHON = "/usr/bin/python3"  # Debian's, which has Debian's packages


def lacks_drmaa():
    return subprocess.run([PYTHON, "-c", "import importlib.util as u; assert u.find_spec('drmaa')"], check=False,
                          capture_output=True).returncode


def prepare():
    if (not shutil.which("snakemake") or lacks_drmaa()) and os.geteuid() == 0:
        for package in ("snakemake", "python3-drmaa"):
            subprocess.run(["apt-get", "install", "-y", "-qq", "--no-install-recommends", package], check=False,
                           env={**os.environ, "DEBIAN_FRONTEND": "noninteractive"}, stdout=subprocess.DEVNULL)
    if not shutil.which("snakemake"):
        sys.exit("check-snakemake needs Debian's snakemake: apt-get install snakemake (as root)")


def check(condition, what):
    if not condition:
        sys.exit(f"check-snakemake: {what}")


def drive(how, numbers, options, env=None):
    """The DAG on a cluster of its own: the sum is right, and each job ran once, but for the one that fails at first."""
    jobs = 2 * numbers + 1 + 1
    with Cluster(nodes=("n1", "n2"), cpus=16, controller='keep_ended = "2h";') as c:
        work = c.dir / "jobs"
        shutil.copy(HERE / "Snakefile", work)
        (work / "logs").mkdir(mode=0o777)
        r = c.run("snakemake", "--config", f"n={numbers}", "--jobs", 4 * os.cpu_count(), *options, "--restart-times", 1,
                  "--max-jobs-per-second", 100, "--max-status-checks-per-second", 100, "--latency-wait", 20, "--quiet",
                  env={"HOME": str(work), "XDG_CACHE_HOME": str(work / "cache"), **(env or {})}, check=False, timeout=1800)
        check(r.returncode == 0, f"snakemake {how} exited with {r.returncode}:\n{r.stdout[-2000:]}{r.stderr[-4000:]}")
        total = (work / "sum.txt").read_text().strip()
        check(total == str(sum(i * i for i in range(numbers))), f"the sum is {total}")
        states = [j["state"] for j in c.jobs().values()]
        check(len(states) == jobs, f"{len(states)} jobs were submitted, not {jobs}")
        check(states.count("COMPLETED") == jobs - 1 and states.count("FAILED") == 1, f"the jobs ended {sorted(set(states))}")
        print(f"snakemake {how}: {jobs} jobs, one of them a second time; the sum is right")


def main():
    prepare()
    drive("--cluster", NUMBERS, ["--cluster", "gsubmit --parsable -c {threads} -o logs/%j.out",
                                 "--cluster-status", TOP / "etc/examples/snakemake/status.sh"])
    if lacks_drmaa():
        print("snakemake --drmaa: skipped: python3-drmaa is missing; Debian 12 has it, Debian 13 has not")
        return
    drive("--drmaa", max(NUMBERS // 5, 8), ["--drmaa", " -c {threads} --label by=snakemake", "--drmaa-log-dir", "logs"],
          {"DRMAA_LIBRARY_PATH": str(BUILD / ".libs/libdrmaa.so")})


if __name__ == "__main__":
    main()
