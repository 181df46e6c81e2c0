"""How a stream begins: either end says in the clear who it is, and TLS proves it.

Until that is done only so many bytes are looked at as a header and a hello take.
"""

import asyncio
from typing import NamedTuple

from aforesaid.core import Process, Refused
from aforesaid.node.carrying.notes import Hello, encode, read_hello
from aforesaid.transport import Stream
from aforesaid.wire import Records, record
from aforesaid.wire.packet import CLEAR, Header, claimed_name, read_header

HELLO_S = 5
"""How long the other end has to say who it is."""

HELLO_BYTES_MAX = 2048
LENGTH_BYTES = 4
RECORD_BYTES_MAX = 64 * 1024 + 64
"""A body, and what is around it."""


class Greeted(NamedTuple):
    """The other end, as it has presented itself."""

    header: Header
    hello: Hello


class Greeting:
    """The beginning of one stream; `answer` is what the other end says."""

    def __init__(self, stream: Stream, me: Header, expected: Process | None) -> None:
        self.stream = stream
        self.answer: asyncio.Future[Greeted] = asyncio.get_running_loop().create_future()
        self._me = me
        self._expected = expected
        self._start = b""
        self._header: Header | None = None
        self._records = Records(RECORD_BYTES_MAX)
        self._rest: list[bytes] = []
        """Bodies that came before the stream was taken over."""
        stream.on_data = self._take
        stream.on_lost = lambda: self._fail(Refused("hung up"))
        if stream.lost:
            # It broke before anybody listened.
            stream.on_lost()

    @property
    def claimed_name(self) -> Process:
        """Who the other end says it is, also if it is refused for something else."""
        return claimed_name(self._start) if self._header is None else self._header.source

    def say(self, hello: Hello) -> None:
        self.stream.write(self._me.encode(CLEAR) + record(encode(hello)))

    def bodies(self, data: bytes) -> list[bytes]:
        """The bodies of the stream, once it stands."""
        bodies = self._records.feed(data)
        if self._rest:
            bodies, self._rest = self._rest + bodies, []
        return bodies

    def _take(self, data: bytes) -> None:
        if self.answer.done():
            # The stream is not ours yet, but the other end may speak already.
            self._early(data)
            return
        self._start += data
        try:
            if self._header is None:
                self._read_header()
            if self._header is not None:
                self._read_hello(self._header)
        except Refused as refusal:
            self._fail(refusal)

    def _early(self, data: bytes) -> None:
        try:
            self._rest += self._records.feed(data)
        except Refused:
            self.stream.abort()

    def _read_header(self) -> None:
        try:
            header, end = read_header(self._start, self._me.cluster, CLEAR)
        except Refused as refusal:
            if refusal.reason == "truncated" and len(self._start) <= HELLO_BYTES_MAX:
                return
            raise
        secured = self.stream.ssl_object
        if secured is not None:
            from aforesaid.security.tls import peer_name

            peer_name(secured, header.source)
        if self._expected is not None and header.source != self._expected:
            raise Refused("another name")
        self._header, self._start = header, self._start[end:]

    def _read_hello(self, header: Header) -> None:
        """A hello is short; what follows it need not be."""
        size = int.from_bytes(self._start[:LENGTH_BYTES]) if len(self._start) >= LENGTH_BYTES else 0
        if size > HELLO_BYTES_MAX:
            raise Refused("hello")
        end = LENGTH_BYTES + size
        if size and len(self._start) >= end:
            hello = read_hello(self._start[LENGTH_BYTES:end])
            rest, self._start = self._start[end:], b""
            self._rest += self._records.feed(rest)
            self.answer.set_result(Greeted(header, hello))

    def _fail(self, refusal: Refused) -> None:
        if not self.answer.done():
            self.answer.set_exception(refusal)
            self.answer.exception()
