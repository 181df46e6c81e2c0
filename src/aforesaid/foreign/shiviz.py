"""Logs with vector clocks as ShiViz reads them: `host {"host": 1}`, then what happened, each in a line.

The clocks do not say what is asked here. When p delivers a message from q's 3rd event after it has heard of
q's 5th, its clock tells nothing of it: the delivery looks like any other event, and that it came late cannot
be seen. So the text has to name the messages, and a pattern has to find them there. The clocks are witnesses:
an event that is missing leaves a gap in them, and a delivery must know of its sending.
"""

import re
from collections.abc import Iterator, Sequence

import msgspec

from aforesaid.core import Misuse, WrongValue
from aforesaid.foreign.events import Count, Event, lines
from aforesaid.foreign.mapping import Mapping
from aforesaid.storage import Place

_HEAD = re.compile(r"(\S+)\s+(\{.*\})\s*")
_CLOCK = msgspec.json.Decoder(dict[str, int])

NEEDS_PATTERN = (
    "vector clocks alone cannot show that a message was delivered late: the delivery of what a process knows "
    "of already leaves no mark in its clock. Name the messages: "
    "--pattern 'sent (?P<sent>\\S+)|got (?P<delivered>\\S+)'"
)


def shiviz(paths: Sequence[Place], mapping: Mapping, count: Count) -> Iterator[Event]:
    if mapping.pattern is None:
        raise Misuse(NEEDS_PATTERN)
    clocks = _Clocks(count)
    for place, host, told, text in _entries(paths, count):
        try:
            clock = _CLOCK.decode(told)
            clocks.tick(host, clock)
            match = mapping.regex.search(text)
            groups = {} if match is None else match.groupdict()
            event = mapping.event_of({**groups, mapping.process: host}, place)
        except (msgspec.DecodeError, WrongValue) as error:
            count.refuse(place, str(error))
            continue
        if event is None:
            count.other += 1
        else:
            clocks.events.append((event, clock))
    return clocks.agreed()


def _entries(paths: Sequence[Place], count: Count) -> Iterator[tuple[str, str, str, str]]:
    """Place, host, clock and text of each event, which is two lines."""
    head: tuple[str, str, str] | None = None
    for place, line in lines(paths, count):
        match = _HEAD.fullmatch(line)
        if head is not None and match is None:
            yield (*head, line)
            head = None
            count.records -= 1
            continue
        if head is not None:
            count.refuse(head[0], "no text follows this clock")
        head = None
        if match is None:
            count.refuse(place, 'it is no host with its clock, such as alice {"alice": 1}')
        else:
            head = (place, match[1], match[2])
    if head is not None:
        count.refuse(head[0], "no text follows this clock")


class _Clocks:
    """What the clocks say of each other."""

    def __init__(self, count: Count) -> None:
        self._count = count
        self._last: dict[str, int] = {}
        self.events: list[tuple[Event, dict[str, int]]] = []

    def tick(self, host: str, clock: dict[str, int]) -> None:
        own, last = clock.get(host, 0), self._last.get(host)
        if own < 1 or (last is not None and own <= last):
            raise WrongValue(f"the clock of {host} is at {own} after {last or 0}")
        if own != (last or 0) + 1:
            self._count.gaps.append(
                f"{own - (last or 0) - 1} events of {host} before its {own}th are missing"
            )
        self._last[host] = own

    def agreed(self) -> Iterator[Event]:
        """The events, but for deliveries that do not know of their sending: a contradiction."""
        sent = {
            event.message: (event.process, clock[event.process]) for event, clock in self.events if event.sent
        }
        for event, clock in self.events:
            origin, at = sent.get(event.message, ("", 0))
            if not event.sent and clock.get(origin, 0) < at:
                reason = f"its clock does not know of {origin}'s event {at}, which sent {event.message}"
                self._count.refuse(event.place, reason)
            else:
                yield event
