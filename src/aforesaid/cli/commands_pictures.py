"""The subcommands that make something to look at; what they do lives in the modules they import."""

from pathlib import Path
from typing import Annotated

from typer import Argument, Option


def draw(
    trace: Annotated[str, Argument(help="A run=NAME directory, or a directory with one run; or a URI.")],
    out: Annotated[Path, Option(help="The picture; its name ends with .svg, .pdf or .png.")] = Path(
        "spacetime.svg"
    ),
    messages: Annotated[int, Option(min=1, help="How many messages to draw, from the first one on.")] = 12,
    first: Annotated[int, Option(min=0, help="The first message to draw, counted over the run.")] = 0,
    around: Annotated[
        str | None,
        Option(metavar="MESSAGE", help="Draw this one, as p2#5, with what came before it and what followed."),
    ] = None,
    process: Annotated[
        list[str] | None, Option(help="Draw this process's line only; may be repeated.")
    ] = None,
    force: Annotated[bool, Option("--force", help="Replace the file if it exists.")] = False,
) -> None:
    """Draw a trace as a space-time diagram: who said what, when it came, waited and was delivered.

    Partitions and pauses are shaded, what broke an order is crossed out in red, promised or not.
    Where the clocks of processes do not compare, time is logical.

    [dim]aforesaid draw traces/run=demo --out demo.svg[/dim]
    [dim]aforesaid draw traces/run=demo --around p1#17 --process p0 --process p1 --out wait.pdf[/dim]
    """
    from aforesaid.cli.draw import draw_run

    draw_run(trace, out, messages, first, around, process or [], force)


def view(
    traces: Annotated[
        list[str],
        Argument(
            help="Runs, or directories of runs, or URIs; or schedules that `explore --save` wrote.",
            metavar="TRACE...",
        ),
    ],
    out: Annotated[Path, Option(help="The page: one HTML file that needs no network.")] = Path("view.html"),
    serve: Annotated[
        bool, Option("--serve", help="Write no file; serve the page on this machine, for a large trace.")
    ] = False,
    port: Annotated[int, Option(min=0, max=65535, help="With --serve: the port; 0 is any free one.")] = 0,
    force: Annotated[bool, Option("--force", help="Replace the file if it exists.")] = False,
) -> None:
    """Make a page to look at runs in a browser: every message, what came before it, and what went wrong.

    Point at a message and its causal past and future light up; click it for its story. Violations are listed
    and marked. docs/viewer.md shows the way through it.

    [dim]aforesaid view traces/run=demo --out demo.html[/dim]
    [dim]aforesaid view traces --serve[/dim]
    [dim]aforesaid view smallest.json[/dim]
    """
    from aforesaid.cli.view import serve_page, write_page

    if serve:
        serve_page(traces, port)
    else:
        write_page(traces, out, force)
