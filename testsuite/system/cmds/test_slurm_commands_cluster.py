"""scontrol, sinfo and the rest of Slurm's names as clients and people call them, and the names themselves."""

import os
import pwd
import re
import subprocess

import pytest
from cluster import BUILD, TOP, wait_until
from slurm_commands import NAMES, POLICY, RS, US, SlurmCommands

ME = pwd.getpwuid(os.geteuid()).pw_name


@pytest.fixture(scope="module")
def cluster():
    with SlurmCommands(policy=POLICY) as c:
        yield c


@pytest.fixture(autouse=True)
def clean(cluster):
    yield
    cluster.run("gctl", "resume", "n1,n2", check=False)
    cluster.run("gcancel", "--state", "PENDING,CONFIGURING,RUNNING,SUSPENDED", check=False)
    wait_until(lambda: not cluster.run("gqueue", "-h").stdout, "an empty queue")


def running(cluster, *options):
    job = cluster.batch("sleep 600", *options)
    cluster.wait_state(job, "RUNNING")
    return job


# --- the names -------------------------------------------------------------------------------------


def test_names(cluster):
    names = subprocess.run([BUILD / "cmds/gslurm", "--names"], capture_output=True, text=True, check=True).stdout.split()
    assert sorted([*names, "salloc", "srun"]) == sorted(p.name for p in NAMES.iterdir())
    for name in names:
        if name == "strigger":
            assert "there are no triggers" in cluster.call(name, "--get", check=1).stderr
            continue
        if name not in ("scontrol",):
            version = cluster.out(name, "--version").split()
            assert version == ["slurm", "22.05.8"] and all(p.isdigit() for p in version[1].split("."))
        assert cluster.call(name, "--nosuch-option", check=None).returncode in (1, 255)
    env = {**os.environ, "GPUSCHED_BUILD": str(BUILD)}
    line = subprocess.run([TOP / "etc/slurm-names"], capture_output=True, text=True, check=True, env=env).stdout
    found = subprocess.run(["sh", "-c", f"{line}command -v sbatch"], capture_output=True, text=True, check=True, env=env).stdout
    assert found.strip() == str(NAMES / "sbatch")
    assert cluster.run(TOP / "etc/slurm-names", "squeue", "-h", env=env).stdout == ""


def test_no_controller(cluster):
    env = {"GPUSCHED_CONTROLLER": "127.0.0.1:1", "GPUSCHED_RETRY": "0"}
    for name, args, text in [("squeue", (), "slurm_load_jobs error: "), ("sinfo", (), "slurm_load_partitions: "),
                             ("scancel", (1,), "scancel: error: "), ("sacct", (), "sacct: error: "),
                             ("sbatch", ("--wrap", "true"), "sbatch: error: Batch job submission failed: "),
                             ("scontrol", ("show", "job", 1), "slurm_load_jobs error: ")]:
        r = cluster.call(name, *args, env=env, check=1)
        assert r.stderr.startswith(text + "Unable to contact slurm controller (connect failure)") and not r.stdout


# --- scontrol --------------------------------------------------------------------------------------


def words(line):
    return dict(w.split("=", 1) for w in re.split(r" +(?=[A-Z][\w:/]*=)", line.strip()))


def test_show_config(cluster):
    lines = cluster.out("scontrol", "show", "config").splitlines()
    age = next(line for line in lines if line.startswith("MinJobAge"))
    assert re.match(r"^(\d+)\s*([a-zA-Z]*)", age.split("=")[1].strip()).groups() == ("300", "sec")
    assert any(re.search(r"MaxArraySize\s*=?\s*(\d+)", line) for line in lines)
    times = [line.split("=")[1].split() for line in lines if line.split()[:1] in (["SchedulerTimeSlice"], ["AcctGatherNodeFreq"])]
    assert max(int(n) for n, unit in times if unit in ("sec", "min")) == 30


def test_show_job(cluster):
    job, held = running(cluster, "--gres=gpu:2", "-J", "a name"), cluster.batch("true", "-H")
    record = cluster.out("scontrol", "show", "jobid", "-dd", job)
    assert record.startswith(f"JobId={job} JobName=a name\n   UserId={ME}(") and record.endswith("\n   \n\n")
    assert re.search(r"\n   JobState=RUNNING Reason=None ", record) and " ExitCode=0:0\n" in record
    assert re.search(r"\n   JOB_GRES=gpu:h100:2\n   Nodes=n[12] CPU_IDs= Mem=0 GRES=gpu:h100:2\(IDX:0-1\)\n", record)
    line = words(cluster.out("scontrol", "-o", "show", "job", held))
    assert line["JobId"] == str(held) and line["JobState"] == "PENDING" and line["NodeList"] == ""
    everything = cluster.out("scontrol", "show", "job").split("\n\n")
    assert len([r for r in everything if r.strip().startswith("JobId=")]) >= 2
    r = cluster.call("scontrol", "show", "job", 9999999, check=1)
    assert r.stderr == "slurm_load_jobs error: Invalid job id specified\n"


