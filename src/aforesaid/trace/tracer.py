"""Records what processes say and deliver, and what came before what, without asking the protocol.

The tracer keeps, per process, the *frontier*: the maximal messages it has sent or delivered. On delivery of
m, after(m) leaves the frontier and m enters it. On sending m, after(m) is the frontier, and the frontier is
{m}. So each event costs constant work apart from the frontier's size. A process's delivery of its own message
changes nothing: sending it already did.

Rows go to a sink in chunks, so that a trace may be larger than memory. What the tracer itself keeps is four
bytes per message, and the predecessors of messages still on their way.
"""

import hashlib
from array import array
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Protocol

import numpy as np

from aforesaid.core import MessageId, Nanoseconds, Process, WrongValue
from aforesaid.trace.model import (
    NEVER_SENT,
    Int32s,
    Int64s,
    Lists,
    Messages,
    Processes,
    Run,
    Samples,
    Stabilities,
)
from aforesaid.trace.story import Chronicle, Story

CHUNK_ROWS = 1 << 18


class Sink(Protocol):
    """Where chunks of rows go. Deliveries and stabilities come as they happened, over all processes."""

    def messages(self, rows: Messages) -> None: ...

    def deliveries(self, process: Int32s, position: Int32s, time_ns: Int64s, message: Int32s) -> None: ...

    def stabilities(self, rows: Stabilities) -> None: ...

    def samples(self, rows: Samples) -> None: ...

    def story(self, rows: Story) -> None: ...

    def close(self, run: Run, processes: Processes) -> None: ...


@dataclass
class _Watched:
    """One process as the tracer sees it."""

    name: Process
    incarnation: int
    began_ns: Nanoseconds
    joined: bool
    fate: str
    ended_ns: Nanoseconds = -1
    complete: bool = True
    base: tuple[int, ...] = ()
    delivered: int = 0
    frontier: dict[int, None] = field(default_factory=dict)
    numbers: "array[int]" = field(default_factory=lambda: array("i"))
    """Its messages' indices by number, from 1."""


