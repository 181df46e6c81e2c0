"""What can be reproduced, and how it is made: its pictures, series, rows and versions as files.

Everything that is asked for is planned, and so validated, before anything runs.
"""

import csv
import json
import platform
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from importlib.metadata import version
from pathlib import Path
from typing import Any

from aforesaid.core import Misuse
from aforesaid.core.version import __version__
from aforesaid.reproduce.asking import Asked, Groups
from aforesaid.reproduce.running import Runner
from aforesaid.reproduce.telling import Rows, Telling
from aforesaid.sim import Paper
from aforesaid.sim.grid import Planned


@dataclass(frozen=True)
class Work:
    """One figure or table: its runs if it has any, and what makes its files of them and returns its rows."""

    name: str
    groups: Groups
    make: Callable[[], Rows]
    versions: tuple[str, ...]

    @property
    def planned(self) -> list[Planned]:
        return [one for runs in self.groups.values() for one in runs]


PROCESSES_MIN = {
    "figure5": 2,
    "vectors": 2,
    "baselines": 8,
    "churn": 2,
    "crossover": 2,
    "table1": 8,
    "flood": 3,
}
"""What can be reproduced, and with how many processes at least."""
MEASUREMENTS = ("table1", "flood")


def plan(names: Sequence[str], asked: Asked, telling: Telling) -> list[Work]:
    """Find out now, not after a minute, whether all can be made, and written there."""
    asked.validate()
    works = [_work(name, asked, telling) for name in dict.fromkeys(names)]
    try:
        asked.out.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=asked.out):
            pass
    except OSError as error:
        raise Misuse(f"cannot write to {asked.out}: {error.strerror}") from None
    return works


def _work(name: str, asked: Asked, telling: Telling) -> Work:
    if name.endswith((".toml", ".json")):
        from aforesaid.reproduce.figures import make_own, plan_own

        path = Path(name)
        groups = plan_own(asked, path)
        return Work(path.stem, groups, partial(make_own, asked, groups, path.stem), _used(groups))
    if name not in PROCESSES_MIN:
        raise Misuse(f"no figure {name!r}; there are {', '.join(PROCESSES_MIN)}, or a grid file of your own")
    for count in asked.processes:
        if count < PROCESSES_MIN[name]:
            raise Misuse(f"{name} needs at least {PROCESSES_MIN[name]} processes, not {count}")
    if name in MEASUREMENTS:
        return _measurement(name, asked, telling)
    from aforesaid.reproduce import baselines, figures

    on_runs: dict[str, tuple[Callable[[Asked], Groups], Callable[[Asked, Groups], Rows]]] = {
        "figure5": (figures.plan_figure_5, figures.make_figure_5),
        "vectors": (figures.plan_vectors, figures.make_vectors),
        "baselines": (baselines.plan_baselines, baselines.make_baselines),
        "churn": (figures.plan_churn, figures.make_churn),
        "crossover": (figures.plan_crossover, figures.make_crossover),
    }
    planned, make = on_runs[name]
    groups = planned(asked)
    return Work(name, groups, partial(make, asked, groups), _used(groups))


def _measurement(name: str, asked: Asked, telling: Telling) -> Work:
    """What has no runs to keep."""
    if asked.seeds > 1 or asked.settings:
        raise Misuse(f"{name} is one measurement: it takes no --seeds and no --set")
    if name == "table1":
        from aforesaid.reproduce.table1 import table_1

        return Work(name, {}, partial(table_1, asked, telling), ("msgspec",))
    from aforesaid.reproduce.flooding import flood_of_many

    return Work(name, {}, partial(flood_of_many, asked, telling), ("numba", "numpy"))


def _used(groups: Groups) -> tuple[str, ...]:
    fleet = any(isinstance(one.scenario, Paper) for runs in groups.values() for one in runs)
    return ("numpy", "matplotlib", "pyarrow", *(("numba",) if fleet else ()))


def make(work: Work, asked: Asked, run: Runner) -> dict[str, Any]:
    """Make one, and write what sums it up beside it as JSON and CSV."""
    if work.groups:
        run(work.planned, asked.runs)
    rows = work.make()
    seeds = list(range(asked.seed, asked.seed + asked.seeds))
    made = {"figure": work.name, "seeds": seeds, "settings": dict(asked.settings)}
    made |= {"versions": _versions(work), "rows": rows}
    (asked.out / f"{work.name}.json").write_text(json.dumps(made, indent=2) + "\n")
    with (asked.out / f"{work.name}.csv").open("w", newline="") as file:
        writer = csv.DictWriter(file, rows[0])
        writer.writeheader()
        writer.writerows(rows)
    return made


def _versions(work: Work) -> dict[str, str]:
    return {
        "aforesaid": __version__,
        "python": platform.python_version(),
        **{name: version(name) for name in work.versions},
    }
