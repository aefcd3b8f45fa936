"""machine.py - a plain Debian machine in qemu: systemd as its first process, cgroup v2 and nothing else

`Machine` boots one, runs commands in it as root, resets it (which is a power loss: what it had not written is gone)
and turns it off. The sources and the build are there at the paths that they have here, read-only. Its disk is a
copy of an image that is made once, out of Debian's packages; it has no network and nobody can log in.
"""

import contextlib
import hashlib
import json
import os
import pathlib
import shutil
import socket
import subprocess
import tempfile
import time

TOP = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(os.environ.get("GPUSCHED_BUILD", TOP / "build")).resolve()
CACHE = pathlib.Path(os.environ.get("GPUSCHED_VM_CACHE", BUILD / "vm"))
KEPT = CACHE / "kept"  # the machine that `run --keep` leaves on
MIRROR = os.environ.get("GPUSCHED_VM_MIRROR", "http://deb.debian.org/debian")

# The kernel is the one that has 9p; the rest is what systemd, our programs and the tests need.
PACKAGES = """
    linux-image-amd64 initramfs-tools systemd-sysv dbus libpam-systemd udev kmod e2fsprogs
    procps psmisc iproute2 util-linux-extra sqlite3 munge
    libevent-core-2.1-7 libevent-extra-2.1-7 libevent-pthreads-2.1-7 libsqlite3-0 libconfig9 libsodium23
    libprotobuf-c1 libjansson4 zlib1g libcmocka0 libmunge2 libcap2 libasan8 libubsan1
    python3 python3-pytest python3-pytest-xdist gcc libc6-dev""".split()

# agent.py comes with the boot and not with the image: a change of it needs no new image.
AGENT_UNIT = """[Unit]
Description=Commands from the host
StartLimitIntervalSec=0
[Service]
ExecStartPre=/usr/sbin/modprobe qemu_fw_cfg
ExecStart=/usr/bin/python3 /sys/firmware/qemu_fw_cfg/by_name/opt/gpusched/agent/raw
Restart=always
RestartSec=1
[Install]
WantedBy=multi-user.target
"""

PREPARE = """
set -e
useradd --system --no-create-home --shell /usr/sbin/nologin gpusched
useradd --create-home ana
useradd --create-home bob
echo n1 >/etc/hostname
echo '127.0.0.1 localhost n1' >/etc/hosts
echo '/dev/vda / ext4 errors=remount-ro 0 1' >/etc/fstab
sed -i s/^MODULES=.*/MODULES=list/ /etc/initramfs-tools/initramfs.conf
printf '%s\\n' virtio_pci virtio_blk ext4 crc32c_generic >>/etc/initramfs-tools/modules
mkdir -p /var/log/journal
systemctl -q enable vm-agent
systemctl -q mask apt-daily.timer apt-daily-upgrade.timer dpkg-db-backup.timer e2scrub_all.timer e2scrub_reap.service \
    fstrim.timer getty@tty1.service serial-getty@ttyS0.service systemd-timesyncd.service
update-initramfs -u
apt-get clean
rm -rf /var/lib/apt/lists/* /usr/share/doc /usr/share/locale
"""

NEEDED = {  # program: Debian's package
    "qemu-system-x86_64": "qemu-system-x86", "debootstrap": "debootstrap", "mke2fs": "e2fsprogs"}


class Missing(Exception):
    """Something that this needs is not here; the text says what, and what would be right."""


def check_host():
    lacks = sorted(package for program, package in NEEDED.items()
                   if not shutil.which(program, path=os.environ["PATH"] + ":/usr/sbin:/sbin"))
    if lacks:
        raise Missing(f"these Debian packages are missing: {' '.join(lacks)}")
    if os.geteuid() != 0:
        raise Missing("only root can make the machine's disk (debootstrap): run it as root")


def turn_off(folder):
    """The one that was left on there. 0, or 1: there is none."""
    try:
        _qmp(folder, "quit")
    except OSError:
        return 1
    shutil.rmtree(folder)
    return 0


def _qmp(folder, command):
    with socket.socket(socket.AF_UNIX) as s:
        s.connect(str(folder / "qmp"))
        f = s.makefile("rw")
        f.readline()
        for word in ("qmp_capabilities", command):
            f.write(json.dumps({"execute": word}) + "\n")
            f.flush()
            f.readline()


