"""axe-core, which finds what is not accessible, has nothing to say of any page of gweb: light and dark, 360 and 1920 pixels
wide, with hostile names, names and lists that are long, and GPUs in every state.

GPUSCHED_SHOTS=FOLDER keeps a picture of each page in each size and mode.
"""

import http.server
import json
import os
import pathlib
import subprocess
import threading

import browser
import pytest
import webserver
from browser import MODES, Browser
from cluster import BIN, BUILD, ROOT, Daemon
from desk import client, debian
from test_services import Services
from webserver import WEB_USER, Web

pytestmark = [pytest.mark.skipif(bool(webserver.missing()), reason=webserver.missing() or "-"),
              pytest.mark.skipif(not ROOT, reason="needs other users")]

SIZES = ((360, 800), (1920, 1080))
PARTS_CAME = """return [...document.querySelectorAll("[data-later]")].every(e => !e.querySelector(`:scope > a[href="${e.dataset.later}"]`))"""
OPERATOR = "bin"
HOSTILE = "<script>document.title='taken'</script><img src=x onerror=alert(1)>'\"&"
LONG = "a-name-without-a-gap-" * 9
HARDWARE = """gpu_types = ( { name = "demo"; mem = "80G"; }, { name = "h100"; mem = "80G"; }, { name = "l40s"; mem = "48G"; } );
nodes = ( { name = "n1"; cpus = 16; gpus = "demo:4"; }, { name = "h[001-060]"; cpus = 64; gpus = "h100:8"; },
  { name = "l[01-20]"; cpus = 64; gpus = "l40s:4"; } );"""
PARTITIONS = """( { name = "batch"; nodes = "n1"; default = true; max_time = "1-00:00:00"; grace = "2s"; services = true; },
  { name = "many"; nodes = "h[001-060],l[01-20]"; max_time = "7-00:00:00"; } )"""
GROUPS = [f"group-{i:02}" for i in range(30)]
POLICY = """prices = { currency = "EUR"; };
accounts = ( { name = "lab"; members = [ "*" ]; quota = { guaranteed = "h100:240"; }; }, %s );
default_account = "lab";
roles = { web_users = [ "www-data" ]; operators = [ "bin" ]; };""" % ", ".join(
    f'{{ name = "{name}"; parent = "lab"; members = [ "*" ]; quota = {{ guaranteed = "h100:8"; limit = "h100:48"; }}; }}' for name in GROUPS)


@pytest.fixture(name="script", scope="module")
def fixture_script():
    for package, present in (("chromium", ("chromium", "--version")), ("chromium-driver", ("chromedriver", "--version")),
                             ("python3-selenium", ("/usr/bin/python3", "-c", "import selenium"))):
        debian(package, *present)
    if browser.missing():  # selenium came only now
        pytest.skip(browser.missing())
    return (client("axe").parent / "node_modules/axe-core/axe.min.js").read_text()


class Crowded(Services):
    """A node that runs jobs, and eighty that are simulated."""

    def __init__(self):
        super().__init__(partitions=PARTITIONS, policy=POLICY, hardware=HARDWARE, start=False)
        self.start_munged()
        self.start_ctld()
        self.start_agent("n1", f"--output-readers={WEB_USER}")
        self.agents["simulated"] = Daemon("gnoded --simulate", [BIN["gnoded"], "--simulate=0", "--nodes=h[001-060],l[01-20]"],
                                          self.dir / "log/simulate.log", self.env)
        self.wait_nodes()

    def fill(self):
        """Jobs in every state, and 300 that wait."""
        rows = [{"wrap": "true", "job-name": (f"train-{i}", HOSTILE, LONG)[i % 3], "comment": (LONG, HOSTILE)[i % 2], "partition": "many",
                 "gpus": f"h100:{1 + i % 8}", "account": GROUPS[i % len(GROUPS)], "time": "1:00:00", "label": "sim=100000"} for i in range(400)]
        (self.dir / "jobs/bulk.jsonl").write_text("\n".join(map(json.dumps, rows)))
        self.run("gsubmit", "--bulk", "bulk.jsonl", "--export=NONE", timeout=600)
        self.ended = self.submit("true", "--gpus=1", f"--job-name={LONG}")
        self.failed = self.submit("exit 3", "--gpus=1", "--job-name=fails")
        self.runs = self.submit("sleep 1000", "--gpus=1", "--job-name=runs", "--time=2:00:00", f"--comment={HOSTILE}")
        self.array = self.submit("sleep 1000", "--gpus=2", "--array=0-99%1", f"--job-name={HOSTILE}")
        self.held = self.submit("true", "--hold", f"--job-name={HOSTILE}", f"--comment={LONG}")
        self.after = self.submit("true", f"--depend=afterok:{self.held}", "--job-name=after")
        self.waits = self.submit("true", "-p", "many", "--nodes=60", "--gpus-per-node=h100:8", "--time=1:00:00", "--job-name=all")
        self.shown = self.submit(f"seq 1 3000; echo '{'long' * 500}' | tee /dev/stderr", "--show-output", "--error=%j.err", user=OPERATOR)
        self.wait_state(self.shown, "COMPLETED")
        self.wait_state(self.ended, "COMPLETED")
        self.wait_state(self.failed, "FAILED")
        self.wait_state(self.runs, "RUNNING")
        self.serve("chat", "--replicas=2", "--gpus=0")
        self.serve("asleep", "--replicas=0-1", "--gpus=0", "--metrics=vllm", "--target=2")
        self.wait_ready("chat", 2)
        self.run("gctl", "drain", "h001:3", "--reason", f"fan {HOSTILE}", check=False)
        self.run("gctl", "drain", "h002", "--reason", LONG, check=False)

    def paths(self):
        jobs = (self.ended, self.failed, self.runs, self.array, self.held, self.after, self.waits)
        return ["/", "/queue", "/queue?state=ALL", "/queue?page=2", "/queue?sort=-name&user=root", "/queue?user=nobody-has-this",
                "/nodes", "/node/n1", "/node/h001", "/node/h002", "/accounts", "/usage", "/fair-share", "/fair-share?account=lab",
                "/services", "/service/chat", "/service/asleep", "/reports", "/reports?by=user", "/reports?by=node", "/what-if",
                "/what-if?of=fifo", "/about", *(f"/job/{j}" for j in jobs),
                *(f"/output/{j}" for j in (self.shown, self.runs, self.waits)), "/output/999999", "/job/999999", "/job/x", "/node/nosuch",
                "/service/nosuch", "/fair-share?account=nosuch", "/queue?state=nosuch"]


