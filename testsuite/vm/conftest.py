"""The machine with the units on it as `make install` puts them, the controller and one node, for all test_*.py here"""

import contextlib
import json
import shutil
import subprocess
import time

import pytest

import machine

DEST = machine.BUILD / "vm/dest"  # the machine sees it, as all of the build
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

    def running(self, options="", script=LONG):
        """A job that runs until it is ended; returns (its id, its first process)."""
        self("rm -f /home/ana/pid")
        ident = self.submit(script, options)
        pid = self.wait(f"job {ident} to run", lambda: self("cat /home/ana/pid", check=False).isdigit() and
                        self("cat /home/ana/pid"))
        return ident, pid

    def main_pid(self, unit):
        return self(f"systemctl show -P MainPID {unit}")

    def alive(self, pid):
        return self.run(f"kill -0 {pid}", check=False)[0] == 0

    def untouched(self, do):
        """A job runs, `do` happens to its node: nothing of the job changes, and its end is told. Is the agent another
        process now?"""
        self("rm -f /home/ana/go")
        ident = self.submit("echo $$ >pid; until [ -e go ]; do sleep 0.2; done; exit 7")
        self.wait("it to run", lambda: self.job(ident)["state"] == "RUNNING")
        pid, shepherd = self("cat /home/ana/pid"), self("pgrep -x gshepherd")
        before = self.main_pid("gpusched-agent")
        do()
        self.wait("the agent", lambda: self("systemctl is-active gpusched-agent", check=False) == "active")
        self.ready("mixed", "allocated")
        assert self.alive(pid) and self("pgrep -x gshepherd") == shepherd
        assert self.job(ident)["state"] == "RUNNING"
        self("touch /home/ana/go")
        job = self.ends_as(ident, "FAILED", "COMPLETED", "NODE_FAIL", "CANCELLED")
        assert (job["state"], job["exit_code"]) == ("FAILED", 7)
        return before != self.main_pid("gpusched-agent")


def install(h):
    shutil.rmtree(DEST, ignore_errors=True)
    subprocess.run(["make", "-s", "-C", machine.BUILD, "install", f"DESTDIR={DEST}"], check=True,
                   stdout=subprocess.DEVNULL)
    assert (DEST / "lib/systemd/system/gctld.service").exists(), \
        "this build installs no units: configure it with --with-systemdsystemunitdir=/lib/systemd/system"
    h(f"tar -C {DEST} -c . | tar -C / -x --no-same-owner --no-overwrite-dir --keep-directory-symlink && ldconfig && systemctl daemon-reload && systemd-sysusers")
    conf = h("systemctl cat gctld | sed -n 's/.*--config=//p'")
    h(f"mkdir -p $(dirname {conf}) /etc/default && cat >{conf} <<'END'\n{CONF}\nEND")
    options = h("systemctl cat gpusched-agent | sed -n 's/EnvironmentFile=-//p'")
    h(f"mkdir -p $(dirname {options}) && cat >{options} <<'END'\n"
      "GNODED_OPTIONS=--spool=/var/spool/gpusched --containment=cgroup2,devices,memory,pids,cpu --private=tmp,shm,ipc,proc\nEND")
    h("systemctl enable gctld gpusched-agent && systemctl restart gctld gpusched-agent")


@pytest.fixture(scope="session")
def host():
    h = Host()
    with contextlib.closing(h.m) if h.m.ours else contextlib.nullcontext():
        if h.run("systemctl is-active gctld gpusched-agent", check=False)[0] != 0:  # of a kept one it is done
            install(h)
        h.ready()
        yield h
