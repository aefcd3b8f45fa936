"""Jobs that wait for a time, for other jobs, to be alone; deadlines; through restarts of the controller."""

import time

import pytest
from cluster import Cluster, wait_until


@pytest.fixture(name="c")
def fixture_c():
    with Cluster(nodes=("n1",), partitions='( { name = "batch"; nodes = "ALL"; default = true; grace = "2s"; } )') as c:
        yield c


def gate(c, name):
    """A script that runs until the gate is opened, with the exit code that is written there."""
    path = c.dir / "jobs" / name
    return path, f"while [ ! -s {path} ]; do sleep 0.05; done\nexit $(cat {path})\n"


def wait_reason(c, job, reason):
    wait_until(lambda: c.job(job)["reason"] == reason, f"job {job} waits with {reason}")


def refused(c, *options):
    r = c.run("gsubmit", *options, stdin="#!/bin/sh\n", check=False)
    assert r.returncode in (1, 2, 3) and r.stderr.startswith("gsubmit: error: "), (options, r.stdout, r.stderr)
    return r.stderr


def restart(c):
    c.ctld.kill()
    c.start_ctld()


def test_dependencies(c):
    good, script = gate(c, "good")
    first = c.submit(script)
    bad, script = gate(c, "bad")
    second = c.submit(script)
    quick = "exit 0"
    ok = c.submit(quick, f"--dependency=afterok:{first}")
    both = c.submit(quick, "-d", f"afterok:{first},afternotok:{second}")
    either = c.submit(quick, "-d", f"afterok:{second}?afterany:{first}")
    vain = c.submit(quick, "-d", f"afterok:{second}")
    gone = c.submit(quick, "-d", f"afterok:{second}", "--kill-on-invalid-dep=yes")
    started = c.submit(quick, "-d", f"after:{first}")
    c.wait_state(started, "COMPLETED")
    wait_reason(c, ok, "Dependency")
    c.wait_state(first, "RUNNING")
    why = c.run("gqueue", "--why", str(both)).stdout
    assert f"afterok: job {first} is RUNNING" in why and f"afternotok: job {second} is " in why
    assert c.job(both)["dependency"] == f"afterok:{first},afternotok:{second}"
    restart(c)
    good.write_text("0")
    c.wait_state(ok, "COMPLETED")
    c.wait_state(either, "COMPLETED")
    assert c.job(both)["dependency"] == f"afternotok:{second}"
    bad.write_text("3")
    c.wait_state(both, "COMPLETED")
    wait_reason(c, vain, "DependencyNeverSatisfied")
    c.wait_state(gone, "CANCELLED")
    restart(c)
    wait_reason(c, vain, "DependencyNeverSatisfied")
    assert "(failed)" in c.run("gqueue", "--noheader", "-o", "DEPENDENCY", "-j", str(vain)).stdout
    # Who waits in vain can wait for something else.
    assert c.run("gctl", "update", str(vain), f"--dependency=afterok:{vain}", check=False).returncode == 1
    c.run("gctl", "update", str(vain), f"--dependency=afterany:{second}")
    c.wait_state(vain, "COMPLETED")
    assert "there is no job" in refused(c, "-d", "afterok:999999")
    assert "cannot be mixed" in refused(c, "-d", f"afterok:{first},afterok:{second}?afterok:{ok}")
    assert "expected after" in refused(c, "-d", "sometime")


