"""Bad input and bad peers: a clear error at the right place, never a crash, never a half-made job."""

import concurrent.futures
import os
import pathlib
import pwd
import re
import socket
import threading
import time

import pytest
from cluster import BUILD, ROOT, SANITIZED, Cluster, wait_until


@pytest.fixture(scope="module")
def cluster():
    with Cluster(controller='keep_ended = "1h";') as c:  # tests count jobs
        yield c


def n_jobs(c):
    return len(c.jobs())


# options, script (None: not by stdin), exit status, words that the error must have
BAD_SUBMITS = [
    (["--gpus=demo:8"], "#!/bin/sh\n", 1, ["demo:8", "largest node", "demo:4"]),
    (["--gpus=h100:1"], "#!/bin/sh\n", 3, ["h100"]),
    (["--gpus=demo:-1"], "#!/bin/sh\n", 2, ["-1"]),
    (["--gpus=demo:0"], "#!/bin/sh\n", 2, ["demo:0"]),
    (["--gpus=99999999999"], "#!/bin/sh\n", 2, ["99999999999"]),
    (["--partition=nosuch"], "#!/bin/sh\n", 3, ["nosuch"]),
    (["--time=-5"], "#!/bin/sh\n", 2, ["-5"]),
    (["--time=1:2:3:4:5"], "#!/bin/sh\n", 2, ["1:2:3:4:5"]),
    (["--time=5-00:00:00"], "#!/bin/sh\n", 1, ["batch", "1-00:00:00"]),
    (["--mem=12Q"], "#!/bin/sh\n", 2, ["12Q"]),
    (["--mem=100T"], "#!/bin/sh\n", 1, ["100T"]),
    (["--cpus-per-task=1000"], "#!/bin/sh\n", 1, ["1000"]),
    (["--cpus-per-task=0"], "#!/bin/sh\n", 2, ["0"]),
    (["--job-name=a\nb"], "#!/bin/sh\n", 2, ["name"]),
    (["--job-name=\x1b[31mred"], "#!/bin/sh\n", 2, ["name"]),
    (["--job-name=" + "x" * 5000], "#!/bin/sh\n", 2, ["name"]),
    (["--label=novalue"], "#!/bin/sh\n", 2, ["novalue", "k=v"]),
    (["--signal=NOSUCH"], "#!/bin/sh\n", 2, ["NOSUCH"]),
    (["--nodes=0"], "#!/bin/sh\n", 2, ["--nodes=0"]),
    (["--nodes=3-2"], "#!/bin/sh\n", 2, ["3-2", "low to high"]),
    (["--nodes=3"], "#!/bin/sh\n", 1, ["--nodes=3"]),
    (["--gpus-per-node=8"], "#!/bin/sh\n", 1, ["any:8", "demo:4"]),
    (["--constraint=nosuch"], "#!/bin/sh\n", 1, ["--constraint", "nosuch"]),
    (["--constraint=(("], "#!/bin/sh\n", 1, ["--constraint=(("]),
    (["--prefer=a\x1b[31m"], "#!/bin/sh\n", 2, ["--prefer"]),
    (["--nodelist=nosuch"], "#!/bin/sh\n", 3, ["--nodelist", "nosuch"]),
    (["--nodelist=n[1-99999999]"], "#!/bin/sh\n", 2, ["--nodelist"]),
    (["--exclude=n1"], "#!/bin/sh\n", 1, ["--exclude=n1"]),
    (["--licenses=nosuch"], "#!/bin/sh\n", 1, ["nosuch"]),
    (["--licenses=,"], "#!/bin/sh\n", 1, ["NAME:COUNT"]),
    (["--gpus=1", "--gpu-mem-min=80T"], "#!/bin/sh\n", 1, ["--gpu-mem-min=80T"]),
    (["--gpu-mem-min=-1"], "#!/bin/sh\n", 2, ["-1"]),
    (["--max-wait=soon"], "#!/bin/sh\n", 2, ["soon"]),
    (["--nosuchoption"], "#!/bin/sh\n", 2, ["nosuchoption"]),
    ([], "echo no interpreter\n", 1, ["#!"]),
    ([], "", 1, ["empty"]),
    ([], "#!/bin/sh\r\necho crlf\r\n", 1, ["CR"]),
    ([], "#!/bin/sh\n#GPUSCHED --nosuch=1\n", 2, ["nosuch", "2"]),
    ([], "#!/bin/sh\n#GPUSCHED --time=-1\n", 2, ["-1"]),
    ([], "#!/bin/sh\n" + "#" * (5 << 20) + "\n", 1, ["4"]),
    (["/nonexistent/script.sh"], None, 1, ["/nonexistent/script.sh"]),
    (["/tmp"], None, 1, ["/tmp"]),
]


