"""What a job's owner signed he changes by signing it anew, and nobody else does."""

import contextlib
import json
import random
import subprocess
import threading

import pytest
from cluster import BIN, ROOT, Cluster, Failed, live_for, wait_until

pytestmark = pytest.mark.skipif(not ROOT, reason="needs an owner besides root")
OWNER = "bin"
BLOCKED = "--gpus=demo:4"  # all there are


@pytest.fixture(name="c", scope="module")
def fixture_c():
    with Cluster() as c:
        yield c


def update(c, *args, user=OWNER, **kw):
    return c.run("gctl", "update", *args, user=user, **kw)


def refused(c, status, text, *args, **kw):
    r = update(c, *args, check=False, **kw)
    assert r.returncode == status and text in " ".join(r.stderr.split()), r


def signings(c, job):
    events = json.loads(c.run("gctl", "events", f"--job={job}", "--json").stdout)["events"]
    return [e["text"] for e in events if e["kind"] == "job.resign"]


def output(c, name):
    return (c.dir / "jobs" / name).read_text()


def restart(c, kill=False):
    if kill:
        c.ctld.kill()
    else:
        assert c.ctld.stop() == 0
    c.start_ctld()
    c.wait_nodes()


def test_name_and_files_of_a_job_that_waits(c):
    job = c.submit("echo $GPUSCHED_JOB_NAME in $PWD; echo wrong >&2; cat", "--hold", "--job-name=first", "--output=first.out",
                   user=OWNER)
    (c.dir / "jobs/in").write_text("read\n")
    for other in ("root", "daemon", "games"):
        refused(c, 5, "", job, "--job-name=stolen", user=other)
    refused(c, 5, "only the job's owner can change what was signed", job, "--job-name=stolen", user="root")
    refused(c, 2, "cannot be changed", job, "--array=1-3")
    refused(c, 3, "there is no job 99999", job, 99999, "--job-name=second", "--output=%x.out")
    update(c, job, "--error=%x.err", f"--chdir={c.dir}/jobs", f"--input={c.dir}/jobs/in", "--open-mode=append", "--no-summary",
           "--max-attempts=7", "--reason=ticket 4711")
    shown = c.job(job)
    assert (shown["name"], shown["output"], shown["max_attempts"]) == ("second", "%x.out", 7), shown
    assert signings(c, job)[0] == "job-name first -> second, output first.out -> %x.out"
    assert "error none -> %x.err" in signings(c, job)[1] and signings(c, job)[1].endswith("ticket 4711")
    (c.dir / "jobs/second.out").write_text("before\n")
    (c.dir / "jobs/second.out").chmod(0o666)
    restart(c)
    assert c.job(job)["name"] == "second"
    c.run("gctl", "release", job)
    c.wait_state(job, "COMPLETED")
    assert output(c, "second.out") == f"before\nsecond in {c.dir}/jobs\nread\n"
    assert output(c, "second.err") == "wrong\n" and not (c.dir / "jobs/first.out").exists()
    refused(c, 1, "job-name can only be changed while it is PENDING or runs; it is COMPLETED", job, "--job-name=third")


def test_an_array_of_which_a_task_runs(c):
    array = c.submit("echo $GPUSCHED_JOB_NAME; while [ ! -e go ]; do sleep 0.05; done", BLOCKED, "--array=0-2", "--job-name=old",
                     "--output=old-%a.out", user=OWNER)
    wait_until(lambda: "RUNNING" in c.run("gctl", "show", "job", f"{array}_0").stdout, "its first task to run")
    c.run("gctl", "hold", f"{array}_2", user=OWNER)
    r = update(c, array, "--job-name=new", "--output=new-%a.out")
    assert "what runs goes on as it was started" in " ".join(r.stderr.split())
    refused(c, 2, "have one signature", f"{array}_1", "--job-name=x")
    restart(c, kill=True)
    tasks = c.run("gctl", "show", "job", array).stdout.split()
    assert tasks.count("new") == 3 and tasks.count("new-%a.out") == 2 and tasks.count("old-0.out") == 1, tasks
    c.run("gctl", "requeue", f"{array}_0", user=OWNER)  # and is then as the others are
    c.run("gctl", "release", f"{array}_2", user=OWNER)
    (c.dir / "jobs/go").touch()
    wait_until(lambda: c.run("gctl", "show", "job", array).stdout.split().count("COMPLETED") >= 3, "its tasks to end")
    assert [output(c, f"new-{t}.out") for t in range(3)] == 3 * ["new\n"]
    assert output(c, "old-0.out").startswith("old\n")


@pytest.fixture(name="gate")
def fixture_gate(c):
    """A job that has all GPUs, until it is told to end."""
    job = c.submit("while [ ! -e open ]; do sleep 0.05; done", BLOCKED, "--output=/dev/null")
    c.wait_state(job, "RUNNING")

    def end():
        (c.dir / "jobs/open").touch()
        c.wait_state(job, "COMPLETED")
    yield end
    end()
    (c.dir / "jobs/open").unlink()


def test_two_of_a_bulk(c, gate):
    """They share a credential and a script; the third keeps what it had."""
    line = json.dumps({"wrap": "echo $GPUSCHED_JOB_NAME", "gpus": 4, "job-name": "bulk", "output": "bulk-%j.out"}) + "\n"
    (c.dir / "jobs/bulk").write_text(3 * line)
    jobs = [int(i) for i in c.run("gsubmit", "--bulk", "bulk", "--parsable", user=OWNER).stdout.split()]
    assert "Updated 2 jobs" in update(c, *jobs[:2], "--job-name=two", "--output=two-%j.out").stdout
    restart(c, kill=True)
    gate()
    for j in jobs:
        c.wait_state(j, "COMPLETED")
    assert [output(c, f"{n}-{j}.out") for n, j in zip(("two", "two", "bulk"), jobs)] == ["two\n", "two\n", "bulk\n"]


