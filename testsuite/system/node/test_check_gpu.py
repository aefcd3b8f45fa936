"""The acceptance test for real GPUs (testsuite/hardware), tried where there are none: stand-ins for NVML, CUDA, nvidia-smi and MPS
play the machine. Each row says what it must, and a planted fault makes the row fail that is there for it, and no other."""

import os
import pathlib
import re
import subprocess
import sys

import pytest

from cluster import BUILD, ROOT, TOP
from tools import need

HARDWARE = TOP / "testsuite/hardware"
sys.path.insert(0, str(HARDWARE))
from standin import Standin  # pylint: disable=wrong-import-position,wrong-import-order

needs_root = pytest.mark.skipif(not ROOT, reason="device filters and jobs of two users need root")
ROWS = re.compile(r"^\| (.*?) \| (.*?) \| (.*?) \| (.*) \|$", re.M)


class Machine:
    def __init__(self, folder, **how):
        os.chmod(folder, 0o755)
        self.folder = folder
        self.standin = Standin(folder / "m", BUILD, **how)

    def check(self, *options, only=(), env=None):
        """Run it; {row: (verdict, on, evidence)}. What is busy elsewhere makes no row fail."""
        r = subprocess.run(["/usr/bin/python3", HARDWARE / "check_gpu.py", "--dev", self.standin.folder / "dev", "--slack=20", "--duty-seconds=7",
                            *(f"--only={o}" for o in only), *options], capture_output=True, text=True, check=False, timeout=600,
                           env={**os.environ, **self.standin.env, "GPUSCHED_BUILD": str(BUILD), "GPUSCHED_TEST_DEADLINE": "60", **(env or {})})
        assert r.returncode in (0, 1), r.stdout + r.stderr
        rows = {what: (verdict, on, seen) for what, verdict, on, seen in ROWS.findall(r.stdout) if set(what) != {"-"} and what != "what"}
        assert r.returncode == any(v[0] == "FAIL" for v in rows.values()), r.stdout + r.stderr
        return rows


@pytest.fixture(name="machine")
def fixture_machine(tmp_path):
    made = []

    def make(**how):
        made.append(Machine(tmp_path, **how))
        return made[-1]
    # The jobs' users must come through.
    for p in tmp_path.parents:
        if p.owner() == pathlib.Path(tmp_path).owner() and not p.stat().st_mode & 1:
            p.chmod(p.stat().st_mode | 0o111)
    yield make
    for m in made:
        m.standin.close()


def failed(rows):
    return {what for what, v in rows.items() if v[0] == "FAIL"}


# What is served where there is no torch.
MODEL = """
import time
class Model:
    def generate(self, prompts):
        time.sleep(0.3)
        return [str(p) for p in prompts]
"""


def test_all_of_it(machine, tmp_path):
    """Two GPUs and all that can be wished for; nothing is taken for hardware; the table goes between its marks."""
    (tmp_path / "out.md").write_text("before\n<!-- hardware begin -->\nold\n<!-- hardware end -->\nafter\n")
    m = machine()
    (tmp_path / "model.py").write_text(MODEL)
    rows = m.check("--write", tmp_path / "out.md", "--model", tmp_path / "model.py")
    if any(row.startswith("compute use") for row in failed(rows)):
        # The stand-in's kernel keeps to its duty by the clock, which a busy machine spoils: once more, by itself, and
        # 10 points apart are enough to tell 30% from 80%.
        rows |= m.check("--slack=5", only=["compute use"])
    assert not failed(rows), rows
    assert {v[1] for v in rows.values()} <= {"stand-in", ""}
    assert {what for what, v in rows.items() if v[0] == "pass"} >= {
        "discovery: UUID", "discovery: NVLink and PCIe between GPUs", "discovery: device minors", "the controller has the same GPUs",
        "a CUDA program sees exactly its GPU", "a job without GPUs sees none", "several GPUs are in the order granted",
        *(["a run with a GPU opens its own"] if ROOT else []),  # who makes no device file has none to open
        "memory of a process", "compute use, a kernel at 30%", "compute use, a kernel at 80%",
        "energy, a kernel at 30%", "a process left on a free GPU is found", "residue between two users, with gpu-scrub",
        "the watchdog ends who takes more than his part", "its neighbour's output is that of a solo run",
        "the page of metrics", "a GPU handed over with a warning", "a service on parts of one GPU",
        "a model under load beside a batch job",
        "MPS: a part of the compute", "MPS: the memory limit holds"}, rows
    told = (tmp_path / "out.md").read_text()
    assert told.startswith("before\n<!-- hardware begin -->\n2") and told.endswith("\n<!-- hardware end -->\nafter\n")
    assert "stand-in, no hardware: 2 x NVIDIA H100" in told and "\nold\n" not in told


