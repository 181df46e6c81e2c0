"""Events as a trace.

A message's predecessors are what its origin learned since it sent before, that message included (potential
causality), or the messages that it says it follows (declared). Neither needs the logs of others, nor a clock.

Nothing that is missing may look like a fault. Unless the logs are said to be *whole*, a message is for those
that are seen to deliver it, and one that nobody is seen to send shows that events are missing: the trace is
*sampled* then, and so it is if a record was refused, if a message follows one that is not there, or if one id
is sent twice, so that nobody knows which of them was delivered.
"""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from aforesaid.core import MILLISECOND
from aforesaid.core.version import __version__
from aforesaid.foreign.columns import Columns, int32s, int64s
from aforesaid.foreign.events import NO_TIME, Count
from aforesaid.trace import NEVER_SENT, Lists, Messages, Processes, Run, Sink
from aforesaid.trace.model import Bools, Int32s, Int64s

ORDER = ("no_creation", "causal")
DUTIES = ("no_duplicate", "validity")
"""Asked of whole logs besides."""


class Options(NamedTuple):
    """What whoever has the logs knows of them."""

    format: str
    causality: str
    sampled: bool = False
    whole: bool = False
    one_clock: bool = False
    by_time: bool = False
    """A process's events are in the order of their times, not of their lines."""


@dataclass
class Collected:
    """The trace that was made, in figures and names."""

    run: Run
    processes: list[str]
    names: list[str]
    """By message, its id in the log."""
    places: list[str]
    """By message, where it was sent, or delivered if nobody is seen to send it."""
    deliveries: int
    gaps: list[str]
    """What shows that events are missing."""


