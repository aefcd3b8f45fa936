"""A machine for check_gpu.py where there is none: NVML's stand-in, CUDA's, nvidia-smi and MPS's daemon over one folder.

What programs do through CUDA's stand-in is in its files; a thread has NVML's say the same, as a driver would. Device files, which
only root can make, have numbers that no driver has here: ENXIO is what open(2) says where the filter lets it through.
"""

import contextlib
import os
import pathlib
import shutil
import stat
import struct
import threading
import time

HERE = pathlib.Path(__file__).resolve().parent
TOP = HERE.parents[1]
MEM_MB, WATTS = 256, 300
MAJOR = 195
# Over which compute use is told: so long that two observers see much the same of a kernel that a busy machine delays.
WINDOW_S = 3.0


class Standin:
    def __init__(self, folder, build, gpus=2, driver=True, mig=False):
        """`mig`: the last card is cut into two instances. Without `driver` what programs do is not told."""
        self.folder, self.n, self.mig = pathlib.Path(folder), gpus, mig
        self.machine = self.folder / "machine"
        self.hide_processes = False  # the driver does not tell who is on a GPU
        self.busy = [[] for _ in range(gpus)]  # (when, busy microseconds until then)
        for sub in ("dev", "bin"):
            (self.folder / sub).mkdir(parents=True)
            (self.folder / sub).chmod(0o755)
        self.folder.chmod(0o777)
        shutil.copy(HERE / "standin/nvidia-smi", self.folder / "bin")
        shutil.copy(TOP / "testsuite/system/helpers/mps_standin", self.folder / "bin/nvidia-cuda-mps-control")
        (self.folder / "bin/told").touch()
        (self.folder / "bin/told").chmod(0o666)
        if os.geteuid() == 0:
            self.make_devices()
        self.env = {"NVML_STANDIN": str(self.machine), "CUDA_STANDIN": str(self.folder),
                    "LD_LIBRARY_PATH": f"{build}/testsuite/nvml:{build}/testsuite/hardware/standin",
                    "PATH": f"{self.folder}/bin:{os.environ['PATH']}"}
        self.write()
        self.ended = threading.Event()
        self.thread = threading.Thread(target=self.run, daemon=True)
        if driver:
            self.thread.start()

    def make_devices(self):
        for name, minor in [*((f"nvidia{i}", i) for i in range(self.n)), ("nvidiactl", 255)]:
            os.mknod(self.folder / "dev" / name, stat.S_IFCHR | 0o666, os.makedev(MAJOR, minor))
            (self.folder / "dev" / name).chmod(0o666)

    def plant(self, *faults):
        """Words of cuda.c, for CUDA's stand-in."""
        (self.folder / "faults").write_text("".join(f + "\n" for f in faults))
        (self.folder / "faults").chmod(0o644)

    def plant_smi(self, text):
        """KEY=VALUE that nvidia-smi tells instead."""
        (self.folder / "smi").write_text(text)
        (self.folder / "smi").chmod(0o644)

    def state_of(self, gpu):
        """Busy microseconds, and how many MiB each process that lives has."""
        held = {}
        try:
            data = (self.folder / f"{gpu}.state").read_bytes()
        except FileNotFoundError:
            return 0, held
        if len(data) < 8:
            return 0, held
        for (pid,) in struct.iter_unpack("<i", data[8:]):
            if pid and pathlib.Path(f"/proc/{pid}").exists():
                held[pid] = held.get(pid, 0) + 1
        return struct.unpack_from("<Q", data)[0], held

    def percent(self, gpu, busy):
        now, past = time.monotonic(), self.busy[gpu]
        past.append((now, busy))
        while len(past) > 2 and past[1][0] < now - WINDOW_S:
            past.pop(0)
        span = now - past[0][0]
        return min(100, round((busy - past[0][1]) / 1e4 / span)) if span > 0 else 0

    def write(self):
        gpus, processes = [], []
        for i in range(self.n):
            busy, held = self.state_of(i)
            gpus.append(f'gpu uuid=GPU-{i:08x}-1111-2222-3333-444444444444 name="NVIDIA H100 80GB HBM3" pci=0:{16 + i:x}:0 minor={i} '
                        f"mem={MEM_MB} used={sum(held.values())} compute={self.percent(i, busy)} watts={WATTS} mig={int(self.mig and i == self.n - 1)}")
            if not self.hide_processes:
                processes += [f"process gpu={i} pid={pid} mem={mb} sm=50" for pid, mb in held.items()]
        links = ["link gpu=0 to=1", "link gpu=1 to=0"] if self.n == 2 else []
        if self.mig:
            links += [f"mig gpu={self.n - 1} gi={k} ci=0 uuid=MIG-{k:08x}-5555-6666-7777-888888888888 profile=1g.10gb mem=64" for k in (1, 2)]
        text = "".join(line + "\n" for line in gpus + links + processes)
        if self.machine.exists() and self.machine.read_text() == text:
            return
        new = self.machine.with_suffix(".new")
        new.write_text(text)
        new.chmod(0o644)
        new.rename(self.machine)

    def run(self):
        while not self.ended.wait(0.05):
            with contextlib.suppress(OSError):
                self.write()

    def close(self):
        self.ended.set()
        if self.thread.is_alive():
            self.thread.join()
