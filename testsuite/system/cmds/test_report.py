"""gacct and greport for programs and for people: CSV that any reader takes, sums that come out, prices and factors of then,
what runs now, windows that cut."""

import csv
import io
import json
import os
import time
import xml.etree.ElementTree

import pytest
from cluster import Cluster, wait_until

POLICY = """
prices = { currency = "EUR"; cpu = 0.5; };
qos = ( { name = "normal"; }, { name = "cheap"; usage_factor = 0.25; } );
accounts = ( { name = "lab"; }, { name = "red"; parent = "lab"; members = [ "*" ]; },
  { name = "blue"; parent = "lab"; members = [ "*" ]; } );
default_account = "red";
"""
HARDWARE = """gpu_types = ( { name = "h100"; mem = "80G"; price = %s; } );
nodes = ( { name = "n[1-2]"; cpus = 64; gpus = "h100:8"; } );"""


@pytest.fixture(scope="module", name="cluster")
def fixture_cluster():
    with Cluster(nodes=("n1", "n2"), policy=POLICY, hardware=HARDWARE % 4, cpus=64, controller='keep_ended = "1s";') as c:
        yield c


def set_price(c, price):
    c.hardware = HARDWARE % price
    c.write_conf()
    c.run("gctl", "reconfigure")


def table(c, *words):
    return list(csv.DictReader(io.StringIO(c.run(*words, "--csv").stdout)))


def acct_list(c, *options):
    return json.loads(c.run("gacct", "--json", "--runs", *options).stdout)["jobs"]


def acct(c, *options):
    return {j["id"]: j for j in acct_list(c, *options)}


def report(c, *options):
    return json.loads(c.run("greport", "use", "--json", *options).stdout)["report"]


def ended(c, *ids):
    wait_until(lambda: set(ids) <= set(acct(c, "-s", "CD,F,CA,TO")), f"{ids} to end")


def shares(c):
    return {(s["account"], s["user"]): s for s in json.loads(c.run("gshare", "--json").stdout)["shares"]}


def agree(c):
    """Of all that has ended: gacct, greport in both forms, and gshare."""
    jobs = acct_list(c)
    of = shares(c)
    lines = {tuple(r["keys"]): r for r in report(c, "--by=account,user")}
    for (account, user), s in of.items():
        if not user:
            continue
        runs = [r for j in jobs for r in j["runs"] if (r["account"], j["user"]) == (account, user)]
        assert sum(r["gpu_us"] for r in runs) == s["gpu_us"] == lines[account, user]["gpu_us"]
        assert sum(r["cost"] for r in runs) == pytest.approx(s["cost"], abs=1e-6)
        assert lines[account, user]["cost"] == pytest.approx(s["cost"], abs=1e-6)
    # The sums of the columns are the totals.
    rows = table(c, "gacct", "-o", "JOBID,COST,GPU-S,GPU-H")
    for by in ("account", "user", "day", "label:team", "label:team,label:project"):
        total = report(c, f"--by={by}")[-1]
        leaves = [r for r in table(c, "greport", "use", f"--by={by}", "-o", f"{'ACCOUNT,' if by == 'account' else ''}COST,GPU-S,GPU-H")
                  if r.get("ACCOUNT", "").strip() != "lab"]
        for what, all_of, unit in (("COST", total["cost"], 1e-6), ("GPU-S", total["gpu_us"] / 1e6, 1e-6), ("GPU-H", total["gpu_us"] / 3.6e9, 1e-6)):
            for of_rows in (rows, leaves):
                assert sum(float(r[what]) for r in of_rows) == pytest.approx(all_of, abs=unit * (len(of_rows) + 1)), (by, what)


