"""Mutants that random runs kill seldom or never: each dies by one schedule that its origin survives."""

from collections.abc import Callable
from typing import Any

import pytest

from aforesaid.core import MessageId
from aforesaid.protocols.broadcast.no_waiting import Ack as Delivered
from aforesaid.protocols.broadcast.no_waiting import NoWaiting, NoWaitingCollecting
from aforesaid.protocols.layers.reliable import EagerReliable
from aforesaid.protocols.overlay.frames import Close, Copy, Fin, Join, Keep, Lid
from aforesaid.protocols.overlay.living import Living, Wishes
from aforesaid.protocols.overlay.preventive import Preventive
from aforesaid.protocols.overlay.preventive_frames import Flush, Pong
from aforesaid.protocols.overlay.sampling import Sampler
from support.harness import Recorder
from support.prc_stage import Stage, process
from support.preventive_stage import PATIENCE, Circle, founding, frames, kinds, member

# -------------------------------------------------------------------------------------- preventive broadcast


class IgnoresBase(Preventive):
    """A newcomer that does not begin with what its contact has received."""

    def _enter(self, contact: str, lid: Lid, received: Any, now: int, out: Any) -> None:
        super()._enter(contact, lid, (), now, out)


def a_newcomer_does_not_deliver_what_its_contact_had(kind: type[Preventive]) -> None:
    """C opens a link to e before x reaches it: x is in the first frame of that link, and older than e."""
    circle = Circle(kind=kind)
    a, b, c = (circle.machines[name] for name in "abc")
    a.broadcast("x", 0, circle.outs["a"])
    [x] = frames(circle.outs["a"])
    b.receive("a", x, 0, circle.outs["b"])
    [onward] = frames(circle.outs["b"])
    e = circle.add("e", "b")
    circle.carry()
    assert e.inside
    c.open("e", None, 0, circle.outs["c"])
    [flood] = frames(circle.outs["c"])
    c.receive("b", onward, 0, circle.outs["c"])
    frames(circle.outs["c"])
    c.receive("e", Pong(flood.body, 0), 0, circle.outs["c"])
    [flush] = frames(circle.outs["c"])
    assert [body for _, body in flush.messages] == ["x"]
    e.receive("c", flush, 0, circle.outs["e"])
    assert circle.outs["e"].payloads == []


class GhostStandsIn(Preventive):
    """A link that nobody has confirmed is as good as any."""

    def _stands_in(self, lid: Lid, view: Any) -> bool:
        return any(other != lid and other not in self.closing for other in view)


class GhostStays(Preventive):
    """What is not confirmed is waited for."""

    def expire(self, timer: Lid, now: int, out: Any) -> None:
        if timer not in self.unconfirmed:
            super().expire(timer, now, out)


def a_lost_welcome_leaves_no_ghost(kind: type[Preventive]) -> None:
    """B lets e in, and e does not hear of it: the link counts for nothing, and is gone in time."""
    circle = Circle(kind=kind)
    circle.add("e", "b")
    [join] = frames(circle.outs["e"])
    b, out = circle.machines["b"], circle.outs["b"]
    b.receive("e", join, 0, out)
    assert kinds(frames(out)) == ["Welcome"]
    b.receive("a", Close(founding("a", "b")), 0, out)
    assert frames(out) == [Keep(founding("a", "b"))], "its only in-link that anyone knows of"
    b.close("c", 0, out)
    assert out.sent == [], "its only out-link that anyone knows of"
    assert b.gauges()["unconfirmed"] == 1
    b.expire(join.lid, PATIENCE, out)
    assert frames(out) == [Fin(join.lid)]
    assert (list(b.in_view), circle.neighbours("b")) == ([founding("a", "b")], ["c"])
    assert not any(b.gauges().values())


def a_first_frame_that_was_refused_in_vain_is_not_the_last_word(kind: type[Preventive]) -> None:
    """C came back and refuses; that is lost, and nothing is said that would be refused again."""
    a, out = member("a", kind=kind, tries=2), Recorder()
    a.open("c", ("b",), 0, out)
    [ping] = frames(out)
    a.receive("c", Pong(ping.opening, 0), 0, out)
    assert kinds(frames(out)) == ["Flush"]
    a.expire(ping.opening, PATIENCE, out)
    end, again = frames(out)
    assert end == Fin(ping.opening)
    a.receive("c", Pong(again.body, 1), 0, out)
    a.expire(again.body, 2 * PATIENCE, out)
    assert kinds(frames(out)) == ["Flush", "Fin"]
    assert ([peer for peer, _ in a.links()], out.timers) == (["b"], {})
    assert not any(a.gauges().values())


class LeftInSilence(Preventive):
    """Who has done with a link on which it only hears tells its sender when the next copy comes."""

    def _end(self, lid: Lid, now: int, out: Any) -> None:
        if lid in self.out_view:
            super()._end(lid, now, out)
        else:
            self.link_down(lid, now, out)


