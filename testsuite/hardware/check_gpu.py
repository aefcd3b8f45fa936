#!/usr/bin/env python3
"""check_gpu.py - an acceptance test on a machine with NVIDIA GPUs: make check-gpu

Brings up a cluster of this one machine, runs jobs on its GPUs, and prints a table with a row for each thing that it looks at: what
it is, a verdict, and what was seen. Best as root; as an ordinary user what needs root is named and left out. It takes up to five
minutes, has all GPUs to itself, and changes no setting of theirs. A row that fails or hangs does not stop the others.

  pass                what is promised was seen
  FAIL                it was not
  seen                a figure of which nothing is promised
  not enforced here   the machine has not what would hold it (no cgroups, no root): why
  not here            what the row needs is not there: a second GPU, MIG, MPS, torch
  unseen              not tried

The exit status is 0, 1 when a row failed, 77 without a GPU, and then it says what is missing.
"""

import argparse
import collections
import contextlib
import datetime
import os
import pathlib
import platform
import re
import shutil
import signal
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "system/lib")]
MARKS = "<!-- hardware begin -->", "<!-- hardware end -->"
NO_GPU = 77
ROW_S, ALL_S = 75, 285  # what one row, what all may take
DUTY_S = 16


def reachable_build(build, folder):
    """A copy of the programs where the jobs' users can run them, whatever the modes above the build folder are. What `pack` made has
    bin/ and lib/ too, of what the machine may not have."""
    wanted = [*(build / "cmds").glob("g*"), *(build / "ctld").glob("g*"), *(build / "noded").glob("g*"), build / "testsuite/hardware/gputool",
              *(build / "bin").glob("*"), *(build / "lib").glob("*")]
    for p in wanted:
        if p.is_file() and (p.parent.name == "lib" or os.access(p, os.X_OK)):
            to = folder / p.relative_to(build)
            to.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(p, to)
    for variable, sub in (("PATH", "bin"), ("LD_LIBRARY_PATH", "lib")):
        if (folder / sub).exists():
            os.environ[variable] = ":".join(filter(None, [str(folder / sub), os.environ.get(variable)]))
    return folder


class TooLong(Exception):
    """A row has not ended in time."""


@contextlib.contextmanager
def limit(seconds):
    def late(number, frame):
        raise TooLong(f"not over within {seconds:.0f} s")

    before = signal.signal(signal.SIGALRM, late)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


class Check:
    """What the rows share. `site`: the cluster of the rows at hand."""

    def __init__(self, args, inventory):
        self.inventory, self.dev = inventory, args.dev
        self.model = args.model
        self.scrub, self.make_xid, self.slack = args.scrub, args.xid, args.slack
        self.agent_options = args.agent
        self.site = None
        self.tool = ""
        self.rows = []
        self.duty_s = args.duty_seconds
        self.row_s = args.row_seconds
        self.end = time.monotonic() + args.seconds

    def row(self, row, quiet=False):
        self.rows.append(row)
        if not quiet:
            print(f"{row.verdict:18} {row.what}: {row.evidence}", flush=True)

    def run(self, title, rows):
        """All rows of one function; what goes wrong in it is a row too."""
        import verdict
        left = self.end - time.monotonic()
        if left < 5:
            self.row(verdict.Row(title, verdict.UNSEEN, "no time was left for it"))
            return
        try:
            with limit(min(self.row_s, left)):
                for row in rows(self):
                    self.row(row)
        except Exception as e:  # pylint: disable=broad-except
            text = " ".join(str(e).split())
            self.row(verdict.Row(title, verdict.FAIL, f"{type(e).__name__}: {text[:400]}"))
        self.tidy()

    def tidy(self):
        """Nothing of one row is in the way of the next."""
        if not self.site:
            return
        try:
            with limit(20):
                self.site.run("gcancel", "--state", "PENDING,CONFIGURING,RUNNING", check=False, timeout=10)
                from cluster import wait_until
                wait_until(lambda: not self.site.shepherds(), "all runs to end", 8)
        except Exception as e:  # pylint: disable=broad-except
            print(f"{'':18} (tidying: {e})", flush=True)


