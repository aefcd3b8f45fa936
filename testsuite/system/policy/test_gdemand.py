"""gdemand: histories small enough to be worked out by hand, broken ones, and that of a cluster."""

import json
import os
import pathlib
import shutil
import sqlite3
import subprocess

import pytest
from cluster import BIN, BUILD, Cluster, wait_until

GDEMAND = BUILD / "ctld/gdemand/gdemand"
HOUR = 3600
DAY = 24 * HOUR
BASE = """cluster = "c"; controller = { host = "h"; }; gpu_types = ( { name = "g"; }, { name = "x"; } );
nodes = ( { name = "n[1-%d]"; gpus = "g:8"; } );
partitions = ( { name = "p"; nodes = "ALL"; default = true; } );
"""


def gdemand(*argv, input=None, check=True):
    result = subprocess.run([GDEMAND, *map(str, argv)], input=input, capture_output=True, text=True, timeout=240)
    assert not check or result.returncode == 0, result.stderr
    return result


def answers(*argv):
    return json.loads(gdemand("--json", *argv).stdout)


def rows(found, key, by=None):
    """A sheet's rows; by the text of their first column."""
    table = found[key]["rows"]
    return {r[by]: r for r in table} if by else table


def history(path, *jobs, columns="submit_s,duration_s,gpus,group"):
    path.write_text("\n".join([columns, *[",".join(map(str, j)) for j in jobs]]) + "\n")
    return path


def accounting(path, jobs):
    """What gdemand reads of a history.db, of a release that had no more. Jobs are dictionaries, times seconds."""
    base = 1_700_000_000
    with sqlite3.connect(path) as db:
        db.execute("PRAGMA application_id = 0x67707568")
        db.execute("CREATE TABLE job (id INTEGER, part INTEGER, array TEXT, submit_time INTEGER, user TEXT, account TEXT, partition TEXT, "
                   "time_limit_s INTEGER, gpus TEXT, attempt INTEGER, state TEXT, labels TEXT, qos TEXT, max_wait_s INTEGER, end_time INTEGER)")
        db.execute("CREATE TABLE run (job INTEGER, task INTEGER, attempt INTEGER, gpus INTEGER, cpus INTEGER, mem_mb INTEGER, elapsed_us INTEGER, "
                   "start_time INTEGER, gpu_type TEXT, ready_time INTEGER, health INTEGER, gpu_seen_us INTEGER, gpu_busy_us INTEGER, "
                   "gpu_idle_us INTEGER, gpu_mem_mbs INTEGER, cost_u INTEGER)")
        for n, j in enumerate(jobs, 1):
            submit, start, took = j["submit"], j.get("start"), j.get("took", 0)
            end = start + took if start is not None else j.get("end", submit)
            db.execute("INSERT INTO job VALUES (?, 0, '', ?, ?, ?, 'p', 600, ?, ?, ?, ?, ?, ?, ?)",
                       (j.get("id", n), (base + submit) * 10**6, j.get("user", "ann"), j.get("account", "red"), f"g:{j.get('gpus', 1)}",
                        int(start is not None), j.get("state", "COMPLETED"), j.get("labels", ""), j.get("qos", ""), j.get("max_wait", 0),
                        (base + end) * 10**6))
            if start is not None:
                gpu_us = took * 10**6 * j.get("gpus", 1)
                db.execute("INSERT INTO run VALUES (?, 0, 1, ?, 1, 100, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
                           (j.get("id", n), (1 << j.get("gpus", 1)) - 1, took * 10**6, (base + start) * 10**6, j.get("type", "g"),
                            (base + start + j["cold"]) * 10**6 if "cold" in j else 0, int("cold" in j), gpu_us,
                            int(gpu_us * j.get("busy", 1)), int(gpu_us * (1 - j.get("busy", 1))), j.get("memory", 0), j.get("cost", 0) * 10**6))
    db.close()
    return path


# --- by hand --------------------------------------------------------------------------------------


