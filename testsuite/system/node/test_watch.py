"""What runs use: sampled on the node, shown while they run, kept with their records."""

import json
import os
import re
import subprocess

import pytest
from cluster import Cluster, wait_until
from test_gpus import TYPES, Machine, h100

AGENT = ("--gpu-recheck=1h", "--gpu-timeout=2s", "--sample-every=100ms")


@pytest.fixture(scope="module")
def machine(tmp_path_factory):
    return Machine(tmp_path_factory.mktemp("nvml") / "machine")


@pytest.fixture(scope="module")
def cluster(machine):
    machine.set(h100(0, "compute=40 watts=300 used=2048"), h100(1, "compute=1"), "process gpu=0 pid=1 mem=2048")
    node = 'nodes = ( { name = "gpu04"; gpus = "h100:2"; } );'
    parts = """( { name = "batch"; nodes = "ALL"; default = true; grace = "2s"; },
        { name = "lab"; nodes = "ALL"; grace = "20s"; idle_gpu = { for = "1s"; action = "end"; }; },
        { name = "inbox"; nodes = "ALL"; idle_gpu = { for = "1s"; action = "mail"; }; } )"""
    prices = 'prices = { currency = "EUR"; cpu = 3600.0; };'
    with Cluster(nodes=("gpu04",), start=False, hardware=f"{TYPES}\n{node}\n{prices}", partitions=parts) as c:
        (c.dir / "mails").mkdir()
        (c.dir / "mails").chmod(0o777)
        program = c.dir / "mail"
        program.write_text(f'#!/bin/sh\nprintf "%s\\n%s\\n%s\\n" "$@" >>{c.dir}/mails/sent\n')
        program.chmod(0o755)
        c.controller_extra = f'mail_program = "{program}";'
        c.write_conf()
        c.start_munged()
        c.start_ctld()
        c.start_agent("gpu04", *AGENT, env=machine.env)
        c.wait_nodes()
        yield c


def used(c, job):
    """Of its first run, as far as the controller knows."""
    r = c.run("gctl", "show", "job", job, "--json")
    runs = json.loads(r.stdout)["jobs"][0]["runs"]
    return runs[0]["used"] if runs else {}


def acct(c, job):
    return json.loads(c.run("gacct", "-j", job, "--json").stdout)["jobs"][0]


def waits(c, flag):
    return f"while ! [ -e {c.dir}/jobs/{flag} ]; do sleep 0.05; done"


def let_go(c, flag):
    (c.dir / "jobs" / flag).touch()


def test_live_and_afterwards(cluster, machine):
    c = cluster
    job = c.submit(waits(c, "one"), "--gpus=h100:1")
    now = wait_until(lambda: (u := used(c, job)).get("gpu_seen_us") and u.get("mem_peak_mb") and u, "a sample")
    assert now["gpu_now_pct"] == 40 and now["gpu_mem_peak_mb"] == 2048 and now["mem_peak_mb"] >= 1
    shown = c.run("gctl", "show", "job", job).stdout
    assert re.search(r"compute 40% \(now 40%\), idle 0% of the time, GPU memory 2G, ([0-9.]+ Wh, )?CPU time 0:[0-9]+, memory ", shown)
    lines = lambda: c.run("ginfo", "--gpus", "-o", "GPU,UTIL,MEM", "--csv", "-h").stdout.splitlines()  # noqa: E731
    wait_until(lambda: lines() == ["gpu04:0,40%,2G/80G", "gpu04:1,1%,0/80G"], lines)
    wait_until(lambda: used(c, job)["energy_mj"], "energy")
    assert " Wh, CPU time" in c.run("gctl", "show", "job", job).stdout
    # The peak stays when the use goes down, and when another launcher goes on.
    machine.set(h100(0, "compute=0"), h100(1))
    wait_until(lambda: used(c, job)["gpu_idle_us"] and used(c, job)["gpu_mem_now_mb"] == 0, "idle GPU")
    before = used(c, job)
    c.agents["gpu04"].kill()
    c.start_agent("gpu04", *AGENT, env=machine.env)
    wait_until(lambda: used(c, job)["gpu_seen_us"] > before["gpu_seen_us"], "samples of a new launcher")
    let_go(c, "one")
    c.wait_state(job, "COMPLETED")
    end = acct(c, job)["used"]
    assert end["gpu_mem_peak_mb"] == 2048 and end["energy_mj"] >= before["energy_mj"]
    assert end["gpu_busy_us"] >= before["gpu_busy_us"] and end["gpu_idle_us"] >= before["gpu_idle_us"]
    assert end["gpu_busy_us"] <= end["gpu_seen_us"] * 0.4
    line = c.run("gacct", "-j", job, "-h", "--csv", "-o", "EFF,GPUMEM,IDLE").stdout.splitlines()[0].split(",")
    assert line[0].endswith("%") and line[0] != "0%" and line[1] == "2G" and line[2].endswith("%")
    line = c.run("greport", "use", "--by=user", "-h", "--csv", "-o", "IDLE-H,EFF,IDLE-COST").stdout.splitlines()[0]
    assert "-" not in line.split(",")


