"""Pictures of protocol objects, in which the order of a mapping counts only where it has been seen to matter.

In Python a mapping has an order, its insertion order, and a protocol may depend on it: a causal past kept as a
dictionary does. More often it is an accident of arrival and means nothing, and to tell states apart by it would
multiply them. So the explorer first takes no order of mappings to matter, as `core.freeze` does, keeps every
state that differs from its equals in such an order as another *representation*, and proves afterwards that
all representations behave alike (`audit`). If not, the attributes that differ are named here, `Class.attribute`,
their order counts from then on, and the exploration starts over.
"""

from collections import deque
from collections.abc import Hashable, Iterator, Set
from typing import Any

from aforesaid.core import freeze

ATOMS = (str, int, float, bool, bytes, type(None))


def picture(value: Any, ordered: Set[str], in_order: bool = False) -> Hashable:
    """A hashable picture; mappings in the attributes named, or everywhere if `in_order`, with their order."""
    if isinstance(value, ATOMS):
        return value
    if isinstance(value, dict):
        items = ((picture(k, ordered, in_order), picture(v, ordered, in_order)) for k, v in value.items())
        return ("dict", *items) if in_order else ("dict", frozenset(items))
    if isinstance(value, tuple | list | deque):
        kind = type(value).__name__ if isinstance(value, tuple) else "list"
        return (kind, *(picture(item, ordered, in_order) for item in value))
    if not hasattr(value, "__dict__") or hasattr(value, "frozen"):
        # Containers of ours have no order that matters; `freeze` knows all that is left.
        return freeze(value)
    kind = type(value).__name__
    return (kind, *(_attribute(kind, name, item, ordered, in_order) for name, item in sorted(vars(value).items())))


def _attribute(kind: str, name: str, item: Any, ordered: Set[str], in_order: bool) -> Hashable:
    return name, picture(item, ordered, in_order or f"{kind}.{name}" in ordered)


def differing(one: Any, other: Any) -> Iterator[str]:
    """The attributes, `Class.attribute`, in which two objects differ by the order of a mapping."""
    kind = type(one).__name__
    for name, item in vars(one).items():
        counterpart = getattr(other, name)
        if picture(item, frozenset(), True) != picture(counterpart, frozenset(), True):
            if hasattr(item, "__dict__"):
                yield from differing(item, counterpart)
            else:
                yield f"{kind}.{name}"
