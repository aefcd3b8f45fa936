"""gctld --record and gsim --replay: what a cluster went through goes through the core again, and is the same."""

import json
import os
import random
import stat
import struct
import subprocess

import pytest
from cluster import BIN, BUILD, Cluster, Daemon, live_for, wait_until

GSIM = BUILD / "ctld/gsim/gsim"
PARTITIONS = """(
  { name = "batch"; nodes = "ALL"; default = true; preempt_mode = "requeue"; grace = "1s"; },
  { name = "urgent"; nodes = "ALL"; tier = 10; }
)"""
MAGIC, EVENT = 16, 5
MASK = 2**64 - 1


def gsim(*argv):
    return subprocess.run([GSIM, "--quiet", *map(str, argv)], capture_output=True, text=True, timeout=120, check=False)


def replay(path):
    r = gsim("--replay", "--json", path)
    assert r.returncode == 0, r.stderr
    return json.loads(r.stdout)


# --- the file, as tape.h has it ------------------------------------------------------------------

def fold(a, b):
    r = (a * b) & (2**128 - 1)
    return (r ^ r >> 64) & MASK


def hash_bytes(data, seed):
    k0, k1 = 0xA0761D6478BD642F, 0xE7037ED1A0B428DB
    h = fold(seed ^ k0, len(data) ^ k1)
    while len(data) >= 8:
        w = int.from_bytes(data[:8], "little")
        h, data = fold(h ^ w ^ k0, k1 ^ w), data[8:]
    return fold(h ^ int.from_bytes(data, "little") ^ k0, k1)


def frames(data):
    """(number, offset, its bytes)"""
    at = MAGIC
    n = 0
    while at < len(data):
        length, _, check = struct.unpack_from("<HHI", data, at)
        body = data[at + 8:at + 8 + length]
        assert check == hash_bytes(body, n) >> 32
        yield n, at, body
        at += 8 + length
        n += 1


def change(path, out, old, new):
    """Other bytes in the first event that has `old`, and the check that belongs to them."""
    data = bytearray(path.read_bytes())
    for n, at, body in frames(data):
        if body[0] == EVENT and old in body:
            body = body.replace(old, new, 1)
            struct.pack_into("<I", data, at + 4, hash_bytes(body, n) >> 32)
            data[at + 8:at + 8 + len(body)] = body
            out.write_bytes(data)
            return n
    raise AssertionError(f"no event with {old!r}")


# --- a cluster that goes through a lot -----------------------------------------------------------

def first_life(c):
    long = [c.submit("sleep 600", "--gpus=4", "--time=60", "-J", "long") for _ in range(2)]
    for j in long:
        c.wait_state(j, "RUNNING")
    waiting = c.submit("exit 0", "--gpus=2", "-J", "changeme")
    held = c.submit("exit 0", "--gpus=1", "--hold")
    gone = c.submit("exit 0", "--gpus=4", "--comment=never")
    array = c.submit("exit 0", "--array=0-5%2", "--gpus=1")
    c.submit("exit 0", f"--dependency=afterok:{waiting}")
    c.run("gqueue", "--why", waiting)
    c.run("gctl", "update", held, "--time=5", "--gpus=2")
    c.run("gqueue")
    c.run("gcancel", gone)
    urgent = c.submit("sleep 600", "--gpus=4", "-p", "urgent", "--time=10")
    c.wait_state(urgent, "RUNNING")
    assert sorted(c.state(j) for j in long) == ["PENDING", "RUNNING"]
    c.run("gctl", "drain", "n2", "--reason", "a look inside")
    c.run("gctl", "release", held)
    c.write_conf(c.conf_text().replace('"urgent"; nodes', '"urgent"; max_time = "1:00:00"; nodes'))
    c.run("gctl", "reconfigure")
    c.run("gqueue", "--start")
    return array, waiting, urgent


def second_life(c, array, waiting, urgent):
    c.run("gctl", "resume", "n2")
    c.run("gcancel", urgent)
    c.run("gcancel", "--name", "long")
    c.wait_state(waiting, "COMPLETED")
    wait_until(lambda: {j["state"] for j in c.jobs("--jobs", array).values()} == {"COMPLETED"}, "the array's end")


@pytest.fixture(scope="module", name="record")
def fixture_record():
    with Cluster(nodes=("n1", "n2"), gpus="h100:4", partitions=PARTITIONS, start=False) as c:
        path = c.dir / "state/record"
        c.start_munged()
        c.start_ctld(f"--record={path}", "--record-marks=5")
        for node in c.nodes:
            c.start_agent(node)
        c.wait_nodes()
        told = first_life(c)
        c.ctld.kill()
        c.start_ctld(f"--record={path}", "--record-marks=5")
        c.wait_nodes("idle", "mixed", "allocated", "drained", "draining")
        second_life(c, *told)
        stats = {s["name"]: s["value"] for s in json.loads(c.run("gctl", "stats", "--json").stdout)["stats"]}
        assert 1000 < stats["record.bytes"] < path.stat().st_size
        assert c.ctld.stop() == 0
        path.with_suffix(".conf").write_text(c.conf_text())
        yield path


