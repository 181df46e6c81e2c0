"""Stability: a message is called stable only once every correct process has delivered it, and then it is.

Five kinds of violation, each counted by itself, one for each process and message:

- `created`: a process calls a message stable that nobody sent. (If the sending may be lost: unknown.)
- `twice`: a process calls a message stable more than once.
- `own`: a process calls a message stable that it was owed itself and had not delivered by then. The call says
  how many deliveries came before it, so this needs no clock.
- `early`: a process calls a message stable that a correct process was owed and had not delivered by then. If
  the clock is global, that is by the time of the call; equal times are fine. With local clocks nobody can
  tell which came first, and only a message that is never delivered counts, in a drained run.
- `missing`: in a drained run, every correct process that was owed a message delivered it, and its origin is
  correct, but never called it stable.

Owed means what it means to `liveness`: addressed to the process, and not part of a joiner's base. What hangs
on a process of unknown fate, on the end of a log that is not complete, or on how a run would have gone on, is
unknown.

A process's calls are seen with its log. The first call of each message by anyone is known before (`calls`),
so what is kept is only what came later than that: the latest such delivery at a correct process, and who
lacks what was called; the rest is what `Tally` counts. Only if some call came too early are the calls read
once more, to say which. A trace without calls costs next to nothing.
"""

from collections.abc import Callable
from typing import NamedTuple, TypeAlias

import numpy as np

from aforesaid.check.blocks import Indices
from aforesaid.check.calls import NEVER_CALLED
from aforesaid.check.history import MalformedTrace
from aforesaid.check.rules.base import Case, Findings, Question, Rule
from aforesaid.check.rules.liveness import Tally
from aforesaid.check.verdict import Detail, Verdict, Violation
from aforesaid.check.view import NEVER, View
from aforesaid.trace.model import Bools, Int32s, Int64s, Stabilities

_FIRST_NS = int(np.iinfo(np.int64).min)
_NOBODY = -1


