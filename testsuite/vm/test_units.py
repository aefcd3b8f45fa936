"""systemd's units as `make install` puts them, on a machine of their own: the controller and one node

What a restart, an upgrade, a kill, a shutdown and a power cut leave of a job is section 7 of ARCHITECTURE.md and the
rows h to s of testsuite/security/README.md; here systemd, and the machine, do it."""

import contextlib
import json
import shutil
import subprocess
import time

import pytest

import machine

DEST = machine.BUILD / "vm/dest"  # the machine sees it, as all of the build
JOBS = "/sys/fs/cgroup/system.slice/gpusched-jobs.service"
AGENT = "/sys/fs/cgroup/system.slice/gpusched-agent.service"
LONG = 'echo $$ >pid; while :; do sleep 1; done'

CONF = """
cluster = "lab";
controller = { host = "localhost"; user = "gpusched"; log = "stderr"; state_dir = "/var/lib/gpusched"; };
gpu_types = ( { name = "demo"; mem = "80G"; } );
nodes = ( { name = "n1"; gpus = "demo:4"; } );
partitions = ( { name = "batch"; nodes = "ALL"; default = true; max_time = "1-00:00:00"; grace = "5s"; } );
"""


class Host:
    def __init__(self):
        kept = machine.KEPT if (machine.KEPT / "port").exists() else None  # by somebody who tries things
        self.m = machine.Machine(kept, say=lambda text: print("vm:", text))
        self.run = self.m.run

    def __call__(self, command, **how):
        return self.m(command, **how)

    def wait(self, what, condition, timeout=300):
        end = time.monotonic() + timeout
        while True:
            value = condition()
            if value:
                return value
            if time.monotonic() > end:
                log = self("journalctl -b --no-pager -u 'g*' | tail -n 40", check=False)
                raise AssertionError(f"waited {timeout} s for: {what}; last value: {value!r}\n{log}")
            time.sleep(0.2)

    def submit(self, script, options=""):
        said = self(f"cd /home/ana && runuser -u ana -- gsubmit --parsable {options} --wrap '{script}'")
        return int(said.splitlines()[-1])

    def job(self, ident):
        code, said = self.run(f"gqueue --all --json --jobs {ident}", check=False)
        return json.loads(said)["jobs"][0] if code == 0 else {"state": f"exit {code}: {said}"}

    def ends_as(self, ident, *states):
        self.wait(f"job {ident} to be one of {states}: {self.job(ident)}",
                  lambda: self.job(ident)["state"] in states)
        return self.job(ident)

    def node(self):
        code, said = self.run("ginfo --nodes --json", check=False)
        return json.loads(said)["nodes"][0] if code == 0 else {"state": f"exit {code}: {said}"}

    def ready(self, *states):
        self.wait("the node", lambda: self.node()["state"] in (states or ("idle", "mixed")))

    def running(self, options=""):
        """A job that runs until it is ended; returns (its id, its first process)."""
        self("rm -f /home/ana/pid")
        ident = self.submit(LONG, options)
        pid = self.wait(f"job {ident} to run", lambda: self("cat /home/ana/pid", check=False).isdigit() and
                        self("cat /home/ana/pid"))
        return ident, pid

    def main_pid(self, unit):
        return self(f"systemctl show -P MainPID {unit}")

    def alive(self, pid):
        return self.run(f"kill -0 {pid}", check=False)[0] == 0


