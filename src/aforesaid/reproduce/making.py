"""What can be reproduced, and how one of it is made: its pictures, series, rows and versions as files."""

import csv
import json
import platform
import tempfile
from importlib.metadata import version
from pathlib import Path
from typing import Any

from aforesaid.core import Misuse
from aforesaid.core.version import __version__
from aforesaid.reproduce.telling import Rows, Telling

PROCESSES_MIN = {"fig5a": 2, "fig5b": 2, "table1": 8, "churn": 2, "crossover": 2, "flood": 3}
"""What can be reproduced, and with how many processes at least."""


def validate(figures: list[str], processes: list[int], out: Path) -> None:
    """Find out now, not after a minute, whether all can be made, and written there."""
    for figure in figures:
        if figure not in PROCESSES_MIN:
            raise Misuse(f"no figure {figure!r}; there are {', '.join(PROCESSES_MIN)}")
        for count in processes:
            if count < PROCESSES_MIN[figure]:
                raise Misuse(f"{figure} needs at least {PROCESSES_MIN[figure]} processes, not {count}")
    try:
        out.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=out):
            pass
    except OSError as error:
        raise Misuse(f"cannot write to {out}: {error.strerror}") from None


def make(figure: str, processes: list[int], seed: int, out: Path, telling: Telling) -> dict[str, Any]:
    """Make one, and write what sums it up beside it as JSON and CSV."""
    rows = _rows(figure, processes, seed, out, telling)
    made = {"figure": figure, "seed": seed, "versions": _versions(figure), "rows": rows}
    (out / f"{figure}.json").write_text(json.dumps(made, indent=2) + "\n")
    with (out / f"{figure}.csv").open("w", newline="") as file:
        writer = csv.DictWriter(file, rows[0])
        writer.writeheader()
        writer.writerows(rows)
    return made


def _rows(figure: str, processes: list[int], seed: int, out: Path, telling: Telling) -> Rows:
    if figure == "table1":
        from aforesaid.reproduce.table1 import table_1

        return table_1(processes, out, telling)
    from aforesaid.reproduce.figures import FIGURES

    return FIGURES[figure](processes, seed, out, telling)


def _versions(figure: str) -> dict[str, str]:
    used = ("msgspec",) if figure == "table1" else ("numba", "numpy", "matplotlib")
    return {
        "aforesaid": __version__,
        "python": platform.python_version(),
        **{name: version(name) for name in used},
    }
