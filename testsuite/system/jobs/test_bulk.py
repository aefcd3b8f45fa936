"""gsubmit --bulk: many jobs, all accepted or none."""

import json

import pytest
from cluster import BIN, SANITIZED, Cluster, Daemon, wait_until
from test_crash import failpoints


@pytest.fixture(scope="module")
def cluster():
    with Cluster(controller='keep_ended = "1h";') as c:  # tests count jobs
        yield c


def lines(n, **more):
    return [json.dumps({"wrap": f"echo {i}", "job-name": f"job{i}", "hold": True, "output": "/dev/null", **more}) for i in range(n)]


def bulk(cluster, rows, *options, check=True, **kw):
    (cluster.dir / "jobs/bulk.jsonl").write_text("\n".join(rows) + "\n")
    return cluster.run("gsubmit", "--bulk", "bulk.jsonl", "--parsable", *options, check=check, **kw)


def test_all_of_them_in_the_order_of_the_file(cluster):
    ids = [int(x) for x in bulk(cluster, lines(200)).stdout.split()]
    assert ids == list(range(ids[0], ids[0] + 200))
    jobs = cluster.jobs()
    assert [jobs[i]["name"] for i in ids] == [f"job{i}" for i in range(200)]
    said = cluster.run("gsubmit", "--bulk", "bulk.jsonl").stdout
    assert said == f"Submitted 200 batch jobs {ids[-1] + 1}-{ids[-1] + 200}\n"
    assert len(json.loads(cluster.run("gsubmit", "--bulk", "bulk.jsonl", "--json").stdout)["jobs"]) == 200


def test_they_run_with_what_their_lines_say(cluster):
    (cluster.dir / "jobs/with.sh").write_text("#!/bin/sh\n#SBATCH -J script -c 2\necho $SLURM_JOB_NAME $SLURM_CPUS_PER_TASK $@\n")
    rows = [json.dumps({"script": "with.sh", "args": ["a b", 7], "output": "bulk-%x.out", "job_name": "line"}),
            json.dumps({"script": "with.sh", "output": "bulk-%x.out"}),
            json.dumps({"wrap": "exit 3"})]
    ids = [int(x) for x in bulk(cluster, rows, "--time=5").stdout.split()]
    cluster.wait_state(ids[0], "COMPLETED")
    cluster.wait_state(ids[1], "COMPLETED")
    assert cluster.wait_state(ids[2], "FAILED")["exit_code"] == 3
    assert (cluster.dir / "jobs/bulk-line.out").read_text() == "line 2 a b 7\n"
    assert (cluster.dir / "jobs/bulk-script.out").read_text() == "script 2\n"
    assert cluster.job(ids[0])["time_limit_s"] == 300


BIG, BROKEN = (10_000, 7_701) if SANITIZED else (100_000, 77_001)  # lines, and the one that is broken


@pytest.fixture(scope="module")
def big(cluster):
    """Writes many jobs with one line in their place, without a newline at the end."""
    every = [line.encode() for line in lines(BIG)]
    path = cluster.dir / "jobs/big.jsonl"

    def write(broken, at=BROKEN):
        path.write_bytes(b"\n".join(every[:at - 1] + [broken] + every[at:]))
        return path
    yield write
    path.unlink(missing_ok=True)


def accepted(cluster):
    s = stats(cluster)
    return s["core.jobs"], s["core.next_job"]


