"""PAK on stage: links are written "a>b", timers fire when told, and no process may be too busy to speak.

`flow` lets all frames arrive except those on the links held back. What processes say is named after them: a's
first message is "a1".
"""

from collections.abc import Callable, Sequence
from typing import Any

from aforesaid.core import Busy
from aforesaid.protocols.broadcast.pak import RESEND, Pak
from aforesaid.protocols.catalog import Setup
from support import stage
from support.stage import Frame


class Stage(stage.Stage[str]):
    """A group of protocol objects; every call takes a nanosecond."""

    def __init__(self, names: str, build: Callable[[Setup], Any] | None = None, **options: Any) -> None:
        if build is None:

            def build(setup: Setup) -> Pak:
                return Pak(setup.me, setup.group, setup.incarnation, **options)

        group = tuple(names)
        super().__init__((name, build(Setup(me=name, group=group))) for name in group)
        self.said = dict.fromkeys(group, 0)

    def say(self, name: str, times: int = 1) -> None:
        for _ in range(times):
            self.said[name] += 1
            self.do(name, "broadcast", f"{name}{self.said[name]}")

    def arrive(self, link: str, kind: type | None = None) -> Any:
        """The oldest frame of that kind on the link arrives."""
        return self.carry_frame(next(frame for frame in self.flying if on(frame, (link,), kind)))

    def flow(self, held: Sequence[str] = (), kind: type | None = None) -> None:
        """Everything arrives, also what that brings about, except frames of that kind on the links held."""
        self.drain(lambda frame: on(frame, held, kind))

    def lose(self, *links: str, kind: type | None = None) -> int:
        """Everything on these links is lost; returns how many frames that were."""
        lost = [frame for frame in self.flying if on(frame, links, kind)]
        for frame in lost:
            self.take(frame)
        return len(lost)

    def tick(self, *names: str) -> None:
        """The timers of these processes, or of all, fire if they are armed."""
        for name in names or tuple(self.machines):
            if self.sinks[name].timers.pop(RESEND, None) is not None:
                self.do(name, "expire", RESEND)

    def down(self, name: str, *told: str) -> None:
        """These processes, or all, are told that a process is down."""
        for other in told or tuple(self.machines):
            self.do(other, "peer_down", name)

    def do(self, who: str, method: str, *arguments: Any) -> Any:
        self.now += 1
        try:
            return super().do(who, method, *arguments)
        except Busy as busy:
            raise AssertionError(f"{who} is busy: {busy}") from busy

    def log(self, name: str) -> list[Any]:
        """What a process delivered."""
        return self.payloads(name)

    def stable(self, name: str) -> list[int]:
        """The numbers of a process's messages that it reported as stable."""
        return [message_id.number for message_id in self.sinks[name].stabilised]

    def held(self) -> dict[str, int]:
        """What all processes hold, by kind."""
        return self.gauges()

    def at_rest(self) -> bool:
        """Nothing flies, nothing is held, no timer is armed."""
        armed = any(self.sinks[name].timers for name in self.machines)
        return not self.flying and not armed and not any(self.held().values())


def on(frame: Frame, links: Sequence[str], kind: type | None) -> bool:
    """Whether it is on one of the links and of that kind."""
    return f"{frame.source}>{frame.target}" in links and (kind is None or type(frame.message) is kind)
