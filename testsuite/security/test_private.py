"""What a run shares with no other run on its node, and what it cannot become: rows 9, 17 and 18 of the checklist.

One cluster for all, in a folder that is not below /tmp, which runs have one of their own of.
"""

import contextlib
import os
import pathlib
import re
import shutil
import stat
import subprocess
import tempfile

import pytest

from cluster import BUILD, ROOT, Cluster, wait_until
from tools import need

WORDS = ("tmp", "shm", "ipc", "proc")
ROW = re.compile(r"^(Max .*?)  +(\S+) +(\S+)", re.M)
LIMITS = {"Max open files": ("2000", "3000"), "Max locked memory": ("unlimited", "unlimited"),
          "Max core file size": ("0", "unlimited"), "Max processes": ("unlimited", "unlimited"),
          "Max stack size": ("8388608", "unlimited"), "Max cpu time": ("unlimited", "unlimited"),
          "Max address space": ("unlimited", "unlimited"), "Max pending signals": ("65536", "65536"),
          "Max realtime priority": ("0", "0"), "Max nice priority": ("0", "0")}


# What systemd mounts on every host, and a queue that the host's own programs use; only the agent and its runs see it.
WITH_QUEUES = """
if [ ! -d /dev/mqueue ]; then
    mount -t tmpfs dev {dir} && cp -a /dev/null /dev/zero /dev/full /dev/random /dev/urandom /dev/tty /dev/fd /dev/std* {dir}
    mkdir {dir}/pts {dir}/shm {dir}/mqueue && mount --bind /dev/pts {dir}/pts && mount --rbind {dir} /dev && ln -s pts/ptmx /dev/ptmx
fi
grep -q " /dev/mqueue " /proc/mounts || mount -t mqueue queues /dev/mqueue || :
! grep -q " /dev/mqueue " /proc/mounts || (umask 0; : > /dev/mqueue/hosts)
ulimit -Ss 4096; ulimit -Sn 300; exec "$0" "$@"
"""


@pytest.fixture(name="box", scope="module")
def fixture_box():
    if not ROOT:
        pytest.skip("mounts need root")
    tempfile.tempdir = "/var/lib"
    try:
        c = Cluster(start=False)
    finally:
        tempfile.tempdir = None
    with c:
        c.start_munged()
        c.start_ctld()
        queues = c.dir / "dev"
        queues.mkdir(mode=0o755)
        # Tight limits of the agent's own are nobody else's.
        c.agents["n1"] = type(c.ctld)("gnoded n1", ["unshare", "-m", "sh", "-c", WITH_QUEUES.format(dir=queues), *c.agent_argv("n1"),
                                      "--private=" + ",".join(WORDS), "--rlimit=nofile=2000:3000"], c.dir / "log/gnoded-n1.log", c.env)
        c.wait_nodes()
        if not set(WORDS) <= set(active(c)):
            pytest.skip("this kernel lets us have no private mounts")
        yield c


def active(c):
    log = pathlib.Path(c.agents["n1"].log).read_text()
    return log.split("containment ", 1)[1].split(" ", 1)[0].rstrip(",").split(",")


def submit(c, script, user="daemon", *options):
    return c.submit(script, "--output=%j.out", *options, user=user)


def output(c, job):
    c.wait_state(job, "COMPLETED")
    return (c.dir / f"jobs/{job}.out").read_text()


def output_of(c, script, *args):
    return output(c, submit(c, script, *args))


def test_what_one_leaves_there_the_next_does_not_find(box):
    need("ipcmk", "ipcs")
    script = """for d in /tmp /var/tmp /dev/shm; do
    ls -A $d; echo secret > $d/mine; stat -c '%a %u' $d; ln -s /etc/shadow $d/link; mkdir -p $d/deep/er; done
    ipcmk -Q >/dev/null 2>&1; ipcs -q | grep -c 0x; cat /tmp/mine"""
    for user in ("daemon", "nobody", "daemon"):
        text = output_of(box, script, user).split("\n")
        assert [line.split()[0] for line in text[:3]] == ["1777"] * 3 and text[3:5] == ["1", "secret"], text
    wait_until(lambda: not list((box.dir / "spool-n1/private").iterdir()), "the directories to be removed")


def test_queues_of_others_and_of_the_host_are_not_there(box):
    """POSIX message queues: also by their files, which a mount shows of whoever made the mount."""
    if " mqueue " not in output_of(box, "cat /proc/mounts").replace("\t", " "):
        pytest.skip("no file system of message queues here")
    for user in ("daemon", "nobody", "daemon"):
        assert output_of(box, "ls /dev/mqueue; (umask 0; : > /dev/mqueue/mine); ls /dev/mqueue", user) == "mine\n"


def test_two_at_a_time_do_not_meet(box):
    first = submit(box, "echo 1 > /tmp/one; echo 1 > /dev/shm/one; while [ ! -e go ]; do sleep 0.02; done; ls /tmp")
    box.wait_state(first, "RUNNING")
    second = submit(box, "echo 2 > /tmp/two; ls /tmp /dev/shm", "nobody")
    assert output(box, second).split() == ["/dev/shm:", "/tmp:", "two"]
    modes = []
    for p in (box.dir / "spool-n1/private").iterdir():
        with contextlib.suppress(FileNotFoundError):  # the second one's goes
            modes.append(stat.S_IMODE(p.stat().st_mode))
    assert modes and set(modes) == {0o700}
    assert stat.S_IMODE((box.dir / "spool-n1/private").stat().st_mode) == 0o700
    (box.dir / "jobs/go").touch()
    assert output(box, first) == "one\n"


