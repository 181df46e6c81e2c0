"""Writes down when each message reached each process, and what it waited for: a run's receipts.

What is said travels wrapped in `Said`, which is the payload to every protocol. A frame's declared types tell
where payloads are in it (`core.fields.marked`), so whatever the algorithm, it is seen which message comes
with it. If the process does not deliver it in that turn, the message *lies* there, and the protocol is asked
why. It is asked again when what it named is delivered and the message still lies. What an origin has not sent
to everyone when the call returns is *held*, until it leaves for the peer that the protocol named when it was
asked. About what does not wait it is asked nothing.
"""

from collections.abc import Callable, Sequence
from operator import attrgetter
from typing import TYPE_CHECKING, Any

from aforesaid.core import MessageId, Nanoseconds, Process, Reason
from aforesaid.core.fields import PAYLOAD, marked, way_to
from aforesaid.core.reasons import HELD, LYING, whom
from aforesaid.trace import Tracer
from aforesaid.trace.story import SINCE_SAID

if TYPE_CHECKING:
    from aforesaid.sim.seat import Seat

DELIVERIES_MAX = 1_000_000
"""Unless a scenario asks for receipts, a run of more deliveries has none."""

EARLIER = -2
"""In the place of a source: the message did not come in this turn."""

FRAMES_MAX = 1024
"""So many frames that bring several messages are remembered."""


class Said:
    """What is said, while it is under way: which message it is, and whom it has reached."""

    __slots__ = ("by", "message", "message_id", "payload", "reached")

    def __init__(self, payload: Any, by: int) -> None:
        self.payload = payload
        self.by = by
        self.reached = {by}
        self.message_id: MessageId
        self.message = -1
        """Its index in the trace; -1 until its origin has said it."""


class Several:
    """What a frame brings that brings not just one, or nothing, and whom it has reached."""

    __slots__ = ("frame", "reached", "said")

    def __init__(self, frame: Any = None, said: tuple[Said, ...] = ()) -> None:
        self.frame, self.said = frame, said
        self.reached: set[int] = set()


class Lying:
    """A message that came and is not delivered: since when, and why; and what it waited for before that."""

    __slots__ = ("before", "cause", "kind", "peer", "said", "since", "source")

    def __init__(self, said: Said, source: int, now: Nanoseconds) -> None:
        self.said, self.source, self.since = said, source, now
        self.kind, self.peer, self.cause = "", -1, -1
        self.before: list[tuple[str, int, int, Nanoseconds]] = []


