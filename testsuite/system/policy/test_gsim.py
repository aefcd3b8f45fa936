"""gsim: histories small enough to be worked out by hand, against a model, and the real ones.

The real ones (GPUSCHED_TRACES, a folder with the traces of gsim's RESULTS.md) are replayed where they are there.
"""

import gzip
import json
import os
import pathlib
import random
import sqlite3
import subprocess
import sys

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).parents[2] / "bench"))
import pack  # noqa: E402

BUILD = pathlib.Path(os.environ.get("GPUSCHED_BUILD", pathlib.Path(__file__).parents[3] / "build-gcc"))
GSIM = BUILD / "ctld/gsim/gsim"
TRACES = os.environ.get("GPUSCHED_TRACES")
HEAD = "job_id,submit_s,duration_s,gpus,gpu_type,nodes,cpus,mem_mb,gpu_milli,gpu_mem_mb,gpu_mem_burst_mb,user,group,state,requested_time_s"
HOUR = 3600


def gsim(*argv, input=None, check=True):
    result = subprocess.run([GSIM, "--quiet", *map(str, argv)], input=input, capture_output=True, text=True, timeout=240)
    assert not check or result.returncode == 0, result.stderr
    return result


def history(path, rows):
    """Rows are dictionaries of what is known of a job."""
    columns = HEAD.split(",")
    lines = [HEAD] + [",".join(str({"job_id": f"j{i}", **row}.get(c, "")) for c in columns) for i, row in enumerate(rows)]
    path.write_text("\n".join(lines) + "\n")
    return path


def job(submit, duration, gpus, **more):
    return {"submit_s": submit, "duration_s": duration, "gpus": gpus, **more}


# Jobs go in the order in which they came.
PLAIN = """cluster = "c"; controller = { host = "h"; }; gpu_types = ( { name = "g"; } );
nodes = ( { name = "n[1-%d]"; %s gpus = "g:%d"; } );
partitions = ( { name = "p"; nodes = "ALL"; default = true; %s } );
priority = { weights = { age = 0; fair_share = 0; size = 0; partition = 0; qos = 0; wait_target = 0; }; };
"""


@pytest.fixture
def replay(tmp_path):
    """Replay rows on nodes with 8 GPUs, the core checked after every event; returns the report."""

    def run(rows, *argv, nodes=1, gpus=8, node="", partition=""):
        (tmp_path / "conf").write_text(PLAIN % (nodes, node, gpus, partition))
        return json.loads(gsim("-f", tmp_path / "conf", "--checker=1", "--json", *argv,
                               history(tmp_path / "jobs.csv", rows)).stdout)

    return run


ONE_AFTER_ANOTHER = [job(1000, 100, 8), job(1010, 50, 4), job(1020, 30, 4), job(1030, 10, 8)]


@pytest.mark.parametrize("policy", ["configured", "fifo"])
def test_worked_out_by_hand(replay, policy):
    """0-100: the first. 100: the second and third, to 150 and 130. 150: the last, to 160."""
    r = replay(ONE_AFTER_ANOTHER, f"--policy={policy}")
    assert r["wait_s"] == {"n": 4, "mean": 72.5, "least": 0, "p50": 90, "p95": 120, "p99": 120, "most": 120}
    assert r["completion_s"] == {"n": 4, "mean": 120, "least": 100, "p50": 130, "p95": 140, "p99": 140, "most": 140}
    assert r["makespan_s"] == 160
    assert r["gpu_hours"] == pytest.approx(1200 / HOUR)
    assert r["gpu_allocation"] == pytest.approx(1200 / (8 * 160))
    # somebody waited from 10 to 150
    assert r["gpu_allocation_while_waiting"] == pytest.approx((90 * 8 + 30 * 8 + 20 * 4) / (8 * 140))
    assert r["waiting_mean"] == pytest.approx((90 + 80 + 120) / 160)
    assert r["waiting_most"] == 3
    assert r["slowdown"]["mean"] == pytest.approx((1 + 140 / 50 + 110 / 30 + 130 / 10) / 4, abs=1e-3)
    assert r["states"] == {"COMPLETED": {"jobs": 4, "gpu_hours": pytest.approx(1200 / HOUR)}}


