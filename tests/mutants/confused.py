"""Mutants that send one kind of frame for another, the fields being what they should be.

While frames of different kinds were equal, tests that compare what is sent could not see such a slip. Each
mutant is a shipped class that speaks through a sink which takes one kind for another, and names a step of its
family in which that shows. Each step is for whichever class it is given: the shipped one passes it.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import wraps
from typing import Any, TypeAlias

from aforesaid.core import MessageId
from aforesaid.protocols.broadcast import newtop, pak, waiting
from aforesaid.protocols.broadcast.no_waiting import Told
from aforesaid.protocols.broadcast.unordered import Unordered
from aforesaid.protocols.delivery import cykas, mf
from aforesaid.protocols.delivery import hybrid_frames as hybrid
from aforesaid.protocols.delivery.hybrid_multicast import HybridMulticast
from aforesaid.protocols.delivery.hybrid_sps import HybridSps
from aforesaid.protocols.layers import reliable
from aforesaid.protocols.layers.layered import Relay
from aforesaid.protocols.layers.reliable import EagerReliable
from aforesaid.protocols.links import perfect
from aforesaid.protocols.overlay import frames as overlay
from aforesaid.protocols.overlay import link_memory, living, spray
from aforesaid.protocols.overlay.frames import Agree, Fin, Keep, Reset
from aforesaid.protocols.overlay.preventive import Preventive
from oracle.stage import Stage as HybridStage
from support import prc_stage, spray_stage
from support.harness import Passing, Recorder

Kind: TypeAlias = type[Any]
Confusion: TypeAlias = Mapping[Kind, Callable[[Any], Any]]
"""By kind, what is sent for a frame of it."""

CALLS = ("broadcast", "send", "receive", "expire", "peer_down", "join", "leave", "close", "hand_over")
GROUP = ("a", "b", "c", "d")
SECOND_LINK = overlay.Lid("a", "c", 0, 2)


class Confusing(Passing):
    """An effects sink that takes one kind of frame for another; a sampler's messages, too."""

    def __init__(self, out: Any, confusion: Confusion) -> None:
        super().__init__(out)
        self.confusion = confusion

    def send(self, targets: Any, message: Any) -> None:
        self.out.send(targets, self._confused(message))

    def _confused(self, message: Any) -> Any:
        if isinstance(message, overlay.Sampled):
            return overlay.Sampled(self._confused(message.message))
        return self.confusion.get(type(message), lambda same: same)(message)

    def __getattr__(self, name: str) -> Any:
        """What only a sampler asks of its links."""
        return getattr(self.out, name)


def confused(kind: Kind, confusion: Confusion) -> Kind:
    """The class, speaking through such a sink."""

    def speaking(call: Callable[..., Any]) -> Callable[..., Any]:
        @wraps(call)
        def through(*arguments: Any) -> Any:
            return call(*arguments[:-1], Confusing(arguments[-1], confusion))

        return through

    return type(
        f"Confused{kind.__name__}",
        (kind,),
        {name: speaking(getattr(kind, name)) for name in CALLS if hasattr(kind, name)},
    )


def as_a(kind: Kind) -> Callable[[Any], Any]:
    """A frame of this kind with the same fields."""
    return lambda frame: kind(*frame)


# -------------------------------------------------------------------------------------------- the slides


def a_newcomer_greets_everyone(kind: Kind) -> None:
    newcomer, out = kind("n", ("n",)), Recorder()
    newcomer.join("a", 0, out)
    assert out.take_sent() == [("a", reliable.Join())]
    newcomer.receive("a", reliable.Welcome(("a", "b"), ()), 0, out)
    assert out.take_sent() == [("a", reliable.Hello()), ("b", reliable.Hello())]
    newcomer.leave(0, out)
    assert out.take_sent() == [("a", reliable.Bye()), ("b", reliable.Bye())]


def what_is_said_is_relayed_as_it_came(kind: Kind) -> None:
    relay, out = Relay(MessageId("a", 0, 1), "x"), Recorder()
    Unordered(kind("b", ("a", "b", "c"))).receive("a", relay, 0, out)
    assert out.sent == [("c", relay)]


