"""Every option of every command with values that nobody should give, and pairs that exclude each other.

The options are those of --help, so a new one is tested as soon as it is there. Each is given where no controller is
reached: what cannot be is refused there, before anybody is asked, with one line that names the option. What passes is
given once more to a controller that lives: what may be is taken, or refused for what the cluster is. Nothing is
submitted or changed, and nothing crashes.
"""

import os
import re
import subprocess
from concurrent.futures import ThreadPoolExecutor

import pytest
from cluster import BIN, SANITIZED, Cluster

# What else a command needs before it looks at anything.
COMMANDS = {
    "gsubmit": ["--test-only", "--wrap=true"], "grun": ["true"], "gqueue": [], "gcancel": ["1"], "ginfo": [], "gprio": [], "gshare": [],
    "gacct": [], "greport": ["use"], "glog": ["1"], "gctl hold": ["1"], "gctl archive": ["/old.db"], "gctl update": ["1", "--nice=1"],
    "gctl events": [], "gctl requeue": ["1"], "gctl drain": ["none", "why"], "gserve": [], "gserve scale": ["chat", "2"],
}
HUGE = b"x" * 65536
VALUES = [b"", b" ", b"-1", b"0", b"-0", b"+1", b"99999999999999999999", b"2147483648", b"9223372036854775808", b"9" * 65536, b"1e9",
          b"0x10", b"NaN", b"inf", b"1.5.5", b"1G1", b"%n", b";", b"a\nb", b"\x1b[2J", HUGE, b"\xff", b"\xff\xfe", "\U0001f642".encode(),
          b"../..", b"a,,b", b",", b"1,", b"=", b"[", b"n[1-", b"1-", b"5-1", b"-", b"--", b"1 2", b"'", b"$(id)", b":", b"@", b"*"]
PART = 18 if SANITIZED else 1  # of which one is tried of each option
# Bytes that need not be text: of what is no name but a path or a program.
BYTES = {"chdir", "error", "input", "output", "wrap", "file"}
# What these stand for in --help is a number, a time, a size, ids: only such will do. All others are names.
COUNTED = {"COUNT", "N", "N[-M]", "NUMBER", "TIME", "DURATION", "SIZE", "ID", "IDS", "JOB", "CURSOR", "SIGNAL",
           "[TYPE:]COUNT", "gpu:[TYPE:]COUNT", "SECONDS", "COLUMNS", "SET", "TIME|CURSOR", "yes|no", "MODE"}
# With an empty value `gctl update` takes these away, and so they are none at submit.
EMPTIED = {"begin", "deadline"}
# Numbers, times, sizes, ids: these and no other value of the list can be some.
CAN_BE = {
    "array": [b"0"], "array-throttle": [b"0"], "kept": [b"0"], "nice": [b"0", b"-1", b"-0"], "lines": [b"0", b"2147483648", b"9223372036854775808"],
    "rank": [b"0", b"2147483648"], "jobs": [b"2147483648"], "why": [b"2147483648"], "job": [b"2147483648", b"9223372036854775808"],
    "attach": [b"2147483648", b"9223372036854775808"], "since": [b"0", b"2147483648"],
    # MM.DD.YY; days and hours
    "begin": [b"1.5.5"], "deadline": [b"1.5.5"], "time": [b"0", b"5-1"], "loss-timeout": [b"5-1"],
} | dict.fromkeys(["max-wait", "requeue-delay", "immediate", "older-than"], [b"0", b"5-1"]) | dict.fromkeys(
    ["gpus", "gpus-per-node", "gpus-per-task"], [b"0"]) | dict.fromkeys(
    ["mem", "mem-per-cpu", "mem-per-gpu", "tmp"], [b"0", b"2147483648"]) | dict.fromkeys(["gpu-mem", "gpu-mem-burst", "gpu-mem-min"], [b"0", b"2147483648"])
# Nothing: takes back what a script said, or there is none.
NONE = EMPTIED | {"constraint", "prefer", "licenses", "nodelist", "exclude", "dependency", "requeue-on", "mail-user", "comment", "reason"}
# What has a form of its own, of which no value of the list is but these.
FORMS = {"dependency": [], "mail-type": [], "requeue-on": [], "label": [b"="], "open-mode": [], "kill-on-invalid-dep": [], "gres": [],
         "gpu-share": [], "signal": [], "by": [b"0", b"2147483648"], "states": [], "state": [], "format": [], "sort": [], "file": []}
LISTS = {"LIST", "COLUMNS", "NODES"}


def may_be(command, name, kind, value):
    """Is it a value that somebody could mean?"""
    text = value.decode("utf-8", "replace")
    if name in BYTES - {"file"}:
        return value != b"" and value.strip() != b"" or name not in ("wrap",) and value == b" "
    if re.search(r"[\x00-\x1f\x7f\ufffd]", text):
        return False
    if not value:
        return name in NONE
    if len(value) > 4096:
        return name == "export"
    if name in ("since", "until", "before"):
        return name == "since" and command == "gctl events" and value in CAN_BE["since"]
    if kind == "NODES":
        return re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9._-]*", text) is not None
    if kind in COUNTED or name in CAN_BE:
        return value in CAN_BE.get(name, [])
    if name in FORMS and not (name == "label" and command.startswith(("gacct", "greport"))):
        return value in FORMS[name]
    return kind not in LISTS or name in ("constraint", "prefer", "licenses", "export") or "" not in text.split(",")


