"""What is wrong with GPUs: NVML's stand-in plays the machine, the controller drains and gives back.

One cluster for the whole file; each test leaves both GPUs free."""

import json
import os
import subprocess

import pytest
from cluster import Cluster, wait_until
from test_gpus import MIG_TYPES, Machine, TYPES, h100, layout, mig

GPUS = (h100(0), h100(1))
HOLD = "while [ ! -e {} ]; do sleep 0.05; done"


class Site:
    """The cluster, its machine, and the Xids that it has said and who listens may still hear."""

    def __init__(self, cluster, machine):
        self.c, self.machine, self.xids = cluster, machine, []
        self.more, self.seq = [], 0

    def set(self, *gpus, more=()):
        self.gpus, self.more = gpus or GPUS, list(more)
        self.machine.set(*self.gpus, *self.more, *self.xids)

    def xid(self, gpu, code, of=""):
        self.seq += 1
        self.xids.append(f"xid gpu={gpu} code={code} seq={self.seq} {of}")
        self.machine.set(*self.gpus, *self.more, *self.xids)

    def told(self):
        return json.loads(self.c.run("ginfo", "--gpus", "gpu04", "--json").stdout)["nodes"][0]["devices"]

    def wait(self, gpu, state, reason=None):
        return wait_until(lambda: (lambda g: g["state"] == state and (reason is None or g["reason"].split("; comes back")[0] == reason) and g)
                          (self.told()[gpu]), lambda: f"GPU {gpu} to be {state} ({reason}): {self.told()}")

    def events(self, kind):
        told = json.loads(self.c.run("gctl", "events", "--json").stdout)["events"]
        return [e["text"] for e in told if e["kind"] == kind]

    def wait_event(self, kind, text, times=1):
        wait_until(lambda: self.events(kind).count(text) == times, lambda: f"{kind} '{text}': {self.events(kind)}")

    def set_anew(self, *gpus):
        """Who listens from now on hears nothing of what was before, as with the driver."""
        self.xids.clear()
        self.set(*gpus)

    def seen_us(self, job):
        runs = json.loads(self.c.run("gctl", "show", "job", job, "--json").stdout)["jobs"][0]["runs"]
        return runs[0]["used"].get("gpu_seen_us", 0)

    def start_agent(self):
        self.c.start_agent("gpu04", "--gpu-recheck=100ms", "--gpu-timeout=1s", "--sample-every=100ms", env=self.machine.env)


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    machine = Machine(tmp_path_factory.mktemp("machine") / "machine")
    node = 'nodes = ( { name = "gpu04"; gpus = "h100:2"; health_recheck = "100ms"; } );'
    with Cluster(nodes=("gpu04",), start=False, hardware=f"{TYPES}\n{node}") as c:
        s = Site(c, machine)
        s.set()
        c.start_munged()
        c.start_ctld()
        s.start_agent()
        c.wait_nodes()
        # Nobody hears an Xid that was said before he listened.
        wait_until(lambda: (s.xid(0, 13), s.events("gpu.fault"))[1], "the first Xid")
        yield s


def cut(i, more=""):
    return (h100(i, f"mig=1 {more}"), mig(i, 1), mig(i, 2))


