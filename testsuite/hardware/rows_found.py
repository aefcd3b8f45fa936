"""Rows about what is found, and what a run sees and can open."""

import re
import shutil

from cluster import ROOT
from site_gpu import device_files, smi, smi_table, tool, value
from verdict import NOT_ENFORCED, NOT_HERE, SEEN, Row, judged, same


def pci(text):
    """Of '00000000:1B:00.0' and '0000:1b:00.0' the same."""
    domain, rest = text.lower().split(":", 1)
    return f"{int(domain, 16):04x}:{rest}"


def bare(uuid):
    """CUDA has the number alone."""
    return uuid.split("-", 1)[1] if uuid.startswith(("GPU-", "MIG-")) else uuid


# --- discovery -------------------------------------------------------------------------------------

# title, nvidia-smi's field, ours of it, ours of gnoded's
FIELDS = (
    ("UUID", "uuid", str, lambda g: g["uuid"]),
    ("PCI address", "pci.bus_id", pci, lambda g: g["pci"]),
    ("name", "name", str, lambda g: g["name"]),
    ("memory, MiB", "memory.total", int, lambda g: g["mem_mb"]),
    ("MIG mode", "mig.mode.current", lambda t: t == "Enabled", lambda g: g["mig_mode"]),
    ("ECC", "ecc.mode.current", lambda t: {"Enabled": "on", "Disabled": "off"}.get(t, "none"), lambda g: g["ecc"]),
    ("power limit, W", "enforced.power.limit", lambda t: int(float(t)) if t[:1].isdigit() else 0, lambda g: g["power_w"]),
)


def whole(ctx):
    """The cards, without the instances of those that are cut."""
    return [g for g in ctx.inventory["gpus"] if not g["mig"]]


def discovery(ctx):
    if not shutil.which("nvidia-smi"):
        yield Row("discovery against nvidia-smi", NOT_HERE, "there is no nvidia-smi")
        return
    ours = whole(ctx)
    told = {g["uuid"]: g for g in smi_table([f[1] for f in FIELDS] + ["driver_version"])}
    yield same("discovery: how many GPUs", len(ours), len(told))
    for title, field, convert, mine in FIELDS:
        theirs = [convert(told[g["uuid"]][field]) if g["uuid"] in told else "nothing" for g in ours]
        yield same(f"discovery: {title}", [mine(g) for g in ours], theirs)
    yield same("discovery: driver", ctx.inventory["driver"], next(iter(told.values()))["driver_version"])
    cuda = re.search(r"CUDA (?:UMD )?Version:\s*([0-9.]+)", smi())
    yield same("discovery: CUDA of the driver", ctx.inventory["cuda"], cuda[1] if cuda else "nothing")
    yield minors(ours)
    yield closeness(ours)
    yield instances(ctx)


def minors(ours):
    """nvidia-smi's XML has them; of a GPU it has one <uuid> and one <minor_number>."""
    theirs = {}
    for part in smi("-q", "-x").split("<gpu id=")[1:]:
        uuid, minor = re.search(r"<uuid>([^<]*)</uuid>", part), re.search(r"<minor_number>([^<]*)<", part)
        if uuid and minor:
            theirs[uuid[1]] = int(minor[1]) if minor[1].isdigit() else minor[1]
    return same("discovery: device minors", [g["minor"] for g in ours], [theirs.get(g["uuid"], "nothing") for g in ours])


def closeness(ours):
    """What is between each two, NVLinks first: the table of `nvidia-smi topo -m`."""
    what = "discovery: NVLink and PCIe between GPUs"
    index = {u: i for i, u in enumerate(re.findall(r"^GPU \d+:.*UUID: (\S+)\)", smi("-L"), re.M))}
    rows = {}
    for line in smi("topo", "-m").splitlines():
        r = re.sub(r"\x1b\[[0-9;]*m", "", line).split()
        if r and re.fullmatch(r"GPU\d+", r[0]) and r[1 + int(r[0][3:]):][:1] == ["X"]:
            rows[int(r[0][3:])] = r[1:]
    order = [index.get(g["uuid"]) for g in ours]
    theirs = [[rows[i][k] for k in order] if i in rows and None not in order else ["nothing"] for i in order]
    if len(ours) == 1:
        return same(what, [ours[0]["near"].split(",")], theirs)._replace(evidence=f"one GPU; {ours[0]['nvlinks']} NVLinks are active")
    return same(what, [g["near"].split(",") for g in ours], theirs)