def install(h):
    shutil.rmtree(DEST, ignore_errors=True)
    subprocess.run(["make", "-s", "-C", machine.BUILD, "install", f"DESTDIR={DEST}"], check=True,
                   stdout=subprocess.DEVNULL)
    assert (DEST / "lib/systemd/system/gctld.service").exists(), \
        "this build installs no units: configure it with --with-systemdsystemunitdir=/lib/systemd/system"
    h("useradd --system --no-create-home --shell /usr/sbin/nologin gpunode")
    h(f"tar -C {DEST} -c . | tar -C / -x --no-same-owner --no-overwrite-dir --keep-directory-symlink && ldconfig && systemctl daemon-reload")
    conf = h("systemctl cat gctld | sed -n 's/.*--config=//p'")
    h(f"mkdir -p $(dirname {conf}) /etc/default && cat >{conf} <<'END'\n{CONF}\nEND")
    options = h("systemctl cat gpusched-agent | sed -n 's/EnvironmentFile=-//p'")
    h(f"mkdir -p $(dirname {options}) && cat >{options} <<'END'\n"
      "GNODED_OPTIONS=--spool=/var/spool/gpusched --containment=cgroup2,devices,memory,pids,cpu --private=tmp,shm,ipc,proc --user=gpunode\nEND")
    h("systemctl enable gctld gpusched-agent && systemctl restart gctld gpusched-agent")


@pytest.fixture(scope="module")
def host():
    h = Host()
    with contextlib.closing(h.m) if h.m.ours else contextlib.nullcontext():
        if h.run("systemctl is-active gctld gpusched-agent", check=False)[0] != 0:  # of a kept one it is done
            install(h)
        h.ready()
        yield h


def test_the_units_are_sound(host):
    said = host("systemd-analyze verify --man=no gctld.service gpusched-agent.service gpusched-jobs.service 2>&1", check=False)
    assert "gctld" not in said and "gpusched" not in said
    level = host("systemd-analyze security gctld.service --no-pager | tail -n 1")
    assert " OK " in level, level
    for unit in ("gctld", "gpusched-agent", "gpusched-jobs"):
        assert host(f"systemctl is-active {unit}") == "active"
    pid = host.main_pid("gctld")
    assert host(f"ps -o user= -p {pid}") == "gpusched"
    assert host(f"grep -E 'CapEff|NoNewPrivs' /proc/{pid}/status").split() == ["CapEff:", "0" * 16, "NoNewPrivs:", "1"]


def test_everything_contains_here(host):
    said = host("journalctl -u gpusched-agent --no-pager | grep -o 'containment [^ ]*'").split()
    assert said[1] == "cgroup2,devices,memory,pids,cpu,tmp,shm,ipc,proc,"


def test_who_lives_where(host):
    """What runs need is in the jobs' group; the agent's own has nothing that they do. systemd's is left alone."""
    ident, pid = host.running("--mem=100M")
    leaf = host(f"sed -n s/^0:://p /proc/{pid}/cgroup")
    assert leaf.startswith("/system.slice/gpusched-jobs.service/run-")
    shepherd = host("pgrep -x gshepherd")
    launcher = host("pgrep -x gnoded-launcher")
    for process in (shepherd, launcher):
        assert host(f"sed -n s/^0:://p /proc/{process}/cgroup") == "/system.slice/gpusched-jobs.service/agent"
    assert host(f"cat {JOBS}/cgroup.procs") == ""
    assert set(host(f"cat {JOBS}/cgroup.subtree_control").split()) == {"cpu", "memory", "pids"}
    assert host(f"cat {JOBS}/pids.max") == "max"
    assert host("ls -d /sys/fs/cgroup/gpusched 2>&1", check=False).endswith("No such file or directory")
    at = "/sys/fs/cgroup" + leaf
    assert host(f"cat {at}/memory.max {at}/memory.swap.max {at}/memory.oom.group {at}/pids.max").split() == \
        [str(100 << 20), "0", "1", "16384"]
    host(f"gcancel {ident}")
    host.ends_as(ident, "CANCELLED")
    host.wait("its group to be gone", lambda: host.run(f"test ! -e {at}", check=False)[0] == 0)


def test_more_memory_than_booked(host):
    other, pid = host.running()
    ident = host.submit("python3 -c \"x = bytearray(300 << 20)\"", "--mem=100M")
    host.ends_as(ident, "OUT_OF_MEMORY")
    assert host("systemctl is-active gpusched-jobs gpusched-agent").split() == ["active"] * 2
    assert host.alive(pid)
    host(f"gcancel {other}")


