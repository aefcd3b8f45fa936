"""3, the confused deputy: files of others that root, or the user's own job, could be brought to write or remove."""

import contextlib
import ctypes
import os
import socket
import threading

import pytest

from cluster import ROOT, wait_until
from launcher import Job, Launcher

ROUNDS = int(os.environ.get("GPUSCHED_RACE_ROUNDS", "40"))
needs_root = pytest.mark.skipif(not ROOT, reason="needs root to become somebody else")


@needs_root
@pytest.mark.parametrize("make, text", [
    (lambda jobs, canary: (jobs / "out").symlink_to(canary / "file"), "Permission denied"),
    (lambda jobs, canary: (jobs / "out").symlink_to(canary / "new"), "Permission denied"),
    (lambda jobs, canary: (jobs / "out").symlink_to("out"), "symbolic links"),
    (lambda jobs, canary: os.link(canary / "file", jobs / "out"), "Permission denied"),
    (lambda jobs, canary: os.mkfifo(jobs / "out", 0o666), "FIFO"),
    (lambda jobs, canary: (jobs / "out").mkdir(), "Is a directory"),
    (lambda jobs, canary: (jobs / "out").symlink_to("/dev/kmsg"), "denied"),
    (lambda jobs, canary: jobs.chmod(0o755), "Permission denied"),
    (lambda jobs, canary: socket_at(jobs / "out"), "out"),
])
def test_output_is_opened_as_the_user(lau, canary, make, text):
    make(lau.jobs, canary)
    if (lau.jobs / "out").is_fifo():
        (lau.jobs / "out").chmod(0o666)
    run = lau.submit("echo overwritten", output=b"out")
    r = lau.wait_over(run)
    links = (canary / "file").stat().st_nlink
    if links > 1:
        (lau.jobs / "out").unlink()
    assert r["cause"] == "CAUSE_LAUNCH_OWNER" and text in r["detail"], r


def socket_at(path):
    socket.socket(socket.AF_UNIX).bind(str(path))
    path.chmod(0o777)


@needs_root
@pytest.mark.parametrize("field", ["input", "error"])
def test_input_and_error_too(lau, canary, field):
    secret = lau.dir / "secret"
    secret.write_text("secret\n")
    secret.chmod(0o600)
    r = lau.wait_over(lau.submit("cat", **{field: str(secret).encode()}))
    assert r["cause"] == "CAUSE_LAUNCH_OWNER" and "Permission denied" in r["detail"]
    r = lau.wait_over(lau.submit("cat", cwd=str(lau.dir / "run/runs")))
    assert r["cause"] == "CAUSE_LAUNCH_OWNER" and "working directory" in r["detail"]
    assert secret.read_text() == "secret\n"


@needs_root
@pytest.mark.parametrize("swap", ["", "ln -s {canary}/file out", "ln -s {canary}/new out", "ln {canary}/file out", "mkfifo -m 666 out",
                                  "mkdir out", "ln -s /proc/self/mem out", "ln -s /dev/kmsg out", "ln -s out out"])
def test_what_is_said_at_the_end_is_written_as_the_user(lau, canary, swap):
    """The summary behind a run's output: whatever the run has put in its place."""
    run = lau.submit(f"rm out; {swap.format(canary=canary) or 'echo mine > out; chmod 666 out'} 2>/dev/null; exit 3", output=b"out", no_summary=False,
                     order={"gpus": [0]})
    assert lau.result(run) == ("CAUSE_EXIT", 3, 0)
    if not swap:
        assert "== gpusched: job" in lau.output(run, "out")


RENAME_EXCHANGE = 2
libc = ctypes.CDLL(None, use_errno=True)


class Swapper:
    """Exchanges two names for as long as it lives, as a user's program would."""

    def __init__(self, *pairs):
        self.pairs, self.rounds, self.go = pairs, 0, True
        self.thread = threading.Thread(target=self.run)

    def run(self):
        while self.go:
            for a, b in self.pairs:
                libc.renameat2(-100, str(a).encode(), -100, str(b).encode(), RENAME_EXCHANGE)
            self.rounds += 1

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.go = False
        self.thread.join()


@contextlib.contextmanager
def swapped(lau, canary):
    """A directory of the user's and a link to root's that change places all the time; yields what makes the job whose output
    and error are there."""
    user = lau.owner()
    mine = lau.jobs / "mine"
    mine.mkdir()
    os.chown(mine, user.pw_uid, user.pw_gid)
    trap = lau.jobs / "trap"
    trap.symlink_to(canary)
    (mine / "file").touch()
    os.chown(mine / "file", user.pw_uid, user.pw_gid)
    made = {}

    def job(i, script="echo overwritten"):
        if i % 900 == 0:  # a signature can be used a thousand times at most
            made["job"] = Job(lau.munge, user, f"#!/bin/sh\n{script}\n", cwd=str(lau.jobs), output=b"mine/file",
                              error=str(mine / "file").encode(), max_attempts=1000, no_summary=False)
        return made["job"]

    with Swapper((mine, trap)) as swap:
        yield job
        assert swap.rounds > 0


