"""Views of Spray under any exchange, any loss and any order of messages."""

from collections import Counter
from random import Random

from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from aforesaid.protocols.overlay.spray import PERIOD, Arc, Introduce, Reply, Request, Spray
from support.spray_stage import EVERY, Sink, arcs_of, spray

OTHERS = "abcd"


def arcs(peers: str, at_least: int = 0) -> st.SearchStrategy[list[tuple[str, int]]]:
    entries = st.tuples(st.sampled_from(peers), st.integers(0, 3))
    return st.lists(entries, min_size=at_least, max_size=9)


class Drawing(Sink):
    """Choices at random."""

    def __init__(self, random: Random, unusable: frozenset[str] = frozenset()) -> None:
        super().__init__(unusable=unusable)
        self.random = random

    def choose(self, label: str, count: int) -> int:
        return self.random.randrange(count)


def usable(view: list[Arc], unusable: frozenset[str]) -> int:
    return sum(arc.peer not in unusable for arc in view)


def targets(*machines: Spray) -> Counter[str]:
    return Counter(arc.peer for machine in machines for arc in machine.view)


@given(
    arcs("q" + OTHERS),
    arcs("p" + OTHERS),
    st.frozensets(st.sampled_from(OTHERS)),
    st.randoms(use_true_random=False),
)
@settings(max_examples=200, deadline=None)
def test_an_exchange_moves_half_of_what_each_may_give(
    ours: list[tuple[str, int]], theirs: list[tuple[str, int]], unusable: frozenset[str], random: Random
) -> None:
    asker, partner = spray(Spray, [*ours, ("q", 9)]), spray(Spray, theirs, me="q")
    sizes = len(asker.view), len(partner.view)
    may_give = usable(asker.view, unusable), usable(partner.view, unusable)
    not_to_asker = usable(partner.view, unusable | {"p"})
    before = targets(asker, partner)
    request, reply = Drawing(random, unusable), Drawing(random, unusable)
    asker.expire(PERIOD, 0, request)
    partner.receive("p", request.sent[0][1], 0, reply)
    asker.receive("q", reply.sent[0][1], 0, request)

    given_away = [max(1, may_give[0] // 2), min(may_give[1] // 2, not_to_asker)]
    assert [len(sink.released) for sink in (request, reply)] == given_away
    assert [len(sink.connected) for sink in (reply, request)] == given_away
    assert len(asker.view) == sizes[0] - given_away[0] + given_away[1]
    assert len(partner.view) == sizes[1] - given_away[1] + given_away[0]
    assert not asker.wants("p")
    assert not partner.wants("q")
    after = targets(asker, partner)
    assert all(after[peer] == before[peer] for peer in OTHERS), "arcs to others only change hands"
    assert not {peer for sink in (request, reply) for peer, _ in sink.released} & unusable


@given(arcs("xabc"), st.randoms(use_true_random=False), st.booleans())
def test_a_loss_takes_all_arcs_to_the_peer_and_replaces_them_by_others(
    view: list[tuple[str, int]], random: Random, crashed: bool
) -> None:
    machine, sink = spray(Spray, view), Drawing(random)
    before = targets(machine)
    (machine.peer_down if crashed else machine.arc_down)("x", 0, sink)
    after = targets(machine)
    assert not after["x"]
    assert all(after[peer] >= before[peer] and bool(after[peer]) == bool(before[peer]) for peer in "abc")
    assert len(sink.connected) == after.total() - (before.total() - before["x"])
    left = before.total() - before["x"]
    replaced = after.total() - left
    assert replaced <= before["x"]
    assert crashed or not left or replaced == before["x"]


class Exchanges(RuleBasedStateMachine):
    """Any schedule over standing links: messages are lost, doubled and reordered at will."""

    @initialize(views=st.tuples(*(arcs(OTHERS.replace(me, ""), 1) for me in OTHERS)), seed=st.integers(0, 99))
    def found(self, views: tuple[list[tuple[str, int]], ...], seed: int) -> None:
        self.machines = {me: spray(Spray, view, me) for me, view in zip(OTHERS, views, strict=True)}
        self.links = {me: Drawing(Random(f"{seed}{me}")) for me in OTHERS}
        self.flying: list[tuple[str, str, Request | Reply | Introduce]] = []
        self.total = targets(*self.machines.values()).total()

    def collect(self, me: str) -> None:
        self.flying += [(me, peer, message) for peer, message in self.links[me].sent]
        self.links[me].sent.clear()

    @rule(me=st.sampled_from(OTHERS))
    def period(self, me: str) -> None:
        self.machines[me].expire(PERIOD, EVERY, self.links[me])
        self.collect(me)

    @precondition(lambda self: self.flying)
    @rule(data=st.data(), again=st.booleans())
    def arrive(self, data: st.DataObject, again: bool) -> None:
        place = data.draw(st.integers(0, len(self.flying) - 1))
        source, target, message = self.flying[place] if again else self.flying.pop(place)
        self.machines[target].receive(source, message, 0, self.links[target])
        self.collect(target)

    @precondition(lambda self: self.flying)
    @rule(data=st.data())
    def lose(self, data: st.DataObject) -> None:
        self.flying.pop(data.draw(st.integers(0, len(self.flying) - 1)))

    @invariant()
    def arcs_are_conserved(self) -> None:
        assert arcs_of(self.machines) == self.total

    @invariant()
    def nobody_wants_itself(self) -> None:
        assert not any(machine.wants(me) for me, machine in self.machines.items())


TestExchanges = Exchanges.TestCase
TestExchanges.settings = settings(max_examples=60, stateful_step_count=50, deadline=None)
