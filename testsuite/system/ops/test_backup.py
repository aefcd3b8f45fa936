"""gctl backup while everything goes on, killed in the middle and on a full disk; gctl verify of what is damaged; a restored
backup, and what nodes and jobs did since; gctl archive on a full disk."""

import json
import os
import random
import re
import sqlite3
import subprocess
import threading

import pytest
from cluster import ROOT, Cluster, wait_until
from pagesums import edit
from test_crash import CTLD_POINTS

POINTS = [p for p in CTLD_POINTS if p.startswith("backup_")]


@pytest.fixture(name="cluster")
def fixture_cluster():
    with Cluster(nodes=("n1", "n2"), controller='keep_ended = "1h";') as c:
        yield c


def verify(c, path):
    return c.run("gctl", "verify", path, check=False)


def beside(path):
    return sorted(p.name for p in path.parent.glob(f"{path.name}*"))


def backup(c, name="copy.db"):
    path = c.dir / "state" / name
    c.run("gctl", "backup", path)
    assert beside(path) == [name]
    return path


def ids_in(path):
    db = sqlite3.connect(f"file:{path}?mode=ro&immutable=1", uri=True)
    try:
        return {i for i, in db.execute("SELECT id FROM job")}
    finally:
        db.close()


def test_under_load(cluster):
    """What was promised before it was asked for is in it, and it is whole; nobody waits for it."""
    c, done, stop = cluster, [], threading.Event()

    def load():
        while not stop.is_set():
            done.append(c.submit("true", "--hold", "--label=x=y"))

    thread = threading.Thread(target=load)
    thread.start()
    try:
        for n in range(5):
            wait_until(lambda n=n: len(done) > 5 * (n + 1), "some jobs")
            before = set(done)
            path = backup(c, f"copy{n}.db")
            good = verify(c, path)
            assert good.returncode == 0 and ": good: " in good.stdout, good
            assert before <= ids_in(path)
    finally:
        stop.set()
        thread.join()