# What is planted, the functions that are run, and all rows that must fail then.
SMI = {
    "uuid=GPU-0": {"discovery: UUID"},
    "name=H200 memory.total=9 pci.bus_id=00000000:77:00.0": {"discovery: name", "discovery: memory, MiB", "discovery: PCI address"},
    "mig.mode.current=Enabled ecc.mode.current=Disabled": {"discovery: MIG mode", "discovery: ECC"},
    "enforced.power.limit=350.00 driver_version=1.2": {"discovery: power limit, W", "discovery: driver"},
    "minor=7": {"discovery: device minors"},
}


@pytest.mark.parametrize("text", SMI, ids=lambda t: t.split("=")[0])
def test_what_nvidia_smi_says_otherwise(machine, text):
    m = machine(driver=False)
    m.standin.plant_smi(text)
    rows = m.check(only=["discovery"])
    assert failed(rows) >= SMI[text] and (text.startswith("uuid") or failed(rows) == SMI[text]), rows


def test_samples_of_idle_gpus(machine):
    m = machine(driver=False)
    rows = m.check(only=["idle GPUs"])
    assert not failed(rows) and {what for what, v in rows.items() if v[0] == "pass"} == {"idle GPU 0, sampled", "idle GPU 1, sampled"}, rows
    m.standin.plant_smi("temperature.gpu=80")
    assert failed(m.check(only=["idle GPUs"])) == {"idle GPU 0, sampled", "idle GPU 1, sampled"}


def test_a_page_that_differs(machine):
    m = machine()
    m.standin.plant_smi("memory.used=3000")
    assert failed(m.check(only=["page of metrics"])) == {"the page of metrics"}


def test_links_that_are_none(machine):
    """One has found what the other has not."""
    m = machine(driver=False)
    smi = m.standin.folder / "bin/nvidia-smi"
    smi.write_text(smi.read_text().replace('f"NV{n}" if n else "SYS"', '"SYS"'))
    assert failed(m.check(only=["discovery"])) == {"discovery: NVLink and PCIe between GPUs"}


CUDA = [
    (("all-visible",), ["sees exactly"], {"a CUDA program sees exactly its GPU", "a job without GPUs sees none"}),
    (("disturbed",), ["watchdog"], {"its neighbour's output is that of a solo run"}),
    (("no-limit",), ["MPS"], {"MPS: the memory limit holds"}),
    (("kept",), ["handed over"], {"a GPU handed over with a warning"}),
    (("full",), ["handed over", "parts of one"], {"a GPU handed over with a warning", "a service on parts of one GPU"}),
]


@pytest.mark.parametrize("faults, only, fails", CUDA, ids=lambda v: v[0] if isinstance(v, tuple) else "")
def test_what_cuda_does_otherwise(machine, faults, only, fails):
    m = machine()
    m.standin.plant(*faults)
    assert failed(m.check(only=only)) == fails


