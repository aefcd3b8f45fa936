"""ReFrame: its tests are jobs whose tasks srun starts; it asks sacct, or squeue alone."""

import pytest
from desk import PROGRAMS, client


@pytest.fixture(scope="module")
def call(desk):
    bin = client("reframe")

    def run(name, partition):
        folder = desk.folder(f"reframe-{name}-{partition}")
        for f in ("checks", "settings"):
            (folder / f"{f}.py").write_text((PROGRAMS / f"reframe_{f}.py").read_text())
        return desk.use("reframe", "-C", "settings.py", "-c", "checks.py", "--system", f"test:{partition}", "-n", name, "-r", "--nocolor",
                        "--prefix", folder / "out", bin=bin, cwd=folder, check=False)
    return run


@pytest.mark.parametrize("partition", ["batch", "squeue"])
def test_work(call, partition):
    r = call("Tasks", partition)
    assert "[  PASSED  ] Ran 1/1 test case(s)" in r.stdout, r.stdout + r.stderr


def test_failure(call):
    r = call("Fails", "batch")
    assert "[  FAILED  ] Ran 1/1 test case(s)" in r.stdout and r.returncode != 0, r.stdout + r.stderr
