"""What messages carry is what they follow, whatever comes and goes; and each part of that is needed."""

from typing import Any

import pytest

from aforesaid.core import Ids, MessageId
from aforesaid.protocols.algorithm import Setup
from aforesaid.protocols.catalog import CATALOG
from aforesaid.protocols.frontier import Frontier
from aforesaid.protocols.frontier.layer import OverCausal
from aforesaid.sim import Scenario, simulate
from sim.frontier_campaign import campaign, judge, world
from sim.prc_campaign import SETTINGS
from support.scale import scaled

SEEDS = scaled(3, 60)
ABLE = [name for name, entry in CATALOG.items() if "frontier" in entry.options.__struct_fields__]


@pytest.mark.parametrize("setting", SETTINGS)
def test_churn_makes_no_message_forget_or_make_up_what_it_follows(setting: str) -> None:
    runs, wrong = campaign(setting, range(SEEDS))
    assert not wrong, "\n".join(wrong)
    assert all(run.answers for run in runs)
    assert any(run.unknown for run in runs)
    assert max(run.carried_max for run in runs) > 1
    if setting != "calm":
        assert sum(run.newcomers for run in runs) > 0


def busy(name: str, frontier: bool, seed: int = 3) -> Scenario:
    """Everyone speaks and answers, on a network that is fit for the algorithm."""
    return Scenario.of(
        {
            "algorithm": name,
            "processes": 6,
            "seed": seed,
            "duration_ms": 400,
            "options": {"frontier": frontier} if frontier else {},
            "network": {"fifo": True, "delay": {"kind": "uniform", "min_ms": 1, "max_ms": 40}},
            "workload": [
                {"kind": "rate", "per_second": 20},
                {"kind": "pipeline", "per_second": 40},
            ],
        }
    )


@pytest.mark.parametrize("name", ABLE)
def test_what_is_carried_is_what_the_host_records_and_nothing_else_changes(name: str) -> None:
    (with_it, trace), (without, _) = simulate(busy(name, True)), simulate(busy(name, False))
    assert trace.messages.after.lengths.max() > 1
    # The scenario is no part of the digest; every sending, delivery and predecessor is.
    assert with_it.run.digest == without.run.digest
    assert judge(busy(name, True)).complaints == []


def test_it_is_an_option_of_every_causal_broadcast_without_a_vector() -> None:
    broadcasts = {
        name for name, entry in CATALOG.items() if "causal" in entry.promises and not entry.addressed
    }
    vectors = {name for name in broadcasts if name.startswith(("waiting", "pak"))}
    assert set(ABLE) == broadcasts - vectors


class Greedy(Frontier):
    """Keeps in F what is followed."""

    def take(self, message_id: MessageId, after: Ids) -> None:
        super().take(message_id, ())
        if message_id in self.window:
            self.window[message_id] = self.window[message_id]._replace(after=after)


class Deaf(Frontier):
    """F is what was said last."""

    def take(self, message_id: MessageId, after: Ids) -> None:
        pass


class Vain(Frontier):
    """Takes its own messages for news when they are delivered."""

    def take(self, message_id: MessageId, after: Ids) -> None:
        self._learn(message_id, after)


class Loyal(Frontier):
    """What it says does not replace what it follows."""

    def said(self, message_id: MessageId) -> None:
        maximal = dict(self.maximal)
        super().said(message_id)
        self.maximal = {**maximal, message_id: None}


class Certain(Frontier):
    """What is forgotten did not come before anything."""

    def precedes(self, one: MessageId, other: MessageId) -> bool | None:
        return bool(super().precedes(one, other))


class Shallow(Frontier):
    """Only immediate predecessors precede."""

    def precedes(self, one: MessageId, other: MessageId) -> bool | None:
        return None if self.after(one) is None else one in (self.after(other) or ())


class Eager(Frontier):
    """Forgets one message too many: what it has learned last but one."""

    def _learn(self, message_id: MessageId, after: Ids) -> None:
        super()._learn(message_id, after)
        if len(self.maximal) > 2:
            del self.maximal[list(self.maximal)[-2]]


def found_out(mutant: type[Frontier], scenario: Scenario) -> bool:
    """Whether a run with this frontier is seen to be wrong, and the same run with ours is not."""

    def build(setup: Setup) -> Any:
        machine: Any = CATALOG[scenario.algorithm].build(setup)
        machine.frontier = mutant(setup.me, setup.incarnation, machine.frontier.window_max)
        return machine

    return bool(judge(scenario, build).complaints) and judge(scenario).complaints == []


@pytest.mark.parametrize("mutant", [Greedy, Deaf, Loyal, Certain, Shallow, Eager])
def test_a_frontier_with_a_fault_is_found_out(mutant: type[Frontier]) -> None:
    assert any(found_out(mutant, world("troubled", seed)) for seed in range(6))


def test_it_is_found_out_where_own_messages_are_delivered_late() -> None:
    assert found_out(Vain, busy("no_waiting_uniform", True))


class Ahead(Frontier):
    """Learns with the protocol, not with the application."""

    def take(self, message_id: MessageId, after: Ids) -> None:
        pass

    def delivered(self, message_id: MessageId, after: Ids) -> None:
        super().take(message_id, after)


class AtOnce(OverCausal[Any]):
    """Tells `Ahead` of what is delivered."""

    def receive(self, source: str, message: Any, now: int, out: Any) -> None:
        super().receive(source, message, now, Seen(self.frontier, out))


class Seen:
    """A sink that learns what is delivered at once."""

    def __init__(self, frontier: Any, out: Any) -> None:
        self._frontier, self._out = frontier, out

    def deliver(self, message_id: MessageId, payload: Any) -> None:
        self._frontier.delivered(message_id, payload.after)
        self._out.deliver(message_id, payload)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._out, name)


def test_what_waits_in_a_queue_is_not_followed() -> None:
    """A workload answers the first of several messages that one step delivered: F must not be ahead of it."""

    def build(setup: Setup) -> Any:
        machine: Any = CATALOG["newtop"].build(setup)
        return AtOnce(machine.below, Ahead(setup.me, setup.incarnation, 1024))

    assert any(judge(busy("newtop", True, seed), build).complaints for seed in range(4))
