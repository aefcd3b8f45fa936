"""browser.py - Debian's chromium without a window, driven by selenium

chromium, chromium-driver and python3-selenium are the package set `look` of etc/setup (some 600 MB with what they
need), which testsuite/run installs where it can: where one of them is missing, the tests that look through a browser are
skipped with the reason.
"""

import json
import shutil

from cluster import ROOT, wait_until

try:
    from selenium import webdriver
    from selenium.webdriver.chrome.options import Options
    from selenium.webdriver.chrome.service import Service
except ImportError:
    webdriver = None

TAB, ENTER = "\ue004", "\ue007"
SIZES = ((360, 800), (1440, 900), (3840, 2160))
MODES = ("light", "dark")


def missing():
    """Why there is no browser; "": there is one."""
    absent = [package for package, there in (
        ("chromium", shutil.which("chromium")), ("chromium-driver", shutil.which("chromedriver")),
        ("python3-selenium", webdriver)) if not there]
    return f"{' '.join(absent)} missing: etc/setup packages look installs that" if absent else ""


class Browser:
    def __init__(self, script=True):
        options = Options()
        options.binary_location = shutil.which("chromium")
        for word in ("--headless=new", "--disable-gpu", "--hide-scrollbars", "--disable-dev-shm-usage", "--window-size=1440,900",
                     *(["--no-sandbox"] if ROOT else []), *([] if script else ["--blink-settings=scriptEnabled=false"])):
            options.add_argument(word)
        options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
        self.driver = webdriver.Chrome(service=Service(shutil.which("chromedriver")), options=options)

    def close(self):
        self.driver.quit()

    def __enter__(self):
        return self

    def __exit__(self, kind, value, trace):
        self.close()

    # --- looking ---------------------------------------------------------------------------------

    def go(self, url):
        self.driver.get(url)

    def js(self, text, *args):
        return self.driver.execute_script(text, *args)

    def find(self, css):
        return self.driver.find_element("css selector", css)

    def all(self, css):
        return self.driver.find_elements("css selector", css)

    def text(self, css="main"):
        return self.js("const e = document.querySelector(arguments[0]); return e ? e.innerText : ''", css)

    def press(self, key):
        """In whatever has the focus, which may be put in place anew meanwhile."""
        webdriver.ActionChains(self.driver).send_keys(key).perform()

    def until(self, condition, what):
        return wait_until(condition, lambda: f"{what}; the page says:\n{self.text()[:2000]}")

    def complaints(self):
        """What the console says since the last time: errors, and what the policy has forbidden."""
        return [e["message"] for e in self.driver.get_log("browser") if e["level"] in ("WARNING", "SEVERE")]

    def look_like(self, size, mode):
        self.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [{"name": "prefers-color-scheme", "value": mode}]})
        self.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", {
            "width": size[0], "height": size[1], "deviceScaleFactor": 1, "mobile": size[0] < 500})

    def overflow(self):
        """Pixels by which the page is wider than its window."""
        return self.js("return document.documentElement.scrollWidth - document.documentElement.clientWidth")

    def first_paint_ms(self):
        return self.js("const p = performance.getEntriesByName('first-contentful-paint')[0]; return p ? p.startTime : 0")

    def axe(self, script):
        """What axe-core, whose text this is, finds on the page that is shown, as lines."""
        self.js(script)
        found = self.driver.execute_async_script(
            "const done = arguments[arguments.length - 1]; axe.run().then(r => done(JSON.stringify(r.violations)))")
        return [f"{v['id']}: {v['help']}: {n['html'][:200]} {n.get('failureSummary', '')[:300]}"
                for v in json.loads(found) for n in v["nodes"]]
