#!/usr/bin/python3
"""run.py - `make bench`: every figure of the design's budget that exists, in one run

Measures the machine's own limits, gpusched, and Slurm where it is installed (as root), and prints one table with the
ratios that matter. --write FILE puts the table into RESULTS.md. A figure that could not be measured
is listed as such, with the reason; none is left out silently.
"""

import argparse
import datetime
import json
import math
import os
import pathlib
import platform
import random
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "system/lib"))
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import job_steps  # noqa: E402
import launcher  # noqa: E402
import slurm  # noqa: E402
from cluster import BIN, BUILD, Cluster, Daemon, wait_until  # noqa: E402
from terminal import Terminal  # noqa: E402

BENCH = BUILD / "testsuite/bench"
TMPFS = "/dev/shm" if os.path.isdir("/dev/shm") else None  # where the agents' records are, as /run is on a real node


def progress(text):
    print(f"bench: {text}", file=sys.stderr, flush=True)


def figures(text):
    """Lines "NAME VALUE UNIT" as a dict."""
    out = {}
    for line in text.splitlines():
        words = line.split()
        if len(words) == 3:
            out[words[0]] = (float(words[1]), words[2])
    return out


def percentile(values, p):
    values = sorted(values)
    return values[min(len(values) - 1, int(len(values) * p / 100))]


class Results:
    def __init__(self):
        self.rows, self.missing = [], []

    def add(self, name, value, unit, least="", beside=""):
        self.rows.append((name, value, unit, least, beside))
        progress(f"{name}: {value:.4g} {unit}  {beside}")

    def table(self):
        lines = ["| figure | measured | at least | beside |", "| --- | --- | --- | --- |"]
        for name, value, unit, least, beside in self.rows:
            lines.append(f"| {name} | {value:.4g} {unit} | {least} | {beside} |")
        lines += [f"| {name} | not measured | | {why} |" for name, why in self.missing]
        return "\n".join(lines)


def repeated(n, argv):
    """The command to run `argv` n times, one after another, as a script of a user would."""
    return ["sh", "-c", 'n=$0; while [ "$n" -gt 0 ]; do "$@" >/dev/null || exit 1; n=$((n - 1)); done', str(n), *argv]


def client(c, *args, **env):
    r = c.run(BENCH / "bench_client", *args, env=env, timeout=600)
    return r.stdout


def rss_kb(pid):
    return int(re.search(r"VmRSS:\s+(\d+)", pathlib.Path(f"/proc/{pid}/status").read_text()).group(1))


def cpu_s(pid):
    f = pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(f[11]) + int(f[12])) / os.sysconf("SC_CLK_TCK")


def bench_machine(res, c):
    progress("the machine's own limits")
    r = subprocess.run([BENCH / "bench_machine", c.dir / "jobs", c.socket], capture_output=True, text=True, check=True)
    m = figures(r.stdout)
    for name, (value, unit) in m.items():
        res.add(f"machine: {name}", value, unit)
    return m


def bench_bulk(res, c, n=100000):
    """Different jobs from a file, with the whole command: reading, signing, one commit."""
    rows = (json.dumps({"wrap": f"./ocr page-{i}.png", "job-name": f"page{i}", "time": 10, "hold": True}) for i in range(n))
    (c.dir / "jobs/bulk.jsonl").write_text("\n".join(rows))
    before = cpu_s(c.ctld.pid)
    t = time.monotonic()
    c.run("gsubmit", "--bulk", "bulk.jsonl", "--export=NONE", timeout=300)
    v = time.monotonic() - t
    res.add(f"gsubmit --bulk, {n} different jobs, durable", v, "s", "3 s",
            f"processor time of gctld {cpu_s(c.ctld.pid) - before:.2f} s")


def bench_submits(res, c, m):
    f = figures(client(c, "serial", "3000"))
    v = f["submit_serial"][0]
    res.add("submits, C API, one after another, durable", v, "/s", "2,000/s",
            f"{v / m['sqlite_commits_of_1'][0]:.2f} of SQLite's single-row commits")
    f = figures(client(c, "pipelined", "20000"))
    v = f["submit_pipelined"][0]
    res.add("submits, C API, pipelined, durable", v, "/s", "20,000/s",
            f"{v / m['sqlite_rows_in_100s'][0]:.2f} of SQLite's rows in commits of 100")
    n = 200
    script = c.dir / "jobs/true.sh"
    script.write_text("#!/bin/sh\nexit 0\n")
    argv = [str(BIN["gsubmit"]), "--hold", "--parsable", "--output=/dev/null", str(script)]
    t = time.monotonic()
    for _ in range(n):
        subprocess.run(argv, env=c.env, cwd=c.dir / "jobs", stdout=subprocess.DEVNULL, check=True)
    v = (time.monotonic() - t) / n * 1000
    t = time.monotonic()
    for _ in range(n):
        subprocess.run(["/bin/true"], env=c.env, check=True)
    bare = (time.monotonic() - t) / n * 1000
    res.add("one gsubmit, whole process", v, "ms", "4 ms", f"bare exec the same way {bare:.2f} ms, {v / bare:.1f} x")
    bench_bulk(res, c)