def instances(ctx):
    ours = sorted(g["uuid"] for g in ctx.inventory["gpus"] if g["mig"])
    theirs = sorted(re.findall(r"^\s+MIG .*UUID: (\S+)\)", smi("-L"), re.M))
    if not ours and not theirs:
        return Row("discovery: MIG instances", NOT_HERE, "no card here is in MIG mode")
    return same("discovery: MIG instances", ours, theirs)


def reported(ctx):
    """What the controller gives out is what the node has."""
    usable = [g for g in ctx.inventory["gpus"] if g["mig"] or not g["mig_mode"]]
    told = ctx.site.devices()
    yield same("the controller has the same GPUs", sorted(g["uuid"] for g in told), sorted(g["uuid"] for g in usable), "the inventory")


def containment(ctx):
    n = ctx.site.node()
    yield Row("containment of runs", SEEN, ", ".join(filter(None, [n.get("containment", "").replace(",", " ") or "none",
                                                                    n.get("containment_why", "")])))


# --- what a CUDA program sees ----------------------------------------------------------------------

def seen(lines):
    return [(x["uuid"], pci(x["pci"])) for x in lines if "ordinal" in x]


def of(ctx, uuids):
    found = {g["uuid"]: g for g in ctx.inventory["gpus"]}
    return [(bare(u), found[u]["pci"]) for u in uuids]


def visible(ctx):
    """One GPU of however many, none, all."""
    c, n = ctx.site, len(ctx.site.devices())
    held, rows = [], []
    for _ in range(n):
        job = c.script(f"{ctx.tool} count; sleep 120", "--gpus=1")
        held.append(job)
        c.said(job, "devices")
        lines = c.read(job)
        mine = lines[0]["gpus"].split(",")
        rows.append((seen(lines), of(ctx, mine), lines[0], lines))
    c.cancel(*held)
    good = all(cuda == granted for cuda, granted, *_ in rows) and len({r[2]["gpus"] for r in rows}) == n
    yield judged("a CUDA program sees exactly its GPU", good, f"1 of {n}: " + "; ".join(
        f"granted {granted}, CUDA sees {cuda or value(lines, 'error')}" if cuda != granted else f"{r['gpus']} at {cuda[0][1]}" for cuda, granted, r, lines in rows))
    none = c.done("count")
    yield judged("a job without GPUs sees none", value(none, "devices") == 0, f"CUDA counts {value(none, 'devices')}; cuInit: {value(none, 'error') or 'goes well'}")
    yield from numbering(ctx, n, rows)


def numbering(ctx, n, rows):
    """Under the filter numbers begin at 0 in each run, whichever GPU it is; several are in the order of what was granted."""
    c = ctx.site
    why = c.enforced("devices")
    numbers = [r[2]["cuda"] for r in rows]
    told = f"CUDA_VISIBLE_DEVICES of {n} runs with one GPU each: {', '.join(numbers)}"
    if why:
        yield Row("numbering inside the filter", NOT_ENFORCED, f"no device filter ({why}); {told}")
    elif n == 1:
        yield judged("numbering inside the filter", numbers == ["0"], f"{told}; with one GPU its number is 0 anyway")
    else:
        yield judged("numbering inside the filter", numbers == ["0"] * n, told)
    if n > 1:
        lines = c.done("count", f"--gpus={n}")
        yield same("several GPUs are in the order granted", seen(lines), of(ctx, lines[0]["gpus"].split(",")), "the grant")


# --- device files ----------------------------------------------------------------------------------

