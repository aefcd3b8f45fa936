#!/usr/bin/python3
"""histories.py - `make histories`: gsim on real histories, beside the figures that others published

GPUSCHED_TRACES is the folder with the histories (its README names their sources and the published figures that are
repeated here). Prints tables in Markdown; --write FILE puts them between its marks. Nothing is left out: a run that
takes longer than --timeout is listed as such.
"""

import argparse
import json
import os
import pathlib
import re
import statistics
import subprocess
import sys
import tempfile

BUILD = pathlib.Path(os.environ.get("GPUSCHED_BUILD", pathlib.Path(__file__).resolve().parents[2] / "build-gcc"))
GSIM = BUILD / "ctld/gsim/gsim"
TRACES = pathlib.Path(os.environ.get("GPUSCHED_TRACES", ""))
SEEDS = range(42, 52)
NO_WEIGHTS = re.compile(r"\b(age|fair_share|size|partition|qos|wait_target) = [0-9]+;")

# What jobs ask for, and who is next: the columns of the tables.
POLICIES = {
    "strict FIFO": ["--policy=fifo"],
    "no limits": [],
    "exact limits": ["--time-limit=exact"],
    "limits x 1 to 3": ["--time-limit=3"],
}
timeout = 600


def gsim(*argv):
    """The report, and the CPU seconds it took; None: it took too long."""
    print("histories: gsim", *argv, file=sys.stderr, flush=True)
    try:
        r = subprocess.run([GSIM, "--json", *map(str, argv)], capture_output=True, text=True, timeout=timeout, check=True)
    except subprocess.TimeoutExpired:
        return None, 0
    return json.loads(r.stdout), float(re.search(r"jobs in ([0-9.]+) s of CPU", r.stderr).group(1))


def in_order(folder, nodes):
    """A configuration in which jobs go in the order in which they came."""
    text = subprocess.run([GSIM, "--nodes", nodes, "--show-config"], capture_output=True, text=True, check=True).stdout
    head, weights = text.split("weights = {")
    path = pathlib.Path(folder) / "gpusched.conf"
    path.write_text(head + "weights = {" + NO_WEIGHTS.sub(r"\1 = 0;", weights))
    return path


def row(*cells):
    return "| " + " | ".join(str(c) for c in cells) + " |"


def table(head, rows):
    return "\n".join([row(*head), row(*["---"] * len(head)), *[row(*r) for r in rows], ""])


def seconds(value):
    return f"{value:,.0f}" if value >= 100 else f"{value:,.1f}"


def figures(r, cpu):
    """What is said of each run."""
    if r is None:
        return [f"more than {timeout} s"] + [""] * 8
    est = r["estimate_minus_actual_s"]
    late = f"{r['jobs']['late']} of {est['n']}" if est["n"] else "-"
    return [seconds(r["wait_s"]["mean"]), seconds(r["completion_s"]["mean"]), seconds(r["completion_s"]["p99"]),
            seconds(r["makespan_s"]), f"{100 * r['gpu_allocation_while_waiting']:.1f} %",
            f"{est['p50']:,.0f} / {est['p95']:,.0f}" if est["n"] else "-", late, f"{r['jobs']['refused']}",
            f"{r['jobs']['ended'] / cpu:,.0f}"]


HEAD = ["mean wait s", "mean JCT s", "99th JCT s", "makespan s", "GPUs given while jobs waited",
        "estimate - actual s, p50 / p95", "late", "refused", "jobs/s of CPU"]


def replay(folder, nodes, history, first, *argv):
    conf = in_order(folder, nodes)
    return [[*first, name, *figures(*gsim("-f", conf, "--account-column=none", *argv, *how, TRACES / history))]
            for name, how in POLICIES.items()]