def test_of_a_card_that_is_cut(tmp_path):
    """What is wrong with a GPU is wrong with all its instances, and with those of no other."""
    machine = Machine(tmp_path / "machine")
    node = f'nodes = ( {{ name = "gpu04"; health_recheck = "1s"; {layout(("0-1", "1g.10gb:2"))} }} );'
    with Cluster(nodes=("gpu04",), start=False, hardware=f"{MIG_TYPES}\n{node}") as c:
        s = Site(c, machine)
        s.set(*cut(0), *cut(1))
        c.start_munged()
        c.start_ctld()
        s.start_agent()
        c.wait_nodes()
        wait_until(lambda: (s.xid(0, 13), s.events("gpu.fault"))[1], "the first Xid")
        held = c.submit(HOLD.format("cut"), "--gpus=1g.10gb:1")
        c.wait_state(held, "RUNNING")
        s.xid(0, 48)
        s.wait(0, "draining", "Xid 48: double bit ECC error")
        s.wait(1, "drained", "Xid 48: double bit ECC error")
        assert [g["state"] for g in s.told()[2:]] == ["free", "free"]
        s.set(*cut(0), *cut(1, "temp=95 slowdown=92"))
        for i in (2, 3):
            s.wait(i, "drained", "95 C, it slows down at 92 C")
        s.set(*cut(0), *cut(1))
        for i in (2, 3):
            s.wait(i, "free")
        s.set(*cut(0), *cut(1, "lost=1"))
        for i in (2, 3):
            s.wait(i, "drained", "nvmlDeviceGetHandleByIndex: GPU is lost")
        s.set(*cut(0), *cut(1))
        for i in (2, 3):
            s.wait(i, "free")
        s.set(*cut(0), *cut(1), more=("fail call=nvmlDeviceGetMinorNumber gpu=1 result=999",))
        for i in (2, 3):
            s.wait(i, "drained", "nvmlDeviceGetMinorNumber: Unknown Error")
        s.set(*cut(0), *cut(1))
        for i in (2, 3):
            s.wait(i, "free")
        assert c.state(held) == "RUNNING"
        (c.dir / "jobs/cut").touch()
        c.wait_state(held, "COMPLETED")
        s.wait(0, "drained")


def test_of_one_instance(tmp_path):
    """An Xid that the driver ascribes to a MIG instance drains that one: neither the others of its GPU, nor the other compute
    instance of the same GPU instance. Of an instance that nobody has found all of its GPU are drained."""
    machine = Machine(tmp_path / "machine")
    node = f'nodes = ( {{ name = "gpu04"; {layout(("0-1", "1g.10gb:3"))} }} );'
    halves = [mig(0, 2).replace("ci=0", f"ci={i}").replace("MIG-0-2", f"MIG-0-2-{i}") for i in (0, 1)]
    with Cluster(nodes=("gpu04",), start=False, hardware=f"{MIG_TYPES}\n{node}") as c:
        s = Site(c, machine)
        s.set(h100(0, "mig=1"), mig(0, 1), *halves, *cut(1), mig(1, 3))
        c.start_munged()
        c.start_ctld()
        s.start_agent()
        c.wait_nodes()
        wait_until(lambda: (s.xid(0, 13), s.events("gpu.fault"))[1], "the first Xid")
        at = {g["uuid"]: g["index"] for g in s.told()}
        held = c.submit(HOLD.format("one"), "--gpus=1g.10gb:6")
        c.wait_state(held, "RUNNING")
        s.xid(0, 95, "gi=2 ci=1")
        s.wait(at["MIG-0-2-1"], "draining")
        assert sum(g["state"] == "draining" for g in s.told()) == 1
        s.xid(0, 110, "gi=2")
        s.wait(at["MIG-0-2-0"], "draining")
        assert sum(g["state"] == "draining" for g in s.told()) == 2
        s.xid(1, 95, "gi=9 ci=0")
        for i in (1, 2, 3):
            s.wait(at[f"MIG-1-{i}"], "draining")
        assert s.told()[at["MIG-0-1"]]["state"] == "whole"
        (c.dir / "jobs/one").touch()
        c.wait_state(held, "COMPLETED")


def test_noted(site):
    site.xid(0, 31)
    site.wait_event("gpu.fault", "GPU 0: Xid 31: page fault of a program's: noted (GPU-0)")
    assert [g["state"] for g in site.told()] == ["free", "free"]