# Each group has a cluster of its own, with these keys of the node; None: it needs none. Title, module, function.
GROUPS = (
    (None, (("discovery against nvidia-smi", "found", "discovery"),)),
    ("", (
        ("containment of runs", "found", "containment"),
        ("the controller has the same GPUs", "found", "reported"),
        ("a CUDA program sees exactly its GPU", "found", "visible"),
        ("a foreign device cannot be opened", "found", "foreign"),
        ("a run sees its MIG instance alone", "found", "mig"),
        ("memory of a process", "memory", "process_memory"),
        ("compute use", "use", "compute_use"),
        ("a PyTorch batch-inference job", "use", "torch"),
        ("a process left on a free GPU is found", "memory", "process_left"),
        ("idle GPUs, sampled", "use", "idle_gpus"),
        ("the page of metrics", "work", "metric_page"),
        ("what a job costs", "work", "launch"),
        ("the agent beside a job", "use", "busy_agent"),
        ("the idle agent", "use", "idle_agent"),
        ("a GPU handed over with a warning", "work", "handed_over"),
        ("residue between two users, no scrub program", "memory", "residue"),
        ("residue between two users, with gpu-scrub", "memory", "scrubbed"),
        ("an Xid reaches the log of events", "use", "xid"))),
    ('share = "watch";', (("the watchdog ends who takes more than his part", "memory", "watchdog"),
                           ("a service on parts of one GPU", "serve", "service"),
                           ("a model under load beside a batch job", "serve", "served"))),
    ('share = "mps";', (("MPS", "memory", "mps"),)),
)


def chosen(only):
    """Of each group those rows whose title has one of these words."""
    found = []
    for keys, rows in GROUPS:
        mine = [r for r in rows if not only or any(o in r[0] for o in only)]
        if mine:
            found.append((keys, mine))
    return found


def left_out(check, keys):
    """Why a group has nothing to look at here; "": it has."""
    if keys and "share" in keys and all(g["mig_mode"] for g in check.inventory["gpus"] if not g["mig"]):
        return "every card is in MIG mode"
    if keys and "mps" in keys and not shutil.which("nvidia-cuda-mps-control"):
        return "there is no nvidia-cuda-mps-control"
    return ""


def run_group(check, keys, rows):
    import importlib
    import verdict
    from site_gpu import TOOL, Site
    check.tool = TOOL
    why = left_out(check, keys)
    if why:
        for title, _, _ in rows:
            check.row(verdict.Row(title, verdict.NOT_HERE, why))
        return
    if keys is not None:
        try:
            with limit(ROW_S):
                check.site = Site(keys, check.agent_options)
        except Exception as e:  # pylint: disable=broad-except
            for title, _, _ in rows:
                check.row(verdict.Row(title, verdict.FAIL, f"{type(e).__name__}: {' '.join(str(e).split())[:400]}"))
            return
    try:
        for title, module, function in rows:
            check.run(title, getattr(importlib.import_module(f"rows_{module}"), function))
    finally:
        site, check.site = check.site, None
        if site:
            try:
                with limit(60):
                    site.close()
            except Exception as e:  # pylint: disable=broad-except
                check.row(verdict.Row("the cluster ends in order", verdict.FAIL, " ".join(str(e).split())[:400]))


def missing(inventory):
    """What there would have to be: nothing, if there is a GPU."""
    if inventory["gpus"]:
        return []
    said = [f"gnoded --inventory finds no GPU: {inventory['trouble'] or 'and no library of NVIDIA’s'}"]
    for library in ("libnvidia-ml.so.1", "libcuda.so.1"):
        import ctypes
        try:
            ctypes.CDLL(library)
        except OSError as e:
            said.append(f"the driver's library {library}: {e}")
    if not list(pathlib.Path("/dev").glob("nvidia[0-9]*")):
        said.append("/dev/nvidia0: there is none (no GPU, no driver, or a container that was not given one)")
    if not shutil.which("nvidia-smi"):
        said.append("nvidia-smi: not in PATH")
    return said


def header(inventory, standin):
    kernel = f"{platform.system()} {platform.release()}"
    cards = collections.Counter(g["name"] for g in inventory["gpus"] if not g["mig"])
    return (f"{datetime.date.today()}, {'stand-in, no hardware' if standin else 'real'}: {', '.join(f'{n} x {name}' for name, n in cards.items())}, "
            f"driver {inventory['driver']}, CUDA {inventory['cuda']}, {kernel} {platform.machine()}, "
            f"{'root' if os.geteuid() == 0 else 'an ordinary user'}, command `make check-gpu`")


