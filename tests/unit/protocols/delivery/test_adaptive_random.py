"""Adaptive hybrid buffering in random worlds, judged by the oracle (tests/oracle).

The long campaign is `python tests/oracle/adaptive_campaign.py`; here every run plays a share of it.
"""

from functools import partial
from typing import Any

import pytest

from aforesaid.protocols.delivery.hybrid_adaptive import HybridAdaptive
from aforesaid.protocols.delivery.hybrid_in_order import HybridInOrder, HybridMulticastInOrder
from oracle.adaptive import play
from oracle.adaptive_campaign import BOUNDS, CRASHES, WORLDS, campaign
from oracle.sharp import Sharp, play_sharp, sharp_plan
from oracle.timed import Clocked, Timed
from oracle.world import Plan
from support.scale import scaled

SEEDS = scaled(25, 300)
LOSSY = scaled(150, 3_000)
TIMED = scaled(60, 1_500)


@pytest.mark.parametrize("crash", CRASHES)
@pytest.mark.parametrize("multicast", [False, True], ids=["unicast", "multicast"])
@pytest.mark.parametrize("bound", BOUNDS)
@pytest.mark.parametrize("world", WORLDS)
def test_random_worlds(world: str, bound: int, multicast: bool, crash: str) -> None:
    played = campaign(world, bound, multicast, crash, range(SEEDS))
    assert sum(world.judge.permits for world in played) > 0, "nobody was ever told that anything holds"
    if bound <= 1:
        assert sum(world.judge.flags for world in played) > 0, "no message was ever opaque"


@pytest.mark.parametrize("bound", BOUNDS)
def test_forty_per_cent_loss_and_repetition(bound: int) -> None:
    for seed in range(4):
        play(Plan(seed, processes=4, messages=60, multicast=seed % 2 == 0, loss=0.4, repeat=0.3), bound)


class AskedOnce(HybridAdaptive):
    """Who had to ask, and had its timer ring while something flew, takes itself for one who asks."""

    def expire(self, timer: Any, now: int, out: Any) -> None:
        polls = {peer: channel.polls for peer, channel in self.channels.items()}
        super().expire(timer, now, out)
        for peer, channel in self.channels.items():
            channel.polls = channel.polls or polls[peer]


def test_whoever_waits_has_a_timer_that_rings() -> None:
    """At the end of every step (`oracle.inside.look_at_timers`): a world that heals hides it if not."""
    plans = [Sharp(seed, processes=5, messages=30, loss=0.3, aimed=0.6, slow=0.3) for seed in range(LOSSY)]
    for plan in plans:
        play_sharp(plan, 2)
    assert any(map(_leaves_something_without_a_timer, plans)), "the mutant lives"


def _leaves_something_without_a_timer(plan: Sharp) -> bool:
    try:
        play_sharp(plan, 2, AskedOnce)
    except AssertionError as error:
        return "nothing rings" in str(error)
    return False


def test_the_same_seed_gives_the_same_run() -> None:
    plan = sharp_plan(5, multicast=True, crash="apart")
    runs = [play_sharp(plan, 2) for _ in range(2)]
    assert runs[0].got == runs[1].got
    assert runs[0].now == runs[1].now


# ------------------------------------------------------------------------------- B = 0 is SPS in order


def timed(build: Any, plan: Timed) -> tuple[Any, Any]:
    """When what left, and when it was delivered."""
    world = Clocked(build, plan).run()
    return world.left, world.delivered


def plans(multicast: bool) -> list[Timed]:
    return [Timed(seed, 2 + seed % 5, 10 + seed % 20, multicast) for seed in range(TIMED)]


@pytest.mark.parametrize(
    "in_order", [HybridInOrder, HybridMulticastInOrder], ids=lambda kind: str(kind.__name__)
)
def test_without_constraints_all_leaves_in_the_instant_in_which_it_leaves_in_order(in_order: Any) -> None:
    """And needs a permit where it does there, and is delivered in the same instant."""
    flags = 0
    for plan in plans(in_order is HybridMulticastInOrder):
        left, delivered = timed(partial(HybridAdaptive, constraints=0), plan)
        assert (left, delivered) == timed(in_order, plan), plan
        flags += sum(needs_permit for *_, needs_permit in left)
    assert flags > 10 * TIMED


class NobodyExempt(HybridAdaptive):
    """A message waits for its receiver's own permits, too."""

    def _unpermitted(self, entry: Any) -> bool:
        return bool(entry.dep > self.p.first)


class SaidTooLate(HybridAdaptive):
    """A message waits for the permits of what was delivered after it was said."""

    def _unpermitted(self, entry: Any) -> bool:
        entry.dep = self.p.next
        return super()._unpermitted(entry)


class ReceiverAwaited(HybridAdaptive):
    """A permit waits for acks of the very process it is for."""

    def _progress(self, peer: str, channel: Any) -> bool:
        first = self.constraints.order.first
        self.constraints.closed_below = lambda peer, run: first  # type: ignore[method-assign]
        progress = super()._progress(peer, channel)
        del self.constraints.closed_below
        return progress


@pytest.mark.parametrize(
    "kind", [NobodyExempt, SaidTooLate, ReceiverAwaited, partial(HybridAdaptive, constraints=1)]
)
def test_who_waits_longer_or_less_does_not_leave_in_the_same_instants(kind: Any) -> None:
    settings = {} if isinstance(kind, partial) else {"constraints": 0}
    assert any(timed(partial(kind, **settings), plan) != timed(HybridInOrder, plan) for plan in plans(False))
