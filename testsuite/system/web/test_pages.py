"""The pages of gweb over a real cluster: what they answer, and what a browser makes of them.

GPUSCHED_SHOTS=FOLDER keeps a picture of each page in each size, light and dark, to be looked at.
"""

import html
import os
import pathlib
import re
import subprocess
import tempfile

import browser
import pytest
from browser import ENTER, MODES, SIZES, TAB, Browser
from cluster import BUILD, ROOT, wait_until
from webserver import missing, web_cluster

pytestmark = [pytest.mark.skipif(bool(missing()), reason=missing()), pytest.mark.skipif(not ROOT, reason="needs other users")]
looks = pytest.mark.skipif(bool(browser.missing()), reason=browser.missing())

ANA, OPERATOR = "games", "bin"
HOSTILE = "<script>document.title='taken'</script><img src=x onerror=alert(1)>'\"&"
HARDWARE = """gpu_types = ( { name = "h100"; mem = "80G"; }, { name = "l40s"; mem = "48G"; } );
nodes = ( { name = "h[1-2]"; cpus = 64; gpus = "h100:8"; }, { name = "l1"; cpus = 64; gpus = "l40s:4"; } );"""
POLICY = """prices = { currency = "EUR"; };
accounts = ( { name = "lab"; quota = { guaranteed = "h100:12"; }; }, { name = "red"; parent = "lab"; members = [ "*" ]; quota = { guaranteed = "h100:4"; limit = "h100:12"; }; },
  { name = "blue"; parent = "lab"; members = [ "*" ]; quota = { guaranteed = "h100:8"; }; } );
default_account = "red";"""
PATHS = ["/", "/queue", "/queue?state=ALL", "/nodes", "/node/h1", "/accounts", "/usage", "/fair-share", "/services", "/reports", "/reports?by=user", "/what-if", "/about"]


@pytest.fixture(scope="module", name="web")
def fixture_web():
    with web_cluster(nodes=("h1", "h2", "l1"), cpus=64, hardware=HARDWARE, policy=POLICY, roles=f'operators = [ "{OPERATOR}" ];') as w:
        c = w.c
        w.runs = c.submit("sleep 1000", "--gpus=h100:8", "--time=2:00:00", "--job-name=train")
        w.waits = c.submit("sleep 1000", "--gpus=h100:8", "--time=1:00:00", "--job-name=waits")
        w.hostile = c.submit("sleep 1000", "--gpus=l40s:1", "--hold", f"--job-name={HOSTILE}", f"--comment={HOSTILE}")
        w.ended = c.submit("true", "--gpus=l40s:1", "--job-name=short")
        c.wait_state(w.runs, "RUNNING")
        c.wait_state(w.ended, "COMPLETED")
        c.run("gctl", "drain", "l1:3", "--reason", f"fan {HOSTILE}", check=False)
        yield w


@pytest.fixture(scope="module", name="cookie")
def fixture_cookie(web):
    return web.browser(OPERATOR)


@pytest.fixture(name="b")
def fixture_b(web):
    with Browser() as b:
        b.go(web.login(OPERATOR).stdout.strip())
        b.until(lambda: b.js("return location.pathname") == "/" and b.text(), "the page behind the login")
        yield b


def jobs(web):
    return [f"/job/{i}" for i in (web.runs, web.waits, web.hostile, web.ended)]


# --- without a browser ---------------------------------------------------------------------------


