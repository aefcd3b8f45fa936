"""compare.py - scripts written for Slurm, under Slurm and under gpusched

usage: compare.py [--write] [CASE...]

Every script in cases/ is submitted to a one-node Slurm (Debian's slurm-wlm, brought up in a folder) and
to two one-node gpuscheds of the same size, by gsubmit and by the sbatch of theirs, each in a folder of its
own. What sbatch and gsubmit said of it, the state and exit code at the end, the job's SLURM_* and CUDA_* variables and all files are
compared. Each difference is a line in the file `differences` with its reason; one that is not there
fails, and so does a line that no longer differs. --write prints lines for what is not there.

Needs root, and slurm-wlm, which is installed if apt-get can.
"""

import fnmatch
import json
import os
import pathlib
import re
import shutil
import socket
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parents[0] / "bench"), str(HERE.parents[0] / "system/lib")]
import slurm  # noqa: E402
from cluster import BUILD, Cluster, wait_until  # noqa: E402

HOST = socket.gethostname().split(".")[0]
ENDED = {"COMPLETED", "FAILED", "CANCELLED", "TIMEOUT", "NODE_FAIL", "OUT_OF_MEMORY", "PREEMPTED", "DEADLINE", "HELD"}
HELD = {"JobLaunchFailure", "launch failure"}  # after some tries: for its owner to look at
SUBMITTER = {"FOO": "foo from here", "BAR": "bar from here"}
PATIENCE = 150

# How a case is submitted, where that is more than its name. `files` are there before; `then` is done
# when the job runs (or waits, for release); `after` is the case whose job it depends on; what is
# `submit_only` is cancelled at once. `umask` and `files_limit` (open files) are of who submits.
HOW = {
    "append.sh": {"files": {"log.txt": "first\n"}},
    "truncate.sh": {"files": {"log.txt": "old\n"}},
    "arguments.sh": {"args": ["one", "two words", "--three"]},
    "input.sh": {"files": {"in.txt": "shout\n"}},
    "chdir.sh": {"files": {"sub/x": ""}},
    "cancelled.sh": {"then": "cancel"},
    "requeued.sh": {"then": "requeue"},
    "held.sh": {"then": "release"},
    "hetjob.sh": {"submit_only": True},  # Slurm starts its parts only in a backfill pass, all others behind it
    "python.py": {"args": ["--epochs", "3"]},
    "depends.sh": {"after": "first.sh"},
    "command-line.sh": {"options": ["--wckey=w", "-O", "--ntasks-per-core=1", "--tasks=2", "--output=none", "--nice",
                                    "--mail-type=END,TIME_LIMIT_80"]},
    "umask.sh": {"umask": 0o027, "files_limit": 512},
    "plain.sh": {"options": ["--job-name=options", "-c", "2", "--output=given-%j.out"]},
    "threads.sh": {"options": ["-c", "4"]},
}


def cases(names):
    found = sorted(p.name for p in (HERE / "cases").iterdir())
    wrong = set(names) - set(found)
    if wrong:
        sys.exit(f"no such case: {', '.join(sorted(wrong))}")
    names = names or found
    return [n for n in found if n in names or n in {HOW.get(m, {}).get("after") for m in names}]


