"""A node for programs in any language: JSON lines in, JSON lines out.

In:   {"to": ["bob"], "payload": "hello"}        to some;   {"payload": "hello"}   to everyone
      "payload_base64" in place of "payload" for bytes that are no text; {"evict": "bob"}
Out:  {"ready": "alice", "address": ...}         once, first
      {"said": "alice~7#1"}                      for each message in, in order, when it was accepted
      {"origin": "bob", "id": "bob~3#1", "payload": "hi"}   a message was delivered
      {"error": "..."}                           a line that could not be
The end of the input closes the node, once others have what was said.
"""

import asyncio
import base64
import binascii
import json
from collections.abc import Callable
from typing import Any

from aforesaid.core import Misuse
from aforesaid.node.messages import Message
from aforesaid.node.node import Node

Write = Callable[[dict[str, Any]], None]


async def converse(node: Node, lines: asyncio.StreamReader, write: Write) -> None:
    """Until the input ends."""
    write({"ready": node.name, "address": str(node.address), "incarnation": node.incarnation})
    hearing = asyncio.create_task(_hear(node, write))
    try:
        await _speak(node, lines, write)
        await asyncio.wait_for(node.drain(), node.config.linger_s or None)
    except TimeoutError:
        write({"error": f"closed after {node.config.linger_s} s, before others had everything"})
    finally:
        hearing.cancel()
        await asyncio.gather(hearing, return_exceptions=True)


async def _hear(node: Node, write: Write) -> None:
    async for message in node:
        write(_worded(message))
        message.ack()


async def _speak(node: Node, lines: asyncio.StreamReader, write: Write) -> None:
    while True:
        try:
            line = await lines.readline()
        except ValueError:
            raise Misuse("standard input: a line is longer than a message may be") from None
        if not line:
            return
        if line.strip():
            try:
                await _obey(node, json.loads(line), write)
            except (Misuse, json.JSONDecodeError, UnicodeDecodeError) as error:
                write({"error": str(error)})


async def _obey(node: Node, request: Any, write: Write) -> None:
    match request:
        case {"evict": str(peer)}:
            node.evict(peer)
        case {"to": list(targets)}:
            write({"said": str((await node.send(targets, _payload(request))).id)})
        case {"payload": _} | {"payload_base64": _}:
            write({"said": str((await node.broadcast(_payload(request))).id)})
        case _:
            raise Misuse('a line is {"payload": "text"}, with "to": ["bob"] to address it')


def _payload(request: dict[str, Any]) -> bytes:
    match request:
        case {"payload": str(text)}:
            return text.encode()
        case {"payload_base64": str(text)}:
            try:
                return base64.b64decode(text, validate=True)
            except binascii.Error as error:
                raise Misuse(f"payload_base64: {error}") from error
    raise Misuse('"payload" is a text, or "payload_base64" bytes in Base64')


def _worded(message: Message) -> dict[str, Any]:
    worded: dict[str, Any] = {"origin": message.origin, "id": str(message.id)}
    try:
        worded["payload"] = message.payload.decode()
    except UnicodeDecodeError:
        worded["payload_base64"] = base64.b64encode(message.payload).decode()
    return worded