@pytest.mark.parametrize("broken, status, why", [
    (b"{", 2, "no JSON: "),
    (b'{"wrap": "x", "time": "soon"}', 2, "time=soon: "),
    (b'{"wrap": "x\0"}', 2, "a NUL byte; jobs are text"),
    (b'{"wrap": "x\\u0000"}', 2, "a NUL byte; jobs are text"),
    (b'{"wrap": "\xff"}', 2, "no JSON: "),
    (b'{"wrap": "' + b"x" * (5 << 20) + b'"}', 2, "more than 1048576 bytes"),
    (b'{"wrap": "x", "token": "mine"}', 2, '"token": not allowed for a single job; it belongs on the command line'),
    (b'{"wrap": "x", "wrap": "y"}', 2, "no JSON: duplicate object key"),
    (b'{"script": "/no/such/script"}', 1, "script '/no/such/script': No such file or directory"),
    # The controller finds these, when all are there.
    (b'{"wrap": "x", "partition": "none"}', 3, "--partition=none: there is no such partition"),
    (b'{"wrap": "x", "gpus": "demo:99"}', 1, "demo:99"),
    (b'{"wrap": "x", "dependency": "afterok:123456789"}', 3, "there is no job 123456789"),
], ids=range(12))
def test_a_broken_line_is_named_and_nothing_is_accepted(cluster, big, broken, status, why):
    before = accepted(cluster)
    r = cluster.run("gsubmit", "--bulk", big(broken), "--export=NONE", "--parsable", check=False)
    assert r.returncode == status
    assert r.stderr.startswith(f"gsubmit: error: {cluster.dir}/jobs/big.jsonl:{BROKEN}: ") and why in r.stderr, r.stderr
    assert r.stdout == "" and accepted(cluster) == before


def test_the_last_line_needs_no_newline(cluster, big):
    r = cluster.run("gsubmit", "--bulk", big(b'{"wrap": "x"', BIG), "--export=NONE", check=False)
    assert r.returncode == 2 and f"big.jsonl:{BIG}: no JSON: " in r.stderr
    (cluster.dir / "jobs/end").write_text("\n".join(lines(3)))
    assert len(cluster.run("gsubmit", "--bulk=end", "--parsable").stdout.split()) == 3


def test_files_as_other_systems_write_them(cluster):
    """A byte order mark before all of it, carriage returns, lines without a job: which are counted."""
    one, two = (line.encode() for line in lines(2))
    path = cluster.dir / "jobs/foreign"
    for text in (b"\xef\xbb\xbf" + one + b"\n" + two, one + b"\r\n" + two + b"\r\n", b"\n  \n" + one + b"\n\t\r\n\n" + two):
        path.write_bytes(text)
        assert len(cluster.run("gsubmit", "--bulk", path, "--parsable").stdout.split()) == 2, text
        path.write_bytes(text + b"\n\n{}")
        r = cluster.run("gsubmit", "--bulk", path, check=False)
        number = (text + b"\n\n").count(b"\n") + 1
        assert r.returncode == 2 and f'foreign:{number}: needs "script" or "wrap"' in r.stderr, r.stderr
    path.write_bytes(one + b"\n\xef\xbb\xbf" + two)  # nowhere else
    assert "foreign:2: no JSON: " in cluster.run("gsubmit", "--bulk", path, check=False).stderr
    for name, why in (("nowhere", "No such file or directory"), ("/tmp", "Is a directory")):
        r = cluster.run("gsubmit", "--bulk", name, check=False)
        assert (r.returncode, r.stderr) == (1, f"gsubmit: error: --bulk: file '{name}': {why}\n")


def test_a_token_names_all_of_them(cluster):
    first = bulk(cluster, lines(130), "--token=monday").stdout
    count = len(cluster.jobs())
    assert bulk(cluster, lines(130), "--token=monday").stdout == first
    assert len(cluster.jobs()) == count
    r = bulk(cluster, lines(130, nice=5, chdir="/tmp"), "--token=monday", check=False)
    assert r.returncode == 1 and "token" in r.stderr
    more = bulk(cluster, lines(140), "--token=monday").stdout.split()  # ten new ones behind those
    assert more[:130] == first.split() and len(cluster.jobs()) == count + 10


def test_options_that_cannot_be(cluster):
    for options, text in ((["--wait"], "--wait"), (["--wrap=x"], "--wrap"), (["--test-only"], "--test-only"),
                          (["job.sh"], "scripts are named in the file")):
        r = cluster.run("gsubmit", "--bulk", "/dev/null", *options, check=False)
        assert r.returncode in (2, 125) and text in r.stderr
    assert "the file has no job" in cluster.run("gsubmit", "--bulk", "/dev/null", check=False).stderr


