"""Runs from order to end: the launcher and its shepherds, with real munge and real processes."""

import contextlib
import ctypes
import os
import pathlib
import pwd
import re
import signal
import socket
import tempfile
import time

import pytest

from cluster import DEADLINE, ROOT, wait_until
from launcher import Job, Launcher, alive, parent, processes

KINDS = ["", "none"]  # cgroup2 where the host has it, and the subreaper


@pytest.fixture(name="lau")
def fixture_lau():
    launcher = Launcher()
    yield launcher
    launcher.close()


@pytest.fixture(name="any_lau", params=KINDS, ids=["best", "subreaper"])
def fixture_any_lau(request):
    launcher = Launcher(cgroup=request.param)
    yield launcher
    launcher.close()


def pid_in(lau, name):
    """A process id that a job wrote into a file."""
    path = lau.jobs / name
    return int(wait_until(lambda: path.exists() and path.read_text().strip(), f"a pid in {name}"))


def wait_gone(*pids):
    wait_until(lambda: not any(alive(p) for p in pids), f"the end of {pids}")


# --- how it ends -------------------------------------------------------------------------------

@pytest.mark.parametrize("script, code, sig", [
    ("exit 0", 0, 0), ("exit 1", 1, 0), ("exit 255", 255, 0), ("kill -KILL $$", 0, 9), ("kill -TERM $$", 0, 15),
    ("kill -SEGV $$", 0, 11), ("kill -USR1 $$", 0, 10), ("exec false", 1, 0), ("exit 137", 137, 0)])
def test_exit_is_reported_as_it_was(lau, script, code, sig):
    run = lau.submit(script)
    assert lau.result(run) == ("CAUSE_EXIT", code, sig)
    assert lau.history[run] == ["STARTING", "RUNNING", "ENDED"]


def test_report_has_times_and_usage(lau):
    before, began = time.time(), time.monotonic()
    run = lau.submit("i=0; while [ $i -lt 20000 ]; do i=$((i+1)); done; sleep 0.2")
    r = lau.wait_over(run)
    taken = (time.monotonic() - began) * 1e6
    assert before <= r["start_time"] / 1e6 <= r["end_time"] / 1e6 <= time.time()
    assert 200_000 <= r["elapsed_us"] <= taken
    assert 1000 < r["cpu_time_us"] <= taken
    assert r["max_rss_kb"] > 100
    assert r["uid"] == lau.owner().pw_uid


def test_a_short_run_tells_what_it_wrote(lau):
    """It is over before anybody samples it: the kernel's count of what the shepherd has waited for is all there is."""
    with tempfile.TemporaryDirectory(prefix="gpusched-test-", dir="/var/tmp") as d:  # on a disk, where /tmp may not be
        os.chmod(d, 0o777)
        r = lau.wait_over(lau.submit(f"dd if=/dev/zero of={d}/file bs=1M count=8 conv=fsync 2>/dev/null"))
    assert r["cause"] == "CAUSE_EXIT" and r["used"].get("written_bytes", 0) >= 8 << 20, r


def test_nothing_is_left_on_the_node(lau):
    runs = [lau.submit("exit 0") for _ in range(5)]
    for run in runs:
        lau.wait_over(run)
    wait_until(lambda: not lau.shepherds(), "shepherds to end")
    wait_until(lambda: not list((lau.dir / "spool/runs").iterdir()), "folders of runs to be removed")
    lau.forget(*runs)
    wait_until(lambda: not list((lau.dir / "run/runs").iterdir()), "records to be forgotten")


@pytest.mark.parametrize("way", ["(sleep 1000 & echo $! > pid) ", "setsid sh -c 'echo $$ > pid; exec sleep 1000' &",
                                 "sh -c '(setsid sh -c \"echo \\$\\$ > pid; exec sleep 1000\" &) &' ",
                                 "trap '' TERM HUP; nohup setsid sh -c 'echo $$ > pid; exec sleep 1000' >/dev/null &"])
def test_what_daemonises_ends_with_its_run(any_lau, way):
    run = any_lau.submit(f"{way}\nwhile ! [ -s pid ]; do sleep 0.01; done; exit 3")
    assert any_lau.result(run) == ("CAUSE_EXIT", 3, 0)
    assert not alive(pid_in(any_lau, "pid"))


