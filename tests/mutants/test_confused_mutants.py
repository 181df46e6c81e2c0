"""Who sends one kind of frame for another is caught, in every family; the shipped class passes the step."""

import pytest

from mutants.confused import CONFUSED_MUTANTS, ConfusedMutant

every = pytest.mark.parametrize("mutant", CONFUSED_MUTANTS, ids=lambda mutant: mutant.name)


@every
def test_the_mutant_is_caught(mutant: ConfusedMutant) -> None:
    with pytest.raises(AssertionError):
        mutant.breaks(mutant.mutated)


@every
def test_the_class_it_mutates_passes_the_same_step(mutant: ConfusedMutant) -> None:
    mutant.breaks(mutant.kind)


@every
def test_a_mutant_that_confuses_nothing_passes_too(mutant: ConfusedMutant) -> None:
    """It is the confusion that is caught, and not the way in which it is brought about."""
    mutant.breaks(ConfusedMutant(mutant.name, mutant.kind, {}, mutant.breaks).mutated)