def submits_of(*options):
    """Of a cluster of its own: per second one after another and pipelined, the controller's processor time a job (us)."""
    with Cluster(start=False) as c:
        c.start_munged()
        c.start_ctld(*(f"{o}={c.dir}/state/record" for o in options))
        before = cpu_s(c.ctld.pid)
        f = {**figures(client(c, "serial", "3000")), **figures(client(c, "pipelined", "20000"))}
        cpu = (cpu_s(c.ctld.pid) - before) / 23000 * 1e6
        size = (c.dir / "state/record").stat().st_size / 23000 if options else 0
        return f["submit_serial"][0], f["submit_pipelined"][0], cpu, size


def bench_record(res, pairs=5):
    """What `gctld --record` costs: pairs in turns, the medians."""
    runs = [(submits_of(), submits_of("--record")) for _ in range(pairs)]
    names = ("submits one after another, --record", "submits pipelined, --record", "controller's processor time a submit, --record")
    for i, (name, unit) in enumerate(zip(names, ("/s", "/s", "us"))):
        without, recorded = (statistics.median(r[k][i] for r in runs) for k in (0, 1))
        res.add(name, recorded, unit, beside=f"without {without:.4g} {unit}; medians of {pairs} pairs in turns")
    res.add("record: bytes a submit", statistics.median(r[1][3] for r in runs), "B")


def cancel_all(c):
    c.run("gcancel", "--state", "PENDING,RUNNING", timeout=300)
    wait_until(lambda: not c.run("gqueue", "--noheader").stdout, "an empty queue", 300)


def bench_jobs(res, m, slurm_figures):
    """Trivial jobs end to end on one node, one command a job."""
    with Cluster(cpus=64, tmpfs=TMPFS) as c:
        n = 600
        script = c.dir / "jobs/true.sh"
        script.write_text("#!/bin/sh\nexit 0\n")
        argv = [str(BIN["gsubmit"]), "--parsable", "--output=/dev/null", str(script)]
        t = time.monotonic()
        subprocess.run(repeated(n, argv), env=c.env, cwd=c.dir / "jobs", check=True)
        wait_until(lambda: not c.run("gqueue", "--noheader").stdout, "all jobs to end", 300)
        v = n / (time.monotonic() - t)
        s = slurm_figures.get("jobs_end_to_end_commands")
        res.add("trivial jobs end to end, one node, one command a job", v, "/s", "300/s",
                f"{v / m['spawn_sh_four'][0]:.2f} of the spawn limit" + (f"; Slurm {s[0]:.0f}/s" if s else ""))
        client(c, "pipelined", "2000", BENCH_SCRIPT="#!/bin/sh\nexit 0\n")
        t = time.monotonic()
        c.run("gctl", "release", "--user", "root" if os.geteuid() == 0 else c.ctld_user.pw_name)
        wait_until(lambda: not c.run("gqueue", "--noheader").stdout, "all jobs to end", 300)
        v = 2000 / (time.monotonic() - t)
        res.add("trivial jobs end to end, one node, from a full queue", v, "/s", "600/s",
                f"{v / m['spawn_sh_four'][0]:.2f} of the spawn limit")


def stamps(path):
    return {int(w[0]): (int(w[2]), int(w[4])) for w in (line.split() for line in path.read_text().splitlines())}


def bench_latency(res, slurm_figures):
    with Cluster(cpus=64, tmpfs=TMPFS) as c:
        path = c.dir / "jobs/stamps"
        out = client(c, "latency", "200", BENCH_SCRIPT=f"#!{BENCH}/bench_stamp {path}\n")
        ran = stamps(path)
        acked = {int(w[1]): int(w[3]) for w in (line.split() for line in out.splitlines())}
        lat = [(ran[i][0] - acked[i]) / 1e6 for i in acked]
        s = slurm_figures.get("submit_to_first_instruction_p50")
        res.add("idle cluster: submit acknowledged to first instruction, p50", percentile(lat, 50), "ms", "5 ms",
                f"Slurm {s[0]:.0f} ms" if s else "")
        res.add("idle cluster: submit acknowledged to first instruction, p99", percentile(lat, 99), "ms", "20 ms")
        path.unlink()
        client(c, "pipelined", "100", BENCH_SCRIPT=f"#!{BENCH}/bench_stamp {path}:20\n", BENCH_GPUS="4")
        c.run("gctl", "release", "--user", "root" if os.geteuid() == 0 else c.ctld_user.pw_name)
        wait_until(lambda: not c.run("gqueue", "--noheader").stdout, "all jobs to end", 300)
        ran = sorted(stamps(path).values())
        gaps = [(b[0] - a[1]) / 1e6 for a, b in zip(ran, ran[1:])]
        res.add("a GPU freed to the next job's first instruction, p50", percentile(gaps, 50), "ms", "10 ms")
        res.add("a GPU freed to the next job's first instruction, p99", percentile(gaps, 99), "ms")


