"""How messages came to real nodes, and what they waited for: from their segments, in sentences."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from aforesaid import Config, Misuse
from aforesaid.core import SECOND
from aforesaid.node.recording.ingest import ingest
from aforesaid.trace import MemorySink, MemoryTrace
from aforesaid.trace.telling import Telling
from aforesaid.trace.why import Ways
from world.node_stage import PORT, Stage, play

FLIGHT_NS = 1_000_000
"""A datagram takes between one and two of it there."""


def written(stage: Stage, root: Path) -> Path:
    """The segments on the disks of a world, as files."""
    for name, disk in stage.world.disks.items():
        for path, file in disk.files.items():
            if path.parent.name == "segments":
                (root / name).mkdir(parents=True, exist_ok=True)
                (root / name / path.name).write_bytes(file.data)
    return root


def ingested(root: Path) -> MemoryTrace:
    sink = MemorySink()
    ingest(root, sink, "nodes")
    return sink.trace


def happened(trace: MemoryTrace) -> list[tuple[str, int]]:
    """What, and to whom, in order."""
    return list(zip(trace.story.events.kind, trace.story.events.process.tolist(), strict=True))


def test_what_was_lost_on_its_way_holds_up_what_follows_it(tmp_path: Path) -> None:
    """alice's first message to bob is lost; the second waits there until the first was sent again. carol gets
    both; what she then says to bob is held back until alice permits it."""

    async def scene(stage: Stage) -> None:
        await stage.group("alice", "bob", "carol", receipts=True)
        await stage.until(lambda: stage.nodes["alice"].peers["bob"] == "connected", "they do not meet")
        network = stage.world.network
        network.cut("alice", "bob")
        await stage.say("alice", b"one")
        await asyncio.sleep(0.001)
        network.mend("alice", "bob")
        await stage.say("alice", b"two")
        await asyncio.sleep(0.0015)
        assert b"one" in stage.heard["carol"]
        await stage.say("carol", b"what follows")
        await stage.until(lambda: len(stage.heard["bob"]) == 3, "bob does not hear all")
        for name in ("alice", "bob", "carol"):
            await stage.world.on(stage.machines[name], stage.nodes[name].close)
        written(stage, tmp_path)

    play(scene)
    trace = ingested(tmp_path)
    ways = Ways(trace)
    bob = ways.process("bob")
    chain = ways.chain(ways.message("alice#2"), bob)
    [wait] = chain[0].waits
    assert (wait.reason.kind, wait.told) == ("missing on channel", True)
    assert [ways.label(way.message) for way in chain] == ["alice#2", "alice#1"]
    assert chain[0].came_ns is not None
    assert chain[0].waited_ns > FLIGHT_NS
    text = "\n".join(Telling(ways).sentences(chain))
    assert "for alice#1, said before it on the same channel" in text
    assert "So the root is alice#1" in text
    # It did not wait at bob, for it was held back where it was said.
    held = ways.way(ways.message("carol#1"), bob)
    assert held.held[0].reason.kind == "missing permit"
    assert ways.label(held.held[0].cause) == "alice#1"
    assert held.waited_ns == 0
    assert {("start", bob), ("open", bob), ("stop", bob)} <= set(happened(trace))


def test_a_killed_node_and_its_eviction_are_events(tmp_path: Path) -> None:
    async def scene(stage: Stage) -> None:
        await stage.group("a", "b", "c", receipts=True, evict_after_s=5.0)
        await stage.say("c", b"hello")
        await stage.until(lambda: b"hello" in stage.heard["a"], "a hears nothing")
        stage.machines["c"].kill()
        await stage.say("a", b"c cannot have this")
        await stage.until(lambda: b"c cannot have this" in stage.heard["b"], "b hears nothing")
        await stage.say("b", b"held back for c until it is evicted")
        await stage.until(lambda: stage.nodes["a"].peers["c"] == "evicted", "c is not evicted")
        await stage.until(lambda: stage.nodes["b"].peers["c"] == "evicted", "b is not told")
        for name in ("a", "b"):
            await stage.world.on(stage.machines[name], stage.nodes[name].close)
        written(stage, tmp_path)

    play(scene)
    trace = ingested(tmp_path)
    assert trace.story.events.time_ns.tolist() == sorted(trace.story.events.time_ns.tolist())
    told = happened(trace)
    ways = Ways(trace)
    held = ways.held(ways.message("b#1"))
    assert {(wait.reason.kind, wait.reason.peer) for wait in held} == {
        ("evicted", "c"),
        ("missing permit", "a"),
    }
    assert all(wait.until_ns is not None and wait.until_ns - wait.since_ns > 4 * SECOND for wait in held)
    assert [kind for kind, process in told if process == 2] == [
        "start",
        "open",
        "open",
        "crash",
        "evict",
        "evict",
    ]
    assert {"suspect", "stop"} <= {kind for kind, process in told if process == 0}


def test_what_is_kept_for_a_new_link_waits_for_its_handshake(tmp_path: Path) -> None:
    """Four exchange neighbours while they talk: what is said while a link is being opened is kept for it."""
    seen: list[dict[str, Any]] = []

    async def scene(stage: Stage) -> None:
        facts = {"algorithm": "prc_spray", "transport": "tcp", "receipts": True}
        await stage.start("a", **facts, options={"period_ms": 200})
        for name in "bcd":
            contact = [f"{stage.world.host('a')}:{PORT}"]
            await stage.start(name, contact=contact, **facts, options={"period_ms": 200})
        for _ in range(300):
            for name in "bcd":
                await stage.say(name, b"something")
                seen.extend(stage.nodes[name].waits())
            await asyncio.sleep(0.004)
        for name in "dcba":
            await stage.world.on(stage.machines[name], stage.nodes[name].close)
        written(stage, tmp_path)

    play(scene)
    trace = ingested(tmp_path)
    ways = Ways(trace)
    held = [wait for message in range(len(trace.messages)) for wait in ways.held(message)]
    waits = [wait for wait in held if wait.reason.kind == "handshake"]
    assert waits
    assert all(wait.until_ns is not None and 0 < wait.until_ns - wait.since_ns < SECOND for wait in waits)
    assert any("on the new link to " in line for line in Telling(ways).longest_held(9))
    # And at the time, to whoever asks.
    assert any("tells in their handshake that it has all that came before" in each["why"] for each in seen)
    assert all(each["seconds"] < 1 for each in seen)


def test_frames_wait_for_an_application_that_takes_nothing(tmp_path: Path) -> None:
    async def scene(stage: Stage) -> None:
        async def slowly(node: object, message: object) -> None:
            await asyncio.sleep(0.2)

        stage.hear = slowly
        await stage.group("a", "b", receipts=True, queues={"in_messages": 2})
        for payload in range(8):
            await stage.say("a", bytes([payload]))
        await asyncio.sleep(5)
        for name in ("a", "b"):
            await stage.world.on(stage.machines[name], stage.nodes[name].close)
        written(stage, tmp_path)

    play(scene)
    assert "no room" in ingested(tmp_path).story.receipts.kind


def test_receipts_change_nothing_else_and_cost_less_than_half_of_the_rest(tmp_path: Path) -> None:
    """Segments with receipts and without: the same events between them, message by message."""
    sizes, digests = [], []
    for receipts in (False, True):

        async def scene(stage: Stage, receipts: bool = receipts) -> None:
            stage.world.network.weather.jitter_s = 0.02
            await stage.group("a", "b", "c", receipts=receipts)
            for number in range(60):
                await stage.say("abc"[number % 3], b"something")
                await asyncio.sleep(0.004)
            await stage.until(
                lambda: all(len(heard) >= 40 for heard in stage.heard.values()), "not all heard"
            )
            for name in "abc":
                await stage.world.on(stage.machines[name], stage.nodes[name].close)
            written(stage, tmp_path / str(receipts))

        play(scene)
        sizes.append(sum(file.stat().st_size for file in (tmp_path / str(receipts)).rglob("*.segment")))
        digests.append(ingested(tmp_path / str(receipts)).run.digest)
    assert digests[0] == digests[1]
    assert sizes[0] < sizes[1] <= 1.5 * sizes[0]


@pytest.mark.parametrize(
    ("facts", "words"),
    [
        ({"trace": False, "directory": "d"}, "receipts: they stand in the trace"),
        ({}, "receipts: they stand in the trace"),
        ({"directory": "d", "durability": "batch"}, "receipts: a node that survives"),
    ],
)
def test_receipts_need_a_trace_of_what_is_told_once(facts: dict[str, object], words: str) -> None:
    with pytest.raises(Misuse, match=words):
        Config.of({"name": "a", "peers": {"b": "127.0.0.1:1"}, "receipts": True, **facts})