def test_concurrency_by_hand(tmp_path):
    """Two hours of 8, half an hour of 12, the rest 0, of ten hours."""
    found = answers(history(tmp_path / "h.csv", (0, 2 * HOUR, 8, "a"), (HOUR, HOUR / 2, 4, "b"), (10 * HOUR, 60, 1, "b")))
    at = rows(found, "concurrency", "scope")
    assert at["all"]["floor"]["value"] == 0 and at["all"]["p99"]["value"] == 12 and at["all"]["kept_1h"]["value"] == 8
    assert at["all"]["mean"] == pytest.approx((16 + 2) / 10)
    assert at["a"]["p95"]["value"] == 8 and at["b"]["kept_1h"]["value"] == 0 and at["b"]["p99"]["value"] == 4
    assert at["all"]["given_mean"] is None and "does not say when jobs started" in str(found["queue"]["notes"])
    mix = {r["what"]: r for r in rows(found, "mix")}
    assert mix["5-8 GPUs"]["gpu_hours"] == pytest.approx(16) and mix["3-4 GPUs"]["jobs"] == 1


def test_waits_of_a_simulated_cluster(tmp_path):
    """On 8 GPUs the second waits 100 s with 8 GPUs, the third, with 1, 50 s."""
    (tmp_path / "nodes.csv").write_text("node,gpus\nn,8\n")
    jobs = history(tmp_path / "h.csv", (0, 100, 8, "a"), (0, 100, 8, "a"), (150, 50, 1, "a"))
    found = answers("--nodes", tmp_path / "nodes.csv", "--max-wait=60s", jobs)
    queue = rows(found, "queue")[0]
    assert queue["in_target"]["value"] == pytest.approx(2 / 3) and queue["wait_p95_s"]["value"] == pytest.approx(100)
    # until the third comes, which waits behind that: Little's law cannot hold
    assert queue["mean"] == pytest.approx(800 / 150) and queue["little"] == pytest.approx(800 / 850)
    assert "Little's law is off by 6 %" in str(found["queue"]["notes"])
    assert "gsim" in str(found["history"]["notes"])


def test_tolerance_and_residency(tmp_path):
    """Users give up after 100 s; those that say max_wait got it in half of the cases; a model is loaded four times as long as it computes."""
    jobs = [{"submit": 10 * i, "start": 10 * i + 5, "took": 100, "max_wait": 10, "labels": "model=m", "memory": 10**6, "busy": 0.25, "cost": 8}
            for i in range(20)]
    jobs += [{"submit": 1000 + i, "start": 1020 + i, "took": 10, "max_wait": 10} for i in range(20)]
    jobs += [{"submit": 2000 + i, "end": 2100 + i, "state": "CANCELLED"} for i in range(20)]
    jobs += [{"submit": 3000, "start": 3001, "took": 300, "cold": 40, "labels": "service=chat\nmodel=m"}]
    found = answers(accounting(tmp_path / "h.db", jobs))
    t = rows(found, "tolerance", "jobs_of")["all"]
    assert (t["declared"], t["declared_p50_s"], t["declared_kept"], t["gave_up"]) == (40, 10, 0.5, 20)
    assert t["gave_up_tenth_s"]["value"] == 100
    m = rows(found, "residency", "what")["model m"]
    assert m["residency"]["value"] == pytest.approx(4) and m["idle_cost"]["value"] == pytest.approx(20 * 8 * 0.75)
    assert "measured cold start of replicas, 40s" in str(found["bursts"]["notes"])
    mix = {(r["by"], r["what"]): r for r in rows(found, "mix")}
    assert mix["kind", "service"]["jobs"] == 1 and ("model", "m") in mix
    hidden = rows(found, "hidden", "account")["all"]
    assert hidden["cancelled_waiting"] == 20


def test_at_a_limit(tmp_path):
    """An account that may have 4 GPUs shows no demand for more; that it waited at its limit is said."""
    (tmp_path / "conf").write_text(BASE % 4 + 'accounts = ( { name = "red"; members = [ "*" ]; limits = { gpus = "g:4"; }; } );')
    jobs = [{"submit": 0, "start": 100 * i, "took": 100, "gpus": 4} for i in range(8)]
    found = answers("-f", tmp_path / "conf", accounting(tmp_path / "h.db", jobs))
    assert "Without -f" not in str(found["hidden"]["notes"])
    assert rows(found, "hidden", "account")["red"]["at_limit"] == pytest.approx(7 / 8)
    found = answers("-f", tmp_path / "conf", accounting(tmp_path / "two.db", [*jobs, {"submit": 0, "start": 0, "took": 9, "account": "blue"}]))
    assert rows(found, "hidden", "account")["red"]["limit"] == 4
    assert "red was at its limit with jobs waiting" in str(found["hidden"]["notes"])
    (tmp_path / "conf").write_text(BASE % 4 + 'accounts = ( { name = "red"; members = [ "*" ]; per_user = { gpus = "g:4"; }; } );')
    jobs += [{"submit": 0, "start": 50 * i, "took": 50, "gpus": 1, "user": "bo", "account": "red"} for i in range(8)]
    found = answers("-f", tmp_path / "conf", accounting(tmp_path / "users.db", [*jobs, {"submit": 0, "start": 0, "took": 9, "account": "blue"}]))
    assert rows(found, "hidden", "account")["red"]["users_at_limit"] == 1


