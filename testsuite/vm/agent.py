"""agent.py - inside the machine: runs what machine.py asks for over a virtio-serial port

Its lines are JSON. In: {"id", "run"}, a shell command, or {"id", "ping"}. Out: {"id", "out"}, what it says, and at
the end {"id", "exit"}; for a ping {"id", "boot"}, which tells one boot from the next. It says nothing unasked, so
nothing waits in the port for who comes later. Each command is a scope of its own, as a login is.
"""

import json
import os
import pathlib
import subprocess
import time

PORT = "/dev/virtio-ports/gpusched"


def mount_shared():
    """share0=/path on the kernel's command line: that folder of the host, read-only, at the same path."""
    for word in pathlib.Path("/proc/cmdline").read_text().split():
        tag, _, path = word.partition("=")
        if tag.startswith("share") and path and not os.path.ismount(path):
            os.makedirs(path, exist_ok=True)
            subprocess.run(["mount", "-t", "9p", "-o", "trans=virtio,version=9p2000.L,ro,cache=loose,msize=512000",
                            tag, path], check=True)


def serve(port):
    def say(**line):
        port.write(json.dumps(line).encode() + b"\n")

    for line in port:
        try:
            request = json.loads(line)
        except ValueError:
            continue  # half a line, of before a reset
        if "run" not in request:
            say(id=request["id"], boot=pathlib.Path("/proc/sys/kernel/random/boot_id").read_text().strip())
            continue
        child = subprocess.Popen(
            ["systemd-run", "--quiet", "--scope", "--collect", "sh", "-c", request["run"]], stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, cwd="/root",
            env={"PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "HOME": "/root",
                 "LANG": "C.UTF-8", "PYTHONDONTWRITEBYTECODE": "1"})
        while text := os.read(child.stdout.fileno(), 4096):
            say(id=request["id"], out=text.decode("utf-8", "replace"))
        say(id=request["id"], exit=child.wait())


if __name__ == "__main__":
    mount_shared()
    with open(PORT, "r+b", buffering=0) as raw:
        while True:
            serve(raw)  # until nobody is at the other end
            time.sleep(0.2)
