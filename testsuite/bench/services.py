#!/usr/bin/python3
"""services.py - `make bench-services`: how soon services follow what happens to them

On a cluster as test_feed.py has it: an ill replica that is well again until it is in gfeed's file, a killed server until
it is out, a service that is new to gfeed, a step of load until the decision; and a thousand services of ten replicas on
simulated nodes: what they take of the controller. Prints rows for RESULTS.md; --write FILE puts them there.
"""

import argparse
import concurrent.futures
import datetime
import os
import pathlib
import random
import re
import signal
import sys
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent / "system/lib"), str(HERE.parent / "system/jobs"), str(HERE)]
from cluster import BIN, Daemon, wait_until  # noqa: E402
from test_feed import SERVER, Feeding  # noqa: E402
from test_scaling import Scaling  # noqa: E402
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
                "of more than four changes in turn a shepherd tells one a second"),
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


# --- decisions -----------------------------------------------------------------------------------


def step_rows(tries):
    """Ten times the load from one moment to the next, with the usual windows: until the number wanted is another one."""
    took = []
    with Scaling(partitions=PARTITIONS, cpus=32) as c:
        for i in range(tries):
            name = f"step{i}"
            c.load(32)
            c.serve(name, "--replicas=1-8", "--metrics=vllm", "--target=64")
            until(lambda: c.service(name)["in_flight"] > 1)
            time.sleep(4 + random.random())
            c.load(320)
            took.append(until(lambda: c.service(name)["wanted"] > 1))
            c.run("gserve", "stop", name)
            c.wait_gone(name)
    return [row("32, and then 320 in flight at --target=64, until the decision", took, "2 s p99", "gprobe asks once a second, gctld decides once a "
                "second; KEDA polls each 30 s, Ray Serve waits 30 s, Knative's panic window is 6 s")]


# --- a thousand services -------------------------------------------------------------------------

NODES = 250


def cpu_s(pid):
    fields = open(f"/proc/{pid}/stat").read().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def figure(c, name):
    words = [line.split() for line in c.run("gctl", "stats").stdout.splitlines()]
    return next(float(w[1].replace(",", "")) for w in words if w and w[0] == name)


def many_rows(services, seconds):
    """Ten replicas each on simulated nodes, whose loads change each second and on the whole stay the same."""
    names = f"n[001-{NODES}]"
    with Feeding(nodes=["x"], start=False, partitions=PARTITIONS) as c:
        text = re.sub(r"nodes = \( \{.*?\} \);", f'nodes = ( {{ name = "{names}"; cpus = 64; gpus = "demo:8"; }} );',
                      c.conf_text(), count=1)
        c.write_conf(text)
        c.start_munged()
        c.start_ctld()
        c.agents["sim"] = Daemon("gnoded --simulate", [
            BIN["gnoded"], "--foreground", "--simulate", str(NODES), "--nodes", names, "--rundir", c.dir / "run-sim", "--spool",
            c.dir / "spool-sim", "--pretend", "cpus=64,mem=256G"], c.dir / "log/sim.log", c.env)
        wait_until(lambda: figure(c, "core.nodes_up") == NODES, "the nodes", 120)
        script = c.script()

        def submit(i):
            c.run("gsubmit", f"--service=s{i:04}", "--replicas=10-12", "--ports=1", "--metrics=vllm", "--target=15", script)
        begin = time.monotonic()
        with concurrent.futures.ThreadPoolExecutor(4) as pool:
            list(pool.map(submit, range(services)))
        wait_until(lambda: figure(c, "core.jobs_running") >= 10 * services, "all replicas", 300)
        up = time.monotonic() - begin
        assert c.service("s0000")["in_flight"] > 1, c.service("s0000")
        time.sleep(70)  # the windows are full, and loop.stall is of a time without starts
        before, at = cpu_s(c.ctld.pid), time.monotonic()
        time.sleep(seconds)
        share = (cpu_s(c.ctld.pid) - before) / (time.monotonic() - at)
        stall, work = figure(c, "loop.stall"), figure(c, "loop.work_ever")
        running = figure(c, "core.jobs_running")
    return [f"| {services} services, {running:.0f} replicas on {NODES} simulated nodes, which tell loads once a second | {share * 100:.1f} % "
            f"of a core | 5 % | over {seconds} s; submitted and up in {up:.0f} s |",
            f"| the same: longest stall of the loop | {stall:.1f} ms, processor time of any piece since the start {work:.1f} ms at most | 20 ms | other work on "
            "the machine |"]


# --- the whole -----------------------------------------------------------------------------------

MARK = "<!-- services -->", "<!-- end of services -->"


def write(path, rows):
    text = pathlib.Path(path).read_text()
    begin, end = text.index(MARK[0]) + len(MARK[0]), text.index(MARK[1])
    head = "\n| what | figure | goal | note |\n| --- | --- | --- | --- |\n"
    pathlib.Path(path).write_text(text[:begin] + head + "\n".join(rows) + "\n" + text[end:])


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--write", metavar="FILE", help="put the rows between the marks of this file")
    parser.add_argument("--tries", type=int, default=20)
    parser.add_argument("--services", type=int, default=1000)
    parser.add_argument("--only", choices=("feed", "step", "many"), action="append")
    args = parser.parse_args()
    parts = {"feed": lambda: feed_rows(args.tries), "step": lambda: step_rows(args.tries), "many": lambda: many_rows(args.services, 60)}
    rows = [line for name, part in parts.items() if not args.only or name in args.only for line in part()]
    rows.append(f"\n{datetime.date.today()}, {os.cpu_count()} cores, load {os.getloadavg()[1]:.0f}, `testsuite/bench/services.py`.")
    print("\n".join(rows))
    if args.write:
        write(args.write, rows)


if __name__ == "__main__":
    main()