def test_a_card_that_is_cut(machine):
    """The instances are found, and each is all that its run sees."""
    m = machine(mig=True)
    rows = m.check(only=["discovery", "same GPUs", "MIG instance"])
    assert not failed(rows), rows
    assert rows["a run sees its MIG instance alone: 1g.10gb"][:2] == ("pass", "stand-in")
    assert rows["discovery: MIG instances"][2].startswith("MIG-00000001-") and rows["discovery: MIG mode"][2] == "off, on"
    m.standin.plant("all-visible")
    assert failed(m.check(only=["MIG instance"])) == {"a run sees its MIG instance alone: 1g.10gb"}


# What the PyTorch row uses of it: tensors of one number an item.
TORCH = """
__version__ = "0"
class T(list):
    shift = 0
    def split(self, n): return [T(self[i:i + n]) for i in range(0, len(self), n)]
    def to(self, where): return self
    def cpu(self): return self
    def __sub__(self, other): return T(a - b for a, b in zip(self, other))
    def abs(self): return T(map(abs, self))
    def max(self): return max(self) if self else 0
class Model:
    where = "cpu"
    def eval(self): return self
    def to(self, where):
        self.where = where
        return self
    def __call__(self, items): return T(2 * x + (WRONG if self.where == "cuda" else 0) for x in items)
class nn:
    Linear = ReLU = staticmethod(lambda *a: None)
    Sequential = staticmethod(lambda *a: Model())
class inference_mode:
    def __enter__(self): pass
    def __exit__(self, *a): pass
class cuda:
    is_available = staticmethod(lambda: True)
    device_count = staticmethod(lambda: 1)
    get_device_name = staticmethod(lambda i: "a GPU")
class backends:
    class cuda:
        class matmul: pass
def manual_seed(n): pass
def randn(n, m): return T(range(n))
def cat(parts): return T(x for p in parts for x in p)
"""


def test_pytorch(machine, tmp_path):
    m = machine(driver=False)
    (tmp_path / "stubs").mkdir()
    for wrong, verdict in (("0", "pass"), ("500", "FAIL")):
        (tmp_path / "stubs/torch.py").write_text(TORCH.replace("WRONG", wrong))
        rows = m.check(only=["PyTorch"], env={"PYTHONPATH": str(tmp_path / "stubs"), "PYTHONDONTWRITEBYTECODE": "1"})
        assert rows["a PyTorch batch-inference job"][0] == verdict, rows
    assert "16384 items" in rows["a PyTorch batch-inference job"][2]


@needs_root
def test_residue(machine):
    """A driver that clears nothing: seen without a scrub program, gone with it; one that does nothing is found out."""
    m = machine(gpus=1)
    m.standin.plant("residue")
    rows = m.check(only=["residue"])
    assert "found 0 MiB of the pattern" not in rows["residue between two users, no scrub program"][2] and not failed(rows), rows
    rows = m.check("--scrub=echo cleared", only=["with gpu-scrub"])
    assert failed(rows) == {"residue between two users, with gpu-scrub"}, rows


def test_who_is_not_watched(machine):
    """A driver that tells of nobody's memory: what cannot be judged is not passed, and who takes too much goes on."""
    m = machine()
    m.standin.hide_processes = True
    rows = m.check(only=["memory of a process", "watchdog"])
    assert failed(rows) == {"the watchdog ends who takes more than his part"}
    assert rows["memory of a process"][0] == "not here"


def test_compute_use_that_differs(machine):
    m = machine()
    m.standin.plant_smi("more_use=60")
    assert failed(m.check("--slack=5", only=["compute use"])) == {"compute use, a kernel at 30%", "compute use, a kernel at 80%"}


@needs_root
def test_a_foreign_device_that_opens(machine):
    """The other GPU's file is one of the first one's: a filter that lets it through has failed."""
    m = machine()
    (m.standin.folder / "dev/nvidia1").unlink()
    os.mknod(m.standin.folder / "dev/nvidia1", 0o20666, os.makedev(195, 0))
    os.chmod(m.standin.folder / "dev/nvidia1", 0o666)
    assert "a foreign device cannot be opened" in failed(m.check(only=["foreign"]))


