"""Remarks, mail through the site's program, running again after chosen ends, signals to the script alone."""

import json
import pathlib
import tempfile

import pytest
from cluster import Cluster, wait_until


@pytest.fixture(name="c")
def fixture_c(tmp_path_factory):
    folder = tmp_path_factory.mktemp("mail")
    folder.chmod(0o777)
    for parent in folder.parents:
        if parent == pathlib.Path(tempfile.gettempdir()):
            break
        parent.chmod(parent.stat().st_mode | 0o755)
    program = folder / "mail"
    # Several run at a time: each adds its lines at once.
    program.write_text(f'#!/bin/sh\nenv >{folder}/env\nprintf "%s\\n%s\\n%s\\n\\n" "$@" >>{folder}/sent\n')
    program.chmod(0o755)
    with Cluster(nodes=("n1",), controller=f'mail_program = "{program}";') as c:
        c.mails = folder
        yield c


def sent(c):
    path = c.mails / "sent"
    return [m.split("\n") for m in path.read_text().split("\n\n") if m] if path.exists() else []


def test_mail(c):
    good = c.submit("true", "--mail-type=END", "--mail-user=ana@example.org", "-J", "good $(id)")
    c.wait_state(good, "COMPLETED")
    wait_until(lambda: len(sent(c)) == 1, "a mail of the end")
    (option, subject, address), = sent(c)
    assert option == "-s" and address == "ana@example.org"
    assert f"job {good} (good $(id)) COMPLETED, exit 0:0, ran " in subject
    # Nothing of the controller's own environment.
    names = {line.split("=")[0] for line in (c.mails / "env").read_text().splitlines()}
    assert names <= {"PATH", "LC_ALL", "PWD", "SHLVL", "_", "OLDPWD"}, names
    quiet = c.submit("true", "--mail-type=FAIL")
    bad = c.submit("exit 4", "--mail-type=BEGIN,FAIL", "--mail-user=bo")
    c.wait_state(quiet, "COMPLETED")
    c.wait_state(bad, "FAILED")
    wait_until(lambda: len(sent(c)) == 3, "two mails more")
    assert all(str(bad) in m[1] and m[2] == "bo" for m in sent(c)[1:])
    for address in ("-oX", "a b", "a;b", "$(id)", "a@b@c"):
        r = c.run("gsubmit", f"--mail-user={address}", stdin="#!/bin/sh\n", check=False)
        assert r.returncode == 2 and "no address" in r.stderr


def told(c, job, *least):
    """What the mails say of a job, in any order, once these are among it."""
    def texts():
        return sorted(m[1].split(f"job {job}", 1)[1] for m in sent(c) if f"job {job}" in m[1])
    wait_until(lambda: all(any(word in t for t in texts()) for word in least), f"mail of {least}")
    return texts()


def test_mail_of_an_array_is_of_all_of_it_or_of_each_task(c):
    gate = c.dir / "jobs/gate"
    script = f"[ $GPUSCHED_ARRAY_TASK_ID != 1 ] || while [ ! -e {gate} ]; do sleep 0.05; done\nexit $((GPUSCHED_ARRAY_TASK_ID == 2))\n"
    array = c.submit(script, "--array=0-3%1", "--mail-type=ALL", "-J", "whole")
    wait_until(lambda: any(t.get("tasks") == "1" and t["state"] == "RUNNING" for t in listed(c, array)), "its second task")
    c.ctld.kill()  # that it began is not told again
    c.start_ctld()
    gate.touch()
    assert told(c, array, "tasks failed") == [" (whole) FAILED, 1 of 4 tasks failed", " (whole) began"]
    each = c.submit("exit $GPUSCHED_ARRAY_TASK_ID", "--array=0-1", "--mail-type=BEGIN,END,ARRAY_TASKS", "-J", "each")
    texts = told(c, each, "_0 (each) COMPLETED", "_1 (each) FAILED", "_0 (each) began on n1", "_1 (each) began on n1")
    assert len(texts) == 4 and any(t.startswith("_1 (each) FAILED, exit 1:0, ran ") for t in texts), texts
    assert c.job(each)["mail_type"] == "BEGIN,END,ARRAY_TASKS"


