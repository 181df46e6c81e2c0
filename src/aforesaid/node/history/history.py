"""What a node knows of the past, over all its incarnations and starts, and the way of messages to its
application.

Law: a message is accepted once, by its author's floor; it is in the log before the application has it, and
the application has messages in the order of the log. So what was handed on can be handed on again after a
restart, from the offset on that the application does not have.
"""

from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

from aforesaid.core import SECOND, MessageId, Misuse, Process
from aforesaid.ground import ground
from aforesaid.node.config import Config
from aforesaid.node.endings import HistoryLost
from aforesaid.node.history.entries import NOBODY, Entry, Floors, above, lost_bytes, read_block, read_lost
from aforesaid.node.history.log import DeliveryLog
from aforesaid.node.inbox import Inbox
from aforesaid.node.operating.logs import tell

PLACE = "history"
"""In the directory of a node."""

SNAPSHOT, LOST = 0, 1
"""What an entry of nobody is: a snapshot of the application, or that messages are lost."""

Give: TypeAlias = Callable[[], tuple[bytes, int]]
"""The application's state, and the offset of the last message that is in it."""
Take: TypeAlias = Callable[[bytes], None]
"""Puts such a state in the place of what the application has."""


@dataclass
class Snapshots:
    """How an application gives and takes its state in place of messages; see `Node.on_snapshot`."""

    give: Give | None = None
    take: Take | None = None


class History:
    """The log of one node, and what leads to it and from it."""

    def __init__(
        self,
        config: Config,
        inbox: Inbox,
        snapshots: Snapshots,
        resume_from: int | None,
        stored: int | None,
    ) -> None:
        """`stored`: up to which offset the application has all by its last transaction."""
        self.name: Process = config.name
        self.inbox = inbox
        self.snapshots = snapshots
        directory = None if config.directory is None else Path(config.directory) / PLACE
        age_ns = round(config.retention_s * SECOND) if config.retention_s else None
        owner = f"{config.cluster}/{config.name} {config.entry.name}"
        self.log = DeliveryLog(ground().disk, directory, owner, config.retention_bytes, age_ns)
        self._clock = ground().time_ns
        self._accepted: list[Entry] = []
        """And not in the log yet."""
        self._acknowledged: set[int] = set()
        """Of those behind the cursor."""
        self.cursor = self.log.cursor
        """Up to here the application has acknowledged all."""
        if resume_from is not None:
            self._resume(resume_from)
        elif stored is not None and stored > self.cursor:
            self._resume(stored)
        self._handed = self.cursor
        """Up to here all was handed on, in this life of the process."""

    @property
    def has_room(self) -> bool:
        """Whether the application has taken enough for more to be handed on, whoever said it."""
        return not self.inbox.full and self.inbox.room_for_own > 0

    @property
    def unwritten(self) -> int:
        """How many messages are accepted and not in the log yet."""
        return len(self._accepted)

    def accept(self, origin: Process, incarnation: int, number: int, payload: bytes) -> None:
        """A message is delivered here, unless it was before."""
        floors, author = self.log.floors, (origin, incarnation)
        if number > floors.get(author, 0):
            floors[author] = number
            self._accepted.append((origin, incarnation, number, payload))

    def write(self) -> None:
        """What was accepted goes into the log, and then to the application."""
        if self._accepted:
            entries, self._accepted = self._accepted, []
            offset = self.log.end
            self.log.append(entries, self._clock())
            for place, entry in enumerate(entries, offset):
                self._hand_on(place, entry)
        self.log.acknowledge(self.cursor)

    def unacknowledged(self, offset: int) -> Iterator[int]:
        """Which deliveries up to this one the application has not acknowledged."""
        return (each for each in range(self.cursor + 1, offset + 1) if each not in self._acknowledged)

    def acknowledge(self, offset: int) -> None:
        """The application has done with a message."""
        self._acknowledged.add(offset)
        while self.cursor + 1 in self._acknowledged:
            self.cursor += 1
            self._acknowledged.remove(self.cursor)

    def lost(self, floors: Floors, who: Process) -> None:
        """Nobody who was asked has these messages any more: the application hears so, in their place."""
        gone = above(floors, self.log.floors)
        if gone:
            spans = {author: (self.log.floors.get(author, 0) + 1, number) for author, number in gone.items()}
            tell(self.name, "history lost", level="warning", member=who, authors=len(spans))
            self._interrupt(LOST, lost_bytes(who, spans))
            self.log.adopt(gone)

    def replace(self, state: bytes, floors: Floors) -> None:
        """A snapshot stands for all that these floors tell of."""
        self._interrupt(SNAPSHOT, state)
        self.log.adopt(floors)

    async def hand_on_again(self, room: Callable[[], Awaitable[None]]) -> None:
        """What earlier starts have delivered and the application has not."""
        end = self.log.end
        for _, block in self.log.blocks(self._handed + 1, end):
            first, _, entries = read_block(block)
            for offset, entry in enumerate(entries, first):
                if offset > self._handed:
                    if not self.has_room:
                        await room()
                    self._hand_on(offset, entry)
        self._handed = end - 1

    def close(self) -> None:
        try:
            self.write()
        finally:
            self.log.close()

    # ------------------------------------------------------------------------------------- the parts

    def _interrupt(self, what: int, payload: bytes) -> None:
        """It is in the log before what makes it true is known: who is killed in between hears it again."""
        self._accepted.append((NOBODY, 0, what, payload))
        self.write()

    def _hand_on(self, offset: int, entry: Entry) -> None:
        origin, incarnation, number, payload = entry
        self._handed = offset
        if origin != NOBODY:
            self.inbox.put(MessageId(origin, incarnation, number), payload, offset=offset)
        elif number == SNAPSHOT:
            self.inbox.interrupt(lambda: self._take(offset, payload))
        else:
            self.inbox.interrupt(lambda: self._say_lost(offset, payload))

    def _say_lost(self, offset: int, payload: bytes) -> None:
        member, spans = read_lost(payload)
        raise HistoryLost(self.name, member, spans, offset, self.acknowledge)

    def _take(self, offset: int, state: bytes) -> None:
        if self.snapshots.take is None:
            raise Misuse("a snapshot of the application was taken, and this start says not how: on_snapshot")
        self.snapshots.take(state)
        self.acknowledge(offset)

    def _resume(self, offset: int) -> None:
        first, last = self.log.first, self.log.end - 1
        if not first - 1 <= offset <= last:
            raise Misuse(
                f"cannot resume after delivery {offset}: the history in the directory has {first} to {last}"
            )
        self.cursor = offset
