"""sbatch, squeue, scancel and sacct as clients call them, and as they read the answers.

The calls and the expressions are those of real programs (submitit, Snakemake, dask-jobqueue, Parsl, PSI/J,
TorchX, ReFrame, Open OnDemand, Toil, nipype, Cylc, batchtools, rslurm, simple_slurm, Nextflow)."""

import json
import os
import re

import pytest
from cluster import wait_until
from slurm_commands import POLICY, US, SlurmCommands


@pytest.fixture(scope="module")
def cluster():
    with SlurmCommands(policy=POLICY) as c:
        yield c


@pytest.fixture(autouse=True)
def clean(cluster):
    yield
    cluster.run("gcancel", "--state", "PENDING,CONFIGURING,RUNNING,SUSPENDED", check=False)
    wait_until(lambda: not cluster.run("gqueue", "-h").stdout, "an empty queue")


def running(cluster, *options, name="run1"):
    job = cluster.batch("sleep 600", "-J", name, *options)
    cluster.wait_state(job, "RUNNING")
    return job


# --- sbatch ----------------------------------------------------------------------------------------


def test_sbatch_answers(cluster):
    r = cluster.call("sbatch", "-H", stdin="#!/bin/bash\ntrue\n")
    assert re.fullmatch(r"Submitted batch job (\d+)\n", r.stdout) and r.stderr == ""
    assert re.search(r"\ASubmitted\sbatch\sjob\s(?P<id>\d+)", r.stdout)
    assert re.fullmatch(r"\d+\n", cluster.out("sbatch", "-H", "--parsable", "--wrap", "true"))
    assert re.fullmatch(r"\d+;test\n", cluster.out("sbatch", "-H", "--parsable", "-M", "all", "--wrap", "true"))
    r = cluster.call("sbatch", "-H", "--clusters=test", "--wrap", "true")
    assert re.fullmatch(r"Submitted batch job \d+ on cluster test\n", r.stdout)
    assert cluster.call("sbatch", "-M", "elsewhere", "--wrap", "true", check=255).stdout == ""


def test_sbatch_says_nothing_of_what_it_takes(cluster):
    """One client puts both outputs together before it takes the last word."""
    r = cluster.call("sbatch", "-H", "--wckey=submitit", "--priority=5", "--tmp=0", "--hint=nomultithread", "--get-user-env=L",
                     stdin="#!/bin/bash\n#SBATCH --open-mode=append\n#SBATCH --wckey=x --contiguous\ntrue\n")
    assert r.stderr == "" and r.stdout.split()[-1].isdigit()


def test_sbatch_reads_the_script(cluster):
    text = "#!/bin/bash\n\n# a comment\n##\n#SBATCH --job-name=\"two words\"\n\n#SBATCH --time=0:5:0 -H\ntrue\n"
    (cluster.dir / "jobs/brew.sh").write_text(text)
    for r in (cluster.call("sbatch", stdin=text), cluster.call("sbatch", "/dev/stdin", stdin=text),
              cluster.call("sbatch", "brew.sh")):
        job = int(r.stdout.split()[-1])
        assert cluster.out("squeue", "-h", "-j", job, "-o", "%j|%l|%r").strip() == "two words|5:00|JobHeldUser" \
            or cluster.out("squeue", "-h", "-j", job, "-o", "%j|%l|%r").strip() == "two words|5:00|JobHeldAdmin"
    assert "does not look" not in r.stderr
    r = cluster.call("sbatch", stdin="#!/bin/bash\n#SBATCH --comment=two words\ntrue\n", check=255)
    assert "Invalid directive found in batch script: words" in r.stderr and not r.stdout
    assert cluster.call("sbatch", "nosuch.sh", check=1).stderr.startswith("sbatch: error: ")
    assert cluster.call("sbatch", "--nosuch", check=255).stderr.startswith("sbatch: error: ")


def test_sbatch_refuses_with_a_sentence(cluster):
    for args, status, text in [(("--reservation=r",), 255, "there are no reservations"),
                               (("-p", "nosuch"), 1, "Batch job submission failed: Invalid partition name specified"),
                               (("-N", "5"), 1, "Requested node configuration is not available"),
                               (("--qos=nosuch",), 1, "Invalid qos specification"),
                               (("--gres=nosuch:1",), 255, "--gres")]:
        r = cluster.call("sbatch", *args, "--wrap", "true", check=status)
        assert text in r.stderr and r.stderr.startswith("sbatch: error: ") and not r.stdout


