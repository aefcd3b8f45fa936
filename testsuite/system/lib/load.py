"""Requests of many clients: as they come, or at a steady rate; and what became of each."""

import threading
import time
import urllib.error
import urllib.request

from cluster import wait_until


class Clients:
    """So many threads in run() from when it is entered until it is left: then `ended` is set, and they are waited for."""

    def __init__(self, n):
        self.failures = []
        self.lock, self.ended = threading.Lock(), threading.Event()
        self.threads = [threading.Thread(target=self.run, daemon=True) for _ in range(n)]

    def run(self):
        raise NotImplementedError

    def __enter__(self):
        for t in self.threads:
            t.start()
        return self

    def __exit__(self, *args):
        self.ended.set()
        for t in self.threads:
            t.join()


class Load(Clients):
    """An open loop, so a slow answer does not slow the others down."""

    def __init__(self, url, rate=200, threads=32, timeout=60):
        super().__init__(threads)
        self.url, self.rate, self.timeout = url, rate, timeout
        self.answers, self.slowest = {}, 0.0
        self.at = time.monotonic()

    def next(self):
        with self.lock:
            self.at = max(self.at + 1 / self.rate, time.monotonic() - 0.5)  # a slow machine does not catch up for ever
            return self.at

    def ask(self):
        """What was answered, and what went wrong: one of them is None."""
        try:
            with urllib.request.urlopen(self.url, timeout=self.timeout) as r:
                return r.read().decode(), None
        except (OSError, urllib.error.URLError) as e:
            return None, f"{time.strftime('%T')} {e!r}"

    def run(self):
        while not self.ended.wait(max(0, self.next() - time.monotonic())):
            begin = time.monotonic()
            body, failure = self.ask()
            with self.lock:
                self.slowest = max(self.slowest, time.monotonic() - begin)
                if failure:
                    self.failures.append(failure)
                else:
                    self.answers[body] = self.answers.get(body, 0) + 1

    def count(self):
        with self.lock:
            return sum(self.answers.values())

    def goes_on(self, n=100):
        """Until so many more have been answered."""
        want = self.count() + n
        wait_until(lambda: self.count() >= want, lambda: f"{n} answers more; {self.failures[-3:]}")

    def until_answered_by(self, *words):
        """Until each of these has answered, from now on."""
        with self.lock:
            before = dict(self.answers)
        wait_until(lambda: all(self.answers.get(w, 0) > before.get(w, 0) for w in words),
                   lambda: f"answers of {words}: {self.answers}, {self.failures[-3:]}")
