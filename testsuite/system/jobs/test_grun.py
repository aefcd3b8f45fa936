"""Commands run now with the client's input and output: what passes, what breaks, who may."""

import fcntl
import hashlib
import json
import os
import pathlib
import pty
import re
import select
import signal
import socket
import struct
import subprocess
import termios
import threading

import pytest
from cluster import BIN, DEADLINE, ROOT, SANITIZED, Cluster, wait_until

MIB = 1024 * 1024


@pytest.fixture(scope="module")
def shared():
    with Cluster(nodes=("n1",)) as c:
        yield c


@pytest.fixture
def cluster(shared):
    """What a test that failed has left must not be in the way of the others."""
    yield shared
    shared.run("gcancel", "--state", "PENDING,CONFIGURING,RUNNING", check=False)
    wait_until(lambda: not shared.shepherds(), "shepherds to end")


@pytest.fixture
def own():
    """For tests that kill daemons."""
    with Cluster(nodes=("n1",)) as c:
        yield c


class Client:
    """A grun that runs, its output in files."""

    def __init__(self, cluster, *args, stdin=subprocess.DEVNULL, stdout=None):
        self.base = cluster.dir / f"log/grun-{os.urandom(4).hex()}"
        with open(f"{self.base}.out", "wb") as out, open(f"{self.base}.err", "wb") as err:
            self.p = subprocess.Popen([str(BIN["grun"]), *map(str, args)], stdin=stdin, stdout=stdout or out,
                                      stderr=err, env=cluster.env, cwd=cluster.dir / "jobs")

    def out(self):
        return pathlib.Path(f"{self.base}.out").read_text(errors="replace")

    def err(self):
        return pathlib.Path(f"{self.base}.err").read_text(errors="replace")

    def end(self):
        return self.p.wait(timeout=DEADLINE), self.out(), self.err()

    def wait_out(self, text):
        wait_until(lambda: text in self.out(), lambda: f"{text!r} in {self.out()[-200:]!r}; {self.err()!r}")


class Terminal:
    """A grun on a terminal: its master is ours."""

    def __init__(self, cluster, *args, rows=24, cols=80, stdin=None):
        self.master, self.slave = pty.openpty()
        self.resize(rows, cols, None)
        self.before = termios.tcgetattr(self.slave)
        self.seen = b""

        def lead():
            os.setsid()
            fcntl.ioctl(self.slave, termios.TIOCSCTTY, 0)

        self.p = subprocess.Popen([str(BIN["grun"]), *map(str, args)], stdin=stdin or self.slave, stdout=self.slave,
                                  stderr=self.slave, env=cluster.env, cwd=cluster.dir / "jobs", preexec_fn=lead)

    def resize(self, rows, cols, p):
        fcntl.ioctl(self.master, termios.TIOCSWINSZ, struct.pack("HHHH", rows, cols, 0, 0))
        if p:
            p.send_signal(signal.SIGWINCH)

    def type(self, data):
        os.write(self.master, data)

    def read(self):
        while select.select([self.master], [], [], 0)[0]:
            self.seen += os.read(self.master, 65536)
        return self.seen.decode(errors="replace").replace("\r\n", "\n").replace("\r", "")

    def wait(self, text):
        wait_until(lambda: text in self.read(), lambda: f"{text!r} on the terminal, which has {self.read()!r}")

    def end(self):
        status = wait_until(lambda: (self.read(), self.p.poll())[1] is not None and (self.p.poll(),), "end of grun")[0]
        return status, self.read()

    def close(self):
        os.close(self.slave)
        os.close(self.master)


def last_job(cluster):
    return max(cluster.jobs())


def new_job(cluster, before):
    return wait_until(lambda: set(cluster.jobs()) - before, "the job to be there").pop()


# --- what passes ----------------------------------------------------------------------------------