def test_every_byte_counts(cluster):
    """One bit that is another, wherever it is, is found; so is what is cut off, or somebody else's."""
    c = cluster
    jobs = [c.submit(f"echo {'hello ' * 40}", "--gpus=1", "-J", f"job {n}", "--comment=a remark") for n in range(8)]
    for job in jobs:
        c.wait_state(job, "COMPLETED")
    whole = backup(c).read_bytes()
    broken, rng = c.dir / "broken.db", random.Random(3)

    def refused(content, why=""):
        broken.write_bytes(content)
        r = verify(c, broken)
        return r.returncode == 1 and "broken.db" in r.stderr and why in r.stderr and not r.stdout and beside(broken) == ["broken.db"]

    used = [i for i, byte in enumerate(whole) if byte]
    for at in [whole.index(b"hello"), whole.index(b"a remark"), *rng.sample(used, 40), *rng.sample(range(len(whole)), 10)]:
        flipped = bytearray(whole)
        flipped[at] ^= 1 << rng.randrange(8)
        assert refused(flipped), at
    for content in (whole[:-1], whole[:-4096], whole[:len(whole) // 2], whole[:100], b"", whole + b"x"):
        assert refused(content), len(content)
    # Sums that are not those of the runs are a mistake whoever made them: here the pages have theirs.
    for change, why in (("UPDATE run SET billed_us = billed_us + 1", "not the sum of his runs"), ("UPDATE job SET state = 'X'", "state"),
                        ("UPDATE meta SET value = 'other' WHERE key = 'cluster'", "'other'"),
                        ("PRAGMA user_version = 999", "version 999"), ("PRAGMA application_id = 1", "not a database of gpusched")):
        broken.write_bytes(whole)
        with edit(broken) as db:
            db.execute(change)
        r = verify(c, broken)
        assert r.returncode == 1 and why in r.stderr, (change, r)
    broken.unlink()
    db = sqlite3.connect(broken)
    db.execute("CREATE TABLE job (id)")
    db.commit()
    db.close()
    assert refused(broken.read_bytes(), "not a database of gpusched")
    # The same of what a controller has written itself; the message says which page, and what to do.
    for job in jobs:
        wait_until(lambda job=job: "COMPLETED" in c.run("gacct", "-j", job).stdout, "it to be in history")
    c.ctld.stop()
    for name, text in ("state.db", "takeover"), ("history.db", "move it away"):
        path = c.dir / "state" / name
        r = verify(c, path)
        assert r.returncode == 0 and ": good: " in r.stdout and "sums" not in r.stdout, r
        whole = path.read_bytes()
        for at in rng.sample(range(len(whole)), 20):
            flipped = bytearray(whole)
            flipped[at] ^= 1 << rng.randrange(8)
            path.write_bytes(flipped)
            r = verify(c, path)
            assert r.returncode == 1 and not r.stdout and name in r.stderr and text in r.stderr and f"page {at // 4096 + 1} " in r.stderr, (at, r)
        if name == "state.db":
            c.start_ctld(wait=False)
            assert c.ctld.wait() == 1 and "is damaged" in c.ctld.tail() and "--takeover" in c.ctld.tail()
        path.write_bytes(whole)
    c.start_ctld()


@pytest.mark.skipif(not POINTS, reason="built without --enable-failpoints")
@pytest.mark.parametrize("point", POINTS)
def test_killed_in_the_middle(cluster, point):
    """The file is there whole, or not at all; and the same command again does not trip over what was left."""
    c = cluster
    job = c.submit("true", "--hold")
    c.ctld.stop()
    c.start_ctld(env={"GPUSCHED_FAILPOINT": point})
    path = c.dir / "state/copy.db"
    r = c.run("gctl", "backup", path, check=False, env={"GPUSCHED_RETRY": "0"})
    assert r.returncode == 4 and c.ctld.wait() != 0
    c.start_ctld()
    if path.exists():
        assert point == "backup_after_rename"
        assert c.run("gctl", "backup", path, check=False).returncode == 1
    else:
        assert beside(path)[0] == "copy.db.partial"
        c.run("gctl", "backup", path)
    assert beside(path) == ["copy.db"] and verify(c, path).returncode == 0 and job in ids_in(path)


def test_onto_what_is_there(cluster):
    c = cluster
    for make in (lambda p: p.write_text("mine"), lambda p: p.mkdir(), lambda p: p.symlink_to("/nonexistent")):
        path = c.dir / "state/there"
        make(path)
        r = c.run("gctl", "backup", path, check=False)
        assert r.returncode == 1 and "there" in r.stderr and "xists" in r.stderr, r
        assert path.is_dir() or path.is_symlink() or path.read_text() == "mine"
        path.rmdir() if path.is_dir() and not path.is_symlink() else path.unlink()
    # A partial file that is not of a backup of ours is left alone.
    partial = c.dir / "state/other.db.partial"
    partial.mkdir()
    r = c.run("gctl", "backup", c.dir / "state/other.db", check=False)
    assert r.returncode == 1 and "other.db.partial" in r.stderr and partial.is_dir()
    r = c.run("gctl", "backup", c.dir / "none/copy.db", check=False)
    assert r.returncode == 1 and "none/copy.db" in r.stderr


@pytest.fixture(name="small")
def fixture_small(cluster):
    """A small file system that is the controller's."""
    if not ROOT:
        pytest.skip("mounts a small file system")
    path = cluster.dir / "small"
    path.mkdir()
    own = f"uid={cluster.ctld_user.pw_uid},gid={cluster.ctld_user.pw_gid},mode=700"
    if subprocess.run(["mount", "-t", "tmpfs", "-o", f"size=256k,{own}", "tmpfs", path], check=False).returncode:
        pytest.skip("cannot mount")
    yield path
    subprocess.run(["umount", "-l", path], check=True)


def test_backup_on_a_full_disk(cluster, small):
    c = cluster
    jobs = [c.submit("# " + random.Random(n).randbytes(100_000).hex(), "--hold") for n in range(3)]
    r = c.run("gctl", "backup", small / "copy.db", check=False)
    assert r.returncode == 1 and "full" in r.stderr and not os.listdir(small), r
    jobs.append(c.submit("true", "--hold"))
    subprocess.run(["mount", "-o", "remount,size=64m", small], check=True)
    c.run("gctl", "backup", small / "copy.db")
    assert verify(c, small / "copy.db").returncode == 0 and set(jobs) <= ids_in(small / "copy.db")


def test_archive_on_a_full_disk(cluster, small):
    """Nothing leaves the history that is not in the file; once there is room the same command goes on."""
    c = cluster
    c.controller_extra = 'keep_ended = "0s";'
    c.write_conf()
    c.run("gctl", "reconfigure")
    job = c.submit("true", "--array=0-299", "--comment", "x" * 800)

    def told(*file):
        return sorted((j["id"], j["tasks"], j["gpu_us"]) for j in json.loads(c.run("gacct", "--json", "-S", "now-1h", *file).stdout)["jobs"])

    wait_until(lambda: len(told("-s", "CD")) == 300, "all tasks to end")
    wait_until(lambda: not c.jobs("--all"), "them to be history")
    before = told()
    r = c.run("gctl", "archive", "--older-than=0s", "--delete", small / "old.db", check=False)
    assert r.returncode == 1 and "old.db" in r.stderr and "full" in r.stderr, r
    left = told()
    assert c.ctld.alive() and set(left) <= set(before)
    subprocess.run(["mount", "-o", "remount,size=64m", small], check=True)
    assert sorted(set(left) | set(told(f"--file={small}/old.db"))) == before
    c.run("gctl", "archive", "--older-than=0s", "--delete", small / "old.db")
    assert not told() and told(f"--file={small}/old.db") == before and {i for i, _, _ in before} == {job}


def restore(c, path):
    """In place of the state; history.db stays as it is."""
    state, content = c.dir / "state/state.db", path.read_bytes()
    for f in (c.dir / "state").iterdir():
        if f.name.startswith("state.db") or f == path:
            f.unlink()
    state.write_bytes(content)
    state.chmod(0o600)
    os.chown(state, c.ctld_user.pw_uid, c.ctld_user.pw_gid)


def test_restored_what_happened_since_is_not_undone_or_done_twice(cluster):
    """After the backup one job has ended that it has as running, one runs and one has ended that it does not know."""
    c = cluster
    c.run("gctl", "drain", "n2", "not here")
    was_running = c.submit("while ! [ -e end-a ]; do sleep 0.05; done", "--gpus=1", "--requeue")
    c.wait_state(was_running, "RUNNING")
    goes_on = c.submit("echo x >>ran-b; while ! [ -e end-b ]; do sleep 0.05; done", "--gpus=1")
    c.wait_state(goes_on, "RUNNING")
    waits = c.submit("true", "--hold")
    c.controller_extra = 'keep_ended = "0s";'
    c.write_conf()
    c.run("gctl", "reconfigure")
    path = backup(c)
    (c.dir / "jobs/end-a").touch()
    wait_until(lambda: was_running not in c.jobs("--all"), "it to end and to become history")
    not_known = c.submit("echo x >>ran-c; while ! [ -e end-c ]; do sleep 0.05; done", "--gpus=1")
    c.wait_state(not_known, "RUNNING")
    gone = c.submit("true", "--gpus=1")
    wait_until(lambda: gone not in c.jobs("--all"), "it to end and to become history")
    assert "COMPLETED" in c.run("gacct", "-j", gone).stdout  # and all of it is there
    c.ctld.kill()
    restore(c, path)
    # What it told since is in history.db as of much later: what comes must not have a number that was given.
    far = {"job": gone + 3_000_000, "event": 20_000}
    with edit(c.dir / "state/history.db") as db:
        db.execute("CREATE TEMP TABLE one AS SELECT * FROM event ORDER BY seq LIMIT 1")
        db.execute("UPDATE one SET seq = ?, text = 'since'", (far["event"],))
        db.execute("INSERT INTO event SELECT * FROM one")
        db.execute("CREATE TEMP TABLE two AS SELECT * FROM job ORDER BY id LIMIT 1")
        db.execute("UPDATE two SET id = ?", (far["job"],))
        db.execute("INSERT INTO job SELECT * FROM two")
    # That shows that the state is older than what was told.
    c.start_ctld(wait=False)
    assert c.ctld.wait() == 1 and "older than history.db" in c.ctld.tail() and "--takeover" in c.ctld.tail()
    assert (c.dir / "jobs/ran-c").read_text() == "x\n"
    c.start_ctld("--takeover")
    c.wait_nodes(nodes=["n1"])
    new = c.submit("true", "--gpus=1")
    assert new > far["job"]
    wait_until(lambda: new not in c.jobs("--all"), "a new one to end")
    assert c.state(goes_on) == "RUNNING" and c.state(waits) == "PENDING"
    # Nobody knows any more how it ended: its owner wished for another attempt, and has it. What gacct said of it stays.
    wait_until(lambda: was_running not in c.jobs(), "its next attempt to end")
    assert "not kept on the node" in c.run("gctl", "events", "--job", was_running, "-o", "TEXT").stdout
    [was] = json.loads(c.run("gacct", "--json", "-j", was_running).stdout)["jobs"]
    assert was["state"] == "COMPLETED"
    # The run of no job keeps its GPU until it ends, or an operator ends it.
    assert not_known not in c.jobs("--all")
    assert "belongs to no known job" in c.run("gctl", "show", "node", "n1").stdout
    full = c.submit("true", "--gpus=4")
    assert c.state(full) == "PENDING"
    c.run("gctl", "node", "clear", "n1", "restored")
    (c.dir / "jobs/end-b").touch()
    wait_until(lambda: not {goes_on, full} & set(c.jobs("--all")), "both to end")
    assert (c.dir / "jobs/ran-b").read_text() == (c.dir / "jobs/ran-c").read_text() == "x\n"
    told = [e for e in json.loads(c.run("gctl", "events", "--json").stdout)["events"] if e["seq"] > far["event"]]
    assert {"controller.start", "job.submit", "run.adopt", "node.clear"} <= {e["kind"] for e in told}
    # Once it has taken charge it is started as always.
    c.ctld.kill()
    c.start_ctld()
    assert c.submit("true", "--hold") > new


def figures(c):
    return {s["name"]: s["value"] for s in json.loads(c.run("gctl", "stats", "--json").stdout)["stats"]}


def test_scrub(cluster):
    """A bit that falls over in a file that nobody reads is found while the controller runs: in the log, and in gctl stats."""
    c = cluster
    done = c.submit("true", "--gpus=1")
    wait_until(lambda: "COMPLETED" in c.run("gacct", "-j", done).stdout, "it to be in history")
    for name in ("history.db", "state.db"):
        assert c.ctld.stop() == 0  # all is in the files
        c.start_ctld()
        c.submit("true", "--hold")
        assert figures(c)["store.damaged"] == 0
        with open(c.dir / "state" / name, "r+b") as f:
            f.seek(-700, os.SEEK_END)
            byte = f.read(1)[0]
            f.seek(-1, os.SEEK_CUR)
            f.write(bytes([byte ^ 4]))
        wait_until(lambda name=name: re.search(rf"{name}: page \d+ is damaged", c.ctld.tail()), "it to be found")
        wait_until(lambda: figures(c)["store.damaged"] == 1 and figures(c)["store.scrubbed"] > 10, "the figures to say so")
        with open(c.dir / "state" / name, "r+b") as f:
            f.seek(-700, os.SEEK_END)
            f.write(bytes([byte]))