ENV = {k: v for k, v in os.environ.items() if not k.startswith(("GPUSCHED_", "GSUBMIT_", "SBATCH_"))} | {
    "GPUSCHED_CONTROLLER": "127.0.0.1:1", "GPUSCHED_CLUSTER": "test", "GPUSCHED_CONTROLLER_USER": "0", "GPUSCHED_RETRY": "0",
    "GPUSCHED_MUNGE_SOCKET": "/nonexistent", "LC_ALL": "C.UTF-8", "COLUMNS": "80"}
AWAY = b"the munge daemon does not answer"  # as it is there


def run(command, *args, env=ENV):
    words = command.split()
    return subprocess.run([BIN[words[0]], *words[1:], *args], env=env, stdin=subprocess.DEVNULL, capture_output=True,
                          timeout=120, check=False)


def options_of(command):
    """(names, what stands for their value) of --help: a line has what means the same."""
    words = command.split()
    asked = command if words[-1] in ("update", "events") else words[0]
    for line in re.findall(r"^ {2,6}(-.*)", run(asked, "--help").stdout.decode(), re.M):
        names = re.findall(r"--([a-z-]+)\[?=([^ ,\]]+(?:\][A-Z]+)?)", line.split("  ")[0])
        if names:
            yield [n for n, _ in names], names[0][1]


def cases():
    """Each option with each value, by each of its names in turn; under sanitizers a sixth of the values, another sixth for the next option."""
    n = 0
    for command, more in COMMANDS.items():
        found = list(options_of(command))
        assert len(found) > 2, command
        for names, kind in found:
            if command.startswith("gctl ") and (names[0] in ("before", "older-than")) != (command == "gctl archive") and command not in (
                    "gctl update", "gctl events"):
                continue
            n += 1
            rest = [m for m in more if not m.startswith(f"--{names[0]}=")]
            yield from ((command, names, names[i % len(names)], kind, value, rest) for i, value in enumerate(VALUES) if (i + n) % PART == 0)


def judge(case, env):
    """What is wrong with it; None: nothing."""
    command, names, name, kind, value, more = case
    given = (b"--%s=%s" % (name.encode(), value), *more)
    r = run(command, *given)
    passed = AWAY in r.stderr
    if passed and command != "grun":  # which would run it
        r = run(command, *given, env=env)
    err = r.stderr.decode("utf-8", "replace")
    # A file that is not here is only warned of: the node may see another.
    head, *rest = [line for line in err.splitlines() if ": warning: " not in line] or [""]
    taken = r.returncode == 0 or AWAY.decode() in head or "another request of this kind is in progress" in head
    clear = re.match(r"g\w+( \w+)?: error: .", head) and len(rest) <= 1 and len(err) < 700 and not re.search(
        r"[\x00-\x09\x0b-\x1f\x7f\ufffd]", err)
    named = any(f"--{n}" in head for n in names)
    refused = clear and r.returncode in ((125,) if command == "grun" else (1, 2, 3) if passed or name == "file" else (2,))
    at_once = not passed or kind not in COUNTED
    good = taken or refused if may_be(command, names[0], kind, value) else refused and named and at_once and not taken
    return None if good else f"{command} --{name}={value[:30]!r} ({kind}): {r.returncode}, passed {passed}, {err[:300]!r}"


def test_every_option_with_what_nobody_should_give(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)  # --plot makes folders
    every = list(cases())
    assert len(every) > 7200 // PART  # else --help is not read right
    with Cluster(start=False) as c:
        c.start_munged()
        c.start_ctld()
        env = {**c.env, "GPUSCHED_RETRY": "0"}
        before = c.run("gctl", "show", "config").stdout
        with ThreadPoolExecutor(4) as pool:
            wrong = [w for w in pool.map(lambda case: judge(case, env), every) if w]
        assert not wrong, f"{len(wrong)}:\n" + "\n".join(wrong[:40])
        assert c.jobs() == {} and c.run("gctl", "show", "config").stdout == before
        assert "drain" not in c.run("ginfo", "--nodes").stdout


@pytest.mark.parametrize("argv", [["gqueue", "-w"], ["gcancel", "-w"], ["gctl", "hold", "-w"], ["gacct", "-N"], ["ginfo", "-n"],
                                  ["gctl", "show", "node"]], ids=" ".join)
def test_all_nodes_of_a_large_cluster_are_one_word(argv):
    """Their names, one by one, would be more than a request may have."""
    with Cluster(nodes=["n[00001-12000]"], start=False) as c:
        c.start_munged()
        c.start_ctld()
        r = c.run(*argv, "n[00001-12000]", check=False)
        assert r.returncode == 0, r.stderr[:300]


def test_more_than_one_request_may_have():
    with Cluster(start=False) as c:
        c.start_munged()
        c.start_ctld()
        r = c.run("gctl", "events", "--nodes=n[00001-12000]", check=False)
        assert r.returncode == 2 and "at most 65536 in one request: ask in several" in r.stderr


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
