"""How each message came to a node and what it waited for there: told to the recorder beside deliveries.

`Receipts` stands before the segments' writer. Most of what arrives is delivered in the same turn, straight
from its author, and costs no byte: the reader of the segments takes it so. It is told when another process
handed a message on, and when it waited. What came and was not delivered when the turn is over *lies*, if the
protocol knows it and can say why; it is asked again when what it named is delivered. What was said here and
has not left for everyone is *held*, until it leaves for the peer that the protocol named.

Which messages a frame brings is told by the ids in it, or else by its declaration (`core.frames`). A protocol
that explains nothing lets nothing lie, as far as this can tell.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import Any, TypeAlias

from aforesaid.core import (
    MICROSECOND,
    Explaining,
    Linking,
    MessageId,
    Nanoseconds,
    Process,
    Reason,
    Speaker,
    declaration_of,
)
from aforesaid.core.fields import PAYLOAD, marked
from aforesaid.core.reasons import HELD, LYING, whom
from aforesaid.node.recording.segments import Recorder
from aforesaid.wire.segments import WAIT_KINDS, Event

NO_ROOM = "no room"
HANDSHAKE = "handshake"

EARLIER = ""
"""In the place of a source: the message did not come in this turn."""

LYING_MAX = 2**14
"""Of so many messages at a time it is told what they wait for; of more, only that they were delivered."""

Named: TypeAlias = int | Process | None
"""A process as it stands in a segment."""
Row: TypeAlias = tuple[int, Named, Named, int, int]
"""What it waited for: kind by number, peer, message as author and number; and how many microseconds."""


class _Lying:
    """A message that came and is not delivered, since when and why, and what it waited for before that."""

    __slots__ = ("before", "came", "reason", "since", "source")

    def __init__(self, source: Process, reason: Reason, now: Nanoseconds) -> None:
        self.source, self.reason = source, reason
        self.came = self.since = now
        self.before: list[tuple[Reason, Nanoseconds]] = []

    def turns_to(self, reason: Reason, now: Nanoseconds) -> None:
        self.before.append((self.reason, now - self.since))
        self.reason, self.since = reason, now

    def waits(self, now: Nanoseconds) -> list[tuple[Reason, Nanoseconds]]:
        return [*self.before, (self.reason, now - self.since)]


class Receipts:
    """A recorder before another one."""

    def __init__(
        self,
        recorder: Recorder,
        me: Process,
        group: Sequence[Process],
        machine: Speaker,
        wall: Callable[[], Nanoseconds],
    ) -> None:
        """`group`: as it stands in the first record of each segment."""
        self._recorder = recorder
        self._me = me
        self._places = {name: place for place, name in enumerate(group)}
        self._machine = machine if isinstance(machine, Explaining) else None
        self._links = isinstance(machine, Linking)
        self._wall = wall
        self._fresh: dict[MessageId, Process] = {}
        """What came in this turn, and from whom; or is to be asked about again."""
        self._lying: dict[MessageId, _Lying] = {}
        self._awaited: dict[tuple[Process, int], list[MessageId]] = {}
        """By author and number, what lies here until that message is delivered."""
        self._held: dict[int, tuple[int, Nanoseconds, dict[Process | None, Reason]]] = {}
        """By the last number of what was said at once: how many, since when, and for whom it waits why."""
        self._left: dict[tuple[int, str, MessageId | None], tuple[int, Reason, Nanoseconds]] = {}
        """What left in this turn after a wait: by number and what it waited for, how many and how long."""
        self._linked: set[Process] = set()

    # ---------------------------------------------------------------------------------- as a recorder

    @property
    def pending(self) -> int:
        return self._recorder.pending

    def add(self, event: Event, /) -> None:
        if event[0] == "e":
            self._still_waiting()
        self._recorder.add(event)
        if event[0] == "d":
            self._delivered(MessageId(*event[1:4]), event[4])

    def insert(self, place: int, event: Event, /) -> None:
        self._recorder.insert(place, event)

    def write(self) -> None:
        self._tell_left()
        self._recorder.write()

    def mark(self) -> tuple[int, int]:
        self._tell_left()
        return self._recorder.mark()

    def close(self) -> None:
        self._recorder.close()

    # ------------------------------------------------------------------------------------ for the host

    def happened(self, kind: str, peer: Process) -> None:
        """Something that is no message. A link that is said to open twice, or to close without, is one."""
        if (kind == "open" and peer in self._linked) or (kind == "close" and peer not in self._linked):
            return
        if kind == "open":
            self._linked.add(peer)
        elif kind == "close":
            self._linked.remove(peer)
        self._recorder.add(("v", kind, self._named(peer), self._wall()))

    def comes(self, source: Process, frame: Any) -> None:
        """A frame is about to be received."""
        for message_id in messages_in(frame, source):
            lying = self._lying.get(message_id)
            if lying is None:
                self._fresh.setdefault(message_id, source)
            elif lying.reason.kind == NO_ROOM:
                self._fresh[message_id] = EARLIER

    def waits_outside(self, source: Process, frame: Any) -> None:
        """A frame came that the protocol is not given yet: the inbox is full."""
        for message_id in messages_in(frame, source):
            if message_id not in self._lying and len(self._lying) < LYING_MAX:
                reason = Reason(NO_ROOM, message_id, holder=self._me)
                self._lying[message_id] = _Lying(source, reason, self._wall())

    def settle(self) -> None:
        """The turn is over."""
        if self._held and self._links:
            self._let_go()
        if not self._fresh:
            return
        fresh, self._fresh = self._fresh, {}
        now = self._wall()
        for message_id, source in fresh.items():
            lying = self._lying.get(message_id)
            reason = self._why(message_id)
            if reason is None:
                # A copy of what was delivered, or something that the protocol dropped.
                if lying is not None and lying.reason.kind == NO_ROOM:
                    del self._lying[message_id]
                continue
            if lying is not None:
                lying.turns_to(reason, now)
            elif source != EARLIER and len(self._lying) < LYING_MAX:
                self._lying[message_id] = _Lying(source, reason, now)
            if reason.cause is not None:
                key = reason.cause.origin, reason.cause.number
                self._awaited.setdefault(key, []).append(message_id)

    def said(self, last: MessageId, count: int, targets: Sequence[Process]) -> None:
        """These were said at once. What has left for everyone was not held back."""
        if self._machine is None or not (targets or self._links):
            return
        # The first reason for each peer: more may follow, but that one is enough to wait for.
        reasons = {whom(each): each for each in reversed(self._machine.reasons(last)) if each.kind in HELD}
        if reasons:
            self._held[last.number] = (count, self._wall(), reasons)

    def leaves(self, targets: Sequence[Process], frame: Any) -> None:
        """A frame is sent; perhaps something that was held leaves with it."""
        if not self._held:
            return
        for message_id in messages_in(frame, self._me):
            if message_id.origin == self._me and (held := self._held.get(message_id.number)):
                count, since, reasons = held
                for reason in _popped(reasons, targets):
                    key = message_id.number, reason.kind, reason.cause
                    # To several in one turn, after the same wait: that is told once.
                    told = reason if key not in self._left else reason._replace(peer=None)
                    self._left[key] = count, told, self._wall() - since
                if not reasons:
                    del self._held[message_id.number]

    def gone(self, peer: Process) -> None:
        """What was held back for it waits for nothing any more."""
        now = self._wall()
        for number, (count, since, reasons) in list(self._held.items()):
            if (reason := reasons.pop(peer, None)) is not None:
                self._tell_held(number, count, reason._replace(kind="evicted", cause=None), now - since)
            if not reasons:
                del self._held[number]

    # --------------------------------------------------------------------------------------- the parts

    def _let_go(self) -> None:
        """A link that is given up waits for nothing. What was said first goes first, so the oldest tells."""
        still: set[Process | None] = set()
        for number, (count, since, reasons) in list(self._held.items()):
            for peer, reason in list(reasons.items()):
                if reason.kind == HANDSHAKE and peer not in still:
                    if any(each[:3] == reason[:3] for each in self._reasons(reason.message)):
                        still.add(peer)
                    else:
                        del reasons[peer]
                        told = reason._replace(kind="given up")
                        self._tell_held(number, count, told, self._wall() - since)
            if not reasons:
                del self._held[number]

    def _reasons(self, message_id: MessageId) -> Sequence[Reason]:
        return () if self._machine is None else self._machine.reasons(message_id)

    def _delivered(self, message_id: MessageId, now: Nanoseconds) -> None:
        source = self._fresh.pop(message_id, None)
        lying = self._lying.pop(message_id, None)
        origin = message_id.origin
        if lying is not None:
            self._recorder.add(("r", self._through(lying.source, origin), self._rows(lying, now)))
        elif origin != self._me and source != origin:
            # Nobody saw it come: it was fetched with the past of the group.
            self._recorder.add(("r", self._named(source) if source else "", ()))
        for waiting in self._awaited.pop((origin, message_id.number), ()):
            self._fresh.setdefault(waiting, EARLIER)

    def _why(self, message_id: MessageId) -> Reason | None:
        if self._machine is None or message_id.origin == self._me:
            return None
        return next((each for each in self._machine.reasons(message_id) if each.kind in LYING), None)

    def _tell_left(self) -> None:
        left, self._left = self._left, {}
        for (last, _, _), (count, reason, waited) in left.items():
            self._tell_held(last, count, reason, waited)

    def _still_waiting(self) -> None:
        """The end: what waits has no delivery, and no frame, to be told by."""
        self._tell_left()
        now = self._wall()
        for message_id, lying in self._lying.items():
            source = self._through(lying.source, message_id.origin)
            self._recorder.add(("l", *message_id, source, lying.came, self._rows(lying, now)))
        for number, (count, _, reasons) in self._held.items():
            for reason in reasons.values():
                self._tell_held(number, count, reason, None)
        self._lying.clear()
        self._held.clear()

    def _tell_held(self, last: int, count: int, reason: Reason, waited: Nanoseconds | None) -> None:
        self._recorder.add(("h", last - count + 1, count, self._row(reason, waited)))

    def _rows(self, lying: _Lying, now: Nanoseconds) -> list[Row]:
        return [self._row(*wait) for wait in lying.waits(now)]

    def _row(self, reason: Reason, waited: Nanoseconds | None) -> Row:
        cause = reason.cause
        author, number = (None, 0) if cause is None else (self._named(cause.origin), cause.number)
        us = -1 if waited is None else waited // MICROSECOND
        return WAIT_KINDS.index(reason.kind), self._named(reason.peer), author, number, us

    def _through(self, source: Process, origin: Process) -> Named:
        return None if source == origin else self._named(source)

    def _named(self, process: Process | None) -> Named:
        return None if process is None else self._places.get(process, process)


def _popped(reasons: dict[Process | None, Reason], targets: Sequence[Process]) -> list[Reason]:
    return [reasons.pop(peer) for peer in list(reasons) if peer is None or peer in targets]


def messages_in(frame: Any, source: Process) -> Iterator[MessageId]:
    """The messages of the application that a frame brings, one that `source` sent."""
    kind = type(frame)
    numbered = declaration_of(kind).numbered_at
    if numbered is not None:
        last = frame[numbered[1]]
        for number in range(last - len(marked(frame, PAYLOAD)) + 1, last + 1):
            yield MessageId(source, frame[numbered[0]], number)
    elif kind is MessageId:
        if frame.number > 0:  # Below are those of an overlay's own.
            yield frame
    # In what brings nothing there may be ids, too: those of acknowledgments.
    elif isinstance(frame, tuple) and (not hasattr(frame, "_fields") or marked(frame, PAYLOAD)):
        for part in frame:
            yield from messages_in(part, source)
