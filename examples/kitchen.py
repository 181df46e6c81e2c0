"""A kitchen: orders and servings by topic, and a bill that is asked for and is never short.

The waiter publishes orders, the cook what is served; the till hears both, and never of a dish that is served
before its order: one order holds over all that it hears. When the waiter has heard that everything is served
he asks the till for the bill. His request follows what he heard, so the till has heard it, too: nobody needs
to wait a little, or to ask again.

    python examples/kitchen.py
"""

import msgspec

from aforesaid import Node
from local import run_group

DISHES = {"soup": 4, "fish": 11, "cake": 5}
TABLES = 10


class Ready(msgspec.Struct, tag=True):
    pass


class Ordered(msgspec.Struct, tag=True):
    table: int
    dish: str


class Served(msgspec.Struct, tag=True):
    table: int
    dish: str


class Bill(msgspec.Struct, tag=True):
    table: int
    sum: int = 0


Said = Ready | Ordered | Served | Bill
"""What the members of this group say to each other."""


async def member(node: Node[Said]) -> None:
    await {"waiter": wait_on_tables, "cook": cook, "till": charge}[node.name](node)


async def wait_on_tables(node: Node[Said]) -> None:
    await node.subscribe("served")
    for _ in ("cook", "till"):
        # Each has said before what it wants to hear, so we know it; and so will whoever hears our orders.
        assert isinstance((await anext(node)).payload, Ready)
    for table in range(TABLES):
        for dish in DISHES:
            await node.publish("orders", Ordered(table, dish))
    for _ in range(TABLES * len(DISHES)):
        assert (await anext(node)).topic == "served"
    for table in range(TABLES):
        bill = await node.request("till", Bill(table), timeout_s=60)
        assert bill == Bill(table, sum(DISHES.values())), bill
    print(f"waiter: {TABLES} tables have paid for all they had")


async def cook(node: Node[Said]) -> None:
    await node.subscribe("orders")
    await node.send(["waiter"], Ready())
    for _ in range(TABLES * len(DISHES)):
        order = (await anext(node)).payload
        assert isinstance(order, Ordered)
        await node.publish("served", Served(order.table, order.dish))


async def charge(node: Node[Said]) -> None:
    await node.subscribe("orders", "served")
    await node.send(["waiter"], Ready())
    ordered: set[tuple[int, str]] = set()
    sums = dict.fromkeys(range(TABLES), 0)
    paid = 0
    while paid < TABLES:
        message = await anext(node)
        match message.payload:
            case Ordered(table, dish):
                ordered.add((table, dish))
            case Served(table, dish):
                assert (table, dish) in ordered, "what nobody ordered"
                sums[table] += DISHES[dish]
            case Bill(table):
                await message.reply(Bill(table, sums[table]))
                paid += 1
    print("till: nothing was served before it was ordered")


if __name__ == "__main__":
    run_group(["waiter", "cook", "till"], member, payload=Said)
