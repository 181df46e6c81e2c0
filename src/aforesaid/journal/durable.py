"""A machine with its journal: it begins, it goes on, and after a crash it comes back as itself.

Law: frames, deliveries and all else that can be seen from outside are held until what they rest on is forced
to the disk. After a crash the machine is where its last durable input left it. Frames that had not left are
lost, as frames may be, and the timers that send them again are armed again. Deliveries have numbers, their
offsets, in the order in which the machine made them. Those that the application has not acknowledged come
again, in order: at least once; and exactly once if the application keeps the offset with its own state, and
names it when it resumes.

The machine's clock goes on where it was, whatever the host's says: `ahead_ns` is between them. Time in which
it was not there does not count: it would be taken for the time that an answer took.
"""

import pickle
from collections.abc import Callable, Iterable, Sequence
from itertools import takewhile
from typing import Any, Protocol, TypeAlias

from aforesaid.core import Effects, Message, MessageId, Misuse, Nanoseconds, Payload, Process, Speaker, Timer
from aforesaid.journal.committing import GroupCommit, Window
from aforesaid.journal.journal import Journal
from aforesaid.journal.telling import Frames, ToldMachine, speaker_of, unpacked

_ACK, _NOTE = b"a", b"n"
"""What a record holds that is no input of the machine: up to which delivery the application has all, or what
the host has noted."""

Effect: TypeAlias = tuple[Any, ...]
"""A call of the host's, and its arguments."""

Hand: TypeAlias = Callable[[int, MessageId, Payload], None]
"""Takes a delivery to the application, with its offset."""

SAYING = frozenset(("broadcast", "send", "send_run"))
LOGGED = SAYING | {"peer_down"}


class Log(Protocol):
    """Where a host writes down what happens, in its order. After a crash it is told again what happened since
    the last snapshot, some of which it has."""

    def called(self, name: str, told: Sequence[Any], result: Any) -> None:
        """The machine was told one of `LOGGED`, with this result; before what came of it."""

    def delivered(self, message_id: MessageId) -> None:
        """Before the application has it."""


