"""Lists while the controller is away, restarts, or dies in the midst of its answer: whole, or it is said that they are not."""

import json
import signal
import subprocess
import time

import pytest
from cluster import BIN, BUILD, SANITIZED, Cluster, wait_until

JOBS, NODES = (3000, 3000) if SANITIZED else (6000, 6000)
LISTS = ["gqueue", "gqueue --all -l", "gqueue --start", "ginfo", "ginfo -N", "ginfo --gpus", "gprio", "gprio --weights", "gshare", "gacct -s PENDING",
         "greport use", "gctl events", "gctl stats", "gctl ping", "gctl show node n0001", "gctl show partition"]
LONG = ["gqueue", "gprio", "ginfo -N", "ginfo --gpus", "gacct -s PENDING"]


@pytest.fixture(scope="module", name="cluster")
def fixture_cluster():
    with Cluster(nodes=[f"n[0001-{NODES}]"], start=False) as c:
        c.start_munged()
        c.start_ctld()
        (c.dir / "jobs/many").write_text("".join(f'{{"wrap":"true","job-name":"job-{i:05}-with-a-long-name"}}\n' for i in range(JOBS)))
        c.run("gsubmit", "--bulk=many", "--hold", "--export=NONE")
        yield c


def begin(c, listing, *more, **env):
    words = [*listing.split(), *more]
    if "--json" in words and "-l" in words:
        words.remove("-l")
    return subprocess.Popen([BIN[words[0]], *words[1:]], env={**c.env, **env}, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


@pytest.mark.parametrize("listing", LISTS)
def test_not_there(cluster, listing):
    """Nobody answers, and nobody comes back: exit 4, one line that says whom it did not reach, and JSON that is JSON."""
    for more in ((), ("--json",)):
        p = begin(cluster, listing, *more, GPUSCHED_RETRY="0", GPUSCHED_CONTROLLER="127.0.0.1:1")
        out, err = p.communicate(timeout=60)
        name = "gctl events" if listing == "gctl events" else listing.split()[0]
        assert p.returncode == 4 and err.startswith(f"{name}: error: cannot reach the controller at 127.0.0.1:1"), err
        assert len(err.splitlines()) == 2 and err.splitlines()[1].startswith("hint: "), err
        if more:
            assert "cannot reach" in str(json.loads(out)["error"])
        else:
            assert out == ""


def test_they_wait_for_one_that_comes_back(cluster):
    """Who asks while the controller restarts is answered by the next one."""
    c = cluster
    want = {(listing, more): begin(c, listing, *more).communicate()[0] for listing in LISTS if listing != "gctl ping"
            for more in ((), ("--json",))}
    c.ctld.kill(signal.SIGKILL)
    asked = {key: begin(c, key[0], *key[1], GPUSCHED_RETRY="60s") for key in want}
    c.start_ctld()
    for (listing, more), p in asked.items():
        out, err = p.communicate(timeout=120)
        assert p.returncode == 0 and err == "", (listing, err)
        if more:
            assert set(json.loads(out)) == set(json.loads(want[listing, more])), listing
        elif listing != "gctl stats":
            # That a node does not respond is said once its time is over, which begins anew with the controller.
            lines, before = ([x for x in text.splitlines() if not x.startswith("REASON ")] for text in (out, want[listing, more]))
            assert len(lines) >= len(before), listing


@pytest.mark.skipif(SANITIZED, reason="a sanitizer wants to be loaded first")
def test_they_wait_for_a_slow_disk(cluster):
    """Listings that are asked while a commit takes long wait for it, all together, and then each goes on to its end."""
    c = cluster
    slow = c.dir / "slow-disk"
    c.ctld.stop()
    c.start_ctld(env={"LD_PRELOAD": str(BUILD / "testsuite/system/helpers/slow_disk.so"), "SLOW_DISK": str(slow)})
    slow.touch()
    asked = [begin(c, "gctl update 1 --comment=slow"), *(begin(c, "gqueue", GPUSCHED_RETRY="0") for _ in range(120))]
    wait_until(lambda: all(_sleeps(p.pid) for p in asked), "all of them to wait for the commit")
    slow.unlink()
    changed, *listings = [p.communicate(timeout=60) for p in asked]
    assert changed[1] == "" and {(len(out.splitlines()) > JOBS, err) for out, err in listings} == {(True, "")}


@pytest.mark.parametrize("listing", LONG)
@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGTERM], ids=["killed", "ended"])
def test_it_dies_in_the_midst(cluster, listing, how):
    """Of an answer that broke off nothing is passed off as the whole: all is there once, or the exit status and JSON say what is wrong."""
    c = cluster
    for more in (("--json",), ("--csv",)):
        p = begin(c, listing, *more, GPUSCHED_RETRY="60s")
        first = p.stdout.readline()  # it has begun, and cannot go on: nobody reads
        wait_until(lambda: _sleeps(p.pid), "it to be held up by its reader")
        c.ctld.kill(how) if how == signal.SIGKILL else c.ctld.stop()
        c.start_ctld()
        out, err = first + p.stdout.read(), p.stderr.read()
        p.wait(60)
        lines = out.splitlines()
        if p.returncode == 0:
            n = {"gqueue": JOBS, "gprio": JOBS, "gacct -s PENDING": JOBS}.get(listing, NODES)
            if more == ("--json",):
                document = json.loads(out)
                assert "error" not in document
                assert n == len({str(o.get("id", o.get("job", o.get("name")))) for o in _objects(document)}) == len(_objects(document))
            else:
                assert len(set(lines)) == len(lines) >= n
        else:
            assert p.returncode == 4 and "error: " in err, (p.returncode, err)
            if more == ("--json",):
                assert json.loads(out)["error"]


def _objects(document):
    return next(v for v in document.values() if isinstance(v, list))


def _sleeps(pid):
    """Twice in a row, so that it is no pause between two reads."""
    def state():
        with open(f"/proc/{pid}/wchan") as f, open(f"/proc/{pid}/stat") as s:
            return s.read().rsplit(")", 1)[1].split()[0], f.read()
    before = state()
    time.sleep(0.02)
    return before == state() and before[0] in "SD" or before[0] == "Z"
