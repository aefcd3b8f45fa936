"""What README tells of two accounts, on a cluster from etc/quickstart and typed as it stands there: one
borrows, the other takes back, a higher tier preempts with warning and grace, who acknowledges early is not
waited for, and `gqueue --why` tells each of it and names what starts a job."""

import json
import os
import pathlib
import re
import shlex
import shutil
import signal
import subprocess
import tempfile
import time

import pytest
from cluster import BUILD, TOP, Cluster, Failed, wait_until
from rivals import BLUE, GREEN, RED, Rivals

QUICKSTART = TOP / "etc/quickstart"


def told_in_readme():
    """The commands of "Two accounts, one cluster" after the first, which brings the cluster up."""
    text = (TOP / "README").read_text().split("Two accounts, one cluster\n", 1)[1].split("\nAna may now", 1)[0]
    text = re.sub(r"^(    \$ .*?)   .*", r"\1", text, flags=re.M)  # what stands behind a command says what it does
    first, *rest = re.sub(r"^    (\$ )?", "", text, flags=re.M).strip("-\n").splitlines()
    assert first.startswith("etc/quickstart --nodes 4 --gpus h100:8 --no-demo /tmp/two ")
    return "\n".join(rest)


class Quick(Cluster):
    """The cluster of the quickstart, as the tests use theirs."""

    def __init__(self):  # pylint: disable=super-init-not-called
        self.dir = self.run_base = pathlib.Path(tempfile.mkdtemp(prefix="gpusched-test-"))
        self.dir.chmod(0o755)
        self.ctld = self.munged = None
        self.agents, self.extra_env = {}, {"GSUBMIT_NO_SUMMARY": "yes"}
        try:
            self.quickstart("--nodes", "4", "--gpus", "h100:8", "--cpus", "32", "--no-demo", self.dir)
        except subprocess.CalledProcessError as e:
            self.close()
            raise Failed(f"quickstart: {e.stdout}{e.stderr}") from None
        (self.dir / "jobs").mkdir()
        (self.dir / "jobs").chmod(0o1777)

    @staticmethod
    def quickstart(*options):
        subprocess.run([QUICKSTART, *map(str, options)], check=True, capture_output=True, text=True, timeout=120,
                       env={**os.environ, "GPUSCHED_BUILD": str(BUILD),
                            "GPUSCHED_MUNGE_SOCKET": "/nonexistent", "GPUSCHED_CONF": "/nonexistent"})  # of another cluster

    def close(self, keep=False):
        self.quickstart("--stop", self.dir)
        if not keep:
            shutil.rmtree(self.dir, ignore_errors=True)

    def typed(self, lines):
        """A shell after `. ENV`, whose output is returned."""
        return self.run("sh", "-euc", f". {self.dir}/env\n{lines}").stdout


@pytest.fixture(scope="module", name="quick")
def fixture_quick():
    with Quick() as c:
        yield c


def why(c, job):
    """What --why says, on one line."""
    return " ".join(c.run("gqueue", "--why", job).stdout.split())


def held_by_capacity(c, job, partition, node=None, until=None):
    """Nothing but room on a node holds it; where room is made for it, and by whose end."""
    w = json.loads(c.run("gqueue", "--why", job, "--json").stdout)["jobs"][0]["why"]
    assert [b["reason"] for b in w["blockers"]] == ["Resources"] and not w["changes"], w
    assert w["blockers"][0]["text"] == f"needs h100:8 on one node of {partition}: 4 nodes have fewer free"
    if node:
        assert w["blockers"][0]["clears"] == f"on {node}, {until} must end" and w["planned_nodes"] == node


