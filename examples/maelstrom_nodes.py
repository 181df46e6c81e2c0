"""Nodes as Maelstrom runs them, and a small network in its place: JSON in and out, a log on standard error.

n1 tells n2 and n3 something, and n2, once it knows, asks n3 about it. With `late` the network holds what n1
says to n3 until n2 has asked. The nodes log what they send and receive, as Maelstrom's libraries do.

    python examples/maelstrom_nodes.py DIRECTORY [late]
"""

import json
import subprocess
import sys
from pathlib import Path
from typing import IO, Any

Message = dict[str, Any]
NODES = ("n1", "n2", "n3")


def node() -> None:
    """One node: it is told its name, and then does as it is told."""
    me, numbers = "", 0

    def send(dest: str, body: Message) -> None:
        nonlocal numbers
        numbers += 1
        message = json.dumps({"src": me, "dest": dest, "body": body | {"msg_id": numbers}})
        print(f"Sent {message}", file=sys.stderr, flush=True)
        print(message, flush=True)

    for line in sys.stdin:
        message = json.loads(line)
        body, src = message["body"], message["src"]
        if body["type"] == "init":
            me = body["node_id"]
            print(f"Node {me} initialized", file=sys.stderr)
        print(f"Received {json.dumps(message)}", file=sys.stderr, flush=True)
        if body["type"] == "broadcast":
            for other in reversed(NODES):
                if other != me:
                    send(other, {"type": "tell", "value": body["message"]})
        elif body["type"] == "tell" and me == "n2":
            send("n3", {"type": "ask", "value": body["value"]})
        if body["type"] in ("init", "broadcast", "ask"):
            send(src, {"type": f"{body['type']}_ok", "in_reply_to": body["msg_id"]})


def network(directory: Path, late: bool) -> None:
    """Carries messages between the nodes and one client, which logs as a node does."""
    directory.mkdir(parents=True, exist_ok=True)
    logs = [(directory / f"{name}.log").open("w") for name in NODES]
    command = [sys.executable, __file__, "node"]
    pipe = subprocess.PIPE
    nodes = {
        name: subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=log, text=True)
        for name, log in zip(NODES, logs, strict=True)
    }
    with (directory / "c1.log").open("w") as client:
        waiting = [
            {"src": "c1", "dest": name, "body": {"type": "init", "node_id": name, "msg_id": number}}
            for number, name in enumerate(NODES)
        ]
        waiting.append({"src": "c1", "dest": "n1", "body": {"type": "broadcast", "message": 7, "msg_id": 9}})
        for message in waiting:
            print(f"Sent {json.dumps(message)}", file=client)
        carry(waiting, nodes, client, late)
    for name, process in nodes.items():
        process.communicate()
        assert process.returncode == 0, name
    for log in logs:
        log.close()


def carry(waiting: list[Message], nodes: dict[str, Any], client: IO[str], late: bool) -> None:
    """One message after the other, until there are none; each node says at once what it has to say."""
    answers = {"init": 1, "broadcast": 3, "tell": 0, "ask": 1}
    held: list[Message] = []
    while waiting or held:
        message = waiting.pop(0) if waiting else held.pop(0)
        kind, dest = message["body"]["type"], message["dest"]
        if late and kind == "tell" and dest == "n3" and waiting:
            held.append(message)
            late = False
        elif dest == "c1":
            print(f"Received {json.dumps(message)}", file=client)
        elif kind in answers:
            process = nodes[dest]
            process.stdin.write(json.dumps(message) + "\n")
            process.stdin.flush()
            count = answers[kind] + (kind == "tell" and dest == "n2")
            waiting += [json.loads(process.stdout.readline()) for _ in range(count)]
        else:
            nodes[dest].stdin.write(json.dumps(message) + "\n")


if __name__ == "__main__":
    if sys.argv[1] == "node":
        node()
    else:
        network(Path(sys.argv[1]), "late" in sys.argv[2:])
        print(f"wrote the logs of n1, n2, n3 and c1 in {sys.argv[1]}")