def compare(folder):
    """What gsim makes for /what-if."""
    (folder / "nodes.csv").write_text("node,count,gpus,gpu_type\nx,2,8,h100\n")
    (folder / "jobs.csv").write_text("job_id,submit_s,duration_s,gpus,group,gpu_type\n" + "".join(
        f"j{i},{i * 60},{300 + i % 7 * 400},{(1, 8, 2)[i % 3]},{('red', 'blue')[i % 2]},h100\n" for i in range(120)))
    r = subprocess.run([BUILD / "ctld/gsim/gsim", "--quiet", "--nodes", folder / "nodes.csv", "--against=fifo", f"--plot={folder / 'fifo'}",
                        "--json", folder / "jobs.csv"], capture_output=True, text=True, check=True, timeout=120)
    (folder / "fifo/figures.json").write_text(r.stdout)


@pytest.fixture(name="web", scope="module")
def fixture_web(script, tmp_path_factory):
    folder = tmp_path_factory.mktemp("whatif")
    compare(folder)
    for p in (folder, folder.parent, folder.parent.parent):
        p.chmod(0o755)
    with Crowded() as c:
        c.fill()
        web = Web(c, f"--what-if={folder}")
        try:
            yield web
        finally:
            web.close()


@pytest.fixture(name="b")
def fixture_b(script):
    with Browser() as b:
        yield b


def judge(b, script, base, paths, shots=os.environ.get("GPUSCHED_SHOTS")):
    found = []
    for mode in MODES:
        for size in SIZES:
            b.look_like(size, mode)
            for path in paths:
                b.go(base + path)
                b.until(lambda: b.js(PARTS_CAME), f"all parts of {path}")
                found += [f"{path} {mode} {size[0]}: {line}" for line in b.axe(script)]
                if (wide := b.overflow()) > 0:
                    found.append(f"{path} {size[0]}: {wide} pixels wider than the window")
                if shots:
                    name = path.strip("/").translate(str.maketrans("/?=&", "----")) or "now"
                    b.driver.save_screenshot(str(pathlib.Path(shots) / f"axe-{name}-{size[0]}-{mode}.png"))
    return found


def test_pages_of_a_crowded_cluster(script, web, b):
    b.go(web.login(OPERATOR).stdout.strip())
    b.until(lambda: b.js("return location.pathname") == "/" and b.text(), "the page behind the login")
    found = judge(b, script, web.url, web.c.paths())
    assert not found, "\n".join(found)


def test_reasons_that_are_opened(script, web, b):
    b.go(web.login(OPERATOR).stdout.strip())
    found = []
    for mode in MODES:
        b.look_like(SIZES[0], mode)
        b.go(f"{web.url}/queue?name=all")
        b.until(lambda: b.all(f"a[data-why='{web.c.waits}']"), "the job that waits")
        b.js("document.querySelector(arguments[0]).click()", f"a[data-why='{web.c.waits}']")
        b.until(lambda: b.all("tr.opened"), "the reasons")
        found += b.axe(script)
    assert not found, "\n".join(found)


def test_login_and_errors(script, web, b):
    """What is shown to a browser that is not logged in, and whose link is not good."""
    found = judge(b, script, web.url, ["/", "/queue", "/job/1", "/login", "/login?link=none", "/nothing", "/queue?%zz"])
    assert not found, "\n".join(found)


def test_gpus_in_every_state(script, b, tmp_path):
    """The pages of the unit test's made cluster."""
    program = BUILD / "testsuite/unit/web/test_pages"
    if not program.exists():
        pytest.skip("testsuite/unit/web/test_pages is not built")
    subprocess.run([program], env={**os.environ, "GWEB_PAGES": str(tmp_path)}, capture_output=True, check=True)
    names = sorted(p.stem for p in tmp_path.glob("*.html"))
    pages = [f"/{name}" for name in names if not name.startswith(("static-", "favicon", "what-if-"))]

    class Handler(http.server.SimpleHTTPRequestHandler):
        def translate_path(self, path):
            style = path.startswith("/static/")
            return str(tmp_path / (path[1:].replace("/", "-") if style else path[1:])) + ".html"

        def guess_type(self, path):
            return "text/css" if ".css" in path else "text/javascript" if ".js" in path else "text/html; charset=utf-8"

        def log_message(self, *args):
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        found = judge(b, script, f"http://127.0.0.1:{server.server_address[1]}", pages)
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
    assert not found, "\n".join(found)


def test_a_controller_that_is_gone(script, web, b):
    """Last, since the cluster is of no use any more."""
    b.go(web.login(OPERATOR).stdout.strip())
    web.c.ctld.kill()
    b.until(lambda: "As it was" in b.text(), "the page to say how old it is")
    found = judge(b, script, web.url, ["/", "/queue", f"/job/{web.c.waits}", "/accounts", "/reports", "/about"])
    assert not found, "\n".join(found)