def test_size_by_hand(tmp_path):
    """Each hour five jobs of a node come at once, for ten minutes: five nodes for 95 % in a minute, four for 80 %, two within 20 minutes."""
    (tmp_path / "nodes.csv").write_text("node,gpus\nn,8\n")
    jobs = history(tmp_path / "h.csv", *[(HOUR * i, 600, 8, "a") for i in range(30) for _ in range(5)])
    for keep, wait, nodes in ("95%", "1m", 5), ("80%", "1m", 4), ("95%", "20m", 2), ("40%", "10m", 1):
        found = answers("--nodes", tmp_path / "nodes.csv", "--size", f"--keep={keep}", f"--max-wait={wait}", jobs)
        best = [r for r in rows(found, "size") if r["verdict"].startswith("the smallest")]
        assert [r["nodes"] for r in best] == [nodes] and best[0]["gpus"] == 8 * nodes
    (tmp_path / "conf").write_text(BASE % 7)
    found = answers("-f", tmp_path / "conf", "--size=n3", "--max-wait=1m", jobs)
    assert [r["nodes"] for r in rows(found, "size") if r["verdict"].startswith("the smallest")] == [5]
    assert "Erlang" in str(found["size"]["notes"])
    mixed = BASE % 2 + 'nodes = ( { name = "n1"; gpus = "g:8"; }, { name = "n2"; gpus = "x:4"; } );'
    (tmp_path / "conf").write_text(mixed.replace('nodes = ( { name = "n[1-2]"; gpus = "g:8"; } );\n', ""))
    r = gdemand("-f", tmp_path / "conf", "--size", jobs, check=False)
    assert r.returncode == 2 and "different GPUs" in r.stderr and "n1 or n2" in r.stderr


def test_same_input_same_output(tmp_path):
    jobs = history(tmp_path / "h.csv", *[(DAY * (i % 30) + i, 60 * (i % 70), 1 + i % 8, "ab"[i % 2]) for i in sorted(range(300), key=lambda i: (i % 30, i))])
    first = gdemand("--json", jobs).stdout
    assert first == gdemand("--json", jobs).stdout
    assert first != gdemand("--json", "--seed=2", jobs).stdout
    at = rows(json.loads(first), "concurrency", "scope")["all"]
    assert at["p95"]["low"] <= at["p95"]["value"] <= at["p95"]["high"]
    assert rows(json.loads(gdemand("--json", "--rounds=0", jobs).stdout), "concurrency")[0]["p95"]["low"] is None


# --- a proposed configuration ----------------------------------------------------------------------


def test_conf_is_accepted(tmp_path):
    """Alone behind the nodes, and with the accounts of a configuration that has a tree of them."""
    jobs = [{"submit": 60 * i, "start": 60 * i, "took": 8 * HOUR, "gpus": 1 + i % 4, "account": ("red", "blue", "a b", "")[i % 4],
             "user": "ann" if i % 2 else 'x"y', "qos": "fast", "max_wait": 20, "labels": 'model=a"b'} for i in range(200)]
    db = accounting(tmp_path / "h.db", jobs)
    text = gdemand("--conf", db).stdout
    assert 'name = "red"' in text and "guaranteed" in text and "a b" not in text
    assert "Nothing is proposed" not in text and "for 3 accounts" in gdemand("--conf", "--top=1", db).stdout
    assert "3 accounts with fewer" in str(answers("--top=1", db)["concurrency"]["notes"])
    assert 'lend = "g:0"' in text  # 20 s are too short to get back what was lent
    assert 'name = "fast"; max_wait = "20s"' in text
    for nodes, more, conf in (200, "", None), (3, "", None), (3, None, 'accounts = ( { name = "top"; shares = 3; members = [ "*" ]; }, '
                                                               '{ name = "red"; parent = "top"; members = [ "ann" ]; } );'):
        base = BASE % nodes
        (tmp_path / "base.conf").write_text(base + (conf or ""))
        text = gdemand("--conf", "-f", tmp_path / "base.conf", db).stdout
        (tmp_path / "full.conf").write_text(base + text)
        r = subprocess.run([BIN["gctld"], "--test-config", tmp_path / "full.conf"], capture_output=True, text=True)
        assert r.returncode == 0, r.stdout + r.stderr + text
        assert ('parent = "top"' in text) == bool(conf)
    one = accounting(tmp_path / "one.db", [{"submit": 600 * i, "start": 600 * i, "took": 8 * HOUR, "gpus": 2, "type": "gx"[i % 2], "max_wait": 30}
                                           for i in range(100)])
    text = gdemand("--conf", one).stdout
    assert 'guaranteed = "g:' in text and ",x:" in text and 'lend = "g:0,x:0"' in text
    plain = history(tmp_path / "h.csv", (0, HOUR, 4, "7a"), (DAY, HOUR, 4, "7a"))
    (tmp_path / "full.conf").write_text(BASE % 1 + gdemand("--conf", plain).stdout)
    subprocess.run([BIN["gctld"], "--test-config", tmp_path / "full.conf"], check=True, capture_output=True)


