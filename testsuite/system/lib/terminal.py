"""A terminal of any size, of tmux: a program in it, keys for it, and what it shows."""

import itertools
import shlex
import subprocess
import time

from cluster import wait_until


class Terminal:
    """One program in it; what it shows when it has ended is still there."""

    number = itertools.count()  # a server that ends still has its socket for a while

    def __init__(self, cluster, command, cols, rows, env=None):
        self.cluster, self.socket = cluster, cluster.dir / f"tmux-{next(self.number)}"
        words = [f"{k}={shlex.quote(v)}" for k, v in {"TERM": "screen-256color", **(env or {})}.items()]
        line = f"{' '.join(words)} {command}; echo ended with $?; read -r _"
        config = cluster.dir / "tmux.conf"
        config.write_text("set -g status off\nset -g remain-on-exit on\n")
        self.tmux("-f", config, "new-session", "-d", "-x", cols, "-y", rows, line)

    def tmux(self, *args):
        r = subprocess.run(["tmux", "-S", str(self.socket), *map(str, args)], capture_output=True, text=True, errors="replace",
                           env=self.cluster.env, cwd=self.cluster.dir / "jobs", timeout=60, check=False)
        assert r.returncode == 0, f"tmux {args[0]}: {r.stderr}"
        return r.stdout

    def text(self, *options):
        return self.tmux("capture-pane", "-p", *options)

    def lines(self):
        return self.text().splitlines()

    def keys(self, *keys):
        """By tmux's names: Enter, Escape, PageDown; everything else as it is."""
        self.tmux("send-keys", *keys)

    def shows(self, *words):
        """Until all of them are there at once; returns the picture."""
        text = ""

        def there():
            nonlocal text
            text = self.text()
            return all(w in text for w in words)
        wait_until(there, lambda: f"{words} on the terminal, which shows:\n{text}")
        return text

    def shows_no(self, word):
        text = ""

        def gone():
            nonlocal text
            text = self.text()
            return word not in text
        wait_until(gone, lambda: f"no {word!r} on the terminal, which shows:\n{text}")
        return text

    def answers(self, key):
        """Seconds from a key to another picture below the head."""
        before, t = self.lines()[4:-1], time.monotonic()
        self.keys(key)
        wait_until(lambda: self.lines()[4:-1] != before, f"another picture after {key}")
        return time.monotonic() - t

    def resize(self, cols, rows):
        self.tmux("resize-window", "-x", cols, "-y", rows)

    def pid(self, program):
        """Of the program in it."""
        shell = int(self.tmux("display-message", "-p", "#{pane_pid}"))
        out = subprocess.run(["ps", "--ppid", str(shell), "-o", "pid=,comm="], capture_output=True, text=True, check=False).stdout
        return next((int(p) for p, c in map(str.split, out.splitlines()) if c == program), None)

    def close(self):
        subprocess.run(["tmux", "-S", str(self.socket), "kill-server"], capture_output=True, check=False)

    def __enter__(self):
        return self

    def __exit__(self, *args):
        self.close()