def a_message_is_stamped(kind: Kind) -> None:
    out = Recorder()
    kind("a", GROUP[:2], EagerReliable("a", GROUP[:2])).broadcast("x", 0, out)
    assert out.sent == [("b", Relay(MessageId("a", 0, 1), waiting.Stamped((0, 0), "x")))]


def data_is_acknowledged(kind: Kind) -> None:
    above = Unordered(EagerReliable("a", ("a", "b")))
    links, out = kind(above), Recorder()
    links.receive("b", perfect.Data(1, Relay(MessageId("b", 0, 1), "x")), 0, out)
    assert out.payloads == ["x"]
    assert out.sent == [("b", perfect.Ack(1))]


# ---------------------------------------------------------------------------------------- PAK and Newtop


def an_ack_is_no_settled(kind: Kind) -> None:
    a, out = kind("a", ("a", "b")), Recorder()
    a.receive("b", pak.Data(1, pak.ModularVectors(2, 3).pack((0, 0)), "x", True), 0, out)
    assert out.payloads == ["x"]
    assert out.sent == [("b", pak.Ack(1, 0))]


def what_is_everywhere_is_settled(kind: Kind) -> None:
    a, out = kind("a", ("a", "b")), Recorder()
    a.broadcast("x", 0, out)
    out.take_sent()
    a.receive("b", pak.Ack(1, 0), 0, out)
    assert out.sent == [("b", pak.Settled(1))]


def what_is_said_is_data(kind: Kind) -> None:
    a, out = kind("a", ("a", "b")), Recorder()
    a.broadcast("x", 0, out)
    assert out.sent == [("b", newtop.Data(MessageId("a", 0, 1), 1, 0, "x"))]


def silence_is_a_null(kind: Kind) -> None:
    a, out = kind("a", ("a", "b", "c")), Recorder()
    a.receive("b", newtop.Data(MessageId("b", 0, 1), 1, 0, "x"), 0, out)
    a.expire(newtop.Silence(), 1, out)
    assert out.sent == [("b", newtop.Null(2, 0)), ("c", newtop.Null(2, 0))]


# ------------------------------------------------------------------------------------------ the overlays


def what_is_first_heard_is_forwarded(kind: Kind) -> None:
    a, out = kind("a", ("b",), ("b", "c")), Recorder()
    a.receive("c", link_memory.Forward(MessageId("c", 0, 1), "x"), 0, out)
    assert out.sent == [("b", link_memory.Forward(MessageId("c", 0, 1), "x"))]


def a_suspected_peer_is_told(kind: Kind) -> None:
    a, out = kind("a", GROUP, degree=2, patience=1_000), Recorder()
    a.peer_down("c", 0, out)
    assert out.sent == [
        ("c", Fin(SECOND_LINK)),
        ("c", Fin(overlay.Lid("c", "a", 0, 2))),
    ]


def a_link_that_is_not_needed_may_be_closed(kind: Kind) -> None:
    c, out = kind("c", GROUP, degree=2, patience=1_000), Recorder()
    c.receive("a", overlay.Close(SECOND_LINK), 0, out)
    assert out.sent == [("a", Agree(SECOND_LINK))]
    c.receive("b", overlay.Close(overlay.Lid("b", "c", 0, 1)), 0, out)
    assert out.sent[1:] == [("b", Keep(overlay.Lid("b", "c", 0, 1)))]


def prc(kind: Kind, centre: str, others: str, **settings: Any) -> prc_stage.Stage:
    """Everyone is linked with the centre."""

    def make(name: str, **settings: Any) -> Any:
        process = prc_stage.process(name, **settings)
        return kind(process.prc, process.sampler)

    return prc_stage.star(centre, others, make, **settings)


def closing_is_asked_agreed_and_done(kind: Kind) -> None:
    stage = prc(kind, "A", "BC")
    lid = stage.link("B", "C")
    stage.do("B", "close", "C")
    assert stage.between("B", "C") == [overlay.Close(lid)]
    stage.carry("B", "C")
    assert stage.between("C", "B") == [Agree(lid)]
    stage.carry("C", "B")
    assert stage.between("B", "C") == [Fin(lid)]


def a_last_link_is_kept(kind: Kind) -> None:
    stage = prc(kind, "A", "B")
    [(_, lid)] = stage.machines["B"].links()
    stage.hand("B", "A", overlay.Close(lid))
    assert stage.between("A", "B") == [Keep(lid)]