def test_show_nodes_and_partitions(cluster):
    running(cluster, "--gres=gpu:1", "-w", "n1")
    nodes = {}
    for line in cluster.out("scontrol", "-a", "show", "-o", "nodes").splitlines():
        assert re.search(r"NodeName=(\S+)", line) and re.search(r"Partitions=(\S+)", line) and \
            re.search(r"ActiveFeatures=(\S+)", line)
        nodes[re.search(r"NodeName=(\S+)", line).group(1)] = re.search(r"State=(\S+)", line).group(1).split("+")
    assert nodes == {"n1": ["MIXED"], "n2": ["IDLE"]}
    lines = cluster.out("scontrol", "-a", "show", "-o", "partitions").splitlines()
    assert [re.search(r"PartitionName=(\S+)\s+.*Default=YES", line) is not None for line in lines] == [True, False]
    for line in cluster.out("scontrol", "show", "part", "-o").splitlines():
        assert all(re.fullmatch(r"\w+=.+", word) for word in line.split())
    record = cluster.out("scontrol", "show", "partition", "other")
    assert "MaxTime=01:00:00" in record and "TRES=cpu=16,mem=64G,node=1,billing=16,gres/gpu=4\n" in record
    assert cluster.call("scontrol", "show", "node", "nosuch", check=1).stdout == "Node nosuch not found\n"
    assert cluster.call("scontrol", "show", "partition", "nosuch", check=1).stdout == "Partition nosuch not found\n"


def test_host_lists(cluster):
    assert cluster.out("scontrol", "show", "hostnames", env={"SLURM_JOB_NODELIST": "a[1-3,5]"}).split() == ["a1", "a2", "a3", "a5"]
    assert cluster.out("scontrol", "show", "hostname", "n[1-2]").split() == ["n1", "n2"]
    assert cluster.out("scontrol", "show", "hostlist", "n1,n2,m") == "m,n[1-2]\n"
    assert "host list is empty" in cluster.call("scontrol", "show", "hostnames").stderr


def test_jobs_are_steered(cluster):
    job = cluster.batch("sleep 600", "-w", "n1", "-c", "16")
    cluster.wait_state(job, "RUNNING")
    waits = cluster.batch("sleep 600", "-w", "n1", "-c", "16")
    for verb, shown in [("hold", "JobHeld"), ("release", ""), ("uhold", "JobHeld"), ("release", "")]:
        r = cluster.call("scontrol", verb, waits)
        assert r.stdout == r.stderr == ""
        wait_until(lambda s=shown: ("JobHeld" in cluster.out("squeue", "-h", "-j", waits, "-o", "%r")) == bool(s), verb)
    cluster.call("scontrol", "suspend", job)
    cluster.wait_state(job, "SUSPENDED")
    cluster.call("scontrol", "resume", job)
    cluster.wait_state(job, "RUNNING")
    cluster.call("scontrol", "requeuehold", job)
    wait_until(lambda: cluster.out("squeue", "-h", "-j", job, "-o", "%t%r").startswith("PDJobHeld"), "it to be held")
    cluster.call("scontrol", "wait_job", waits)
    assert cluster.out("squeue", "-h", "-j", waits, "-o", "%T") == "RUNNING\n"
    for args in (("release", 9999999), ("hold", 9999999), ("requeue", 9999999)):
        assert cluster.call("scontrol", *args, check=1).stderr == "Invalid job id specified for job 9999999\n"


def test_a_job_requeues_itself(cluster):
    job = cluster.batch(f'echo "$SLURM_RESTART_COUNT." >>again\n[ "$SLURM_RESTART_COUNT" = 1 ] || '
                        f'{{ {NAMES}/scontrol requeue $SLURM_JOB_ID; sleep 600; }}')
    cluster.wait_state(job, "COMPLETED")
    assert (cluster.dir / "jobs/again").read_text().split()[-1] == "1."


