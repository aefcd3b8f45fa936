"""Job steps: srun and gstepd.

The first part plays the run of a job with steps in a folder: no controller, no node. The second part runs
jobs with steps on clusters of several agents.
"""

import contextlib
import os
import pty
import re
import select
import shutil
import signal
import subprocess
import time

import pytest
from cluster import BUILD, DEADLINE, SANITIZED, Cluster, wait_until
from steps import SALLOC, SRUN, Run, alive, script, srun_out

NOISE = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d")

pytestmark = pytest.mark.skipif(not SRUN.exists(), reason="srun is not built")


@pytest.fixture(name="run", scope="module")
def fixture_run():
    run = Run()
    yield run
    run.close()


def lines(text):
    return sorted(text.splitlines())


def mask(text):
    """Numbers of steps and moments are different each time."""
    return NOISE.sub("WHEN", re.sub(r"\b12\.\d+", "12.N", text))


def test_output_and_exit_status(run):
    r = run.srun("-n1", "echo", "hi")
    assert (r.returncode, r.stdout, r.stderr) == (0, "hi\n", "")
    r = run.srun("-n4", "sh", "-c", "exit 3")
    assert (r.returncode, r.stderr) == (3, "srun: error: n1: tasks 0-3: Exited with exit code 3\n")
    r = run.srun("-n2", "sh", "-c", "exit $((3 + SLURM_PROCID))")
    assert r.returncode == 4
    assert lines(r.stderr) == ["srun: error: n1: task 0: Exited with exit code 3",
                               "srun: error: n1: task 1: Exited with exit code 4"]
    r = run.srun("-n1", "sh", "-c", "kill -9 $$")
    assert (r.returncode, r.stderr) == (137, "srun: error: n1: task 0: Killed\n")


def test_texts_of_slurm(run):
    r = run.srun("-n99", "true")
    assert (r.returncode, r.stderr) == (
        1, "srun: error: Unable to create step for job 12: More processors requested than permitted\n")
    r = run.srun("-n1", "/no/such")
    assert r.returncode == 2
    assert lines(r.stderr) == ["slurmstepd-n1: error: execve(): /no/such: No such file or directory",
                               "srun: error: n1: task 0: Exited with exit code 2"]
    r = run.srun("--nosuch", "true")
    assert (r.returncode, r.stderr) == (
        255, "srun: unrecognized option '--nosuch'\nTry \"srun --help\" for more information\n")
    r = run.srun()
    assert (r.returncode, r.stderr) == (1, "srun: fatal: No command given to execute.\n")
    r = run.srun("-n", "x", "true")
    assert (r.returncode, r.stderr) == (1, 'srun: error: Invalid numeric value "x" for --ntasks.\n')
    r = run.srun("-w", "n7", "true")
    assert r.stderr == "srun: error: Unable to create step for job 12: Requested node configuration is not available\n"
    r = run.srun("--version")
    assert r.stdout == "slurm 22.05.8\n"


def test_a_bad_exit_ends_the_others(run):
    r = run.srun("-n2", "-K", "sh", "-c", 'test $SLURM_PROCID = 0 && exit 3; sleep 600')
    assert r.returncode == 143
    assert mask(r.stderr) == """\
srun: error: n1: task 0: Exited with exit code 3
srun: launch/slurm: _step_signal: Terminating StepId=12.N
slurmstepd-n1: error: *** STEP 12.N ON n1 CANCELLED AT WHEN ***
srun: error: n1: task 1: Terminated
srun: Force Terminated StepId=12.N
"""


def test_wait(run):
    r = run.srun("-n2", "--wait=1", "sh", "-c", 'test $SLURM_PROCID = 0 && exit 0; sleep 600')
    assert r.returncode == 143
    text = mask(r.stderr)
    assert text.startswith("srun: First task exited 1s ago\nsrun: StepId=12.N task 1: running\n"
                           "srun: StepId=12.N task 0: exited\nsrun: launch/slurm: _step_signal: Terminating StepId=12.N\n"
                           "srun: Job step aborted: Waiting up to 32 seconds for job step to finish.\n"), text


