"""ClusterShell: its groups of nodes by state, partition, job and user, as its example file asks for them."""

import pathlib

import pytest
from cluster import wait_until
from desk import USER, debian

EXAMPLES = [pathlib.Path(p) for p in ("/etc/clustershell/groups.conf.d/slurm.conf.example", "/etc/clustershell/groups.conf.d/slurm.conf")]


@pytest.fixture(scope="module")
def nodeset(desk):
    debian("clustershell", "nodeset", "--version")
    found = [p for p in EXAMPLES if p.exists()]
    if not found:
        pytest.skip("ClusterShell's example of groups for Slurm is not there")
    conf = desk.folder("clustershell")
    (conf / "groups.conf").write_text(found[0].read_text())

    def call(*args):
        return desk.use("nodeset", "--groupsconf", conf / "groups.conf", *args, cwd=conf).stdout.strip()
    return call


def test_groups(desk, nodeset):
    job = desk.slurm("sbatch", "--parsable", "-N1", "-w", "n2", "--wrap", "sleep 600").strip()
    wait_until(lambda: desk.state(int(job)) == "RUNNING", "the job to run")
    assert nodeset("-f", "@sp:batch") == "n[1-2]"
    assert nodeset("-f", "-s", "sj", f"@{job}") == "n2"
    assert nodeset("-f", f"@su:{USER}") == "n2"
    assert nodeset("-f", "@st:idle") == "n1"
    assert job in nodeset("-s", "sj", "-l")
    desk.slurm("scancel", job)
