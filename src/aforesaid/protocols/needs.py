"""What a world has to give an algorithm: one set of rules for every host that builds worlds.

A host says what its world is like (`Given`). Where that is less than the entry needs, the sentence says what
is lacking, and the host adds, in its own words, what to set.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from aforesaid.core import Misuse
from aforesaid.protocols.algorithm import Algorithm, Need


@dataclass(frozen=True)
class Given:
    """What a world is like, as far as algorithms may need it otherwise."""

    processes: int
    crashes: int = 0
    """How many of them may crash."""
    losses: bool = False
    """Whether a frame between two that are up may be lost for good."""
    fifo: bool = True
    """Whether the frames of one link arrive in the order they were sent, and each once."""
    fixed: bool = True
    """Whether nobody joins or leaves."""
    detector: bool = True
    """Whether crashes, and nothing but crashes, are told to whoever is up."""


def lacking(entry: Algorithm, given: Given) -> dict[Need, str]:
    """By each need that the world does not meet, a sentence that says so."""
    met = {
        Need.RELIABLE_LINKS: (not given.losses, "needs reliable links, but this network loses frames"),
        Need.FIFO_LINKS: (given.fifo, "needs FIFO links"),
        Need.FIXED_GROUP: (given.fixed, "needs a fixed group, but processes join or leave here"),
        Need.NO_CRASH: (not given.crashes, "promises nothing once a process crashes, and one may here"),
        Need.DETECTOR: (given.detector, "needs a perfect failure detector, and this one is not"),
        Need.MAJORITY: (
            2 * given.crashes < given.processes,
            f"needs a correct majority, but {given.crashes} of {given.processes} may crash here",
        ),
    }
    return {
        need: f"{entry.name} {sentence}"
        for need, (is_met, sentence) in met.items()
        if need in entry.needs and not is_met
    }


def demand(entry: Algorithm, given: Given, remedies: Mapping[Need, str]) -> None:
    """Refuse a world that does not meet the needs; a remedy says how the host is told to meet one."""
    for need, sentence in lacking(entry, given).items():
        remedy = remedies.get(need)
        raise Misuse(f"{sentence}: {remedy}" if remedy else sentence)
