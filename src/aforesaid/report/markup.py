"""The page's HTML: sections, tables, figures. Its looks, light and dark and without colour: page.css."""

from collections.abc import Iterable, Sequence
from html import escape
from importlib.resources import files
from urllib.parse import quote

STYLE = files(__package__).joinpath("page.css").read_text()

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


def figure(svg: str, description: str, caption: str, more: str = "") -> str:
    """A drawing, what it shows in words for who cannot see it, and what to look for; more is HTML."""
    return (
        f'<figure><div role="img" aria-label="{escape(description)}">{svg}</div>'
        f"<figcaption>{escape(caption)}{' ' if more else ''}{more}</figcaption></figure>\n"
    )


def explored(page: str, run: str, message: str = "") -> Html:
    """A link into the explorer page, to a run or a message of it; nothing where there is no page."""
    if not page:
        return Html("")
    place = f"run={quote(run, safe='')}" + (f"&m={quote(message, safe='')}" if message else "")
    words = f"Explore {message or 'this run'}"
    return Html(f'<a href="{escape(quote(page))}#{escape(place)}">{escape(words)}</a>')


def folded(title: str, body: str) -> str:
    return f"<details><summary>{escape(title)}</summary>{body}</details>\n"


def badge(value: str, words: str = "") -> Html:
    """A verdict: a mark and a word, or more of them, so that colour is not needed."""
    mark = {"kept": "\u2713", "violated": "\u2717", "unknown": "?", "failed": "\u2717"}[value]
    return Html(f'<span class="badge {value}">{mark}\u00a0{escape(words or value)}</span>')


def _number(is_number: bool) -> str:
    return ' class="number"' if is_number else ""