@pytest.mark.parametrize("case", range(len(BAD_SUBMITS)))
def test_bad_submit(cluster, case):
    options, script, status, words = BAD_SUBMITS[case]
    before = n_jobs(cluster)
    r = cluster.run("gsubmit", *options, stdin=script, check=False)
    assert r.returncode == status, r.stderr
    assert r.stdout == ""
    assert r.stderr.startswith("gsubmit: error: "), r.stderr
    for w in words:
        assert w in r.stderr, r.stderr
    assert "\x1b" not in r.stderr
    assert n_jobs(cluster) == before


def test_nul_in_script(cluster):
    path = cluster.dir / "jobs/nul.sh"
    path.write_bytes(b"#!/bin/sh\necho a\0b\n")
    r = cluster.run("gsubmit", path, check=False)
    assert r.returncode == 1 and "NUL" in r.stderr


@pytest.mark.skipif(not ROOT, reason="needs another user")
def test_unreadable_script(cluster):
    path = cluster.dir / "jobs/secret.sh"
    path.write_text("#!/bin/sh\n")
    path.chmod(0o600)
    r = cluster.run("gsubmit", path, check=False, user="daemon")
    assert r.returncode == 1 and str(path) in r.stderr


@pytest.mark.skipif(not ROOT, reason="needs another user")
def test_others_jobs_are_theirs(cluster):
    job = cluster.submit("sleep 60", "--hold")
    for argv in (["gcancel", job], ["gctl", "release", job], ["gcancel", "--signal=USR1", job],
                 ["gctl", "update", job, "--time=1"], ["gctl", "suspend", job]):
        r = cluster.run(*argv, check=False, user="daemon" if cluster.ctld_user.pw_name != "daemon" else "bin")
        assert r.returncode == 5, (argv, r.stderr)
    assert cluster.state(job) == "PENDING"
    cluster.run("gcancel", job)


@pytest.mark.skipif(not ROOT, reason="needs another user")
def test_administration_is_not_for_everyone(cluster):
    for argv in (["drain", "n1", "mine"], ["shutdown"], ["reconfigure"], ["node", "down", "n1", "--confirmed-off"],
                 ["partition", "batch", "down"]):
        r = cluster.run("gctl", *argv, check=False, user="bin")
        assert r.returncode == 5, (argv, r.stdout, r.stderr)
    assert cluster.ctld.alive()


def test_unknown_objects(cluster):
    assert cluster.run("gcancel", 999999, check=False).returncode == 3
    assert cluster.run("gctl", "show", "job", 999999, check=False).returncode == 3
    assert cluster.run("gqueue", "--why", 999999, check=False).returncode == 3
    assert cluster.run("gprio", "-j", 999999, check=False).returncode == 3
    assert cluster.run("gctl", "update", 999999, "--gpus=1", check=False).returncode == 3
    many = ",".join(str(i) for i in range(1, 66))
    r = cluster.run("gqueue", "--why", many, check=False)
    assert r.returncode == 2 and "more than 64 jobs and tasks at once" in r.stderr
    assert cluster.run("gshare", "-A", "nosuch", check=False).returncode == 2
    assert cluster.run("gctl", "show", "node", "nosuch", check=False).returncode == 3
    assert cluster.run("gctl", "drain", "nosuch", "why", check=False).returncode == 3
    r = cluster.run("gctl", "drain", "n[0-4294967295]", "why", check=False)
    assert r.returncode in (2, 3) and r.stderr.startswith("gctl: error:")


