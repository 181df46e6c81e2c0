"""A run as the page takes it: a small header in JSON, and columns of 32-bit integers in one block of bytes.

All columns have four bytes a row, so that every one of them is aligned, and a typed array in the browser
without being copied. Times are ticks since the run's first event: a nanosecond each in runs of up to four
seconds, and in longer ones as long as it takes for the whole run to fit.
"""

import gzip
from collections.abc import Sequence
from dataclasses import dataclass, field
from operator import itemgetter
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from aforesaid.check import PROPERTIES, Report
from aforesaid.check.verdict import Violation
from aforesaid.core.reasons import PHRASES
from aforesaid.trace import Events, Lists, Processes, Run, Samples, Story, Trace
from aforesaid.trace.memory import concatenated_samples
from aforesaid.trace.model import NO_SAMPLES, Int64s

TICKS_MAX = 2**32 - 1
COMPRESSION = 6
"""A million events take gzip half a second at this level."""

Header = dict[str, Any]


@dataclass(frozen=True)
class Packed:
    """One run, ready to be put into a page or sent to one."""

    header: Header
    body: bytes
    """The columns, one after the other, compressed."""


class Told(Trace, Protocol):
    """A trace with what no verdict needs, its story and its gauges."""

    @property
    def story(self) -> Story: ...

    @property
    def samples(self) -> Samples: ...