def test_sbatch_takes_lists_of_partitions(cluster):
    def partition(*options):
        job = cluster.batch("sleep 600", *options)
        cluster.wait_state(job, "RUNNING")
        return cluster.out("squeue", "-h", "-j", job, "-o", "%P").strip()

    assert partition("-p", "other,batch") == "other"  # both would start it now
    assert partition("-p", "other,batch", "-N", "2") == "batch"  # the first could never
    for names in ("nosuch,batch", "nosuch,nothing"):
        r = cluster.call("sbatch", "-p", names, "--wrap", "true", check=1)
        assert "Invalid partition name specified" in r.stderr and "nosuch" in r.stderr
    job = cluster.batch("true", "-H", "-p", "other,batch")
    assert cluster.out("squeue", "-h", "-j", job, "-o", "%P").strip() == "other,batch"
    assert cluster.out("squeue", "-h", "-p", "batch", "-o", "%i").split() == [str(job)] or \
        str(job) in cluster.out("squeue", "-h", "-p", "batch", "-o", "%i").split()
    assert " Partition=other,batch " in cluster.out("scontrol", "show", "job", job).replace("\n", " ") + " "
    cluster.call("scontrol", "update", f"JobId={job}", "Partition=batch,other")
    assert cluster.out("squeue", "-h", "-j", job, "-o", "%P").strip() == "batch,other"


def test_sbatch_waits_and_hands_on(cluster):
    assert cluster.call("sbatch", "--wait", "--wrap", "exit 3", check=3).stdout.startswith("Submitted batch job ")
    job = cluster.batch('echo "$SLURM_JOB_ID $MINE $PWD"', env={"MINE": "here", "SBATCH_PARTITION": "other"})
    assert cluster.ends(job, "COMPLETED")["partition"] == "other"
    assert (cluster.dir / f"jobs/slurm-{job}.out").read_text() == f"{job} here {cluster.dir}/jobs\n"


def test_sbatch_says_when_it_would_start(cluster):
    r = cluster.call("sbatch", "--test-only", "-p", "other", "--wrap", "true")
    said = re.fullmatch(r"sbatch: Job (\d+) to start at \d{4}-\d\d-\d\dT[\d:]{8} using 1 processors on nodes n1 in partition (\S+)\n",
                        r.stderr)
    assert said, r.stderr
    assert cluster.batch("true") == int(said[1])  # the next one's number, which the test has not used up


# --- squeue ----------------------------------------------------------------------------------------


def test_squeue_as_it_is(cluster):
    """The widths, to the byte."""
    job = running(cluster, "-t", "60", name="a-long-name")
    head, line = cluster.out("squeue").splitlines()
    assert head == "             JOBID PARTITION     NAME     USER ST       TIME  NODES NODELIST(REASON)"
    user = cluster.job(job)["user"]
    assert re.fullmatch(rf"{job:>18}     batch a-long-n {user[:8]:>8}  R       0:\d\d      1 n[12]", line)
    assert len(line.split()) == len(head.split())


def test_squeue_formats_of_clients(cluster):
    job, held = running(cluster, "--comment=two words"), cluster.batch("true", "-H", "-J", "held one")
    done = cluster.batch("exit 3", "-J", "fails")
    cluster.wait_state(done, "FAILED")
    rows = dict(line.split("|") for line in cluster.out("squeue", "--format=%i|%T", "--states=all", "--noheader").splitlines())
    assert rows[str(job)] == "RUNNING" and rows[str(held)] == "PENDING" and rows[str(done)] == "FAILED"
    assert cluster.out("squeue", "--noheader", "--format=%i %t", "--job", f"{job},{held}").split() == \
        [str(held), "PD", str(job), "R"]
    words = cluster.out("squeue", "-O", "JobArrayID,StateCompact,Reason", "-t", "all", "--me").splitlines()
    assert all(len(line.split()) == 3 for line in words[1:]) and len(words) >= 4
    for line in cluster.out("squeue", "-h", "--format", "%i %t %M").splitlines():
        assert re.fullmatch(r"\d+ (PD|R) (\d+-)?(\d+:)?\d+:\d\d", line)
    assert re.match(r"^ *(\d+)", cluster.out("squeue", "-h", "-j", job))
    r = cluster.out("squeue", "--me", "-o", '"%i","%j","%t","%M","%L","%D","%C","%m","%b","%R"').splitlines()
    assert r[0] == '"JOBID","NAME","ST","TIME","TIME_LEFT","NODES","CPUS","MIN_MEMORY","TRES_PER_NODE","NODELIST(REASON)"'
    assert cluster.out("squeue", "-h", "-j", job, "-o", "%%i|%%T") == "%i|%T\n"  # written so by mistake: nothing matches
    assert re.fullmatch(r"RUNNING n[12]\n", cluster.out("squeue", "-h", "-j", job, "-o", "%T %B"))
    assert cluster.out("squeue", "-h", "-j", job, "-o", "%N").strip() in ("n1", "n2")
    assert cluster.out("squeue", "--noheader", "-o", "%i %t", "-t", "PD,R", "-p", "other") == ""
    assert cluster.out("squeue", "-h", "-j", job, env={"SQUEUE_FORMAT": "%A;%k"}) == f"{job};two words\n"


