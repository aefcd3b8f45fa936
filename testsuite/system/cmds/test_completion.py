"""Completion in bash: options from --help, names from the cluster, nothing from one that is away."""

import re
import shlex

import pytest
from cluster import BIN, BUILD, TOP, Cluster
from tools import need

SCRIPT = TOP / "etc/completions/gpusched.bash"


@pytest.fixture(scope="module")
def cluster():
    need("bash")
    policy = 'qos = ( { name = "normal"; default = true; }, { name = "urgent"; priority = 5; } );\n'
    policy += 'accounts = ( { name = "vision"; shares = 1; members = [ "*" ]; }, { name = "speech"; shares = 1; } );'
    parts = ('( { name = "batch"; nodes = "ALL"; default = true; max_time = "1:00:00"; }, '
             '{ name = "big"; nodes = "ALL"; max_time = "1:00:00"; } )')
    with Cluster(policy=policy, partitions=parts, gpus="h100:2") as c:
        yield c


def complete(cluster, *words, env=None):
    """What bash would offer for the last of the words."""
    line = f"""source {shlex.quote(str(SCRIPT))}
COMP_WORDS=({' '.join(map(shlex.quote, words))}); COMP_CWORD=$((${{#COMP_WORDS[@]}} - 1))
_gpusched; printf '%s\\n' "${{COMPREPLY[@]}}"
"""
    r = cluster.run("bash", "--norc", "-c", line, env=env)
    assert r.stderr == ""
    return r.stdout.split()


def test_options(cluster):
    assert set(complete(cluster, "gsubmit", "--gpus")) == {"--gpus=", "--gpus-per-node=", "--gpus-per-task="}
    assert "--hold" in complete(cluster, "gsubmit", "--")
    assert complete(cluster, "gqueue", "--nohe") == ["--noheader"]
    path = {"PATH": f"{BUILD / 'ctld/gsim'}:{cluster.env['PATH']}"}
    assert complete(cluster, "gsim", "--ag", env=path) == ["--against="] and complete(cluster, "gsim", "--compa", env=path) == ["--compare"]
    path = {"PATH": f"{BUILD / 'ctld/gdemand'}:{cluster.env['PATH']}"}
    assert complete(cluster, "gdemand", "--ke", env=path) == ["--keep="]
    assert complete(cluster, "gdemand", "--format", "=", "j") == ["json"]
    assert complete(cluster, "gdemand", "--size", "=", "n") == ["n1"]
    assert complete(cluster, "gsim", "--policy", "=", "f") == ["fifo", "fgd"]
    assert "--gpus=" in complete(cluster, "gctl", "update", "--gp")


def test_partitions_and_accounts(cluster):
    assert complete(cluster, "gsubmit", "--partition", "=", "b") == ["batch", "big"]
    assert complete(cluster, "gsubmit", "--partition", "=") == ["batch", "big"]
    assert complete(cluster, "gsubmit", "-p", "bi") == ["big"]
    assert complete(cluster, "gqueue", "-p", "batch,bi") == ["batch,big"]
    assert complete(cluster, "gsubmit", "-A", "v") == ["vision"]
    assert sorted(complete(cluster, "gshare", "--accounts", "=", "")) == ["speech", "vision"]


def test_each_option_of_each_command(cluster):
    """All that --help lists is offered, with its '=' where it has a value: the table of options is the source."""
    for command in ("gsubmit", "gqueue", "gcancel", "ginfo", "gctl", "gprio", "gserve", "gshare", "gacct", "greport", "glog", "grun",
                    *(["gtop"] if BIN["gtop"].exists() else []), "gctl update", "gctl events", "gserve update"):
        words = command.split()
        told = cluster.run(*words, "--help").stdout
        rows = re.findall(r"^ +(?:-[A-Za-z?], )*(--.*?)(?:  |$)", told, re.M)
        want = {o.partition("[")[0].split("=")[0] + ("=" if "=" in row else "") for row in rows
                for o in re.findall(r"--[a-z][a-z-]*(?:\[?=)?", row)}
        assert len(want) > 4 and "--help" in want
        have = set(complete(cluster, *words, "--"))
        assert {h.rstrip("=") for h in have} == {w.rstrip("=") for w in want}, command
    assert "grun" in SCRIPT.read_text().splitlines()[-1]


