"""A hashable picture of a protocol's state, taken without its help.

The explorer compares states by it. It is generic so that no protocol can forget a field: two objects have
equal pictures if and only if their plain data are equal. Order counts in lists, tuples and deques, and not
in sets and mappings.
"""

from collections import deque
from collections.abc import Hashable
from typing import Any

_ATOMS = (str, int, float, bool, bytes, type(None))


def freeze(value: Any) -> Hashable:
    """The picture of a value: atoms as they are, containers by content, objects by their attributes."""
    if isinstance(value, _ATOMS):
        return value
    if isinstance(value, dict):
        return ("dict", frozenset((freeze(k), freeze(v)) for k, v in value.items()))
    if isinstance(value, set | frozenset):
        return ("set", frozenset(freeze(item) for item in value))
    if isinstance(value, tuple):
        return (type(value).__name__, *(freeze(item) for item in value))
    if isinstance(value, list | deque | range):
        return ("list", *(freeze(item) for item in value))
    if isinstance(value, bytearray):
        return bytes(value)
    return (type(value).__name__, *((name, freeze(item)) for name, item in attributes(value)))


def attributes(value: Any) -> list[tuple[str, Any]]:
    """All attributes of an object, by name."""
    kind = type(value)
    slots = _slots.get(kind)
    if slots is None:
        slots = _slots[kind] = [name for base in kind.__mro__ for name in getattr(base, "__slots__", ())]
    found = {name: getattr(value, name) for name in slots if hasattr(value, name)}
    found.update(getattr(value, "__dict__", {}))
    return sorted(found.items())


_slots: dict[type, list[str]] = {}
"""By class, the names of its slots."""
