#!/usr/bin/python3
"""soak_services.py - `make soak-services`: a service under load while all around it is killed

HAProxy, fed by gfeed, has 200 requests a second for ten minutes. Meanwhile gctld is killed every 5 s; gfeed, and the
agents in turn, are killed; the service is scaled up and down and updated; and the network of one node is pulled for a
while, again and again (that node has a network namespace of its own; as root). Counts the requests that fail. The exit
status is 1 if there are any. SOAK="--seconds 60 --seed 7" are its options.
"""

import argparse
import datetime
import json
import os
import pathlib
import random
import subprocess
import sys
import threading
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent / "system/lib"), str(HERE.parent / "system/jobs")]
from cluster import BIN, Failed, free_port, wait_until  # noqa: E402
from load import Load  # noqa: E402
from test_feed import SERVER, Feeding  # noqa: E402
from test_services import PARTITIONS  # noqa: E402

HAPROXY = """
global
    stats socket {dir}/haproxy.sock mode 600 level admin
defaults
    mode http
    timeout connect 1s
    timeout client 90s
    timeout server 90s
    timeout queue 60s
    retries 5
    option redispatch 1
frontend chat
    bind 127.0.0.1:{port}
    default_backend chat
backend chat
    option httpchk GET /health
    default-server inter 500ms fall 2 rise 1
    server-template chat 32 127.0.0.1:9 check disabled
"""


def ip(*args, check=True):
    return subprocess.run(["ip", *args], capture_output=True, text=True, check=check)


class Cable:
    """A network namespace with one link to the host. `works` is whether this host lets us make one."""

    def __init__(self):
        self.name = f"gpusched-{os.getpid() % 100000}"
        net = f"10.213.{os.getpid() % 250}"
        self.here, self.there = f"{net}.1", f"{net}.2"
        self.works = os.geteuid() == 0 and ip("netns", "add", self.name, check=False).returncode == 0
        if not self.works:
            self.here = self.there = "127.0.0.1"
            return
        ends = f"gs{os.getpid() % 100000}a", f"gs{os.getpid() % 100000}b"
        ip("link", "add", ends[0], "type", "veth", "peer", "name", ends[1])
        ip("link", "set", ends[1], "netns", self.name)
        ip("addr", "add", f"{self.here}/24", "dev", ends[0])
        ip("link", "set", ends[0], "up")
        self.end = ends[1]
        ip("-n", self.name, "addr", "add", f"{self.there}/24", "dev", self.end)
        self.plug(True)
        ip("-n", self.name, "link", "set", "lo", "up")

    def plug(self, into):
        ip("-n", self.name, "link", "set", self.end, "up" if into else "down")

    def inside(self, argv):
        """Only the network is another one: the control groups stay."""
        return ["nsenter", f"--net=/run/netns/{self.name}", *argv] if self.works else argv

    def close(self):
        if self.works:
            ip("netns", "del", self.name, check=False)


class Soak(Feeding):
    """Two nodes on the host, and one behind the cable. Nodes are filled one after another: seven replicas are on all."""

    def __init__(self, cable):
        self.cable = cable
        super().__init__(nodes=("n1", "n2", "n3"), gpus="demo:3", partitions=PARTITIONS, cpus=32,
                         controller='heartbeat = "2s"; node_timeout = "10s";')

    def conf_text(self):
        return super().conf_text().replace('host = "127.0.0.1"; listen = "127.0.0.1"',
                                           f'host = "{self.cable.here}"; listen = "{self.cable.here}"')

    def agent_argv(self, node):
        argv = super().agent_argv(node)
        return self.cable.inside(argv) if node == "n3" else argv

    def start_agent(self, node, *options, env=None):
        low = 20000 + os.getpid() % 100 * 200 + 60 * int(node[1:])
        address = self.cable.there if node == "n3" else "127.0.0.1"
        super(Feeding.__base__, self).start_agent(node, f"--service-ports={low}-{low + 59}",
                                                  f"--service-address={address}", *options, env=env)

    def script(self, version="one", *lines):
        path = self.dir / f"jobs/{version}.sh"
        path.write_text("#!/bin/sh\n" + SERVER.replace("VERSION", version).replace("127.0.0.1", "0.0.0.0"))
        return path

    def haproxy(self, backup=""):
        port = free_port()
        conf = self.dir / "haproxy.cfg"
        conf.write_text(HAPROXY.format(dir=self.dir, port=port))
        return self.begin("haproxy", "/usr/sbin/haproxy", "-db", "-f", conf), port


