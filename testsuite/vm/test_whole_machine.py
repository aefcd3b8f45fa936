"""What hits all of a machine at once: reboot, power, memory, the clock, full file systems

The outcomes are those of section 7 of ARCHITECTURE.md; other tests make the same cases by hand, here it is the machine."""

from conftest import LONG

LOG = "journalctl --no-pager -o cat"


def reboots(host, how, script=LONG):
    """One job that may be run again, one that may not (with this script), one that has ended: what is left of them? The
    machine has no CPU for more at once."""
    ended = host.submit("exit 3")
    host.ends_as(ended, "FAILED")
    again, _ = host.running("--requeue --max-attempts=2")
    never, _ = host.running("--no-requeue", script)
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


def stopped_in_order(host):
    """None of our units had to be killed as the last boot ended, and none has failed."""
    said = host(f"{LOG} -b -1 -u gctld -u gpusched-agent -u gpusched-jobs | grep -E 'timed out|SIGKILL|Failed with'", check=False)
    assert said == "", said


def test_the_machine_is_rebooted(host):
    """In order: TERM to the jobs while the file systems are there, and time to save their work."""
    host("rm -f /home/ana/saved")
    reboots(host, host.m.reboot,
            'trap "sleep 2; echo saved >saved; exit 0" TERM; echo $$ >pid; while :; do sleep 0.2; done')
    assert host("cat /home/ana/saved") == "saved"
    stopped_in_order(host)


def test_the_machine_is_turned_off_under_a_job_that_will_not_end(host):
    """It is ended by force when its time is over, and holds up neither the shutdown nor the next start."""
    ident = host.submit('trap "" TERM HUP; echo $$ >pid; while :; do sleep 1; done', "--no-requeue")
    host.wait("it to run", lambda: host.job(ident)["state"] == "RUNNING")
    host.m.reboot("poweroff")
    host.ready()
    assert host.ends_as(ident, "NODE_FAIL", "FAILED", "COMPLETED", "CANCELLED")["state"] == "NODE_FAIL"
    assert host.run("pgrep -x gshepherd", check=False)[0] == 1
    said = host(f"{LOG} -b -1 -u gctld -u gpusched-agent -u gpusched-jobs | grep -E 'timed out'", check=False)
    assert len(said.splitlines()) == 1 and said.startswith("gpusched-jobs.service"), said


def test_the_clock_is_set(host):
    """A day on, and back: nothing ends or is lost by it, and a run's time is what it ran."""
    host("rm -f /home/ana/go")
    ident = host.submit("until [ -e go ]; do sleep 0.2; done; exit 7", "--time=1:00:00")
    host.wait("it to run", lambda: host.job(ident)["state"] == "RUNNING")
    for days in ("+1", "-1"):
        host(f"date -s '{days} day'")
        other = host.submit("exit 4", "--time=5")
        assert host.ends_as(other, "FAILED", "COMPLETED", "TIMEOUT", "NODE_FAIL")["exit_code"] == 4
        assert host.job(ident)["state"] == "RUNNING"
        assert host("gqueue -h -o TIME").count(":") == 1, host("gqueue")  # minutes
    host("touch /home/ana/go")
    ended = host.ends_as(ident, "FAILED", "COMPLETED", "TIMEOUT", "NODE_FAIL")
    assert (ended["state"], ended["exit_code"]) == ("FAILED", 7)
    assert host(f"gacct -h -o ELAPSED --jobs {ident}").count(":") == 1, host("gacct")


def out_of_memory(host, pid):
    """The kernel's OOM killer; whom it takes first is this process."""
    host(f"echo 1000 >/proc/{pid}/oom_score_adj && echo f >/proc/sysrq-trigger")
    host.wait("the kernel to kill it", lambda: not host.alive(pid))


