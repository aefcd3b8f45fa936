#!/usr/bin/python3
"""scaling.py - `make bench-scaling`: GPU-hours for the same wait, by our scaler and by the published rivals

An autoscaler with a lower target has more replicas and shorter waits, so one target for all compares nothing. Each
is run with each target of a grid; what it needs for a p95 of the wait is read off between the two targets around it.
The histories are made by gsim from seeds that the scaler was not tuned on (those were 51 to 58, before that bursts:1,
bursts:2, bursts:21 and day:1), and, where GPUSCHED_TRACES has them, the second halves of Azure's AzureLLMInferenceTrace
files. --write FILE puts the table between its marks.
"""

import argparse
import json
import os
import pathlib
import re
import subprocess
import sys

BUILD = pathlib.Path(os.environ.get("GPUSCHED_BUILD", pathlib.Path(__file__).resolve().parents[2] / "build-gcc"))
GSIM = BUILD / "ctld/gsim/gsim"
TRACES = pathlib.Path(os.environ.get("GPUSCHED_TRACES", "/nonexistent"))
SCALERS = ["ours", "knative", "keda", "ray"]
TARGETS = [t / 4 for t in (6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 32, 36, 40, 44, 48, 52, 56, 64)]
WAITS = (2, 5, 10)
SERVICE = ["--replicas=1-80"]


def histories(seeds):
    for load_time in (60, 180):
        for seed in seeds:
            yield f"bursts:{seed}, ready after {load_time} s", [f"--requests=bursts:{seed}", f"--load-time={load_time}s"]
    for seed in seeds[:2]:
        yield f"day:{seed}, ready after 60 s", [f"--requests=day:{seed}"]
    for path in sorted(TRACES.glob("AzureLLMInferenceTrace_*.csv*")):
        # an hour of a service of a few replicas: four times the requests, and the half that was not tuned on
        yield f"{path.name}, second half, x 4", ["--format=requests", "--scale-load=4", "--from=7m", path]


def curves(argv):
    """(p95 of the wait, GPU-hours) for each target, of each scaler."""
    out = {s: [] for s in SCALERS}
    for target in TARGETS:
        r = subprocess.run([GSIM, "--json", f"--target={target}", f"--scaler={','.join(SCALERS)}", *SERVICE, *argv],
                           capture_output=True, text=True, check=True)
        for row in json.loads(r.stdout)["scalers"]:
            out[row["scaler"]].append((row["wait_p95_s"], row["gpu_hours"]))
    return out


def hours_for(points, wait):
    """The least GPU-hours for that p95, between neighbouring targets; None: it is always above."""
    best = None
    for (w1, h1), (w2, h2) in zip(points, points[1:]):
        if w1 <= wait:
            h = h1 if w2 <= wait else h1 + (h2 - h1) * (wait - w1) / (w2 - w1)
            best = min(h, h1) if best is None else min(best, h, h1)
    return best


def rows(seeds):
    for name, argv in histories(seeds):
        print(f"scaling: {name}", file=sys.stderr, flush=True)
        c = curves(argv)
        for wait in WAITS:
            hours = {s: hours_for(c[s], wait) for s in SCALERS}
            rivals = [h for s, h in hours.items() if s != "ours" and h is not None]
            change = "" if hours["ours"] is None or not rivals else f"{100 * (hours['ours'] / min(rivals) - 1):+.0f} %"
            yield [name, f"{wait} s", *("-" if hours[s] is None else f"{hours[s]:.1f}" for s in SCALERS), change]


def main():
    ap = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    ap.add_argument("--seeds", default="31,32,33")
    ap.add_argument("--write", metavar="FILE", help="put the table into this file, between its marks")
    args = ap.parse_args()
    head = ["history", "p95 of the wait", *SCALERS, "ours beside the best rival"]
    lines = [head, ["---"] * len(head), *rows(args.seeds.split(","))]
    text = "\n".join("| " + " | ".join(r) + " |" for r in lines)
    print(text)
    if args.write:
        path = pathlib.Path(args.write)
        path.write_text(re.sub(r"(?s)<!-- services-scaling -->.*<!-- end of services-scaling -->",
                               lambda _: f"<!-- services-scaling -->\n{text}\n<!-- end of services-scaling -->", path.read_text()))


if __name__ == "__main__":
    main()