class Durable:
    """Stands between a host and a machine, and is the machine's effects sink. Hosts call `speaker`."""

    def __init__(
        self,
        journal: Journal,
        window: Window,
        build: Callable[[], Speaker],
        host: Effects,
        hand: Hand,
        now: Nanoseconds,
        log: Log | None = None,
        noted: dict[Any, Any] | None = None,
        frames: Callable[[dict[Any, Any]], Frames] | None = None,
    ) -> None:
        """`frames`: the format of the frames in this journal, by what the host had noted at its snapshot."""
        self.journal = journal
        self._commits: GroupCommit[Effect] = GroupCommit(journal, window)
        self._hold = self._commits.hold
        self._host, self._hand, self._log = host, hand, log
        self.noted: dict[Any, Any] = noted or {}
        """What the host knows and the machine does not; given for the first start."""
        self.said: MessageId | None = None
        """The last message of its own."""
        self.offset = 0
        """Of the last delivery that the machine made."""
        self.unacknowledged: dict[int, tuple[MessageId, Payload]] = {}
        """By offset, what may have to be handed to the application again."""
        self._cursor = 0
        """Up to here the journal knows that the application has all."""
        self._repeated: list[Effect] = []
        """What the journal says was let go, or would have been: in its order, until `resume`."""
        self._now = now
        self.ahead_ns: Nanoseconds = 0
        """How far the machine's clock is ahead of the host's."""
        if journal.recovered.snapshot is None:
            self._told = ToldMachine(build(), self._input, frames and frames(self.noted))
            self.snapshot()
        else:
            self._come_back(journal.recovered.snapshot, journal.recovered.records, frames)
            self.ahead_ns = self._told.now - now
        self.speaker = speaker_of(self)

    # -------------------------------------------------------------------------------- for the host

    @property
    def machine(self) -> Speaker:
        return self._told.machine

    @property
    def due_ns(self) -> Nanoseconds | None:
        """When a commit is due by the host's clock; None: nothing waits for one."""
        return self._commits.due_ns

    @property
    def waiting(self) -> int:
        """How many effects wait for the disk."""
        return len(self._commits.held)

    @property
    def cursor(self) -> int:
        """Up to here the application has acknowledged all."""
        return next(iter(self.unacknowledged), self.offset + 1) - 1

    def resume(self, offset: int | None = None) -> None:
        """The first call after a start: the application has all deliveries up to this offset; None: up to
        where it acknowledged them.

        Arms the timers, and hands on what the application lacks; calls of stable messages and of members come
        again where they stood.
        """
        first = next(iter(self.unacknowledged), self.offset + 1)
        if offset is None:
            offset = first - 1
        if not first - 1 <= offset <= self.offset:
            raise Misuse(
                f"cannot resume after delivery {offset}: the journal has {first} to {self.offset}; what was "
                "acknowledged is not kept"
            )
        self.acknowledge(offset)
        for timer, deadline in self._told.timers.items():
            self._host.arm(timer, deadline - self.ahead_ns)
        repeated, self._repeated = self._repeated, []
        _let_go(repeated)

    def tell(self, name: str, *arguments: Any) -> Any:
        """Call the machine; what comes of it waits for a commit."""
        *told, self._now, _ = arguments
        told.append(self._now + self.ahead_ns)
        place = len(self._commits.held)
        result = self._told.call(name, told, self)
        if name in LOGGED:
            if name in SAYING:
                self.said = result
            if self._log is not None:
                self._commits.held.insert(place, (self._log.called, name, told[:-1], result))
        return result

    def take(self, message_id: MessageId, after: Any) -> None:
        self._told.take(message_id, after)

    def acknowledge(self, offset: int) -> None:
        """The application has all deliveries up to this one, and will not ask for them again."""
        self._forget(offset)
        self._commits.soon(self._now)

    def acknowledge_one(self, offset: int) -> None:
        """The application has this one. It may come again as long as one before it is not acknowledged."""
        if self.unacknowledged.pop(offset, None) is not None:
            self._commits.soon(self._now)

    def note(self, key: Any, value: Any) -> None:
        """Keep this with the machine's state: whatever the machine is told from here on rests on it, too."""
        self.noted[key] = value
        self._commits.add(_NOTE + pickle.dumps((key, value)), self._now)

    def end_turn(self, now: Nanoseconds) -> None:
        """The host has made some calls, and makes the next ones later: commit if that is due."""
        if self._commits.due(now):
            self.commit()

    def begin_commit(self) -> tuple[list[bytes], int]:
        """What is to be forced (`journal.force`), and what `let_go` is to be told when that is done."""
        self._write_cursor()
        return self._commits.begin()

    def let_go(self, count: int) -> None:
        """What these effects rest on is forced."""
        _let_go(self._commits.free(count))

    def commit(self) -> None:
        """Force what the machine was told, and let go what came of it."""
        self._write_cursor()
        _let_go(self._commits.commit())
        if self.journal.snapshot_due:
            self.snapshot()

    def snapshot(self) -> None:
        """Write the machine down as it is, when all that came of it was let go; what it was told before is
        not needed any more."""
        state = (self._told.snapshot(), self.offset, self.unacknowledged, self.noted, self.said)
        self.journal.snapshot(pickle.dumps(state, pickle.HIGHEST_PROTOCOL))

    def close(self) -> None:
        """End in order: the next start has nothing to be told again."""
        self.commit()
        self.snapshot()
        self.journal.close()

    # ----------------------------------------------------------------------------- for the machine

    def send(self, targets: Sequence[Process], message: Message) -> None:
        self._hold((self._host.send, targets, message))

    def deliver(self, message_id: MessageId, payload: Payload) -> None:
        self._number(message_id, payload)
        if self._log is not None:
            self._hold((self._log.delivered, message_id))
        self._hold((self._hand, self.offset, message_id, payload))

    def numbered(self, message_id: MessageId) -> None:
        self._hold((self._host.numbered, message_id))

    def stable(self, message_id: MessageId) -> None:
        self._hold((self._host.stable, message_id))

    def admit(self, peer: Process, incarnation: int | None = None) -> None:
        self._hold((self._host.admit, peer, incarnation))

    def isolated(self) -> None:
        self._hold((self._host.isolated,))

    def arm(self, timer: Timer, deadline: Nanoseconds) -> None:
        self._host.arm(timer, deadline - self.ahead_ns)

    def disarm(self, timer: Timer) -> None:
        self._host.disarm(timer)

    def choose(self, label: str, count: int) -> int:
        return self._host.choose(label, count)

    # ------------------------------------------------------------------------------------- the parts

    def _input(self, record: bytes) -> None:
        self._commits.add(record, self._now)

    def _come_back(
        self,
        snapshot: bytes,
        records: Sequence[bytes],
        frames: Callable[[dict[Any, Any]], Frames] | None,
    ) -> None:
        machine, self.offset, self.unacknowledged, self.noted, self.said = pickle.loads(snapshot)
        self._told = unpacked(machine, self._input, frames and frames(self.noted))
        self._cursor = self.cursor
        self._repeated += [(self._hand_again, number) for number in self.unacknowledged]
        again = _Again(self)
        for record in records:
            if record.startswith(_ACK):
                self._cursor = int(record[1:])
                self._forget(self._cursor)
            elif record.startswith(_NOTE):
                key, value = pickle.loads(record[1:])
                self.noted[key] = value
            else:
                self._tell_again(record, again)

    def _tell_again(self, record: bytes, again: "_Again") -> None:
        place = len(self._repeated)
        name, told, result = self._told.tell_again(record, again)
        if name in SAYING:
            self.said = result
        if name in LOGGED and self._log is not None:
            self._repeated.insert(place, (self._log.called, name, told, result))

    def _write_cursor(self) -> None:
        cursor = self.cursor
        if cursor > self._cursor:
            # Nothing rests on it: if it is lost, some deliveries come again.
            self._cursor = cursor
            self.journal.append(_ACK + b"%d" % cursor)

    def _number(self, message_id: MessageId, payload: Payload) -> None:
        self.offset += 1
        self.unacknowledged[self.offset] = message_id, payload

    def _hand_again(self, number: int) -> None:
        if number in self.unacknowledged:
            self._hand(number, *self.unacknowledged[number])

    def _forget(self, offset: int) -> None:
        for number in list(takewhile(offset.__ge__, self.unacknowledged)):
            del self.unacknowledged[number]


