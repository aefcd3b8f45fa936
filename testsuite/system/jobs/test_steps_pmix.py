"""srun --mpi=pmix: a PMIx server a node for the tasks of a step (cmds/steps/README.md)."""

import contextlib
import os
import pathlib
import re
import shutil
import signal
import subprocess

import pytest
from cluster import BUILD, Cluster, wait_until
from steps import SRUN, Run, alive, script

SERVER = BUILD / "noded/gpmix"

pytestmark = pytest.mark.skipif(not SRUN.exists(), reason="srun is not built")
built = pytest.mark.skipif(not SERVER.exists(), reason="built without libpmix (Debian: libpmix-dev)")

# Each rank puts a value and gets its right neighbour's: by a fence that collects all, or one by one.
RING = r"""
#include <pmix.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static unsigned number(const pmix_proc_t *of, const char *key)
{
	pmix_value_t *v;
	unsigned n;

	if (PMIx_Get(of, key, NULL, 0, &v) != PMIX_SUCCESS)
		exit(9);
	n = v->type == PMIX_UINT16 ? v->data.uint16 : v->data.uint32;
	PMIX_VALUE_RELEASE(v);
	return n;
}

int main(int argc, char **argv)
{
	const char *how = argc > 1 ? argv[1] : "all";
	bool collect = !strcmp(how, "all");
	pmix_proc_t me, other;
	pmix_info_t info;
	pmix_value_t value;
	unsigned size;

	if (PMIx_Init(&me, NULL, 0) != PMIX_SUCCESS)
		return 8;
	PMIX_LOAD_PROCID(&other, me.nspace, PMIX_RANK_WILDCARD);
	size = number(&other, PMIX_JOB_SIZE);
	value.type = PMIX_UINT32;
	value.data.uint32 = me.rank * 10;
	PMIx_Put(PMIX_GLOBAL, "ten", &value);
	PMIx_Commit();
	if (!strcmp(how, "leave") && me.rank == 1)
		_exit(5);
	if (!strcmp(how, "abort") && me.rank == 1)
		PMIx_Abort(6, "no more", NULL, 0);
	PMIX_INFO_LOAD(&info, PMIX_COLLECT_DATA, &collect, PMIX_BOOL);
	if (PMIx_Fence(NULL, 0, &info, 1) != PMIX_SUCCESS)
		return 7;
	other.rank = (me.rank + 1) % size;
	printf("rank %u of %u, local %u on node %u: %u\n", me.rank, size, number(&me, PMIX_LOCAL_RANK), number(&me, PMIX_NODEID),
	       number(&other, "ten"));
	if (!strcmp(how, "some") && me.rank < 2) {
		pmix_proc_t two[2];

		PMIX_LOAD_PROCID(&two[0], me.nspace, me.rank);
		PMIX_LOAD_PROCID(&two[1], me.nspace, 1 - me.rank);
		if (PMIx_Fence(two, 2, NULL, 0) != PMIX_SUCCESS)
			return 6;
	}
	fflush(stdout);
	PMIx_Fence(NULL, 0, NULL, 0); /* what was put is there as long as its rank is */
	PMIx_Finalize(NULL, 0);
	return !strcmp(how, "fail") && me.rank == 1 ? 3 : 0;
}
"""

# Both nodes are this host: what Open MPI does to reach another one is done over loopback.
OPEN_MPI = {"OMPI_MCA_btl": "tcp,self", "OMPI_MCA_btl_tcp_if_include": "lo"}

RANKS = r"""
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int main(int argc, char **argv)
{
	int rank, size, sum;

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &size);
	MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
	printf("rank %d of %d on %s: %d\n", rank, size, getenv("SLURMD_NODENAME"), sum);
	fflush(stdout);
	if (argc > 1 && !strcmp(argv[1], "abort") && rank == 1)
		MPI_Abort(MPI_COMM_WORLD, 7);
	if (argc > 1 && !strcmp(argv[1], "stay"))
		sleep(600);
	MPI_Finalize();
	return argc > 1 && !strcmp(argv[1], "fail") && rank == size - 1 ? 3 : 0;
}
"""


def compile_ring(folder):
    flags = subprocess.run(["pkg-config", "--cflags", "--libs", "pmix"], capture_output=True, text=True, check=True).stdout.split()
    (folder / "ring.c").write_text(RING)
    subprocess.run(["cc", "-o", folder / "ring", folder / "ring.c", *flags], check=True)
    return folder / "ring"