def test_comparisons_that_gsim_made():
    """The commands that the page names make what it shows."""
    with tempfile.TemporaryDirectory() as folder, web_cluster(f"--what-if={folder}") as w:
        folder = pathlib.Path(folder)
        folder.chmod(0o755)
        reader = w.browser(ANA)
        assert "There is no comparison yet" in reader.get("/what-if").body.decode()
        (folder / "nodes.csv").write_text("node,count,gpus,gpu_type\nx,1,8,h100\n")
        (folder / "jobs.csv").write_text("job_id,submit_s,duration_s,gpus,group,gpu_type\n" + "".join(
            f"j{i},{i * 60},{300 + i % 7 * 400},{(1, 8, 2)[i % 3]},{('red', 'blue')[i % 2]},h100\n" for i in range(120)))
        r = subprocess.run([BUILD / "ctld/gsim/gsim", "--quiet", "--nodes", folder / "nodes.csv", "--against=fifo", f"--plot={folder / 'fifo'}", "--json",
                            folder / "jobs.csv"], capture_output=True, text=True, check=True, timeout=120)
        (folder / "fifo/figures.json").write_text(r.stdout)
        text = reader.get("/what-if").body.decode()
        pictures = sorted(p.name for p in (folder / "fifo").glob("*.svg"))
        assert "compare-waits.svg" in pictures
        for name in pictures:
            assert f'src="/what-if/{name}?of=fifo"' in text
            picture = reader.get(f"/what-if/{name}?of=fifo")
            assert picture.status == 200 and picture.headers["Content-Type"] == "image/svg+xml"
            assert picture.body == (folder / "fifo" / name).read_bytes()
        assert html.escape(r.stdout.splitlines()[1].strip()) in text, text


def test_pages_answer(web, cookie):
    for path in PATHS + jobs(web):
        r = wait_until(lambda path=path: (a := cookie.get(path)).status == 200 and a, path)
        text = r.body.decode()
        assert "default-src 'none'" in r.headers["Content-Security-Policy"] and "unsafe" not in r.headers["Content-Security-Policy"]
        assert text.startswith("<!doctype html>") and text.count("<script") == 1 and "<img" not in text, path
    assert "&lt;script&gt;" in cookie.get(f"/job/{web.hostile}").body.decode()
    for path in ("/job/999999", "/job/x", "/node/nosuch", "/service/nosuch", "/static/nosuch", "/what-if/x.svg"):
        assert cookie.get(path).status == 404, path


def test_login_is_needed(web):
    for path in PATHS + ["/changes"]:
        r = web.get(path, Accept="text/html")
        assert r.status == 401 and r.body.startswith(b"<!doctype html>") and b"gweb login" in r.body and b"h1" not in r.body.split(b"<main")[1].replace(b"<h1", b"").replace(b"</h1", b""), path
        assert web.get(path).status == 401
    assert web.get("/static/gweb.css").status == 200


def test_errors_are_pages_to_a_browser(web, cookie):
    for path, status, text in (("/nothing", 404, "The reason: there is no such page"), ("/queue?%zz", 400, "The reason: the path or query cannot be understood"), ("/login?link=none", 403, "older")):
        r = cookie.get(path, Accept="text/html")
        assert r.status == status and r.body.startswith(b"<!doctype html>") and text in r.body.decode(), r.body
    assert cookie.get("/nothing").body == b"404 not found: there is no such page\n"
    assert cookie.get("/v1/nothing", Accept="text/html").error


def test_a_part_of_a_page(web, cookie):
    r = cookie.get("/queue", X_Part="main")
    assert r.body.startswith(b"<main ") and b"<nav aria-label=\"Pages\"" not in r.body
    why = cookie.get(f"/job/{web.waits}/why").body.decode()
    assert "It asks for 8 h100" in why and "<html" not in why


def test_guarantees(web, cookie):
    """red holds 8 of its 4: it has borrowed 4 of blue's 8."""
    def numbers():
        text = cookie.get("/accounts").body.decode()
        rows = re.finditer(r'<span class="d1">(\w+)</span></th>(.*)</tr>', text)
        return {m.group(1): re.findall(r'<td class="n[^"]*">([^<]*)</td>', m.group(2)) for m in rows}
    wait_until(lambda: numbers() == {"red": ["4", "8", "4", "-", "-", "-", "12"], "blue": ["8", "-", "-", "4", "4", "-", "-"]},
               lambda: f"what is guaranteed and held: {numbers()}")