@pytest.mark.parametrize("option, what, code", [("--account", "account 'nosuch'", 3), ("--partition", "partition 'nosuch'", 3),
                                                ("--qos", "QOS 'nosuch'", 3), ("--nodes", "node 'nosuch'", 3),
                                                ("--user", "--user=nosuch: unknown user", 2)])
def test_filters_refuse_unknown_names(cluster, option, what, code):
    """A name that neither the configuration nor a job has is a mistake in every command that chooses by it."""
    job = cluster.submit("true", "--hold")
    for command in ("gqueue", "gqueue --start", "gacct", "greport use", "gprio", "gcancel", "gctl hold", "gshare"):
        name, option_here = command.split()[0], option
        if option == "--account" and name in ("gacct", "greport"):
            option_here = "--accounts"
        if option in {"gprio": ("--account", "--qos", "--nodes"), "gctl": ("--qos", "--account"),
                      "gshare": ("--account", "--partition", "--qos", "--nodes")}.get(name, ()):
            continue  # it has no such option, or a test of its own
        if option == "--user" and name == "gshare":
            option_here = "--users"
        r = cluster.run(*command.split(), f"{option_here}=nosuch", check=False)
        assert (r.returncode, what in r.stderr, "hint" in r.stderr) == (code, True, code == 3), (command, r.stdout, r.stderr)
        assert "total" not in r.stdout and "Cancelled" not in r.stdout
    # One that is known beside it: what is found is done, and the other one is named.
    if option == "--partition":
        r = cluster.run("gqueue", "-h", "-o", "JOBID", "-p", "batch,nosuch", check=False)
        assert r.returncode == 3 and str(job) in r.stdout.split() and "hint: partitions here: batch" in r.stderr
        r = cluster.run("gcancel", "-p", "batch,nosuch")
        assert "Cancelled" in r.stdout and "partition 'nosuch'" in r.stderr
    else:
        cluster.run("gcancel", job)


def test_what_only_history_knows_is_no_unknown_name():
    """An account, a partition and a node leave the configuration: gacct and greport find what was there, gqueue none of it."""
    user = pwd.getpwuid(os.geteuid()).pw_name
    batch, gone = '{ name = "batch"; default = true; nodes = "n1"; }', '{ name = "gone"; nodes = "n2"; }'
    stays, left = (f'{{ name = "{name}"; members = [ "{user}" ]; }}' for name in ("stays", "left"))
    with Cluster(nodes=("n1", "n2"), controller='keep_ended = "1s";', partitions=f"( {batch}, {gone} )",
                 policy=f"accounts = ( {stays}, {left} );") as c:
        job = c.submit("true", "-p", "gone", "-A", "left")
        wait_until(lambda: job not in c.jobs(), "the job to be history")
        c.partitions, c.policy = f"( {batch} )", f"accounts = ( {stays} );"
        c.write_conf()
        c.run("gctl", "reconfigure")
        for what in ("--accounts=left", "--partition=gone"):
            assert str(job) in c.run("gacct", "-h", "-o", "JOBID", what).stdout
            assert c.run("greport", "use", what).returncode == 0
        for what in ("--account=left", "--partition=gone"):
            assert c.run("gqueue", what, check=False).returncode == 3


def test_events_refuse_unknown_kinds_and_nodes(cluster):
    r = cluster.run("gctl", "events", "--kind=job.cancel,foo", check=False)
    assert r.returncode == 2 and "--kind=foo: there are no such events" in r.stderr and "job.cancel" in r.stderr
    assert cluster.run("gctl", "events", "--kind=jo", check=False).returncode == 2
    r = cluster.run("gctl", "events", "--nodes=nosuch", check=False)
    assert r.returncode == 3 and "there is no node 'nosuch'" in r.stderr
    r = cluster.run("gctl", "events", "--job=999999", check=False)
    assert r.returncode == 3 and "no event of job 999999" in r.stderr
    # Each kind that the controller writes, where its sources name it.
    sources = [p.read_text() for p in (pathlib.Path(__file__).parents[3] / "ctld").rglob("*.c")]
    found = {k for s in sources for k in re.findall(r'"((?:job|run|node|gpu|partition|cluster|controller)\.[a-z]+)"', s)}
    kinds = sorted(found - {"controller.user"})
    assert len(kinds) > 30
    cluster.run("gctl", "events", "--kind=" + ",".join(kinds))