def test_labels(run):
    r = run.srun("-O", "-n", "12", "-l", "sh", "-c", "echo $SLURM_PROCID; printf end")
    assert lines(r.stdout) == sorted([f"{i:2d}: {i}" for i in range(12)] + [f"{i:2d}: end" for i in range(12)])


def test_environment_of_tasks(run):
    r = run.srun("-n3", "sh", "-c", 'echo $SLURM_PROCID $SLURM_LOCALID $SLURM_NODEID $SLURM_NTASKS $SLURM_STEP_NUM_TASKS '
                 '$SLURM_STEP_NODELIST $SLURM_STEP_TASKS_PER_NODE $SLURM_GTIDS $SLURMD_NODENAME; '
                 'test $SLURM_TASK_PID = $$ && test $SLURM_STEP_ID = $SLURM_STEPID')
    assert r.returncode == 0
    assert lines(r.stdout) == [f"{i} {i} 0 3 3 n1 3 0,1,2 n1" for i in range(3)]


def test_export(run):
    r = run.srun("-n1", "--export=FOO=1,PATH", "sh", "-c", 'echo "$FOO" "$HOME" "${BAR-none}"', env={"BAR": "x"})
    assert r.stdout == "1  none\n"
    r = run.srun("-n1", "--export=ALL,A='1,2'", "sh", "-c", 'echo "$A" "$BAR"', env={"BAR": "x"})
    assert r.stdout == "1,2 x\n"


def test_gpus_of_tasks_and_steps(run):
    r = run.srun("-n2", "--gpus-per-task=1", "sh", "-c", "echo $CUDA_VISIBLE_DEVICES $GPUSCHED_GPUS $GPUSCHED_GPU_UUIDS "
                 "$SLURM_STEP_GPUS")
    assert lines(r.stdout) == ["0 4 GPU-a 4,5", "1 5 GPU-b 4,5"]
    # two steps beside each other have one each, a third waits for the first that ends
    steps = [run.start("-n1", "-G1", "--exact", "sh", "-c", "echo $CUDA_VISIBLE_DEVICES; read x", stdin=subprocess.PIPE)
             for _ in range(2)]
    assert sorted(p.stdout.readline() for p in steps) == ["0\n", "1\n"]
    third = run.start("-n1", "-G1", "--exact", "sh", "-c", "echo $CUDA_VISIBLE_DEVICES")
    assert third.stderr.readline() == (
        "srun: Job 12 step creation temporarily disabled, retrying (Requested nodes are busy)\n")
    r = run.srun("-n1", "--overlap", "sh", "-c", "echo $CUDA_VISIBLE_DEVICES")
    assert r.stdout == "0,1\n"
    steps[0].communicate("\n")
    out, err = third.communicate()
    assert (out, err) in ((f"{i}\n", "srun: Step created for job 12\n") for i in (0, 1))
    steps[1].communicate("\n")
    assert [p.returncode for p in steps] == [0, 0]


def test_immediate(run):
    busy = run.start("cat", stdin=subprocess.PIPE)
    wait_until(lambda: run.srun("-I", "true").returncode == 1, "the step to hold its CPUs")
    r = run.srun("-I", "true")
    assert r.stderr == "srun: error: Unable to create step for job 12: Requested nodes are busy\n"
    busy.communicate("")


def test_input(run):
    assert lines(run.srun("-n2", "-l", "cat", stdin="a\nb\n").stdout) == ["0: a", "0: b", "1: a", "1: b"]
    assert run.srun("-n2", "-l", "-i", "1", "cat", stdin="a\n").stdout == "1: a\n"
    assert run.srun("-n2", "-i", "none", "cat", stdin="a\n").stdout == ""
    (run.dir / "work/in.0").write_text("zero\n")
    (run.dir / "work/in.1").write_text("one\n")
    assert lines(run.srun("-n2", "-i", "in.%t", "cat").stdout) == ["one", "zero"]
    assert run.srun("-n1", "-i", "in.0", "cat").stdout == "zero\n"
    # a task that reads none of it does not hold up the others
    r = run.srun("-n2", "sh", "-c", "test $SLURM_PROCID = 0 || wc -c", stdin="x" * 3000000)
    assert r.stdout == "3000000\n"


