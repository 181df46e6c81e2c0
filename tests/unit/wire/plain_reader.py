"""A second reader of the wire format, written from docs/wire.md alone: standard library and a block cipher.

It shares nothing with the package. That it reads the published vectors shows that others can.
"""

import hashlib
import hmac
import struct
from typing import Any

from cryptography.hazmat.primitives.ciphers.aead import AESGCM


def msgpack(data: bytes) -> Any:
    """The value of one msgpack text; arrays as lists, short maps as dictionaries."""
    value, end = _value(data, 0)
    if end != len(data):
        raise ValueError("more than one value")
    return value


def header(data: bytes) -> dict[str, Any]:
    magic, version, mode, length, cluster, incarnation, start = struct.unpack(">BBBB8sQQ", data[:28])
    if (magic, version) != (0xAF, 3):
        raise ValueError("another protocol")
    end = 28 + length
    who = {"cluster": cluster, "source": data[28:end].decode(), "incarnation": incarnation, "start": start}
    return {"mode": mode, "end": end, **who}


def cluster_id(name: str, algorithm: str) -> bytes:
    return hashlib.sha256(f"aforesaid cluster {algorithm} {name}".encode()).digest()[:8]


def reassembled(fragments: list[bytes]) -> bytes:
    pieces = {}
    for fragment in fragments:
        name, length, count, place = struct.unpack(">8sIII", fragment[:20])
        pieces[place] = fragment[20:]
    frame = b"".join(pieces[place] for place in range(count))
    if len(frame) != length or hashlib.blake2b(frame, digest_size=8).digest() != name:
        raise ValueError("mixed pieces")
    return frame


def opened(cluster_key: bytes, data: bytes) -> bytes:
    """The body of a sealed datagram; HKDF-SHA256 (RFC 5869) by hand."""
    end = header(data)["end"] + 20
    prefix, counter, sealed = data[:end], data[end : end + 8], data[end + 8 :]
    secret = hmac.digest(bytes(32), cluster_key, "sha256")
    key = hmac.digest(secret, b"aforesaid datagram 1" + prefix + b"\x01", "sha256")
    return AESGCM(key).decrypt(bytes(4) + counter, sealed, prefix + counter)


_NUMBERS = {0xCC: ">B", 0xCD: ">H", 0xCE: ">I", 0xCF: ">Q", 0xD0: ">b", 0xD1: ">h", 0xD2: ">i", 0xD3: ">q"}
_ATOMS = {0xC0: None, 0xC2: False, 0xC3: True}


def _value(data: bytes, at: int) -> tuple[Any, int]:
    first = data[at]
    if first <= 0x7F or first >= 0xE0:
        return first - (0x100 if first >= 0xE0 else 0), at + 1
    if first in _ATOMS:
        return _ATOMS[first], at + 1
    if first in _NUMBERS:
        end = at + 1 + struct.calcsize(_NUMBERS[first])
        return struct.unpack(_NUMBERS[first], data[at + 1 : end])[0], end
    if 0x80 <= first <= 0x8F:
        items, end = _array(data, at + 1, 2 * (first - 0x80))
        return dict(zip(items[::2], items[1::2], strict=True)), end
    if 0x90 <= first <= 0x9F:
        return _array(data, at + 1, first - 0x90)
    if 0xA0 <= first <= 0xBF:
        return data[at + 1 : at + 1 + first - 0xA0].decode(), at + 1 + first - 0xA0
    width, kind = {
        0xC4: (1, "bin"),
        0xC5: (2, "bin"),
        0xC6: (4, "bin"),
        0xD9: (1, "str"),
        0xDA: (2, "str"),
        0xDC: (2, "array"),
        0xDD: (4, "array"),
    }[first]
    start = at + 1 + width
    size = int.from_bytes(data[at + 1 : start])
    if kind == "array":
        return _array(data, start, size)
    piece = data[start : start + size]
    return piece.decode() if kind == "str" else piece, start + size


def _array(data: bytes, at: int, size: int) -> tuple[list[Any], int]:
    items = []
    for _ in range(size):
        item, at = _value(data, at)
        items.append(item)
    return items, at