def test_ends_as_the_command_did(cluster):
    r = cluster.run("grun", "sh", "-c", "echo out; echo trouble >&2; exit 7", check=False)
    assert (r.returncode, r.stdout, r.stderr) == (7, "out\n", "trouble\n")
    assert cluster.run("grun", "true").returncode == 0
    r = cluster.run("grun", "sh", "-c", "kill -USR1 $$", check=False)
    assert (r.returncode, r.stdout, r.stderr) == (128 + signal.SIGUSR1, "", "")
    r = cluster.run("grun", "no-such-command", check=False)
    assert r.returncode == 127 and "no-such-command" in r.stderr


def test_words_are_passed_as_they_are(cluster):
    words = ["a b", "", "$HOME", "*", "'\"", "-x", "--pty", "\n", "ä"]
    r = cluster.run("grun", "printf", "<%s>", *words)
    assert r.stdout == "".join(f"<{w}>" for w in words)


def test_has_what_it_asked_for(cluster):
    r = cluster.run("grun", "--gpus=2", "-J", "mine", "--time=5", "--export=ALL,X=y", "sh", "-c",
                    "echo $CUDA_VISIBLE_DEVICES $X $PWD $GPUSCHED_JOB_ID")
    gpus, x, pwd, job = r.stdout.split()
    assert (len(gpus.split(",")), x, pwd) == (2, "y", str(cluster.dir / "jobs"))
    j = cluster.job(int(job))
    assert (j["name"], j["time_limit_s"], j["max_attempts"], j["state"]) == ("mine", 300, 1, "COMPLETED")
    assert list((cluster.dir / "jobs").glob("gpusched-*.out")) == []


def test_input_to_its_end(cluster):
    assert cluster.run("grun", "cat", stdin="one\ntwo\n").stdout == "one\ntwo\n"
    assert cluster.run("grun", "wc", "-c", stdin="").stdout.strip() == "0"
    assert cluster.run("grun", "head", "-n", 1, stdin="x\n" * 500000).stdout == "x\n"


