"""Arrays: one job, many tasks."""

import json
import subprocess

import pytest
from cluster import BIN, Cluster, wait_until


@pytest.fixture(scope="module")
def cluster():
    with Cluster() as c:
        yield c


def rows(cluster, job, *options):
    """The listing of an array, as {tasks: state}."""
    out = json.loads(cluster.run("gqueue", "--json", "-j", job, *options).stdout)["jobs"]
    return {j["tasks"]: j["state"] for j in out}


def task(cluster, name):
    """The one record of a task."""
    (one,) = json.loads(cluster.run("gqueue", "--json", "-j", name).stdout)["jobs"]
    return one


def texts(cluster, pattern):
    return {p.name: p.read_text() for p in sorted((cluster.dir / "jobs").glob(pattern))}


def begin(cluster, command, *args):
    """A command that goes on beside the test."""
    return subprocess.Popen([str(BIN[command]), *map(str, args)], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                            stderr=subprocess.PIPE, text=True, env=cluster.env)


def finished(cluster, job, n):
    def all_ended():
        r = rows(cluster, job)
        return len(r) == n and not {"PENDING", "CONFIGURING", "RUNNING", "COMPLETING"} & set(r.values()) and r
    return wait_until(all_ended, f"the {n} tasks of {job} to end")


def test_each_task_runs_once_and_knows_its_number(cluster):
    script = ('echo "$GPUSCHED_ARRAY_JOB_ID $GPUSCHED_ARRAY_TASK_ID $GPUSCHED_ARRAY_TASK_COUNT '
              '$GPUSCHED_ARRAY_TASK_MIN $GPUSCHED_ARRAY_TASK_MAX $GPUSCHED_ARRAY_TASK_STEP"; exit $GPUSCHED_ARRAY_TASK_ID')
    job = cluster.submit(script, "--array=0-12:4")
    assert finished(cluster, job, 4) == {"0": "COMPLETED", "4": "FAILED", "8": "FAILED", "12": "FAILED"}
    assert texts(cluster, f"gpusched-{job}_*.out") == {
        f"gpusched-{job}_{t}.out": f"{job} {t} 4 0 12 4\n" for t in (0, 4, 8, 12)}
    # the array as a whole: the highest exit code, and each task has its own
    assert cluster.run("gsubmit", "--array=1-3", "--wait", "--wrap", "exit $GPUSCHED_ARRAY_TASK_ID",
                       check=False).returncode == 3


def test_no_more_than_the_throttle_at_a_time(cluster):
    job = cluster.submit("while [ ! -e go-on ]; do sleep 0.05; done", "--array=0-9%2")
    wait_until(lambda: list(rows(cluster, job).values()).count("RUNNING") == 2, "two to run")
    assert rows(cluster, job) == {"0": "RUNNING", "1": "RUNNING", "2-9": "PENDING"}
    line = cluster.run("gqueue", "--noheader", "-o", "JOBID,ST,REASON", "-t", "PD").stdout.split()
    assert line == [f"{job}_[2-9]", "PD", "JobArrayTaskLimit"]
    why = cluster.run("gqueue", "--why", f"{job}_5").stdout
    assert why.startswith(f"Job {job}_[2-9] ") and "JobArrayTaskLimit" in why
    cluster.run("gctl", "update", job, "--array-throttle=4")
    wait_until(lambda: list(rows(cluster, job).values()).count("RUNNING") == 4, "four to run")
    (cluster.dir / "jobs/go-on").touch()
    assert set(finished(cluster, job, 10).values()) == {"COMPLETED"}


def test_why_the_rest_of_an_array_waits(cluster):
    """An array is named as a whole: each record of it that waits is explained; if none does, how far it is."""
    job = cluster.submit("while [ ! -e end-it ]; do sleep 0.05; done", "--array=0-5%2")
    wait_until(lambda: list(rows(cluster, job).values()).count("RUNNING") == 2, "two to run")
    cluster.run("gctl", "hold", f"{job}_[3-4]")
    why = json.loads(cluster.run("gqueue", "--json", "--why", job).stdout)["jobs"]
    assert [(w["job"]["tasks"], w["why"]["blockers"][0]["reason"].removesuffix("Admin").removesuffix("User")) for w in why] == [
        ("2,5", "JobArrayTaskLimit"), ("3-4", "JobHeld")]
    cluster.run("gcancel", f"{job}_2,{job}_5")
    why = cluster.run("gqueue", "--why", job).stdout
    assert "JobHeld" in why and "does not wait" not in why, why
    cluster.run("gcancel", f"{job}_[3-4]")
    why = cluster.run("gqueue", "--why", job).stdout
    assert "none of its tasks waits; 2 run, 4 have ended" in " ".join(why.split()), why
    (cluster.dir / "jobs/end-it").touch()
    wait_until(lambda: "RUNNING" not in rows(cluster, job).values(), "the two to end")


def test_some_tasks_are_held_cancelled_and_requeued(cluster):
    job = cluster.submit("while [ ! -e release-$GPUSCHED_ARRAY_TASK_ID-$GPUSCHED_RESTART_COUNT ]; do sleep 0.05; done",
                         "--array=1-9%1")
    wait_until(lambda: rows(cluster, job).get("1") == "RUNNING", "the first to run")
    cluster.run("gctl", "hold", f"{job}_[4-6]")
    cluster.run("gcancel", f"{job}_3,{job}_[7-8]")
    assert rows(cluster, job) == {"1": "RUNNING", "2,9": "PENDING", "4-6": "PENDING", "3,7-8": "CANCELLED"}
    r = cluster.run("gcancel", f"{job}_77", check=False)
    assert r.returncode == 3 and f"job {job} has no task 77: its array is 1-9%1" in r.stderr
    cluster.run("gctl", "requeue", f"{job}_1")
    wait_until(lambda: (lambda t: t["attempt"] == 2 and t["state"] == "RUNNING")(task(cluster, f"{job}_1")),
               "its second attempt")
    (cluster.dir / "jobs" / f"release-1-1").touch()
    wait_until(lambda: rows(cluster, job).get("2") == "RUNNING", "the second to run")
    cluster.run("gctl", "release", f"{job}_5")
    assert rows(cluster, job)["5"] == "PENDING"
    cluster.run("gcancel", job)
    wait_until(lambda: set(rows(cluster, job).values()) == {"COMPLETED", "CANCELLED"}, "all of it to end")