def test_squeue_knows_whom_it_knows(cluster):
    r = cluster.call("squeue", "-j", 9999999, check=1)
    assert r.stderr == "slurm_load_jobs error: Invalid job id specified\n" and not r.stdout
    done = cluster.batch("true")
    cluster.wait_state(done, "COMPLETED")
    assert cluster.out("squeue", "-h", "-j", done) == ""
    assert cluster.out("squeue", "-h", "-j", done, "-t", "all", "-o", "%t") == "CD\n"
    job = running(cluster)
    assert cluster.out("squeue", "-h", "-o", "%i", "-j", f"9999999,{job}") == f"{job}\n"
    assert cluster.out("squeue", "-hn", "nosuch") == ""
    assert cluster.out("squeue", "--states=R,S,CG,RS,SI,SO,ST", "--noheader", "--format=%i", "-r") == f"{job}\n"
    assert cluster.out("squeue", "--states=PD,CF,RF,RH,RQ,SE", "--noheader", "--format=%i", "-r") == ""
    r = cluster.call("squeue", "-t", "NOSUCH", check=1)
    assert "Invalid job state specified: NOSUCH" in r.stderr
    assert cluster.call("squeue", "--nosuch", check=1).stderr == \
        "squeue: unrecognized option '--nosuch'\nTry \"squeue --help\" for more information\n"
    assert "there are no reservations" in cluster.call("squeue", "-R", "x", check=1).stderr


def test_squeue_arrays(cluster):
    array = cluster.batch("sleep 600", "--array=1-5%2", "-J", "arr")
    wait_until(lambda: cluster.out("squeue", "-h", "-t", "R", "-o", "%i").split() == [f"{array}_1", f"{array}_2"], "two tasks")
    assert cluster.out("squeue", "-h", "-j", array, "-o", "%i|%K|%F|%r").splitlines() == \
        [f"{array}_[3-5%2]|3-5%2|{array}|JobArrayTaskLimit", f"{array}_1|1|{array}|None", f"{array}_2|2|{array}|None"]
    assert cluster.out("squeue", "-h", "-r", "-o", "%i", "-j", array).split() == [f"{array}_{i}" for i in (3, 4, 5, 1, 2)]
    assert cluster.out("squeue", "-h", "-j", f"{array}_2", "-o", "%t") == "R\n"
    assert cluster.out("squeue", "-h", "-j", f"{array}_9") == ""


OOD = """Account JobID BatchHost MinCpus NumCPUs MinTmpDisk NumNodes EndTime Dependency Feature
ArrayJobID GroupName GroupID OverSubscribe Sockets JobArrayID Cores Name Threads Comment ArrayTaskID
TimeLimit TimeLeft MinMemory TimeUsed ReqNodes NodeList Command Contiguous QOS Partition PriorityLong
Reason StartTime StateCompact State UserName UserID Reservation SubmitTime WCKey Licenses ExcNodes CoreSpec
Nice SchedNodes SCT WorkDir tres-alloc tres-per-node""".split()


def test_squeue_43_fields(cluster):
    job = running(cluster, "--mem=100M", "-c", "2", "--gres=gpu:2", "-t", "1:00:00")
    text = cluster.out("squeue", "--all", "--states=all", "--noconvert", "-O", ",".join(f"{f}:{US}" for f in OOD), "-j", job)
    head, line = text.splitlines()
    assert head.endswith(US) and head.count(US) == len(OOD) == line.count(US)
    j = dict(zip(OOD, line.split(US)))
    assert j["JobID"] == j["JobArrayID"] == str(job) and j["StateCompact"] == "R" and j["NumCPUs"] == "2"
    assert j["tres-alloc"] == "cpu=2,mem=100M,node=1,billing=2,gres/gpu=2" and j["tres-per-node"] == "gres:gpu:2"
    assert j["TimeLimit"] == "1:00:00" and re.fullmatch(r"\d{4}-\d\d-\d\dT[\d:]{8}", j["SubmitTime"])


