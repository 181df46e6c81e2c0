"""The way of a message (`trace.why`) in sentences, and as data."""

from collections.abc import Iterator
from typing import Any

from aforesaid.core import MILLISECOND, Nanoseconds, phrased
from aforesaid.trace.why import Wait, Way, Ways


class Telling:
    """Tells of the messages of one trace; times count from its beginning."""

    def __init__(self, ways: Ways) -> None:
        self._ways, self._trace = ways, ways.trace
        began = self._trace.processes.began_ns
        self.began = int(began.min()) if len(began) else 0
        self._told = len(self._trace.story.receipts) > 0
        self._one_clock = self._trace.run.clock == "global"

    def sentences(self, chain: list[Way]) -> Iterator[str]:
        """A message's way to a process, then that of what it waited for, to the root."""
        for depth, way in enumerate(chain):
            subject = "It" if depth == 0 else "That"
            yield from self._said(way)
            yield from self._came(way, subject)
            yield from (f"  {self._waited(wait)}." for wait in way.waits)
            yield self._delivered(way, subject)
        root = chain[-1]
        if len(chain) > 1:
            yield f"So the root is {self._ways.label(root.message)}{self._on_its_way(root)}."
        for row in self._ways.events_during(root):
            yield f"Meanwhile: {self.event(row)}."

    def data(self, chain: list[Way]) -> dict[str, Any]:
        """The same for programs; times in nanoseconds, as in the trace."""
        events = [self._event_data(row) for row in self._ways.events_during(chain[-1])]
        return {
            "process": self._process(chain[0].process),
            "chain": [self._way_data(way) for way in chain],
            "root": self._ways.label(chain[-1].message),
            "events": events,
        }

    def event(self, row: int) -> str:
        """A fault in words."""
        events = self._trace.story.events
        process, other = int(events.process[row]), int(events.other[row])
        words = [events.kind[row]]
        words += [f"of {self._process(process)}"] if process >= 0 else []
        words += [f"and {self._process(other)}"] if other >= 0 else []
        words += [events.text[row]] if events.text[row] else []
        return f"{' '.join(words)}, at {self._at(int(events.time_ns[row]))}"

    def longest(self, count: int) -> list[Way]:
        """The deliveries that waited longest, each the first of its process with that much."""
        receipts = self._trace.story.receipts
        total: dict[tuple[int, int], int] = {}
        for process, position, waited in zip(
            receipts.process.tolist(), receipts.position.tolist(), receipts.waited_ns.tolist(), strict=True
        ):
            if waited:
                total[process, position] = total.get((process, position), 0) + waited
        most = sorted(total, key=lambda key: -total[key])[:count]
        return [self._ways.way(int(self._trace.log(p).message[position]), p) for p, position in most]

    def longest_held(self, count: int) -> list[str]:
        """One line for each of the messages that were held back longest where they were said."""
        rows = self._trace.story.waits
        times = zip(
            rows.message.tolist(),
            rows.source.tolist(),
            rows.time_ns.tolist(),
            rows.until_ns.tolist(),
            strict=True,
        )
        lasted: dict[int, tuple[Nanoseconds, int]] = {}
        for row, (message, source, since, until) in enumerate(times):
            if source < 0 <= until and until - since > lasted.get(message, (0, -1))[0]:
                lasted[message] = until - since, row
        most = sorted(lasted.items(), key=lambda held: -held[1][0])[:count]
        return [self._held_line(message, int(rows.process[row]), waited) for message, (waited, row) in most]

    def _held_line(self, message: int, process: int, waited: Nanoseconds) -> str:
        waits = self._ways.held(message)
        longest = max(waits, key=lambda wait: (wait.until_ns or wait.since_ns) - wait.since_ns)
        held = f"{self._ways.label(message)} at {self._process(process)}, where it was said"
        return f"{held}: held back for {_ms(waited)} {phrased(longest.reason)}"

    def summary(self, way: Way) -> str:
        """One line: where it waited, how long, and for what."""
        last = f", last {phrased(way.waits[-1].reason)}" if way.waits else ""
        waited = f" after {_ms(way.waited_ns)}" if way.waited_ns else " at once" if way.came_ns else ""
        state = "not delivered" if way.delivered_ns is None else f"delivered{waited}"
        return f"{self._ways.label(way.message)} at {self._process(way.process)}: {state}{last}"

    def _said(self, way: Way) -> Iterator[str]:
        label = self._ways.label(way.message)
        yield (
            f"{label} was said at {self._at(way.said_ns)}."
            if way.said_ns is not None
            else (f"{label} was never said.")
        )
        for wait in way.held:
            yield f"  It was held back {self._waited(wait)}."

    def _came(self, way: Way, subject: str) -> Iterator[str]:
        here = self._process(way.process)
        if way.came_ns is not None and way.source >= 0:
            lasted = "" if way.delivered_ns is None else f" {_ms(way.waited_ns)}"
            lay = f", and waited{lasted} there:" if way.waits else "."
            handed = f", from {self._process(way.source)}"
            yield f"{subject} came to {here} at {self._at(way.came_ns)}{handed}{lay}"
        elif way.came_ns is not None:
            yield f"{subject} is {here}'s own, and waited {_ms(way.waited_ns)} there:"
        elif way.delivered_ns is None and self._told:
            yield f"{subject} never came to {here}."

    def _delivered(self, way: Way, subject: str) -> str:
        here = self._process(way.process)
        if way.delivered_ns is None:
            return f"{subject} was not delivered at {here}."
        return f"{subject} was delivered at {here} at {self._at(way.delivered_ns)}."

    def _waited(self, wait: Wait) -> str:
        lasted = "to the end" if wait.until_ns is None else f"for {_ms(wait.until_ns - wait.since_ns)}"
        found = "" if wait.told else " (its past says so; its algorithm does not tell)"
        return f"{lasted} {phrased(wait.reason)}{found}"

    def _on_its_way(self, way: Way) -> str:
        if way.came_ns is None or way.said_ns is None or not self._one_clock:
            return ""
        return f", which was {_ms(way.came_ns - way.said_ns)} on its way to {self._process(way.process)}"

    def _process(self, process: int) -> str:
        return self._trace.processes.label(process)

    def _at(self, time: Nanoseconds) -> str:
        return _ms(time - self.began)

    def _way_data(self, way: Way) -> dict[str, Any]:
        return {
            "message": self._ways.label(way.message),
            "said_ns": way.said_ns,
            "held": [self._wait_data(wait) for wait in way.held],
            "came_ns": way.came_ns,
            "from": None if way.source < 0 else self._process(way.source),
            "waits": [self._wait_data(wait) for wait in way.waits],
            "delivered_ns": way.delivered_ns,
        }

    def _wait_data(self, wait: Wait) -> dict[str, Any]:
        reason = wait.reason
        return {
            "kind": reason.kind or None,
            "peer": reason.peer,
            "cause": None if wait.cause < 0 else self._ways.label(wait.cause),
            "since_ns": wait.since_ns,
            "until_ns": wait.until_ns,
            "told_by": "protocol" if wait.told else "past",
        }

    def _event_data(self, row: int) -> dict[str, Any]:
        events = self._trace.story.events
        process, other = int(events.process[row]), int(events.other[row])
        return {
            "time_ns": int(events.time_ns[row]),
            "kind": events.kind[row],
            "process": None if process < 0 else self._process(process),
            "other": None if other < 0 else self._process(other),
            "text": events.text[row] or None,
        }


def _ms(duration: Nanoseconds) -> str:
    return f"{duration / MILLISECOND:,.1f} ms"
