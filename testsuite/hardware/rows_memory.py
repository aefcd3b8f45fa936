"""Rows about a GPU's memory: what runs have of it, what is left behind, who takes more than his part."""

import contextlib
import os
import pathlib
import pwd
import shutil
import sys
import textwrap
import time

from cluster import ROOT, TOP, Failed, wait_until
from site_gpu import ENDED, TOOL, outside, smi, tool, value
from verdict import FAIL, NOT_HERE, SEEN, UNSEEN, Row, judged

PATTERN = 0xA5
CONTEXT_MB = 1500   # what a program has of a GPU besides what it asked for, at most
LOOK_S, END_S = 1, 2  # the watchdog's: how often it looks, how soon after a look it ends
ROUNDS, TIMES = 200_000, 20


def mem_mb(ctx):
    """Of the smallest that a run can get."""
    return min(g["mem_mb"] for g in ctx.inventory["gpus"] if g["mig"] or not g["mig_mode"])


def apps():
    """MiB of each process, as nvidia-smi tells: None where it does not."""
    out = smi("--query-compute-apps=pid,used_memory", "--format=csv,noheader,nounits")
    rows = (line.split(",") for line in out.splitlines() if "," in line)
    return {int(r[0]): int(r[1]) if r[1].strip().isdigit() else None for r in rows}