def test_standard_files_that_are_closed(run):
    """MPICH's mpiexec starts srun, which starts gstepd, without standard input: nothing else may get its number."""
    for options in ("-i none", ""):
        run.kill_daemons()
        r = subprocess.run(["sh", "-c", f"exec {SRUN} -n2 {options} echo here <&-"], capture_output=True, text=True, check=False,
                           cwd=run.dir / "work", env=run.env, timeout=DEADLINE)
        assert (r.returncode, r.stdout) == (0, "here\nhere\n"), r.stderr
    r = subprocess.run(["sh", "-c", f"exec {SRUN} touch there >&- 2>&-"], check=False, cwd=run.dir / "work", env=run.env,
                       timeout=DEADLINE)
    assert r.returncode == 0 and (run.dir / "work/there").exists()


def test_nothing_of_the_caller_stays_open(run):
    """MPICH's mpiexec waits for the end of pipes that srun has inherited; the gstepd that srun starts has not."""
    run.kill_daemons()
    ends = os.pipe()
    p = run.start("true", pass_fds=[ends[1]])
    os.close(ends[1])
    p.communicate(timeout=DEADLINE)
    assert select.select([ends[0]], [], [], DEADLINE)[0] and os.read(ends[0], 1) == b""
    os.close(ends[0])


def test_much_output(run):
    r = run.srun("-n2", "head", "-c", "20000000", "/dev/zero", text=False, stdin=b"")
    assert len(r.stdout) == 40000000
    # the tasks notice that nothing reads it any more
    p = run.start("yes")
    assert p.stdout.readline() == "y\n"
    p.stdout.close()
    assert p.wait(timeout=DEADLINE) == 128 + signal.SIGPIPE
    p.stderr.close()


def test_output_files(run):
    work = run.dir / "work"
    r = run.srun("-n2", "-o", "o.%t.%j.%n.%N.%x", "sh", "-c", "echo out; echo err >&2")
    assert (r.returncode, r.stdout, r.stderr) == (0, "", "")
    for i in range(2):
        assert (work / f"o.{i}.12.0.n1.job").read_text() == "out\nerr\n"
    run.srun("-n2", "-l", "-o", "all.%j", "-e", "err.%t", "sh", "-c", "echo out; echo err >&2")
    assert lines((work / "all.12").read_text()) == ["0: out", "1: out"]
    assert (work / "err.1").read_text() == "err\n"
    run.srun("-n1", "--open-mode=append", "-o", "all.%j", "echo", "more")
    assert (work / "all.12").read_text().endswith("more\n")
    assert run.srun("-n2", "-o", "none", "echo", "hi").stdout == ""
    assert run.srun("-n2", "-l", "-o", "1", "echo", "hi").stdout == "1: hi\n"
    r = run.srun("-n1", "-o", "/no/such/%t", "true")
    assert r.returncode == 1 and "/no/such/0" in r.stderr


def test_parts(run):
    r = run.srun("-n1", "-l", "sh", "-c", "echo first $SLURM_PROCID", ":", "-n2", "sh", "-c",
                 "echo second $SLURM_PROCID of $SLURM_NTASKS")
    assert (r.returncode, lines(r.stdout)) == (0, ["0: first 0", "1: second 1 of 3", "2: second 2 of 3"])
    r = run.srun("-n1", "-o", "/no/such/%t", "true", ":", "-n1", "sh", "-c", "sleep 0.2; echo second")
    assert (r.returncode, r.stdout) == (1, "second\n")
    r = run.srun("-n3", "true", ":", "-n2", "true")
    assert r.returncode == 1 and "is not available" in r.stderr


def test_multi_prog(run):
    (run.dir / "work/mp").write_text("0 echo zero %t %o\n1-2 echo rest %t %o\n3 sh -c 'echo three; exit 2'\n")
    r = run.srun("-n4", "-l", "--multi-prog", "mp")
    assert r.returncode == 2
    assert lines(r.stdout) == ["0: zero 0 0", "1: rest 1 0", "2: rest 2 1", "3: three"]