def test_disks_for_temporary_data(cluster):
    """--tmp: only nodes whose disk is so large, which sinfo, squeue and scontrol show."""
    sizes = dict(line.split() for line in cluster.out("sinfo", "-h", "-N", "-o", "%n %d").splitlines())
    stat = os.statvfs("/tmp")
    assert sizes == {n: str(stat.f_blocks * stat.f_frsize >> 20) for n in ("n1", "n2")}
    assert f" TmpDisk={sizes['n1']} " in cluster.out("scontrol", "show", "node", "n1").replace("\n", " ")
    job = cluster.batch("true", "-H", "--tmp=1G")
    assert cluster.out("squeue", "-h", "-j", job, "-o", "%d").strip() == "1G"
    assert "MinTmpDiskNode=1G" in cluster.out("scontrol", "show", "job", job)
    r = cluster.call("sbatch", "--tmp", str(int(sizes["n1"]) + 1), "--wrap", "true", check=1)
    assert "the largest disk for temporary data in " in r.stderr, r.stderr
    cluster.run("gctl", "update", str(job), "--tmp=2G")
    assert cluster.out("squeue", "-h", "-j", job, "-o", "%d").strip() == "2G"
    cluster.out("scancel", job)


def test_squeue_json(cluster):
    job, waits = running(cluster, "--mem=64M", name="role-0"), cluster.batch("true", "-H", "-J", "role-1")
    j = {x["job_id"]: x for x in json.loads(cluster.out("squeue", "--json"))["jobs"]}
    assert j[job]["job_state"][0] == "RUNNING" and j[job]["name"] == "role-0"
    at = j[job]["job_resources"]["nodes"]["allocation"][0]
    assert at["name"] in ("n1", "n2") and at["cpus"]["used"] == 1 and at["memory"]["allocated"] == 64
    assert j[job]["job_resources"]["allocated_nodes"][0]["nodename"] == at["name"]
    assert j[waits]["job_state"] == ["PENDING"] and j[waits]["job_resources"] is None
    assert j[job]["current_working_directory"] == str(cluster.dir / "jobs") and "command" in j[job]


HOSTILE = "a|b c\u00e9"


def test_hostile_names_in_every_column(cluster):
    job = cluster.batch("sleep 600", "-J", HOSTILE, "--comment=x\u2003y|$(id)")
    cluster.wait_state(job, "RUNNING")
    for name, args in [("squeue", ("-o", "%i%j%k%Z")), ("squeue", ("-O", "Name:3,Comment:4")), ("squeue", ()),
                       ("sacct", ("-o", "JobName%3,Comment%4,WorkDir%200")), ("scontrol", ("show", "job", job)),
                       ("squeue", ("--json",)), ("sacct", ("--json",))]:
        text = cluster.out(name, *args)
        assert not re.search(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]", text), (name, args, text)
    assert HOSTILE in cluster.out("squeue", "-h", "-j", job, "-o", "%j")
    assert cluster.out("squeue", "-h", "-j", job, "-o", "%4j|") == "a|b |\n"
    assert f"JobName={HOSTILE}\n" in cluster.out("scontrol", "show", "job", job)
    # A folder may hold bytes that a name may not.
    folder = cluster.dir / "jobs/bad\x1b[31m\nname"
    folder.mkdir()
    folder.chmod(0o777)
    job = cluster.batch("sleep 600", "-D", folder)
    for name, args in [("squeue", ("-h", "-o", "%Z", "-j", job)), ("sacct", ("-nPX", "-o", "WorkDir", "-j", job))]:
        assert cluster.out(name, *args).strip().endswith("bad\\x1B[31m\\x0Aname")


# --- scancel ---------------------------------------------------------------------------------------


def test_scancel_is_silent(cluster):
    done = cluster.batch("true")
    cluster.wait_state(done, "COMPLETED")
    for args in ((done,), (9999999,), (done, 9999999), ("-Q", done), (f"{done}_1",), (f"{done}.0",), ("-n", "nosuch"),
                 ("--clusters=", done), ("--clusters=all", done)):
        r = cluster.call("scancel", *args)
        assert r.stdout == r.stderr == ""
    assert cluster.call("scancel", check=1).stderr == "scancel: error: No job identification provided\n"
    assert cluster.call("scancel", "abc", check=1).stderr == "scancel: error: Invalid job id abc\n"
    assert "Unknown job signal" in cluster.call("scancel", done, "--signal", "NOSUCH", check=1).stderr


