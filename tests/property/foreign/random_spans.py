"""Random span graphs, each from one seed, and their judgement by all pairs; the same as exports, in JSON."""

import json
from collections.abc import Sequence
from random import Random
from typing import Any

from aforesaid.check import Report, check
from aforesaid.foreign import Collection, Options
from aforesaid.foreign.columns import Columns
from aforesaid.foreign.events import Count
from aforesaid.foreign.exports import KINDS
from aforesaid.foreign.spans import ANSWERING, SENDING, Span, events_of
from aforesaid.trace import MemorySink

NAMES = ("web", "stock", "post", "bank")


def random_spans(seed: int) -> list[Span]:
    """Services that work, call each other and answer in any order; nobody answers the same call twice."""
    random = Random(seed)
    names = NAMES[: random.randint(2, 4)]
    spans: list[Span] = []
    unanswered = {name: set[str]() for name in names}
    for number in range(random.randint(3, 16)):
        process = random.choice(names)
        mine = [span.name for span in spans if span.process == process]
        parent = random.choice(mine) if mine and random.random() < 0.7 else None
        links: tuple[str, ...] = ()
        kind = random.choice(("internal", *SENDING, *ANSWERING, *ANSWERING))
        if kind in ANSWERING:
            if not unanswered[process]:
                continue
            cause = random.choice(sorted(unanswered[process]))
            unanswered[process].discard(cause)
            linked = kind == "consumer" and random.random() < 0.5
            parent, links = (parent, (cause,)) if linked else (cause, ())
        elif spans and random.random() < 0.2:
            links = (random.choice(spans).name,)
        # Names that are read as numbers in hexadecimal, as exporters write them.
        span = Span(
            process, f"{seed:032x}/{number + 1:016x}", kind, number * 1_000, parent, links, str(number)
        )
        spans.append(span)
        if kind in SENDING:
            for other in names:
                if other != process:
                    unanswered[other].add(span.name)
    return spans


def overtaken(spans: Sequence[Span]) -> bool:
    """Whether a process answered a call before one that the call comes after, up parents and links."""
    known = {span.name: span for span in spans}

    def past(name: str) -> set[str]:
        seen: set[str] = set()
        waiting = [name]
        while waiting:
            span = known[waiting.pop()]
            new = {each for each in (span.parent, *span.links) if each is not None} - seen
            seen |= new
            waiting += new
        return seen

    for process in {span.process for span in spans}:
        answered = [
            cause
            for span in spans
            if span.process == process and span.kind in ANSWERING
            for cause in (span.parent, *span.links)
            if cause is not None and known[cause].process != process
        ]
        for place, call in enumerate(answered):
            if past(call) & set(answered[place + 1 :]) - {call}:
                return True
    return False


def judged(columns: Columns, count: Count, causality: str = "declared") -> Report:
    sink = MemorySink()
    Collection(columns, Options("spans", causality), count).close(sink, "random")
    return check(sink.trace)


def value_of(spans: Sequence[Span]) -> str:
    """The verdict on spans; none if there is nothing to judge."""
    count = Count()
    events = events_of(spans, False, count)
    return judged(Columns().take(events), count).value() if events else "none"


def as_otlp(spans: Sequence[Span]) -> str:
    """A line for each span, as from an exporter without batches."""
    return "".join(
        json.dumps(
            {
                "resourceSpans": [
                    {
                        "resource": {
                            "attributes": [{"key": "service.name", "value": {"stringValue": span.process}}]
                        },
                        "scopeSpans": [{"spans": [_otlp_span(span)]}],
                    }
                ]
            }
        )
        + "\n"
        for span in spans
    )


def _otlp_span(span: Span) -> dict[str, Any]:
    trace, _, own = span.name.partition("/")
    parent = {} if span.parent is None else {"parentSpanId": span.parent.partition("/")[2]}
    return {
        "traceId": trace,
        "spanId": own,
        "kind": KINDS.index(span.kind),
        "startTimeUnixNano": str(span.start_ns),
        "links": [dict(zip(("traceId", "spanId"), link.split("/"), strict=True)) for link in span.links],
        **parent,
    }


def as_jaeger(spans: Sequence[Span]) -> str:
    """One trace with all spans, over many lines, as people save it from the page."""
    told = []
    for span in spans:
        trace, _, own = span.name.partition("/")
        causes = [*([] if span.parent is None else [("CHILD_OF", span.parent)])]
        causes += [("FOLLOWS_FROM", link) for link in span.links]
        told.append(
            {
                "traceID": trace,
                "spanID": own,
                "references": [
                    {"refType": kind, "traceID": trace, "spanID": name.partition("/")[2]}
                    for kind, name in causes
                ],
                "startTime": span.start_ns // 1_000,
                "tags": [{"key": "span.kind", "value": span.kind}],
                "processID": span.process,
            }
        )
    processes = {name: {"serviceName": name} for name in NAMES}
    return json.dumps({"data": [{"spans": told, "processes": processes}]}, indent=2)
