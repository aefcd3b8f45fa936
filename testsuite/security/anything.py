"""anything.py - messages of the schema with values that nobody would think of

`Anything(seed)` makes them; the same seed makes the same ones. Half of the values are extremes, so that
they meet in one message; lists may be long and names those of things that exist.
"""

import random

from proto import SCHEMA_OF, VARINT

NUMBERS = [0, 1, 2, 3, 4, 7, 8, 31, 32, 63, 64, 65, 255, 256, 1000, 65535, 65536, 10**6, 2**31 - 1, 2**31, 2**32 - 2,
           2**32 - 1, 2**53, 2**62, 2**63 - 1, 2**63, 2**64 - 1, -1, -2, -2**31, -2**63]
TEXTS = ["", "n1", "n2", "batch", "demo", "demo:4", "root", "daemon", "bin", "any", "0", "1", "-1", "x" * 64, "x" * 300,
         "n[1-2]", "n[1-16384]", "n[1-3,1-3]", "n[0-4294967295]", "n[[1]]", "n[01-3]", "[1-9]", "0-9", "0-999999",
         "0-4294967295:4294967295%0", "1-2147483647%0", "1-5:0", "0-9%4294967295", "((a&b)|!c", "a&b", "&", "|||", "!",
         "afterok:1", "afterany:1:2?singleton", "aftercorr:1_2", "singleton", "after:1+9999999999999",
         "exit:255,signal:64", "exit:-1", "demo:1|any:2", "x:18446744073709551615", "ALL", "BEGIN,END",
         "a@b", "-oQ/tmp@b", "'; DROP TABLE job; --", "%s%n%99999999d", "../../etc/passwd", "$(id)", "ünïcödé",
         "PENDING", "RUNNING", "CA", "account", "user,account,day,label", "1970-01-01", "9999-99-99"]
BYTES = [b"", b"\0", b"\xff" * 16, b"x" * 16, b"x" * 32, b"/", b"/tmp/%j.%N.%n.%s", b"a\nb", b"\x1b[2J", b"A=b", b"=x",
         b"#!/bin/sh\n", b"MUNGE:AAAA:", b"y" * 5000]


class Anything:
    def __init__(self, seed):
        self.random = random.Random(seed)
        self.ids = [1, 2, 3]

    def scalar(self, message, name, kind):
        r = self.random
        enum = SCHEMA_OF.enum_of(message, kind)
        if enum is not None:
            return r.choice([*enum.values(), 99, 2**31])
        if kind in VARINT:
            if name in ("job", "ids", "id", "job_id") and r.random() < 0.7:
                return r.choice(self.ids)
            return r.choice(NUMBERS) if r.random() < 0.6 else r.randrange(0, 10)
        if kind == "double":
            return r.choice([0.0, -1.0, 1e308, float("inf"), float("nan"), 1e-300])
        if kind == "string":
            return r.choice(TEXTS)
        if kind == "bytes":
            if name == "spec":
                return SCHEMA_OF.encode("SignedSpec", self.message("SignedSpec"))
            return r.choice(BYTES)
        return self.message(kind)

    def message(self, name, **fixed):
        """A dictionary; what is in `fixed` is as it says, of the other fields some are there."""
        r, out = self.random, {}
        often = r.choice([0.2, 0.5, 0.9, 1])
        for field, (_, kind, repeated) in SCHEMA_OF.messages[name].items():
            if field in fixed or r.random() > often:
                continue
            if repeated:
                n = r.choice([0, 1, 1, 2, 3, 17, 70])
                out[field] = [self.scalar(name, field, kind) for _ in range(n)]
            else:
                out[field] = self.scalar(name, field, kind)
        out.update(fixed)
        return out