def test_accepted_survives_a_kill(cluster):
    ids = [int(x) for x in bulk(cluster, lines(300)).stdout.split()]
    cluster.ctld.kill()
    cluster.start_ctld()
    jobs = cluster.jobs()
    assert all(i in jobs for i in ids)


def test_scripts_that_fill_a_message_each(cluster):
    """Parts are cut by their bytes as well as by their jobs."""
    path = cluster.dir / "jobs/large.sh"
    path.write_text("#!/bin/sh\n" + "# a line\n" * 350000)
    ids = bulk(cluster, [json.dumps({"script": "large.sh", "hold": True})] * 5).stdout.split()
    assert len(ids) == 5
    cluster.run("gcancel", *ids)


def start_bulk(c, n, **env):
    """A bulk under way: some of its parts are with the controller."""
    (c.dir / "jobs/many.jsonl").write_text("\n".join(lines(n)))
    before = done_by_workers(c)
    d = Daemon("gsubmit", [BIN["gsubmit"], "--bulk", c.dir / "jobs/many.jsonl", "--export=NONE", "--chdir=/tmp"],
               c.dir / "log/gsubmit.log", {**c.env, **env})
    wait_until(lambda: not d.alive() or done_by_workers(c) > before + 5, "parts to arrive")
    return d


def stats(c):
    return {s["name"]: s["value"] for s in json.loads(c.run("gctl", "stats", "--json").stdout)["stats"]}


def done_by_workers(c):
    return stats(c)["workers.done"]


def test_the_loop_takes_it_in_slices(cluster):
    """Three steps of at most 256 jobs a tick, and rows as they come: others are dealt with in between."""
    n = 6000
    before = stats(cluster)
    ids = bulk(cluster, lines(n), "--export=NONE").stdout.split()
    after = stats(cluster)
    assert len(ids) == n and int(ids[-1]) - int(ids[0]) == n - 1
    assert after["loop.ticks"] - before["loop.ticks"] >= 3 * n / 256
    assert after["store.commits"] - before["store.commits"] > 2


@pytest.mark.skipif(not failpoints("gctld"), reason="built without --enable-failpoints")
@pytest.mark.parametrize("point", [f"{name}:{n}" for name in ("store_before_commit", "store_after_commit") for n in (2, 4)])
def test_all_or_none_when_killed_at_a_commit(point):
    """Some of its rows are durable, and the controller dies: nothing of it is there, or all. Asked again, all once."""
    n = 6000
    with Cluster(start=False) as c:
        c.start_munged()
        c.start_ctld(env={"GPUSCHED_FAILPOINT": point})
        (c.dir / "jobs/many.jsonl").write_text("\n".join(lines(n)))
        again = ["gsubmit", "--bulk", "many.jsonl", "--token=once", "--export=NONE", "--parsable"]
        c.run(*again, check=False, env={"GPUSCHED_RETRY": "0s"})
        wait_until(lambda: not c.ctld.alive(), f"the controller to die at {point}")
        c.start_ctld()
        assert len(c.jobs()) in (0, n)
        ids = c.run(*again).stdout.split()
        assert len(set(ids)) == n and len(c.jobs()) == n
        assert c.run(*again).stdout.split() == ids


def test_all_or_none_when_the_sender_is_killed():
    with Cluster() as c:
        start_bulk(c, 6000).kill()
        assert len(c.jobs()) in (0, 6000)
        assert len(bulk(c, lines(70)).stdout.split()) == 70  # and nothing of it is in the way
        start_bulk(c, 6000).kill()
        assert c.ctld.stop() == 0


def test_all_once_when_the_controller_is_killed_meanwhile():
    with Cluster() as c:
        d = start_bulk(c, 6000, GPUSCHED_RETRY="60s")
        c.ctld.kill()
        c.start_ctld()
        assert d.wait() == 0
        assert len(c.jobs()) == 6000


def test_one_job_in_the_file(cluster):
    [job] = bulk(cluster, lines(1)).stdout.split()
    assert cluster.run("gsubmit", "--bulk", "bulk.jsonl").stdout == f"Submitted batch job {int(job) + 1}\n"
