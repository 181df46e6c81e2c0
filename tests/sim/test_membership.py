"""Membership through churn, partitions and healing: the parts become one, and the oldest one stays."""

from collections import Counter

import pytest

from aforesaid.core import Process
from aforesaid.protocols.membership.acquaintances import Acquaintances
from aforesaid.protocols.membership.elders import REACH_BEATS, Elder, Word
from aforesaid.protocols.membership.member import Member
from sim.membership_campaign import Known, all_cut_off, play

SEEDS = range(24)


def test_after_trouble_and_some_quiet_everybody_is_in_one_part() -> None:
    happened: Counter[str] = Counter()
    for seed in SEEDS:
        happened += play(seed)
    assert happened["in one part"] >= len(SEEDS) - 2, "but for who never heard of each other"
    faults = ("arrive", "crash", "leave", "cut", "elder gone", "word lost")
    answers = ("stranger answered", "went over", "lost its group", "joined again", "founded")
    assert {what: happened[what] for what in (*faults, *answers) if happened[what] < len(SEEDS) // 2} == {}


def test_of_those_that_all_lost_their_group_one_founds_it() -> None:
    happened: Counter[str] = Counter()
    for seed in SEEDS:
        happened += all_cut_off(seed)
    assert happened["founded"] == len(SEEDS)
    assert happened["joined again"] > 2 * len(SEEDS)


def of_elder(kind: type[Elder]) -> type[Member[Known]]:
    """A member with this idea of an elder."""

    class Mutant(Member[Known]):
        def __init__(self, name: Process, incarnation: int, book: Acquaintances[Known]) -> None:
            super().__init__(name, incarnation, book)
            self.elder = kind(name, incarnation)

    return Mutant


class Credulous(Elder):
    """Believes a rumour without asking again, and without listening to its neighbours first."""

    def meet(self, stranger: Process, word: Word) -> bool:
        if (word.incarnation, word.name) < self._age and self._news(word):
            self._elsewhere = stranger
        return super().meet(stranger, word)


class Deaf(Elder):
    """Never takes what a stranger tells for true."""

    def meet(self, stranger: Process, word: Word) -> bool:
        return self._age < (word.incarnation, word.name)


class Faithful(Elder):
    """Never gives an elder up whose count stands still."""

    def beat(self) -> None:
        self._rose = self._beats + 1
        super().beat()


class Forgetful(Elder):
    """Believes what is still said of an elder that is gone."""

    def _news(self, word: Word) -> bool:
        return (word.incarnation, word.name) != self._me


@pytest.mark.parametrize("kind", [Credulous, Deaf, Faithful, Forgetful])
def test_the_mutant_is_caught(kind: type[Elder]) -> None:
    def campaign() -> None:
        for seed in SEEDS:
            play(seed, of_elder(kind))

    with pytest.raises(AssertionError, match=r"python tests/sim/membership_campaign\.py"):
        campaign()


def test_a_rumour_is_old_before_it_is_believed() -> None:
    """The law that Credulous breaks, at its smallest."""
    elder, credulous = Elder("b", 2), Credulous("b", 2)
    for each in (elder, credulous):
        each.beat()
        each.meet("a", Word(1, "a", REACH_BEATS))
    assert credulous.apart() == "a"
    assert elder.apart() is None
