#!/usr/bin/python3
"""web_memory.py - the most resident memory of gweb with 100,000 waiting jobs, for each thing that is asked of it

usage: GPUSCHED_BUILD=DIR testsuite/bench/web_memory.py [--jobs N] [--viewers N] [--held]

As root. The jobs wait for GPUs of 256 nodes that are down; --held: they were submitted with --hold. Each row's peak is of that
row alone (/proc/PID/clear_refs), so listings of all jobs by the watcher are in it where they fall into its time.
"""

import argparse
import pathlib
import socket
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "system/lib"))
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import pages  # noqa: E402
import web as bench  # noqa: E402
from cluster import live_for, wait_until  # noqa: E402
from pages import status_kb  # noqa: E402
from webserver import web_cluster  # noqa: E402

METRICS = ("", "/jobs", "/jobs-users-accts", "/nodes", "/partitions", "/scheduler", "/exporter", "/gpus")
LISTINGS_S = 25  # two listings of all that waits fall into it


def row(web, name, ask):
    pid = web.daemon.pid
    pathlib.Path(f"/proc/{pid}/clear_refs").write_text("5")
    ask()
    print(f"| {name} | {status_kb(pid, 'VmHWM') / 1024:.0f} MiB | 64 MiB | {status_kb(pid, 'VmRSS') / 1024:.0f} MiB behind it |", flush=True)


def slow_readers(web, cookie, n):
    """Clients that ask for 1000 jobs each and take nothing."""
    clients = []
    cookie.get("/v1/whoami")  # which user that is, is known for ten seconds now
    for i in range(n):
        s = socket.socket()
        s.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        s.connect(("127.0.0.1", web.port))
        s.sendall(f"GET /v1/jobs?limit=1000&after={i * 300} HTTP/1.1\r\nHost: 127.0.0.1\r\nCookie: {cookie.cookie}\r\n\r\n".encode())
        clients.append(s)
    wait_until(lambda: cookie.get("/v1/jobs?limit=1000").status == 200, "another client's answer")
    for s in clients:
        s.close()


def viewers(web, n):
    streams = bench.open_streams(web, n)
    bench.Viewers(streams).read(time.monotonic() + LISTINGS_S)
    for s in streams:
        s.close()


def measure(web, args):
    if args.held:
        bench.submit_many(web.c, args.jobs)
    else:
        pages.fill(web.c, args.jobs)
    wait_until(lambda: bench.waiting(web) == args.jobs, "all jobs to be seen", 120)
    cookie = web.browser()
    lists = [f"/v1/jobs?limit=1000&after={i * 1000}" for i in range(20)]
    parts = ["/", *(f"/queue?page={i}" for i in range(1, 60))]
    for name, ask in (
            ("nothing is asked", lambda: live_for(LISTINGS_S)),
            ("pages, each three times", lambda: [cookie.get(p) for p in pages.PAGES * 3]),
            ("60 pages as many viewers have them", lambda: [cookie.get(p, X_Part="main") for p in parts]),
            ("the last page of the queue", lambda: cookie.get(f"/queue?page={args.jobs // 200}&sort=-name")),
            ("/v1/jobs?limit=1000, 20 times", lambda: [cookie.get(p) for p in lists]),
            ("/slurm/v0.0.40/jobs, three times", lambda: [cookie.get("/slurm/v0.0.40/jobs") for _ in range(3)]),
            ("all pages of metrics", lambda: [cookie.get(f"/metrics{p}") for p in METRICS]),
            ("250 clients that take nothing of 1000 jobs", lambda: slow_readers(web, cookie, 250)),
            (f"{args.viewers} viewers of /v1/watch", lambda: viewers(web, args.viewers))):
        row(web, f"gweb, {args.jobs:,} {'held' if args.held else 'waiting'} jobs: {name}", ask)


def main():
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument("--jobs", type=int, default=100000)
    ap.add_argument("--viewers", type=int, default=500)
    ap.add_argument("--held", action="store_true")
    args = ap.parse_args()
    with web_cluster("--max-per-address=4096", nodes=(), hardware=pages.HARDWARE % 256, policy=pages.POLICY) as web:
        measure(web, args)


if __name__ == "__main__":
    main()
