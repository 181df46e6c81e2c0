"""What each algorithm promised and kept: a matrix in which nothing that was broken is passed over.

A property that an algorithm does not promise is no failure of the run, and its verdict does not count. But a
reader who wants to know what an algorithm does must see it as clearly as the rest.
"""

from collections import Counter
from collections.abc import Sequence
from html import escape

from aforesaid.report.findings import Findings, Row
from aforesaid.report.markup import Html, badge, table

GRAVITY = ("violated", "unknown", "kept")

BESIDE_MAX = 4
"""Of more algorithms each has a row."""


def matrix(found: Findings) -> str:
    """In how many of its runs an algorithm broke each property. A few algorithms stand beside each other, for
    properties across are wider than the page; what was broken comes first, and is in sight either way."""
    verdicts = found.rows("verdicts")
    algorithms = _algorithms(found)
    cells: dict[tuple[str, str], list[Row]] = {}
    for row in verdicts:
        name = str(algorithms.get(row["run"], row["run"]))
        cells.setdefault((name, row["property"]), []).append(row)
    worst: dict[str, int] = {}
    for row in verdicts:
        gravity = GRAVITY.index(row["value"])
        worst[row["property"]] = min(gravity, worst.get(row["property"], gravity))
    properties = sorted(worst, key=worst.__getitem__)
    names = list(dict.fromkeys(name for name, _ in cells))
    caption = "What each algorithm promised and kept, in how many of its runs"
    if len(names) <= BESIDE_MAX:
        rows = [[prop, *(_cell(cells.get((name, prop), ())) for name in names)] for prop in properties]
        return table(caption, ["property", *names], rows, len(names) + 1)
    rows = [[name, *(_cell(cells.get((name, prop), ())) for prop in properties)] for name in names]
    return table(caption, ["algorithm", *properties], rows, len(properties) + 1)


def unpromised(found: Findings) -> str:
    """What was neither promised nor kept, in a sentence for the top of the page; empty: nothing."""
    rows = found.rows("verdicts")
    runs = Counter(row["property"] for row in rows if not row["required"] and row["value"] == "violated")
    runs.update(name for row in swept_only(found) for name in names_of(row.get("unpromised")))
    if not runs:
        return ""
    told = ", ".join(f"{name} in {_runs(count)}" for name, count in sorted(runs.items()))
    return f" Not promised, and not kept: {told}."


def swept_only(found: Findings) -> list[Row]:
    """What a sweep itself found of its runs, as far as nobody else has told of them."""
    told = {row["run"] for row in found.rows("verdicts")}
    return [row for row in found.rows("sweep") if row["verdict"] and row["run"] not in told]


def names_of(properties: str | None) -> list[str]:
    """Several in one cell of a table."""
    return properties.split(", ") if properties else []


def _algorithms(found: Findings) -> dict[str, str]:
    """By run, whose it is, as far as a table or a trace tells."""
    rows = [row for name in ("runs", "sweep") for row in found.rows(name) if "run" in row]
    known = {str(row["run"]): str(row["algorithm"]) for row in rows}
    return {**known, **{trace.run.run: trace.run.algorithm for trace in found.traces}}


def _cell(verdicts: Sequence[Row]) -> Html:
    if not verdicts:
        return Html("not judged")
    counts = Counter(row["value"] for row in verdicts)
    required = any(row["required"] for row in verdicts)
    worst = next(value for value in GRAVITY if counts[value])
    several = f" {counts[worst]:,} of {len(verdicts):,}" if len(verdicts) > 1 else ""
    if required:
        return Html(badge(worst) + escape(several))
    words = {"violated": "not promised, not kept", "unknown": "not promised", "kept": "kept, not promised"}
    return badge(worst, words[worst] + several)


def _runs(count: int) -> str:
    return "1 run" if count == 1 else f"{count:,} runs"