def test_scancel_cancels_and_signals(cluster):
    one, two = running(cluster), running(cluster, name="named")
    array = cluster.batch("sleep 600", "--array=1-3%1")
    r = cluster.call("scancel", one)
    assert r.stdout == r.stderr == ""
    assert cluster.ends(one, "CANCELLED")
    cluster.call("scancel", "-n", "named")
    assert cluster.ends(two, "CANCELLED")
    cluster.call("scancel", f"{array}_2")
    assert cluster.out("squeue", "-h", "-j", array, "-t", "PD", "-o", "%i").strip() == f"{array}_[3%1]"
    cluster.call("scancel", array)
    wait_until(lambda: not cluster.out("squeue", "-h", "-j", array), "all of the array to be cancelled")
    rows = cluster.out("sacct", "-X", "-n", "-P", "-j", f"{one},{array}", "-o", "state").split()
    assert set(rows) == {"CANCELLED"}
    mark = cluster.dir / "jobs/marks"
    job = cluster.batch(f"trap 'echo usr2 >>{mark}' USR2\necho ready >{mark}\nwhile :; do sleep 0.1; done")
    wait_until(lambda: mark.exists() and mark.read_text(), "the trap to be set")
    cluster.call("scancel", job, "--signal", "SIGUSR2")
    wait_until(lambda: "usr2" in mark.read_text(), "the signal to arrive")
    cluster.call("scancel", job, "--signal", "KILL")
    assert cluster.ends(job, "CANCELLED")


# --- sacct -----------------------------------------------------------------------------------------


def test_sacct_as_it_is(cluster):
    job = cluster.batch("exit 3", "-J", "fails")
    cluster.wait_state(job, "FAILED")
    assert cluster.out("sacct", "-j", job).splitlines() == [
        "JobID           JobName  Partition    Account  AllocCPUS      State ExitCode ",
        "------------ ---------- ---------- ---------- ---------- ---------- -------- ",
        f"{job:<12}      fails      batch     vision          1     FAILED      3:0 ",
        f"{job}.batch".ljust(12) + "      batch                                1     FAILED      3:0 "]
    assert cluster.out("sacct", "-nu", cluster.job(job)["user"], "-o", "Account%20").splitlines()[0].strip() == "vision"


def test_sacct_of_clients(cluster):
    ok, bad = cluster.batch("true", "-J", "uuid-1"), cluster.batch("kill -9 $$", "-J", "uuid-2")
    cluster.wait_state(ok, "COMPLETED")
    cluster.wait_state(bad, "FAILED")
    held = cluster.batch("true", "-H")
    lines = cluster.out("sacct", "-o", "JobID,State,NodeList", "--parsable2", "-j", ok, "-j", held).splitlines()
    assert lines[0] == "JobID|State|NodeList" and len(lines) == 4
    rows = [line.split("|") for line in lines[1:] if "." not in line.split("|")[0]]
    assert rows[0][:2] == [str(ok), "COMPLETED"] and rows[1] == [str(held), "PENDING", "None assigned"]
    words = cluster.out("sacct", "-X", "--noheader", "--format=jobid,state%20", "--job", f"{ok},{bad}").split()
    assert words == [str(ok), "COMPLETED", str(bad), "FAILED"]
    text = cluster.out("sacct", "-X", "--parsable2", "--clusters", "all", "--noheader", "--format=JobIdRaw,State", "--starttime",
                       "2020-01-01T00:00", "--endtime", "now", "--name", "uuid-1")
    assert text == f"{ok}|COMPLETED\n"
    assert cluster.out("sacct", "-P", "-n", "--format=JobIdRaw,State", "-j", held) == f"{held}|PENDING\n"
    text = cluster.out("sacct", "-n", "-j", f"{ok},{bad}", "--format", "JobIDRaw,State,ExitCode", "-P", "-S", "1970-01-01")
    assert {line.split("|")[0]: line.split("|")[2] for line in text.splitlines() if "." not in line} == \
        {str(ok): "0:0", str(bad): "0:9"}
    text = cluster.out("sacct", "-S", "2020-01-01", "-P", "-j", f"{ok},{held}", "-o", "jobid,state,exitcode,end,nodelist",
                       env={"SLURM_TIME_FORMAT": "%s"})
    found = re.findall(r"^(\d+(?:\+\d+|_\d+|_\[\d+-\d+\])?)\|(\S+)([^\|]*)\|(\d+)\:(\d+)\|(\S+)\|(.*)$", text, re.MULTILINE)
    assert [f[0] for f in found] == [str(ok), str(held)]
    assert found[0][5].isdigit() and found[1][5] == "Unknown"
    assert cluster.out("sacct", "-j", f"{ok}.3", "--format=Reason", "--noheader") == ""
    assert cluster.out("sacct", "-j", ok, "-n", "-X", "-o", "nodelist%-256").strip() in ("n1", "n2")
    assert cluster.out("sacct", "-X", "-j", 9999999, "-n") == ""
    r = cluster.call("sacct", "-nu", "root", "-o", "Account%256", "|", "tail", "-1", check=1)
    assert "invalid option -- '1'" in r.stderr


