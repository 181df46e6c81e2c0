"""Real processes under load, by the recipes of docs/howto.md: restarted, and replaced, one by one."""

import asyncio
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from aforesaid.core.version import __version__
from aforesaid.wire.segments import SUFFIX, read_segment
from net.net_stage import command, complaints, free_addresses, judged, run, until
from net.node_process import NodeProcess, write_toml
from support.scale import scaled

NAMES = ["alice", "bob", "carol"]
PAUSE_S = 0.01
"""Between two messages of each node."""

ROUNDS = scaled(1, 5)

RESTARTED = [
    ("hybrid_multicast_in_order", ""),
    *(
        (algorithm, "99.0")
        for algorithm in scaled(
            ("waiting",), ("waiting", "hybrid_adaptive_multicast", "hybrid_multicast_sps")
        )
    ),
]
"""Algorithms, and the version that each node is of after its restart; none: the same."""


class Talker:
    """The load of one node: what it has said, in its order."""

    def __init__(self, node: NodeProcess) -> None:
        self.node = node
        self.said: list[str] = []
        self.talks = True
        self.rested = 0
        """How much it had said when it last rested."""
        self.task = asyncio.create_task(self._talk())

    async def _talk(self) -> None:
        while True:
            if self.talks:
                self.said.append(f"{self.node.name} {len(self.said)}")
                await self.node.broadcast(self.said[-1].encode())
            await asyncio.sleep(PAUSE_S)

    async def rest(self) -> None:
        """Until the node has taken what it was given to say."""
        self.talks = False
        # What an earlier start of it has heard, this one need not hear.
        await until(lambda: len(self.said) == self.rested or self.said[-1] in self.node.heard, "it said all")
        self.rested = len(self.said)


async def told_by(*arguments: str) -> str:
    """What a command prints."""
    running = await asyncio.create_subprocess_exec(*command(*arguments), stdout=asyncio.subprocess.PIPE)
    told, _ = await running.communicate()
    assert running.returncode == 0
    return told.decode()


def facts_of(name: str, at: dict[str, str], **more: Any) -> dict[str, Any]:
    return {
        "name": name,
        "listen": at[name],
        "directory": name,
        "durability": "batch",
        "evict_after_s": 600.0,
        "peers": {peer: at[peer] for peer in NAMES if peer != name},
        **more,
    }


@pytest.mark.parametrize(("algorithm", "version"), RESTARTED)
def test_a_rolling_restart_under_load(algorithm: str, version: str, tmp_path: Path) -> None:
    """Nothing is lost, doubled or misordered, at the applications, who know an offset that comes again."""
    at = dict(zip(NAMES, free_addresses(3), strict=True))
    facts = {name: facts_of(name, at, algorithm=algorithm) for name in NAMES}
    configs = {name: write_toml(tmp_path / f"{name}.toml", facts[name]) for name in NAMES}
    heard: dict[str, dict[int, tuple[str, str]]] = {name: {} for name in NAMES}

    def collect(node: NodeProcess) -> None:
        for line in node.delivered:
            offset, message = line["offset"], (line["origin"], line["payload"])
            assert heard[node.name].setdefault(offset, message) == message

    async def main() -> None:
        nodes = {name: NodeProcess(config) for name, config in configs.items()}
        talkers: dict[str, Talker] = {}
        try:
            await asyncio.gather(*(node.start() for node in nodes.values()))
            talkers |= {name: Talker(node) for name, node in nodes.items()}
            for name in NAMES * ROUNDS:
                await asyncio.sleep(0.3)
                talker = talkers[name]
                await talker.rest()
                assert await nodes[name].end() == 0
                collect(nodes[name])
                nodes[name] = talker.node = NodeProcess(configs[name], version)
                await nodes[name].start()
                talker.talks = True
            for talker in talkers.values():
                await talker.rest()
            everything = {payload for talker in talkers.values() for payload in talker.said}
            for node in nodes.values():
                await until(lambda node=node: _all(heard, node, everything), "all is heard")  # type: ignore[misc]
                collect(node)
        finally:
            for talker in talkers.values():
                talker.task.cancel()
            await asyncio.gather(*(node.destroy() for node in nodes.values()))
        for name in NAMES:
            log = heard[name]
            assert sorted(log) == list(range(1, len(log) + 1))
            payloads = [log[offset][1] for offset in sorted(log)]
            assert Counter(payloads) == Counter(everything)
            for talker in talkers.values():
                assert [payload for payload in payloads if payload in set(talker.said)] == talker.said

    run(main())
    report, _ = judged(tmp_path)
    assert complaints(report) == [], complaints(report)
    segments = [read_segment(path)[0] for path in tmp_path.rglob(f"*{SUFFIX}")]
    assert {origin.code_version for origin in segments if origin} == {__version__, version or __version__}


