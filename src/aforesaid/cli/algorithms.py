"""`aforesaid algorithms`: the catalog for people and programs."""

from dataclasses import asdict
from typing import Any

from rich.table import Table

from aforesaid.cli import show
from aforesaid.core import Misuse
from aforesaid.protocols import outside
from aforesaid.protocols.bibliography import Citation
from aforesaid.protocols.catalog import CATALOG, Algorithm, algorithm
from aforesaid.protocols.options import options_of


def show_algorithms(name: str | None, as_json: bool) -> None:
    """One algorithm, or all of ours and those that installed packages offer; a broken offer is told last."""
    entries, faults = ([algorithm(name)], []) if name else _all()
    if as_json:
        show.print_json([_facts(entry) for entry in entries])
    elif name:
        _print_one(entries[0])
    else:
        _print_all(entries)
    for fault in faults:
        show.err.print(f"not listed: {fault}", markup=False)


def _all() -> tuple[list[Algorithm], list[str]]:
    entries, faults = list(CATALOG.values()), []
    for name in outside.offered():
        try:
            entries.append(algorithm(name))
        except Misuse as error:
            faults.append(str(error))
    return entries, faults


def _print_all(entries: list[Algorithm]) -> None:
    table = Table(box=None, padding=(0, 2, 0, 0), header_style="dim")
    table.add_column("name", no_wrap=True)
    for column in ("what it is", "needs", "metadata per message"):
        table.add_column(column)
    for entry in entries:
        table.add_row(entry.name, entry.title, ", ".join(entry.needs) or "nothing", entry.metadata)
    show.out.print(table)
    show.out.print("\n[dim]`aforesaid algorithms NAME` tells its promises and its paper.[/dim]")


def _print_one(entry: Algorithm) -> None:
    options = "\n".join(f"{option.name}: {option}" for option in options_of(entry.options))
    less = entry.promises_if_crashed
    show.print_facts(
        entry.name,
        [
            ("what it is", entry.title),
            *([("version", entry.version)] if entry.version else []),
            ("paper", "\n".join(map(_work, entry.sources)) or "none"),
            ("needs", ", ".join(entry.needs) or "nothing"),
            ("promises", ", ".join(entry.promises)),
            *([("where one may crash", ", ".join(less))] if less else []),
            ("metadata", entry.metadata),
            ("options", options or "none"),
        ],
    )


def _work(source: Citation) -> str:
    """The whole work behind a citation, and the place in it."""
    work = source.reference
    year = work.year or "undated"
    parts = ("; ".join(work.authors), f"{work.title}. {work.venue}, {year}", source.section, work.link)
    return ". ".join(part.rstrip(".") for part in parts if part)


def _facts(entry: Algorithm) -> dict[str, Any]:
    return {
        "name": entry.name,
        "title": entry.title,
        "version": entry.version,
        "paper": entry.paper,
        "sources": [{**asdict(source.reference), "section": source.section} for source in entry.sources],
        "needs": list(entry.needs),
        "promises": list(entry.promises),
        "promises_if_crashed": entry.promises_if_crashed,
        "metadata": entry.metadata,
        "options": {option.name: option._asdict() for option in options_of(entry.options)},
    }
