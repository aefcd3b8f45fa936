"""proto.py - gpusched.proto for tests: messages as dictionaries

Reads the schema itself, so that tests can make any message, also wrong ones, without a generated
module. Unset fields are absent from dictionaries; enums are their names.
"""

import pathlib
import re
import struct

SCHEMA = pathlib.Path(__file__).resolve().parents[3] / "common/gpusched.proto"
VARINT = {"uint32", "uint64", "int32", "int64", "bool"}


class Schema:
    def __init__(self, path=SCHEMA):
        self.messages, self.enums = {}, {}
        text = re.sub(r"//[^\n]*", "", pathlib.Path(path).read_text())
        self.block(text, "")

    def block(self, text, prefix):
        for kind, name, body in re.findall(r"\b(message|enum)\s+(\w+)\s*\{((?:[^{}]|\{[^{}]*\})*)\}", text):
            if kind == "enum":
                self.enums[prefix + name] = {k: int(v) for k, v in re.findall(r"(\w+)\s*=\s*(\d+)\s*;", body)}
                continue
            self.block(body, prefix + name + ".")
            flat = re.sub(r"\benum\s+\w+\s*\{[^{}]*\}", "", body)
            self.messages[prefix + name] = {
                f: (int(number), kind, bool(repeated))
                for repeated, kind, f, number in re.findall(r"(repeated\s+)?(\w+)\s+(\w+)\s*=\s*(\d+)\s*;", flat)}

    def enum_of(self, message, kind):
        return self.enums.get(f"{message}.{kind}") or self.enums.get(kind)

    # --- encoding ------------------------------------------------------------------------------

    def encode(self, message, value):
        out = b""
        for name, v in value.items():
            number, kind, repeated = self.messages[message][name]
            for one in v if repeated else [v]:
                out += self.field(message, number, kind, one)
        return out

    def field(self, message, number, kind, v):
        enum = self.enum_of(message, kind)
        if enum is not None:
            v = enum[v] if isinstance(v, str) else v
        if enum is not None or kind in VARINT:
            return varint(number << 3) + varint(int(v) & (2**64 - 1))
        if kind == "double":
            return varint(number << 3 | 1) + struct.pack("<d", v)
        if kind in self.messages:
            v = self.encode(kind, v)
        elif isinstance(v, str):
            v = v.encode()
        return varint(number << 3 | 2) + varint(len(v)) + v

    # --- decoding ------------------------------------------------------------------------------

    def decode(self, message, data):
        fields = {n: (name, kind, rep) for name, (n, kind, rep) in self.messages[message].items()}
        out, at = {}, 0
        while at < len(data):
            key, at = read_varint(data, at)
            name, kind, repeated = fields.get(key >> 3, (f"unknown_{key >> 3}", "bytes", False))
            enum = self.enum_of(message, kind)
            if key & 7 == 0:
                v, at = read_varint(data, at)
                if enum is not None:
                    v = {n: k for k, n in enum.items()}.get(v, v)
                elif kind == "bool":
                    v = bool(v)
                elif kind.startswith("int") and v >= 2**63:
                    v -= 2**64
            elif key & 7 == 1:
                v, at = struct.unpack_from("<d", data, at)[0], at + 8
            else:
                n, at = read_varint(data, at)
                v, at = data[at:at + n], at + n
                if kind in VARINT or enum is not None:  # packed
                    p = 0
                    while p < len(v):
                        one, p = read_varint(v, p)
                        out.setdefault(name, []).append(one)
                    continue
                if kind in self.messages:
                    v = self.decode(kind, v)
                elif kind == "string":
                    v = v.decode()
            if repeated:
                out.setdefault(name, []).append(v)
            else:
                out[name] = v
        return out


def varint(v):
    out = b""
    while v > 0x7f:
        out += bytes([v & 0x7f | 0x80])
        v >>= 7
    return out + bytes([v])


def read_varint(data, at):
    v = shift = 0
    while True:
        b = data[at]
        at += 1
        v |= (b & 0x7f) << shift
        shift += 7
        if b < 0x80:
            return v, at


SCHEMA_OF = Schema()
TYPES = SCHEMA_OF.enums["MsgType"]
BODY = {"MSG_START_RUN": "StartRun", "MSG_END_RUN": "EndRun", "MSG_SIGNAL_RUN": "SignalRun",
        "MSG_SUSPEND_RUN": "SuspendRun", "MSG_NODE_SETTINGS": "NodeSettings", "MSG_LAUNCHER_GPUS": "Inventory",
        "MSG_FORGET_RUN": "ForgetRun", "MSG_LAUNCHER_HELLO": "LauncherHello", "MSG_LAUNCHER_RUN": "RunReport",
        "MSG_LAUNCHER_CRED": "LauncherCred", "MSG_LAUNCHER_EPOCH": "LauncherEpoch",
        "MSG_GPU_REPORT": "GpuReport", "MSG_GPU_CHECK": "GpuCheck", "MSG_LAUNCHER_USED": "RunsUsed",
        "MSG_RUNS_LOAD": "RunsLoad"}


def frame(kind, value, number=0):
    """A frame in the clear, as common/net/frame.h draws it; `value` a dictionary or bytes."""
    body = value if isinstance(value, bytes) else SCHEMA_OF.encode(BODY[kind], value)
    return struct.pack(">IHHQ", len(body), TYPES[kind], 0, number) + body
