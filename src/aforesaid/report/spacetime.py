"""A space-time diagram of a trace as SVG: time runs to the right, each process is a line.

A broadcast is a dot on its origin's line, with an arrow to each process where it ends when that process
*delivers* it. So what a causal algorithm does is visible: an arrow bends late where a message waited for what
had been said before it. Plain SVG text: no drawing library, and it scales.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from html import escape
from typing import TypeAlias

from aforesaid.core import MILLISECOND
from aforesaid.trace import Trace, label_of_message

COLOURS = ("#1f6feb", "#d1242f", "#1a7f37", "#9a6700", "#8250df", "#bf3989", "#0a7ea4", "#57606a")
_Place: TypeAlias = Callable[[int], float]
"""From a time or a process to where it is drawn."""

LEFT, RIGHT, TOP, ROW, WIDTH = 70, 30, 34, 70, 1060


@dataclass(frozen=True)
class _Arrow:
    """One delivery to draw."""

    message: int
    process: int
    time_ns: int


def spacetime(trace: Trace, messages: int, first: int = 0) -> str:
    """The diagram of some messages of a run, from the first-th on, and all their deliveries."""
    chosen = range(first, min(first + messages, len(trace.messages)))
    arrows = sorted(_arrows(trace, chosen), key=lambda arrow: arrow.time_ns)
    times = [int(trace.messages.time_ns[message]) for message in chosen] + [arrow.time_ns for arrow in arrows]
    start, end = min(times, default=0), max(times, default=1)
    scale = (WIDTH - LEFT - RIGHT) / max(1, end - start)
    height = TOP + ROW * len(trace.processes)

    def x(time_ns: int) -> float:
        return LEFT + (time_ns - start) * scale

    def y(process: int) -> float:
        return TOP + ROW * process + ROW / 2

    parts = [_opening(height, trace.run.run)]
    parts += _lifelines(trace, x, y, start, end)
    for arrow in arrows:
        parts += _delivery(trace, arrow, x, y)
    for message in chosen:
        parts += _broadcast(trace, message, x, y)
    return "\n".join([*parts, "</svg>\n"])


def _arrows(trace: Trace, chosen: range) -> Iterator[_Arrow]:
    for process, log in trace.logs():
        for message, time_ns in zip(log.message.tolist(), log.time_ns.tolist(), strict=True):
            if message in chosen:
                yield _Arrow(message, process, time_ns)


def _opening(height: int, title: str) -> str:
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height + 24}" '
        f'font-family="ui-sans-serif, system-ui, sans-serif" font-size="12">\n'
        f"<title>{escape(title)}</title>\n"
        f'<rect width="{WIDTH}" height="{height + 24}" fill="white"/>'
    )


def _lifelines(trace: Trace, x: _Place, y: _Place, start: int, end: int) -> list[str]:
    parts = []
    for process in range(len(trace.processes)):
        ended = int(trace.processes.ended_ns[process])
        stop = end if ended < 0 else min(max(ended, start), end)
        parts.append(_text(12, y(process) + 4, trace.processes.label(process), 'font-weight="600"'))
        parts.append(_line(LEFT - 10, y(process), x(stop) + 8, y(process), "#8c959f"))
        if start <= ended <= end:
            fate = f"\u2715 {trace.processes.fate[process]}"
            parts.append(_text(x(stop) + 12, y(process) + 4, fate, 'fill="#d1242f"'))
    bottom = TOP + ROW * len(trace.processes) + 14
    parts.append(_text(LEFT, bottom, f"{start / MILLISECOND:.1f} ms", 'fill="#57606a"'))
    parts.append(
        _text(WIDTH - RIGHT, bottom, f"{end / MILLISECOND:.1f} ms", 'fill="#57606a" text-anchor="end"')
    )
    return parts


def _delivery(trace: Trace, arrow: _Arrow, x: _Place, y: _Place) -> list[str]:
    origin = int(trace.messages.origin[arrow.message])
    if origin < 0 or origin == arrow.process:
        return []
    colour = _colour(trace, arrow.message)
    sent = x(int(trace.messages.time_ns[arrow.message]))
    there, height = x(arrow.time_ns), y(arrow.process)
    return [
        _line(sent, y(origin), there, height, colour, 'opacity="0.55"'),
        f'<circle cx="{there:.1f}" cy="{height}" r="3" fill="white" stroke="{colour}"/>',
    ]


def _broadcast(trace: Trace, message: int, x: _Place, y: _Place) -> list[str]:
    origin = int(trace.messages.origin[message])
    if origin < 0:
        return []
    sent = x(int(trace.messages.time_ns[message]))
    colour, label = _colour(trace, message), label_of_message(trace, message)
    return [
        f'<circle cx="{sent:.1f}" cy="{y(origin)}" r="4.5" fill="{colour}"/>',
        _text(sent, y(origin) - 9, label, f'text-anchor="middle" fill="{colour}"'),
    ]


def _colour(trace: Trace, message: int) -> str:
    return COLOURS[int(trace.messages.origin[message]) % len(COLOURS)]


def _text(x: float, y: float, words: str, style: str) -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" {style}>{escape(words)}</text>'


def _line(x1: float, y1: float, x2: float, y2: float, colour: str, style: str = "") -> str:
    return f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" stroke="{colour}" {style}/>'
