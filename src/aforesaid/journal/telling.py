"""What a machine was told, written down so that another one can be told the same.

A protocol is deterministic: the same calls give the same state and the same effects. So its state is a
snapshot, which is its pickle, and the inputs since; no algorithm saves anything by itself. An input is a call
that has an effects sink, with its arguments, the time among them, and the choices that the host made during
it, for they are the only thing that another call would not give again. What a host tells a machine's partial
order is an input, too.

Most inputs are frames that came in. A host that has a wire format for them gives it as `frames`: they are
written in it, in a tenth of the time that a pickle takes. All else is pickled.

Armed timers are the host's, not the machine's: they are kept here as the machine asks for them, and are part
of a snapshot. A call that is refused with `Busy` has changed nothing, and is not written down; one that ends
with another refusal is, and so is the refusal.

Snapshots and many inputs are pickles: who can write a journal can run code as its owner.
"""

import pickle
from collections.abc import Callable, Iterable
from typing import Any, Protocol

from msgspec.msgpack import Decoder, Encoder

from aforesaid.core import (
    Admitting,
    AforesaidError,
    Busy,
    CausalBroadcast,
    CausalDelivery,
    Effects,
    HandingOver,
    InRuns,
    Linking,
    Message,
    MessageId,
    Misuse,
    Nanoseconds,
    Process,
    Refused,
    Speaker,
    Timer,
    order_of,
)

TAKE = "order.take"
"""The name of the input that is no call of the machine: its partial order is told of a message."""

EXPIRE, RECEIVE = "expire", "receive"

CALL, FRAME = b"i", b"f"
"""How an input begins: one that is pickled, or a frame that came in, in its wire format."""

REFUSED = "refused"
"""In place of the name of a call that the machine refuses."""

Record = Callable[[bytes], object]
"""Takes an input, as bytes."""

_packed = Encoder().encode
_unpacked = Decoder(tuple[Process, Nanoseconds, bytes]).decode


class Frames(Protocol):
    """The wire format of what a machine receives: what is decoded equals what was encoded."""

    def encode(self, message: Message) -> bytes: ...

    def decode(self, data: bytes) -> Message: ...


class Diverged(Misuse):
    """A machine that is told the same does something else: it is not the one that the journal is of."""


class ToldMachine:
    """A machine, and what it takes to have it back. Hosts call its `speaker` in the machine's place."""

    def __init__(self, machine: Speaker, record: Record, frames: Frames | None = None) -> None:
        self.machine = machine
        self._frames = frames
        self.timers: dict[Timer, Nanoseconds] = {}
        """Those that are armed, and when they are due."""
        self.now: Nanoseconds = 0
        """The time that the machine was told last: it must not be told an earlier one."""
        self._record = record
        self._sink, self._again = _Noting(self.timers), _Again(self.timers)
        self.speaker = speaker_of(self)

    def snapshot(self) -> bytes:
        """All of it, as `restored` takes it."""
        return pickle.dumps((self.machine, self.timers, self.now), pickle.HIGHEST_PROTOCOL)

    def tell(self, name: str, *arguments: Any) -> Any:
        """Call the machine, and write down what it was told."""
        *told, out = arguments
        return self.call(name, told, out)

    def call(self, name: str, told: list[Any], out: Effects) -> Any:
        """The same, with the time as the last that it is told."""
        sink = self._sink
        sink.turn_to(out)
        if name == EXPIRE:
            self.timers.pop(told[0], None)
        try:
            result = getattr(self.machine, name)(*told, sink)
        except Busy:
            raise
        except AforesaidError:
            self._write(name, told, sink.choices)
            raise
        self._write(name, told, sink.choices)
        return result

    def take(self, message_id: MessageId, after: Any) -> None:
        """Tell the machine's partial order."""
        _take(self.machine, message_id, after)
        self._write(TAKE, [message_id, after, self.now], [])

    def tell_again(self, record: bytes, out: Effects) -> tuple[str, list[Any], Any]:
        """Tell it what a journal holds; what that was, and what the machine returned, or why it refused.

        Its effects go to the sink, save choices, which were made then.
        """
        name, told, choices = self._read(record)
        if name == TAKE:
            _take(self.machine, *told[:-1])
            return name, told, None
        if name == EXPIRE:
            self.timers.pop(told[0], None)
        sink = self._again
        sink.turn_to(out)
        sink.left = list(reversed(choices))
        try:
            result = getattr(self.machine, name)(*told, sink)
        except Diverged:
            raise
        except AforesaidError as refusal:
            name, result = REFUSED, refusal  # As it did then.
        self.now = told[-1]
        if sink.left:
            raise Diverged(f"{name}: fewer choices are asked for than in the journal")
        return name, told, result

    def _write(self, name: str, told: list[Any], choices: list[Any]) -> None:
        self.now = told[-1]
        if name == RECEIVE and self._frames is not None and not choices:
            source, message, now = told
            self._record(FRAME + _packed((source, now, self._frames.encode(message))))
        else:
            self._record(CALL + pickle.dumps((name, told, choices), pickle.HIGHEST_PROTOCOL))

    def _read(self, record: bytes) -> tuple[str, list[Any], list[Any]]:
        if record.startswith(CALL):
            name, told, choices = pickle.loads(record[1:])
            return name, told, choices
        if self._frames is None:
            raise Diverged("the journal has frames, and nobody says in which format")
        source, now, data = _unpacked(record[1:])
        try:
            return RECEIVE, [source, self._frames.decode(data), now], []
        except Refused as refusal:
            raise Diverged(f"a frame of {source} in the journal is of another format: {refusal}") from None


