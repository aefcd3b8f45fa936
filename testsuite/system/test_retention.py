"""What is too old leaves history.db: jobs with their runs, events; what is not stays, and so do the sums of usage."""

import json
import sqlite3

import pytest
from cluster import Cluster, wait_until


@pytest.fixture(name="cluster")
def fixture_cluster():
    with Cluster(controller='keep_ended = "0s";') as c:
        yield c


def past(c):
    return {j["id"] for j in json.loads(c.run("gacct", "--json", "-S", "now-1h").stdout)["jobs"]}


def events(c):
    return {e["seq"] for e in json.loads(c.run("gctl", "events", "--json").stdout)["events"]}


def reconfigure(c, text):
    c.controller_extra = text
    c.write_conf()
    c.run("gctl", "reconfigure")


def ended(c, *options):
    job = c.submit("true", *options)
    wait_until(lambda: job not in c.jobs(), f"{job} to be history")
    return job


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
    c.ctld.stop()
    db = sqlite3.connect(f"file:{c.dir}/state/history.db?mode=ro", uri=True)
    try:
        # No run is left without its job.
        assert db.execute("SELECT count(*) FROM run WHERE job NOT IN (SELECT id FROM job)").fetchone() == (0,)
        assert db.execute("SELECT count(*) FROM job WHERE id = ?", (last,)).fetchone() == (1,)
        assert db.execute("PRAGMA integrity_check").fetchone() == ("ok",)
    finally:
        db.close()
