"""Rows about what GPUs do: compute use, energy, a model at work, the agent's own cost, Xids."""

import datetime
import json
import os
import pathlib
import pwd
import re
import shutil
import subprocess
import threading
import time

from cluster import ROOT, Failed, live_for, wait_until
from site_gpu import smi_table, value
from verdict import NOT_HERE, SEEN, UNSEEN, Row, judged

DUTIES = (30, 80)   # percent
SETTLE_S = 3        # until what the agent and nvidia-smi tell is of the kernel alone
POINTS = 2          # that the agent's mean may differ from nvidia-smi's
ENERGY = 10         # percent


class Sampler:
    """nvidia-smi, five times a second: (when, percent, watts)."""

    def __init__(self, uuid):
        self.samples = []
        words = ["nvidia-smi", "-i", uuid, "--query-gpu=timestamp,utilization.gpu,power.draw", "--format=csv,noheader,nounits", "-lms", "200"]
        line_by_line = shutil.which("stdbuf")
        # pylint: disable-next=consider-using-with
        self.process = subprocess.Popen([*([line_by_line, "-oL"] if line_by_line else []), *words], stdout=subprocess.PIPE, text=True)
        self.thread = threading.Thread(target=self.read, daemon=True)
        self.thread.start()

    def read(self):
        for line in self.process.stdout:
            words = [w.strip() for w in line.split(",")]
            try:
                at = datetime.datetime.strptime(words[0], "%Y/%m/%d %H:%M:%S.%f").timestamp()
                self.samples.append((at, float(words[1]), float(words[2]) if words[2][:1].isdigit() else None))
            except (ValueError, IndexError):
                pass

    def between(self, begin, end):
        return [s for s in self.samples if begin <= s[0] <= end]

    def close(self):
        self.process.terminate()
        self.process.wait()
        self.thread.join()


def mean(numbers):
    numbers = [n for n in numbers if n is not None]
    return sum(numbers) / len(numbers) if numbers else None


def compute_use(ctx):
    for duty in DUTIES:
        yield from one_duty(ctx, duty)


def one_duty(ctx, duty):
    """A kernel that keeps the GPU busy for that part of the time: the run's mean against nvidia-smi's of the same
    seconds, those before the kernel runs left out."""
    c, what = ctx.site, f"compute use, a kernel at {duty}%"
    if not shutil.which("nvidia-smi"):
        yield Row(what, NOT_HERE, "there is no nvidia-smi")
        return
    job = c.tool(f"spin {duty} {ctx.duty_s}", "--gpus=1")
    c.said(job, "spinning")
    sampler = Sampler(c.read(job)[0]["gpus"])
    live_for(SETTLE_S)
    first, begin = c.used(job), time.time()
    c.said(job, "busy", ctx.duty_s + 30)
    end = time.time()
    if c.over(job)["state"] != "COMPLETED":
        raise Failed(c.text(job))
    sampler.close()
    last, samples = c.used(job), sampler.between(begin, end - 0.2)
    used = {k: last.get(k, 0) - first.get(k, 0) for k in ("gpu_seen_us", "gpu_busy_us", "energy_mj")}
    theirs, seconds = mean(s[1] for s in samples), used["gpu_seen_us"] / 1e6
    # A busy machine looks less often.
    if theirs is None or seconds < (ctx.duty_s - SETTLE_S) / 2 / ctx.slack:
        yield judged(what, False, f"{len(samples)} samples of nvidia-smi's, {seconds:.1f} s of the agent's")
        return
    ours = used["gpu_busy_us"] / 1e4 / seconds
    yield judged(what, abs(ours - theirs) <= POINTS * ctx.slack and len(samples) >= ctx.duty_s / ctx.slack,
                 f"agent {ours:.1f}% in {seconds:.1f} s, nvidia-smi {theirs:.1f}% ({len(samples)} samples): "
                 f"{abs(ours - theirs):.1f} points apart")
    yield energy(ctx, duty, mean(s[2] for s in samples), used["energy_mj"] / 1000, seconds)


def energy(ctx, duty, watts, joules, seconds):
    what = f"energy, a kernel at {duty}%"
    if not watts or not joules:
        return Row(what, NOT_HERE, f"nvidia-smi tells {watts} W, the agent {joules} J")
    ours = joules / seconds
    return judged(what, abs(ours - watts) <= watts * ENERGY / 100 * ctx.slack, f"agent {joules:.0f} J in {seconds:.1f} s, {ours:.0f} W; nvidia-smi {watts:.0f} W")