class Tracer:
    """One run's recorder; a host calls it at every send, delivery and stable call, in order."""

    def __init__(self, sink: Sink, chunk_rows: int = CHUNK_ROWS) -> None:
        self._sink = sink
        self._chunk_rows = chunk_rows
        self._processes: list[_Watched] = []
        self._index: dict[tuple[Process, int], int] = {}
        self._alive = 0
        self._message_count = 0
        # message -> [predecessors, deliveries until it is everywhere]; dropped when it is.
        self._travelling: dict[int, tuple[tuple[int, ...], int]] = {}
        self._phantoms: dict[MessageId, int] = {}
        self._digests: dict[str, hashlib.blake2b] = {}
        self.chronicle = Chronicle()
        self._new_message_columns()
        self._new_delivery_columns()
        self._new_stability_columns()
        self._new_sample_columns()

    def began(self, name: Process, incarnation: int, now: Nanoseconds, joining: bool = False) -> int:
        """A process starts, as a founding member or asking to join. Returns its index."""
        if (name, incarnation) in self._index:
            raise WrongValue(f"{name} incarnation {incarnation} began twice")
        index = len(self._processes)
        # Until a contact admits it, a joiner belongs to no group and nothing is owed to it.
        fate = "unknown" if joining else "alive"
        self._processes.append(_Watched(name, incarnation, now, joining, fate=fate))
        self._index[name, incarnation] = index
        self._alive += 1
        # A newcomer may deliver what is on its way already: its predecessors are needed once more.
        for message, (after, owed) in self._travelling.items():
            self._travelling[message] = (after, owed + 1)
        return index

    def admitted(self, contact: int, newcomer: int) -> None:
        """The contact admits a newcomer: its frontier, and its own base, is what the newcomer is not owed.

        A newcomer that never heard of it asks again: the last admission before its first delivery counts.
        What it has said by then counts for nothing, since that waits inside it until it is let in.
        """
        watched, host = self._processes[newcomer], self._processes[contact]
        asks_again = watched.fate == "alive" and watched.joined and not watched.delivered
        if watched.fate == "unknown" or asks_again:
            watched.fate, watched.base = "alive", tuple({**dict.fromkeys(host.base), **host.frontier})

    def ended(self, process: int, fate: str, now: Nanoseconds, complete: bool = True) -> None:
        """A process left, crashed or was evicted; not complete: its last events may not be known."""
        watched = self._processes[process]
        watched.fate, watched.ended_ns, watched.complete = fate, now, complete
        self._alive -= 1

    def sent(
        self,
        process: int,
        message_id: MessageId,
        now: Nanoseconds,
        audience: Sequence[int] | None = None,
        carried: Sequence[MessageId] | None = None,
    ) -> int:
        """A process sends a message, to all or to an audience. Returns its index.

        What a message itself carries as its predecessors is what is recorded, right or wrong: the checker
        judges it (rule `recorded`). The frontier goes by what was seen here.
        """
        watched = self._processes[process]
        if message_id.number != len(watched.numbers) + 1:
            raise WrongValue(f"{message_id} does not follow message {len(watched.numbers)} of {watched.name}")
        after = tuple(watched.frontier)
        recorded = after if carried is None else tuple(map(self._message, carried))
        message = self._add_message(process, message_id.number, now, watched.delivered, recorded, audience)
        watched.numbers.append(message)
        watched.frontier = {message: None}
        owed = self._alive if audience is None else len(audience)
        if owed:
            self._travelling[message] = (after, owed)
        return message

    def delivered(self, process: int, message_id: MessageId, now: Nanoseconds) -> int:
        """A process delivers a message. Returns the position of that in its log."""
        watched = self._processes[process]
        origin = self._index.get((message_id.origin, message_id.incarnation), -1)
        try:
            message = self._processes[origin].numbers[message_id.number - 1] if origin >= 0 else -1
        except IndexError:
            message = -1
        if message < 0 or message_id.number < 1:
            message = self._phantom(origin, message_id)
        self._d_process.append(process)
        self._d_position.append(watched.delivered)
        self._d_time.append(now)
        self._d_message.append(message)
        watched.delivered += 1
        travelling = self._travelling.get(message)
        if travelling is not None:
            after, owed = travelling
            if origin != process:
                frontier = watched.frontier
                for earlier in after:
                    frontier.pop(earlier, None)
                frontier[message] = None
            if owed == 1:
                del self._travelling[message]
            else:
                self._travelling[message] = (after, owed - 1)
        elif origin != process:
            watched.frontier[message] = None
        if len(self._d_process) >= self._chunk_rows:
            self._flush_deliveries()
        return watched.delivered - 1

    def stable(self, process: int, message_id: MessageId, now: Nanoseconds) -> None:
        """A process knows that everyone has delivered a message."""
        self._k_process.append(process)
        self._k_message.append(self._message(message_id))
        self._k_time.append(now)
        self._k_position.append(self._processes[process].delivered)
        if len(self._k_process) >= self._chunk_rows:
            self._flush_stabilities()

    def sample(self, now: Nanoseconds, metric: str, value: float, process: int = -1) -> None:
        """A measurement, of one process or of the whole."""
        self._s_time.append(now)
        self._s_process.append(process)
        self._s_metric.append(metric)
        self._s_value.append(value)
        if len(self._s_time) >= self._chunk_rows:
            self._flush_samples()

    def close(self, run: Run) -> Run:
        """Write what is left; returns the run with its digest."""
        self._flush_messages()
        self._flush_deliveries()
        self._flush_stabilities()
        self._flush_samples()
        self._sink.story(self.chronicle.story())
        rows = self._process_rows()
        self._hash("processes", "name", "\n".join(rows.name).encode())
        self._hash("processes", "fate", "\n".join(rows.fate).encode())
        for column in ("incarnation", "began_ns", "ended_ns", "joined", "complete"):
            self._hash("processes", column, getattr(rows, column).tobytes())
        self._hash("processes", "base lengths", rows.base.lengths.tobytes())
        self._hash("processes", "base", rows.base.values.tobytes())
        whole = hashlib.blake2b(digest_size=16)
        for name in sorted(self._digests):
            whole.update(name.encode() + self._digests[name].digest())
        run = replace(run, digest=whole.hexdigest())
        self._sink.close(run, rows)
        return run

    def known(self, message_id: MessageId) -> int:
        """A message's index; -1 if nobody sent it yet."""
        name, incarnation, number = message_id
        origin = self._index.get((name, incarnation), -1)
        numbers = self._processes[origin].numbers if origin >= 0 else ()
        return numbers[number - 1] if 0 < number <= len(numbers) else -1

    def _message(self, message_id: MessageId) -> int:
        """A message's index, a phantom's if nobody sent it. `delivered` does the same inline: it is hot."""
        message = self.known(message_id)
        if message >= 0:
            return message
        return self._phantom(self._index.get((message_id[0], message_id[1]), -1), message_id)

    def _phantom(self, origin: int, message_id: MessageId) -> int:
        if message_id not in self._phantoms:
            self._phantoms[message_id] = self._add_message(
                origin, message_id.number, -1, NEVER_SENT, (), None
            )
        return self._phantoms[message_id]

    def _add_message(
        self,
        origin: int,
        number: int,
        now: Nanoseconds,
        sent_after: int,
        after: tuple[int, ...],
        audience: Sequence[int] | None,
    ) -> int:
        message = self._message_count
        self._message_count += 1
        self._m_origin.append(origin)
        self._m_number.append(number)
        self._m_time.append(now)
        self._m_sent_after.append(sent_after)
        self._m_after_length.append(len(after))
        self._m_after.extend(after)
        self._m_to_all.append(audience is None)
        self._m_audience_length.append(len(audience or ()))
        self._m_audience.extend(audience or ())
        if len(self._m_origin) >= self._chunk_rows:
            self._flush_messages()
        return message

    def _new_message_columns(self) -> None:
        self._m_origin, self._m_number, self._m_time = array("i"), array("i"), array("q")
        self._m_sent_after, self._m_to_all = array("i"), array("b")
        self._m_after, self._m_after_length = array("i"), array("i")
        self._m_audience, self._m_audience_length = array("i"), array("i")

    def _new_delivery_columns(self) -> None:
        self._d_process, self._d_position = array("i"), array("i")
        self._d_time, self._d_message = array("q"), array("i")

    def _new_stability_columns(self) -> None:
        self._k_process, self._k_message = array("i"), array("i")
        self._k_time, self._k_position = array("q"), array("i")

    def _new_sample_columns(self) -> None:
        self._s_time, self._s_process = array("q"), array("i")
        self._s_metric: list[str] = []
        self._s_value = array("d")

    def _flush_messages(self) -> None:
        rows = Messages(
            origin=_int32(self._m_origin),
            number=_int32(self._m_number),
            time_ns=_int64(self._m_time),
            sent_after=_int32(self._m_sent_after),
            after=Lists.from_lengths(_int32(self._m_after_length), _int32(self._m_after)),
            to_all=np.array(self._m_to_all, np.bool_),
            audience=Lists.from_lengths(_int32(self._m_audience_length), _int32(self._m_audience)),
        )
        for column in ("origin", "number", "time_ns", "sent_after", "to_all"):
            self._hash("messages", column, getattr(rows, column).tobytes())
        # Lengths and values apart, so that the digest does not depend on the size of chunks.
        self._hash("messages", "after lengths", self._m_after_length.tobytes())
        self._hash("messages", "after", self._m_after.tobytes())
        self._hash("messages", "audience lengths", self._m_audience_length.tobytes())
        self._hash("messages", "audience", self._m_audience.tobytes())
        self._sink.messages(rows)
        self._new_message_columns()

    def _flush_deliveries(self) -> None:
        process, position = _int32(self._d_process), _int32(self._d_position)
        time_ns, message = _int64(self._d_time), _int32(self._d_message)
        for column, values in (("process", process), ("time_ns", time_ns), ("message", message)):
            self._hash("deliveries", column, values.tobytes())
        self._sink.deliveries(process, position, time_ns, message)
        self._new_delivery_columns()

    def _flush_stabilities(self) -> None:
        rows = Stabilities(
            process=_int32(self._k_process),
            message=_int32(self._k_message),
            time_ns=_int64(self._k_time),
            position=_int32(self._k_position),
        )
        for column in ("process", "message", "time_ns", "position"):
            self._hash("stabilities", column, getattr(rows, column).tobytes())
        self._sink.stabilities(rows)
        self._new_stability_columns()

    def _flush_samples(self) -> None:
        self._hash("samples", "time_ns", self._s_time.tobytes())
        self._hash("samples", "process", self._s_process.tobytes())
        self._hash("samples", "metric", "".join(f"{metric}\n" for metric in self._s_metric).encode())
        self._hash("samples", "value", self._s_value.tobytes())
        self._sink.samples(
            Samples(_int64(self._s_time), _int32(self._s_process), self._s_metric, np.array(self._s_value))
        )
        self._new_sample_columns()

    def _hash(self, table: str, column: str, data: bytes) -> None:
        name = f"{table}.{column}"
        if name not in self._digests:
            self._digests[name] = hashlib.blake2b(digest_size=16)
        self._digests[name].update(data)

    def _process_rows(self) -> Processes:
        rows = self._processes
        return Processes(
            name=[row.name for row in rows],
            incarnation=np.array([row.incarnation for row in rows], np.int32),
            began_ns=np.array([row.began_ns for row in rows], np.int64),
            ended_ns=np.array([row.ended_ns for row in rows], np.int64),
            fate=[row.fate for row in rows],
            joined=np.array([row.joined for row in rows], np.bool_),
            base=Lists.of(row.base for row in rows),
            complete=np.array([row.complete for row in rows], np.bool_),
        )


def _int32(column: "array[int]") -> Int32s:
    return np.frombuffer(column, np.int32) if column else np.empty(0, np.int32)


def _int64(column: "array[int]") -> Int64s:
    return np.frombuffer(column, np.int64) if column else np.empty(0, np.int64)
