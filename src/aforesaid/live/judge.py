"""The judge of logs that still grow: after every batch, what is certain by now; at the end, all of it.

What is in flight is a trace (`window`), and the checker judges it by its own rules and in its own words.
While the run goes on, every log counts as not complete and nobody's fate is known: so what the checker calls
violated then is violated whatever comes, and what may still come is left open. At the end, the fates are what
the logs tell, as for `ingest`, and what is left of the window is judged once more, liveness included.

What nothing is asked of any more leaves the window after each judgement (`settling`).
`recorded` is not judged: no record is believed here, predecessors are derived from the logs themselves.
"""

import pickle
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import msgspec
import numpy as np

from aforesaid.check.judge import judge, properties_of
from aforesaid.check.reading import Reader, Reading
from aforesaid.check.verdict import REQUIRED_BY_DEFAULT, Report, Verdict, Violation, required_names
from aforesaid.core import Misuse, message_label, process_label
from aforesaid.live.logs import Key, absent, ends_drained, fate, is_linked, numbered, promised, that_took_part
from aforesaid.live.members import Member, founders
from aforesaid.live.merge import Late, Merge
from aforesaid.live.settling import KEEP, Settling
from aforesaid.live.spans import Span
from aforesaid.live.window import Window, WindowTrace, window_trace
from aforesaid.trace import Run
from aforesaid.wire.segments import VERSION, Origin

GRACE_S = 5.0
AGE_S = 60.0
WITNESSES_MAX = 5
"""So many violations of a property are remembered in words."""
TOLD_MAX = 100_000
"""So many violations are told one by one; what would be told after that changes no verdict."""

_SAFETY = ("no_duplicate", "no_creation", "no_foresight", "audience", "fifo", "causal")
_LIVENESS = ("validity", "agreement", "uniform_agreement", "stability")
_ORDER = ("fifo", "causal", "causal_unless_lost")


@dataclass
class Told:
    """What a batch brought to light."""

    violations: list[Violation] = field(default_factory=list)
    events: int = 0
    oldest_ns: int = 0
    newest_ns: int = 0
    """The times of the oldest and the newest event, by their nodes' clocks; 0 if there was none."""
    lag_ns: int = 0
    """How long ago the middle one of its events happened, given the time by the watcher's clock."""
    in_flight: int = 0
    waiting: int = 0
    """How many logs wait for something that is in no log yet."""
    settled: int = 0


@dataclass
class Totals:
    messages: int = 0
    deliveries: int = 0
    events: int = 0


