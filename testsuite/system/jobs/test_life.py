"""The life of a job, as its owner sees it."""

import json

import pytest
from cluster import ROOT, Cluster, wait_until


@pytest.fixture(scope="module")
def cluster():
    with Cluster() as c:
        yield c


def test_runs_and_reports_its_exit_code(cluster):
    job = cluster.submit("echo hello; exit 7", "--output", "life.out")
    end = cluster.wait_state(job, "FAILED")
    assert end["exit_code"] == 7
    assert (cluster.dir / "jobs/life.out").read_text() == "hello\n"


def test_signal_is_reported_as_a_signal(cluster):
    job = cluster.submit("kill -SEGV $$")
    assert cluster.wait_state(job, "FAILED")["exit_signal"] == 11


def test_four_jobs_hold_four_different_gpus(cluster):
    jobs = [cluster.submit("echo $CUDA_VISIBLE_DEVICES; while [ ! -e go ]; do sleep 0.05; done", "--gpus=1",
                           "--output=gpu-%j.out") for _ in range(4)]
    for j in jobs:
        cluster.wait_state(j, "RUNNING")
    out = [cluster.dir / f"jobs/gpu-{j}.out" for j in jobs]
    held = wait_until(lambda: all(o.exists() and o.read_text() for o in out) and {o.read_text().strip() for o in out},
                      "all four to write their GPU")
    assert held == {"0", "1", "2", "3"}
    fifth = cluster.submit("true", "--gpus=1")
    assert cluster.job(fifth)["reason"] == "Resources"
    (cluster.dir / "jobs/go").touch()
    for j in [*jobs, fifth]:
        cluster.wait_state(j, "COMPLETED")


def test_cancel_leaves_nothing(cluster):
    job = cluster.submit("trap '' TERM; (setsid sh -c 'echo $$ > daemon.pid; exec sleep 600') & sleep 600",
                         "--gpus=1")
    pid_file = cluster.dir / "jobs/daemon.pid"
    wait_until(lambda: pid_file.exists() and pid_file.read_text().strip(), "the daemonised child")
    pid = pid_file.read_text().strip()
    cluster.run("gcancel", job)
    cluster.wait_state(job, "CANCELLED")
    with pytest.raises(FileNotFoundError):
        open(f"/proc/{pid}/stat", encoding="ascii").close()


def test_time_limit_ends_it(cluster):
    job = cluster.submit("exec sleep 600", "--time=0:02")
    assert cluster.wait_state(job, "TIMEOUT")["exit_signal"] == 15


def test_a_longer_limit_is_an_operator_s_to_give(cluster):
    """The run hears of it, and keeps to it also where the agent is another one by then."""
    who = {"user": "bin"} if ROOT else {}
    for limit in (3, 45):  # where the machine is too slow to give the longer one in time, once more
        job = cluster.submit(f"sleep {limit}.3; echo went on", f"--time=0:{limit:02}", "--output=longer.out", **who)
        cluster.wait_state(job, "RUNNING", "COMPLETING", "TIMEOUT")
        if ROOT:
            r = cluster.run("gctl", "update", job, "--time=5", user="bin", check=False)
            assert r.returncode == 5 and "an operator" in r.stderr or cluster.state(job) == "TIMEOUT"
        cluster.run("gctl", "update", job, "--time=5", check=False)
        cluster.agents["n1"].kill()
        cluster.start_agent("n1")
        if cluster.wait_state(job, "COMPLETED", "TIMEOUT")["state"] == "COMPLETED":
            break
    assert cluster.job(job)["time_limit_s"] == 300
    assert (cluster.dir / "jobs/longer.out").read_text() == "went on\n"


def test_wait_gives_the_jobs_own_exit_code(cluster):
    assert cluster.run("gsubmit", "--wait", "--wrap", "exit 3", check=False).returncode == 3
    assert cluster.run("gsubmit", "--wait", "--wrap", "kill -9 $$", check=False).returncode == 137


def test_same_token_same_job(cluster):
    a = cluster.submit("true", "--token", "again")
    b = cluster.submit("true", "--token", "again")
    assert a == b
    r = cluster.run("gsubmit", "--token", "again", stdin="#!/bin/sh\nfalse\n", check=False)
    assert r.returncode == 1 and "token" in r.stderr


