"""Munge's key is replaced: under waiting and running jobs, all at once, or with two keys for a while."""

import contextlib
import os
import signal

import pytest
from cluster import BIN, ROOT, Cluster, Daemon, unprivileged, wait_until


class Munge:
    """One munge daemon of a folder of its own. Its clients find it by its socket, whatever key it has."""

    def __init__(self, c, name, key):
        self.c, self.name = c, name
        self.dir = c.dir / name
        self.dir.mkdir(mode=0o755)
        self.socket = self.dir / "socket"
        self.daemon = None
        self.start(key)

    def start(self, key):
        """(Again) with this key."""
        if self.daemon:
            self.daemon.stop()
        path = self.dir / "key"
        path.unlink(missing_ok=True)
        path.write_bytes(key)
        path.chmod(0o400)
        self.daemon = Daemon(self.name, [
            BIN["munged"], "--foreground", "--force", f"--key-file={path}", f"--socket={self.socket}",
            f"--pid-file={self.dir}/pid", f"--seed-file={self.dir}/seed", "--num-threads=2"], self.dir / "log", self.c.env)
        wait_until(lambda: self.socket.exists() and self.daemon.alive(), f"the socket of {self.name}")


def replace_key(c, key):
    """The key of the cluster's own munge daemon."""
    c.munged.stop()
    c.key.unlink()
    c.key.write_bytes(key)
    c.key.chmod(0o400)
    c.start_munged()


@contextlib.contextmanager
def second_munge(c, key):
    m = Munge(c, "munge-2", key)
    c.extra_env["GPUSCHED_MUNGE_SOCKET_2"] = str(m.socket)
    try:
        yield m
    finally:
        m.daemon.stop()


def live(c):
    """What waits and runs: why, or in which state."""
    return {i: j["reason"] or j["state"] for i, j in c.jobs().items() if j["state"] not in ("COMPLETED", "CANCELLED", "FAILED")}


def wait_live(c, *jobs):
    wait_until(lambda: set(live(c)) == set(jobs), lambda: f"all but {jobs} to have run: {live(c)}")


USERS = ("games", "man") if ROOT else (unprivileged().pw_name, unprivileged().pw_name)


def waiting(c, end):
    """A job that runs until there is the file `end`, and behind it one of each user."""
    for node in c.nodes:
        c.submit(f"while ! [ -e {end} ]; do sleep 0.05; done", "--gpus=4", "-w", node)
    wait_until(lambda: [j["state"] for j in c.jobs().values()] == ["RUNNING"] * len(c.nodes), "the cluster to be full")
    return [c.submit("echo ran; id -un", "--gpus=4", "-o", f"out-{i}", user=USERS[i % 2], cwd=c.dir / "jobs")
            for i in range(4)]


def test_a_key_that_is_gone_holds_jobs_and_drains_no_node():
    """The key is replaced at once, as after it was stolen: jobs that were signed with it are not started, are held for
    a reason that is true, and what it says to do works."""
    with Cluster(nodes=("n1", "n2")) as c:
        jobs = waiting(c, "end-a")
        array = c.submit("true", "--gpus=4", "--array=0-9", user=USERS[0])
        replace_key(c, os.urandom(1024))
        (c.dir / "jobs/end-a").touch()
        for job in jobs:
            wait_until(lambda job=job: live(c)[job] == "SignatureRefused", lambda: f"them to be held: {live(c)}")
            held = c.job(job)
            assert held["state"] == "PENDING" and "another munge key" in held["reason_text"]
        # An array has one signature: as soon as one task is refused none is tried any more.
        wait_until(lambda: live(c)[array] == "SignatureRefused", lambda: f"the array to be held: {live(c)}")
        refused = [line for node in c.nodes for line in (c.dir / f"log/gnoded-{node}.log").read_text().splitlines()
                   if f"run {array}" in line and "never started" in line]
        assert 1 <= len(refused) <= 2, refused
        # A second task of the array may be on its way to the other node when the first is refused.
        wait_until(lambda: all(s == "idle" for s in c.node_states().values()), c.node_states)
        why = c.run("gqueue", "--why", jobs[0]).stdout
        assert f"gctl renew {jobs[0]}" in why and "gctl release" not in why
        # Nothing can vouch any more for what was signed with that key, and resign says so, and what to do.
        r = c.run("gctl", "renew", jobs[0], check=False, user=USERS[0])
        assert r.returncode != 0 and "another munge key" in r.stderr and "--unchecked" in r.stderr, r.stderr
        assert c.job(jobs[0])["reason"] == "SignatureRefused"
        if ROOT:  # only its owner can, whoever asks
            assert c.run("gctl", "renew", "--unchecked", jobs[0], check=False).returncode != 0
        for i, job in enumerate(jobs):
            c.run("gctl", "renew", "--unchecked", job, user=USERS[i % 2])
        c.run("gctl", "renew", "--unchecked", array, user=USERS[0])
        wait_live(c)
        for i in range(4):
            assert (c.dir / f"jobs/out-{i}").read_text().split() == ["ran", USERS[i % 2]]


