"""A pipeline of services: orders are taken, priced and shipped, and an auditor hears of it all.

Each service tells the next one and the auditor in one message. The auditor hears each service over a link of
its own, yet never that an order was shipped before it has heard that it was taken: causal delivery, with
nothing but a handful of bytes in each message, and without the services knowing of each other's messages.

    python examples/pipeline.py
"""

import json

from aforesaid import Node
from local import run_group

ORDERS = 20
STAGES = ["intake", "pricing", "shipping"]


async def service(node: Node) -> None:
    if node.name == "auditor":
        await audit(node)
        return
    following = STAGES[STAGES.index(node.name) + 1 : STAGES.index(node.name) + 2]
    for order in range(ORDERS):
        if node.name != STAGES[0]:
            order = json.loads((await anext(node)).payload)["order"]
        await node.send([*following, "auditor"], json.dumps({"order": order, "done": node.name}).encode())


async def audit(node: Node) -> None:
    history: dict[int, list[str]] = {}
    for _ in range(ORDERS * len(STAGES)):
        event = json.loads((await anext(node)).payload)
        steps = history.setdefault(event["order"], [])
        steps.append(event["done"])
        assert steps == STAGES[: len(steps)], f"order {event['order']}: {steps}"
    print(f"auditor: {len(history)} orders, each heard of as {' -> '.join(STAGES)}")


if __name__ == "__main__":
    run_group([*STAGES, "auditor"], service)
