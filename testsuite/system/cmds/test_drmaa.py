"""DRMAA 1.0 as programs use it: Debian's python3-drmaa over libdrmaa, each test a program of its own."""

import os
import re
import subprocess
import sys
import textwrap

import pytest
from cluster import BUILD, DEADLINE, SANITIZED, TOP, Cluster, wait_until

LIBRARY = BUILD / ".libs/libdrmaa.so"
HEAD = """
import os, sys, threading, time
import drmaa
from drmaa import JobControlAction as Action, JobState, Session

def template(s, command, *args, **attributes):
    jt = s.createJobTemplate()
    jt.remoteCommand, jt.args = command, list(args)
    for name, value in attributes.items():
        setattr(jt, name, value)
    return jt

def sh(s, script, **attributes):
    return template(s, "/bin/sh", "-c", script, **attributes)

def wait_ps(s, job, *states):
    end = time.monotonic() + DEADLINE
    while s.jobStatus(job) not in states:
        assert time.monotonic() < end, (job, states, s.jobStatus(job))
        time.sleep(0.02)

def fails(error, text, call, *args):
    try:
        call(*args)
    except error as e:
        assert text in str(e), str(e)
    else:
        assert False, "no error"

with Session() as s:
"""


@pytest.fixture(name="c", scope="module")
def fixture_c():
    if subprocess.run([sys.executable, "-c", "import importlib.util as u; assert u.find_spec('drmaa')"], check=False,
                      capture_output=True).returncode:
        pytest.skip("python3-drmaa is missing: Debian 12 has it, Debian 13 has not")
    if SANITIZED:
        pytest.skip("a library with a sanitizer cannot be loaded into python3")
    with Cluster(nodes=("n1",), gpus="demo:4", cpus=16) as c:
        yield c