class Job:
    def __init__(self, side, case):
        self.side, self.case = side, case
        self.how = HOW.get(case, {})
        self.dir = side.jobs / case
        self.dir.mkdir()
        shutil.copy(HERE / "cases" / case, self.dir / case)
        self.before = {case, *self.how.get("files", {})}
        for name, text in self.how.get("files", {}).items():
            (self.dir / name).parent.mkdir(exist_ok=True)
            (self.dir / name).write_text(text)
        self.id, self.done_then, self.end = None, False, None

    def submit(self, first):
        options = [*self.how.get("options", [])]
        if "after" in self.how:
            options.append(f"--dependency=afterok:{first.id}")
            self.dir = first.dir
        if "then" in self.how:
            options.append("--parsable")
        argv = [self.side.command, "--parsable", *options, str(self.side.jobs / self.case / self.case), *self.how.get("args", [])]
        limit = self.how.get("files_limit")
        if limit:
            argv = ["sh", "-c", f'ulimit -Sn {limit} && exec "$@"', "sh", *argv]
        r = subprocess.run(argv, cwd=self.dir, env=self.side.env, capture_output=True, text=True, check=False,
                           stdin=subprocess.DEVNULL, umask=self.how.get("umask", -1))
        self.refusal = r.stderr.strip() if r.returncode else ""
        self.id = None if r.returncode else r.stdout.strip()
        if self.id and "submit_only" in self.how:
            self.side.cancel(self.id)

    def act(self):
        """What is to be done to it once; True when that is over."""
        then = self.how.get("then")
        if not then or self.done_then or not self.id:
            return True
        if then == "release" or (self.dir / "running").exists():
            getattr(self.side, then)(self.id)
            self.done_then = True
        return self.done_then

    def over(self):
        if not self.id or not self.act():
            return not self.id
        self.end = self.side.ends(self.id)
        return bool(self.end) and all(state in ENDED for state, _ in self.end)

    def is_over(self):
        self.was_over = getattr(self, "was_over", False) or self.over()
        return self.was_over

    def plain(self, text):
        """Without what must differ: ids and folders. What slurmstepd says when a process ends before its signal
        comes is there at times."""
        text = re.sub(r"slurmstepd-[^\n]*_handle_signal_container[^\n]*\n", "", text)
        text = text.replace(str(self.side.jobs), "DIR")
        for other in sorted(self.side.ids(self.id), key=len, reverse=True):
            text = re.sub(rf"(?<!\d)(0*){other}(?!\d)", lambda m: "0" * len(m[1]) + "J" * len(other), text)
        return text

    def is_others(self, name):
        """Of two jobs in one folder, the other's output."""
        found = re.fullmatch(r"slurm-(\d+)\.out", name)
        return found and found[1] not in self.side.ids(self.id) and "J" not in self.plain(name)

    def result(self):
        """What is compared: name -> text."""
        if not self.id:
            return {"submit": "refused"}
        if "submit_only" in self.how:
            return {"submit": "accepted"}
        out = {"submit": "accepted", "end": " ".join(f"{s} {code}" for s, code in sorted(self.end))}
        for path in sorted(self.dir.rglob("*")):
            name = str(path.relative_to(self.dir))
            if path.is_dir() or name in self.before or name == "slurm.env" or self.is_others(name):
                continue
            out[f"file {re.sub('J+', 'J', self.plain(name))}"] = re.sub("J+", "J", self.plain(path.read_text(errors="replace")))
        for name in self.how.get("files", {}):
            out[f"file {name}"] = (self.dir / name).read_text(errors="replace")
        env = self.dir / "slurm.env"
        if env.exists():
            for line in env.read_text().splitlines():
                name, _, value = line.partition("=")
                out[f"variable {name}"] = re.sub("J+", "J", self.plain(value))
        return out


class SlurmSide:
    name, command = "Slurm", "sbatch"

    def __init__(self):
        conf = slurm.CONF.replace("ClusterName=bench", "ClusterName=test\nGresTypes=gpu,mps\nKillWait=2\nDefMemPerCPU=1")
        conf = conf.replace("MinJobAge=2", "MinJobAge=3600").replace("CR_CPU\n", "CR_CPU_Memory\n")
        conf = conf.replace("CPUs=64 RealMemory=64000", "CPUs=64 RealMemory=64000 Gres=gpu:h100:4,mps:400")
        self.slurm = slurm.Slurm(conf, "Name=gpu Type=h100 File={dir}/gpu[0-3]\nName=mps Count=400\n")
        self.jobs = self.slurm.dir / "jobs"
        self.env = {k: v for k, v in self.slurm.env.items() if not k.startswith(("SLURM_", "SBATCH_", "CUDA")) or k == "SLURM_CONF"}
        self.env.update(SUBMITTER)

    def look(self):
        out = self.slurm.run("scontrol", "-o", "show", "job").stdout
        self.seen = [dict(w.split("=", 1) for w in line.split() if "=" in w) for line in out.splitlines()]

    def rows(self, job):
        return [r for r in self.seen if job in (r.get("JobId"), r.get("ArrayJobId"), r.get("HetJobId"))]

    def ends(self, job):
        return [(r["JobState"], r["ExitCode"]) for r in self.rows(job)]

    def ids(self, job):
        return {job, *(r["JobId"] for r in self.rows(job))} if job else set()

    def cancel(self, job):
        self.slurm.run("scancel", job)

    def requeue(self, job):
        self.slurm.run("scontrol", "requeue", job)
        self.slurm.run("scontrol", "update", f"jobid={job}", "starttime=now")  # and not in two minutes

    def release(self, job):
        self.slurm.run("scontrol", "release", job)

    def close(self):
        self.slurm.close()


class OurSide:
    name, command = "gpusched", "gsubmit"

    def __init__(self):
        self.cluster = Cluster(nodes=(HOST,), gpus="h100:4", cpus=64, node_defaults='node_defaults = { share = "watch"; };')
        self.jobs = self.cluster.dir / "jobs"
        self.env = {k: v for k, v in self.cluster.env.items() if not k.startswith(("SLURM", "SBATCH", "CUDA"))}
        self.env.update(SUBMITTER)

    def look(self):
        self.seen = json.loads(self.cluster.run("gqueue", "--all", "--json").stdout)["jobs"]

    def ends(self, job):
        return [("HELD" if j.get("reason") in HELD else j["state"], f'{j.get("exit_code", 0)}:{j.get("exit_signal", 0)}')
                for j in self.seen if str(j["id"]) == job]

    def ids(self, job):
        return {job} if job else set()

    def cancel(self, job):
        self.cluster.run("gcancel", job)

    def requeue(self, job):
        self.cluster.run("gctl", "requeue", job)

    def release(self, job):
        self.cluster.run("gctl", "release", job)

    def close(self):
        self.cluster.close()


