"""`aforesaid draw`: a run as a picture."""

from collections.abc import Sequence
from pathlib import Path

from aforesaid.check import Report, check
from aforesaid.cli import show
from aforesaid.core import Misuse
from aforesaid.report.shapes import FORMATS
from aforesaid.report.spacetime import Choice, around, from_first, lanes, spacetime
from aforesaid.trace.parquet import ParquetTrace, find_runs, open_trace
from aforesaid.trace.why import Ways

JUDGED_MAX = 1_000_000
"""So many deliveries are judged before they are drawn."""
WITNESSES = 1_000


def draw_run(
    path: str,
    out: Path,
    messages: int,
    first: int,
    centre: str | None,
    processes: Sequence[str],
    force: bool,
) -> None:
    runs = find_runs(path)
    if len(runs) > 1:
        raise Misuse(f"{path} holds {len(runs)} runs; name one of them, such as {runs[0]}")
    if out.suffix not in FORMATS:
        raise Misuse(f"{out}: a picture's name ends with {', '.join(FORMATS)}")
    if out.exists() and not force:
        raise Misuse(f"{out} exists; choose another --out or pass --force")
    trace = open_trace(runs[0])
    if first >= len(trace.messages):
        raise Misuse(f"{runs[0]} has {len(trace.messages)} messages; --first {first} is past the last")
    ways = Ways(trace)
    rows = from_first(trace, first, messages)
    if centre is not None:
        rows = around(trace, ways.message(centre), messages)
    places = [ways.process(label) for label in processes] or lanes(trace, rows)
    drawing = spacetime(trace, Choice(rows, places, _violations(trace)))
    try:
        drawing.save(out)
    except OSError as error:
        raise Misuse(f"cannot write {out}: {error.strerror}") from error
    some = "" if len(places) == len(trace.processes) else f" on {len(places)} of {len(trace.processes)} lines"
    show.out.print(f"drew {len(rows)} messages of {runs[0].name}{some} into {out}")


def _violations(trace: ParquetTrace) -> dict[tuple[int, int], str]:
    """What is wrong with which delivery, promised or not."""
    if trace.delivery_count > JUDGED_MAX:
        return {}
    return violations_of(check(trace, witnesses_max=WITNESSES))


def violations_of(report: Report) -> dict[tuple[int, int], str]:
    """By process and message, the sentence of the first violation seen there."""
    found: dict[tuple[int, int], str] = {}
    for verdict in report.verdicts.values():
        for witness in verdict.witnesses:
            found.setdefault((witness.process_index, witness.message_index), witness.sentence)
    return found
