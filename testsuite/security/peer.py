"""peer.py - an authenticated session in which a test says what it likes

`Peer` has peer.c shake hands, as a user or as a node's agent, and then sends any bytes as frames. What
comes back is decoded with the schema of proto.py.
"""

import contextlib
import os
import pwd
import re
import select
import struct
import subprocess
import time

from cluster import BUILD, DEADLINE, TOP, Failed
from proto import BODY, SCHEMA_OF, TYPES

HEAD = struct.Struct(">IHHQ")
ERRORS = {name: i for i, name in enumerate(re.findall(r"X\((ERR_\w+)", (TOP / "common/base/error.h").read_text()))}
NAMES = {number: name for name, number in TYPES.items()}


def message_of(kind):
    """MSG_LIST_JOBS is a ListJobs; launchers' messages have names of their own."""
    return BODY.get(kind) or "".join(w.capitalize() for w in kind.split("_")[1:])


def packed(kind, value=None, number=0, flags=0):
    """A frame; `value` is a dictionary, or bytes that need not be a message at all."""
    body = value if isinstance(value, bytes) else SCHEMA_OF.encode(message_of(kind), value or {})
    return HEAD.pack(len(body), TYPES[kind] if isinstance(kind, str) else kind, flags, number) + body


class Peer:
    def __init__(self, cluster, node=None, user=None, wait=True):
        kw = {}
        if user:
            p = pwd.getpwnam(user)
            kw = {"user": p.pw_uid, "group": p.pw_gid, "extra_groups": []}
        argv = [BUILD / "testsuite/security/peer", cluster.ctld_user.pw_uid, *([node] if node else [])]
        self.p = subprocess.Popen([str(a) for a in argv], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                  stderr=subprocess.PIPE, env=cluster.env, cwd="/", bufsize=0, **kw)
        self.buffer, self.number = b"", 0
        if wait and self.p.stderr.readline() != b"in\n":
            raise Failed(f"the peer was not let in; its exit status: {self.p.wait()}")

    def send_bytes(self, data):
        """Takes what comes meanwhile, or both ends would wait for each other. False: the session has ended."""
        view, out = memoryview(data), self.p.stdin.fileno()
        os.set_blocking(out, False)
        try:
            while view:
                readable, writable, _ = select.select([self.p.stdout], [out], [])
                if writable:
                    view = view[os.write(out, view[:1 << 16]):]
                elif readable and not self.take():
                    return False
        except BrokenPipeError:
            return False
        return True

    def take(self):
        got = os.read(self.p.stdout.fileno(), 1 << 16)
        self.buffer += got
        return got

    def send(self, kind, value=None):
        """Returns the request's number."""
        self.number += 1
        self.send_bytes(packed(kind, value, self.number))
        return self.number

    def receive(self, timeout=DEADLINE):
        """(kind, number, message) of the next frame; None: the session has ended."""
        end = time.monotonic() + timeout
        while True:
            if len(self.buffer) >= HEAD.size:
                n, kind, _, number = HEAD.unpack_from(self.buffer)
                if len(self.buffer) >= HEAD.size + n:
                    body, self.buffer = self.buffer[HEAD.size:HEAD.size + n], self.buffer[HEAD.size + n:]
                    return NAMES[kind], number, SCHEMA_OF.decode(message_of(NAMES[kind]), body)
            if not select.select([self.p.stdout], [], [], max(0, end - time.monotonic()))[0]:
                raise Failed(f"waited {timeout:.0f} s for a frame of the controller")
            if not self.take():
                return None

    def call(self, kind, value=None):
        """The messages that answer a request, and its Reply last; None: the session has ended."""
        number, answers = self.send(kind, value), []
        while True:
            got = self.receive()
            if got is None:
                return None
            if got[1] == number:
                answers.append(got[2])
                if got[0] == "MSG_REPLY":
                    return answers

    def ended(self, timeout=DEADLINE):
        """Wait for the controller to close it; returns why, as the other end sees it."""
        while self.receive(timeout) is not None:
            pass
        status = self.p.wait(timeout)
        why = self.p.stderr.read().decode()
        assert status in (1, 3), (status, why)
        return why

    def close(self):
        with contextlib.suppress(OSError):
            self.p.stdin.close()
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.p.wait(0.5)
        if self.p.poll() is None:
            self.p.kill()
            self.p.wait()
        self.p.stdout.close()
        self.p.stderr.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()