def restored(
    snapshot: bytes, records: Iterable[bytes], out: Effects, record: Record, frames: Frames | None = None
) -> ToldMachine:
    """The machine that a journal is of, as it was after the last record; `record` takes what it is told next.

    The effects of the records go to the sink: the host knows which of them have been outside.
    """
    told = unpacked(snapshot, record, frames)
    for each in records:
        told.tell_again(each, out)
    return told


def unpacked(snapshot: bytes, record: Record, frames: Frames | None = None) -> ToldMachine:
    """The machine of a snapshot."""
    machine, timers, now = pickle.loads(snapshot)
    told = ToldMachine(machine, record, frames)
    told.timers.update(timers)
    told.now = now
    return told


class _Noting:
    """Between a machine and its host's sink: notes timers and choices."""

    def __init__(self, timers: dict[Timer, Nanoseconds]) -> None:
        self._timers = timers
        self._out: Any = None
        self.choices: list[tuple[str, int, int]] = []

    def turn_to(self, out: Effects) -> None:
        """A call begins."""
        if self.choices:
            self.choices = []
        if out is not self._out:
            self._out = out
            # Most of what a machine asks for is none of ours: it goes there directly.
            self.send, self.deliver, self.stable = out.send, out.deliver, out.stable
            self.admit, self.isolated, self.numbered = out.admit, out.isolated, out.numbered

    def arm(self, timer: Timer, deadline: Nanoseconds) -> None:
        self._timers[timer] = deadline
        self._out.arm(timer, deadline)

    def disarm(self, timer: Timer) -> None:
        self._timers.pop(timer, None)
        self._out.disarm(timer)

    def choose(self, label: str, count: int) -> int:
        chosen: int = self._out.choose(label, count)
        self.choices.append((label, count, chosen))
        return chosen


class _Again(_Noting):
    """Makes the choices that were made."""

    left: list[tuple[str, int, int]]
    """Those that are still to be made in this call, the next one last."""

    def choose(self, label: str, count: int) -> int:
        if not self.left or self.left[-1][:2] != (label, count):
            raise Diverged(f"a choice of {label} among {count} is asked for, which is not in the journal")
        return self.left.pop()[2]


class Tellable(Protocol):
    """What stands between a speaker and its machine."""

    @property
    def machine(self) -> Speaker: ...

    def tell(self, name: str, *arguments: Any) -> Any: ...

    def take(self, message_id: MessageId, after: Any) -> None: ...


class _ToldOrder:
    """What hosts call in the place of a machine's partial order."""

    def __init__(self, told: Tellable) -> None:
        self._told = told
        self.take = told.take

    def __getattr__(self, name: str) -> Any:
        return getattr(order_of(self._told.machine), name)


def _take(machine: Speaker, message_id: MessageId, after: Any) -> None:
    order = order_of(machine)
    if order is None:
        raise Diverged("a partial order is told of a message, and the machine has none")
    order.take(message_id, after)


_PORTS = (CausalBroadcast, CausalDelivery, InRuns, Linking, HandingOver, Admitting)
INPUTS = frozenset(
    name
    for port in _PORTS
    for base in port.__mro__
    for name, call in vars(base).items()
    if getattr(call, "__annotations__", {}).get("out") is Effects
)
"""The calls that have an effects sink."""

_speakers: dict[type, type[Any]] = {}


def speaker_of(told: Tellable) -> Speaker:
    """What hosts call in a machine's place: it offers what the machine offers, and hands every call on."""
    kind = type(told.machine)
    if kind not in _speakers:
        offered = [name for name in dir(kind) if not name.startswith("_")]
        _speakers[kind] = type(
            f"Told{kind.__name__}", (_Speaker,), {name: _handed_on(name) for name in offered}
        )
    speaker: Speaker = _speakers[kind](told)
    return speaker


class _Speaker:
    def __init__(self, told: Tellable) -> None:
        self._told = told

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return getattr(self._told.machine, name)


def _handed_on(name: str) -> Any:
    if name in INPUTS:
        return lambda self, *arguments: self._told.tell(name, *arguments)
    if name == "order":
        return property(lambda self: None if order_of(self._told.machine) is None else _ToldOrder(self._told))
    return property(lambda self: getattr(self._told.machine, name))
