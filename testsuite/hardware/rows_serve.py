"""Rows about services: replicas that share a GPU, and a model whose load takes room from a batch job and gives it back."""

import contextlib
import os
import pathlib
import shutil
import signal
import threading
import time
import urllib.request

from cluster import Failed, wait_until
from load import Clients
from rows_memory import apps, mem_mb
from rows_use import PYTHONS, with_torch
from rows_work import YIELDS
from site_gpu import TOOL, value
from verdict import NOT_HERE, Row, judged

HERE = pathlib.Path(__file__).resolve().parent
REPLICAS = min(3, os.cpu_count())  # each has a CPU
PROBES = ("--ports=1", "--probe=250ms,timeout=250ms", "--settle=0")

SERVER = """
import http.server, os, subprocess, sys
tool = subprocess.Popen(sys.argv[1:], stdout=subprocess.PIPE, text=True)
held = next(line for line in tool.stdout if "held_mb" in line)
class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        body = (os.environ["GPUSCHED_GPU_UUIDS"] + " " + str(os.getpid())).encode()
        self.send_response(200 if tool.poll() is None else 503)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)
    def log_message(self, *args):
        pass
http.server.ThreadingHTTPServer(("127.0.0.1", int(os.environ["GPUSCHED_PORT"])), Handler).serve_forever()
"""


def answers(c):
    """{process: GPU} of the replicas that are ready, as they say themselves."""
    found = {}
    for endpoint in c.run("gserve", "endpoints", "parts", check=False).stdout.split():
        with contextlib.suppress(OSError), urllib.request.urlopen(f"http://{endpoint}/", timeout=5) as r:
            gpu, pid = r.read().decode().split()
            found[int(pid)] = gpu
    return found


def service(ctx):
    """Replicas that share one GPU; one is killed and comes back."""
    c, part = ctx.site, mem_mb(ctx) // 8
    (c.dir / "jobs/server.py").write_text(SERVER)
    script = c.dir / "jobs/server.sh"
    script.write_text(f"#!/bin/sh\nexec /usr/bin/python3 {c.dir}/jobs/server.py {TOOL} hold {part // 2} 600\n")
    begin = time.time()
    job = c.run("gsubmit", "--parsable", "--service=parts", f"--replicas={REPLICAS}", *PROBES, "--ready=http:/", "--drain=1s", f"--gpu-mem={part}M", script, user=c.ctld_user.pw_name).stdout.strip()

    def all_ready():
        found = answers(c)
        return found if len(found) == REPLICAS else None
    try:
        first = wait_until(all_ready, lambda: f"{REPLICAS} replicas: {c.run('gserve', 'show', 'parts', check=False).stdout}", 40)
        ready = time.time() - begin
        on_gpu = len(apps())
        os.kill(min(first), signal.SIGKILL)
        begin = time.time()
        wait_until(lambda: (answers(c) or first).keys() - first.keys() and all_ready(), "another replica in the place of the killed one", 40)
        again = time.time() - begin
    finally:
        c.run("gcancel", job, check=False)
        wait_until(lambda: not c.shepherds(), "the replicas to end", 20)
    gpus = set(first.values())
    yield judged("a service on parts of one GPU", len(gpus) == 1, f"{REPLICAS} replicas with {part} MiB each on {', '.join(sorted(gpus))}, all ready {ready:.1f} s after "
                 f"gsubmit, nvidia-smi tells of {on_gpu} processes; one was killed: all ready again after {again:.1f} s")


# --- a model ---------------------------------------------------------------------------------------

CLIENTS, MEASURED_S = 32, 4


class Asking(Clients):
    """Each asks one replica after the other, as `gserve endpoints` names them, and asks again when it has its answer."""

    def __init__(self, c):
        super().__init__(CLIENTS)
        self.c, self.endpoints, self.answered, self.turns = c, [], 0, 0
        self.threads.append(threading.Thread(target=self.look, daemon=True))

    def look(self):
        while not self.ended.wait(0.25):
            self.endpoints = self.c.run("gserve", "endpoints", "model", check=False).stdout.split() or self.endpoints

    def run(self):
        with self.lock:
            self.turns += 1
            turn = self.turns  # so that they begin at different replicas
        while not self.ended.wait(0 if self.endpoints else 0.1):
            found = self.endpoints  # look() replaces it
            if not found:
                continue
            turn += 1
            try:
                with urllib.request.urlopen(f"http://{found[turn % len(found)]}/generate/{turn}", timeout=30) as r:
                    r.read()
            except OSError as e:
                self.failures.append(str(e))
                self.ended.wait(0.1)
                continue
            with self.lock:
                self.answered += 1

    def rate(self):
        """Answers a second, from now on for some seconds."""
        before, begin = self.answered, time.monotonic()
        self.ended.wait(MEASURED_S)
        return (self.answered - before) / (time.monotonic() - begin)


