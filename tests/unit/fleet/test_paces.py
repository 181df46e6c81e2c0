"""Which pace a link has."""

import numpy as np
import pytest

from aforesaid.core import Misuse
from aforesaid.fleet.paces import PACES_MAX, SHARE_SHIFT, pace_between
from aforesaid.fleet.plan import paces_of
from aforesaid.sim.paper import PARTS, Paper


@pytest.mark.parametrize("salt", [0, 1, (1 << 32) - 1])
def test_links_draw_every_pace_about_as_often(salt: int) -> None:
    """Of 200 processes, those out of one and into one too; what leads back has a pace of its own."""
    drawn = np.array([[pace_between(salt, p, q, PACES_MAX) for q in range(200)] for p in range(200)])
    for paces, each in ((drawn, 2_500), (drawn[7], 12.5), (drawn[:, 7], 12.5)):
        counts = np.bincount(paces.reshape(-1), minlength=PACES_MAX)
        assert ((counts - each) ** 2 / each).sum() < 38  # Chi-squared of 15 degrees, one in a thousand.
    assert abs((drawn == drawn.T).mean() - 1 / PACES_MAX) < 0.01
    assert (
        drawn == [[pace_between(salt + 1, p, q, PACES_MAX) for q in range(200)] for p in range(200)]
    ).mean() < 0.1


def test_shares_are_of_a_log_normal_distribution() -> None:
    assert paces_of(0).tolist() == [1 << SHARE_SHIFT]
    shares = paces_of(0.8) / (1 << SHARE_SHIFT)
    assert len(shares) == PARTS == PACES_MAX
    assert (np.diff(shares) < 0).all()
    assert np.median(np.log(shares)) == pytest.approx(0, abs=0.01)
    assert np.log(shares).std() == pytest.approx(0.8, rel=0.05)
    # Those that round to the same are one.
    assert 1 < len(paces_of(0.001)) < PACES_MAX


def test_slow_links_are_reckoned_with() -> None:
    with pytest.raises(
        Misuse, match="period_ms: 20000 is not longer than there and back, with delays of up to 23382"
    ):
        Paper(10, delay_spread=1.2, period_ms=20_000).plan()
    plan = Paper(10, delay_spread=0.8, delay_ms=100.0).plan()
    assert plan.slowest == pytest.approx(443.8e6, rel=0.01)
