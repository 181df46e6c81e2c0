"""The subcommand of the fleet and its options; what it does lives in the module it imports."""

from pathlib import Path
from typing import Annotated

import typer
from typer import Argument, Option

from aforesaid.cli.options import AsJson


def reproduce(
    figures: Annotated[
        list[str],
        Argument(help="fig5a, fig5b (the paper's); churn, crossover (beyond it); flood (a million)."),
    ],
    out: Annotated[Path, Option(help="Where PNG, SVG, CSV and reproduce.json go.")] = Path("figures"),
    processes: Annotated[
        list[int] | None,
        Option(help="How many processes (may be repeated). Default for figure 5: 100, 1,000 and 10,000."),
    ] = None,
    seed: Annotated[int, Option(min=0, help="Seed of joins, speakers and exchanges.")] = 1,
    as_json: AsJson = False,
) -> None:
    """Reproduce the experiment of the PRC-broadcast paper, and go beyond it, on the compiled fleet.

    The first run compiles for half a minute; 10,000 processes then take about a minute.
    Exactly once is checked at every receipt: a violation stops the run with its message and process.

    [dim]aforesaid reproduce fig5a fig5b --processes 100 --processes 1000[/dim]
    [dim]aforesaid reproduce flood --processes 1000000[/dim]
    """
    from aforesaid.cli.reproduce import reproduce_figures

    raise typer.Exit(reproduce_figures(figures, processes or [], seed, out, as_json))
