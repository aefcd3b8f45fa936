#!/usr/bin/python3
"""pack.py - `make bench-pack`: how much of the GPUs can be given out, here and by FGD and BestFit

GPUSCHED_TRACES is the folder with the histories (histories.py). Each mix is made of openb_default, from a seed of its
name: pods are drawn again or left out, or name types. All three place the same pods in the same order on openb_nodes.
Prints a table in Markdown: the part of the GPUs given out when as many as there are had been asked for, and at 130 %;
means of the seeds from 42 on. The last column is what we have more than the better of the two.

The pods' CPUs have fractions, which gsim rounds up; so the CPUs of pods and nodes are given in parts of 1/500.
"""

import argparse
import csv
import gzip
import json
import os
import pathlib
import random
import statistics
import subprocess
import sys
import tempfile

BUILD = pathlib.Path(os.environ.get("GPUSCHED_BUILD", pathlib.Path(__file__).resolve().parents[2] / "build-gcc"))
GSIM = BUILD / "ctld/gsim/gsim"
TRACES = pathlib.Path(os.environ.get("GPUSCHED_TRACES", ""))
PARTS = 500  # of a CPU
POLICIES = ["fgd", "bestfit", "configured"]

# The most GPUs that a node of the type has, and GPUs of it in all.
TYPES = {"G2": (8, 4392), "T4": (4, 842), "G3": (8, 312), "P100": (2, 265), "V100M32": (8, 204), "V100M16": (8, 195), "A10": (1, 2)}
BY_CAPACITY = [(t, n) for t, (_, n) in TYPES.items()]
# Most of those that name types name one that is scarce here.
SCARCE = [("T4", 49), ("V100M16|V100M32", 13), ("G2", 12), ("P100", 12), ("P100|V100M16|V100M32", 7), ("G3", 2),
          ("G2|P100|T4|V100M16|V100M32", 2), ("A10|G2|T4|V100M16|V100M32", 2), ("P100|T4|V100M16|V100M32", 1)]


def gpus(pod):
    return int(pod["gpus"])


def demand(pod):
    return gpus(pod) * int(pod["gpu_milli"] or 0)


def multi_more(pods, part, rnd):
    """So many more pods with several GPUs."""
    several = [p for p in pods if gpus(p) > 1]
    return pods + rnd.choices(several, k=round(part * len(several)))


def multi_share(pods, share, rnd):
    """Pods with several GPUs ask for that share of all GPUs asked for."""
    several = [p for p in pods if gpus(p) > 1]
    one, have = sum(demand(p) for p in pods if gpus(p) == 1), sum(map(demand, several))
    more = []
    while have < share * (have + one):
        more.append(rnd.choice(several))
        have += demand(more[-1])
    return pods + more


def cpu_more(pods, part, rnd):
    """So many more pods without GPUs."""
    none = [p for p in pods if not gpus(p)]
    return pods + rnd.choices(none, k=round(part * len(none)))


def cpu_share(pods, share, rnd):
    """That share of the pods is without GPUs."""
    none = [p for p in pods if not gpus(p)]
    others = [p for p in pods if gpus(p)]
    k = round(share * len(others) / (1 - share))
    return others + (rnd.choices(none, k=k) if k > len(none) else none[:k])


def typed(pods, part, rnd, names):
    """That part of the pods with GPUs names types, of which some have nodes with as many."""
    out = []
    for pod in pods:
        if gpus(pod) and rnd.random() < part:
            fit = [(t, w) for t, w in names if any(TYPES[x][0] >= gpus(pod) for x in t.split("|"))]
            pod = dict(pod, gpu_type=rnd.choices([t for t, _ in fit], [w for _, w in fit])[0])
        out.append(pod)
    return out


