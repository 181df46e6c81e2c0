"""Hostile and damaged bytes: nothing but a refusal, each counted, in flat memory.

100,000 packets go through every door a live node has: sealed datagrams damaged on the way, rubbish that a
member sealed, packets in the clear, all to the carrier of datagrams, and bodies on a stream. All chance comes
from one seed.
"""

import asyncio
import random
import re
import tracemalloc
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from aforesaid.core import Misbehaviour, Process, Refused, Speaker
from aforesaid.node.carrying.datagrams import DatagramCarrier
from aforesaid.node.carrying.securing import Plain, Sealed, Seals
from aforesaid.node.config import Config
from aforesaid.node.operating import logs
from aforesaid.protocols.catalog import CATALOG, Setup
from aforesaid.protocols.links.perfect import perfectly_linked
from aforesaid.security.keys import ClusterKey
from aforesaid.transport import Address
from aforesaid.wire import Codec, Header, Inlet, Limits, Reassembly, Records, cluster_id, pack, record
from support.harness import Recorder
from support.scale import scaled
from support.wire_examples import GROUP, MESSAGES, codec

PACKETS = scaled(30_000, 100_000)
ROOT = Path(__file__).parents[3]
CLUSTER = cluster_id("demo", "prc_spray")
ALICE, BOB = Header(CLUSTER, "alice", 1), Header(CLUSTER, "bob", 1)
KNOWN = {algorithm: codec(algorithm) for algorithm in MESSAGES}
FRAMES = {name: [KNOWN[name].encode(message) for message in messages] for name, messages in MESSAGES.items()}
BOMBS = [
    bytes.fromhex(text) for text in ("ddffffffff", "c6ffffffff", "dbffffffff", "dfffffffff", "c9ffffffff")
]


class Mangler:
    """Damages bytes in the ways networks and people do."""

    def __init__(self, chance: random.Random) -> None:
        self.chance = chance

    def body(self, which: int | None = None) -> bytes:
        """A good body, whole or a fragment; every other time in that format, if one is named."""
        names = list(FRAMES)
        name = self.chance.choice(names)
        if which is not None and self.chance.random() < 0.5:
            name = names[which]
        frames = FRAMES[name]
        some = self.chance.choices(frames, k=self.chance.randrange(1, 5))
        return self.chance.choice(pack(some, self.chance.choice((60, 1300))))

    def mangled(self, data: bytes) -> bytes:
        for _ in range(self.chance.choice((1, 1, 1, 2, 5))):
            data = self.chance.choice(self.WAYS)(self, data)
        return data

    def flip(self, data: bytes) -> bytes:
        changed = bytearray(data or b"\x00")
        changed[self.chance.randrange(len(changed))] ^= 1 << self.chance.randrange(8)
        return bytes(changed)

    def cut(self, data: bytes) -> bytes:
        return data[: self.chance.randrange(len(data) + 1)]

    def lengthen(self, data: bytes) -> bytes:
        return data + self.chance.randbytes(self.chance.randrange(1, 20))

    def bomb(self, data: bytes) -> bytes:
        at = self.chance.randrange(len(data) + 1)
        return data[:at] + self.chance.choice(BOMBS) + data[at:]

    def overwrite(self, data: bytes) -> bytes:
        at, size = self.chance.randrange(len(data) + 1), self.chance.randrange(1, 9)
        return data[:at] + self.chance.randbytes(size) + data[at + size :]

    def splice(self, data: bytes) -> bytes:
        other = self.body()
        return data[: self.chance.randrange(len(data) + 1)] + other[self.chance.randrange(len(other) + 1) :]

    def rubbish(self, data: bytes) -> bytes:
        return self.chance.randbytes(self.chance.randrange(100))

    WAYS = (flip, flip, flip, cut, lengthen, bomb, overwrite, splice, rubbish)


class Above:
    """The host over a carrier: it counts what is handed over, and bears no crash."""

    def __init__(self) -> None:
        self.handed = 0
        self.turns = 0

    def received(self, source: Process, messages: Sequence[Any]) -> bool:
        assert source == "alice"
        self.handed += 1
        return True

    def end_turn(self) -> None:
        self.turns += 1

    def failed(self, error: Exception) -> None:
        raise error

    def met(self, peer: Process, incarnation: int, start: int) -> None:
        assert (peer, incarnation, start) == ("alice", 1, 0)

    def connected(self, peer: Process) -> None: ...

    def lost(self, peer: Process) -> None: ...

    def said_bye(self, peer: Process) -> None: ...

    def turned_away(self, peer: Process, reason: str) -> None:
        raise AssertionError(f"alice is at peace with bob, and {peer} said {reason}")

    def not_let_in(self, name: Process, reason: str) -> None: ...

    def is_member(self) -> bool:
        return True

    def neighbours(self) -> frozenset[Process]:
        return frozenset()

    def apart(self, elsewhere: Address) -> None: ...

    def has_room(self) -> None: ...


