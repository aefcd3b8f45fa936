"""Parts of GPUs, as users see them: several jobs on one, who waits and why, what they count as, and that it all outlives a restart."""

import json

import pytest
from cluster import ROOT, Cluster, wait_until

CONF = """
gpu_types = ( { name = "l40s"; mem = "48G"; mem_reserve = "8G"; price = 8.0; } );
nodes = ( { name = "s1"; cpus = 16; mem = "64G"; gpus = "l40s:1"; share = "watch"; },
          { name = "w1"; cpus = 16; mem = "64G"; gpus = "l40s:1"; } );
"""


@pytest.fixture(scope="module")
def cluster():
    with Cluster(nodes=("s1", "w1"), hardware=CONF) as c:
        yield c


def shown(c, job):
    return json.loads(c.run("gctl", "show", "job", job, "--json").stdout)["jobs"][0]


def held(c, flag):
    return f"env > $GPUSCHED_JOB_ID.env; while ! [ -e {c.dir}/jobs/{flag} ]; do sleep 0.05; done"


def env_of(c, job):
    path = c.dir / "jobs" / f"{job}.env"
    wait_until(lambda: path.exists() and path.stat().st_size, "the job's environment")
    return dict(line.split("=", 1) for line in path.read_text().splitlines() if "=" in line)


def test_two_on_one(cluster):
    c = cluster
    first = c.submit(held(c, "one"), "--gpu-mem=20G", "--gpu-mem-burst=30G")
    second = c.submit(held(c, "one"), "--gpu-share=25%")
    for job in first, second:
        c.wait_state(job, "RUNNING")
        assert shown(c, job)["node"] == "s1"
    assert env_of(c, first)["GPUSCHED_GPU_MEM_MB"] == "20480" and "GPUSCHED_GPU_SHARE" not in env_of(c, first)
    assert env_of(c, second)["GPUSCHED_GPU_MEM_MB"] == "10240" and env_of(c, second)["GPUSCHED_GPU_SHARE"] == "25"
    assert (shown(c, first)["gpu_mem_mb"], shown(c, first)["gpu_mem_burst_mb"]) == (20480, 30720)
    assert shown(c, second)["gpu_share_milli"] == 250
    assert c.run("gqueue", "-h", "--csv", "-o", "GPUS,GPU-SHARE", "-j", first).stdout.strip() == 'l40s:1/20G,"20G, up to 30G"'
    gpu = c.run("ginfo", "--gpus", "-h", "--csv", "-o", "GPU,STATE,JOBS", "s1").stdout.strip()
    parts = {first: (f"{first} 20G to 30G", 20480, 0), second: (f"{second} 10G,25%", 10240, 250)}
    both = [[parts[a][0], parts[b][0]] for a, b in ((first, second), (second, first))]
    assert gpu in [f's1:0,shared,"{"; ".join(words)}"' for words in both]
    node = json.loads(c.run("ginfo", "--gpus", "--json", "s1").stdout)["nodes"][0]
    gpu = node["devices"][0]
    assert {p["run"]["job"]: (p["mem_mb"], p["milli"]) for p in gpu["parts"]} == {j: p[1:] for j, p in parts.items()}
    assert gpu["parts_mem_mb"] == 40960
    shared = {"gpus": 1, "mem_mb": 40960, "granted_mem_mb": 30720, "granted_milli": 250, "largest_mem_mb": 10240, "largest_node": "s1"}
    assert node["gpus"][0]["shared"] == shared
    part = json.loads(c.run("ginfo", "--json").stdout)["partitions"][0]
    assert part["gpus"][0]["shared"] == shared
    lines = c.run("ginfo", "-h", "--csv", "-o", "GPUS,FREE,TOTAL,SHARED,LARGEST").stdout.splitlines()
    assert lines == ['l40s,1,2,"1: 30G of 40G, 25% of 100%",1 on w1', "shared 1,10G,40G,,10G on s1"]
    lines = c.run("ginfo", "-N", "-h", "--csv", "-o", "NODE,FREE-GPUS,SHARED").stdout.splitlines()
    assert lines == ['s1,0 of 1 l40s + 10G of 40G,"l40s 1: 30G of 40G, 25% of 100%"', "w1,1 of 1 l40s,-"]
    # The third finds no room, nor one that wants all of a GPU once the other is taken.
    whole = c.submit(held(c, "one"), "--gpus=l40s:1")
    c.wait_state(whole, "RUNNING")
    third, other = c.submit("exit 0", "--gpu-mem=20G"), c.submit("exit 0", "--gpus=l40s:1")
    wait_until(lambda: shown(c, third)["reason"] == "Resources", "the reason")
    assert "It needs 20G of each GPU." in " ".join(c.run("gqueue", "--why", third).stdout.split())
    # What runs stays where it is, and what waits goes on waiting, when the controller comes back.
    c.ctld.kill()
    c.start_ctld()
    c.wait_nodes()
    assert [c.state(job) for job in (first, second, third, other)] == ["RUNNING", "RUNNING", "PENDING", "PENDING"]
    c.run("gcancel", first)
    c.wait_state(third, "COMPLETED")
    (c.dir / "jobs" / "one").touch()
    for job in second, whole, other:
        c.wait_state(job, "COMPLETED")
    # What it counts as is the part that it had: 8 an hour for a GPU, CPUs and memory cost nothing.
    jobs = json.loads(c.run("gacct", "-j", f"{second},{whole}", "--json").stdout)["jobs"]
    for job, part in zip(sorted(jobs, key=lambda j: j["id"]), (0.25, 1)):
        assert abs(job["gpu_us"] - part * job["cpu_us"]) <= 1
        assert abs(job["cost"] - job["gpu_us"] * 8 / 3600e6) < 2e-6


