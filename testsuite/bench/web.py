#!/usr/bin/python3
"""web.py - what gweb costs: scrapes a second with their p99, memory with 100,000 jobs, the controller's part, viewers

usage: GPUSCHED_BUILD=DIR testsuite/bench/web.py [--jobs N] [--rate N] [--seconds N] [--viewers N] [--window N] [--first] [--only-viewers]

Viewers are streams of /v1/watch, all of one user. Meanwhile a job is submitted five times a second; an event's delay is from
its submit's return until a viewer has it.

--first, as root: gweb's loop and the client go before all else on the machine (SCHED_FIFO), so that a machine
with other work says what one without would.
"""

import argparse
import json
import pathlib
import re
import selectors
import socket
import subprocess
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "system/lib"))
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import webserver  # noqa: E402
from cluster import BUILD, live_for, wait_until  # noqa: E402
from run import cpu_s, figures, rss_kb  # noqa: E402

ROWS = []


def row(name, value, least="", beside=""):
    ROWS.append(f"| {name} | {value} | {least} | {beside} |")
    print(ROWS[-1], flush=True)


def submit_many(c, n):
    lines = (json.dumps({"wrap": f"./ocr page-{i}.png", "job-name": f"page{i}", "time": 10, "hold": True}) for i in range(n))
    (c.dir / "jobs/bulk.jsonl").write_text("\n".join(lines))
    c.run("gsubmit", "--bulk", "bulk.jsonl", "--export=NONE", timeout=300)


FIRST = []


def scrapes(web, path, rate, seconds, connections=64):
    if FIRST:
        subprocess.run([*FIRST, "-p", "1", str(web.daemon.pid)], check=True)
    out = subprocess.run([*FIRST, *(["1"] if FIRST else []), BUILD / "testsuite/bench/bench_web", str(web.port), path, str(rate), str(seconds), str(connections)],
                         capture_output=True, text=True, check=False)
    assert out.returncode == 0, out.stderr
    return {k: v for k, (v, _) in figures(out.stdout).items()}


def share(pid, seconds):
    """Per cent of a core that the process takes."""
    before, t = cpu_s(pid), time.monotonic()
    live_for(seconds)
    return (cpu_s(pid) - before) / (time.monotonic() - t) * 100


def waiting(web):
    text = web.get("/metrics").body.decode()
    return sum(int(m) for m in re.findall(r'^gpusched_jobs_waiting\{.*\} (\d+)$', text, re.M))


def open_streams(web, n):
    """Sockets of n streams, of the user that this is."""
    cookie = web.browser().cookie
    request = f"GET /v1/watch HTTP/1.1\r\nHost: 127.0.0.1:{web.port}\r\nCookie: {cookie}\r\n\r\n".encode()
    streams = []
    for _ in range(n):
        s = socket.create_connection(("127.0.0.1", web.port))
        s.sendall(request)
        streams.append(s)
    return streams


class Viewers:
    """Reads what streams are told, and notes when each has heard of each job."""

    def __init__(self, streams):
        self.selector, self.rest, self.heard = selectors.DefaultSelector(), {}, {}
        for s in streams:
            s.setblocking(False)
            self.selector.register(s, selectors.EVENT_READ)
            self.rest[s] = b""

    def read(self, until):
        while (left := until - time.monotonic()) > 0:
            for key, _ in self.selector.select(left):
                data = key.fileobj.recv(1 << 16)
                assert data, "a stream has ended"
                now = time.monotonic()
                data = self.rest[key.fileobj] + data
                for name in set(re.findall(rb'"name":"(seen\d+)"', data)):
                    self.heard.setdefault((name.decode(), key.fd), now)
                self.rest[key.fileobj] = data[-20:]


