"""Every option of every command with values that nobody should give, against a controller that lives.

The options are those of --help, as in test_bad_options.py, where nobody is asked. What cannot be is refused with one
line that names the option, whoever finds it out; what may be is taken, or refused for what the cluster is; nothing is
submitted or changed, and nothing crashes.
"""

import re
import subprocess
from concurrent.futures import ThreadPoolExecutor

import pytest
from cluster import BIN, Cluster
from test_bad_options import BYTES, COMMANDS, COUNTED, EMPTIED, options_of

COMMANDS = COMMANDS | {"gsubmit": ["--test-only", "--wrap=true"], "gctl requeue": ["1"], "gctl drain": ["none", "why"]}
HUGE = b"x" * 65536
VALUES = [b"", b" ", b"-1", b"0", b"-0", b"+1", b"99999999999999999999", b"2147483648", b"9223372036854775808", b"9" * 65536, b"1e9",
          b"0x10", b"NaN", b"inf", b"1.5.5", b"1G1", b"%n", b";", b"a\nb", b"\x1b[2J", HUGE, b"\xff\xfe", "\U0001f642".encode(),
          b"../..", b"a,,b", b",", b"1,", b"=", b"[", b"n[1-", b"1-", b"5-1", b"-", b"--", b"1 2", b"'", b"$(id)", b":", b"@", b"*"]
# Numbers, times, sizes, ids: these and no other value of the list can be some.
CAN_BE = {
    "array": [b"0"], "array-throttle": [b"0"], "nice": [b"0", b"-1", b"-0"], "lines": [b"0", b"2147483648", b"9223372036854775808"],
    "rank": [b"0", b"2147483648"], "jobs": [b"2147483648"], "why": [b"2147483648"], "job": [b"2147483648", b"9223372036854775808"],
    "attach": [b"2147483648", b"9223372036854775808"], "since": [b"0", b"2147483648"],
    # MM.DD.YY; days and hours
    "begin": [b"1.5.5"], "deadline": [b"1.5.5"], "time": [b"5-1"], "loss-timeout": [b"5-1"],
} | dict.fromkeys(["max-wait", "requeue-delay", "immediate", "older-than"], [b"0", b"5-1"]) | dict.fromkeys(
    ["gpus", "gpus-per-node", "gpus-per-task"], [b"0"]) | dict.fromkeys(
    ["mem", "mem-per-cpu", "mem-per-gpu"], [b"0", b"2147483648"]) | dict.fromkeys(["gpu-mem", "gpu-mem-burst", "gpu-mem-min"], [b"0", b"2147483648"])
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


def cases():
    for command, more in COMMANDS.items():
        for names, kind in options_of(command):
            if command.startswith("gctl ") and (names[0] in ("before", "older-than")) != (command == "gctl archive") and command not in (
                    "gctl update", "gctl events"):
                continue
            rest = [m for m in more if not m.startswith(f"--{names[0]}=")]
            yield from ((command, names, kind, value, rest) for value in VALUES)


def judge(case, env):
    """What is wrong with it; None: nothing."""
    command, names, kind, value, more = case
    words = command.split()
    away = {"GPUSCHED_CONTROLLER": "127.0.0.1:1"} if command == "grun" else {}  # it would run
    r = subprocess.run([BIN[words[0]], *words[1:], b"--%s=%s" % (names[0].encode(), value), *more], env={**env, **away},
                       stdin=subprocess.DEVNULL, capture_output=True, timeout=120, check=False)
    err = r.stderr.decode("utf-8", "replace")
    head, *rest = err.splitlines() or [""]
    taken = r.returncode == 0 or "127.0.0.1:1" in head or "another one is under way" in head
    clear = re.match(r"g\w+( \w+)?: error: .", head) and len(rest) <= 1 and len(err) < 700 and not re.search(
        r"[\x00-\x09\x0b-\x1f\x7f\ufffd]", err)
    named = any(f"--{n}" in head for n in names)
    refused = clear and r.returncode in ((125,) if command == "grun" else (1, 2, 3))
    good = taken or refused if may_be(command, names[0], kind, value) else refused and named and not taken
    return None if good else f"{command} --{names[0]}={value[:30]!r} ({kind}): {r.returncode}, {err[:300]!r}"


def test_every_option_with_what_nobody_should_give():
    every = list(cases())
    assert len(every) > 7000  # else --help is not read right
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