def test_what_was_done_is_counted(cluster):
    """Jobs and tasks, as the commands say them."""
    said = lambda *command: cluster.run(*command).stdout.splitlines()[-1]  # noqa: E731
    array = cluster.submit("true", "--array=1-400", "--hold", "--job-name=counted")
    one, other = (cluster.submit("true", "--hold", "--job-name=counted") for _ in range(2))
    assert said("gctl", "release", f"{array}_[1-7]") == f"Released 7 tasks of job {array}"
    assert said("gctl", "release", one, other) == "Released 2 jobs"
    cluster.wait_state(one, "COMPLETED")
    cluster.wait_state(other, "COMPLETED")
    wait_until(lambda: set(rows(cluster, array).values()) == {"COMPLETED", "PENDING"}, "seven tasks to end")
    last = cluster.submit("true", "--hold", "--job-name=counted")
    assert said("gcancel", "-n", "counted") == "Cancelled 1 job and 393 tasks"
    assert cluster.wait_state(last, "CANCELLED")


def test_tasks_outlive_the_controller(cluster):
    job = cluster.submit("while [ ! -e after-restart ]; do sleep 0.05; done", "--array=0-99%3")
    wait_until(lambda: list(rows(cluster, job).values()).count("RUNNING") == 3, "three to run")
    before = rows(cluster, job)
    cluster.ctld.kill()
    cluster.start_ctld()
    cluster.wait_nodes()
    assert rows(cluster, job) == before
    (cluster.dir / "jobs/after-restart").touch()
    assert set(finished(cluster, job, 100).values()) == {"COMPLETED"}


def test_waiting_for_tasks(cluster):
    script = "while [ ! -e wait-$GPUSCHED_ARRAY_TASK_ID ]; do sleep 0.02; done; exit $GPUSCHED_ARRAY_TASK_ID"
    job = cluster.submit(script, "--array=0-5", "--output=/dev/null")
    waits = {which: begin(cluster, "gctl", "wait", *which.split()) for which in (
        f"{job}_0", f"{job}_[1-2]", f"{job}_3 {job}_[4-5]", str(job))}
    wait_until(lambda: list(rows(cluster, job).values()).count("RUNNING") >= 1, "them to run")

    def ends(*tasks):
        for t in tasks:
            (cluster.dir / f"jobs/wait-{t}").touch()

    ends(0)
    assert waits[f"{job}_0"].wait(timeout=40) == 0
    ends(2)
    wait_until(lambda: task(cluster, f"{job}_2")["state"] == "FAILED", "task 2 to fail")
    assert waits[f"{job}_[1-2]"].poll() is None
    cluster.ctld.kill()  # goes on after a break, with what had not ended
    cluster.start_ctld()
    ends(1)
    assert waits[f"{job}_[1-2]"].wait(timeout=40) == 2
    ends(3, 4)
    wait_until(lambda: task(cluster, f"{job}_4")["state"] == "FAILED", "task 4 to fail")
    assert waits[f"{job}_3 {job}_[4-5]"].poll() is None and waits[str(job)].poll() is None
    ends(5)
    assert [w.wait(timeout=40) for w in waits.values()] == [0, 2, 5, 5]
    assert f"job {job}_4: FAILED" in waits[f"{job}_3 {job}_[4-5]"].communicate()[1]
    # Also of what has ended already, or never starts.
    assert cluster.run("gctl", "wait", f"{job}_4", check=False).returncode == 4
    held = cluster.submit("true", "--array=0-9", "--hold")
    w = begin(cluster, "gctl", "wait", f"{held}_[2-3]")
    wait_until(lambda: set(rows(cluster, held)) >= {"2", "3"}, "them to be told apart")
    cluster.run("gcancel", f"{held}_[0-5]")
    assert w.wait(timeout=40) == 125
    assert cluster.run("gctl", "wait", f"{held}_12", check=False).returncode == 3
    cluster.run("gcancel", held)


def test_absurd_sets_are_refused(cluster):
    for array, text in (("1-2147483647%0", "1 or more, or no % for no limit"), ("5-1", "runs backwards"),
                        ("1-5:0", "a step is 1 to"), ("", "is missing"), ("1,1", "task 1 is there twice"),
                        ("0-4000001", "0 to 4000000"), ("x", "must be N, N-N or N-N:STEP")):
        r = cluster.run("gsubmit", f"--array={array}", "--wrap", "true", check=False)
        assert r.returncode == 2 and text in r.stderr and "--array" in r.stderr


def test_a_million_tasks_are_one_line(cluster):
    job = cluster.submit("true", "--array=0-999999", "--hold")
    assert rows(cluster, job) == {"0-999999": "PENDING"}
    cluster.run("gcancel", f"{job}_[0-999998:2]")
    assert rows(cluster, job) == {"1-999999:2": "PENDING", "0-999998:2": "CANCELLED"}
    cluster.run("gcancel", job)
