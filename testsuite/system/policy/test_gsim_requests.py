"""gsim --format=requests: small services worked out by hand, what is read, and our scaler beside the rivals."""

import csv
import gzip
import json
import os
import pathlib
import subprocess

import pytest

BUILD = pathlib.Path(os.environ.get("GPUSCHED_BUILD", pathlib.Path(__file__).parents[3] / "build-gcc"))
GSIM = BUILD / "ctld/gsim/gsim"
HEAD = "time_s,input_tokens,output_tokens"


def gsim(*argv, check=True):
    r = subprocess.run([GSIM, *map(str, argv)], capture_output=True, text=True, timeout=240)
    assert not check or r.returncode == 0, r.stderr
    return r


def scale(*argv):
    report = json.loads(gsim("--json", *argv).stdout)
    return {row["scaler"]: row for row in report["scalers"]}


def history(path, rows, head=HEAD):
    text = "\n".join([head, *(",".join(map(str, row)) for row in rows)]) + "\n"
    if path.suffix == ".gz":
        path.write_bytes(gzip.compress(text.encode()))
    else:
        path.write_text(text)
    return path


# A request takes 1 s and a tenth of a second for each output token; two at once.
SLOW = ["--format=requests", "--prefill=1s", "--token-rate=10", "--replica-requests=2"]


def test_worked_out_by_hand(tmp_path):
    """Three at once, two places: the third waits for the first answer."""
    path = history(tmp_path / "r.csv", [(100, 5, 10), (100, 5, 20), (100, 5, 90), (110.5, 5, 0)])
    r = scale(*SLOW, "--scaler=fixed:1,fixed:2", "--replica-gpus=4", path)
    one, two = r["fixed:1"], r["fixed:2"]
    assert one["answered"] == 4
    assert one["wait_p99_s"] == 2  # 2 s, then 10 s: to 12
    assert one["completion_p95_s"] == 12
    assert one["gpu_hours"] == pytest.approx(4 * 12 / 3600)
    assert two["wait_p99_s"] == 0
    assert two["gpu_hours"] == pytest.approx(2 * 4 * 11.5 / 3600)
    assert (one["replicas_mean"], two["replicas_mean"], one["starts"]) == (1, 2, 0)


def test_plan(tmp_path):
    """One replica, two from 4 s on, which load for 1 s, one again from 8 s on."""
    path = history(tmp_path / "r.csv", [(0, 5, 0), (20, 5, 0)])
    plan = tmp_path / "plan"
    plan.write_text("0 1\n4 2\n8 1\n")
    r = scale(*SLOW, f"--scaler=plan:{plan}", "--load-time=1s", path)[f"plan:{plan}"]
    assert (r["replicas_mean"], r["starts"]) == (pytest.approx(25 / 21), 1)
    r = gsim(*SLOW, "--scaler=plan:/nonexistent", path, check=False)
    assert r.returncode == 2 and "plan:FILE" in r.stderr


def test_over_the_wait(tmp_path):
    path = history(tmp_path / "r.csv", [(0, 1, 0)] * 6)  # waits 0 0 1 1 2 2
    r = scale(*SLOW, "--scaler=fixed:1", "--request-wait=1s", path)["fixed:1"]
    assert r["over_percent"] == pytest.approx(100 / 3)
    r = scale(*SLOW, "--scaler=fixed:1", "--request-wait=999ms", path)["fixed:1"]
    assert r["over_percent"] == pytest.approx(200 / 3)


@pytest.mark.parametrize("head,rows", [
    ("TIMESTAMP,ContextTokens,GeneratedTokens",
     [("2023-11-30 23:59:59.5000000", 374, 20), ("2023-12-01 00:00:01", 4, 20), ("2023-12-01T00:00:02.5+00:00", 4, 20)]),
    ("Timestamp,Model,Request tokens,Response tokens,Total tokens,Log Type",
     [(5, "m", 374, 20, 394, "x"), (6.5, "m", 1, 20, 21, "x"), (8, "m", 1, 20, 21, "x")]),
])
def test_what_others_publish(tmp_path, head, rows):
    for name in ("r.csv", "r.csv.gz"):
        r = scale(*SLOW, "--scaler=fixed:1", history(tmp_path / name, rows, head))["fixed:1"]
        assert r["answered"] == 3
        assert r["gpu_hours"] == pytest.approx(6 / 3600)  # the last comes after 3 s and takes 3 s


