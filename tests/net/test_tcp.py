"""Streams by themselves, on loopback."""

import asyncio
import gc
import socket
import warnings
from collections.abc import Callable

import pytest
import uvloop

from aforesaid.transport import Address, Door


@pytest.mark.parametrize("new_loop", [asyncio.new_event_loop, uvloop.new_event_loop])
@pytest.mark.parametrize("turns", range(5))
def test_who_calls_while_listening_ends_leaves_no_socket_open(
    turns: int, new_loop: Callable[[], asyncio.AbstractEventLoop]
) -> None:
    """However far asyncio is with it by then."""

    async def called() -> None:
        door = Door(None, lambda stream: stream.abort(), print)
        address = await door.open(Address("127.0.0.1", 0))
        with socket.create_connection((address.host, address.port)):
            for _ in range(turns):
                await asyncio.sleep(0)
            await door.close()

    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        with asyncio.Runner(loop_factory=new_loop) as runner:
            runner.run(called())
        gc.collect()
    assert [str(warning.message) for warning in warned] == []