def who_is_suspected_wrongly_is_left_with_no_half(kind: type[Preventive]) -> None:
    circle = Circle(degree=2, kind=kind)
    circle.machines["a"].peer_down("d", 0, circle.outs["a"])
    circle.carry()
    assert "a" not in circle.neighbours("d")


class EndsByName(Preventive):
    """Whoever asks to be let in has no links, whichever of its incarnations asked."""

    def _welcome(self, newcomer: str, lid: Lid, now: int, out: Any) -> None:
        former = [each for each in (*self.out_view, *self.in_view) if each.far_end(self.me) == newcomer]
        super()._welcome(newcomer, lid, now, out)
        for each in former:
            self.link_down(each, now, out)


def a_late_request_to_be_let_in_ends_no_link_of_a_successor(kind: type[Preventive]) -> None:
    b, out = member("b", degree=2, kind=kind), Recorder()
    opened = Lid("a", "b", 2, 1)
    b.receive("a", Flush(opened, 0, ()), 0, out)
    b.receive("a", Join(Lid("a", "b", 1, 1)), 0, out)
    b.receive("a", Copy(opened, MessageId("a", 2, 1), "x"), 0, out)
    assert out.payloads == ["x"]


# -------------------------------------------------------------------------------------- mediating for others


class PartnerStays(Living):
    """A mediator that has put off closing its link to the partner, and forgets it."""

    def _mediated(self, partner: str, peer: str, now: int, out: Any) -> None:
        if self.retained.pop((partner, peer), None) is not None:
            out.disarm(("retained", partner, peer))
            self._tidy(peer, now, out)


def a_partner_that_was_put_off_is_tidied(kind: type[Living]) -> None:
    """A asks to close its link with B, which mediates between A and C: in the end it is closed."""
    stage = Stage((name, kind(process(name, both_ways=True).prc, Sampler())) for name in "ABCD")
    for one, other in ("AB", "BC", "CA", "BD"):
        stage.link(one, other, both_ways=True)
    Wishes(stage.machines["B"], 0, stage.sinks["B"]).release("C", "A")
    stage.do("A", "close", "B")
    stage.carry("A", "B", Close)
    assert isinstance(stage.carry("B", "A"), Keep)
    assert (stage.gauges()["retained"], stage.gauges()["put_off"]) == (1, 2)
    stage.expire("B", "retained")
    stage.drain()
    assert stage.held() == 0
    assert [peer for peer, _ in stage.machines["A"].links()] == ["C"]


# ---------------------------------------------------------------------------------------- garbage collection


class CountsTheCrashed(NoWaitingCollecting):
    """An ack counts though who gave it has crashed since."""

    def peer_down(self, peer: str, now: int, out: Any) -> None:
        NoWaiting.peer_down(self, peer, now, out)
        self.acked.pop(peer, None)
        for message_id in list(self.past):
            self._forget_if_everywhere(message_id, out)


def acks_of_the_crashed_do_not_count(kind: type[NoWaitingCollecting]) -> None:
    """Of four, c acks and crashes, b acks: d may still lack the message."""
    group = ("a", "b", "c", "d")
    a, out = kind("a", group, EagerReliable("a", group)), Recorder()
    said = a.broadcast("x", 0, out)
    ack = Delivered(((("a", 0), 1),))
    a.receive("c", ack, 0, out)
    a.peer_down("c", 0, out)
    a.receive("b", ack, 0, out)
    assert (out.stabilised, a.gauges()["past"]) == ([], 1)
    a.receive("d", ack, 0, out)
    assert (out.stabilised, a.gauges()["past"]) == ([said], 0)


MUTANTS: list[tuple[type[Any], type[Any], Callable[[Any], None]]] = [
    (Preventive, IgnoresBase, a_newcomer_does_not_deliver_what_its_contact_had),
    (Preventive, GhostStandsIn, a_lost_welcome_leaves_no_ghost),
    (Preventive, GhostStays, a_lost_welcome_leaves_no_ghost),
    (Preventive, GhostStays, a_first_frame_that_was_refused_in_vain_is_not_the_last_word),
    (Preventive, LeftInSilence, who_is_suspected_wrongly_is_left_with_no_half),
    (Preventive, EndsByName, a_late_request_to_be_let_in_ends_no_link_of_a_successor),
    (Living, PartnerStays, a_partner_that_was_put_off_is_tidied),
    (NoWaitingCollecting, CountsTheCrashed, acks_of_the_crashed_do_not_count),
]


@pytest.mark.parametrize(
    ("shipped", "mutant", "rule"), MUTANTS, ids=[f"{row[1].__name__}-{row[2].__name__}" for row in MUTANTS]
)
def test_the_mutant_dies_by_a_schedule_that_the_shipped_one_survives(
    shipped: type[Any], mutant: type[Any], rule: Callable[[Any], None]
) -> None:
    rule(shipped)
    with pytest.raises((AssertionError, ValueError)):
        rule(mutant)