def packed(
    trace: Told, report: Report, steps: Sequence[tuple[int, str]] = (), states: Samples = NO_SAMPLES
) -> Packed:
    """A run for the page. `steps` are moments to stop at, with their sentences: those of a schedule. `states`
    are the gauges of each process, whenever one changed."""
    columns, messages, processes, story = _Columns(), trace.messages, trace.processes, trace.story
    logs = [log for _, log in sorted(trace.logs(), key=itemgetter(0))]
    delivery_ns = np.concatenate([np.empty(0, np.int64), *(log.time_ns for log in logs)])
    delivery_offsets = np.cumsum([0, *map(len, logs)])
    lives = processes.began_ns, processes.ended_ns
    ticks = _Ticks.spanning(messages.time_ns, delivery_ns, story.events.time_ns, *lives)

    columns.put("message_origin", messages.origin)
    columns.put("message_number", messages.number)
    columns.put("message_time", ticks.of(messages.time_ns), "u")
    columns.put("message_sent_after", messages.sent_after)
    columns.put_lists("after", messages.after)
    if not messages.to_all.all():
        columns.put("to_all", messages.to_all)
        columns.put_lists("audience", messages.audience)
    columns.put("delivery_offsets", delivery_offsets)
    columns.put("delivery", np.concatenate([np.empty(0, np.int32), *(log.message for log in logs)]))
    columns.put("delivery_time", ticks.of(delivery_ns), "u")
    header = {
        **_facts(trace.run, processes, ticks),
        **_judgement(report),
        "reasons": _put_story(columns, story, delivery_offsets, ticks),
        "gauges": _put_samples(columns, concatenated_samples([trace.samples, states]), ticks),
        "faults": _faults(story.events, ticks),
        "steps": [((time_ns - ticks.first_ns) // ticks.tick_ns, sentence) for time_ns, sentence in steps],
        "columns": columns.places,
    }
    return Packed(header, gzip.compress(columns.bytes(), COMPRESSION, mtime=0))


def _facts(run: Run, processes: Processes, ticks: "_Ticks") -> Header:
    return {
        "name": run.run,
        "algorithm": run.algorithm,
        "seed": run.seed,
        "ended": run.ended,
        "clock": run.clock,
        "tick_ns": ticks.tick_ns,
        "span": (ticks.last_ns - ticks.first_ns) // ticks.tick_ns,
        "processes": {
            "label": [processes.label(process) for process in range(len(processes))],
            "fate": processes.fate,
            "complete": processes.complete.tolist(),
            "began": ticks.or_none(processes.began_ns),
            "ended": ticks.or_none(processes.ended_ns),
        },
    }


def _faults(events: Events, ticks: "_Ticks") -> list[tuple[object, ...]]:
    """When, what, to whom, about whom, and what more there is to say."""
    numbers = ticks.of(events.time_ns).tolist(), events.process.tolist(), events.other.tolist()
    return list(zip(numbers[0], events.kind, *numbers[1:], events.text, strict=True))


def _put_story(
    columns: "_Columns", story: Story, delivery_offsets: Int64s, ticks: "_Ticks"
) -> list[list[str]]:
    """Receipts by delivery, and waits without one; the kinds of reasons they number, in phrases."""
    receipts, waits = story.receipts, story.waits
    reasons = sorted({*receipts.kind, *waits.kind} - {""})
    number = {kind: place for place, kind in enumerate(reasons)} | {"": -1}
    columns.put("receipt_delivery", delivery_offsets[receipts.process] + receipts.position)
    columns.put("receipt_waited", receipts.waited_ns // ticks.tick_ns, "u")
    columns.put("wait_process", waits.process)
    columns.put("wait_message", waits.message)
    columns.put("wait_time", ticks.of(waits.time_ns), "u")
    columns.put("wait_until", np.where(waits.until_ns < 0, TICKS_MAX, ticks.of(waits.until_ns)), "u")
    for name, table in (("receipt", receipts), ("wait", waits)):
        columns.put(f"{name}_source", table.source)
        columns.put(f"{name}_reason", np.array([number[kind] for kind in table.kind], np.int32))
        columns.put(f"{name}_peer", table.peer)
        columns.put(f"{name}_cause", table.cause)
    return [[kind, PHRASES.get(kind, "")] for kind in reasons]


def _put_samples(columns: "_Columns", samples: Samples, ticks: "_Ticks") -> list[str]:
    """The samples by time; the gauges that their numbers stand for."""
    gauges = sorted(set(samples.metric))
    number = {gauge: place for place, gauge in enumerate(gauges)}
    order = np.argsort(samples.time_ns, kind="stable")
    columns.put("sample_time", ticks.of(samples.time_ns[order]), "u")
    columns.put("sample_process", samples.process[order])
    columns.put("sample_gauge", np.array([number[gauge] for gauge in samples.metric], np.int32)[order])
    columns.put("sample_value", samples.value[order], "f")
    return gauges


@dataclass(frozen=True)
class _Ticks:
    first_ns: int
    last_ns: int
    tick_ns: int

    @staticmethod
    def spanning(*columns: Int64s) -> "_Ticks":
        times = np.concatenate([column[column >= 0] for column in columns])
        first, last = (int(times.min()), int(times.max())) if len(times) else (0, 0)
        return _Ticks(first, last, 1 + (last - first) // TICKS_MAX)

    def of(self, time_ns: Int64s) -> Int64s:
        """In ticks; what has no time counts as the beginning."""
        return np.maximum(time_ns - self.first_ns, 0) // self.tick_ns

    def or_none(self, time_ns: Int64s) -> list[int | None]:
        ticks = self.of(time_ns).tolist()
        return [tick if ns >= 0 else None for tick, ns in zip(ticks, time_ns.tolist(), strict=True)]


@dataclass
class _Columns:
    places: dict[str, tuple[int, int, str]] = field(default_factory=dict)
    """Name to first row, number of rows and type (i, u, f), the rows of all columns counted through."""
    _parts: list[bytes] = field(default_factory=list)
    _rows: int = 0

    def put(self, name: str, column: npt.NDArray[Any], kind: str = "i") -> None:
        self.places[name] = (self._rows, len(column), kind)
        self._parts.append(column.astype(f"<{kind}4").tobytes())
        self._rows += len(column)

    def put_lists(self, name: str, lists: Lists) -> None:
        self.put(f"{name}_offsets", lists.offsets)
        self.put(name, lists.values)

    def bytes(self) -> bytes:
        return b"".join(self._parts)


def _judgement(report: Report) -> Header:
    """Every property judged, the broken ones first: those that were promised, then those that were not."""
    order = ("violated", "unknown", "kept")
    verdicts = sorted(
        report.verdicts.values(),
        key=lambda verdict: (order.index(verdict.value), verdict.property not in report.required),
    )
    properties = [
        {
            "name": verdict.property,
            "meaning": PROPERTIES[verdict.property],
            "required": verdict.property in report.required,
            "value": verdict.value,
            "violations": verdict.violations,
            "note": verdict.note,
        }
        for verdict in verdicts
    ]
    violations = [_violation(witness) for verdict in verdicts for witness in verdict.witnesses]
    return {"verdict": report.value(), "properties": properties, "violations": violations}


def _violation(witness: Violation) -> Header:
    return {
        "property": witness.property,
        "sentence": witness.sentence,
        "process": witness.process_index,
        "message": witness.message_index,
        "position": witness.position,
        "predecessor": witness.details.get("predecessor_index"),
    }
