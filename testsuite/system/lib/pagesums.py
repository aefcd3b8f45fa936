"""A database of the controller, changed by a test: SQLite alone knows nothing of the sums in its pages (ctld/store/page_checksums.h)."""

import contextlib
import sqlite3
import struct

MASK = (1 << 64) - 1


def rotate(x, n):
    return (x << n | x >> (64 - n)) & MASK


def siphash(key, data):
    """SipHash-2-4, as 8 bytes."""
    k0, k1 = struct.unpack("<QQ", key)
    v0, v1, v2, v3 = k0 ^ 0x736F6D6570736575, k1 ^ 0x646F72616E646F6D, k0 ^ 0x6C7967656E657261, k1 ^ 0x7465646279746573
    whole = len(data) // 8 * 8
    words = [*struct.unpack(f"<{whole // 8}Q", data[:whole]), int.from_bytes(data[whole:], "little") | (len(data) & 255) << 56]
    for word, rounds in [(w, 2) for w in words] + [(None, 4)]:
        if word is None:
            v2 ^= 255
        else:
            v3 ^= word
        for _ in range(rounds):
            v0 = (v0 + v1) & MASK
            v1 = rotate(v1, 13) ^ v0
            v0 = rotate(v0, 32)
            v2 = (v2 + v3) & MASK
            v3 = rotate(v3, 16) ^ v2
            v0 = (v0 + v3) & MASK
            v3 = rotate(v3, 21) ^ v0
            v2 = (v2 + v1) & MASK
            v1 = rotate(v1, 17) ^ v2
            v2 = rotate(v2, 32)
        if word is not None:
            v0 ^= word
    return struct.pack("<Q", v0 ^ v1 ^ v2 ^ v3)


def add_sums(path):
    data = bytearray(path.read_bytes())
    size = struct.unpack_from(">H", data, 16)[0]
    assert data[20] == 8 and len(data) % size == 0
    for number in range(1, len(data) // size + 1):
        key = bytearray(b"gpusched page\0\0\0")
        key[12:16] = (int.from_bytes(key[12:16], "little") ^ number).to_bytes(4, "little")
        end = number * size
        data[end - 8:end] = siphash(bytes(key), bytes(data[end - size:end - 8]))
    path.write_bytes(data)


@contextlib.contextmanager
def edit(path):
    """The database of a controller that is not there: what is changed in it has its sums afterwards."""
    db = sqlite3.connect(path)
    try:
        yield db
        db.commit()
    finally:
        db.close()
    add_sums(path)