# --- a model ---------------------------------------------------------------------------------------

TORCH = """
import json, sys, torch
torch.manual_seed(1)
torch.backends.cuda.matmul.allow_tf32 = False
model = torch.nn.Sequential(torch.nn.Linear(512, 1024), torch.nn.ReLU(), torch.nn.Linear(1024, 64)).eval()
items = torch.randn(64 * 256, 512)
assert torch.cuda.is_available(), "no CUDA"
on_gpu = model.to("cuda")
with torch.inference_mode():
    got = torch.cat([on_gpu(part.to("cuda")).cpu() for part in items.split(256)])
    want = model.to("cpu")(items)
print(json.dumps({"torch": torch.__version__, "count": torch.cuda.device_count(), "name": torch.cuda.get_device_name(0),
                  "items": len(got), "differs": float((got - want).abs().max() / want.abs().max())}))
"""


def runs_for(user, *words):
    """Does that come to a good end as this user?"""
    kw = {"user": user, "group": pwd.getpwnam(user).pw_gid, "extra_groups": []} if ROOT else {}
    try:
        return subprocess.run(words, capture_output=True, check=False, cwd="/", timeout=30, **kw).returncode == 0
    except (OSError, subprocess.TimeoutExpired):
        return False


PYTHONS = [p for p in dict.fromkeys([shutil.which("python3"), "/usr/bin/python3"]) if p]


def with_torch(c):
    """A Python that has torch, and a user that can run it: (None, None) without one."""
    find = "import importlib.util, sys; sys.exit(importlib.util.find_spec('torch') is None)"
    users = [c.ctld_user.pw_name, *(["root"] if ROOT else [])]
    return next(((p, u) for u in users for p in PYTHONS if runs_for(u, p, "-c", find)), (None, None))


def torch(ctx):
    """Batch inference with PyTorch, its results against the CPU's."""
    c, what = ctx.site, "a PyTorch batch-inference job"
    python, user = with_torch(c)
    if not python:
        yield Row(what, NOT_HERE, f"no python3 has torch ({', '.join(PYTHONS)})")
        return
    (c.dir / "jobs/infer.py").write_text(TORCH)
    job = c.script(f"unset LD_LIBRARY_PATH\nexec {python} infer.py", "--gpus=1", f"--chdir={c.dir}/jobs", user=user)
    end = c.over(job, 100)
    lines = c.read(job)
    differs, used = value(lines, "differs"), c.used(job)
    yield judged(what, end["state"] == "COMPLETED" and value(lines, "count") == 1 and differs is not None and differs < 1e-4,
                 f"torch {value(lines, 'torch')} on {value(lines, 'name')}: {value(lines, 'items')} items, the CPU's differ by {differs:.1e}, "
                 f"peak {used.get('gpu_mem_peak_mb', 0)} MiB; user {user}" if differs is not None else f"{end['state']}: {c.text(job)}")


# --- the agent -------------------------------------------------------------------------------------

def family(pid):
    """The process and all below it."""
    parents = {}
    for p in pathlib.Path("/proc").glob("[0-9]*"):
        try:
            parents[int(p.name)] = int(p.joinpath("stat").read_text().rsplit(")", 1)[1].split()[1])
        except (OSError, IndexError):
            pass
    found = {pid}
    while True:
        more = {p for p, parent in parents.items() if parent in found} - found
        if not more:
            return found
        found |= more


WARMER = 5     # C that a GPU may have become warmer or colder meanwhile
SAME_MB = 64   # that the agent's memory may differ from nvidia-smi's: a process may just come or go


