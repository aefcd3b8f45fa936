"""stage.py - what the demonstrations share: commands as a user types them, with what they print

A demonstration is a file show_N_WORDS.py with a function show(stage), and a class CLUSTER of the system tests. It ends
with the line "demonstration N: shown", or with what was not so and exit status 1. `narrate` is called as the program's end.
"""

import os
import pathlib
import re
import shlex
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent / "system" / folder) for folder in ("lib", "jobs")]
from cluster import Failed, wait_until  # noqa: E402


class NotSo(Exception):
    """Something that the demonstration says did not happen."""


class Stage:
    """A cluster, and a terminal before it."""

    def __init__(self, cluster):
        self.c = cluster

    def say(self, text):
        print(f"\n# {text}", flush=True)

    def short(self, text):
        """Files are named as from the folder in which the commands are run."""
        return text.replace(f"{self.c.dir}/jobs/", "").replace(f"{self.c.dir}/", "../")

    def type(self, *words, status=0, env=None):
        """Run a command; returns what it printed. Another exit status than the one expected ends the demonstration."""
        words = [self.short(str(w)) for w in words]
        print(f"$ {shlex.join(words)}", flush=True)
        r = self.c.run(*words, check=False, env=env, timeout=1200)
        for line in self.short(r.stdout + r.stderr).splitlines():
            print(f"    {line}".rstrip())
        sys.stdout.flush()
        self.sure(r.returncode == status, f"{words[0]} ends with {status}", f"with {r.returncode}", quiet=True)
        return r.stdout + r.stderr

    def curl(self, url):
        return self.type("curl", "--silent", "--show-error", "--fail", "--max-time", "60", url).strip()

    def sure(self, fact, what, instead="", quiet=False):
        """`what` is so, or the demonstration ends."""
        if not fact:
            raise NotSo(f"{what}: this is not so{f' ({instead})' if instead else ''}")
        if not quiet:
            print(f"  = {what}", flush=True)

    def until(self, condition, what):
        """Wait for it; returns what the condition returned."""
        print(f"  ... until {what}", flush=True)
        return wait_until(condition, what)

    def until_ready(self, n, state="SERVING", name="chat"):
        print(f"  ... until {n} of {name} are ready", flush=True)
        return self.c.wait_ready(name, n, state)

    def stop(self, name="chat"):
        self.type("gserve", "stop", name)
        self.until(lambda: self.c.run("gserve", "show", name, check=False).returncode == 3, f"{name} is gone")


def narrate(path, show, make, title):
    """Show it on a cluster of its own, and end the program. The number is in the file's name."""
    number = re.match(r"show_(\d+)_", pathlib.Path(path).name).group(1)
    print(f"demonstration {number}: {title.splitlines()[0]}", flush=True)
    try:
        with make() as c:
            try:
                show(Stage(c))
            finally:
                getattr(c, "end_others", lambda: None)()
    except (NotSo, Failed) as e:
        print(f"\ndemonstration {number}: not shown: {e}", flush=True)
        sys.exit(1)
    print(f"\ndemonstration {number}: shown", flush=True)
