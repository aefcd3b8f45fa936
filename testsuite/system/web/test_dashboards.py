"""What Grafana's dashboards ask, asked of a prometheus that reads gweb by the file of etc/monitoring: each expression gives
series with numbers, and with the labels that their legends name.

A cluster with GPUs at work and idle, a service under load, accounts with quotas, jobs that wait, run and have ended.
"""

import itertools
import json
import math
import re
import shutil

import pytest
import webserver
from cluster import BIN, ROOT, TOP, Daemon, wait_until
from prometheus import Prometheus, need_prometheus
from test_gpus import Machine, h100, mig
from test_scaling import SCALES, Scaling
from webserver import Web

pytestmark = pytest.mark.skipif(bool(webserver.missing()), reason=webserver.missing() or "-")

MONITORING = TOP / "etc/monitoring"
DASHBOARDS = ("dashboard-cluster.json", "dashboard-gpus.json")
HARDWARE = """gpu_types = ( { name = "h100"; mem = "80G"; }, { name = "1g.10gb"; mem = "10G"; } );
nodes = ( { name = "n1"; cpus = 16; gpus = "h100:2,1g.10gb:2"; }, { name = "h[1-4]"; cpus = 64; gpus = "h100:8"; } );"""
PARTITIONS = """( { name = "batch"; nodes = "n1"; default = true; max_time = "1-00:00:00"; grace = "2s"; services = true; },
  { name = "many"; nodes = "h[1-4]"; max_time = "1-00:00:00"; grace = "2s"; } )"""
POLICY = """accounts = ( { name = "lab"; members = [ "*" ]; quota = { guaranteed = "h100:16"; limit = "h100:24"; }; },
  { name = "other"; members = [ "*" ]; } );
default_account = "lab";
roles = { web_users = [ "www-data" ]; };"""

# What alerts look for, and what a sound cluster does not have.
NOT_THERE = {
    'gpusched_gpus{state=~"trouble|missing"}': "no GPU is in trouble",
    "gpusched_gpu_xids_total": "no GPU has said an Xid",
    'gpusched_wait_in_target_total{in_target="no"}': "no job has waited too long",
}

# Dashboards of others, by the names and labels that the programs which they were made for document: prometheus-slurm-exporter
# (Grafana 4323), and dcgm-exporter with its default counters and the mapping of jobs (12239, 15117).
EXPORTER = {
    "": [f"slurm_{kind}_{name}" for kind, names in {
        "queue": "pending pending_dependency running suspended cancelled completing completed configuring failed timeout preempted node_fail",
        "nodes": "alloc comp down drain err fail idle maint mix resv",
        "cpus": "alloc idle other total",
        "gpus": "alloc idle other total utilization",
        "scheduler": "threads queue_size dbd_queue_size last_cycle mean_cycle cycle_per_minute backfill_last_cycle backfill_mean_cycle "
                     "backfill_depth_mean backfilled_jobs_since_start_total backfilled_jobs_since_cycle_total "
                     "backfilled_heterogeneous_total"}.items() for name in names.split()],
    "node status": ["slurm_node_cpu_alloc", "slurm_node_cpu_idle", "slurm_node_cpu_other", "slurm_node_cpu_total", "slurm_node_mem_alloc",
                    "slurm_node_mem_total"],
    "partition": [f"slurm_partition_{name}" for name in ("cpus_allocated", "cpus_idle", "cpus_other", "cpus_total", "jobs_pending")],
    "account": [f"slurm_account_{name}" for name in ("jobs_pending", "jobs_running", "jobs_suspended", "cpus_running", "fairshare")],
    "user": [f"slurm_user_{name}" for name in ("jobs_pending", "jobs_running", "jobs_suspended", "cpus_running")],
}
DCGM = {
    "Hostname UUID device gpu modelName hpc_job": [f"DCGM_FI_DEV_{name}" for name in (
        "SM_CLOCK", "MEM_CLOCK", "GPU_TEMP", "POWER_USAGE", "TOTAL_ENERGY_CONSUMPTION", "GPU_UTIL", "XID_ERRORS", "FB_FREE", "FB_USED")],
    "GPU_I_ID GPU_I_PROFILE": ["DCGM_FI_DEV_FB_FREE", "DCGM_FI_DEV_FB_USED"],
}
# Panels of 12239 that stay empty: only DCGM has these counters of the hardware.
DCGM_ALONE = ("DCGM_FI_PROF_GR_ENGINE_ACTIVE", "DCGM_FI_PROF_PIPE_TENSOR_ACTIVE")


class Busy(Scaling):
    """A node with GPUs of a stand-in that runs jobs and a service, and four that are simulated."""

    def __init__(self, machine):
        machine.set(h100(0, "compute=3 used=600 draw=71 watts=71"), h100(1), h100(2, "mig=1"), mig(2, 1) + " used=56", mig(2, 3))
        super().__init__(partitions=PARTITIONS, policy=POLICY, hardware=HARDWARE, start=False)
        self.start_munged()
        self.start_ctld()
        self.start_agent("n1", "--gpu-recheck=1h", "--sample-every=100ms", "--idle-sample=100ms", env=machine.env)
        self.agents["simulated"] = Daemon("gnoded --simulate", [BIN["gnoded"], "--simulate=0", "--nodes=h[1-4]"],
                                          self.dir / "log/simulate.log", self.env)
        self.wait_nodes()

    def fill(self):
        self.load(3)
        self.serve("chat", "--replicas=1-2", "--gpus=0", *SCALES)
        long = ("-p", "many", "--label", "sim=100000", "--time=1:00:00")
        runs = self.submit("true", *long, "--gpus=h100:8")
        self.submit("true", *long, "--gpus=h100:4", "-A", "other")
        self.submit("true", *long, "--nodes=4", "--gpus-per-node=h100:8", "-A", "other")  # waits
        self.submit("true", "--hold")
        self.ends()
        self.wait_state(runs, "RUNNING")
        self.wait_ready("chat", 1)
        return runs

    def ends(self):
        self.submit("true", "-p", "many", "--gpus=h100:1", "--label", "sim=0", "--max-wait=1h", "-A", "other")


