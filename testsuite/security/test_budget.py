"""One budget for each user: what one may hold of the controller, and that it is taken from nobody else (core/records/per_user_budget.h)."""

import contextlib
import json
import os
import pwd
import subprocess

import pytest
from cluster import BUILD, ROOT, SANITIZED, Cluster, wait_until
from peer import Peer, packed
from test_exhaustion import resident_mb

pytestmark = pytest.mark.skipif(not ROOT, reason="needs several users")


class Crowd:
    """Many sessions of one user that never read (crowd.c)."""

    def __init__(self, c, user, n, frames=b""):
        path = c.dir / f"jobs/frames-{user}"
        path.write_bytes(frames)
        path.chmod(0o644)
        p = pwd.getpwnam(user)
        self.errors = open(c.dir / f"log/crowd-{user}", "w+", encoding="utf-8")  # noqa: SIM115
        self.p = subprocess.Popen([BUILD / "testsuite/security/crowd", str(c.ctld_user.pw_uid), str(n), path], env=c.env, text=True,
                                  stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self.errors, user=p.pw_uid, group=p.pw_gid,
                                  extra_groups=[])
        self.sent = None

    def wait(self):
        """All that could come in have; returns how many were sent the frames."""
        self.sent = int(self.p.stdout.readline())
        return self.sent

    def again(self):
        self.p.stdin.write("\n")
        self.p.stdin.flush()
        return self.wait()

    def refused(self):
        self.errors.seek(0)
        return [line for line in self.errors.read().splitlines() if line.startswith("refused: ")]

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.p.stdin.close()
        self.p.wait()
        self.p.stdout.close()
        self.errors.close()


def budgets(c, user=None):
    """What gctl stats --by=user says: {user: {kind: used}}."""
    answer = json.loads(c.run("gctl", "stats", "--by=user", "--json", user=user).stdout)
    return {u["name"]: {b["name"]: b["used"] for b in u["budgets"]} for u in answer["users"]}


def start(controller):
    c = Cluster(start=False, controller=controller)
    c.start_munged()
    c.start_ctld()
    return c


def test_answers_that_nobody_reads():
    """3,000 sessions that asked for a script of 2.8 MB and did not read it held 7.6 GB."""
    with start('max_script = "3M"; unread_per_user = "16M";') as c:
        job = c.submit("# " + os.urandom(1_400_000).hex(), "--hold", user="bin")
        other = c.submit("# " + os.urandom(1_000_000).hex(), "--hold", user="daemon")
        before = resident_mb(c.ctld.pid)
        most = 0
        with Crowd(c, "bin", 100, packed("MSG_SHOW_SCRIPT", {"job": job}, 1)) as crowd:
            assert crowd.wait() == 100
            for _ in range(4):  # the kernel keeps the first one or two of each
                crowd.again()
                assert c.run("gctl", "show", "job", "--script", other, user="daemon").stdout.startswith("#!")
                most = max(most, resident_mb(c.ctld.pid))
            wait_until(lambda: budgets(c)["bin"]["unread"] > 8 << 20, "answers that wait")
            # (AddressSanitizer keeps what was freed for a while.)
            assert SANITIZED or most < before + 60
            # The user's own request is answered when sessions that are stuck have made room.
            assert c.run("gctl", "show", "job", "--script", job, user="bin").stdout.startswith("#!")
        wait_until(lambda: budgets(c)["bin"]["unread"] == 0, "all of it to be given back")


def test_small_answers_that_nobody_reads():
    """What is read from a user stops when the answers are too many, whichever sessions they are in."""
    with start('unread_per_user = "4M";') as c:
        config = packed("MSG_SHOW_CONFIG", {}, 1)
        with Crowd(c, "bin", 60, config * 40) as crowd:
            crowd.wait()
            most = 0
            for _ in range(20):
                with contextlib.suppress(ValueError):
                    crowd.again()
                most = max(most, budgets(c)["bin"]["unread"])
            assert most < 16 << 20
            c.run("gctl", "ping", user="daemon")


def test_four_users_do_not_lock_out_the_others():
    """Four users with 4,096 idle sessions each took all there were; root and the agents were refused too."""
    with start("max_sessions = 64;") as c, contextlib.ExitStack() as stack:
        users = ("bin", "man", "games", "sys")
        crowds = [stack.enter_context(Crowd(c, u, 64)) for u in users]
        for crowd in crowds:
            assert crowd.wait() == 64  # each of them came in; the longest idle ones went
        held = {u: b["sessions"] for u, b in budgets(c).items()}
        assert sum(held[u] for u in users) <= 64 and all(held[u] >= 8 for u in users), held
        # The controller's own user is of the staff, for which more are reserved: its sessions push nobody out.
        with Crowd(c, c.ctld_user.pw_name, 16) as staff:
            assert staff.wait() == 16
            beside = {u: b["sessions"] for u, b in budgets(c).items()}
            assert beside[c.ctld_user.pw_name] == 16 and all(beside[u] == held[u] for u in users), beside
        c.run("gctl", "ping", user="nobody")
        c.run("gctl", "ping")
        c.start_agent("n1")
        c.wait_nodes()
        # Sessions that wait for something are as good as idle ones then.
        with Crowd(c, "mail", 64, packed("MSG_WATCH_JOBS", {}, 1)) as waiting:
            assert waiting.wait() >= 8
            with Peer(c, user="nobody") as one, Peer(c, user="nobody") as two:
                assert one.call("MSG_PING")[-1].get("code", 0) == 0
                assert two.call("MSG_PING")[-1].get("code", 0) == 0
        c.run("gctl", "ping", user="mail")


