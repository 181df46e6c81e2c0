"""Real processes: one is halted for longer than the time-out, is told so when it goes on, and stops."""

import asyncio
import json
from pathlib import Path

from net.net_stage import complaints, free_addresses, judged, run, until
from net.node_process import NodeProcess, write_toml

NAMES = ["alice", "bob", "carol"]


def test_who_was_halted_for_too_long_is_evicted_told_and_stops(tmp_path: Path) -> None:
    async def main() -> None:
        addresses = dict(zip(NAMES, free_addresses(3), strict=True))
        nodes = {}
        for name in NAMES:
            facts = {
                "name": name,
                "listen": addresses[name],
                "directory": name,
                "heartbeat_s": 0.3,
                "evict_after_s": 3.0,
                "peers": {peer: addresses[peer] for peer in NAMES if peer != name},
            }
            nodes[name] = NodeProcess(write_toml(tmp_path / f"{name}.toml", facts))
        alice, bob, carol = nodes.values()
        try:
            await asyncio.gather(*(node.start() for node in nodes.values()))
            for node in nodes.values():
                node.say(payload=f"from {node.name}")
            for node in nodes.values():
                await until(lambda node=node: len(node.heard) == 3, "all talk")  # type: ignore[misc]
            carol.halt(True)
            alice.say(payload="for carol, too")
            bob.say(payload="after that")
            await until(lambda: "suspected" in alice.log, "alice is warned")
            await until(lambda: "peer gone" in alice.log and "peer gone" in bob.log, "carol is evicted")
            await until(lambda: "after that" in alice.heard, "alice and bob go on")
            assert (await alice.ask(peers=True))["carol"] == "evicted"
            carol.halt(False)
            assert await asyncio.wait_for(carol.process.wait(), 60) == 2
            told = [json.loads(line) for line in carol.log.splitlines() if line.startswith("{")]
            assert [line["by"] in NAMES for line in told if line["event"] == "evicted"] == [True]
            assert "carol was evicted, says" in carol.log
            assert [await node.end() for node in (alice, bob)] == [0, 0]
        finally:
            await asyncio.gather(*(node.destroy() for node in nodes.values()))

    run(main())
    report, trace = judged(tmp_path)
    assert not complaints(report)
    assert trace.processes.fate == ["alive", "alive", "evicted"]
