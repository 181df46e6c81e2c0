"""The subcommands of the data pipeline and their options; what they do lives in the modules they import."""

from pathlib import Path
from typing import Annotated

import typer
from typer import Argument, Option

from aforesaid.cli.options import AsJson
from aforesaid.cli.spark import Conf, Debug, Master, Memory, Remote, Temporary


def sweep(
    grid: Annotated[
        Path, Argument(help="A scenario with a table \\[sweep] of what varies; see docs/sweeps.md.")
    ],
    out: Annotated[
        str, Option(help="Where traces go, a directory or a URI: DIR/run=NAME/*.parquet, DIR/sweep.parquet.")
    ],
    judge: Annotated[bool, Option("--check", help="Judge each run where it was made.")] = False,
    force: Annotated[
        bool, Option("--force", help="Replace runs of the same names that come from other scenarios.")
    ] = False,
    as_json: AsJson = False,
    master: Master = None,
    remote: Remote = None,
    temporary: Temporary = None,
    memory: Memory = "2g",
    debug: Debug = False,
    conf: Conf = None,
) -> None:
    """Run a grid of scenarios on Spark, one task each; started again, it runs only what is missing.

    A scenario that fails is told with its replay command and stops no other. With engine = "fleet" in the
    grid, all of it runs on the compiled fleet.
    Exit codes: 0 all done, 1 a promise was broken (with --check), 2 misuse, 3 a scenario failed.

    [dim]aforesaid sweep scenarios/sweep.toml --out sweep --check[/dim]
    [dim]aforesaid sweep scenarios/sweep.toml --out s3a://bucket/sweep --master spark://host:7077[/dim]
    """
    from aforesaid.cli.sweep import sweep_grid
    from aforesaid.pipeline.session import SparkOptions

    options = SparkOptions(master, remote, temporary, memory, debug, tuple(conf or ()))
    raise typer.Exit(sweep_grid(grid, out, judge, force, as_json, options))


def audit(
    traces: Annotated[
        str, Argument(help="A directory of runs, or of tables over all runs, or a URI; see docs/audit.md.")
    ],
    out: Annotated[
        str, Option(help="Where the tables go, a directory or a URI: DIR/verdicts.parquet, summary.json, ...")
    ],
    properties: Annotated[
        list[str] | None,
        Option(
            "--property",
            help="Require this property (may be repeated). Default: what each run's algorithm promises.",
        ),
    ] = None,
    witnesses: Annotated[int, Option(min=1, help="How many violations to word per run and property.")] = 5,
    force: Annotated[bool, Option("--force", help="Replace DIR if it exists.")] = False,
    as_json: AsJson = False,
    master: Master = None,
    remote: Remote = None,
    temporary: Temporary = None,
    memory: Memory = "2g",
    debug: Debug = False,
    conf: Conf = None,
) -> None:
    """Judge any number of runs of any size on Spark, by the rules of `check`; write tables of the findings.

    Rows that cannot be judged are counted and set aside, never dropped; a damaged run stops no other.

    [dim]aforesaid audit traces --out audit[/dim]
    [dim]aforesaid audit s3a://bucket/traces --out s3a://bucket/audit --master spark://host:7077[/dim]
    """
    from aforesaid.cli.audit import audit_runs
    from aforesaid.pipeline.session import SparkOptions

    options = SparkOptions(master, remote, temporary, memory, debug, tuple(conf or ()))
    raise typer.Exit(audit_runs(traces, out, properties, witnesses, force, as_json, options))


