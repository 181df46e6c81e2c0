"""A hashable picture of a protocol's state, taken without its help.

The explorer compares states by it. It is generic so that no protocol can forget a field: two objects have
equal pictures if and only if their plain data are equal. Order counts in lists, tuples and deques, and not
in sets; in mappings where that is asked for (`explore.picture` tells why).
"""

from collections import deque
from collections.abc import Hashable, Set
from typing import Any

_ATOMS = (str, int, float, bool, bytes, type(None))


def freeze(value: Any, ordered: Set[str] = frozenset(), in_order: bool = False) -> Hashable:
    """The picture of a value: atoms as they are, containers by content, objects by their attributes.

    The order of mappings counts in the attributes named, as `Class.attribute`, or everywhere if `in_order`.
    """
    return _painted(value, ordered, in_order, {})


def _painted(
    value: Any, ordered: Set[str], in_order: bool, objects: dict[tuple[int, bool], Hashable]
) -> Hashable:
    kind = type(value)
    if kind in _ATOMS or isinstance(value, _ATOMS):
        atom: Hashable = value
        return atom
    if isinstance(value, tuple):
        return (kind.__name__, *[_painted(item, ordered, in_order, objects) for item in value])
    if isinstance(value, dict):
        items = [
            (_painted(k, ordered, in_order, objects), _painted(v, ordered, in_order, objects))
            for k, v in value.items()
        ]
        return ("dict", *items) if in_order else ("dict", frozenset(items))
    if isinstance(value, list | deque | range):
        return ("list", *[_painted(item, ordered, in_order, objects) for item in value])
    if isinstance(value, set | frozenset):
        return ("set", frozenset([_painted(item, ordered, in_order, objects) for item in value]))
    if isinstance(value, bytearray):
        return bytes(value)
    # Parts of a protocol share objects: each is painted once.
    picture = objects.get((id(value), in_order))
    if picture is None:
        picture = objects[id(value), in_order] = _portrait(value, ordered, in_order, objects)
    return picture


def _portrait(
    value: Any, ordered: Set[str], in_order: bool, objects: dict[tuple[int, bool], Hashable]
) -> Hashable:
    kind = type(value).__name__
    if hasattr(value, "frozen"):
        # It paints itself, and equal contents give equal pictures.
        return kind, freeze(value.frozen())
    return kind, *[
        (name, _painted(part, ordered, in_order or f"{kind}.{name}" in ordered, objects))
        for name, part in attributes(value)
    ]


def attributes(value: Any) -> list[tuple[str, Any]]:
    """All attributes of an object, by name."""
    kind = type(value)
    slots = _slots.get(kind)
    if slots is None:
        slots = _slots[kind] = [name for base in kind.__mro__ for name in getattr(base, "__slots__", ())]
    found = {name: getattr(value, name) for name in slots if hasattr(value, name)} if slots else {}
    return sorted((found | getattr(value, "__dict__", {})).items())


_slots: dict[type, list[str]] = {}
"""By class, the names of its slots."""
