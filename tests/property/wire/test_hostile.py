"""Hostile and damaged bytes: nothing but a refusal, each counted, in flat memory.

100,000 packets go through every door a live node has: sealed datagrams damaged on the way, rubbish that a
member sealed, packets in the clear, bodies on a stream. All chance comes from one seed.
"""

import random
import re
import tracemalloc
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from aforesaid.core import Misbehaviour, Refused, Speaker
from aforesaid.protocols.catalog import CATALOG, Setup
from aforesaid.protocols.links.perfect import perfectly_linked
from aforesaid.security.datagrams import NOBODY, KeyRing, Opener, Sealer
from aforesaid.security.keys import ClusterKey
from aforesaid.wire import Clear, Codec, Header, Inlet, Limits, Reassembly, Records, cluster_id, pack, record
from support.harness import Recorder
from support.wire_examples import GROUP, MESSAGES, codec

PACKETS = 100_000
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

    def body(self) -> bytes:
        """A good body, whole or a fragment."""
        frames = FRAMES[self.chance.choice(list(FRAMES))]
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


class Doors:
    """A node's ways in, and hostile hands at each of them. Each gives what was let in, or None."""

    def __init__(self) -> None:
        self.mangler = Mangler(random.Random(8))
        ring = KeyRing(ClusterKey(bytes(32)))
        self.sealer = Sealer(ring, ALICE)
        self.receiver = Sealer(ring, BOB).session
        self.opener = Opener(ring, BOB, self.receiver)
        self.clear = Clear(ALICE)
        self.inlets = [Inlet(known, Reassembly(Limits(bytes_max=20_000))) for known in KNOWN.values()]
        self.now = 0

    @property
    def inlet(self) -> Inlet:
        self.now += 1
        return self.inlets[self.now % len(self.inlets)]

    def damaged_seal(self) -> Any:
        body = self.mangler.body() if self.now % 2 else b""
        data = self.sealer.seal(body, self.receiver if self.now % 3 else NOBODY)
        mangled = self.mangler.mangled(data)
        let_in = self.inlet.datagram(mangled, self.opener.open, self.now)
        assert let_in is None or mangled == data, "a damaged datagram was let in"
        return let_in

    def sealed_rubbish(self) -> Any:
        data = self.sealer.seal(self.mangler.mangled(self.mangler.body()), self.receiver)
        return self.inlet.datagram(data, self.opener.open, self.now)

    def clear_rubbish(self) -> Any:
        data = self.mangler.mangled(self.clear.seal(self.mangler.body()))
        return self.inlet.datagram(data, self.clear.open, self.now)

    def body_on_a_stream(self) -> Any:
        return self.inlet.body("alice", self.mangler.mangled(self.mangler.body()), self.now)


def test_hostile_packets_are_refused_and_counted_in_flat_memory() -> None:
    doors = Doors()
    ways: list[Callable[[], Any]] = [
        doors.damaged_seal,
        doors.sealed_rubbish,
        doors.clear_rubbish,
        doors.body_on_a_stream,
    ]
    let_in = sum(ways[turn % 4]() is not None for turn in range(PACKETS // 10))
    tracemalloc.start()
    try:
        let_in += sum(ways[turn % 4]() is not None for turn in range(PACKETS // 10))
        before, _ = tracemalloc.get_traced_memory()
        tracemalloc.reset_peak()
        let_in += sum(ways[turn % 4]() is not None for turn in range(PACKETS * 8 // 10))
        after, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    refused = sum((inlet.refused for inlet in doors.inlets), start=Counter[str]())
    assert refused.total() + let_in == PACKETS
    assert refused.total() > PACKETS // 2
    assert let_in > 1_000, "the mangler never gets past the first check"
    assert refused.keys() >= {"forged", "truncated", "body", "frame tag", "frame shape", "fragment", "key"}
    assert after - before < 100_000
    assert peak - before < 500_000


def on_perfect_links(setup: Setup) -> Speaker:
    return perfectly_linked(CATALOG["waiting"].build(setup))


@pytest.mark.parametrize(
    ("algorithm", "build"),
    [
        ("hybrid_multicast", CATALOG["hybrid_multicast"].build),
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