def test_hostile_names_stay_one_line(cluster):
    """What is allowed in a name must not break tables, JSON or the log."""
    names = ["'; DROP TABLE job; --", "ünïcödé", "a b", "%s%n%x", "\\", "\"quoted\"", "{}", "-rf"]
    ids = [cluster.submit("true", "--hold", f"--job-name={n}") for n in names]
    jobs = cluster.jobs()
    assert [jobs[i]["name"] for i in ids] == names
    r = cluster.run("gqueue", "--noheader")
    assert len(r.stdout.splitlines()) == len([j for j in jobs.values() if j["state"] == "PENDING"])
    cluster.run("gcancel", *ids)
    assert all(cluster.state(i) == "CANCELLED" for i in ids)


def test_user_without_a_name_on_the_node(cluster):
    """A uid that passwd does not know: refused with the reason, or run as that uid; never as another."""
    r = cluster.run("gsubmit", "--parsable", "--wrap", "id -u", "--output=/dev/null", check=False)
    assert r.returncode == 0


# --- bytes that are not ours -------------------------------------------------------------------

def connect(cluster):
    return socket.create_connection(("127.0.0.1", cluster.port), timeout=20)


def closed(s):
    """The peer closes (perhaps after a refusal) instead of talking or hanging."""
    s.settimeout(30)
    got = b""
    try:
        while part := s.recv(4096):
            got += part
            assert len(got) < 4096
    except ConnectionResetError:
        pass
    return got


@pytest.mark.parametrize("data", [b"GET / HTTP/1.1\r\n\r\n", b"\0" * 64, b"\xff" * 4096, os.urandom(300)],
                         ids=["http", "zeros", "ones", "random"])
def test_garbage_is_closed(cluster, data):
    with connect(cluster) as s:
        s.sendall(data)
        s.shutdown(socket.SHUT_WR)
        closed(s)
    cluster.run("gctl", "ping")


class Recorder(threading.Thread):
    """A relay that keeps what the client said, and may change it on its way."""

    def __init__(self, cluster, change=lambda data, at: data):
        super().__init__(daemon=True)
        self.cluster, self.change = cluster, change
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        self.said = b""
        self.start()

    def run(self):
        try:
            client, _ = self.listener.accept()
        except OSError:
            return
        server = connect(self.cluster)
        back = threading.Thread(target=self.pump, args=(server, client), daemon=True)
        back.start()
        try:
            while data := client.recv(65536):
                server.sendall(self.change(data, len(self.said)))
                self.said += data
        except OSError:
            pass
        for s in (client, server):
            s.close()

    @staticmethod
    def pump(a, b):
        try:
            while data := a.recv(65536):
                b.sendall(data)
            b.shutdown(socket.SHUT_WR)
        except OSError:
            pass

    def close(self):
        self.listener.close()


def through(cluster, recorder, *argv, **kw):
    return cluster.run(*argv, check=False, env={"GPUSCHED_CONTROLLER": f"127.0.0.1:{recorder.port}", "GPUSCHED_RETRY": "0"}, **kw)


def test_recorded_session_cannot_be_replayed(cluster):
    rec = Recorder(cluster)
    r = through(cluster, rec, "gsubmit", "--hold", "--parsable", "--wrap", "true")
    assert r.returncode == 0, r.stderr
    wait_until(lambda: len(rec.said) > 200, "the recording")
    before = n_jobs(cluster)
    with connect(cluster) as s:
        s.sendall(rec.said)
        s.shutdown(socket.SHUT_WR)
        closed(s)
    assert n_jobs(cluster) == before
    cluster.run("gcancel", r.stdout.strip())
    rec.close()


