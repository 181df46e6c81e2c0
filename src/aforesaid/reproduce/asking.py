"""What is asked of a figure: sizes, seeds, settings of one's own, where it goes and how it looks."""

from collections.abc import Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeAlias

from aforesaid.core import Misuse
from aforesaid.sim.grid import Planned, grid_of, leaves
from aforesaid.sim.keys import put

Groups: TypeAlias = dict[tuple[Any, ...], list[Planned]]
"""The runs of a figure: those that differ in their seed only, by what they differ in otherwise."""


FORMATS = ("png", "svg", "pdf")


@dataclass(frozen=True)
class Look:
    """How figures are to look, and as what files they are written."""

    formats: tuple[str, ...] = ("png", "svg")
    titles: bool = True


@dataclass(frozen=True)
class Asked:
    """One order for figures."""

    out: Path
    processes: tuple[int, ...] = ()
    """None: those of the figure."""
    seed: int = 1
    seeds: int = 1
    settings: Mapping[str, Any] = field(default_factory=dict)
    """Other values of the experiment than the figure's, by key."""
    look: Look = Look()

    @property
    def runs(self) -> Path:
        """Where the runs lie that figures are drawn from."""
        return self.out / "runs"

    def validate(self) -> None:
        if self.seeds < 1 or self.seed < 0:
            raise Misuse(f"--seeds {self.seeds} --seed {self.seed}: at least one seed, from 0 on")
        for kind in self.look.formats:
            if kind not in FORMATS:
                raise Misuse(f"--format {kind}: there are {', '.join(FORMATS)}")

    def groups(self, base: Mapping[str, Any], axes: Mapping[str, Sequence[Any]]) -> Groups:
        """The runs of a base along its axes, for every seed; by the values on these axes, in their order."""
        data = deepcopy(dict(base))
        for key, value in self.settings.items():
            if key in axes or key in ("seed", "processes"):
                raise Misuse(f"--set {key}: this figure varies it itself")
            put(data, key, deepcopy(value), f"--set {key}")
        data["seed"] = self.seed
        data["sweep"] = {**{key: list(values) for key, values in axes.items()}, "seeds": self.seeds}
        groups: Groups = {}
        for one in grid_of(data).planned:
            groups.setdefault(tuple(_hashable(one.axes[key]) for key in axes), []).append(one)
        return groups


def _hashable(value: Any) -> Any:
    """A value of an axis as a key; tables and lists by their words."""
    return " ".join(leaves(value)) if isinstance(value, dict | list) else value