def bench_queue(res, c):
    """Listings, memory and restart with many waiting jobs."""
    before = rss_kb(c.ctld.pid)
    for n, least in ((10000, "60 ms"), (100000, "400 ms, first row in 50 ms")):
        have = n - (10000 if n > 10000 else 0)
        client(c, "pipelined", str(have))
        best = None
        for _ in range(3):
            f = figures(client(c, "list"))
            best = f if best is None or f["list_whole"] < best["list_whole"] else best
        res.add(f"whole listing, {n} waiting jobs", best["list_whole"][0], "ms", least,
                f"first row {best['list_first'][0]:.1f} ms, {best['list_rows'][0]:.0f} rows")
    after = rss_kb(c.ctld.pid)
    res.add("memory for each waiting job", (after - before) * 1024 / 100000, "B", "1 KiB")
    c.ctld.stop()
    t = time.monotonic()
    c.start_ctld()
    res.add("restart with 100,000 waiting jobs, to the first answer", time.monotonic() - t, "s", "0.5 s")
    log = c.ctld.tail(40)
    progress(log.splitlines()[-1] if log else "")


def gqueue_times(c):
    """The command, through a pipe: ms to its first line, to its end, and how many lines."""
    t = time.monotonic()
    with subprocess.Popen([BIN["gqueue"], "--noheader"], env=c.env, stdout=subprocess.PIPE) as p:
        p.stdout.readline()
        first = time.monotonic() - t
        rows = 1 + sum(chunk.count(b"\n") for chunk in iter(lambda: p.stdout.read(1 << 16), b""))
    return first * 1000, (time.monotonic() - t) * 1000, rows


def bench_different(res):
    """gqueue on 100,000 jobs that wait and are all different."""
    with Cluster() as c:
        n = 100000
        rows = (json.dumps({"wrap": f"./ocr page-{i}.png", "job-name": f"page{i}", "time": 1 + i % 1000, "cpus-per-task": 1 + i % 7,
                            "hold": i % 3 == 0}) for i in range(n))
        (c.dir / "jobs/bulk.jsonl").write_text("\n".join(rows))
        c.agents["n1"].stop()
        c.run("gsubmit", "--bulk", "bulk.jsonl", "--export=NONE", timeout=300)
        first, whole, got = min((gqueue_times(c) for _ in range(3)), key=lambda v: v[1])
        res.add(f"gqueue, {n} different waiting jobs, whole", whole, "ms", "400 ms, first row in 50 ms",
                f"first row {first:.1f} ms, {got} rows; the whole command")


def bench_arrays(res, m):
    """A million tasks in one request; an array end to end; what a started task costs."""
    with Cluster(cpus=64, tmpfs=TMPFS) as c:
        script = c.dir / "jobs/true.sh"
        script.write_text("#!/bin/sh\nexit 0\n")
        before, t = rss_kb(c.ctld.pid), time.monotonic()
        c.run("gsubmit", "--array=0-999999", "--hold", "--output=/dev/null", script)
        res.add("an array of a million tasks accepted, whole gsubmit", (time.monotonic() - t) * 1000, "ms", "1 s",
                f"the controller grew by {rss_kb(c.ctld.pid) - before} KiB")
        n = 2000
        t = time.monotonic()
        c.run("gsubmit", f"--array=1-{n}", "--output=/dev/null", script)
        wait_until(lambda: not c.run("gqueue", "--noheader", "--state", "RUNNING,CONFIGURING,COMPLETING").stdout and
                   stat(c, "core.jobs_pending") <= 1000000, "all tasks to end", 300)
        v = n / (time.monotonic() - t)
        res.add(f"an array of {n} trivial tasks end to end, one node", v, "/s", "600/s",
                f"{v / m['spawn_sh_four'][0]:.2f} of the spawn limit")


def bench_started_tasks(res):
    """The controller's memory for tasks that run: many at once, on simulated nodes."""
    nodes, each = 400, 128
    names = f"n[001-{nodes}]"
    with Cluster(nodes=["x"], start=False) as c:
        text = re.sub(r"nodes = \( \{.*?\} \);", f'nodes = ( {{ name = "{names}"; cpus = {each}; }} );', c.conf_text(), 1)
        c.write_conf(text)
        c.start_munged()
        c.start_ctld()
        c.agents["sim"] = Daemon("gnoded --simulate", [
            BIN["gnoded"], "--foreground", "--simulate", str(nodes), "--nodes", names, "--rundir", c.dir / "run-sim", "--spool",
            c.dir / "spool-sim", "--pretend", f"cpus={each},mem=1T"], c.dir / "log/sim.log", c.env)
        wait_until(lambda: stat(c, "core.nodes_up") == nodes, f"{nodes} nodes to register", 300)
        script = c.dir / "jobs/true.sh"
        script.write_text("#!/bin/sh\nexit 0\n")
        before, n = rss_kb(c.ctld.pid), nodes * each
        c.run("gsubmit", "--array=0-999999", "--label", "sim=86400", "--mem=1M", "--output=/dev/null", script)
        wait_until(lambda: stat(c, "core.jobs_running") == n and stat(c, "store.dirty") == 0, f"{n} tasks to run", 300)
        time.sleep(3)  # the figure is what stays: a quiet second, and what the burst needed goes back
        res.add("memory for each started task of an array", (rss_kb(c.ctld.pid) - before) * 1024 / n, "B", "1 KiB",
                f"{n} run since seconds; the controller's resident memory, buffers of sessions and SQLite included")


