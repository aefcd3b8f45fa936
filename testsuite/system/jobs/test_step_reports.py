"""Steps as the controller knows them: reported by a job's owner, listed, kept, and no other's business."""

import json
import pathlib
import sys

import pytest
from cluster import BUILD, ROOT, Cluster, wait_until

sys.path.append(str(pathlib.Path(__file__).resolve().parents[2] / "security"))
from peer import ERRORS, Peer  # noqa: E402

needs_root = pytest.mark.skipif(not ROOT, reason="needs two users")
RUNS = "while [ ! -e $GPUSCHED_JOB_NAME ]; do sleep 0.05; done"


@pytest.fixture(scope="module")
def cluster():
    with Cluster(controller='max_steps = 50;') as c:
        yield c


def running(cluster, *options, name):
    job = int(cluster.submit(RUNS, "--ntasks=1", f"--job-name={name}", *options))
    cluster.wait_state(job, "RUNNING")
    return job


def go_on(cluster, job, name):
    (cluster.dir / "jobs" / name).touch()
    cluster.wait_state(job, "COMPLETED")


def records(cluster, *ids):
    return json.loads(cluster.run("gqueue", "--json", "-j", ",".join(map(str, ids))).stdout)["jobs"]


def wait_task(cluster, name, state):
    wait_until(lambda: records(cluster, name)[0]["state"] == state, f"{name} to be {state}")


def report(peer, job, *steps, attempt=1, task=0):
    """The code of the answer."""
    return peer.call("MSG_STEP_REPORTS", {"job": job, "task": task, "attempt": attempt, "steps": list(steps)})[-1].get(
        "code", 0)


def step(number, **kw):
    return {"step": number, "name": f"s{number}", "nodelist": "n1", "nodes": 1, "tasks": 2, "cpus": 2,
            "start_time": 1000000 * 1700000000, **kw}


def ended(number, **kw):
    return step(number, end_time=1000000 * 1700000090, cpu_time_us=5000000, max_rss_kb=2048, **kw)


def listed(cluster, *options):
    """{"12.0": its step} of those that run."""
    out = json.loads(cluster.run("gqueue", "--steps", "--json", *options).stdout)["steps"]
    return {f'{s["job"]}.{s["report"].get("step", 0)}': s for s in out}


def accounted(cluster, job, *options):
    """The lines of a job and its steps: [id, name, state, exit, elapsed, cpu time]."""
    out = cluster.run("gacct", "--steps", "--noheader", "-o", "JOBID,NAME,STATE,EXIT,ELAPSED,CPUTIME", "-j", job,
                      *options).stdout
    return [line.split() for line in out.splitlines()]


def test_steps_that_run_are_listed(cluster):
    job = running(cluster, name="listed")
    with Peer(cluster) as peer:
        assert report(peer, job, step(0), step(3)) == 0
        assert list(listed(cluster, "-j", job)) == [f"{job}.0", f"{job}.3"]
        assert listed(cluster)[f"{job}.3"]["state"] == "RUNNING"
        line = cluster.run("gqueue", "--steps", "--noheader", "-j", job).stdout.splitlines()[0].split()
        assert line[:2] == [f"{job}.0", "s0"] and line[-1] == "n1"
        assert "STEPS             2\n" in cluster.run("gctl", "show", "job", job).stdout
        assert report(peer, job, ended(0)) == 0
        assert list(listed(cluster, "-j", job)) == [f"{job}.3"]
        assert [x[0] for x in accounted(cluster, job)] == [str(job), f"{job}.0", f"{job}.3"]
        go_on(cluster, job, "listed")
        assert not listed(cluster)
    assert [x[:4] for x in accounted(cluster, job)][1:] == [
        [f"{job}.0", "s0", "COMPLETED", "0:0"], [f"{job}.3", "s3", "CANCELLED", "0:0"]]


