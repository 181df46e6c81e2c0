"""Peer sampling above PRC-broadcast: one link per pair for any number of arcs, and links kept to mediate."""

from typing import Any

from aforesaid.core import SECOND
from aforesaid.protocols.overlay.frames import Agree, Close, Control, Fin, Goodbye, Keep, Sampled
from aforesaid.protocols.overlay.living import FEW_LINKS, Heir, Living, Spare, Wishes
from aforesaid.protocols.overlay.prc import PRC
from aforesaid.protocols.overlay.prc.links import CONFIRMED
from aforesaid.protocols.overlay.sampling import Sampler
from aforesaid.protocols.overlay.spray import Arc, Spray
from support.prc_stage import PATIENCE, Stage, process

GROUP = tuple("ABCDEFG")


class Pinned(Sampler):
    """A sampler that wants what the test says."""

    def __init__(self, *wanted: str) -> None:
        self.wanted = list(wanted)
        self.lost: list[str] = []

    def wants(self, peer: str) -> bool:
        return peer in self.wanted

    def arc_down(self, peer: str, now: int, links: object) -> None:
        self.lost.append(peer)
        self.wanted = [other for other in self.wanted if other != peer]


def sampled(**views: str) -> Stage:
    """A, B and C, all linked both ways with one another; each wants the peers of its view."""
    stage = Stage(
        (name, Living(process(name, both_ways=True).prc, Pinned(*views.get(name, "")))) for name in "ABC"
    )
    for one, other in ("AB", "BC", "CA"):
        stage.link(one, other, both_ways=True)
    return stage


def linked(stage: Stage, one: str, other: str) -> bool:
    return other in [peer for peer, _ in stage.machines[one].links()]


def wish(stage: Stage, name: str, what: str, *arguments: Any) -> None:
    """What the sampler of a process asks for."""
    machine = stage.machines[name]
    machine.ask = lambda now, out: getattr(Wishes(machine, now, out), what)(*arguments)
    stage.do(name, "ask")
    del machine.ask


def test_a_second_arc_to_a_linked_peer_opens_nothing_and_frees_the_mediator() -> None:
    stage = sampled(A="BB")
    wish(stage, "A", "connect", "B", "C")
    assert stage.between("A", "B") == []
    assert stage.between("A", "C") == [Sampled(Spare("B"))]


def test_a_link_stays_until_its_last_arc_is_gone() -> None:
    stage = sampled(A="BB")
    stage.machines["A"].sampler.wanted.remove("B")
    wish(stage, "A", "release", "B")
    assert stage.sent == []
    stage.machines["A"].sampler.wanted.remove("B")
    wish(stage, "A", "release", "B")
    stage.drain()
    assert not linked(stage, "A", "B")
    assert not linked(stage, "B", "A")


def test_a_link_that_the_other_end_has_an_arc_for_is_kept() -> None:
    stage = sampled(B="A")
    wish(stage, "A", "release", "B")
    assert isinstance(stage.carry("A", "B"), Close)
    assert isinstance(stage.carry("B", "A"), Keep)
    assert linked(stage, "A", "B")


def test_a_link_given_away_stays_until_the_new_one_needs_no_mediator() -> None:
    """B gave its arc to C to A, which opens a link to C through B."""
    stage = Stage((name, Living(process(name, both_ways=True).prc, Pinned())) for name in "ABCD")
    for one, other in ("AB", "BC", "CD", "DA"):
        stage.link(one, other, both_ways=True)
    wish(stage, "B", "release", "C", "A")
    assert stage.sent == []
    assert list(stage.machines["B"].retained) == [("A", "C")]
    stage.machines["A"].sampler.wanted.append("C")
    wish(stage, "A", "connect", "C", "B")
    stage.drain()
    assert linked(stage, "A", "C")
    assert not linked(stage, "B", "C")
    machine = stage.machines["B"]
    assert (machine.retained, machine.put_off, stage.sinks["B"].timers) == ({}, set(), {})
    assert stage.machines["A"].mediators == {}


def test_a_retained_link_is_not_kept_for_ever() -> None:
    stage = sampled()
    wish(stage, "B", "release", "C", "A")
    stage.expire("B", "retained")
    assert stage.now == 2 * PATIENCE
    stage.drain()
    assert not linked(stage, "B", "C")
    assert stage.machines["B"].put_off == set()


def test_a_spare_mediator_lets_go_at_once() -> None:
    stage = sampled(A="C")
    wish(stage, "B", "release", "C", "A")
    wish(stage, "A", "connect", "C", "B")
    assert isinstance(stage.carry("A", "B"), Sampled)
    stage.drain()
    assert not linked(stage, "B", "C")
    assert stage.sinks["B"].timers == {}


def test_who_mediates_for_an_asker_puts_off_its_own_closing() -> None:
    """C asks to close its link with B, but B mediates between A and C."""
    stage = sampled()
    wish(stage, "B", "release", "C", "A")
    stage.do("C", "close", "B")
    stage.carry("C", "B")
    assert isinstance(stage.carry("B", "C"), Keep)
    stage.expire("B", "retained")
    stage.drain()
    assert not linked(stage, "B", "C")