def test_some_tasks_of_an_array(c):
    marks = c.dir / "jobs"
    array = c.submit(f"while [ ! -s {marks}/go-$GPUSCHED_ARRAY_TASK_ID ]; do sleep 0.05; done\n"
                     f"exit $(cat {marks}/go-$GPUSCHED_ARRAY_TASK_ID)\n", "--array=0-5")
    other = c.submit("true")
    every = c.submit("exit 0", "-d", f"afterok:{other}:{array}_[0-3:2,5],singleton", "-J", "every")
    ill = c.submit("exit 0", "-d", f"afternotok:{array}_[1,3]")
    either = c.submit("exit 0", "-d", f"afterok:{array}_[3-4]?afterok:{array}_1")
    vain = c.submit("exit 0", "-d", f"afterok:{array}_[2-4]", "--kill-on-invalid-dep=yes")
    c.wait_state(other, "COMPLETED")
    wait_until(lambda: c.job(every)["dependency"] == f"afterok:{array}_[0-2:2,5],singleton", "the other to count")

    def end(task, code):
        (marks / f"go-{task}").write_text(f"{code}\n")
        out = ("-h", "-o", "STATE", "--all", "-j", f"{array}_{task}")
        wait_until(lambda: c.run("gqueue", *out).stdout.split()[0] in ("COMPLETED", "FAILED"), f"task {task} to end")

    end(0, 0)
    wait_until(lambda: c.job(every)["dependency"] == f"afterok:{array}_[2,5],singleton", "task 0 to count")
    why = c.run("gqueue", "--why", str(every)).stdout
    assert f"afterok: 2 tasks of job {array} have yet to end: 2,5" in why
    restart(c)
    assert c.job(every)["dependency"] == f"afterok:{array}_[2,5],singleton"
    end(3, 7)
    c.wait_state(vain, "CANCELLED")
    assert c.job(ill)["dependency"] == f"afternotok:{array}_1"
    for task in (2, 5):
        end(task, 0)
    c.wait_state(every, "COMPLETED")
    wait_reason(c, either, "Dependency")
    end(4, 0)
    c.wait_state(either, "COMPLETED")
    end(1, 0)
    wait_reason(c, ill, "DependencyNeverSatisfied")
    assert f"afternotok: 1 task of job {array} ended otherwise: 1" in c.run("gqueue", "--why", str(ill)).stdout
    assert "has no task 6: its array is 0-5" in refused(c, "-d", f"afterok:{array}_[4-6]")
    assert "expected ']'" in refused(c, "-d", f"afterok:{array}_[4")
    assert "an array can wait for the same tasks" in refused(c, "-d", f"aftercorr:{array}_[4-5]")
    c.run("gctl", "update", str(ill), f"--dependency=afterany:{array}_[0-5]")
    c.wait_state(ill, "COMPLETED")


def test_what_an_array_waits_for_is_of_all_its_tasks(c):
    """Also of those that have records of their own; and what else is changed with it is theirs too."""
    first = c.submit("sleep 1000")
    for held in ("1", "0-3"):
        array = c.submit("true", "--array=0-3", "-d", f"afterok:{first}")
        c.run("gctl", "hold", f"{array}_[{held}]")
        if held == "0-3":  # each of them
            for task in range(4):
                c.run("gctl", "release", f"{array}_{task}")
        said = c.run("gctl", "update", array, f"--dependency=afternotok:{first},singleton", "--nice=7", "--comment=later",
                     "--array-throttle=9").stdout
        assert said == f"Updated 4 tasks of job {array}\n"
        rows = [r.split() for r in c.run("gqueue", "-h", "-j", array, "-o", "NICE,DEPENDENCY,REMARK").stdout.splitlines()]
        assert len(rows) >= 2 and set(map(tuple, rows)) == {("7", f"afternotok:{first},singleton", "later")}
        r = c.run("gctl", "update", f"{array}_1", "--dependency=", "--nice=9", check=False)
        assert r.returncode == 1 and "what it waits for is said of the whole array" in r.stderr
        c.run("gctl", "release", array, check=False)
        c.run("gctl", "update", array, "--dependency=", "--kill-on-invalid-dep=yes")
        wait_until(lambda a=array: c.job(a)["state"] == "COMPLETED" if a in c.jobs() else True, "all of it to run")


def test_one_at_a_time(c):
    path, script = gate(c, "gate")
    first = c.submit(script, "-J", "alone", "-d", "singleton")
    c.wait_state(first, "RUNNING")
    others = [c.submit("true", "-J", "alone", "-d", "singleton") for _ in range(3)]
    for job in others:
        wait_reason(c, job, "Dependency")
    path.write_text("0")
    for job in others:
        c.wait_state(job, "COMPLETED")
    jobs = c.jobs()
    order = [jobs[j] for j in [first, *others]]
    for before, after in zip(order, order[1:]):
        assert after["start_time"] >= before["start_time"]


