"""A space-time diagram of a trace: time runs to the right, each process is a line.

A message is a dot on its origin's line, with an arrow to each process that ends where the message *came*. If
it waited there, a bar leads on to the ring where it was *delivered*. So what a causal algorithm does is seen:
the bar is the time for which a message lay there because something said before it was missing. Without
receipts, arrows end at deliveries. Where the clocks of processes do not compare, time is logical: an event is
as far to the right as the longest chain of events before it, and no slope means a duration.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from aforesaid.core import MILLISECOND
from aforesaid.report.logical import logical_times
from aforesaid.report.shapes import Circle, Drawing, Line, Polygon, Shape, Words, arrow, rectangle
from aforesaid.trace.telling import Telling
from aforesaid.trace.why import Told, Way, Ways

COLOURS = ("#1f6feb", "#bf5b04", "#1a7f37", "#9a6700", "#8250df", "#bf3989", "#0a7ea4", "#57606a")
RED, GREY, SHADE = "#d1242f", "#8c959f", "#eaeef2"
LEFT, RIGHT, TOP, ROW, BOTTOM, WIDTH = 70, 40, 34, 70, 52, 1060
TICKS = 8
WAITED = 14
"""How long the bar of a wait is where times do not compare."""
LABEL_WIDTH = 44
LANES_MAX = 40
"""So many processes are drawn unless they are named."""


@dataclass(frozen=True)
class Choice:
    """What of a run is drawn: these messages, on these processes' lines."""

    messages: list[int]
    processes: list[int]
    violations: Mapping[tuple[int, int], str] = field(default_factory=dict)
    """By process and message, what is wrong with that delivery, in a sentence."""


def from_first(trace: Told, first: int, count: int) -> list[int]:
    return list(range(first, min(first + count, len(trace.messages))))


def around(trace: Told, message: int, count: int) -> list[int]:
    """A message with what came just before it and what followed, nearest first, in order of sending."""
    messages, chosen = trace.messages, [message]
    for known in chosen:
        followers = [
            later for later in range(known + 1, len(messages)) if known in messages.after[later].tolist()
        ]
        near = [*messages.after[known].tolist(), *followers[:2]]
        chosen += [other for other in near if other not in chosen]
        if len(chosen) >= count:
            break
    return sorted(chosen[:count])


def lanes(trace: Told, messages: Iterable[int]) -> list[int]:
    """All processes, or those that speak and as many others as there is room for."""
    everyone = range(len(trace.processes))
    if len(everyone) <= LANES_MAX:
        return list(everyone)
    speaking = {int(trace.messages.origin[message]) for message in messages} - {-1}
    others = (process for process in everyone if process not in speaking)
    return sorted([*speaking, *others][:LANES_MAX])


def spacetime(trace: Told, choice: Choice) -> Drawing:
    """The diagram of what was chosen."""
    height = TOP + ROW * len(choice.processes) + BOTTOM
    drawing = Drawing(WIDTH, height, f"{trace.run.run}, {trace.run.algorithm}")
    stage = _Stage(trace, choice)
    drawing.add(stage.faults())
    drawing.add(stage.axis())
    drawing.add(stage.lifelines())
    for way in stage.ways:
        drawing.add(stage.arrival(way))
    drawing.add(stage.broadcasts())
    drawing.add(stage.legend())
    return drawing