def test_of_two_links_of_one_pair_the_later_is_closed_by_its_opener() -> None:
    stage = sampled(A="B", B="A")
    stage.link("C", "B", both_ways=True)
    stage.do("B", "link_down", next(lid for peer, lid in stage.machines["B"].links() if peer == "A"))
    stage.do("A", "link_down", next(lid for peer, lid in stage.machines["A"].links() if peer == "B"))
    stage.flying.clear()
    for machine in stage.machines.values():
        machine.sampler.wanted = {"A": ["B"], "B": ["A"]}.get(machine.prc.me, [])
    stage.do("A", "open", "B", ("C",))
    stage.do("B", "open", "A", ("C",))
    stage.drain()
    assert [len([peer for peer, _ in stage.machines[name].links() if peer in "AB"]) for name in "AB"] == [
        1,
        1,
    ]


def test_one_way_the_receiver_of_a_new_link_has_no_link_of_its_own() -> None:
    """A notice of a link on which this process only listens."""
    stage = Stage((name, process(name)) for name in "ABC")
    for one, other in ("AB", "BA", "AC", "CA"):
        stage.link(one, other)
    stage.do("B", "open", "C", ("A",))
    stage.drain()
    assert stage.outgoing("B", "C").state == CONFIRMED
    assert not linked(stage, "C", "B")


def test_an_arc_whose_link_is_lost_is_given_up() -> None:
    stage = sampled(A="B")
    stage.do("A", "peer_down", "B")
    assert stage.machines["A"].sampler.lost == ["B"]


def test_an_arc_that_waits_for_the_other_ends_attempt_is_given_up_with_it() -> None:
    """A wants B, whose own attempt is under way; it is abandoned, and nobody else would ever tell A."""
    stage = sampled(A="B")
    for one, other in ("AB", "BA"):
        stage.do(one, "link_down", next(lid for peer, lid in stage.machines[one].links() if peer == other))
    stage.machines["A"].sampler.lost.clear()
    stage.do("B", "open", "A", ("C",))
    for source, target in ("BC", "CA"):
        stage.carry_all(source, target)
    stage.machines["A"].sampler.wanted = ["B"]
    wish(stage, "A", "connect", "B", "C")
    stage.do("B", "close", "A")
    stage.carry_all("B", "A")
    assert stage.machines["A"].sampler.lost == ["B"]


def test_an_arc_that_comes_while_its_link_is_closed_gets_a_new_one() -> None:
    stage = sampled()
    wish(stage, "A", "release", "B")
    stage.machines["A"].sampler.wanted.append("B")
    wish(stage, "A", "connect", "B", "C")
    stage.drain()
    assert linked(stage, "A", "B")
    assert stage.machines["A"].sampler.lost == []


def test_spray_takes_a_newcomer_and_its_contact_introduces_it() -> None:
    def living(name: str, group: tuple[str, ...]) -> Living:
        return Living(PRC(name, group, patience=PATIENCE), Spray(name, 60 * SECOND))

    group = ("A", "B", "C")
    stage = Stage((name, living(name, group)) for name in group)
    for name in group:
        stage.do(name, "begin")
    stage.add("N", living("N", ("N",)))
    stage.do("N", "join", "A")
    stage.drain()
    assert stage.machines["N"].sampler.view == [Arc("A")]
    introduced = [name for name in "BC" if stage.machines[name].sampler.wants("N")]
    assert introduced == [arc.peer for arc in stage.machines["A"].sampler.view]
    assert all(linked(stage, name, "N") and linked(stage, "N", name) for name in introduced)
    stage.say("N", "n1")
    stage.drain()
    assert {stage.heard(name) for name in "ABCN"} == {"n1"}
    assert stage.held() == 0


def test_a_visit_leaves_no_arc_behind_and_takes_none_away() -> None:
    """N comes through A, which introduces it, and leaves before it has exchanged, or has all its links."""
    for before in range(0, 100, 7):
        stage = Stage(
            (name, Living(PRC(name, GROUP, degree=3, patience=PATIENCE), Spray(name, 60 * SECOND)))
            for name in GROUP
        )
        for name in GROUP:
            stage.do(name, "begin")
        views = {name: stage.machines[name].sampler.view for name in GROUP}
        stage.add("N", Living(PRC("N", ("N",), patience=PATIENCE), Spray("N", 60 * SECOND)))
        stage.do("N", "join", "A")
        for _ in range(before):
            if stage.flying:
                stage.carry_frame(stage.flying[0])
        stage.do("N", "leave")
        stage.crash("N")
        stage.drain()
        for name in GROUP:
            left = stage.machines[name].prc.state.with_peer("N")
            assert all(lid.opener == "N" for lid in left), "nobody tries to have a link with who is gone"
            stage.do(name, "peer_down", "N")
        stage.drain()
        assert {name: stage.machines[name].sampler.view for name in GROUP} == views, f"after {before} frames"
        assert stage.held() == 0


