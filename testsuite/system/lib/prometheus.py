"""prometheus.py - Debian's prometheus with a configuration, and what it answers"""

import contextlib
import http.client
import json
import shutil
import urllib.parse

import pytest
from cluster import DEADLINE, Daemon, free_port


def need_prometheus(program):
    """It takes 100 MB, and is in the set `look` of etc/setup."""
    if not shutil.which(program):
        pytest.skip(f"{program} is missing (Debian: prometheus; etc/setup packages look)")


class Prometheus:
    """In `folder`, where the files that its configuration names lie."""

    def __init__(self, folder, conf):
        self.port = free_port()
        (folder / "prometheus.yml").write_text(conf)
        self.daemon = Daemon("prometheus", ["prometheus", f"--config.file={folder}/prometheus.yml", f"--storage.tsdb.path={folder}/data",
                                            f"--web.listen-address=127.0.0.1:{self.port}"], folder / "log")

    def __enter__(self):
        return self

    def __exit__(self, kind, value, trace):
        self.daemon.stop()

    def ask(self, path):
        """The data of an answer of /api/v1/; None if there is none, since it may not be ready."""
        c = http.client.HTTPConnection("127.0.0.1", self.port, timeout=DEADLINE)
        with contextlib.closing(c), contextlib.suppress(OSError, ValueError):
            c.request("GET", "/api/v1/" + path)
            answer = json.loads(c.getresponse().read())
            assert answer["status"] == "success", (path, answer)
            return answer["data"]
        return None

    def query(self, expr):
        """[(labels, value)] of an expression; a scalar has no labels."""
        return [(r["metric"], float(r["value"][1])) for r in self.ask("query?" + urllib.parse.urlencode({"query": expr}))["result"]]

    def all_up(self, n):
        """All n targets have been scraped."""
        targets = (self.ask("targets") or {"activeTargets": []})["activeTargets"]
        return len([t for t in targets if t["health"] == "up"]) == n