def test_one_of_two(site):
    """What runs there goes on, its neighbour too; nothing new is started there, and an operator may say otherwise."""
    held = [site.c.submit(HOLD.format("go"), "--gpus=h100:1") for _ in range(2)]
    for job in held:
        site.c.wait_state(job, "RUNNING")
    site.xid(1, 48)
    g = site.wait(1, "draining", "Xid 48: double bit ECC error")
    assert g["reason"].endswith("; comes back after a boot or a reset that its driver tells of, or by 'gctl resume gpu04:GPU-1'")
    assert g["reason_by"] == "" and g["since"] and not g["recheck"]
    # The trail names whom it hit.
    hit = json.loads(site.c.run("gctl", "events", f"--job={g['runs'][0]['job']}", "--kind=gpu.fault", "--json").stdout)["events"]
    assert [e["text"] for e in hit] == ["GPU 1: Xid 48: double bit ECC error: the GPU is drained (GPU-1)"]
    wide = site.c.submit("true", "--gpus=h100:2")
    (site.c.dir / "jobs/go").touch()
    for job in held:
        site.c.wait_state(job, "COMPLETED")
    site.wait(1, "drained")
    assert "GPU-1 drained: Xid 48" in site.c.run("gctl", "show", "node", "gpu04").stdout
    assert site.c.state(wide) == "PENDING"
    site.c.run("gctl", "resume", "gpu04:1")
    site.c.wait_state(wide, "COMPLETED")
    site.wait(1, "free")


def test_off_the_bus(site):
    site.set(h100(0), h100(1, "lost=1"))
    site.wait(1, "drained", "nvmlDeviceGetHandleByIndex: GPU is lost")
    site.set()
    site.wait(1, "free")
    assert any(t.startswith("GPU 1 is well again: ") and t.endswith("(GPU-1)") for t in site.events("gpu.return"))


@pytest.mark.parametrize("xid, needs, well", [(119, "recovery=1", "recovery=0"), (120, "reset=1", "reset=0")])
def test_reset(site, xid, needs, well):
    """What an Xid has drained comes back after nvidia-smi -r, where the driver says what it needs: since 565, and with 560.

    Till then the agent lets go of it, also while a job runs on the other GPU: nothing that only samples ask is asked of it."""
    told = "GPU 0: the driver says that it needs a reset: the GPU is drained (GPU-0)"
    before = site.events("gpu.fault").count(told)
    site.xid(0, xid)
    why = site.wait(0, "drained")["reason"].split("; comes back")[0]
    assert why.startswith(f"Xid {xid}: ")
    job = site.c.submit(HOLD.format(f"reset-{xid}"), "--gpus=h100:1")
    site.c.wait_state(job, "RUNNING")
    other = h100(1, "recovery=0 compute=10")
    site.set_anew(h100(0, needs), other)
    site.wait_event("gpu.fault", told, before + 1)
    assert site.told()[0]["reason"].startswith(why)
    site.set(h100(0, needs), other, more=["hang call=nvmlDeviceGetComputeRunningProcesses gpu=0"])
    seen = site.seen_us(job)
    wait_until(lambda: site.seen_us(job) > seen + 500_000, "samples of the other")
    assert "ComputeRunningProcesses does not come back" not in (site.c.dir / "log/gnoded-gpu04.log").read_text()
    site.set(h100(0, well), other)
    site.wait(0, "free")
    site.wait_event("gpu.fault", "GPU 0: it was reset: noted (GPU-0)", before + 1)
    site.wait_event("gpu.return", f"GPU 0 is well again: {why} (GPU-0)")
    (site.c.dir / f"jobs/reset-{xid}").touch()
    site.c.wait_state(job, "COMPLETED")
    site.set()


def test_reset_that_an_old_driver_asks_for(site):
    """Drivers before 560 say only that they refuse a call: also then what an Xid has drained comes back after the reset."""
    reset = "GPU 0: it was reset: noted (GPU-0)"
    before = site.events("gpu.fault").count(reset)
    site.xid(0, 143)
    site.wait(0, "drained", "Xid 143: it cannot be initialised")
    site.set_anew(*GPUS)
    site.set(more=["fail call=nvmlDeviceGetMemoryInfo gpu=0 result=16"])
    site.wait_event("gpu.fault", "GPU 0: nvmlDeviceGetMemoryInfo: GPU requires reset: the GPU is drained (GPU-0)")
    site.wait(0, "drained", "Xid 143: it cannot be initialised")
    site.set()
    site.wait(0, "free")
    site.wait_event("gpu.fault", reset, before + 1)


