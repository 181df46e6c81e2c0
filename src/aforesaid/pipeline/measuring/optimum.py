"""The causal optimum: the earliest moment at which a process could deliver a message without breaking order.

A trace has no arrivals, so they are taken from the network of the run's scenario, as it is when nothing goes
wrong: the least a frame takes on each link. If that is what every frame takes (`constant`, or `per_link`
without jitter) and nothing is lost, held or paused, the optimum is exact; else none is earlier (a bound).

A broadcast may be relayed, and what was said before it may travel with it. So its optimum is the time of
sending plus the shortest way through the network, whatever happened before: who hears of a cause and speaks
can be heard no sooner than the cause itself. An addressed message goes directly, and so does all that
happened before it: its optimum at a process is the latest direct arrival there of the message and of
everything before it that is for this process, too.
"""

import json

import msgspec
import numpy as np

from aforesaid.sim import Experiment, Paper, Scenario
from aforesaid.sim.chance import Chance
from aforesaid.sim.delays import sampler
from aforesaid.sim.parts import Constant, Delay, LogNormal, PerLink, Schedule, Uniform, nanoseconds
from aforesaid.trace.model import Int32s, Int64s, Messages, Run

LINKED_MAX = 1_024
"""Shortest ways are looked for among so many processes; the work grows with the cube."""
PAIRS_MAX = 1 << 25
"""Pairs of an addressed message and a process, 8 bytes each, that are held to follow what happened before."""

_NEVER = np.iinfo(np.int64).min // 2


class Optimum:
    """The optimum of every delivery of one run."""

    def __init__(self, sent_ns: Int64s, origin: Int32s, ways_ns: Int64s, latest_ns: Int64s | None) -> None:
        self._sent_ns, self._origin = sent_ns, origin
        self._ways_ns = ways_ns
        self._latest_ns = latest_ns

    def at(self, process: int, message: Int32s) -> Int64s:
        """When a process could have delivered each of the messages, at the earliest."""
        if self._latest_ns is not None:
            latest: Int64s = self._latest_ns[message, process]
            return latest
        arrival: Int64s = self._sent_ns[message] + self._ways_ns[self._origin[message], process]
        return arrival


def scenario_of(run: Run) -> Experiment | None:
    """The scenario of a simulated run; None for what was not simulated.

    It was validated when it ran; the algorithm, which may be from outside, need not be here.
    """
    try:
        data = json.loads(run.scenario)
        return msgspec.convert(data, Paper) if "engine" in data else msgspec.convert(data, Scenario)
    except (msgspec.ValidationError, ValueError):
        return None


def quality(scenario: Experiment | None) -> str:
    """What the optimum of a run is worth: `exact`, a `bound`, or `none` if it is not a scenario's."""
    if not isinstance(scenario, Scenario):
        return "none"
    undisturbed = scenario.network.loss == 0 and not scenario.fault
    return "exact" if undisturbed and _is_fixed(scenario.network.delay) else "bound"


def optimum(scenario: Scenario, names: list[str], messages: Messages) -> Optimum | None:
    """The optimum of a run's deliveries; None if it is too large to be had, or its order is not one."""
    if isinstance(scenario.network.delay, PerLink) and len(names) > LINKED_MAX:
        return None
    direct = least_delays(scenario, names)
    if np.all(messages.to_all):
        return Optimum(messages.time_ns, messages.origin, _shortest(direct), None)
    earlier = np.repeat(np.arange(len(messages)), messages.after.lengths) > messages.after.values
    if len(messages) * len(names) > PAIRS_MAX or not np.all(earlier):
        return None
    return Optimum(messages.time_ns, messages.origin, direct, _latest(messages, direct))


def least_delays(scenario: Scenario, names: list[str]) -> Int64s:
    """By source and target: the least a frame takes there, 0 to oneself."""
    delay = scenario.network.delay
    if isinstance(delay, PerLink):
        still = msgspec.structs.replace(delay, jitter_ms=0)
        # The stream that the simulator's network draws from: so these are the delays of the run itself.
        draw = sampler(still, Chance(scenario.seed, "network"))
        rows = [[draw(source, target, 0) for target in names] for source in names]
        least = np.array(rows, np.int64).reshape(len(names), len(names))
    else:
        least = np.full((len(names), len(names)), _least(delay), np.int64)
    np.fill_diagonal(least, 0)
    return least


def _least(delay: Delay) -> int:
    match delay:
        case Constant():
            return nanoseconds(delay.ms)
        case Uniform():
            return nanoseconds(delay.min_ms)
        case Schedule():
            return min(nanoseconds(ms) for _, ms in delay.points)
        case LogNormal():
            return sampler(delay, _Least(0, ""))("", "", 0)
        case PerLink():
            return _least(delay.spread)


class _Least(Chance):
    """Chance that always draws the least."""

    def __init__(self, seed: int, name: str) -> None:
        super().__init__(seed, name)
        self.uniform = lambda: 0.0


def _is_fixed(delay: Delay) -> bool:
    match delay:
        case Uniform():
            return delay.min_ms == delay.max_ms
        case LogNormal():
            return delay.sigma == 0
        case PerLink():
            return delay.jitter_ms == 0
        case Schedule():
            return delay.jitter_ms == 0 and len({ms for _, ms in delay.points}) == 1
        case Constant():
            return True


def _shortest(direct: Int64s) -> Int64s:
    """The shortest way between any two, over others if that is shorter (Floyd and Warshall)."""
    ways = direct.copy()
    if len(np.unique(direct)) <= 2:
        return ways
    for over in range(len(ways)):
        np.minimum(ways, ways[:, over, None] + ways[None, over, :], out=ways)
    return ways


def _latest(messages: Messages, direct: Int64s) -> Int64s:
    """By message and process: the latest direct arrival there of the message and of all before it."""
    latest = np.full((len(messages), len(direct)), _NEVER, np.int64)
    for message in range(len(messages)):
        row = latest[message]
        before = messages.after[message]
        if len(before):
            np.max(latest[before], axis=0, out=row)
        there = slice(None) if messages.to_all[message] else messages.audience[message]
        arrival = messages.time_ns[message] + direct[messages.origin[message], there]
        row[there] = np.maximum(row[there], arrival)
    return latest
