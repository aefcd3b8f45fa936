"""Jobs of several components, and what else of sbatch's options scripts of real clients rely on."""

import pytest
from cluster import BUILD, Cluster, wait_until

TORCHX = "--requeue --time=5 --ntasks-per-node=1 --cpus-per-task=2 --mem=100"
SHOW = """#!/bin/sh
#SBATCH --job-name=a-0 {options}
#SBATCH --output=het-%j.out
#SBATCH hetjob
#SBATCH --job-name=a-1 {options} {more}
env | grep -E '^(SLURM_HET|SLURM_.*_HET_GROUP|SLURM_JOB_NODELIST|SLURM_JOB_NUM_NODES|GPUSCHED_HET|GPUSCHED_NODE_RANK)' | sort
"""


@pytest.fixture(name="c", scope="module")
def fixture_c():
    with Cluster(nodes=("n1", "n2"), gpus="demo:4", cpus=16) as c:
        yield c


def submit(c, script, *options, name="script.sh", **kw):
    path = c.dir / "jobs" / name
    path.write_text(script)
    path.chmod(0o755)
    return c.run("gsubmit", *options, path, **kw)


def test_components_become_one_gang(c):
    r = submit(c, SHOW.format(options=TORCHX, more=""), "--parsable", "--hold")
    assert r.stderr == ""  # they are alike
    j = c.job(int(r.stdout))
    assert (j["nodes_min"], j["nodes_max"], j["cpus"], j["mem_mb"], j["name"]) == (2, 2, 2, 100, "a-0")
    r = submit(c, SHOW.format(options=TORCHX, more="--gpus-per-node=3 --mem=200 --nodes=1"), "--parsable", "--hold")
    assert r.stderr == ("gsubmit: warning: the components of the job ask for different amounts; each of its nodes gets the largest of "
                        "each\n")
    j = c.job(int(r.stdout))
    assert (j["nodes_min"], j["mem_mb"], j["gpus_per_node"], j["gpus"][0]["count"]) == (2, 200, True, 3)
    c.run("gcancel", "--state", "PENDING")
    r = submit(c, "#!/bin/sh\n#SBATCH -p batch\n#SBATCH hetjob\n#SBATCH -p other\n", check=False)
    assert r.returncode == 2 and "component 1: --partition=other" in r.stderr


@pytest.mark.skipif(not (BUILD / "noded/gstepd").exists(), reason="this build has no gstepd")
def test_the_script_sees_its_components(c):
    job = int(submit(c, SHOW.format(options=TORCHX, more=""), "--parsable").stdout)
    c.wait_state(job, "COMPLETED")
    lines = (c.dir / f"jobs/het-{job}.out").read_text().split()
    assert lines == [
        "GPUSCHED_HET_NODES=1,1", "GPUSCHED_NODE_RANK=0", f"SLURM_HET_JOB_ID={job}", "SLURM_HET_JOB_OFFSET=0", "SLURM_HET_SIZE=2",
        f"SLURM_JOB_ID_HET_GROUP_0={job}", f"SLURM_JOB_ID_HET_GROUP_1={job}", "SLURM_JOB_NODELIST=n[1-2]",
        "SLURM_JOB_NODELIST_HET_GROUP_0=n1", "SLURM_JOB_NODELIST_HET_GROUP_1=n2", "SLURM_JOB_NUM_NODES=2",
        "SLURM_JOB_NUM_NODES_HET_GROUP_0=1", "SLURM_JOB_NUM_NODES_HET_GROUP_1=1", "SLURM_NNODES_HET_GROUP_0=1",
        "SLURM_NNODES_HET_GROUP_1=1", "SLURM_NODELIST_HET_GROUP_0=n1", "SLURM_NODELIST_HET_GROUP_1=n2"]


def test_ones_own_cluster(c):
    assert ";test\n" in c.run("gsubmit", "--parsable", "-M", "test", "--hold", "--wrap", "true").stdout
    r = c.run("gsubmit", "--clusters=all", "--hold", "--wrap", "true")
    assert r.stdout.endswith(" on cluster test\n")
    for how in (["--clusters=other"], ["-M", "test,other"], ["--test-only", "-M", "other"]):
        r = c.run("gsubmit", *how, "--wrap", "true", check=False)
        assert r.returncode == 2 and "this is cluster test" in r.stderr and not r.stdout, (how, r.stdout, r.stderr)
    bulk = c.dir / "jobs/bulk"
    bulk.write_text('{"script": "x.sh", "clusters": "other"}\n')
    (c.dir / "jobs/x.sh").write_text("#!/bin/sh\n#SBATCH -M other\ntrue\n")
    r = c.run("gsubmit", "--bulk", bulk, check=False)
    assert r.returncode == 2 and "bulk:1" in r.stderr, r.stderr
    c.run("gcancel", "--state", "PENDING")


def test_options_that_change_nothing_say_nothing(c):
    script = "#!/bin/sh\n#SBATCH --wckey=submitit --priority=7 --tmp=0\n#SBATCH --hold\ntrue\n"
    r = submit(c, script, "--wckey=x", env={"SBATCH_WCKEY": "y"})
    assert r.stderr == "" and r.stdout.startswith("Submitted batch job ")
    r = submit(c, script, "--reservation=x", check=False)
    assert r.returncode == 2 and "there are no reservations yet" in r.stderr
    c.run("gcancel", "--state", "PENDING")


def test_a_job_requeues_itself_and_submits_others(c):
    """Inside a job with #SBATCH lines: gctl requeue, and gsubmit of a script of its own and of a nested one."""
    (c.dir / "jobs/inner.sh").write_text(
        "#!/bin/sh\n#SBATCH -J inner -n 1 -o inner-%j.out\necho $SLURM_JOB_ID $SLURM_JOB_NAME ${SLURM_ARRAY_TASK_ID-none} "
        "${SLURM_NTASKS_PER_NODE-none} ${SLURM_HET_SIZE-none} $SLURM_RESTART_COUNT\n")
    script = """#!/bin/sh
#SBATCH -J outer --ntasks-per-node=2 --requeue
#SBATCH -o outer.out --open-mode=append
echo "start $SLURM_RESTART_COUNT"
if [ -z "$SLURM_RESTART_COUNT" ]; then
	gctl requeue "$SLURM_JOB_ID" || exit 9
	while :; do sleep 0.05; done
fi
gsubmit --parsable inner.sh >inner.id || exit 8
"""
    job = int(submit(c, script, "--parsable").stdout)
    c.wait_state(job, "COMPLETED")
    text = (c.dir / "jobs/outer.out").read_text()
    assert "start \n" in text and "start 1\n" in text, text
    inner = int((c.dir / "jobs/inner.id").read_text())
    c.wait_state(inner, "COMPLETED")
    assert (c.dir / f"jobs/inner-{inner}.out").read_text() == f"{inner} inner none none none\n"
    wait_until(lambda: c.job(job)["attempt"] == 2, "the second attempt")
