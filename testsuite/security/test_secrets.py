"""16, and of 17 what there is: what others can read of a job, of the daemons and of what they leave on disk."""

import contextlib
import os
import pathlib

import pytest
from cluster import ROOT, Cluster, wait_until
from test_agent import halves

needs_root = pytest.mark.skipif(not ROOT, reason="needs users who are not the owner")
SECRET = "s3cret-" + "f00d" * 4  # in the job's environment, script, arguments and input


@pytest.fixture(scope="module", name="c")
def fixture_c():
    with Cluster() as c:
        script = c.dir / "jobs/secret.sh"
        script.write_text(f"#!/bin/sh\n# {SECRET}\ntouch up; while [ ! -e go ]; do sleep 0.05; done\n")
        script.chmod(0o600)
        owner = "bin" if ROOT else None
        if ROOT:
            os.chown(script, 2, 2)
        c.job_id = int(c.run("gsubmit", "--parsable", "--export=ALL", script, SECRET, user=owner,
                             env={"TOKEN": SECRET, "HOME": "/"}).stdout)
        wait_until((c.dir / "jobs/up").exists, "the run")
        yield c
        (c.dir / "jobs/go").touch()
        c.wait_state(c.job_id, "COMPLETED")


def daemons(c):
    return [c.ctld.pid, *halves(c.agents["n1"]), *c.shepherds()]


def sanitized(pid):
    return "libasan" in pathlib.Path(f"/proc/{pid}/maps").read_text()


def test_no_core_dumps(c):
    """By their limit; launcher and shepherds, whose limits are their jobs' too, by not being dumpable (test_run.py)."""
    for pid in daemons(c)[:2]:
        limits = pathlib.Path(f"/proc/{pid}/limits").read_text()
        assert "Max core file size        0                    0" in limits, pathlib.Path(f"/proc/{pid}/cmdline").read_text()


@needs_root
def test_the_controller_s_user_cannot_look_into_the_controller(c):
    """Nor trace it: what else runs as that user is not the controller."""
    if sanitized(c.ctld.pid):
        pytest.skip("the sanitizer's leak checker needs dumpable processes")
    for name in ("environ", "maps", "mem", "fd", "cwd"):
        path = f"/proc/{c.ctld.pid}/{name}"
        r = c.run("/usr/bin/python3", "-c", "import os, sys; p = sys.argv[1]\n"
                  "os.readlink(p) if p.endswith('cwd') else os.listdir(p) if p.endswith('fd') else open(p, 'rb').read(1)",
                  path, user=c.ctld_user.pw_name, check=False)
        assert r.returncode and "Permission" in r.stderr, (name, r.stderr)


def readable_by(c, user):
    """All that he finds of the secret below the cluster's folder and in /proc, the owner's files apart."""
    r = c.run("/usr/bin/python3", "-c", """
import os, sys
secret, here = sys.argv[1].encode(), sys.argv[2]
def look(path):
    try:
        with open(path, "rb") as f:
            if secret in f.read(1 << 20):
                print(path)
    except OSError:
        pass
for folder, dirs, files in os.walk(here):
    for f in files:
        path = os.path.join(folder, f)
        if os.path.isfile(path):
            look(path)
for p in sys.argv[3:]:
    for f in ("cmdline", "environ", "maps"):
        look(f"/proc/{p}/{f}")
""", SECRET, c.dir, *daemons(c), user=user, check=False)
    assert r.returncode == 0, r.stderr
    return r.stdout.split()


@needs_root
def test_others_find_nothing_of_a_job(c):
    assert readable_by(c, "nobody") == []
    assert readable_by(c, "mail") == []


def test_nothing_secret_in_arguments_environments_and_logs(c):
    for pid in daemons(c):
        for name in ("cmdline", "environ"):
            with contextlib.suppress(PermissionError):  # what is not dumpable is root's
                assert SECRET.encode() not in pathlib.Path(f"/proc/{pid}/{name}").read_bytes()
    for log in (c.dir / "log").iterdir():
        text = log.read_text(errors="replace")
        assert SECRET not in text and "MUNGE:" not in text, log


@needs_root
@pytest.mark.parametrize("argv", [
    ["gqueue", "--all", "--json"], ["gctl", "show", "job", "{}"], ["gctl", "show", "job", "{}", "--json"], ["gqueue", "--why", "{}"],
    ["gacct", "--json", "--all"], ["gctl", "stats"]])
def test_listings_show_others_no_script_and_no_environment(c, argv):
    r = c.run(*[a.format(c.job_id) for a in argv], user="nobody", check=False)
    assert SECRET not in r.stdout + r.stderr


@needs_root
def test_others_cannot_follow_the_output(c):
    r = c.run("glog", c.job_id, user="nobody", check=False)
    assert r.returncode == 5 and r.stdout == ""


@pytest.mark.parametrize("which, mode", [("state", 0o755), ("state", 0o770), ("state/state.db", 0o644), ("state/state.db", 0o660)])
def test_loose_modes_are_refused(which, mode):
    with Cluster(start=False) as c:
        c.start_munged()
        c.start_ctld()
        assert c.ctld.stop() == 0
        path = c.dir / which
        before = path.stat().st_mode
        path.chmod(mode)
        c.start_ctld(wait=False)
        assert c.ctld.wait() != 0
        assert "open to others" in c.ctld.tail() and str(which.split("/")[-1]) in c.ctld.tail()
        path.chmod(before & 0o7777)
        c.start_ctld()


def test_what_the_daemons_write_is_closed(c):
    """Files and folders of state and spool: nothing for others, whatever the umask of who started them."""
    for top in (c.dir / "state", c.dir / "spool-n1", c.dir / "run-n1"):
        for path in top.rglob("*"):
            try:
                st = path.lstat()
            except FileNotFoundError:  # of a run that ends
                continue
            if path.is_symlink() or path.is_socket() or "cgroup" in str(path):
                continue
            way = [p for p in path.parents if p != top and top in p.parents]
            closed = any(p.stat().st_mode & 0o001 == 0 for p in [top, *way])
            assert closed or st.st_mode & 0o004 == 0, (path, oct(st.st_mode))