def muri(folder):
    published = [["1", "published: SRTF", "", "1,370,603", "16,647,148", "26,045,466"],
                 ["1", "published: SRSF", "", "980,141", "15,529,913", "26,065,759"],
                 ["1", "published: Tiresias-L", "", "3,330,371", "14,739,852", "23,556,410"],
                 ["1", "published: Themis", "", "1,823,179", "17,159,064", "24,658,269"],
                 ["1'", "published: SRTF", "", "2,303,544", "19,871,388", "24,513,544"],
                 ["1'", "published: SRSF", "", "1,801,860", "18,267,308", "24,272,530"],
                 ["1'", "published: Tiresias-L", "", "6,921,683", "21,765,401", "21,990,478"],
                 ["1'", "published: Themis", "", "3,314,303", "20,555,281", "23,369,493"]]
    nodes, history = TRACES / "muri_nodes.csv", "muri_trace1.csv.gz"
    ours = replay(folder, nodes, history, ["1"]) + replay(folder, nodes, history, ["1'"], "--scale-load=1000000")
    rows = [r + [""] * (len(HEAD) + 2 - len(r)) for r in published] + ours
    return "### muri_trace1, 8 nodes x 8 GPUs\n\n" + table(["trace", "policy", *HEAD], rows)


def philly(folder):
    checks = {80: ("162,760", "176,430"), 100: ("1,757", "15,427"), 128: ("19.2", "13,689")}
    rows = []
    for n, (wait, jct) in checks.items():
        nodes = pathlib.Path(folder) / "nodes.csv"
        nodes.write_text(f"node,count,gpus\nn,{n},8\n")
        rows.append([n, "own check of the traces' README: FIFO", wait, jct] + [""] * (len(HEAD) - 2))
        rows += replay(folder, nodes, "philly_2017_sep_oct.csv.gz", [n])
    return "### philly_2017_sep_oct, one pool of nodes x 8 GPUs\n\n" + table(["nodes", "policy", *HEAD], rows)


def mean_and_sd(values):
    return f"{100 * statistics.mean(values):.2f}+-{100 * statistics.pstdev(values):.2f}"


def openb():
    rows = [["published: Random", "86.30+-0.33", "87.47+-0.32"], ["published: DotProd", "90.62+-0.19", "90.85+-0.20"],
            ["published: GpuClustering", "91.65+-0.61", "91.88+-0.62"], ["published: GpuPacking", "91.78+-0.53", "92.00+-0.54"],
            ["published: BestFit", "92.86+-0.14", "93.08+-0.13"], ["published: FGD", "95.23+-0.11", "95.39+-0.08"]]
    for how, words in ("skip", "whole GPUs only: shared pods left out"), ("round", "shared pods rounded up to a whole GPU"), \
            ("share", "shared pods share"):
        runs = [gsim("--nodes", TRACES / "openb_nodes.csv", "--inflate=130", f"--shared={how}", f"--seed={seed}",
                     TRACES / "openb_default.csv.gz")[0]["inflation"] for seed in SEEDS]
        rows.append([words, *(mean_and_sd([run[i]["allocated"] for run in runs]) for i in (0, 1))])
    return "### openb_default on openb_nodes: GPUs allocated, %, seeds 42 to 51\n\n" + table(["", "100 % arrived", "130 %"], rows)


def main():
    global timeout
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument("--write", metavar="FILE", help="put the tables into this file, between its marks")
    ap.add_argument("--timeout", type=int, default=timeout, help=f"seconds for one run (default {timeout})")
    args = ap.parse_args()
    timeout = args.timeout
    if not (TRACES / "muri_nodes.csv").exists():
        ap.error("GPUSCHED_TRACES is not the folder with the histories")
    with tempfile.TemporaryDirectory(prefix="gpusched-histories-") as folder:
        text = "\n".join([muri(folder), philly(folder), openb()])
    print(text)
    if args.write:
        path = pathlib.Path(args.write)
        path.write_text(re.sub(r"(?s)<!-- histories -->.*<!-- end of histories -->",
                               lambda _: f"<!-- histories -->\n{text}<!-- end of histories -->", path.read_text()))
    return 0


if __name__ == "__main__":
    sys.exit(main())
