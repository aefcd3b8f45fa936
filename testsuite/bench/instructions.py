#!/usr/bin/python3
"""instructions.py - what bench_core and a restart of the controller cost in instructions, in several build folders

usage: instructions.py BUILD...   one row a figure, one column a build; beside the first, how much more the others take

For machines whose clock says nothing, because other programs run beside: valgrind counts. Compare builds with the same
flags. bench_core is compiled once more, itself without inlining, so that the parts of it can be told apart (the core
keeps its flags), and it runs by a clock that goes on at each look: all builds decide about the same moments.
"""

import os
import pathlib
import re
import subprocess
import sys
import tempfile

CLOCK = """
#include <time.h>
int clock_gettime(clockid_t c, struct timespec *t)
{
	static long long now = 1000000000000LL;

	(void)c;
	now += 20000;
	t->tv_sec = now / 1000000000;
	t->tv_nsec = now % 1000000000;
	return 0;
}
"""
JOBS, NODES, RESTARTED = "50000", "2000", "30000"
ROWS = (
    ("submits, 50,000", "submit_batch"), ("sealing of what they changed", "core_seal"), ("registrations, 2,000", "agent_up"),
    ("--why, 50 times", "core_job_why"), ("ends of runs with their decisions", "bench_events"), ("full passes, 30", "bench_passes"),
    ("a listing of all", "bench_listing"), ("rows loaded", "core_load"), ("7,500 searches for one GPU", "bench_search"))
RESTART = """
import sys
from cluster import BIN, Cluster
with Cluster(start=False) as c:
    c.start_munged()
    c.start_ctld()
    c.run(sys.argv[1] + "/testsuite/bench/bench_client", "pipelined", sys.argv[3], timeout=600)
    c.ctld.stop()
    counted = c.dir / "gctld-counted"
    counted.write_text(f'#!/bin/sh\\nexec valgrind -q --tool=callgrind --callgrind-out-file={sys.argv[2]} {BIN["gctld"]} "$@"\\n')
    counted.chmod(0o755)
    BIN["gctld"] = counted
    c.start_ctld()
    c.ctld.stop()
"""


def instructions(path):
    """Inclusive instructions by function; the whole program's as "total"."""
    r = subprocess.run(["callgrind_annotate", "--inclusive=yes", "--threshold=100", "--show-percs=no", path],
                       capture_output=True, text=True, check=True)
    found = {}
    for line in r.stdout.splitlines():
        m = re.match(r"\s*([\d,]+)\s+(?:PROGRAM (TOTALS)|\S+?:(\w+)(?:\s|$))", line)
        if m:
            name = "total" if m[2] else m[3]
            found[name] = max(found.get(name, 0), int(m[1].replace(",", "")))
    return found


def count_core(build, folder):
    target = ["make", "-s", "-C", build, "testsuite/bench/bench_core"]
    subprocess.run(target, check=True)
    for old in ("bench_core", "bench_core.o", "core_places.o"):
        (build / "testsuite/bench" / old).unlink(missing_ok=True)
    subprocess.run([*target, "CFLAGS=-g -O2 -fno-inline"], check=True)
    out = folder / "core"
    subprocess.run(["valgrind", "-q", "--tool=callgrind", f"--callgrind-out-file={out}", build / "testsuite/bench/bench_core",
                    folder, JOBS, NODES], env={**os.environ, "LD_PRELOAD": str(folder / "clock.so")}, check=False,
                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)  # it ends at the search on node 4200
    found = instructions(out)
    return {name: found.get(function, 0) for name, function in ROWS}


def count_restart(build, folder):
    out = folder / "restart"
    out.touch()
    out.chmod(0o666)  # the controller writes it as a user of its own
    lib = pathlib.Path(re.search(r"(?m)^abs_top_srcdir = (.*)", (build / "Makefile").read_text())[1]) / "testsuite/system/lib"
    subprocess.run([sys.executable, "-c", RESTART, build, out, RESTARTED], check=True, stdout=subprocess.DEVNULL,
                   env={**os.environ, "GPUSCHED_BUILD": str(build), "PYTHONPATH": str(lib), "GPUSCHED_TEST_DEADLINE": "600"})
    return {f"a controller's start with {int(RESTARTED):,} waiting jobs, to its end": instructions(out)["total"]}


def main():
    builds = [pathlib.Path(b).resolve() for b in sys.argv[1:]]
    if not builds or any(not (b / "Makefile").exists() for b in builds):
        sys.exit("usage: instructions.py BUILD...")
    with tempfile.TemporaryDirectory(prefix="gpusched-bench-") as name:
        folder = pathlib.Path(name)
        folder.chmod(0o777)
        (folder / "clock.c").write_text(CLOCK)
        subprocess.run(["gcc", "-O2", "-shared", "-fPIC", "-o", folder / "clock.so", folder / "clock.c"], check=True)
        counts = [{**count_core(b, folder), **count_restart(b, folder)} for b in builds]
    print("| millions of instructions |" + "".join(f" {b} |" for b in builds) + "\n| --- |" + " --- |" * len(builds))
    for row in counts[0]:
        first = counts[0][row] or 1
        print(f"| {row} | {counts[0][row] / 1e6:,.1f} |" + "".join(f" {c[row] / 1e6:,.1f} ({c[row] / first:.2f}) |" for c in counts[1:]))
    return 0


if __name__ == "__main__":
    sys.exit(main())
