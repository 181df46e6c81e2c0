"""Pictures of protocol objects, in which the order of a mapping counts only where it is known to matter.

In Python a mapping has an order, that of insertion, and a protocol may depend on it: a causal past kept in
a dictionary does. More often the order is an accident of arrival and means nothing, and to tell states
apart by it would multiply them. So the explorer first assumes, as `core.freeze` does, that it never
matters. States that are equal but for it are one state with several *representations*; it keeps them all,
and proves at the end that they behave alike (`audit.misrepresented`). Where they do not, the attributes
that differ are named (`Class.attribute`), their order counts from then on, and the exploration starts over.
"""

from collections import deque
from collections.abc import Hashable, Iterator, Set
from typing import Any

from aforesaid.core.freeze import attributes, freeze

_ATOMS = (str, int, float, bool, bytes, type(None))


def picture(value: Any, ordered: Set[str], in_order: bool = False) -> Hashable:
    """A hashable picture: mappings with their order in the attributes named, or everywhere if `in_order`."""
    if isinstance(value, _ATOMS):
        return value
    if isinstance(value, dict):
        items = ((picture(k, ordered, in_order), picture(v, ordered, in_order)) for k, v in value.items())
        return ("dict", *items) if in_order else ("dict", frozenset(items))
    if isinstance(value, tuple):
        return (type(value).__name__, *(picture(item, ordered, in_order) for item in value))
    if isinstance(value, list | deque):
        return ("list", *(picture(item, ordered, in_order) for item in value))
    kind = type(value).__name__
    if hasattr(value, "frozen"):
        # It paints itself, and equal contents give equal pictures.
        return kind, freeze(value.frozen())
    parts = attributes(value)
    if not parts:
        return freeze(value)
    return (
        kind,
        *((name, picture(v, ordered, in_order or f"{kind}.{name}" in ordered)) for name, v in parts),
    )


def differing(one: Any, other: Any) -> Iterator[str]:
    """The attributes, as `Class.attribute`, in which two equal objects differ by the order of a mapping."""
    others = dict(attributes(other))
    for name, value in attributes(one):
        if picture(value, frozenset(), in_order=True) != picture(others[name], frozenset(), in_order=True):
            nested = list(differing(value, others[name]))
            yield from nested or (f"{type(one).__name__}.{name}",)
