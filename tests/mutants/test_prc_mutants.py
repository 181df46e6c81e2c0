"""Every mutant of PRC-broadcast dies: of the rule it breaks, and those that churn can kill, of churn too.

That PRC-broadcast itself keeps the rules is tested in `tests/unit/protocols/overlay/prc/test_prc_rules.py`.
"""

import pytest
from msgspec.structs import replace

from mutants.prc import PRC_MUTANTS, PrcMutant
from sim.prc_campaign import Played, judge, scenario_of

RUNS_MAX = 60


@pytest.mark.parametrize(
    "mutant",
    [mutant for mutant in PRC_MUTANTS if mutant.breaks],
    ids=lambda mutant: f"{mutant.name}-{mutant.breaks.__name__}",
)
def test_the_mutant_breaks_its_rule(mutant: PrcMutant) -> None:
    assert mutant.breaks is not None
    with pytest.raises(AssertionError):
        mutant.breaks(mutant.make)


@pytest.mark.parametrize(
    "mutant", [mutant for mutant in PRC_MUTANTS if mutant.dies_in], ids=lambda mutant: mutant.name
)
def test_churn_kills_the_mutant(mutant: PrcMutant) -> None:
    """In small worlds, which are soon over even if copies never end, and which PRC-broadcast survives."""
    for seed in range(RUNS_MAX):
        scenario = replace(scenario_of(mutant.dies_in, seed), processes=5, events_max=4_000)
        if harm(judge(scenario, mutant.build)):
            assert not harm(judge(scenario))
            return
    pytest.fail(f"{mutant.name} survived {RUNS_MAX} runs")


def harm(run: Played) -> list[str]:
    """What was wrong: in a run that was cut short, only what was delivered."""
    cut = any("the run was" in complaint for complaint in run.complaints)
    return [complaint for complaint in run.complaints if "delivered" in complaint or not cut]