def _all(heard: dict[str, dict[int, tuple[str, str]]], node: NodeProcess, everything: set[str]) -> bool:
    before = {payload for _, payload in heard[node.name].values()}
    return everything <= before | node.heard


def test_a_rolling_upgrade_under_load(tmp_path: Path) -> None:
    """Each node is replaced by another one, of whatever version: admitted, then the old one dismissed."""
    names = [*NAMES, *(f"{name}2" for name in NAMES)]
    at = dict(zip(names, free_addresses(6), strict=True))

    async def main() -> None:
        nodes = {
            name: NodeProcess(write_toml(tmp_path / f"{name}.toml", facts_of(name, at))) for name in NAMES
        }
        everyone = dict(nodes)
        talkers: dict[str, Talker] = {}
        try:
            await asyncio.gather(*(node.start() for node in nodes.values()))
            talkers |= {name: Talker(node) for name, node in nodes.items()}
            for name in NAMES:
                members = {peer: at[peer] for peer in nodes if peer != name}
                facts = facts_of(f"{name}2", at, newcomer=True, peers=members)
                new = everyone[f"{name}2"] = NodeProcess(write_toml(tmp_path / f"{name}2.toml", facts))
                starting = asyncio.create_task(new.start())
                helper = nodes[next(iter(members))]
                if name == NAMES[0]:
                    told = await told_by("admit", helper.directory, new.name, at[new.name])
                    assert told == "alice2 is admitted\n"
                else:
                    await helper.ask(admit=[new.name, at[new.name]])
                await starting
                talkers[new.name] = Talker(new)
                await talkers[name].rest()
                if name == NAMES[0]:
                    told = await told_by("dismiss", helper.directory, name)
                    assert told == "alice is dismissed: it leaves when all is delivered\n"
                else:
                    await helper.ask(dismiss=name)
                old = nodes.pop(name)
                assert await asyncio.wait_for(old.process.wait(), 60) == 0, old.log
                nodes[new.name] = new
            last = [talkers[name] for name in nodes]
            for talker in last:
                await talker.rest()
            for node in nodes.values():
                await until(
                    lambda node=node: all(talker.said[-1] in node.heard for talker in last),  # type: ignore[misc]
                    "all is heard",
                )
                states = Counter((await node.ask(peers=True)).values())
                assert states["connected"] == 2
                assert states.keys() <= {"connected", "left"}
        finally:
            for talker in talkers.values():
                talker.task.cancel()
            await asyncio.gather(*(node.destroy() for node in everyone.values()))
        for node in everyone.values():
            payloads = [line["payload"] for line in node.delivered]
            assert len(payloads) == len(set(payloads))
        # Who stayed until the end has all that was said after it was admitted; the traces tell the rest.
        assert set(everyone["carol2"].heard) >= set(talkers["carol2"].said)

    run(main())
    report, trace = judged(tmp_path)
    assert complaints(report) == [], complaints(report)
    assert len(trace.processes.name) == 6
