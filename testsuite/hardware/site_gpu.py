"""A cluster of this machine's GPUs, and jobs on them, for check_gpu.py."""

import contextlib
import json
import os
import pathlib
import shutil
import subprocess
import tempfile

from cluster import BIN, BUILD, ROOT, Cluster, Failed, wait_until

NODE = "gpu1"
TOOL = BUILD / "testsuite/hardware/gputool"
PORTS = (20000 + os.getpid() % 1000 * 20, 20019 + os.getpid() % 1000 * 20)  # of replicas
PARTITIONS = """( { name = "batch"; nodes = "ALL"; default = true; max_time = "1-00:00:00"; grace = "2s"; services = true; preempt_mode = "requeue"; } )"""
POLICY = """qos = (
  { name = "normal"; default = true; },
  { name = "production"; preempts = [ "scavenger" ]; },
  { name = "scavenger"; min_run = "0s"; }
);"""
ENDED = ("COMPLETED", "FAILED", "CANCELLED", "OUT_OF_MEMORY", "TIMEOUT", "NODE_FAIL")


def objects(text):
    """Each line of gputool's that is one."""
    found = []
    for line in text.splitlines():
        with contextlib.suppress(ValueError):
            found.append(json.loads(line))
    return [f for f in found if isinstance(f, dict)]


def value(lines, key):
    """The last value of that name, None if nobody has said it."""
    return next((x[key] for x in reversed(lines) if key in x), None)


def tool(*args, env=None, user=None, timeout=30):
    """gputool outside of any job."""
    kw = {"user": user, "group": user, "extra_groups": []} if user and ROOT else {}
    r = subprocess.run([TOOL, *map(str, args)], capture_output=True, text=True, check=False, timeout=timeout,
                       env={**os.environ, **(env or {})}, **kw)
    return objects(r.stdout)


def smi(*args, timeout=30):
    return subprocess.run(["nvidia-smi", *args], capture_output=True, text=True, check=True, timeout=timeout).stdout


def smi_table(fields, *args):
    """`nvidia-smi --query-gpu` as a list of dicts."""
    out = smi(f"--query-gpu={','.join(fields)}", "--format=csv,noheader,nounits", *args)
    return [dict(zip(fields, (w.strip() for w in line.split(",")))) for line in out.splitlines() if line.strip()]


def inventory():
    """What `gnoded --inventory --json` tells."""
    r = subprocess.run([BIN["gnoded"], "--inventory", "--json"], capture_output=True, text=True, check=False, timeout=60)
    try:
        return json.loads(r.stdout)
    except ValueError:
        raise Failed(f"gnoded --inventory: exit {r.returncode}: {r.stderr.strip() or r.stdout.strip()}") from None


