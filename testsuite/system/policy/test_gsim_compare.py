"""gsim --plot, --compare and --against: charts that are XML and say what came out, pairs that are found again by hand; the
progress that a terminal sees, and nothing else does."""

import csv
import json
import os
import pty
import random
import subprocess
import xml.etree.ElementTree
from pathlib import Path

import pytest
from cluster import BUILD, SANITIZED, wait_until

GSIM = str(BUILD / "ctld/gsim/gsim")
N, MANY = (150, 15000) if SANITIZED else (400, 60000)  # jobs of `busy`; of what takes some seconds
HEAD = "job_id,submit_s,duration_s,gpus,group,gpu_type"
JOBS = "job_id,account,partition,gpus,state,attempts,submit_s,start_s,end_s,estimate_s"
ALL = ["demand", "starts", "use", "waits-accounts", "waits-sizes"]
SVG = "{http://www.w3.org/2000/svg}"


def gsim(*argv, check=True, input=None):
    r = subprocess.run([GSIM, "--quiet", *map(str, argv)], capture_output=True, text=True, timeout=240, input=input)
    assert not check or r.returncode == 0, r.stderr
    return r


def texts(path):
    """All that a chart says; that it is XML at all, with nothing that runs or is elsewhere."""
    root = xml.etree.ElementTree.parse(path).getroot()
    assert root.tag == f"{SVG}svg"
    for element in root.iter():
        assert element.tag.removeprefix(SVG) in ("svg", "title", "desc", "style", "rect", "path", "text", "g", "defs", "pattern", "clipPath")
        assert not any("href" in name or name.startswith("on") for name in element.attrib)
    return [e.text or "" for e in root.iter(f"{SVG}text")]


@pytest.fixture(name="busy")
def fixture_busy(tmp_path):
    """More than the cluster can do at once, of hostile accounts and two types."""
    chance = random.Random(3)
    rows = [HEAD]
    for i in range(N):
        rows.append(f"j{i},{i * 60},{chance.randrange(60, 4000)},{chance.choice([1, 2, 4, 8])},"
                    f"{chance.choice(['vision', '<script>&', 'speech'])},{chance.choice(['h100', 'l40s'])}")
    (tmp_path / "jobs.csv").write_text("\n".join(rows) + "\n")
    (tmp_path / "nodes.csv").write_text("node,count,gpus,gpu_type\nx,2,8,h100\ny,2,8,l40s\n")
    return ["--nodes", tmp_path / "nodes.csv", "--time-limit=2", tmp_path / "jobs.csv"]


def test_charts(tmp_path, busy):
    out = tmp_path / "charts"
    table = gsim(*busy, "--plot", out).stdout
    assert table == gsim(*busy).stdout
    assert sorted(p.stem for p in out.iterdir()) == ALL
    says = {name: texts(out / f"{name}.svg") for name in ALL}
    assert {"h100", "l40s", "all 32 GPUs"} <= set(says["use"])
    assert {"given", "asked for", "GPUs"} <= set(says["demand"])
    accounts = " ".join(says["waits-accounts"])
    assert "vision, median" in accounts and "<script>&, median" in accounts
    assert any(t.startswith("1 GPU, median") for t in says["waits-sizes"]) and any(t.startswith("5-8 GPUs, ") for t in says["waits-sizes"])
    assert "as planned" in says["starts"] and any(t.startswith("jobs, ") for t in says["starts"])
    before = {p.name: p.read_bytes() for p in out.iterdir()}
    gsim(*busy, "--plot", out, "--json")  # once more into the same folder: the same bytes
    assert {p.name: p.read_bytes() for p in out.iterdir()} == before


def test_charts_of_little(tmp_path):
    """No job that waited: no chart of planned starts. What still runs when it stops is in use until then."""
    (tmp_path / "nodes.csv").write_text("node,gpus\nn,8\n")
    (tmp_path / "jobs.csv").write_text("submit_s,duration_s,gpus\n0,100000,4\n")
    gsim("--nodes", tmp_path / "nodes.csv", "--until=1h", "--plot", tmp_path / "p", tmp_path / "jobs.csv")
    assert sorted(p.stem for p in (tmp_path / "p").iterdir()) == [n for n in ALL if n != "starts"]
    assert "60 min" in texts(tmp_path / "p/use.svg") and "gpu" in texts(tmp_path / "p/use.svg")
    assert "no account, median 0 s" in texts(tmp_path / "p/waits-accounts.svg")


def rows_of(path):
    return list(csv.DictReader(Path(path).open()))


def waits(path):
    return {r["job_id"]: float(r["start_s"]) - float(r["submit_s"]) for r in rows_of(path)}


