"""Writes the shape of what snapshots of nodes hold, tests/vectors/state.txt.

    python tests/vectors/make_state.py

A line for each class whose objects are in the snapshots of an algorithm that nodes survive with, played in
every world that it bears, and for the named tuples and structs beside these, which may be in others: its
bases, and the names of its attributes with the types that are written there. A pickle holds no more of a
class than that. What is not seen: another meaning of the same name.
"""

import ast
import inspect
import pickle
import sys
from collections.abc import Iterator
from io import BytesIO
from pathlib import Path
from textwrap import dedent
from typing import Any
from unittest.mock import patch

import msgspec

sys.path.insert(0, str(Path(__file__).parents[1]))

from aforesaid import structures
from aforesaid.core import Run
from aforesaid.core.version import STATE_FORMAT
from aforesaid.journal import Durable, ToldMachine
from aforesaid.node import surviving
from aforesaid.protocols.catalog import CATALOG
from aforesaid.sim import Scenario, simulate
from aforesaid.sim.simulation import Simulation
from aforesaid.testing.worlds import worlds
from support.noting import Noting

PLACE = Path(__file__).parent / "state.txt"
OURS = "aforesaid."
INPUTS_EVERY = 5
"""After so many inputs a machine is looked at."""


class _Looking(pickle.Unpickler):
    """Notes the classes of what it reads."""

    def __init__(self, data: bytes, found: set[type]) -> None:
        super().__init__(BytesIO(data))
        self._found = found

    def find_class(self, module: str, name: str) -> Any:
        what = super().find_class(module, name)
        if isinstance(what, type) and module.startswith(OURS):
            self._found.add(what)
        return what


class _LookedAt(ToldMachine):
    def __init__(self, machine: Any, found: set[type]) -> None:
        super().__init__(machine, self._written)
        self._found, self._count, self._out = found, 0, Noting()

    def tell(self, name: str, *arguments: Any) -> Any:
        *told, self._out.host = arguments
        return super().tell(name, *told, self._out)

    def _written(self, record: bytes) -> None:
        self._count += 1
        if not self._count % INPUTS_EVERY:
            _Looking(self.snapshot(), self._found).load()


def classes() -> set[type]:
    """Those of ours whose objects are, or may be, in snapshots."""
    # A machine from outside is built of these.
    found: set[type] = {Run, *(each for each in vars(structures).values() if isinstance(each, type))}
    build = Simulation._machine

    def looked_at(simulation: Simulation, *setup: Any) -> Any:
        return _LookedAt(build(simulation, *setup), found).speaker

    with patch.object(Simulation, "_machine", looked_at):
        for name, entry in CATALOG.items():
            for world in worlds(entry).values() if entry.deployable and not entry.linked else ():
                simulate(Scenario.of({"algorithm": name, "seed": 1, **world}))
    for name in {each.__module__ for each in found}:
        beside = (each for each in vars(sys.modules[name]).values() if isinstance(each, type))
        found |= {each for each in beside if each.__module__ == name and _is_plain(each)}
    bases = {base for each in found for base in each.__mro__ if base.__module__.startswith(OURS)}
    return found | {base for base in bases if any(_attributes(base))}


def _is_plain(kind: type) -> bool:
    return issubclass(kind, msgspec.Struct) or (issubclass(kind, tuple) and hasattr(kind, "_fields"))


def _attributes(kind: type) -> Iterator[str]:
    """As its source has them: of plain data in their order, for they have no names in a pickle."""
    (body,) = ast.parse(dedent(inspect.getsource(kind))).body
    named = dict.fromkeys(vars(kind).get("__slots__", ()), "")
    for node in ast.walk(body):
        match node:
            case ast.AnnAssign(target=ast.Name(id=name), annotation=kept) if node in body.body:  # type: ignore[attr-defined]
                named[name] = ast.unparse(kept)
            case ast.AnnAssign(target=ast.Attribute(ast.Name("self"), name), annotation=kept):
                named[name] = ast.unparse(kept)
            case ast.Attribute(ast.Name("self"), name, ast.Store()):
                named.setdefault(name, "")
    for name in named if _is_plain(kind) else sorted(named):
        yield f"{name}: {named[name]}" if named[name] else name


def _around() -> Iterator[str]:
    """What stands around a machine: in both tuples, and what the host notes."""
    for saves in (ToldMachine.snapshot, Durable.snapshot):
        tree = ast.parse(dedent(inspect.getsource(saves)))
        state = next(node for node in ast.walk(tree) if isinstance(node, ast.Tuple))
        yield f"{saves.__qualname__} {ast.unparse(state)}"
    for node in ast.walk(ast.parse(inspect.getsource(surviving))):
        match node:
            case ast.Call(ast.Attribute(attr="note"), [key, value]):
                yield f"noted {ast.unparse(key)}: {ast.unparse(value)}"
            case ast.Assign([ast.Name("facts")], ast.Dict() as facts):
                yield f"noted {ast.unparse(facts)}"


def lines() -> list[str]:
    """What the file is to hold."""
    told = [f"state format {STATE_FORMAT}", *sorted(_around())]
    found = classes()
    for kind in sorted(found, key=lambda kind: (kind.__module__, kind.__qualname__)):
        bases = ", ".join(base.__name__ for base in kind.__bases__ if base in found)
        attributes = "; ".join(_attributes(kind))
        told.append(f"{kind.__module__}.{kind.__qualname__}({bases}) {attributes}".rstrip())
    return told


if __name__ == "__main__":
    PLACE.write_text("\n".join(lines()) + "\n")