def test_broken_rows(tmp_path):
    path = history(tmp_path / "r.csv", [(0, 1, 1), ("soon", 1, 1), (2, 1, -1), (3, 1), (4, 1, 1)])
    r = gsim(*SLOW, path, check=False)
    assert r.returncode == 1
    assert f"{path}:3: time \"soon\": expected seconds" in r.stderr and "--skip-bad" in r.stderr
    report = json.loads(gsim(*SLOW, "--skip-bad", "--json", path).stdout)
    assert (report["requests"], report["bad_rows"]) == (2, 3)
    r = gsim(*SLOW, history(tmp_path / "x.csv", [(1, 2)], "a,b"), check=False)
    assert r.returncode == 1 and "expected the columns TIMESTAMP,ContextTokens,GeneratedTokens" in r.stderr


@pytest.mark.parametrize("argv,words", [
    (["--requests=bursts:x"], "bursts:SEED"), (["--requests=noon:1"], "bursts or day"),
    (["--requests=day:1", "--scaler=none"], "expected ours, ray, knative, keda"),
    (["--requests=day:1", "--nodes=x"], "about a service"), (["--format=requests"], "which history"),
    (["--requests=day:1", "file"], "without file"), (["--requests=day:1", "--replicas=5-2"], "MIN-MAX"),
    (["--requests=day:1", "--target=0"], "number from"),
])
def test_refused(argv, words):
    r = gsim(*argv, check=False)
    assert r.returncode == 2 and words in r.stderr


def test_same_bytes_and_halves():
    argv = ["--requests=bursts:7", "--until=30m"]
    first = gsim(*argv).stdout
    assert first == gsim(*argv).stdout
    assert first != gsim("--requests=bursts:8", "--until=30m").stdout
    n = [json.loads(gsim("--requests=bursts:7", "--scaler=fixed:9", "--json", *part).stdout)["requests"]
         for part in (["--until=30m"], ["--from=30m", "--until=60m"], ["--until=60m"])]
    assert n[0] + n[1] == n[2] > 0


def test_series_and_zero(tmp_path):
    """Two requests an hour apart: to zero after 15 minutes, woken by the second."""
    path = history(tmp_path / "r.csv", [(0, 1, 0), (3600, 1, 0)])
    out = tmp_path / "series.csv"
    r = scale(*SLOW, "--scaler=ours,knative", "--replicas=0-3", "--load-time=30s", "--series", out, "--series-step=60s", path)
    rows = [row for row in csv.DictReader(out.open()) if row["scaler"] == "ours"]
    wanted = {int(row["time_s"]): int(row["wanted"]) for row in rows}
    assert wanted[60] == 1 and wanted[14 * 60] == 1 and wanted[16 * 60] == 0 and wanted[3540] == 0
    assert all(row["why"].startswith(row["wanted"] + ": ") for row in rows[1:])
    assert r["ours"]["starts"] == r["knative"]["starts"] == 2
    assert r["ours"]["wait_p99_s"] == pytest.approx(30, abs=0.1)
    assert r["knative"]["replicas_mean"] < r["ours"]["replicas_mean"] < 0.5


def test_fewer_gpu_hours_than_the_rivals():
    """At targets at which each has about the same p95 of the wait, 14 s: RESULTS.md, services-scaling."""
    argv = ["--requests=bursts:21", "--replicas=1-80"]
    ours = scale(*argv, "--scaler=ours", "--target=14")["ours"]
    for rival, target in (("knative", 6), ("keda", 8), ("ray", 6)):
        theirs = scale(*argv, f"--scaler={rival}", f"--target={target}")[rival]
        assert theirs["wait_p95_s"] > 0.9 * ours["wait_p95_s"]
        assert ours["gpu_hours"] < 0.8 * theirs["gpu_hours"]