def test_limits_count_parts(cluster):
    c = cluster
    text = c.conf_text()
    c.write_conf(text.replace('grace = "2s";', 'grace = "2s"; limits = { gpus = "any:1"; };'))
    c.run("gctl", "reconfigure")
    jobs = [c.submit(held(c, "two"), "--gpu-share=40%", "--nodelist=s1") for _ in range(2)]
    for job in jobs:
        c.wait_state(job, "RUNNING")
    last = c.submit("exit 0", "--gpu-share=25%")
    wait_until(lambda: shown(c, last)["state"] == "PENDING" and "Resources" not in shown(c, last)["reason"]
               and shown(c, last)["reason"] != "None", "the limit as the reason")
    why = c.run("gqueue", "--why", last).stdout
    assert "limit any:1," in why and "holds 0.8, +0.25" in why
    (c.dir / "jobs" / "two").touch()
    c.wait_state(last, "COMPLETED")
    c.write_conf(text)
    c.run("gctl", "reconfigure")


def who_shares(c, conf, users=("root", "daemon", "root", "daemon")):
    """A cluster of the one node: jobs of these users, each for a quarter of its only GPU. Their states when all is quiet."""
    c.write_conf(conf)
    c.run("gctl", "reconfigure")
    jobs = []
    for user in users:
        jobs.append(c.submit("sleep 300", "--gpu-share=25%", "--nodelist=s1", "--output=/dev/null",
                             f"--time={10 if jobs else 60}", user=user))
        wait_until(lambda: shown(c, jobs[-1])["reason"] in ("Resources", "Priority") or c.state(jobs[-1]) == "RUNNING", "a decision")
    return jobs


@pytest.mark.skipif(not ROOT, reason="needs root: jobs of two users")
def test_whose_jobs_share(cluster):
    c = cluster
    text = c.conf_text()
    apart = text.replace('share = "watch"; }', 'share = "watch"; share_users = "one"; }', 1)
    assert apart != text
    jobs = who_shares(c, apart)
    assert [c.state(job) for job in jobs] == ["RUNNING", "PENDING", "RUNNING", "PENDING"]
    assert "1 node has only GPUs of other users' jobs left" in shown(c, jobs[1])["reason_text"]
    ask = ("--test-only", "--gpu-share=25%", "--nodelist=s1", "--time=5", "--wrap=true")
    assert "would wait until" in c.run("gsubmit", *ask, user="daemon").stdout
    assert c.run("gsubmit", *ask).stdout.strip() == "would start now on s1 with l40s:1/25% (GPU 0); up to 0.17"
    # The agent was told too: nothing that is placed is refused there, and nobody is beside anybody else.
    c.run("gcancel", jobs[0], jobs[2])
    for job in jobs[1], jobs[3]:
        c.wait_state(job, "RUNNING")
    assert all(shown(c, job)["attempt"] == 1 for job in jobs)
    c.run("gcancel", jobs[1], jobs[3])
    for job in jobs:
        c.wait_state(job, "CANCELLED")
    jobs = who_shares(c, text)
    assert [c.state(job) for job in jobs] == ["RUNNING"] * 4
    c.run("gcancel", *jobs)
    for job in jobs:
        c.wait_state(job, "CANCELLED")


@pytest.mark.parametrize("options,error", [
    (("--gpu-mem=41G",), "the most that can be had of one GPU in batch is 40G"),
    (("--gpu-mem=40961M",), "--gpu-mem=40961M: the most that can be had of one GPU in batch is 40960M"),
    (("--gpu-mem=1G", "--nodelist=w1"), "gives parts of its GPUs"),
    (("--gpu-mem-burst=20G",), "say with --gpu-mem"),
    (("--gpu-share=25%", "--exclusive"), "--exclusive"),
])
def test_what_never_fits_is_refused(cluster, options, error):
    r = cluster.run("gsubmit", *options, "--wrap=exit 0", check=False)
    assert r.returncode == 1 and error in r.stderr