def table(check, standin):
    mark = "stand-in" if standin else "real"
    lines = ["| what | verdict | on | what was seen |", "| --- | --- | --- | --- |"]
    for r in check.rows:
        lines.append(f"| {r.what} | {r.verdict} | {mark if r.verdict in ('pass', 'FAIL', 'seen') else ''} | {str(r.evidence).replace('|', '/')} |")
    count = collections.Counter(r.verdict for r in check.rows)
    return "\n".join(lines) + "\n\n" + ", ".join(f"{n} {v}" for v, n in count.items()) + "\n"


def write(path, text):
    path = pathlib.Path(path)
    old = path.read_text() if path.exists() else ""
    block = f"{MARKS[0]}\n{text}{MARKS[1]}"
    if MARKS[0] in old:
        new = re.sub(f"(?s){re.escape(MARKS[0])}.*?{re.escape(MARKS[1])}", lambda _: block, old)
    else:
        new = (old.rstrip() + "\n\n## Real hardware\n\n" if old else "") + block + "\n"
    path.write_text(new)


def options():
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument("--write", metavar="FILE", help="put the table into this file, between its marks, or at its end")
    ap.add_argument("--xid", action="store_true", help="also make an Xid 31, by a program that writes where nothing is")
    ap.add_argument("--seconds", type=float, default=ALL_S, help=f"how long all of it may take ({ALL_S})")
    ap.add_argument("--row-seconds", type=float, default=ROW_S, help=f"how long what one function looks at may take ({ROW_S})")
    ap.add_argument("--only", metavar="WORD", action="append", default=[], help="the rows whose title has this word only (may be repeated)")
    ap.add_argument("--list", action="store_true", help="print the titles that --only goes by, and end")
    ap.add_argument("--duty-seconds", type=float, default=DUTY_S, help=f"how long compute use is looked at, each time ({DUTY_S})")
    ap.add_argument("--dev", default="/dev", help="where the device files are (/dev)")
    ap.add_argument("--scrub", metavar="FILE", help="this in place of etc/examples/scrub/gpu-scrub")
    ap.add_argument("--model", metavar="FILE", help="this is served in place of testsuite/hardware/model.py, which needs torch")
    ap.add_argument("--agent", metavar="OPTION", action="append", default=[], help="an option for gnoded besides (may be repeated)")
    ap.add_argument("--slack", type=float, default=1, help="times so much is as good, for a machine that is busy with other things (1)")
    return ap.parse_args()


def main():
    args = options()
    if args.list:
        print("\n".join(title for _, rows in GROUPS for title, _, _ in rows))
        return 0
    if not chosen(args.only):
        print(f"check-gpu: --only: no title has '{args.only[0]}'; --list prints them", file=sys.stderr)
        return 2
    build = pathlib.Path(os.environ.get("GPUSCHED_BUILD", "build")).resolve()
    if not os.access(build / "noded/gnoded", os.X_OK):
        print(f"check-gpu: {build}/noded/gnoded is no program: build first, or set GPUSCHED_BUILD", file=sys.stderr)
        return 1
    standin = bool(os.environ.get("NVML_STANDIN") or os.environ.get("CUDA_STANDIN"))
    os.environ.setdefault("GPUSCHED_TEST_DEADLINE", "30")
    signal.signal(signal.SIGTERM, lambda number, frame: sys.exit(128 + number))  # what was started is ended then too
    with tempfile.TemporaryDirectory(prefix="gpusched-gpu-") as folder:
        os.chmod(folder, 0o755)
        os.environ["GPUSCHED_BUILD"] = str(reachable_build(build, pathlib.Path(folder)))
        from site_gpu import inventory
        have = inventory()
        said = missing(have)
        if said:
            print("check-gpu: there is no GPU here:\n" + "".join(f"  {line}\n" for line in said), end="")
            return NO_GPU
        check = Check(args, have)
        print(header(have, standin), flush=True)
        for keys, rows in chosen(args.only):
            run_group(check, keys, rows)
    text = f"{header(have, standin)}\n\n{table(check, standin)}"
    print("\n" + text)
    if args.write:
        write(args.write, text)
    return 1 if any(r.verdict == "FAIL" for r in check.rows) else 0


if __name__ == "__main__":
    sys.exit(main())
