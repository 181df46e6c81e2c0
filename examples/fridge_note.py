"""A note on the fridge that anyone may rewrite: a register (CRDT) that shows contradictions and loses none.

A new text replaces the texts that its author had read, and stands beside those that were written at the same
time. Nobody keeps vectors or tombstones: each message knows what it follows (`frontier = true`), and whoever
takes it asks.

    python examples/fridge_note.py
"""

import asyncio

from aforesaid import Config, Message, Node

OPTIONS = {"period_ms": 500, "frontier": True}


class Note:
    """The note as one person sees it: the texts that no other text replaces."""

    def __init__(self, node: Node) -> None:
        self.node = node
        self.texts: list[Message] = []
        self.read = 0

    async def write(self, text: str) -> None:
        await self.node.broadcast(text.encode())

    async def see(self, count: int) -> None:
        """Read on until so many texts were seen in all."""
        while self.read < count:
            new = await anext(self.node)
            self.texts = [text for text in self.texts if not new.follows(text)] + [new]
            self.read += 1

    def __str__(self) -> str:
        return " / ".join(sorted(text.payload.decode() for text in self.texts))


async def main() -> None:
    def config(name: str, contact: Node | None = None) -> Config:
        address = None if contact is None else str(contact.address)
        return Config(name=name, algorithm="prc_spray", transport="tcp", contact=address, options=OPTIONS)

    async with (
        Node(config("ann")) as first,
        Node(config("ben", first)) as second,
        Node(config("cem", first)) as third,
    ):
        ann, ben, cem = notes = [Note(node) for node in (first, second, third)]
        await ann.write("buy milk")
        for note in notes:
            await note.see(1)
        # Ben and cem have read ann's text, but not each other's.
        await ben.write("buy bread")
        await cem.write("buy eggs")
        for note in notes:
            await note.see(3)
            print(f"{note.node.name} reads: {note}")
        # Ann has read both, so that hers replaces both.
        await ann.write("buy bread and eggs")
        for note in notes:
            await note.see(4)
            print(f"{note.node.name} reads: {note}")


if __name__ == "__main__":
    asyncio.run(main())