class Judge:
    """Reads spans of logs; can be pickled between batches."""

    def __init__(self, grace_s: float = GRACE_S, age_s: float = AGE_S, keep: int = KEEP) -> None:
        """`grace_s`: how long a log waits for a message that it delivered and nobody has said;
        `age_s`: how long a message is waited for that somebody lacks, or a log that does not grow."""
        self.clock_s = 0.0
        self.totals = Totals()
        self.counts: Counter[str] = Counter()
        """Violations told, by property."""
        self.witnesses: dict[str, list[Violation]] = {}
        """The first of them."""
        self.doubts: dict[str, str] = {}
        """Why a property cannot be said to be kept, whatever comes."""
        self.warnings: list[str] = []
        self._merge, self._window = Merge(self._row), Window()
        self._settling = Settling(self._merge, self._window, grace_s, age_s, keep)
        self._rows: dict[Key, int] = {}
        self._logs: dict[str, int] = {}
        """The rows of members by the names of their files."""
        self._first: Origin | None = None
        self._told: dict[tuple[Any, ...], None] = {}
        self._multicast = self._newcomers_unsure = False
        self.endure(grace_s, age_s)

    def endure(self, grace_s: float, age_s: float) -> None:
        """Be patient for so long from now on: who goes on with a watch may say otherwise."""
        self.grace_s = self._settling.grace_s = grace_s
        self.age_s = self._settling.age_s = age_s

    @property
    def members(self) -> list[Member]:
        return self._merge.members

    @property
    def in_flight(self) -> int:
        return len(self._window)

    @property
    def origin(self) -> Origin | None:
        """Who wrote the first segment that was read."""
        return self._first

    @property
    def required(self) -> tuple[str, ...]:
        """What the run is asked for whatever becomes of its nodes; in the end it may be more."""
        if self._first is None:
            return ()
        names = required_names(promised(self._first, True) or REQUIRED_BY_DEFAULT)
        return tuple(name for name in names if name != "recorded")

    def saved(self) -> bytes:
        return pickle.dumps(self, pickle.HIGHEST_PROTOCOL)

    def feed(self, spans: Sequence[Span], elapsed_s: float = 0.0, now_ns: int = 0) -> Told:
        """Read some spans, `elapsed_s` after the last ones."""
        self.clock_s += elapsed_s
        told = Told()
        grown: dict[int, Member] = {}
        for span in sorted(spans, key=lambda span: (span.log, span.segment, span.start)):
            member = self._read(span)
            if member is not None:
                grown[member.row] = member
                told.events += len(span.kind)
        times = np.concatenate([np.empty(0, np.int64), *(span.columns[3] for span in spans)])
        times = times[times > 0]
        if len(times):
            told.oldest_ns, told.newest_ns = int(times.min()), int(times.max())
            told.lag_ns = max(0, now_ns - int(np.median(times)))
        self._merge.run(grown.values(), self.clock_s)
        self._give_up_waiting()
        self._take_said()
        if self._first is not None:
            told.violations = self._judge_now()
        told.in_flight, told.settled = len(self._window), self._settling.count
        told.waiting = sum(1 for _ in self._merge.waits())
        self.totals.events += told.events
        return told

    def ending(self, properties: Sequence[str] | None = None) -> tuple[Report, list[Violation]]:
        """The judgement if no log grew any more, and what was not told before. Changes nothing."""
        if self._first is None:
            raise Misuse("no segment was read: there is nothing to judge")
        return restored(self.saved())._ended(properties)

    # Reading

    def _read(self, span: Span) -> Member | None:
        if span.origin:
            self._begin(span, msgspec.msgpack.decode(span.origin, type=Origin))
        row = self._logs.get(span.log)
        if row is None:
            return None  # Torn in its first record: nothing was said in it.
        member = self.members[row]
        if member.broken or (span.segment, span.stop) <= (member.read_segment, member.read_bytes):
            return None
        follows = (span.segment, span.start) in (
            (member.read_segment, member.read_bytes),
            (member.read_segment + 1, 0),
        )
        if not follows:
            self._break(
                member, f"{span.log}: bytes before {span.start} of segment {span.segment} are missing"
            )
            return None
        rows = [self._row(peer) for peer in span.peers]
        member.tape.add(span, row, rows)
        member.segments = max(member.segments, span.segment)
        member.read_segment, member.read_bytes = span.segment, span.stop
        member.grew_s = self.clock_s
        if span.damage:
            self._break(member, f"{span.log}, segment {span.segment}: {span.damage}")
        return member

    def _begin(self, span: Span, origin: Origin) -> None:
        if origin.version > VERSION:
            raise Misuse(f"{span.log} is of version {origin.version}; this aforesaid reads {VERSION}")
        if self._first is None:
            self._first = origin
        first = self._first
        if (origin.cluster, origin.algorithm) != (first.cluster, first.algorithm):
            several = f"{first.cluster} ({first.algorithm}), {origin.cluster} ({origin.algorithm})"
            raise Misuse(f"segments of several clusters: {several}; watch them one by one")
        row = self._row((origin.name, origin.incarnation), origin.joined)
        if self._logs.setdefault(span.log, row) != row or [*self._logs.values()].count(row) > 1:
            raise Misuse(f"{span.log} is a copy of another log of {origin.name}; watch one of them")
        for other in self.members:
            if not origin.joined and not other.segments and other.origin.name in origin.group:
                other.origin = msgspec.structs.replace(other.origin, joined=False)
        member = self.members[row]
        if not member.segments:
            member.origin = origin
            member.admitted = not origin.joined or member.let_in
            if not origin.joined:
                member.base = ()

    def _row(self, key: Key, joined: bool | None = None) -> int:
        if key not in self._rows:
            first = self._first
            if first is None:
                raise Misuse("a segment does not begin with who wrote it")
            joins = is_linked(first) and key[0] not in founders(self.members) if joined is None else joined
            facts = {"name": key[0], "incarnation": key[1], "joined": joins, "segment": 0}
            row = self._rows[key] = len(self.members)
            member = Member(msgspec.structs.replace(first, **facts), row=row, grew_s=self.clock_s)
            # Who comes when messages are settled already may have been lacking them.
            member.lost_count = self._settling.count > 0 and not joins
            self.members.append(member)
        return self._rows[key]

    def _break(self, member: Member, why: str) -> None:
        member.broken = why
        self.warnings.append(f"{why}; it is not read on")

    def _take_said(self) -> None:
        merge = self._merge
        self._multicast = self._multicast or any(audience is not None for *_, audience in merge.said)
        self.totals.messages += len(merge.said)
        self._window.add(merge.said, self.clock_s)
        merge.said = []
        self.totals.deliveries = sum(member.delivered for member in self.members)

    def _give_up_waiting(self) -> None:
        """Let logs go on that have waited for too long.

        What a newcomer is owed hangs on what its contact knew: in a changing group, who goes on without
        something makes that uncertain. So it comes late, and newcomers are not judged by it any more.
        """
        changing = self._first is not None and is_linked(self._first)
        without = self._merge.give_up_waiting(self.age_s if changing else self.grace_s, self.clock_s)
        if without and changing:
            names = ", ".join(sorted({self._label(member) for member in without}))
            doubt = (
                f"The log of {names} was not waited for any longer, so what newcomers are owed is not known."
            )
            self._doubt((*_ORDER, *_LIVENESS), doubt)
            self._newcomers_unsure = True

    # Judging

    def _judge_now(self) -> list[Violation]:
        logs = self._participants()
        trace = self._trace(logs, dict.fromkeys(logs, "unknown"), "cut", crashed=False)
        reader = Reader(trace)
        judged = list(_SAFETY)
        judged += ["causal_unless_lost"] if self._promises("causal_unless_lost") else []
        judged += ["stability"] if len(trace.stabilities) else []
        found = _violations(self._judged(reader, trace, tuple(judged)))
        found += [violation for late in self._merge.late if (violation := self._late(late)) is not None]
        self._merge.late = []
        new = self._new(found)
        self._settling.settle(reader, trace, logs, self.clock_s, self._promises("stability"))
        return new

    def _judged(self, reader: Reader, trace: WindowTrace, judged: tuple[str, ...]) -> Report:
        def gather(reading: Reading) -> list[Any]:
            return [reader.read(reading, trace.logs(), range(len(trace.processes)), lambda: None)]

        return judge(reader, Reading(judged, witnesses_max=None), judged, gather)

    def _new(self, found: Sequence[Violation]) -> list[Violation]:
        """Those that were not told before."""
        new, unsure = [], self._newcomers if self._newcomers_unsure else ()
        for violation in found:
            kind = violation.details.get("kind")
            name = (violation.property, kind, violation.process, violation.message)
            if violation.property in _ORDER and violation.process in unsure:
                continue
            if name not in self._told and len(self._told) < TOLD_MAX:
                self._told[name] = None
                self.counts[violation.property] += 1
                first = self.witnesses.setdefault(violation.property, [])
                first += [violation][: WITNESSES_MAX - len(first)]
                new.append(violation)
        return new

    def _late(self, late: Late) -> Violation | None:
        """A delivery of what was settled: a second one, unless it was settled without this member."""
        process = self._label(late.member)
        message = self._label(self.members[late.origin], late.number)
        if late.call:
            # Nothing is settled before its origin has called it stable; of others nobody knows.
            if late.origin != late.member.row or not self._promises("stability"):
                return None
            sentence = f"{process} called {message} stable again after {late.position} deliveries."
            kind = {"kind": "twice"}
            return Violation("stability", process, message, None, sentence, late.member.row, -1, kind)
        if late.lacked or self._multicast or late.member.origin.joined:
            doubt = (
                f"{process} delivered {message} at position {late.position}, when it was not looked at any "
                "more: what it should have come after is forgotten."
            )
            self._doubt((*_ORDER, *(() if late.lacked else ("no_duplicate", "audience"))), doubt)
            return None
        sentence = (
            f"{process} delivered {message} again at position {late.position}, long after everyone had."
        )
        return Violation("no_duplicate", process, message, late.position, sentence, late.member.row, -1)

    @property
    def _newcomers(self) -> set[str]:
        return {self._label(member) for member in self.members if member.origin.joined}

    def _doubt(self, names: Sequence[str], why: str) -> None:
        for name in names:
            self.doubts.setdefault(name, why)

    def _label(self, member: Member, number: int | None = None) -> str:
        name, dense = member.origin.name, member.dense
        return process_label(name, dense) if number is None else message_label(name, dense, number)

    def _participants(self) -> dict[Key, Member]:
        """Whoever is part of the trace by now, in its order."""
        found: dict[Key, Any] = {}
        for key, row in self._rows.items():
            if self.members[row].segments:
                found[key] = self.members[row]
        missing = absent(found, lambda text: None)
        others = {key: self.members[self._row(key)] for key in missing}
        return numbered({**that_took_part(found), **others})  # type: ignore[return-value]

    def _trace(
        self, logs: dict[Key, Member], fates: Mapping[Key, str], ended: str, crashed: bool
    ) -> WindowTrace:
        first = self._first
        run = Run(
            run="nodes" if first is None else first.cluster,
            algorithm="unknown" if first is None else first.algorithm,
            code_version="unknown" if first is None else first.code_version,
            ended=ended,
            clock="local",
            promises=() if first is None else promised(first, crashed),
        )
        merge = self._merge
        return window_trace(self._window, merge.after, list(merge.phantoms), self.members, logs, fates, run)

    def _promises(self, name: str) -> bool:
        first = self._first
        return first is not None and any(name in promised(first, crashed) for crashed in (False, True))

    # The end

    def _ended(self, properties: Sequence[str] | None) -> tuple[Report, list[Violation]]:
        self._merge.ended()
        self._take_said()
        logs = self._participants()
        fates = {key: fate(key, logs) for key in logs}
        for key, member in logs.items():
            if fates[key] == "alive" and member.origin.joined and not member.let_in:
                fates[key] = "unknown"
        crashed = any(how != "alive" for how in fates.values())
        trace = self._trace(logs, fates, "drained" if ends_drained(logs, fates) else "cut", crashed)
        required, judged = (
            tuple(name for name in names if name != "recorded") for names in properties_of(trace, properties)
        )
        reader = Reader(trace)
        report = self._judged(reader, trace, judged)
        late = [violation for each in self._merge.late if (violation := self._late(each)) is not None]
        new = self._new([*_violations(report), *late])
        self._doubt_what_was_given_up(logs, fates)
        verdicts = {name: self._verdict(report.verdicts[name]) for name in judged}
        return replace(report, verdicts=verdicts, required=required), new

    def _doubt_what_was_given_up(self, logs: Mapping[Key, Member], fates: Mapping[Key, str]) -> None:
        missed = sum(member.lacking for key, member in logs.items() if fates[key] in ("alive", "unknown"))
        if missed:
            number = "1 delivery was" if missed == 1 else f"{missed} deliveries were"
            self._doubt(_LIVENESS, f"{number} not seen within {self.age_s:g} s.")
        for member in logs.values():
            if member.broken:
                self._doubt((*_SAFETY, *_ORDER, *_LIVENESS), f"{member.broken}.")

    def _verdict(self, last: Verdict) -> Verdict:
        name = last.property
        if self.counts[name]:
            return Verdict(name, "violated", self.counts[name], tuple(self.witnesses[name]))
        if last.value == "kept" and name in self.doubts:
            return Verdict(name, "unknown", note=self.doubts[name])
        return last


def restored(state: bytes) -> Judge:
    """The judge as it was saved. A pickle: who can write where it lies can run code here."""
    judge = pickle.loads(state)
    if not isinstance(judge, Judge):
        raise TypeError(f"the state of a judge is expected, not {type(judge).__name__}")
    return judge


def _violations(report: Report) -> list[Violation]:
    return [witness for verdict in report.verdicts.values() for witness in verdict.witnesses]