def process_memory(ctx):
    """What NVML says that a process has, against what it took and against what the agent keeps of the run."""
    c, want = ctx.site, mem_mb(ctx) // 8
    job = c.tool(f"hold {want} 60", "--gpus=1")
    held, pid = c.said(job, "held_mb"), c.said(job, "pid")
    try:
        told = wait_until(lambda: (lambda a: a if pid in a else None)(apps()), f"nvidia-smi to tell of process {pid}", 10)[pid]
    except Failed:
        yield Row("memory of a process", NOT_HERE, f"{held} MiB are held, and nvidia-smi tells of no process {pid}: "
                  "as in a container with process ids of its own")
        c.cancel(job)
        return
    # The first sample may have been taken before the program had all its memory.
    with contextlib.suppress(Failed):
        wait_until(lambda: c.used(job).get("gpu_mem_now_mb", 0) >= held, "the agent to have seen it", 15)
    ours = c.used(job).get("gpu_mem_now_mb", 0)
    c.cancel(job)
    peak = c.used(job).get("gpu_mem_peak_mb", 0)
    if told is None:
        yield Row("memory of a process", NOT_HERE, f"the driver says N/A; the agent keeps {ours} MiB")
        return
    good = held == want and held <= told <= held + CONTEXT_MB and abs(ours - told) <= max(2, told // 100) and peak >= ours
    yield judged("memory of a process", good,
                 f"it took {held} MiB, nvidia-smi tells {told}, the agent {ours} now and {peak} at its peak")


# --- residue ---------------------------------------------------------------------------------------

def other_user(ctx):
    """Somebody else's name, the same where only one can be."""
    if not ROOT:
        return ctx.site.ctld_user.pw_name
    return next(p.pw_name for p in pwd.getpwall() if p.pw_uid not in (0, ctx.site.ctld_user.pw_uid))


def left_behind(ctx):
    """One user fills the memory and is killed; what the next one finds: (MiB filled, MiB scanned, MiB of the pattern, MiB not zero)."""
    c = ctx.site
    job = c.tool(f"fill all {PATTERN} 60", "--gpus=1")
    c.said(job, "filled", 60)
    uuid = c.read(job)[0]["gpus"]
    c.run("gcancel", "--signal=KILL", job)
    c.over(job)
    wait_until(lambda: all(g["state"] == "free" for g in c.devices()), lambda: f"the GPU to be free: {c.devices()}", 40)
    # All GPUs are asked for, so that it is one of them, and CUDA is told which.
    scan = c.script(f"CUDA_VISIBLE_DEVICES={uuid} exec {TOOL} scan {PATTERN}", f"--gpus={len(c.devices())}", user=other_user(ctx))
    end, lines = c.over(scan), c.read(scan)
    if end["state"] != "COMPLETED" or uuid not in lines[0]["gpus"].split(","):
        raise Failed(f"{uuid} was filled; who looks at {lines[:1]} is {end['state']}: {c.text(scan)}")
    return (value(c.read(job), "held_mb"), value(lines, "scanned_mb"), value(lines, "pattern") * 8 / 2**20, value(lines, "not_zero") * 8 / 2**20)


def residue_text(ctx, found):
    who = "another user" if ROOT else "the same user (two need root)"
    return f"{found[0]} MiB filled, owner killed; {who} took {found[1]} MiB and found {found[2]:g} MiB of the pattern, {found[3]:g} MiB not zero"


def residue(ctx):
    """Nothing is promised without a scrub program, so this only says what there is."""
    yield Row("residue between two users, no scrub program", SEEN, residue_text(ctx, left_behind(ctx)))


def scrubbed(ctx):
    """The same with etc/examples/scrub/gpu-scrub."""
    c = ctx.site
    program, said = c.programs / "scrub", c.dir / "scrub.log"
    shutil.copy(TOP / "etc/examples/scrub/gpu-scrub", c.programs / "gpu-scrub")
    keep = "".join(f'export {k}="{os.environ[k]}"\n' for k in ("LD_LIBRARY_PATH", "NVML_STANDIN", "CUDA_STANDIN") if k in os.environ)
    program.write_text(f"#!/bin/sh\n{keep}{ctx.scrub or f'{sys.executable} {c.programs}/gpu-scrub'} >>{said} 2>&1\n")
    for p in (program, c.programs / "gpu-scrub"):
        p.chmod(0o755)
    c.configure(f'scrub = "{program}";')
    found = left_behind(ctx)
    told = pathlib.Path(said).read_text().strip().splitlines() if said.exists() else []
    yield judged("residue between two users, with gpu-scrub", found[1] > 0 and found[2] == 0 and found[3] == 0 and bool(told),
                 f"{residue_text(ctx, found)}; it said: {told[0] if told else 'nothing'}")


# --- the watchdog ----------------------------------------------------------------------------------

def sums(c, job):
    return [x["sum"] for x in c.read(job) if "sum" in x]


def watchdog(ctx):
    """Who takes more than his part is ended; the one beside him computes what he computes alone."""
    c, part = ctx.site, mem_mb(ctx) // 8
    ask = [f"--gpu-mem={part}M"]
    first = c.tool(f"work {ROUNDS} {TIMES}", *ask)
    if c.over(first)["state"] != "COMPLETED":
        raise Failed(f"alone it does not even end: {c.text(first)}")
    alone = sums(c, first)
    flag = c.dir / "jobs/enough"
    beside = c.tool(f"work {ROUNDS} {TIMES} {flag}", *ask)
    c.said(beside, "sum")
    greedy = c.tool(f"hold {2 * part} 60", *ask)
    held = c.said(greedy, "at")
    before = len(sums(c, beside))
    try:
        wait_until(lambda: c.state(greedy) in ENDED, "its end", 20)
    except Failed:
        yield Row("the watchdog ends who takes more than his part", FAIL, f"it holds {2 * part} MiB of {part} and goes on")
        c.cancel(greedy, beside)
        return
    took = time.time() - held  # and what it takes to look here
    end = c.shown(greedy)
    wait_until(lambda: len(sums(c, beside)) > before + 2, "the neighbour to go on", 15)
    flag.touch()
    last = c.over(beside)
    yield judged("the watchdog ends who takes more than his part", end["state"] == "OUT_OF_MEMORY" and took <= (LOOK_S + END_S) * ctx.slack,
                 f"{end['state']}: {c.why(greedy)}; {took:.2f} s after it had {2 * part} MiB of {part} "
                 f"(a look each {LOOK_S} s, then {END_S} s at most)")
    got = sums(c, beside)
    good = last["state"] == "COMPLETED" and len(alone) == TIMES and len(got) >= TIMES and got == alone * (len(got) // TIMES)
    yield judged("its neighbour's output is that of a solo run", good,
                 f"{last['state']}: {len(got)} checksums beside it, {sum(a == b for a, b in zip(got, alone * len(got)))} as alone")


# --- MPS -------------------------------------------------------------------------------------------

def mps(ctx):
    c, part = ctx.site, mem_mb(ctx) // 8
    ask = [f"--gpu-mem={part}M", "--gpu-share=25%"]
    lines = c.done("count", *ask)
    alone = next((x["sms"] for x in tool("count", env={"CUDA_DEVICE_ORDER": "PCI_BUS_ID"}) if "ordinal" in x), None)
    got = next((x["sms"] for x in lines if "ordinal" in x), None)
    text = f"25% of the threads: CUDA counts {got} of {alone} multiprocessors"
    if got and got == alone:
        yield Row("MPS: a part of the compute", UNSEEN, f"{text}, so it does not tell whether that is held")
    else:
        yield judged("MPS: a part of the compute", bool(got) and bool(alone) and got <= alone // 2, text)
    job = c.tool(f"hold {2 * part}", *ask)
    end = c.over(job)
    held = value(c.read(job), "held_mb")
    yield judged("MPS: the memory limit holds", end["state"] == "COMPLETED" and held is not None and 0 < held <= part,
                 f"{2 * part} MiB asked for with a part of {part}: had {held} MiB; {end['state']} {c.text(job) if held is None else ''}".strip())


def process_left(ctx):
    """A GPU on which a stranger is, is given to nobody, until he has gone."""
    c = ctx.site
    n = len(c.devices())
    with outside("hold", 64 if mem_mb(ctx) > 1024 else 8, 60, until="held_mb") as stranger:
        try:
            wait_until(lambda: stranger.pid in apps(), "nvidia-smi to tell of it", 10)
        except Failed:
            yield Row("a process left on a free GPU is found", NOT_HERE, "nvidia-smi does not tell of a process that is there")
            return
        job = c.tool("count", f"--gpus={n}")
        wait_until(lambda: any("left on it" in g.get("reason", "") for g in c.devices()) or c.state(job) == "COMPLETED",
                   lambda: f"a GPU to be drained: {c.devices()}", 20)
        reasons = [g["reason"] for g in c.devices() if "left on it" in g.get("reason", "")]
        state = c.state(job)
    good = bool(reasons) and f"process {stranger.pid} " in reasons[0] and state == "PENDING"
    told = reasons[0].split(";")[0] if reasons else f"no GPU was drained, the job was {state}"
    try:
        c.over(job, 30)
        told += "; given back when it had gone"
    except Failed as e:
        good, told = False, f"{told}; {e}"
        c.cancel(job)
    yield judged("a process left on a free GPU is found", good, textwrap.shorten(told, 250))
