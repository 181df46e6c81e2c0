"""What an `Order` gives and tells."""

from collections.abc import Hashable, Iterable
from typing import Any, Generic, Literal, NamedTuple, TypeVar

Event = TypeVar("Event")


class Ordered(NamedTuple, Generic[Event]):
    """An event whose turn it is."""

    id: Hashable
    event: Event
    lacking: tuple[Hashable, ...] = ()
    """What it follows and was not handed on before it: patience was over."""
    late: bool = False
    """True if something that follows it was handed on before it: patience with it was over."""


class DeadLetter(NamedTuple, Generic[Event]):
    """An event that was given up, and why."""

    id: Hashable
    event: Event
    lacking: tuple[Hashable, ...]
    """What it follows and what did not come in time, or was given up itself."""


class Why(NamedTuple):
    """What became of an event, or what it waits for."""

    id: Hashable
    state: Literal["handed on", "waits", "given up", "not here"]
    waited_s: float = 0.0
    lacking: tuple[Hashable, ...] = ()
    """What it waits for itself."""
    roots: tuple[Hashable, ...] = ()
    """What has not come and holds it up in the end; nothing if those it waits for wait for each other."""
    held_up: int = 0
    """How many others wait for it, directly."""

    def __str__(self) -> str:
        if self.state == "not here":
            holding = f"; {self.held_up} wait for it" if self.held_up else ""
            return f"{self.id} has not come, or was forgotten{holding}"
        if self.state != "waits":
            return f"{self.id} was {self.state}"
        text = f"{self.id} has waited {self.waited_s:.1f} s for {listed(self.lacking)}"
        if not self.roots:
            return f"{text}: they wait for each other"
        if set(self.roots) == set(self.lacking):
            return f"{text}: not come"
        return f"{text}, in the end for {listed(self.roots)}: not come"


SHOWN = 5


def listed(ids: Iterable[Any]) -> str:
    """Some ids, for people."""
    all_of_them = [str(each) for each in ids]
    more = f" and {len(all_of_them) - SHOWN} more" if len(all_of_them) > SHOWN else ""
    return ", ".join(all_of_them[:SHOWN]) + more
