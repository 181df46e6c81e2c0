"""Every mutant dies, and dies of the property it breaks; what it is a mutant of survives the same runs."""

import pytest

from aforesaid.check import Report
from aforesaid.protocols.catalog import CATALOG
from aforesaid.sim import Outcome, Scenario
from mutants.overlay import OVERLAY_MUTANTS
from mutants.registry import MUTANTS, TALK, WILD, Mutant
from support.harness import command, judged, scenario

SEEDS = 60
ALL = [*MUTANTS, *OVERLAY_MUTANTS]
ALWAYS = ("no_duplicate", "no_creation", "fifo", "causal")
"""What is owed even if links change until a part of the group is cut off."""


def worlds(mutant: Mutant) -> list[Scenario]:
    parts = {"network": WILD, "workload": TALK, **mutant.parts}
    return [scenario(mutant.algorithm, seed=seed, **parts) for seed in range(SEEDS)]


@pytest.mark.parametrize("mutant", ALL, ids=lambda mutant: mutant.name)
def test_the_mutant_is_caught(mutant: Mutant, monkeypatch: pytest.MonkeyPatch) -> None:
    if mutant.links:
        monkeypatch.setattr("aforesaid.protocols.links.perfect.PerfectLinks", mutant.links)
    caught = 0
    for world in worlds(mutant):
        outcome, _, report = judged(world, build=mutant.build)
        caught += broken(mutant, outcome, report)
    assert caught >= 3, f"{mutant.name} was caught in {caught} of {SEEDS} runs only"


@pytest.mark.parametrize("mutant", ALL, ids=lambda mutant: mutant.name)
def test_the_algorithm_it_mutates_survives_the_same_worlds(mutant: Mutant) -> None:
    for world in worlds(mutant):
        outcome, _, report = judged(world)
        owed = ALWAYS if CATALOG[mutant.algorithm].linked else None
        assert report.value(owed) == "kept", command(world)
        assert not broken(mutant, outcome, report), command(world)


def broken(mutant: Mutant, outcome: Outcome, report: Report) -> bool:
    """Whether the run shows what the mutant breaks."""
    if mutant.breaks.startswith("memory of "):
        return outcome.held[mutant.breaks.removeprefix("memory of ")] > 0
    return report.verdicts[mutant.breaks].value == "violated"