def test_a_tree_that_keeps_forking_ends(any_lau):
    run = any_lau.submit("""
        spawn() { while :; do (setsid sleep 0.05 &); sleep 0.01; done; }
        spawn & spawn & spawn & echo ready > ready; exec sleep 1000""")
    wait_until((any_lau.jobs / "ready").exists, "the tree")
    any_lau.end(run, grace=0)
    assert any_lau.result(run) == ("CAUSE_CANCEL", 0, 9)
    wait_until(lambda: not any_lau.shepherds(), "shepherds to end")


# --- time limit, warning, grace -----------------------------------------------------------------

def test_time_limit_kills_what_ignores_term(any_lau):
    run = any_lau.submit("trap '' TERM; echo $$ > pid; while :; do sleep 0.1; done",
                         order={"time_limit_s": 1, "grace_s": 1})
    r = any_lau.wait_over(run)
    assert any_lau.result(run) == ("CAUSE_TIME_LIMIT", 0, 9)
    assert r["elapsed_us"] > 1_900_000  # the limit and the grace
    assert not alive(pid_in(any_lau, "pid"))


def test_time_limit_lets_the_program_end_itself(lau):
    run = lau.submit("trap 'cat $GPUSCHED_INTERRUPT_FILE > why; exit 9' TERM; while :; do sleep 0.05; done",
                     order={"time_limit_s": 1, "grace_s": 30})
    assert lau.result(run) == ("CAUSE_TIME_LIMIT", 9, 0)
    why = dict(line.split("=", 1) for line in (lau.jobs / "why").read_text().splitlines())
    assert why["reason"] == "timeout" and why["then"] == "end"
    r = lau.runs[run]
    assert r["start_time"] / 1e6 + 30 <= int(why["deadline"]) <= r["end_time"] / 1e6 + 31


def test_a_child_has_its_grace_when_term_ends_the_shell(any_lau):
    """The shell dies of TERM at once; the program that it waits for still saves its work."""
    run = any_lau.submit("""
        sh -c 'trap "sleep 0.5; echo saved > saved; exit 0" TERM; echo up > up; while :; do sleep 0.05; done'
        echo after > after""")
    wait_until((any_lau.jobs / "up").exists, "the program")
    any_lau.end(run, cause="CAUSE_PREEMPT", grace=3000)  # it is over when the program is, long before that
    assert any_lau.result(run) == ("CAUSE_PREEMPT", 0, 15)
    assert (any_lau.jobs / "saved").read_text() == "saved\n"
    assert not (any_lau.jobs / "after").exists()


def test_early_warning_reaches_who_awaits_it_and_kills_nobody(lau):
    run = lau.submit("""
        sh -c 'trap "cat $GPUSCHED_INTERRUPT_FILE > warned" USR1; while ! [ -s warned ]; do sleep 0.05; done; exit 4'
        exit $?""", order={"time_limit_s": 60, "warn_before_s": 59, "warn_signal": int(signal.SIGUSR1), "grace_s": 1})
    assert lau.result(run) == ("CAUSE_EXIT", 4, 0)
    assert "reason=timeout" in (lau.jobs / "warned").read_text()


def test_ack_ends_the_grace(any_lau):
    run = any_lau.submit("""
        trap '' TERM; echo up > up
        while ! [ -e $GPUSCHED_INTERRUPT_FILE ]; do sleep 0.05; done
        touch $GPUSCHED_RUN_DIR/ack; while :; do sleep 0.1; done""")
    wait_until((any_lau.jobs / "up").exists, "the program")
    any_lau.end(run, cause="CAUSE_PREEMPT", grace=3000)
    assert any_lau.result(run) == ("CAUSE_PREEMPT", 0, 9)


def test_interrupt_file_says_who_and_why(lau):
    run = lau.submit("trap 'cat $GPUSCHED_INTERRUPT_FILE > why; exit 0' TERM; echo up > up; "
                     "while :; do sleep 0.05; done")
    wait_until((lau.jobs / "up").exists, "the program")
    lau.end(run, cause="CAUSE_PREEMPT", grace=100, by_user="deploy", by_job=4820, by_account="serving",
            by_qos="prod'; touch pwned; '", requeue=True)
    assert lau.result(run) == ("CAUSE_PREEMPT", 0, 0)
    lines = (lau.jobs / "why").read_text().splitlines()
    assert lines[:5] == ["reason=preempt", "by_job=4820", "by_user=deploy", "by_account=serving",
                         "by_qos=prod___touch_pwned___"]
    assert lines[5].startswith("deadline=") and lines[6:] == ["then=requeue"]


