"""What is too old leaves history.db: jobs with their runs, events; what is not stays, and so do the sums of usage."""

import json
import sqlite3

import pytest
from cluster import ROOT, Cluster, wait_until


@pytest.fixture(name="cluster", scope="module")
def fixture_cluster():
    with Cluster(controller='keep_ended = "0s";') as c:
        yield c


def past(c):
    return {j["id"] for j in json.loads(c.run("gacct", "--json", "-S", "now-1h").stdout)["jobs"]}


def events(c):
    """But for what there was: that is kept for reports."""
    told = json.loads(c.run("gctl", "events", "--json").stdout)["events"]
    return {e["seq"] for e in told if e["kind"] != "cluster.capacity"}


def reconfigure(c, text):
    c.controller_extra = text
    c.write_conf()
    c.run("gctl", "reconfigure")


def ended(c, *options):
    job = c.submit("true", *options)
    wait_until(lambda: job not in c.jobs(), f"{job} to be history")
    return job


def told(c, command, *options):
    """What it says, but for how much there was by now."""
    r = json.loads(c.run(*command.split(), "--json", *options).stdout)
    return {k: v for k, v in r.items() if k != "types"} | {"given": {t["type"]: t["gpu_us"] for t in r.get("types", [])}}


def refused(c, status, *words, why, user=None):
    r = c.run(*words, check=False, user=user)
    assert r.returncode == status and all(w in r.stderr for w in why), r


def test_archive(cluster):
    """What is old goes into a file; there it is the same for all who ask, and nowhere twice."""
    c = cluster
    file = c.dir / "state/old 100%.db"
    old = {ended(c), ended(c, "--array=0-2"), ended(c, "--gpus=1")}
    # The event of asking is younger, and whole seconds are what an option can say.
    c.run("gctl", "archive", "--older-than=0s", file)
    asks = {"gacct": ("-S", "now-1h"), "gacct --runs": ("-S", "now-1h"), "greport use --by=user,state": ("-S", "now-1h")}
    before = {ask: told(c, ask, *options) for ask, options in asks.items()}
    assert {j["id"] for j in before["gacct"]["jobs"]} == old and len(before["gacct"]["jobs"]) == 5
    for ask, then in before.items():
        assert told(c, ask, f"--file={file}") == then, ask
        assert c.run(*ask.split(), "--csv", *asks[ask]).stdout == c.run(*ask.split(), "--csv", f"--file={file}").stdout
    trail = told(c, "gctl events", f"--file={file}")
    # What GPUs there are is told some time after it changed: by then the file may be written.
    late = ("controller.archive", "cluster.capacity")
    assert [e for e in trail["events"] if e["kind"] not in late] == \
        [e for e in told(c, "gctl events")["events"] if e["kind"] not in late]
    # A host without the configuration, and one where it is something else, read it too.
    for conf in ("/nonexistent", file):
        alone = c.run("gacct", "--json", f"--file={file}", env={"GPUSCHED_CONF": str(conf)})
        assert json.loads(alone.stdout)["jobs"] == before["gacct"]["jobs"]
    one = min(old)
    assert {j["id"] for j in told(c, "gacct", f"--file={file}", "-j", one)["jobs"]} == {one}
    assert {e["job"] for e in told(c, "gctl events", f"--file={file}", "--job", one)["events"]} == {one}
    # Once more into the same file, and away with it; what came since is kept.
    said = c.run("gctl", "archive", "--older-than=0s", "--delete", file).stdout
    assert "6 jobs" in said and "moved there" in said  # with the record of the array
    assert not past(c) and told(c, "gacct", f"--file={file}") == before["gacct"]
    late = ended(c)
    assert past(c) == {late} and late not in {j["id"] for j in told(c, "gacct", f"--file={file}")["jobs"]}
    c.run("gctl", "archive", "--older-than=0s", "--delete", file)
    assert {j["id"] for j in told(c, "gacct", f"--file={file}")["jobs"]} == old | {late}
    assert not past(c)
    # What cannot be is refused, and said.
    refused(c, 2, "gctl", "archive", file, why=["--before", "--older-than"])
    refused(c, 2, "gctl", "archive", "--before=now", "--older-than=1d", file, why=["--before", "--older-than"])
    refused(c, 2, "gctl", "archive", "--before=now-1h", "old.db", why=["absolute"])
    refused(c, 2, "gctl", "archive", "--before=2100-01-01", file, why=["--before", "past"])
    refused(c, 2, "gctl", "archive", "--before=\xff", file, why=["--before"])
    refused(c, 2, "gctl", "archive", "--older-than=1000000d", file, why=["--older-than"])
    refused(c, 2, "gctl", "ping", "--before=now-1h", why=["--before"])
    refused(c, 2, "gctl", "archive", "--before=now-1h", c.dir / "state/history.db", why=["own history.db"])
    refused(c, 1, "gctl", "archive", "--before=now-1h", c.dir / "none/old.db", why=["none/old.db"])
    refused(c, 2, "gctl", "events", "--follow", f"--file={file}", why=["--follow", "--file"])
    for ask in ("gacct", "greport use", "gctl events"):
        refused(c, 1, *ask.split(), f"--file={c.dir}/none.db", why=["--file", "none.db"])
        refused(c, 1, *ask.split(), f"--file={c.conf}", why=["not a database"])
    if ROOT:
        refused(c, 5, "gctl", "archive", "--before=now-1h", file, why=["administrator"], user="games")
        refused(c, 1, "gacct", f"--file={file}", why=["old 100%.db"], user="games")


def test_what_is_too_old_goes(cluster):
    c = cluster
    old = {ended(c), ended(c), ended(c, "--array=0-2")}
    assert old <= past(c)
    first = events(c)
    # Nothing is old for a long time: nothing goes, however much comes.
    reconfigure(c, 'keep_ended = "0s"; keep_history = "1d"; keep_events = "1d";')
    late = ended(c)
    assert old | {late} <= past(c) and first <= events(c)
    reconfigure(c, 'keep_ended = "0s"; keep_history = "1s"; keep_events = "1d";')

    def gone():
        ended(c)
        return not old & past(c)

    wait_until(gone, "old jobs to go")
    assert first <= events(c)
    reconfigure(c, 'keep_ended = "0s"; keep_history = "1d"; keep_events = "1s";')

    def forgotten():
        ended(c)
        return not first & events(c)

    wait_until(forgotten, "old events to go")
    last = ended(c)
    assert last in past(c)
    # Nothing moves there any more: time alone does it.
    reconfigure(c, 'keep_ended = "0s"; keep_history = "3s"; keep_events = "3s";')
    still = ended(c)
    wait_until(lambda: last not in past(c) and still not in past(c), "all jobs to go")
    wait_until(lambda: not events(c), "all events to go")
    reconfigure(c, 'keep_ended = "0s"; keep_history = "1d"; keep_events = "1d";')
    last = ended(c)
    assert last in past(c)
    c.ctld.stop()
    db = sqlite3.connect(f"file:{c.dir}/state/history.db?mode=ro", uri=True)
    try:
        # No run is left without its job.
        assert db.execute("SELECT count(*) FROM run WHERE job NOT IN (SELECT id FROM job)").fetchone() == (0,)
        assert db.execute("SELECT count(*) FROM job WHERE id = ?", (last,)).fetchone() == (1,)
        assert db.execute("PRAGMA integrity_check").fetchone() == ("ok",)
    finally:
        db.close()
