"""The formats by name, and which of them a file looks like."""

from collections.abc import Callable, Iterable, Sequence

from aforesaid.core import Misuse
from aforesaid.foreign.columns import Columns
from aforesaid.foreign.events import Count, Event, opened
from aforesaid.foreign.exports import jaeger, otlp
from aforesaid.foreign.lines import jsonl, maelstrom, table, text
from aforesaid.foreign.mapping import Mapping
from aforesaid.foreign.shiviz import shiviz
from aforesaid.foreign.spans import events_of, with_short_names
from aforesaid.storage import Place

_Read = Callable[[Sequence[Place], Mapping, Count], Iterable[Event]]
LINES: dict[str, _Read] = {
    "shiviz": shiviz,
    "jsonl": jsonl,
    "csv": table,
    "text": text,
    "maelstrom": maelstrom,
}
_EXPORTS = {"otlp": otlp, "jaeger": jaeger}
FORMATS = (*LINES, *_EXPORTS)
LOOKED_AT = 1 << 16


def events(
    format: str, paths: Sequence[Place], mapping: Mapping, causality: str | None, count: Count
) -> Iterable[Event]:
    """The events of files, each process's in its order."""
    if format not in FORMATS:
        raise Misuse(f"no format is called {format!r}; there are: {', '.join(FORMATS)}")
    if format in _EXPORTS:
        spans = with_short_names(list(_EXPORTS[format](paths, mapping, count)))
        return events_of(spans, causality == "potential", count)
    return LINES[format](paths, mapping, count)


def read(
    format: str, paths: Sequence[Place], mapping: Mapping, causality: str | None, count: Count
) -> tuple[Columns, str]:
    """The events of files as columns, and what causality they are to be judged by."""
    columns = Columns().take(events(format, paths, mapping, causality, count))
    return columns, settled(format, paths, causality, columns, count)


def settled(
    format: str, paths: Sequence[Place], causality: str | None, columns: Columns, count: Count
) -> str:
    """The causality to judge by: declared is usual where messages say what they follow, else potential.

    A node of Maelstrom does one thing, whatever it replies to.
    """
    if not columns:
        raise Misuse(_nothing(format, paths, count))
    says = format in _EXPORTS or bool(columns.follower)
    if causality == "declared" and not says:
        raise Misuse("causality cannot be declared: no message says what it follows (field `follows`)")
    return causality or ("declared" if says and format != "maelstrom" else "potential")


def _nothing(format: str, paths: Sequence[Place], count: Count) -> str:
    told = f"no message is sent or delivered in {', '.join(map(str, paths))}, read as {format}"
    looks = {name for name in map(_looks_like, paths) if name is not None}
    if looks and looks != {format}:
        told += f"; it looks like {' and '.join(sorted(looks))}"
    if count.refusals:
        told += f"; {count.refused} of {count.records} records are refused, the first: {count.refusals[0]}"
    elif count.other:
        told += f"; all {count.other} records are about something else"
    return told


def _looks_like(path: Place) -> str | None:
    with opened(path) as file:
        start = file.read(LOOKED_AT).decode(errors="replace")
    first, _, rest = start.strip().partition("\n")
    if '"resourceSpans"' in start:
        return "otlp"
    if '"spanID"' in start:
        return "jaeger"
    if "{" in first and not first.startswith("{"):
        logged = any(word in first for word in ("Sent", "Received", "sent", "received"))
        return "maelstrom" if logged and '"src"' in start else "shiviz" if rest else None
    if first.startswith("{"):
        return "jsonl"
    return "csv" if "," in first else None
