"""The commands on a whole cluster: what users type, what comes back, how it looks on a terminal."""

import fcntl
import json
import os
import pty
import re
import signal
import struct
import subprocess
import termios
import time

import pytest
from cluster import BIN, ROOT, TOP, Cluster, wait_until


PARTITIONS = """( { name = "batch"; nodes = "ALL"; default = true; max_time = "1-00:00:00"; grace = "2s"; },
  { name = "long"; nodes = "ALL"; default_time = "2:00:00"; grace = "2s"; services = true; } )"""


@pytest.fixture(scope="module")
def cluster():
    with Cluster(partitions=PARTITIONS) as c:
        yield c


@pytest.fixture(autouse=True)
def clean(cluster):
    yield
    cluster.run("gctl", "resume", "n1", check=False)
    cluster.run("gcancel", "--state", "PENDING,CONFIGURING,RUNNING", check=False)
    wait_until(lambda: not cluster.run("gqueue", "-h").stdout, "an empty queue")


def output_of(cluster, job, name):
    cluster.wait_state(job, "COMPLETED", "FAILED")
    return (cluster.dir / "jobs" / name).read_text()


def on_terminal(cluster, *argv, columns=80, env=None):
    """Run a command with its output on a terminal; returns what it wrote."""
    outer, inner = pty.openpty()
    fcntl.ioctl(inner, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
    e = {**cluster.env, "TERM": "xterm", **(env or {})}
    p = subprocess.Popen([str(BIN.get(argv[0], argv[0])), *map(str, argv[1:])], stdin=subprocess.DEVNULL, stdout=inner,
                         stderr=subprocess.STDOUT, env=e, cwd=cluster.dir / "jobs")
    os.close(inner)
    text = b""
    while True:
        try:
            piece = os.read(outer, 65536)
        except OSError:
            break
        if not piece:
            break
        text += piece
    os.close(outer)
    p.wait()
    return text.decode().replace("\r\n", "\n")


# --- gsubmit ---------------------------------------------------------------------------------------


def test_answers(cluster):
    r = cluster.run("gsubmit", "--hold", "--wrap", "true")
    assert r.stdout.startswith("Submitted batch job ") and r.stderr == ""
    assert cluster.run("gsubmit", "--hold", "--parsable", "--wrap", "true").stdout.strip().isdigit()
    j = json.loads(cluster.run("gsubmit", "--hold", "--json", "--wrap", "true").stdout)
    assert j["version"] == 1 and j["cluster"] == "test" and j["jobs"][0]["id"] > 0
    r = cluster.run("gsubmit", "--json", "--partition=nosuch", "--wrap", "true", check=False)
    assert r.returncode == 3 and json.loads(r.stdout)["error"]["code"] == "partition.unknown"


def test_options_reach_the_job(cluster):
    job = cluster.submit("true", "-J", "a name", "-p", "batch", "-G", "demo:2|any:1", "-c", "3", "--mem=2G", "-t", "1:30:00",
                         "--hold", "--no-requeue", "--nice=5", "--label", "k=v", "--label=m=n", "-D", "/tmp", "-o", "/tmp/%x.o",
                         "-e", "/tmp/%x.e")
    j = cluster.job(job)
    want = {"name": "a name", "partition": "batch", "cpus": 3, "mem_mb": 2048, "time_limit_s": 5400, "requeue": False, "nice": 5,
            "cwd": "/tmp", "output": "/tmp/%x.o", "error": "/tmp/%x.e", "state": "PENDING",
            "labels": [{"key": "k", "value": "v"}, {"key": "m", "value": "n"}]}
    assert {k: j[k] for k in want} == want
    assert [(g["type"], g["count"]) for g in j["gpus"]] == [("demo", 2), ("", 1)]


def test_script_variables_and_command_line(cluster):
    path = cluster.dir / "jobs/directives.sh"
    path.write_text("#!/bin/sh\n#GPUSCHED -J script -t 5 --hold # a comment\n#GPUSCHED --mem=1G\ntrue\n#GPUSCHED -J late\n")
    job = int(cluster.run("gsubmit", "--parsable", "-t", "7", path, env={"GSUBMIT_MEM": "2G", "GSUBMIT_TIME": "6"}).stdout)
    j = cluster.job(job)
    assert (j["name"], j["time_limit_s"], j["mem_mb"]) == ("script", 420, 2048)


def test_arguments_environment_and_folder(cluster):
    path = cluster.dir / "jobs/args.sh"
    path.write_text('#!/bin/sh\nprintf "<%s>" "$@" "$LINES_" "$PWD" "$GPUSCHED_JOB_NAME"\n')
    job = int(cluster.run("gsubmit", "--parsable", "-o", "args.out", path, "a b", "", "--hold", "$x",
                          env={"LINES_": "one\ntwo"}).stdout)
    assert output_of(cluster, job, "args.out") == f"<a b><><--hold><$x><one\ntwo><{cluster.dir}/jobs><args.sh>"


@pytest.mark.parametrize("rule, want", [("ALL", "x:y"), ("NONE", ":"), ("X_ONE", "x:"), ("ALL,X_ONE=z", "z:y"),
                                        ("X_TWO='1,2'", ":1,2")])
def test_export(cluster, rule, want):
    job = cluster.submit('echo "$X_ONE:$X_TWO"', f"--export={rule}", "-o", "export.out", env={"X_ONE": "x", "X_TWO": "y"})
    assert output_of(cluster, job, "export.out") == want + "\n"


def test_too_much_environment(cluster):
    big = {f"BIG_{i}": "x" * 100000 for i in range(11)}
    r = cluster.run("gsubmit", "--wrap", "true", env=big, check=False)
    assert r.returncode == 1 and "environment" in r.stderr and "--export" in r.stderr
    job = int(cluster.run("gsubmit", "--hold", "--parsable", "--export=BIG_1", "--wrap", "true", env=big).stdout)
    assert cluster.state(job) == "PENDING"


def test_input_error_and_append(cluster):
    (cluster.dir / "jobs/in.txt").write_text("hello\n")
    for i in (1, 2):
        job = cluster.submit("cat; echo oops >&2", "-i", "in.txt", "-o", "inout.out", "-e", "inout.err", "--open-mode=append")
        assert output_of(cluster, job, "inout.out") == "hello\n" * i
    assert (cluster.dir / "jobs/inout.err").read_text() == "oops\noops\n"


def test_no_time_limit(cluster):
    r = cluster.run("gsubmit", "--hold", "--time=unlimited", "--wrap", "true", check=False)
    assert r.returncode == 1 and "1-00:00:00" in r.stderr
    a = cluster.submit("true", "--hold", "-p", "long", "--time=unlimited")
    b = cluster.submit("true", "--hold", "-p", "long")
    assert (cluster.job(a)["time_limit_s"], cluster.job(b)["time_limit_s"]) == (0, 7200)
    assert cluster.run("gqueue", "-h", "-j", a, "-o", "TIMELIMIT").stdout.strip() == "UNLIMITED"


def test_warning_before_the_limit(cluster):
    job = cluster.submit("trap 'echo warned; exit 7' USR1; while :; do sleep 0.05; done", "-t", "0:03", "--signal=B:USR1@2",
                         "-o", "warned.out")
    assert output_of(cluster, job, "warned.out") == "warned\n"
    assert cluster.job(job)["exit_code"] == 7


def test_test_only(cluster):
    before = set(cluster.jobs())
    r = cluster.run("gsubmit", "--test-only", "--gpus=2", "--wrap", "true")
    assert r.stdout == "would start now on n1 with demo:2 (GPUs 0,1)\n"
    cluster.run("gctl", "drain", "n1", "test")
    r = cluster.run("gsubmit", "--test-only", "--gpus=2", "--wrap", "true")
    assert r.stdout.startswith("would wait") and "\nHELD BY" in r.stdout and "drained" in r.stdout
    v = json.loads(cluster.run("gsubmit", "--test-only", "--json", "--wrap", "true").stdout)["jobs"][0]
    assert v["would_start_now"] is False and v["reason"]
    assert cluster.run("gsubmit", "--test-only", "--gpus=99", "--wrap", "true", check=False).returncode == 1
    assert set(cluster.jobs()) <= before


def test_why(cluster):
    blocker = cluster.submit("sleep 600", "--gpus=4", "-J", "first", "-t", "60")
    cluster.wait_state(blocker, "RUNNING")
    job = cluster.submit("true", "--gpus=3", "-c", "2", "--mem=1G", "-J", "second", "-t", "10")
    held = cluster.submit("true", "--hold")
    text = wait_until(lambda: (lambda t: "Resources" in t and t)(cluster.run("gqueue", "--why", job).stdout), "a reason")
    lines = text.splitlines()
    assert lines[0].startswith(f"Job {job} second (") and re.search(r"partition batch\) has waited \d+:\d\d\b", lines[0])
    assert lines[1] == "It asks for 3 GPUs on one node, 2 CPUs and 1G memory, for up to 10:00."
    assert any(line.startswith("HELD BY") for line in lines) and any("Resources " in line for line in lines)
    text = cluster.run("gqueue", "--why", f"{held},{blocker}").stdout
    assert "1 JobHeldAdmin" in text or "1 JobHeldUser" in text
    assert f"Job {blocker} first (" in text and "does not wait: it is RUNNING on n1" in text
    j = json.loads(cluster.run("gqueue", "--why", job, "--json").stdout)["jobs"][0]
    assert j["job"]["id"] == job and j["why"]["blockers"][0]["reason"] == "Resources" and j["now_time"] > 0
    r = cluster.run("gqueue", "--why", 999999, check=False)
    assert r.returncode == 3 and r.stderr == "gqueue: error: job 999999: not known\n"
    ids = cluster.run("gqueue", "--start", "-h", "-o", "JOBID").stdout.split()
    assert str(job) in ids and str(blocker) not in ids


def test_what_there_is_of_several_jobs_and_what_is_not(cluster):
    here = cluster.submit("sleep 100", "--gpus=4")
    waits = cluster.submit("true", "--gpus=4", "--hold")
    array = cluster.submit("true", "--gpus=4", "--array=0-3", "--hold")
    cluster.wait_state(here, "RUNNING")
    gone = 999998

    def run(*argv):
        r = cluster.run(*argv, check=False)
        assert r.returncode == 3, (argv, r)
        return r.stdout, r.stderr

    for command, what in ((("gqueue", "-h", "-o", "JOBID"), "not known, or not selected by the other options"),
                          (("gacct", "-h", "-s", "R,PD", "-o", "JOBID"),
                           "not known, never ran, or not selected by the other options")):
        out, error = run(*command, "-j", f"{gone},{here},{waits},{gone + 1}")
        assert out.split()[:2] == [str(here), str(waits)] or out.split()[:2] == [str(waits), str(here)], out
        assert error == f"{command[0]}: error: jobs {gone}, {gone + 1}: {what}\n"
    out, error = run("gprio", "-h", "-o", "JOBID", "-j", f"{gone},{waits}")
    assert out.split() == [str(waits)] and f"job {gone}: not known, or it does not wait" in error
    out, error = run("gqueue", "--why", f"{gone},{waits},{gone + 1}")
    assert f"Job {waits} " in out and error == f"gqueue: error: jobs {gone}, {gone + 1}: not known\n"
    out, error = run("gqueue", "--why", f"{waits},{gone}", "--json")
    answer = json.loads(out)
    assert [j["job"]["id"] for j in answer["jobs"]] == [waits] and answer["error"]["code"] == "job.unknown"
    out, error = run("gqueue", "--why", f"{array}_9,{array}_1")
    assert f"Job {array}_[0-3] " in out and f"job {array}_9: not known" in error
    out, error = run("gctl", "show", "job", array, f"{gone},{waits}")
    assert f"JOBID             {array}" in out and error == f"gctl: error: job {gone}: not known\n"
    out, error = run("gctl", "show", "job", "--script", gone, array)
    assert out == "#!/bin/sh\ntrue\n" and f"job {gone}: not known, or the script was erased" in error
    out, error = run("gctl", "hold", gone, f"{waits},{gone + 1}")
    assert out == "Held 1 job\n" and f"no job {gone}\n" in error and f"no job {gone + 1}\n" in error
    out, error = run("gctl", "update", f"{gone},{waits}", "--nice=3")
    assert out == "Updated 1 job\n" and f"no job {gone}" in error
    out, error = run("gcancel", f"{gone},{waits}", gone + 1)
    assert out == "Cancelled 1 job\n" and f"no job {gone}\n" in error and f"no job {gone + 1}\n" in error
    # Of an array each task that is not there.
    some = f"{array}_1,{array}_[2,7-9],{array}_8,{gone}_3"
    for command, why in ((("gqueue", "-h", "-o", "JOBID", "-j", some), "not known, or not selected by the other options"),
                         (("gqueue", "--why", some), "not known"), (("gctl", "show", "job", some), "not known"),
                         (("gprio", "-h", "-o", "JOBID", "-j", some), "not known, or it does not wait")):
        out, error = run(*command)
        assert str(array) in out and error == f"{' '.join(command[:1])}: error: jobs {array}_[7-9], {gone}_3: {why}\n", error
    out, error = run("gacct", "--noheader", "-s", "PENDING", "-j", f"{array}_1,{array}_5")
    assert error.startswith(f"gacct: error: job {array}_5: not known") and str(array) in out
    out, error = run("gctl", "hold", f"{array}_1,{array}_[6,8-9]")
    assert (out, error) == (f"Held 1 task of job {array}\n", f"gctl: error: job {array} has no tasks 6,8-9: its array is 0-3\n")
    out, error = run("gctl", "update", f"{array}_[0-7]", "--nice=3")
    assert (out, error) == (f"Updated 4 tasks of job {array}\n",
                            f"gctl update: error: job {array} has no tasks 4-7: its array is 0-3\n")
    assert run("gctl", "release", f"{array}_7") == ("", f"gctl: error: job {array} has no task 7: its array is 0-3\n")
    out, error = run("gcancel", f"{array}_0,{array}_7,{gone}_1")
    assert out == "Cancelled 1 task\n" and f"no job {gone}\n" in error and f"job {array} has no task 7" in error
    # Many of them are not all named.
    out, error = run("gqueue", "-j", f"{here}," + ",".join(str(gone + n) for n in range(50)))
    assert f"{here} " in out and error.startswith(f"gqueue: error: jobs {gone}, ") and " others: not known" in error


@pytest.mark.parametrize("argv", [("gqueue",), ("gqueue", "--json"), ("ginfo",), ("gctl", "events")],
                         ids=" ".join)
def test_closed_standard_files(cluster, argv):
    """What is printed does not go into the connection that has the number of a closed file."""
    many = cluster.dir / "jobs/many.jsonl"  # more than a buffer, so that it is written while the connection is there
    many.write_text(300 * '{"wrap": "true", "hold": true}\n')
    cluster.run("gsubmit", "--bulk", many)

    def closed(*fds):
        return subprocess.run([str(BIN[argv[0]]), *argv[1:]], env=cluster.env, stderr=subprocess.PIPE, timeout=60,
                              preexec_fn=lambda: [os.close(fd) for fd in fds], check=False)
    for fds in ((1,), (0, 1)):
        r = closed(*fds)
        assert r.returncode == 1 and r.stderr.decode().endswith(": error: standard output: Bad file descriptor\n"), r
    assert closed(2).returncode == 0 and closed(0, 2).returncode == 0
    assert closed(1, 2).returncode == 1


@pytest.mark.parametrize("argv", [
    "gqueue -l", "gqueue --why JOB", "gqueue --help", "ginfo", "ginfo -N", "ginfo --gpus", "gprio", "gprio -w", "gshare", "gacct -s PD",
    "greport use", "greport wait", "gctl stats", "gctl events", "gctl show job JOB", "gctl show node", "gctl show partition",
    "gctl show config", "gctl show hostnames n[1-3]", "gctl list-errors", "gctl ping", "gctl hold JOB", "gctl resume n1",
    "gctl update JOB --nice=1", "gcancel JOB", "gsubmit --hold --wrap true", "gsubmit --test-only --wrap true", "grun echo here"])
def test_output_that_arrives_nowhere(cluster, argv):
    """An error and its status, whatever is printed; nothing of SIGPIPE where the reader has gone."""
    job = str(cluster.submit("true", "--hold"))
    words = [str(BIN.get(w, w)) if i == 0 else job if w == "JOB" else w for i, w in enumerate(argv.split())]
    with open("/dev/full", "w", encoding="utf-8") as full:
        r = subprocess.run(words, env=cluster.env, stdout=full, stderr=subprocess.PIPE, text=True, timeout=60, check=False,
                           cwd=cluster.dir / "jobs")
    assert r.returncode == (125 if "grun" in argv else 1) and "error: " in r.stderr, r
    assert "gsubmit --hold" not in argv or "was submitted" in r.stderr, "it is in the queue all the same"


def test_words_about_arrays(cluster):
    blocker = cluster.submit("sleep 100", "--gpus=4")
    cluster.wait_state(blocker, "RUNNING")
    array = cluster.submit("true", "--gpus=4", "--array=0-9")
    other = cluster.submit("true", "--gpus=4")

    def says(*argv):
        return cluster.run(*argv).stdout

    def listing(job):
        return [line.split()[0::4][:2] for line in says("gqueue", "-h", "--sort=JOBID", job).splitlines()]

    assert says("gctl", "hold", f"{array}_[2-4]") == f"Held 3 tasks of job {array}\n"
    assert says("gctl", "hold", f"{array}_3") == f"Held 1 task of job {array}\n"
    assert says("gctl", "update", f"{array}_[0-1]", "--nice=1") == f"Updated 2 tasks of job {array}\n"
    assert says("gctl", "release", f"{array}_2") == f"Released 1 task of job {array}\n"
    assert says("gctl", "hold", other, f"{array}_5") == "Held 1 job and 1 task\n"
    assert says("gctl", "release", array, other) == "Released 1 job and 10 tasks\n"
    assert says("gcancel", f"{array}_[7-9]") == f"Cancelled 3 tasks of job {array}\n"
    # An array by its id is all that there is of it, what has ended included; a task is one line.
    rows = says("gqueue", "-h", "-o", "JOBID,ST", array).split()
    assert dict(zip(rows[::2], rows[1::2]))[f"{array}_[7-9]"] == "CA"
    assert set(rows[1::2]) == {"PD", "CA"}
    assert says("gqueue", "-h", "-o", "JOBID,ST", f"{array}_8").split() == [f"{array}_[7-9]", "CA"]
    assert says("gcancel", array) == f"Cancelled 7 tasks of job {array}\n"
    # In gacct a job is what has a bill of its own: each task counts.
    total = says("gacct", "-j", array, "-o", "JOBID,NAME,STATE,GPU-H").splitlines()[-1]
    assert total.split() == ["total", "10", "jobs", "0.00"], total
    assert says("gacct", "-j", f"{array}_8", "-o", "JOBID,NAME").splitlines()[-1].split() == ["total", "3", "jobs"]
    assert "total" not in says("gacct", "-h", "-j", array, "-o", "JOBID")
    assert "total" not in says("gacct", "-j", array, "--csv")
    cluster.run("gcancel", blocker, other)
    cluster.wait_state(blocker, "CANCELLED")


def test_wait(cluster):
    def wait(text, *options):
        return cluster.run("gsubmit", "--wait", *options, "--wrap", text, check=False)
    assert wait("exit 0").returncode == 0
    assert wait("exit 42").returncode == 42
    assert wait("kill -TERM $$").returncode == 143
    r = wait("sleep 600", "--time=0:01")
    assert r.returncode == 143 and "TIMEOUT" in r.stderr
    assert wait("true", "--gpus=99").returncode == 125


def test_wait_sits_out_a_restart(cluster):
    with subprocess.Popen([BIN["gsubmit"], "--wait", "--wrap", "while [ ! -e wait.go ]; do sleep 0.1; done; exit 9"],
                          env=cluster.env, cwd=cluster.dir / "jobs", stdout=subprocess.PIPE, text=True) as p:
        job = int(p.stdout.readline().split()[-1])
        cluster.wait_state(job, "RUNNING")
        cluster.ctld.kill()
        cluster.start_ctld()
        (cluster.dir / "jobs/wait.go").touch()
        assert p.wait(60) == 9


def test_a_cancelled_wait_is_no_success(cluster):
    with subprocess.Popen([BIN["gsubmit"], "--wait", "--hold", "--wrap", "true"], env=cluster.env, cwd=cluster.dir / "jobs",
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as p:
        job = int(p.stdout.readline().split()[-1])
        cluster.run("gcancel", job)
        assert p.wait(60) == 125
        assert "CANCELLED" in p.stderr.read()


def test_token_is_printed_and_works(cluster):
    cluster.ctld.stop()
    r = cluster.run("gsubmit", "--hold", "--parsable", "--wrap", "true", check=False, env={"GPUSCHED_RETRY": "0"})
    assert r.returncode == 4 and r.stdout == ""
    token = r.stderr.split("--token=")[1].split()[0]
    cluster.start_ctld()
    ids = {cluster.run("gsubmit", "--hold", "--parsable", f"--token={token}", "--wrap", "true").stdout for _ in range(3)}
    assert len(ids) == 1


def test_the_same_inside_a_job(cluster):
    """A job may submit jobs; what belongs to it alone does not reach them."""
    job = cluster.submit('gsubmit --parsable --wait -o inner.out --wrap \'echo "$GPUSCHED_JOB_ID"\'', "-o", "outer.out")
    outer = output_of(cluster, job, "outer.out")
    assert (cluster.dir / "jobs/inner.out").read_text() == outer and int(outer) == job + 1


# --- gqueue ----------------------------------------------------------------------------------------


def test_queue_filters_and_columns(cluster):
    a = cluster.submit("true", "--hold", "-J", "alpha")
    b = cluster.submit("sleep 600", "-J", "beta", "--gpus=1")
    cluster.wait_state(b, "RUNNING")

    def ids(*options):
        return [int(i) for i in cluster.run("gqueue", "-h", "-o", "JOBID", *options).stdout.split() if "_" not in i]
    me = "root" if ROOT else cluster.ctld_user.pw_name
    assert ids() == [a, b]
    assert ids("--me") == ids("-u", me) == ids("-p", "batch") == [a, b]
    assert ids("-t", "PD") == ids("-n", "alpha") == ids("-j", a) == [a]
    assert ids("-t", "running") == ids("-w", "n[1-3]") == ids("--name=beta,gamma") == [b]
    assert ids("-t", "R", "-n", "alpha") == []
    r = cluster.run("gqueue", "-u", "nobody-like-that", check=False)
    assert r.returncode == 2 and "--user=nobody-like-that: unknown user on this host, and without jobs" in r.stderr
    assert ids("--sort=-jobid") == [b, a]
    lines = cluster.run("gqueue").stdout.splitlines()
    assert lines[0] == "  JOBID PARTITION NAME       USER     ST        TIME GPUS     NODELIST(REASON)"
    assert "(JobHeld" in lines[1] and lines[2].endswith("n1") and " R " in lines[2]
    r = cluster.run("gqueue", "-j", "999999", check=False)
    assert r.returncode == 3 and "999999" in r.stderr
    cluster.run("gcancel", b)
    cluster.wait_state(b, "CANCELLED")
    assert ids() == [a] and sorted(ids("--all"))[-2:] == [a, b] and ids("-j", b) == [b] and b in ids("-t", "CA")
    assert ids("-t", "all") == ids("--all") == ids("-t", "PD,all")


def test_queue_json(cluster):
    a = cluster.submit("true", "--hold")
    j = json.loads(cluster.run("gqueue", "--json", "-j", a).stdout)
    assert (j["version"], j["cluster"], len(j["jobs"])) == (1, "test", 1)
    assert j["jobs"][0]["id"] == a and j["jobs"][0]["state"] == "PENDING"
    assert json.loads(cluster.run("gqueue", "--json", "-n", "no-such-name").stdout)["jobs"] == []


def test_terminal(cluster):
    cluster.submit("true", "--hold", "-J", "a-name-that-is-rather-long")
    wide = on_terminal(cluster, "gqueue", columns=120)
    assert "a-name-that-is-rather-long" in wide and "\033[33mPD\033[0m" in wide
    narrow = on_terminal(cluster, "gqueue", columns=40, env={"NO_COLOR": "1"})
    assert "\033" not in narrow and max(map(len, narrow.splitlines())) <= 40
    assert "\033" not in on_terminal(cluster, "gqueue", env={"TERM": "dumb"})
    assert "\033" not in cluster.run("gqueue").stdout


LISTINGS = ["gqueue", "gqueue -l", "ginfo", "ginfo -N", "gprio", "gshare", "gacct -s PENDING", "greport wait", "gctl events",
            "gctl stats"]


def test_a_terminal_of_20_columns(cluster):
    """No line of a table is wider, down to the last column; nothing is lost from what a program reads."""
    job = cluster.submit("true", "--hold", "-J", "a-name-that-is-rather-long")
    for listing in LISTINGS[:-1]:  # names of statistics are never cut, and longer
        told = on_terminal(cluster, *listing.split(), columns=20, env={"NO_COLOR": "1"})
        lines = told.splitlines()
        assert lines and max(map(len, lines)) <= 20 and "error" not in told, (listing, told)
    assert on_terminal(cluster, "gqueue", "-h", "-o", "JOBID", columns=1).strip() in (str(job), str(job)[0], "+")


def test_advice_for_who_waits(cluster):
    blocker = cluster.submit("sleep 600", "--gpus=4")
    cluster.wait_state(blocker, "RUNNING")
    text = on_terminal(cluster, "gsubmit", "--gpus=1", "--wrap", "true")
    lines = text.splitlines()
    job = int(lines[0].split()[-1])
    assert lines[1].startswith("gsubmit: ") and "held by " in lines[1] and lines[1].endswith(f": gqueue --why {job}")
    assert len(on_terminal(cluster, "gsubmit", "--hold", "--wrap", "true").splitlines()) == 1
    quiet = cluster.run("gsubmit", "--gpus=1", "--wrap", "true")
    assert quiet.stderr == "" and len(quiet.stdout.splitlines()) == 1


# --- gcancel, gctl ---------------------------------------------------------------------------------


def test_priorities(cluster):
    nice = cluster.submit("true", "--hold", "--nice=700")
    for n in ("-2147483645", "2147483645"):  # what gsubmit takes, the controller takes
        nicest = cluster.submit("true", "--hold", f"--nice={n}")
        assert cluster.job(nicest)["nice"] == int(n)
        cluster.run("gctl", "update", nicest, "--nice=0")
        cluster.run("gctl", "update", nicest, f"--nice={n}")
        point, = json.loads(cluster.run("gprio", "--json", "-j", nicest).stdout)["jobs"]
        assert point["points"]["nice"] == int(n) and point["priority"] == sum(
            v for k, v in point["points"].items() if k != "nice") - int(n)
        r = cluster.run("gsubmit", "--wrap=true", "--nice=" + n[:-1] + "6", check=False)
        assert (r.returncode, r.stderr) == (2, f"gsubmit: error: --nice={n[:-1]}6: must be a whole number from -2147483645 to 2147483645\n")
        cluster.run("gcancel", nicest)
    plain = cluster.submit("true", "--hold")
    lines = cluster.run("gprio", "-o", "JOBID,PARTITION,NICE").stdout.splitlines()
    assert lines[0].split() == ["JOBID", "PARTITION", "NICE"]
    ids = [line.split()[0] for line in lines[1:]]
    assert ids.index(str(plain)) < ids.index(str(nice)), "the nicer one stands below"
    both = json.loads(cluster.run("gprio", "--json", "-j", f"{nice},{plain}").stdout)["jobs"]
    j = {p["id"]: p for p in both}
    assert j[plain]["priority"] - j[nice]["priority"] == 700
    for p in both:
        assert p["priority"] == sum(v for k, v in p["points"].items() if k != "nice") - p["points"]["nice"]
    norm = cluster.run("gprio", "-h", "-j", plain, "-o", "AGE-N,SIZE-N,WAIT-N").stdout.split()
    assert len(norm) == 3 and all(0 <= float(x) <= 1 for x in norm)
    r = cluster.run("gprio", "-j", "999999", check=False)
    assert r.returncode == 3 and "does not wait" in r.stderr
    weights = cluster.run("gprio", "-w", "-h").stdout.splitlines()
    assert [w.split()[0] for w in weights] == ["AGE", "FAIRSHARE", "SIZE", "PART", "QOSPRIO", "WAIT"]
    assert json.loads(cluster.run("gprio", "-w", "--json").stdout)["weights"][0]["age_max_s"] == 7 * 86400


def test_cancel_by_filters(cluster):
    a = [cluster.submit("true", "--hold", "-J", "one") for _ in range(3)]
    b = cluster.submit("true", "--hold", "-J", "two")
    assert cluster.run("gcancel", "-n", "one", "--reason=enough").stdout == "Cancelled 3 jobs\n"
    assert all(cluster.state(j) == "CANCELLED" for j in a) and cluster.state(b) == "PENDING"
    assert "enough" in cluster.job(a[0])["comment"]
    assert cluster.run("gcancel", "-n", "one").stdout == "Cancelled 0 jobs\n"
    r = cluster.run("gcancel", b, 999999, check=False)
    assert r.returncode == 3 and r.stdout == "Cancelled 1 job\n" and "999999" in r.stderr


def test_signal(cluster):
    job = cluster.submit("trap 'echo got; exit 5' USR1; echo ready; while :; do sleep 0.05; done", "-o", "signal.out")
    out = cluster.dir / "jobs/signal.out"
    wait_until(lambda: out.exists() and "ready" in out.read_text(), "the trap")
    assert cluster.run("gcancel", "--signal=USR1", job).stdout == "Sent USR1 to 1 job\n"
    assert cluster.wait_state(job, "FAILED")["exit_code"] == 5


def test_hold_release_requeue(cluster):
    job = cluster.submit("sleep 600", "--gpus=1")
    cluster.wait_state(job, "RUNNING")
    assert cluster.run("gctl", "requeue", job).stdout == "Requeued 1 job\n"
    wait_until(lambda: cluster.job(job)["attempt"] == 2 and cluster.state(job) == "RUNNING", "the second run")
    held = cluster.submit("true", "--gpus=1", "--hold")
    assert cluster.run("gctl", "release", "-n", "stdin", "-t", "PD").stdout == "Released 1 job\n"
    cluster.wait_state(held, "COMPLETED")
    # By what they are: those that it can be done to.
    waits = cluster.submit("sleep 60", "--job-name=both", "--begin=now+1hour")
    assert cluster.run("gctl", "hold", "-n", "both,stdin").stdout == "Held 1 job\n"
    assert cluster.run("gctl", "release", "-n", "both,stdin").stdout == "Released 1 job\n"
    cluster.run("gcancel", waits)
    r = cluster.run("gctl", "hold", held, check=False)
    assert r.returncode == 1 and str(held) in r.stderr


def test_update(cluster):
    blocker = cluster.submit("sleep 600", "--gpus=4")
    cluster.wait_state(blocker, "RUNNING")
    job = cluster.submit("sleep 600", "--gpus=4", "-t", "10", "-p", "batch")
    cluster.run("gctl", "update", job, "--time=1-01:00:00", check=False)
    r = cluster.run("gctl", "update", job, "--time=1-01:00:00", "--cpus-per-task=2", check=False)
    assert r.returncode == 1 and f"job {job}: --time=1-01:00:00: partition batch allows at most 1-00:00:00" in r.stderr
    assert (cluster.job(job)["time_limit_s"], cluster.job(job)["cpus"]) == (600, 1)
    assert cluster.run("gctl", "update", job, "--partition=nosuch", check=False).returncode == 3
    assert cluster.run("gctl", "update", 999999, "--gpus=1", check=False).returncode == 3
    r = cluster.run("gctl", "update", job, "--array=1-3", check=False)
    assert r.returncode == 2 and "--array: that is part of what the job's owner signed" in r.stderr
    cluster.run("gctl", "update", job, "--label=team=search", "--label", "model=bge", "--signal=USR1@30",
                "--no-requeue")
    assert cluster.job(job)["labels"] == [{"key": "team", "value": "search"}, {"key": "model", "value": "bge"}]
    assert "requeue yes -> no, signal none -> 10@30, label none -> " in cluster.run("gctl", "events", "--job", job, "--json").stdout
    r = cluster.run("gctl", "update", job, "--gpus=0", "-t", "20", "--nice=7", "--reason", "smaller will do")
    assert r.stdout == "Updated 1 job\n"
    cluster.wait_state(job, "RUNNING")
    j = cluster.job(job)
    assert (j["time_limit_s"], j["nice"], j["gpus"]) == (1200, 7, [])
    assert (len(j["labels"]), cluster.run("gctl", "update", job, "--requeue").stdout) == (2, "Updated 1 job\n")
    assert "requeue no -> yes" in cluster.run("gctl", "events", "--job", job, "--json").stdout
    assert "updated (gpus, time, nice) by " in j["comment"] and j["comment"].endswith("smaller will do")
    r = cluster.run("gctl", "update", job, "--gpus=1", check=False)
    assert r.returncode == 1 and r.stderr == f"gctl update: error: job {job}: gpus can only be changed while it is PENDING; it is RUNNING\n"


def test_drain_and_resume(cluster):
    job = cluster.submit("sleep 600")
    cluster.wait_state(job, "RUNNING")
    assert cluster.run("gctl", "drain", "n1", "fan", "broken").stdout == "n1: draining, 1 job on it\n"
    r = cluster.run("ginfo", "-N", "-h", "-o", "STATE,REASON")
    assert r.stdout.startswith("draining") and "fan broken" in r.stdout
    waits = cluster.submit("true")
    assert cluster.state(waits) == "PENDING"
    cluster.run("gcancel", job)
    cluster.wait_nodes("drained")
    assert cluster.run("gctl", "resume", "n1").stdout.startswith("n1: ")
    cluster.wait_state(waits, "COMPLETED")


def test_info(cluster):
    lines = cluster.run("ginfo", "-p", "batch").stdout.splitlines()
    assert lines[0] == "PARTITION STATE TIMELIMIT  NODES OK DRAIN DOWN GPUS     FREE TOTAL LARGEST"
    assert lines[1].split() == ["batch*", "up", "1-00:00:00", "1", "1", "0", "0", "demo", "4", "4", "4", "on", "n1"]
    assert json.loads(cluster.run("ginfo", "--json").stdout)["partitions"][0]["name"] == "batch"
    assert cluster.run("ginfo", "-h", "-N", "-o", "NODE,GPUS").stdout.split() == ["n1", "demo:4"]
    assert cluster.run("ginfo", "-N", "-p", "nosuch", check=False).returncode == 3
    assert cluster.run("ginfo", "-n", "n[1-2]", check=False).returncode == 3
    assert cluster.run("ginfo", "-p", "nosuch", check=False).returncode == 3


def test_partition_states(cluster):
    def state():
        return cluster.run("ginfo", "-h", "-p", "long", "-o", "STATE").stdout.strip()

    assert state() == "up"
    r = cluster.run("gctl", "partition", "long", "down", "--reason", "new switch")
    assert r.stdout == "long: down\n" and state() == "down"
    job = cluster.submit("true", "-p", "long", "-t", "5")
    wait_until(lambda: cluster.job(job).get("reason") == "PartitionDown", "a reason")
    cluster.run("gctl", "partition", "long", "drain")
    cluster.wait_state(job, "COMPLETED")
    r = cluster.run("gsubmit", "-p", "long", "--wrap", "true", check=False)
    assert r.returncode == 1 and "it takes no jobs, it is drained" in r.stderr
    assert cluster.run("gctl", "partition", "nosuch", "up", check=False).returncode == 3
    cluster.run("gctl", "partition", "long", "up")
    assert state() == "up"


def test_show_config(cluster):
    text = cluster.run("gctl", "show", "config").stdout
    assert text.startswith('cluster = "test";') and "  host = " in text and "partitions = (" in text
    part = cluster.run("gctl", "show", "config", "partitions", "licences").stdout
    assert part.startswith("partitions = (") and 'name = "long"' in part and "host" not in part
    assert part.rstrip().endswith(");") and "licences = (" in part
    assert cluster.run("gctl", "show", "config", "nosuch", check=False).returncode == 2


def test_show_and_ping(cluster):
    job = cluster.submit("true", "--hold", "-J", "shown")
    shown = cluster.run("gctl", "show", "job", job).stdout
    assert f"JOBID             {job}\n" in shown and "NAME              shown\n" in shown
    assert json.loads(cluster.run("gctl", "show", "job", job, "--json").stdout)["jobs"][0]["name"] == "shown"
    assert "GPUS              demo" in cluster.run("gctl", "show", "partition").stdout
    assert cluster.run("gctl", "show", "node", "n1").stdout.startswith("NODE              n1\n")
    assert cluster.run("gctl", "ping").stdout.startswith("test: gctld ")
    assert json.loads(cluster.run("gctl", "ping", "--json").stdout)["pong"][0]["uid"] == os.geteuid()
    assert any(s["name"] == "core.jobs" for s in json.loads(cluster.run("gctl", "stats", "--json").stdout)["stats"])


def test_reconfigure(cluster):
    text = cluster.conf_text()
    assert cluster.run("gctl", "reconfigure").stdout == "0 changes\n"
    cluster.write_conf(text.replace('max_time = "1-00:00:00"', 'max_time = "12:00:00"'))
    try:
        out = cluster.run("gctl", "reconfigure").stdout
        assert "partitions.batch.max_time 1-00:00:00 -> 12:00:00" in out and out.endswith("1 change\n")
        cluster.write_conf(text.replace("max_time", "max_tme"))
        r = cluster.run("gctl", "reconfigure", check=False)
        assert r.returncode == 1 and "max_tme" in r.stderr
    finally:
        cluster.write_conf(text)
        cluster.run("gctl", "reconfigure")


def test_a_closed_pipe_is_quiet(cluster):
    for _ in range(3):
        cluster.submit("true", "--hold")
    for listing in LISTINGS:
        for more in ("", *([" --json"] if listing != "gqueue -l" else []), *([" --csv"] if listing != "gctl stats" else [])):
            words = listing.split()
            # `:` has closed it before anything comes, `head` after the first line.
            r = cluster.run("sh", "-c", f"{' '.join([str(BIN[words[0]]), *words[1:]])}{more} | head -n 1")
            assert r.stderr == "" and len(r.stdout.splitlines()) == 1, (listing, r)
            r = cluster.run("sh", "-c", f"{' '.join([str(BIN[words[0]]), *words[1:]])}{more} | :")
            assert r.stderr == "", (listing, r)


def objects_of_the_manual():
    """gpusched-json.5: object -> field -> what it is."""
    objects, fields = {}, None
    for line in (TOP / "man/gpusched-json.5").read_text().partition('fields: begin')[2].splitlines():
        if line.startswith(".Ss "):
            fields = objects.setdefault(line[4:], {})
        elif found := re.fullmatch(r"\.It Va (\w+) No \((.*)\)", line):
            fields[found[1]] = found[2]
    return objects


def test_json_is_as_its_manual_says(cluster):
    objects = objects_of_the_manual()

    def check(value, name, where):
        if name.startswith("list of "):
            assert isinstance(value, list), where
            for v in value:
                check(v, name[8:], where)
        elif name in objects:
            assert value is None or value.keys() == objects[name].keys(), (where, name)
            for k, kind in objects[name].items() if value else ():
                check(value[k], kind, f"{where}.{k}")
        else:
            want = {"text": str, "true or false": bool, "number": (int, float), "time": int}[name]
            assert isinstance(value, want) or (value is None and name in ("time", "number")), (where, name, value)
            assert name != "time" or not value or abs(value - time.time()) < 4e8, (where, "is not in seconds", value)

    waits = cluster.submit("true", "--hold", "--label=k=v", "--gpus=1", "--array=0-3")
    runs = cluster.submit("exec sleep 600", "--gpus=1")
    cluster.wait_state(runs, "RUNNING")
    cluster.submit("exec sleep 600", "--service=chat", "-p", "long")
    wait_until(lambda: json.loads(cluster.run("gserve", "--json").stdout)["services"][0]["ready"] == 1, "a service")
    told = 0
    for listing, what, name in (("gqueue", "jobs", "Job"), (f"gqueue --why {waits}", "jobs", "WhyResult"),
                                (f"gctl show job {runs}", "jobs", "Job"), ("gacct", "jobs", "Acct"), ("gacct -D", "jobs", "Acct"),
                                ("gprio", "jobs", "Prio"), ("gprio -w", "weights", "PrioWeights"), ("gshare", "shares", "Share"),
                                ("ginfo", "partitions", "Partition"), ("ginfo -N", "nodes", "Node"),
                                ("ginfo --gpus", "nodes", "Node"), ("gctl show node", "nodes", "Node"),
                                ("gctl show partition", "partitions", "Partition"), ("gctl events", "events", "Event"),
                                ("gctl ping", "pong", "Pong"), ("gctl stats", "stats", "Stat"),
                                ("gserve", "services", "Service"), ("gsubmit --test-only --wrap true", "jobs", "SubmitResult")):
        words = listing.split()
        answer = json.loads(cluster.run(*words, "--json").stdout)
        assert answer["version"] == 1 and answer[what], listing
        check(answer[what], f"list of {name}", listing)
        told += 1
    report = json.loads(cluster.run("greport", "use", "--json").stdout)["report"]
    for line in report:
        check(line, "ReportLine" if "keys" in line else "ReportType", "greport")
    assert told and report
    cluster.run("gcancel", runs, waits)
    cluster.run("gserve", "stop", "chat")


# --- gqueue --watch ------------------------------------------------------------------------------

class Watching:
    """gqueue --watch --json in the background: what it has told so far."""

    def __init__(self, cluster, *options):
        self.path = cluster.dir / f"watch-{len(list(cluster.dir.glob('watch-*')))}"
        self.err = self.path.with_suffix(".err")
        self.process = subprocess.Popen([BIN["gqueue"], "--watch", "--json", *options], env=cluster.env,
                                        stdout=self.path.open("w"), stderr=self.err.open("w"))

    def parts(self):
        return [json.loads(line) for line in self.path.read_text().splitlines(keepends=True) if line.endswith("\n")]

    def states(self, job):
        return [j["state"] for p in self.parts() for j in p["jobs"] if j["id"] == int(job)]

    def stop(self):
        self.process.send_signal(signal.SIGINT)
        assert self.process.wait(30) == 130
        return self.parts()[-1]["cursor"]


def test_watch_tells_each_change_and_goes_on_after_a_break(cluster):
    before = cluster.submit("exec sleep 600")
    w = Watching(cluster)
    wait_until(lambda: w.parts() and w.parts()[-1].get("cursor"), "what there is")
    assert w.parts()[0]["fresh"] and w.states(before)
    job = cluster.submit("while [ ! -e watched ]; do sleep 0.05; done")
    wait_until(lambda: w.states(job)[-1:] == ["RUNNING"], "its start")
    cursor = w.stop()
    assert f"--since={cursor}" in w.err.read_text()
    (cluster.dir / "jobs/watched").touch()
    cluster.wait_state(job, "COMPLETED")
    # What happened meanwhile, and nothing else.
    again = Watching(cluster, f"--since={cursor}")
    wait_until(lambda: again.states(job) == ["COMPLETED"], "its end")
    assert not again.states(before) and not any(p.get("fresh") for p in again.parts())
    # The stream outlives the controller: of another term all is told anew, then the changes.
    cluster.ctld.kill()
    cluster.start_ctld()
    wait_until(lambda: again.parts()[-1].get("fresh") or any(p.get("fresh") for p in again.parts()), "all jobs again")
    assert again.states(before)
    cluster.run("gcancel", before)
    wait_until(lambda: again.states(before)[-1] == "CANCELLED", "its end")
    again.stop()


def test_watch_of_some_jobs_and_states(cluster):
    starts = Watching(cluster, "-t", "R", "--since=now", "-n", "wanted")
    wait_until(starts.parts, "its beginning")
    assert not starts.parts()[0]["jobs"]
    other = cluster.submit("true", "--job-name=other")
    job = cluster.submit("exit 3", "--job-name=wanted")
    cluster.wait_state(job, "FAILED")
    cluster.wait_state(other, "COMPLETED")
    mark = cluster.submit("while [ ! -e seen ]; do sleep 0.05; done", "--job-name=wanted")
    wait_until(lambda: starts.states(mark) == ["RUNNING"], "the last one's start")
    assert set(starts.states(job)) <= {"RUNNING"} and not starts.states(other)
    (cluster.dir / "jobs/seen").touch()
    starts.stop()


@pytest.mark.parametrize("words", (["gqueue", "--watch"], ["gctl", "events", "--follow"], ["glog", "-f", "JOB"]))
def test_who_follows_ends_with_its_reader(cluster, words):
    """`gqueue --watch | head -1` ends when head does, not when something happens."""
    job = cluster.submit("echo a line; exec sleep 600")
    cluster.wait_state(job, "RUNNING")
    p = subprocess.Popen([BIN[words[0]], *(str(job) if w == "JOB" else w for w in words[1:])], env=cluster.env,
                         stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert p.stdout.readline()
    p.stdout.close()
    assert p.wait(60) == -signal.SIGPIPE and not p.stderr.read()
    p.stderr.close()
    cluster.run("gcancel", job)


def test_watch_refuses_what_makes_no_sense(cluster):
    for options, word in ((["--since=5"], "--watch"), (["--watch", "--sort=NAME"], "--sort"), (["--watch", "--start"], "--start"),
                          (["--watch", "--since=yesterday"], "since")):
        r = cluster.run("gqueue", *options, check=False)
        assert r.returncode == 2 and word in r.stderr, (options, r.stderr)


def test_patterns_in_files_are_expanded_once_known(cluster):
    """STDOUT and STDERR name the files that a job that has started writes, in the table, the record and the JSON."""
    files = ("-o", "out_%j_%N_%x.txt", "-e", "err_%A_%4a.txt", "-J", "a/b")
    waits = cluster.submit("true", "--hold", *files)
    job = cluster.submit("sleep 600", *files)
    array = cluster.submit("sleep 600", "--array=3-4", "-o", "%j.out", "-e", "e_%A_%a", env={})
    cluster.wait_state(job, "RUNNING")
    node = cluster.job(job)["node"]
    want = f"out_{job}_{node}_a_b.txt", f"err_{job}_4294967294.txt"
    assert (cluster.job(job)["output"], cluster.job(job)["error"]) == want
    assert cluster.run("gqueue", "-h", "-o", "STDOUT,STDERR", "-j", job).stdout.split() == list(want)
    text = cluster.run("gctl", "show", "job", job).stdout
    assert re.search(rf"^STDOUT +{re.escape(want[0])}$", text, re.M) and re.search(rf"^STDERR +{re.escape(want[1])}$", text, re.M)
    assert cluster.job(waits)["output"] == "out_%j_%N_%x.txt"

    def tasks():
        found = json.loads(cluster.run("gqueue", "--json", "-j", array).stdout)["jobs"]
        return {j["tasks"]: (j["output"], j["error"]) for j in found if j["state"] == "RUNNING"}
    wait_until(lambda: len(tasks()) == 2, "both tasks to run")
    assert tasks() == {t: (f"{array + n}.out", f"e_{array}_{t}") for n, t in ((1, "3"), (2, "4"))}
    cluster.run("gcancel", waits, job, array)