def test_fair_share_over_time(web, cookie):
    """From gweb's first look at the accounts on; a user sees what gshare would say to it."""
    text = wait_until(lambda: (t := cookie.get("/fair-share").body.decode()) and "<svg" in t and t, "the first sample")
    assert "every 5 minutes while it ran" in text and re.search(r'<th scope="row">lab</th><td class="n">[01]\.', text)
    assert re.search(r'<th scope="row">red \w+</th><td class="n">[01]\.', text)
    below = cookie.get("/fair-share?account=lab").body.decode()
    assert all(f"<th scope=\"row\">{name}</th>" in below for name in ("lab", "red", "blue"))
    assert "Nothing is known" in cookie.get("/fair-share?account=%3Cscript%3E").body.decode()


# --- in a browser ----------------------------------------------------------------------------------


@looks
def test_sizes_and_modes(web, b):
    shots = os.environ.get("GPUSCHED_SHOTS")
    for mode in MODES:
        for size in SIZES:
            b.look_like(size, mode)
            for path in PATHS + jobs(web):
                b.go(web.url + path)
                assert b.overflow() <= 0, (path, size, b.overflow())
                if shots:
                    name = f"{path.strip('/').replace('/', '-').replace('?', '-') or 'now'}-{size[0]}x{size[1]}-{mode}.png"
                    b.driver.save_screenshot(str(pathlib.Path(shots) / name))
            dark = b.js("return getComputedStyle(document.documentElement).backgroundColor.match(/\\d+/g).every(n => n < 64)")
            assert dark == (mode == "dark")
    assert not b.complaints()


@looks
def test_hostile_names_do_nothing(web, b):
    for path in (*PATHS, f"/job/{web.hostile}", "/node/l1"):
        b.go(web.url + path)
        assert b.js("return document.scripts.length") == 1 and b.js("return document.images.length") == 0
        assert "taken" not in b.driver.title or "<script>" in b.driver.title
    b.go(f"{web.url}/job/{web.hostile}")
    assert HOSTILE in b.text("h1")
    assert not b.complaints()


@looks
def test_changes_come_by_themselves(web, b):
    b.go(web.url + "/queue")
    b.js("document.querySelector('input[name=user]').focus()")
    b.find("input[name=user]").send_keys("ab")
    b.js("window.mark = 1")
    job = web.c.submit("sleep 1000", "--gpus=l40s:1", "--job-name=later")
    try:
        b.until(lambda: b.all(f"a[href='/job/{job}']"), "the new job's row")
        assert b.js("return window.mark") == 1, "the page was loaded anew"
        assert b.js("return document.activeElement.name + document.activeElement.value") == "userab"
        b.find("input[name=user]").send_keys("c")
        assert b.js("return document.activeElement.value") == "abc"
    finally:
        web.c.run("gcancel", job)
    b.until(lambda: not b.all(f"a[href='/job/{job}']"), "the row to go")
    assert not b.complaints()


@looks
def test_the_stream_of_changes_is_made_anew(web, b):
    """A browser does not come back by itself to an answer that is no stream, as that of a proxy while gweb restarts."""
    b.driver.execute_cdp_cmd("Page.addScriptToEvaluateOnNewDocument", {"source": """
        const Real = EventSource;
        window.sources = [];
        window.EventSource = class extends Real { constructor(address) { super(address); sources.push(this); } };"""})
    b.go(web.url + "/queue")
    b.until(lambda: b.js("return sources.length === 1 && sources[0].readyState === EventSource.OPEN"), "the stream")
    b.js("sources[0].dispatchEvent(new Event('error')); sources[0].dispatchEvent(new Event('open'))")  # it came back
    assert b.js("return document.getElementById('live').textContent") == ""
    b.js("sources[0].close(); sources[0].dispatchEvent(new Event('error'))")
    assert b.js("return document.getElementById('live').textContent") == ""  # for a while nothing is said
    b.until(lambda: b.js("return sources.length === 2 && sources[1].readyState === EventSource.OPEN"), "another stream")
    b.until(lambda: b.js("return document.getElementById('live').textContent") == "", "nothing to be said")
    job = web.c.submit("sleep 1000", "--hold", "--job-name=anew")
    b.until(lambda: b.all(f"a[href='/job/{job}']"), "the new job's row")
    web.c.run("gcancel", job)