def test_large_binary_both_ways_in_little_memory(cluster):
    """Every process on the way holds a window, whatever passes."""
    data = os.urandom(MIB) * 50
    p = subprocess.Popen([str(BIN["grun"]), "cat"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=cluster.env)
    before = {pid: peak(pid) for pid in (cluster.ctld.pid, *agent_pids(cluster))}

    def feed():
        p.stdin.write(data)
        p.stdin.flush()

    t = threading.Thread(target=feed)
    t.start()
    got = b""
    digest, n = hashlib.sha256(), 0
    while n < len(data):
        got = p.stdout.read1(1 << 20)
        assert got
        digest.update(got)
        n += len(got)
    t.join()
    if not SANITIZED:
        for pid, was in before.items():
            assert peak(pid) - was < 12 * MIB, f"{pid} grew by {peak(pid) - was}"
        for pid in {p.pid} | cluster.processes("ghold") | cluster.processes("gtap"):
            assert peak(pid) < 24 * MIB, f"{pid} has {peak(pid)}"
    p.stdin.close()
    assert p.wait(DEADLINE) == 0 and p.stdout.read() == b""
    assert digest.hexdigest() == hashlib.sha256(data).hexdigest()


def peak(pid):
    return int(re.search(r"VmHWM:\s+(\d+)", pathlib.Path(f"/proc/{pid}/status").read_text())[1]) * 1024


def agent_pids(cluster):
    """Supervisor, network half and launcher."""
    top = cluster.agents["n1"].pid
    return [top, *map(int, pathlib.Path(f"/proc/{top}/task/{top}/children").read_text().split())]


def test_a_reader_that_stops_reading_stops_the_program(cluster):
    r, w = os.pipe()
    c = Client(cluster, "sh", "-c", "i=0; while :; do echo $i > where; head -c 65536 /dev/zero || exit 3; i=$((i+1)); done", stdout=w)
    os.close(w)
    where = cluster.dir / "jobs/where"
    wait_until(lambda: where.exists() and where.read_text().strip() not in ("", "0"), "it to begin")
    # More is on its way than the program knows of, and it comes to a halt.
    last = []

    def halted():
        last.append(where.read_text())
        return len(last) > 8 and len(set(last[-8:])) == 1 and last[-1].strip()

    wait_until(halted, "the program to stand still")
    assert int(last[-1]) * 65536 < 4 * MIB
    os.close(r)
    status, _, err = c.end()
    assert status != 0 and "error" not in err  # nobody reads: PIPE ends it, as here
    where.unlink()


def test_a_closed_output_ends_the_program(cluster):
    p = subprocess.run(f"{BIN['grun']} yes | head -n 2", shell=True, capture_output=True, text=True, env=cluster.env,
                       timeout=DEADLINE)
    assert (p.stdout, p.stderr) == ("y\ny\n", "")
    assert cluster.wait_state(last_job(cluster), "FAILED")["exit_signal"] == signal.SIGPIPE
    p = subprocess.run(f"{BIN['grun']} sh -c 'echo lost; echo told >&2; exit 3' >&- 2>err.txt; echo $?; cat err.txt",
                       shell=True, capture_output=True, text=True, env=cluster.env, cwd=cluster.dir / "jobs",
                       timeout=DEADLINE)
    assert p.stdout.splitlines()[0] == "125" and "told" in p.stdout and "cannot be written" in p.stdout


def test_nothing_of_ours_is_left_open(cluster):
    r = cluster.run("grun", "sh", "-c", "for f in /proc/self/fd/*; do echo ${f##*/}; done; env")
    fds = [w for w in r.stdout.split() if w.isdigit() and int(w) < 1000]
    assert set(fds) <= {"0", "1", "2", "3"}, fds  # 3: the folder that is read
    assert "GRUN" not in r.stdout and "HOLD" not in r.stdout


def test_nobody_is_left_behind(cluster):
    before = cluster.processes("ghold") | cluster.processes("gtap")
    cluster.run("grun", "true")
    wait_until(lambda: not (cluster.processes("ghold") | cluster.processes("gtap")) - before, "ghold and gtap to end")


# --- signals --------------------------------------------------------------------------------------

TRAPS = 'trap "echo got INT; exit 4" INT; trap "echo got TERM; exit 5" TERM; trap "echo got USR1" USR1; echo ready; ' \
        'while :; do sleep 0.05; done'


def test_signals_are_passed_on(cluster):
    c = Client(cluster, "sh", "-c", TRAPS)
    c.wait_out("ready")
    c.p.send_signal(signal.SIGUSR1)
    c.wait_out("got USR1")
    c.p.send_signal(signal.SIGTERM)
    assert c.end()[:2] == (5, "ready\ngot USR1\ngot TERM\n")
    c = Client(cluster, "sh", "-c", TRAPS)
    c.wait_out("ready")
    c.p.send_signal(signal.SIGINT)  # stderr is no terminal: nobody to ask
    assert c.end()[:2] == (4, "ready\ngot INT\n")


def test_the_first_interrupt_asks_the_second_means_it(cluster):
    t = Terminal(cluster, "sh", "-c", TRAPS, stdin=subprocess.DEVNULL)
    t.wait("ready")
    t.p.send_signal(signal.SIGINT)
    t.wait("one more ^C within a second")
    assert "got INT" not in t.read()

    def interrupted():
        asked = t.read().count("one more ^C")
        t.p.send_signal(signal.SIGINT)
        wait_until(lambda: "sending ^C" in t.read() or t.read().count("one more ^C") > asked, "a word on the interrupt")
        return "sending ^C" in t.read()

    wait_until(interrupted, "two interrupts within a second")  # a slow machine may need more of them
    status, text = t.end()
    t.close()
    assert "got INT" in text and status in (4, 125), text
    t = Terminal(cluster, "-X", "sh", "-c", TRAPS, stdin=subprocess.DEVNULL)
    t.wait("ready")
    t.p.send_signal(signal.SIGINT)
    assert t.end()[0] == 4
    t.close()


@pytest.mark.parametrize("command", (["bash", "-l"], ["sh", "-c", "sleep 0.3; cat; cat; read a; exit 4"]))
def test_a_terminal_s_input_that_is_at_its_end(cluster, command):
    """As with srun: who reads hears of the end, however late he begins to read, and each who does."""
    status, _, err = Client(cluster, "--pty", *command, stdin=subprocess.DEVNULL).end()
    assert status == (0 if command[0] == "bash" else 4), err


# --- a terminal -----------------------------------------------------------------------------------


def test_a_terminal_and_its_size(cluster):
    t = Terminal(cluster, "--pty", "sh", "-c", "tty; stty size; read a; echo \"<$a>\"; stty size; read b; exit 6",
                 rows=33, cols=111)
    t.wait("33 111")
    assert termios.tcgetattr(t.slave)[3] & termios.ICANON == 0  # every key goes there
    t.resize(40, 90, t.p)
    t.type(b"words\r")
    t.wait("<words>\n40 90")
    assert "/dev/pts/" in t.read()
    t.type(b"\x04")
    assert t.end()[0] == 6
    assert termios.tcgetattr(t.slave) == t.before  # as it was
    t.close()


def test_keys_of_a_terminal(cluster):
    t = Terminal(cluster, "--pty", "sh", "-c", "trap 'echo INT here' INT; echo up; cat; echo on; sleep 1000; exit 9")
    t.wait("up")
    t.type(b"echo\r")
    t.wait("echo\necho")
    t.type(b"\x03")
    t.wait("INT here\non")
    t.type(b"\x1c")  # ^\
    assert t.end()[0] == 128 + signal.SIGQUIT or t.p.returncode == 9
    t.close()


def test_a_terminal_for_the_program_alone(cluster):
    """Where there is none here: its input's end is ^D."""
    r = cluster.run("grun", "--pty", "sh", "-c", "test -t 0 && test -t 1 && test -t 2 && cat && echo done", stdin="in\n")
    assert r.stdout.replace("\r", "").endswith("in\ndone\n")


def test_restored_when_it_is_ended(cluster):
    t = Terminal(cluster, "--pty", "sh", "-c", "echo up; sleep 1000")
    t.wait("up")
    wait_until(lambda: termios.tcgetattr(t.slave)[3] & termios.ICANON == 0, "the terminal to be lent")
    cluster.run("gcancel", last_job(cluster))
    status, text = t.end()
    assert status == 128 + signal.SIGTERM and "CANCELLED" in text
    assert termios.tcgetattr(t.slave) == t.before
    t.close()


# --- what does not start, what is ended -----------------------------------------------------------


def test_not_at_once_is_not_at_all(cluster):
    blocker = cluster.submit("sleep 1000", "--exclusive")
    cluster.wait_state(blocker, "RUNNING")
    r = cluster.run("grun", "--immediate=1", "true", check=False)
    assert r.returncode == 125 and "did not start within 1 s" in r.stderr and r.stdout == ""
    assert cluster.state(last_job(cluster)) == "CANCELLED"
    # It is said what it waits for, once; ^C cancels it.
    before = set(cluster.jobs())
    c = Client(cluster, "true")
    wait_until(lambda: "waits: " in c.err(), "a word on why it waits")
    job = new_job(cluster, before)
    c.p.send_signal(signal.SIGINT)
    status, out, err = c.end()
    assert (status, out, err.count("waits")) == (130, "", 1), err
    assert cluster.state(job) == "CANCELLED"
    # And it starts when it can.
    c = Client(cluster, "echo", "here")
    wait_until(lambda: "waits: " in c.err(), "a word on why it waits")
    cluster.run("gcancel", blocker)
    status, out, err = c.end()
    assert (status, out) == (0, "here\n") and "runs on n1" in err
    q = cluster.run("grun", "-Q", "echo", "quiet")
    assert (q.stdout, q.stderr) == ("quiet\n", "")


def test_what_no_node_can_start(cluster):
    r = cluster.run("grun", "--chdir=/no/such/folder", "true", check=False)
    assert r.returncode == 125 and "could not be started" in r.stderr and "/no/such/folder" in r.stderr, r.stderr
    cluster.wait_state(last_job(cluster), "CANCELLED", "FAILED")  # by grun, or before it by the last try to start it
    r = cluster.run("grun", "--gpus=99", "true", check=False)
    assert r.returncode == 125 and "grun: error" in r.stderr


def test_ended_by_others(cluster):
    c = Client(cluster, "sh", "-c", "echo up; sleep 1000")
    c.wait_out("up")
    cluster.run("gcancel", last_job(cluster))
    status, out, err = c.end()
    assert (status, out) == (128 + signal.SIGTERM, "up\n") and "CANCELLED" in err
    c = Client(cluster, "--time=1s", "sleep", 1000)
    status, out, err = c.end()
    assert status == 128 + signal.SIGTERM and "TIMEOUT" in err


def test_wrong_command_lines(cluster):
    for args, words in ((("--nodes=2", "--pty", "true"), "--pty is for one process"), (("--attach=1", "true"), "--attach"),
                        (("-n4", "--detach-on-loss", "true"), "--detach-on-loss is for one"), ((), "a command is required"),
                        (("--detach-on-loss", "--loss-timeout=5", "true"), "--detach-on-loss and --loss-timeout"),
                        (("--loss-timeout=0", "true"), "--loss-timeout=0"), (("--attach=x",), "--attach=x"),
                        (("--output=x", "true"), "no such option"), (("--attach=99999999",), "99999999")):
        r = cluster.run("grun", *args, check=False)
        assert r.returncode == 125 and words in r.stderr, (args, r.stderr)
    r = cluster.run("grun", "echo", "from env", env={"GSUBMIT_JOB_NAME": "fromenv", "GSUBMIT_OUTPUT": "no.txt"})
    assert r.stdout == "from env\n" and cluster.job(last_job(cluster))["name"] == "fromenv"


# --- a client that is lost ------------------------------------------------------------------------


def test_killed_client_ends_the_job(cluster):
    c = Client(cluster, "--loss-timeout=1", "sh", "-c", "echo up; sleep 1000")
    c.wait_out("up")
    job = last_job(cluster)
    c.p.kill()
    c.p.wait()
    j = cluster.wait_state(job, "CANCELLED")
    assert j["exit_signal"] == signal.SIGTERM
    shown = json.loads(cluster.run("gctl", "show", "job", job, "--json").stdout)
    assert "client was lost" in json.dumps(shown)


def test_killed_client_detaches_and_another_goes_on(cluster):
    script = "echo one; while [ ! -e go-on ]; do sleep 0.05; done; read x; echo \"two $x\"; echo e >&2; exit 8"
    c = Client(cluster, "--detach-on-loss", "sh", "-c", script, stdin=subprocess.PIPE)
    c.wait_out("one")
    job = last_job(cluster)
    c.p.kill()
    c.p.wait()
    (cluster.dir / "jobs/go-on").touch()
    assert cluster.state(job) == "RUNNING"
    r = cluster.run("grun", f"--attach={job}", stdin="three\n", check=False)
    assert (r.returncode, r.stderr) == (8, "e\n") and r.stdout.endswith("two three\n")
    (cluster.dir / "jobs/go-on").unlink()


def test_hang_up_detaches(cluster):
    c = Client(cluster, "--detach-on-loss", "sh", "-c", "echo up; sleep 1000")
    c.wait_out("up")
    job = last_job(cluster)
    c.p.send_signal(signal.SIGHUP)
    status, _, err = c.end()
    assert status == 128 + signal.SIGHUP and "goes on by itself" in err
    assert cluster.state(job) == "RUNNING"
    cluster.run("gcancel", job)


def test_the_newest_client_has_it(cluster):
    c = Client(cluster, "sh", "-c", "echo up; while [ ! -e go-new ]; do sleep 0.05; done; echo down")
    c.wait_out("up")
    job = last_job(cluster)
    new = Client(cluster, f"--attach={job}")
    status, out, err = c.end()
    assert status == 125 and "another client" in err
    (cluster.dir / "jobs/go-new").touch()
    status, out, err = new.end()
    assert status == 0 and out.endswith("down\n")
    (cluster.dir / "jobs/go-new").unlink()


def test_a_client_on_its_way_is_not_dropped_for_another_run(cluster):
    """A run that begins looks which sockets of others have still somebody behind them."""
    go = "while [ ! -e go-waiting ]; do sleep 0.05; done"
    first = Client(cluster, "--detach-on-loss", "sh", "-c", f"echo up; {go}")
    first.wait_out("up")
    job = last_job(cluster)
    pending = [socket.socket(socket.AF_UNIX) for _ in range(2)]
    for s in pending:
        s.connect(str(cluster.run_base / f"run-n1/holds/{job}_0_1"))
        s.settimeout(DEADLINE)
    second = Client(cluster, "true")
    assert second.end()[0] == 0
    attach = struct.pack(">BQQHH", 0, 0, 0, 0, 0)
    pending[0].sendall(struct.pack(">HB", len(attach) + 1, 3) + attach)
    length, kind = struct.unpack(">HB", pending[0].recv(3, socket.MSG_WAITALL))
    assert kind == 24, "CHANNEL_ATTACHED"
    assert first.end()[0] == 125
    (cluster.dir / "jobs/go-waiting").touch()
    for s in pending:
        s.close()
    cluster.wait_state(job, "COMPLETED")
    (cluster.dir / "jobs/go-waiting").unlink()


def test_output_waits_for_a_client(cluster):
    """All of it, of a run that was over before anybody came."""
    c = Client(cluster, "--detach-on-loss", "sh", "-c", "echo first; while [ ! -e go-rest ]; do sleep 0.05; done; seq 1 9000")
    c.wait_out("first")
    job = last_job(cluster)
    c.p.kill()
    c.p.wait()
    (cluster.dir / "jobs/go-rest").touch()
    cluster.wait_state(job, "COMPLETED")
    out = cluster.run("grun", f"--attach={job}").stdout
    assert out.endswith("".join(f"{i}\n" for i in range(1, 9001)))
    r = cluster.run("grun", f"--attach={job}", check=False)
    assert r.returncode == 0 and "lost" in r.stderr  # of what it was nothing is left
    (cluster.dir / "jobs/go-rest").unlink()


# --- daemons that die in the midst ----------------------------------------------------------------

COUNT = "i=0; while [ $i -lt 20000 ]; do echo line $i; i=$((i+1)); [ $((i % 2000)) -ne 0 ] || sleep 0.1; done; " \
        "while [ ! -e done ]; do sleep 0.05; done; echo end; cat; exit 5"
COUNTED = "".join(f"line {i}\n" for i in range(20000)) + "end\nlast words\n"


def breaks(cluster, restart):
    r, w = os.pipe()
    c = Client(cluster, "sh", "-c", COUNT, stdin=r)
    os.close(r)
    c.wait_out("line 2000\n")
    restart()
    wait_until(lambda: "connection broke" in c.err(), lambda: f"the break to be seen: {c.err()}")
    wait_until(lambda: "connected again" in c.err(), lambda: f"the client to be back: {c.err()}")
    (cluster.dir / "jobs/done").touch()
    os.write(w, b"last words\n")
    os.close(w)
    status, out, err = c.end()
    assert status == 5, err
    assert out == COUNTED  # nothing lost, nothing twice


def test_controller_killed_and_back(own):
    def restart():
        own.ctld.kill()
        own.start_ctld()

    breaks(own, restart)


def test_agent_killed_and_back(own):
    def restart():
        own.agents["n1"].kill()
        own.start_agent("n1")

    breaks(own, restart)


def test_shepherd_killed(own):
    c = Client(own, "sh", "-c", "echo up; sleep 1000")
    c.wait_out("up")
    for pid in own.shepherds():
        os.kill(pid, signal.SIGKILL)
    status, out, err = c.end()
    assert (status, out) == (125, "up\n") and "NODE_FAIL" in err


@pytest.mark.skipif(not ROOT, reason="who is not dumpable shows its program to root alone")
def test_ghold_killed(cluster):
    others = cluster.processes("ghold")
    c = Client(cluster, "sh", "-c", "echo up; while :; do sleep 1; done")
    c.wait_out("up")
    job = last_job(cluster)
    for pid in cluster.processes("ghold") - others:
        os.kill(pid, signal.SIGKILL)
    cluster.wait_state(job, "CANCELLED", "FAILED")
    assert c.end()[0] != 0


# --- who may --------------------------------------------------------------------------------------


@pytest.mark.skipif(not ROOT, reason="needs several users")
def test_only_the_owner_attaches(cluster):
    script = "id -un; while [ ! -e go-mine ]; do sleep 0.05; done; head -n 1"
    p = subprocess.Popen([str(BIN["grun"]), "--detach-on-loss", "sh", "-c", script], stdin=subprocess.PIPE,
                         stdout=subprocess.PIPE, env=cluster.env, cwd=cluster.dir / "jobs", user="nobody", group="nogroup",
                         extra_groups=[])
    assert p.stdout.readline() == b"nobody\n"
    job = last_job(cluster)
    r = cluster.run("grun", f"--attach={job}", user="mail", stdin="evil\n", check=False)
    assert r.returncode == 125 and "nobody's" in r.stderr and r.stdout == ""
    r = cluster.run("grun", f"--attach={job}", stdin="evil\n", check=False)  # root
    assert r.returncode == 125 and "owner's alone" in r.stderr and r.stdout == ""
    r = cluster.run("grun", f"--attach={job}", user=cluster.ctld_user.pw_name, stdin="evil\n", check=False)
    assert r.returncode == 125 and r.stdout == ""
    r = cluster.run("glog", job, user="nobody", check=False)
    assert r.returncode == 1 and "client" in r.stderr
    (cluster.dir / "jobs/go-mine").touch()
    assert p.communicate(b"mine\n", timeout=DEADLINE)[0] == b"mine\n" and p.returncode == 0
    (cluster.dir / "jobs/go-mine").unlink()


@pytest.mark.skipif(not ROOT, reason="needs several users")
def test_the_terminal_is_the_owners(cluster):
    r = cluster.run("grun", "--pty", "sh", "-c", "stat -c %U $(tty) && echo x >$(tty)", user="nobody")
    assert r.stdout.replace("\r", "") == "nobody\nx\n"


def test_attach_to_what_is_not_interactive(cluster):
    job = cluster.submit("sleep 1000")
    cluster.wait_state(job, "RUNNING")
    r = cluster.run("grun", f"--attach={job}", check=False)
    assert r.returncode == 125 and "not interactive" in r.stderr
    cluster.run("gcancel", job)


# --- several processes ----------------------------------------------------------------------------


@pytest.fixture(name="two", scope="module")
def fixture_two():
    with Cluster(nodes=("n1", "n2"), gpus="demo:4") as c:
        yield c


def grun(c, *args, stdin="", **kw):
    r = c.run("grun", *args, stdin=stdin, check=False, **kw)
    return r.returncode, sorted(r.stdout.splitlines()), r.stderr


def test_tasks_and_nodes_are_processes(two):
    say = ("sh", "-c", 'echo $SLURM_PROCID $SLURMD_NODENAME; cat; echo "$1"', "x", "it's $HOME")
    assert grun(two, "-n4", "-N1", "-w", "n1", *say, stdin="in\n") == (
        0, sorted([f"{i} n1" for i in range(4)] + ["in"] * 4 + ["it's $HOME"] * 4), "")
    assert grun(two, "-N2", "sh", "-c", "echo $SLURM_PROCID $SLURMD_NODENAME") == (0, ["0 n1", "1 n2"], "")
    assert grun(two, "-N2", "--ntasks-per-node=2", "sh", "-c", "echo $SLURM_LOCALID $SLURMD_NODENAME") == (
        0, ["0 n1", "0 n2", "1 n1", "1 n2"], "")
    assert grun(two, "--nodelist=n[1-2]", "hostname")[1:] == ([os.uname().nodename] * 2, "")
    assert grun(two, "-n2", "--gpus-per-task=1", "sh", "-c", "echo $GPUSCHED_GPU_COUNT") == (0, ["1", "1"], "")
    assert grun(two, "--ntasks-per-gpu=2", "--gpus=2", "sh", "-c", "echo $SLURM_NTASKS") == (0, ["4"] * 4, "")
    r = two.run("grun", "echo", "$SLURM_PROCID", env={"GSUBMIT_NTASKS": "2"})
    assert r.stdout == "$SLURM_PROCID\n" * 2


def test_environment_and_folder_of_tasks(two):
    (two.dir / "jobs/sub").mkdir(exist_ok=True)
    status, out, err = grun(two, "-n2", "--export=MINE,SET=1", "--chdir=sub", "sh", "-c", 'echo "$MINE$SET$OTHER ${PWD##*/}"',
                            env={"MINE": "a", "OTHER": "b"})
    assert (status, out, err) == (0, ["a1 sub"] * 2, "")
    assert two.job(last_job(two))["name"] == "sh"


def test_exit_status_of_tasks(two):
    status, _, err = grun(two, "-n4", "--nodelist=n1", "sh", "-c", "exit $SLURM_PROCID")
    assert status == 3 and "grun: error: n1: task 3: Exited with exit code 3" in err
    assert two.wait_state(last_job(two), "FAILED")["exit_code"] == 3
    assert grun(two, "-n2", "/no/such")[0] == 127
    assert grun(two, "-n2", "sh", "-c", "kill -9 $$")[0] == 128 + signal.SIGKILL
    status, out, err = grun(two, "-n2", "-c", "100000", "true")
    assert (status, out) == (125, []) and err.startswith("grun: error:"), err
    assert grun(two, "-N2", "--chdir=/no/such/folder", "true")[0] == 125


def test_tasks_that_wait(two):
    blocker = two.submit("sleep 1000", "--exclusive", "--nodes=2")
    two.wait_state(blocker, "RUNNING")
    status, out, err = grun(two, "-N2", "--immediate=1", "true")
    assert (status, out) == (125, []) and "Requested nodes are busy" in err
    assert two.state(last_job(two)) == "CANCELLED"
    before = set(two.jobs())
    c = Client(two, "-N2", "true")
    job = new_job(two, before)
    wait_until(lambda: "waits" in c.err() or "waiting" in c.err(), "a word on why it waits")
    c.p.send_signal(signal.SIGINT)
    assert c.end()[:2] == (130, "")
    assert two.state(job) == "CANCELLED"
    c = Client(two, "-Q", "-N2", "echo", "here")
    new_job(two, before | {job})
    two.run("gcancel", blocker)
    assert c.end() == (0, "here\nhere\n", "")


def test_signals_reach_all_tasks(two):
    c = Client(two, "-N2", "sh", "-c", TRAPS)
    wait_until(lambda: c.out().count("ready") == 2, "both tasks to run")
    c.p.send_signal(signal.SIGUSR1)
    wait_until(lambda: c.out().count("got USR1") == 2, "both to hear of it")
    c.p.send_signal(signal.SIGTERM)
    status, out, _ = c.end()
    assert status == 5 and out.count("got TERM") == 2
    c = Client(two, "-n2", "sh", "-c", TRAPS)
    wait_until(lambda: c.out().count("ready") == 2, "both tasks to run")
    c.p.send_signal(signal.SIGINT)
    status, out, _ = c.end()
    assert status == 4 and out.count("got INT") == 2


def test_tasks_that_are_ended(two):
    c = Client(two, "-N2", "sh", "-c", "echo up; sleep 1000")
    wait_until(lambda: c.out().count("up") == 2, "both tasks to run")
    two.run("gcancel", last_job(two))
    status, out, err = c.end()
    assert status != 0 and out == "up\nup\n", err
    c = Client(two, "--loss-timeout=1", "-N2", "sh", "-c", "echo up; sleep 1000")
    wait_until(lambda: c.out().count("up") == 2, "both tasks to run")
    job = last_job(two)
    c.p.kill()
    c.p.wait()
    two.wait_state(job, "COMPLETED", "CANCELLED", "FAILED")
