"""The network under overlays: order per link instance, marked frames, what is lost when a channel breaks."""

from typing import Any, NamedTuple

import pytest

from aforesaid.core import MessageId, frame
from aforesaid.sim.chance import Chance
from aforesaid.sim.network import Counters, Network
from aforesaid.sim.parts import Network as Model
from aforesaid.sim.parts import Partition
from aforesaid.sim.simulation import Simulation
from aforesaid.trace import MemorySink, Tracer
from support.harness import scenario


@frame(link="link")
class On(NamedTuple):
    """A frame on a link."""

    link: str
    number: int


@frame(control=True, droppable=True, kind="kind")
class Word(NamedTuple):
    """A control message of a kind."""

    kind: str


@frame(control=True, link="link")
class Call(NamedTuple):
    """A control message that must not be lost."""

    link: str


class Wire:
    """A network, and what arrives of what it is given, in the order of arrival."""

    def __init__(self, **model: Any) -> None:
        self.counters = Counters()
        self.arrivals: list[tuple[int, int, Any]] = []
        self.network = Network(Model(**model), Chance(1, "wire"), self.counters, self._schedule)

    def _schedule(self, time: int, target: str, source: str, message: Any) -> None:
        self.arrivals.append((time, len(self.arrivals), message))

    def send(self, *messages: Any) -> None:
        for message in messages:
            self.network.send("a", ("b",), message, 0)

    @property
    def arrived(self) -> list[Any]:
        return [message for *_, message in sorted(self.arrivals)]


def test_frames_of_a_link_instance_are_ordered_and_those_of_two_are_not() -> None:
    wire = Wire(fifo=True)
    wire.send(*(On(link, number) for number in range(50) for link in "xy"))
    numbers = {link: [frame.number for frame in wire.arrived if frame.link == link] for link in "xy"}
    assert numbers == {"x": list(range(50)), "y": list(range(50))}
    assert wire.arrived != [On(link, number) for number in range(50) for link in "xy"]


def test_control_loss_loses_droppable_frames_only_and_ends_with_the_fault_phase() -> None:
    wire = Wire(control_loss=0.5)
    wire.send(*[Word("alpha"), Call("x"), On("x", 1), ("plain",)] * 1_000)
    kinds = [type(message) for message in wire.arrived]
    assert [kinds.count(kind) for kind in (Call, On, tuple)] == [1_000] * 3
    assert 400 < kinds.count(Word) < 600
    assert wire.counters.lost == 1_000 - kinds.count(Word)
    wire.network.heal(0)
    wire.send(*[Word("alpha")] * 100)
    assert len(wire.arrived) == len(kinds) + 100


def test_loss_and_control_loss_are_independent() -> None:
    wire = Wire(loss=0.5, control_loss=0.5)
    wire.send(*[Word("alpha")] * 4_000, *[Call("x")] * 4_000)
    kinds = [type(message) for message in wire.arrived]
    assert 900 < kinds.count(Word) < 1_100
    assert 1_900 < kinds.count(Call) < 2_100


def test_control_messages_are_counted_by_kind_per_copy() -> None:
    wire = Wire()
    wire.network.send("a", ("b", "c"), Word("alpha"), 0)
    wire.send(Word("beta"), Call("x"), On("x", 1), ("plain",))
    assert (wire.counters.control, wire.counters.sent) == (4, 6)
    assert wire.counters.control_kinds == {"alpha": 2, "beta": 1, "Call": 1}


def test_what_is_sent_on_a_lost_connection_is_lost_even_behind_a_partition() -> None:
    wire = Wire()
    wire.network.part(Partition(from_ms=0, until_ms=1, groups=[["a"], ["b"]]))
    wire.network.disconnect("x")
    wire.send(On("x", 1), On("y", 1))
    wire.network.heal(0)
    assert wire.arrived == [On("y", 1)]
    assert (wire.counters.sent, wire.counters.lost, wire.counters.held) == (2, 1, 1)


class Streams:
    """Says everything on two link instances to each other process, in frames numbered per link."""

    def __init__(self, me: str, group: tuple[str, ...]) -> None:
        self.me = me
        self.others = tuple(other for other in group if other != me)
        self.said = 0
        self.heard: dict[tuple[str, str], list[int]] = {}

    def broadcast(self, payload: Any, now: int, out: Any) -> MessageId:
        self.said += 1
        for link in "xy":
            out.send(self.others, On(link, self.said))
        out.deliver(MessageId(self.me, 0, self.said), payload)
        return MessageId(self.me, 0, self.said)

    def receive(self, source: str, message: On, now: int, out: Any) -> None:
        self.heard.setdefault((source, message.link), []).append(message.number)

    def expire(self, timer: Any, now: int, out: Any) -> None: ...

    def peer_up(self, peer: str, now: int, out: Any) -> None: ...

    def peer_down(self, peer: str, now: int, out: Any) -> None: ...

    def gauges(self) -> dict[str, int]:
        return {}


@pytest.mark.parametrize(
    ("held_from_ms", "crash_ms"),
    [(290, 200), (150, 200), (150, 250)],
    ids=["all on its way", "partly held by a partition", "all held"],
)
def test_a_crash_loses_a_suffix_of_each_link_instance(held_from_ms: int, crash_ms: int) -> None:
    sides = [["p0"], ["p1", "p2"]]
    partition = {"kind": "partition", "from_ms": held_from_ms, "until_ms": 300, "groups": sides}
    unequal = lost = 0
    for seed in range(20):
        run = scenario(
            "best_effort",
            processes=3,
            seed=seed,
            network={"fifo": True, "delay": {"kind": "constant", "ms": 80}},
            workload=[{"kind": "rate", "per_second": 200, "processes": ["p0"]}],
            fault=[{"kind": "crash", "at_ms": crash_ms, "process": "p0"}, partition],
        )
        simulation = Simulation(run, Tracer(MemorySink()), lambda setup: Streams(setup.me, setup.group))
        simulation.run()
        for machine in simulation.machines.values():
            lengths = {link: len(machine.heard["p0", link]) for link in "xy"}
            for link, length in lengths.items():
                assert machine.heard["p0", link] == list(range(1, length + 1))
            unequal += lengths["x"] != lengths["y"]
        lost += simulation.counters.lost
    assert unequal > 10
    assert lost > 100
