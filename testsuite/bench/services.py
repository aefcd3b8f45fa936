#!/usr/bin/python3
"""services.py - `make bench-services`: how soon services follow what happens to them

On a cluster as test_feed.py has it: an ill replica that is well again until it is in gfeed's file, a killed server until
it is out, a service that is new to gfeed, a step of load until the decision; and a thousand services of ten replicas on
simulated nodes: what they take of the controller. Prints rows for RESULTS.md; --write FILE puts them there.
"""

import argparse
import datetime
import json
import os
import pathlib
import re
import signal
import sys
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent / "system/lib"), str(HERE.parent / "system/jobs"), str(HERE)]
from cluster import BIN, Daemon, wait_until  # noqa: E402
from test_feed import SERVER, Feeding  # noqa: E402
from test_services import PARTITIONS  # noqa: E402

REST = 3  # seconds: the shepherd passes on four changes of health at once, then one a second


def percentiles(values):
    values = sorted(values)
    return values[len(values) // 2], values[min(len(values) - 1, int(len(values) * 0.99))], values[-1]


def until(condition, limit=30):
    """How long it took, in ms."""
    begin = time.monotonic()
    while not condition():
        if time.monotonic() - begin > limit:
            raise TimeoutError
        time.sleep(0.001)
    return (time.monotonic() - begin) * 1000


def row(name, values, goal, how):
    median, p99, worst = percentiles(values)
    return f"| {name} | median {median:.0f} ms, p99 {p99:.0f} ms, worst {worst:.0f} ms ({len(values)} tries) | {goal} | {how} |"


# --- gfeed ---------------------------------------------------------------------------------------


class Timed(Feeding):
    """Whose servers say when they listen: the file `up` is made then."""

    def script(self, version="one", *lines):
        path = self.dir / f"jobs/{version}.sh"
        server = SERVER.replace("VERSION", version).replace("Server((", "server = Server((")
        path.write_text("#!/bin/sh\n" + server.replace(".serve_forever()", "; open('up', 'w').close(); server.serve_forever()"))
        return path


def feed_rows(tries):
    with Timed(partitions=PARTITIONS, cpus=32) as c:
        try:
            c.feed("--all", f"--json={c.dir}/all.json")
            c.serve("chat", "--replicas=2")
            c.wait_ready("chat", 2)
            c.wait_fed(0, 1)
            sick = c.dir / "jobs/sick.1"
            out, back, fast = [], [], []
            for _ in range(tries):
                time.sleep(REST)
                sick.touch()
                out.append(until(lambda: c.fed() == [0]))
                time.sleep(REST)
                sick.unlink()
                back.append(until(lambda: c.fed() == [0, 1]))
            for _ in range(tries):
                sick.touch()
                until(lambda: c.fed() == [0])
                sick.unlink()
                fast.append(until(lambda: c.fed() == [0, 1]))
            new, dead = [], []
            for i in range(tries):
                name = f"new{i}"
                c.serve(name)
                until(lambda: c.fed(service=name) == [0])
                at = os.stat(c.dir / "all.json").st_mtime
                new.append((at - os.stat(c.dir / "jobs/up").st_mtime) * 1000)
                replica = c.service(name)["replicas"][0]
                os.kill(server_of(c, replica), signal.SIGKILL)
                dead.append(until(lambda: c.fed(service=name) == []))
                c.run("gserve", "stop", name)
                c.wait_gone(name)
        finally:
            c.end_others()
    probe = "its probe of up to 100 ms is in it"
    return [row("a replica that is well again until it is in gfeed's file", back, "300 ms", probe),
            row("one that is ill (two probes failed) until it is out", out, "", probe),
            row("well again, changed without a rest", fast, "",
                "after four changes a shepherd passes on one a second: that was the 669 ms of before"),
            row("a server that listens until it is in the file, of a service that is new to gfeed", new, "300 ms", "told, not polled"),
            row("a killed server until it is out", dead, "500 ms", "")]


def server_of(c, replica):
    """The process that listens on the replica's port."""
    port = f":{int(str(replica['ports'][0])):04X} "
    inodes = {line.split()[9] for line in open("/proc/net/tcp") if port in line.split()[1] + " " and line.split()[3] == "0A"}
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            if any(os.readlink(f"/proc/{pid}/fd/{fd}")[8:-1] in inodes for fd in os.listdir(f"/proc/{pid}/fd")):
                return int(pid)
        except OSError:
            continue
    raise LookupError(port)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--write", metavar="FILE", help="put the rows between the marks of this file")
    parser.add_argument("--tries", type=int, default=20)
    parser.add_argument("--only", choices=("feed",), action="append")
    args = parser.parse_args()
    rows = feed_rows(args.tries)
    print("\n".join(rows))


if __name__ == "__main__":
    main()
