"""What the manuals tell to type, typed: each command line of an EXAMPLES section, on a cluster that fits."""

import re
import subprocess

import pytest
from cluster import BIN, TOP, Cluster

PAGES = ["gsubmit", "gqueue", "gcancel", "ginfo", "gctl", "gprio", "gserve", "gshare", "gacct", "greport", "glog", "grun"]
# Not typed here, and why.
ELSEWHERE = {"snakemake": "make check-snakemake", "grun --attach": "needs a run that a killed client has left: test_grun.py",
             "gctl node down": "needs a node that is off: test_controller.py",
             "gserve ": "needs a service: test_services.py", "curl ": "likewise"}
HARDWARE = """gpu_types = ( { name = "h100"; mem = "80G"; }, { name = "l40s"; mem = "48G"; } );
nodes = ( { name = "h04"; cpus = 64; gpus = "h100:4"; } );"""
POLICY = """accounts = ( { name = "research"; shares = 1; members = [ "*" ]; }, { name = "vision"; parent = "research"; shares = 1; } );"""


def command_lines(page):
    """The lines behind "$ " with what continues them, and those of a shell script."""
    text = (TOP / f"man/{page}.1").read_text().partition("\n.Sh EXAMPLES\n")[2].partition("\n.Sh ")[0]
    text = text.replace("\\e\n", "")
    found = re.findall(r"^(?:\.Dl \$ |\$ )(.*)$", text, re.M) + re.findall(r"^((?:id=\$\()?gsubmit .*)$", text, re.M)
    assert found, f"{page}.1 has no example"
    return [(page, re.sub(r"\s+", " ", line.replace("\\-", "-"))) for line in found]


@pytest.fixture(scope="module")
def cluster():
    with Cluster(nodes=("h04",), gpus="h100:4", cpus=64, hardware=HARDWARE, policy=POLICY) as c:
        jobs = c.dir / "jobs"
        for name in ("embed.sh", "job.sh", "check.sh", "train.sh", "train", "count", "ocr", "serve", "nvidia-smi", "jq", "simulate"):
            (jobs / name).write_text("#!/bin/sh\necho done\n")
            (jobs / name).chmod(0o755)
        (jobs / "data").write_text("b\na\n")
        yield c


def one_of(cluster, *options, ends=False, runs=False):
    job = cluster.submit("echo out; echo err >&2" if ends else "exec sleep 600", *options)
    if ends:
        cluster.wait_state(job, "COMPLETED")
    if runs:
        cluster.wait_state(job, "RUNNING")
    return str(job)


@pytest.mark.parametrize("page, line", [x for p in PAGES for x in command_lines(p)])
def test_an_example(cluster, page, line):
    if any(line.startswith(word) for word in ELSEWHERE):
        pytest.skip(next(why for word, why in ELSEWHERE.items() if line.startswith(word)))
    for name in sorted(set(re.findall(r"\b4\d\d\d(?:_\[?\d+)?\b", line))):
        number = name.partition("_")[0]
        array = ["--array=0-199"] if f"{number}_" in line else []
        if page in ("glog", "gacct") or "STATE,EXIT" in line:
            job = one_of(cluster, *(["--array=7"] if array else []), "--error=%j.%a.err", ends=True)
        elif "--signal" in line:
            job = one_of(cluster, runs=True)
        else:
            job = one_of(cluster, "--hold", *array, *([] if array else ["--gpus=1"]))
        line = re.sub(rf"\b{number}\b|\b{number}(?=_)", job, line)
    line = line.replace("--rank=3", "--rank=0").replace("h04:GPU-6f1c", "h04:0").replace("--user=ana", "--user=$(id -un)")
    path = f"{cluster.dir}/jobs:{BIN['gctl'].parent}:{cluster.env['PATH']}"
    r = subprocess.run(["bash", "-c", line], env={**cluster.env, "PATH": path}, cwd=cluster.dir / "jobs", capture_output=True,
                       input="exit\n" if "--pty" in line else "", text=True, timeout=120, check=False)
    assert r.returncode == 0, (line, r.stdout, r.stderr)
    assert "error: " not in r.stderr, (line, r.stderr)
    if "gctl" in line:
        cluster.run("gctl", "resume", "h04")
        cluster.run("gctl", "resume", "h04:0", check=False)
    cluster.run("gcancel", "--state=PENDING,CONFIGURING,RUNNING", check=False)