class Site(Cluster):
    """This machine as one node, whose GPUs are taken as they are found."""

    def __init__(self, node="", agent=()):
        """`node`: keys of the node in gpusched.conf; `agent`: options of gnoded."""
        self.agent_options = list(agent)
        super().__init__(nodes=(NODE,), cpus=os.cpu_count(), start=False, hardware=self.node_text(node), partitions=PARTITIONS, policy=POLICY)
        self.programs = self.dir / "programs"
        self.programs.mkdir(mode=0o755)
        try:
            self.start()
        except BaseException as e:
            told = self.agents[NODE].tail(8) if NODE in self.agents else ""
            self.close()
            raise Failed(f"the cluster does not come up: {e}; {told}") from e

    @staticmethod
    def node_text(keys):
        return f'nodes = ( {{ name = "{NODE}"; health_recheck = "1s"; {keys} }} );'

    def agent_argv(self, node):
        rundir, spool = self.run_base / f"run-{node}", self.dir / f"spool-{node}"
        for d in (rundir, spool):
            d.mkdir(exist_ok=True)
        mps = shutil.which("nvidia-cuda-mps-control")
        return [BIN["gnoded"], "--foreground", "--node", node, "--rundir", rundir, "--spool", spool,
                "--shepherd", BUILD / "noded/gshepherd", "--sample-every=1s", "--idle-sample=5s", "--gpu-recheck=5s", "--programs", self.programs,
                f"--service-ports={PORTS[0]}-{PORTS[1]}", "--service-address=127.0.0.1",
                *(["--mps", mps] if mps else []), *(["--allow-root"] if ROOT else []), *self.agent_options]

    def configure(self, keys):
        self.hardware = self.node_text(keys)
        self.write_conf()
        self.run("gctl", "reconfigure")

    def node(self):
        return json.loads(self.run("ginfo", "-N", "--json").stdout)["nodes"][0]

    def devices(self):
        return json.loads(self.run("ginfo", "--gpus", "--json").stdout)["nodes"][0]["devices"]

    def enforced(self, word):
        """'' if that holds runs here, else why not."""
        n = self.node()
        words = n.get("containment", "").split(",")
        return "" if word in words else f"active is {n.get('containment') or 'nothing'}" + \
            (f"; {n['containment_why']}" if n.get("containment_why") else "")

    # --- jobs --------------------------------------------------------------------------------------

    def script(self, text, *options, user=None):
        """Submit a script whose output read() finds; the job."""
        return self.submit(f'echo "{{\\"cuda\\": \\"$CUDA_VISIBLE_DEVICES\\", \\"gpus\\": \\"$GPUSCHED_GPU_UUIDS\\"}}"\n{text}',
                           "--output=%j.out", "--time=5", *options, user=user or self.ctld_user.pw_name)

    def tool(self, words, *options, user=None):
        """gputool as a job."""
        return self.script(f"exec {TOOL} {words}", *options, user=user)

    def read(self, job):
        path = self.dir / f"jobs/{job}.out"
        return objects(path.read_text(errors="replace")) if path.exists() else []

    def said(self, job, key, timeout=30):
        """Wait until the job has said that."""
        def look():
            over = self.state(job) in ENDED
            v = value(self.read(job), key)
            if v is None and over:
                raise Failed(f"job {job} is {self.state(job)} and has not told '{key}': {self.text(job)}")
            return (v,) if v is not None else None
        return wait_until(look, lambda: f"job {job} to tell '{key}': it is {self.why(job)}, {self.text(job)}", timeout)[0]

    def text(self, job):
        path = self.dir / f"jobs/{job}.out"
        return path.read_text(errors="replace")[-300:].strip() if path.exists() else "no output"

    def why(self, job):
        j = self.job(job)
        return f"{j['state']} {j.get('reason_text') or j.get('reason') or ''}".strip()

    def over(self, job, timeout=60):
        """Wait for its end; what gctl tells of it."""
        wait_until(lambda: self.state(job) in ENDED, lambda: f"job {job} to end: it is {self.why(job)}", timeout)
        return self.shown(job)

    def shown(self, job):
        return json.loads(self.run("gctl", "show", "job", job, "--json").stdout)["jobs"][0]

    def used(self, job):
        runs = self.shown(job).get("runs") or [{}]
        return runs[-1].get("used") or {}

    def done(self, words, *options, timeout=60, user=None):
        """gputool as a job, to its end; what it told."""
        job = self.tool(words, *options, user=user)
        end = self.over(job, timeout)
        if end["state"] != "COMPLETED":
            raise Failed(f"gputool {words}: {end['state']}: {self.text(job)}")
        return self.read(job)

    def cancel(self, *jobs):
        self.run("gcancel", *jobs, check=False)
        for job in jobs:
            self.over(job)


@contextlib.contextmanager
def outside(*words, until, timeout=30):
    """gputool beside the cluster, until it has told `until`; ended at the end."""
    with tempfile.TemporaryFile("w+") as out:
        with subprocess.Popen([TOOL, *map(str, words)], stdout=out, stderr=subprocess.STDOUT,
                              env={**os.environ, "CUDA_DEVICE_ORDER": "PCI_BUS_ID"}) as p:
            def told():
                out.seek(0)
                lines = objects(out.read())
                if p.poll() is not None:
                    raise Failed(f"gputool {' '.join(map(str, words))}: {lines}")
                return value(lines, until) is not None
            try:
                wait_until(told, f"gputool to tell '{until}'", timeout)
                yield p
            finally:
                p.kill()


def device_files(folder):
    """Those that are NVIDIA's, or of graphics."""
    folder = pathlib.Path(folder)
    names = [*folder.glob("nvidia*"), *(folder / "nvidia-caps").glob("*"), *(folder / "dri").glob("[cr]*[0-9]")]
    return sorted(str(p) for p in names if p.is_char_device())