def test_how_long_it_has_run_outlives_the_daemons(cluster):
    """By the node's clock: a controller that comes new hears it when the node registers."""
    job = cluster.submit("exec sleep 600")
    wait_until(lambda: cluster.job(job)["elapsed_s"] >= 3, "three seconds")
    cluster.ctld.kill()
    cluster.agents["n1"].kill()
    cluster.start_ctld()
    cluster.start_agent("n1")
    cluster.wait_nodes()
    assert cluster.job(job)["elapsed_s"] >= 3
    cluster.run("gcancel", job)
    cluster.wait_state(job, "CANCELLED")


def test_suspended_job_stands_still_and_keeps_its_gpus(cluster):
    job = cluster.submit("while sleep 0.05; do echo tick; done", "--gpus=4", "--output=ticks.out")
    cluster.wait_state(job, "RUNNING")
    ticks = cluster.dir / "jobs/ticks.out"
    wait_until(lambda: ticks.exists() and ticks.stat().st_size, "its first tick")
    cluster.run("gctl", "suspend", job)
    cluster.wait_state(job, "SUSPENDED")
    size, elapsed = ticks.stat().st_size, cluster.job(job)["elapsed_s"]
    waits = cluster.submit("true", "--gpus=1")
    assert cluster.job(waits)["reason"] == "Resources"  # a stopped process keeps its GPU memory
    # It is so for the controller and the agent that come after, too.
    cluster.ctld.kill()
    cluster.agents["n1"].kill()
    cluster.start_ctld()
    cluster.start_agent("n1")
    cluster.wait_nodes()
    assert cluster.wait_state(job, "SUSPENDED")["elapsed_s"] == elapsed
    assert ticks.stat().st_size == size
    r = cluster.run("gctl", "suspend", waits, check=False)
    assert r.returncode == 1 and "suspended" in r.stderr
    cluster.run("gctl", "resume", job)
    cluster.wait_state(job, "RUNNING")
    wait_until(lambda: ticks.stat().st_size > size, "the next tick")
    # What is suspended can be cancelled, and goes at once.
    cluster.run("gctl", "suspend", job)
    cluster.wait_state(job, "SUSPENDED")
    cluster.run("gcancel", job)
    cluster.wait_state(job, "CANCELLED")
    cluster.wait_state(waits, "COMPLETED")


def test_what_has_ended_is_requeued(cluster):
    log = cluster.dir / "jobs/again.txt"
    job = cluster.submit(f'echo "$GPUSCHED_RESTART_COUNT" >> {log}; [ -s {log}.ok ]')
    cluster.wait_state(job, "FAILED")
    (cluster.dir / "jobs/again.txt.ok").write_text("ok")
    assert cluster.run("gctl", "requeue", "--hold", job).stdout == "Requeued 1 job\n"
    cluster.wait_state(job, "PENDING")
    cluster.ctld.kill()
    cluster.start_ctld()
    cluster.wait_nodes()
    cluster.run("gctl", "release", job)
    cluster.wait_state(job, "COMPLETED")
    assert log.read_text() == "0\n1\n"
    assert cluster.job(job)["attempt"] == 2
    assert "job.requeue" in cluster.run("gctl", "events", "--job", job).stdout
    once = cluster.submit("true", "--no-requeue")
    cluster.wait_state(once, "COMPLETED")
    r = cluster.run("gctl", "requeue", once, check=False)
    assert r.returncode == 1 and "started 1 times of 1 that its owner signed" in r.stderr
    r = cluster.run("gctl", "requeue", 4000000, check=False)
    assert r.returncode == 3 and "there is no job 4000000" in r.stderr


