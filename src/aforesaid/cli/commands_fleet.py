"""The subcommand of the fleet and its options; what it does lives in the module it imports."""

from pathlib import Path
from typing import Annotated

import typer
from typer import Argument, Option

from aforesaid.cli.options import AsJson


def reproduce(
    figures: Annotated[
        list[str],
        Argument(help="One or more of: fig5a fig5b table1 churn crossover flood.", metavar="FIGURE"),
    ],
    out: Annotated[Path, Option(help="Where pictures (PNG, SVG), CSV and JSON go.")] = Path("figures"),
    processes: Annotated[
        list[int] | None,
        Option(help="How many processes (may be repeated); by default as above.", metavar="COUNT"),
    ] = None,
    seed: Annotated[
        int,
        Option(
            min=0, help="Seed of joins, speakers and exchanges. How many links processes get varies with it."
        ),
    ] = 4,
    as_json: AsJson = False,
) -> None:
    """Reproduce the experiment of the PRC-broadcast paper on the compiled fleet, and go beyond it.

    fig5a: local space over time, with the delay below; 100, 1,000 and 10,000 processes.
    fig5b: control messages per process and second over time; the same runs.
    table1: what broadcasts cost; groups of 10, 30 and 100.
    churn: figure 5 while 0, 1 or 5 % of 1,000 processes crash per minute.
    crossover: from which delay on is a vector of N entries smaller? 10 and 100 broadcasts per second.
    flood: time and memory of one broadcast to a million processes.

    The first run compiles for half a minute; 10,000 processes then take about a minute. Exactly once is
    checked at every receipt: a violation stops the run with its message and process, and exit code 1. Each
    FIGURE.json has the seed and the versions; docs/fleet.md tells what the figures say.

    [dim]aforesaid reproduce fig5a fig5b --processes 100 --processes 1000[/dim]
    [dim]aforesaid reproduce flood --processes 1000000[/dim]
    """
    from aforesaid.cli.reproduce import reproduce_figures

    raise typer.Exit(reproduce_figures(figures, processes or [], seed, out, as_json))
