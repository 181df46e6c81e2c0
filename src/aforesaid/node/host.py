"""Runs one protocol object: gives it what arrives and what is due, and takes its effects.

All happens in the loop's thread, in turns: some calls to the protocol, then one flush. A flush writes the
trace and then hands all frames of the turn to the carrier, so that nothing leaves that is not on record.

The inbox is bounded, but a protocol cannot be told not to deliver. So while the inbox is full the host keeps
frames from the protocol that may lead to deliveries: in a bounded backlog where frames may come in any order
and again, dropping what is more; by not reading from streams where they may not. Acknowledgments still pass
in the first case, so that an application may wait for room to send before it takes messages.
"""

import asyncio
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

from aforesaid.core import (
    Busy,
    HandingOver,
    Linking,
    Message,
    MessageId,
    Misbehaviour,
    Nanoseconds,
    Owing,
    Process,
    Speaker,
    TakesRuns,
    Timer,
    declaration_of,
    order_of,
    saying,
)
from aforesaid.ground import ground
from aforesaid.node.building import backlog_of, flight_of, machine_of
from aforesaid.node.carrying.carrier import Carrier
from aforesaid.node.config import Config
from aforesaid.node.endings import Evicted, Isolated, Superseded
from aforesaid.node.flight import WindowFlight
from aforesaid.node.groups import Groups
from aforesaid.node.inbox import Inbox
from aforesaid.node.messages import Receipt
from aforesaid.node.operating.logs import tell
from aforesaid.node.outbox import Outbox
from aforesaid.node.recording.segments import Recorder
from aforesaid.node.refusals import Refusals
from aforesaid.node.runs import runs_of
from aforesaid.node.senders import Senders
from aforesaid.node.timers import Timers
from aforesaid.protocols.membership.epochs import EVICTED, START_COUNT_BIT, STRANGER, SUPERSEDED
from aforesaid.protocols.membership.suspicion import is_most
from aforesaid.transport import Address

FLUSH_FRAMES = 256
"""A turn with so many frames is flushed at once."""

BUSY_S = 0.001
"""How long a sender waits when it is the protocol that has no room."""

DEAF_S = 5.0
"""Who has waited so long to say something while its own messages fill its inbox may wait for itself."""

LIDS_MAX = 256
"""Link instances that are remembered of one connection."""


