"""A stage: a few processes, and a director who decides which frame arrives next."""

from collections.abc import Callable
from typing import Any

from aforesaid.core import MessageId


class Stage:
    """Processes p0, p1, ..; what each was handed; what is on its way."""

    def __init__(self, build: Callable[..., Any], n: int, **settings: Any) -> None:
        settings.setdefault("retransmit", False)
        self.names = [f"p{i}" for i in range(n)]
        self.machines = [build(name, **settings) for name in self.names]
        self.flying: list[tuple[int, int, Any]] = []
        self.got: list[list[str]] = [[] for _ in self.names]
        """By process: the labels of what it delivered, in order."""
        self.timers: list[dict[Any, int]] = [{} for _ in self.names]
        self.now = 0
        self.actor = 0

    def say(self, i: int, *targets: int, payload: Any = None) -> str:
        self.actor = i
        names = [self.names[j] for j in targets]
        message_id: MessageId = self.machines[i].send(names, payload, self.now, self)
        return str(message_id)

    def hand(self, i: int, j: int, frame: Any) -> None:
        """A frame from i arrives at j, whether it was on its way or not."""
        self.actor = j
        self.machines[j].receive(self.names[i], frame, self.now, self)

    def arrive(self, kind: type, i: int, j: int) -> Any:
        """The oldest frame of a kind on its way from i to j arrives."""
        frame = self.between(kind, i, j)[0]
        self.flying.remove((i, j, frame))
        self.hand(i, j, frame)
        return frame

    def between(self, kind: type, i: int, j: int) -> list[Any]:
        return [frame for a, b, frame in self.flying if (a, b) == (i, j) and type(frame) is kind]

    def lose_all(self) -> None:
        self.flying.clear()

    def rest(self) -> None:
        """Everything on its way arrives, oldest first, until nothing is."""
        while self.flying:
            i, j, frame = self.flying.pop(0)
            self.hand(i, j, frame)

    def expire(self, i: int) -> None:
        """The next timer of a process goes off."""
        timer = min(self.timers[i], key=lambda timer: (self.timers[i][timer], timer))
        self.now = max(self.now, self.timers[i].pop(timer))
        self.actor = i
        self.machines[i].expire(timer, self.now, self)

    def evict(self, i: int, j: int) -> None:
        self.actor = i
        self.machines[i].peer_down(self.names[j], self.now, self)

    # ------------------------------------------------------------------------------------ the effects sink

    def send(self, targets: Any, message: Any) -> None:
        self.flying += [(self.actor, self.names.index(target), message) for target in targets]

    def deliver(self, message_id: MessageId, payload: Any) -> None:
        self.got[self.actor].append(str(message_id))

    def arm(self, timer: Any, deadline: int) -> None:
        self.timers[self.actor][timer] = deadline

    def disarm(self, timer: Any) -> None:
        self.timers[self.actor].pop(timer, None)
