"""A grid: one base scenario and axes along which it varies; their product is a list of scenarios, each named.

They are scenarios of the simulator or experiments on the fleet, as the base says (`sim/experiment.py`). The
file is a scenario file with one table more, `[sweep]`: each key in it is a key of the scenario (dotted,
with `workload[0]` for the first of a list) and its value the list of what to try there. `seeds` = k stands
for k seeds from the scenario's own on. Everything is validated before anything runs.
"""

import hashlib
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass
from itertools import product
from math import log
from pathlib import Path
from typing import Any

from aforesaid.core import Misuse
from aforesaid.sim.experiment import Experiment, experiment_of
from aforesaid.sim.keys import put
from aforesaid.sim.paper import Paper
from aforesaid.sim.parts import AllToAll, Bursts, Chain, Crowd, HotSpot, Pipeline, Rate, Workload
from aforesaid.sim.scenario import read_file

SCENARIOS_MAX = 50_000
"""Every task carries the plan of all: more belongs in several sweeps."""
WORDS_MAX = 40
"""Letters of a value in a run's name; what is longer is cut and gets a few digits of its hash."""

_NAMED_APART = ("algorithm", "processes", "seed")
"""Axes that stand in every run's name, in places of their own."""


@dataclass(frozen=True)
class Planned:
    """One scenario of a grid."""

    run: str
    """Its run's name: the algorithm (or `fleet`), the size, what else varies, the seed."""
    scenario: Experiment
    axes: Mapping[str, Any]
    """Its value on each axis, by the axis's key."""


@dataclass(frozen=True)
class Grid:
    """What a grid file comes to."""

    planned: tuple[Planned, ...]
    refused: tuple[str, ...] = ()
    """Combinations that no run can have, each with the reason; empty unless the file skips them."""


def read_grid(path: Path) -> Grid:
    """Read and validate a grid file; every error is one line that names the file and the key."""
    return read_file(path, "grid", grid_of)


def grid_of(data: Mapping[str, Any]) -> Grid:
    """The grid in plain data."""
    base = {key: value for key, value in data.items() if key != "sweep"}
    table = data.get("sweep")
    if not isinstance(table, dict):
        raise Misuse("a grid is a scenario and a table [sweep] of what varies; there is none")
    table = dict(table)
    skip = table.pop("skip_refused", False)
    if not isinstance(skip, bool):
        raise Misuse(f"sweep.skip_refused: expected true or false, got {skip!r}")
    axes = dict(axes_of(table, base))
    count = 1
    for listed in axes.values():
        count *= len(listed)
    if count > SCENARIOS_MAX:
        raise Misuse(f"the grid has {count:,} scenarios; at most {SCENARIOS_MAX:,} fit in one sweep")
    planned, refused = [], []
    for values in product(*axes.values()):
        place = dict(zip(axes, values, strict=True))
        try:
            scenario = experiment_of(_at_place(base, place))
        except Misuse as error:
            told = f"{', '.join(f'{key} = {value!r}' for key, value in place.items())}: {error}"
            if not skip:
                raise Misuse(told) from error
            refused.append(told)
            continue
        planned.append(Planned(_name(scenario, place), scenario, place))
    if not planned:
        raise Misuse(f"every one of the {count} combinations is refused; the first: {refused[0]}")
    return Grid(tuple(_apart(planned)), tuple(refused))


def cost(scenario: Experiment) -> float:
    """How much work a run is, roughly, for sorting the longest first: the deliveries it comes to.

    On the fleet the receipts, with ln n links each; those of control messages go on while nobody speaks.
    """
    if isinstance(scenario, Paper):
        speaking = max(0.0, min(scenario.minutes, scenario.speak_until) - scenario.speak_from)
        receipts = scenario.broadcasts_per_second * 60 * speaking + scenario.minutes
        return receipts * scenario.processes * log(scenario.processes)
    messages = sum(_per_second(load, scenario.processes) for load in scenario.workload)
    return messages * scenario.processes * scenario.duration_ms / 1_000