def test_nothing_of_it_is_seen_outside(box):
    mounts = box.mounts()
    job = submit(box, "echo here > /tmp/outside-$GPUSCHED_JOB_ID; while [ ! -e seen ]; do sleep 0.02; done")
    box.wait_state(job, "RUNNING")
    assert box.mounts() == mounts
    assert not pathlib.Path(f"/tmp/outside-{job}").exists()
    (box.dir / "jobs/seen").touch()
    output(box, job)


def test_links_in_what_is_removed_lead_nowhere(box):
    canary = box.dir / "canary"
    canary.mkdir()
    (canary / "file").write_text("root's")
    text = output_of(box, f"cd /tmp; ln -s {canary} dir; ln -s {canary}/file file; ln -s {canary} .gone-0; mkdir -m 0 closed; "
                          f"ln -s .. closed/up 2>/dev/null; i=0; d=.; while [ $i -lt 60 ]; do d=$d/d; i=$((i+1)); done; mkdir -p $d; echo made")
    assert text == "made\n"
    wait_until(lambda: not list((box.dir / "spool-n1/private").iterdir()), "the directories to be removed")
    assert (canary / "file").read_text() == "root's"


def test_of_others_it_sees_no_process(box):
    need("ps")
    other = submit(box, "exec sleep 987", "nobody")
    box.wait_state(other, "RUNNING")
    text = output_of(box, "for p in /proc/[0-9]*; do u=$(stat -c %u $p 2>/dev/null) || continue; [ $u = $(id -u) ] || echo $p; done; ps ax | grep -c '[s]leep 987'; ps ax | grep -c '[p]s ax'")
    assert text == "0\n1\n"  # ps shows what is its own
    box.run("gcancel", other)
    box.wait_state(other, "CANCELLED")


def test_limits_are_those_of_the_configuration(box):
    lines = output_of(box, "cat /proc/self/limits")
    own = {m[1]: m[3] for m in ROW.finditer(pathlib.Path("/proc/self/limits").read_text())}
    caps = int(re.search(r"CapEff:\s*(\S+)", pathlib.Path("/proc/self/status").read_text())[1], 16)
    limits = {m[1]: (m[2], m[3]) for m in ROW.finditer(lines)}
    for name, wanted in LIMITS.items():
        if not caps >> 24 & 1 and own[name] != "unlimited":  # CAP_SYS_RESOURCE: root may raise what it has itself
            wanted = tuple(own[name] if w == "unlimited" or int(w) > int(own[name]) else w for w in wanted)
        assert limits[name] == wanted, name


def test_a_setuid_program_gives_nothing(box):
    helper = box.dir / "jobs/id"
    shutil.copy("/usr/bin/id", helper)
    helper.chmod(0o4755)
    assert int(output_of(box, "./id -u")) == box.ctld_user.pw_uid


@pytest.mark.parametrize("attempt", [
    "mount -t tmpfs none /tmp", "umount /proc", "umount -l /tmp", "unshare -m true", "nsenter -t 1 -m true", "chroot / true",
    "ls /proc/1/root", "cat /proc/kcore", "ulimit -n 4000"])
def test_it_cannot_undo_it(box, attempt):
    need("mount", "nsenter", "unshare")
    assert output_of(box, f"({attempt}) >/dev/null 2>&1 && echo did; echo tried") == "tried\n"


def test_a_user_namespace_gives_no_other_mounts_back(box):
    need("mount", "unshare")
    text = output_of(box, "unshare -Urm sh -c 'umount -l /tmp; umount -l /proc; ls /tmp; ls -d /proc/1' 2>/dev/null; echo tried")
    assert text == "tried\n"


def test_words_of_private_and_limits_are_checked(box):
    for option, text in (("--private=tmp,shn", "no 'shn'; there are tmp, shm, ipc, proc"), ("--rlimit=nofiles=3", "no limit 'nofiles'"),
                         ("--rlimit=nofile=3:2", "above the hard one"), ("--rlimit=nofile=-1", "expected NAME=SOFT")):
        r = box.run("gnoded", option, check=False)
        assert r.returncode == 2 and text in r.stderr


def test_a_spool_in_tmp_is_named(box):
    """What would be hidden by a /tmp of the run's own is said, and not only that there can be none."""
    with tempfile.TemporaryDirectory(dir="/tmp") as d:
        for name in ("run", "spool"):
            (pathlib.Path(d) / name).mkdir(mode=0o700)
        r = box.run("gnoded", "-N", "n1", f"--rundir={d}/run", f"--spool={d}/spool", "--private=tmp,shm", "--containment=tmp", check=False)
        assert r.returncode == 1 and "--containment: tmp not available here (--spool lies in it, and would be hidden)" in r.stderr


def test_installing_gives_nothing_away(tmp_path):
    """Row 18: what is installed has one owner, whom nobody else can write for; nothing of it changes owners, or runs as another."""
    if not (BUILD / "Makefile").exists():
        pytest.skip("no build tree")
    programs, log = tmp_path / "programs", tmp_path / "log"
    programs.mkdir()
    for name in ("chown", "chgrp", "setcap"):
        (programs / name).write_text(f"#!/bin/sh\necho {name} \"$@\" >>{log}\n")
        (programs / name).chmod(0o755)
    subprocess.run(["make", "-s", "install", f"DESTDIR={tmp_path}/root"], cwd=BUILD, check=True, capture_output=True,
                   env={**os.environ, "PATH": f"{programs}:{os.environ['PATH']}"}, umask=0o022)
    found = [p for p in (tmp_path / "root").rglob("*") if not p.is_symlink()]
    assert any(p.name == "gnoded" for p in found) and not log.exists(), log.read_text()
    for path in found:
        s = path.stat()
        assert s.st_uid == os.geteuid() and not s.st_mode & (stat.S_ISUID | stat.S_ISGID | stat.S_IWGRP | stat.S_IWOTH), path