def compile_ranks(folder):
    if not shutil.which("mpicc.openmpi"):
        pytest.skip("there is no mpicc.openmpi (Debian: openmpi-bin libopenmpi-dev)")
    (folder / "ranks.c").write_text(RANKS)
    subprocess.run(["mpicc.openmpi", "-o", folder / "ranks", folder / "ranks.c"], check=True)
    return folder / "ranks"


@pytest.fixture(name="run", scope="module")
def fixture_run():
    run = Run()
    run.env["SLURM_JOBID"] = "12"  # by which Open MPI knows that srun has started it
    yield run
    run.close()


@pytest.fixture(name="ring", scope="module")
def fixture_ring(tmp_path_factory):
    return compile_ring(tmp_path_factory.mktemp("ring"))


def lines(text):
    return sorted(text.splitlines())


def servers(folder, program=SERVER):
    """The pids of the PMIx servers of that run's steps."""
    found = []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        with contextlib.suppress(OSError):
            if (os.readlink(f"/proc/{pid}/exe") == str(program)
                    and str(folder).encode() in pathlib.Path(f"/proc/{pid}/environ").read_bytes()):
                found.append(int(pid))
    return found


def the_server(folder):
    """The only one, once those of earlier steps have ended."""
    return wait_until(lambda: (lambda pids: pids if len(pids) == 1 else None)(servers(folder)), "one server")[0]


@pytest.mark.skipif(SERVER.exists(), reason="built with libpmix")
def test_without_the_library(run):
    r = run.srun("--mpi=pmix", "-n4", "true")
    assert r.returncode == 1 and "no PMIx" in r.stderr


@built
def test_without_the_server(tmp_path):
    """As where gpmix is a package of its own, and is not installed on the node."""
    gstepd = shutil.copy(BUILD / "noded/gstepd", tmp_path)
    run = Run()
    run.env["GPUSCHED_STEPD"] = gstepd
    r = run.srun("--mpi=pmix", "-n2", "true")
    assert r.returncode == 1 and "there is no PMIx server on this node" in r.stderr
    (tmp_path / "gpmix").symlink_to("/bin/false")  # nor does one that ends at once leave the tasks waiting
    r = run.srun("--mpi=pmix", "-n2", "true")
    assert r.returncode != 0 and "mpi/pmix: there is no PMIx server" in r.stderr
    for pid in servers(run.dir, gstepd):
        os.kill(pid, signal.SIGKILL)
    run.close()


@built
def test_types(run):
    assert "\tpmix\n" in run.srun("--mpi=list").stdout
    for kind in ("pmix", "pmix_v4"):
        assert run.srun(f"--mpi={kind}", "true").returncode == 0
    assert run.srun("--mpi=pmix_v9", "true").returncode == 1
    r = run.srun("--mpi=pmix", "/no/such")
    assert r.returncode == 2 and "execve(): /no/such" in r.stderr


@built
@pytest.mark.parametrize("how", ("all", "lazy", "some"))
def test_values_on_one_node(run, ring, how):
    r = run.srun("--mpi=pmix", "-n4", ring, how)
    assert (r.returncode, r.stderr, lines(r.stdout)) == (
        0, "", [f"rank {i} of 4, local {i} on node 0: {(i + 1) % 4 * 10}" for i in range(4)])
    wait_until(lambda: not servers(run.dir), "the server to end with its step")
    assert not list((run.dir / "run").glob("pmix*"))


@built
def test_parts_have_one_namespace(run, ring):
    r = run.srun("--mpi=pmix", "-n1", ring, ":", "--mpi=pmix", "-n2", ring)
    assert (r.returncode, r.stderr, lines(r.stdout)) == (
        0, "", [f"rank {i} of 3, local {i} on node 0: {(i + 1) % 3 * 10}" for i in range(3)])


@built
def test_exit_status(run, ring):
    r = run.srun("--mpi=pmix", "-n4", ring, "fail")
    assert (r.returncode, r.stderr) == (3, "srun: error: n1: task 1: Exited with exit code 3\n")
    # One that goes without a word would be waited for by all the others.
    r = run.srun("--mpi=pmix", "-n4", ring, "leave")
    assert r.returncode >= 5 and "task 1: Exited with exit code 5" in r.stderr
    r = run.srun("--mpi=pmix", "-n4", "sh", "-c", f"test $SLURM_PROCID != 1 || exec {ring} abort; exec sleep 600")
    assert r.returncode == 128 + signal.SIGTERM