def test_a_user_s_longest_idle_session_makes_room():
    with start("sessions_per_user = 8;") as c, Peer(c, user="bin") as first, Peer(c, user="bin") as busy:
        busy.send("MSG_WATCH_JOBS", {})
        assert busy.receive()[0] == "MSG_JOB_CHUNK"
        with Crowd(c, "bin", 20) as crowd:
            assert crowd.wait() == 20 and not crowd.refused()
            assert budgets(c)["bin"]["sessions"] == 8
            first.ended()
            job = c.submit("true", "--hold", user="bin")  # what waits for an answer is not idle
            assert busy.receive()[0] == "MSG_JOB_CHUNK"
            assert c.job(job)["user"] == "bin"
    # Where none is idle the new one is refused, and says why.
    with start("sessions_per_user = 8;") as c, Crowd(c, "bin", 8, packed("MSG_WATCH_JOBS", {}, 1)) as crowd:
        assert crowd.wait() == 8
        wait_until(lambda: budgets(c)["bin"]["waits"] > 0 and budgets(c)["bin"]["unread"] == 0, "the watches")
        r = c.run("gctl", "ping", user="bin", check=False)
        assert r.returncode == 4 and "controller.sessions_per_user" in r.stderr and "--by=user" in r.stderr
        c.run("gctl", "ping", user="daemon")


def test_frames_that_are_not_finished():
    """Parts of large frames count, all sessions of a user together."""
    with start('requests_per_user = "8M"; max_script = "3M";') as c, contextlib.ExitStack() as stack:
        whole = packed("MSG_SUBMIT", os.urandom(3 << 20), 1)
        peers = [stack.enter_context(Peer(c, user="bin")) for _ in range(6)]
        for p in peers:
            p.send_bytes(whole[:2 << 20])
        assert max(budgets(c)["bin"]["requests"] for _ in range(10)) <= 9 << 20
        c.submit("true", "--hold", user="daemon")
        for p in peers:
            p.close()
        wait_until(lambda: budgets(c).get("bin", {}).get("requests", 0) == 0, "all of it to be given back")


def test_what_each_user_holds():
    with start("") as c, Peer(c, user="bin") as one:
        assert one.call("MSG_PING")[-1].get("code", 0) == 0
        c.run("gctl", "ping", user="games")
        all_of_them = budgets(c)
        assert all_of_them["bin"]["sessions"] == 1 and all_of_them["root"]["sessions"] == 1
        assert all_of_them["games"]["sessions"] == 0 and all_of_them["games"]["time"] > 0
        assert list(budgets(c, user="games")) == ["games"]  # the others are not the user's to see
        lines = c.run("gctl", "stats", "--by=user").stdout.splitlines()
        assert lines[0].split() == ["USER", "SESSIONS", "STREAMS", "REQUESTS", "WAITS", "UNREAD", "MEMORY", "SCRIPTS", "TIME"]
        assert lines[1].split() == ["(limit)", "4096", "512", "128M", "512M", "64M", "2G", "8G", "-"]
        assert any(line.split()[:2] == ["bin", "1"] for line in lines)
        r = c.run("gctl", "stats", "--by=node", check=False)
        assert r.returncode == 2 and "--by=user" in r.stderr
        assert c.run("gctl", "ping", "--by=user", check=False).returncode == 2


def test_scripts_on_disk():
    """Free disk was reserved, and nothing bounded one user's part of it: scripts and environments are charged to their owner
    from when they come until they are erased, also after a restart."""
    def script():
        return "# " + os.urandom(150_000).hex()

    def submit(user, *options):
        return c.run("gsubmit", "--parsable", "--hold", *options, stdin="#!/bin/sh\n" + script() + "\n", user=user, check=False)

    def fill():
        jobs = []
        while (r := submit("bin")).returncode == 0:
            jobs.append(int(r.stdout))
        return jobs, r

    with start('scripts_per_user = "2M"; keep_ended = "1s";') as c:
        jobs, refused = fill()
        assert len(jobs) == 6, jobs
        assert "scripts and environments on disk: you have 1.7" in refused.stderr or "you have 1.8" in refused.stderr, refused.stderr
        assert "one user may have 2M (controller.scripts_per_user)" in refused.stderr and "hint: cancel some" in refused.stderr
        assert submit("daemon").returncode == 0
        # A bulk comes in parts, and is bounded alike; nothing of it stays charged.
        before = wait_until(lambda: (lambda b: b if b > 6 * 300_000 else 0)(budgets(c)["bin"]["scripts"]), "all of it to be stored")
        bulk = c.dir / "jobs/bulk"
        bulk.mkdir()
        bulk.chmod(0o755)
        for i in range(3):
            (bulk / f"{i}.sh").write_text("#!/bin/sh\n" + script() + "\n")
        r = c.run("gsubmit", "--bulk", "-", user="bin", check=False,
                  stdin="".join(json.dumps({"script": str(bulk / f"{i}.sh")}) + "\n" for i in range(3)))
        assert r.returncode != 0
        wait_until(lambda: budgets(c)["bin"]["scripts"] == before, "nothing of the bulk to stay charged")
        c.ctld.kill()
        c.start_ctld()
        assert submit("bin").returncode == 1
        assert budgets(c)["bin"]["scripts"] == before
        c.run("gcancel", jobs[0], user="bin")
        wait_until(lambda: budgets(c)["bin"]["scripts"] < before - 300_000, "the script to be erased")
        assert submit("bin").returncode == 0
        assert submit("bin").returncode == 1
        c.run("gcancel", "--user=bin,daemon")
        wait_until(lambda: all(budgets(c).get(u, {"scripts": 0})["scripts"] == 0 for u in ("bin", "daemon")), "all to be erased")