class _Stage:
    """Where things are in one diagram."""

    def __init__(self, trace: Told, choice: Choice) -> None:
        self.trace, self.choice = trace, choice
        self._row = {process: row for row, process in enumerate(choice.processes)}
        self._by_clock = trace.run.clock == "global"
        self._finder = Ways(trace)
        self._telling = Telling(self._finder)
        self.ways = [
            self._finder.way(message, process)
            for message in choice.messages
            for process in [*self._finder.audience(message), int(trace.messages.origin[message])]
            if process in self._row
        ]
        self._logical = {} if self._by_clock else logical_times(trace, choice.messages, choice.processes)
        times = [time for way in self.ways for time in self._times(way)]
        times += [self._said(message) for message in choice.messages]
        self._start, self._end = min(times, default=0), max(times, default=1)
        self._scale = (WIDTH - LEFT - RIGHT) / max(1, self._end - self._start)
        self._began = self._telling.began

    def x(self, time: int) -> float:
        return LEFT + (min(max(time, self._start), self._end) - self._start) * self._scale

    def y(self, process: int) -> float:
        return TOP + ROW * self._row[process] + ROW / 2

    @property
    def _bottom(self) -> float:
        return TOP + ROW * len(self.choice.processes)

    def axis(self) -> Iterator[Shape]:
        if not self._by_clock:
            yield Words(
                LEFT, self._bottom + 16, "logical time: the clocks of these processes do not compare", GREY
            )
            return
        step = _step((self._end - self._start) / TICKS)
        time = self._began + -(-(self._start - self._began) // step) * step
        while time <= self._end:
            yield Line(self.x(time), TOP, self.x(time), self._bottom, SHADE)
            text = f"{(time - self._began) / MILLISECOND:,.3f}".rstrip("0").rstrip(".")
            yield Words(self.x(time), self._bottom + 16, f"{text} ms", GREY, "middle")
            time += step

    def lifelines(self) -> Iterator[Shape]:
        processes = self.trace.processes
        for process in self.choice.processes:
            ended = int(processes.ended_ns[process]) if self._by_clock else -1
            stop = self.x(self._end if ended < 0 else ended) + (8 if ended < 0 else 0)
            yield Words(12, self.y(process) + 4, processes.label(process), bold=True)
            yield Line(LEFT - 10, self.y(process), stop, self.y(process), GREY)
            if self._start <= ended <= self._end:
                yield Words(stop + 3, self.y(process) + 4, f"\u2715 {processes.fate[process]}", RED)

    def faults(self) -> Iterator[Shape]:
        """Partitions shade all lines, pauses their own."""
        events = self.trace.story.events
        for row in range(len(events)) if self._by_clock else ():
            process, began = int(events.process[row]), int(events.time_ns[row])
            over = self._finder.over(row)
            if events.kind[row] not in ("partition", "pause") or over < self._start or began > self._end:
                continue
            left, width = self.x(began), max(2.0, self.x(over) - self.x(began))
            title = self._telling.event(row)
            if process < 0:
                yield rectangle(left, TOP - 14, width, self._bottom - TOP + 14, "#fff1e5", title=title)
                yield Words(left + 3, TOP - 4, f"{events.kind[row]} {events.text[row]}", "#953800")
            elif process in self._row:
                yield rectangle(left, self.y(process) - 14, width, 28, "#ddf4ff", title=title)
                yield Words(left + 3, self.y(process) + 25, events.kind[row], "#0a5a8a")

    def arrival(self, way: Way) -> Iterator[Shape]:
        origin, colour = int(self.trace.messages.origin[way.message]), self._colour(way.message)
        came, delivered = self._came(way), self._delivered(way)
        height, title = self.y(way.process), self._telling.summary(way)
        ends = came if came is not None else delivered
        if ends is None:
            return
        if origin in self._row and origin != way.process:
            sent = Line(
                self.x(self._said(way.message)), self.y(origin), self.x(ends), height, colour, opacity=0.6
            )
            yield from arrow(sent)
        if came is not None and (delivered is None or delivered > came):
            until = self._end if delivered is None else delivered
            yield Line(
                self.x(came), height, self.x(until), height, colour, width=5, opacity=0.45, title=title
            )
        if not self._by_clock and way.waited_ns and delivered is not None:
            # How long is told by its own process's clock; where it came lies nowhere on this axis.
            at = self.x(delivered)
            yield Line(at - WAITED, height, at, height, colour, width=5, opacity=0.45, title=title)
            words = f"waited {way.waited_ns / MILLISECOND:,.0f} ms"
            yield Words(at - WAITED, height + 15, words, GREY)
        wrong = self.choice.violations.get((way.process, way.message))
        if delivered is not None and (origin != way.process or wrong):
            yield Circle(self.x(delivered), height, 3.5, "white", colour, title)
            yield from _cross(self.x(delivered), height, wrong) if wrong else ()

    def broadcasts(self) -> Iterator[Shape]:
        ends: dict[tuple[int, int], float] = {}
        for message in sorted(self.choice.messages, key=self._said):
            origin = int(self.trace.messages.origin[message])
            if origin not in self._row:
                continue
            x, y, colour = self.x(self._said(message)), self.y(origin), self._colour(message)
            # Labels that would lie on each other climb.
            level = next((n for n in range(3) if x - ends.get((origin, n), -99.0) > LABEL_WIDTH), 2)
            ends[origin, level] = x
            yield Circle(x, y, 4.5, colour)
            yield Words(x, y - 9 - 12 * level, self._finder.label(message), colour, "middle")

    def legend(self) -> Iterator[Shape]:
        told = "its arrow ends where it was delivered: this run has no receipts"
        if len(self.trace.story.receipts):
            told = "its arrow ends where it came, a bar is the time it waited"
            told = told if self._by_clock else "its arrow ends where it was delivered, a bar: it waited there"
        words = f"dot: a message is said; {told}; ring: delivered"
        words += "; crossed in red: it should not have been, not then" if self.choice.violations else ""
        yield Words(LEFT, self._bottom + 38, words, GREY)

    def _times(self, way: Way) -> list[int]:
        return [time for time in (self._came(way), self._delivered(way)) if time is not None]

    def _said(self, message: int) -> int:
        if self._by_clock:
            return int(self.trace.messages.time_ns[message])
        return self._logical.get((int(self.trace.messages.origin[message]), message), 0)

    def _came(self, way: Way) -> int | None:
        return way.came_ns if self._by_clock else None

    def _delivered(self, way: Way) -> int | None:
        if self._by_clock or way.delivered_ns is None:
            return way.delivered_ns
        return self._logical.get((way.process, way.message))

    def _colour(self, message: int) -> str:
        return COLOURS[int(self.trace.messages.origin[message]) % len(COLOURS)]


def _cross(x: float, y: float, sentence: str) -> list[Shape]:
    """Marks what should not have happened."""
    return [
        Polygon(
            ((x - 9, y - 9), (x + 9, y - 9), (x + 9, y + 9), (x - 9, y + 9)), "none", RED, title=sentence
        ),
        Line(x - 9, y - 9, x + 9, y + 9, RED, 2.0, title=sentence),
        Line(x - 9, y + 9, x + 9, y - 9, RED, 2.0, title=sentence),
    ]


def _step(least: float) -> int:
    """The next of 1, 2, 5, 10, ... nanoseconds from here on."""
    size = 1
    while True:
        for factor in (1, 2, 5):
            if factor * size >= least:
                return factor * size
        size *= 10