def idle_gpus(ctx):
    """What the agent samples of GPUs that no run holds, against nvidia-smi."""
    if not shutil.which("nvidia-smi"):
        yield Row("idle GPUs, sampled", NOT_HERE, "there is no nvidia-smi")
        return

    begin = time.time()

    def sampled():
        """Since this row began: before it something may have run."""
        found = [g for g in ctx.site.devices() if g.get("sample_known") and not g["uuid"].startswith("MIG-")]
        return found if found and all(g.get("sample_age_s", 0) + 1 < time.time() - begin for g in found) else None
    try:
        ours = wait_until(sampled, "a sample", 30)
    except Failed:
        yield Row("idle GPUs, sampled", NOT_HERE, "no whole GPU was sampled: every card is in MIG mode, or no library answers")
        return
    theirs = {row["uuid"]: row for row in smi_table(("uuid", "memory.used", "temperature.gpu", "clocks.sm", "power.draw"))}
    for g in ours:
        smi_says = theirs[g["uuid"]]
        mb, warm = (float(smi_says[k]) for k in ("memory.used", "temperature.gpu"))
        yield judged(f"idle GPU {g['index']}, sampled",
                     abs(g.get("temp_c", 0) - warm) <= WARMER and abs(g.get("fb_used_mb", 0) - mb) <= SAME_MB,
                     f"agent {g.get('sm_pct', 0)}%, {g.get('fb_used_mb', 0)} MiB, {g.get('temp_c', 0)} C, {g.get('power_mw', 0) / 1000:.0f} W, "
                     f"{g.get('sm_clock_mhz', 0)} MHz, {g.get('sample_age_s', 0)} s before; nvidia-smi {mb:.0f} MiB, {warm:.0f} C, "
                     f"{smi_says['power.draw']} W, {smi_says['clocks.sm']} MHz")


def cost(ctx, seconds):
    """Percent of a core that the agent and all its processes take meanwhile, their MiB, how many they are."""
    pids = family(ctx.site.agents["gpu1"].pid)
    before, begin = cpu_ns(pids), time.monotonic()
    live_for(seconds)
    after, took = cpu_ns(pids), time.monotonic() - begin
    return sum(after[p] - before[p] for p in after if p in before) / 1e7 / took, sum(map(pss_kb, after)) / 1024, len(after)


def idle_agent(ctx):
    """What it costs when nothing runs, with the real library in its processes."""
    percent, mb, n = cost(ctx, 8)
    yield Row("the idle agent, all its processes", SEEN, f"{percent:.3f}% of a core in 8 s, with a look at the GPUs and a sample of them each 5 s (600 s "
              f"and 60 s are usual); {mb:.1f} MiB in {n} processes")


def busy_agent(ctx):
    """The same while a job has a GPU; what the job takes for itself is in it."""
    c = ctx.site
    job = c.script("echo '{\"sleeps\": 1}'; exec sleep 60", "--gpus=1")
    c.said(job, "sleeps")
    percent, mb, n = cost(ctx, 10)
    c.cancel(job)
    yield Row("the agent beside a job", SEEN, f"{percent:.3f}% of a core in 10 s, with a sample of the GPU each second (10 s are usual); {mb:.1f} MiB in {n} processes, "
              "the job's own two among them")


def cpu_ns(pids):
    """Of each that lives: its own, and that of children which have ended."""
    found = {}
    for p in pids:
        try:
            words = pathlib.Path(f"/proc/{p}/stat").read_text().rsplit(")", 1)[1].split()
            found[p] = int(pathlib.Path(f"/proc/{p}/schedstat").read_text().split()[0]) + \
                (int(words[13]) + int(words[14])) * 1_000_000_000 // os.sysconf("SC_CLK_TCK")
        except (OSError, IndexError, ValueError):
            pass
    return found


def pss_kb(pid):
    try:
        return int(re.search(r"^Pss:\s+(\d+)", pathlib.Path(f"/proc/{pid}/smaps_rollup").read_text(), re.M)[1])
    except (OSError, TypeError):
        return 0


def xid(ctx):
    """An Xid 31 is what any program makes that writes where nothing is; still, it is only made where it is asked for."""
    what = "an Xid reaches the log of events"
    if not ctx.make_xid:
        yield Row(what, UNSEEN, "none is made unless --xid is given: a program that writes where nothing is")
        return
    c = ctx.site
    job = c.tool("fault", "--gpus=1")
    c.over(job)

    def events():
        told = json.loads(c.run("gctl", "events", "--json").stdout)["events"]
        return [e["text"] for e in told if e["kind"] == "gpu.fault" and "Xid" in e["text"]]
    try:
        wait_until(events, "the event", 15)
    except Failed:
        pass
    yield judged(what, any("Xid 31" in e for e in events()), "; ".join(events()) or f"no event; the program said {c.text(job)}")