def test_what_ended_is_kept_and_what_runs_is_told_again(cluster):
    job = running(cluster, name="restart")
    with Peer(cluster) as peer:
        assert report(peer, job, ended(0), ended(1, exit_code=3), ended(2, timeout=True), step(4)) == 0
    cluster.ctld.kill()
    cluster.start_ctld()
    cluster.wait_nodes("idle", "mixed", "allocated")
    cluster.wait_state(job, "RUNNING")
    assert not listed(cluster)
    with Peer(cluster) as peer:
        wait_until(lambda: report(peer, job, step(4)) == 0, "the job to be known")
        assert list(listed(cluster)) == [f"{job}.4"]
        assert report(peer, job, ended(4, cancelled=True)) == 0
        assert report(peer, job, ended(4, cancelled=True)) == 0  # once more changes nothing
    want = [[f"{job}.{n}", f"s{n}", *x, "1:30", "0:05"] for n, x in (
        (0, ["COMPLETED", "0:0"]), (1, ["FAILED", "3:0"]), (2, ["TIMEOUT", "0:0"]), (4, ["CANCELLED", "0:0"]))]
    assert accounted(cluster, job)[1:] == want
    go_on(cluster, job, "restart")
    assert accounted(cluster, job)[1:] == want
    out = json.loads(cluster.run("gacct", "--steps", "--json", "-j", job).stdout)
    assert [s["report"].get("step", 0) for s in out["steps"]] == [0, 1, 2, 4]
    assert [j["id"] for j in out["jobs"]] == [job]


def test_archived_with_their_job():
    with Cluster(controller='keep_ended = "0s";') as c:
        job, array = running(c, name="archived"), int(c.submit("true", "--array=4-5"))
        with Peer(c) as peer:
            assert report(peer, job, ended(0)) == 0
        (c.dir / "jobs/archived").touch()
        wait_until(lambda: c.run("gqueue", "--all", "-h").stdout == "", "all to be history")
        assert [x[0] for x in accounted(c, job)] == [str(job), f"{job}.0"]
        assert c.run("gacct", "-h", "-o", "JOBID", "-j", array + 2).stdout.split() == [f"{array}_5"]
        assert "job.submit" in c.run("gctl", "events", f"--job={array + 2}").stdout
        file = c.dir / "state/old.db"
        c.run("gctl", "archive", "--older-than=0s", "--delete", file)
        assert [x[0] for x in accounted(c, job, f"--file={file}")] == [str(job), f"{job}.0"]
        assert c.run("gacct", "-h", "-o", "JOBID", f"--file={file}", "-j", array + 1).stdout.split() == [f"{array}_4"]
        assert c.run("gacct", "--steps", "-j", job, check=False).returncode == 3


def test_tasks_of_arrays_by_their_own_ids(cluster):
    array = int(cluster.submit('echo "$GPUSCHED_JOB_ID $SLURM_JOB_ID $SLURM_ARRAY_JOB_ID" > ids.$SLURM_ARRAY_TASK_ID\n'
                               + RUNS, "--array=5-7:2", "--ntasks=1", "--slurm-env", "--job-name=raw", "--output=raw-%j"))
    second = array + 2  # 5 is array + 1, 7 is array + 2
    wait_task(cluster, f"{array}_7", "RUNNING")
    job = records(cluster, second)[0]
    assert (job["id"], job["tasks"], job["raw_id"]) == (array, "7", second)
    file = cluster.dir / "jobs/ids.7"
    wait_until(lambda: file.exists() and file.read_text() == f"{array} {second} {array}\n", "the task to write its ids")
    assert (cluster.dir / f"jobs/raw-{second}").exists()
    with Peer(cluster) as peer:
        assert report(peer, second, step(0)) == 0
        assert report(peer, array, step(1), task=7) == 0
    assert list(listed(cluster, "-j", second)) == [f"{array}.0", f"{array}.1"]
    assert cluster.run("gqueue", "--steps", "--noheader", "-o", "STEP").stdout.split() == [f"{array}_7.0", f"{array}_7.1"]
    other = int(cluster.submit("true"))
    assert other == array + 3
    waits = int(cluster.submit("true", f"--dependency=afterany:{second}"))
    assert records(cluster, waits)[0]["dependency"] == f"afterany:{array}_7"
    cluster.run("gcancel", second)
    wait_task(cluster, f"{array}_7", "CANCELLED")
    cluster.run("gctl", "wait", second, check=False)
    cluster.wait_state(waits, "COMPLETED")
    (cluster.dir / "jobs/raw").touch()
    assert cluster.run("gctl", "wait", array + 1).returncode == 0
    line = cluster.run("gacct", "--noheader", "-o", "JOBID,RAWID,STATE", "-j", f"{array + 1},{second}").stdout.split()
    assert line == [f"{array}_5", str(array + 1), "COMPLETED", f"{array}_7", str(second), "CANCELLED"]
    unknown = cluster.run("gqueue", "-j", waits + 1000, check=False)
    assert unknown.returncode == 3 and str(waits + 1000) in unknown.stderr


