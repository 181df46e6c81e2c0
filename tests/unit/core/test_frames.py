"""Frames declare themselves: kinds are told apart, declarations fit, names and payloads are found."""

import importlib
import pickle
import pkgutil
from collections.abc import Iterator
from itertools import combinations
from operator import eq, ne
from typing import Any, Literal, NamedTuple, get_args, get_origin

import pytest

from aforesaid import protocols
from aforesaid.core import Members, MessageId, declaration_of, frame, link_of
from aforesaid.core.fields import NAME, PAYLOAD, hints_of, marked
from aforesaid.core.frames import UNDECLARED, Declaration
from aforesaid.protocols.catalog import CATALOG
from aforesaid.protocols.delivery.hybrid_groups import Roster
from aforesaid.protocols.frontier import Placed
from aforesaid.protocols.links.perfect import Data
from aforesaid.protocols.overlay.frames import Copy, Join, Lid
from support.wire_examples import GROUP, MESSAGES

NAMES = {*GROUP, "dörte", "dave", "erin"}
"""Everyone who is named in the examples."""


def declared_frames() -> list[Any]:
    """Every class of frames that any protocol declares."""
    found: dict[str, Any] = {}
    for info in pkgutil.walk_packages(protocols.__path__, "aforesaid.protocols."):
        for thing in vars(importlib.import_module(info.name)).values():
            if isinstance(thing, type) and "declaration" in vars(thing):
                found[f"{thing.__module__}.{thing.__qualname__}"] = thing
    return list(found.values())


KINDS = declared_frames()


def path(kind: Any) -> str:
    return f"{kind.__module__.removeprefix('aforesaid.protocols.')}.{kind.__name__}"


def filled(kind: Any) -> Any:
    """A frame of a kind whose fields all hold the same, whatever they should hold."""
    return kind(*("x" for _ in kind._fields))


EQUAL, UNEQUAL = (True, False), (False, True)


def compared(one: Any, other: Any) -> tuple[bool, bool]:
    """What both operators say."""
    return eq(one, other), ne(one, other)


# ------------------------------------------------------------------------------------------------ kinds


def test_all_frames_of_all_protocols_are_walked() -> None:
    assert len(KINDS) > 50
    in_entries = {get_origin(kind) or kind for entry in CATALOG.values() for kind in entry.frames}
    assert in_entries <= set(KINDS)


def test_frames_of_different_kinds_are_never_equal() -> None:
    for one, other in combinations(map(filled, KINDS), 2):
        assert compared(one, other) == UNEQUAL
        assert len({one, other}) == 2


def test_hashes_tell_kinds_apart() -> None:
    hashes = {hash(filled(kind)) for kind in KINDS}
    assert len(hashes) == len(KINDS)


@pytest.mark.parametrize("kind", KINDS, ids=path)
def test_a_frame_equals_its_like_and_no_tuple(kind: Any) -> None:
    one, other, plain = filled(kind), filled(kind), tuple(filled(kind))
    assert compared(one, other) == EQUAL
    assert hash(one) == hash(other)
    assert pickle.loads(pickle.dumps(one)) == one
    assert compared(one, plain) == compared(plain, one) == UNEQUAL
    if kind._fields:
        assert compared(one, one._replace(**{kind._fields[-1]: "y"})) == UNEQUAL


def test_frames_within_frames_are_told_apart() -> None:
    for one, other in combinations([filled(kind) for kind in KINDS], 2):
        assert Data(1, one) != Data(1, other)


# ------------------------------------------------------------------------------------------ declarations


@pytest.mark.parametrize("kind", KINDS, ids=path)
def test_a_declaration_names_fields_that_are_there_and_are_what_it_says(kind: Any) -> None:
    declared, hints = declaration_of(kind), list(hints_of(kind).values())
    for place in (declared.link_at, declared.concerns_at):
        assert place == -1 or Lid in (hints[place], *get_args(hints[place]))
    if declared.kind_at >= 0:
        assert get_origin(hints[declared.kind_at]) is Literal
    if declared.gone_at >= 0:
        assert hints[declared.gone_at] == Members
    assert declared.link_at == -1 or declared.concerns_at == -1, "ordered with a link, or about one"


@pytest.mark.parametrize("role", ["link", "concerns", "kind", "gone"])
def test_a_declaration_of_a_field_that_is_not_there_is_refused(role: str) -> None:
    class Word(NamedTuple):
        text: str

    fields: dict[str, Any] = {role: "lid"}
    with pytest.raises(KeyError, match="lid"):
        frame(**fields)(Word)


def test_what_is_declared_is_read() -> None:
    lid = Lid("a", "b", 0, 1)
    assert link_of(Copy(lid, MessageId("a", 0, 1), "x")) == lid
    assert link_of(Join(lid)) is None
    assert declaration_of(Join).link(Join(lid)) == lid
    assert declaration_of(Join).title(Join(lid)) == "Join"
    assert declaration_of(tuple) is UNDECLARED
    assert Declaration() == UNDECLARED


# --------------------------------------------------------------------------------------------- the marks


def atoms(value: Any) -> Iterator[Any]:
    """What a frame holds, however deep, by looking instead of reading its declaration. A roster stands where
    a payload does, and is one to whoever looks into frames."""
    if isinstance(value, tuple) and not isinstance(value, Roster):
        for item in value:
            yield from atoms(item)
    else:
        yield value


EXAMPLES = [
    pytest.param(message, id=f"{algorithm} {place} {type(message).__name__}")
    for algorithm, messages in MESSAGES.items()
    for place, message in enumerate(messages)
]


@pytest.mark.parametrize("example", EXAMPLES)
def test_names_and_payloads_are_found_by_their_declared_types(example: Any) -> None:
    held = list(atoms(example))
    assert marked(example, NAME) == [atom for atom in held if atom in NAMES]
    assert marked(example, PAYLOAD) == [atom for atom in held if isinstance(atom, bytes | Placed | Roster)]


def test_a_payload_that_looks_like_a_name_is_none() -> None:
    example = MESSAGES["prc_spray"][0]._replace(body="bob")
    assert marked(example, NAME) == ["alice", "bob", "carol"]
    assert marked(example, PAYLOAD) == ["bob"]


def test_what_is_no_frame_declares_nothing() -> None:
    assert marked(("alice", b"x"), NAME) == []
    assert marked("alice", NAME) == []