def test_cancel_without_grace(any_lau):
    run = any_lau.submit("trap 'exit 0' TERM; while :; do sleep 0.1; done")
    any_lau.wait_running(run)
    any_lau.end(run, grace=0)
    assert any_lau.result(run) == ("CAUSE_CANCEL", 0, 9)


def test_signal_goes_to_those_that_wait_for_it(any_lau):
    run = any_lau.submit("sh -c 'trap \"echo got >> got\" USR2; echo up > up; "
                         "while ! [ -s got ]; do sleep 0.05; done; exit 5'; exit $?")
    wait_until((any_lau.jobs / "up").exists, "the program")
    any_lau.signal(run, int(signal.SIGUSR2))
    assert any_lau.result(run) == ("CAUSE_EXIT", 5, 0)


@pytest.mark.parametrize("blocked", ["{signal.SIGUSR2}", "signal.valid_signals()"])
def test_signal_goes_to_who_is_in_sigwait(any_lau, blocked):
    """The kernel shows it as not blocked meanwhile; the shell that waits for the program lives."""
    any_lau.jobs.joinpath("p.py").write_text(f"""
import signal
signal.pthread_sigmask(signal.SIG_BLOCK, {blocked})
open("up", "w").close()
signal.sigwait({{signal.SIGUSR2}})
raise SystemExit(5)
""")
    run = any_lau.submit("/usr/bin/python3 p.py; exit $?")
    wait_until((any_lau.jobs / "up").exists, "the program")
    any_lau.signal(run, int(signal.SIGUSR2))
    assert any_lau.result(run) == ("CAUSE_EXIT", 5, 0)


def test_signal_that_nobody_awaits_does_what_it_does(lau):
    run = lau.submit("echo up > up; exec sleep 1000")
    wait_until((lau.jobs / "up").exists, "the program")
    lau.signal(run, int(signal.SIGUSR2))
    assert lau.result(run) == ("CAUSE_EXIT", 0, int(signal.SIGUSR2))


def test_stop_and_continue(lau):
    run = lau.submit("echo $$ > pid; exec sleep 1000")
    pid = pid_in(lau, "pid")
    lau.signal(run, int(signal.SIGSTOP))
    stat = pathlib.Path(f"/proc/{pid}/stat")
    wait_until(lambda: stat.read_text().rsplit(")", 1)[1].split()[0] == "T", "the program to stop")
    lau.end(run, grace=1)
    assert lau.result(run)[0] == "CAUSE_CANCEL"


# --- input and output ---------------------------------------------------------------------------

def test_file_name_patterns(lau):
    run = lau.submit("echo out; echo err >&2", name="a/b", output=b"%x-%5j-%u-%N-%%.out", error=b"%j.err")
    lau.wait_over(run)
    assert lau.output(run, f"a_b-{run[0]:05}-{lau.owner().pw_name}-n1-%.out") == "out\n"
    assert lau.output(run, f"{run[0]}.err") == "err\n"


def test_input_append_and_truncate(lau):
    (lau.jobs / "in").write_text("line\n")
    (lau.jobs / "log").write_text("old\n")
    (lau.jobs / "log").chmod(0o666)
    lau.wait_over(lau.submit("cat; echo more", input=b"in", output=b"log", append=True))
    assert lau.output(None, "log") == "old\nline\nmore\n"
    lau.wait_over(lau.submit("cat; echo new", output=b"log"))
    assert lau.output(None, "log") == "new\n"


def test_a_rank_of_several_nodes(lau):
    order = {"run": {"job": 900, "attempt": 1, "rank": 2}, "nnodes": 3, "nodelist": "h[1-3]"}
    run = lau.submit("echo $GPUSCHED_NODE_RANK/$GPUSCHED_NNODES $GPUSCHED_NODELIST; echo err >&2", order=order,
                     error=b"%n.err")
    report = lau.wait_over(run)
    assert (report["run"]["rank"], report["nnodes"], report["cause"]) == (2, 3, "CAUSE_EXIT")
    assert lau.output(run, "gpusched-900.out.2") == "2/3 h[1-3]\n"
    assert lau.output(run, "2.err") == "err\n"
    # Another rank is another run, with records of its own; one that the attempt does not have is refused.
    order["run"]["rank"] = 0
    lau.runs.clear()
    assert lau.result(lau.submit("exit 3", order=order)) == ("CAUSE_EXIT", 3, 0)
    assert (lau.dir / "run/runs/900_0_1").is_dir() and (lau.dir / "run/runs/900_0_1_2").is_dir()
    order["run"]["rank"] = 3
    lau.runs.clear()
    assert "rank 3" in lau.wait_over(lau.submit("exit 0", order=order))["detail"]