def started(c, body, head=HEAD, env=None):
    """A program that runs `body` in a session."""
    path = c.dir / "jobs/program.py"
    path.write_text(f"DEADLINE = {DEADLINE}\n" + head + textwrap.indent(textwrap.dedent(body), "    "))
    return subprocess.Popen([sys.executable, path], env={**c.env, "DRMAA_LIBRARY_PATH": str(LIBRARY), **(env or {})},
                            cwd=c.dir / "jobs", stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def program(c, body, **kw):
    """Run it; returns what it printed."""
    p = started(c, body, **kw)
    out, err = p.communicate(timeout=2 * DEADLINE)
    assert p.returncode == 0, out + err
    return out


def test_who_it_is(c):
    out = program(c, """
        print(s.version, "|", s.drmsInfo, "|", s.drmaaImplementation, "|", s.contact)
        jt = s.createJobTemplate()
        print(sorted(jt.attributeNames)[:3])
        fails(drmaa.AlreadyActiveSessionException, "active", s.initialize)
    """)
    version = subprocess.run([BUILD / "cmds/gsubmit", "--version"], capture_output=True, text=True, check=True).stdout.split()[-1]
    assert out.splitlines()[0] == f"1.0 | gpusched {version} | libdrmaa of gpusched {version} | test"
    assert "drmaa_block_email" in out


def test_a_job_and_its_end(c):
    program(c, """
        jt = sh(s, 'printf "%s|%s|%s|" "$GREETING" "$PWD" "$1"; exit 7', jobEnvironment={"GREETING": "two words"}, jobName="hello",
                outputPath=":" + drmaa.JobTemplate.WORKING_DIRECTORY + "/hello.%out", joinFiles=True)
        jt.args = jt.args + ["sh", "$(a 'quoted') \\"argument\\""]
        job = s.runJob(jt)
        info = s.wait(job, Session.TIMEOUT_WAIT_FOREVER)
        assert (info.jobId, info.hasExited, info.exitStatus, info.hasSignal, info.wasAborted) == (job, True, 7, False, False), info
        use = info.resourceUsage
        assert use["exit_status"] == "7" and use["state"] == "FAILED" and use["hosts"] == "n1", use
        assert float(use["cpu"]) >= 0 and int(use["end_time"]) >= int(use["start_time"]) >= int(use["submission_time"]) > 0
        assert open("hello.%out").read() == "two words|" + os.getcwd() + "|$(a 'quoted') \\"argument\\"|"
        assert s.jobStatus(job) == JobState.FAILED
        fails(drmaa.InvalidJobException, "waited for before", s.wait, job, 0)
    """)


def test_signals_and_termination(c):
    program(c, """
        killed = s.runJob(sh(s, "kill -USR1 $$"))
        waits = s.runJob(sh(s, "sleep 600", jobSubmissionState="drmaa_hold"))
        runs = s.runJob(sh(s, "trap 'exit 0' TERM; touch runs; while :; do sleep 0.05; done"))
        info = s.wait(killed)
        assert info.hasSignal and info.terminatedSignal == "SIGUSR1" and not info.hasExited, info
        wait_ps(s, runs, JobState.RUNNING)
        while not os.path.exists("runs"):
            time.sleep(0.02)
        s.control(waits, Action.TERMINATE)
        s.control(runs, Action.TERMINATE)
        info = s.wait(waits)
        assert info.wasAborted and not info.hasExited and not info.hasSignal, info
        info = s.wait(runs)
        assert info.hasSignal and not info.hasExited and not info.wasAborted, info
        assert info.resourceUsage["state"] == "CANCELLED"
    """)


def test_hold_release_suspend_resume(c):
    program(c, """
        job = s.runJob(sh(s, "touch started; while [ ! -e go ]; do sleep 0.05; done", jobSubmissionState="drmaa_hold"))
        assert s.jobStatus(job) == JobState.USER_ON_HOLD
        fails(drmaa.SuspendInconsistentStateException, job, s.control, job, Action.SUSPEND)
        s.control(job, Action.RELEASE)
        wait_ps(s, job, JobState.RUNNING)
        fails(drmaa.HoldInconsistentStateException, job, s.control, job, Action.HOLD)
        s.control(job, Action.SUSPEND)
        wait_ps(s, job, JobState.USER_SUSPENDED)
        s.control(job, Action.RESUME)
        wait_ps(s, job, JobState.RUNNING)
        fails(drmaa.ExitTimeoutException, "", s.wait, job, Session.TIMEOUT_NO_WAIT)
        fails(drmaa.ExitTimeoutException, "", s.wait, job, 1)
        fails(drmaa.ExitTimeoutException, "", s.synchronize, [job], 1)
        open("go", "w").close()
        assert s.wait(job).exitStatus == 0
        fails(drmaa.InvalidJobException, "no job id", s.jobStatus, "x1")
        fails(drmaa.InvalidJobException, "not known", s.jobStatus, "4000000")
        fails(drmaa.InvalidJobException, "4000000 is not known", s.synchronize, [job, "4000000"])
        fails(drmaa.InvalidJobException, "", s.control, "4000000", Action.TERMINATE)
    """)


def test_bulk(c):
    program(c, """
        os.makedirs("logs", exist_ok=True)
        jt = sh(s, "echo $GPUSCHED_ARRAY_TASK_ID; exit $GPUSCHED_ARRAY_TASK_ID", outputPath=":logs/part." + drmaa.JobTemplate.PARAMETRIC_INDEX)
        jobs = s.runBulkJobs(jt, 1, 7, 2)
        base = jobs[0].split("_")[0]
        assert jobs == [f"{base}_{k}" for k in (1, 3, 5, 7)], jobs
        single = s.runJob(sh(s, "exit 9"))
        ends = {}
        for _ in range(5):
            info = s.wait(Session.JOB_IDS_SESSION_ANY)
            ends[info.jobId] = info.exitStatus
        assert ends == {**{f"{base}_{k}": k for k in (1, 3, 5, 7)}, single: 9}, ends
        assert [open(f"logs/part.{k}").read() for k in (1, 3, 5, 7)] == ["1\\n", "3\\n", "5\\n", "7\\n"]
        fails(drmaa.InvalidJobException, "no job", s.wait, Session.JOB_IDS_SESSION_ANY)
        fails(drmaa.InvalidArgumentException, "no index", s.runBulkJobs, jt, 5, 1, 2)
        folder = sh(s, "pwd", workingDirectory=os.getcwd() + "/logs/in." + drmaa.JobTemplate.PARAMETRIC_INDEX,
                    outputPath=":" + drmaa.JobTemplate.WORKING_DIRECTORY + "/out")
        for k in (4, 6):
            os.makedirs(f"logs/in.{k}", exist_ok=True)
        s.synchronize(s.runBulkJobs(folder, 4, 6, 2))
        assert open("logs/in.6/out").read() == os.getcwd() + "/logs/in.6\\n"
    """)


def test_synchronize(c):
    program(c, """
        jobs = s.runBulkJobs(sh(s, "exit 3"), 1, 40, 1) + [s.runJob(sh(s, "exit 4"))]
        s.synchronize([Session.JOB_IDS_SESSION_ALL], Session.TIMEOUT_WAIT_FOREVER, False)
        assert s.wait(jobs[5]).exitStatus == 3 and s.wait(jobs[-1]).exitStatus == 4
        s.synchronize(jobs, Session.TIMEOUT_NO_WAIT, True)
        fails(drmaa.InvalidJobException, "waited for before", s.wait, jobs[7])
        s.synchronize([Session.JOB_IDS_SESSION_ALL], 1, True)
        held = s.runBulkJobs(sh(s, "true", jobSubmissionState="drmaa_hold"), 1, 3, 1)
        s.control(Session.JOB_IDS_SESSION_ALL, Action.TERMINATE)
        s.synchronize(held, Session.TIMEOUT_WAIT_FOREVER, False)
        assert all(s.wait(j).wasAborted for j in held)
    """)


def test_native_specification(c):
    out = program(c, """
        jt = sh(s, "true", jobSubmissionState="drmaa_hold", jobName="weak",
                nativeSpecification="-J 'two words' --gpus=2 -c3 --mem 2G -t 0:30:0 --label k='a b' --wckey=x")
        print(s.runJob(jt))
        for text, why in (("--gpus=lots", "--gpus=lots"), ("--nosuch=1", "no such option"), ("--wrap=x", "only on a command line"),
                          ("stray", "no option"), ("-a 1-3", "drmaa_run_bulk_jobs"), ("-M other", "this is cluster test")):
            jt.nativeSpecification = text
            fails((drmaa.InvalidAttributeValueException, drmaa.DeniedByDrmException), why, s.runJob, jt)
        jt.nativeSpecification = "-p nosuch"
        fails(drmaa.DeniedByDrmException, "nosuch", s.runJob, jt)
        jt.nativeSpecification = "--gpus=400"
        fails(drmaa.DeniedByDrmException, "", s.runJob, jt)
        def quote():
            jt.nativeSpecification = "-J 'open"
        fails(drmaa.InvalidAttributeFormatException, "not closed", quote)
        jt.nativeSpecification = ""
        jt.jobCategory = "long"
        fails(drmaa.InvalidAttributeValueException, "drmaa-categories", s.runJob, jt)
        s.control(Session.JOB_IDS_SESSION_ALL, Action.TERMINATE)
    """)
    j = c.job(int(out))
    assert (j["name"], j["cpus"], j["mem_mb"], j["labels"]) == ("two words", 3, 2048, [{"key": "k", "value": "a b"}])
    assert j["gpus"][0]["count"] == 2


def test_categories_limits_times_and_mail(c):
    (c.dir / "categories").write_text("# of the site\nlong: --label kind=long -t 2:00:00\nshort: -t 5\n")
    out = program(c, """
        jt = sh(s, "true", jobCategory="long", startTime="2037/01/31 16:00:00 +00:00", email=["ana@example.org"])
        print(s.runJob(jt))
        jt = sh(s, "true", jobCategory="short", jobSubmissionState="drmaa_hold", blockEmail=True, email=["a", "b"])
        from drmaa.wrappers import drmaa_set_attribute
        from drmaa.helpers import c as call
        call(drmaa_set_attribute, jt, b"drmaa_wct_hlimit", b"10:00")
        call(drmaa_set_attribute, jt, b"drmaa_wct_slimit", b"9:00")
        print(s.runJob(jt))
        jt.jobCategory = "none"
        fails(drmaa.InvalidAttributeValueException, "no category 'none'", s.runJob, jt)
        jt.jobCategory = ""
        call(drmaa_set_attribute, jt, b"drmaa_wct_hlimit", b"")
        fails(drmaa.ConflictingAttributeValuesException, "soft limit", s.runJob, jt)
        for name, value in (("startTime", "soon"), ("deadlineTime", "25:00"), ("jobSubmissionState", "held")):
            fails((drmaa.InvalidAttributeFormatException, drmaa.InvalidAttributeValueException), value, setattr, jt, name, value)
        fails(drmaa.ConflictingAttributeValuesException, "drmaa_remote_command", s.runJob, s.createJobTemplate())
        jt = sh(s, "true", outputPath="elsewhere:/tmp/x")
        fails(drmaa.InvalidAttributeValueException, "elsewhere", s.runJob, jt)
        s.control(Session.JOB_IDS_SESSION_ALL, Action.TERMINATE)
    """, env={"GPUSCHED_DRMAA_CATEGORIES": str(c.dir / "categories")})
    long, short = (c.job(int(line)) for line in out.split())
    assert (long["time_limit_s"], long["begin_time"], long["mail_user"]) == (7200, 2117030400, "ana@example.org")
    assert short["time_limit_s"] == 600


def test_output_in_a_folder(c):
    program(c, """
        os.makedirs("folder", exist_ok=True)
        job = s.runJob(sh(s, "echo out; echo err >&2", jobName="it", outputPath=":folder", errorPath=":" + os.getcwd() + "/folder"))
        s.wait(job)
        assert open(f"folder/it.o{job}").read() == "out\\n" and open(f"folder/it.e{job}").read() == "err\\n"
        jobs = s.runBulkJobs(sh(s, "echo out", jobName="it", outputPath=":folder", joinFiles=True), 1, 2, 1)
        s.synchronize(jobs)
        assert open("folder/it.o" + jobs[1].replace("_", ".")).read() == "out\\n"
    """)


def test_threads_wait_and_submit(c):
    program(c, """
        held = s.runJob(sh(s, "exit 5", jobSubmissionState="drmaa_hold"))
        ends = []
        waiting = threading.Thread(target=lambda: ends.append(s.wait(held).exitStatus))
        waiting.start()
        def one(k):
            ends.append(s.wait(s.runJob(sh(s, f"exit {k}"))).exitStatus)
        others = [threading.Thread(target=one, args=(10 + k,)) for k in range(8)]
        for t in others:
            t.start()
        for t in others:
            t.join()
        assert sorted(ends) == list(range(10, 18)), ends
        s.control(held, Action.RELEASE)
        waiting.join()
        assert ends[-1] == 5
    """)


def test_the_controller_restarts_while_jobs_are_waited_for(c):
    p = started(c, """
        jobs = s.runBulkJobs(sh(s, "while [ ! -e go-on ]; do sleep 0.05; done; exit 6"), 1, 2, 1)
        jobs.append(s.runJob(sh(s, "while [ ! -e go-on ]; do sleep 0.05; done; exit 7")))
        ends = []
        waits = threading.Thread(target=lambda: ends.append(s.wait(jobs[2]).exitStatus))
        waits.start()
        open("waits", "w").close()
        s.synchronize(jobs[:2], Session.TIMEOUT_WAIT_FOREVER, False)
        waits.join()
        assert ends == [7] and [s.wait(j).exitStatus for j in jobs[:2]] == [6, 6]
    """)
    wait_until((c.dir / "jobs/waits").exists, "the program to wait")
    c.ctld.kill()
    c.start_ctld()
    (c.dir / "jobs/go-on").touch()
    out, err = p.communicate(timeout=2 * DEADLINE)
    assert p.returncode == 0, out + err


def test_without_a_session_or_a_controller(c):
    head = HEAD.replace("with Session() as s:", "if True:")
    program(c, """
        s = Session()
        fails(drmaa.NoActiveSessionException, "drmaa_init", s.createJobTemplate)
        fails(drmaa.NoActiveSessionException, "drmaa_init", s.wait, "1")
        fails(drmaa.NoActiveSessionException, "drmaa_init", s.exit)
        fails(drmaa.InvalidContactStringException, "this is cluster test", s.initialize, "other")
        s.initialize(os.environ["GPUSCHED_CONF"])
        job = s.runJob(sh(s, "exit 8"))
        s.exit()
        s.initialize("test")
        assert s.wait(job).exitStatus == 8
        s.exit()
    """, head=head)
    program(c, """
        fails(drmaa.DrmsInitException, "", Session().initialize)
    """, head=head, env={"GPUSCHED_CONTROLLER": "localhost:1", "GPUSCHED_RETRY": "0"})


def test_a_c_program(c, tmp_path):
    source = tmp_path / "program.c"
    source.write_text("""
        #include "drmaa.h"
        #include <stdio.h>
        int main(void)
        {
            drmaa_job_template_t *jt = NULL;
            drmaa_attr_values_t *rusage = NULL;
            const char *args[] = { "-c", "exit 3", NULL };
            char why[DRMAA_ERROR_STRING_BUFFER] = "", job[DRMAA_JOBNAME_BUFFER];
            size_t n = 0;
            int stat, code = -1;
            if (drmaa_init(NULL, why, sizeof(why)) || drmaa_allocate_job_template(&jt, NULL, 0) ||
                drmaa_set_attribute(jt, DRMAA_REMOTE_COMMAND, "sh", why, sizeof(why)) ||
                drmaa_set_vector_attribute(jt, DRMAA_V_ARGV, args, why, sizeof(why)) ||
                drmaa_run_job(job, sizeof(job), jt, why, sizeof(why)) ||
                drmaa_wait(job, NULL, 0, &stat, DRMAA_TIMEOUT_WAIT_FOREVER, &rusage, why, sizeof(why)) ||
                drmaa_wexitstatus(&code, stat, NULL, 0) || drmaa_get_num_attr_values(rusage, &n))
                printf("%s\\n", why);
            drmaa_release_attr_values(rusage);
            drmaa_delete_job_template(jt, NULL, 0);
            printf("%d %d %s\\n", code, n > 5, drmaa_strerror(drmaa_exit(NULL, 0)));
            return 0;
        }
    """)
    cc = (os.environ.get("CC") or "cc").split()[-1]
    exe = tmp_path / "program"
    subprocess.run([cc, "-std=c99", "-Wall", "-Wextra", "-pedantic", "-Werror", f"-I{TOP}/cmds/drmaa", "-o", exe, source,
                    f"-L{LIBRARY.parent}", f"-Wl,-rpath,{LIBRARY.parent}", "-ldrmaa"], check=True)
    r = subprocess.run([exe], env=c.env, cwd=c.dir / "jobs", capture_output=True, text=True, timeout=DEADLINE, check=True)
    assert r.stdout == "3 1 Success\n"


def test_nothing_else_is_exported():
    symbols = subprocess.run(["nm", "-D", "--defined-only", LIBRARY], capture_output=True, text=True, check=True).stdout.split("\n")
    names = {line.split()[-1] for line in symbols if line}
    declared = set(re.findall(r"\b(drmaa_\w+)\(", (TOP / "cmds/drmaa/drmaa.h").read_text()))
    assert names == {"DRMAA_1.0"} | {f"{f}@@DRMAA_1.0" for f in declared} and "drmaa_wait" in declared
