"""The four baselines of causal delivery in random worlds, hundreds of seeds of each."""

from collections.abc import Callable
from typing import Any

import pytest

from aforesaid.core import MessageId
from aforesaid.protocols.delivery.cykas import Cykas
from aforesaid.protocols.delivery.ks import Ks
from aforesaid.protocols.delivery.mf import Mf
from aforesaid.protocols.delivery.rst import Rst
from support.delivery_worlds import Event, RandomRun, World, broken, replay, violations

SEEDS = 300
BATCH = 75
"""Seeds per test, so that xdist has something to share out."""


WORLDS: list[tuple[Callable[..., Any], World]] = [
    *((build, World(copies=0.1)) for build in (Rst, Ks)),
    *((build, World(copies=0.1, multicast=True)) for build in (Rst, Ks)),
    *((build, World(multicast=True, rounds=True, processes=5)) for build in (Rst, Ks)),
    *((build, World(fifo=True, multicast=True)) for build in (Rst, Ks)),
    (Mf, World(losses=0.2, copies=0.2)),
    (Mf, World(losses=0.1, copies=0.1, rounds=True, processes=5)),
    (Mf, World(fifo=True)),
    (Cykas, World(fifo=True)),
    (Cykas, World(fifo=True, rounds=True, processes=5)),
]


@pytest.mark.parametrize("start", range(0, SEEDS, BATCH))
@pytest.mark.parametrize(("build", "world"), WORLDS)
def test_causal_order_and_exactly_once(build: Callable[..., Any], world: World, start: int) -> None:
    waited = 0
    for seed in range(start, start + BATCH):
        stage = RandomRun(build, seed, world).run()
        assert violations(stage.log) == [], replay(build, seed, world)
        at_rest = [item for node in stage.nodes.values() for item in node.gauges().items()]
        held = [kind for kind, count in at_rest if count and not kind.startswith("log_")]
        assert held == [], replay(build, seed, world)
        waited += stage.held_max > 0
    assert waited > BATCH / 2 or not hasattr(stage.nodes["p0"], "pending")


class AtOnce(Rst):
    """Delivers what comes when it comes; shows that the worlds are wild enough to need an algorithm."""

    def _first_missing(self, matrix: tuple[int, ...], row: int) -> tuple[int, int]:
        return len(self.group), 0


@pytest.mark.parametrize("world", [world for build, world in WORLDS if build is Rst])
def test_without_order_every_world_shows_it(world: World) -> None:
    assert len(broken(AtOnce, world)) > 30


def test_the_oracle_knows_each_fault() -> None:
    first, second = MessageId("a", 0, 1), MessageId("b", 0, 1)
    said = [Event("a", first, ("b", "c")), Event("b", first), Event("b", second, ("c",))]
    right = [Event("c", first), Event("c", second)]
    assert violations(said + right) == []
    assert violations(said + right[::-1]) == ["c delivered b#1 before a#1, which was said before it"]
    assert violations([*said, *right, right[1]]) == ["c delivered b#1 twice"]
    assert violations([*said, *right, Event("a", second)]) == ["a delivered b#1, which was not for it"]
    assert violations(said + right[:1]) == ["c never delivered b#1"]
    assert violations([Event("a", second)]) == ["a delivered b#1, which nobody had sent"]


def test_the_same_seed_gives_the_same_run() -> None:
    for build, world in WORLDS:
        assert RandomRun(build, 7, world).run().log == RandomRun(build, 7, world).run().log