class Host(TakesRuns):
    """The protocol of one node, and its effects sink."""

    def __init__(
        self, config: Config, incarnation: int, inbox: Inbox, carrier: "Callable[[Host], Carrier]"
    ) -> None:
        self.config = config
        self.incarnation = incarnation
        self.start = 0
        """Which start of it, if it survives its starts."""
        self.entry = config.entry
        self._speaker: Speaker = self._machine()
        self._say_it = saying(self._speaker)
        self._linking = self._speaker if isinstance(self._speaker, Linking) else None
        self._order = order_of(self._speaker)
        self.carrier = carrier(self)
        self._runs = runs_of(
            self._speaker, config, self.incarnation, self._say_run, lambda: self.carrier.piece_bytes
        )
        self.groups = Groups(self)
        self.inbox = inbox
        self.gone: dict[Process, str] = {}
        """Who is gone for good, and how: evicted, or left."""
        self._evictors: set[Process] = set()
        """Of those who are gone: who says that this node is."""
        self.incarnations: dict[Process, int] = {}
        """The incarnation of each peer that was heard."""
        self.refusals = Refusals(config)
        self.recorder: Recorder | None = None
        self.refused: Counter[str] = self.carrier.refused
        self.isolation: asyncio.Event = asyncio.Event()
        """Set when this incarnation has lost its group (prc_spray)."""
        self.elsewhere: Address | None = None
        """Where the group is that this incarnation is not in."""
        self.inside: asyncio.Event = asyncio.Event()
        """Set once this incarnation is a member of its group."""
        self.error: Exception | None = None
        self.flight = flight_of(self._runs or self._speaker, config, self._towards_links)
        self._window = self.flight if isinstance(self.flight, WindowFlight) else None
        self._loop = asyncio.get_running_loop()
        self._timers = Timers(self._expired)
        self._outbox = Outbox()
        self._backlog = backlog_of(self.entry, config)
        self._declared: dict[type, tuple[int, bool]] = {}
        """By kind of frames: where they tell who is gone, and whether they may be kept back."""
        self._feeding = False
        self._paused = False
        self._flush_due = False
        self._flushing = False
        self._unflushed = 0
        """Bytes of payload that were said since the last flush."""
        self._senders = Senders(self._room, self._check_welcome)
        self._lids: dict[Process, dict[Any, None]] = {}
        """By peer, the link instances that used the present connection, oldest first."""
        self._chance = ground().chance
        self.now: Callable[[], Nanoseconds] = ground().monotonic_ns
        self._wall_ahead = ground().time_ns() - self.now()

    # --------------------------------------------------------------------------------- for the node

    def begin(self, contact: Process | None) -> None:
        """The first call: found a group, or join one through a member."""
        if self._linking is not None:
            if contact is None:
                self._linking.begin(self.now(), self)
            else:
                self._linking.join(contact, self.now(), self)
        self.end_turn()

    @property
    def machine(self) -> Speaker:
        """The protocol, which has heard all that was said."""
        if self._runs is not None and self._runs.payloads:
            self._runs.close()
        return self._speaker

    @property
    def room(self) -> int:
        """How many messages can be said at once; 0: who wants to say one waits for its turn."""
        if self._senders.waiting or self.error is not None or self._runs is None:
            return 0
        return max(0, min(self._room(), self._runs.room))

    def say_now(self, targets: tuple[Process, ...], payloads: Sequence[bytes]) -> Receipt | None:
        """Say them if there is room for one at least; else None."""
        if self._senders.waiting or self._room() <= 0 or self.error is not None:
            return None
        try:
            return self._say(targets, payloads)
        except Busy:
            return None

    def join_run(self, targets: tuple[Process, ...], payload: bytes) -> Receipt | None:
        """Say it if it may join the run that is being said: most messages go this way. Else None."""
        message_id = None if self._runs is None else self._runs.join(targets, payload)
        window = self._window
        if message_id is None or window is None:
            return None
        size = len(payload)
        self._unflushed += size
        receipt = Receipt(message_id, size, self.now(), 1, window)
        window.add(receipt)
        return receipt

    async def say(self, targets: tuple[Process, ...], payloads: Sequence[bytes]) -> Receipt:
        """Say them once there is room; cancelled before that, nothing was said."""
        while True:
            late = self._loop.call_later(DEAF_S, self._warn_if_deaf)
            try:
                await self._senders.wait()
            finally:
                late.cancel()
            try:
                return self._say(targets, payloads)
            except Busy:
                await asyncio.sleep(BUSY_S)

    def hand_over(self) -> None:
        """Let the neighbours in a changing group do without this node, if the protocol can."""
        if isinstance(self.machine, HandingOver):
            self.machine.hand_over(self.now(), self)
            self.end_turn()

    @property
    def needed(self) -> bool:
        """True until they can."""
        return isinstance(self.machine, HandingOver) and self.machine.needed

    def leave(self) -> None:
        """The last call to the protocol of a node that closes in order."""
        if self._linking is not None:
            self._linking.leave(self.now(), self)
        self.flush()

    def evict(self, peer: Process, how: str = "evicted") -> None:
        """The peer will not come back: nobody here waits for it any more."""
        if peer in self.gone or self.error is not None:
            return
        self.flight.settle()
        self.groups.take_over()
        self.flush()
        if peer in self.gone:
            return  # By what the protocol has learnt meanwhile.
        how = "left" if how == "told" and peer in self.groups.leaving else how
        before = self.flight.held
        if self._linking is None:
            self.gone[peer] = "left" if how == "left" else "evicted"
        self.flight.evicting(peer)
        owed = self.machine.owed(peer) if isinstance(self.machine, Owing) else 0
        self._note_gone(peer, how, owed)
        self.machine.peer_down(peer, self.now(), self)
        self.carrier.forget(peer)
        self._backlog.forget(peer)
        level = "info" if how == "left" else "warning"
        tell(self.config.name, "peer gone", level=level, peer=peer, how=how, under_way=before)
        self.end_turn()

    def taken(self) -> None:
        """The application took, or acknowledged, a message."""
        if self._senders.waiting:
            self._senders.wake()
        if (self._backlog.frames or self._paused) and not self.inbox.full:
            if self._backlog.frames and not self._feeding:
                self._feeding = True
                self._loop.call_soon(self._feed_backlog)
            if self._paused:
                self._paused = False
                self.carrier.resume()

    def fail(self, error: Exception) -> None:
        """An invariant of ours is broken: the node ends, and says why to whoever waits."""
        if self.error is None or isinstance(self.error, Isolated):
            self.error = error
            tell(self.config.name, "failed", level="error", error=repr(error))
            self.inbox.close(error)
            self.inside.set()
            self.end(error)
            if not self.config.survives:
                self._say_goodbye()

    async def finish(self) -> None:
        """The last that is to be done before the end."""

    def end(self, error: Exception) -> None:
        """No more calls to the protocol."""
        self.error = self.error or error
        self._bind_run()
        self._timers.clear()
        self._backlog.clear()
        self.flight.close(error)
        self._senders.end()

    def check(self) -> None:
        if self.error is not None:
            raise self.error

    def _check_welcome(self) -> None:
        """Who waits for room waits for all peers."""
        self.check()
        self.groups.check()
        self.refusals.check(self.config.group)

    @property
    def busy(self) -> bool:
        """True while others may not have what was said here."""
        return self.flight.held > 0 or self._outbox.count > 0 or self.carrier.buffered() > 0

    def wall(self) -> Nanoseconds:
        """The time for the trace."""
        return self.now() + self._wall_ahead

    def record(self, *event: Any) -> None:
        if self.recorder is not None:
            self.recorder.add(event)

    def flush(self) -> None:
        """The end of a turn: the trace first, then the frames.

        A carrier that cannot send tells so at once, and what the protocol then says must not overtake what it
        had said before: it waits until the flush that is under way has come to it.
        """
        self._flush_due = False
        if self._flushing:
            return
        self._flushing = True
        try:
            while True:
                if self._runs is not None:
                    self._runs.close()
                if self.recorder is not None:
                    self.recorder.write()
                self._unflushed = 0
                for peer, box in self._outbox.take().items():
                    self.carrier.send(peer, box.frames)
                if not self._outbox.count:
                    break
        finally:
            self._flushing = False
        if self._senders.waiting:
            self._senders.wake()

    # -------------------------------------------------------------------------------- for the carrier

    def received(self, source: Process, messages: Sequence[Message]) -> None:
        if self.error is not None or source in self.gone:
            return
        now, declared = self.now(), self._declared
        for message in messages:
            gone_at, deferrable = declared.get(type(message)) or self._learn(type(message))
            if gone_at >= 0:
                # Even if the message itself has to wait: those who wait for the evicted must not.
                for peer in message[gone_at]:
                    # Of whom it has not heard yet, a newcomer learns what it was when it went.
                    if peer in self.config.peers:
                        self.evict(peer, "told")
            # Nor may it overtake what waits already: the protocol keeps only so much of what comes early.
            if deferrable and (self._backlog.frames or not self.inbox.has_room(message)):
                if not self._backlog.add(source, message):
                    self.refused["inbox full"] += 1  # It comes again.
            else:
                self._receive(source, message, now)
        if self._linking is not None and self.inbox.full and not self._paused:
            # On links nothing may be kept back: the transport stops reading instead.
            self._paused = True
            self.carrier.pause()

    def end_turn(self) -> None:
        if self.error is not None:
            return
        self.flight.settle()
        self.groups.take_over()
        if not self.inside.is_set() and (self.groups if self._linking is None else self._linking).inside:
            self.inside.set()
        if self.inbox.few and self._linking is None:
            # The application first: who is woken by an ack may take the processor that it needs.
            self._flush_soon()
        else:
            self.flush()
        self.groups.take_over()

    def met(self, peer: Process, incarnation: int, start: int) -> None:
        self.refusals.welcome(peer)
        if self.incarnations.get(peer) == incarnation:
            tell(
                self.config.name,
                "resumed",
                peer=peer,
                incarnation=incarnation,
                start=start >> START_COUNT_BIT,
            )
            return
        self.incarnations[peer] = incarnation
        self.record("p", peer, incarnation)
        tell(self.config.name, "met", peer=peer, incarnation=incarnation)

    def connected(self, peer: Process) -> None:
        if isinstance(self.machine, Owing):
            self._timers.hurry(self.machine.retries(peer))

    def lost(self, peer: Process) -> None:
        lids = self._lids.pop(peer, {})
        if self.error is None and self._linking is not None:
            for lid in lids:
                self._linking.link_down(lid, self.now(), self)
            self.end_turn()

    def said_bye(self, peer: Process) -> None:
        if self._linking is not None:
            return  # It has ended its links, which is all that anyone needs to know.
        self.evict(peer, "left")

    def turned_away(self, peer: Process, reason: str) -> None:
        if self.error is not None:
            return
        if peer in self.gone:
            # Each has evicted the other. Of two such parts one goes on.
            self._evictors.add(peer)
            if reason != EVICTED or not is_most(self._evictors, self.config.group):
                return
        if reason == STRANGER and self.groups.will_learn(peer):
            return
        self.refusals.turned_away(peer, reason)
        self._bind_run()
        if reason == EVICTED and self.groups.has_taken_leave:
            self.groups.end()
        elif reason == EVICTED:
            tell(
                self.config.name,
                "evicted",
                level="error",
                by=peer,
                advice="stop it; it cannot come back before the group starts anew",
            )
            self.fail(
                Evicted(f"{self.config.name} was evicted, says {peer}: nothing of it is let in any more")
            )
        elif reason == SUPERSEDED:
            self.fail(
                Superseded(
                    f"{peer} has heard a later start of {self.config.name}: it runs elsewhere, or its "
                    "directory was put back from an old backup"
                )
            )
        elif self.refusals.theirs:
            self._senders.end()

    def not_let_in(self, name: Process, reason: str) -> None:
        self.refusals.not_let_in(name, reason)

    def is_member(self) -> bool:
        return self.inside.is_set()

    def neighbours(self) -> set[Process]:
        return set() if self._linking is None else {peer for peer, _ in self._linking.links()}

    def apart(self, elsewhere: Address) -> None:
        self.elsewhere = elsewhere
        if self._linking is not None:
            self._linking.leave(self.now(), self)
        self.end_turn()
        self.isolation.set()

    def has_room(self) -> None:
        self._senders.wake()

    def failed(self, error: Exception) -> None:
        self.fail(error)

    # ------------------------------------------------------------------------------ for the protocol

    def send(self, targets: Sequence[Process], message: Message) -> None:
        for target in targets:
            self._outbox.add(target, message)
            if self._linking is not None:
                self._note_link(target, message, self._linking)

    def deliver(self, message_id: MessageId, payload: Any) -> None:
        if self.recorder is not None:
            self.recorder.add(("d", *message_id, self.wall()))
        if self._order is None:
            self.inbox.put(message_id, payload)
        else:
            self.inbox.put(message_id, payload.payload, payload.after, self._order)

    def deliver_run(self, origin: Process, incarnation: int, first: int, payloads: Sequence[Any]) -> None:
        if self._order is not None:
            for number, payload in enumerate(payloads, first):
                self.deliver(MessageId(origin, incarnation, number), payload)
            return
        if self.recorder is not None:
            wall = self.wall()
            for number in range(first, first + len(payloads)):
                self.recorder.add(("d", origin, incarnation, number, wall))
        self.inbox.put_run(origin, incarnation, first, payloads)

    def numbered(self, message_id: MessageId) -> None:
        self.record("s", message_id.number, self.wall(), ())

    def stable(self, message_id: MessageId) -> None:
        self.record("k", *message_id, self.wall())

    def admit(self, peer: Process, incarnation: int | None = None) -> None:
        self.record("a", peer, incarnation)

    def isolated(self) -> None:
        self.isolation.set()

    def arm(self, timer: Timer, deadline: Nanoseconds) -> None:
        self._timers.arm(timer, deadline)

    def disarm(self, timer: Timer) -> None:
        self._timers.disarm(timer)

    def choose(self, label: str, count: int) -> int:
        return self._chance.randrange(count)

    # ------------------------------------------------------------------------------------- the parts

    def _machine(self) -> Speaker:
        return machine_of(self.config, self.incarnation)

    def _note_gone(self, peer: Process, how: str, owed: int) -> None:
        self.record("x", peer, self.wall(), how, owed)

    def _say_goodbye(self) -> None:
        """It will never say anything again: nobody is to wait for it."""
        try:
            self.carrier.bye()
        except Exception as last:
            tell(self.config.name, "cannot say goodbye", level="warning", error=repr(last))

    def _say(self, targets: tuple[Process, ...], payloads: Sequence[bytes]) -> Receipt:
        if self.refusals.theirs:
            self.refusals.check(targets)
        size = len(payloads[0]) if len(payloads) == 1 else sum(map(len, payloads))
        if self._runs is not None:
            message_id = self._runs.add(targets, payloads, size)
        else:
            for payload in payloads:
                place = 0 if self.recorder is None else self.recorder.pending
                message_id = self._say_it(targets, payload, self.now(), self)
                self._record_said(place, message_id, 1, targets)
        self._unflushed += size
        receipt = Receipt(message_id, size, self.now(), len(payloads))
        if self.gone or self.groups.leaving:
            receipt.lost = self.groups.leaving.union(self.gone) & frozenset(targets)
        if not self.flight.tells:
            receipt.untold = self.entry.name
        self.flight.said(receipt)
        self._let_join()
        if self._outbox.count >= FLUSH_FRAMES:
            self._flush_due = True
            self._flush_if_due()
        else:
            self._flush_soon()
        return receipt

    def _let_join(self) -> None:
        """How much more may be said in this run without all these questions. None of the answers changes
        before it is closed; but for those who bind it (`Runs.bind`)."""
        runs, window = self._runs, self._window
        if runs is None or window is None or self._senders.waiting or self.gone or self.groups.leaving:
            return
        count, size = self._room(), window.bytes_left
        if runs.to_itself:
            count, size = self.inbox.left_for_own(len(runs.payloads), runs.size, count, size)
        if not self.refusals.theirs:
            runs.free(count, size)

    def _bind_run(self) -> None:
        if self._runs is not None:
            self._runs.bind()

    def _say_run(self, targets: tuple[Process, ...], payloads: list[bytes]) -> None:
        """What was gathered goes to the protocol."""
        place = 0 if self.recorder is None else self.recorder.pending
        last: MessageId = self._speaker.send_run(targets, payloads, self.now(), self)  # type: ignore[union-attr]
        self._record_said(place, last, len(payloads), targets)
        self.flight.settle()

    def _record_said(self, place: int, last: MessageId, count: int, targets: tuple[Process, ...]) -> None:
        """Before what the call delivered: these messages themselves, if they are for this node too."""
        if self.recorder is not None:
            audience, now = targets if self.entry.addressed else None, self.wall()
            for behind in range(count):
                self.recorder.insert(place, ("s", last.number - behind, now, audience))

    def _learn(self, kind: type) -> tuple[int, bool]:
        declared = declaration_of(kind)
        self._declared[kind] = declared.gone_at, declared.deferrable
        return self._declared[kind]

    def _receive(self, source: Process, message: Message, now: Nanoseconds) -> None:
        if self._linking is not None:
            self._note_link(source, message, self._linking)
        try:
            self.machine.receive(source, message, now, self)
        except Misbehaviour:
            self.refused["misbehaviour"] += 1

    def _expired(self, timer: Timer) -> None:
        if self.error is None:
            try:
                self.machine.expire(timer, self.now(), self)
                self.end_turn()
            except Exception as error:
                self.fail(error)

    def _flush_soon(self) -> None:
        if not self._flush_due:
            self._flush_due = True
            self._loop.call_soon(self._flush_if_due)

    def _flush_if_due(self) -> None:
        if self._flush_due:
            try:
                self.flush()
                self.groups.take_over()
            except Exception as error:
                self.fail(error)

    def _feed_backlog(self) -> None:
        self._feeding = False
        try:
            now = self.now()
            backlog, inbox = self._backlog, self.inbox
            while backlog.frames and self.error is None and inbox.has_room(backlog.frames[0][1]):
                self._receive(*backlog.take(), now)
            self.end_turn()
        except Exception as error:
            self.fail(error)

    def _room(self) -> int:
        """For how many more messages: what this node says to itself must be taken, too."""
        if self._runs is not None and self._runs.to_itself:
            self._runs.close_if(self.inbox.fills_with_own)
        return min(self.flight.room(), self.inbox.room_for_own)

    def _warn_if_deaf(self) -> None:
        if self.inbox.room_for_own <= 0:
            advice = "take messages in a task of its own"
            tell(
                self.config.name,
                "speaks and does not hear",
                level="warning",
                inbox=self.inbox.messages,
                advice=advice,
            )

    def _towards_links(self) -> int:
        """Bytes that may wait towards one peer."""
        return self.carrier.buffered() + self._unflushed

    def _note_link(self, peer: Process, message: Message, linking: Linking) -> None:
        lid = declaration_of(type(message)).link(message)
        if lid is not None:
            lids = self._lids.setdefault(peer, {})
            lids[lid] = None
            if len(lids) > LIDS_MAX:
                used = {lid for _, lid in linking.links()}
                for old in [each for each in lids if each not in used][: LIDS_MAX // 2]:
                    del lids[old]