def test_a_goodbye_is_for_the_link_that_ends() -> None:
    """What is told on an old link of a process that has come back since is no news of it."""
    stage = Stage(
        (name, Living(process(name, both_ways=True).prc, Spray(name, 60 * SECOND))) for name in "AB"
    )
    old, new = stage.link("A", "B", both_ways=True), stage.link("A", "B", both_ways=True)
    a = stage.machines["A"]
    a.sampler.free.append(Arc("B"))
    stage.do("A", "link_down", old)
    stage.hand("B", "A", Goodbye(old, 1))
    assert a.sampler.wants("B")
    stage.hand("B", "A", Goodbye(new, 1))
    assert not a.sampler.wants("B")


def test_spray_exchanges_move_links_and_nothing_is_left_behind() -> None:
    group = tuple("ABCDEF")
    stage = Stage((name, Living(PRC(name, group, patience=PATIENCE), Spray(name, SECOND))) for name in group)
    for name in group:
        stage.do(name, "begin")
    arcs = sum(len(machine.sampler.view) for machine in stage.machines.values())
    for turn in range(12):
        name = group[turn % len(group)]
        stage.say(name, f"m{turn}")
        stage.expire(name, "sampling")
        stage.drain()
    assert sum(len(machine.sampler.view) for machine in stage.machines.values()) == arcs
    assert all(len(stage.heard(name).split()) == len(set(stage.heard(name).split())) == 12 for name in group)
    for name, machine in stage.machines.items():
        assert (machine.mediators, machine.put_off) == ({}, set()), name
        assert all(linked(stage, name, arc.peer) for arc in machine.sampler.view)
    kinds = {type(frame) for _, _, frame in stage.sent}
    assert {Control, Close, Fin} <= kinds
    assert Agree not in kinds


# -------------------------------------------------------------------------------------------- handing over


def around(hub: str, *pairs: str) -> Stage:
    """Processes with real views, linked both ways as told; the hub has an arc to each of its neighbours."""
    names = dict.fromkeys("".join(pairs))
    stage = Stage(
        (name, Living(process(name, both_ways=True).prc, Spray(name, 60 * SECOND))) for name in names
    )
    for one, other in map(tuple, pairs):
        stage.link(one, other, both_ways=True)
        if hub in (one, other):
            far = other if hub == one else one
            stage.machines[hub].sampler.free.append(Arc(far))
    return stage


def whole(stage: Stage, names: str) -> bool:
    """True if all of them are linked, directly or not."""
    reached, left = set(), [names[0]]
    while left:
        name = left.pop()
        reached.add(name)
        left += [peer for peer in names if peer not in reached and linked(stage, name, peer)]
    return reached == set(names)


def test_who_leaves_lets_its_neighbours_link_with_each_other() -> None:
    """Without H the overlay would be in three pieces, one of which holds together and so would never know."""
    stage = around("H", "HA", "HB", "HC", "AX")
    assert not whole(stage, "ABCX")
    stage.do("H", "hand_over")
    stage.drain()
    assert not stage.machines["H"].needed
    stage.do("H", "leave")
    stage.drain()
    assert whole(stage, "ABCX")
    stage.do("X", "broadcast", "hello")
    stage.drain()
    for name in "ABCX":
        assert stage.sinks[name].isolations == 0
        assert stage.sinks[name].payloads == ["hello"]


def test_leaving_without_handing_over_leaves_pieces() -> None:
    stage = around("H", "HA", "HB", "HC", "AX", "BY", "CZ")
    stage.do("H", "leave")
    stage.drain()
    assert not whole(stage, "ABCXYZ")


def test_who_has_links_enough_takes_nothing_over() -> None:
    stage = around("H", "HA", "HB", *(f"A{other}" for other in "RSTU"[:FEW_LINKS]))
    stage.do("H", "hand_over")
    assert stage.between("H", "A") == [Sampled(Heir("B"))]
    stage.drain()
    assert not stage.machines["H"].needed
    assert not linked(stage, "A", "B")


def test_nobody_waits_for_an_heir_that_is_gone() -> None:
    stage = around("H", "HA", "HB")
    stage.do("H", "hand_over")
    assert stage.machines["H"].needed
    [lid] = [lid for peer, lid in stage.machines["H"].links() if peer == "B"]
    stage.do("H", "link_down", lid)
    assert not stage.machines["H"].needed
    assert ("retained", "A", "B") not in stage.sinks["H"].timers


def test_two_neighbours_that_leave_at_once_do_not_wait_for_each_other() -> None:
    stage = around("H", "HA", "HB", "AB")
    stage.do("H", "hand_over")
    stage.do("A", "hand_over")
    stage.drain()
    assert not stage.machines["H"].needed
    assert not stage.machines["A"].needed