def test_where_nothing_is_enforced(machine):
    """As in a container without control groups: said, and neither passed nor failed."""
    rows = machine().check("--agent=--cgroup=none", only=["foreign", "sees exactly"])
    assert not failed(rows), rows
    for what in ("a job without GPUs opens no device file", "a foreign device cannot be opened", "numbering inside the filter"):
        assert rows.get(what, ("not enforced here",))[0] in ("not enforced here", "not here"), rows
    if ROOT:
        assert rows["a foreign device cannot be opened"][0] == "not enforced here" and "nvidia1 ENXIO" in rows["a foreign device cannot be opened"][2]


def test_one_row_does_not_stop_the_others(machine):
    """A tool that hangs: its row fails when its time is over, and the next is tried."""
    m = machine(driver=False)
    smi = m.standin.folder / "bin/nvidia-smi"
    smi.write_text("#!/bin/sh\nexec sleep 300\n")
    rows = m.check("--row-seconds=8", only=["discovery", "containment"])
    assert "not over within 8 s" in rows["discovery against nvidia-smi"][2]
    assert rows["containment of runs"][0] == "seen"


def test_packed(machine, tmp_path):
    """For a machine without compiler and packages: all programs, and all libraries but the C library's."""
    need("objdump")
    subprocess.run([HARDWARE / "pack", BUILD, tmp_path / "p.tar.gz"], check=True, capture_output=True, timeout=120)
    subprocess.run(["tar", "-C", tmp_path, "-xf", tmp_path / "p.tar.gz"], check=True, timeout=60)
    here = tmp_path / "check-gpu"
    needed = {m for p in [*here.glob("*/g*"), here / "bin/munged"] if p.is_file() and p.read_bytes()[:4] == b"\x7fELF"
              for m in re.findall(r"NEEDED\s+(\S+)", subprocess.run(["objdump", "-p", p], capture_output=True, text=True, check=True).stdout)}
    assert {n for n in needed if not re.match(r"(libc|libm|libdl|librt|libpthread|libresolv|ld-linux.*)\.so", n)} <= {p.name for p in here.glob("lib/*")}
    m = machine(gpus=1)
    r = subprocess.run([here / "check-gpu", "--only=sees exactly", "--dev", m.standin.folder / "dev"], capture_output=True, text=True,
                       check=False, timeout=300, env={**os.environ, **m.standin.env})
    assert r.returncode == 0 and "| a CUDA program sees exactly its GPU | pass | stand-in |" in r.stdout, r.stdout + r.stderr


def test_without_a_gpu():
    """It says what is missing."""
    env = {k: v for k, v in os.environ.items() if k not in ("NVML_STANDIN", "CUDA_STANDIN", "LD_LIBRARY_PATH")}
    r = subprocess.run(["/usr/bin/python3", HARDWARE / "check_gpu.py"], env={**env, "GPUSCHED_BUILD": str(BUILD)},
                       capture_output=True, text=True, check=False, timeout=60)
    if r.returncode != 77:
        pytest.skip("there is a GPU here")
    assert "gnoded --inventory finds no GPU" in r.stdout and "libcuda.so.1" in r.stdout and "nvidia-smi" in r.stdout


def test_usage():
    r = subprocess.run(["/usr/bin/python3", HARDWARE / "check_gpu.py", "--only=no-such-row"], capture_output=True, text=True, check=False,
                       env={**os.environ, "GPUSCHED_BUILD": str(BUILD)}, timeout=60)
    assert r.returncode == 2 and "no-such-row" in r.stderr
    r = subprocess.run([BUILD / "testsuite/hardware/gputool", "hold"], capture_output=True, text=True, check=False, timeout=60)
    assert r.returncode == 2 and "usage: gputool" in r.stderr
