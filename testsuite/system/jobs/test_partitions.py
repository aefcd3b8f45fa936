"""A job with a list of partitions waits in all, and starts in the one that first has room."""

import json

import pytest
from cluster import Cluster, wait_until

PARTITIONS = """(
  { name = "a"; nodes = "n1"; default = true; max_time = "1:00:00"; },
  { name = "b"; nodes = "n2"; default_time = "2:00:00"; },
  { name = "closed"; nodes = "n2"; state = "drain"; } )"""


@pytest.fixture(scope="module")
def cluster():
    with Cluster(nodes=("n1", "n2"), gpus="demo:1", partitions=PARTITIONS) as c:
        yield c


@pytest.fixture(autouse=True)
def clean(cluster):
    yield
    cluster.run("gcancel", "--state", "PENDING,CONFIGURING,RUNNING,SUSPENDED", check=False)
    wait_until(lambda: not cluster.run("gqueue", "-h").stdout, "an empty queue")


def holds(cluster, partition):
    job = cluster.submit("exec sleep 600", "--gpus=1", f"--partition={partition}")
    cluster.wait_state(job, "RUNNING")
    return job


def test_starts_where_there_is_room_first(cluster):
    in_a, in_b = holds(cluster, "a"), holds(cluster, "b")
    job = cluster.submit("#GPUSCHED --partition=a,b\necho $SLURM_JOB_PARTITION; exec sleep 600", "--gpus=1")
    assert cluster.job(job)["partition"] == "a,b"
    assert str(job) in cluster.run("gqueue", "-h", "--partition=b").stdout
    assert str(job) in cluster.run("gqueue", "-h", "--partition=a").stdout
    why = cluster.run("gqueue", "--why", job).stdout
    assert "in a" in why and "in b" in why
    cluster.run("gcancel", in_b)
    assert cluster.wait_state(job, "RUNNING")["partition"] == "b"
    assert cluster.job(job)["time_limit_s"] == 7200
    # Requeued, it waits in both again.
    later = cluster.submit("exec sleep 600", "--gpus=1", "--partition=b", "--nice=-10")
    cluster.run("gctl", "requeue", job)
    cluster.wait_state(later, "RUNNING")
    assert cluster.wait_state(job, "PENDING")["partition"] == "a,b"
    cluster.run("gcancel", in_a)
    assert cluster.wait_state(job, "RUNNING")["partition"] == "a"
    assert cluster.job(job)["time_limit_s"] == 3600


def test_a_restart_and_an_update(cluster):
    holds(cluster, "a")
    in_b = holds(cluster, "b")
    job = cluster.submit("exec sleep 600", "--gpus=1", "--partition=a")
    cluster.run("gctl", "update", job, "--partition=b,a")
    cluster.ctld.kill()
    cluster.start_ctld()
    assert cluster.job(job)["partition"] == "b,a"
    cluster.run("gcancel", in_b)
    assert cluster.wait_state(job, "RUNNING")["partition"] == "b"


def partitions(cluster, state):
    jobs = json.loads(cluster.run("gqueue", "--json", f"--state={state}").stdout)["jobs"]
    return sorted(j["partition"] for j in jobs)


def test_tasks_of_an_array(cluster):
    cluster.submit("exec sleep 600", "--gpus=1", "--partition=a,b", "--array=0-2")
    wait_until(lambda: partitions(cluster, "RUNNING") == ["a", "b"], "two tasks to run, each in a partition")
    assert partitions(cluster, "PENDING") == ["a,b"]


def test_who_refuses_is_left_out(cluster):
    r = cluster.run("gsubmit", "--wrap", "true", "--partition=closed,b", "--time=2:00:00")
    assert "left out: partition closed" in r.stderr
    job = int(r.stdout.split()[-1])
    assert cluster.wait_state(job, "COMPLETED")["partition"] == "b"
    r = cluster.run("gsubmit", "--wrap", "true", "--partition=closed,a", "--time=2:00:00", check=False)
    assert r.returncode == 1 and "partition closed: " in r.stderr and "partition a: " in r.stderr
    r = cluster.run("gsubmit", "--wrap", "true", "--partition=a,nosuch", check=False)
    assert r.returncode == 3 and "nosuch" in r.stderr
    r = cluster.run("gctl", "update", "--partition=a,closed", cluster.submit("true", "--hold"), check=False)
    assert r.returncode == 1 and "closed" in r.stderr


def test_asked_without_submitting(cluster):
    holds(cluster, "a")
    text = cluster.run("gsubmit", "--test-only", "--gpus=1", "--partition=a,b", "--wrap", "true").stdout
    assert text.startswith("would start now in b on n2")
    holds(cluster, "b")
    answer = json.loads(cluster.run("gsubmit", "--test-only", "--json", "--gpus=1", "--partition=a,b", "--wrap",
                                    "true").stdout)["jobs"][0]
    assert not answer["would_start_now"] and answer["partition"] == "a"
    assert [b["partition"] for b in answer["why"]["blockers"]] == ["a", "b"]


def test_a_reload_without_one_of_them(cluster):
    text = cluster.conf.read_text()
    in_a = holds(cluster, "a")
    holds(cluster, "b")
    job = cluster.submit("exec sleep 600", "--gpus=1", "--partition=b,a")
    cluster.write_conf(text.replace('name = "b"', 'name = "c"'))
    cluster.run("gctl", "reconfigure")
    assert cluster.job(job)["partition"] == "b,a"
    cluster.run("gcancel", in_a)
    assert cluster.wait_state(job, "RUNNING")["partition"] == "a"
    cluster.write_conf(text)
    cluster.run("gctl", "reconfigure")