def bench_idle(res):
    with Cluster() as c:
        ctld0 = cpu_s(c.ctld.pid)
        t = time.monotonic()
        wait_for = 20
        while time.monotonic() - t < wait_for:  # the figure is what a quiet interval costs
            time.sleep(1)
        res.add("idle controller, of a core", (cpu_s(c.ctld.pid) - ctld0) / wait_for * 100, "%", "0.05%",
                f"{rss_kb(c.ctld.pid) / 1024:.1f} MiB of 10")
        quiet = serial(c)
        n = 4000
        import resource
        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        if hard < n + 200:
            res.missing.append((f"submit beside {n} idle connections", f"RLIMIT_NOFILE is {hard}"))
            return
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
        p = subprocess.Popen([BENCH / "bench_client", "idle", str(n), "60"], env=c.env, stdout=subprocess.PIPE, text=True)
        if p.stdout.readline().strip() == "ready":
            busy = serial(c)
            res.add(f"submit beside {n} idle connections", 1000 / busy, "ms", "2 x of quiet", f"{quiet / busy:.2f} x of quiet")
        else:
            res.missing.append((f"submit beside {n} idle connections", "the connections were refused"))
        p.kill()
        p.wait()
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def family_cpu_s(pids):
    """Processor time of processes, to the nanosecond, and of their children that have ended, to the kernel's tick."""
    total = 0
    for pid in pids:
        total += sum(int(t.read_text().split()[0]) for t in pathlib.Path(f"/proc/{pid}/task").glob("*/schedstat")) / 1e9
        f = pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
        total += (int(f[13]) + int(f[14])) / os.sysconf("SC_CLK_TCK")
    return total


def pss_kb(pid):
    """What it has for itself, and its part of what it shares."""
    return int(re.search(r"^Pss:\s+(\d+)", pathlib.Path(f"/proc/{pid}/smaps_rollup").read_text(), re.M)[1])


def bench_agent(res, wait_for=60):
    """The whole agent where nothing runs: supervisor, network half, launcher and what looks at GPUs; then a start on it."""
    progress("the agent")
    standin = BUILD / "testsuite/nvml"
    eight = "".join(f'gpu uuid=GPU-{i} name="NVIDIA H100 80GB HBM3" pci=0:{16 + i:x}:0 minor={i} mem=81559\n' for i in range(8))
    for what, looks in (("no GPUs", False), ("8 GPUs (stand-in), looked at every 30 s", True)):
        with Cluster(start=False, tmpfs=TMPFS, gpus="h100:8") as c:
            (c.dir / "machine").write_text(eight)
            c.start_munged()
            c.start_ctld()
            env = {"LD_LIBRARY_PATH": str(standin), "NVML_STANDIN": str(c.dir / "machine")} if looks else {}
            c.start_agent("n1", *(["--gpu-recheck=30s"] if looks else []), env=env)
            c.wait_nodes()
            pids = family(c.agents["n1"].pid)
            before, t = family_cpu_s(pids), time.monotonic()
            while time.monotonic() - t < wait_for:  # the figure is what a quiet interval costs
                time.sleep(1)
            cpu = (family_cpu_s(pids) - before) / (time.monotonic() - t) * 100
            each = sorted(map(pss_kb, family(c.agents["n1"].pid)))
            res.add(f"idle agent, all {len(each)} processes, {what}: of a core", cpu, "%", "0.05%")
            res.add(f"idle agent, all {len(each)} processes, {what}: memory", sum(each) / 1024, "MiB", "6 MiB",
                    f"proportional set sizes; each {', '.join(f'{k / 1024:.1f}' for k in each)}")
    launches(res)


def launches(res, n=300):
    """From an order, as it reaches the launcher, to the program's first instruction; beside that a bare start of the same program."""
    lau = launcher.Launcher(start=False)
    try:
        with tempfile.TemporaryDirectory(prefix="gpusched-bench-", dir=TMPFS) as records:
            (lau.dir / "run").rmdir()
            (lau.dir / "run").symlink_to(records)
            lau.start()
            path = lau.jobs / "stamps"
            text = f"#!{BENCH}/bench_stamp {path}\n"
            job = launcher.Job(lau.munge, lau.owner(), text, cwd=str(lau.jobs), output=b"/dev/null", max_attempts=1000)
            ordered, bare, before = {}, [], family_cpu_s([lau.pid])
            for _ in range(n):
                t = time.monotonic_ns()
                run = lau.start_run(job)
                ordered[run[0]] = t
                lau.wait_over(run)
                lau.forget(run)
            cpu = (family_cpu_s([lau.pid]) - before) * 1000 / n
            ran = stamps(path)
            path.unlink()
            script = lau.jobs / "bare"
            script.write_text(text)
            script.chmod(0o755)
            for i in range(n):
                t = time.monotonic_ns()
                os.waitpid(os.posix_spawn(script, [str(script)], {"GPUSCHED_JOB_ID": str(i)}), 0)
                bare.append((t, i))
            plain = stamps(path)
            ms = [(ran[i][0] - t) / 1e6 for i, t in ordered.items()]
            own = percentile([(plain[i][0] - t) / 1e6 for t, i in bare], 50)
            for p in (50, 99):
                res.add(f"launch on the agent besides the program's own start, p{p}", percentile(ms, p) - own, "ms", "3 ms" if p == 50 else "",
                        f"{percentile(ms, p):.2f} ms from the order to the first instruction; a bare start of the same {own:.2f}")
            res.add("launch: the launcher's processor time for each, to its end, with what it has forked", cpu, "ms")
            lau.stop()
    finally:
        lau.close()