def test_recorded_session_cannot_be_replayed_to_who_was_restarted(cluster):
    """Neither the controller nor munged remembers the credential then."""
    rec = Recorder(cluster)
    r = through(cluster, rec, "gsubmit", "--hold", "--parsable", "--wrap", "true")
    assert r.returncode == 0, r.stderr
    wait_until(lambda: len(rec.said) > 200, "the recording")
    rec.close()
    before = n_jobs(cluster)
    cluster.ctld.stop()
    cluster.munged.stop()
    cluster.socket.unlink(missing_ok=True)
    cluster.start_munged()
    cluster.start_ctld()
    with connect(cluster) as s:
        s.sendall(rec.said)
        s.shutdown(socket.SHUT_WR)
        closed(s)
    assert n_jobs(cluster) == before
    cluster.run("gcancel", r.stdout.strip())


def test_recorded_session_cannot_be_replayed_after_a_clock_step():
    """Whatever the host's clock says: later than munge keeps what it has seen, earlier than the credential, the same once more."""
    if SANITIZED:
        pytest.skip("a sanitizer wants to be loaded first")
    with Cluster(start=False) as c:
        step = c.dir / "step"
        step.write_text("0")
        c.extra_env.update(LD_PRELOAD=str(BUILD / "testsuite/security/stepped.so"), CLOCK_STEP=str(step))
        c.start_munged()
        c.start_ctld()
        rec = Recorder(c)
        r = through(c, rec, "gsubmit", "--hold", "--parsable", "--wrap", "true")
        assert r.returncode == 0, r.stderr
        wait_until(lambda: len(rec.said) > 200, "the recording")
        rec.close()
        jobs = 1
        for seconds in ("3600", "-3600", "0"):
            step.write_text(seconds)
            assert abs(int(c.run("date", "+%s").stdout) - time.time() - int(seconds)) < 100
            with connect(c) as s:
                s.sendall(rec.said)
                s.shutdown(socket.SHUT_WR)
                closed(s)
            assert n_jobs(c) == jobs, seconds
            c.run("gsubmit", "--hold", "--wrap", "true")  # who is in time is let in
            jobs += 1
        step.write_text("0")


def test_every_altered_byte_is_noticed(cluster):
    """Flip one bit at a time, spread over the whole session: never a job, never a crash."""
    rec = Recorder(cluster)
    r = through(cluster, rec, "gsubmit", "--hold", "--parsable", "--wrap", "true")
    length = len(rec.said)
    rec.close()
    cluster.run("gcancel", r.stdout.strip())
    before = n_jobs(cluster)

    def altered(at):
        def flip(data, offset):
            i = at - offset
            return data[:i] + bytes([data[i] ^ (1 << at % 8)]) + data[i + 1:] if 0 <= i < len(data) else data
        changed = Recorder(cluster, flip)
        result = through(cluster, changed, "gsubmit", "--hold", "--parsable", "--wrap", "true")
        changed.close()
        return at, result

    # All at once: an altered length makes both ends wait until they give up.
    places = range(0, length, max(1, length // 60))
    with concurrent.futures.ThreadPoolExecutor(len(places)) as pool:
        for at, result in pool.map(altered, places):
            assert result.returncode in (4, 5), (at, result.stdout, result.stderr)
    assert n_jobs(cluster) == before
    cluster.run("gctl", "ping")


def test_hello_meant_for_another_cluster(cluster):
    """The same munge realm, another cluster id: a hello relayed there is refused."""
    other = cluster.conf_text().replace('cluster = "test"', 'cluster = "elsewhere"')
    path = cluster.dir / "elsewhere.conf"
    path.write_text(other)
    r = cluster.run("gqueue", check=False, env={"GPUSCHED_CONF": str(path)})
    assert r.returncode in (4, 5) and "cluster" in r.stderr


def test_slow_hellos_do_not_stop_others(cluster):
    socks = [connect(cluster) for _ in range(200)]
    for s in socks:
        s.sendall(b"G")
    cluster.run("gctl", "ping")
    for s in socks:
        s.close()


def test_log_is_one_record_a_line(cluster):
    log = pathlib.Path(cluster.ctld.log).read_bytes()
    assert b"\x1b" not in log
    for line in log.splitlines():
        assert line[:4].isdigit(), line  # each begins with its date
