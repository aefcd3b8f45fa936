"""systemd's units as `make install` puts them, on a machine of their own: the controller and one node

What a restart, an upgrade, a kill, a shutdown and a power cut leave of a job is section 7 of ARCHITECTURE.md and the
rows h to s of testsuite/security/README.md; here systemd, and the machine, do it."""

JOBS = "/sys/fs/cgroup/system.slice/gpusched-jobs.service"
AGENT = "/sys/fs/cgroup/system.slice/gpusched-agent.service"


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


def test_the_agent_is_restarted(host):
    assert host.untouched(lambda: host("systemctl restart gpusched-agent"))


def test_the_agent_is_stopped_for_a_while(host):
    def away():
        host("systemctl stop gpusched-agent")
        assert host(f"cat {AGENT}/cgroup.procs 2>/dev/null", check=False) == ""
        host("systemctl start gpusched-agent")

    assert host.untouched(away)


def test_the_agent_is_upgraded(host):
    """Its programs are replaced, as a package does it, under a running job."""
    def upgrade():
        before = host("stat -c %i /usr/local/sbin/gnoded")
        for program in ("sbin/gnoded", "libexec/gshepherd", "libexec/gtap", "libexec/ghold"):
            host(f"cp /usr/local/{program} /usr/local/{program}.new && mv /usr/local/{program}.new /usr/local/{program}")
        assert host("stat -c %i /usr/local/sbin/gnoded") != before
        host("systemctl daemon-reload && systemctl restart gpusched-agent")

    assert host.untouched(upgrade)


def test_all_of_the_agent_is_killed(host):
    """KILL to all that systemd counts to the unit: it is started again by itself."""
    assert host.untouched(lambda: host("systemctl kill -s KILL gpusched-agent"))


def test_the_launcher_is_killed(host):
    assert not host.untouched(lambda: host("pkill -KILL -x gnoded-launcher"))


def test_systemd_is_reloaded_and_executed_anew(host):
    assert not host.untouched(lambda: host("systemctl daemon-reload && systemctl daemon-reexec"))


def test_the_controller_is_killed_and_restarted(host):
    def controller():
        host("systemctl kill -s KILL gctld")
        host.wait("gctld", lambda: host.run("gctl ping", check=False)[0] == 0)
        host("systemctl restart gctld")

    assert not host.untouched(controller)


def test_nobody_stops_the_jobs_by_mistake(host):
    def stop():
        for verb in ("stop", "restart"):
            code, said = host.run(f"systemctl {verb} gpusched-jobs", check=False)
            assert code != 0 and "refused" in said

    assert not host.untouched(stop)