@looks
def test_focus_stays_on_a_link(web, b):
    b.go(web.url + "/queue")
    b.js("document.querySelector(arguments[0]).focus()", f"a[href='/job/{web.runs}']")
    job = web.c.submit("sleep 1000", "--hold", "--job-name=other")
    b.until(lambda: b.all(f"a[href='/job/{job}']"), "the new job's row")
    assert b.js("return document.activeElement.getAttribute('href')") == f"/job/{web.runs}"
    web.c.run("gcancel", job)


@looks
def test_why_at_a_click(web, b):
    b.go(web.url + "/queue")
    link = f"a[data-why='{web.waits}']"
    b.until(lambda: b.all(link), "the job that waits")
    b.js("document.querySelector(arguments[0]).focus()", link)
    b.press(ENTER)
    b.until(lambda: "It asks for 8 h100" in b.text("tr.opened"), "the reasons")
    assert b.find(link).get_attribute("aria-expanded") == "true" and b.js("return location.pathname") == "/queue"
    job = web.c.submit("sleep 1000", "--hold", "--job-name=third")
    b.until(lambda: b.all(f"a[href='/job/{job}']"), "the new job's row")
    assert "It asks for 8 h100" in b.text("tr.opened"), "it stays open"
    b.js("document.querySelector(arguments[0]).click()", link)
    b.until(lambda: not b.all("tr.opened"), "it to close")
    web.c.run("gcancel", job)


@looks
def test_a_part_comes_later(web, b):
    b.go(web.url + "/accounts")
    b.until(lambda: b.all("[data-later='/usage'] svg.plot") and b.all("[data-later='/fair-share'] svg.plot"), "the use by day, and fair-share")
    assert len(b.all("h1")) == 1 and not b.complaints()


@looks
def test_keyboard(web, b):
    b.go(web.url + "/")
    b.press(TAB)
    assert b.js("return document.activeElement.className") == "skip"
    reached = set()
    for _ in range(60):
        b.press(TAB)
        reached.add(b.js("return document.activeElement.getAttribute('href')"))
    assert {"/queue", "/about", "/node/h1", "/node/l1", f"/job/{web.runs}"} <= reached
    for path in PATHS:
        b.go(web.url + path)
        assert b.js("return [...document.querySelectorAll('[tabindex]')].every(e => e.tabIndex <= 0)"), path


@looks
def test_without_script(web):
    with Browser(script=False) as b:
        b.go(web.login(OPERATOR).stdout.strip())
        b.go(web.url + "/queue?name=train")
        assert b.all(f"a[href='/job/{web.runs}']") and not b.all(f"a[href='/job/{web.waits}']")
        b.find("input[name=name]").clear()
        b.find("input[name=name]").send_keys("waits" + ENTER)
        b.until(lambda: b.all(f"a[href='/job/{web.waits}']"), "the answer of the form")
        b.find(f"a[data-why='{web.waits}']").click()
        b.until(lambda: b.all("#why"), "the page of the job")
        assert "It asks for 8 h100" in b.find("#why").text


@looks
def test_controller_goes_and_comes(web, b):
    b.go(web.url + "/")
    web.c.ctld.kill()
    b.until(lambda: "As it was" in b.text(), "the page to say how old it is")
    assert b.all("a[href='/node/h1']"), "what is known is still shown"
    web.c.start_ctld()
    web.c.wait_nodes()
    b.until(lambda: "As it was" not in b.text(), "the page to be of now again")
