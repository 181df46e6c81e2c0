"""Pictures of protocol objects, in which the order of a mapping counts only where it is known to matter.

In Python a mapping has an order, that of insertion, and a protocol may depend on it: a causal past kept in
a dictionary does. More often the order is an accident of arrival and means nothing, and to tell states
apart by it would multiply them. So the explorer first assumes, as `core.freeze` does, that it never
matters. States that are equal but for it are one state with several *representations*; it keeps them all,
and proves at the end that they behave alike (`audit.misrepresented`). Where they do not, the attributes
that differ are named (`Class.attribute`), their order counts from then on, and the exploration starts over.
"""

from collections.abc import Iterator
from typing import Any

from aforesaid.core.freeze import attributes, freeze


def differing(one: Any, other: Any) -> Iterator[str]:
    """The attributes, as `Class.attribute`, in which two equal objects differ by the order of a mapping."""
    others = dict(attributes(other))
    for name, value in attributes(one):
        if freeze(value, in_order=True) != freeze(others[name], in_order=True):
            nested = list(differing(value, others[name]))
            yield from nested or (f"{type(one).__name__}.{name}",)
