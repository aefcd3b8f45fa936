#!/usr/bin/python3
"""demand.py - `make bench-demand`: what gdemand finds in random queues, beside theory, and in real histories

The queues are M/M/c: jobs of one GPU that come independently of each other, with exponential durations of 1,000 s in
the mean. GPUSCHED_TRACES is the folder with the real histories; without it they are left out. Prints tables in
Markdown; --write FILE puts them between its marks.
"""

import argparse
import json
import math
import os
import pathlib
import random
import re
import statistics
import subprocess
import sys
import tempfile
import time

BUILD = pathlib.Path(os.environ.get("GPUSCHED_BUILD", pathlib.Path(__file__).resolve().parents[2] / "build-gcc"))
GDEMAND = BUILD / "ctld/gdemand/gdemand"
TRACES = pathlib.Path(os.environ.get("GPUSCHED_TRACES", ""))
MEAN = 1000
TARGET = 100
QUEUES = [(2, 1.2), (8, 5.2), (30, 24.0)]


def gdemand(*argv):
    """The answers as JSON, and how long they took."""
    print("demand: gdemand", *argv, file=sys.stderr, flush=True)
    begin = time.monotonic()
    r = subprocess.run([GDEMAND, "--json", "-q", *map(str, argv)], capture_output=True, text=True, check=True)
    return json.loads(r.stdout), time.monotonic() - begin


def row(*cells):
    return "| " + " | ".join(str(c) for c in cells) + " |"


def table(head, rows):
    return "\n".join([row(*head), row(*["---"] * len(head)), *[row(*r) for r in rows], ""])


# --- queues ---------------------------------------------------------------------------------------


def erlang_waits(load, servers):
    blocked = 1.0
    for k in range(1, servers + 1):
        blocked = load * blocked / (k + load * blocked)
    return blocked / (1 - load / servers * (1 - blocked))


def late(load, servers):
    """The part of the jobs that waits longer than TARGET."""
    return erlang_waits(load, servers) * math.exp(-(servers - load) * TARGET / MEAN) if load < servers else 1


def poisson(load, part):
    total, term, k = 0.0, math.exp(-load), 0
    while total + term < part:
        total, k = total + term, k + 1
        term *= load / k
    return k


def make_queue(path, load, jobs, seed):
    chance = random.Random(seed)
    now = 0.0
    with open(path, "w") as f:
        f.write("submit_s,duration_s,gpus\n")
        for _ in range(jobs):
            now += chance.expovariate(load / MEAN)
            f.write(f"{now:.6f},{chance.expovariate(1 / MEAN):.6f},1\n")


def found_of(folder, servers, load, jobs, seed):
    (folder / "nodes.csv").write_text(f"node,gpus\nn,{servers}\n")
    make_queue(folder / "queue.csv", load, jobs, seed)
    found, _ = gdemand("--rounds=0", "--account-column=none", "--nodes", folder / "nodes.csv", f"--max-wait={TARGET}s", folder / "queue.csv")
    wanted, queue = found["concurrency"]["rows"][0], found["queue"]["rows"][0]
    return [wanted["mean"], wanted["floor"]["value"], wanted["p50"]["value"], wanted["p95"]["value"], queue["mean"],
            1 - queue["in_target"]["value"], queue["little"]]


def queues(folder, jobs, seeds):
    head = ["GPUs", "load", "", "wanted: mean", "p5", "p50", "p95", "GPUs waiting, mean", f"later than {TARGET} s", "Little"]
    rows = []
    for servers, load in QUEUES:
        have = [statistics.mean(v) for v in zip(*(found_of(folder, servers, load, jobs, seed) for seed in range(seeds)))]
        waits = erlang_waits(load, servers)
        want = [load, poisson(load, 0.05), poisson(load, 0.5), poisson(load, 0.95), waits * load / (servers - load), late(load, servers), 1]
        rows += [[servers, load, "theory", *(f"{v:.4g}" for v in want)], [servers, load, "gdemand", *(f"{v:.4g}" for v in have)],
                 [servers, load, "off by", *(f"{100 * (h / w - 1):+.2f} %" if w else "-" for h, w in zip(have, want))]]
    return f"M/M/c through gsim's scheduler, histories of {jobs:,} jobs, mean of {seeds}:\n\n" + table(head, rows)