def test_mail_of_what_else_becomes_of_a_job(c):
    again = c.submit("exit 75", "--requeue-on=exit:75", "--requeue-delay=0", "--max-attempts=2", "--mail-type=REQUEUE,FAIL",
                     "-J", "again")
    assert told(c, again, "FAILED")[1:] == [" (again) was requeued"]
    vain = c.submit("true", "-d", f"afterok:{again}", "--mail-type=INVALID_DEPEND,BEGIN", "-J", "vain")
    text, = told(c, vain, "never")
    assert text.startswith(f" (vain) can never start: dependency afterok:{again}")
    late = c.submit("sleep 100", "-t", "1s", "--mail-type=TIME_LIMIT", "-J", "late")
    text, = told(c, late, "TIMEOUT")
    assert text.startswith(" (late) TIMEOUT, exit ")


def listed(c, job):
    return json.loads(c.run("gqueue", "--json", "-j", str(job)).stdout)["jobs"]


def test_mail_where_none_can_be_sent(tmp_path):
    """Accepted, and said: once a request, whatever stderr is, and only of what was accepted."""
    with Cluster(nodes=("n1",)) as c:
        warning = "warning: --mail-type: no mail will be sent, the configuration has no controller.mail_program\n"
        r = c.run("gsubmit", "-H", "--mail-type=END", "--wrap=true")
        job = r.stdout.split()[-1]
        assert r.stderr == "gsubmit: " + warning, r.stderr
        for quiet in ("--mail-user=ana", "--mail-type=NONE", "--comment=mail"):
            assert c.run("gsubmit", "-H", quiet, "--wrap=true").stderr == "", quiet
        r = c.run("gsubmit", "--test-only", "--mail-type=ALL", "--wrap=true")
        assert r.stderr == "gsubmit: " + warning
        r = c.run("gsubmit", "--json", "-H", "--mail-type=ALL", "--wrap=true")
        assert r.stderr == "gsubmit: " + warning and json.loads(r.stdout)["jobs"]
        refused = c.run("gsubmit", "-pnowhere", "--mail-type=ALL", "--wrap=true", check=False)
        assert refused.returncode == 3 and "warning" not in refused.stderr
        file = tmp_path / "bulk"
        file.write_text('{"wrap": "true", "hold": true, "mail-type": "FAIL"}\n' * 200)
        r = c.run("gsubmit", "--parsable", f"--bulk={file}")
        assert len(r.stdout.split()) == 200 and r.stderr == "gsubmit: " + warning
        r = c.run("gctl", "update", *r.stdout.split(), job, "--mail-type=BEGIN")
        assert r.stderr == "gctl update: " + warning, r.stderr
        assert c.run("gctl", "update", job, "--mail-type=NONE").stderr == ""


def test_comment(c):
    job = c.submit("true", "-H", "--comment=the third seed")
    assert c.job(job)["remark"] == "the third seed"
    c.run("gctl", "update", job, "--comment=the fourth seed")
    assert c.run("gqueue", "--noheader", "-o", "REMARK", "-j", job).stdout.strip().startswith("the fourth")


def test_runs_again(c):
    job = c.submit("echo $GPUSCHED_RESTART_COUNT >>starts\n[ $(wc -l <starts) -ge 3 ] || exit 75",
                   "--requeue-on=exit:75", "--requeue-delay=0")
    c.wait_state(job, "COMPLETED")
    assert (c.dir / "jobs/starts").read_text() == "0\n1\n2\n"
    job = c.submit("kill -KILL $$", "--requeue-on=signal:KILL", "--requeue-delay=0", "--max-attempts=2")
    c.wait_state(job, "FAILED")
    assert c.job(job)["attempt"] == 2
    job = c.submit("exit 75", "--requeue-on=exit:75", "--requeue-delay=1:00:00")
    wait_until(lambda: c.job(job)["reason"] == "BeginTime", "the job to wait after its failure")
    r = c.run("gsubmit", "--requeue-on=75", stdin="#!/bin/sh\n", check=False)
    assert r.returncode == 2 and "expected exit:CODE" in r.stderr


def test_signal_to_the_script_alone(c):
    script = ('trap "echo script >>got; exit 3" USR1\n'
              '(trap "echo child >>got" USR1; touch ready; while :; do sleep 0.05; done) &\n'
              'while :; do sleep 0.05; done')
    job = c.submit(script)
    wait_until(lambda: (c.dir / "jobs/ready").exists(), "the script to wait for its signal")
    c.wait_state(job, "RUNNING")
    c.run("gcancel", "-s", "USR1", "--batch", job)
    c.wait_state(job, "FAILED")
    assert (c.dir / "jobs/got").read_text() == "script\n"
    assert c.job(job)["exit_code"] == 3
    r = c.run("gcancel", "--batch", job, check=False)
    assert r.returncode == 2 and "--signal" in r.stderr
