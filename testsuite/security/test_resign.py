"""Signatures grow old: jobs that wait are held then, until their owner signs them anew."""

import json
import os
import re

import pytest
from cluster import ROOT, Cluster, wait_until
from pagesums import edit
from peer import ERRORS, Peer

BLOCKED = "--gpus=4"  # all there are


@pytest.fixture(name="c", scope="module")
def fixture_c():
    with Cluster() as c:
        yield c


def grow_old(c, *jobs):
    """As if they had been signed a year ago: the controller must know nothing better."""
    assert c.ctld.stop() == 0
    with edit(c.dir / "state/state.db") as db:
        marks = ",".join("?" * len(jobs))
        db.execute(f"UPDATE job SET sign_time = sign_time - 31536000000000 WHERE id IN ({marks})", jobs)
        assert db.total_changes >= len(jobs)
    for f in (c.dir / "state").iterdir():  # root has made the log anew
        os.chown(f, c.ctld_user.pw_uid, c.ctld_user.pw_gid)
    c.start_ctld()
    c.wait_nodes()


def credentials(c, *jobs):
    with Peer(c) as p:
        return [p.call("MSG_SHOW_SCRIPT", {"job": j})[0]["credential"] for j in jobs]


def test_held_until_signed_anew(c):
    """A job, an array and two of a bulk; then they run, on what their owner has signed."""
    first = c.submit("while [ ! -e go ]; do sleep 0.05; done", BLOCKED)
    c.wait_state(first, "RUNNING")
    plain = c.submit("echo plain ran", BLOCKED, "--output=plain.out")
    array = c.submit("true", BLOCKED, "--array=0-2", "--output=/dev/null")
    (c.dir / "jobs/bulk").write_text(json.dumps({"wrap": "true", "gpus": 4, "output": "/dev/null"}) + "\n")
    (c.dir / "jobs/bulk").write_text((c.dir / "jobs/bulk").read_text() * 3)
    bulk = [int(i) for i in c.run("gsubmit", "--bulk", "bulk", "--parsable").stdout.split()]
    old = [plain, array, *bulk]
    before = credentials(c, *old)
    grow_old(c, *old)
    reasons = lambda jobs: {c.job(j)["reason"] for j in jobs}  # noqa: E731
    wait_until(lambda: reasons(old) == {"SignatureExpired"}, lambda: f"all to be held: {reasons(old)}")
    assert "gctl renew" in " ".join(c.run("gqueue", "--why", plain).stdout.split())

    if ROOT:
        r = c.run("gctl", "renew", plain, user="bin", check=False)
        assert r.returncode == 5 and "its owner" in r.stderr
    r = c.run("gctl", "renew", plain, array, *bulk[:2], 999999, check=False)
    assert r.returncode == 3 and "999999" in r.stderr
    assert "Signed 4 jobs" in r.stdout and len(re.findall("signed anew; first 20", r.stdout)) == 4
    renewed = [plain, array, *bulk[:2]]
    wait_until(lambda: reasons(renewed) <= {"Resources", "Priority"}, lambda: f"them to wait again: {reasons(renewed)}")
    assert c.job(bulk[2])["reason"] == "SignatureExpired"
    after = credentials(c, *old)
    assert len(set(after[:4])) == 1 and after[0] not in before and after[4] == before[4]
    (c.dir / "jobs/go").touch()
    for j in [plain, array, *bulk[:2]]:
        c.wait_state(j, "COMPLETED")
    assert (c.dir / "jobs/plain.out").read_text() == "plain ran\n"
    assert c.state(bulk[2]) == "PENDING"

    # One that has ended is signed anew to be requeued.
    assert "Signed 1 job" in c.run("gctl", "resign", plain).stdout
    assert "gctl renew" in c.run("gctl", "renew", f"{array}_1", check=False).stderr
    assert c.run("gctl", "events", f"--job={plain}", "--json").stdout.count("job.resign") == 2


@pytest.mark.skipif(not ROOT, reason="needs a second user")
def test_what_the_controller_takes(c):
    """Its owner's fresh signature of that very job, and nothing else."""
    mine = c.submit("true", "--hold")
    theirs = c.submit("true", "--hold", user="bin")
    (own,) = credentials(c, mine)

    def refused(code, user=None, **change):
        with Peer(c, user=user) as p:
            answer = p.call("MSG_RESIGN", {"credential": own, "jobs": [mine], **change})
            errors = [e["code"] for a in answer for e in a.get("errors", [])]
            assert ERRORS[code] in (answer[-1].get("code"), *errors), answer

    refused("ERR_SIGNATURE", user="bin")                # of root, in the session of another
    refused("ERR_NOT_PERMITTED", jobs=[theirs])         # root is not its owner
    refused("ERR_SIGNATURE", jobs=[c.submit("true", "--hold")])
    refused("ERR_SIGNATURE", credential=b"")
    refused("ERR_USAGE", jobs=[])
    with Peer(c) as p:
        assert p.call("MSG_RESIGN", {"credential": own, "jobs": [mine]})[0]["done"] == 1
