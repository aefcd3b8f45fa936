"""Cylc: the tasks of a workflow are jobs; failures, tries, and the end."""

import pytest
from desk import PROGRAMS, client

GLOBAL = """[platforms]
    [[cluster]]
        hosts = localhost
        job runner = slurm
        install target = localhost
        cylc path = {bin}
        submission polling intervals = PT1S
        execution polling intervals = PT1S
        communication method = poll
"""


def test_workflow(desk):
    bin = client("cylc")
    folder = desk.folder("cylc")
    (folder / "conf").mkdir()
    (folder / "conf/global.cylc").write_text(GLOBAL.format(bin=bin))
    (folder / "source").mkdir()
    (folder / "source/flow.cylc").write_text((PROGRAMS / "flow.cylc").read_text())
    r = desk.use("cylc", "vip", "--no-detach", "--no-timestamp", "--workflow-name", "flow", "./source", bin=bin, cwd=folder, check=False,
                 env={"CYLC_CONF_PATH": str(folder / "conf"), "HOME": str(folder)}, timeout=100)
    done = folder / "cylc-run/flow/run1/share/done"
    assert done.exists(), r.stdout[-3000:] + r.stderr[-3000:]
    assert sorted(done.read_text().split()) == ["a", "b", "c", "end", "first", "last"]
    states = {}
    for j in desk.jobs().values():
        states.setdefault(j["name"].split(".")[0], []).append(j["state"])
    assert states["bad"] == ["FAILED"] and sorted(states["last"]) == ["COMPLETED", "FAILED"]