def test_hot_and_an_operators_drain(site):
    site.c.run("gctl", "drain", "gpu04:0", "fan")
    site.set(h100(0, "temp=99"), h100(1, "temp=95 slowdown=92"))
    g = site.wait(1, "drained", "95 C, it slows down at 92 C")
    assert g["recheck"]
    site.wait_event("gpu.fault", "GPU 0: 99 C, it slows down at 90 C: the GPU is drained (GPU-0)")
    site.set()
    site.wait(1, "free")
    site.wait(0, "drained", "fan")
    site.c.run("gctl", "resume", "gpu04:0")
    site.wait(0, "free")


@pytest.mark.parametrize("words,error", [
    (("gpu04:", "fan"), "'gpu04:': the GPU is missing"),
    (("gpu04:2", "fan"), "node gpu04: no GPU is '2'\nhint: it has 2, 0 to 1; or the beginning of one's UUID: ginfo --gpus gpu04"),
    (("gpu04:gpu-0", "fan"), "node gpu04: no GPU is 'gpu-0'"),
    (("gpu04:-1", "fan"), "node gpu04: no GPU is '-1'"),
    (("gpu04:99999999999999999999", "fan"), "no GPU is '99999999999999999999'"),
    (("gpu04:GPU-", "fan"), "node gpu04: several GPUs are 'GPU-'"),
    (("gpu04:0", "gpu04:1", "fan"), "'gpu04:1': expected the reason: only one GPU can be given"),
    (("gpu04:0",), "a reason is required"),
    (("gpu05:0", "fan"), "gpu05"),
], ids=lambda v: " ".join(v) if isinstance(v, tuple) else "")
def test_which_gpu(site, words, error):
    """Nothing is drained for a word that is none of its GPUs, or more than one; and no GPU is not all."""
    r = site.c.run("gctl", "drain", *words, check=False)
    assert r.returncode in (2, 3) and error in r.stderr, r.stderr
    assert [g["state"] for g in site.told()] == ["free", "free"] and site.c.node_states() == {"gpu04": "idle"}


def test_process_left(site):
    """Nobody is given a GPU on which a stranger is, and the stranger's end gives it back."""
    with subprocess.Popen(["sleep", "1000"], start_new_session=True) as stranger:
        try:
            site.set(more=[f"process gpu=0 pid={stranger.pid} mem=500"])
            job = site.c.submit('echo "$GPUSCHED_GPU_UUIDS"', "--gpus=h100:1")
            site.c.wait_state(job, "COMPLETED")
            assert (site.c.dir / f"jobs/gpusched-{job}.out").read_text() == "GPU-1\n"
            site.wait(0, "drained", f"process {stranger.pid} (sleep, uid {os.geteuid()}) left on it")
        finally:
            stranger.kill()
    site.wait(0, "free")


def test_told_to_nobody(site):
    """Xids while there is no controller, and an agent that ends before there is one: told later, applied once."""
    site.c.ctld.kill()
    site.xid(0, 62)
    wait_until(lambda: "GPU GPU-0: xid-62" in (site.c.dir / "log/gnoded-gpu04.log").read_text(), "the Xid")
    site.c.agents["gpu04"].stop()
    site.set_anew()
    site.start_agent()
    site.c.start_ctld()
    site.c.wait_nodes()
    site.wait(0, "drained", "Xid 62: internal microcontroller halt")
    site.c.ctld.kill()
    site.c.start_ctld()
    site.c.wait_nodes()
    site.wait(0, "drained", "Xid 62: internal microcontroller halt")
    site.c.run("gctl", "resume", "gpu04:0")
    assert len([t for t in site.events("gpu.fault") if "Xid 62" in t]) == 1
    site.wait(0, "free")
