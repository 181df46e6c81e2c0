"""The hybrid-buffering paper on four older algorithms of causal delivery: RST, KS, MF and Cykas.

What its section 3, section 4.3 and table 1 say of them: metadata, messages in transit, liveness, and the
network they need. The random campaigns and the mutants are in tests/unit/protocols/delivery.
"""

from collections import deque
from collections.abc import Callable
from itertools import pairwise
from typing import Any

import msgspec
import pytest

from aforesaid.core import MILLISECOND
from aforesaid.protocols.delivery.cykas import Cykas, Data, YouCanTell
from aforesaid.protocols.delivery.ks import Ks
from aforesaid.protocols.delivery.mf import Mf
from aforesaid.protocols.delivery.rst import Rst
from support.harness import Recorder

ROUNDS = 1_000


class Table:
    """Some processes and the FIFO links between them; frames move when the test says so."""

    def __init__(self, build: Callable[..., Any], names: tuple[str, ...]) -> None:
        self.nodes = {name: build(name, names) for name in names}
        self.outs = {name: Recorder() for name in names}
        self.links: dict[tuple[str, str], deque[Any]] = {}

    def say(self, source: str, *targets: str, payload: Any = "x") -> None:
        self.nodes[source].send(targets, payload, 0, self.outs[source])
        self._collect(source)

    def move(self, source: str, target: str, place: int = 0) -> Any:
        """The oldest frame of the link arrives, or one that overtakes it."""
        frame = self.links[source, target][place]
        del self.links[source, target][place]
        self.nodes[target].receive(source, frame, 0, self.outs[target])
        self._collect(target)
        return frame

    def drain(self) -> None:
        """All links in turn, until nothing flies."""
        while any(self.links.values()):
            for source, target in [link for link, frames in self.links.items() if frames]:
                self.move(source, target)

    def flying(self, source: str, target: str) -> list[Any]:
        return list(self.links.get((source, target), ()))

    def heard(self, name: str) -> list[Any]:
        return list(self.outs[name].payloads)

    def _collect(self, name: str) -> None:
        for target, frame in self.outs[name].take_sent():
            self.links.setdefault((name, target), deque()).append(frame)


def names(size: int) -> tuple[str, ...]:
    return tuple(f"p{number:02}" for number in range(size))


def metadata_bytes(build: Callable[..., Any], size: int) -> int:
    """How much a message carries besides its payload, after everyone has spoken to everyone else twice."""
    group = names(size)
    table = Table(build, group)
    for _ in range(2):
        for source in group:
            for target in group:
                if target != source:
                    table.say(source, target, payload=None)
        table.drain()
    table.say(group[0], group[1], payload=None)
    (frame,) = table.flying(group[0], group[1])
    return len(msgspec.msgpack.encode(frame))


SIZES = (8, 16, 32)


def test_metadata_of_rst_grows_with_the_square_of_the_group() -> None:
    """Section 3.1: "the space cost is therefore O(n^2) integers per message"."""
    small, medium, large = (metadata_bytes(Rst, size) for size in SIZES)
    assert large > 32 * 32
    assert 3.5 < (large - medium) / (medium - small) < 4.5


@pytest.mark.parametrize("build", [Mf, Cykas])
def test_metadata_of_mf_and_cykas_does_not_grow_with_the_group(build: Callable[..., Any]) -> None:
    """Table 1, message space O(1); only numbers get longer, as more was said."""
    sizes = [metadata_bytes(build, size) for size in SIZES]
    assert max(sizes) <= min(sizes) + 2 < 20


def test_metadata_of_ks_is_an_entry_per_sender_at_least() -> None:
    """Section 3.1: "always larger than Omega(n), as at least an entry per sender is kept", and O(n^2)."""
    sizes = [metadata_bytes(Ks, size) for size in SIZES]
    for size, measured in zip(SIZES, sizes, strict=True):
        assert 8 * size < measured < 8 * size * size
    assert all(larger > 1.8 * smaller for smaller, larger in pairwise(sizes))


def in_transit(build: Callable[..., Any]) -> tuple[int, int]:
    """Of ten messages to each of three peers, how many one sender lets fly at once: to all, to the first."""
    table = Table(build, names(4))
    for _ in range(10):
        for target in names(4)[1:]:
            table.say("p00", target)
    flying = [len(table.flying("p00", target)) for target in names(4)[1:]]
    return sum(flying), flying[0]