def bench_sample(res):
    """What it costs to look at what runs use, on a stand-in machine."""
    nvml = BUILD / "testsuite/nvml"
    if not (nvml / "libnvidia-ml.so.1").exists():
        res.missing.append(("64 GPUs and 500 runs sampled", "there is no stand-in for NVML: make check builds it"))
        return
    r = subprocess.run([BENCH / "bench_sample", "64", "500"], capture_output=True, text=True, check=True,
                       env={**os.environ, "LD_LIBRARY_PATH": str(nvml)})
    gpus, runs, quick, pulse = map(float, r.stdout.split())
    res.add("64 GPUs and 500 runs sampled every 10 s, of a core (stand-in)", (gpus + runs) / 10000 * 100, "%", "1%",
            f"{gpus:.1f} ms of GPUs, of which most is the stand-in, {runs:.1f} ms of runs; never more than 0.5%")
    res.add("memory of 64 shared GPUs and 500 runs looked at every second, of a core (stand-in)", quick / 1000 * 100,
            "%", "", f"{quick:.1f} ms a round, of which most is the stand-in; never more than 2%")
    res.add("8 idle GPUs sampled every minute, of a core (stand-in)", pulse / 60000 * 100, "%", "0.5%",
            f"{pulse:.1f} ms for a sampler that starts, answers and ends; never more than 0.5%")


def bench_watch(res):
    """A thousand who watch: of whom nothing changes, and of whom everything does."""
    with Cluster() as c:
        n, quiet = 1000, serial(c)
        bare = cpu_of_submits(c)
        for who, text in ((["nobody"], "of another user's jobs"), ([], "of all jobs")):
            p = subprocess.Popen([BENCH / "bench_watch", str(n), *who], env=c.env, stdin=subprocess.PIPE,
                                 stdout=subprocess.PIPE, text=True)
            if p.stdout.readline().strip() != "ready":
                res.missing.append((f"submit beside {n} watchers {text}", "the watchers did not come up"))
            else:
                cpu, t = cpu_s(c.ctld.pid), time.monotonic()
                busy = serial(c)
                share = (cpu_s(c.ctld.pid) - cpu) / (time.monotonic() - t) * 100
                res.add(f"submit beside {n} watchers {text}", 1000 / busy, "ms", "as without" if who else "",
                        f"{quiet / busy:.2f} x of quiet; the controller took {share:.0f}% of a core")
                res.add(f"controller's processor time, a pipelined submit beside {n} watchers {text}", cpu_of_submits(c), "ms",
                        "as without", f"{bare:.3g} ms without them")
            p.communicate()


def bench_top(res, seconds=60):
    """gtop on 100,000 different jobs that wait: to its first whole queue, a key, and what it costs while nothing changes."""
    if not BIN["gtop"].exists() or not shutil.which("tmux"):
        res.missing.append(("gtop", "it was not built, or tmux is missing"))
        return
    with Cluster() as c:
        n = 100000
        rows = (json.dumps({"wrap": "true", "job-name": f"page{i}", "time": 1 + i % 1000, "cpus-per-task": 1 + i % 7}) for i in range(n))
        (c.dir / "jobs/bulk.jsonl").write_text("\n".join(rows))
        c.agents["n1"].stop()
        c.run("gsubmit", "--bulk", "bulk.jsonl", "--export=NONE", timeout=300)
        before, t = cpu_s(c.ctld.pid), time.monotonic()
        with Terminal(c, "gtop --screen=queue", 120, 40) as terminal:
            terminal.shows("live", f"{n} waiting", " page")
            res.add(f"gtop, {n} waiting jobs, to the whole queue", time.monotonic() - t, "s", "",
                    f"processor time of gctld {cpu_s(c.ctld.pid) - before:.2g} s")
            gtop = terminal.pid("gtop")
            first = [terminal.answers("PageDown") * 1000 for _ in range(50)]
            res.add("gtop, the same: from a key to the next page, median", statistics.median(first), "ms", "",
                    f"slowest of {len(first)}: {max(first):.0f} ms; tmux and its capture included")
            began = cpu_s(gtop), cpu_s(c.ctld.pid)
            time.sleep(seconds)  # the figure is what a quiet interval costs
            mine, theirs = ((cpu_s(p) - b) / seconds * 100 for p, b in zip((gtop, c.ctld.pid), began))
            res.add("gtop, the same: of a core while nothing changes", mine, "%", "",
                    f"{rss_kb(gtop) / 1024:.0f} MiB; the controller {theirs:.2g}%, its scheduler included")


