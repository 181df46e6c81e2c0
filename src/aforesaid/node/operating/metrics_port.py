"""The port where a node tells its metrics: just enough HTTP for GET /metrics, in the clear.

Whoever calls is a stranger at a `Door`: there are few of them, and each has a few seconds in all, to ask and
to take the answer. One request is read of each, of a bounded size, and then the connection ends.
"""

import asyncio
from collections.abc import Callable

from aforesaid.node.operating.metrics import CONTENT_TYPE
from aforesaid.transport import Address, Door, Stream

REQUEST_BYTES_MAX = 8192
KEPT_S = 0.1
"""An answer is as good for so long: who asks again and again costs little."""


class MetricsPort:
    """Answers until it is closed."""

    address: Address
    """Where it listens."""

    def __init__(self, text: Callable[[], str]) -> None:
        self._text = text
        self._door = Door(None, self._opened, lambda reason: None)
        self._loop = asyncio.get_running_loop()
        self._body = b""
        self._made = float("-inf")

    async def open(self, address: Address) -> None:
        self.address = await self._door.open(address)

    async def close(self) -> None:
        await self._door.close()

    def _opened(self, stream: Stream) -> None:
        request = bytearray()

        def took(data: bytes) -> None:
            request.extend(data)
            if b"\r\n\r\n" in request or len(request) > REQUEST_BYTES_MAX:
                self._end(stream, bytes(request))

        stream.on_data = took
        stream.on_lost = lambda: self._forget(stream)

    def _end(self, stream: Stream, request: bytes) -> None:
        stream.write(self._answer(request))
        stream.finish()
        # It keeps its place until it has taken the answer, or its time is up.
        stream.on_lost = lambda: self._forget(stream)

    def _forget(self, stream: Stream) -> None:
        self._door.let_in(stream)

    def _answer(self, request: bytes) -> bytes:
        if len(request) > REQUEST_BYTES_MAX:
            return _response("431 Request Header Fields Too Large")
        line = request.split(b"\r\n", 1)[0].split(b" ")
        if len(line) != 3 or not line[2].startswith(b"HTTP/1."):
            return _response("400 Bad Request")
        method, target, _ = line
        if target.partition(b"?")[0] != b"/metrics":
            return _response("404 Not Found", b"GET /metrics\n")
        if method not in (b"GET", b"HEAD"):
            return _response("405 Method Not Allowed", b"GET /metrics\n", "Allow: GET, HEAD\r\n")
        response = _response("200 OK", self._present(), kind=CONTENT_TYPE)
        return response if method == b"GET" else response.partition(b"\r\n\r\n")[0] + b"\r\n\r\n"

    def _present(self) -> bytes:
        now = self._loop.time()
        if now - self._made > KEPT_S:
            self._body, self._made = self._text().encode(), now
        return self._body


def _response(
    status: str, body: bytes = b"", more: str = "", kind: str = "text/plain; charset=utf-8"
) -> bytes:
    head = f"HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {len(body)}\r\n{more}"
    return f"{head}Connection: close\r\n\r\n".encode() + body
