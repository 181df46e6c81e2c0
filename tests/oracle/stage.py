"""A stage for hybrid buffering, where the director calls processes by their ranks: p0 is 0."""

from collections.abc import Callable
from typing import Any

from support import stage


class Stage(stage.Stage[int]):
    """Processes p0, p1, ..; what each was handed; what is on its way."""

    def __init__(self, build: Callable[..., Any], n: int, **settings: Any) -> None:
        settings.setdefault("retransmit", False)
        super().__init__()
        for i in range(n):
            self.add(i, build(f"p{i}", **settings), f"p{i}")

    def say(self, i: int, *targets: int, payload: Any = None) -> str:
        return str(self.do(i, "send", [self.names[j] for j in targets], payload))

    def arrive(self, kind: type, i: int, j: int) -> Any:
        """The oldest frame of a kind on its way from i to j arrives."""
        return self.carry_frame(
            next(frame for frame in self.flying if frame[:2] == (i, j) and type(frame.message) is kind)
        )

    def of_kind(self, kind: type, i: int, j: int) -> list[Any]:
        return [message for message in self.between(i, j) if type(message) is kind]

    def lose_all(self, kind: type = object) -> None:
        self.flying[:] = [flying for flying in self.flying if not isinstance(flying[2], kind)]

    def expire(self, i: int) -> None:
        """The next timer of a process goes off."""
        timers = self.timers[i]
        self.fire(i, min(timers, key=lambda timer: (timers[timer], timer)))

    def evict(self, i: int, j: int) -> None:
        self.do(i, "peer_down", self.names[j])

    @property
    def got(self) -> list[list[str]]:
        """By process: the labels of what it delivered, in order."""
        return [[str(message_id) for message_id, _ in sink.delivered] for sink in self.sinks.values()]

    @property
    def timers(self) -> list[dict[Any, int]]:
        """By process."""
        return [sink.timers for sink in self.sinks.values()]
