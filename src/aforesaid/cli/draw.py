"""`aforesaid draw`: a run as a picture."""

from pathlib import Path

from aforesaid.cli import show
from aforesaid.core import Misuse
from aforesaid.report.spacetime import spacetime
from aforesaid.trace.parquet import find_runs, open_trace


def draw_run(path: str, out: Path, messages: int, first: int, force: bool) -> None:
    runs = find_runs(path)
    if len(runs) > 1:
        raise Misuse(f"{path} holds {len(runs)} runs; name one of them, such as {runs[0]}")
    if out.exists() and not force:
        raise Misuse(f"{out} exists; choose another --out or pass --force")
    trace = open_trace(runs[0])
    if first >= len(trace.messages):
        raise Misuse(f"{runs[0]} has {len(trace.messages)} messages; --first {first} is past the last")
    picture = spacetime(trace, messages, first)
    try:
        out.write_text(picture)
    except OSError as error:
        raise Misuse(f"cannot write {out}: {error.strerror}") from error
    show.out.print(f"drew {min(messages, len(trace.messages) - first)} messages of {runs[0].name} into {out}")