def test_a_run_without_gpus(cluster):
    job = cluster.submit(f"head -c 50000000 /dev/zero | md5sum; head -c 5000000 /dev/zero >written; sync; {waits(cluster, 'four')}",
                         "--mem=64M")
    wait_until(lambda: used(cluster, job).get("written_bytes", 0) > 4_000_000, "what it has written")
    shown = cluster.run("gctl", "show", "job", job).stdout
    assert re.search(r"\nUSED  +CPU time 0:[0-9]+, memory [0-9]+M,( read [0-9]+[MG],)? written [0-9]+M\n", shown), shown
    let_go(cluster, "four")
    cluster.wait_state(job, "COMPLETED")
    end = acct(cluster, job)
    assert end["cpu_time_us"] > 0 and end["max_rss_kb"] > 1000
    assert "gpu_seen_us" not in end["used"] or end["used"]["gpu_seen_us"] == 0
    line = cluster.run("gacct", "-j", job, "-h", "--csv", "-o", "EFF,GPUMEM,ENERGY").stdout.splitlines()[0]
    assert line == "-,-,-"


def test_summary(cluster, machine):
    c = cluster
    machine.set(h100(0, "compute=40"), h100(1, "compute=40"), *(f"process gpu={g} pid=1 mem=2048" for g in (0, 1)))
    env = {"GSUBMIT_NO_SUMMARY": "no"}
    job = c.submit(f"echo mine; {waits(c, 'two')}", "--gpus=h100:1", "--mem=4G", "--time=60", "--output=%j.txt", env=env)
    wait_until(lambda: used(c, job).get("gpu_seen_us"), "a sample")
    let_go(c, "two")
    c.wait_state(job, "COMPLETED")
    lines = (c.dir / f"jobs/{job}.txt").read_text().splitlines()
    assert lines[0] == "mine"
    head = re.fullmatch(f"== gpusched: job {job} COMPLETED 0:0 in 0:[0-9]+ after 0:[0-9]+; EUR ([0-9.]+)", lines[1])
    assert head, lines[1]
    assert float(head[1]) == pytest.approx(float(c.run("gacct", "-j", job, "-h", "--csv", "-o", "COST").stdout.splitlines()[0]), abs=0.006)
    assert lines[2] == "   asked  1 h100, 1 CPU, 4G, 1:00:00"
    assert lines[3].startswith("   used   compute 40%, GPU memory 2G of 80G, ")
    assert lines[4].startswith("   next   --mem=") and lines[4].endswith(" --time=5:00 are enough")
    # Not where it is not wanted, nor where there is no GPU.
    for options in (("--gpus=h100:1", "--no-summary"), ()):
        job = c.submit("echo mine", "--output=%j.txt", *options, env=env)
        c.wait_state(job, "COMPLETED")
        assert (c.dir / f"jobs/{job}.txt").read_text() == "mine\n"


