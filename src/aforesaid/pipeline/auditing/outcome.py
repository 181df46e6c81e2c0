"""What became of one run. No Spark here."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from aforesaid.check import Report


@dataclass(frozen=True)
class Outcome:
    """What became of one run: a report, or why there is none."""

    run: str
    path: str
    """Where it lies; empty if it came as rows of tables over all runs."""
    report: Report | None
    refusal: str = ""
    rows: dict[str, int] = field(default_factory=dict)
    """The rows of each table of events."""
    refused: dict[tuple[str, str], int] = field(default_factory=dict)
    """How many of them were refused, by table and reason."""
    quarantine: tuple[tuple[str, str, str], ...] = ()
    """Refused rows of a run that was judged without them: table, reason, and the row as it came."""
    slices: int = 1
    seconds: float = 0.0
    """The work of all tasks for it."""
    memory_bytes: int = 0
    """The most that a worker held while it was at it."""
    by_rows: bool = False
    """Whether it was refused for its rows and not for its files, so that a second look may help."""

    @property
    def value(self) -> str:
        return "unknown" if self.report is None else self.report.value()


def refused_whole(run: str, path: str, refusal: str, rows: Mapping[str, int]) -> Outcome:
    """A run of which nothing can be judged: its rows, as far as their number is known, are refused."""
    reasons = {(table, f"the run is refused: {refusal}"): count for table, count in rows.items()}
    return Outcome(run, path, None, refusal, dict(rows), reasons)
