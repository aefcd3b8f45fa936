"""desk.py - a cluster of two nodes, and a user whose programs find Slurm's names there"""

import json
import os
import pathlib
import pwd

import install
import pytest
from cluster import ROOT, wait_until
from slurm_commands import NAMES, SlurmCommands

PROGRAMS = pathlib.Path(__file__).resolve().parent / "programs"
USER = "bin" if ROOT else pwd.getpwuid(os.geteuid()).pw_name
POLICY = f"""accounts = ( {{ name = "vision"; members = ( "root", "{USER}" ); }} );
default_account = "vision";
qos = ( {{ name = "normal"; default = true; }} );"""
LIMIT = 240  # seconds of one client's program


def client(name):
    """The client's folder of programs; the test is skipped where it cannot be installed."""
    try:
        return install.venv(name)
    except install.Missing as e:
        pytest.skip(str(e))


def debian(package, *present):
    try:
        install.debian(package, present)
    except install.Missing as e:
        pytest.skip(str(e))


class Desk(SlurmCommands):
    """Clients run as an ordinary user (as root: as bin), in a folder of that user's."""

    def __init__(self):
        super().__init__(policy=POLICY, cpus=8, controller='keep_ended = "1h";')
        self.home = self.dir / "jobs/home"
        self.home.mkdir()
        p = pwd.getpwnam(USER)
        os.chown(self.home, p.pw_uid, p.pw_gid)

    def folder(self, name):
        """A folder of the user's: the client's working folder."""
        path = self.home / name
        path.mkdir()
        p = pwd.getpwnam(USER)
        os.chown(path, p.pw_uid, p.pw_gid)
        return path

    def use(self, *argv, bin=None, cwd=None, env=None, timeout=LIMIT, **kw):
        """Run a client; returns the CompletedProcess."""
        path = ":".join(str(p) for p in (bin, NAMES) if p) + ":" + self.env["PATH"]
        e = {"PATH": path, "HOME": str(self.home), "USER": USER, "LOGNAME": USER, "SHELL": "/bin/bash", "PYTHONDONTWRITEBYTECODE": "1",
             "XDG_CACHE_HOME": str(self.home / ".cache"), **(env or {})}
        return self.run(*argv, user=USER, cwd=cwd or self.home, env=e, timeout=timeout, **kw)

    def program(self, bin, name, *args, **kw):
        """Run programs/NAME.py with the client's python; returns what its last line of output says, in JSON."""
        text = (PROGRAMS / f"{name}.py").read_text()
        copy = self.home / f"use_{name}.py"
        copy.write_text(text)
        r = self.use(bin / "python3", copy, *args, bin=bin, **kw)
        return json.loads(r.stdout.splitlines()[-1])

    def slurm(self, name, *args, **kw):
        return self.use(NAMES / name, *args, **kw).stdout

    def empty(self):
        """Cancel what is left, and wait for the end of it."""
        self.run("gcancel", "--state", "PENDING,CONFIGURING,RUNNING,SUSPENDED", check=False)
        wait_until(lambda: not self.run("gqueue", "-h").stdout, "an empty queue")

    def states(self, *names):
        """The states of the jobs with these names, in the order of their ids."""
        return [j["state"] for _, j in sorted(self.jobs().items()) if j["name"] in names]
