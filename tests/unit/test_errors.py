"""The law of `core.errors`: every error that this package defines is an AforesaidError."""

import importlib
import pickle
import pkgutil

import pytest

import aforesaid
from aforesaid.check import MalformedTrace, check
from aforesaid.core import AforesaidError, Misbehaviour, Misuse, WrongValue
from aforesaid.sim import Scenario, SimulationFailed, simulate
from aforesaid.trace import MemorySink, Tracer


def errors() -> dict[str, type[BaseException]]:
    """Every exception class defined in a module of ours, by its full name; not what is none, as a kill."""
    found = {}
    for info in pkgutil.walk_packages(aforesaid.__path__, "aforesaid."):
        if not info.name.endswith("__main__"):
            for thing in vars(importlib.import_module(info.name)).values():
                if isinstance(thing, type) and issubclass(thing, Exception):
                    found[f"{thing.__module__}.{thing.__qualname__}"] = thing
    return {name: kind for name, kind in found.items() if name.startswith("aforesaid.")}


def test_every_error_is_one_of_ours() -> None:
    kinds = errors()
    assert len(kinds) > 10
    assert [name for name, kind in kinds.items() if not issubclass(kind, AforesaidError)] == []


def test_the_two_families_share_nothing() -> None:
    assert [
        kind for kind in errors().values() if issubclass(kind, Misuse) and issubclass(kind, Misbehaviour)
    ] == []


def test_a_property_that_is_none_is_a_misuse_and_a_value_error() -> None:
    _, trace = simulate(Scenario.of({"algorithm": "waiting", "processes": 2, "duration_ms": 10}))
    for family in (Misuse, ValueError):
        with pytest.raises(family, match="no property is called 'total'; there are: "):
            check(trace, ["total"])


def test_old_bases_are_kept() -> None:
    assert issubclass(MalformedTrace, Misuse)
    assert issubclass(MalformedTrace, ValueError)
    assert issubclass(SimulationFailed, RuntimeError)
    assert not issubclass(SimulationFailed, Misuse | Misbehaviour)


def test_an_error_travels_between_processes() -> None:
    error = pickle.loads(pickle.dumps(MalformedTrace("one log too many of a")))
    assert (type(error), str(error)) == (MalformedTrace, "one log too many of a")


def test_a_recorder_that_contradicts_itself_is_misuse() -> None:
    tracer = Tracer(MemorySink())
    tracer.began("a", 0, 0)
    with pytest.raises(WrongValue, match="a incarnation 0 began twice"):
        tracer.began("a", 0, 0)