def cpu_of_submits(c, n=10000):
    """Milliseconds of the controller's processor time for each."""
    before = cpu_s(c.ctld.pid)
    client(c, "pipelined", str(n))
    return (cpu_s(c.ctld.pid) - before) * 1000 / n


def serial(c):
    return figures(client(c, "serial", "1000"))["submit_serial"][0]


def stat(c, name):
    r = c.run("gctl", "stats")
    for line in r.stdout.splitlines():
        w = line.split()
        if w and w[0] == name:
            return float(w[1].replace(",", ""))
    return None


def bench_simulated(res, nodes):
    """Many simulated nodes x 8 GPUs on one controller."""
    width = len(str(nodes))
    names = f"n[{1:0{width}d}-{nodes}]"
    with Cluster(nodes=["x"], start=False) as c:
        text = c.conf_text()
        text = re.sub(r"nodes = \( \{.*?\} \);", f'nodes = ( {{ name = "{names}"; cpus = 64; gpus = "demo:8"; }} );', text, 1)
        c.write_conf(text)
        c.start_munged()
        c.start_ctld()
        c.agents["sim"] = Daemon("gnoded --simulate", [
            BIN["gnoded"], "--foreground", "--simulate", str(nodes), "--nodes", names, "--rundir", c.dir / "run-sim", "--spool",
            c.dir / "spool-sim", "--pretend", "cpus=64,mem=256G"], c.dir / "log/sim.log", c.env)
        t = time.monotonic()
        wait_until(lambda: stat(c, "core.nodes_up") == nodes, f"{nodes} nodes to register", 300)
        res.add(f"{nodes} simulated nodes register", time.monotonic() - t, "s")
        quiet = serial(c)
        cancel_all(c)
        res.add(f"{nodes} nodes x 8 GPUs: submit, one after another", 1000 / quiet, "ms", "as on one node")
        n = 20000
        client(c, "pipelined", str(n), BENCH_GPUS="1")
        t = time.monotonic()
        c.run("gctl", "release", "--user", "root" if os.geteuid() == 0 else c.ctld_user.pw_name, timeout=300)
        wait_until(lambda: stat(c, "core.jobs_pending") == 0 and stat(c, "core.jobs_running") == 0, "all jobs to end", 600)
        res.add(f"{nodes} nodes x 8 GPUs: jobs started and ended", n / (time.monotonic() - t), "/s", "300/s")
        stall = stat(c, "loop.stall_ever")
        if stall is not None:
            work = stat(c, "loop.work_ever")
            res.add("longest stall of the loop in all that", stall, "ms", "20 ms",
                    f"the loop's own processor time never above {work:.2g} ms; the rest is waiting for a core beside the nodes")


def bench_past(res, jobs):
    """One user's last day among so many ended jobs. GPUSCHED_BENCH_PAST names a folder that keeps such a history."""
    kept = os.environ.get("GPUSCHED_BENCH_PAST")
    with tempfile.TemporaryDirectory(prefix="gpusched-bench-") as folder:
        r = subprocess.run([BENCH / "bench_past", kept or folder, str(jobs)], capture_output=True, text=True, check=False)
    if r.returncode:
        res.missing.append(("one user's last day in history", f"exit {r.returncode}: {r.stderr}"))
        return
    f = {name: v[0] for name, v in figures(r.stdout + "\n").items()}
    n = {w[0]: float(w[1]) for w in (line.split() for line in r.stdout.splitlines()) if len(w) == 2}
    for name, text in (("first", "the first questions of all"), ("alone", "nothing else"), ("written", "while history is written")):
        res.add(f"one user's last day in {n['past_jobs']:,.0f} ended jobs, {text}, longest", f[f"past_{name}_max"], "ms",
                "100 ms in ten million", f"p50 {f[f'past_{name}_p50']:.3g} ms, {n[f'past_{name}_jobs']:.0f} jobs")


def bench_programs(res):
    for name in ("bench_core", "bench_store"):
        path = BENCH / name
        if not path.exists():
            res.missing.append((name, "not built"))
            continue
        progress(name)
        with tempfile.TemporaryDirectory(prefix="gpusched-bench-") as folder:
            r = subprocess.run([path, folder], capture_output=True, text=True, check=False, timeout=600)
        if r.returncode:
            res.missing.append((name, f"exit {r.returncode}"))
        for fig, (value, unit) in figures(r.stdout).items():
            res.add(f"{name}: {fig}", value, unit)


def bench_steps(res):
    """The longest single step of the scheduler in states that users can bring about."""
    progress("steps in hostile states")
    r = subprocess.run([BENCH / "bench_steps"], capture_output=True, text=True, check=True, timeout=3600)
    for fig, (value, unit) in figures(r.stdout).items():
        if fig.endswith("_longest"):
            res.add(f"bench_steps: {fig.removeprefix('steps_')}", value, unit, "2 ms")


