"""Rows about work as a site has it: a GPU handed over with a warning, what a job costs, the page of metrics."""

import contextlib
import re
import statistics
import time

from cluster import wait_until
from rows_memory import mem_mb
from rows_use import SAME_MB, WARMER
from site_gpu import TOOL, smi_table, tool, value
from verdict import NOT_HERE, SEEN, Row, judged

JOBS = 15

# It returns the GPU when it is warned, as a server or a batch job would that keeps its work.
YIELDS = """
%s hold %s 120 & p=$!
trap 'date +"{\\"warned\\": %%s.%%N}"; kill $p; wait $p; date +"{\\"gave_back\\": %%s.%%N}"; exit 0' TERM
while kill -0 $p; do wait $p; done
"""


def handed_over(ctx):
    """A job that has all memory of a GPU makes room for one of a QOS that may preempt it, and gets the GPU again."""
    c, n = ctx.site, len(ctx.site.devices())
    low = c.script(YIELDS % (TOOL, "all"), f"--gpus={n}", "--qos=scavenger", "--requeue")
    held = c.said(low, "held_mb", 60)
    begin = time.time()
    high = c.tool("hold all", f"--gpus={n}", "--qos=production")
    wait_until(lambda: value(c.read(low), "gave_back"), lambda: f"the warning of job {low}: {c.why(low)}, {c.text(low)}", 30)
    warned, back = (value(c.read(low), k) for k in ("warned", "gave_back"))
    end = c.over(high)
    got, at = value(c.read(high), "held_mb"), value(c.read(high), "at")
    c.read(low)
    wait_until(lambda: c.state(low) == "RUNNING", lambda: f"job {low} to run again: {c.why(low)}", 30)
    c.cancel(low)
    yield judged("a GPU handed over with a warning", end["state"] == "COMPLETED" and got is not None and got >= held * 98 // 100,
                 f"{held} MiB held, warned {warned - begin:.2f} s after the other was submitted, given back {back - warned:.2f} s later; "
                 f"the other had {got} MiB {(at or 0) - back:.2f} s after that; the first runs again")


# --- what a job costs ------------------------------------------------------------------------------

def launch(ctx):
    """One job after the other, each of which only asks CUDA for its GPU, and the same program alone."""
    c, alone, jobs = ctx.site, [], []
    for _ in range(JOBS):
        begin = time.monotonic()
        tool("count", user=c.ctld_user.pw_name)
        alone.append(time.monotonic() - begin)
    for _ in range(JOBS):
        begin = time.monotonic()
        c.run("grun", "--gpus=1", TOOL, "count", user=c.ctld_user.pw_name)
        jobs.append(time.monotonic() - begin)
    yield Row("what a job costs", SEEN, f"grun of a program that asks CUDA for its GPU: median {statistics.median(jobs) * 1e3:.0f} ms, worst "
              f"{max(jobs) * 1e3:.0f}, of {JOBS} in turn; the program alone: {statistics.median(alone) * 1e3:.0f} and {max(alone) * 1e3:.0f}")


# --- the page of metrics ---------------------------------------------------------------------------

def series(text, name):
    """{UUID: (value, the other labels)} of one metric."""
    return {m[2]: (float(m[3]), m[1]) for m in re.finditer(rf'^{name}{{(.*?UUID="([^"]*)".*?)}} (\S+)$', text, re.M)}


def metric_page(ctx):
    """What Prometheus would read of a GPU that a job has, against nvidia-smi."""
    c, what = ctx.site, "the page of metrics"
    from webserver import Web, missing
    if missing() or not c.devices():
        yield Row(what, NOT_HERE, missing() or "the node has no GPU")
        return
    with contextlib.closing(Web(c, user=c.ctld_user.pw_name)) as web:
        job = c.tool(f"hold {mem_mb(ctx) // 4} 60", "--gpus=1")
        held = c.said(job, "held_mb")
        uuid = c.read(job)[0]["gpus"]

        def page():
            text = web.get("/metrics/gpus").body.decode()
            used = series(text, "DCGM_FI_DEV_FB_USED")
            return text if uuid in used and used[uuid][0] >= held and f'"{job}"' in used[uuid][1] else None
        text = wait_until(page, lambda: f"job {job} on the page: {web.get('/metrics/gpus').body.decode()[-600:]}", 20)
        smi_says = next(row for row in smi_table(("uuid", "memory.used", "temperature.gpu", "power.draw")) if row["uuid"] == uuid)
        c.cancel(job)
    told = {k: series(text, f"DCGM_FI_DEV_{k}").get(uuid, (0,))[0] for k in ("FB_USED", "GPU_TEMP", "POWER_USAGE")}
    mb, warm = float(smi_says["memory.used"]), float(smi_says["temperature.gpu"])
    yield judged(what, abs(told["FB_USED"] - mb) <= SAME_MB and abs(told["GPU_TEMP"] - warm) <= WARMER,
                 f"with its job, {told['FB_USED']:.0f} MiB, {told['GPU_TEMP']:.0f} C, {told['POWER_USAGE']:.0f} W; nvidia-smi {mb:.0f} MiB, {warm:.0f} C, "
                 f"{smi_says['power.draw']} W")