# --- what is broken ---------------------------------------------------------------------------------


def test_bad_input(tmp_path):
    ok = [{"submit": i, "start": i + 1, "took": 10} for i in range(2000)]
    whole = accounting(tmp_path / "whole.db", ok)
    (tmp_path / "cut.db").write_bytes(whole.read_bytes()[:20000])
    (tmp_path / "empty").write_text("")
    (tmp_path / "head.csv").write_text("submit_s,duration_s,gpus\n")
    (tmp_path / "nan.json").write_text('{"version": 1, "jobs": [ {"id": 1, "submit_time": NaN} ]}')
    (tmp_path / "list.json").write_text('{"version": 1, "nodes": []}')
    (tmp_path / "minus.json").write_text('{"jobs": [ {"id": 7, "submit_time": 5, "elapsed_s": -1} ]}')
    (tmp_path / "far.json").write_text('{"jobs": [ {"id": 7, "submit_time": 1e300} ]}')
    (tmp_path / "short.json").write_text('{"jobs": [ {"id": 7,')
    history(tmp_path / "minus.csv", (0, 1, 1, "a"), (5, -3, 1, "a"))
    history(tmp_path / "back.csv", (9, 1, 1, "a"), (5, 3, 1, "a"))
    history(tmp_path / "cpus.csv", (0, 1, 0, "a"), (5, 3, 0, "a"))
    history(tmp_path / "at_once.csv", (0, 0, 1, "a"))
    for name, text in (("none", "No such file"), ("empty", "the file is empty"), ("head.csv", "no job in it"), ("cut.db", "malformed"),
                       ("nan.json", "nan.json:1"), ("list.json", 'no list "jobs"'), ("minus.json", "job 7: elapsed_s: -1 cannot be"),
                       ("far.json", "submit_time: 1e+300 cannot be"), ("short.json", "short.json:1"), ("minus.csv", "minus.csv:3"), ("back.csv", "before the job above it"),
                       ("cpus.csv", "none of its 2 jobs has GPUs"), ("at_once.csv", "ended at one moment")):
        r = gdemand(tmp_path / name, check=False)
        assert r.returncode == 1 and text in r.stderr and r.stdout == "", (name, r.stderr, r.stdout)
        assert "nan" not in r.stdout
    assert rows(answers("--skip-bad", tmp_path / "minus.csv"), "history", "what")["broken rows, left out"]["value"] == "1"
    r = gdemand(whole, tmp_path / "back.csv", check=False)
    assert r.returncode == 1 and "of another kind" in r.stderr
    for argv, text in ((["--keep=0%"], "--keep=0%"), (["--max-wait=5x"], "--max-wait=5x"), (["--size", whole], "of which nodes"),
                       ([], "which history"), (["--conf", "--json", whole], "without --json"), ([whole, whole], "there twice"),
                       (["--format=xml", whole], "expected csv"), (["--until=1h", "--from=2h", whole], "not after")):
        r = gdemand(*argv, check=False)
        assert r.returncode == 2 and text in r.stderr, r.stderr