class Trouble:
    """What is done to the cluster, each kind in a thread of its own; counted."""

    def __init__(self, c, seed):
        self.c, self.random, self.counts, self.log = c, random.Random(seed), {}, []
        self.ended, self.lock = threading.Event(), threading.Lock()
        self.feed = None
        self.threads = []

    def note(self, kind, what=""):
        with self.lock:
            self.counts[kind] = self.counts.get(kind, 0) + 1
            self.log.append(f"{time.strftime('%T')} {kind} {what}")

    def every(self, seconds, do):
        def run():
            while not self.ended.wait(seconds * self.random.uniform(0.8, 1.2)):
                try:
                    do()
                except (Failed, OSError, subprocess.SubprocessError) as e:
                    self.note("a command that failed", str(e).splitlines()[0])
        self.threads.append(threading.Thread(target=run, daemon=True))

    def kill_controller(self):
        self.note("gctld killed")
        self.c.ctld.kill()
        self.c.start_ctld(wait=False)

    def kill_feed(self):
        self.note("gfeed killed")
        self.feed.kill()
        self.ended.wait(1)
        self.start_feed()

    def start_feed(self):
        d = self.c.dir
        self.feed = self.c.feed("--service=chat", f"--haproxy={d}/haproxy.sock,backend=chat", f"--json={d}/all.json")

    def kill_agent(self):
        node = self.random.choice(self.c.nodes)
        self.note("an agent killed", node)
        self.c.agents[node].kill()
        self.ended.wait(self.random.uniform(0, 5))
        self.c.start_agent(node)

    def scale(self):
        n = self.random.randint(6, 8)
        self.note("scaled", n)
        self.c.run("gserve", "scale", "chat", str(n))

    def update(self):
        version = f"v{self.counts.get('updated', 0)}"
        self.note("updated", version)
        self.c.run("gserve", "update", "chat", self.c.script(version), check=False)

    def pull(self):
        seconds = self.random.choice((3, 8, 25))
        self.note("network pulled", f"{seconds} s")
        self.c.cable.plug(False)
        self.ended.wait(seconds)
        self.c.cable.plug(True)
        self.note("network back")

    def begin(self):
        self.every(5, self.kill_controller)
        self.every(17, self.kill_feed)
        self.every(13, self.kill_agent)
        self.every(23, self.scale)
        self.every(71, self.update)
        if self.c.cable.works:
            self.every(45, self.pull)
        for t in self.threads:
            t.start()

    def end(self):
        self.ended.set()
        for t in self.threads:
            t.join()


def say(c, load, trouble, seconds, began):
    print(f"{seconds:.0f} s, {load.count() + len(load.failures)} requests ({(load.count()) / (time.monotonic() - began):.0f} "
          f"answered a second), {len(load.failures)} failed, slowest {load.slowest:.1f} s")
    print(", ".join(f"{kind} {n} times" for kind, n in sorted(trouble.counts.items())))
    for f in load.failures[:20]:
        print(" ", f)
    if load.failures:
        print("what was done:", *trouble.log, sep="\n  ")


def soak(seconds, seed, keep):
    cable, c = Cable(), None
    try:
        c = Soak(cable)
        trouble = Trouble(c, seed)
        _, port = c.haproxy()
        wait_until(lambda: c.haproxy_ready() is not None, "haproxy's socket")
        trouble.start_feed()
        c.serve("chat", "--replicas=7", "--gpus=1", "--settle=2s")
        c.wait_ready("chat", 7)
        wait_until(lambda: c.haproxy_ready() == sorted(c.endpoints("chat")), "haproxy to have them")
        began = time.monotonic()
        with Load(f"http://127.0.0.1:{port}/", threads=64, timeout=120) as load:
            trouble.begin()
            while time.monotonic() - began < seconds:
                time.sleep(min(10, seconds))
            trouble.end()
            c.wait_ctld()
            c.wait_nodes()
        c.run("gserve", "scale", "chat", "7")
        c.wait_ready("chat", 7)
        say(c, load, trouble, seconds, began)
        return load, trouble
    finally:
        if cable.works:
            cable.plug(True)
        if c:
            c.end_others()
            c.close(keep=keep)
        cable.close()


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=600)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--keep", action="store_true", help="leave the folder of the cluster")
    args = parser.parse_args()
    load, _ = soak(args.seconds, args.seed, args.keep)
    sys.exit(1 if load.failures else 0)


if __name__ == "__main__":
    main()
