"""What nodes with a payload type say to each other: values, requests, answers, and what is said on a topic.

A value that is said to some or to all is its encoded body and nothing else, so that a group that speaks JSON
is understood by programs that know JSON only. Everything else begins with the byte C1, which begins neither
JSON nor msgpack; a body of bytes that happens to begin with it is wrapped. What follows is a msgpack array:

    [0, body]           said: a body that begins with C1
    [1, key, body]      asked; the key is the asker's, and unlike all that it has used before
    [2, key, body]      answered, to the request with this key
    [3, topic, body]    published
    [4, [topic, ...]]   subscribed: all topics that its origin wants to hear from here on
"""

from collections.abc import Awaitable, Callable, Iterable
from typing import Annotated, Any, Generic, TypeAlias

import msgspec
from msgspec import Meta, Struct

from aforesaid.core import Misuse, Process
from aforesaid.node.messages import Message, Receipt
from aforesaid.node.payloads import Codec, P

MARK = b"\xc1"

KEY_BYTES = 16
TOPICS_MAX = 256
"""That one process may want to hear."""
TOPIC_CHARACTERS_MAX = 64


class Form(Struct, array_like=True, frozen=True):
    """How something is said."""


class Said(Form, frozen=True, tag=0):
    body: bytes


class Asked(Form, frozen=True, tag=1):
    key: Annotated[bytes, Meta(min_length=KEY_BYTES, max_length=KEY_BYTES)]
    body: bytes


class Answered(Form, frozen=True, tag=2):
    key: Annotated[bytes, Meta(min_length=KEY_BYTES, max_length=KEY_BYTES)]
    body: bytes


Topic: TypeAlias = Annotated[str, Meta(min_length=1, max_length=TOPIC_CHARACTERS_MAX)]


class Published(Form, frozen=True, tag=3):
    topic: Topic
    body: bytes


class Subscribed(Form, frozen=True, tag=4):
    topics: Annotated[list[Topic], Meta(max_length=TOPICS_MAX)]


_decoder = msgspec.msgpack.Decoder(Said | Asked | Answered | Published | Subscribed)


class Sealed:
    """Bytes that are to be said as they are."""

    __slots__ = ("data",)

    def __init__(self, form: Form) -> None:
        self.data = MARK + msgspec.msgpack.encode(form)


class Letters(Generic[P]):
    """The payload type of a node: what it says as bytes, and how it answers."""

    def __init__(self, codec: Codec[P], say: Callable[[Iterable[Process], Any], Awaitable[Receipt]]) -> None:
        self.codec = codec
        self.say = say

    def sealed(self, payload: P | Sealed) -> bytes:
        """What goes on the wire."""
        if type(payload) is Sealed:
            return payload.data
        body = self.codec.encode(payload)  # type: ignore[arg-type]  # Sealed was all else there is.
        return Sealed(Said(body)).data if body[:1] == MARK else body


def opened(data: bytes) -> Form:
    """How it was said; msgspec.DecodeError if in no way that there is."""
    return _decoder.decode(memoryview(data)[1:]) if data[:1] == MARK else Said(data)


class Letter(Message[P], eq=False):
    """A message of such a node: in the inbox first as bytes, then with its value as payload."""

    size: int = 0
    """In bytes, while it is in the inbox and when it is not any more."""
    form: Form | None = None
    """None: it could not be read."""
    letters: Letters[P] | None = None
    ours: bool = False
    """Whether it is the node's own to take: no application is to see it."""
    read: bool = False
    """Whether the payload is its value."""
    _answered: bool = False

    @property
    def topic(self) -> str | None:
        return self.form.topic if isinstance(self.form, Published) else None

    @property
    def asks(self) -> bool:
        return isinstance(self.form, Asked)

    async def reply(self, payload: P) -> Receipt:
        if self.letters is None or not isinstance(self.form, Asked):
            return await super().reply(payload)
        if self._answered:
            raise Misuse(f"{self.id} was answered already; a request has one answer")
        body = self.letters.codec.encode(payload)
        self._answered = True
        try:
            return await self.letters.say((self.origin,), Sealed(Answered(self.form.key, body)))
        except BaseException:
            self._answered = False  # Nothing was said.
            raise