def test_with_what_is_not_signed(c, gate):
    """Signed first; when that is refused, nothing is done."""
    del gate
    job = c.submit("true", BLOCKED, "--time=10", user=OWNER)
    refused(c, 5, "only the job's owner", job, "--job-name=x", "--time=20", user="root")
    assert c.job(job)["time_limit_s"] == 600
    update(c, job, "--job-name=both", "--time=20")
    assert (c.job(job)["name"], c.job(job)["time_limit_s"]) == ("both", 1200)
    c.run("gcancel", job)


def test_attempts_of_what_has_ended(c):
    job = c.submit("echo attempt $GPUSCHED_RESTART_COUNT", "--no-requeue", "--output=again.out", user=OWNER)
    c.wait_state(job, "COMPLETED")
    r = c.run("gctl", "requeue", job, user=OWNER, check=False)
    assert r.returncode == 1 and "--max-attempts=2" in r.stderr
    update(c, job, "--max-attempts=2")
    c.run("gctl", "requeue", job, user=OWNER)
    wait_until(lambda: c.job(job)["state"] == "COMPLETED" and c.job(job)["attempt"] == 2, "the second attempt")
    assert output(c, "again.out") == "attempt 1\n"
    assert c.run("gctl", "requeue", job, user=OWNER, check=False).returncode == 1


def test_the_same_token_is_the_same_job(c, gate):
    """Also with what was submitted first; but not with anything else."""
    del gate
    words = ("--parsable", BLOCKED, "--token=T1", "--wrap=true", "--export=NONE")
    job = int(c.run("gsubmit", *words, "--job-name=a", user=OWNER).stdout)
    update(c, job, "--job-name=b")
    for name in "ab":
        assert int(c.run("gsubmit", *words, f"--job-name={name}", user=OWNER).stdout) == job
    restart(c)
    for name in "ab":
        assert int(c.run("gsubmit", *words, f"--job-name={name}", user=OWNER).stdout) == job
    r = c.run("gsubmit", *words, "--job-name=c", user=OWNER, check=False)
    assert r.returncode and f"the token was used for job {job}" in r.stderr
    c.run("gcancel", job)


def test_singletons_go_by_the_new_name(c):
    one = c.submit("while [ ! -e first ]; do sleep 0.05; done", "--job-name=s", "--output=/dev/null", user=OWNER)
    two = c.submit("true", "--job-name=s", "--dependency=singleton", "--output=/dev/null", user=OWNER)
    c.wait_state(one, "RUNNING")
    assert c.job(two)["reason"] == "Dependency"
    update(c, two, "--job-name=t")
    c.wait_state(two, "COMPLETED")
    three = c.submit("true", "--job-name=t", "--dependency=singleton", "--output=/dev/null", "--hold", user=OWNER)
    update(c, three, "--job-name=s")
    c.run("gctl", "release", three, user=OWNER)
    wait_until(lambda: c.job(three)["reason"] == "Dependency", "the third to wait for the first")
    update(c, one, "--job-name=u")  # one that runs
    c.wait_state(three, "COMPLETED")
    refused(c, 1, "output can only be changed while it is PENDING", one, "--output=x")
    (c.dir / "jobs/first").touch()
    c.wait_state(one, "COMPLETED")


POINTS = ("ctld_before_apply", "ctld_after_apply", "ctld_before_seal", "ctld_after_seal", "store_before_batch", "store_before_commit",
          "store_after_commit", "store_before_done", "ctld_before_release", "ctld_before_reply")


def test_killed_meanwhile(c, gate):
    """All of a change or nothing: the job's record is what its spec says, and what it runs as."""
    job = c.submit("echo $GPUSCHED_JOB_NAME", BLOCKED, "--job-name=n0", "--output=n0.out", user=OWNER)
    rng, told = random.Random(4), [0]

    def change(n):
        with contextlib.suppress(Failed):  # the controller was away for too long: it may have been done, or not
            update(c, job, f"--job-name=n{n}", f"--output=n{n}.out", timeout=60)
            told.append(n)

    def look():
        shown = c.job(job)
        assert shown["output"] == shown["name"] + ".out" and int(shown["name"][1:]) >= told[-1], (shown, told)

    for n in range(1, 9):
        t = threading.Thread(target=change, args=(n,))
        t.start()
        live_for(rng.uniform(0, 0.1))
        c.ctld.kill()
        c.start_ctld()
        t.join()
        look()
    failpoints = subprocess.run([BIN["gctld"], "--list-failpoints"], capture_output=True, text=True, check=False).stdout
    died = set()
    for n, (point, k) in enumerate(((p, k) for p in POINTS for k in (2, 3, 4, 5) if p in failpoints), 9):
        c.ctld.stop()  # perhaps by its failpoint
        c.start_ctld(env={"GPUSCHED_FAILPOINT": f"{point}:{k}"}, wait=False)
        t = threading.Thread(target=change, args=(n,))
        t.start()
        wait_until(lambda: not (c.ctld.alive() and t.is_alive()), "the controller to die, or the change to be made")
        if t.is_alive():
            died.add(point)
            c.ctld.stop()
            c.start_ctld()
        t.join()
        c.ctld.stop()
        c.start_ctld()
        look()
    assert len(died) > len(POINTS) / 2 or not failpoints, died
    c.wait_nodes()
    name = c.job(job)["name"]
    gate()
    c.wait_state(job, "COMPLETED")
    assert output(c, f"{name}.out") == f"{name}\n"