def test_error_to_the_same_name_is_the_same_file(lau):
    run = lau.submit("echo 1; echo 2 >&2; echo 3", output=b"both", error=b"both")
    lau.wait_over(run)
    assert lau.output(run, "both") == "1\n2\n3\n"


def test_arguments_and_umask(lau):
    run = lau.submit('for a; do echo "[$a]"; done; touch new', args=[b"a b", b"", b"\xff$x"], umask=0o077)
    lau.wait_over(run)
    assert (lau.jobs / f"gpusched-{run[0]}.out").read_bytes() == b"[a b]\n[]\n[\xff$x]\n"
    assert (lau.jobs / "new").stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize("spec, text", [
    ({"cwd": "/nonexistent"}, "working directory '/nonexistent': No such file"),
    ({"output": b"no/such/dir"}, "output file 'no/such/dir': No such file"),
    ({"output": b"."}, "output file '.': Is a directory"),
    ({"input": b"missing"}, "input file 'missing': No such file"),
    ({"error": b"/proc/self/nothing"}, "error file '/proc/self/nothing'"),
    ({"output": b"a\nb/x"}, "a\\x0Ab/x"),
])
def test_what_cannot_be_opened_is_a_clear_failure(lau, spec, text):
    run = lau.submit("echo ran > ran", **spec)
    r = lau.wait_over(run)
    assert r["state"] == "ENDED" and r["cause"] == "CAUSE_LAUNCH_OWNER"
    assert text in r["detail"] and "\n" not in r["detail"]
    assert not (lau.jobs / "ran").exists()
    assert "RUNNING" not in lau.history[run]


def test_interpreter_that_is_not_there(lau):
    job = Job(lau.munge, lau.owner(), "#!/no/such/interpreter -x\n", cwd=str(lau.jobs))
    r = lau.wait_over(lau.start_run(job))
    assert r["cause"] == "CAUSE_LAUNCH_OWNER" and "#!/no/such/interpreter -x" in r["detail"]


@pytest.mark.parametrize("script, text", [
    (b"", "script"), (b"echo no interpreter\n", "#!"), (b"#!/bin/sh\r\necho\r\n", "CR"), (b"#!/bin/sh\n\0", "NUL")])
def test_what_is_no_script_never_starts(lau, script, text):
    r = lau.wait_over(lau.start_run(Job(lau.munge, lau.owner(), script)))
    assert r["state"] == "NEVER" and text.lower() in r["detail"].lower()


def test_environment_at_the_limit_of_the_kernel(lau):
    run = lau.submit('echo ${#BIG}', env=[b"BIG=" + b"x" * (128 * 1024 - 5 - 1)])
    assert lau.result(run) == ("CAUSE_EXIT", 0, 0)
    assert lau.output(run) == f"{128 * 1024 - 6}\n"


def test_script_of_megabytes(lau):
    run = lau.submit("#" * 3_000_000 + "\nexit 6")
    assert lau.result(run) == ("CAUSE_EXIT", 6, 0)


# --- orders --------------------------------------------------------------------------------------

def test_a_run_starts_once_however_often_it_is_ordered(lau):
    job = Job(lau.munge, lau.owner(), "#!/bin/sh\necho x >> count; exit 2\n", cwd=str(lau.jobs))
    order = lau.order(job)
    for _ in range(20):
        lau.send("MSG_START_RUN", order)
    run = (order["run"]["job"], 1)
    assert lau.result(run) == ("CAUSE_EXIT", 2, 0)
    seen = len(lau.history[run])
    lau.send("MSG_START_RUN", order)
    lau.wait(lambda: len(lau.history[run]) > seen, "an answer")
    lau.restart()
    lau.send("MSG_START_RUN", order)
    lau.wait(lambda: lau.history[run][-1] == "ENDED", "an answer")
    assert lau.output(None, "count") == "x\n"