def shipped(web):
    """etc/monitoring/prometheus.yml with all that it leaves out, for this gweb: (text, number of its jobs)."""
    text = re.sub(r"^  # (  )?(- job_name|metrics_path|scrape_interval|static_configs)", r"  \1\2", (MONITORING / "prometheus.yml").read_text(), flags=re.M)
    text = re.sub(r"scrape_interval: \w+", "scrape_interval: 1s", text).replace("127.0.0.1:7380", f"127.0.0.1:{web.port}")
    return text, text.count("job_name")


@pytest.fixture(name="p", scope="module")
def fixture_p(tmp_path_factory):
    need_prometheus("prometheus")
    folder = tmp_path_factory.mktemp("prometheus")
    shutil.copy(MONITORING / "alerts.yml", folder)
    with Busy(Machine(folder / "machine")) as c:
        web = Web(c)
        text, n = shipped(web)
        try:
            with Prometheus(folder, text) as p:
                wait_until(lambda: p.all_up(n), lambda: f"all scrapes: {p.ask('targets')}")
                p.c, p.runs = c, c.fill()
                yield p
        finally:
            web.close()


def panels(name):
    return json.loads((MONITORING / name).read_text())["panels"]


def asked(name):
    """(title, expression, labels of its legend) of all panels."""
    for panel in panels(name):
        for t in panel["targets"]:
            yield panel["title"], t["expr"].replace("$host", ".*"), set(re.findall(r"{{(\w+)}}", t.get("legendFormat", "")))


def lacks(p, expr, labels):
    """Why Grafana would show nothing of it, or not with its legend; "": it would."""
    rows = p.query(expr)
    if not rows:
        return "no series"
    if all(math.isnan(value) for _, value in rows):
        return "no number"
    # What a GPU does not have is not there: the job of a free one, the instance of a whole one.
    absent = {label for label in labels if not any(label in metric for metric, _ in rows)}
    return f"no label {', '.join(sorted(absent))}" if absent else ""


@pytest.mark.skipif(not ROOT, reason="needs other users")
@pytest.mark.parametrize("name", DASHBOARDS)
def test_each_panel_shows_something(p, name):
    left = []

    def all_show():
        p.c.ends()  # counters grow
        left[:] = [(title, expr, why) for title, expr, labels in asked(name) if (why := lacks(p, expr, labels))]
        return not left
    wait_until(all_show, lambda: f"panels that show something: {left}")
    for variable in json.loads((MONITORING / name).read_text())["templating"]["list"]:
        if variable["type"] == "query":
            metric, label = re.fullmatch(r"label_values\((\w+), (\w+)\)", variable["query"]).groups()
            assert {m[label] for m, _ in p.query(metric)} == {"n1", "h1", "h2", "h3", "h4"}


@pytest.mark.parametrize("name", DASHBOARDS)
def test_no_panel_covers_another(name):
    places = [panel["gridPos"] for panel in panels(name)]
    assert all(g["x"] >= 0 and g["x"] + g["w"] <= 24 and g["h"] > 0 for g in places)
    for a, b in itertools.combinations(places, 2):
        assert a["x"] + a["w"] <= b["x"] or b["x"] + b["w"] <= a["x"] or a["y"] + a["h"] <= b["y"] or b["y"] + b["h"] <= a["y"], (a, b)


@pytest.mark.skipif(not ROOT, reason="needs other users")
def test_what_alerts_look_at_is_there(p):
    exprs = [r["query"] for g in wait_until(lambda: p.ask("rules"), "the rules")["groups"] for r in g["rules"]]
    selectors = {s for e in exprs for s in re.findall(r'\b(?:gpusched_\w+|up)(?:{[^}]*})?', e)}
    assert len(selectors) > len(exprs) // 2

    def absent():
        return {s for s in selectors if not p.query(s)}
    wait_until(lambda: absent() == NOT_THERE.keys(), lambda: f"what is not there: {absent()}")


@pytest.mark.skipif(not ROOT, reason="needs other users")
@pytest.mark.parametrize("job,names", [("slurm-exporter", EXPORTER), ("gpusched-gpus", DCGM)])
def test_dashboards_of_others(p, job, names):
    def missing():
        return [(name, why) for labels, all_names in names.items() for name in all_names
                if (why := lacks(p, f'{name}{{job="{job}"}}', set(labels.split())))]
    wait_until(lambda: not missing(), lambda: f"series of {missing()}")


@pytest.mark.skipif(not ROOT, reason="needs other users")
def test_gpus_have_their_jobs(p):
    """The label that dcgm-exporter gives them, on the GPUs of the job alone."""
    wait_until(lambda: len(p.query(f'DCGM_FI_DEV_FB_USED{{hpc_job="{p.runs}"}}')) == 8, "eight GPUs of the job")
    wait_until(lambda: {m["UUID"] for m, _ in p.query('DCGM_FI_DEV_FB_USED{Hostname="n1"}')} >= {"GPU-0", "GPU-1", "MIG-2-1", "MIG-2-3"}, "GPUs of n1")
    for name in DCGM_ALONE:
        assert not p.query(name)