class Door:
    """Bob's carrier of datagrams, as a live node has it, and alice, whom it has heard once."""

    def __init__(self, known: Codec, alice: Seals, bob: Seals) -> None:
        config = Config.of({"name": "bob", "listen": "127.0.0.1:0", "peers": {"alice": "127.0.0.1:9"}})
        self.alice, self.bob = alice, bob
        self.above = Above()
        self.carrier = DatagramCarrier(config, bob, inlet_of(known), self.above)
        self.refused = self.carrier.refused
        self.session = b""

    async def open(self) -> None:
        await self.carrier.start()
        self.session = self.alice.open(self.bob.greet()).session
        assert self.lets_in(self.alice.greet())

    def lets_in(self, data: bytes) -> bool:
        """Whether the carrier lets a datagram in; if not, it is counted once and hands nothing over."""
        turns, handed, refused = self.above.turns, self.above.handed, self.refused.total()
        self.carrier._arrived([data])
        assert self.above.turns == turns + 1
        refusals = self.refused.total() - refused
        assert (refusals, self.above.handed - handed) in ((0, 0), (0, 1), (1, 0))
        return not refusals


def inlet_of(known: Codec) -> Inlet:
    return Inlet(known, Reassembly(Limits(bytes_max=20_000)))


class Doors:
    """A node's ways in, and hostile hands at each of them. Each tells whether something was let in."""

    def __init__(self) -> None:
        self.mangler = Mangler(random.Random(8))
        keys = [ClusterKey(bytes(32))]
        self.sealed = [Door(known, Sealed(keys, ALICE), Sealed(keys, BOB)) for known in KNOWN.values()]
        self.clear = [Door(known, Plain(ALICE), Plain(BOB)) for known in KNOWN.values()]
        self.streams = [inlet_of(known) for known in KNOWN.values()]
        self.turn = 0

    async def open(self) -> None:
        for door in (*self.sealed, *self.clear):
            await door.open()

    async def close(self) -> None:
        for door in (*self.sealed, *self.clear):
            await door.carrier.close()

    @property
    def refused(self) -> Counter[str]:
        counts = [door.refused for door in (*self.sealed, *self.clear)]
        return sum((*counts, *(stream.refused for stream in self.streams)), start=Counter[str]())

    def count_let_in(self, packets: int) -> int:
        """So many packets at the doors, by turns."""
        ways = (self.damaged_seal, self.sealed_rubbish, self.clear_rubbish, self.body_on_a_stream)
        let_in = 0
        for _ in range(packets):
            self.turn += 1
            # Each way at each door: their numbers may have a divisor in common.
            let_in += ways[self.turn % len(ways)](self.turn // len(ways) % len(KNOWN))
        return let_in

    def damaged_seal(self, which: int) -> bool:
        door = self.sealed[which]
        body = self.mangler.body(which) if self.mangler.chance.random() < 0.5 else b""
        greets = self.mangler.chance.random() < 0.3
        data = door.alice.greet() if greets else door.alice.seal(body, door.session)
        mangled = self.mangler.mangled(data)
        let_in = door.lets_in(mangled)
        assert not let_in or mangled == data, "a damaged datagram was let in"
        return let_in

    def sealed_rubbish(self, which: int) -> bool:
        door = self.sealed[which]
        return door.lets_in(door.alice.seal(self.mangler.mangled(self.mangler.body(which)), door.session))

    def clear_rubbish(self, which: int) -> bool:
        door = self.clear[which]
        return door.lets_in(self.mangler.mangled(door.alice.seal(self.mangler.body(which), door.session)))

    def body_on_a_stream(self, which: int) -> bool:
        body = self.mangler.mangled(self.mangler.body(which))
        return self.streams[which].body("alice", body, self.turn) is not None


def test_hostile_packets_are_refused_and_counted_in_flat_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    # What a node says again and again of a peer is written once in a while, here as on the command line.
    monkeypatch.setattr(logs.logger, "filters", [logs.Seldom()])

    async def main() -> None:
        doors = Doors()
        await doors.open()
        let_in = doors.count_let_in(PACKETS // 10)
        tracemalloc.start()
        try:
            let_in += doors.count_let_in(PACKETS // 10)
            before, _ = tracemalloc.get_traced_memory()
            tracemalloc.reset_peak()
            let_in += doors.count_let_in(PACKETS * 8 // 10)
            after, peak = tracemalloc.get_traced_memory()
        finally:
            tracemalloc.stop()
            await doors.close()
        refused = doors.refused
        assert refused.total() + let_in == PACKETS
        assert refused.total() > PACKETS // 2
        assert let_in > PACKETS // 100, "the mangler never gets past the first check"
        assert refused.keys() >= {"forged", "truncated", "body", "frame tag", "frame shape", "fragment"}
        assert refused.keys() >= {"key", "stranger", "incarnation", "note"}
        assert sum(door.above.handed for door in (*doors.sealed, *doors.clear)) > PACKETS // 100
        assert after - before < 100_000
        assert peak - before < 500_000

    asyncio.run(main())


def on_perfect_links(setup: Setup) -> Speaker:
    return perfectly_linked(CATALOG["waiting"].build(setup))


@pytest.mark.parametrize(
    ("algorithm", "build"),
    [
        ("hybrid_multicast", CATALOG["hybrid_multicast"].build),
        ("hybrid_adaptive_multicast", CATALOG["hybrid_adaptive_multicast"].build),
        ("waiting", on_perfect_links),
        ("prc_spray", CATALOG["prc_spray"].build),
    ],
)
def test_what_the_codec_lets_in_crashes_no_protocol(algorithm: str, build: Callable[[Setup], Any]) -> None:
    """Damaged frames that still have the shape of one. What they say is nonsense; members do not say it."""
    mangler, known = Mangler(random.Random(5)), KNOWN[algorithm]
    let_in = 0
    for turn in range(5_000):
        if turn % 50 == 0:
            machine, out = build(Setup("alice", GROUP, 1, {})), Recorder()
        try:
            message = known.decode(mangler.flip(mangler.chance.choice(FRAMES[algorithm])))
        except Refused:
            continue
        let_in += 1
        with suppress(Misbehaviour):
            machine.receive(mangler.chance.choice(("bob", "carol")), message, turn, out)
    assert let_in > 1_000


def test_every_reason_is_documented() -> None:
    sources = [*ROOT.glob("src/aforesaid/wire/*.py"), *ROOT.glob("src/aforesaid/security/*.py")]
    raised = {
        reason
        for path in sources
        for reason in re.findall(r'Refused\("([^"]+)"\)', path.read_text(encoding="utf-8"))
    }
    table = (ROOT / "docs" / "wire.md").read_text(encoding="utf-8")
    assert raised == set(re.findall(r"^\| `([^`]+)` \| refused", table, re.MULTILINE))


values: st.SearchStrategy[Any] = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**64 - 1)
    | st.text(max_size=5)
    | st.binary(max_size=5),
    lambda inner: st.lists(inner, max_size=5),
    max_leaves=20,
)


@pytest.mark.parametrize("algorithm", MESSAGES)
@settings(max_examples=150, deadline=None, derandomize=True)
@given(data=st.binary(max_size=60) | st.tuples(st.integers(0, 20), values).map(msgspec.msgpack.encode))
def test_whatever_is_decoded_is_a_message_of_the_format(algorithm: str, data: bytes) -> None:
    known = KNOWN[algorithm]
    try:
        message = known.decode(data)
    except Refused:
        return
    assert known.decode(known.encode(message)) == message


@settings(max_examples=150, deadline=None, derandomize=True)
@given(st.lists(st.binary(max_size=300), max_size=10), st.lists(st.integers(1, 50), min_size=1))
def test_records_survive_any_cut(bodies: list[bytes], steps: list[int]) -> None:
    stream, records = b"".join(map(record, bodies)), Records(300)
    out: list[bytes] = []
    at = turn = 0
    while at < len(stream):
        step = steps[turn % len(steps)]
        out += records.feed(stream[at : at + step])
        at, turn = at + step, turn + 1
    assert out == bodies


@settings(max_examples=150, deadline=None, derandomize=True)
@given(st.lists(st.binary(max_size=2000), max_size=12), st.integers(40, 1500))
def test_frames_of_any_size_arrive_in_order_through_bodies_of_any_size(
    frames: list[bytes], size: int
) -> None:
    bodies = pack(frames, size)
    assert all(len(body) <= size for body in bodies)
    inlet = Inlet(Echo([]), Reassembly())
    assert [frame for body in bodies for frame in inlet.body("a", body, 0) or ()] == frames


class Echo(Codec):
    """A codec of bytes."""

    def decode(self, data: bytes) -> bytes:
        return data
