"""A node for programs in any language: JSON lines in, JSON lines out, in UTF-8.

In:   {"to": ["bob"], "payload": "hello"}        to some;   {"payload": "hello"}   to everyone
      "payload_base64" in place of "payload" for bytes that are no text; {"evict": "bob"};
      {"peers": {"bob": "10.0.0.2:7000"}} where peers are whose port the configuration has as 0
Out:  {"ready": "alice", "address": ...}         once, first
      {"said": "alice~7#1"}                      for each message in, in order, when it was accepted
      {"origin": "bob", "id": "bob~3#1", "payload": "hi"}   a message was delivered; with frontier = true
                                                 "after": ["alice~7#1"], its immediate predecessors, too;
                                                 from a node that survives "offset": 12, and it comes again
                                                 after a kill if it may not have been written out
      {"lost": {"bob~3#1": 17}, "member": ...}   messages 1 to 17 of bob are beyond the retention of a member
      {"error": "..."}                           a line that could not be
The end of the input closes the node, once others have what was said; so does a reader that has gone.
"""

import asyncio
import base64
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

from aforesaid.core import MessageId, Misuse
from aforesaid.node.endings import Dismissed, HistoryLost, Isolated
from aforesaid.node.messages import Message
from aforesaid.node.node import Node
from aforesaid.node.operating.logs import tell

Write = Callable[[dict[str, Any]], Awaitable[None]]
"""Puts a line out; BrokenPipeError if nobody reads any more."""

ESCAPED_BYTES = 6
"""What a byte of text takes in JSON at most, as \\u0000."""
LINE_OVERHEAD_BYTES = 64 * 1024

UNREAD_S = 5.0
"""How long a node that is closed waits until its output is read."""

KEYS = ("to", "payload", "payload_base64", "evict", "peers")


async def converse(node: Node, chunks: AsyncIterator[bytes], write: Write, stop: asyncio.Event) -> None:
    """Until the input ends, nobody reads the output, or `stop` is set; then close the node in order."""
    speaking = asyncio.create_task(_speak(node, chunks, write))
    hearing = asyncio.create_task(_hear(node, write))
    stopping = asyncio.create_task(stop.wait())
    tasks: list[asyncio.Task[Any]] = [speaking, hearing, stopping]
    try:
        await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        for task in (speaking, hearing):
            if task.done():
                task.result()
        await _cancelled(speaking)
        await _close(node, write)
        # What was delivered counts as delivered with its sender, so it is told to the end.
        await asyncio.wait_for(hearing, UNREAD_S)
    except TimeoutError:
        tell(
            node.name,
            "closed before all was read",
            level="warning",
            inbox_messages=node.gauges()["inbox_messages"],
        )
    except BrokenPipeError:
        tell(node.name, "nobody reads the output", level="warning")
        await _cancelled(speaking)
        await node.close(node.config.linger_s)
    finally:
        await _cancelled(*tasks)


async def _close(node: Node, write: Write) -> None:
    """Within the time that the configuration gives it."""
    now, linger_s = asyncio.get_running_loop().time, node.config.linger_s
    until = now() + linger_s
    try:
        async with asyncio.timeout(linger_s):
            await node.drain()
    except TimeoutError:
        tell(node.name, "closed too early", level="warning", **node.gauges())
        await write({"error": f"closed after {linger_s:g} s, before others had everything"})
        until = 0.0  # A timer may ring a little early: what is left of the time would be waited for, and told, again.
    except (Isolated, Dismissed):
        pass  # The node says so itself when it closes.
    await node.close(max(0.0, until - now()))


async def _cancelled(*tasks: "asyncio.Task[Any]") -> None:
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


async def _hear(node: Node, write: Write) -> None:
    await write({"ready": node.name, "address": str(node.address), "incarnation": node.incarnation})
    while True:
        try:
            async for message in node:
                await write(_worded(message, node.config.frontier))
                message.ack()
            return
        except HistoryLost as lost:
            # As the spans of an author's numbers; what comes after them comes in the next lines.
            spans = {str(MessageId(*author, first)): last for author, (first, last) in lost.spans.items()}
            await write({"lost": spans, "member": lost.member})


async def _speak(node: Node, chunks: AsyncIterator[bytes], write: Write) -> None:
    bytes_max = ESCAPED_BYTES * node.config.payload_bytes_max + LINE_OVERHEAD_BYTES
    async for line in split(chunks, bytes_max):
        if line is None:
            await write({"error": f"a line of more than {bytes_max} bytes: no message takes as much"})
        elif line.strip():
            try:
                await _obey(node, json.loads(line), write)
            except RecursionError:
                await write({"error": "a line with too many brackets in each other"})
            except (Misuse, ValueError) as error:  # Text that is no JSON is a ValueError, of many kinds.
                await write({"error": str(error)})


async def split(chunks: AsyncIterator[bytes], bytes_max: int) -> AsyncIterator[bytes | None]:
    """Lines; None in place of one that is too long, of which nothing is kept."""
    line, too_long = bytearray(), False
    async for chunk in chunks:
        *ends, rest = chunk.split(b"\n")
        for end in ends:
            line += end
            yield None if too_long or len(line) > bytes_max else bytes(line)
            line.clear()
            too_long = False
        line += rest
        if len(line) > bytes_max:
            line.clear()
            too_long = True
    if line or too_long:
        yield None if too_long else bytes(line)


async def _obey(node: Node, request: Any, write: Write) -> None:
    # A key that is not known is an error: what was meant for some must not go to everyone for a typo.
    unknown = [key for key in request if key not in KEYS] if isinstance(request, dict) else []
    if unknown:
        raise Misuse(f"unknown key {unknown[0]!r}; a line has: {', '.join(KEYS)}")
    match request:
        case {"evict": str(peer), **rest} if not rest:
            node.evict(peer)
        case {"peers": dict(peers), **rest} if not rest and all(isinstance(at, str) for at in peers.values()):
            node.introduce(peers)
        case {"to": list(targets)} if all(isinstance(target, str) for target in targets):
            await write({"said": str((await node.send(targets, _payload(request))).id)})
        case {"to": _}:
            raise Misuse('"to" is a list of names: ["bob"]')
        case {"payload": _} | {"payload_base64": _}:
            await write({"said": str((await node.broadcast(_payload(request))).id)})
        case _:
            raise Misuse('a line is {"payload": "text"}, with "to": ["bob"] to address it')


def _payload(request: dict[str, Any]) -> bytes:
    match request:
        case {"payload": _, "payload_base64": _}:
            raise Misuse('either "payload" or "payload_base64", not both')
        case {"payload": str(text)}:
            return text.encode()
        case {"payload_base64": str(text)}:
            try:
                return base64.b64decode(text, validate=True)
            except ValueError as error:
                raise Misuse(f"payload_base64: {error}") from error
    raise Misuse('"payload" is a text, or "payload_base64" bytes in Base64')


def _worded(message: Message, frontier: bool) -> dict[str, Any]:
    worded: dict[str, Any] = {"origin": message.origin, "id": str(message.id)}
    if message.offset is not None:
        worded["offset"] = message.offset
    if frontier:
        worded["after"] = [str(message_id) for message_id in message.after]
    try:
        worded["payload"] = message.payload.decode()
    except UnicodeDecodeError:
        worded["payload_base64"] = base64.b64encode(message.payload).decode()
    return worded
