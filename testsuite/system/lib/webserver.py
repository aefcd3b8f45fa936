"""webserver.py - a gweb beside a cluster, and what a program, a browser and a proxy send it"""

import contextlib
import http.client
import json
import pwd
import re
import socket
import subprocess

from cluster import BUILD, DEADLINE, ROOT, Cluster, Daemon, free_port, wait_until

GWEB = BUILD / "cmds/gweb"
WEB_USER = "www-data"


class UnixConnection(http.client.HTTPConnection):
    """To a unix socket, as a proxy does."""

    def __init__(self, path):
        super().__init__("localhost", timeout=DEADLINE)
        self.path = str(path)

    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(DEADLINE)
        self.sock.connect(self.path)


class Answer:
    def __init__(self, status, headers, body):
        self.status, self.headers, self.body = status, headers, body

    @property
    def json(self):
        return json.loads(self.body)

    @property
    def error(self):
        return self.json["error"]["code"]


class Web:
    """A gweb of its own user, with a port and a unix socket."""

    def __init__(self, cluster, *options, user=WEB_USER):
        self.c, self.options, self.user = cluster, options, user
        self.port = free_port()
        self.url = f"http://127.0.0.1:{self.port}"
        self.unix = cluster.run_base / "gweb.sock"
        self.daemon = None
        self.start()

    def start(self):
        argv = [GWEB, f"--listen=127.0.0.1:{self.port},unix:{self.unix}", "--socket-mode=0666", "--period=100ms", *self.options]
        if ROOT:
            self.c.run_base.chmod(0o1777)
            argv = ["setpriv", f"--reuid={self.user}", f"--regid={pwd.getpwnam(self.user).pw_gid}", "--clear-groups", *argv]
        self.daemon = Daemon("gweb", argv, self.c.dir / "log/gweb.log", self.c.env)
        wait_until(self.answers, lambda: f"gweb to answer: {self.daemon.tail()}")

    def answers(self):
        assert self.daemon.alive(), self.daemon.tail()
        with contextlib.suppress(OSError):
            return self.get("/v1/whoami").json.get("taken")

    def close(self):
        assert self.daemon.stop() == 0, self.daemon.tail()

    # --- requests ------------------------------------------------------------------------------

    def connection(self, unix=False):
        return UnixConnection(self.unix) if unix else http.client.HTTPConnection("127.0.0.1", self.port, timeout=DEADLINE)

    def request(self, method, path, body=None, headers=(), unix=False):
        connection = self.connection(unix)
        with contextlib.closing(connection):
            connection.request(method, path, body, dict(headers))
            r = connection.getresponse()
            return Answer(r.status, r.headers, r.read())

    def get(self, path, **headers):
        return self.request("GET", path, headers={k.replace("_", "-"): v for k, v in headers.items()})

    def sign(self, method, path, body=None, user=None):
        """The header of a request as that user."""
        words = [method, self.url + path, *(["-"] if body is not None else [])]
        out = self.c.run(GWEB, "sign", *words, user=user, stdin=body).stdout
        name, value = out.strip().split(": ", 1)
        return {name: value}

    def signed(self, method, path, body=None, user=None):
        return self.request(method, path, body, self.sign(method, path, body, user))

    def as_user(self, path, user=None):
        return self.signed("GET", path, user=user)

    def login(self, user=None, *options, check=True):
        return self.c.run(GWEB, "login", f"--url={self.url}", *options, user=user, check=check)

    def browser(self, user=None):
        return Browser(self, self.login(user).stdout.strip())


class Browser:
    """What has a cookie after it followed a link."""

    def __init__(self, web, link):
        self.web, self.link = web, link
        r = web.get(link.removeprefix(web.url))
        assert r.status == 200, r.body
        self.set_cookie = r.headers["Set-Cookie"]
        self.cookie = self.set_cookie.split(";")[0]

    def get(self, path, **headers):
        return self.web.get(path, Cookie=self.cookie, **headers)

    def post(self, path, body=None, **headers):
        return self.web.request("POST", path, body, {"Cookie": self.cookie, **{k.replace("_", "-"): v for k, v in headers.items()}})


class Events:
    """A stream of server-sent events."""

    def __init__(self, web, path, headers):
        self.connection = web.connection()
        self.connection.request("GET", path, headers=headers)
        self.answer = self.connection.getresponse()

    def next(self, *kinds):
        """(id, kind, data) of the next event, of those kinds."""
        event = {}
        while True:
            line = self.answer.readline().decode()
            assert line, "the stream has ended"
            line = line.rstrip("\n")
            if not line and "data" in event and (not kinds or event["event"] in kinds):
                return event.get("id"), event["event"], json.loads(event["data"])
            if not line:
                event = {}
            elif not line.startswith(":"):
                name, _, value = line.partition(": ")
                event[name] = value

    def close(self):
        self.connection.close()


@contextlib.contextmanager
def web_cluster(*options, policy="", roles="", **kw):
    """A cluster with a gweb."""
    users = f'web_users = [ "{WEB_USER}" ]; ' if ROOT else ""
    with Cluster(policy=f"{policy}\nroles = {{ {users}{roles} }};", **kw) as c:
        web = Web(c, *options)
        try:
            yield web
        finally:
            web.close()


def missing():
    """Why gweb cannot be tried; "": it can."""
    return "" if GWEB.exists() else "gweb is not built: --disable-gweb"
