"""The judgement on the page: the sentence at its top, the verdicts, the violations and the failures."""

from collections import Counter
from html import escape

from aforesaid.report.findings import Findings, Row
from aforesaid.report.markup import Html, badge, explored, section, table
from aforesaid.report.matrix import GRAVITY, matrix, names_of, swept_only, unpromised

SENTENCES_MAX = 20
"""Violations told on the page."""


def headline(found: Findings) -> tuple[str, str]:
    """The verdict on everything: its value, and one sentence."""
    values = _values(found)
    failed = sum(row["state"] == "failed" for row in found.rows("sweep"))
    failing = (f" {_count(failed, 'scenario')} failed." if failed else "") + unpromised(found)
    if not values:
        return "unknown", f"Not judged: there is no verdict on these runs.{failing}"
    counts = Counter(values.values())
    runs = _count(len(values), "run")
    if counts["violated"]:
        broken = ", ".join(sorted(_broken(found)))
        which = f": {broken}" if broken else ""
        return (
            "violated",
            f"Violated: {counts['violated']:,} of {runs} broke what was required{which}.{failing}",
        )
    if counts["unknown"]:
        return (
            "unknown",
            f"Undecided: nothing was violated, but of {counts['unknown']:,} of {runs} too little is known."
            f"{failing}",
        )
    kept = f"Kept: all that was required of {runs} was kept."
    return ("unknown" if failing else "kept"), f"{kept}{failing}"


def section_of_verdicts(found: Findings) -> str:
    """Each property over all runs, what each algorithm kept, then the violations as sentences."""
    verdicts = [row for row in found.rows("verdicts") if row["required"]]
    swept = _of_the_sweep(found)
    if not verdicts:
        return section("Verdict", swept) if swept else ""
    rows = []
    for name in dict.fromkeys(row["property"] for row in verdicts):
        ours = [row for row in verdicts if row["property"] == name]
        counts = Counter(row["value"] for row in ours)
        worst = next(value for value in GRAVITY if counts[value])
        figures = [f"{counts[value]:,}" for value in reversed(GRAVITY)]
        rows.append([name, badge(worst), *figures, f"{sum(row['violations'] for row in ours):,}"])
    rows.sort(key=lambda row: next(place for place, value in enumerate(GRAVITY) if value in row[1]))
    columns = ["property", "verdict", "runs kept", "unknown", "violated", "violations"]
    body = table("What was required, over all runs", columns, rows, 2)
    body += matrix(found)
    return section("Verdict", body + _sentences(found) + _notes(verdicts) + _counted(found.summary) + swept)


def section_of_failures(found: Findings) -> str:
    failed = [row for row in found.rows("sweep") if row["state"] == "failed"]
    if not failed:
        return ""
    items = "".join(
        f"<li><strong>{escape(row['run'])}</strong>: {escape(row['error'])}<br>"
        f"<code>{escape(row['replay'])}</code></li>\n"
        for row in failed[:SENTENCES_MAX]
    )
    return section(
        "Scenarios that failed",
        f"<ul>\n{items}</ul>{_more(len(failed))}",
        "Each with the command that runs it again.",
    )


def _values(found: Findings) -> dict[str, str]:
    """The verdict on each run: the audit's, or else what the sweep itself found."""
    values: dict[str, str] = {}
    for row in found.rows("verdicts"):
        if row["required"]:
            before = values.get(row["run"], "kept")
            values[row["run"]] = min(before, row["value"], key=GRAVITY.index)
    return values | {row["run"]: row["verdict"] for row in swept_only(found)}


def _broken(found: Findings) -> set[str]:
    return {
        row["property"] for row in found.rows("verdicts") if row["required"] and row["value"] == "violated"
    }


def _of_the_sweep(found: Findings) -> str:
    """The verdicts of a sweep that judged its own runs, on those of which nobody else has told."""
    judged = swept_only(found)
    if not judged:
        return ""
    by_name: dict[str, list[Row]] = {}
    for row in judged:
        by_name.setdefault(row["algorithm"], []).append(row)
    rows = []
    for name, ours in by_name.items():
        counts = Counter(row["verdict"] for row in ours)
        broken = Counter(prop for row in ours for prop in names_of(row.get("unpromised")))
        told = ", ".join(f"{prop} in {count:,}" for prop, count in sorted(broken.items()))
        # Sweeps before 0.2 looked at what was required only.
        nothing = "" if all("unpromised" in row for row in ours) else "not told"
        worst = next(value for value in GRAVITY if counts[value])
        figures = [f"{counts[value]:,}" for value in reversed(GRAVITY)]
        rows.append([name, badge(worst), badge("violated", told) if told else nothing, *figures])
    columns = ["algorithm", "verdict", "not promised, not kept", "runs kept", "unknown", "violated"]
    evidence = [(row["run"], row["evidence"], Html("")) for row in judged if row["evidence"]]
    return table("Runs, as judged during the sweep", columns, rows, 3) + _list(evidence)


def _sentences(found: Findings) -> str:
    """What was promised first, then what was not."""
    required = {(row["run"], row["property"]) for row in found.rows("verdicts") if row["required"]}
    told = []
    for row in sorted(found.rows("violations"), key=lambda row: row["rank"]):
        promised = (row["run"], row["property"]) in required
        words = "" if promised else " (not promised)"
        link = explored(found.explorer, row["run"], row.get("message") or "")
        told.append((not promised, row["run"], f"{row['property']}{words}: {row['sentence']}", link))
    told.sort(key=lambda each: each[0])
    # Not all that were counted were put into words.
    counted = sum(row["violations"] for row in found.rows("verdicts"))
    return _list([line[1:] for line in told], counted)


def _list(told: list[tuple[str, str, Html]], counted: int = 0) -> str:
    if not told:
        return ""
    items = "".join(
        f"<li><strong>{escape(run)}</strong>, {escape(text)} {link}</li>\n"
        for run, text, link in told[:SENTENCES_MAX]
    )
    return f"<ol>\n{items}</ol>{_more(max(counted, len(told)))}"


def _more(count: int) -> str:
    return f'<p class="note">... and {count - SENTENCES_MAX:,} more</p>' if count > SENTENCES_MAX else ""


def _notes(verdicts: list[Row]) -> str:
    """Why a verdict is unknown."""
    notes = dict.fromkeys(row["note"] for row in verdicts if row["value"] == "unknown" and row["note"])
    return "".join(f'<p class="note">Unknown: {escape(note)}</p>' for note in list(notes)[:3])


def _counted(summary: Row) -> str:
    """What the audit read, and what of it could not be judged."""
    if "events_read" not in summary:
        return ""
    told = "{events_read:,} events read = {events_judged:,} judged + {events_refused:,} refused".format(
        **summary
    )
    reasons = "".join(f"; {count:,} {reason}" for reason, count in summary["refused_because"].items())
    return f'<p class="note">{escape(told + reasons)}.</p>'


def _count(number: int, thing: str) -> str:
    return f"{number:,} {thing}" if number == 1 else f"{number:,} {thing}s"
