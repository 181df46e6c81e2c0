"""Groups that change, in hybrid buffering: every schedule of small plays, chance in larger ones, mutants."""

import random
from types import MethodType
from typing import Any

import pytest

from aforesaid.core import Misuse
from aforesaid.protocols.catalog import CATALOG, Setup
from oracle.groups import Act, Broken, Play, by_chance, explored
from support.recorder import Recorder
from support.scale import scaled

SAY, CRASH = Act("say"), Act("crash")
MULTICAST = ("hybrid_multicast_in_order", "hybrid_multicast_sps", "hybrid_multicast")

SMALL = {
    "admission, and a message of another": Play(
        {"a": (Act("admit", "d"),), "b": (SAY,), "d": ()}, {"d": "a"}
    ),
    "admission, and a message of the newcomer": Play(
        {"a": (Act("admit", "d"),), "b": (), "d": (SAY,)}, {"d": "a"}
    ),
    "dismissal, and a message of who is to leave": Play({"a": (Act("dismiss", "b"),), "b": (SAY,), "c": ()}),
    "who leaves by its own word": Play({"a": (Act("dismiss", "a"),), "b": (SAY,)}),
    "two dismiss each other": Play({"a": (Act("dismiss", "b"),), "b": (Act("dismiss", "a"),)}),
    "admission and a crash of who admits": Play(
        {"a": (Act("admit", "d"), CRASH), "b": (), "d": ()}, {"d": "a"}
    ),
}
LARGER = {
    "admission, and a message of each": Play(
        {"a": (Act("admit", "d"),), "b": (SAY,), "d": (SAY,)}, {"d": "a"}
    ),
    "two admissions at once": Play(
        {"a": (Act("admit", "d"),), "b": (Act("admit", "e"),), "d": (), "e": ()}, {"d": "a", "e": "b"}
    ),
    "admission and dismissal at once": Play(
        {"a": (Act("admit", "d"),), "b": (Act("dismiss", "a"),), "d": ()}, {"d": "a"}
    ),
}


@pytest.mark.parametrize("case", [*SMALL, *scaled((), tuple(LARGER))])
def test_every_schedule(case: str) -> None:
    states, ends = explored({**SMALL, **LARGER}[case])
    assert states > 20
    assert ends >= 1


def random_play(seed: int, mutant: Any = None) -> tuple[Play, dict[str, float]]:
    """Up to three founders and two newcomers; in every second play somebody crashes."""
    chance = random.Random(seed)
    crashes = bool(seed % 2)
    founders = ["a", "b", "c"][: 3 if crashes else chance.choice((2, 3, 3))]
    newcomers = ["d", "e"][: chance.choice((1, 1, 2))]
    scripts = {name: [SAY] * chance.randint(0, 3) for name in founders + newcomers}

    def add(name: str, act: Act) -> None:
        scripts[name].insert(chance.randint(0, len(scripts[name])), act)

    contacts = {name: chance.choice(founders) for name in newcomers}
    for newcomer, contact in contacts.items():
        add(contact, Act("admit", newcomer))
    if chance.random() < 0.6:
        add(chance.choice(founders), Act("dismiss", chance.choice(founders + newcomers)))
    if crashes:
        add(chance.choice(founders), CRASH)
    network = {"loss": chance.choice((0.0, 0.1, 0.3)), "doubles": chance.choice((0.0, 0.2))}
    algorithm = MULTICAST[0] if mutant else chance.choice(MULTICAST)
    return Play({name: tuple(acts) for name, acts in scripts.items()}, contacts, algorithm, mutant), network


def test_many_worlds() -> None:
    said = 0
    for seed in range(scaled(400, 5_000)):
        play, network = random_play(seed)
        try:
            world = by_chance(play, seed, **network)
        except Broken as broken:
            raise AssertionError(f"seed {seed}: {broken}") from broken
        said += len(world.said)
    assert said > 1_000


# ------------------------------------------------------------ what may break


def merges_nothing(machine: Any) -> None:
    """Rule 2 left out: who hears of a newcomer tells those whom it concerns nothing."""
    as_it_does = machine._tell

    def tell(self: Any, targets: Any, now: Any, out: Any) -> None:
        if self.news_of is None or self.news_of & set(targets):
            as_it_does([name for name in targets if self.news_of is None or name in self.news_of], now, out)

    hears = machine._hear

    def hear(self: Any, source: str, roster: Any, now: Any, out: Any) -> None:
        self.news_of = {name for name in roster.leaving if name not in self.leaving}
        hears(source, roster, now, out)
        self.news_of = None

    machine.news_of = None
    machine._tell, machine._hear = MethodType(tell, machine), MethodType(hear, machine)


