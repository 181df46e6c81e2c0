"""What the protocol says to each peer during one turn of the loop, to leave in as few packets as can be.

Some frames are *cumulative*: the last one tells all that the earlier ones told. Of those to one peer in one
turn only the last leaves. A protocol whose frames are cumulative runs on a network that loses and reorders,
so this is nothing that the network could not have done.
"""

from collections.abc import Callable, Mapping
from typing import Any

from aforesaid.core import Message, Process, declaration_of


class Box:
    """The frames to one peer."""

    __slots__ = ("frames", "last")

    def __init__(self) -> None:
        self.frames: list[Message] = []
        self.last: dict[type, int] = {}
        """Where the last cumulative frame of each class stands."""


class Outbox:
    """The frames to all peers."""

    def __init__(self) -> None:
        self._cumulative: dict[type, Callable[[Any], bool] | None] = {}
        """By kind of frames, which of them are cumulative; None: none of them."""
        self._boxes: dict[Process, Box] = {}
        self.count = 0

    def add(self, target: Process, frame: Message) -> None:
        box = self._boxes.get(target)
        if box is None:
            box = self._boxes[target] = Box()
        kind = type(frame)
        try:
            cumulative = self._cumulative[kind]
        except KeyError:
            cumulative = self._cumulative[kind] = declaration_of(kind).cumulative
        if cumulative is not None and cumulative(frame):
            at = box.last.get(kind)
            if at is not None:
                box.frames[at] = frame
                return
            box.last[kind] = len(box.frames)
        box.frames.append(frame)
        self.count += 1

    def take(self) -> Mapping[Process, Box]:
        """All of it; the outbox is empty."""
        boxes, self._boxes = self._boxes, {}
        self.count = 0
        return boxes
