"""`aforesaid algorithms`: the catalog for people and programs."""

from typing import Any

from rich.table import Table

from aforesaid.cli import show
from aforesaid.protocols.catalog import CATALOG, Algorithm, algorithm
from aforesaid.protocols.options import options_of


def show_algorithms(name: str | None, as_json: bool) -> None:
    entries = [algorithm(name)] if name else list(CATALOG.values())
    if as_json:
        show.print_json([_facts(entry) for entry in entries])
    elif name:
        _print_one(entries[0])
    else:
        _print_all(entries)


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
            ("paper", entry.paper),
            ("needs", ", ".join(entry.needs) or "nothing"),
            ("promises", ", ".join(entry.promises)),
            *([("where one may crash", ", ".join(less))] if less else []),
            ("metadata", entry.metadata),
            ("options", options or "none"),
        ],
    )


def _facts(entry: Algorithm) -> dict[str, Any]:
    return {
        "name": entry.name,
        "title": entry.title,
        "paper": entry.paper,
        "needs": list(entry.needs),
        "promises": list(entry.promises),
        "promises_if_crashed": entry.promises_if_crashed,
        "metadata": entry.metadata,
        "options": {option.name: option._asdict() for option in options_of(entry.options)},
    }
