"""Samples of every GPU of a node, held or idle; memory over time; the files for dcgm-exporter."""

import contextlib
import json
import os

import pytest
from cluster import ROOT, Cluster, wait_until
from test_gpus import Machine, h100, mig

TYPES = 'gpu_types = ( { name = "h100"; mem = "80G"; }, { name = "1g.10gb"; mem = "10G"; } );'
NODE = 'nodes = ( { name = "gpu04"; gpus = "h100:2,1g.10gb:2"; } );'
AGENT = ("--gpu-recheck=1h", "--gpu-timeout=2s", "--sample-every=100ms", "--idle-sample=100ms")
MIG = (h100(2, "mig=1"), mig(2, 1) + " used=56", mig(2, 3))


@pytest.fixture(scope="module")
def machine(tmp_path_factory):
    return Machine(tmp_path_factory.mktemp("nvml") / "machine")


@pytest.fixture(scope="module")
def cluster(machine):
    machine.set(h100(0, "compute=3 used=600"), h100(1), *MIG)
    with Cluster(nodes=("gpu04",), start=False, hardware=f"{TYPES}\n{NODE}") as c:
        c.write_conf()
        c.start_munged()
        c.start_ctld()
        start_agent(c, machine)
        c.wait_nodes()
        yield c


def start_agent(c, machine):
    c.start_agent("gpu04", *AGENT, f"--gpu-jobs={folder(c)}", env=machine.env)


def folder(c):
    return c.dir / "gpu-jobs"


def devices(c):
    node = json.loads(c.run("ginfo", "--gpus", "--json").stdout)["nodes"][0]
    return {g["uuid"]: g for g in node["devices"]}


def sampled(c, uuid, **want):
    """The GPU as it was sampled last, once it has these values."""
    def look():
        g = devices(c).get(uuid, {})
        return g if g.get("sample_known") and all(g.get(k, 0) == v for k, v in want.items()) else None
    return wait_until(look, f"{uuid} with {want}")


def files(c):
    found = {}
    with contextlib.suppress(FileNotFoundError):  # each may go, and the folder may be to come
        for p in folder(c).iterdir():
            with contextlib.suppress(FileNotFoundError):
                found.update({p.name: p.read_text()} if not p.name.startswith(".") else {})
    return found


def waits(c, flag):
    return f"while ! [ -e {c.dir}/jobs/{flag} ]; do sleep 0.05; done"


def let_go(c, flag):
    (c.dir / "jobs" / flag).touch()


def test_idle_gpus_too(cluster, machine):
    c = cluster
    machine.set(h100(0, "compute=3 used=600 draw=71 temp=34 sm_clock=1980 watts=71"), h100(1, "draw=0"), *MIG)
    g = sampled(c, "GPU-0", power_mw=71000)
    assert g["sm_known"] and g["sm_pct"] == 3 and g["fb_used_mb"] == 600 and g["fb_free_mb"] == 81559 - 600
    assert g["temp_c"] == 34 and g["sm_clock_mhz"] == 1980 and g["mem_clock_mhz"] == 1593 and g["energy_mj"] > 0
    assert not g.get("power_mw") == 0 and not g.get("use_known")
    g = sampled(c, "MIG-2-1", fb_used_mb=56)
    assert not g.get("sm_known") and not g.get("power_mw") and g["fb_free_mb"] == 9800
    sampled(c, "GPU-1", power_mw=0)
    lines = c.run("ginfo", "--gpus", "-o", "GPU,UTIL,MEM,POWER,TEMP,CLOCK,XID", "--csv", "-h").stdout.splitlines()
    assert lines[:3] == ["gpu04:0,3%,600M/80G,71,34,1980,-", "gpu04:1,0%,0/80G,-,35,345,-", "gpu04:2,-,56M/10G,-,-,-,-"]
    assert "GPU now           0 3%, 600M of 80G used, 71 W, 34 C, 1980 MHz (" in c.run("gctl", "show", "node", "gpu04").stdout


def test_what_breaks_harms_no_other(cluster, machine):
    """Numbers that cannot be are not known; a GPU that hangs is left out, and the others go on."""
    c = cluster
    machine.set(h100(0, "nan=1 compute=5 temp=99999 draw=4000000 sm_clock=4000000"), h100(1, "temp=41"), *MIG)
    sampled(c, "GPU-1", temp_c=41)
    g = sampled(c, "GPU-0", temp_c=0)
    assert g["sm_pct"] == 5 and not g.get("power_mw") and not g.get("sm_clock_mhz")
    machine.set(h100(0), h100(1, "temp=42"), *MIG, "hang call=nvmlDeviceGetClockInfo gpu=0")
    sampled(c, "GPU-1", temp_c=42)
    assert c.node_states()["gpu04"] == "idle"
    machine.set(h100(0), h100(1, "temp=43"), *MIG, "crash call=nvmlDeviceGetPowerUsage gpu=0")
    sampled(c, "GPU-1", temp_c=43)
    machine.set(h100(0, "temp=44"), h100(1), *MIG)

    def after_a_job():  # it is sampled again when runs have come and gone since it broke
        c.wait_state(c.submit("true", "--gpus=h100:2"), "COMPLETED")
        return devices(c)["GPU-0"].get("temp_c") == 44
    wait_until(after_a_job, "GPU-0 to be sampled again")


