"""The tables of a trace made ready for the rules, and refused where no run could have written them.

A message is *sent* if its origin's log says so. One that was delivered although nobody sent it is *forged*
if its origin's log is complete, and *lost* if it is not: then the sending may be among the events that are
missing. Neither has a place in an order. A forged message is owed to nobody; of a lost one nobody can say.

A process is *correct* if its fate is `alive`. Something is certainly owed to it only if its log is complete
too, else what seems missing may have been lost; of a process whose fate is unknown nothing is certain. Those
that left, crashed or were evicted are owed nothing.

Of a *sampled* run events may be missing anywhere. What nobody sent there is lost, nothing is certainly owed,
and only what a process is seen to deliver can have come too late to it.
"""

from collections.abc import Iterator
from functools import cached_property

import numpy as np

from aforesaid.check.blocks import Indices, Keys, Room, blocks, grouped, in_memory
from aforesaid.check.calls import Called
from aforesaid.core.errors import WrongValue
from aforesaid.trace import FATES, NEVER_SENT, Trace, label_of_message
from aforesaid.trace.model import Bools, Messages, Processes

FEW = 16
"""A process that has to do with fewer than one in so many messages is judged by those, not by all."""


class MalformedTrace(WrongValue):
    """A trace that no run could have written; the text is one line that names what is wrong."""


class History:
    """One trace's tables, with each origin's messages in order and each process's addressed messages."""

    def __init__(self, trace: Trace, room: Room = in_memory) -> None:
        messages, processes = trace.messages, trace.processes
        self.run, self.messages, self.processes = trace.run, messages, processes
        self.stabilities = trace.stabilities
        self.message_count, self.process_count = len(messages), len(processes)
        _refuse_ragged(messages, processes)
        _refuse_strangers(messages, processes)
        self.origin = messages.origin
        self.number = messages.number
        self.sent_after = messages.sent_after
        self.sent: Bools = room(self.message_count, np.bool_)
        np.not_equal(messages.sent_after, NEVER_SENT, out=self.sent)
        self.all_sent = bool(self.sent.all())
        self.sampled, self.declared = trace.run.sampled, trace.run.causality == "declared"
        self.correct = [fate == "alive" for fate in processes.fate]
        self.line, self.line_starts = grouped(self._sends, self.process_count, room)
        """Every message sent, by origin and then by number; where each origin's start."""
        self._refuse_disorder()
        self.lost = self._lost(room)
        self.to_all = messages.to_all
        self.all_to_all = bool(messages.to_all.all())
        self._addressed, self._addressed_starts = grouped(self._addressees, self.process_count, room)
        self._room = room
        self._broadcast_count = int(np.count_nonzero(messages.to_all))

    @cached_property
    def called(self) -> Called:
        """Who called what stable, over all processes."""
        stabilities = self.stabilities
        called, seen = Called.nothing(self.message_count, self._room), 0
        for process in range(self.process_count if len(stabilities) else 0):
            calls = stabilities.of(process)
            if len({len(calls), len(calls.message), len(calls.time_ns), len(calls.position)}) > 1:
                name = self.process_label(process)
                raise MalformedTrace(f"the columns of the stable calls of {name} differ in length")
            called.note(process, calls, self.origin, self.sent)
            seen += len(calls)
        if seen < len(stabilities):
            strangers = len(stabilities) - seen
            raise MalformedTrace(f"{strangers} of the stable calls were made by no process of the trace")
        return called

    def own(self, process: int) -> Indices:
        """The messages a process sent, in the order it sent them."""
        return self.line[self.line_starts[process] : self.line_starts[process + 1]]

    def addressed(self, process: int) -> Indices:
        """The messages to an audience with a process in it."""
        mine = self._addressed[self._addressed_starts[process] : self._addressed_starts[process + 1]]
        # An audience may name a process twice.
        return mine[np.concatenate(([True], mine[1:] != mine[:-1]))[: len(mine)]]

    @cached_property
    def broadcasts(self) -> Indices:
        """The messages to all, where they are few."""
        return np.flatnonzero(self.to_all)

    def concerns_few(self, process: int, deliveries: int) -> bool:
        """Whether a process has to do with so few messages that it pays to look at these alone."""
        concerned = self._broadcast_count + len(self.addressed(process)) + deliveries
        return concerned * FEW < self.message_count

    def is_owed_for_certain(self, process: int) -> bool:
        return self.correct[process] and not self.sampled and bool(self.processes.complete[process])

    def is_owed_perhaps(self, process: int) -> bool:
        fate = self.processes.fate[process]
        return fate == "unknown" or (fate == "alive" and not self.is_owed_for_certain(process))

    def process_label(self, process: int) -> str:
        return self.processes.label(process)

    def message_label(self, message: int) -> str:
        return label_of_message(self, message)

    def origin_label(self, message: int) -> str:
        return self.process_label(int(self.origin[message]))

    def refuse_short_log(self, process: int, deliveries: int) -> None:
        """A send made after more deliveries than the whole log holds cannot have happened."""
        own = self.own(process)
        if len(own) and self.sent_after[own[-1]] > deliveries:
            raise MalformedTrace(
                f"sent_after of {self.message_label(int(own[-1]))} is {self.sent_after[own[-1]]}, "
                f"but the log of {self.process_label(process)} ends at {deliveries}"
            )

    def _sends(self) -> Iterator[tuple[Keys, Indices]]:
        """The origin of each message sent, and the message."""
        for block in blocks(self.message_count):
            sent = np.flatnonzero(self.sent[block]) + block.start
            yield self.origin[sent], sent

    def _addressees(self) -> Iterator[tuple[Keys, Indices]]:
        """The process and the message of each place in an audience."""
        audience = self.messages.audience
        for block in blocks(len(audience.values)):
            message = np.searchsorted(audience.offsets, np.arange(block.start, block.stop), "right") - 1
            looked_at = ~self.to_all[message]
            yield audience.values[block][looked_at], message[looked_at]

    def _refuse_disorder(self) -> None:
        for block in blocks(len(self.line)):
            line = self.line[block]
            origin = self.origin[line]
            expected = np.arange(block.start + 1, block.stop + 1) - self.line_starts[origin]
            if self.processes.settled is not None:
                expected += self.processes.settled[origin]
            wrong = np.flatnonzero(self.number[line] != expected)
            if len(wrong):
                place = wrong[0]
                raise MalformedTrace(
                    f"{self.message_label(int(line[place]))} stands where message {expected[place]} of "
                    f"{self.process_label(int(origin[place]))} should be"
                )
        for block in blocks(len(self.line), start=1):
            line = self.line[block.start - 1 : block.stop]
            origin, sent_after = self.origin[line], self.sent_after[line]
            wrong = np.flatnonzero((sent_after[1:] < sent_after[:-1]) & (origin[1:] == origin[:-1]))
            if len(wrong):
                earlier, later = (int(line[wrong[0] + step]) for step in (0, 1))
                raise MalformedTrace(
                    f"sent_after falls from {self.sent_after[earlier]} for {self.message_label(earlier)} to "
                    f"{self.sent_after[later]} for {self.message_label(later)}"
                )

    def _lost(self, room: Room) -> Bools:
        lost: Bools = room(self.message_count, np.bool_)
        lost.fill(False)
        if not self.all_sent:
            complete = self.processes.complete & (not self.sampled)
            # An origin that is not in the table may be one whose whole log was lost, if any log was.
            by_origin = np.append(~complete, not complete.all())
            for block in blocks(self.message_count):
                lost[block] = ~self.sent[block] & by_origin[self.origin[block]]
        return lost


