#!/usr/bin/python3
"""worst.py - `make bench-worst`: what one user can do to all others with the worst messages there are

Brings a controller into every state that is hard for it, one on top of the other: arrays of which every
other task is gone, jobs that wait for a thousand others each, the largest scripts, as many who watch and
wait as a user may have, ten thousand nodes. In each of these it sends of every type of message the worst
ones that are legal, as one user, and measures what another user's pings and submits feel.

Prints a table: the longest answer to that other user, and the most processor time that the controller's loop
used while the other waited, for each type of message. --write puts the figures into RESULTS.md.
"""

import argparse
import bisect
import contextlib
import datetime
import json
import os
import pathlib
import platform
import pwd
import re
import subprocess
import sys
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent / "system/lib"), str(HERE.parent / "security"), str(HERE)]
from cluster import BIN, BUILD, Cluster, Daemon, Failed, wait_until  # noqa: E402
from peer import Peer  # noqa: E402

HOSTILE, OTHER = "bin", "daemon"
ROOM = 64 * 1024 - 256  # bytes of a message, without what is around the long field
PATIENCE = 120  # seconds for an answer
SHOWN = 40  # rows of the table: the worst


def progress(text):
    print(f"bench-worst: {text}", file=sys.stderr, flush=True)


# --- the other user ----------------------------------------------------------------------------------


class Other:
    """Pings and submits, and what they felt."""

    def __init__(self, c):
        p = pwd.getpwnam(OTHER)
        self.file = open(c.dir / "other.txt", "w+", encoding="ascii")
        self.p = subprocess.Popen([BUILD / "testsuite/bench/bench_other", str(c.ctld.pid)], stdin=subprocess.PIPE,
                                  stdout=self.file, env=c.env, cwd="/", user=p.pw_uid, group=p.pw_gid, extra_groups=[])

    def close(self):
        self.p.stdin.close()
        status = self.p.wait(60)
        self.file.seek(0)
        self.rows = []
        for line in self.file:
            kind, *numbers = line.split()
            self.rows.append((*map(int, numbers), kind))
        self.begins = [r[0] for r in self.rows]
        if status:
            raise Failed(f"the other user's program ended with {status}")

    def felt(self, begin, end):
        """The rows of requests that were under way then."""
        first = max(0, bisect.bisect_left(self.begins, begin) - 1)
        return self.rows[first:bisect.bisect_right(self.begins, end)]


def now_us():
    return time.clock_gettime_ns(time.CLOCK_MONOTONIC) // 1000


# --- the messages ------------------------------------------------------------------------------------


def fill(make, room=ROOM):
    """As many as fit of make(0), make(1), ...: texts, or lists of which each element costs some bytes."""
    out, used, n = [], 0, 0
    while True:
        one = make(n)
        used += len(one) + 3 if isinstance(one, (str, bytes)) else 12
        if used > room:
            return out
        out.append(one)
        n += 1


def odd(first, count, step=2):
    """A set of tasks of that many ranges."""
    return ",".join(str(first + step * i) for i in range(count))


