"""Spans as messages: a call is sent where its client or producer span begins, and delivered where the span
that answers it begins in another process.

What a message *declares* to follow is what its span is part of: the nearest spans, up its parents and links,
that are messages themselves. Nothing else of what the service did before counts: it may have been for others.
"""

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from aforesaid.foreign.events import Count, Event

SENDING, ANSWERING = ("client", "producer"), ("server", "consumer")


class Span(NamedTuple):
    """A span of any tracing system."""

    process: str
    name: str
    """Unique over all traces: `trace/span`."""
    kind: str
    """client, producer, server, consumer or internal."""
    start_ns: int
    parent: str | None
    links: tuple[str, ...]
    place: str


def with_short_names(spans: list[Span]) -> list[Span]:
    """A service that runs once needs no name but its own: `post`, not `post/17057e5c`."""
    instances: dict[str, set[str]] = {}
    for span in spans:
        instances.setdefault(span.process.partition("/")[0], set()).add(span.process)
    short = {next(iter(those)): name for name, those in instances.items() if len(those) == 1}
    return [span._replace(process=short.get(span.process, span.process)) for span in spans]


def events_of(spans: Iterable[Span], timed: bool, count: Count) -> list[Event]:
    """The sends and deliveries, by time.

    `timed`: the moment of sending matters, as it does for potential causality. Then only client and producer
    spans say it; of what others are answered for, it is not known when they asked.
    """
    known: dict[str, Span] = {}
    for span in spans:
        if known.setdefault(span.name, span) is not span:
            count.other += 1  # Exporters repeat themselves.
    answers = [(span, cause) for span in known.values() for cause in _answered(span, known)]
    asked = {cause for _, cause in answers}
    messages = {
        name: span for name, span in known.items() if span.kind in SENDING or (name in asked and not timed)
    }
    follows = {name: _followed(span, known, messages) for name, span in messages.items()}
    events = [
        Event(span.process, True, name, span.start_ns, follows[name], (), span.place)
        for name, span in messages.items()
    ]
    for name in asked - messages.keys():
        if name in known:
            count.refuse(known[name].place, "it is no client or producer span, so when it sent is not known")
    events += [Event(span.process, False, cause, span.start_ns, place=span.place) for span, cause in answers]
    count.other += len(known) - len({*messages, *(span.name for span, _ in answers)})
    # Of what has the same time nobody knows the order: sendings first, and causes before what follows them.
    level = _levels(follows)
    return sorted(events, key=lambda event: (event.time_ns, not event.sent, level.get(event.message, 0)))


def _answered(span: Span, known: dict[str, Span]) -> Iterator[str]:
    """The messages whose delivery a span is: what its parent sent, and for a consumer what its links did.

    A parent in the same process is where the work goes on, unless the service calls itself.
    """
    if span.parent is not None:
        parent = known.get(span.parent)
        if parent is None:
            if span.kind in ANSWERING:
                yield span.parent
        elif parent.process != span.process or (
            span.kind in ANSWERING and parent.kind in SENDING and not span.links
        ):
            yield span.parent
    if span.kind == "consumer":
        for name in dict.fromkeys(span.links):
            if name != span.parent and (name not in known or known[name].kind in SENDING):
                yield name


def _levels(follows: dict[str, tuple[str, ...]]) -> dict[str, int]:
    """How long the longest chain is that leads to each message; on a circle, any number."""
    level: dict[str, int] = {}
    for name in follows:
        path = [name]
        while path:
            top = path[-1]
            # Marked before its causes are looked at, so that a circle ends.
            unseen = [cause for cause in follows.get(top, ()) if cause not in level]
            level.setdefault(top, 0)
            if unseen:
                path += unseen
            else:
                level[top] = 1 + max((level[cause] for cause in follows.get(top, ())), default=-1)
                path.pop()
    return level


def _followed(span: Span, known: dict[str, Span], messages: dict[str, Span]) -> tuple[str, ...]:
    """The nearest messages up the parents and links of a span; those that are missing, too."""
    found: dict[str, None] = {}
    seen = {span.name}
    waiting = [span]
    while waiting:
        each = waiting.pop()
        for name in (each.parent, *each.links):
            if name is None or name in seen:
                continue
            seen.add(name)
            if name in messages or name not in known:
                found[name] = None
            else:
                waiting.append(known[name])
    return tuple(found)