def _per_second(load: Workload, processes: int) -> float:
    """Messages a second of a workload, replies included."""
    match load:
        case Rate():
            return load.per_second * (len(load.processes) or processes)
        case Bursts() | Crowd():
            return load.size * 1_000 / load.every_ms
        case HotSpot():
            return load.per_second
        case Chain():
            return load.per_second * (load.depth + 1)
        case Pipeline():
            return load.per_second * (len(load.stages) or processes)
        case AllToAll():
            return processes * 1_000 / load.every_ms


def axes_of(
    table: Mapping[str, Any], base: Mapping[str, Any], prefix: str = ""
) -> Iterator[tuple[str, list[Any]]]:
    """Every axis: its key in the scenario, dotted, and its values. TOML itself nests dotted keys."""
    for name, values in table.items():
        key = prefix + name
        if isinstance(values, dict):
            yield from axes_of(values, base, f"{key}.")
        elif key == "seeds":
            yield "seed", _seeds(values, base, table)
        elif not isinstance(values, list) or not values:
            raise Misuse(f"sweep.{key}: expected a list of values to try, got {values!r}")
        elif any(value in values[:number] for number, value in enumerate(values)):
            raise Misuse(f"sweep.{key}: a value is listed twice")
        else:
            yield key, values


def _seeds(count: Any, base: Mapping[str, Any], table: Mapping[str, Any]) -> list[Any]:
    if type(count) is not int or count < 1:
        raise Misuse(
            f"sweep.seeds: expected how many seeds to run, got {count!r}; list single ones as seed = [...]"
        )
    if "seed" in table:
        raise Misuse("sweep: give either seed or seeds")
    first = base.get("seed", 1)
    if type(first) is not int:
        raise Misuse(f"seed: expected a whole number, got {first!r}")
    return list(range(first, first + count))


def _at_place(base: Mapping[str, Any], place: Mapping[str, Any]) -> dict[str, Any]:
    """The base with the values of one place of the grid."""
    data = deepcopy(dict(base))
    for key, value in place.items():
        put(data, key, deepcopy(value), f"sweep.{key}")
    return data


def _name(scenario: Experiment, place: Mapping[str, Any]) -> str:
    """The algorithm first: a name of digits only would be a number to Spark."""
    other = [f"{_key_word(key)}{_words(place[key])}" for key in place if key not in _NAMED_APART]
    return "-".join([scenario.label, f"n{scenario.processes}", *other, f"s{scenario.seed}"])


def _key_word(key: str) -> str:
    """The last word of a key: `loss` of `network.loss`."""
    words: list[str] = re.findall(r"[A-Za-z_]\w*", key)
    return words[-1]


def _words(value: Any) -> str:
    """A value as letters that a directory's name may have."""
    text = "+".join(leaves(value)) or "none"
    words = re.sub(r"[^A-Za-z0-9._+@-]", "_", text)
    if words == text and len(words) <= WORDS_MAX:
        return words
    return f"{words[:WORDS_MAX]}_{_hash(text)}"


def leaves(value: Any) -> Iterator[str]:
    """The words of a value, of a table or list in their order."""
    if isinstance(value, Mapping):
        for item in value.values():
            yield from leaves(item)
    elif isinstance(value, Sequence) and not isinstance(value, str):
        for item in value:
            yield from leaves(item)
    else:
        yield (
            str(value).lower()
            if isinstance(value, bool)
            else f"{value:g}"
            if type(value) is float
            else str(value)
        )


def _apart(planned: list[Planned]) -> Iterator[Planned]:
    """The same, each with a name of its own: those that look alike get digits of their scenario's hash."""
    times = Counter(one.run for one in planned)
    for one in planned:
        if times[one.run] == 1:
            yield one
        else:
            yield Planned(f"{one.run}-{_hash(one.scenario.to_json())}", one.scenario, one.axes)


def _hash(text: str) -> str:
    return hashlib.blake2b(text.encode(), digest_size=4).hexdigest()