def who_leaves_names_its_neighbours_to_each_other(kind: Kind) -> None:
    stage = prc(kind, "H", "AB", both_ways=True)
    stage.do("H", "hand_over")
    assert stage.between("H", "A") == [overlay.Sampled(living.Heir("B"))]


def an_exchange_is_asked_for_and_answered(kind: Kind) -> None:
    asker, out = spray_stage.spray(kind, "ab"), spray_stage.Sink()
    asker.expire(spray.PERIOD, 0, out)
    [(_, request)] = out.sent
    assert request == spray.Request((0, 1), request.sample)
    answerer, there = spray_stage.spray(kind, "cd", me="a"), spray_stage.Sink()
    answerer.receive("p", request, 0, there)
    [(_, reply)] = there.sent
    assert reply == spray.Reply((0, 1), reply.sample)


# --------------------------------------------------------------------------------------- causal delivery


def what_is_delivered_is_acknowledged(kind: Kind) -> None:
    stage = HybridStage(kind, 2)
    stage.say(0, 1)
    stage.arrive(hybrid.Msg, 0, 1)
    assert stage.between(1, 0) == [hybrid.Ack(1, 0)]


def a_permit_follows_the_acks(kind: Kind) -> None:
    stage = HybridStage(kind, 3)
    stage.say(0, 1)
    stage.say(0, 2)
    stage.arrive(hybrid.Msg, 0, 1)
    stage.carry_frame(next(frame for frame in stage.flying if frame[:2] == (1, 0)))
    assert stage.between(0, 2) == [hybrid.Msg(0, 2, 0, True, None), hybrid.Permit(2)]


def the_first_message_after_an_eviction_tells_it(kind: Kind) -> None:
    stage = HybridStage(kind, 4)
    stage.evict(2, 3)
    stage.say(2, 1)
    assert stage.between(2, 1) == [hybrid.News(("p3",), hybrid.Msg(0, 1, 0, False, None))]


def a_secret_is_acknowledged_and_then_told(kind: Kind) -> None:
    a, out = kind("a", GROUP), Recorder()
    a.receive("d", cykas.Data(MessageId("d", 0, 1), False, "x"), 0, out)
    assert out.take_sent() == [("d", cykas.Ack())]
    for target in "bc":
        a.send((target,), target, 0, out)
    out.take_sent()
    a.receive("b", cykas.Ack(), 0, out)
    assert out.sent == [("c", cykas.YouCanTell())]


def each_copy_is_acknowledged(kind: Kind) -> None:
    a, out = kind("a", GROUP), Recorder()
    a.receive("b", mf.Data(MessageId("b", 0, 1), 1, "x"), 0, out)
    assert out.sent == [("b", mf.Ack(1))]


@dataclass(frozen=True)
class ConfusedMutant:
    """A class, what it confuses, and the step in which that shows."""

    name: str
    kind: Kind
    confusion: Confusion
    breaks: Callable[[Kind], None]

    @property
    def mutated(self) -> Kind:
        return confused(self.kind, self.confusion)