def test_a_job_without_steps_has_none(cluster):
    """So its accounting says, and sacct asks for steps of the others alone."""
    without = int(cluster.submit(RUNS, "--job-name=without"))
    cluster.wait_state(without, "RUNNING")
    job = running(cluster, name="with")
    with Peer(cluster) as peer:
        assert report(peer, job, ended(0)) == 0
    for name in ("without", "with"):
        told = json.loads(cluster.run("gacct", "--json", "-j", f"{without},{job}").stdout)["jobs"]
        assert {j["id"]: j["has_steps"] for j in told} == {without: False, job: True}
        assert [x[0] for x in accounted(cluster, f"{without},{job}")] == [str(without), str(job), f"{job}.0"]
        rows = cluster.run(BUILD / "cmds/slurm-names/sacct", "-nPo", "JobID", "-j", f"{without},{job}").stdout.split()
        assert rows == [str(without), f"{without}.batch", str(job), f"{job}.batch", f"{job}.0"]
        go_on(cluster, without if name == "without" else job, name)


@needs_root
def test_another_user_is_refused(cluster):
    job = running(cluster, name="others")
    with Peer(cluster, user="bin") as peer:
        assert report(peer, job, step(0)) == ERRORS["ERR_NOT_PERMITTED"]
        assert report(peer, 4711, step(0)) == ERRORS["ERR_NO_JOB"]
        assert not listed(cluster)
    go_on(cluster, job, "others")


def test_limits(cluster):
    job = running(cluster, name="limits")
    with Peer(cluster) as peer:
        assert report(peer, job, step(50)) == ERRORS["ERR_LIMIT_STEPS"]
        assert report(peer, job, *[step(n % 50) for n in range(65)]) == ERRORS["ERR_USAGE"]
        assert report(peer, job, step(0), attempt=2) == ERRORS["ERR_JOB_STATE"]
        assert report(peer, job, step(0) | {"nodelist": "x" * 5000}) == ERRORS["ERR_USAGE"]
        assert report(peer, job, ended(0) | {"end_time": -1}) == ERRORS["ERR_USAGE"]
        assert not listed(cluster)
        assert peer.call("MSG_LIST_STEPS", {"ended": True})[-1]["code"] == ERRORS["ERR_USAGE"]
        many = {"ended": True, "filter": {"ids": list(range(1, 1002))}}
        assert peer.call("MSG_LIST_STEPS", many)[-1]["code"] == ERRORS["ERR_USAGE"]
        assert report(peer, job, *[ended(n) for n in range(50)]) == 0
        steps = peer.call("MSG_LIST_STEPS", {"ended": True, "filter": {"ids": [job]}})[:-1]
        assert [s["report"].get("step", 0) for chunk in steps for s in chunk["steps"]] == list(range(50))
    go_on(cluster, job, "limits")


def test_a_step_by_its_id(cluster):
    for bad in ("12.", "12.x", "a.0", "12_.0"):
        out = cluster.run("gcancel", bad, check=False)
        assert out.returncode == 2 and "JOB.STEP" in out.stderr, bad