def test_the_same_again(record):
    r = replay(record)
    assert r["sections"] == 2 and r["ended_in_order"]
    assert r["events"] > 50 and r["marks"] > 2 and r["seals"] > 20 and r["rows"] > 50
    assert r["equal_to_record"] == r["records"] - 1, "the last but one is a mark"
    assert stat.S_IMODE(os.stat(record).st_mode) == 0o600
    words = gsim("--replay", "--checker=1", record)
    assert words.returncode == 0 and f"the same, to record {r['records'] - 1}" in words.stdout


def test_neither_scripts_nor_credentials(record):
    data = record.read_bytes()
    assert b"changeme" in data
    assert b"sleep 600" not in data and b"MUNGE:" not in data


def test_another_event_is_found(record, tmp_path):
    changed = tmp_path / "changed"
    number = change(record, changed, b"changeme", b"changedx")
    r = gsim("--replay", changed)
    assert r.returncode == 1
    words = r.stderr.split()
    assert words[2] == f"{changed}:" and words[3] == "record", r.stderr
    assert number < int(words[4]) < number + 10, "the next that says what came of it"
    assert "what has changed is not the same" in r.stderr


def test_as_a_history(record, tmp_path):
    """The jobs of the record, on the cluster as it was and on one where nobody waits."""
    conf = record.with_suffix(".conf")
    r = gsim("--format=record", "--json", "--checker=1", f"--jobs={tmp_path}/each", "-f", conf, record)
    assert r.returncode == 0, r.stderr
    r = json.loads(r.stdout)
    # 13 jobs and tasks; of those that were cancelled one had never run
    assert r["jobs"]["submitted"] == 12 and r["jobs"]["without_duration"] == 1
    assert r["jobs"]["ended"] == 12 and r["wait_s"]["most"] > 0
    rows = [line.split(",") for line in (tmp_path / "each").read_text().splitlines()]
    gpus = sorted(int(row[rows[0].index("gpus")]) for row in rows[1:])
    assert gpus == [0] + [1] * 6 + [2] * 2 + [4] * 3
    urgent = [row for row in rows[1:] if row[rows[0].index("partition")] == "urgent"]
    assert len(urgent) == 1
    r = json.loads(gsim("--format=record", "--json", "-f", conf, "--add-nodes=20:n1", record).stdout)
    assert r["wait_s"]["most"] == 0 and r["jobs"]["ended"] == 12
    r = gsim("--format=record", "--nodes", conf, record)
    assert r.returncode == 2 and "--format=record: jobs go to their own partitions" in r.stderr


def test_cut_short_and_damaged(record, tmp_path):
    data = record.read_bytes()
    cut = tmp_path / "cut"
    cut.write_bytes(data[:-5])
    r = replay(cut)
    assert r["torn_bytes"] > 0 and not r["ended_in_order"]
    damaged = bytearray(data)
    damaged[len(data) // 2] ^= 0x10
    cut.write_bytes(damaged)
    r = gsim("--replay", cut)
    assert r.returncode == 1 and "damaged" in r.stderr and " at byte " in r.stderr


def test_wrong_uses(record, tmp_path):
    assert gsim("--replay", "--policy=fifo", record).returncode == 2
    assert gsim("--replay").returncode == 2
    other = tmp_path / "other"
    other.write_text("job_id,submit_s\n")
    r = gsim("--replay", other)
    assert r.returncode == 1 and "not a record of gctld" in r.stderr
    r = gsim("--replay", tmp_path / "none")
    assert r.returncode == 1 and "No such file" in r.stderr


def test_killed_again_and_again():
    """Many nodes and jobs, people who look at them all the time, and a controller that is killed meanwhile: one file, all the same."""
    chance = random.Random(7)
    with Cluster(nodes=[f"s{i:02}" for i in range(1, 41)], gpus="demo:8", cpus=64, partitions=PARTITIONS, start=False) as c:
        path = c.dir / "state/record"
        c.start_munged()
        c.start_ctld(f"--record={path}", "--record-marks=100")
        c.agents["simulated"] = Daemon("gnoded --simulate", [BIN["gnoded"], "--simulate=0", "--nodes=s[01-40]"],
                                       c.dir / "log/simulate.log", c.env)
        c.wait_nodes()
        last = None
        for life in range(4):
            rows = [json.dumps({"wrap": "true", "gpus": str(chance.choice((0, 1, 2, 4, 8))), "time": chance.randint(1, 60),
                                "label": f"sim={chance.random() * 2:.2f}"}) for _ in range(200)]
            (c.dir / "jobs/bulk.jsonl").write_text("\n".join(rows))
            c.run("gsubmit", "--bulk", "bulk.jsonl", "--export=NONE")
            last = c.submit("true", "--gpus=8", "-p", "urgent", "--label", "sim=0.1")
            for _ in range(5):
                c.run("gqueue", check=False)
                c.run("gqueue", "--why", last, check=False)
                live_for(chance.random() / 10)
            if life < 3:
                c.ctld.kill()
                c.start_ctld(f"--record={path}", "--record-marks=100")
        wait_until(lambda: not c.run("gqueue", "--noheader").stdout, "an empty queue")
        assert c.ctld.stop() == 0
        r = replay(path)
        assert r["sections"] == 4 and r["ended_in_order"] and r["equal_to_record"] == r["records"] - 1
        assert r["events"] > 2000 and r["rows"] > 2000