def test_a_job_requeues_itself_and_hears_so(cluster):
    """The requeue ends all processes of the job; the program that asked for it first says how that went: submitit relies on it."""
    # The sanitizer's search for leaks at scontrol's end can hang for ever where a signal comes in its midst.
    job = cluster.batch('trap : TERM\nexport ASAN_OPTIONS="$ASAN_OPTIONS:detect_leaks=0"\n'
                        'n=${SLURM_RESTART_COUNT:-0}\n[ "$n" -lt 6 ] || exit 0\necho "$n asks" >>answers\n'
                        f'{NAMES}/scontrol requeue $SLURM_JOB_ID\necho "$n $?" >>answers', "-p", "other")
    cluster.wait_state(job, "COMPLETED")
    lines = (cluster.dir / "jobs/answers").read_text().splitlines()
    asked = [line.split()[0] for line in lines if line.endswith(" asks")]
    # An attempt whose node was too slow to start it counts as a restart and asks nothing.
    assert len(asked) >= 3 and lines == [line for n in asked for line in (f"{n} asks", f"{n} 0")]


def test_update(cluster):
    job = cluster.batch("true", "-H", "-t", "60")
    cluster.call("scontrol", "update", f"JobId={job}", "TimeLimit=1-00:00:00", "Nice=7", "Name=other", "Comment=a b", "Partition=batch")
    assert cluster.out("squeue", "-h", "-j", job, "-o", "%l|%y|%j|%k") == "1-00:00:00|7|other|a b\n"
    r = cluster.call("scontrol", "update", f"JobId={job}", "Nosuch=1", check=1)
    assert r.stderr == "Update of this parameter is not supported: Nosuch=1\nRequest aborted\n"
    assert cluster.call("scontrol", "update", f"JobId={job}", check=1).stderr == "No changes specified\n"
    cluster.call("scontrol", "update", "NodeName=n2", "State=DRAIN", "Reason=a b")
    assert re.search(r"State=IDLE\+DRAIN .*\n   Reason=a b \[", cluster.out("scontrol", "show", "node", "n2"), re.DOTALL)
    assert cluster.out("sinfo", "-h", "-R", "-o", "%E|%u|%N") == f"a b|{ME}|n2\n"
    assert cluster.out("sinfo", "-h", "-n", "n2", "-p", "batch", "-o", "%t %T") == "drain drained\n"
    cluster.call("scontrol", "update", "NodeName=n2", "State=RESUME")
    assert "specify a reason" in cluster.call("scontrol", "update", "NodeName=n2", "State=DOWN", check=1).stderr
    cluster.call("scontrol", "update", "PartitionName=other", "State=DOWN")
    assert cluster.out("sinfo", "-h", "-p", "other", "-o", "%a") == "down\n"
    cluster.call("scontrol", "update", "PartitionName=other", "State=UP")


def test_what_scontrol_has_not(cluster):
    for args in (("top", 1), ("notify", 1, "x"), ("create", "reservation"), ("shutdown",), ("show", "topology")):
        r = cluster.call("scontrol", *args, check=1)
        assert re.match(r"scontrol: error: [a-z ]+: \w+ ", r.stderr)
    assert cluster.call("scontrol", "nosuch", check=1).stderr == "invalid keyword: nosuch\n"
    assert re.fullmatch(r"Slurmctld\(primary\) at \S+ is UP\n", cluster.out("scontrol", "ping"))
    job = cluster.batch("echo mine", "-H")
    assert cluster.out("scontrol", "write", "batch_script", job, "-") == "#!/bin/bash\necho mine\n"


# --- sinfo -----------------------------------------------------------------------------------------


def test_sinfo_as_it_is(cluster):
    running(cluster, "-w", "n1", "--gres=gpu:2")
    assert cluster.out("sinfo").splitlines() == [
        "PARTITION AVAIL  TIMELIMIT  NODES  STATE NODELIST", "batch*       up   infinite      1    mix n1",
        "batch*       up   infinite      1   idle n2", "other        up    1:00:00      1    mix n1"]
    assert cluster.out("sinfo", "-N").splitlines()[:2] == [
        "NODELIST   NODES PARTITION STATE ", "n1             1    batch* mix   "]
    assert cluster.out("sinfo", "-s").splitlines()[:2] == [
        "PARTITION AVAIL  TIMELIMIT   NODES(A/I/O/T) NODELIST", "batch*       up   infinite          1/1/0/2 n[1-2]"]
    assert cluster.out("sinfo", "-R") == "REASON               USER      TIMESTAMP           NODELIST\n"