def test_two_accounts_and_a_tier_above(quick):
    c, jobs = quick, Rivals(quick)
    said = c.typed(told_in_readme().replace("/tmp/two", str(c.dir)).replace('"ana"', f'"{RED}"').replace('"li"', f'"{BLUE}"'))
    assert {"accounts.vision added", "accounts.speech added"} <= set(said.splitlines()), "and preemption is on"
    c.conf.write_text(c.conf.read_text()
                      .replace('max_time = "1-00:00:00"; } );',
                               'max_time = "1-00:00:00"; },\n  { name = "urgent"; nodes = "ALL"; tier = 10; } );')
                      .replace('\n);', f',\n  {{ name = "serving"; members = [ "{GREEN}" ]; }}\n);'))
    c.run("gctl", "reconfigure")
    whole = ("--gpus=h100:8", "--time=60")

    # Vision borrows the half that is not its own.
    red = [jobs.submit(RED, *whole, account="vision") for _ in range(4)]
    jobs.wait_up(*red)

    # Speech takes back: one of vision's is told, acknowledges, and need not use up its minute.
    began = time.time()
    blue = jobs.submit(BLUE, *whole, account="speech")
    lent, told = jobs.wait_told(*red)
    assert (told["reason"], told["by_job"], told["by_account"], told["then"]) == ("reclaim", str(blue), "speech", "requeue")
    assert began + 59 <= int(told["deadline"]) <= time.time() + 61
    node = c.job(lent)["node"]
    held_by_capacity(c, blue, "batch", node, lent)
    assert f"does not wait: it is COMPLETING on {node}" in why(c, lent) and f"preempted for job {blue} of {BLUE}" in why(c, lent)
    jobs.say("ack", lent)
    jobs.wait_up(blue)
    assert time.time() < int(told["deadline"]) and c.job(blue)["node"] == node
    jobs.wait_reason(lent, "Resources")
    text = why(c, lent)
    assert "waits again" in text and f"Last note: preempted for job {blue} of {BLUE} (reclaim)." in text
    held_by_capacity(c, lent, "batch")

    # A higher tier stops one more of them, whoever owns the quota.
    left = [j for j in red if j != lent]
    before = c.run("gsubmit", "-p", "urgent", *whole, "-A", "serving", "--test-only", "--wrap=true", **jobs.who(GREEN)).stdout
    began = time.time()
    urgent = jobs.submit(GREEN, "-p", "urgent", *whole, account="serving")
    second, told = jobs.wait_told(*left)
    assert (told["reason"], told["by_job"], told["by_account"]) == ("preempt", str(urgent), "serving")
    assert began + 59 <= int(told["deadline"]) <= time.time() + 61
    held_by_capacity(c, urgent, "urgent", c.job(second)["node"], second)
    said = " ".join(before.split())
    assert f"on {c.job(second)['node']} or earlier" in said and f"; {second} would be told to end for it" in said, "told before it was submitted"
    jobs.say("ack", second)
    jobs.wait_up(urgent)
    assert time.time() < int(told["deadline"])
    jobs.wait_reason(second, "Resources", "Priority")
    assert f"preempted for job {urgent} of {GREEN} (tier)." in why(c, second)

    # When half a node is free, what would start a job of a whole one is named, and does when it is typed.
    c.run("gcancel", lent, second)
    half = jobs.submit(BLUE, "--gpus=h100:4", "--time=60", account="speech")
    jobs.end(urgent)
    jobs.wait_up(half)
    waits = jobs.submit(RED, *whole, account="vision")
    jobs.wait_reason(waits, "Resources")
    node = c.job(half)["node"]
    text = c.run("gqueue", "--why", waits).stdout
    assert re.search(rf"^  --gpus=h100:4 +on {node} with h100:4 ", text, re.M)
    command = re.search(r"^As in: (gctl update .*)", text, re.M)[1]
    assert command == f"gctl update {waits} --gpus=h100:4"
    assert jobs.told() == [j for j in red if j in (lent, second)], "nobody else was stopped for any of it"
    c.run(*shlex.split(command), **jobs.who(RED))
    jobs.wait_up(waits)
    assert c.job(waits)["node"] == node and wait_until(lambda: "does not wait: it is RUNNING" in why(c, waits), "it to run")
    jobs.clear()


def test_a_killed_controller_is_begun_again(quick):
    """--start brings back what is missing, whatever state the nodes are in."""
    job = quick.submit("true", "--hold", "--account=vision", **Rivals.who(RED))
    quick.run("gctl", "drain", "n2", "new driver")
    os.kill(int((quick.dir / "gctld.pid").read_text()), signal.SIGKILL)
    quick.quickstart("--start", quick.dir)
    assert quick.state(job) == "PENDING"
    wait_until(lambda: set(quick.node_states().values()) == {"idle", "drained"}, lambda: f"nodes to be as before: {quick.node_states()}")
    assert "epoch 2" in quick.run("gctl", "ping").stdout
    quick.run("gcancel", job)