def test_qos_nodes_types_and_states(cluster):
    assert complete(cluster, "gsubmit", "--qos", "=", "") == ["normal", "urgent"]
    assert complete(cluster, "gacct", "-q", "ur") == ["urgent"]
    assert complete(cluster, "gqueue", "--nodes", "=", "n") == ["n1"] == complete(cluster, "gsubmit", "-w", "n")
    assert complete(cluster, "gsubmit", "--gpus", "=", "h") == ["h100:"]
    assert complete(cluster, "gsubmit", "--mail-type", "=", "END,FA") == ["END,FAIL"]
    refused = cluster.run("gqueue", "-t", "nosuch", check=False).stderr
    assert complete(cluster, "gqueue", "-t", "") == refused.partition("hint: ")[2].split(), "the states that there are"


def test_jobs(cluster):
    jobs = sorted(str(cluster.submit("true", "--hold")) for _ in range(2))
    assert sorted(complete(cluster, "gcancel", "")) == jobs
    assert sorted(complete(cluster, "gctl", "release", "")) == jobs
    assert sorted(complete(cluster, "gctl", "show", "job", jobs[0])) == jobs[:1]
    cluster.run("gcancel", *jobs)
    for j in jobs:
        cluster.wait_state(int(j), "CANCELLED")
    assert complete(cluster, "gcancel", "") == []


def test_newer_commands(cluster):
    """Names of the cluster for what came later: grun, glog, archives and reports."""
    job = str(cluster.submit("true", "--hold"))
    for words in (("glog", ""), ("glog", "-f", ""), ("grun", "--attach", "=", ""), ("gctl", "wait", ""), ("gctl", "renew", ""),
                  ("gctl", "events", "--job", "="), ("gacct", "-j", ""), ("gctl", "update", "")):
        assert job in complete(cluster, *words), words
    assert complete(cluster, "grun", "-p", "bi") == ["big"]
    assert complete(cluster, "grun", "--account", "=", "vis") == ["vision"]
    assert "--pty" in complete(cluster, "grun", "--p")
    assert complete(cluster, "gctl", "arch") == ["archive"]
    assert complete(cluster, "gctl", "archive", "--old") == ["--older-than="]
    assert "--follow" in complete(cluster, "gctl", "events", "--f")
    assert complete(cluster, "greport", "w") == ["wait"]
    assert complete(cluster, "greport", "use", "--by", "=", "user,pa") == ["user,partition"]
    (cluster.dir / "jobs/old.db").touch()
    assert complete(cluster, "gacct", "--file", "=", "ol") == complete(cluster, "gctl", "archive", "ol") == ["old.db"]
    assert "n1" in complete(cluster, "gctl", "resume", "") and job in complete(cluster, "gctl", "resume", "")
    cluster.run("gcancel", job)


def test_gctl(cluster):
    assert complete(cluster, "gctl", "re") == ["reconfigure", "release", "renew", "requeue", "resume"]
    assert "job" in complete(cluster, "gctl", "show", "")
    assert complete(cluster, "gctl", "drain", "") == ["n1"]
    assert complete(cluster, "gctl", "partition", "big", "d") == ["drain", "down"]


def test_columns_and_files(cluster):
    assert complete(cluster, "gqueue", "-o", "JOBID,PART") == ["JOBID,PARTITION"]
    (cluster.dir / "jobs/train.sh").touch()
    assert complete(cluster, "gsubmit", "tra") == ["train.sh"]


def test_a_cluster_that_is_away_completes_nothing(cluster):
    assert complete(cluster, "gsubmit", "-p", "", env={"GPUSCHED_CONTROLLER": "127.0.0.1:1"}) == []