def model_script(ctx):
    """What a replica runs, and its user; None: there is no torch."""
    c, (python, user) = ctx.site, (PYTHONS[-1], ctx.site.ctld_user.pw_name)
    if not ctx.model:
        python, user = with_torch(c)
    if not python:
        return None, None
    shutil.copy(HERE / "server.py", c.dir / "jobs/model_server.py")
    shutil.copy(ctx.model or HERE / "model.py", c.dir / "jobs/model.py")
    script = c.dir / "jobs/model.sh"
    script.write_text(f"#!/bin/sh\nunset LD_LIBRARY_PATH\nexec {python} {c.dir}/jobs/model_server.py {c.dir}/jobs/model.py\n")
    return script, user


def served(ctx):
    """One replica beside a batch job; under load the replicas take the batch job's part of the GPU; without them it runs again."""
    c, what, part = ctx.site, "a model under load beside a batch job", mem_mb(ctx) // 4
    script, user = model_script(ctx)
    if not script or REPLICAS < 2:
        yield Row(what, NOT_HERE, "one CPU has no room for two replicas" if script else f"no python3 has torch ({', '.join(PYTHONS)})")
        return
    c.run("gsubmit", "--parsable", "--service=model", f"--replicas=1-{REPLICAS}", *PROBES, "--ready=http:/health", "--drain=3s", "--metrics=vllm", "--target=8",
          "--scale-window=2s,1s", "--scale-down=2s", "--qos=production", f"--gpu-mem={part}M", script, user=user)
    ready = lambda: len(c.run("gserve", "endpoints", "model", check=False).stdout.split())  # pylint: disable=unnecessary-lambda-assignment
    shown = lambda: c.run("gserve", "show", "model", check=False).stdout  # pylint: disable=unnecessary-lambda-assignment
    try:
        wait_until(lambda: ready() == 1, lambda: f"a replica: {shown()}", 40)
        batch = c.script(YIELDS % (TOOL, mem_mb(ctx) // 2), f"--gpu-mem={mem_mb(ctx) // 2 + mem_mb(ctx) // 8}M", "--qos=scavenger", "--requeue")
        c.said(batch, "held_mb")
        with Asking(c) as load:
            wait_until(lambda: load.answered, "an answer", 20)
            begin = time.monotonic()
            alone = load.rate()
            wait_until(lambda: ready() == REPLICAS, lambda: f"{REPLICAS} replicas: {shown()}", 40)
            up = time.monotonic() - begin
            all_of_them, state = load.rate(), c.state(batch)
            warned = value(c.read(batch), "warned")
        begin = time.monotonic()
        c.run("gserve", "stop", "model")  # its replicas stay for a time after a burst that came too soon for them
        wait_until(lambda: c.state(batch) == "RUNNING", lambda: f"job {batch} to run again: {c.why(batch)}; {shown()}", 30)
        made_room = warned is not None and state == "PENDING"
        other_gpu = len(c.devices()) > 1 and state == "RUNNING"
        yield judged(what, (made_room or other_gpu) and not load.failures,
                     f"{CLIENTS} clients: {alone:.0f} answers/s of 1 replica, {REPLICAS} replicas after {up:.1f} s, {all_of_them:.0f} answers/s; the batch job "
                     f"{'was warned and waited' if made_room else 'went on'}, and ran {time.monotonic() - begin:.1f} s after the service was stopped; {load.answered} answered, {len(load.failures)} lost {' '.join(load.failures[:1])}".rstrip())
    finally:
        c.run("gserve", "stop", "model", check=False)
        c.run("gcancel", "--state", "PENDING,CONFIGURING,RUNNING", check=False)
        with contextlib.suppress(Failed):
            wait_until(lambda: not c.shepherds(), "the replicas to end", 20)
