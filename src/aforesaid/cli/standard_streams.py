"""Standard input and output for a program that must not stand still: whatever is behind them, none blocks it.

Event loops take pipes and sockets only, and make them non-blocking for every process that shares them, the
shell on the same terminal among them. So the input is read by a thread, and the output is written only when
it takes something.
"""

import asyncio
import json
import os
import select
import threading
from collections.abc import AsyncIterator
from contextlib import suppress
from typing import Any

from aforesaid.core import Misuse

STDIN, STDOUT, STDERR = range(3)
CHUNK_BYTES = 64 * 1024
WRITE_BYTES = 4096
"""What a pipe takes at once if it takes anything (PIPE_BUF)."""


def fill_standard_streams() -> None:
    """Where one was closed (`<&-`), the next file that is opened would take its place, and what it gets."""
    for number in (STDIN, STDOUT, STDERR):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # The lowest number that is free.


async def standard_input() -> AsyncIterator[bytes]:
    """What is there as it comes; the next is read when it is asked for."""
    loop, wanted = asyncio.get_running_loop(), threading.Semaphore(0)
    chunks: asyncio.Queue[bytes] = asyncio.Queue()

    def read() -> None:
        chunk = b"more"
        while chunk:
            wanted.acquire()
            try:
                chunk = os.read(STDIN, CHUNK_BYTES)
            except OSError:
                chunk = b""  # A terminal that has gone.
            with suppress(RuntimeError):  # The loop ended first.
                loop.call_soon_threadsafe(chunks.put_nowait, chunk)

    threading.Thread(target=read, name="standard input", daemon=True).start()
    while True:
        wanted.release()
        chunk = await chunks.get()
        if not chunk:
            return
        yield chunk


class StandardOutput:
    """JSON lines, in UTF-8 whatever the locale; who writes waits while nobody reads."""

    def __init__(self) -> None:
        self._turn = asyncio.Lock()

    async def write(self, line: dict[str, Any]) -> None:
        data = memoryview(json.dumps(line, ensure_ascii=False).encode() + b"\n")
        async with self._turn:
            while data:
                if not select.select([], [STDOUT], [], 0)[1]:
                    await _writable(STDOUT)
                try:
                    data = data[os.write(STDOUT, data[:WRITE_BYTES]) :]
                except BrokenPipeError:
                    raise
                except OSError as error:
                    raise Misuse(f"cannot write to standard output: {error.strerror}") from error


async def _writable(file: int) -> None:
    loop = asyncio.get_running_loop()
    writable: asyncio.Future[None] = loop.create_future()
    loop.add_writer(file, _resolve, writable)
    try:
        await writable
    finally:
        loop.remove_writer(file)


def _resolve(future: "asyncio.Future[None]") -> None:
    if not future.done():
        future.set_result(None)
