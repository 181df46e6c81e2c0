"""Each rule of adaptive hybrid buffering, broken: a bounded number of random worlds must notice.

What kills a mutant is the judge, by what is delivered, named or left over, and never a look inside. The same
worlds, and many more, leave the algorithm itself unharmed (`test_adaptive_random`).
"""

from dataclasses import replace
from typing import NamedTuple

import pytest

from aforesaid.protocols.delivery.hybrid_adaptive import HybridAdaptive
from oracle import adaptive_mutants as rules
from oracle import adaptive_mutants_gone as gone
from oracle import adaptive_mutants_known as known
from oracle import adaptive_mutants_runs as runs
from oracle.adaptive import play
from oracle.adaptive_campaign import CRASHES, sharp_in_runs
from oracle.mind import Broken
from oracle.sharp import Sharp, play_sharp, sharp_plan
from oracle.world import Plan, random_plan

CAUSAL, LIVENESS = "causal: ", "liveness: "


class Where(NamedTuple):
    """The worlds in which a mutant dies, and of what."""

    dies: str
    bound: int
    multicast: bool = False
    seeds: int = 200
    world: str = "sharp"

    def plans(self) -> list[Plan]:
        if self.world == "even":
            return [random_plan(seed, self.multicast) for seed in range(self.seeds)]
        if self.world == "evictions":
            seeds = range(self.seeds)
            return [sharp_plan(seed, self.multicast, crash) for seed in seeds for crash in CRASHES[1:]]
        if self.world.startswith("runs"):
            crashes = CRASHES[1:] if self.world == "runs, evictions" else CRASHES[:1]
            plans = [sharp_in_runs(seed, self.multicast, it) for seed in range(self.seeds) for it in crashes]
            return [replace(plan, runs=max(2, plan.runs)) for plan in plans]
        if self.world == "lossy":
            return [Sharp(seed, processes=5, messages=30, loss=0.3, aimed=0.6) for seed in range(self.seeds)]
        return [sharp_plan(seed, self.multicast) for seed in range(self.seeds)]


MUTANTS: dict[type[HybridAdaptive], Where] = {
    rules.Overtakes: Where(CAUSAL, 1),
    rules.OneExemptsAll: Where(CAUSAL, 0),
    rules.SeveralExempt: Where(CAUSAL, 1, multicast=True),
    rules.LearnsLate: Where(CAUSAL, 1, multicast=True),
    rules.Replaces: Where(CAUSAL, 1),
    rules.Erases: Where(CAUSAL, 2, multicast=True),
    rules.CopyByCopy: Where(CAUSAL, 1, multicast=True),
    rules.WaitsCutShort: Where(CAUSAL, 1),
    rules.WaitsTakeNoRoom: Where("names more than 1", 1),
    rules.OpaqueIgnored: Where(CAUSAL, 1),
    rules.NamesIgnored: Where(CAUSAL, 1),
    rules.WaitsForNothing: Where(CAUSAL, 1),
    rules.WaitsForTheFirst: Where(CAUSAL, 2),
    rules.NotWoken: Where(LIVENESS, 1),
    rules.AcksOnReceipt: Where(CAUSAL, 1),
    rules.EarlyHoldsDropped: Where(LIVENESS, 1),
    rules.TellerAmongMany: Where(CAUSAL, 1, multicast=True),
    rules.InfersFromOpaque: Where(CAUSAL, 1),
    rules.InfersNamed: Where(CAUSAL, 1),
    rules.HeldWithPermit: Where(CAUSAL, 2, multicast=True),
    known.PermitsByOwnAcks: Where(CAUSAL, 4, multicast=True),
    known.ForgetsSuperseded: Where(CAUSAL, 1),
    known.SupersededLost: Where(LIVENESS, 2),
    known.StandsForAll: Where(CAUSAL, 2, multicast=True, world="evictions"),
    known.FirstVersionOnly: Where(CAUSAL, 2),
    known.PassesAll: Where(CAUSAL, 1, multicast=True),
    known.RunsAhead: Where(CAUSAL, 2),
    known.LearntNotPassedOn: Where(CAUSAL, 1),
    known.OwnNotNamed: Where(CAUSAL, 1),
    known.WaitsForTheOldest: Where(CAUSAL, 1),
    known.AckOfAll: Where(CAUSAL, 1),
    known.FactOfAll: Where(CAUSAL, 1, world="even"),
    gone.TakesItOnTrust: Where(CAUSAL, 1, multicast=True, world="evictions"),
    gone.AnswersAtOnce: Where(CAUSAL, 1, multicast=True, world="evictions"),
    gone.UnsentCounts: Where(LIVENESS, 1, multicast=True, world="evictions"),
    gone.AsksAcquaintances: Where(CAUSAL, 1, multicast=True, world="evictions"),
    gone.AsksInVain: Where(LIVENESS, 1, multicast=True, world="evictions"),
    gone.AsksOnce: Where(LIVENESS, 1, multicast=True, world="evictions"),
    gone.Silent: Where(CAUSAL, 4, multicast=True, world="evictions"),
    gone.LastAckLost: Where(LIVENESS, 2, world="lossy"),
    gone.WaitsForTheGone: Where(LIVENESS, 1, multicast=True, world="evictions"),
    gone.ListensToTheGone: Where("has evicted", 1, multicast=True, world="evictions"),
    runs.TellsOfTheFirst: Where(LIVENESS, 1, world="runs"),
    runs.KnowsNothing: Where(CAUSAL, 1, world="runs"),
    runs.NeedsNoPermit: Where(CAUSAL, 1, world="runs"),
    runs.NobodyIsNamed: Where(CAUSAL, 1, world="runs"),
    runs.AcknowledgesAPart: Where(LIVENESS, 1, world="runs"),
    runs.SplitByABatch: Where(LIVENESS, 1, world="runs"),
    runs.SentAgainInPart: Where("a run is due", 1, world="runs"),
    runs.OnePlaceForTheGone: Where(LIVENESS, 2, multicast=True, world="runs, evictions"),
    runs.LastRunNotFlushed: Where(CAUSAL, 1, multicast=True, world="runs, evictions"),
}


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: str(mutant.__name__))
def test_mutants_die(mutant: type[HybridAdaptive]) -> None:
    where = MUTANTS[mutant]
    assert any(where.dies in _harm(mutant, plan, where.bound) for plan in where.plans())


def test_every_mutant_is_tried() -> None:
    kinds = [kind for module in (rules, known, gone, runs) for kind in vars(module).values()]
    mutants = {kind for kind in kinds if isinstance(kind, type) and issubclass(kind, HybridAdaptive)}
    assert mutants - {HybridAdaptive, known.Knowing} == MUTANTS.keys()


def _harm(mutant: type[HybridAdaptive], plan: Plan, bound: int) -> str:
    """What the judge found; empty: nothing."""
    try:
        if isinstance(plan, Sharp):
            play_sharp(plan, bound, mutant, peek=False)
        else:
            play(plan, bound, mutant, peek=False)
    except (Broken, IndexError) as error:
        return str(error)
    return ""
