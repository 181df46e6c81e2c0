"""The page's HTML and its looks: sections, tables, figures; light and dark, readable without colour."""

from collections.abc import Iterable, Sequence
from html import escape

ROWS_MAX = 40
"""Rows of a table on the page; the Parquet and CSV files have them all."""


class Html(str):
    """Text that is HTML already; all other text is escaped."""

    __slots__ = ()


def section(title: str, body: str, note: str = "") -> str:
    told = f'<p class="note">{escape(note)}</p>' if note else ""
    return f"<section>\n<h2>{escape(title)}</h2>\n{told}{body}\n</section>\n"


def facts(lines: Iterable[tuple[str, str]]) -> str:
    """Names and values."""
    items = "".join(f"<dt>{escape(name)}</dt><dd>{escape(text)}</dd>\n" for name, text in lines)
    return f"<dl>\n{items}</dl>"


def table(caption: str, columns: Sequence[str], rows: Sequence[Sequence[str]], numbers_from: int) -> str:
    """A table whose columns are numbers from a place on; cells are text, unless they are `Html`."""
    head = "".join(
        f'<th scope="col"{_number(place >= numbers_from)}>{escape(name)}</th>'
        for place, name in enumerate(columns)
    )
    body = "".join(
        "<tr>"
        + "".join(
            f"<td{_number(place >= numbers_from)}>{cell if isinstance(cell, Html) else escape(cell)}</td>"
            for place, cell in enumerate(row)
        )
        + "</tr>\n"
        for row in rows[:ROWS_MAX]
    )
    more = f'<p class="note">... and {len(rows) - ROWS_MAX:,} more</p>' if len(rows) > ROWS_MAX else ""
    return (
        f'<div class="wide" tabindex="0" role="region" aria-label="{escape(caption)}"><table>'
        f"<caption>{escape(caption)}</caption>\n<thead><tr>{head}</tr></thead>\n<tbody>\n{body}</tbody></table></div>"
        + more
    )


def figure(svg: str, description: str, caption: str) -> str:
    """A drawing, what it shows in words for who cannot see it, and what to look for."""
    return (
        f'<figure><div role="img" aria-label="{escape(description)}">{svg}</div>'
        f"<figcaption>{escape(caption)}</figcaption></figure>\n"
    )


def folded(title: str, body: str) -> str:
    return f"<details><summary>{escape(title)}</summary>{body}</details>\n"


def badge(value: str) -> Html:
    """A verdict: a mark and a word, so that colour is not needed."""
    mark = {"kept": "\u2713", "violated": "\u2717", "unknown": "?", "failed": "\u2717"}[value]
    return Html(f'<span class="badge {value}">{mark}\u00a0{value}</span>')


def _number(is_number: bool) -> str:
    return ' class="number"' if is_number else ""


STYLE = """
:root { color-scheme: light dark; --ink: #1c2128; --paper: #ffffff; --faint: #d8dee4; --soft: #57606a;
  --wash: #f6f8fa; --kept: #116329; --violated: #b3141f; --unknown: #7d4e00;
  --line1: #0b5cad; --line2: #b8360b; --line3: #11703a; --line4: #8a3fc7; --line5: #8a6100; --line6: #b3246f;
  --line7: #007a80; --line8: #57606a; }
@media (prefers-color-scheme: dark) { :root { --ink: #e6edf3; --paper: #12161c; --faint: #343b44;
  --soft: #9aa5b1;
  --wash: #1a2029; --kept: #56d364; --violated: #ff8a80; --unknown: #e3b341;
  --line1: #6cb6ff; --line2: #ff9a63; --line3: #5fd48a; --line4: #cfa3ff; --line5: #e3b341; --line6: #ff8fc6;
  --line7: #4fd1d9; --line8: #aab4bf; } }
body { margin: 0; background: var(--paper); color: var(--ink);
  font: 16px/1.55 system-ui, -apple-system, "Segoe UI", Roboto, "Liberation Sans", sans-serif; }
main { max-width: 54rem; margin: 0 auto; padding: 2.5rem 1.25rem 4rem; }
.kind { margin: 0; color: var(--soft); font-size: .85rem; letter-spacing: .06em; text-transform: uppercase; }
h1 { font-size: 1.6rem; line-height: 1.25; margin: .3rem 0 0; padding-left: .9rem; border-left: .3rem solid; }
h1.kept { border-color: var(--kept); } h1.violated { border-color: var(--violated); }
h1.unknown { border-color: var(--unknown); }
h2 { font-size: 1.1rem; margin: 2.4rem 0 .6rem; }
dl { display: grid; grid-template-columns: max-content 1fr; gap: .15rem 1.2rem; margin: 0; }
dt { color: var(--soft); } dd { margin: 0; overflow-wrap: anywhere; }
.note, figcaption, caption, footer { color: var(--soft); font-size: .9rem; }
.wide { overflow-x: auto; }
table { border-collapse: collapse; font-size: .9rem; min-width: 60%; }
caption { text-align: left; padding-bottom: .3rem; }
th, td { text-align: left; vertical-align: top; padding: .25rem .9rem .25rem 0;
  border-bottom: 1px solid var(--faint); }
th { font-weight: 600; white-space: nowrap; }
.number { text-align: right; font-variant-numeric: tabular-nums; white-space: nowrap; }
.badge { font-weight: 600; white-space: nowrap; } .badge.kept { color: var(--kept); }
.badge.violated, .badge.failed { color: var(--violated); } .badge.unknown { color: var(--unknown); }
ol, ul { padding-left: 1.4rem; } li { margin: .35rem 0; }
code { background: var(--wash); padding: .1rem .3rem; border-radius: .25rem; font-size: .85em;
  overflow-wrap: anywhere; }
figure { margin: 1rem 0; } figure svg { width: 100%; height: auto; max-width: 46rem; overflow: visible; }
summary { cursor: pointer; color: var(--soft); margin: .6rem 0; }
footer { margin-top: 3rem; border-top: 1px solid var(--faint); }
@media print { details { display: none; } main { max-width: none; padding: 0; } }
"""