def test_messages_in_transit() -> None:
    """Table 1, in transit: unlimited, unlimited, 1, and 1 per receiver."""
    assert in_transit(Rst) == in_transit(Ks) == (30, 10)
    assert in_transit(Mf) == (1, 1)
    assert in_transit(Cykas) == (3, 1)


@pytest.mark.parametrize("queued", [1, 10, 100])
def test_latency_of_mf_is_a_round_trip_per_message_queued(queued: int) -> None:
    """Section 3.2: "the product of the average RTT by the number of messages already in the buffer"."""
    table = Table(Mf, ("a", "b"))
    for number in range(queued):
        table.say("a", "b", payload=number)
    trips = 0
    while queued - 1 not in table.heard("b"):
        table.move("a", "b")
        table.move("b", "a")
        trips += 1
    assert trips == queued


def test_mf_tolerates_loss_by_its_timer() -> None:
    """Table 1, network failures "any": nothing but the timer is needed."""
    a, b, out, heard = Mf("a", ("a", "b")), Mf("b", ("a", "b")), Recorder(), Recorder()
    a.send(("b",), "x", 0, out)
    out.take_sent()
    ((timer, deadline),) = out.timers.items()
    assert deadline == 50 * MILLISECOND
    a.expire(timer, deadline, out)
    ((_, frame),) = out.take_sent()
    b.receive("a", frame, deadline, heard)
    assert heard.payloads == ["x"]


def test_cykas_breaks_causal_order_when_a_yct_overtakes_its_message() -> None:
    """Table 1 has Cykas on a network of "any" order; rule 8 then lifts the secrecy of another message.

    j's YCT arrives before j's message, so MODE is -1. Then k's eager message makes it 0, not 1, and i tells z
    at once what k said after y, which z has not heard.
    """
    group = ("aux", "i", "j", "k", "z")
    table = Table(Cykas, group)
    table.say("j", "aux")
    table.say("j", "i", payload="j's")
    table.move("j", "aux")
    table.move("aux", "j")
    assert [type(frame) for frame in table.flying("j", "i")] == [Data, YouCanTell]
    table.move("j", "i", place=1)
    table.say("k", "z", payload="y")
    table.say("k", "i", payload="k's, after y")
    table.move("k", "i")
    table.say("i", "z", payload="after k's")
    table.move("i", "z")
    table.drain()
    assert table.heard("z") == ["after k's", "y"]


def test_cykas_keeps_causal_order_in_the_same_run_on_fifo_links() -> None:
    table = Table(Cykas, ("aux", "i", "j", "k", "z"))
    table.say("j", "aux")
    table.say("j", "i", payload="j's")
    table.move("j", "aux")
    table.move("aux", "j")
    table.move("j", "i")
    table.move("j", "i")
    table.say("k", "z", payload="y")
    table.say("k", "i", payload="k's, after y")
    table.move("k", "i")
    table.say("i", "z", payload="after k's")
    assert table.flying("i", "z") == []
    table.drain()
    assert table.heard("z") == ["y", "after k's"]


def test_cykas_starves() -> None:
    """Section 4.3: "MODE from reaching zero. This can go on, in an infinite run, causing starvation".

    j and k alternate {x -> aux, eager -> i}, each opened before the other's YCT lands. Of all their messages
    only the first happened before i's, yet i's is not sent while they go on. Once they fall silent, it is.
    """
    table = Table(Cykas, ("aux", "i", "j", "k", "z"))

    def open_secret(sender: str) -> None:
        table.say(sender, "aux")
        table.say(sender, "i")
        assert table.move(sender, "i").eager
        table.move("i", sender)

    def close_secret(sender: str) -> None:
        table.move(sender, "aux")
        table.move("aux", sender)
        assert type(table.move(sender, "i")) is YouCanTell

    open_secret("j")
    table.say("i", "z", payload="when?")
    speaker, other = "k", "j"
    for _ in range(ROUNDS):
        open_secret(speaker)
        close_secret(other)
        speaker, other = other, speaker
        assert table.flying("i", "z") == []
    assert table.nodes["i"].gauges() == {"queued": 1, "window": 0, "secrets": 1}
    assert len(table.heard("i")) == ROUNDS + 1
    close_secret(other)
    assert [frame.payload for frame in table.flying("i", "z")] == ["when?"]