def test_bcast(run):
    r = run.srun("-n1", f"--bcast={run.dir}/copied", "echo", "hi")
    assert r.stdout == "hi\n" and os.access(run.dir / "copied", os.X_OK)


def test_time_limit(run):
    r = run.srun("-n1", "-t", "0:01", "sleep", "600")
    assert r.returncode == 143 and "CANCELLED AT WHEN DUE TO TIME LIMIT ***" in mask(r.stderr)


def started(run, *args):
    """A step whose task has said so."""
    p = run.start(*args, "sh", "-c", "echo up; exec sleep 600")
    assert p.stdout.readline() == "up\n"
    return p


def test_signals_of_srun(run):
    p = started(run, "-n1")
    p.send_signal(signal.SIGINT)
    assert p.stderr.readline() == "srun: interrupt (one more within 1 sec to abort)\n"
    assert mask(p.stderr.readline()) == "srun: StepId=12.N task 0: running\n"
    wait_until(lambda: p.send_signal(signal.SIGINT) or p.poll() is not None, "srun to be aborted")  # by two within a second
    p.communicate()
    p = started(run, "-n1")
    p.send_signal(signal.SIGTERM)
    assert p.wait(timeout=DEADLINE) == 143
    assert p.stderr.readline() == "srun: forcing job termination\n"
    p.communicate()
    p = started(run, "-n1")
    p.send_signal(signal.SIGUSR1)
    assert p.wait(timeout=DEADLINE) == 128 + signal.SIGUSR1
    p.communicate()