@built
def test_the_server_is_killed(run):
    p = run.start("--mpi=pmix", "-n2", "sh", "-c", "echo up; exec sleep 600")
    assert p.stdout.readline() == "up\n"
    pid = the_server(run.dir)
    os.kill(pid, signal.SIGKILL)
    assert p.wait(timeout=60) == 128 + signal.SIGTERM
    assert run.srun("--mpi=pmix", "-n2", "true").returncode == 0


@built
def test_the_daemon_is_killed(run):
    p = run.start("--mpi=pmix", "-n2", "sh", "-c", "echo up; exec sleep 600")
    assert p.stdout.readline() == "up\n"
    pid = the_server(run.dir)
    os.kill(run.daemons()[0], signal.SIGKILL)
    p.wait(timeout=60)
    wait_until(lambda: not alive(pid), "the server to end with gstepd")


@built
def test_steps_at_once(run, ring):
    steps = [run.start("--mpi=pmix", "--overlap", "-n2", ring) for _ in range(5)]
    for p in steps:
        assert lines(p.communicate(timeout=60)[0]) == [f"rank {i} of 2, local {i} on node 0: {(1 - i) * 10}" for i in range(2)]


@pytest.fixture(name="cluster", scope="module")
def fixture_cluster():
    with Cluster(nodes=("n1", "n2")) as c:
        yield c


TWO = ("--nodes=2", "--ntasks=4", "--time=5")


@built
@pytest.mark.parametrize("how", ("all", "lazy", "some"))
@pytest.mark.parametrize("order", ("block", "cyclic"))
def test_values_on_two_nodes(cluster, ring, how, order):
    text = script(cluster, f"srun --mpi=pmix -m {order} {ring} {how}", *TWO)
    place = (lambda i: (i % 2, i // 2)) if order == "block" else (lambda i: (i // 2, i % 2))
    assert lines(text) == [f"rank {i} of 4, local {place(i)[0]} on node {place(i)[1]}: {(i + 1) % 4 * 10}" for i in range(4)] + [
        "script 0"]


@built
def test_open_mpi_on_one_node(run, tmp_path):
    ranks = compile_ranks(tmp_path)
    r = run.srun("--mpi=pmix", "-n4", ranks)
    assert (r.returncode, lines(r.stdout)) == (0, [f"rank {i} of 4 on n1: 6" for i in range(4)]), r.stderr
    r = run.srun("--mpi=pmix", "-n4", ranks, "fail")
    assert r.returncode == 3
    r = run.srun("--mpi=pmix", "-n4", ranks, "abort")
    assert r.returncode != 0 and "MPI_ABORT was invoked on rank 1" in r.stderr


@built
def test_open_mpi_on_two_nodes(cluster):
    ranks = compile_ranks(cluster.dir / "jobs")
    settings = "".join(f"export {k}={v}\n" for k, v in OPEN_MPI.items())
    text = script(cluster, f"{settings}srun --mpi=pmix {ranks}; echo first $?; srun --mpi=pmix {ranks} fail; echo second $?\n"
                  f"srun --mpi=pmix {ranks} abort; echo third $?", *TWO)
    for i in range(4):
        assert f"rank {i} of 4 on n{1 + i // 2}: 6\n" in text, text
    assert "first 0\n" in text and "second 3\n" in text and re.search("third [1-9]", text), text


@built
def test_a_cancelled_step_leaves_nothing(cluster):
    ranks = compile_ranks(cluster.dir / "jobs")
    job = cluster.submit(f"#SBATCH --output=stay.out\n{SRUN} --mpi=pmix {ranks} stay", *TWO, env=OPEN_MPI)
    out = cluster.dir / "jobs/stay.out"
    wait_until(lambda: out.exists() and out.read_text().count("rank ") == 4, "all ranks")
    pids = servers(cluster.dir)
    assert len(pids) == 2
    cluster.run("gcancel", job)
    cluster.wait_state(job, "CANCELLED")
    wait_until(lambda: not any(map(alive, pids)), "the servers to end")