def test_end_of_an_unknown_run_is_never_for_ever(lau):
    job = Job(lau.munge, lau.owner(), "#!/bin/sh\necho ran > ran\n", cwd=str(lau.jobs))
    order = lau.order(job)
    run = (order["run"]["job"], 1)
    lau.end(run)
    assert lau.wait_over(run)["state"] == "NEVER"
    for _ in range(2):
        lau.send("MSG_START_RUN", order)
        seen = lau.frames
        lau.wait(lambda seen=seen: lau.frames > seen, "an answer")
        assert lau.state(run) == "NEVER"
        lau.restart()
        assert lau.state(run) == "NEVER"
    assert not (lau.jobs / "ran").exists()


def test_end_while_it_is_being_verified(lau):
    os.kill(lau.munge.process.pid, signal.SIGSTOP)
    try:
        order = lau.order(Job(lau.munge, lau.owner(), "#!/bin/sh\necho ran > ran\n", cwd=str(lau.jobs), sign=False))
        order["credential"] = b"MUNGE:AAAA:"
        lau.send("MSG_START_RUN", order)
        run = (order["run"]["job"], 1)
        lau.end(run)
        assert lau.wait_over(run)["state"] == "NEVER"  # though munge does not answer
    finally:
        os.kill(lau.munge.process.pid, signal.SIGCONT)
    lau.wait_over(lau.submit("exit 0"))
    assert lau.history[run] == ["NEVER"]


def test_four_jobs_hold_four_gpus(lau):
    runs = [lau.submit("echo $CUDA_VISIBLE_DEVICES $GPUSCHED_GPUS $CUDA_DEVICE_ORDER; "
                       "until [ -e go ]; do sleep 0.05; done", order={"gpus": [i], "gpu_type": "demo"})
            for i in range(4)]
    for run in runs:
        lau.wait_running(run)
    taken = lau.submit("echo no", order={"gpus": [2], "gpu_type": "demo"})
    r = lau.wait_over(taken)
    assert r["state"] == "NEVER" and "held by run" in r["detail"]
    lau.restart()
    assert lau.wait_over(lau.submit("echo no", order={"gpus": [3]}))["state"] == "NEVER"
    (lau.jobs / "go").touch()
    for i, run in enumerate(runs):
        lau.wait_over(run)
        assert lau.output(run) == f"{i} {i} PCI_BUS_ID\n"
    assert lau.result(lau.submit("exit 0", order={"gpus": [0, 1, 2, 3]})) == ("CAUSE_EXIT", 0, 0)


def test_parts_of_one_gpu(lau):
    """Runs with parts of a GPU are there together, but none beside one that has all of it."""
    part = {"gpus": [1], "gpu_type": "demo", "share_charge": 250, "share_mb": 1024}
    two = [lau.submit("until [ -e on ]; do sleep 0.05; done", order=part) for _ in range(2)]
    for run in two:
        lau.wait_running(run)
    lau.restart()
    assert lau.runs[two[0]]["share_charge"] == 250 and lau.runs[two[0]]["share_mb"] == 1024
    whole = lau.submit("echo no", order={"gpus": [1], "gpu_type": "demo"})
    assert lau.wait_over(whole)["state"] == "NEVER"
    (lau.jobs / "on").touch()
    assert [lau.result(run) for run in two] == [("CAUSE_EXIT", 0, 0)] * 2
    assert lau.result(lau.submit("exit 0", order={"gpus": [1]})) == ("CAUSE_EXIT", 0, 0)


@pytest.mark.parametrize("gpus", [[64], [1, 1], [4294967295]])
def test_gpus_that_make_no_sense(lau, gpus):
    assert lau.wait_over(lau.submit("exit 0", order={"gpus": gpus}))["state"] == "NEVER"


def test_lower_epoch_is_not_obeyed(lau):
    run = lau.submit("exec sleep 1000", order={"epoch": 7})
    lau.wait_running(run)
    lau.end(run, epoch=6, grace=0)
    refused = lau.submit("exit 0", order={"epoch": 6})
    r = lau.wait_over(refused)
    assert r["state"] == "NEVER" and "epoch" in r["detail"]
    lau.restart()
    assert lau.hello["max_epoch"] == 7 and lau.state(run) == "RUNNING"
    lau.send("MSG_LAUNCHER_EPOCH", {"epoch": 9})
    lau.end(run, epoch=8, grace=0)
    assert lau.wait_over(lau.submit("exit 0", order={"epoch": 8}))["state"] == "NEVER"
    assert lau.state(run) == "RUNNING"
    lau.end(run, epoch=9, grace=0)
    assert lau.result(run)[0] == "CAUSE_CANCEL"