def test_the_old_key_comes_back_as_the_second():
    """The same, and the old key is still good: with it as the second key what is held goes on as it was signed."""
    with Cluster(nodes=("n1", "n2")) as c:
        old = c.key.read_bytes()
        jobs = waiting(c, "end-a")
        replace_key(c, os.urandom(1024))
        (c.dir / "jobs/end-a").touch()
        for job in jobs:
            wait_until(lambda job=job: c.job(job)["reason"] == "SignatureRefused", f"job {job} to be held")
        with second_munge(c, old) as m:
            c.run("gctl", "renew", jobs[0], user=USERS[0])  # that checks what the old key vouches for
            c.agents["n1"].stop()
            c.start_agent("n1", f"--munge-socket-2={m.socket}")
            wait_live(c, *jobs[1:])
            c.agents["n2"].stop()
            c.start_agent("n2", f"--munge-socket-2={m.socket}")
            c.wait_nodes()
            c.run("gctl", "release", *jobs[1:])
            wait_live(c)


def test_keys_are_rotated_under_waiting_and_running_jobs():
    """KEY ROTATION of gctld(8), step by step; no job is refused, held or ended at any time, and each command works."""
    with Cluster(nodes=("n1", "n2")) as c:
        new, old = os.urandom(1024), c.key.read_bytes()
        first = waiting(c, "end-a")
        running = [j["id"] for j in c.jobs().values() if j["state"] == "RUNNING"]
        # 1. The new key as the second one, everywhere; so whoever is late is understood, and whoever is early.
        with second_munge(c, new) as m:
            c.controller_extra = f'munge_socket_2 = "{m.socket}";'
            c.write_conf()
            c.ctld.stop()
            c.start_ctld()
            for node in c.nodes:
                c.agents[node].stop()
                c.start_agent(node, f"--munge-socket-2={m.socket}")
            c.wait_nodes("mixed", "allocated")
            # Early: a client has the new key alone.
            early = {"GPUSCHED_MUNGE_SOCKET": str(m.socket), "GPUSCHED_MUNGE_SOCKET_2": ""}
            second = [c.submit("true", "--gpus=4", user=user, env=early) for user in USERS]
            # 2. The two change places.
            replace_key(c, new)
            m.start(old)
            wait_until(lambda: c.run("gctl", "ping", check=False).returncode == 0, "an answer")
            third = [c.submit("true", "--gpus=4", user=user) for user in USERS]
            # Late: a client has the old key alone.
            late = {"GPUSCHED_MUNGE_SOCKET": str(m.socket), "GPUSCHED_MUNGE_SOCKET_2": ""}
            third += [c.submit("true", "--gpus=4", user=user, env=late) for user in USERS]
            # Agents and controller may be started anew at any time.
            c.agents["n1"].kill(signal.SIGKILL)
            c.start_agent("n1", f"--munge-socket-2={m.socket}")
            c.ctld.kill()
            c.start_ctld()
            c.wait_nodes("mixed", "allocated")
            assert all(c.state(j) == "RUNNING" for j in running)
            # 3. What is to outlive the old key is signed anew; no answer of the controller is taken on trust.
            held = c.submit("true", "--hold", "--gpus=4", user=USERS[0], env=late)
            c.run("gctl", "renew", held, user=USERS[0])
            (c.dir / "jobs/end-a").touch()
            wait_live(c, held)
        # 4. The old key goes.
        del c.extra_env["GPUSCHED_MUNGE_SOCKET_2"]
        c.controller_extra = ""
        c.write_conf()
        c.ctld.stop()
        c.start_ctld()
        for node in c.nodes:
            c.agents[node].stop()
            c.start_agent(node)
        c.wait_nodes()
        c.run("gctl", "release", held, user=USERS[0])
        wait_live(c)
        assert {c.state(j) for j in (*first, *second, *third, held)} == {"COMPLETED"}
        events = c.run("gctl", "events", "-o", "EVENT,TEXT", "--noheader").stdout
        assert not [e for e in events.splitlines() if "job.hold" in e or "node.drain" in e], events


@pytest.mark.skipif(not ROOT, reason="needs jobs of two users")
def test_one_who_is_not_its_owner_signs_nothing_unchecked():
    with Cluster() as c:
        job = c.submit("true", "--hold", user=USERS[0])
        replace_key(c, os.urandom(1024))
        r = c.run("gctl", "renew", "--unchecked", job, check=False, user=USERS[1])
        assert r.returncode != 0 and "only its owner" in r.stderr, r