def says_no_farewell(machine: Any) -> None:
    """Rule 3: nobody tells who leaves that nothing more will come."""
    as_it_does = machine._tell

    def tell(self: Any, targets: Any, now: Any, out: Any) -> None:
        as_it_does([name for name in targets if name not in self.leaving or self.dismissing], now, out)

    dismisses = machine.dismiss

    def dismiss(self: Any, *arguments: Any) -> None:
        self.dismissing = True
        dismisses(*arguments)
        self.dismissing = False

    machine.dismissing = False
    machine._tell, machine.dismiss = MethodType(tell, machine), MethodType(dismiss, machine)


def leaves_at_once(machine: Any) -> None:
    """Rule 4: it waits for nobody's farewell."""
    as_it_does = machine._leave_if_drained

    def leave(self: Any, now: Any, out: Any) -> None:
        if self.dismissed:
            self.turnover.farewells = dict.fromkeys(self.members)
        as_it_does(now, out)

    machine._leave_if_drained = MethodType(leave, machine)


def keeps_to_itself(machine: Any) -> None:
    """Rule 5: what one who is gone told is told to nobody."""
    machine._pass_on = MethodType(lambda self, gone, now, out: self._leave_if_drained(now, out), machine)


def tells_the_newcomer_first(machine: Any) -> None:
    """Rule 1 in two messages, the newcomer's first: it may speak before others know it."""

    def tell(self: Any, targets: Any, now: Any, out: Any) -> None:
        others = [name for name in targets if name != self.me and name not in self.evicted]
        for name in reversed(others):
            if not self.turnover.last_word:
                out.numbered(self._say_own([name], self._all_known(), now, out))

    machine._tell = MethodType(tell, machine)


def hears_strangers(machine: Any) -> None:
    """Rule 6 left out."""
    machine._is_stranger = MethodType(lambda self, source: False, machine)


def speaks_to_who_leaves(machine: Any) -> None:
    """Rule 3: who is leaving is spoken to like the others."""
    machine._may_hear = MethodType(lambda self, peer: peer != self.me and peer not in self.evicted, machine)
    machine.roster = MethodType(
        lambda self: {name: "" for name in self.members if name not in self.evicted}, machine
    )


@pytest.mark.parametrize(
    "mutant",
    [
        merges_nothing,
        says_no_farewell,
        leaves_at_once,
        keeps_to_itself,
        tells_the_newcomer_first,
        hears_strangers,
        speaks_to_who_leaves,
    ],
    ids=lambda mutant: mutant.__name__,
)
def test_each_rule_matters(mutant: Any) -> None:
    for seed in range(4_000):
        play, network = random_play(seed, mutant)
        try:
            by_chance(play, seed, **network)
        except Broken:
            return
    raise AssertionError(f"{mutant.__name__} goes unnoticed")


# ------------------------------------------------------------ what is refused


def founded(*group: str, newcomer: bool = False) -> Any:
    return CATALOG["hybrid_multicast_in_order"].build(Setup(group[0], group, newcomer=newcomer))


def test_what_is_refused() -> None:
    machine, out = founded("a", "b"), Recorder()
    with pytest.raises(Misuse, match="b is a member already"):
        machine.admit("b", "", 0, out)
    with pytest.raises(Misuse, match="x is not in the group: a, b"):
        machine.dismiss("x", 0, out)
    machine.peer_down("b", 0, out)
    with pytest.raises(Misuse, match="b was a member before: give the newcomer another name"):
        machine.admit("b", "", 0, out)
    with pytest.raises(Misuse, match="d is in no group"):
        founded("d", "a", newcomer=True).admit("x", "", 0, out)
    machine.dismiss("a", 0, out)
    assert machine.drained
    with pytest.raises(Misuse, match="a was dismissed"):
        machine.admit("x", "", 0, out)


def test_metadata_of_a_message_is_what_it_was() -> None:
    """Admissions cost the messages of the application nothing."""
    machine, out = founded("a", "b"), Recorder()
    machine.send(["b"], b"x", 0, out)
    before = out.take_sent()[-1][1]
    machine.admit("d", "here", 0, out)
    out.take_sent()
    machine.send(["b", "d"], b"x", 0, out)
    after = out.take_sent()[-1][1]
    assert type(before) is type(after)
    assert len(before) == len(after)