def test_epoch_and_job_ids_outlive_tmpfs(lau):
    lau.wait_over(lau.submit("exit 0", order={"epoch": 11, "run": {"job": 4812, "attempt": 1}}))
    assert lau.stop() == 0
    (lau.dir / "run/state").unlink()
    lau.start()
    assert (lau.hello["max_epoch"], lau.hello["max_job"]) == (11, 4812)


@pytest.mark.parametrize("forgotten", [False, True])
def test_the_highest_job_id_outlives_a_killed_launcher(lau, forgotten):
    run = lau.submit("exit 0", order={"run": {"job": 4812, "attempt": 1}})
    lau.wait_over(run)
    if forgotten:
        lau.forget(run)
        wait_until(lambda: not lau.record_dir(run).exists(), "the record to be forgotten")
    lau.kill()
    lau.start()
    assert lau.hello["max_job"] == 4812


# --- munge ---------------------------------------------------------------------------------------

def test_a_munged_that_is_down_for_a_moment(lau):
    alive_run = lau.submit("until [ -e go ]; do sleep 0.05; done; exit 3")
    lau.wait_running(alive_run)
    job = Job(lau.munge, lau.owner(), "#!/bin/sh\nexit 4\n", cwd=str(lau.jobs))
    lau.munge.stop()
    run = lau.start_run(job)
    (lau.jobs / "go").touch()
    assert lau.result(alive_run) == ("CAUSE_EXIT", 3, 0)  # nobody waits for munge
    assert lau.state(run) is None
    lau.munge.start()
    assert lau.result(run) == ("CAUSE_EXIT", 4, 0)


def hello_payload(cluster="test", to="controller@test/n1", tag=b"gpusched-hello-1"):
    c, d = cluster.encode(), to.encode()
    return tag + b"\0\1" + os.urandom(32) + len(c).to_bytes(2, "big") + c + len(d).to_bytes(2, "big") + d


def test_hello_credentials_and_nothing_else(lau):
    def ask(payload, restrict=0):
        number = len(lau.creds) + 1
        lau.send("MSG_LAUNCHER_CRED", {"id": number, "payload": payload, "restrict_uid": restrict})
        return lau.wait(lambda: lau.creds.get(number), "a credential")

    assert ask(hello_payload())["credential"].startswith("MUNGE:")
    for payload in (b"gpusched-job-1" + os.urandom(32), hello_payload(to="controller@test/n2"),
                    hello_payload(to="controller@test"), hello_payload(to="agent@test/n1"),
                    hello_payload(cluster="other", to="controller@other/n1"), hello_payload() + b"x",
                    hello_payload(tag=b"gpusched-job-1\0\0"), b""):
        r = ask(payload)
        assert "credential" not in r and r["error"] and r["error_text"]
    assert "credential" not in ask(hello_payload(), 2**32 - 1)


# --- not root ------------------------------------------------------------------------------------

@pytest.mark.skipif(not ROOT, reason="needs root to become somebody else")
@pytest.mark.parametrize("cgroup", KINDS)
def test_an_agent_that_is_not_root_serves_its_own_user(cgroup):
    user, other = pwd.getpwnam("nobody"), pwd.getpwnam("daemon")
    lau = Launcher(user=user, cgroup=cgroup)
    try:
        run = lau.submit("id -u; (setsid sh -c 'echo $$ > pid; exec sleep 1000' &); "
                         "while ! [ -s pid ]; do sleep 0.01; done; exit 3")
        assert lau.result(run) == ("CAUSE_EXIT", 3, 0)
        assert lau.output(run) == f"{user.pw_uid}\n"
        assert not alive(pid_in(lau, "pid"))
        r = lau.wait_over(lau.submit("exit 0", user=other))
        assert r["state"] == "NEVER" and f"uid {user.pw_uid}" in r["detail"]
        run = lau.submit("exec sleep 1000")
        lau.wait_running(run)
        lau.restart()
        os.kill(lau.shepherd(run), signal.SIGKILL)
        assert lau.wait_over(run)["cause"] == "CAUSE_LOST"
    finally:
        lau.close()


# --- what else a run may leave ------------------------------------------------------------------