class Stability(Rule):
    name = "stability"

    def __init__(self, case: Case, tally: Tally) -> None:
        super().__init__(case)
        self.tally = tally
        self._calls = self.history.stabilities
        self._timed = self.history.run.clock == "global"
        self._drained = self.history.run.ended == "drained"
        count = self.history.message_count
        if len(self._calls):
            self._latest = np.full(count, _FIRST_NS, np.int64)
            """When the last of the correct processes that it was owed to did deliver it, if after a call."""
            self._last = np.full(count, _NOBODY, np.int32)
            """Which process that was."""
            self._late_perhaps = np.zeros(count, np.bool_)
            """Whether a process of unknown fate that it was owed to delivered it after a call."""
            self._without = np.full(count, _NOBODY, np.int32)
            """A correct process that it was owed to and that did not deliver it, if it was called."""
            self._scratch = np.empty(count, np.int32)

    def see(self, view: View) -> None:
        if len(self._calls):
            calls = self._calls.of(view.process)
            if len(calls):
                self._refuse_impossible(view, calls)
                self._see_calls(view, self._distinct(calls))
            self._see_deliveries(view)

    def findings(self) -> Findings:
        seen = None
        if len(self._calls):
            late, lacking = np.flatnonzero(self._last != _NOBODY), np.flatnonzero(self._without != _NOBODY)
            seen = (
                (late, self._latest[late], self._last[late]),
                np.flatnonzero(self._late_perhaps),
                (lacking, self._without[lacking]),
            )
        return super().findings(), seen

    def absorb(self, findings: Findings) -> None:
        found, seen = findings
        super().absorb(found)
        if seen is not None:
            late, late_perhaps, (lacking, without) = seen
            self._keep_latest(*late)
            self._late_perhaps[late_perhaps] = True
            self._without[lacking] = without

    def question(self) -> Question | None:
        """After the first reading: which messages were called too early, and what is to be said of them."""
        if not len(self._calls):
            return None
        self._never: Bools = self._called & (self.tally.lacking > 0) & (self._timed or self._drained)
        early = np.flatnonzero(self._never | (self._last != _NOBODY))
        if not len(early):
            return None
        return (
            early,
            self._never[early],
            self._latest[early],
            self._last[early],
            self._without[early],
        )

    def asked(self, question: Question) -> None:
        early, never, latest, last, without = question
        self._never = np.zeros(self.history.message_count, np.bool_)
        self._never[early], self._latest[early] = never, latest
        self._last[early], self._without[early] = last, without

    def see_again(self, view: View) -> None:
        calls = self._calls.of(view.process)
        if len(calls):
            self._count_early(view.process, self._distinct(calls))

    def verdict(self) -> Verdict:
        if len(self._calls):
            self._doubt_early()
        self._judge_missing()
        return super().verdict()

    def _refuse_impossible(self, view: View, calls: Stabilities) -> None:
        name = self.history.process_label(view.process)
        wrong = np.flatnonzero((calls.position < 0) | (calls.position > view.log.deliveries))
        if len(wrong):
            call = self._call(view.process, int(calls.message[wrong[0]]), int(calls.position[wrong[0]]))
            raise MalformedTrace(f"{call}, but the log of {name} ends at {view.log.deliveries}")

    def _distinct(self, calls: Stabilities) -> "_Calls":
        """A process's calls, one for each message."""
        message = calls.message.astype(np.int64)
        if self._inside(message).all():
            rows = np.arange(len(message), dtype=np.int32)
            self._scratch[message] = rows
            if np.array_equal(self._scratch[message], rows):
                return _Calls(message, calls.position, calls.time_ns, np.full(len(message), -1, np.int32))
        return _merged(message, calls)

    def _see_calls(self, view: View, calls: "_Calls") -> None:
        twice = calls.again >= 0
        if twice.any():
            self._count(view.process, calls.at(twice), self._worded_twice)
        if not self.history.all_sent or not self._inside(calls.message).all():
            self._see_unsent(view, calls)
            calls = calls.at(self._those(self.history.sent, calls))
        message = calls.message
        undelivered = view.first[message] >= calls.position
        if view.owed is not None:
            undelivered &= view.owed[message]
        if undelivered.any():
            hasty = calls.at(undelivered)
            self._count(view.process, hasty, self._worded_own, view.first[hasty.message])

    def _see_unsent(self, view: View, calls: "_Calls") -> None:
        lost = self._those(self.history.lost, calls)
        self._count(
            view.process, calls.at(~lost & ~self._those(self.history.sent, calls)), self._worded_created
        )
        if lost.any() and not self.doubt:
            message, position, *_ = calls.at(lost)
            self.doubt = (
                f"{self._call(view.process, int(message[0]), int(position[0]))}, which no log says was sent, "
                "but the log of a process that may have sent it is not complete."
            )

    def _see_deliveries(self, view: View) -> None:
        history, process, first_ns = self.history, view.process, self.history.called.first_ns
        if history.is_owed_for_certain(process) and view.distinct < history.message_count:
            missing = view.those(self.tally.missing(view))
            self._without[missing[first_ns[missing] != NEVER_CALLED]] = process
        correct = history.correct[process]
        if self._timed and (correct or history.is_owed_perhaps(process)):
            some = view.concerned
            delivered = view.delivered[some]
            messages = view.those(delivered if view.owed is None else delivered & view.owed[some])
            time_ns = view.log.time_ns[view.log.rows(view.first[messages])]
            late = time_ns > first_ns[messages]
            if correct:
                self._keep_latest(messages[late], time_ns[late], process)
            else:
                self._late_perhaps[messages[late]] = True

    def _keep_latest(self, messages: Indices, time_ns: Int64s, process: int | Int32s) -> None:
        later = time_ns > self._latest[messages]
        self._last[messages[later]] = process if isinstance(process, int) else process[later]
        self._latest[messages[later]] = time_ns[later]

    @property
    def _called(self) -> Bools:
        """Which messages were called stable, of those sent."""
        called: Bools = self.history.called.first_ns != NEVER_CALLED
        return called

    def _doubt_early(self) -> None:
        perhaps = (self.tally.lacking > 0) | (self.tally.lacking_perhaps > 0) | self._late_perhaps
        self._doubt_of(
            int(np.count_nonzero(self._called & perhaps)),
            "called stable, and not by all seen to be delivered before",
            self._drained or self._timed,
        )

    def _count_early(self, process: int, calls: "_Calls") -> None:
        calls = calls.at(self._those(self.history.sent, calls))
        early = self._never[calls.message] | (calls.time_ns < self._latest[calls.message])
        calls = calls.at(early)
        self._count(process, calls, self._worded_early, calls.time_ns)

    def _judge_missing(self) -> None:
        history, tally = self.history, self.tally
        processes = range(history.process_count)
        # One more at the end, for messages without an origin: index -1.
        certain = np.array([*map(history.is_owed_for_certain, processes), False])
        possible = np.array([*(history.processes.fate[p] in ("alive", "unknown") for p in processes), True])
        uncalled = tally.can_be_owed & (tally.lacking == 0) & ~history.called.by_origin
        uncalled &= possible[history.origin]
        missing = uncalled & history.sent & (tally.lacking_perhaps == 0) & certain[history.origin]
        if not self._drained:
            missing[:] = False
        self.found(
            int(np.count_nonzero(missing)), map(self._worded_missing, np.flatnonzero(missing).tolist())
        )
        self._doubt_of(
            int(np.count_nonzero(uncalled & ~missing)),
            "delivered by all, as far as is known, and not called stable by the origin",
            self._drained,
        )

    def _doubt_of(self, messages: int, what: str, settled: bool) -> None:
        if messages and not self.doubt:
            number = "1 message was" if messages == 1 else f"{messages} messages were"
            self.doubt = f"{number} {what}, but {self.why_open(settled)}."

    def _inside(self, message: Indices) -> Bools:
        return (message >= 0) & (message < self.history.message_count)

    def _those(self, flags: Bools, calls: "_Calls") -> Bools:
        """Which calls are of messages flagged so; none that is of a message outside the table."""
        inside = self._inside(calls.message)
        inside[inside] = flags[calls.message[inside]]
        return inside

    def _count(
        self, process: int, calls: "_Calls", worded: "_Worded", seen: Int32s | Int64s | None = None
    ) -> None:
        """Count violations by calls; `seen` is what else is to be said of each."""
        if len(calls.message):
            extra = calls.again if seen is None else seen
            rows = zip(calls.message.tolist(), calls.position.tolist(), extra.tolist(), strict=True)
            self.found(len(calls.message), (worded(process, *row) for row in rows))

    def _call(self, process: int, message: int, position: int) -> str:
        """How most sentences begin."""
        return (
            f"{self.history.process_label(process)} called {self.history.message_label(message)} stable "
            f"after {_deliveries(position)}"
        )

    def _worded_twice(self, process: int, message: int, position: int, again: int) -> Violation:
        sentence = f"{self._call(process, message, position)} and again after {_deliveries(again)}."
        return self._found_call("twice", process, message, position, sentence, again_after_deliveries=again)

    def _worded_created(self, process: int, message: int, position: int, _: int) -> Violation:
        sentence = f"{self._call(process, message, position)}, but {self.never_sent(message)}."
        return self._found_call("created", process, message, position, sentence)

    def _worded_own(self, process: int, message: int, position: int, first: int) -> Violation:
        fault = (
            "never delivered it itself" if first == NEVER else f"delivered it itself only at position {first}"
        )
        sentence = f"{self._call(process, message, position)}, but {fault}."
        return self._found_call(
            "own", process, message, position, sentence, delivered_position=None if first == NEVER else first
        )

    def _worded_early(self, process: int, message: int, position: int, time_ns: int) -> Violation:
        never = bool(self._never[message])
        late = int((self._without if never else self._last)[message])
        whose = "" if late == process else f"{self.history.process_label(late)}, which is correct, "
        if never:
            fault = (
                f"{whose}never delivered it" if self._drained else f"{whose}had not delivered it by the end"
            )
            at = None
        else:
            at = int(self._latest[message])
            fault = f"{whose}delivered it only at {at} ns"
        when = f", at {time_ns} ns," if self._timed else ","
        sentence = f"{self._call(process, message, position)}{when} but {fault}."
        details: dict[str, Detail] = {"late": self.history.process_label(late), "late_index": late}
        if self._timed:
            details |= {"called_ns": time_ns, "delivered_ns": at}
        return self._found_call("early", process, message, position, sentence, **details)

    def _worded_missing(self, message: int) -> Violation:
        origin = int(self.history.origin[message])
        sentence = (
            f"Every correct process it is for delivered {self.history.message_label(message)}, but "
            f"{self.history.process_label(origin)}, which is correct and sent it, never called it stable."
        )
        return self.violation(origin, message, None, sentence, kind="missing")

    def _found_call(
        self, kind: str, process: int, message: int, position: int, sentence: str, **details: Detail
    ) -> Violation:
        """A violation by a call. It has no position: it is no delivery."""
        return self.violation(
            process, message, None, sentence, kind=kind, after_deliveries=position, **details
        )


class _Calls(NamedTuple):
    """A process's calls, one for each message."""

    message: Indices
    position: Int32s
    time_ns: Int64s
    again: Int32s
    """The position of the second call; -1 if there is none."""

    def at(self, rows: Bools) -> "_Calls":
        return _Calls(self.message[rows], self.position[rows], self.time_ns[rows], self.again[rows])


_Worded: TypeAlias = Callable[[int, int, int, int], Violation]


def _merged(message: Indices, calls: Stabilities) -> _Calls:
    """Where a message is called more than once: the earliest position, and the earliest time."""
    order = np.lexsort((calls.position, message))
    message, position = message[order], calls.position[order]
    starts = np.flatnonzero(np.append(True, message[1:] != message[:-1]))
    repeated = np.diff(np.append(starts, len(message))) > 1
    again = np.full(len(starts), -1, np.int32)
    again[repeated] = position[starts[repeated] + 1]
    return _Calls(message[starts], position[starts], np.minimum.reduceat(calls.time_ns[order], starts), again)


def _deliveries(count: int) -> str:
    return "1 delivery" if count == 1 else f"{count} deliveries"