class FrontSide(OurSide):
    """The same by our programs under Slurm's names."""
    name, names = "gpusched's sbatch", BUILD / "cmds/slurm-names"
    command = str(names / "sbatch")

    def cancel(self, job):
        self.cluster.run(self.names / "scancel", job)

    def requeue(self, job):
        self.cluster.run(self.names / "scontrol", "requeue", job)

    def release(self, job):
        self.cluster.run(self.names / "scontrol", "release", job)


def run_all(side, names):
    """Submit everything, then wait for all of it: case -> what came of it."""
    jobs = {n: Job(side, n) for n in names}
    for n in sorted(names, key=lambda n: "after" in HOW.get(n, {})):
        jobs[n].submit(jobs.get(jobs[n].how.get("after")))
    def all_over():
        side.look()
        return all([j.is_over() for j in jobs.values()])

    wait_until(all_over, lambda: f"the jobs of {side.name}: {[n for n, j in jobs.items() if not j.is_over()]}", PATIENCE)
    side.look()
    for n, j in jobs.items():
        if j.refusal:
            print(f"{side.name} refuses {n}: {j.refusal.splitlines()[0]}")
    return {n: j.result() for n, j in jobs.items()}


# --- the list --------------------------------------------------------------------------------------


class Expected:
    """A line "CASE | WHAT | IN SLURM | HERE | REASON"; the first four may have wildcards. What differs only
    at times has a reason that begins so."""

    def __init__(self, line, number):
        parts = [p.strip() for p in line.split("|")]
        if len(parts) != 5 or not parts[4]:
            sys.exit(f"differences:{number}: expected CASE | WHAT | IN SLURM | HERE | REASON")
        self.patterns, self.number, self.hits = parts[:4], number, 0
        self.required = not parts[4].startswith("at times: ")

    def takes(self, found):
        return all(fnmatch.fnmatchcase(f, p) for f, p in zip(found, self.patterns))


def read_expected():
    lines = (HERE / "differences").read_text().splitlines()
    return [Expected(x, i) for i, x in enumerate(lines, 1) if x.strip() and not x.startswith("#")]


def shown(text):
    return "(none)" if text is None else json.dumps(text)[1:-1].replace("|", "/")[:100]


def differences(theirs, ours):
    for case in theirs:
        for what in sorted({*theirs[case], *ours[case]}):
            a, b = theirs[case].get(what), ours[case].get(what)
            if a != b and (what == "submit" or theirs[case]["submit"] == ours[case]["submit"]):
                yield case, what, shown(a), shown(b)


def judge(found, names, write):
    expected = read_expected()
    bad = 0
    for f in found:
        row = next((e for e in expected if e.takes(f)), None)
        if row:
            row.hits += 1
            continue
        bad += 1
        print(("" if write else "unexpected: ") + " | ".join(f) + (" | ?" if write else ""))
    for e in expected:
        if e.required and not e.hits and not names:
            bad += 1
            print(f"differences:{e.number}: is no longer so: {' | '.join(e.patterns)}")
    return bad


def prepare():
    if os.geteuid():
        sys.exit("check-slurm needs root: Slurm's daemons do")
    if not slurm.available():
        subprocess.run(["apt-get", "install", "-y", "-qq", "--no-install-recommends", "slurm-wlm"], check=False,
                       env={**os.environ, "DEBIAN_FRONTEND": "noninteractive"}, stdout=subprocess.DEVNULL)
    if not slurm.available():
        sys.exit("check-slurm needs Debian's slurm-wlm, and apt-get could not install it")


def main():
    args = sys.argv[1:]
    write = "--write" in args
    names = [a for a in args if a != "--write"]
    prepare()
    chosen = cases(names)
    sides, results = [], []
    try:
        for make in (SlurmSide, OurSide, FrontSide):
            sides.append(make())
        results = [run_all(s, chosen) for s in sides]
    finally:
        for s in sides:
            s.close()
    by_side = [list(differences(results[0], r)) for r in results[1:]]
    bad = judge([f for found in by_side for f in found], names, write)
    for side, found in zip(sides[1:], by_side):
        same = len(chosen) - len({f[0] for f in found})
        print(f"{len(chosen)} scripts under Slurm and {side.name}, {same} the same in all, {len(found)} differences")
    print(f"{bad} of the list wrong")
    sys.exit(1 if bad else 0)


if __name__ == "__main__":
    main()