def accelerators():
    """What to try, in this order. A /dev/kvm on a processor that shows no virtualization (a machine in a machine, whose
    KVM is kvm_pvm) runs only kernels made for it, and Debian has none."""
    named = os.environ.get("GPUSCHED_VM_ACCEL")
    if named:
        return [named]
    flags = pathlib.Path("/proc/cpuinfo").read_text().split()
    able = os.access("/dev/kvm", os.R_OK | os.W_OK) and ("vmx" in flags or "svm" in flags)
    return ["kvm", "tcg"] if able else ["tcg"]


def image(say=print):
    """The folder with root.img, vmlinuz and initrd.img, made if it is not there."""
    recipe = "\n".join([MIRROR, *PACKAGES, AGENT_UNIT, PREPARE])
    folder = CACHE / ("image-" + hashlib.sha256(recipe.encode()).hexdigest()[:12])
    if (folder / "root.img").exists():
        return folder
    check_host()
    say(f"making a Debian root in {folder}: some minutes, once")
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    root = folder / "root"
    with open(folder / "log", "w") as log:
        def do(*argv):
            r = subprocess.run([str(a) for a in argv], stdin=subprocess.DEVNULL, stdout=log, stderr=log, env={
                **os.environ, "PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "LC_ALL": "C"})
            if r.returncode != 0:
                raise Missing(f"{argv[0]} failed with {r.returncode}; its output is in {log.name}")

        do("debootstrap", "--variant=minbase", "--include=" + ",".join(PACKAGES), "bookworm", root, MIRROR)
        (root / "etc/systemd/system/vm-agent.service").write_text(AGENT_UNIT)
        do("chroot", root, "sh", "-c", PREPARE)
        for name in ("vmlinuz", "initrd.img"):
            shutil.copy(next((root / "boot").glob(name + "-*")), folder / name)
        do("mke2fs", "-q", "-t", "ext4", "-d", root, folder / "root.tmp", "6G")
        do("rm", "-rf", "--one-file-system", root)
    (folder / "root.tmp").rename(folder / "root.img")
    return folder


class Machine:
    """A booted machine. `folder` has its sockets and its console's log; one that is on there already is used."""

    def __init__(self, folder=None, cpus=2, memory_mb=3072, say=print, devices=()):
        """`devices`: more arguments of qemu, as for a NUMA or PCIe tree."""
        self.dir = pathlib.Path(folder or tempfile.mkdtemp(prefix="gpusched-vm-"))
        self.dir.mkdir(parents=True, exist_ok=True)
        self.ours = folder is None
        self.port, self.rest, self.next_id, self.boot, self.qemu = None, b"", 0, None, None
        if not self._connect():
            self._start(image(say), cpus, memory_mb, say, devices)
        self.wait_up()

    def _start(self, folder, cpus, memory_mb, say, devices):
        disk = self.dir / "disk"
        subprocess.run(["cp", "--sparse=always", "--reflink=auto", folder / "root.img", disk], check=True)
        shares = [TOP] + ([BUILD] if TOP not in BUILD.parents else [])
        argv = ["qemu-system-x86_64", "-nodefaults", "-display", "none",
                "-smp", str(cpus), "-m", str(memory_mb), "-device", "virtio-rng-pci",
                "-kernel", folder / "vmlinuz", "-initrd", folder / "initrd.img", "-append",
                "root=/dev/vda rw console=ttyS0 panic=5 mitigations=off systemd.show_status=0 "
                "modprobe.blacklist=kvm_amd,kvm_intel,powernow_k8,pcspkr "
                + " ".join(f"share{i}={path}" for i, path in enumerate(shares)),
                "-drive", f"file={disk},if=virtio,format=raw", "-no-reboot",
                "-serial", f"file:{self.dir / 'console'}",
                "-qmp", f"unix:{self.dir / 'qmp'},server=on,wait=off",
                "-fw_cfg", f"name=opt/gpusched/agent,file={TOP / 'testsuite/vm/agent.py'}",
                "-device", "virtio-serial-pci", "-device", "virtserialport,chardev=commands,name=gpusched",
                "-chardev", f"socket,id=commands,path={self.dir / 'port'},server=on,wait=off"]
        for i, path in enumerate(shares):
            argv += ["-fsdev", f"local,id=share{i},path={path},security_model=none,readonly=on",
                     "-device", f"virtio-9p-pci,fsdev=share{i},mount_tag=share{i}"]
        for accel in accelerators():
            self.argv = self._command(accel, [*argv, *devices])
            if self._boots(accel):
                break
            say(f"with the accelerator '{accel}' the kernel says nothing here")
        else:
            raise Missing("no accelerator runs the kernel")
        if accel == "tcg":
            say("without KVM qemu emulates the processor, which is ten times slower or more")
        (self.dir / "argv").write_text(json.dumps([accel, self.argv]))

    @staticmethod
    def _command(accel, argv):
        how = ["-machine", "q35", "-accel", "tcg,thread=multi,tb-size=1024" if accel == "tcg" else accel,
               "-cpu", "max" if accel == "tcg" else "host"]
        return [str(a) for a in [argv[0], *how, *argv[1:]]]

    def _boots(self, accel):
        """Does the kernel say its first word within a while?"""
        console = self.dir / "console"
        console.unlink(missing_ok=True)
        with open(self.dir / "qemu.log", "wb") as log:
            self.qemu = subprocess.Popen(self.argv, stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                                         start_new_session=True)
        end = time.monotonic() + (60 if accel == "tcg" else 20)
        while time.monotonic() < end and self.qemu.poll() is None:
            if console.exists() and b"Linux version" in console.read_bytes():
                return True
            time.sleep(0.1)
        self.qemu.kill()
        self.qemu.wait()
        return False

    def _connect(self):
        self.port = socket.socket(socket.AF_UNIX)
        try:
            self.port.connect(str(self.dir / "port"))
        except OSError:
            self.port.close()
            self.port = None
        return self.port is not None

    def _lines(self, ident, timeout):
        """The answers to one request, as they come; ends after `timeout` seconds (None: never) with TimeoutError."""
        end = None if timeout is None else time.monotonic() + timeout
        while True:
            while b"\n" in self.rest:
                line, self.rest = self.rest.split(b"\n", 1)
                with contextlib.suppress(ValueError):
                    answer = json.loads(line)
                    if answer.get("id") == ident:
                        yield answer
            self.port.settimeout(None if end is None else max(end - time.monotonic(), 0.001))
            data = self.port.recv(65536)
            if not data:
                raise ConnectionError("the machine is off")
            self.rest += data

    def _ask(self, **request):
        self.next_id += 1
        ident = f"{os.getpid()}.{self.next_id}"
        self.port.settimeout(10)
        self.port.sendall(json.dumps({"id": ident, **request}).encode() + b"\n")
        return ident

    def wait_up(self, after=None, timeout=None):
        """Until it answers, and not as the boot `after`; then until systemd has started everything."""
        while not self._connect():
            time.sleep(0.05)
        end = time.monotonic() + (timeout or 600)
        while True:
            try:
                boot = next(self._lines(self._ask(ping=1), 2))["boot"]
                if boot != after:
                    break
                time.sleep(0.2)
            except TimeoutError:
                pass
            if time.monotonic() > end:
                console = (self.dir / "console").read_text(errors="replace")[-3000:]
                raise TimeoutError(f"the machine does not come up; its console ends\n{console}")
        self.boot = boot
        self.run("systemctl is-system-running --wait", check=False)

    def run(self, command, check=True, timeout=600, out=None):
        """A shell command as root. Returns (exit status, what it said); `out` gets that as it comes."""
        said = ""
        for answer in self._lines(self._ask(run=command), timeout):
            if "exit" in answer:
                break
            said += answer["out"]
            if out:
                out(answer["out"])
        if check and answer["exit"] != 0:
            raise AssertionError(f"{command}: exit {answer['exit']}\n{said}")
        return answer["exit"], said

    def __call__(self, command, **how):
        return self.run(command, **how)[1].strip()

    def _again(self):
        """qemu has ended, or is about to; the disk is as it left it. An emulated machine that is reset in its old
        process is many times slower than one in a new one."""
        accel, self.argv = json.loads((self.dir / "argv").read_text())
        while self._connect():  # whoever started it
            time.sleep(0.1)
        if self.qemu:
            self.qemu.wait()
        self.rest = b""
        if not self._boots(accel):
            raise TimeoutError("the kernel says nothing any more")
        self.wait_up(after=self.boot)

    def reboot(self, verb="reboot"):
        """In order, by systemd; with `poweroff` it is turned on again."""
        with contextlib.suppress(TimeoutError, ConnectionError, OSError):
            self.run(f"systemctl {verb}", check=False, timeout=300)
        self._again()

    def reset(self):
        """Power loss: what was not on disk is lost; it boots again."""
        _qmp(self.dir, "quit")
        self._again()

    def close(self):
        if self.port:
            with contextlib.suppress(OSError):
                _qmp(self.dir, "quit")
            self.port.close()
        if self.qemu:
            self.qemu.wait()
        if self.ours:
            shutil.rmtree(self.dir, ignore_errors=True)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()