def sizes(folder, jobs):
    """The smallest cluster, against the least c of Erlang's C."""
    (folder / "nodes.csv").write_text("node,gpus\nn,1\n")
    rows = []
    for load in 3.0, 12.0, 40.0:
        make_queue(folder / "queue.csv", load, jobs, 5)
        found, _ = gdemand("--rounds=0", "--account-column=none", "--nodes", folder / "nodes.csv", "--size", f"--max-wait={TARGET}s",
                           folder / "queue.csv")
        best = next(r for r in found["size"]["rows"] if r["verdict"].startswith("the smallest"))
        want = next(c for c in range(1, 10000) if late(load, c) <= 0.05)
        rows.append([load, want, int(best["gpus"]), f"{100 * (1 - late(load, want)):.2f} %", f"{100 * best['in_target']['value']:.2f} %"])
    return f"The smallest cluster for 95 % within {TARGET} s, {jobs:,} jobs:\n\n" + table(
        ["load", "GPUs by Erlang's C", "by --size", "in target by Erlang's C", "by --size"], rows)


# --- real histories -------------------------------------------------------------------------------


def interval(cell, scale=1, digits=0):
    if cell["low"] is None:
        return f"{cell['value'] * scale:.{digits}f}"
    return f"{cell['value'] * scale:.{digits}f} [{cell['low'] * scale:.{digits}f}, {cell['high'] * scale:.{digits}f}]"


def history(folder, name, gpus, *argv):
    (folder / "nodes.csv").write_text(f"node,gpus\nn,{gpus}\n")
    found, took = gdemand("--account-column=none", "--nodes", folder / "nodes.csv", "--size", "--max-wait=1h", *argv, TRACES / name)
    wanted, took_each = found["concurrency"]["rows"][0], found["durations"]["rows"][0]
    best = next(r for r in found["size"]["rows"] if r["verdict"].startswith("the smallest"))
    jobs = next(r["value"] for r in found["history"]["rows"] if r["what"] == "jobs with GPUs")
    _, alone = gdemand("--account-column=none", TRACES / name)
    return [name, jobs, f"{wanted['mean']:.1f}", interval(wanted["floor"]), interval(wanted["p50"]), interval(wanted["p95"]),
            interval(wanted["kept_1h"]), interval(took_each["spread"]), f"{best['nodes']:.0f} x {gpus}", interval(best["in_target"], 100, 1),
            f"{alone:.1f}", f"{took:.0f}"]


def histories(folder):
    head = ["history", "jobs", "mean", "floor (p5)", "p50", "p95", "kept 1 h", "p99 / p50 of durations", "95 % within 1 h: nodes x GPUs",
            "in target, %", "s, tables", "s, with --size"]
    rows = [history(folder, "philly_2017_sep_oct.csv.gz", 8), history(folder, "philly_2017_sep_oct.csv.gz", 8, "--from=21d"),
            history(folder, "muri_trace1.csv.gz", 8), history(folder, "openb_default.csv.gz", 8)]
    rows[1][0] += ", from day 21"
    return "Real histories, all accounts, with 95 % intervals of blocks of weeks:\n\n" + table(head, rows)


def main():
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument("--write", metavar="FILE", help="put the tables into this file, between its marks")
    ap.add_argument("--jobs", type=int, default=300000, help="of each queue (default 300000)")
    ap.add_argument("--seeds", type=int, default=10, help="queues of each kind (default 10)")
    args = ap.parse_args()
    with tempfile.TemporaryDirectory(prefix="gpusched-demand-") as name:
        folder = pathlib.Path(name)
        parts = [queues(folder, args.jobs, args.seeds), sizes(folder, args.jobs)]
        if (TRACES / "muri_nodes.csv").exists():
            parts.append(histories(folder))
    text = "\n".join(parts)
    print(text)
    if args.write:
        path = pathlib.Path(args.write)
        path.write_text(re.sub(r"(?s)<!-- demand -->.*<!-- end of demand -->",
                               lambda _: f"<!-- demand -->\n{text}<!-- end of demand -->", path.read_text()))
    return 0


if __name__ == "__main__":
    sys.exit(main())