def test_csv_of_ugly_names(cluster):
    c = cluster
    name, label = 'we"ird, na\'me;=1+1 ü', 'a,b "q" =x'
    job = c.submit("true", "--gpus=h100:2", "-J", name, "--label", f"project={label}", "--label", "team=x")
    other = c.submit("true", "--gpus=h100:1", "--label", "team=y")
    ended(c, job, other)
    [row] = table(c, "gacct", "-j", job, "-o", "NAME,LABELS,STATE")
    assert row == {"NAME": name, "LABELS": f"project={label},team=x", "STATE": "COMPLETED"}
    rows = table(c, "greport", "use", "--by=label:team,user,label:project", "-j", f"{job},{other}")
    assert {(r["LABEL"], r["LABEL2"], r["JOBS"]) for r in rows} == {("x", label, "1"), ("y", "-", "1")}
    heading = c.run("greport", "use", "--by=label:team,user,label:project").stdout.split()
    assert heading[:3] == ["LABEL", "USER", "LABEL2"]
    assert c.run("greport", "use", "--by=label:a,label:b,label:c,label:d", "-o", "LABEL4", "-h").returncode == 0
    for bad in ("label:team,label:team", "user,account,user"):
        r = c.run("greport", "use", f"--by={bad}", check=False)
        assert r.returncode == 2 and "--by" in r.stderr and "twice" in r.stderr
    # Who asks for a name that cannot be one is told, and nobody's terminal or file gets what is in it.
    r = c.run("gsubmit", "-J", "a\nb", "--wrap=true", check=False)
    assert r.returncode == 2 and "a\\x0Ab" in r.stderr


def test_prices_and_factors_of_then(cluster):
    """A run costs what was the price when it ended, times the factor of its QOS; later prices change nothing of it."""
    c = cluster
    before = c.submit("true", "--gpus=h100:2", "--label=team=x")
    ended(c, before)
    cost = acct(c)[before]["cost"]
    over = c.submit("while ! [ -e over ]; do sleep 0.05; done", "--gpus=h100:1", "--account=blue")
    cheap = c.submit("while ! [ -e over ]; do sleep 0.05; done", "--gpus=h100:1", "--qos=cheap", "--label=team=y")
    gang = c.submit("true", "--nodes=2", "--gpus-per-node=h100:2")
    array = c.submit("true", "--array=0-3%2", "--gpus=h100:1", "--label=team=x")
    for job in (over, cheap):
        c.wait_state(job, "RUNNING")
    set_price(c, 100)
    c.run("gctl", "requeue", cheap)
    wait_until(lambda: c.job(cheap).get("attempt", 0) == 2 and c.state(cheap) == "RUNNING", "its next attempt")
    (c.dir / "jobs/over").touch()
    ended(c, over, cheap, gang, array)
    jobs = acct(c)
    assert jobs[before]["cost"] == cost
    for job, factor in ((over, 1), (cheap, 0.25)):
        for r in jobs[job]["runs"]:
            assert r["cost"] == pytest.approx((r["gpu_us"] * 100 + r["held_us"] * r["cpus"] * 0.5) / 3.6e9 * factor, abs=2e-6)
    assert jobs[cheap]["attempts"] == len(jobs[cheap]["runs"]) == 2
    set_price(c, 4)
    c.ctld.kill()
    c.start_ctld()
    c.wait_nodes()
    assert acct(c)[over]["cost"] == jobs[over]["cost"]
    agree(c)


def test_what_runs_and_what_is_cut(cluster):
    """A running job counts until now, a window takes its part of it: windows that meet are the whole."""
    c = cluster
    job = c.submit("sleep 600", "--gpus=h100:4", "--label=team=z")
    c.wait_state(job, "RUNNING")
    start = acct(c, "-j", job)[job]["start_time"]
    end = wait_until(lambda: int(time.time()) if time.time() > start + 2.5 else 0, "it to use something")
    first = report(c, "-j", job)[-1]
    assert 0 < first["gpu_us"] <= (time.time() - start) * 4e6 and first["jobs"] == 1
    assert first["gpu_us"] < acct(c, "-j", job)[job]["gpu_us"] < report(c, "-j", job)[-1]["gpu_us"]
    c.run("gcancel", job)
    ended(c, job)
    whole = acct(c, "-j", job)[job]

    def at(t):
        return time.strftime("%Y-%m-%dT%H:%M:%S", time.localtime(t))

    marks = [int(start) - 5, int(start) + 1, end, end + 600]
    parts = [report(c, "-S", at(a), "-E", at(b), "-L", "team=z")[-1] for a, b in zip(marks, marks[1:], strict=False)]
    assert sum(p["gpu_us"] for p in parts) == whole["gpu_us"] and all(p["gpu_us"] > 0 for p in parts[:2])
    assert sum(p["cost"] for p in parts) == pytest.approx(whole["cost"], abs=1e-6)
    assert sum(p["started"] for p in parts) == 1
    agree(c)


