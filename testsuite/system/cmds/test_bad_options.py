"""Every option of every command with values that cannot be: refused before anybody is asked, and named.

The options are those of --help, so a new one is tested as soon as it is there. No controller is needed: what is
accepted comes to the one that is not reached.
"""

import os
import re
import subprocess
from concurrent.futures import ThreadPoolExecutor

import pytest
from cluster import BIN

# What else a command needs before it looks at anything.
COMMANDS = {
    "gsubmit": ["--wrap=true"], "grun": ["true"], "gqueue": [], "gcancel": ["1"], "ginfo": [], "gprio": [], "gshare": [],
    "gacct": [], "greport": ["use"], "glog": ["1"], "gctl hold": ["1"], "gctl archive": ["/old.db"], "gctl update": ["1", "--nice=1"],
    "gctl events": [],
}
VALUES = [b"\xff", b"99999999999999999999999", b"-1", b""]
# Bytes that need not be text: of what is no name but a path or a program.
BYTES = {"chdir", "error", "input", "output", "wrap", "file"}
# What these stand for in --help is a number, a time, a size, ids: only such will do. All others are names.
COUNTED = {"COUNT", "N", "N[-M]", "NUMBER", "TIME", "DURATION", "SIZE", "ID", "IDS", "JOB", "CURSOR", "SIGNAL",
           "[TYPE:]COUNT", "gpu:[TYPE:]COUNT", "SECONDS", "COLUMNS", "SET", "TIME|CURSOR", "yes|no", "MODE"}
# With an empty value `gctl update` takes these away, and so they are none at submit.
EMPTIED = {"begin", "deadline"}
ENV = {k: v for k, v in os.environ.items() if not k.startswith(("GPUSCHED_", "GSUBMIT_", "SBATCH_"))} | {
    "GPUSCHED_CONTROLLER": "127.0.0.1:1", "GPUSCHED_CLUSTER": "test", "GPUSCHED_CONTROLLER_USER": "0", "GPUSCHED_RETRY": "0",
    "GPUSCHED_MUNGE_SOCKET": "/nonexistent", "LC_ALL": "C.UTF-8", "COLUMNS": "80"}


def run(command, *args):
    words = command.split()
    return subprocess.run([BIN[words[0]], *words[1:], *args], env=ENV, stdin=subprocess.DEVNULL, capture_output=True,
                          timeout=60, check=False)


def options_of(command):
    """(names, what stands for their value) of --help: a line has what means the same."""
    words = command.split()
    asked = command if words[-1] in ("update", "events") else words[0]
    for line in re.findall(r"^ {2,6}(-.*)", run(asked, "--help").stdout.decode(), re.M):
        names = re.findall(r"--([a-z-]+)\[?=([^ ,\]]+(?:\][A-Z]+)?)", line.split("  ")[0])
        if names:
            yield [n for n, _ in names], names[0][1]


def cases():
    for command in COMMANDS:
        found = list(options_of(command))
        assert len(found) > 2, command
        for names, kind in found:
            name = names[0]
            if command == "gctl hold" and name in ("before", "older-than") or command == "gctl archive" and name not in (
                    "before", "older-than"):
                continue
            for value in VALUES:
                yield from ((command, names, n, kind, value) for n in names)


def judge(case):
    """What is wrong with it; None: nothing."""
    command, names, name, kind, value = case
    r = run(command, b"--%s=%s" % (name.encode(), value), *COMMANDS[command])
    usage, away = (2, 4) if command != "grun" else (125, 125)
    err = r.stderr.decode("utf-8", "replace")
    named = any(f"--{n}" in err for n in names)
    # A file that is not here is only warned of: the node may see another.
    head = next((line for line in err.splitlines() if ": warning: " not in line), "")
    refused = r.returncode == usage and named
    if value == b"\xff":
        good = refused or name in BYTES
    elif kind in COUNTED:
        good = refused or (value == b"" and name in EMPTIED) or (name == "nice" and value == b"-1")
    else:
        good = refused or r.returncode == away
    if name == "file":
        good = named and r.returncode in (1, 2)
    if good and ": error: " in head and "\xff" not in err and not re.search(r"[\x00-\x09\x0b-\x1f\x7f]", err):
        return None
    return f"{command} --{name}={value!r} ({kind}): {r.returncode}, {err!r}"


def test_every_option_is_named_with_what_cannot_be():
    every = list(cases())
    assert len(every) > 600  # else --help is not read right
    with ThreadPoolExecutor(4) as pool:
        wrong = [w for w in pool.map(judge, every) if w]
    assert not wrong, "\n".join(wrong)


