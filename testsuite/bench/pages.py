#!/usr/bin/python3
"""The pages of gweb with 100,000 waiting jobs: time until the server has answered, and until a browser has painted.

Needs what testsuite/system/lib/browser.py names; prints rows for RESULTS.md. As root (several users).
"""

import argparse
import json
import pathlib
import statistics
import sys
import time

TOP = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(TOP / "testsuite/system/lib"))

import browser  # noqa: E402
from cluster import wait_until  # noqa: E402
from webserver import web_cluster  # noqa: E402

PAGES = ("/", "/queue", "/queue?sort=-name", "/queue?page=100", "/accounts")
HARDWARE = """gpu_types = ( { name = "h100"; mem = "80G"; } );
nodes = ( { name = "n[0001-%04d]"; cpus = 64; gpus = "h100:8"; } );"""
POLICY = """accounts = ( { name = "red"; members = [ "*" ]; }, { name = "blue"; members = [ "*" ]; } );
default_account = "red";"""


def row(figure, measured, least="", beside=""):
    print(f"| {figure} | {measured} | {least} | {beside} |", flush=True)


def fill(c, n):
    rows = [json.dumps({"wrap": "true", "job-name": f"job-{i % 997}", "gpus": f"h100:{1 + i % 8}",
                        "account": ("red", "blue")[i % 2]}) for i in range(n)]
    (c.dir / "jobs/bulk.jsonl").write_text("\n".join(rows))
    c.run("gsubmit", "--bulk", "bulk.jsonl", "--export=NONE", timeout=600)


def status_kb(pid, key):
    return next(int(line.split()[1]) for line in pathlib.Path(f"/proc/{pid}/status").read_text().splitlines() if line.startswith(key))


def answers(cookie, path, n=9):
    times = []
    for _ in range(n):
        start = time.monotonic()
        r = cookie.get(path)
        times.append(1000 * (time.monotonic() - start))
        assert r.status == 200, (path, r.status)
    return statistics.median(times), len(r.body)


def paints(b, url, n=5):
    times = []
    for _ in range(n):
        b.go("about:blank")
        b.go(url)
        times.append(b.until(b.first_paint_ms, "a first paint"))
    return statistics.median(times)


def main():
    ap = argparse.ArgumentParser(description=__doc__)
    ap.add_argument("--jobs", type=int, default=100000)
    ap.add_argument("--nodes", type=int, default=256)
    args = ap.parse_args()
    if browser.missing():
        sys.exit(browser.missing())
    with web_cluster(nodes=(), hardware=HARDWARE % args.nodes, policy=POLICY) as w:
        fill(w.c, args.jobs)
        cookie = w.browser("bin")
        wait_until(lambda: f"of {args.jobs} jobs" in cookie.get("/queue").body.decode(), "the snapshot to have all jobs", 120)
        what = f"{args.jobs} jobs, {args.nodes} nodes of 8 GPUs"
        with browser.Browser() as b:
            b.go(w.login("bin").stdout.strip())
            for path in PAGES:
                ms, size = answers(cookie, path)
                row(f"gweb, {what}: {path}, answer", f"{ms:.0f} ms", "", f"{size / 1024:.0f} KiB")
                row(f"gweb, {what}: {path}, first paint in Chromium", f"{paints(b, w.url + path):.0f} ms", "1 s", "median of 5")
        pid = w.daemon.pid
        row(f"gweb, {what}: memory", f"{status_kb(pid, 'VmRSS') / 1024:.0f} MiB", "64 MiB", f"peak {status_kb(pid, 'VmHWM') / 1024:.0f} MiB")


if __name__ == "__main__":
    main()