def test_sinfo_of_clients(cluster):
    running(cluster, "-w", "n1", "--gres=gpu:2", "-c", "3")
    assert cluster.out("sinfo", "-o", "%P").split() == ["PARTITION", "batch*", "other"]
    lines = cluster.out("sinfo", "--format", "%P,%m", "--noconvert").splitlines()
    assert lines[0] == "PARTITION,MEMORY" and all(int(line.split(",")[1].strip("M+")) == 65536 for line in lines[1:])
    assert cluster.out("sinfo", "-aho", "%F/%C") == "1/1/0/2/3/29/0/32\n"
    nodes = [line.split() for line in
             cluster.out("sinfo", "-ahNO", "nodehost:100,gres:512,gresused:512,statelong").splitlines()]
    assert all(len(n) == 4 for n in nodes)
    used = {n[0]: tuple(int(re.search(r"gpu[s:]*[\w()-]*[=:]?(\d+)", w).group(1)) for w in n[1:3])
            for n in nodes if not re.search("maint|drain|down", n[3])}
    assert used == {"n1": (4, 2), "n2": (4, 0)}
    records = cluster.out("sinfo", "-ho", f"{RS}%c{US}%n{US}%f").split(RS)[1:]
    assert [r.split(US)[:2] for r in records] == [["16", "n1"], ["16", "n2"]]
    assert cluster.out("sinfo", "-h", "-o", "%N", "-p", "batch", "-t", "idle") == "n2\n"
    assert cluster.out("sinfo", "-h", "-o", "%N") == "n[1-2]\n"
    assert cluster.out("sinfo", "-h", "-o", "%R").split() == ["batch", "other"]
    assert cluster.out("sinfo", "-h", "-N", "-o", "%R", "-n", "n1").split() == ["batch", "other"]
    assert cluster.out("sinfo", "-h", "-o", "%T").split() == ["mixed", "idle"]
    assert "Bad state string" in cluster.call("sinfo", "-t", "nosuch", check=1).stderr
    assert cluster.out("sinfo", "-t", "maint,resv", "-h", "-o", "%N") == ""
    assert cluster.out("sinfo", "-h", env={"SINFO_FORMAT": "%R:%D"}).split() == ["batch:2", "other:1"]


# --- the rest --------------------------------------------------------------------------------------


def test_lists_of_accounts(cluster):
    assert cluster.out("sacctmgr", "-n", "-s", "list", "user", "root", "format=account%256").split() == ["vision", "nlp"]
    assert cluster.out("sacctmgr", "-nP", "show", "users", "withassoc", "format=account,qos", "where", "user=root",
                       "cluster=test").split() == ["vision|normal", "nlp|normal,high"]
    assert cluster.out("sacctmgr", "-nP", "list", "account", "format=account").split() == ["vision", "nlp"]
    assert cluster.out("sacctmgr", "-nP", "list", "qos", "format=name,priority").split() == ["normal|0", "high|10"]
    assert cluster.out("sacctmgr", "-nP", "list", "cluster", "format=cluster") == "test\n"
    assert "test|vision|root||" in cluster.out("sacctmgr", "-nP", "list", "association", "format=cluster,account,user,partition,qos")
    assert "gpusched.conf" in cluster.call("sacctmgr", "-i", "add", "user", "x", check=1).stderr


def test_shares_and_priorities(cluster):
    job = cluster.batch("true", "-H")
    assert cluster.out("sshare", "-U", "-u", ME, "--format", "Account%256", "--noheader").split() == ["vision"]
    lines = cluster.out("sshare", "-a", "-P").splitlines()
    assert lines[:3] == ["Account|User|RawShares|NormShares|RawUsage|EffectvUsage|FairShare", "root|||0.000000|0|1.000000|",
                         lines[2]] and lines[2].startswith(" vision||1|1.000000|")
    assert cluster.out("sprio", "-h", "-j", job, "-o", "%i %r").split() == [str(job), "batch"]
    assert cluster.out("sprio", "-w").splitlines()[1].split()[0] == "Weights"
    assert "Unable to find jobs" in cluster.out("sprio", "-j", 9999999)


def test_figures_and_reports(cluster):
    job = cluster.batch("true", "--gres=gpu:1")
    cluster.wait_state(job, "COMPLETED")
    text = cluster.out("sdiag")
    assert re.search(r"^Jobs submitted: \d+$", text, re.MULTILINE) and re.search(r"^Jobs running:   0$", text, re.MULTILINE)
    lines = cluster.out("sreport", "-nP", "-t", "seconds", "cluster", "AccountUtilizationByUser", "start=today", "end=now").split("\n")
    assert any(line.startswith(f"test|vision|{ME}|") for line in lines)
    head = cluster.out("sreport", "user", "top", "start=today")
    assert head.splitlines()[1].startswith("Top 10 Users ") and "Usage reported in CPU Minutes" in head
    assert "greport" in cluster.call("sreport", "job", "sizesbyaccount", check=1).stderr