@needs_root
def test_directories_that_are_swapped_while_a_run_starts(lau, canary):
    """GPUSCHED_RACE_ROUNDS launches; each at a different moment of some thousand swaps."""
    causes = set()
    with swapped(lau, canary) as job:
        for i in range(ROUNDS):
            run = lau.start_run(job(i))
            causes.add(lau.wait_over(run)["cause"])
            lau.forget(run)
    assert causes <= {"CAUSE_EXIT", "CAUSE_LAUNCH_OWNER"}


@needs_root
def test_directories_that_are_swapped_while_a_run_is_cancelled(lau, canary):
    """From before its start to after its end, with the summary that is written then, and what it leaves to be removed."""
    causes = set()
    with swapped(lau, canary) as job:
        for i in range(ROUNDS):
            run = lau.start_run(job(i, f"ln -s {canary} $GPUSCHED_RUN_DIR/link; exec sleep 1000"))
            if i % 2:
                lau.wait_state(run, "RUNNING", "ENDED")
            lau.end(run, grace=0)
            causes.add(lau.wait_over(run)["cause"])
            lau.forget(run)
    assert causes <= {"CAUSE_CANCEL", "CAUSE_LAUNCH", "CAUSE_LAUNCH_OWNER"}


@needs_root
def test_directories_that_are_swapped_while_the_prolog_fails():
    """Nothing of the user's is touched then: not even what would be refused."""
    lau = Launcher(start=False)
    try:
        prolog = lau.dir / "prolog"
        prolog.write_text("#!/bin/sh\nexit 3\n")
        prolog.chmod(0o755)
        lau.options["prolog"] = prolog
        canary = lau.dir / "canary"
        canary.mkdir(mode=0o755)
        (canary / "file").write_text("alive\n")
        lau.start()
        with swapped(lau, canary) as job:
            for i in range(ROUNDS):
                run = lau.start_run(job(i))
                assert "prolog" in lau.wait_over(run)["detail"]
                lau.forget(run)
        assert (canary / "file").read_text() == "alive\n" and [p.name for p in canary.iterdir()] == ["file"]
    finally:
        lau.close()


@needs_root
@pytest.mark.parametrize("name, output, file", [
    ("x", b"../canary/new", None), ("x", b"../../../../../../etc/gpusched-evil", None), ("../canary/new", b"%x", ".._canary_new"), ("..", b"%x/new", None),
    ("../canary", b"%x/file", None), ("x", b"%%j", "%j"), ("x", b"sub/../%u-%x", "{user}-x"), ("x", b"%j%%%j", "{job}%{job}"), ("%u", b"%x", "%u")])
def test_dots_and_patterns_in_paths_lead_nowhere_else(lau, canary, name, output, file):
    """What a path names it names as the user; and a name is no pattern and no way up."""
    (lau.jobs / "sub").mkdir()
    run = lau.submit("echo written", name=name, output=output)
    r = lau.wait_over(run)
    if file:
        assert r["state"] == "ENDED" and r["cause"] == "CAUSE_EXIT", r
        assert (lau.jobs / file.format(user=lau.owner().pw_name, job=run[0])).read_text() == "written\n"
    else:
        assert r["state"] == "NEVER" or r["cause"] == "CAUSE_LAUNCH_OWNER", r
        assert not os.path.exists("/etc/gpusched-evil")


@needs_root
def test_run_dir_is_the_user_s_and_no_way_to_root(lau, canary):
    """Links in place of everything that root writes or removes there, swapped while it does."""
    secret = lau.dir / "secret"
    secret.mkdir(mode=0o700)
    (secret / "file").write_text("keep\n")
    run = lau.submit(f"""
        cd $GPUSCHED_RUN_DIR
        ln -s {canary}/file interrupt; mkdir a b a/c; ln -s {canary} a/link; ln -s {canary} c; ln -s {secret} s
        ln {canary}/file hard 2>/dev/null; mkdir -p deep/1/2/3/4/5/6/7/8/9; chmod 0 deep/1/2; mkfifo fifo
        rm -f script; ln -s {canary}/file script; ln -s {canary}/file interrupt.tmp
        trap '' TERM; echo up > {lau.jobs}/up; while :; do mv a x; mv c a; mv x c; mv a x; mv c a; mv x c; done
        """)
    wait_until((lau.jobs / "up").exists, "the run")
    assert lau.run_dir(run).stat().st_mode & 0o777 == 0o700
    assert lau.run_dir(run).stat().st_uid == lau.owner().pw_uid
    lau.end(run, grace=1)
    assert lau.result(run) == ("CAUSE_CANCEL", 0, 9)
    wait_until(lambda: not lau.run_dir(run).exists(), "RUN_DIR to be removed")
    assert (secret / "file").read_text() == "keep\n"
    assert (canary / "file").stat().st_nlink == 1
