"""Every mutant of Spray breaks the rule it names. That Spray itself keeps the rules is tested beside it."""

import pytest

from mutants.spray import SPRAY_MUTANTS, SprayMutant


@pytest.mark.parametrize(
    "mutant", SPRAY_MUTANTS, ids=lambda mutant: f"{mutant.kind.__name__}-{mutant.breaks.__name__}"
)
def test_the_mutant_is_caught(mutant: SprayMutant) -> None:
    with pytest.raises(AssertionError):
        mutant.breaks(mutant.kind)