def bench_curve(res):
    """What one event and a full pass cost, whatever waits: 10,000 nodes x 8 GPUs, all taken."""
    progress("the curve over the queue")
    r = subprocess.run([BENCH / "bench_core", "--curve"], capture_output=True, text=True, check=True, timeout=3600)
    found = figures(r.stdout)
    what = {"": "", "own": ", each asks for something else", "quota": ", quotas of 100 accounts", "quotas": ", of 1,000"}
    names = (re.match(r"curve_(?:([a-z]+)_)?(\d+)_(\d+)_", name) for name in found)
    points = {(m[1] or "", int(m[2]), int(m[3])): m[0] for m in names}
    for (kind, jobs, classes), name in sorted(points.items(), key=lambda p: (p[0][0], p[0][2], p[0][1])):
        ms = {k: found[name + k][0] / 1000 for k in ("event_p50", "event_p99", "event_longest", "pass_p50", "slice_longest")}
        res.add(f"{jobs:,} wait in {classes:,} classes{what.get(kind, ', ' + kind)}: one event, p99", ms["event_p99"], "ms", "10 ms",
                f"p50 {ms['event_p50']:.3g}, longest {ms['event_longest']:.3g}; full pass {ms['pass_p50']:.3g} of 250 ms; "
                f"longest slice {ms['slice_longest']:.3g}")


def write_history(path, jobs, load):
    """Jobs that keep 8,000 GPUs about `load` busy: 200 users, 10 accounts, log-normal run times (median 400 s)."""
    chance = random.Random(1)
    rate = load * 8000 / (2.83 * math.exp(6 + 1.5**2 / 2))  # GPUs / (mean GPUs of a job x mean run time)
    now = 0
    with open(path, "w") as f:
        f.write("job_id,submit_s,duration_s,gpus,user,group\n")
        for i in range(jobs):
            now += chance.expovariate(rate)
            user = chance.randrange(200)
            f.write(f"j{i},{now:.3f},{chance.lognormvariate(6, 1.5):.0f},{chance.choice((1, 1, 1, 2, 4, 8))},"
                    f"u{user},g{user % 10}\n")


def run_gsim(res, what, *argv):
    """One replay: jobs a second of its processor time."""
    p = subprocess.Popen([BUILD / "ctld/gsim/gsim", "--quiet", "--json", *argv], stdout=subprocess.PIPE)
    report = json.load(p.stdout)
    _, status, usage = os.wait4(p.pid, 0)
    p.returncode = status
    if status:
        res.missing.append((f"gsim, {what}", f"exit {status}"))
        return
    stopped = f", {report['requeues']:.0f} stopped for others" if report["requeues"] else ""
    res.add(f"gsim: 1,000 nodes x 8 GPUs, {what}", report["jobs"]["ended"] / (usage.ru_utime + usage.ru_stime), "jobs/s",
            "16,667/s (a million a minute)",
            f"{usage.ru_maxrss / 1024:.0f} MiB, at most {report['waiting_most']:.0f} jobs waited{stopped}")


def write_quotas(path, nodes):
    """Ten accounts whose guarantees are all of the 8,000 GPUs; what others have borrowed is taken back."""
    text = subprocess.run([BUILD / "ctld/gsim/gsim", "--nodes", nodes, "--show-config"], capture_output=True, text=True, check=True).stdout
    accounts = ", ".join(f'{{ name = "g{i}"; members = [ "*" ]; quota = {{ guaranteed = "gpu:800"; }}; }}' for i in range(10))
    text = text.replace('preempt_mode = "off"', 'preempt_mode = "requeue"')
    pathlib.Path(path).write_text(text.replace("accounts = (\n);", f"accounts = ( {accounts} );"))


def bench_gsim(res):
    """On a thousand nodes: jobs that hardly wait, half as many again as can be served, and that with quotas and preemption."""
    with tempfile.TemporaryDirectory(prefix="gpusched-bench-") as folder:
        nodes = f"{folder}/nodes.csv"
        pathlib.Path(nodes).write_text("node,count,gpus\nn,1000,8\n")
        for jobs, load, what in ((1000000, 0.9, "GPUs to spare"), (100000, 1.5, "overloaded"),
                                 (20000, 1.5, "overloaded, quotas of ten accounts, preemption")):
            progress(f"gsim, {jobs} jobs, {what}")
            write_history(f"{folder}/jobs.csv", jobs, load)
            cluster = f"--nodes={nodes}"
            if "quotas" in what:
                write_quotas(f"{folder}/gpusched.conf", nodes)
                cluster = f"--config={folder}/gpusched.conf"
            run_gsim(res, what, cluster, f"{folder}/jobs.csv")


def bench_session(res, c):
    progress("sessions")
    r = subprocess.run([BENCH / "bench_session", c.socket], capture_output=True, text=True, check=True, timeout=300)
    for fig, (value, unit) in figures(r.stdout).items():
        res.add(f"bench_session: {fig}", value, unit)


def family(pid):
    """A process and all below it."""
    found = [pid]
    for p in found:
        found += map(int, pathlib.Path(f"/proc/{p}/task/{p}/children").read_text().split())
    return found