def test_the_machine_has_no_memory_left(host):
    ident, job = host.running()
    shepherd, gctld = host("pgrep -x gshepherd"), host.main_pid("gctld")
    assert [int(host(f"cat /proc/{pid}/oom_score_adj")) for pid in (job, shepherd, gctld)] == [0, -1000, -900]
    out_of_memory(host, job)
    assert host.ends_as(ident, "OUT_OF_MEMORY", "FAILED", "COMPLETED", "NODE_FAIL")["state"] == "OUT_OF_MEMORY"
    assert "node had no memory left" in host(f"gctl show job {ident}")
    assert host("pgrep -c -x gnoded-launcher") == "1"
    host.untouched(lambda: out_of_memory(host, host("pgrep -x gnoded-launcher")))
    host.untouched(lambda: out_of_memory(host, host("pgrep -x gnoded-net")))
    host.untouched(lambda: out_of_memory(host, host.main_pid("gpusched-agent")))
    host.untouched(lambda: out_of_memory(host, host.main_pid("gctld")))


def waiting_for(host, condition):
    """Shell words that wait until the condition of the shell is true, as one command: with a full /run none starts."""
    return f"for i in $(seq 600); do {condition} && break; sleep 0.5; done"


def test_run_is_full(host):
    """Ends wait for room; what would start does not, its node is drained, and says why."""
    host("rm -f /home/ana/go")
    ident = host.submit("until [ -e go ]; do sleep 0.2; done; exit 7")
    host.wait("it to run", lambda: host.job(ident)["state"] == "RUNNING")
    said = host("size=$(findmnt -no SIZE -b /run); mount -o remount,size=20M /run; cat /dev/zero >/run/full; touch /home/ana/go;"
                "runuser -u ana -- gsubmit --parsable --chdir=/home/ana --wrap 'exit 5';"
                + waiting_for(host, "ginfo --nodes -h -o STATE | grep -q drain") +
                "; ginfo --nodes -h -o REASON%200; rm /run/full; mount -o remount,size=$size /run")
    assert "No space left on device" in said, said
    ended = host.ends_as(ident, "FAILED", "COMPLETED", "NODE_FAIL", "CANCELLED")
    assert (ended["state"], ended["exit_code"]) == ("FAILED", 7)
    later = max(int(word) for word in said.split() if word.isdigit())
    assert later > ident and host.job(later)["state"] == "PENDING"
    host("gctl resume n1")
    assert host.ends_as(later, "FAILED", "COMPLETED")["exit_code"] == 5
    assert host.run("ls -A /run/gpusched/*/runs/* 2>/dev/null", check=False)[1] == ""


def fill(host, user):
    """All that this user can have of the disk; root can have the reserved blocks too."""
    host(f"runuser -u {user} -- sh -c 'cd $(mktemp -d /var/tmp/full.XXXXXX); for size in 4G 1G 200M 50M 10M 1M 100K 4K; do "
         "while fallocate -l $size $((n += 1)) 2>/dev/null; do :; done; done'")


def test_the_disk_is_full(host):
    """That of the spool, the controller's state and the jobs: what ends is told and kept, at the latest when there is room."""
    def submit():
        return host.run("cd /home/ana && runuser -u ana -- env GPUSCHED_RETRY=0 gsubmit --wrap true", check=False)

    def goes_on(which):
        host(f"touch /home/ana/go{which}")
        job = host.ends_as(ids[which], "FAILED", "COMPLETED", "NODE_FAIL", "CANCELLED")
        assert (job["state"], job["exit_code"]) == ("FAILED", 7)

    def restarts():
        return int(host("systemctl show -P NRestarts gctld"))

    before = restarts()
    host("rm -f /home/ana/go*")
    ids = [host.submit(f"until [ -e go{i} ]; do sleep 0.2; done; exit 7") for i in range(2)]
    for ident in ids:
        host.wait("it to run", lambda: host.job(ident)["state"] == "RUNNING")
    try:
        fill(host, "ana")
        host.wait("submits to be refused", lambda: submit()[0] == 1)
        code, said = submit()
        assert code == 1 and "MiB" in said and "free" in said, said
        goes_on(0)
        assert restarts() == before
        fill(host, "root")  # now the controller's user has no block, whatever it gives up: it ends rather than lie
        host("touch /home/ana/go1")
        host.wait("the controller to be tried again", lambda: restarts() > before + 1)
    finally:
        host("rm -rf /var/tmp/full.*")
    goes_on(1)
    host.wait("room to be seen", lambda: submit()[0] == 0)
    host.untouched(lambda: None)