@pytest.mark.skipif(not ROOT, reason="needs root")
def test_cgroups_that_root_s_job_made_go_with_it(lau):
    if not lau.hello["containment"].startswith("cgroup2"):
        pytest.skip("the host gives no cgroup2")
    run = lau.submit("""
        root=$(grep -m1 ' - cgroup2 ' /proc/self/mountinfo | cut -d' ' -f5)
        cd $root/$(grep ^0:: /proc/self/cgroup | cut -d: -f3-) && mkdir -p a/b && echo $$ > a/b/cgroup.procs
        pwd > $GPUSCHED_SUBMIT_DIR/leaf; setsid sleep 1000 & exit 3""", user=pwd.getpwuid(0))
    assert lau.result(run) == ("CAUSE_EXIT", 3, 0)
    leaf = pathlib.Path((lau.jobs / "leaf").read_text().strip())
    assert leaf.name == f"run-{run[0]}_0_1"
    wait_until(lambda: not leaf.exists(), "the cgroup to be removed")


def test_stopped_processes_have_their_grace(any_lau):
    run = any_lau.submit("trap 'echo saved > saved; exit 0' TERM; echo $$ > pid; while :; do sleep 0.05; done")
    stat = pathlib.Path(f"/proc/{pid_in(any_lau, 'pid')}/stat")
    any_lau.signal(run, int(signal.SIGSTOP))
    # D: it waits for the child that it has made with vfork(2), and that is stopped
    wait_until(lambda: stat.read_text().rsplit(")", 1)[1].split()[0] in "TD", "the program to stop")
    any_lau.end(run, grace=60)
    assert any_lau.result(run) == ("CAUSE_CANCEL", 0, 0)
    assert (any_lau.jobs / "saved").exists()


# --- what must not hold up or weaken who holds the runs ------------------------------------------

@pytest.mark.skipif(not ROOT, reason="needs root: a descriptor of another process")
def test_who_holds_its_input_cannot_hold_up_the_shepherd(lau):
    """ghold is a process of the owner's: what it sends without end keeps nobody from the time limit."""
    run = lau.submit("for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do sleep 1000 & done; wait", version=2, max_attempts=1, interactive={"kind": "PIPES", "patience_s": 2**32 - 1},
                     order={"time_limit_s": 3, "grace_s": 1})
    lau.wait_running(run)
    hold, = wait_until(lambda: [p for p, cmd in processes() if cmd[0] == b"ghold" and parent(p) == lau.pid], "ghold")
    fd = ctypes.CDLL(None).syscall(438, os.pidfd_open(hold), 3, 0)  # pidfd_getfd(2) of its GHOLD_SHEPHERD_FD
    end = time.monotonic() + DEADLINE
    with socket.socket(fileno=fd) as s, contextlib.suppress(BrokenPipeError, ConnectionResetError):
        while lau.state(run) != "ENDED":
            assert time.monotonic() < end, "it does not end as long as there is something to hear"
            for _ in range(1000):
                s.send(bytes([2, signal.SIGWINCH]))
            lau.drain()
    assert lau.wait_over(run)["cause"] == "CAUSE_TIME_LIMIT"


@pytest.mark.skipif(not ROOT, reason="needs root: mounts")
def test_a_launcher_that_was_killed_while_it_tried_private_mounts():
    """What it left behind does not make the next one share /tmp."""
    lau = Launcher(private="tmp", folder=tempfile.mkdtemp(prefix="gpusched-test-", dir="/var/lib"))  # not below /tmp
    try:
        if "tmp" not in lau.hello["containment"]:
            pytest.skip("this kernel lets us have no private mounts")
        lau.kill()
        (lau.dir / "spool/private/probe/tmp").mkdir(parents=True)
        lau.start()
        assert "tmp" in lau.hello["containment"]
    finally:
        lau.close()


def test_a_node_may_have_more_runs_than_the_usual_limit_of_descriptors():
    lau = Launcher(start=False)
    try:
        lau.start(under=("prlimit", "--nofile=512:4096"))
        soft = re.search(r"^Max open files +([0-9]+)", pathlib.Path(f"/proc/{lau.pid}/limits").read_text(), re.M).group(1)
        assert soft == "4096"
        run = lau.submit("ulimit -Sn")
        lau.wait_over(run)
        assert lau.output(run) == "1024\n"  # whatever ours is
    finally:
        lau.close()
