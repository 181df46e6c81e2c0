"""A share of the campaign of links that always end (`links_campaign.py` is all of it), and its teeth."""

from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest

from aforesaid.core import Process
from aforesaid.protocols.catalog import CATALOG, Setup
from aforesaid.protocols.overlay.frames import Lid
from aforesaid.protocols.overlay.living import Living
from aforesaid.protocols.overlay.preventive_sampled import PreventiveBothWays
from aforesaid.structures import Received
from mutants.overlay import preventive
from mutants.prc import IsolatedInSilence, PrcMutant, SilentEnd
from mutants.test_stepwise_mutants import GhostStays, LeftInSilence, PartnerStays
from sim.links_campaign import SETTINGS, again, campaign, play

SEEDS = 30
RUNS_MAX = 400
OF_ALL = ("join", "leave", "crash", "suspect", "flap")
OF_LINKS = ("open", "close", "again", "mutual", "repeated", "wrong_route", "killed_mediator")


@pytest.mark.parametrize("setting", SETTINGS)
def test_every_link_ends_or_stands(setting: str) -> None:
    runs, wrong = campaign(setting, range(SEEDS))
    assert not wrong, "\n".join(wrong)
    assert sum(run.connected for run in runs) >= SEEDS / 3
    struck = sum((run.shapes for run in runs), Counter())
    shapes = OF_ALL if "sampled" in setting else (*OF_ALL, *OF_LINKS)
    assert all(struck[shape] >= SEEDS / 10 for shape in shapes), struck


def partner_stays(setup: Setup) -> Living:
    shipped = CATALOG["prc_spray"].build(setup)
    assert isinstance(shipped, Living)
    shipped.__class__ = PartnerStays
    return shipped


class NoBase(PreventiveBothWays):
    """A newcomer does not begin with what its contact has received."""

    def _enter(self, contact: Process, lid: Lid, out: Any) -> None:
        self.state.received = Received()
        super()._enter(contact, lid, out)


def no_base(setup: Setup) -> Living:
    shipped = CATALOG["preventive_spray"].build(setup)
    assert isinstance(shipped, Living)
    shipped.prc.__class__ = NoBase
    return shipped


STUCK: dict[str, tuple[str, Callable[[Setup], Any]]] = {
    "SilentEnd": ("one_way", PrcMutant(SilentEnd, None).build),
    "IsolatedInSilence": ("one_way", PrcMutant(IsolatedInSilence, None).build),
    "GhostStays": ("preventive", preventive(GhostStays)),
    "LeftInSilence": ("preventive", preventive(LeftInSilence)),
    "PartnerStays": ("sampled", partner_stays),
    "NoBase": ("sampled_preventive", no_base),
}


@pytest.mark.parametrize("mutant", STUCK)
def test_what_gets_stuck_or_comes_too_late_is_seen(mutant: str) -> None:
    setting, build = STUCK[mutant]
    for seed in range(RUNS_MAX):
        if play(setting, seed, build).complaints:
            assert not play(setting, seed).complaints, again(setting, seed)
            return
    pytest.fail(f"{mutant} survived {RUNS_MAX} runs")