class Receiving:
    """The receipts of one run, written into its tracer's chronicle. Its seats hold what a turn brings."""

    def __init__(self, tracer: Tracer, seats: "dict[Process, Seat]") -> None:
        self._tracer = tracer
        self._chronicle = tracer.chronicle
        self._at_once = tracer.chronicle.at_once
        self._seats = seats
        self._places: dict[type, int | None] = {}
        """By kind of frames, what `way_to` tells."""
        self.ways: dict[type, Callable[[Any], Any]] = {}
        """By kind of frames, what finds in them what they bring. Most bring a seat what has reached it
        before: the simulation looks by these, and calls `comes` for the others only."""
        self._several: dict[int, Several] = {}
        """By their ids, frames that were looked into."""
        self._nothing = Several()
        self._lying: dict[tuple[int, int], Lying] = {}
        self._awaited: dict[tuple[int, int], list[Lying]] = {}
        """By process and message, what lies there until that message is delivered."""

    def says(self, seat: "Seat", payload: Any, targets: Sequence[Process]) -> Said:
        """A process is about to say something. Who broadcasts, to no targets, holds nothing back."""
        said = Said(payload, seat.index)
        if targets and seat.explaining is not None:
            seat.held[said] = dict.fromkeys(targets)
        return said

    def said(self, seat: "Seat", said: Said, audience: Sequence[int] | None) -> None:
        """It has said it, and its tracer knows it. What has left for everyone was not held back."""
        if audience is None or seat.index in audience:
            seat.fresh[said] = -1
        if seat.explaining is not None and (said in seat.held or seat.linking is not None):
            # The first reason for each peer: one more may follow, but none is needed to go on.
            reasons = reversed(seat.explaining.reasons(said.message_id))
            seat.held[said] = {whom(reason): reason for reason in reasons if reason.kind in HELD}
            if not seat.held[said]:
                del seat.held[said]

    def leaves(self, seat: "Seat", targets: Sequence[Process], frame: Any, now: Nanoseconds) -> None:
        """A frame leaves where something is held, perhaps with that."""
        brought = self._walk(frame)
        for said in (brought,) if isinstance(brought, Said) else brought.said:
            waits = seat.held.get(said)
            if waits is None:
                continue
            for peer in [peer for peer in waits if peer is None or peer in targets]:
                reason = waits.pop(peer)
                # While it is being said, nobody has asked why it might wait.
                if reason is not None:
                    self._wait(said, reason, now)
            if not waits:
                del seat.held[said]

    def comes(self, seat: "Seat", source: Process, frame: Any) -> None:
        """A frame is about to be received that may bring something new."""
        index = seat.index
        try:
            brought = (self.ways.get(type(frame)) or self._learn(frame))(frame)
            reached = brought.reached
        except AttributeError:
            # Inside it is of another kind than the first one was.
            self.ways[type(frame)] = self._walk
            brought = self._walk(frame)
            reached = brought.reached
        if index in reached:
            return
        reached.add(index)
        if type(brought) is Said:
            seat.fresh[brought] = self._seats[source].index
            return
        for said in brought.said:
            if index not in said.reached:
                said.reached.add(index)
                seat.fresh[said] = self._seats[source].index

    def _learn(self, frame: Any) -> Callable[[Any], Any]:
        """If this frame brings one message, those of its kind are taken to have it in the same place."""
        path: list[str] = []
        inside, place = frame, self._place(type(frame))
        while place is not None and place >= 0:
            path.append(inside._fields[place])
            inside = inside[place]
            place = self._place(type(inside))
        way: Callable[[Any], Any] = self._walk
        if type(inside) is Said:
            way = attrgetter(".".join(path))
        elif not hasattr(inside, "_fields") and _inside(inside) is not None:
            way = attrgetter(".".join((*path, "payload")))
        elif place is not None and not path:
            nothing = self._nothing
            way = lambda _: nothing  # noqa: E731
        self.ways[type(frame)] = way
        return way

    def _walk(self, frame: Any) -> Said | Several:
        """What a frame brings, whatever is inside."""
        places = self._places
        while type(frame) is not Said:
            kind = type(frame)
            place = places[kind] if kind in places else self._place(kind)
            if place is None:
                return self._several.get(id(frame)) or self._look_into(frame)
            if place < 0:
                return self._nothing
            frame = frame[place]
        return frame

    def _look_into(self, frame: Any) -> Several:
        """Frames are relayed as they are: what is found is kept by the frame's id, and so is the frame."""
        # What is no frame stands where a layer above has its own: it is the payload itself.
        payloads = marked(frame, PAYLOAD) if hasattr(frame, "_fields") else (frame,)
        found = (payload if type(payload) is Said else _inside(payload) for payload in payloads)
        if len(self._several) >= FRAMES_MAX:
            self._several.clear()
        several = self._several[id(frame)] = Several(frame, tuple(said for said in found if said is not None))
        return several

    def _place(self, kind: type) -> int | None:
        self._places[kind] = way_to(kind, PAYLOAD)
        return self._places[kind]

    def delivered(self, seat: "Seat", said: Said, position: int, now: Nanoseconds) -> None:
        """The tracer knows of this delivery already."""
        index = seat.index
        source = seat.fresh.pop(said, EARLIER)
        if source == EARLIER:
            self._delivered_later(index, said, position, now)
        elif said.by != index:
            # `Chronicle.receipt`, without the call.
            self._at_once[index].append(position << 32 | source + 1)
        if self._awaited:
            for lying in self._awaited.pop((index, said.message), ()):
                seat.fresh[lying.said] = EARLIER

    def _delivered_later(self, index: int, said: Said, position: int, now: Nanoseconds) -> None:
        lying = self._lying.pop((index, said.message), None)
        if lying is not None:
            for kind, peer, cause, waited in (*lying.before, _reason_row(lying, now)):
                self._chronicle.waited(index, position, lying.source, kind, peer, cause, waited)
        elif said.by != index:
            self._chronicle.receipt(index, position, -1)

    def settle(self, seat: "Seat", now: Nanoseconds) -> None:
        """The turn is over: what came and was not delivered lies here, and what lies may wait for more."""
        if seat.held and seat.linking is not None:
            self._let_go(seat, now)
        fresh, seat.fresh = seat.fresh, {}
        for said, source in fresh.items():
            key = seat.index, said.message
            if source != EARLIER:
                lying = self._lying[key] = Lying(said, source, now)
            elif key in self._lying:
                lying = self._lying[key]
                lying.before.append(_reason_row(lying, now))
                lying.since = now
            else:
                continue
            if not self._ask(seat, lying):
                # It was refused, with the link it came on: if it is delivered, then because it comes again.
                del self._lying[key]
                said.reached.discard(seat.index)

    def close(self) -> None:
        """The run is over: what still waits has no delivery to be told by."""
        for (process, message), lying in self._lying.items():
            since = lying.since - sum(row[3] for row in lying.before)
            for kind, peer, cause, waited in lying.before:
                self._chronicle.wait(process, message, lying.source, kind, peer, cause, since, since + waited)
                since += waited
            self._chronicle.wait(process, message, lying.source, lying.kind, lying.peer, lying.cause, since)
        still = [held for seat in self._seats.values() for held in seat.held.items()]
        for said, waits in sorted(still, key=lambda one: one[0].message):
            for reason in waits.values():
                if reason is not None:
                    self._wait(said, reason, -1)

    def _let_go(self, seat: "Seat", now: Nanoseconds) -> None:
        """A link that is given up waits for nothing. What was said first goes first, so the oldest tells."""
        still: set[Process | None] = set()
        for said, waits in list(seat.held.items()):
            for peer, reason in list(waits.items()):
                if reason is None or reason.kind != "handshake" or peer in still:
                    continue
                reasons = () if seat.explaining is None else seat.explaining.reasons(said.message_id)
                if any(each.kind == "handshake" and each.peer == peer for each in reasons):
                    still.add(peer)
                else:
                    self._wait(said, waits.pop(peer)._replace(kind="given up"), now)  # type: ignore[union-attr]
            if not waits:
                del seat.held[said]

    def _ask(self, seat: "Seat", lying: Lying) -> bool:
        """Whether it lies here; if that is not known, it is taken to."""
        lying.kind, lying.peer, lying.cause = "", -1, -1
        if seat.explaining is None:
            return True
        for reason in seat.explaining.reasons(lying.said.message_id):
            if reason.kind == "at once":
                return False
            if reason.kind in LYING:
                lying.kind, lying.peer, lying.cause = self._row(reason)
                if lying.cause >= 0:
                    self._awaited.setdefault((seat.index, lying.cause), []).append(lying)
                break
        return True

    def _wait(self, said: Said, reason: Reason, until: Nanoseconds) -> None:
        """It was held back where it was said."""
        self._chronicle.wait(said.by, said.message, -1, *self._row(reason), SINCE_SAID, until)

    def _row(self, reason: Reason) -> tuple[str, int, int]:
        """A reason's kind, peer and cause as the trace has them."""
        peer = -1 if reason.peer is None else self._seats[reason.peer].index
        return reason.kind, peer, -1 if reason.cause is None else self._tracer.known(reason.cause)


def _inside(payload: Any) -> Said | None:
    """What was said, where messages carry what they follow; None: it was said before anybody looked."""
    inside = getattr(payload, "payload", None)
    return inside if type(inside) is Said else None


def _reason_row(lying: Lying, now: Nanoseconds) -> tuple[str, int, int, Nanoseconds]:
    return lying.kind, lying.peer, lying.cause, now - lying.since