MIXES = {
    "as it is": lambda p, r: p,
    "multi-GPU pods +50 %": lambda p, r: multi_more(p, .5, r),
    "half of the demand by multi-GPU pods": lambda p, r: multi_share(p, .5, r),
    "sharing pods only": lambda p, r: [x for x in p if not gpus(x) or (gpus(x) == 1 and x["gpu_milli"] != "1000")],
    "10 % name scarce types": lambda p, r: typed(p, .10, r, SCARCE),
    "33 % name scarce types": lambda p, r: typed(p, .33, r, SCARCE),
    "33 % name types by capacity": lambda p, r: typed(p, .33, r, BY_CAPACITY),
    "66 % name types by capacity": lambda p, r: typed(p, .66, r, BY_CAPACITY),
    "a quarter is CPU-only": lambda p, r: cpu_share(p, .25, r),
    "CPU-only pods +25 %": lambda p, r: cpu_more(p, .25, r),
    "CPU-only pods +250 %": lambda p, r: cpu_more(p, 2.5, r),
    "no CPU-only pods": lambda p, r: [x for x in p if gpus(x)],
    "30 % multi-GPU, 20 % CPU-only, 33 % typed": lambda p, r: typed(cpu_share(multi_share(p, .3, r), .2, r), .33, r, BY_CAPACITY),
}


def write(path, rows):
    with open(path, "w") as f:
        out = csv.DictWriter(f, list(rows[0]))
        out.writeheader()
        out.writerows(rows)
    return path


def write_nodes(folder):
    """The nodes, as a file in the folder."""
    with open(TRACES / "openb_nodes.csv") as f:
        return write(pathlib.Path(folder) / "nodes.csv", [dict(n, cpus=int(n["cpus"]) * PARTS) for n in csv.DictReader(f)])


def write_mix(folder, name):
    """The pods of a mix, as a file in the folder."""
    with gzip.open(TRACES / "openb_default.csv.gz", "rt") as f:
        pods = [dict(p, cpus=round(float(p["cpus"]) * PARTS)) for p in csv.DictReader(f)]
    rnd = random.Random(name)
    pods = MIXES[name](pods, rnd)
    return write(pathlib.Path(folder) / "pods.csv", [dict(p, submit_s=0) for p in pods])


def allocated(nodes, pods, policy, seed):
    """The parts of the GPUs given out, in per cent."""
    r = subprocess.run([GSIM, "--quiet", "--json", "--nodes", nodes, "--inflate=130", "--shared=share", f"--policy={policy}",
                        f"--seed={seed}", pods], capture_output=True, text=True, check=True)
    return [100 * p["allocated"] for p in json.loads(r.stdout)["inflation"]]


def means(nodes, pods, policy, seeds):
    return [statistics.mean(v) for v in zip(*(allocated(nodes, pods, policy, s) for s in seeds))]


def main():
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument("--seeds", type=int, default=3, help="so many, from 42 on (default 3)")
    ap.add_argument("--mix", action="append", choices=list(MIXES), help="only this one; may be given again")
    args = ap.parse_args()
    if not (TRACES / "openb_nodes.csv").exists():
        ap.error("GPUSCHED_TRACES is not the folder with the histories")
    print("| mix | FGD 100 % / 130 % | BestFit | ours | more than the better |\n| --- | --- | --- | --- | --- |")
    below = 0
    with tempfile.TemporaryDirectory(prefix="gpusched-pack-") as folder:
        nodes = write_nodes(folder)
        for name in args.mix or MIXES:
            pods = write_mix(folder, name)
            fgd, best, ours = (means(nodes, pods, p, range(42, 42 + args.seeds)) for p in POLICIES)
            more = [o - max(f, b) for o, f, b in zip(ours, fgd, best)]
            below += min(o - f for o, f in zip(ours, fgd)) < 0
            cells = [" / ".join(f"{v:.2f}" for v in r) for r in (fgd, best, ours)] + [" / ".join(f"{v:+.2f}" for v in more)]
            print("| " + " | ".join([name, *cells]) + " |", flush=True)
    if below:
        print(f"pack.py: below FGD on {below} of {len(args.mix or MIXES)} mixes", file=sys.stderr)
    return 1 if below else 0


if __name__ == "__main__":
    sys.exit(main())