def test_odd_but_readable(tmp_path):
    """One job; jobs without an end; a clock that was set back; a job that is in two files."""
    one = answers(history(tmp_path / "one.csv", (0, 100, 2, "a")))
    assert rows(one, "concurrency")[0]["p50"] == {"value": 2, "low": None, "high": None}
    found = answers(history(tmp_path / "open.csv", (0, "", 2, "a"), (5, "", 2, "a"), (9, 10, 1, "a"), (20, 1, 1, "a")))
    assert rows(found, "history", "what")["jobs without a duration"]["value"] == "2"
    steps = accounting(tmp_path / "steps.db", [{"submit": 100, "start": 50, "took": 5}, {"submit": 120, "start": 121, "took": 60}])
    found = answers(steps)
    assert rows(found, "history", "what")["started before their submission"]["value"] == "1"
    assert rows(found, "queue")[0]["wait_p50_s"]["value"] == 0
    shutil.copy(steps, tmp_path / "archive.db")
    found = answers(steps, tmp_path / "archive.db")
    assert rows(found, "history", "what")["in more than one file"]["value"] == "2"
    assert rows(found, "history", "what")["jobs with GPUs"]["value"] == "2"


def test_plots(tmp_path):
    (tmp_path / "nodes.csv").write_text("node,gpus\nn,8\n")
    jobs = history(tmp_path / "h.csv", *[(HOUR * i, 600, 1 + i % 8, "a<b&"[i % 4]) for i in range(60)])
    gdemand("--nodes", tmp_path / "nodes.csv", f"--plot={tmp_path}/p", jobs)
    names = sorted(os.listdir(tmp_path / "p"))
    assert names == ["concurrency.svg", "demand.svg", "durations.svg", "queue.svg", "waits.svg"]
    for name in names:
        text = (tmp_path / "p" / name).read_text()
        assert text.startswith("<svg") and "a<b" not in text and "nan" not in text.lower()
    r = gdemand(f"--plot={tmp_path}/nodes.csv", jobs, check=False)
    assert r.returncode == 1 and "nodes.csv" in r.stderr


# --- a cluster ---------------------------------------------------------------------------------------


def test_cluster():
    """Jobs of a cluster, from its history.db, from an archive of it and from gacct --json: the same demand."""
    with Cluster(nodes=("n1",), gpus="h100:4", controller='keep_ended = "1s";') as c:
        record = c.dir / "state/record"
        c.ctld.stop()
        c.start_ctld(f"--record={record}")
        c.wait_nodes()
        ids = [c.submit("sleep 0.5\n", "--gpus=2", "--max-wait=1m", "--label=model=m") for _ in range(6)]
        late = c.submit("true\n", "--gpus=4", "--hold")
        c.run("gcancel", late)
        db = c.dir / "state/history.db"

        def moved():
            if not db.exists():
                return set()
            with sqlite3.connect(f"file:{db}?mode=ro", uri=True) as h:
                return {r[0] for r in h.execute("SELECT id FROM job")}

        wait_until(lambda: {*ids, late} <= moved(), "jobs to be in history.db")
        with sqlite3.connect(f"file:{db}?mode=ro", uri=True) as h:
            for table, columns in ("job", {"eligible_time", "max_wait_s", "labels"}), ("run", {"gpu_mem_mbs", "gpu_seen_us", "ready_time"}):
                assert columns <= {r[1] for r in h.execute(f"PRAGMA table_info({table})")}
        listed = pathlib.Path(c.dir) / "acct.json"
        listed.write_text(c.run("gacct", "--json", "-S", "now-1d", "-s", "all").stdout)
        archive = c.dir / "state/archive.db"
        c.run("gctl", "archive", archive, "--older-than=0s")
        c.ctld.stop()
        found = [answers(f) for f in (db, archive, record, listed)]
        for f in found:
            # gacct tells whole seconds
            for key in ("concurrency", "queue", "mix", "tolerance", "durations") if f is not found[3] else ():
                assert f[key]["rows"] == found[0][key]["rows"], key
            assert 2 <= rows(f, "concurrency", "scope")["all"]["p99"]["value"] <= 12
            assert rows(f, "tolerance", "jobs_of")["all"]["declared"] == 6
            assert {("kind", "batch"), ("model", "m"), ("type", "h100")} <= {(r["by"], r["what"]) for r in rows(f, "mix")}
            assert rows(f, "hidden", "account")["all"]["cancelled_waiting"] == 1
            assert "became eligible" not in str(f["notes"])
        text = gdemand("--conf", "-f", c.conf, db).stdout
        (pathlib.Path(c.dir) / "with.conf").write_text(pathlib.Path(c.conf).read_text() + text)
        c.run("gctld", "--test-config", pathlib.Path(c.dir) / "with.conf")
