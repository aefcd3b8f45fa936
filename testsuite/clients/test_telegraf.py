"""Telegraf reads gweb: its input for Slurm's REST daemon, and its input for Prometheus."""

import collections
import json

import pytest
from cluster import wait_until
from desk import client
from webserver import WEB_USER, Web

CONF = """
[agent]
  omit_hostname = true
[[inputs.slurm]]
  url = "{url}"
  username = "monitor"
  token = "{token}"
[[inputs.prometheus]]
  urls = ["{url}/metrics"]
  metric_version = 2
  http_headers = {{"X-SLURM-USER-TOKEN" = "{token}"}}
[[outputs.file]]
  files = ["{out}"]
  data_format = "json"
"""


@pytest.fixture(name="read", scope="module")
def fixture_read(desk):
    """What Telegraf writes with this token: rows by measurement, and its log."""
    bin = client("telegraf")
    conf = desk.dir / "gpusched.conf"
    conf.write_text(conf.read_text() + f'roles = {{ web_users = [ "{WEB_USER}" ]; }};\n')
    desk.run("gctl", "reconfigure")
    web = Web(desk)

    def read(token=None):
        folder = desk.dir / "telegraf"
        folder.mkdir(exist_ok=True)
        out = folder / "out"
        out.unlink(missing_ok=True)
        (folder / "conf").write_text(CONF.format(url=web.url, out=out, token=token or web.login(None, "--token=1").stdout.strip()))
        log = desk.run(bin / "telegraf", "--config", folder / "conf", "--once", check=False).stderr
        rows = collections.defaultdict(list)
        for line in out.read_text().splitlines() if out.exists() else ():
            row = json.loads(line)
            rows[row["name"]].append({**row["fields"], **row["tags"]})
        return rows, log
    yield read
    web.close()


def test_rows(desk, read):
    desk.run("gsubmit", "--job-name=held", "--hold", "--wrap", "true")
    job = desk.submit("sleep 600", "--gpus=1", "--time=60")
    desk.wait_state(job, "RUNNING")
    wanted = {"slurm_diag", "slurm_jobs", "slurm_nodes", "slurm_partitions", "prometheus"}

    def both():
        """Once gweb's snapshot has the job, and its numbers of jobs too, which come a little later."""
        rows, log = read()
        assert " E! " not in log, log
        there = any(r["job_id"] == str(job) for r in rows.get("slurm_jobs", [])) and \
            any(r["jobs_running"] == 1 for r in rows.get("slurm_diag", []))
        return there and (rows, log)
    rows, log = wait_until(both, "the job's row")
    assert wanted <= set(rows), (set(rows), log)
    row, = (r for r in rows["slurm_jobs"] if r["job_id"] == str(job))
    assert (row["state"], row["partition"], row["time_limit"]) == ("RUNNING", "batch", 60) and row["tres_gres/gpu"] == 1
    assert {r["state"] for r in rows["slurm_jobs"]} == {"RUNNING", "PENDING"}
    assert {r["name"]: r["state"] for r in rows["slurm_nodes"]}.items() >= {"n1": "mixed"}.items()
    assert rows["slurm_partitions"][0]["state"] == "UP"
    assert any("gpusched_jobs" in r for r in rows["prometheus"])
    desk.empty()


def test_a_wrong_token_is_told(read):
    rows, log = read("gweb1.0.1.none")
    assert not rows["slurm_jobs"] and " E! " in log, log
