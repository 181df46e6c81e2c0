"""An algorithm as the catalog describes it: how to build it, what it needs of its world, what it promises.

Promises are the checker's property names; hosts write them into the trace, so that a check knows what to
require without knowing the algorithm.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from aforesaid.core import MILLISECOND, Misuse, Process

RELIABLE_LINKS = "reliable links"
FIFO_LINKS = "FIFO links"
FIXED_GROUP = "fixed group"
NO_CRASH = "no crash"
DETECTOR = "perfect failure detector"
MAJORITY = "correct majority"

INTEGRITY = ("no_duplicate", "no_creation")
BEST_EFFORT = ("validity", *INTEGRITY)
RELIABLE = ("validity", "agreement", *INTEGRITY)
UNIFORM = ("validity", "agreement", "uniform_agreement", *INTEGRITY)
ORDER = ("fifo", "causal")
LIVENESS = ("validity", "agreement", "uniform_agreement")
ORDER_UNLESS_LOST = ("fifo", "causal_unless_lost")


@dataclass(frozen=True)
class Setup:
    """What an algorithm is told at one process before it starts."""

    me: Process
    group: tuple[Process, ...]
    incarnation: int = 0
    options: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Algorithm:
    """One entry of the catalog."""

    name: str
    title: str
    paper: str
    needs: tuple[str, ...]
    promises: tuple[str, ...]
    metadata: str
    """What it adds to a message, by the paper's account; n processes."""
    build: Callable[[Setup], Any]
    """Makes the protocol object of one process: a CausalBroadcast, or a CausalDelivery if `addressed`."""
    addressed: bool = False
    """True for unicast and multicast: every message names its audience."""
    unicast: bool = False
    """True if an audience is one process."""
    linked: bool = False
    """True if its links may be opened, closed and lost: its protocol object offers `Linking`.

    Whether everyone hears everything then depends on the links: liveness is promised if they end strongly
    connected.
    """
    options: Mapping[str, str] = field(default_factory=dict)
    """Its own settings, by name, each with what it means."""
    promises_if_crashed: tuple[str, ...] | None = None
    """What is left of the promises where a process may crash; None: all of them."""

    def promised(self, crashes: bool, connected: bool = True) -> tuple[str, ...]:
        """What it promises in a run in which processes may crash, or whose links fell apart."""
        promises = self.promises
        if crashes and self.promises_if_crashed is not None:
            promises = self.promises_if_crashed
        return promises if connected else tuple(name for name in promises if name not in LIVENESS)

    def validate(self, options: Mapping[str, Any]) -> None:
        """Refuse settings it does not have, and values it does not take."""
        for name in options:
            if name not in self.options:
                known = ", ".join(self.options) or "none"
                raise Misuse(f"options.{name}: {self.name} has no such option; it has: {known}")
        try:
            self.build(Setup("p0", ("p0",), 0, options))
        except Misuse as error:
            raise Misuse(f"options: {error}") from error


def in_nanoseconds(options: Mapping[str, Any]) -> dict[str, Any]:
    """Options with `resend_ms` in the protocols' own unit, `resend_after`."""
    converted = dict(options)
    resend_ms = converted.pop("resend_ms", 50.0)
    if type(resend_ms) not in (int, float) or not 0 < resend_ms < float("inf"):
        raise Misuse(f"resend_ms must be a time in milliseconds above 0, not {resend_ms!r}")
    return {**converted, "resend_after": round(resend_ms * MILLISECOND)}
