"""An orchestrator that hears of its runs from many workers: what comes too early is handled in its turn.

Each worker tells the server over a connection of its own what it did, and what that follows: a step that
starts on one worker follows the end of a step on another. The server's handler is a plain state machine that
would fail if a step ended before it began, or began before what it needs.

    python examples/run_events.py
"""

import asyncio
import json
import random
from typing import Any

from aforesaid.order import Order

STEPS = {"fetch": [], "clean": ["fetch"], "train": ["clean"], "plot": ["clean"], "publish": ["train", "plot"]}

Event = dict[str, Any]


class Runs:
    """Where every run stands. It never looks back: the order does."""

    def __init__(self) -> None:
        self.state: dict[str, str] = {}

    def handle(self, event: Event) -> None:
        step, what = event["step"], event["what"]
        if what == "began":
            late = [each for each in STEPS[step] if self.state.get(each) != "ended"]
            assert not late, f"{step} began before {late} ended"
        else:
            assert self.state[step] == "began", f"{step} ended before it began"
        self.state[step] = what
        print(f"{step} {what}")


async def serve(runs: Runs, done: asyncio.Event) -> asyncio.Server:
    order: Order[Event] = Order(patience_s=30)

    async def hear(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        async for line in reader:
            event = json.loads(line)
            for each in order.put(event["id"], event["follows"], event):
                if each.lacking:
                    print(f"{each.id} is handled although {each.lacking} never came")
                runs.handle(each.event)
            if runs.state.get("publish") == "ended":
                done.set()
        writer.close()

    return await asyncio.start_server(hear, "127.0.0.1", 0)


async def work(port: int, step: str, chance: random.Random) -> None:
    """A worker whose connection is slow by chance; what it tells is true all the same."""
    _, writer = await asyncio.open_connection("127.0.0.1", port)
    needs = [f"{each} ended" for each in STEPS[step]]
    for what, follows in (("began", needs), ("ended", [f"{step} began"])):
        await asyncio.sleep(chance.uniform(0, 0.05))
        event = {"id": f"{step} {what}", "follows": follows, "step": step, "what": what}
        writer.write(json.dumps(event).encode() + b"\n")
    writer.close()
    await writer.wait_closed()


async def main() -> None:
    runs, done, chance = Runs(), asyncio.Event(), random.Random()
    server = await serve(runs, done)
    port = server.sockets[0].getsockname()[1]
    async with server:
        # The last steps first: whatever comes first, the handler sees them in order.
        await asyncio.gather(*(work(port, step, chance) for step in reversed(STEPS)), done.wait())


if __name__ == "__main__":
    asyncio.run(main())