def test_head_of_the_line(replay):
    """A job passes one that does not fit, if it has ended before that could start; strictly first in, first out none does."""
    rows = [job(0, 100, 4), job(1, 10, 8), job(2, 10, 4), job(3, 150, 4)]
    waits = {how: replay(rows, how)["wait_s"]["mean"] * 4 for how in ("--policy=fifo", "--time-limit=none", "--time-limit=exact")}
    # 0, 100 and then both at 110; without limits nobody knows what would not be in the way
    assert waits == {"--policy=fifo": 99 + 108 + 107, "--time-limit=none": 99 + 108 + 107, "--time-limit=exact": 99 + 107}


def test_gang_is_planned(replay):
    """A job for two whole nodes can start when the GPU that is in use is given back, and nobody is let in who would still run then."""
    r = replay([job(0, 4000, 1), job(282, 300, 16), job(866, 4000, 8), job(900, 1000, 8)], "--time-limit=exact", nodes=2)
    # 0; at 4000; after that; at once, since it ends before
    assert r["wait_s"]["mean"] * 4 == (4000 - 282) + (4300 - 866)
    assert r["estimate_minus_actual_s"]["n"] == 2 and r["jobs"]["late"] == 0


def test_lines_of_partitions(tmp_path):
    """Each partition has a line of its own: b's job does not wait behind a's."""
    (tmp_path / "nodes.csv").write_text("node,gpus\na,8\nb,8\n")
    rows = [job(0, 100, 8, group="a"), job(1, 100, 8, group="a"), job(2, 10, 8, group="b")]
    r = json.loads(gsim("--nodes", tmp_path / "nodes.csv", "--partition-column=group", "--policy=fifo", "--json",
                        "--checker=1", history(tmp_path / "jobs.csv", rows)).stdout)
    assert r["wait_s"]["mean"] == 99 / 3
    assert {a["account"]: a["jobs"] for a in r["accounts"]} == {"a": 2, "b": 1}


def test_time_limits(replay):
    rows = [job(0, 100, 1, requested_time_s=50), job(0, 100, 1, requested_time_s=100), job(0, 100, 1)]
    r = replay(rows)
    assert {s: v["jobs"] for s, v in r["states"].items()} == {"TIMEOUT": 1, "COMPLETED": 2}
    assert r["completion_s"]["mean"] == pytest.approx(250 / 3)
    assert r["slowdown"]["mean"] == 1
    assert replay(rows, "--time-limit=exact")["states"] == r["states"]


def test_limit_of_the_partition(replay):
    """Nobody asks for more than a partition allows; who needs more ends there."""
    for how in "none", "exact", "5":
        r = replay([job(0, 100, 1), job(0, 10, 1)], f"--time-limit={how}", partition='max_time = "60s";')
        assert {s: v["jobs"] for s, v in r["states"].items()} == {"TIMEOUT": 1, "COMPLETED": 1}
        assert r["makespan_s"] == 60


def test_of_no_length(replay):
    r = replay([job(0, 0, 8), job(0, 0, 8), job(0, 0.5, 8), job(0, 1, 8)])
    assert r["makespan_s"] == 1.5
    assert r["wait_s"]["most"] == 0.5


def test_load_and_end(replay):
    assert replay(ONE_AFTER_ANOTHER, "--scale-load=2")["wait_s"]["mean"] == (0 + 95 + 90 + 135) / 4
    r = replay(ONE_AFTER_ANOTHER, "--until=120s")
    assert (r["jobs"]["ended"], r["jobs"]["running"], r["jobs"]["waiting"]) == (1, 2, 1)
    assert r["makespan_s"] == 120


def test_more_nodes(replay):
    assert replay(ONE_AFTER_ANOTHER, "--add-nodes=1:n1")["wait_s"]["most"] == 30
    assert replay(ONE_AFTER_ANOTHER, "--add-nodes=2:other:8")["wait_s"]["most"] == 0


