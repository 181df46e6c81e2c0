"""The host of a node that keeps its history: it has the past before it goes on live, and hands it on.

A newcomer, or a member that was away, asks its contact for the log, block by block, as fast as its own
application takes it. Only then it joins. At that moment the contact notes where its log is: all that it
delivers from there on comes over the link, so the newcomer asks for the little that is missing up to there,
and holds back meanwhile what comes live. Its floors tell what it has already. Where the contact's log says
that messages are lost, they are lost here too, in that place: else what comes after them would hide them.

What it has and the contact lacked, for the group had fallen apart, it then says again, many messages in one
of its own: so they travel in causal order with all else, and floors tell who has them already. It says
nothing new before that is done.
"""

import asyncio
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from aforesaid.core import AforesaidError, MessageId, Process, Refused
from aforesaid.core import Message as Frame
from aforesaid.node.carrying.carrier import Carrier
from aforesaid.node.config import Config
from aforesaid.node.history.answering import NOTHING, Answering
from aforesaid.node.history.entries import (
    NOBODY,
    SAID,
    Entry,
    Floors,
    above,
    floors_bytes,
    raise_floors,
    read_block,
    read_floors,
    read_lost,
    read_told,
    told_bytes,
)
from aforesaid.node.history.frames import FROM_NOW, HISTORY, Ask, Past
from aforesaid.node.history.history import LOST, History
from aforesaid.node.history.log import DeliveryLog
from aforesaid.node.host import Host
from aforesaid.node.inbox import Inbox
from aforesaid.node.messages import Receipt
from aforesaid.node.operating.logs import tell
from aforesaid.node.several import Several
from aforesaid.transport import Address

HELD_MAX = 2**16
"""Live messages that are held back until the last of the past is there."""

TURN_MESSAGES = 64
"""Of the past, that are in one block of this node's own log."""

TOLD_BYTES = 32 * 1024
"""Of messages that are said again in one; a larger one goes alone."""


class Elsewhere(AforesaidError):
    """The contact is gone: the past is to be had from another one."""


