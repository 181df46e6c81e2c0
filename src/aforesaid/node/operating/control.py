"""The control socket of a live node: a Unix socket in its directory, for its own user only.

One JSON object per line each way. Requests: {"why": "alice#5"} (sentences), {"reasons": "alice#5"} (data),
{"peers": true}, {"waits": true} (what waits longest), {"status": true}, {"gauges": true}, {"evict": "bob"},
{"admit": ["dave", "host:port"]}, {"dismiss": "bob"}, {"rekey": ["new.key", "old.key"]}. The answer has the
request's key, or {"error": ...}.
"""

import asyncio
import json
import os
import socket
from pathlib import Path
from typing import TYPE_CHECKING, Any

from aforesaid.core import Misuse
from aforesaid.ground import ground
from aforesaid.node.operating.claim import Claim

if TYPE_CHECKING:
    from aforesaid.node.node import Node

SOCKET = "control.sock"
LINE_BYTES_MAX = 64 * 1024
ANSWER_S = 5.0
PATH_BYTES_MAX = 100
"""The kernel's limit for the path of a Unix socket is 108 bytes."""


class Control:
    """Answers requests until it is closed."""

    def __init__(self, node: "Node[Any]", directory: str, claim: Claim | None = None) -> None:
        self._node = node
        self._claim = claim
        self._path = _path(directory)
        self._directory = directory
        self._talks: set[asyncio.Task[Any]] = set()

    async def start(self) -> None:
        self._claim = self._claim or Claim(self._directory)
        try:
            await self._listen()
        except BaseException:
            self._claim.release()
            raise

    async def _listen(self) -> None:
        try:
            self._path.unlink(missing_ok=True)
            listening = _bound(self._path)
            try:
                self._server = await asyncio.start_unix_server(
                    self._talk, sock=listening, limit=LINE_BYTES_MAX
                )
            except BaseException:
                listening.close()
                raise
        except OSError as error:
            raise Misuse(f"cannot make {self._path}: {error.strerror or error}") from error

    async def close(self) -> None:
        self._server.close()
        self._path.unlink(missing_ok=True)
        for talk in self._talks:
            talk.cancel()
        await asyncio.gather(*self._talks, return_exceptions=True)

    def release(self) -> None:
        """The node has ended: its directory is free."""
        if self._claim is not None:
            self._claim.release()

    async def _talk(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        talk = asyncio.current_task()
        if talk is None:
            raise RuntimeError("a conversation is a task")
        self._talks.add(talk)
        try:
            while line := await reader.readline():
                writer.write(json.dumps(await _answer(self._node, line)).encode() + b"\n")
                await writer.drain()
        except (OSError, ValueError, asyncio.CancelledError):
            pass  # It hung up, or sent a line that has no end, or the node closes.
        finally:
            self._talks.discard(talk)
            writer.close()


def _bound(path: Path) -> Any:
    """A socket for its owner only: whoever may connect may evict."""
    listening = ground().socket(socket.AF_UNIX, socket.SOCK_STREAM)
    # The mask is the whole process's: nothing is awaited while it is changed.
    mask = os.umask(0o177)
    try:
        listening.bind(str(path))
    except BaseException:
        listening.close()
        raise
    finally:
        os.umask(mask)
    return listening


def ask(directory: str, request: dict[str, Any], answer_s: float = ANSWER_S) -> Any:
    """Ask the node of a directory; what it answers."""
    path = _path(directory)
    try:
        with socket.socket(socket.AF_UNIX) as connection:
            connection.settimeout(answer_s)
            connection.connect(str(path))
            connection.sendall(json.dumps(request).encode() + b"\n")
            with connection.makefile() as lines:
                answer = json.loads(lines.readline() or "{}")
    except TimeoutError as error:
        raise Misuse(f"the node of {directory} does not answer") from error
    except OSError as error:
        raise Misuse(f"no node runs in {directory}: {path}: {error.strerror}") from error
    if "error" in answer:
        raise Misuse(answer["error"])
    (key,) = request
    if key not in answer:
        raise Misuse(f"the node of {directory} hung up")
    return answer[key]


async def _answer(node: "Node[Any]", line: bytes) -> dict[str, Any]:
    try:
        request = json.loads(line)
        match request:
            case {"why": str(label)}:
                return {"why": list(node.explain(label))}
            case {"reasons": str(label)}:
                return {"reasons": node.why(label)}
            case {"peers": _}:
                suspects = node.suspects
                return {
                    "peers": {
                        p: f"{how}: {suspects[p]}" if p in suspects else how for p, how in node.peers.items()
                    }
                }
            case {"waits": _}:
                return {"waits": node.waits()}
            case {"status": _}:
                return {"status": node.status()}
            case {"gauges": _}:
                return {"gauges": node.gauges(), "refused": node.refused}
            case {"evict": str(peer)}:
                node.evict(peer)
                return {"evict": peer}
            case {"admit": [str(peer), str(address)]}:
                await node.admit(peer, address)
                return {"admit": peer}
            case {"dismiss": str(peer)}:
                await node.dismiss(peer)
                return {"dismiss": peer}
            case {"rekey": [str(key), *accept]} if all(isinstance(path, str) for path in accept):
                await node.rekey(key, accept)
                return {"rekey": key}
        raise Misuse(
            'a request is {"why": "alice#5"}, {"reasons": "alice#5"}, {"peers": true}, {"waits": true}, '
            '{"status": true}, {"gauges": true}, {"evict": "bob"}, {"admit": ["dave", "host:port"]}, '
            '{"dismiss": "bob"} or {"rekey": ["new.key", "old.key"]}'
        )
    except (Misuse, ValueError, RecursionError) as error:  # Text that is no JSON is a ValueError.
        return {"error": str(error)}


def _path(directory: str) -> Path:
    path = Path(directory) / SOCKET
    if len(os.fsencode(path)) > PATH_BYTES_MAX:
        path = Path(os.path.relpath(path))
    if len(os.fsencode(path)) > PATH_BYTES_MAX:
        raise Misuse(f"directory: the path of {path} is too long for a Unix socket; choose a shorter one")
    return path