def test_begin_and_deadline(c):
    now = time.time()
    later = c.submit("true", "--begin=now+1hour")
    soon = c.submit("true", "--begin=now+2")
    wait_reason(c, later, "BeginTime")
    restart(c)
    c.wait_state(soon, "COMPLETED")
    assert c.job(soon)["start_time"] >= int(now) + 2
    wait_reason(c, later, "BeginTime")
    assert "at the earliest" in c.run("gqueue", "--why", str(later)).stdout
    c.run("gctl", "update", str(later), "--begin=now")
    c.wait_state(later, "COMPLETED")
    path, script = gate(c, "never")
    runs = c.submit(script, "--time=unlimited", "--deadline=now+3")
    waits = c.submit("true", "--time=30", "--begin=now+1hour", "--deadline=now+2hours")
    c.run("gctl", "update", str(waits), "--deadline=now+31minutes", "--begin=now", "--time=30", "--dependency",
          f"afterok:{runs}")
    c.wait_state(runs, "DEADLINE")
    assert not path.exists()
    assert "are left" in refused(c, "--time=30", "--deadline=now+29minutes")
    assert "expected a time" in refused(c, "--begin=whenever")
    wait_reason(c, waits, "DependencyNeverSatisfied")


def test_after_jobs_in_history():
    with Cluster(nodes=("n1",), controller='keep_ended = "1s";') as c:
        good = c.submit("true")
        bad = c.submit("exit 3")
        wait_until(lambda: not {good, bad} & set(c.jobs()), "both jobs to be in history")
        restart(c)
        last = c.submit("true", "-d", f"afterok:{good},afternotok:{bad},after:{bad}")
        wait_until(lambda: last not in c.jobs() or c.state(last) == "COMPLETED", "what had come true to count")
        vain = c.submit("true", "-d", f"afterok:{bad}")
        wait_reason(c, vain, "DependencyNeverSatisfied")
        assert "ended otherwise" in c.run("gqueue", "--why", str(vain)).stdout
        assert "there is no job" in refused(c, "-d", f"afterany:{bad + 50}")


@pytest.mark.parametrize("keep_ended", ["10m", "1s"])
def test_a_dependency_that_can_never_come_true_is_said_at_submit(keep_ended):
    """-d afterok:FAILED waited for ever without a word: now gsubmit says so, and what happens to the job; also where only the
    history knows how the other one ended."""
    with Cluster(controller=f'keep_ended = "{keep_ended}";') as c:
        failed = c.submit("exit 1")
        array = c.submit("exit 1", "--array=0-1")
        keeps = c.submit("true", "--hold")

        def warned(*options, stdin="#!/bin/sh\ntrue\n"):
            r = c.run("gsubmit", "--parsable", *options, stdin=stdin)
            return [int(i) for i in r.stdout.split()], r.stderr

        def look():
            (job,), said = warned("-d", f"afterok:{failed}")
            assert f"warning: job {job} can never start: afterok: job {failed} " in said, said
            assert f"gctl update {job} --dependency=" in said and c.job(job)["reason"] == "DependencyNeverSatisfied"
            (job,), said = warned("-d", f"afterok:{failed}", "--kill-on-invalid-dep=yes")
            assert f"job {job} could never start, and was cancelled (--kill-on-invalid-dep): afterok: job {failed} " in said, said
            # What may still come true, or does, is not warned of.
            for option in (f"afternotok:{failed}", f"afterany:{failed}", f"afterok:{keeps}", f"afterok:{failed}?afterok:{keeps}"):
                assert warned("-d", option)[1] == "", option
            assert "can never start" in warned("-d", f"afterok:{array}")[1]
            line = '{"script": "job.sh", "dependency": "afterok:%d"}\n'
            (c.dir / "jobs/job.sh").write_text("#!/bin/sh\ntrue\n")
            assert "can never start" in warned("--bulk", "-", stdin=line % keeps + line % failed)[1]

        wait_until(lambda: "FAILED" in c.run("gacct", "-h", "-o", "STATE", "-j", failed).stdout and
                   c.run("gacct", "-h", "-o", "STATE", "-j", array).stdout.split() == ["FAILED"] * 2, "both to fail")
        if keep_ended == "1s":
            wait_until(lambda: not {failed, array} & set(c.jobs()), "both to be history")
        look()