def test_days_are_the_controllers(tmp_path):
    """By day it is the controller's clock that says which: over its midnight a job is on two days."""
    def soon_midnight(seconds):
        behind = int(time.time()) % 86400 - 86400 + seconds  # local = UTC - behind
        sign = "-" if behind < 0 else "+"
        return f"AAA{sign}{abs(behind) // 3600}:{abs(behind) // 60 % 60:02}:{abs(behind) % 60:02}"

    with Cluster(nodes=("n1",)) as c:
        for seconds in (3, 45):  # a slow machine needs more of them to start a job
            c.ctld.stop()
            c.extra_env["TZ"] = soon_midnight(seconds)
            midnight = int(time.time()) + seconds
            c.start_ctld()
            job = c.submit("sleep 600", "--gpus=1")
            if c.wait_state(job, "RUNNING")["start_time"] < midnight - 1:
                break
            c.run("gcancel", job)
            c.wait_state(job, "CANCELLED")

        def days():
            return [r for r in report(c, "--by=day", "-S", "now-1h", "-j", job) if r["keys"]]

        wait_until(lambda: len(days()) == 2, "midnight")
        c.run("gcancel", job)
        c.wait_state(job, "CANCELLED")
        both = days()
        assert sum(r["gpu_us"] for r in both) == acct(c, "-S", "now-1h")[job]["gpu_us"] and [r["jobs"] for r in both] == [1, 1]
        assert [r["started"] for r in both] == [1, 0] and both[0]["keys"] < both[1]["keys"]


def test_who_cancelled_or_preempted(cluster):
    c = cluster
    job = c.submit("sleep 600", "--gpus=h100:1")
    c.wait_state(job, "RUNNING")
    c.run("gcancel", job, "--reason=wrong input, twice")
    ended(c, job)
    for _ in range(2):  # in memory, then in history
        [row] = table(c, "gacct", "-j", job, "-o", "STATE,EXIT,COMMENT,CAUSE,NODES,NODELIST,GPUS,CPUTIME,MAXRSS,GPU-S,COST,WAIT")
        assert row["STATE"] == "CANCELLED" and row["CAUSE"] == "cancel" and row["EXIT"] == "0:15"
        assert row["COMMENT"].startswith("cancelled by ") and row["COMMENT"].endswith(": wrong input, twice")
        assert row["NODES"] == "1" and row["NODELIST"] in ("n1", "n2") and row["GPUS"] == "h100:1" and float(row["GPU-S"]) > 0
        wait_until(lambda: job not in c.jobs("--all"), "it to become history")
    assert os.getuid() != 0 or "cancelled by root " in row["COMMENT"]


def test_charts(cluster, tmp_path):
    """--plot writes the same jobs as charts, of the controller's memory and of a file; the table stays as it is."""
    c = cluster
    first = c.submit("sleep 2", "--gpus=h100:8", "--nodelist=n1", "--exclusive")
    second = c.submit("true", "--gpus=h100:2", "--nodelist=n1")
    third = c.submit("sleep 600", "--gpus=h100:1", "--nodelist=n2")
    ended(c, first, second)
    c.wait_state(third, "RUNNING")

    def charts(where, *options):
        plain, table_too = c.run("greport", "wait", *options).stdout, c.run("greport", "wait", *options, f"--plot={where}").stdout
        assert plain.splitlines()[0] == table_too.splitlines()[0]
        roots = {p.stem: xml.etree.ElementTree.parse(p).getroot() for p in where.iterdir()}
        assert sorted(roots) == ["demand", "use", "waits-accounts", "waits-sizes"]  # no planned starts are kept
        return {name: [e.text for e in root.iter("{http://www.w3.org/2000/svg}text")] for name, root in roots.items()}

    says = charts(tmp_path / "now", "-S", "now-1h")
    assert "h100" in says["use"] and any(t.endswith(" UTC") for t in says["use"]) and {"given", "asked for"} <= set(says["demand"])
    assert any(t.startswith("red, median ") for t in says["waits-accounts"])
    assert {t.split(", ")[0] for t in says["waits-sizes"] if ", median" in t} >= {"1 GPU", "2-4 GPUs", "5-8 GPUs"}
    c.run("gcancel", third)
    ended(c, third)
    wait_until(lambda: not c.jobs("--all"), "them to become history")
    archive = c.dir / "state/charts.db"
    c.run("gctl", "archive", archive, "--before", time.strftime("%Y-%m-%dT%H:%M:%S", time.localtime()), "--quiet")
    wait_until(lambda: charts(tmp_path / "old", f"--file={archive}"), "charts of a file")
    assert c.run("greport", "use", f"--plot={archive}", check=False).returncode == 1