def test_xids(cluster, machine):
    c = cluster
    machine.set(h100(0), h100(1), *MIG, "xid gpu=1 code=31 seq=1")
    g = sampled(c, "GPU-1", last_xid=31)
    assert g["last_xid_time"] and not sampled(c, "GPU-0").get("last_xid")
    # It is remembered when another launcher goes on.
    c.agents["gpu04"].kill()
    machine.set(h100(0), h100(1, "temp=45"), *MIG)
    start_agent(c, machine)
    assert sampled(c, "GPU-1", temp_c=45)["last_xid"] == 31
    c.run("gctl", "resume", "gpu04:1", check=False)


def test_memory_over_time(cluster, machine):
    c = cluster
    machine.set(h100(0, "used=2148 compute=90"), h100(1), *MIG, "process gpu=0 pid=1 mem=2048", "process gpu=1 pid=1 mem=2048")
    job = c.submit(waits(c, "one"), "--gpus=h100:1", "--begin=now+1")
    c.wait_state(job, "RUNNING")
    live = json.loads(c.run("gctl", "show", "job", job, "--json").stdout)["jobs"][0]
    assert live["eligible_time"] > live["submit_time"]

    def runs_use():
        return json.loads(c.run("gctl", "show", "job", job, "--json").stdout)["jobs"][0]["runs"][0].get("used", {})
    wait_until(lambda: runs_use().get("gpu_mem_mbs", 0) > 2048, "memory-time")
    before = runs_use()
    let_go(c, "one")
    c.wait_state(job, "COMPLETED")
    end = json.loads(c.run("gacct", "-j", job, "--json").stdout)["jobs"][0]
    used = end["used"]
    assert used["gpu_mem_mbs"] >= before["gpu_mem_mbs"]
    # 2 GiB all the time that it was seen, to the rounding of each sample
    assert used["gpu_mem_mbs"] == pytest.approx(2048 * used["gpu_seen_us"] / 1e6, rel=0.05)
    assert end["eligible_time"] == live["eligible_time"] and end.get("eligible_s", 0) <= end.get("wait_s", 0)
    line = c.run("gacct", "-j", job, "-h", "--csv", "-o", "MEM-H,ELIGIBLE").stdout.splitlines()[0].split(",")
    assert float(line[0]) >= 0 and line[1] != "-"


def test_a_job_that_is_held_is_not_eligible(cluster):
    c = cluster
    job = c.submit("true", "--hold")
    show = c.run("gacct", "-j", job, "--state=PENDING", "-h", "--csv", "-o", "ELIGIBLE,ELIGIBLESINCE").stdout.splitlines()[0]
    assert show == "-,-"
    c.run("gctl", "release", job)
    c.wait_state(job, "COMPLETED")
    end = json.loads(c.run("gacct", "-j", job, "--json").stdout)["jobs"][0]
    assert end["submit_time"] <= end["eligible_time"] <= end["first_start_time"]


# --- the files for dcgm-exporter --------------------------------------------------------------------

def test_files_follow_the_jobs(cluster, machine):
    c = cluster
    nobody = {name: "\n" for name in ("0", "1", "2.1", "2.3")}  # without a line some exporters drop the GPU
    machine.set(h100(0), h100(1), *MIG)
    wait_until(lambda: files(c) == nobody, "empty lines")
    assert all(p.stat().st_mode & 0o777 == 0o644 for p in folder(c).iterdir())
    job = c.submit(waits(c, "two"), "--gpus=h100:2")
    wait_until(lambda: files(c) == {**nobody, "0": f"{job}\n", "1": f"{job}\n"}, "both GPUs")
    tasks = c.submit(waits(c, "three"), "--gpus=1g.10gb:1", "--array=3-4")
    wait_until(lambda: {files(c)["2.1"], files(c)["2.3"]} == {f"{tasks}_3\n", f"{tasks}_4\n"}, "the instances")
    # Right again after a restart of the agent, whatever lies there.
    c.agents["gpu04"].kill()
    (folder(c) / "0").unlink()
    (folder(c) / "1").write_text("4711\n")
    (folder(c) / "7").write_text("4711\n")
    (folder(c) / "2.5").write_text("4711\n")
    (folder(c) / "notes").write_text("of others\n")
    start_agent(c, machine)
    wait_until(lambda: set(files(c)) == {*nobody, "notes"} and files(c)["0"] == files(c)["1"] == f"{job}\n", "the files again")
    for flag in ("two", "three"):
        let_go(c, flag)
    wait_until(lambda: {k: v for k, v in files(c).items() if k != "notes"} == nobody, "free GPUs")
    c.wait_state(job, "COMPLETED")


def test_a_folder_of_others_is_refused(cluster, machine):
    """A link, a folder that others may write to, another user's: a job runs, and nothing is written."""
    c = cluster

    def refused(path, word):
        c.agents["gpu04"].kill()
        c.start_agent("gpu04", *AGENT, f"--gpu-jobs={path}", env=machine.env)
        wait_until(lambda: f"{path}" in c.agents["gpu04"].log.read_text() and word in c.agents["gpu04"].log.read_text(), "the refusal")
        c.wait_nodes()
        c.wait_state(c.submit("true", "--gpus=h100:1"), "COMPLETED")

    target = c.dir / "target"
    target.mkdir()
    (c.dir / "link").symlink_to(target)
    refused(c.dir / "link", "it is a link")
    assert not list(target.iterdir())
    loose = c.dir / "loose"
    loose.mkdir()
    loose.chmod(0o777)
    refused(loose, "mode 777")
    assert not list(loose.iterdir())
    if ROOT:
        foreign = c.dir / "foreign"
        foreign.mkdir()
        os.chown(foreign, 65534, -1)
        refused(foreign, "user 65534")
        assert not list(foreign.iterdir())