def test_compared_by_hand(tmp_path, busy):
    """What --compare says of two files is what the files say."""
    a, b = tmp_path / "a.csv", tmp_path / "b.csv"
    gsim(*busy, "--jobs", a)
    gsim(*busy, "--jobs", b, "--policy=fifo")
    r = json.loads(gsim("--compare", "--json", a, b).stdout)
    one, two = waits(a), waits(b)
    assert r["jobs"]["both"] == len(one) == N and r["jobs"]["only_a"] == r["jobs"]["only_b"] == 0
    difference = [two[j] - one[j] for j in one]
    assert r["all"]["difference_s"] == pytest.approx(sum(difference) / N)
    assert r["all"]["longer"] == sum(d > 1 for d in difference) and r["all"]["shorter"] == sum(d < -1 for d in difference)
    assert r["all"]["interval_s"][0] < r["all"]["difference_s"] < r["all"]["interval_s"][1]
    assert [s["size"] for s in r["sizes"]] == ["1 GPU", "2-4 GPUs", "5-8 GPUs"]
    of = {row["job_id"]: row for row in rows_of(a)}
    for line in r["accounts"]:
        mine = [j for j in one if of[j]["account"] == line["account"]]
        assert line["jobs"] == len(mine)
        assert line["mean_a_s"] == pytest.approx(sum(one[j] for j in mine) / len(mine))
        assert line["mean_b_s"] == pytest.approx(sum(two[j] for j in mine) / len(mine))
    assert [x["difference_s"] for x in r["accounts"]] == sorted((x["difference_s"] for x in r["accounts"]), reverse=True)
    # The other way round it is the opposite; with itself there is no difference.
    back = json.loads(gsim("--compare", "--json", b, a).stdout)["all"]
    assert back["difference_s"] == pytest.approx(-r["all"]["difference_s"]) and back["longer"] == r["all"]["shorter"]
    (tmp_path / "again.csv").write_bytes(a.read_bytes())
    same = json.loads(gsim("--compare", "--json", a, tmp_path / "again.csv").stdout)["all"]
    assert same["difference_s"] == 0 and same["interval_s"] == [0, 0] and same["longer"] == same["shorter"] == 0
    # In one go, without files between; --seed draws anew.
    both = json.loads(gsim(*busy, "--against=fifo", "--json").stdout)
    assert both["all"] == r["all"] and both["accounts"] == r["accounts"] and both["sizes"] == r["sizes"]
    assert json.loads(gsim("--compare", "--json", "--seed=2", a, b).stdout)["all"]["interval_s"] != r["all"]["interval_s"]


def test_comparison_for_people(tmp_path, busy):
    out = tmp_path / "charts"
    r = gsim(*busy, "--against=fifo", "--plot", out)
    assert f"jobs      {N} in both, 0 only in A, 0 only in B" in r.stdout
    assert "\nACCOUNT " in r.stdout and "\nSIZE " in r.stdout and "longer" in r.stdout
    assert all(len(line) <= 110 for line in r.stdout.splitlines())
    assert sorted(p.stem for p in out.iterdir()) == ["compare-accounts", "compare-sizes", "compare-waits"]
    assert "<script>&" in texts(out / "compare-accounts.svg")
    assert any(t.startswith("A, median") for t in texts(out / "compare-waits.svg"))


def test_two_configurations(tmp_path, busy):
    """With twice the nodes nobody waits longer."""
    nodes, path, *rest = busy
    now, more = tmp_path / "now.conf", tmp_path / "more.conf"
    now.write_text(gsim(nodes, path, "--show-config").stdout)
    more.write_text(gsim(nodes, path, "--show-config", "--add-nodes=4:x-1", "--add-nodes=4:y-1").stdout)
    r = json.loads(gsim("-f", now, "--against", more, "--json", *rest).stdout)
    assert r["all"]["difference_s"] < 0 and r["all"]["interval_s"][1] < 0
    assert r["all"]["shorter"] > 10 * r["all"]["longer"]


def test_pairs(tmp_path):
    """Same names in their order; what is in one only, or did not start, is counted and not compared."""
    a, b = tmp_path / "a.csv", tmp_path / "b.csv"
    a.write_text(f"{JOBS}\nx,v,p,1,COMPLETED,1,0,10,20,\nx,v,p,1,COMPLETED,1,5,50,60,\ny,v,p,1,COMPLETED,1,6,7,8,\nz,v,p,1,C,1,7,8,9,\n")
    b.write_text(f"{JOBS}\nx,v,p,1,COMPLETED,1,0,20,30,\nx,v,p,1,COMPLETED,1,5,5,60,\nz,v,p,1,C,1,7,,,\nw,,p,1,C,1,7,8,9,\n")
    r = json.loads(gsim("--compare", "--json", a, b).stdout)
    assert r["jobs"] == {"both": 3, "only_a": 1, "only_b": 1, "started_only_a": 1, "started_only_b": 0, "started_neither": 0}
    assert r["all"]["jobs"] == 2 and r["all"]["mean_a_s"] == 27.5 and r["all"]["mean_b_s"] == 10
    assert "interval_s" not in r["all"]  # of two jobs it would say nothing
    b.write_text(f"{JOBS}\n")
    assert json.loads(gsim("--compare", "--json", a, b).stdout)["all"]["jobs"] == 0
    gsim("--compare", "--plot", tmp_path / "none", a, b)
    assert "no data" in texts(tmp_path / "none/compare-waits.svg")


