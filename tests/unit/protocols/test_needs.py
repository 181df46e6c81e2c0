"""What a world lacks: every need has its rule."""

from dataclasses import replace

import pytest

from aforesaid.core import Misuse
from aforesaid.protocols.algorithm import Need
from aforesaid.protocols.catalog import algorithm
from aforesaid.protocols.needs import Given, demand, lacking

NEEDY = replace(algorithm("waiting"), needs=tuple(Need))
WORST = Given(processes=2, crashes=1, losses=True, fifo=False, fixed=False, detector=False)


def test_every_need_can_be_lacking_and_met() -> None:
    assert set(lacking(NEEDY, WORST)) == set(Need)
    assert lacking(NEEDY, Given(processes=2)) == {}
    assert lacking(replace(NEEDY, needs=()), WORST) == {}


def test_a_majority_of_three_outlives_one_crash_but_not_two() -> None:
    majority = algorithm("majority")
    assert lacking(majority, Given(processes=3, crashes=1)) == {}
    (sentence,) = lacking(majority, Given(processes=3, crashes=2)).values()
    assert sentence == "majority needs a correct majority, but 2 of 3 may crash here"


def test_a_refusal_says_what_to_set_where_the_host_knows() -> None:
    unordered = Given(processes=2, fifo=False)
    with pytest.raises(Misuse, match=r"^tree needs FIFO links: mend it$"):
        demand(algorithm("tree"), unordered, {Need.FIFO_LINKS: "mend it"})
    with pytest.raises(Misuse, match=r"^tree needs FIFO links$"):
        demand(algorithm("tree"), unordered, {})
