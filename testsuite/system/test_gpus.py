"""GPUs that are found: NVML's stand-in (testsuite/nvml) plays the machine."""

import json
import subprocess

import pytest
from cluster import BIN, BUILD

STANDIN = BUILD / "testsuite/nvml"


class Machine:
    """A file that describes a machine, and the environment in which it is seen."""

    def __init__(self, path):
        self.path = path
        self.env = {"LD_LIBRARY_PATH": str(STANDIN), "NVML_STANDIN": str(path)}

    def set(self, *lines):
        new = self.path.with_suffix(".new")
        new.write_text("".join(line + "\n" for line in lines))
        new.rename(self.path)


def h100(i, more=""):
    return f'gpu uuid=GPU-{i} name="NVIDIA H100 80GB HBM3" pci=0:{16 + i:x}:0 minor={i} mem=81559 {more}'


def mig(gpu, i, profile="1g.10gb"):
    return f"mig gpu={gpu} gi={i} ci=0 uuid=MIG-{gpu}-{i} profile={profile} mem=9856"


@pytest.fixture
def machine(tmp_path):
    return Machine(tmp_path / "machine")


# --- gnoded --inventory ---------------------------------------------------------------------------

def inventory(machine, *options):
    return subprocess.run([BIN["gnoded"], "--inventory", *options], env=machine.env, text=True,
                          stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False)


def test_inventory(machine):
    machine.set(h100(0), h100(1), h100(2, "mig=1"), mig(2, 1), mig(2, 2), "link gpu=0 to=1", "link gpu=1 to=0")
    r = inventory(machine, "-N", "gpu04")
    assert r.returncode == 0 and not r.stderr
    assert "node:    gpu04\n" in r.stdout
    assert "gpus:    h100:2,1g.10gb:2\n" in r.stdout
    assert all(len(line) <= 80 for line in r.stdout.splitlines())
    r = inventory(machine, "--json")
    assert r.returncode == 0
    told = json.loads(r.stdout)
    assert told["version"] == 1 and told["driver"] == "550.54.15" and told["cuda"] == "12.4"
    assert [(g["uuid"], g["type"], g["host"]) for g in told["gpus"] if g["mig"] or not g["mig_mode"]] == \
        [("GPU-0", "h100", 0), ("GPU-1", "h100", 1), ("MIG-2-1", "1g.10gb", 2), ("MIG-2-2", "1g.10gb", 2)]
    assert told["gpus"][0]["nvlink_peers"] == [1]


def test_inventory_in_trouble(machine):
    machine.set(h100(0), h100(1), "hang call=nvmlDeviceGetUUID gpu=1")
    r = inventory(machine, "--gpu-timeout=300ms")
    assert r.returncode == 1
    assert "gpus:    h100:1\n" in r.stdout
    assert "trouble: nvmlDeviceGetUUID does not come back" in r.stdout
    machine.set(h100(0), "fail call=nvmlInit result=999")
    r = inventory(machine)
    assert r.returncode == 1
    assert "trouble: nvmlInit: Unknown Error" in r.stdout
    assert json.loads(inventory(machine, "--json").stdout)["trouble"] == "nvmlInit: Unknown Error"


def test_inventory_without(machine):
    machine.env["LD_LIBRARY_PATH"] = ""
    r = inventory(machine)
    assert r.returncode == 0
    assert "gpus:    none\n" in r.stdout
    r = subprocess.run([BIN["gnoded"], "--json"], text=True, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                       stderr=subprocess.PIPE, check=False)
    assert r.returncode == 2 and "--json goes with --inventory" in r.stderr