def filters(s):
    """Filters that are hard: each list alone as long as a message may be."""
    jobs, arrays, n = s["jobs"], s["arrays"], len(s["jobs"])
    out = {
        "ids": {"ids": fill(lambda i: jobs[i * 7919 % n])},
        "one id again and again": {"ids": fill(lambda _: arrays[0])},
        "names": {"names": fill(lambda i: f"x{i}")},
        "a name again and again": {"names": fill(lambda _: "a")},
        "users": {"users": fill(lambda i: f"{10000 + i}")},
        "a user again and again": {"users": fill(lambda _: HOSTILE)},
        "states": {"states": fill(lambda i: ("PD", "R", "CG", "CD")[i % 4])},
        "partitions": {"partitions": fill(lambda _: "batch")},
        "accounts": {"accounts": fill(lambda _: "one")},
        "qos": {"qos": fill(lambda _: "normal")},
        "nodes": {"nodes": fill(lambda _: s["all_nodes"])},
        "each node": {"nodes": fill(lambda i: f"{s['prefix']}{i % s['n_nodes'] + 1:05d}")},
        "many tasks": {"tasks": [{"job": arrays[0], "tasks": odd(1, 4500)}]},
        "tasks by steps": {"tasks": [{"job": a, "tasks": ",".join(f"{i}-899999:1000" for i in range(250))} for a in arrays[:20]]},
        "tasks one by one": {"tasks": fill(lambda i: {"job": arrays[0], "tasks": str(2 * i + 1)}, ROOM // 2)},
        "everything": {},
        "everything, and of long ago": {"include_ended": True},
    }
    return out


def controls(s):
    """Verbs on jobs. What they change must be as hard for the next one, so each is turned back."""
    all_mine = {"users": [HOSTILE]}
    chain = "afterany:" + ":".join(str(j) for j in fill(lambda i: str(s["jobs"][i % len(s["jobs"])]), 60000)[:1000])
    yield "hold all", {"verb": "HOLD", "filter": all_mine}
    yield "hold all again", {"verb": "HOLD", "filter": all_mine}
    yield "signal all", {"verb": "SIGNAL", "signal": 10, "filter": all_mine}
    yield "suspend all", {"verb": "SUSPEND", "filter": all_mine}
    yield "resume all", {"verb": "RESUME", "filter": all_mine}
    yield "requeue all", {"verb": "REQUEUE", "filter": all_mine}
    yield "hold all, after requeue", {"verb": "HOLD", "filter": all_mine}
    yield "update all: remark", {"verb": "UPDATE", "filter": all_mine, "fields": ["REMARK"], "change": {"remark": "y" * 250}}
    yield "update all: nice", {"verb": "UPDATE", "filter": all_mine, "fields": ["NICE"], "change": {"nice": 7}}
    yield "update all: labels", {"verb": "UPDATE", "filter": all_mine, "fields": ["LABELS"],
                                 "change": {"labels": [{"key": f"k{i}", "value": "v" * 60} for i in range(16)]}}
    yield "update all: dependency", {"verb": "UPDATE", "filter": {"ids": s["jobs"][:400]}, "fields": ["DEPENDENCY"],
                                     "change": {"dependency": chain}}
    yield "update all: nodes", {"verb": "UPDATE", "filter": all_mine, "fields": ["NODELIST"], "change": {"nodelist": s["all_nodes"]}}
    yield "release all", {"verb": "RELEASE", "filter": all_mine}
    yield "hold all, after release", {"verb": "HOLD", "filter": all_mine}
    for name, f in filters(s).items():
        if f.keys() & {"users", "include_ended"} or not f:
            continue
        yield f"hold by {name}", {"verb": "HOLD", "filter": f}
    for name in ("many tasks", "tasks by steps", "tasks one by one"):
        yield f"cancel by {name}", {"verb": "CANCEL", "filter": filters(s)[name]}


def tries(s):
    """Submits that only ask: unsigned, so that all is decided of what the message says."""
    from proto import SCHEMA_OF

    def submit(request, n=1, **spec):
        whole = {"version": 1, "cluster": "test", "nonce": b"n" * 16, "uid": pwd.getpwnam(HOSTILE).pw_uid,
                 "gid": pwd.getpwnam(HOSTILE).pw_gid, "script_hash": b"h" * 32, "name": "x", "cwd": b"/", "output": b"/dev/null",
                 "tasks_per_node": 1, "max_attempts": 1, "umask": 18, **spec}
        return {"test_only": True, "jobs": [{"spec": SCHEMA_OF.encode("SignedSpec", whole), "script": b"#!/bin/sh\n",
                                             "request": {"cpus": 1, **request}}] * n}

    n = len(s["jobs"])
    terms = ":".join(str(s["jobs"][i * 7919 % n]) for i in range(1000))
    yield "test: gang of all nodes", submit({"gpus": [{"count": 8}], "gpus_per_node": True, "nodes_min": s["n_nodes"] - 1})
    yield "test: gang of half", submit({"gpus": [{"count": 8}], "gpus_per_node": True, "nodes_min": s["n_nodes"] // 2, "time_limit_s": 60})
    yield "test: 1000 dependencies", submit({"dependency": f"afterany:{terms}"})
    yield "test: dependencies as long as can be", submit({"dependency": ",".join(fill(lambda i: f"after:{s['jobs'][i * 7919 % n]}", 60000))})
    yield "test: array of odd tasks", submit({}, array=odd(1, 8000))
    yield "test: array by steps", submit({}, array=",".join(f"{i}-899999:1000" for i in range(3000)))
    yield "test: nodes by list", submit({"nodelist": ",".join(fill(lambda i: f"{s['prefix']}{i % s['n_nodes'] + 1:05d}", 60000))})
    yield "test: not these nodes", submit({"exclude": ",".join(fill(lambda _: s["all_nodes"], 60000))})
    yield "test: features", submit({"constraint": "|".join(fill(lambda i: f"f{i}", 30000))})
    yield "test: kinds of GPUs", submit({"gpus": [{"type": "demo", "count": 1 + i % 8} for i in range(3000)]})
    yield "test: labels", submit({"labels": [{"key": f"k{i}", "value": "v"} for i in range(4000)]})
    yield "test: licences", submit({"licences": ",".join(fill(lambda i: f"l{i}:1", 60000))})
    yield "test: environment", submit({}, env=fill(lambda i: b"A%d=" % i, 60000))
    yield "test: 64 jobs", submit({"dependency": "afterany:" + ":".join(str(j) for j in s["jobs"][:80])}, 64)


def messages(s):
    """(type, what is bad in it, the message or its bytes) of all that a user may send."""
    yield "MSG_PING", "unknown fields", b"\xf8\x07\x01" * (ROOM // 3)
    for name, m in tries(s):
        yield "MSG_SUBMIT", name, m
    yield "MSG_SUBMIT_BULK", "none of its parts", {"bulk": 1, "jobs": 2**63}
    for name, m in controls(s):
        yield "MSG_JOB_CONTROL", name, m
    for name, f in filters(s).items():
        yield "MSG_LIST_JOBS", name, {"filter": f}
        yield "MSG_LIST_JOBS", f"{name}, whole, with runs", {"filter": f, "whole": True, "with_runs": True}
        yield "MSG_LIST_PRIOS", name, {"filter": f}
        yield "MSG_LIST_ACCT", name, {"filter": f, "with_runs": True, "whole": True}
        yield "MSG_REPORT", name, {"jobs": {"filter": f}, "by": ["user", "day", "label:k1", "state"]}
    nodes = {"each": fill(lambda i: f"{s['prefix']}{i % s['n_nodes'] + 1:05d}"), "all of them again": fill(lambda _: s["all_nodes"]),
             "unknown": fill(lambda i: f"z{i}"), "all": []}
    for name, names in nodes.items():
        yield "MSG_LIST_NODES", name, {"names": names, "devices": True, "whole": True}
    for name, names in {"again": fill(lambda _: "batch"), "unknown": fill(lambda i: f"z{i}"), "all": []}.items():
        yield "MSG_LIST_PARTITIONS", name, {"names": names, "whole": True}
        yield "MSG_LIST_SHARES", name, {"accounts": fill(lambda _: "one") if name == "again" else names, "users": names}
    yield "MSG_WAIT_JOBS", "ids", {"ids": s["jobs"][:9000]}
    yield "MSG_WAIT_JOBS", "odd tasks", {"tasks": [{"job": s["arrays"][0], "tasks": odd(2, 4500)}]}
    yield "MSG_WATCH_JOBS", "everything", {"filter": {"names": fill(lambda i: f"x{i}")}}
    yield "MSG_WATCH_JOBS", "odd tasks", {"filter": filters(s)["many tasks"]}
    yield "MSG_STATS", "by user", {"by_user": True}
    yield "MSG_STATS", "all", {}
    yield "MSG_JOB_WHY", "with dependencies", {"ids": s["edges"][:64]}
    yield "MSG_JOB_WHY", "classes", {"ids": s["classes"][:64]}
    yield "MSG_JOB_WHY", "tasks", {"tasks": [{"job": s["arrays"][i % len(s["arrays"])], "tasks": str(2 * i)} for i in range(64)]}
    yield "MSG_SHOW_CONFIG", "all", {}
    yield "MSG_SHOW_SCRIPT", "4 MiB", {"job": s["scripts"][0]}
    yield "MSG_RESIGN", "no credential", {"credential": b"MUNGE:" + b"A" * 60000 + b":", "jobs": s["jobs"][:64]}
    yield "MSG_LIST_EVENTS", "all", {}
    yield "MSG_LIST_EVENTS", "kinds", {"kinds": fill(lambda i: f"job.x{i}")}
    yield "MSG_LIST_EVENTS", "nodes", {"nodes": fill(lambda _: "n1")}
    yield "MSG_STREAM_OPEN", "unknown fields", b"\xf8\x07\x01" * (ROOM // 3)
    yield "MSG_RECONFIGURE", "not an operator", {}
    yield "MSG_BACKUP", "not an operator", {}


# --- the states --------------------------------------------------------------------------------------


def bulk(c, rows, what):
    """Submit rows as the hostile user; returns their ids."""
    path = c.dir / "jobs/bulk.jsonl"
    with open(path, "w", encoding="utf-8") as f:
        n = sum(1 for row in rows if f.write(json.dumps({"hold": True, "output": "/dev/null", **row}) + "\n"))
    path.chmod(0o644)
    t = time.monotonic()
    first = int(re.search(r"\d+", c.run("gsubmit", "--bulk", path, "--export=NONE", "--parsable", user=HOSTILE, cwd="/",
                                        timeout=900).stdout).group())
    progress(f"{what}: {n} jobs in {time.monotonic() - t:.1f} s")
    return list(range(first, first + n))


def arrays(c, s, n):
    """Held arrays of 900,000 tasks of which every other of the first ones was cancelled."""
    s["arrays"] = bulk(c, ({"wrap": "true", "array": "0-899999", "job-name": "a"} for _ in range(n)), "arrays")
    for a in s["arrays"]:
        c.run("gcancel", f"{a}_[0-9600:2]", user=HOSTILE, timeout=300)
    s["jobs"] = s["arrays"]


def edges(c, s, n):
    """Jobs that wait for a thousand others each."""
    base = bulk(c, ({"wrap": "true", "job-name": f"base{i}"} for i in range(1000)), "jobs to wait for")
    terms = "afterany:" + ":".join(map(str, base))
    s["edges"] = bulk(c, ({"wrap": "true", "job-name": f"edge{i}", "dependency": terms} for i in range(n)), "jobs with 1,000 dependencies")
    s["jobs"] = s["jobs"] + base + s["edges"]


def scripts(c, s, n):
    """The largest scripts, with the longest texts."""
    path = c.dir / "jobs/big.sh"
    path.write_text("#!/bin/sh\n" + "# 0123456789012345678901234567890123456789012345678901234\n" * 71000)
    path.chmod(0o644)
    texts = {"comment": "r" * 250, "label": [f"k{i}={'v' * 60}" for i in range(16)], "array": odd(0, 4000, 3)}
    s["scripts"] = bulk(c, ({"script": str(path), "job-name": "n" * 60, **texts} for _ in range(n)), "largest scripts")
    s["jobs"] = s["jobs"] + s["scripts"]


def classes(c, s, n):
    """Jobs that all ask for something else."""
    s["classes"] = bulk(c, ({"wrap": "true", "job-name": f"c{i}", "time": 1 + i % 1400, "cpus-per-task": 1 + i // 1400 % 16,
                             "mem": f"{1 + i % 977}M"} for i in range(n)), "classes of jobs")
    s["jobs"] = s["jobs"] + s["classes"]


def watchers(c, s, most):
    """Watchers and waits, until the controller refuses more."""
    peers, n = s["peers"], 0
    for _ in range(256):
        p = Peer(c, user=HOSTILE, wait=False)
        if p.p.stderr.readline() != b"in\n":
            p.close()
            break
        peers.append(p)
        for k in range(most // 256):
            p.send("MSG_WATCH_JOBS", {"filter": {"names": [f"x{k}", "edge7", "c9"]}, "only_new": True})
            p.send("MSG_WAIT_JOBS", {"ids": s["jobs"][:4]})
            n += 2
    progress(f"watchers and waits: asked for {n} in {len(peers)} sessions")


# --- the run -----------------------------------------------------------------------------------------


def attack(c, s, kind, m, window=0.3):
    """Send it three times at once; how it was answered and between when."""
    begin = now_us()
    said, peer = "", Peer(c, user=HOSTILE)
    try:
        numbers = [peer.send(kind, m) for _ in range(3)]
        # A watch goes on: what it is told at first is all of the answer.
        last = time.monotonic() + (window if kind in ("MSG_WATCH_JOBS", "MSG_WAIT_JOBS", "MSG_STREAM_OPEN") else PATIENCE)
        while numbers and time.monotonic() < last:
            try:
                got = peer.receive(max(0.01, last - time.monotonic()))
            except Failed:
                break
            if got is None:
                said = "closed"
                break
            if got[0] == "MSG_REPLY" and got[1] in numbers:
                numbers.remove(got[1])
                said = got[2].get("text", "")[:60] or "done"
        else:
            if numbers and last - begin / 1e6 > PATIENCE:
                said = "no answer"
    finally:
        peer.close()
    return begin, now_us(), said


def simulated(c, nodes):
    s = {"n_nodes": nodes, "prefix": "n", "all_nodes": f"n[00001-{nodes:05d}]", "peers": []}
    text = re.sub(r"nodes = \( \{.*?\} \);", f'nodes = ( {{ name = "{s["all_nodes"]}"; cpus = 64; gpus = "demo:8"; }} );', c.conf_text(), 1)
    c.write_conf(text)
    c.start_munged()
    c.start_ctld()
    c.agents["sim"] = Daemon("gnoded --simulate", [
        BIN["gnoded"], "--foreground", "--simulate", str(nodes), "--nodes", s["all_nodes"], "--rundir", c.dir / "run-sim", "--spool",
        c.dir / "spool-sim", "--pretend", "cpus=64,mem=256G"], c.dir / "log/sim.log", c.env)
    wait_until(lambda: figure(c, "core.nodes_up") == nodes, f"{nodes} nodes to register", 600)
    return s


def figure(c, name):
    for line in c.run("gctl", "stats", timeout=PATIENCE).stdout.splitlines():
        w = line.split()
        if w and w[0] == name:
            return float(w[1].replace(",", ""))
    raise Failed(f"gctl stats has no {name}")


STATES = [("arrays", arrays, 20), ("dependencies", edges, 16000), ("scripts", scripts, 40), ("classes", classes, 10000),
          ("watchers", watchers, 100000)]


def share(values, p):
    values = sorted(values)
    return values[min(len(values) - 1, int(len(values) * p / 100))] / 1000 if values else 0


def main():
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument("--write", metavar="FILE", help="put the figures into this file, between their marks")
    ap.add_argument("--nodes", type=int, default=10000, help="simulated nodes (default 10000)")
    ap.add_argument("--scale", type=float, default=1, help="a part of all other numbers (default 1)")
    ap.add_argument("--stats", action="store_true", help="print the controller's figures at the end")
    ap.add_argument("--states", default=",".join(n for n, _, _ in STATES), help="comma-separated (default all of them: %(default)s)")
    ap.add_argument("--only", default="", help="messages whose type or name has one of these in it, comma-separated")
    args = ap.parse_args()
    took = []
    with Cluster(nodes=["x"], start=False, policy='accounts = ( { name = "one"; members = [ "*" ]; } ); qos = ( { name = "normal"; } );') as c:
        s = simulated(c, args.nodes)
        s.update(edges=[1], scripts=[1], classes=[1])
        with contextlib.ExitStack() as stack:
            stack.callback(lambda: [p.close() for p in s["peers"]])
            other = Other(c)
            for name, build, n in STATES:
                if name not in args.states.split(",") and name != "arrays":
                    continue
                begin = now_us()
                build(c, s, max(2, int(n * args.scale)))
                took.append((begin, now_us(), "state", name, ""))
            for kind, name, m in messages(s):
                if any(only in kind or only in name for only in args.only.split(",")):
                    begin, end, said = attack(c, s, kind, m)
                    took.append((begin, end, kind[4:].lower(), name, said))
                    progress(f"{kind} {name}: {(end - begin) / 1000:.0f} ms, {said}; the loop's work {figure(c, 'loop.work_ever'):.1f} ms at most")
            other.close()
            if args.stats:
                print(c.run("gctl", "stats", timeout=PATIENCE).stdout)
            work, stall = figure(c, "loop.work_ever"), figure(c, "loop.stall_ever")
    text = report(took, other, work, stall)
    print(text)
    if args.write:
        path = pathlib.Path(args.write)
        head = (f"{datetime.date.today()}, {os.cpu_count()} cores, Linux {platform.release()}, {args.nodes} nodes, scale {args.scale:g}, "
                "command `make bench-worst`")
        path.write_text(re.sub(r"(?s)<!-- worst -->.*<!-- end of worst -->",
                               lambda _: f"<!-- worst -->\n{head}\n\n```\n{text}\n```\n<!-- end of worst -->", path.read_text()))
    return 0


def report(took, other, work, stall):
    rows = []
    for begin, end, kind, name, said in took:
        felt = other.felt(begin, end)
        rows.append((max((f[2] for f in felt), default=0) / 1000, max((f[1] for f in felt), default=0) / 1000, (end - begin) / 1000, kind, name, said))
    out = [f"{'TYPE':16} {'WORST OF IT':42} {'ANSWER ms':>10} {'OTHER WAITS ms':>15} {'LOOP WORKS ms':>14}  SAID"]
    for loop, waits, answer, kind, name, said in sorted(rows, reverse=True)[:SHOWN]:
        out.append(f"{kind:16} {name:42.42} {answer:10.0f} {waits:15.1f} {loop:14.1f}  {said}")
    pings = [r[1] for r in other.rows if r[3] == "ping"]
    submits = [r[1] for r in other.rows if r[3] == "submit"]
    out.append(f"\nother user: {len(pings)} pings, p99 {share(pings, 99):.1f} ms, most {share(pings, 100):.1f} ms; "
               f"{len(submits)} submits, p99 {share(submits, 99):.1f} ms, most {share(submits, 100):.1f} ms")
    out.append(f"loop: longest stall {stall:.1f} ms, most processor time between two looks at the sockets {work:.1f} ms")
    return "\n".join(out)


if __name__ == "__main__":
    sys.exit(main())
