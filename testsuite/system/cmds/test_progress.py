"""Progress of long commands: on a terminal at most one line that is gone at the end, in a pipe nothing, with --quiet nothing."""

import os
import pty
import subprocess

import pytest
from cluster import BIN, Cluster

JOBS = 8000


@pytest.fixture(scope="module", name="cluster")
def fixture_cluster():
    with Cluster(nodes=("n1",)) as c:
        (c.dir / "jobs/bulk.json").write_text("".join(f'{{"wrap": "true {i}", "gpus": "1"}}\n' for i in range(JOBS)))
        yield c


def on_a_terminal(c, command, *argv, term="xterm"):
    """Standard output, and what a terminal that is standard error saw."""
    master, slave = pty.openpty()
    p = subprocess.Popen([BIN[command], *map(str, argv)], stdout=subprocess.PIPE, stderr=slave, env={**c.env, "TERM": term},
                         cwd=c.dir / "jobs")
    os.close(slave)
    seen = b""
    try:
        while data := os.read(master, 65536):
            seen += data
    except OSError:
        pass  # the other end is closed
    os.close(master)
    out = p.communicate()[0].decode()
    assert p.returncode == 0, (out, seen)
    return out, seen


def is_clean(seen, words):
    """Whatever was drawn (a fast machine draws nothing) is one line, over which the next was drawn, and gone."""
    assert seen == b"" or (seen.startswith(b"\r") and seen.endswith(b"\r\033[K") and b"\n" not in seen)
    assert all(line.startswith(words) for line in seen.replace(b"\033[K", b"").split(b"\r") if line)


def test_commands(cluster):
    c = cluster
    copy, old = c.dir / "state/copy.db", c.dir / "state/old.db"
    out, seen = on_a_terminal(c, "gsubmit", "--hold", "--bulk", "bulk.json")
    assert out.startswith(f"Submitted {JOBS} batch jobs ")
    is_clean(seen, (b"reading", b"submitting"))
    out, seen = on_a_terminal(c, "gctl", "backup", copy)
    assert out.startswith("Backup written to ")
    is_clean(seen, b"copying")
    out, seen = on_a_terminal(c, "gctl", "verify", copy)
    assert f"good: {JOBS} jobs" in out
    is_clean(seen, (b"checking pages", b"checking rows"))
    out, seen = on_a_terminal(c, "gctl", "archive", old, "--older-than=1s")
    assert "copied; the history has them too" in out
    is_clean(seen, b"archiving")


@pytest.mark.parametrize("argv", [("gctl", "verify"), ("gctl", "backup")])
def test_nothing(cluster, tmp_path, argv):
    c, file = cluster, cluster.dir / f"state/{tmp_path.name}.db"
    for how, (options, term) in enumerate(((["--quiet"], "xterm"), ([], "dumb"))):
        path = f"{file}{how}"
        c.run("gctl", "backup", path) if argv[1] == "verify" else None
        out, seen = on_a_terminal(c, *argv, path, *options, term=term)
        assert out and seen == b""
    r = subprocess.run([BIN["gctl"], argv[1], f"{path}.piped" if argv[1] == "backup" else path], capture_output=True, env=c.env, check=True)
    assert r.stdout and r.stderr == b""
    r = subprocess.run([BIN["gsubmit"], "--hold", "--bulk", "bulk.json"], capture_output=True, env=c.env, check=True, cwd=c.dir / "jobs")
    assert r.stderr == b""