class _Again:
    """The sink while a machine is told again. Frames have left or are lost, and all else is repeated."""

    def __init__(self, durable: Durable) -> None:
        self._durable = durable

    def deliver(self, message_id: MessageId, payload: Payload) -> None:
        self._durable._number(message_id, payload)
        if self._durable._log is not None:
            self._repeat(self._durable._log.delivered, message_id)
        self._repeat(self._durable._hand_again, self._durable.offset)

    def numbered(self, message_id: MessageId) -> None:
        self._repeat(self._durable._host.numbered, message_id)

    def stable(self, message_id: MessageId) -> None:
        self._repeat(self._durable._host.stable, message_id)

    def admit(self, peer: Process, incarnation: int | None = None) -> None:
        self._repeat(self._durable._host.admit, peer, incarnation)

    def isolated(self) -> None:
        self._repeat(self._durable._host.isolated)

    def send(self, targets: Sequence[Process], message: Message) -> None: ...

    def arm(self, timer: Timer, deadline: Nanoseconds) -> None: ...

    def disarm(self, timer: Timer) -> None: ...

    def choose(self, label: str, count: int) -> int:
        raise NotImplementedError("choices come out of the journal")

    def _repeat(self, effect: Callable[..., object], *arguments: Any) -> None:
        self._durable._repeated.append((effect, *arguments))


def _let_go(effects: Iterable[Effect]) -> None:
    for effect, *arguments in effects:
        effect(*arguments)