def bench_stream(res, mib=1024):
    """A job's output through glog: how fast, whole, and at what cost of memory to those it passes."""
    progress("streams")
    with Cluster() as c:
        job = c.submit(f"head -c {mib << 20} /dev/urandom")
        c.wait_state(job, "COMPLETED", timeout=300)
        pids = [c.ctld.pid, *family(c.agents["n1"].pid)]
        before = {p: rss_kb(p) for p in pids}
        start = time.monotonic()
        with subprocess.Popen([BIN["glog"], str(job)], stdout=subprocess.PIPE, env=c.env) as glog:
            got = subprocess.run(["sha256sum"], stdin=glog.stdout, capture_output=True, check=True).stdout.split()[0]
        took = time.monotonic() - start
        want = subprocess.run(["sha256sum", c.dir / f"jobs/gpusched-{job}.out"], capture_output=True, check=True)
        if glog.returncode or got != want.stdout.split()[0]:
            raise RuntimeError(f"glog: exit {glog.returncode}, or the bytes differ")
        res.add(f"stream: {mib} MiB of a job's output through glog", mib / took, "MiB/s")
        res.add("stream: growth of controller and agent meanwhile", max(rss_kb(p) - before[p] for p in pids) / 1024,
                "MiB", beside="the largest of them")


def bench_grun(res, n=40):
    """From the start of grun to the first byte that its command writes, on an idle node; srun where Slurm is set up."""
    progress("grun")

    def first_byte(argv, env):
        start = time.monotonic()
        with subprocess.Popen([*argv, "echo", "x"], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, env=env) as p:
            p.stdout.read(1)
            took = time.monotonic() - start
        if p.returncode:
            raise RuntimeError(f"{argv[0]}: exit {p.returncode}")
        return took * 1000

    with Cluster() as c:
        res.add("grun: to the first byte of output, median", statistics.median(first_byte([str(BIN["grun"])], c.env)
                                                                               for _ in range(n)), "ms")
    if shutil.which("srun") and subprocess.run(["sinfo"], capture_output=True, check=False).returncode == 0:
        res.add("srun: the same", statistics.median(first_byte(["srun"], os.environ) for _ in range(n)), "ms")


SECTIONS = ("sessions", "stream", "grun", "submits", "record", "jobs", "arrays", "latency", "queue", "different", "idle", "agent", "watch", "top", "simulated",
            "job-steps", "programs", "past", "steps", "curve", "gsim", "slurm")


def main():
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument("--write", metavar="FILE", help="put the table into this file, between its marks")
    ap.add_argument("--only", help=f"comma-separated: {','.join(SECTIONS)}")
    ap.add_argument("--nodes", type=int, default=12500, help="simulated nodes (default 12500)")
    ap.add_argument("--past", type=int, default=200000, help="ended jobs in the history that is asked (default 200000)")
    args = ap.parse_args()
    only = args.only.split(",") if args.only else SECTIONS
    res = Results()
    slurm_figures = {}
    if "slurm" in only and slurm.available():
        progress("Slurm")
        slurm_figures = slurm.measure()
        for name, (value, unit) in slurm_figures.items():
            res.add(f"Slurm: {name}", value, unit)
    elif "slurm" in only:
        res.missing.append(("Slurm", "not installed, or not root: apt-get install slurm-wlm"))
    with Cluster() as c:
        m = bench_machine(res, c)
        if "sessions" in only:
            bench_session(res, c)
        if "submits" in only:
            bench_submits(res, c, m)
    if "stream" in only:
        bench_stream(res)
    if "record" in only:
        bench_record(res)
    if "grun" in only:
        bench_grun(res)
    if "jobs" in only:
        bench_jobs(res, m, slurm_figures)
    if "arrays" in only:
        bench_arrays(res, m)
        bench_started_tasks(res)
    if "latency" in only:
        bench_latency(res, slurm_figures)
    if "queue" in only:
        with Cluster() as c:
            bench_queue(res, c)
    if "different" in only:
        bench_different(res)
    if "idle" in only:
        bench_idle(res)
    if "agent" in only:
        bench_agent(res)
    if "watch" in only:
        bench_watch(res)
        bench_sample(res)
    if "top" in only:
        bench_top(res)
    if "simulated" in only:
        bench_simulated(res, args.nodes)
    if "job-steps" in only:
        progress("job steps")
        job_steps.bench_job_steps(res, slurm_figures)
    if "programs" in only:
        bench_programs(res)
    if "past" in only:
        bench_past(res, args.past)
    if "steps" in only:
        bench_steps(res)
    if "curve" in only:
        bench_curve(res)
    if "gsim" in only:
        bench_gsim(res)
    model = re.search(r"model name\s*: (.*)", pathlib.Path("/proc/cpuinfo").read_text())
    head = (f"{datetime.date.today()}, {os.cpu_count()} cores ({model.group(1) if model else platform.machine()}), "
            f"Linux {platform.release()}, command `make bench`")
    text = f"{head}\n\n{res.table()}\n"
    print(text)
    if args.write:
        path = pathlib.Path(args.write)
        old = path.read_text() if path.exists() else "<!-- begin -->\n<!-- end -->\n"
        path.write_text(re.sub(r"(?s)<!-- begin -->.*<!-- end -->", lambda _: f"<!-- begin -->\n{text}<!-- end -->", old))
    return 0


if __name__ == "__main__":
    sys.exit(main())