@pytest.mark.parametrize("argv,code,text", [
    (["--compare", "a"], 2, "--compare: two files, not 1"),
    (["--compare", "-f", "c", "a", "b"], 2, "--compare reads what --jobs wrote"),
    (["--compare", "--against=fifo", "a", "b"], 2, "--compare reads what --jobs wrote"),
    (["--compare", "/nowhere/a", "/nowhere/b"], 1, "/nowhere/a"),
    (["--against=fifo", "-"], 2, "reads the history twice"),
    (["--against=fifo", "--jobs=j", "a"], 2, "--against compares two replays"),
    (["--against=fifo", "--inflate=100", "a"], 2, "--against compares two replays"),
    (["--plot=d", "--inflate=100", "a"], 2, "--inflate is no replay"),
    (["--plot=d", "--replay", "a"], 2, "--replay repeats what was"),
    (["--plot=d", "--requests=day:1"], 2, "--format=requests is about a service"),
])
def test_wrong_usage(argv, code, text):
    r = gsim(*argv, check=False)
    assert r.returncode == code and text in r.stderr and r.stdout == ""


def test_where_charts_cannot_go(tmp_path, busy):
    (tmp_path / "file").write_text("")
    for where in tmp_path / "file", tmp_path / "no/such":
        r = gsim(*busy, "--plot", where, check=False)
        assert r.returncode == 1 and str(where) in r.stderr and r.stdout == ""
    broken = tmp_path / "broken.csv"
    broken.write_text(f"{JOBS}\nx,v,p,many,COMPLETED,1,0,10,20,\n")
    (tmp_path / "empty.csv").write_text(f"{JOBS}\n")
    r = gsim("--compare", tmp_path / "empty.csv", broken, check=False)
    assert r.returncode == 1 and f'{broken}:2: gpus "many"' in r.stderr


# --- progress ------------------------------------------------------------------------------------


class Slow:
    """gsim that is fed a history which ends when we say so."""

    def __init__(self, nodes, stderr, *options, term="xterm"):
        self.process = subprocess.Popen([GSIM, "--nodes", str(nodes), *options, "-"], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        stderr=stderr, text=True, env={**os.environ, "TERM": term})
        self.n = 0
        self.feed("submit_s,duration_s,gpus\n")

    def feed(self, text):
        self.process.stdin.write(text)
        self.process.stdin.flush()

    def more(self):
        for _ in range(200):
            self.feed(f"{self.n},1,1\n")
            self.n += 1

    def end(self):
        out, _ = self.process.communicate(timeout=240)
        assert self.process.returncode == 0
        assert f"submitted                    {self.n:10}" in out
        return out


def test_progress_on_a_terminal(tmp_path):
    (tmp_path / "nodes.csv").write_text("node,gpus\nn,8\n")
    master, slave = pty.openpty()
    slow = Slow(tmp_path / "nodes.csv", slave)
    os.set_blocking(master, False)
    seen = b""

    def look():
        nonlocal seen
        try:
            while data := os.read(master, 65536):
                seen += data
        except (BlockingIOError, OSError):
            pass
        return seen

    def fed():
        slow.more()
        return b"\rsimulating" in look()

    wait_until(fed, "a line of progress")
    slow.end()
    os.close(slave)
    line = look().split(b"\r")[1]
    assert b" jobs" in line and line.endswith(b"\033[K")
    # It was cleared before the last words, and nothing scrolled away.
    assert b"\r\033[Kgsim: " in seen and seen.count(b"\n") == 1
    os.close(master)


@pytest.mark.parametrize("terminal,options,term", [(False, [], "xterm"), (True, ["--quiet"], "xterm"), (True, [], "dumb")])
def test_no_progress(tmp_path, terminal, options, term):
    (tmp_path / "nodes.csv").write_text("node,gpus\nn,8\n")
    (tmp_path / "jobs.csv").write_text("submit_s,duration_s,gpus\n" + "".join(f"{i},1,1\n" for i in range(MANY)))
    master, slave = pty.openpty() if terminal else os.pipe()
    subprocess.run([GSIM, "--nodes", str(tmp_path / "nodes.csv"), *options, str(tmp_path / "jobs.csv")], check=True, timeout=240,
                   stdout=subprocess.DEVNULL, stderr=slave, env={**os.environ, "TERM": term})
    os.set_blocking(slave if not terminal else master, False)
    if not terminal:
        os.close(slave)
        assert os.read(master, 4096).decode().startswith(f"gsim: {MANY} jobs in ")
    else:
        try:
            seen = os.read(master, 4096)
        except BlockingIOError:
            seen = b""
        assert seen == b"" if options else seen.startswith(f"gsim: {MANY} jobs in ".encode())
        os.close(slave)
    os.close(master)
