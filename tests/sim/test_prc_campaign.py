"""A share of PRC-broadcast's churn campaign (`prc_campaign.py` is the whole of it)."""

from collections import Counter

import pytest

from sim.prc_campaign import SETTINGS, campaign

SEEDS = 24
CONNECTED = {"calm": 0.5, "sampled": 0.5, "crowds": 0.15}
"""By setting, the least share of runs that end strongly connected, so that agreement is judged; or 0.3."""
REWIRED = ("open", "close", "reopen")
TROUBLED = ("join", "leave", "crash", "suspect", "flap")
FIRED = {
    "calm": REWIRED,
    "crowds": (*REWIRED, "join", "crash", "pause", "partition"),
    "sampled": TROUBLED,
    "sampled_preventive": TROUBLED,
}
"""The faults that a setting is about; all of them unless named here."""


@pytest.mark.parametrize("setting", SETTINGS)
def test_churn_breaks_no_promise(setting: str) -> None:
    runs, wrong = campaign(setting, range(SEEDS))
    assert not wrong, "\n".join(wrong)
    assert sum(run.connected for run in runs) >= CONNECTED.get(setting, 0.3) * SEEDS
    fired = sum((Counter(run.faults) for run in runs), Counter())
    assert all(fired[fault] >= SEEDS / 3 for fault in FIRED.get(setting, (*REWIRED, *TROUBLED))), fired
    if setting != "calm":
        assert sum(run.evicted for run in runs) > 0