def _refuse_ragged(messages: Messages, processes: Processes) -> None:
    count = len(messages)
    columns = {
        "number": len(messages.number),
        "time_ns": len(messages.time_ns),
        "sent_after": len(messages.sent_after),
        "after": len(messages.after),
        "to_all": len(messages.to_all),
        "audience": len(messages.audience),
    }
    for name, length in columns.items():
        if length != count:
            raise MalformedTrace(f"{length} rows in messages.{name}, but {count} messages")
    for fate in processes.fate:
        if fate not in FATES:
            raise MalformedTrace(f"a process has the fate {fate!r}, which is none of: {', '.join(FATES)}")


def _refuse_strangers(messages: Messages, processes: Processes) -> None:
    count, process_count = len(messages), len(processes)
    for values, bound, what, kind in (
        (messages.after.values, count, "a predecessor", "messages"),
        (processes.base.values, count, "part of a base", "messages"),
        (messages.audience.values, process_count, "part of an audience", "processes"),
    ):
        if len(values) and (values.min() < 0 or values.max() >= bound):
            wrong = values[(values < 0) | (values >= bound)][0]
            raise MalformedTrace(f"{wrong} is named as {what}, but there are {bound} {kind}")
    if not count:
        return
    if messages.origin.min() < -1 or messages.origin.max() >= process_count:
        raise MalformedTrace(f"a message's origin is not among the {process_count} processes")
    if messages.sent_after.min() < NEVER_SENT:
        raise MalformedTrace(f"sent_after of a message is {messages.sent_after.min()}")
    for block in blocks(count):
        orphans = np.flatnonzero((messages.origin[block] < 0) & (messages.sent_after[block] != NEVER_SENT))
        if len(orphans):
            raise MalformedTrace(
                f"message {block.start + orphans[0]} was sent, but by no process of the trace"
            )
