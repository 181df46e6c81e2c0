"""One protocol object, and what it asks for: its effects, its timers, its end.

All happens in the loop's thread, in turns: some calls to the protocol, then one flush. A flush writes the
trace and then hands all frames of the turn to the carrier, so that nothing leaves that is not on record.
"""

import asyncio
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any, Self

from aforesaid.core import (
    Linking,
    Message,
    MessageId,
    Nanoseconds,
    Process,
    Speaker,
    TakesRuns,
    Timer,
    order_of,
    saying,
)
from aforesaid.ground import ground
from aforesaid.node.building import flight_of, machine_of
from aforesaid.node.carrying.carrier import Carrier
from aforesaid.node.config import Config
from aforesaid.node.endings import Isolated
from aforesaid.node.groups import Groups
from aforesaid.node.inbox import Inbox
from aforesaid.node.links_used import LinksUsed
from aforesaid.node.operating.logs import tell
from aforesaid.node.outbox import Outbox
from aforesaid.node.recording.receipts import Receipts
from aforesaid.node.recording.segments import Recorder
from aforesaid.node.refusals import Refusals
from aforesaid.node.runs import runs_of
from aforesaid.node.senders import Senders
from aforesaid.node.timers import Timers


class Turns(TakesRuns):
    """The protocol of one node, and its effects sink."""

    groups: Groups
    """Set by the host."""

    def __init__(
        self, config: Config, incarnation: int, inbox: Inbox, carrier: Callable[[Self], Carrier]
    ) -> None:
        self.config = config
        self.incarnation = incarnation
        self.start = 0
        """Which start of it, if it survives its starts."""
        self.entry = config.entry
        self._speaker: Speaker = self._machine()
        self._say_it = saying(self._speaker)
        self._linking = self._speaker if isinstance(self._speaker, Linking) else None
        self._links_used = None if self._linking is None else LinksUsed(self._linking)
        self._neighbours: frozenset[Process] | None = None
        """To whom there are links; None: the protocol has to be asked."""
        self._order = order_of(self._speaker)
        self.carrier = carrier(self)
        self._runs = runs_of(self._speaker, config, self._say_run, self.carrier)
        self.inbox = inbox
        self.refusals = Refusals(config)
        self.recorder: Recorder | None = None
        self.receipts: Receipts | None = None
        """The recorder, if it is to tell how messages came."""
        self.refused: Counter[str] = self.carrier.refused
        self.isolation: asyncio.Event = asyncio.Event()
        """Set when this incarnation has lost its group (prc_spray)."""
        self.inside: asyncio.Event = asyncio.Event()
        """Set once this incarnation is a member of its group."""
        self.error: Exception | None = None
        self.flight = flight_of(self._runs or self._speaker, config, self._towards_links)
        self._loop = asyncio.get_running_loop()
        self._timers = Timers(self._expired)
        self._outbox = Outbox()
        self._stirred = False
        """Set when the protocol sends or delivers."""
        self._flush_due = False
        self._flushing = False
        self._unflushed = 0
        """Bytes of payload that were said since the last flush."""
        self._senders = Senders(self._room, self._check_welcome)
        self._chance = ground().chance
        self.now: Callable[[], Nanoseconds] = ground().monotonic_ns
        self._wall_ahead = ground().time_ns() - self.now()

    @property
    def machine(self) -> Speaker:
        """The protocol, which has heard all that was said."""
        if self._runs is not None and self._runs.payloads:
            self._runs.close()
        return self._speaker

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

    def record_with_receipts(self, recorder: Recorder) -> None:
        self.recorder = self.receipts = Receipts(
            recorder, self.config.name, self.config.group, self._speaker, self.wall
        )

    def happened(self, kind: str, peer: Process) -> None:
        """To a link, or to what is thought of a peer: for whoever looks into the trace."""
        if self.receipts is not None:
            self.receipts.happened(kind, peer)

    def check(self) -> None:
        if self.error is not None:
            raise self.error

    # -------------------------------------------------------------------------------------------- turns

    def end_turn(self) -> None:
        self._neighbours = None
        if self.error is not None:
            return
        self.flight.settle()
        self.groups.take_over()
        if self.receipts is not None:
            self.receipts.settle()
        if not self.inside.is_set() and (self.groups if self._linking is None else self._linking).inside:
            self.inside.set()
        if self.inbox.few and self._linking is None:
            # The application first: who is woken by an ack may take the processor that it needs.
            self._flush_soon()
        else:
            self.flush()
            self.groups.take_over()

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

    def _expired(self, timer: Timer) -> None:
        if self.error is None:
            try:
                self.machine.expire(timer, self.now(), self)
                self.end_turn()
            except Exception as error:
                self.fail(error)

    # ------------------------------------------------------------------------------------------ the end

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
        self.flight.close(error)
        self._senders.end()

    def _say_goodbye(self) -> None:
        """It will never say anything again: nobody is to wait for it."""
        try:
            self.carrier.bye()
        except Exception as last:
            tell(self.config.name, "cannot say goodbye", level="warning", error=repr(last))

    # --------------------------------------------------------------------------------- for the protocol

    def send(self, targets: Sequence[Process], message: Message) -> None:
        self._stirred = True
        if self.receipts is not None:
            self.receipts.leaves(targets, message)
        for target in targets:
            self._outbox.add(target, message)
            if self._links_used is not None:
                self._links_used.note(target, message)

    def deliver(self, message_id: MessageId, payload: Any) -> None:
        self._stirred = True
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

    # ---------------------------------------------------------------------------------------- the parts

    def _machine(self) -> Speaker:
        return machine_of(self.config, self.incarnation)

    def _say_run(self, targets: tuple[Process, ...], payloads: list[bytes]) -> None:
        """What was gathered goes to the protocol."""
        recorder = self.recorder
        place = 0 if recorder is None else recorder.pending
        last: MessageId = self._speaker.send_run(targets, payloads, self.now(), self)  # type: ignore[union-attr]
        if recorder is not None:
            self._record_said(place, last, len(payloads), targets)
        if self._speaker.stable_below > last.number:  # type: ignore[union-attr]
            # It was for nobody else.
            self.flight.settle()

    def _record_said(self, place: int, last: MessageId, count: int, targets: tuple[Process, ...]) -> None:
        """Before what the call delivered: these messages themselves, if they are for this node too."""
        if self.recorder is not None:
            audience, now = targets if self.entry.addressed else None, self.wall()
            for behind in range(count):
                self.recorder.insert(place, ("s", last.number - behind, now, audience))
        if self.receipts is not None:
            self.receipts.said(last, count, targets)

    def _bind_run(self) -> None:
        if self._runs is not None:
            self._runs.bind()

    def _room(self) -> int:
        """For how many more messages: what this node says to itself must be taken, too."""
        if self._runs is not None and self._runs.to_itself:
            self._runs.close_if(self.inbox.fills_with_own)
        return min(self.flight.room(), self.inbox.room_for_own)

    def _check_welcome(self) -> None:
        """Who waits for room waits for all peers."""
        self.check()
        self.groups.check()
        self.refusals.check(self.config.group)

    def _towards_links(self) -> int:
        """Bytes that may wait towards one peer."""
        return self.carrier.buffered() + self._unflushed