# Each two of them exclude each other, and both are named.
PAIRS = [
    ("gacct", "--csv", "--json"), ("greport use", "--csv", "--json"), ("gqueue", "--csv", "--json"),
    ("ginfo", "--csv", "--json"), ("gprio", "--csv", "--json"), ("gshare", "--csv", "--json"),
    ("gctl events", "--csv", "--json"), ("gctl events", "--follow", "--until=now"), ("gctl events", "--follow", "--sort=TIME"),
    ("gctl events", "--follow", "--csv"), ("gctl events", "--follow", "--file=/old.db"),
    ("gctl archive /old.db", "--before=now", "--older-than=1d"), ("gctl show job 1", "--script", "--env"),
    ("gsubmit", "--wrap=true", "--bulk=jobs"),
    ("gsubmit --wrap=true", "--mem=1G", "--mem-per-cpu=1G"), ("gsubmit --wrap=true", "--mem=1G", "--mem-per-gpu=1G"),
    ("gqueue", "--watch", "--why=1"), ("gqueue", "--watch", "--sort=JOBID"),
    ("gqueue", "--why=1", "--start"), ("gqueue", "--why=1", "--format=JOBID"), ("gqueue", "--why=1", "--sort=JOBID"),
    ("gqueue", "--why=1", "--csv"), ("gqueue", "--why=1", "--long"), ("gqueue", "--why=1", "--states=PD"),
    ("gqueue", "--why=1", "--me"), ("gqueue", "--why=1", "--partition=batch"),
    ("gqueue", "--why=1", "--account=a"), ("gqueue", "--why=1", "--qos=a"),
    ("gqueue", "--me", "--user=marc"), ("gcancel", "--me", "--user=marc"), ("gacct", "--me", "--user=marc"),
    ("gprio", "--me", "--user=marc"), ("gprio", "--weights", "--jobs=1"), ("gprio", "--weights", "--norm"),
    ("gprio", "--norm", "--format=JOBID"), ("gprio", "--norm", "--long"), ("gprio", "--norm", "--json"),
    ("gqueue", "--watch", "--start"), ("gqueue", "--start", "--states=RUNNING"), ("gqueue", "--why=1", "--user=marc"),
    ("gqueue", "--why=1", "--name=x"), ("gqueue", "--why=1", "--nodes=n1"),
    ("gsubmit --wrap=true", "--wait", "--test-only"), ("gsubmit --wrap=true", "--parsable", "--json"),
    ("gsubmit", "--bulk=jobs", "--wait"), ("gsubmit", "--bulk=jobs", "--test-only"), ("gsubmit --bulk=jobs", "--parsable", "--json"),
    ("gsubmit --wrap=true", "--mem-per-cpu=1G", "--mem-per-gpu=1G"), ("gsubmit --wrap=true", "--cpus-per-task=2", "--cpus-per-gpu=2"),
    ("gsubmit --wrap=true", "--gpus=4", "--gpus-per-node=3"), ("gsubmit --wrap=true", "--gpus=4", "--gres=gpu:3"),
    ("gsubmit --wrap=true", "--no-requeue", "--requeue-on=exit:3"), ("gctl update 1", "--gpus=4", "--gpus-per-node=3"),
    ("grun", "--attach=1", "--gpus=1"), ("grun", "--attach=1", "--pty"), ("grun", "--attach=1", "--immediate"),
    ("grun", "--attach=1", "--loss-timeout=5"), ("grun", "--detach-on-loss", "--loss-timeout=5"),
    ("gctl show job 1", "--script", "--json"), ("gctl show job 1", "--env", "--json"), ("gcancel --signal=HUP 1", "--batch", "--full"),
] + [(command, one, other) for command in ("gacct", "greport use", "gqueue", "ginfo", "gprio", "gshare", "gctl events") for one, other in (
    ("--json", "--format=JOBID"), ("--json", "--long"), ("--json", "--sort=JOBID"), ("--long", "--format=JOBID"))]


@pytest.mark.parametrize("pair", PAIRS, ids=" ".join)
def test_two_that_exclude_each_other_are_both_named(pair):
    command, *options = pair
    for given in (options, options[::-1]):
        r = run(command, *given)
        names = [o.split("=")[0] for o in options]
        told = r.stderr.decode().replace("options that choose jobs", "--jobs")
        assert r.returncode == (125 if command == "grun" or "--wait" in names else 2) and all(n in told for n in names), r