def viewers(web, n, seconds):
    """What n viewers of the events cost, and when they hear of a job."""
    streams = open_streams(web, n)
    v = Viewers(streams)
    v.read(time.monotonic() + 3)
    born, began = {}, time.monotonic()
    before = cpu_s(web.daemon.pid), cpu_s(web.c.ctld.pid)
    most = 0
    while time.monotonic() < began + seconds:
        name = f"seen{len(born)}"
        web.c.run("gsubmit", "--hold", "-J", name, "--wrap", "true")
        born[name] = time.monotonic()
        v.read(born[name] + 0.2)
        most = max(most, rss_kb(web.daemon.pid))
    took = time.monotonic() - began
    own, theirs = ((cpu_s(p) - b) / took * 100 for p, b in zip((web.daemon.pid, web.c.ctld.pid), before))
    v.read(time.monotonic() + 5)
    delays = sorted(t - born[name] for (name, _), t in v.heard.items())
    assert len(delays) == n * len(born), f"{len(delays)} events of {n * len(born)} were heard"
    row(f"gweb: most resident memory with {n} viewers of /v1/watch", f"{most / 1024:.0f} MiB", "64 MiB",
        f"{rss_kb(web.daemon.pid) / 1024:.0f} MiB in the end")
    row(f"gweb: processor time with {n} viewers, {len(born) / took:.1f} new jobs a second", f"{own:.1f}% of a core", "",
        f"the controller meanwhile, with the submits: {theirs:.1f}%")
    row("gweb: from a submit's return until a viewer has the event, p99", f"{1000 * delays[len(delays) * 99 // 100]:.0f} ms", "",
        f"p50 {1000 * delays[len(delays) // 2]:.0f} ms; a snapshot comes once a second")
    for s in streams:
        s.close()


def main():
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument("--jobs", type=int, default=100000)
    ap.add_argument("--rate", type=int, default=2000)
    ap.add_argument("--seconds", type=int, default=10)
    ap.add_argument("--viewers", type=int, default=500)
    ap.add_argument("--window", type=int, default=30, help="seconds over which the controller's part is taken, with all jobs")
    ap.add_argument("--first", action="store_true")
    ap.add_argument("--only-viewers", action="store_true")
    args = ap.parse_args()
    if args.first:
        FIRST[:] = ["chrt", "-f"]
    with webserver.web_cluster("--period=1s", "--max-per-address=4096", nodes=[f"n{i}" for i in range(1, 9)]) as web:
        if args.only_viewers:
            submit_many(web.c, args.jobs)
            wait_until(lambda: waiting(web) == args.jobs, "all jobs to be seen", 120)
            viewers(web, args.viewers, args.seconds)
            return
        quiet = share(web.c.ctld.pid, args.seconds)
        web.close()
        bare = share(web.c.ctld.pid, args.seconds)
        web.start()
        for path in ("/metrics", "/metrics/jobs-users-accts"):
            before = cpu_s(web.daemon.pid)
            f = scrapes(web, path, args.rate, args.seconds)
            each = (cpu_s(web.daemon.pid) - before) / (args.rate * args.seconds) * 1e6
            row(f"gweb: {args.rate} scrapes of {path} a second, p99", f"{f['web_p99']:.3g} ms", "5 ms",
                f"p50 {f['web_p50']:.3g} ms, longest {f['web_max']:.3g} ms, {f['web_bytes'] / 1024:.0f} KiB each; "
                f"{each:.0f} us of gweb's processor time each")
        row("gweb: the controller's processor time for it, idle cluster", f"{max(0, quiet - bare):.2f}% of a core", "1%",
            f"{quiet:.2f}% with it, {bare:.2f}% without")
        submit_many(web.c, args.jobs)
        t = time.monotonic()
        wait_until(lambda: waiting(web) == args.jobs, "all jobs to be seen", 120)
        row(f"gweb: {args.jobs:,} new jobs until it shows all", f"{time.monotonic() - t:.2g} s")
        row(f"gweb: resident memory with {args.jobs:,} jobs", f"{rss_kb(web.daemon.pid) / 1024:.0f} MiB", "64 MiB")
        f = scrapes(web, "/metrics", args.rate, args.seconds)
        row(f"gweb: {args.rate} scrapes of /metrics a second with {args.jobs:,} jobs, p99", f"{f['web_p99']:.3g} ms", "5 ms",
            f"p50 {f['web_p50']:.3g} ms, longest {f['web_max']:.3g} ms")
        with_it = share(web.c.ctld.pid, args.window)
        own = share(web.daemon.pid, args.seconds)
        web.close()
        bare = share(web.c.ctld.pid, args.window)
        web.start()
        row(f"gweb: the controller's processor time for it, {args.jobs:,} jobs wait", f"{max(0, with_it - bare):.2f}% of a core", "1%",
            f"{with_it:.2f}% with it, {bare:.2f}% without, {args.window} s each; gweb itself {own:.2f}%")
        wait_until(lambda: waiting(web) == args.jobs, "all jobs to be seen", 120)
        row(f"gweb: resident memory with {args.jobs:,} jobs, started anew", f"{rss_kb(web.daemon.pid) / 1024:.0f} MiB", "64 MiB")
        viewers(web, args.viewers, args.seconds)


if __name__ == "__main__":
    main()
