"""Which ground a part is made on."""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import Context, ContextVar

from aforesaid.ground.ports import Ground
from aforesaid.ground.real import REAL

_STANDING: ContextVar[Ground] = ContextVar("ground", default=REAL)

ground = _STANDING.get
"""What the caller stands on."""


@contextmanager
def standing_on(machine: Ground) -> Iterator[None]:
    """What is made meanwhile, and every task begun meanwhile, stands on this."""
    token = _STANDING.set(machine)
    try:
        yield
    finally:
        _STANDING.reset(token)


def ground_of(context: Context) -> Ground:
    """What a callback with this context stands on."""
    return context.get(_STANDING, REAL)