SHARED = ("nvidiactl", "nvidia-uvm", "nvidia-uvm-tools", "nvidia-modeset")
DENIED = "EPERM"


def errors(lines):
    return {x["file"]: x["error"] for x in lines if "file" in x}


def told(found):
    return ", ".join(f"{f.rsplit('/', 1)[1]} {e}" for f, e in sorted(found.items())) or "none"


def opened(error):
    """The filter has let it through; ENXIO: it is no driver's."""
    return error in ("none", "ENXIO")


def foreign(ctx):
    c, files = ctx.site, device_files(ctx.dev)
    why = c.enforced("devices")
    if not files:
        yield Row("a foreign device cannot be opened", NOT_HERE, f"{ctx.dev} has no nvidia*")
        return
    outside = errors(tool("open", *files, user=c.ctld_user.pw_name))
    words = "open " + " ".join(files)
    none = errors(c.done(words))
    # Of those that nobody could open no filter is proved.
    open_outside = [f for f in files if opened(outside.get(f))]
    if why:
        yield Row("a job without GPUs opens no device file", NOT_ENFORCED, f"{why}; it opens: {told(none)}")
    else:
        good = bool(open_outside) and all(none.get(f) == DENIED for f in open_outside)
        yield judged("a job without GPUs opens no device file", good,
                     f"in a job: {told(none)}; of these the same user opens outside: {len(open_outside)} of {len(files)}")
    yield from with_one(ctx, words, files, outside, why)
    yield made(ctx, why)


def with_one(ctx, words, files, outside, why):
    """Who has one GPU opens its file and what is shared, no other GPU's, no capability, no screen."""
    lines = ctx.site.done(words, "--gpus=1")
    found = {g["uuid"]: g for g in ctx.inventory["gpus"]}
    granted = found[lines[0]["gpus"].split(",")[0]]
    got, own = errors(lines), f"{ctx.dev}/nvidia{granted['minor']}"
    mine = [f for f in files if f == own or f.rsplit("/", 1)[1] in SHARED]
    others = [f for f in files if f not in mine and (not granted["mig"] or "nvidia-caps/" not in f) and opened(outside.get(f))]
    needed = mine if ctx.dev == "/dev" else [own]  # the agent knows the shared ones by their names
    yield judged("a run with a GPU opens its own", own in got and all(opened(got[f]) for f in needed),
                 told({f: got.get(f, "nothing") for f in mine}) if own in files else f"there is no {own}")
    if why:
        yield Row("a foreign device cannot be opened", NOT_ENFORCED, f"{why}; besides its own: {told({f: got[f] for f in others})}")
    elif not others:
        yield Row("a foreign device cannot be opened", NOT_HERE, "besides its own GPU's there is none; see the job without GPUs")
    else:
        yield judged("a foreign device cannot be opened", all(got[f] == DENIED for f in others), told({f: got[f] for f in others}))


def made(ctx, why):
    """mknod(2) of a GPU's file, also by root's own job."""
    if not ROOT:
        return Row("a run makes no device file", NOT_HERE, "only root's jobs could; the test is not root's")
    lines = ctx.site.done(f"make {ctx.site.dir}/jobs/mine 195 0", user="root")
    error = value(lines, "error")
    if why:
        return Row("a run makes no device file", NOT_ENFORCED, f"{why}; root's job: {error}")
    return judged("a run makes no device file", error == DENIED, f"mknod of 195:0 by root's job: {error}")


# --- MIG -------------------------------------------------------------------------------------------

def mig(ctx):
    have = [g for g in ctx.inventory["gpus"] if g["mig"]]
    if not have:
        yield Row("a run sees its MIG instance alone", NOT_HERE, "no card here is in MIG mode")
        return
    for kind in sorted({g["type"] for g in have}):
        lines = ctx.site.done("count", f"--gpus={kind}:1")
        granted = lines[0]["gpus"]
        cuda = [x["uuid"] for x in lines if "ordinal" in x]
        yield same(f"a run sees its MIG instance alone: {kind}", cuda, [bare(granted)], "the grant")
