"""A shopping list on three phones: a replicated set (CRDT) whose copies agree whatever order edits arrive in.

Every addition has a tag of its own, the id of the message that told it. A removal names the tags that its
author saw; so an addition at the same time, which it did not see, survives (observed-remove set). Causal
delivery makes this simple: a removal never arrives before the additions it removes, so nothing is kept of
what was removed.

    python examples/shopping_list.py
"""

import json
from typing import Any

from aforesaid import Node
from local import run_group

EDITS = {
    "ann": [("add", "milk"), ("add", "bread"), ("remove", "milk"), ("add", "tea")],
    "ben": [("add", "milk"), ("remove", "bread"), ("add", "eggs")],
    "cem": [("add", "eggs"), ("remove", "eggs"), ("add", "jam")],
}


class ShoppingList:
    """The set, as one phone has it: items with the tags of their additions."""

    def __init__(self) -> None:
        self.tags: dict[str, set[str]] = {}

    def apply(self, edit: dict[str, Any], tag: str) -> None:
        item = edit["item"]
        if edit["do"] == "add":
            self.tags.setdefault(item, set()).add(tag)
        else:
            self.tags[item] = self.tags.get(item, set()).difference(edit["tags"])
            if not self.tags[item]:
                del self.tags[item]

    def __str__(self) -> str:
        return ", ".join(sorted(self.tags)) or "nothing"


async def phone(node: Node) -> None:
    groceries, done = ShoppingList(), 0
    for do, item in EDITS[node.name]:
        edit = {"do": do, "item": item, "tags": sorted(groceries.tags.get(item, ()))}
        receipt = await node.broadcast(json.dumps(edit).encode())
        # An edit of one's own is delivered to oneself, too, in its place among those of the others.
        async for message in node:
            groceries.apply(json.loads(message.payload), str(message.id))
            done += 1
            if message.id == receipt.id:
                break
    while done < sum(map(len, EDITS.values())):
        message = await anext(node)
        groceries.apply(json.loads(message.payload), str(message.id))
        done += 1
    print(f"{node.name}: {groceries}\n", end="")  # One write: three processes share the screen.


if __name__ == "__main__":
    run_group(list(EDITS), phone)
