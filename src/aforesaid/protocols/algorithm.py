"""An algorithm as the catalog describes it: how to build it, what it needs of its world, what it promises.

Every algorithm owns its entry: it stands in the algorithm's own file or package, and the catalog only lists
it. Promises are the checker's property names; hosts write them into the trace, so that a check knows what to
require without knowing the algorithm.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from aforesaid.core import Process, Speaker
from aforesaid.core.version import __version__
from aforesaid.protocols.bibliography import Citation
from aforesaid.protocols.options import Options, settings


class Need(StrEnum):
    """What an algorithm may need of its world."""

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
    addresses: Mapping[Process, str] = field(default_factory=dict)
    """Where the members are, if anybody knows."""
    newcomer: bool = False
    """True if it is to be admitted by one of its group, which is not the whole one then."""


@dataclass(frozen=True)
class Algorithm:
    """One entry of the catalog."""

    name: str
    title: str
    sources: tuple[Citation, ...]
    """Where it is printed: first who had it, then whose account we follow, if that is another one."""
    needs: tuple[str, ...]
    promises: tuple[str, ...]
    metadata: str
    """What it adds to a message, by the paper's account; n processes."""
    make: Callable[[Setup, Any], Speaker]
    """Makes the protocol object of one process, of its setup and its options."""
    options: type[Options] = Options
    """Its own settings."""
    frames: tuple[Any, ...] = ()
    """What it sends, as classes of frames, those over a layer as `Relay[Stamped]`: its wire format. Their
    order gives the tags. It is published: while the version of the packets stays the same, new ones go to the
    end. Empty: nothing is published, and it runs in simulator and explorer only."""
    addressed: bool = False
    """True for unicast and multicast: every message names its audience."""
    unicast: bool = False
    """True if an audience is one process."""
    linked: bool = False
    """True if its links may be opened, closed and lost: its protocol object offers `Linking`.

    Whether everyone hears everything then depends on the links: liveness is promised if they end strongly
    connected.
    """
    tells: type | None = None
    """Where members may be admitted and dismissed, what the protocol says of its group: its protocol object
    offers `Admitting`."""
    samples: bool = False
    """True if it keeps its overlay up by itself; otherwise somebody has to open links."""
    promises_if_crashed: tuple[str, ...] | None = None
    """What is left of the promises where a process may crash; None: all of them."""
    version: str = ""
    """Of an algorithm from outside: its own version."""

    @property
    def paper(self) -> str:
        """Its sources, as they are cited."""
        return "; ".join(map(str, self.sources))

    @property
    def code_version(self) -> str:
        """What ran, for traces: our version, and its own if it is from outside."""
        return f"{__version__}, {self.name} {self.version}" if self.version else __version__

    @property
    def deployable(self) -> bool:
        """Whether real nodes can run it: it has a wire format, is no mere unicast, and needs of the network
        only what they give: perfect links restore no order, and nobody opens links but the protocol."""
        alone = self.samples if self.linked else Need.FIFO_LINKS not in self.needs
        return bool(self.frames) and not self.unicast and alone

    @property
    def over_perfect_links(self) -> bool:
        """Whether nodes put perfect links under it: no transport is reliable across reconnection."""
        return Need.RELIABLE_LINKS in self.needs and not self.linked

    def build(self, setup: Setup) -> Speaker:
        """The protocol object of one process."""
        return self.make(setup, settings(self.options, setup.options, self.name))

    def validate(self, options: Mapping[str, Any]) -> None:
        """Refuse settings it does not have, and values it does not take."""
        settings(self.options, options, self.name)

    def promised(self, crashes: bool, connected: bool = True) -> tuple[str, ...]:
        """What it promises in a run in which processes may crash, or whose links fell apart."""
        promises = self.promises
        if crashes and self.promises_if_crashed is not None:
            promises = self.promises_if_crashed
        return promises if connected else tuple(name for name in promises if name not in LIVENESS)
