"""Answers fit their frames: long texts are cut where many jobs are listed, and whole on request."""

import json

import pytest
from cluster import Cluster

ARRAYS = 180
TASKS = 1000


def tasks_of(i):
    """Numbers of tasks that no range with a step makes shorter: some 7 KB."""
    return ",".join(str(100000 + 300 * n + (n * n * 7 + i) % 255) for n in range(TASKS))


@pytest.fixture(scope="module")
def cluster():
    """All that waits has more text together than two frames may have, and each job more than is listed."""
    with Cluster() as c:
        c.submit("true", "--hold", "-J", "first")
        for i in range(ARRAYS):
            c.submit("true", "--hold", "-J", "long", f"--array={tasks_of(i)}")
        c.submit("true", "--hold", "-J", "last")
        yield c


def listed(cluster, command, *args, what="jobs"):
    return json.loads(cluster.run(command, "--json", *args).stdout)[what]


def check(cluster):
    assert len(listed(cluster, "gprio")) == ARRAYS + 2
    jobs = listed(cluster, "gqueue")
    assert len(jobs) == ARRAYS + 2 and jobs[0]["name"] == "first" and jobs[-1]["name"] == "last"
    for i, j in enumerate(jobs[1:-1]):
        assert j["cut"] == ["array", "tasks"]
        assert 4000 < len(j["tasks"]) <= 4096 and j["tasks"].endswith(",...")
        assert tasks_of(i).startswith(j["tasks"][:-3])
    assert jobs[0]["cut"] == []
    assert len(listed(cluster, "gacct", "-s", "PENDING")) == ARRAYS + 2
    assert len(cluster.run("gqueue", "-h").stdout.splitlines()) == ARRAYS + 2


def test_long_texts_are_cut_and_say_so(cluster):
    check(cluster)


def test_whole_on_request(cluster):
    jobs = listed(cluster, "gqueue", "--whole")
    assert [j["tasks"] for j in jobs[1:-1]] == [tasks_of(i) for i in range(ARRAYS)]
    assert not any(j["cut"] for j in jobs)
    one = str(jobs[7]["id"])
    # what is named is whole; so is gctl show
    assert [j["tasks"] for j in listed(cluster, "gqueue", "-j", one)] == [tasks_of(6)]
    assert [j["array"] for j in listed(cluster, "gctl", "show", "job", one)] == [tasks_of(6)]
    assert tasks_of(6) in cluster.run("gqueue", "-h", "-j", one, "-o", "TASKS").stdout
    acct = listed(cluster, "gacct", "--whole", "-s", "PENDING", "-n", "long")
    assert sorted(a["tasks"] for a in acct) == sorted(tasks_of(i) for i in range(ARRAYS))
    assert listed(cluster, "gqueue", "--why", one)[0]["job"]["tasks"].startswith(tasks_of(6)[:4000])
    # a task of an array is found in what is told of it, last as it may be
    last = tasks_of(6).rsplit(",", 1)[1]
    assert len(listed(cluster, "gqueue", "-j", f"{one}_{last}")) == 1


def test_also_after_a_restart(cluster):
    cluster.ctld.stop()
    cluster.start_ctld()
    check(cluster)


def test_a_question_that_does_not_fit_is_refused_by_its_size(cluster):
    ids = [",".join(str(10000000000 + 8000 * k + i) for i in range(8000)) for k in range(2)]
    done = cluster.run("gqueue", *ids, check=False)
    assert done.returncode == 2 and "at most 65536 in one request" in done.stderr
    assert "ask in several" in done.stderr
    assert "closed" not in done.stderr