def test_signals_of_the_node_are_not_handed_on(run):
    """`scancel --signal` reaches the tasks and srun beside them: what srun got from the shepherd the tasks have too."""
    shepherd = run.dir / "gshepherd"
    shepherd.symlink_to(shutil.which("sh"))
    p = run.start("-n1", "sh", "-c", "trap 'echo one' USR1; trap 'echo two; exit' USR2; echo up; while :; do sleep 0.05; done")
    assert p.stdout.readline() == "up\n"
    # It stays, as a shepherd does: srun looks who has sent the signal.
    with subprocess.Popen([shepherd, "-c", f"kill -USR1 {p.pid}; echo sent; read end"], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as sender:
        assert sender.stdout.readline() == b"sent\n"
        os.kill(p.pid, signal.SIGUSR2)
        assert p.communicate(timeout=DEADLINE)[0] == "two\n"
        sender.communicate(b"\n")


def test_nothing_is_left_of_a_step(run):
    r = run.srun("-n1", "sh", "-c", "sleep 600 & echo $!; setsid sleep 600 & echo $!; exit 0")
    pids = [int(x) for x in r.stdout.split()]
    assert len(pids) == 2
    wait_until(lambda: not any(alive(p) for p in pids), "what the step left to be killed")


def test_srun_is_killed(run):
    p = run.start("-n1", "sh", "-c", "echo $$; exec sleep 600")
    pid = int(p.stdout.readline())
    p.kill()
    wait_until(lambda: not alive(pid), "the task to end with its srun")
    p.communicate()
    assert run.srun("-n4", "true").returncode == 0


def test_gstepd_is_killed(run):
    p = started(run, "-n1")
    run.kill_daemons()
    assert p.wait(timeout=DEADLINE) == 1
    p.communicate()
    assert run.srun("-n1", "true").returncode == 0  # the next one starts another


def test_terminal(run):
    pid, fd = pty.fork()
    if pid == 0:
        os.chdir(run.dir / "work")
        os.execve(SRUN, ["srun", "--pty", "-n1", "sh", "-c", 'test -t 0 && echo "size $(stty size)"; read x; echo "got $x"'],
                  run.env)
    out = b""
    deadline = time.monotonic() + DEADLINE
    while b"size" not in out and time.monotonic() < deadline:
        if select.select([fd], [], [], 1)[0]:
            out += os.read(fd, 4096)
    os.write(fd, b"hello\r")
    with contextlib.suppress(OSError):
        while chunk := os.read(fd, 4096):
            out += chunk
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
    assert b"got hello" in out


def test_mpi(run, tmp_path):
    if not shutil.which("mpicc.mpich"):
        pytest.skip("no mpich")
    source = tmp_path / "sum.c"
    source.write_text("""
#include <mpi.h>
#include <stdio.h>
int main(int argc, char **argv)
{
    int rank, sum;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    printf("%d %d\\n", rank, sum);
    MPI_Finalize();
    return 0;
}
""")
    subprocess.run(["mpicc.mpich", "-o", tmp_path / "sum", source], check=True)
    r = run.srun("--mpi=pmi2", "-n4", tmp_path / "sum")
    assert (r.returncode, lines(r.stdout)) == (0, [f"{i} 6" for i in range(4)])


def test_many(run):
    """200 steps one after another, 512 tasks, steps at once; the figures are printed, not judged."""
    t = time.monotonic()
    took, n = [], 100 if SANITIZED else 200
    for _ in range(n):
        begin = time.monotonic()
        assert run.srun("-n1", "true").returncode == 0
        took.append(time.monotonic() - begin)
    took.sort()
    print(f"{n} steps: {time.monotonic() - t:.1f} s, one: median {took[n // 2] * 1000:.1f} ms, "
          f"p99 {took[n * 99 // 100] * 1000:.1f} ms, least {took[0] * 1000:.1f} ms")
    t = time.monotonic()
    r = run.srun("-O", "-n512", "sh", "-c", "echo $SLURM_PROCID")
    assert sorted(map(int, r.stdout.split())) == list(range(512))
    print(f"512 tasks: {time.monotonic() - t:.2f} s")
    steps = [run.start("--exact", "-n1", "--gpus=0", "true") for _ in range(100)]
    for p in steps:
        p.communicate()
    assert [p.returncode for p in steps] == [0] * 100


def test_no_steps_here():
    env = {k: v for k, v in os.environ.items() if not k.startswith(("GPUSCHED", "SLURM"))}
    r = subprocess.run([str(SRUN), "true"], env={**env, "GPUSCHED_JOB_ID": "12"}, capture_output=True, text=True, check=False)
    assert r.returncode == 1 and "job 12 was submitted without steps" in r.stderr


# --- jobs on several nodes ------------------------------------------------------------------------


@pytest.fixture(name="cluster", scope="module")
def fixture_cluster():
    with Cluster(nodes=("n1", "n2", "n3")) as c:
        yield c


def test_tasks_on_two_nodes(cluster):
    text = script(cluster, """
srun -l sh -c 'echo $SLURMD_NODENAME $SLURM_PROCID $SLURM_LOCALID $SLURM_NODEID $GPUSCHED_NODE_RANK'
srun -N2 -n2 --gpus-per-task=1 -l sh -c 'echo gpus $GPUSCHED_GPU_COUNT'
srun -n1 -r1 -Q sh -c 'echo relative $SLURM_NODEID'
head -c 1000000 /dev/zero | srun -N2 -n2 wc -c
srun -N2 -n2 head -c 1000000 /dev/zero | wc -c
srun -l sh -c 'exit $SLURM_PROCID'
""", "--nodes=2", "--ntasks=4", "--gpus-per-node=2", "--nodelist=n1,n2")
    for line in ("0: n1 0 0 0 0", "1: n1 1 1 0 0", "2: n2 2 0 1 1", "3: n2 3 1 1 1", "0: gpus 1", "1: gpus 1", "relative 0",
                 "1000000\n1000000\n2000000", "srun: error: n2: task 3: Exited with exit code 3", "script 3"):
        assert line in text, text


@pytest.mark.parametrize("nodes", (1, 2))
def test_a_step_outlives_its_controller(cluster, nodes):
    """And the next controller lists it, whether its manager has links to other nodes or only reports."""
    c = cluster
    (c.dir / "jobs/go").unlink(missing_ok=True)
    (c.dir / "jobs/long.out").unlink(missing_ok=True)
    job = c.submit("#SBATCH --output=long.out\nsrun -l sh -c 'while [ ! -e go ]; do echo tick; sleep 0.1; done; echo last'\n"
                   "echo script $?", f"--nodes={nodes}", "--ntasks=2", env={"PATH": f"{SRUN.parent}:{c.env['PATH']}"})
    out = c.dir / "jobs/long.out"
    wait_until(lambda: out.exists() and "1: tick" in out.read_text(), "the step to run")
    listed = lambda: f"{job}.0 " in c.run(BUILD / "cmds/slurm-names/squeue", "-s").stdout  # noqa: E731
    wait_until(listed, "the step to be listed")
    c.ctld.stop()
    c.start_ctld()
    wait_until(listed, "the step to be listed again")
    (c.dir / "jobs/go").touch()
    wait_until(lambda: "script 0" in out.read_text(), "the step to end")
    assert {"0: last", "1: last"} <= set(out.read_text().splitlines())
    c.wait_state(job, "COMPLETED")


def test_srun_makes_a_job(cluster):
    r = srun_out(cluster, "-N2", "-n4", "-l", "sh", "-c", "cat; echo $SLURM_NODEID; exit $SLURM_PROCID", stdin="in\n")
    assert r.returncode == 3, r.stderr
    assert lines(r.stdout) == sorted([f"{i}: in" for i in range(4)] + ["0: 0", "1: 0", "2: 1", "3: 1"])
    assert "task 3: Exited with exit code 3" in r.stderr
    r = srun_out(cluster, "-p", "nosuch", "true")
    assert r.returncode == 1 and "Unable to allocate resources" in r.stderr
    r = srun_out(cluster, "--test-only", "-n2", "true")
    assert r.returncode == 0 and re.search(r"using 2 processors on nodes \S+ in partition batch", r.stderr)


def test_salloc(cluster):
    r = srun_out(cluster, "-N2", "-n4", "sh", "-c", "echo $SLURM_JOB_NODELIST; srun -l hostname | wc -l; exit 5", command=SALLOC)
    assert r.returncode == 5, r.stderr
    assert re.fullmatch(r"n\[\d-\d\]\n4\n", r.stdout)
    assert re.search(r"^salloc: Granted job allocation (\d+)\nsalloc: Relinquishing job allocation \1\n\Z", r.stderr, re.M)


def test_a_job_that_others_have(cluster):
    """srun --jobid from a host that is no node of it; another srun in a task on the second node."""
    c = cluster
    r = srun_out(c, "-N2", "-n4", "--no-shell", command=SALLOC)
    job = int(r.stderr.split()[-1])
    r = srun_out(c, f"--jobid={job}", "-n1", "-r1", "sh", "-c", 'echo $GPUSCHED_NODE_RANK; srun --overlap -n2 -l sh -c "echo in"')
    assert lines(r.stdout) == ["0: in", "1", "1: in"], r.stderr
    # what is killed here ends there
    mark = c.dir / "jobs/pid"
    p = subprocess.Popen([SRUN, f"--jobid={job}", "-n1", "sh", "-c", f"echo $$ >{mark}; exec sleep 600"], env=c.env,
                         stdin=subprocess.DEVNULL)
    wait_until(lambda: mark.exists() and mark.read_text().strip(), "the task to run")
    p.kill()
    p.wait()
    wait_until(lambda: not alive(int(mark.read_text())), "the task to end with its srun")
    c.run("gcancel", job)
    c.wait_state(job, "CANCELLED")
    r = srun_out(c, f"--jobid={job}", "true")
    assert r.returncode == 1 and f"Unable to confirm allocation for job {job}" in r.stderr


def test_one_task_of_an_array(cluster):
    """srun --jobid=A_K, and by the task's own id, from outside; A_K within that task and within another."""
    c = cluster
    job = c.submit(f"#SBATCH --array=1,7 -n1\n{SRUN} --jobid=${{SLURM_ARRAY_JOB_ID}}_$SLURM_ARRAY_TASK_ID sh -c 'echo $SLURM_ARRAY_TASK_ID' "
                   ">own-$SLURM_ARRAY_TASK_ID.out\nexec sleep 600", env={"PATH": f"{SRUN.parent}:{c.env['PATH']}"})
    wait_until(lambda: all((c.dir / f"jobs/own-{k}.out").exists() and (c.dir / f"jobs/own-{k}.out").read_text() == f"{k}\n"
                           for k in (1, 7)), "both tasks' own steps")
    show = ("sh", "-c", 'echo $GPUSCHED_ARRAY_TASK_ID')
    raw = dict(line.split("|") for line in c.run(BUILD / "cmds/slurm-names/squeue", "-h", "-r", "-j", job, "-o", "%i|%A").stdout.split())
    for task in ("1", "7"):
        for name in (f"{job}_{task}", raw[f"{job}_{task}"]):
            r = srun_out(c, f"--jobid={name}", *show)
            assert (r.returncode, r.stdout) == (0, f"{task}\n"), (name, r.stderr)
    within = srun_out(c, f"--jobid={job}_1", SRUN, f"--jobid={job}_7", *show)
    assert (within.returncode, within.stdout) == (0, "7\n"), within.stderr
    for name, text in ((f"{job}_3", f"Unable to confirm allocation for job {job}_3: Invalid job id specified"),
                       (f"{job}_x", f'Invalid numeric value "{job}_x" for --jobid.'), ("_7", 'Invalid numeric value "_7" for --jobid.')):
        r = srun_out(c, f"--jobid={name}", "true")
        assert r.returncode == 1 and text in r.stderr, r.stderr
    c.run("gcancel", job)


def test_an_allocation_is_revoked(cluster):
    p = subprocess.Popen([SALLOC, "-N2", "sleep", "600"], env=cluster.env, stderr=subprocess.PIPE, text=True,
                         stdin=subprocess.DEVNULL)
    granted = next(line for line in p.stderr if "Granted" in line)  # it may have said that it waits
    job = granted.split()[-1]
    cluster.run("gcancel", job)
    assert p.wait(timeout=DEADLINE) == 128 + signal.SIGHUP
    assert p.stderr.read() == f"salloc: Job allocation {job} has been revoked.\n"


def test_steps_are_seen_and_ended_under_slurm_s_names(cluster):
    """squeue -s, sacct's rows and scancel N.K: the step ends, and its job goes on."""
    name = lambda n: BUILD / "cmds/slurm-names" / n  # noqa: E731
    job = cluster.submit(f"{SRUN} sleep 600; echo ended $? >ended; {SRUN} -n1 -N1 true; exec sleep 600", "--slurm-env", "-N2", "-n2")
    wait_until(lambda: f"{job}.0 " in cluster.run(name("squeue"), "-s").stdout, "the step to be seen")
    cluster.run(name("scancel"), f"{job}.0")
    wait_until(lambda: (cluster.dir / "jobs/ended").exists(), "the step to end")
    rows = lambda: dict(line.split("|") for line in cluster.run(  # noqa: E731
        name("sacct"), "-nP", "-j", job, "-o", "JobID,State").stdout.splitlines())
    wait_until(lambda: rows().get(f"{job}.1") == "COMPLETED", "the second step's row")
    assert rows()[f"{job}.0"].startswith("CANCELLED") and rows()[f"{job}"] == "RUNNING"
    assert cluster.run("gcancel", f"{job}.7", check=False).returncode == 1
    cluster.run("gcancel", job)


def test_each_part_has_the_nodes_of_its_component(cluster):
    """#SBATCH hetjob and srun A : B, as TorchX has it."""
    script = cluster.dir / "jobs/het.sh"
    script.write_text("#!/bin/sh\n#SBATCH --ntasks-per-node=1 -o het.out\n#SBATCH hetjob\n#SBATCH --ntasks-per-node=1\n"
                      f"{SRUN} --export=ALL,K=1 sh -c 'echo $K $SLURMD_NODENAME' : --export=ALL,K=2 sh -c 'echo $K $SLURMD_NODENAME'\n"
                      "echo $SLURM_JOB_NODELIST_HET_GROUP_0 $SLURM_JOB_NODELIST_HET_GROUP_1\n")
    cluster.run("gsubmit", "--wait", script, cwd=cluster.dir / "jobs")
    said = lines((cluster.dir / "jobs/het.out").read_text())
    nodes = [line.split() for line in said if line[0] == "n"][0]
    assert said[:2] == [f"1 {nodes[0]}", f"2 {nodes[1]}"] and nodes[0] != nodes[1]