def test_what_cannot_be(replay):
    """A job that fits nowhere is refused with the scheduler's own words; one with no duration is left out."""
    r = replay([job(0, 10, 9, nodes=1), job(0, 10, 1, gpu_type="h100"), job(0, "", 1), job(0, 10, 1), job(0, 10, 10, nodes=1)])
    assert r["jobs"]["refused"] == 3 and r["jobs"]["without_duration"] == 1 and r["jobs"]["ended"] == 1
    assert [(x["code"], x["jobs"]) for x in r["refusals"]] == [("job.never", 2), ("gpu_type.unknown", 1)]


def test_parts_of_gpus(replay):
    rows = [job(0, 10, 1, gpu_milli=460), job(0, 10, 1, gpu_milli=1000)]
    assert replay(rows)["gpu_hours"] == pytest.approx(20 / HOUR)
    r = replay(rows, "--shared=skip")
    assert r["gpu_hours"] == pytest.approx(10 / HOUR) and r["jobs"]["skipped_shared"] == 1


def test_shares(tmp_path):
    """Worked out by hand: one node with two GPUs, at most."""
    (tmp_path / "nodes.csv").write_text("node,count,gpus\nn,1,2\n")
    for parts, makespan, gpu_s in (([500] * 4, 10, 20), ([600, 400, 600, 400], 10, 20), ([600] * 3, 20, 18),
                                   ([1000, 500, 500], 10, 20), ([500, 1000, 1000], 20, 25)):
        jobs = history(tmp_path / "jobs.csv", [job(0, 10, 1, gpu_milli=p) for p in parts])
        for shared in "share", "round":
            r = json.loads(gsim("--nodes", tmp_path / "nodes.csv", f"--shared={shared}", "--checker=1", "--time-limit=exact",
                                "--json", jobs).stdout)
            whole = shared == "round"
            assert r["gpu_hours"] == pytest.approx((10 * len(parts) if whole else gpu_s) / HOUR), parts
            assert r["makespan_s"] == (10 * ((len(parts) + 1) // 2) if whole else makespan), parts


def test_memory_and_what_is_borrowed_of_it(tmp_path):
    """Worked out by hand: one GPU of 80 GiB. The first, with 20, could borrow 40; the second comes after 10 s for 50, so
    of the 40 only 10 are left for the 10 s until the first ends; the third, for 60, fits beside the first alone."""
    (tmp_path / "nodes.csv").write_text("node,count,gpus,gpu_type,gpu_mem_mb\nn,1,1,g,81920\n")
    rows = [job(0, 20, 1, gpu_mem_mb=20480, gpu_mem_burst_mb=61440), job(10, 20, 1, gpu_mem_mb=51200), job(10, 5, 1, gpu_mem_mb=61440)]
    argv = ["--nodes", tmp_path / "nodes.csv", "--checker=1", "--time-limit=exact", history(tmp_path / "jobs.csv", rows)]
    r = json.loads(gsim(*argv, "--shared=share", "--json").stdout)
    assert r["bursts"] == {"runs": 1, "room": pytest.approx((40 * 10 + 10 * 10) / (40 * 20)), "starts": 1}
    assert r["makespan_s"] == 35 and r["jobs"]["ended"] == 3
    assert "BURSTS    1 runs; of the memory beyond their parts 62.5 % was in nobody's part\n" \
           "          1 starts came for memory that may have been borrowed\n" in gsim(*argv, "--shared=share").stdout
    # Without the burst all is the same but that nothing is said of it.
    rows[0]["gpu_mem_burst_mb"] = ""
    history(tmp_path / "jobs.csv", rows)
    del r["bursts"]
    assert json.loads(gsim(*argv, "--shared=share", "--json").stdout) == r
    r = json.loads(gsim(*argv, "--json").stdout)
    assert r["makespan_s"] == 45 and "bursts" not in r
    assert json.loads(gsim(*argv, "--shared=skip", "--json").stdout)["jobs"]["skipped_shared"] == 3


def test_shares_under_load(tmp_path):
    """Whole GPUs and parts of them, on one node and on several, planned and backfilled, with every check on."""
    chance = random.Random(3)
    rows = [job(i * 20, 1 + chance.randrange(600), chance.choice([1, 1, 2, 4]), user=f"u{i % 5}",
                gpu_milli=chance.choice([1000, 1000, 250, 330, 500, 700]), nodes=chance.choice(["", "", 1]),
                cpus=chance.randrange(1, 6), requested_time_s=chance.choice(["", 600, 1200])) for i in range(150)]
    (tmp_path / "nodes.csv").write_text("node,count,cpus,gpus,gpu_type\nx,2,16,4,a\ny,1,16,2,b\n")
    argv = ["--nodes", tmp_path / "nodes.csv", "--shared=share", "--json", history(tmp_path / "jobs.csv", rows)]
    r = json.loads(gsim(*argv, "--checker=1").stdout)
    assert r["jobs"]["ended"] == 150 and r["states"]["COMPLETED"]["jobs"] == 150
    assert r["gpu_hours"] == pytest.approx(sum(j["duration_s"] * j["gpus"] * j["gpu_milli"] / 1000 for j in rows) / HOUR)
    assert json.loads(gsim(*argv).stdout) == r


def test_cpus_are_of_the_job(replay):
    rows = [job(0, 10, 1, cpus=2.5), job(0, 10, 1, cpus=2), job(0, 10, 1, cpus=1, mem_mb=600), job(0, 10, 1, mem_mb=600)]
    r = replay(rows, "--time-limit=exact", node='cpus = 4; mem = "1000M";')
    assert r["wait_s"]["mean"] == 20 / 4


SHARES = """cluster = "c"; controller = { host = "h"; }; gpu_types = ( { name = "g"; } );
nodes = ( { name = "n"; gpus = "g:8"; } ); partitions = ( { name = "p"; nodes = "ALL"; default = true; } );
accounts = ( { name = "big"; shares = 3; members = [ "*" ]; }, { name = "small"; shares = 1; members = [ "*" ]; } );
priority = { weights = { age = 0; fair_share = 1000; size = 0; partition = 0; qos = 0; wait_target = 0; }; };
"""


def test_promised_and_received(tmp_path):
    """Two accounts that always have jobs waiting get what their shares promise; an unknown one is refused."""
    (tmp_path / "conf").write_text(SHARES)
    rows = [job(0, 100, 1, group=name, user=name) for i in range(1600) for name in ("big", "small")]
    rows.append(job(0, 100, 1, group="other"))
    r = json.loads(gsim("-f", tmp_path / "conf", "--json", "--until=20000s", history(tmp_path / "jobs.csv", rows)).stdout)
    assert [(a["account"], a["promised"]) for a in r["accounts"]] == [("big", 0.75), ("small", 0.25)]
    assert [a["received"] for a in r["accounts"]] == pytest.approx([0.75, 0.25], abs=0.01)
    assert r["jobs"]["refused"] == 1 and r["gpu_allocation"] == 1


TIERS = """cluster = "c"; controller = { host = "h"; }; gpu_types = ( { name = "g"; } );
nodes = ( { name = "n"; gpus = "g:8"; } );
partitions = ( { name = "low"; nodes = "ALL"; default = true; tier = 1; preempt_mode = "requeue"; grace = "30s"; },
               { name = "high"; nodes = "ALL"; tier = 10; } );
"""


@pytest.mark.parametrize("how,started,ended,lost_s", [
    ([], 100, 1150, 100),                                   # all of it again, from 150 on
    (["--checkpoint"], 100, 1050, 0),                       # 900 s are left at 150
    (["--end-delay=20s"], 120, 1170, 120),
    (["--end-delay=20s", "--checkpoint"], 120, 1070, 20),   # what was done after it was told to end is lost
    (["--end-delay=100s"], 130, 1180, 130),                 # at most its grace
])
def test_preemption(tmp_path, how, started, ended, lost_s):
    """The lower tier's job makes room at 100 for one of 50 s, and runs again."""
    (tmp_path / "conf").write_text(TIERS)
    rows = [job(0, 1000, 8, group="low"), job(100, 50, 8, group="high")]
    r = json.loads(gsim("-f", tmp_path / "conf", "--json", "--checker=1", "--partition-column=group", "--account-column=none",
                        "--jobs", tmp_path / "j.csv", *how, history(tmp_path / "jobs.csv", rows)).stdout)
    assert (r["preemptions"], r["requeues"], r["makespan_s"]) == (1, 1, ended)
    assert r["gpu_hours_lost"] == pytest.approx(lost_s * 8 / HOUR)
    assert r["gpu_utilisation"] == pytest.approx((r["gpu_hours"] * HOUR - lost_s * 8) / (8 * ended))
    assert [line.split(",")[:9] for line in (tmp_path / "j.csv").read_text().splitlines()[1:]] == [
        ["j1", "", "high", "8", "COMPLETED", "1", "100", str(started), str(started + 50)],
        ["j0", "", "low", "8", "COMPLETED", "2", "0", "0", str(ended)]]


def fifo_model(rows, gpus):
    """One node, one line: who starts when."""
    waits, free, now, ends = [], gpus, 0, []
    for row in rows:
        now = max(now, row["submit_s"])
        while True:
            free += sum(g for end, g in ends if end <= now)
            ends = [e for e in ends if e[0] > now]
            if free >= row["gpus"]:
                break
            now = min(end for end, _ in ends)
        free -= row["gpus"]
        ends.append((now + row["duration_s"], row["gpus"]))
        waits.append(now - row["submit_s"])
    return sum(waits) / len(waits)


@pytest.mark.parametrize("seed", range(5))
def test_against_a_model(replay, seed):
    chance = random.Random(seed)
    submits = sorted(chance.randrange(20000) for _ in range(500))
    rows = [job(s, chance.choice([0, 1, 30, 300, 1000]), chance.choice([1, 2, 4, 8, 16, 40])) for s in submits]
    r = replay(rows, "--policy=fifo", gpus=64)
    assert r["wait_s"]["mean"] == pytest.approx(fifo_model(rows, 64), rel=1e-9)
    assert r["jobs"]["ended"] == 500


def busy(tmp_path, n=300):
    chance = random.Random(7)
    rows = [job(i * 60, chance.randrange(2000), chance.choice([1, 2, 4, 8]), user=f"u{chance.randrange(20)}",
                group=chance.choice("abc")) for i in range(n)]
    (tmp_path / "nodes.csv").write_text("node,count,cpus,mem_mb,gpus,gpu_type\nx,6,64,512000,8,h100\ny,6,64,512000,4,l40s\n")
    return ["--nodes", tmp_path / "nodes.csv", history(tmp_path / "jobs.csv", rows)]


@pytest.mark.parametrize("how", [[], ["--json"], ["--policy=fifo"], ["--inflate=150"]])
def test_same_input_same_bytes(tmp_path, how):
    argv = busy(tmp_path) + how + ["--time-limit=4"]
    assert gsim(*argv).stdout == gsim(*argv).stdout
    assert gsim(*argv, "--seed=2").stdout != gsim(*argv).stdout


def test_all_ways_in(tmp_path):
    """Plain, compressed, from standard input, cut in two: the same history."""
    *where, plain = busy(tmp_path)
    text = plain.read_text()
    lines = text.splitlines(keepends=True)
    packed, first, second = tmp_path / "jobs.csv.gz", tmp_path / "1.csv", tmp_path / "2.csv"
    packed.write_bytes(gzip.compress(text.encode()))
    first.write_text("".join(lines[:1] + lines[1::2]))
    second.write_text("".join(lines[:1] + lines[2::2]))

    def figures(*argv, **more):
        r = json.loads(gsim(*where, "--json", *argv, **more).stdout)
        del r["history"]
        return r

    want = figures(plain)
    assert figures(packed) == want and figures("-", input=text) == want and figures(first, second) == want


def test_broken_rows(tmp_path):
    """All are named and nothing runs; left out on request; from standard input the first ends it."""
    (tmp_path / "nodes.csv").write_text("node,gpus\nn,8\n")
    good = [job(i, 1, 1) for i in range(50)]
    bad = history(tmp_path / "bad.csv", good[:10] + [job(10, 1, "x")] + good[10:20] + [job(3, 1, 1)] + good[20:])
    argv = ["--nodes", tmp_path / "nodes.csv", "--json"]
    r = gsim(*argv, bad, check=False)
    assert r.returncode == 1 and r.stdout == ""
    assert f'{bad}:12: gpus "x"' in r.stderr and f"{bad}:23: submitted at 3" in r.stderr
    assert "error: 2 broken rows\nhint: --skip-bad" in r.stderr
    r = json.loads(gsim(*argv, "--skip-bad", bad).stdout)
    assert r["jobs"]["bad_rows"] == 2 and r["jobs"]["ended"] == 50
    r = gsim(*argv, "-", input=bad.read_text(), check=False)
    assert r.returncode == 1 and r.stdout == "" and 'standard input:12: gpus "x"' in r.stderr
    assert json.loads(gsim(*argv, "--skip-bad", "-", input=bad.read_text()).stdout)["jobs"]["ended"] == 50


def accounting(path, jobs):
    """What gsim reads of a controller's history.db. Jobs: id, submit_s, account, partition, asked, runs of (attempt, GPUs, s)."""
    with sqlite3.connect(path) as db:
        db.execute("PRAGMA application_id = 0x67707568")
        db.execute("CREATE TABLE job (id INTEGER PRIMARY KEY, part INTEGER, array TEXT, submit_time INTEGER, user TEXT, account TEXT, partition TEXT, "
                   "time_limit_s INTEGER, gpus TEXT, attempt INTEGER)")
        db.execute("CREATE TABLE run (job INTEGER, task INTEGER, attempt INTEGER, gpus INTEGER, cpus INTEGER, mem_mb INTEGER, elapsed_us INTEGER)")
        for number, submit, account, partition, asked, runs in jobs:
            db.execute("INSERT INTO job VALUES (?, 0, '', ?, 'ann', ?, ?, 600, ?, ?)",
                       (number, submit * 1000000, account, partition, asked, max([r[0] for r in runs], default=0)))
            db.executemany("INSERT INTO run VALUES (?, 0, ?, ?, 1, 100, ?)",
                           [(number, a, (1 << n) - 1 << 1, s * 1000000) for a, n, s in runs])
    db.close()
    return path


def test_accounting(tmp_path):
    """A job is what its last attempt had, in its own partition and account; broken rows are named by the job's number."""
    (tmp_path / "conf").write_text(
        'cluster = "c"; controller = { host = "h"; }; gpu_types = ( { name = "g"; }, { name = "x"; } );\n'
        'nodes = ( { name = "n[1-3]"; gpus = "g:8"; } );\n'
        'accounts = ( { name = "red"; members = [ "*" ]; }, { name = "blue"; members = [ "*" ]; } );\n'
        'partitions = ( { name = "p"; nodes = "n1"; default = true; }, { name = "q"; nodes = "n[2-3]"; } );\n')
    jobs = [(7, 1000, "red", "p", "g:8", [(1, 8, 5), (2, 8, 100)]),
            (8, 1010, "blue", "p", "x:4|g:4", [(1, 4, 50)]),
            (9, 1020, "red", "q", "g:4", [(1, 2, 30), (1, 2, 30)]),
            (11, 1030, "red", "p", "g:1", []),
            (12, 1030, "red", "gone", "g:1", [(1, 1, 1)])]
    argv = ["-f", tmp_path / "conf", "--format=accounting", "--checker=1", "--json"]
    r = json.loads(gsim(*argv, f"--jobs={tmp_path}/each", accounting(tmp_path / "history.db", jobs)).stdout)
    rows = [line.split(",") for line in (tmp_path / "each").read_text().splitlines()]
    each = {row[0]: dict(zip(rows[0], row)) for row in rows[1:]}
    assert {(n, e["account"], e["partition"], e["gpus"]) for n, e in each.items()} == {
        ("7", "red", "p", "8"), ("8", "blue", "p", "4"), ("9", "red", "q", "4")}
    assert [float(each[n]["start_s"]) for n in "789"] == [0, 100, 20]
    assert [float(each[n]["end_s"]) for n in "789"] == [100, 150, 50]
    assert r["jobs"]["refused"] == 1 and r["jobs"]["ended"] == 3
    bad = accounting(tmp_path / "bad.db", [*jobs, (13, 1040, "red", "p", "g:1", [(1, 1, -5)])])
    r = gsim(*argv, bad, check=False)
    assert r.returncode == 1 and f"{bad}:13: elapsed_us of its runs: -5000000 cannot be" in r.stderr and r.stdout == ""
    assert json.loads(gsim(*argv, "--skip-bad", bad).stdout)["jobs"]["bad_rows"] == 1
    sqlite3.connect(tmp_path / "other.db").execute("CREATE TABLE t (a)").connection.close()
    for name, text in ("other.db", "not the history.db of a controller"), ("conf", "not a database"), ("none", "unable to open"):
        r = gsim(*argv, tmp_path / name, check=False)
        assert r.returncode == 1 and text in r.stderr


@pytest.mark.parametrize("argv,code,text", [
    ([], 2, "which history?"),
    (["--config=a", "--nodes=b", "c"], 2, "both say what the cluster is"),
    (["--policy=sjf", "a"], 2, "--policy=sjf: expected configured, fifo, fgd or bestfit"),
    (["--time-limit=0.5", "a"], 2, "expected none, exact or a number from 1"),
    (["--scale-load=0", "a"], 2, "--scale-load=0: expected a number from"),
    (["--inflate=130x", "a"], 2, "expected per cent"),
    (["--inflate=130", "--policy=fifo", "a"], 2, "--inflate is no replay"),
    (["--policy=fgd", "a"], 2, "--policy=fgd only chooses places"),
    (["--until=5", "a"], 2, "--until=5"),
    (["a", "a"], 2, "a is there twice"),
    (["--format=xml", "a"], 2, "--format=xml: csv, accounting, record, json or requests"),
    (["--format=accounting", "--nodes=b", "a"], 2, "jobs go to their own partitions"),
    (["--config=/nowhere/conf", "a"], 1, "/nowhere/conf"),
    (["--nodes=/nowhere/nodes", "a"], 1, "/nowhere/nodes"),
])
def test_wrong_usage(argv, code, text):
    r = gsim(*argv, check=False)
    assert r.returncode == code and text in r.stderr and r.stdout == ""


def test_series(tmp_path):
    (tmp_path / "nodes.csv").write_text("node,gpus\nn,8\n")
    gsim("--nodes", tmp_path / "nodes.csv", "--policy=fifo", "--series", tmp_path / "s.csv", "--series-step=50s",
         history(tmp_path / "jobs.csv", ONE_AFTER_ANOTHER))
    assert (tmp_path / "s.csv").read_text().split() == ["time_s,waiting_jobs,running_jobs,used_gpus", "0,0,1,8", "50,3,1,8",
                                                        "100,1,2,8", "150,0,1,8"]


def test_each_job(tmp_path):
    (tmp_path / "nodes.csv").write_text("node,gpus\nn,8\n")
    rows = [job(1000, 100, 8, job_id='"a,b"'), job(1010, 50, 4, group="x"), job(1020, 10, 4, requested_time_s=5)]
    gsim("--nodes", tmp_path / "nodes.csv", "--jobs", tmp_path / "j.csv", history(tmp_path / "jobs.csv", rows))
    got = [line.rsplit(",", 1)[0] for line in (tmp_path / "j.csv").read_text().splitlines()]
    assert got == ["job_id,account,partition,gpus,state,attempts,submit_s,start_s,end_s",
                   '"a,b",,all,8,COMPLETED,1,0,0,100', "j2,,all,4,TIMEOUT,1,20,100,105", "j1,x,all,4,COMPLETED,1,10,100,150"]


def test_configuration_to_keep(tmp_path):
    """What --show-config prints is a configuration with which the same happens."""
    nodes, path, jobs = busy(tmp_path)
    (tmp_path / "conf").write_text(gsim(nodes, path, "--add-nodes=2:x-1", "--show-config").stdout)
    one = json.loads(gsim(nodes, path, "--add-nodes=2:x-1", "--json", jobs).stdout)
    assert one == json.loads(gsim("--config", tmp_path / "conf", "--json", jobs).stdout)
    assert one["gpus"] == 6 * 8 + 6 * 4 + 2 * 8


NEAR = '["PIX:0,1", "PIX:2,3", "NODE:0-3", "NV4:0,1"]'


def test_how_close(replay):
    """On 4 GPUs: 0,1 with NVLinks between; 2,3 under a switch; one of each pair; all; and one alone counts for nothing."""
    hours = 100 / HOUR
    rows = [job(0, 100, 2), job(1, 100, 2), job(200, 100, 1), job(210, 100, 2), job(220, 500, 1), job(320, 100, 2), job(1000, 100, 4)]
    r = replay(rows, gpus=4, node=f"gpu_near = {NEAR};")
    # 200: 2 alone, since it has less beside it; 210: 0,1; 220: 3; 320: 0,1 again
    assert {k: (v["runs"], pytest.approx(v["gpu_hours"])) for k, v in r["closeness"].items() if v["runs"]} == {
        "NVLINK": (3, 6 * hours), "PIX": (1, 2 * hours), "NODE": (1, 4 * hours)}
    assert r["closeness"]["NVLINK"]["share"] == pytest.approx(3 / 5)
    assert replay(rows, gpus=4)["closeness"] == {}


def test_packing(tmp_path):
    """Jobs of 5 on nodes of 8: one on each, whatever the order. Jobs of 4: no GPU is left over."""
    (tmp_path / "nodes.csv").write_text("node,count,gpus\nn,2,8\n")
    for gpus, allocated, arrived in (5, 10 / 16, [20 / 16, 35 / 16]), (4, 1, [1, 2]):
        jobs = history(tmp_path / "jobs.csv", [job(0, "", gpus)] * 2)
        r = json.loads(gsim("--nodes", tmp_path / "nodes.csv", "--inflate=200", "--checker=1", "--json", jobs).stdout)
        assert [p["arrived"] for p in r["inflation"]] == arrived
        assert [p["allocated"] for p in r["inflation"]] == [allocated] * 2
        assert r["jobs"]["placed"] == allocated * 16 / gpus


@pytest.mark.parametrize("policy", ["fgd", "bestfit"])
def test_rivals(tmp_path, policy):
    """What fills the nodes exactly is placed, and the report says whose places these are."""
    (tmp_path / "nodes.csv").write_text("node,count,cpus,gpus\nn,2,16,8\n")
    rows = [job(0, "", 1, cpus=2, gpu_milli=1000)] * 16
    r = json.loads(gsim("--nodes", tmp_path / "nodes.csv", "--inflate=100", "--json", "--shared=share", f"--policy={policy}",
                        history(tmp_path / "jobs.csv", rows)).stdout)
    assert r["inflation"][-1]["allocated"] == 1 and r["jobs"]["placed"] == 16
    assert r["policy"] == {"fgd": "places by FGD", "bestfit": "places by BestFit"}[policy]


@pytest.mark.skipif(not TRACES, reason="GPUSCHED_TRACES is not set")
@pytest.mark.parametrize("policy,published", [("fgd", (95.23, 95.39)), ("bestfit", (92.86, 93.08))])
def test_rivals_as_published(tmp_path, policy, published):
    """Of Weng et al., ATC'23, figure 9(a), seeds 42 to 51 as there: within two deviations of theirs."""
    nodes, pods = pack.write_nodes(tmp_path), pack.write_mix(tmp_path, "as it is")
    assert pack.means(nodes, pods, policy, range(42, 52)) == pytest.approx(published, abs=0.25)


@pytest.mark.skipif(not TRACES, reason="GPUSCHED_TRACES is not set")
@pytest.mark.parametrize("policy", ["configured", "fifo"])
@pytest.mark.parametrize("name,nodes,jobs", [
    ("muri_trace1", "muri_nodes", 1494),
    ("philly_2017_sep_oct", "philly_nodes", 52849),
    ("openb_default", "openb_nodes", 8152),
])
def test_real_histories(name, nodes, jobs, policy):
    """With the checker on: every job ends, but those that are refused or have no duration."""
    r = json.loads(gsim("--nodes", f"{TRACES}/{nodes}.csv", "--checker=5000", "--json", f"--policy={policy}",
                        "--time-limit=3", f"{TRACES}/{name}.csv.gz").stdout)
    j = r["jobs"]
    assert j["submitted"] + j["without_duration"] == jobs
    assert j["ended"] + j["refused"] == j["submitted"] and j["waiting"] == j["running"] == 0
    assert r["completion_s"]["mean"] >= r["wait_s"]["mean"]
