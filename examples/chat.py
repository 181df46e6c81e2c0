"""A chat with replies: nobody sees a reply before what it answers, although nobody puts things in order.

alice asks, bob answers as soon as he hears her, and both speak to everyone. carol may hear them over links of
any speed: Node holds nothing up that it need not, and never shows her an answer first.

    python examples/chat.py
"""

import json

from aforesaid import Node
from local import run_group

QUESTIONS = ["Who is for lunch?", "Shall we take the stairs?", "Is it Friday?"]


async def chat(node: Node) -> None:
    if node.name == "alice":
        for number, text in enumerate(QUESTIONS):
            await say(node, {"question": number, "text": text})
    seen: set[int] = set()
    answered = 0
    async for message in node:
        line = json.loads(message.payload)
        if "question" in line:
            seen.add(line["question"])
            if node.name == "bob":
                await say(node, {"answers": line["question"], "text": "Yes."})
        else:
            # This is what causal delivery is for: no buffer of orphaned replies, no "message not found".
            assert line["answers"] in seen
            answered += 1
        if node.name == "carol":
            print(f"{message.origin:>6}: {line['text']}")
        if answered == len(QUESTIONS):
            return


async def say(node: Node, line: dict[str, object]) -> None:
    await node.broadcast(json.dumps(line).encode())


if __name__ == "__main__":
    run_group(["alice", "bob", "carol"], chat)