def test_all_mistakes_of_a_submit_are_named_at_once(cluster):
    """From the command line, variables and the script; then all that the controller finds."""
    before = cluster.jobs("--all").keys()
    script = cluster.dir / "jobs/many.sh"
    script.write_text("#!/bin/sh\n#SBATCH --time=never\n#GPUSCHED --gpus=demo:x --nice=zz\n#GPUSCHED --no-such 7 -c 1\nexit 0\n")
    r = cluster.run("gsubmit", "--mem=zz", "-N", "x", script, check=False, env={"GSUBMIT_MAX_ATTEMPTS": "q"})
    errors = [line.removeprefix("gsubmit: error: ") for line in r.stderr.splitlines() if line.startswith("gsubmit: error: ")]
    assert r.returncode == 2 and not r.stdout
    assert [e.split("=")[0] for e in errors] == [
        "--mem", "--nodes", f"{script}:2: --time", f"{script}:3: --gpus", f"{script}:3: --nice", f"{script}:4: '--no-such': no such option",
        "GSUBMIT_MAX_ATTEMPTS"], errors
    told = json.loads(cluster.run("gsubmit", "--json", "--mem=zz", script, check=False).stdout)["error"]
    assert told["code"] == "usage" and "--mem=zz" in told["text"] and ":2: --time=never" in told["text"]
    r = cluster.run("gsubmit", "-p", "nosuch", "-q", "nosuch", "--gpus=nosuch:1", "--begin=now+1h", "--deadline=now+1m", "--wrap", "true",
                    check=False)
    for name in ("--partition=nosuch", "--qos=nosuch", "nosuch", "deadline"):
        assert name in r.stderr, r.stderr
    assert r.returncode == 3 and cluster.jobs("--all").keys() == before
    # Of both at once, and a folder that is missing.
    r = cluster.run("gsubmit", "--time=never", "-p", "nosuch", "-q", "nosuch", "-o", "logs/x.out", "--wrap", "true", check=False)
    for text in ("error: --time=never", "--partition=nosuch: there is no such partition", "nosuch", "jobs/logs' here: No such file"):
        assert text in r.stderr, r.stderr
    assert r.returncode == 2 and cluster.jobs("--all").keys() == before


def test_a_launch_that_its_owner_must_mend_fails_the_job(cluster):
    """No folder for the output, no such interpreter: waiting would mend nothing, and `gsubmit --wait` must not wait for ever."""
    warned = cluster.run("gsubmit", "-o", "logs/x.out", "--hold", "--parsable", "--wrap", "true")
    assert f"--output: '{cluster.dir}/jobs/logs' here: No such file or directory" in warned.stderr
    cluster.run("gcancel", warned.stdout.strip())
    (cluster.dir / "jobs/there").mkdir(exist_ok=True)
    quiet = cluster.run("gsubmit", "--wait", "-o", "there/%j.out", "--wrap", "true")
    assert "warning" not in quiet.stderr
    r = cluster.run("gsubmit", "--wait", "--parsable", "-o", "logs/%j.out", "--wrap", "true", check=False)
    job = cluster.job(int(r.stdout.split()[0]))
    assert r.returncode == 125 and "FAILED" in r.stderr and "cannot open the output file" in r.stderr, r
    assert (job["state"], job["reason"]) == ("FAILED", "JobLaunchFailure") and "logs/" in job["reason_text"]
    script = cluster.dir / "jobs/no-interpreter.sh"
    script.write_text("#!/no/such/shell\n")
    r = cluster.run("gsubmit", "--wait", script, check=False)
    assert r.returncode == 125 and "cannot execute the script ('#!/no/such/shell')" in r.stderr, r
    after = cluster.run("gsubmit", "-d", f"afternotok:{job['id']}", "--wait", "--wrap", "true", check=False)
    assert after.returncode == 0
    assert "drain" not in cluster.run("ginfo", "-N", "-h").stdout


def test_a_node_that_can_start_nothing_holds_up_no_queue():
    """The launcher cannot write records, as on a full /run: that is the node's fault, and no job's, though one user has them all."""
    with Cluster() as c:
        records = c.run_base / "run-n1/runs"
        records.rmdir()
        jobs = [c.submit("exit 0") for _ in range(4)]
        c.wait_nodes("drained")
        told = c.run("ginfo", "-N", "-h", "-o", "REASON%200").stdout
        assert "cannot make the run's record directory: No such file or directory" in told
        assert "[gctld@" in told  # nobody's doing
        # At its first try it drained the node, so that none was tried there as often as gets it held.
        assert all(c.state(j) == "PENDING" and c.job(j)["reason"] != "JobLaunchFailure" for j in jobs)
        c.agents["n1"].stop()
        c.start_agent("n1")
        c.run("gctl", "resume", "n1")
        for j in jobs:
            c.wait_state(j, "COMPLETED")
