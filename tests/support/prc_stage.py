"""PRC-broadcast by hand: a few processes, and a network whose frames move when the test says so.

Frames of one link instance, in one direction, keep their order; those that name none are one queue.
"""

from collections.abc import Callable, Iterable
from typing import Any

from aforesaid.core import SECOND, declaration_of, link_of
from aforesaid.protocols.overlay.frames import Control, Flood, Lid
from aforesaid.protocols.overlay.living import Living
from aforesaid.protocols.overlay.prc import PRC
from aforesaid.protocols.overlay.prc.links import CONFIRMED, Incoming, Outgoing
from aforesaid.protocols.overlay.sampling import Sampler
from support import stage
from support.stage import Frame

PATIENCE = 10 * SECOND


def process(name: str, **settings: Any) -> Living:
    """A process without links; one way and α over safe links, as printed, unless told otherwise."""
    settings = {"both_ways": False, "alpha_direct": False, "patience": PATIENCE, **settings}
    return Living(PRC(name, (name,), **settings), Sampler())


Make = Callable[..., Any]
"""Builds a process from its name and settings: the shipped one, or a mutant."""


class Stage(stage.Stage[str]):
    """Processes and what is on its way between them."""

    frames_max = 2_000
    """Where a message is taken for new again, copies never end."""

    def who(self, name: str) -> str:
        """Here a process may write to one that never came; the frame flies all the same."""
        return name

    def say(self, name: str, *payloads: str) -> None:
        for payload in payloads:
            self.do(name, "broadcast", payload)

    def carry(self, source: str, target: str, what: Any = None) -> Any:
        """The next frame of a channel arrives; `what`: a link, a kind of control message or of frame."""
        return self.carry_frame(self._first(source, target, what))

    def carry_all(self, source: str, target: str) -> list[Any]:
        """Everything that is on its way between the two arrives, each channel in its order."""
        return [self.carry(source, target, frame) for frame in self.between(source, target)]

    def lose(self, source: str, target: str, what: Any = None) -> Any:
        """The next frame of a channel is lost."""
        return self.take(self._first(source, target, what)).message

    def expire(self, name: str, kind: str) -> None:
        """The first timer of a kind is up at a process."""
        self.fire(name, next(timer for timer in self.sinks[name].timers if timer[0] == kind))

    def link(self, one: str, other: str, both_ways: bool = False) -> Lid:
        """A link with an empty memory, as at the beginning."""
        lid: Lid = self.machines[one].prc.state.new_lid(other)
        for name in (one, other):
            sends = both_ways or name == one
            self.machines[name].prc.state.establish(
                lid, CONFIRMED if sends else None, both_ways or name == other
            )
        return lid

    def heard(self, name: str) -> str:
        """What a process delivered, in order."""
        return " ".join(str(payload) for payload in self.sinks[name].payloads)

    def held(self) -> int:
        """What all processes remember or keep for later."""
        return sum(self.gauges().values())

    def control(self) -> list[str]:
        """The control messages sent so far, forwards included."""
        kinds: list[str] = []
        for _, _, frame in self.sent:
            if isinstance(frame, Flood):
                frame = frame.body
            if isinstance(frame, Control):
                kinds.append(frame.kind)
        return kinds

    def outgoing(self, name: str, target: str) -> Outgoing:
        """A process's end of its only link to the target."""
        ends: Iterable[Outgoing] = self.machines[name].prc.state.outgoing.values()
        (found,) = [end for end in ends if end.target == target]
        return found

    def incoming(self, name: str, source: str) -> Incoming:
        ends: Iterable[Incoming] = self.machines[name].prc.state.incoming.values()
        (found,) = [end for end in ends if end.source == source]
        return found

    def _first(self, source: str, target: str, what: Any) -> Frame:
        heads: dict[Any, Frame] = {}
        for frame in self.flying:
            if frame[:2] == (source, target):
                heads.setdefault(link_of(frame.message), frame)
        found = [head for link, head in heads.items() if fits(what, link, head.message)]
        if len(found) != 1:
            raise LookupError(f"{len(found)} channels from {source} to {target} begin with {what!r}")
        return found[0]


def fits(what: Any, link: Any, frame: Any) -> bool:
    if isinstance(what, type):
        return isinstance(frame, what)
    return what is None or what in (link, frame, declaration_of(type(frame)).title(frame))


def star(centre: str, others: Iterable[str], make: Make = process, **settings: Any) -> Stage:
    """Everyone is linked with the centre, one way each way, so that each direction has a link of its own."""
    others = tuple(others)
    made = Stage((name, make(name, **settings)) for name in (centre, *others))
    both_ways = bool(settings.get("both_ways"))
    for name in others:
        made.link(centre, name, both_ways)
        if not both_ways:
            made.link(name, centre)
    return made