def test_who_leaves_gpus_idle_is_ended_where_the_partition_says_so(cluster, machine):
    c = cluster
    # Idle is compute: a server that has most of the memory and answers nobody is idle.
    machine.set(h100(0, "compute=0"), h100(1, "compute=0"), *(f"process gpu={g} pid=1 mem=73728" for g in (0, 1)))
    script = "trap 'cat \"$GPUSCHED_INTERRUPT_FILE\"; exit 0' TERM; " + waits(c, "never")
    job = c.submit(script, "--gpus=h100:1", "-p", "lab")
    c.wait_state(job, "CANCELLED")
    assert c.job(job)["reason"] == "Idle"
    assert "reason=idle\n" in (c.dir / f"jobs/gpusched-{job}.out").read_text()
    assert "GPUs computed less than 5% for 0:01: ended" in c.run("gctl", "events", "--kind=job.idle", "--json").stdout


def test_a_cpu_bound_job_is_reported_and_not_ended(cluster, machine):
    c = cluster
    machine.set(h100(0, "compute=0"), h100(1, "compute=0"))
    # It gets next to nothing of the processors, since others have them: it counts what it waits for.
    others = [subprocess.Popen(["sh", "-c", "while :; do :; done"], start_new_session=True) for _ in range(4 * os.cpu_count())]
    try:
        cpu_bound(c)
    finally:
        for other in others:
            other.kill()
            other.wait()


def cpu_bound(c):
    job = c.submit("echo 19 >/proc/self/autogroup; exec nice -n 19 sh -c 'while ! [ -e busy ]; do :; done'", "--gpus=h100:1", "-p", "lab")
    events = lambda: json.loads(c.run("gctl", "events", "--json", "--kind=job.idle", "--job", job).stdout).get("events")  # noqa: E731
    (event,) = wait_until(events, "the event")
    assert "GPUs computed less than 5% for 0:01" in event["text"] and "ended" not in event["text"], event
    seen = used(c, job)["gpu_seen_us"]
    wait_until(lambda: used(c, job)["gpu_seen_us"] >= seen + 1_200_000, "as long a time as it took to become idle")
    assert c.state(job) == "RUNNING" and len(events()) == 1
    shown = c.run("gctl", "show", "job", job).stdout
    assert "GPUs computed less than 5% for 0:01" in shown
    let_go(c, "busy")
    c.wait_state(job, "COMPLETED")
    assert "GPUs computed less than 5%" in c.run("gacct", "-j", job, "-h", "--csv", "-o", "DETAIL").stdout


def test_a_mail_where_the_partition_says_so(cluster, machine):
    """Its owner gets one though he has wished for none, once; the job goes on."""
    c = cluster
    machine.set(h100(0, "compute=0"), h100(1, "compute=0"))
    job = c.submit(waits(c, "mailed"), "--gpus=h100:1", "-p", "inbox", "-J", "serve")
    mails = c.dir / "mails/sent"
    wait_until(mails.exists, "the mail")
    seen = used(c, job)["gpu_seen_us"]
    wait_until(lambda: used(c, job)["gpu_seen_us"] >= seen + 1_200_000, "as long a time as it took to become idle")
    option, subject, address = mails.read_text().splitlines()
    assert option == "-s" and f"job {job} (serve) " in subject and subject.endswith(" leaves its GPUs idle")
    assert address == c.job(job)["user"]
    assert c.state(job) == "RUNNING"
    let_go(c, "mailed")
    c.wait_state(job, "COMPLETED")


def test_hanging_driver(cluster, machine):
    """A call that hangs costs that GPU's figures, not the run's others nor the agent."""
    c = cluster
    machine.set(h100(0, "compute=40"), h100(1, "compute=40"), "hang call=nvmlDeviceGetMemoryInfo gpu=0")
    job = c.submit(waits(c, "three"), "--gpus=h100:2")
    wait_until(lambda: used(c, job).get("gpu_seen_us"), "a sample of the other GPU")
    assert used(c, job)["gpu_now_pct"] == 40
    let_go(c, "three")
    c.wait_state(job, "COMPLETED")
    wait_until(lambda: "nvmlDeviceGetMemoryInfo_v2 does not come back" in (c.dir / "log/gnoded-gpu04.log").read_text(), "the log to say so")