def test_sacct_arrays(cluster):
    array = cluster.batch("sleep 600", "--array=1-7%1")
    wait_until(lambda: cluster.out("squeue", "-h", "-t", "R", "-o", "%i").split() == [f"{array}_1"], "a task to run")
    ids = cluster.out("sacct", "-X", "-n", "-P", "-j", array, "-o", "jobid").split()
    assert ids == [f"{array}_1", f"{array}_[2-7%1]"]
    assert re.fullmatch(r"(\d+)_\[((\d+(-\d+)?(,)?)+)(\%\d+)?\]", ids[1])
    assert cluster.out("sacct", "-X", "-n", "-P", "-j", f"{array}_1", "-o", "state") == "RUNNING\n"


def test_sacct_by_position(cluster):
    """Open OnDemand's fields, with its own delimiter."""
    fields = ("User,Group,JobId,JobName,Elapsed,ReqMem,AllocCPUS,ReqCPUS,Timelimit,State,TotalCPU,MaxRSS,Partition,Submit,"
              "Start,End,ReqTRES")
    job = running(cluster, "-t", "61", "--mem=512M", "--gres=gpu:3")
    text = cluster.out("sacct", "-P", "--delimiter", US, "-n", "--units", "G", "--allocations", "-o", fields, "-j", job)
    j = dict(zip(fields.split(","), text.rstrip("\n").split(US)))
    assert re.fullmatch(r"(\d+-)?\d+:\d\d:\d\d", j["Elapsed"]) and j["Timelimit"] == "01:01:00"
    assert j["ReqMem"] == "0.50G" and re.search(r"gpu[:=](\d+)", j["ReqTRES"]).group(1) == "3"
    assert j["End"] == "Unknown" and j["State"] == "RUNNING"


def test_sacct_json_and_states(cluster):
    job = cluster.batch("true", "-J", "role-0")
    cluster.wait_state(job, "COMPLETED")
    jobs = json.loads(cluster.out("sacct", "--json", "-S1970-01-01-00:00:01"))["jobs"]
    assert {j["job_id"]: j["state"]["current"] for j in jobs}[job] == "COMPLETED"
    lines = cluster.out("sacct", "--parsable2", "-j", job).splitlines()
    row = dict(zip(lines[0].split("|"), lines[1].split("|")))
    assert row["JobID"] == str(job) and row["JobName"].rpartition("-")[2] == "0" and row["State"] == "COMPLETED"
    assert cluster.out("sacct", "-n", "-X", "-P", "-s", "CD,RQ,BF", "-o", "jobid", "-j", job) == f"{job}\n"
    assert cluster.out("sacct", "-n", "-X", "-s", "RQ", "-j", job) == ""
    assert "unrecognized job state value" in cluster.call("sacct", "-s", "NOSUCH", check=1).stderr
    assert 'Invalid field requested: "nosuch"' in cluster.call("sacct", "-o", "nosuch", check=1).stderr
    assert cluster.out("sacct", "-n", "-X", "-j", job, env={"SACCT_FORMAT": "jobid%-20,state%-5"}) == f"{job:<20} COMP+ \n"


def test_sacct_remarks(cluster):
    """Snakemake's report of efficiency reads the rule's name from the comment."""
    job = cluster.batch("true", "--comment=rule_a")
    cluster.wait_state(job, "COMPLETED")
    text = cluster.out("sacct", "-j", job, "--parsable2", "--noheader",
                       "--format=JobID,JobName,Comment,Elapsed,TotalCPU,NNodes,NCPUS,MaxRSS,ReqMem")
    assert text.splitlines()[0].split("|")[2] == "rule_a"
