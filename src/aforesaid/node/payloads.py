"""What a payload is: bytes, or values that a codec turns into bytes and back.

    Node(config)                     bytes as they are, and nothing else on the wire
    Node(config, payload=bytes)      bytes, and requests and topics besides (`talking.py`)
    Node(config, payload=Order)      values of a type that msgspec knows, as msgpack
    Node(config, payload="json")     whatever JSON can say; "msgpack": whatever msgpack can
    Node(config, payload=Codec(encode, decode))      anything else

A value is encoded, and decoded again, where it is said: who says what nobody could read hears of it there.
"""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Generic

import msgspec

from aforesaid.core import Misuse

if TYPE_CHECKING:
    # At run time a variable has no default before Python 3.13.
    from typing_extensions import TypeVar

    P = TypeVar("P", default=bytes)
else:
    from typing import TypeVar

    P = TypeVar("P")


class Codec(Generic[P]):
    """Turns a payload into bytes and back; `decode` raises on bytes that are none."""

    def __init__(self, encode: Callable[[P], bytes], decode: Callable[[bytes], P], title: str = "") -> None:
        if not callable(encode) or not callable(decode):
            raise Misuse("Codec: encode and decode are functions, as Codec(Order.dumps, Order.loads)")
        self.decode = decode
        self._encode = encode
        self._title = title or "what the codec takes"

    def encode(self, payload: P) -> bytes:
        try:
            body = self._encode(payload)
        except Misuse:
            raise
        except Exception as error:
            raise Misuse(f"a payload is {self._title}, not {_shown(payload)}: {error}") from error
        if not isinstance(body, bytes):
            raise Misuse(f"Codec: encode gives bytes, not {type(body).__name__}")
        try:
            self.decode(body)
        except Exception as error:
            raise Misuse(
                f"a payload is {self._title}; nobody could read {_shown(payload)}: {error}"
            ) from error
        return body


def codec_of(payload: Any) -> Codec[Any]:
    """By what the application calls its payloads."""
    if isinstance(payload, Codec):
        return payload
    if payload is bytes:
        return Codec(bytes_of, bytes, "bytes")
    if payload == "json":
        return Codec(msgspec.json.encode, msgspec.json.Decoder().decode, "a JSON value")
    if payload == "msgpack":
        return Codec(msgspec.msgpack.encode, msgspec.msgpack.Decoder().decode, "a msgpack value")
    if isinstance(payload, str):
        raise Misuse(f'payload: "{payload}" is no form; there are "json", "msgpack", types, and Codec')
    try:
        decoder = msgspec.msgpack.Decoder(payload)
    except Exception as error:  # Whatever msgspec, or the type itself, has to object.
        raise Misuse(f"payload: {payload!r} is no type of values that msgspec knows: {error}") from error
    return Codec(_typed(payload), decoder.decode, getattr(payload, "__name__", str(payload)))


def bytes_of(payload: Any) -> bytes:
    if isinstance(payload, bytes):
        return payload
    if isinstance(payload, bytearray | memoryview):
        return bytes(payload)
    raise Misuse(f"a payload is bytes, not {type(payload).__name__}")


def _typed(kind: Any) -> Callable[[Any], bytes]:
    """A value of another type might encode to the same bytes, and come out as what it was not."""
    if not isinstance(kind, type):
        return msgspec.msgpack.encode

    def encode(payload: Any) -> bytes:
        if not isinstance(payload, kind):
            raise TypeError(f"it is of type {type(payload).__name__}")
        return msgspec.msgpack.encode(payload)

    return encode


def _shown(payload: Any) -> str:
    """In a line."""
    text = repr(payload).replace("\n", " ")
    return text if len(text) <= 60 else f"{text[:57]}..."