def watch(
    segments: Annotated[
        list[str],
        Argument(
            help="Where nodes write their segments: directories or URIs of one cluster; see docs/watch.md."
        ),
    ],
    out: Annotated[
        str, Option(help="Where tables and state go, a directory; there already, the watch goes on from it.")
    ],
    until_idle: Annotated[
        float | None,
        Option(min=0.1, help="End once nothing more is written for so many seconds. Default: at Ctrl-C."),
    ] = None,
    page: Annotated[
        Path | None,
        Option(help="An HTML file that is written anew while the watch runs, and refreshes itself."),
    ] = None,
    on_violation: Annotated[
        str | None,
        Option(
            help="At the first violation of what is required: a command, which gets it as JSON on its "
            "standard input, or an http URL, which gets it by POST."
        ),
    ] = None,
    grace: Annotated[
        float, Option(min=0.0, help="Seconds that a delivery waits for a message that nobody has said yet.")
    ] = 5.0,
    age: Annotated[
        float,
        Option(min=1.0, help="Seconds that a message is waited for; then what is owed of it is unknown."),
    ] = 60.0,
    force: Annotated[bool, Option("--force", help="Begin anew, in place of what is in DIR.")] = False,
    as_json: Annotated[
        bool, Option("--json", help="Print JSON lines: each batch, each violation, the end.")
    ] = False,
    master: Master = None,
    temporary: Temporary = None,
    memory: Memory = "2g",
    debug: Debug = False,
    conf: Conf = None,
) -> None:
    """Judge a system of nodes while it runs, on Spark: what is violated is told within a second or two.

    Started again with the same DIR, it goes on where it was, killed or not, and repeats no verdict.
    Exit codes when it ends: 0 kept, 1 violated, 2 misuse, 3 unknown.

    [dim]aforesaid watch nodes --out watched --page live.html[/dim]
    [dim]aforesaid watch nodes --out watched --until-idle 10 --on-violation http://127.0.0.1:8000/alarm[/dim]
    """
    from aforesaid.cli.watch import watch_segments
    from aforesaid.pipeline.session import SparkOptions
    from aforesaid.pipeline.watching import WatchOptions

    spark = SparkOptions(master, None, temporary, memory, debug, tuple(conf or ()))
    options = WatchOptions(grace, age)
    raise typer.Exit(
        watch_segments(segments, out, until_idle, page, on_violation, force, as_json, options, spark)
    )


def metrics(
    traces: Annotated[str, Argument(help="A directory of runs, or one run=NAME directory; or a URI.")],
    out: Annotated[str, Option(help="Where the tables go, each as Parquet and CSV; a directory or a URI.")],
    force: Annotated[bool, Option("--force", help="Replace tables that are there.")] = False,
    as_json: AsJson = False,
    master: Master = None,
    remote: Remote = None,
    temporary: Temporary = None,
    memory: Memory = "2g",
    debug: Debug = False,
    conf: Conf = None,
) -> None:
    """Measure traces on Spark: latency, also above the causal optimum, space and traffic over time, growth.

    [dim]aforesaid metrics traces --out metrics[/dim]
    """
    from aforesaid.cli.metrics import measure_runs
    from aforesaid.pipeline.session import SparkOptions

    options = SparkOptions(master, remote, temporary, memory, debug, tuple(conf or ()))
    raise typer.Exit(measure_runs(traces, out, force, as_json, options))


def report(
    directories: Annotated[
        list[Path],
        Argument(
            help="Where `sweep`, `audit` and `metrics` wrote their tables; any of them. "
            "Also run=NAME directories, to be told in detail."
        ),
    ],
    out: Annotated[Path, Option(help="The page, one HTML file with everything in it.")] = Path("report.html"),
    note: Annotated[
        Path | None, Option(help="A text to put first: what was done, a line for each thing.")
    ] = None,
    view: Annotated[
        Path | None, Option(help="The page that `aforesaid view` makes of the same runs: links lead into it.")
    ] = None,
    force: Annotated[bool, Option("--force", help="Replace the file if it exists.")] = False,
) -> None:
    """Make one page to read of what was run, judged and measured. Needs no Spark.

    [dim]aforesaid report sweep audit metrics --out report.html[/dim]
    """
    from aforesaid.cli.report import write_report

    write_report(directories, out, note, view, force)