def untouched(host, do):
    """A job runs, `do` happens to its node: nothing of the job changes, and its end is told."""
    host("rm -f /home/ana/go")
    ident = host.submit("echo $$ >pid; until [ -e go ]; do sleep 0.2; done; exit 7")
    host.wait("it to run", lambda: host.job(ident)["state"] == "RUNNING")
    pid, shepherd = host("cat /home/ana/pid"), host("pgrep -x gshepherd")
    before = host.main_pid("gpusched-agent")
    do()
    host.wait("the agent", lambda: host("systemctl is-active gpusched-agent", check=False) == "active")
    host.ready("mixed", "allocated")
    assert host.alive(pid) and host("pgrep -x gshepherd") == shepherd
    assert host.job(ident)["state"] == "RUNNING"
    host("touch /home/ana/go")
    job = host.ends_as(ident, "FAILED", "COMPLETED", "NODE_FAIL", "CANCELLED")
    assert (job["state"], job["exit_code"]) == ("FAILED", 7)
    return before != host.main_pid("gpusched-agent")


def test_the_agent_is_restarted(host):
    assert untouched(host, lambda: host("systemctl restart gpusched-agent"))


def test_the_agent_is_stopped_for_a_while(host):
    def away():
        host("systemctl stop gpusched-agent")
        assert host(f"cat {AGENT}/cgroup.procs 2>/dev/null", check=False) == ""
        host("systemctl start gpusched-agent")

    assert untouched(host, away)


def test_the_agent_is_upgraded(host):
    """Its programs are replaced, as a package does it, under a running job."""
    def upgrade():
        before = host("stat -c %i /usr/local/sbin/gnoded")
        for program in ("sbin/gnoded", "libexec/gshepherd", "libexec/gtap", "libexec/ghold"):
            host(f"cp /usr/local/{program} /usr/local/{program}.new && mv /usr/local/{program}.new /usr/local/{program}")
        assert host("stat -c %i /usr/local/sbin/gnoded") != before
        host("systemctl daemon-reload && systemctl restart gpusched-agent")

    assert untouched(host, upgrade)


def test_all_of_the_agent_is_killed(host):
    """KILL to all that systemd counts to the unit: it is started again by itself."""
    assert untouched(host, lambda: host("systemctl kill -s KILL gpusched-agent"))


def test_the_launcher_is_killed(host):
    assert not untouched(host, lambda: host("pkill -KILL -x gnoded-launcher"))


def test_systemd_is_reloaded_and_executed_anew(host):
    assert not untouched(host, lambda: host("systemctl daemon-reload && systemctl daemon-reexec"))


def test_the_controller_is_killed_and_restarted(host):
    def controller():
        host("systemctl kill -s KILL gctld")
        host.wait("gctld", lambda: host.run("gctl ping", check=False)[0] == 0)
        host("systemctl restart gctld")

    assert not untouched(host, controller)


def test_nobody_stops_the_jobs_by_mistake(host):
    def stop():
        for verb in ("stop", "restart"):
            code, said = host.run(f"systemctl {verb} gpusched-jobs", check=False)
            assert code != 0 and "refused" in said

    assert not untouched(host, stop)


def reboots(host, how):
    """One job that may be run again, one that may not, one that has ended: what is left of them?"""
    ended = host.submit("exit 3")
    host.ends_as(ended, "FAILED")
    again, _ = host.running("--requeue --max-attempts=2")
    never, _ = host.running("--no-requeue")
    how()
    host.ready()
    assert host.ends_as(never, "NODE_FAIL", "FAILED", "COMPLETED", "CANCELLED")["state"] == "NODE_FAIL"
    host.wait("the other to run again", lambda: host.job(again)["state"] == "RUNNING")
    assert host.job(again)["attempt"] == 2
    assert host.job(ended)["state"] == "FAILED"
    assert len(host("pgrep -x gshepherd").split()) == 1  # controller and node agree
    host(f"gcancel {again}")
    host.ends_as(again, "CANCELLED")
    assert host.job(never)["state"] == "NODE_FAIL"


def test_power_is_lost(host):
    reboots(host, host.m.reset)