CONFUSED_MUTANTS = [
    ConfusedMutant(
        "Bye for Hello", EagerReliable, {reliable.Hello: as_a(reliable.Bye)}, a_newcomer_greets_everyone
    ),
    ConfusedMutant(
        "Hello for Bye", EagerReliable, {reliable.Bye: as_a(reliable.Hello)}, a_newcomer_greets_everyone
    ),
    ConfusedMutant(
        "Hello for Join", EagerReliable, {reliable.Join: as_a(reliable.Hello)}, a_newcomer_greets_everyone
    ),
    ConfusedMutant(
        "Forward for Relay",
        EagerReliable,
        {Relay: as_a(link_memory.Forward)},
        what_is_said_is_relayed_as_it_came,
    ),
    ConfusedMutant(
        "Told for Stamped",
        waiting.Waiting,
        {Relay: lambda relay: relay._replace(body=Told((), MessageId("a", 0, 1), relay.body.payload))},
        a_message_is_stamped,
    ),
    ConfusedMutant(
        "another Ack for Ack of perfect links",
        perfect.PerfectLinks,
        {perfect.Ack: as_a(mf.Ack)},
        data_is_acknowledged,
    ),
    ConfusedMutant(
        "Settled for Ack", pak.Pak, {pak.Ack: lambda ack: pak.Settled(ack.upto)}, an_ack_is_no_settled
    ),
    ConfusedMutant(
        "Ack for Settled",
        pak.Pak,
        {pak.Settled: lambda settled: pak.Ack(settled.upto, 1)},
        what_is_everywhere_is_settled,
    ),
    ConfusedMutant(
        "Null for Data",
        newtop.Newtop,
        {newtop.Data: lambda data: newtop.Null(data.clock, data.received)},
        what_is_said_is_data,
    ),
    ConfusedMutant("Flush for Null", newtop.Newtop, {newtop.Null: as_a(newtop.Flush)}, silence_is_a_null),
    ConfusedMutant(
        "Relay for Forward",
        link_memory.LinkMemory,
        {link_memory.Forward: as_a(Relay)},
        what_is_first_heard_is_forwarded,
    ),
    ConfusedMutant(
        "Agree for Fin and Keep for Reset",
        Preventive,
        {Fin: as_a(Agree), Reset: as_a(Keep)},
        a_suspected_peer_is_told,
    ),
    ConfusedMutant("Reset for Fin", Preventive, {Fin: as_a(Reset)}, a_suspected_peer_is_told),
    ConfusedMutant("Agree for Fin", Preventive, {Fin: as_a(Agree)}, a_suspected_peer_is_told),
    ConfusedMutant(
        "Keep for Agree", Preventive, {Agree: as_a(Keep)}, a_link_that_is_not_needed_may_be_closed
    ),
    ConfusedMutant(
        "Agree for Keep", Preventive, {Keep: as_a(Agree)}, a_link_that_is_not_needed_may_be_closed
    ),
    ConfusedMutant(
        "Keep for Agree of PRC", living.Living, {Agree: as_a(Keep)}, closing_is_asked_agreed_and_done
    ),
    ConfusedMutant(
        "Reset for Fin of PRC", living.Living, {Fin: as_a(Reset)}, closing_is_asked_agreed_and_done
    ),
    ConfusedMutant(
        "Fin for Close of PRC", living.Living, {overlay.Close: as_a(Fin)}, closing_is_asked_agreed_and_done
    ),
    ConfusedMutant("Agree for Keep of PRC", living.Living, {Keep: as_a(Agree)}, a_last_link_is_kept),
    ConfusedMutant(
        "Spare for Heir",
        living.Living,
        {living.Heir: as_a(living.Spare)},
        who_leaves_names_its_neighbours_to_each_other,
    ),
    ConfusedMutant(
        "Reply for Request",
        spray.Spray,
        {spray.Request: as_a(spray.Reply)},
        an_exchange_is_asked_for_and_answered,
    ),
    ConfusedMutant(
        "Request for Reply",
        spray.Spray,
        {spray.Reply: as_a(spray.Request)},
        an_exchange_is_asked_for_and_answered,
    ),
    ConfusedMutant(
        "Permit for Ack",
        HybridSps,
        {hybrid.Ack: lambda ack: hybrid.Permit(ack.number)},
        what_is_delivered_is_acknowledged,
    ),
    ConfusedMutant(
        "Ack for Permit",
        HybridSps,
        {hybrid.Permit: lambda permit: hybrid.Ack(permit.number, 0)},
        a_permit_follows_the_acks,
    ),
    ConfusedMutant(
        "an Ack of perfect links for Permit",
        HybridSps,
        {hybrid.Permit: as_a(perfect.Ack)},
        a_permit_follows_the_acks,
    ),
    ConfusedMutant(
        "bare Msg for News",
        HybridMulticast,
        {hybrid.News: lambda news: news.message},
        the_first_message_after_an_eviction_tells_it,
    ),
    ConfusedMutant(
        "YouCanTell for Ack",
        cykas.Cykas,
        {cykas.Ack: as_a(cykas.YouCanTell)},
        a_secret_is_acknowledged_and_then_told,
    ),
    ConfusedMutant(
        "Ack for YouCanTell",
        cykas.Cykas,
        {cykas.YouCanTell: as_a(cykas.Ack)},
        a_secret_is_acknowledged_and_then_told,
    ),
    ConfusedMutant("Permit for Ack of MF", mf.Mf, {mf.Ack: as_a(hybrid.Permit)}, each_copy_is_acknowledged),
]