class KeepingHost(Host):
    """Stands on a history."""

    def __init__(
        self,
        config: Config,
        incarnation: int,
        inbox: Inbox,
        carrier: "Callable[[Host], Carrier]",
        history: History,
        since_ns: int,
    ) -> None:
        """`since_ns`: what a newcomer is to have of the past: OLDEST, FROM_NOW, or since this moment."""
        super().__init__(config, incarnation, inbox, carrier)
        self.history = history
        self._since_ns = since_ns
        self._answering = Answering(history, config.queues.link_bytes // 2)
        self._held: list[tuple[MessageId, bytes]] | None = None
        """What came live while the past is not complete; None: nothing need wait."""
        self._group: Floors | None = None
        """While messages are said again: what everyone has who hears what is said here next."""
        self.caught_up = asyncio.Event()
        """Set when this node has what the group has, and the group what it has; or never will."""
        self._begun = False
        """The protocol has had its first call."""
        self._has_taken = asyncio.Event()
        self._contact: Process | None = None
        self._answer: asyncio.Future[Past] | None = None
        self._work: asyncio.Task[None] | None = None

    # --------------------------------------------------------------------------------- for the node

    def begin(self, contact: Process | None) -> None:
        """It joins, or founds, when it has what it can have of the past."""
        self._contact = contact
        self._work = asyncio.create_task(self._enter(contact), name=f"history of {self.config.name}")

    def say_now(self, targets: tuple[Process, ...], said: Several) -> Receipt | None:
        if not self.caught_up.is_set():
            return None
        return super().say_now(targets, Several([SAID + payload for payload in said.payloads]))

    async def say(self, targets: tuple[Process, ...], said: Several) -> Receipt:
        await self.caught_up.wait()
        self.check()
        return await super().say(targets, Several([SAID + payload for payload in said.payloads]))

    async def forced(self) -> None:
        """Returns when all that was said before is in the log: kill -9 takes none of it."""
        while self.history.unwritten and self.error is None:
            await asyncio.sleep(0)
        if self.history.unwritten:
            self.check()

    def unacknowledged(self, offset: int) -> Iterator[int]:
        """Which deliveries up to this one the application has not acknowledged."""
        return self.history.unacknowledged(offset)

    def acknowledge(self, offset: int) -> None:
        """The application has this delivery."""
        self.history.acknowledge(offset)
        if not self._flush_due and self.error is None:
            self._flush_due = True
            self._loop.call_soon(self._flush_if_due)

    def taken(self) -> None:
        super().taken()
        self._has_taken.set()

    def flush(self) -> None:
        """The log first: what others hear of this node it will remember."""
        self.history.write()
        super().flush()

    def end(self, error: Exception) -> None:
        super().end(error)
        if self._work is not None:
            self._work.cancel()
        self.caught_up.set()

    def facts(self) -> dict[str, Any]:
        """How the history is."""
        log = self.history.log
        return {
            "caught_up": self.caught_up.is_set() and self.error is None,
            "first": log.first,
            "last": log.end - 1,
            "bytes": log.bytes,
            "authors": len(log.floors),
        }

    # -------------------------------------------------------------------------------- for the carrier

    def received(self, source: Process, messages: Sequence[Frame]) -> bool:
        of_history = [message for message in messages if type(message) in HISTORY]
        for message in of_history:
            self._hear(source, message)
        # Before its first call the protocol knows nobody, and nobody has anything to tell it.
        if not self._begun:
            return False
        others = [each for each in messages if type(each) not in HISTORY] if of_history else messages
        return super().received(source, others) or bool(of_history)

    def end_turn(self) -> None:
        if self._begun:
            super().end_turn()

    def lost(self, peer: Process) -> None:
        super().lost(peer)
        if peer == self._contact and self._answer is not None and not self._answer.done():
            self._answer.set_exception(Elsewhere())
            self._answer.exception()  # Nobody may be left to hear it.

    def apart(self, elsewhere: Address) -> None:
        if self.inside.is_set():  # Who is in no part yet is not in the wrong one.
            super().apart(elsewhere)

    # ------------------------------------------------------------------------------- for the protocol

    def deliver(self, message_id: MessageId, payload: Any) -> None:
        self._stirred = True
        if self.recorder is not None:
            self.recorder.add(("d", *message_id, self.wall()))
        if self._held is None:
            self._accept(message_id, payload)
        elif len(self._held) < HELD_MAX:
            self._held.append((message_id, payload))
        else:
            tell(self.config.name, "falls behind", level="warning", held=len(self._held))
            self.isolation.set()

    def admit(self, peer: Process, incarnation: int | None = None) -> None:
        super().admit(peer, incarnation)
        if self._complete:
            self.history.write()
            self._answering.admit(peer)

    # ----------------------------------------------------------------------------------- catching up

    async def _enter(self, contact: Process | None) -> None:
        try:
            await self.history.hand_on_again(self._until_room)
            if contact is None:
                self._begun = True
                self.history.log.enter()
                super().begin(None)
            else:
                await self._catch_up(contact)
            tell(self.config.name, "caught up", last=self.history.log.end - 1)
            self.caught_up.set()
            self._senders.wake()
        except Elsewhere:
            await asyncio.sleep(self.config.heartbeat_s)
            self.isolation.set()
        except Exception as error:
            self.fail(error)

    async def _catch_up(self, contact: Process) -> None:
        place, newcomer = 0, not self.history.log.entered
        if not newcomer or self._since_ns != FROM_NOW:
            place = await self._fetch(contact, newcomer, place)
        self._held, self._begun = [], True
        super().begin(contact)
        await self.inside.wait()
        self.check()
        await self._fetch(contact, newcomer, place, joined=True)
        held, self._held = self._held, None
        for message_id, payload in held:
            self._accept(message_id, payload)
        self.flush()
        await self._say_again()

    async def _fetch(self, contact: Process, newcomer: bool, place: int, joined: bool = False) -> int:
        """All that the contact has and this node lacks, up to now or, once it has joined, up to then."""
        takes = self.history.snapshots.take is not None and not joined
        ask = Ask(place, self._since_ns, newcomer, joined, takes, b"")
        if not place:
            ask = ask._replace(floors=floors_bytes(self.history.log.floors))
        answer = self._ask(contact, ask)
        while True:
            past = await answer
            if not past.place:
                raise Elsewhere
            if not past.done:  # Meanwhile the next one comes.
                answer = self._ask(contact, ask._replace(place=past.place, floors=b""))
            if past.snapshot:
                self.history.replace(past.snapshot, read_floors(past.base))
            elif past.base:
                self.history.log.adopt(read_floors(past.base))
            if past.lost:
                self.history.lost(read_floors(past.lost), contact)
            for block in past.blocks:
                if not self.history.has_room:
                    self.history.write()
                    await self._until_room()
                for origin, incarnation, number, payload in read_block(block)[2]:
                    if origin != NOBODY:
                        self.history.accept(origin, incarnation, number, payload)
                    elif number == LOST:
                        spans = read_lost(payload)[1]
                        self.history.lost({author: last for author, (_, last) in spans.items()}, contact)
                if self.history.unwritten >= TURN_MESSAGES:
                    self.history.write()
            self.history.write()  # Before floors are, which tell of all that was accepted.
            if past.done:
                if joined:
                    self._group = read_floors(past.floors)
                    self.history.log.adopt(self._group)
                    self.history.log.enter()
                return past.place

    def _ask(self, contact: Process, question: Ask) -> asyncio.Future[Past]:
        answer = self._answer = self._loop.create_future()
        self.carrier.send(contact, [question])
        return answer

    async def _until_room(self) -> None:
        while not self.history.has_room:
            self._has_taken.clear()
            await self._has_taken.wait()

    async def _say_again(self) -> None:
        """What this node has and its group lacks."""
        log, group = self.history.log, self._group
        if group is None:
            return
        log.pinned = log.lacking_from(group)
        try:
            count = await self._say_again_above(group, log)
        finally:
            log.pinned = None
        self._group = None
        if count:
            tell(self.config.name, "said again", messages=count)

    async def _say_again_above(self, group: Floors, log: DeliveryLog) -> int:
        """What is lost first, or who takes what comes after it would not miss it; how many messages."""
        lost = above(log.below, group)
        entries: list[Entry] = []
        size = count = 0
        for _, block in log.blocks(log.pinned or log.end, log.end):
            for entry in read_block(block)[2]:
                if entry[2] > group.get(entry[:2], 0) and entry[0] != NOBODY:
                    if entries and size + len(entry[3]) > TOLD_BYTES:
                        await self._tell_again(lost, entries)
                        lost, entries, size = {}, [], 0
                    entries.append(entry)
                    size += len(entry[3])
                    count += 1
        if entries or lost:
            await self._tell_again(lost, entries)
        return count

    async def _tell_again(self, lost: Floors, entries: list[Entry]) -> None:
        told = Several.one(told_bytes(lost, entries))
        if super().say_now(self.config.group, told) is None:
            await super().say(self.config.group, told)

    # ------------------------------------------------------------------------------------- the parts

    def _accept(self, message_id: MessageId, payload: bytes) -> None:
        """What was said in the group: one message, or many of an earlier time."""
        if payload.startswith(SAID):
            self._take(*message_id, payload[1:])
            return
        try:
            lost, entries = read_told(payload)
        except Refused as refusal:
            self.refused[refusal.reason] += 1
            return
        if lost:
            self.history.lost(lost, message_id.origin)
        for entry in entries:
            self._take(*entry)

    def _take(self, origin: Process, incarnation: int, number: int, payload: bytes) -> None:
        self.history.accept(origin, incarnation, number, payload)
        if self._group is not None:
            raise_floors(self._group, {(origin, incarnation): number})

    @property
    def _complete(self) -> bool:
        """Whether the log has all that is known here."""
        return self._begun and self._held is None

    def _hear(self, source: Process, message: Any) -> None:
        if isinstance(message, Ask):
            answer = self._answering.answer(source, message) if self._complete else NOTHING
            self.carrier.send(source, [answer])
        elif source == self._contact and self._answer is not None and not self._answer.done():
            self._answer.set_result(message)