class Collection:
    """A trace in the making. Messages are in the order of sending, then those that nobody is seen to send."""

    def __init__(self, columns: Columns, options: Options, count: Count) -> None:
        self._columns, self._options, self._count = columns, options, count
        self._process, self._sent = int32s(columns.process), np.array(columns.sent, np.bool_)
        self._time_ns = int64s(columns.time_ns)
        code = int32s(columns.message)
        self._sendings = np.bincount(code[self._sent], minlength=len(columns.messages))
        self._delivered = np.bincount(code[~self._sent], minlength=len(columns.messages)) > 0
        timeless = self._time_ns == NO_TIME
        self._time_ns = np.where(timeless, np.arange(len(code)) * MILLISECOND, self._time_ns)
        # An id that is sent twice names no message: its sendings are no events.
        self._rows = np.flatnonzero(~self._sent | (self._sendings[code] == 1))
        if options.by_time:
            self._rows = self._rows[np.argsort(self._time_ns[self._rows], kind="stable")]
        self._index, self._codes = self._numbered(code)
        self._message = self._index[code]
        self._origin = np.full(len(self._codes), -1, np.int32)
        sends = self._rows[self._sent[self._rows]]
        self._origin[self._message[sends]] = self._process[sends]
        self._message_rows = sends
        self._rows = self._rows[np.argsort(self._process[self._rows], kind="stable")]

    @property
    def names(self) -> list[str]:
        """By message, its id in the log."""
        names = list(self._columns.messages)
        return [names[code] for code in self._codes.tolist()]

    @property
    def places(self) -> list[str]:
        sent_at, seen_at = self._columns.sent_at, self._columns.seen_at
        return [sent_at.get(code) or seen_at.get(code, "") for code in self._codes.tolist()]

    def close(self, sink: Sink, run: str) -> Collected:
        gaps = self._gaps()
        sampled = self._options.sampled or bool(gaps)
        whole = self._options.whole and not sampled
        row = Run(
            run,
            algorithm=self._options.format,
            code_version=__version__,
            ended="drained" if whole else "cut",
            clock="global" if self._options.one_clock else "local",
            promises=(*ORDER, *(DUTIES if whole else ())),
            causality=self._options.causality,
            sampled=sampled,
        )
        names = list(self._columns.processes)
        if whole:
            names += [name for name in self._columns.addressees if name not in self._columns.processes]
        sink.messages(self._messages(whole, names))
        deliveries = self._rows[~self._sent[self._rows]]
        sink.deliveries(
            self._process[deliveries],
            _places(self._process[deliveries], len(names)),
            self._time_ns[deliveries],
            self._message[deliveries],
        )
        sink.close(row, _process_rows(names))
        return Collected(row, names, self.names, self.places, len(deliveries), gaps)

    def _numbered(self, code: Int32s) -> tuple[Int32s, Int64s]:
        """Each code's message, -1 if it is none; each message's code."""
        order = code[self._rows]
        sent = order[self._sent[self._rows]]
        others, first = np.unique(order[self._sendings[order] != 1], return_index=True)
        codes = np.concatenate((sent, others[np.argsort(first)])).astype(np.int64)
        index = np.full(len(self._sendings), -1, np.int32)
        index[codes] = np.arange(len(codes))
        return index, codes

    def _messages(self, whole: bool, names: list[str]) -> Messages:
        count, sends = len(self._codes), self._message_rows
        number, sent_after = np.arange(count, dtype=np.int32), np.full(count, NEVER_SENT, np.int32)
        time_ns = np.full(count, -1, np.int64)
        time_ns[: len(sends)] = self._time_ns[sends]
        by_process = self._rows
        process, sent = self._process[by_process], self._sent[by_process]
        message = self._message[by_process]
        number[message[sent]] = _places(process[sent], len(names)) + 1
        delivered = np.cumsum(~sent)
        begin = np.searchsorted(process, np.arange(len(names)))
        before = np.concatenate(([0], delivered))[begin]
        sent_after[message[sent]] = (delivered - before[process])[sent]
        declared = self._options.causality == "declared"
        after = self._declared() if declared else self._learned(process, message, sent)
        return Messages(
            origin=self._origin,
            number=number,
            time_ns=time_ns,
            sent_after=sent_after,
            after=after,
            to_all=np.zeros(count, np.bool_),
            audience=self._audience(whole, names),
        )

    def _learned(self, process: Int32s, message: Int32s, sent: Bools) -> Lists:
        """What each origin sent and first heard from others since its last message, that included."""
        taught = sent | (_first(process, message, sent) & (self._origin[message] != process))
        rows = np.flatnonzero(taught)
        ends = np.flatnonzero(sent)
        following = np.searchsorted(ends, rows, "right")
        known = following < len(ends)
        rows, following = rows[known], following[known]
        same = process[rows] == process[ends[following]]
        return _lists(message[ends[following[same]]], message[rows[same]], len(self._codes))

    def _declared(self) -> Lists:
        follower, followed = self._pairs()
        known = (followed >= 0) & (follower >= 0) & (followed != follower)
        return _lists(follower[known], followed[known], len(self._codes))

    def _pairs(self) -> tuple[Int32s, Int32s]:
        columns = self._columns
        return self._index[int32s(columns.follower)], self._index[int32s(columns.followed)]

    def _audience(self, whole: bool, names: list[str]) -> Lists:
        """Whom each message is for: who delivers it, or whom it says if the logs are whole."""
        deliveries = self._rows[~self._sent[self._rows]]
        message, process = self._message[deliveries], self._process[deliveries]
        if whole and len(self._columns.addressed):
            row = {name: place for place, name in enumerate(names)}
            rows = np.array([row[name] for name in self._columns.addressees], np.int32)
            addressed = self._index[int32s(self._columns.addressed)]
            addressee = rows[int32s(self._columns.addressee)]
            told = np.zeros(len(self._codes), np.bool_)
            told[addressed[addressed >= 0]] = True
            kept = ~told[message]
            message = np.concatenate((message[kept], addressed[addressed >= 0]))
            process = np.concatenate((process[kept], addressee[addressed >= 0]))
        pairs = np.unique(message.astype(np.int64) * len(names) + process)
        return _lists(pairs // len(names), pairs % len(names), len(self._codes))

    def _gaps(self) -> list[str]:
        gaps = list(self._count.gaps)
        names = list(self._columns.messages)
        if self._count.refused:
            gaps.append(f"{self._count.refused:,} records were refused")
        for code in np.flatnonzero(self._sendings > 1).tolist():
            where = self._columns.sent_at[code]
            gaps.append(f"{names[code]} is sent more than once, at {where}: an id names one message")
        unsent = np.flatnonzero(self._delivered & (self._sendings == 0)).tolist()
        if unsent and not self._options.whole:
            told = f"{len(unsent):,} messages are delivered that nobody is seen to send"
            gaps.append(f"{told}, such as {names[unsent[0]]}")
        strangers = self._strangers().tolist()
        if strangers and self._options.causality == "declared":
            told = ", ".join(names[code] for code in strangers[:3])
            gaps.append(f"{len(strangers):,} messages are followed and are not there, such as {told}")
        return gaps

    def _strangers(self) -> Int32s:
        """Codes of messages that others follow and that are nowhere, or that follow themselves."""
        follower, followed = int32s(self._columns.follower), int32s(self._columns.followed)
        absent = (self._sendings[followed] == 0) & ~self._delivered[followed]
        return np.unique(followed[absent | (follower == followed)])


def _first(process: Int32s, message: Int32s, sent: Bools) -> Bools:
    """Which deliveries are the first of their message at their process."""
    rows = np.flatnonzero(~sent)
    key = process[rows].astype(np.int64) << 32 | message[rows]
    _, places = np.unique(key, return_index=True)
    first = np.zeros(len(process), np.bool_)
    first[rows[places]] = True
    return first


def _places(sorted_keys: Int32s, key_count: int) -> Int32s:
    """The place of each among those of the same key."""
    starts = np.searchsorted(sorted_keys, np.arange(key_count))
    places: Int32s = (np.arange(len(sorted_keys)) - starts[sorted_keys]).astype(np.int32)
    return places


def _lists(rows: Int32s | Int64s, values: Int32s | Int64s, count: int) -> Lists:
    """A list for each row, of the values given for it, in their order."""
    order = np.argsort(rows, kind="stable")
    return Lists.from_lengths(np.bincount(rows, minlength=count), values[order].astype(np.int32))


def _process_rows(names: list[str]) -> Processes:
    count = len(names)
    return Processes(
        name=names,
        incarnation=np.zeros(count, np.int32),
        began_ns=np.zeros(count, np.int64),
        ended_ns=np.full(count, -1, np.int64),
        fate=["alive"] * count,
        joined=np.zeros(count, np.bool_),
        base=Lists.of([] for _ in range(count)),
        complete=np.ones(count, np.bool_),
    )
