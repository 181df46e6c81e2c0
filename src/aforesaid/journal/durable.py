"""A machine with its journal: it begins, it goes on, and after a crash it comes back as itself.

Law: frames, deliveries and all else that can be seen from outside are held until what they rest on is forced
to the disk. After a crash the machine is where its last durable input left it. Frames that had not left are
lost, as frames may be, and the timers that send them again are armed again. Deliveries have numbers, their
offsets, in the order in which the machine made them. Those that the application has not acknowledged come
again, in order: at least once; and exactly once if the application keeps the offset with its own state, and
names it when it resumes.

The machine's clock goes on where it was, whatever the host's says: `ahead_ns` is between them.
"""

import pickle
from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

from aforesaid.core import Effects, Message, MessageId, Misuse, Nanoseconds, Payload, Process, Speaker, Timer
from aforesaid.journal.committing import GroupCommit, Window
from aforesaid.journal.journal import Journal
from aforesaid.journal.telling import ToldMachine, speaker_of, unpacked

_INPUT, _ACK = b"i", b"a"
"""What a record holds: what the machine was told, or up to which delivery the application has all."""

Hand: TypeAlias = Callable[[int, MessageId, Payload], None]
"""Takes a delivery to the application, with its offset."""


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
    ) -> None:
        self.journal = journal
        self._commits: GroupCommit[tuple[Callable[..., object], tuple[Any, ...]]] = GroupCommit(
            journal, window
        )
        self._hold = self._commits.hold
        self._host, self._hand = host, hand
        self.offset = 0
        """Of the last delivery that the machine made."""
        self.unacknowledged: dict[int, tuple[MessageId, Payload]] = {}
        """By offset, what may have to be handed to the application again."""
        self._repeated: list[tuple[Callable[..., object], tuple[Any, ...]]] = []
        """What the journal says was let go, or would have been: in its order, until `resume`."""
        self._now = now
        if journal.recovered.snapshot is None:
            self._told = ToldMachine(build(), self._input)
            self._snapshot()
        else:
            self._come_back(journal.recovered.snapshot, journal.recovered.records)
        self.ahead_ns: Nanoseconds = max(0, self._told.now - now)
        """How far the machine's clock is ahead of the host's."""
        self.speaker = speaker_of(self)

    # -------------------------------------------------------------------------------- for the host

    @property
    def machine(self) -> Speaker:
        return self._told.machine

    @property
    def due_ns(self) -> Nanoseconds | None:
        """When a commit is due by the host's clock; None: nothing waits for one."""
        return self._commits.due_ns

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
        for effect, arguments in repeated:
            effect(*arguments)

    def tell(self, name: str, *arguments: Any) -> Any:
        """Call the machine; what comes of it waits for a commit."""
        *told, self._now, _ = arguments
        return self._told.tell(name, *told, self._now + self.ahead_ns, self)

    def take(self, message_id: MessageId, after: Any) -> None:
        self._told.take(message_id, after)

    def acknowledge(self, offset: int) -> None:
        """The application has all deliveries up to this one, and will not ask for them again."""
        acknowledged = [number for number in self.unacknowledged if number <= offset]
        if acknowledged:
            self._forget(offset)
            # Nothing rests on it: if it is lost, some deliveries come again.
            self.journal.append(_ACK + b"%d" % offset)

    def end_turn(self, now: Nanoseconds) -> None:
        """The host has made some calls, and makes the next ones later: commit if that is due."""
        if self._commits.due(now):
            self.commit()

    def commit(self) -> None:
        """Force what the machine was told, and let go what came of it."""
        for effect, arguments in self._commits.commit():
            effect(*arguments)
        if self.journal.snapshot_due:
            self._snapshot()

    def close(self) -> None:
        """End in order: the next start has nothing to be told again."""
        self.commit()
        self._snapshot()
        self.journal.close()

    # ----------------------------------------------------------------------------- for the machine

    def send(self, targets: Sequence[Process], message: Message) -> None:
        self._hold((self._host.send, (targets, message)))

    def deliver(self, message_id: MessageId, payload: Payload) -> None:
        self._number(message_id, payload)
        self._hold((self._hand, (self.offset, message_id, payload)))

    def stable(self, message_id: MessageId) -> None:
        self._hold((self._host.stable, (message_id,)))

    def admit(self, peer: Process, incarnation: int | None = None) -> None:
        self._hold((self._host.admit, (peer, incarnation)))

    def isolated(self) -> None:
        self._hold((self._host.isolated, ()))

    def arm(self, timer: Timer, deadline: Nanoseconds) -> None:
        self._host.arm(timer, deadline - self.ahead_ns)

    def disarm(self, timer: Timer) -> None:
        self._host.disarm(timer)

    def choose(self, label: str, count: int) -> int:
        return self._host.choose(label, count)

    # ------------------------------------------------------------------------------------- the parts

    def _input(self, record: bytes) -> None:
        self._commits.add(_INPUT + record, self._now)

    def _come_back(self, snapshot: bytes, records: Sequence[bytes]) -> None:
        machine, self.offset, self.unacknowledged = pickle.loads(snapshot)
        self._told = unpacked(machine, self._input)
        self._repeated += [(self._hand_again, (number,)) for number in self.unacknowledged]
        again = _Again(self)
        for record in records:
            if record[:1] == _ACK:
                self._forget(int(record[1:]))
            else:
                self._told.tell_again(record[1:], again)

    def _snapshot(self) -> None:
        """Write the machine down as it is; what it was told before is not needed any more."""
        state = (self._told.snapshot(), self.offset, self.unacknowledged)
        self.journal.snapshot(pickle.dumps(state, pickle.HIGHEST_PROTOCOL))

    def _number(self, message_id: MessageId, payload: Payload) -> None:
        self.offset += 1
        self.unacknowledged[self.offset] = message_id, payload

    def _hand_again(self, number: int) -> None:
        if number in self.unacknowledged:
            self._hand(number, *self.unacknowledged[number])

    def _forget(self, offset: int) -> None:
        for number in [number for number in self.unacknowledged if number <= offset]:
            del self.unacknowledged[number]


class _Again:
    """The sink while a machine is told again. Frames have left or are lost, and all else is repeated."""

    def __init__(self, durable: Durable) -> None:
        self._durable = durable

    def deliver(self, message_id: MessageId, payload: Payload) -> None:
        self._durable._number(message_id, payload)
        self._repeat(self._durable._hand_again, self._durable.offset)

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
        self._durable._repeated.append((effect, arguments))
