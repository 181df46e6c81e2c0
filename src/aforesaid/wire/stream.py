"""Bodies on a stream of bytes (TCP, TLS): each is preceded by its length, four bytes, big-endian."""

from struct import Struct

from aforesaid.core import Refused

_LENGTH = Struct(">I")


def record(body: bytes) -> bytes:
    """A body as it goes on the stream."""
    return _LENGTH.pack(len(body)) + body


class Records:
    """Cuts what comes from a stream into records again. Holds one incomplete record at most."""

    def __init__(self, size_max: int) -> None:
        self.size_max = size_max
        self._held = bytearray()

    def feed(self, data: bytes) -> list[bytes]:
        """The records that these bytes complete. Refused is final: the stream makes no sense any more."""
        if not self._held and _is_one_record(data, self.size_max):
            return [data[_LENGTH.size :]]
        self._held += data
        held, start = self._held, 0
        records = []
        while len(held) - start >= _LENGTH.size:
            (size,) = _LENGTH.unpack_from(held, start)
            if size > self.size_max:
                raise Refused("record size")
            end = start + _LENGTH.size + size
            if len(held) < end:
                break
            records.append(bytes(held[start + _LENGTH.size : end]))
            start = end
        del held[:start]
        return records


def _is_one_record(data: bytes, size_max: int) -> bool:
    """As most of what comes in one piece is."""
    size = len(data) - _LENGTH.size
    return 0 <= size <= size_max and _LENGTH.unpack_from(data)[0] == size
