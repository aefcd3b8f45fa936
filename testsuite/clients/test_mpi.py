"""Open MPI's mpirun and MPICH's hydra on two nodes, and srun as their launcher."""

import shutil
import subprocess

import pytest
from cluster import BUILD, wait_until
from desk import PROGRAMS, debian

KINDS = {
    "openmpi": ("openmpi-bin libopenmpi-dev", "mpicc.openmpi", "mpirun.openmpi"),
    "mpich": ("mpich libmpich-dev", "mpicc.mpich", "mpiexec.mpich"),
}
# Nodes are names on one host: what MPI would do to reach another one is done over loopback.
SETTINGS = "export OMPI_MCA_btl_tcp_if_include=lo OMPI_MCA_oob_tcp_if_include=lo OMPI_MCA_btl=self,tcp HYDRA_IFACE=lo\n" \
    "export OMPI_MCA_rmaps_base_oversubscribe=0 OMPI_MCA_hwloc_base_binding_policy=none\n"


class Mpi:
    def __init__(self, desk, kind):
        packages, compiler, self.mpirun = KINDS[kind]
        for package in packages.split():
            debian(package, "dpkg", "-s", package)
        if not shutil.which(compiler):
            pytest.skip(f"{compiler} is not there")
        self.desk, self.folder = desk, desk.folder(f"mpi-{kind}")
        subprocess.run([compiler, "-o", self.folder / "ranks", PROGRAMS / "ranks.c"], check=True)

    def submit(self, command, *options):
        text = f"#!/bin/bash\n#SBATCH -N 2 --ntasks-per-node=2 -t 5 -o %j.out\n{SETTINGS}{command}\n"
        r = self.desk.use("sbatch", "--parsable", *options, cwd=self.folder, stdin=text)
        return int(r.stdout)

    def output(self, job):
        return (self.folder / f"{job}.out").read_text()


@pytest.fixture(scope="module", params=KINDS)
def mpi(desk, request):
    return Mpi(desk, request.param)


def ranks(text):
    return sorted(line for line in text.splitlines() if line.startswith("rank "))


ALL = ["rank 0 of 4 on n1 sum 6", "rank 1 of 4 on n1 sum 6", "rank 2 of 4 on n2 sum 6", "rank 3 of 4 on n2 sum 6"]


def test_mpirun_on_two_nodes(mpi):
    job = mpi.submit(f"{mpi.mpirun} ./ranks")
    mpi.desk.wait_state(job, "COMPLETED", "FAILED", timeout=60)
    assert ranks(mpi.output(job)) == ALL, mpi.output(job)


def test_failure(mpi):
    job = mpi.submit(f"{mpi.mpirun} ./ranks fail")
    mpi.desk.wait_state(job, "FAILED", timeout=60)
    assert mpi.desk.slurm("sacct", "-nXP", "-o", "ExitCode", "-j", job).strip() == "7:0", mpi.output(job)


def test_cancel(mpi):
    job = mpi.submit(f"{mpi.mpirun} ./ranks stay")
    wait_until(lambda: (mpi.folder / f"{job}.out").exists() and len(ranks(mpi.output(job))) == 4, "all ranks", 60)
    mpi.desk.slurm("scancel", job)
    mpi.desk.wait_state(job, "CANCELLED")
    wait_until(lambda: not mpi.desk.processes("ranks"), "the ranks to be gone")


def test_srun_starts_the_ranks(mpi):
    """MPICH's library speaks PMI-1, Debian's Open MPI PMIx."""
    if mpi.mpirun.endswith("openmpi"):
        if not (BUILD / "noded/gpmix").exists():
            pytest.skip("built without libpmix, by which srun would start Debian's Open MPI")
        job = mpi.submit("srun --mpi=pmix ./ranks")
    else:
        job = mpi.submit("srun --mpi=pmi2 ./ranks || srun ./ranks")
    mpi.desk.wait_state(job, "COMPLETED", "FAILED", timeout=60)
    assert ranks(mpi.output(job)) == ALL, mpi.output(job)


def test_array_and_requeue(mpi):
    job = mpi.submit(f"{mpi.mpirun} ./ranks; [ $SLURM_RESTART_COUNT -gt 0 ] || scontrol requeue $SLURM_JOB_ID; "
                     "[ $SLURM_RESTART_COUNT -gt 0 ] || sleep 60", "--open-mode=append")
    mpi.desk.wait_state(job, "COMPLETED", "FAILED", timeout=60)
    assert ranks(mpi.output(job)) == sorted(ALL * 2)
