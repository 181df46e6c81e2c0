"""The subcommands and their options. What they do lives in the modules they import."""

from pathlib import Path
from typing import Annotated

import typer
from typer import Argument, Option

from aforesaid import __version__
from aforesaid.cli.keys import app as keys_app
from aforesaid.cli.spark import Debug, Master, Memory, Remote, Temporary

app = typer.Typer(
    name="aforesaid",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
    help="""Causal broadcast and causal delivery: exactly once, and never before what was said before.

Run algorithms in a simulated bad network, judge what they did, or explore every schedule there is.

Exit codes: 0 kept or done, 1 violated, 2 misuse, 3 unknown.""",
)

AsJson = Annotated[
    bool, Option("--json", help="Print one JSON value for programs instead of text for people.")
]


@app.command()
def simulate(
    scenario: Annotated[
        Path, Argument(help="A scenario in TOML; see the directory scenarios/ and docs/scenarios.md.")
    ],
    out: Annotated[Path, Option(help="Where the trace goes: DIR/run=NAME/*.parquet.")] = Path("traces"),
    run: Annotated[str | None, Option(help="The run's name. Default: algorithm, size and seed.")] = None,
    seed: Annotated[int | None, Option(help="Another seed than the scenario's.")] = None,
    algorithm: Annotated[str | None, Option(help="Another algorithm than the scenario's.")] = None,
    seeds: Annotated[
        int,
        Option(
            min=0,
            help="Run so many seeds and judge each in memory; a failing one is told with its replay command.",
        ),
    ] = 0,
    force: Annotated[bool, Option("--force", help="Replace a run of the same name.")] = False,
    as_json: AsJson = False,
) -> None:
    """Run a scenario and write its trace; same scenario and seed, same trace.

    [dim]aforesaid simulate scenarios/demo.toml --out traces[/dim]
    [dim]aforesaid simulate scenarios/demo.toml --seeds 300[/dim]
    """
    from aforesaid.cli.simulate import simulate_once, simulate_seeds

    if seeds:
        code = simulate_seeds(scenario, out, seed, algorithm, seeds, as_json)
    else:
        code = simulate_once(scenario, out, run, seed, algorithm, force, as_json)
    raise typer.Exit(code)


@app.command()
def check(
    trace: Annotated[Path, Argument(help="A directory of runs, or one run=NAME directory.")],
    properties: Annotated[
        list[str] | None,
        Option(
            "--property",
            help="Require this property (may be repeated). Default: what the run's algorithm promises.",
        ),
    ] = None,
    witnesses: Annotated[int, Option(min=1, help="How many violations to show per property.")] = 5,
    as_json: AsJson = False,
) -> None:
    """Judge a trace: was every property kept? Each violation comes with its witness.

    [dim]aforesaid check traces[/dim]
    [dim]aforesaid check traces/run=demo --property causal --json[/dim]
    """
    from aforesaid.cli.check import check_runs

    raise typer.Exit(check_runs(trace, properties, witnesses, as_json))


@app.command()
def explore(
    algorithm: Annotated[str, Argument(help="A name from `aforesaid algorithms`.")],
    processes: Annotated[int, Option(min=1, help="How many processes.")] = 3,
    messages: Annotated[int, Option(min=0, help="How many messages each process says.")] = 1,
    crashes: Annotated[int, Option(min=0, help="How many processes may crash, at any moment.")] = 0,
    duplicates: Annotated[int, Option(min=0, help="How many frames may arrive twice.")] = 0,
    drops: Annotated[
        int,
        Option(min=0, help="How many frames may be lost; on links that open and close, of control frames."),
    ] = 0,
    timers: Annotated[int, Option(min=0, help="How many timers may fire in all.")] = 0,
    fifo: Annotated[bool, Option("--fifo", help="Frames of a link arrive in order.")] = False,
    perfect_links: Annotated[
        bool, Option("--perfect-links", help="Put acks and resending between the algorithm and the network.")
    ] = False,
    links: Annotated[
        list[str] | None,
        Option(
            "--link",
            metavar="DO:PROCESS:PEER[:MEDIATOR...]",
            help="Open or close a link, at any moment: open:p0:p2:p1 is p0 opening one to p2 by way of p1. "
            "May be repeated; each process does its own in the order given.",
        ),
    ] = None,
    disconnections: Annotated[
        int, Option(min=0, help="How many connections under links may be lost, with a tail of their frames.")
    ] = 0,
    options: Annotated[
        list[str] | None,
        Option(
            "--option",
            metavar="NAME=VALUE",
            help="A setting of the algorithm, see `aforesaid algorithms NAME`; may be repeated.",
        ),
    ] = None,
    states_max: Annotated[
        int, Option(min=1, help="Give up after this many states (verdict: unknown).")
    ] = 5_000_000,
    save: Annotated[Path | None, Option(help="Write a violating schedule to this file.")] = None,
    replay: Annotated[Path | None, Option(help="Replay a saved schedule instead of exploring.")] = None,
    as_json: AsJson = False,
) -> None:
    """Try every schedule of an algorithm at a small scope: all orders, crash points, duplicates, losses.

    A violation is shown as the shortest schedule that leads to it. Where messages name their receivers,
    every choice of them is tried: one other process, or any others if the algorithm multicasts.

    [dim]aforesaid explore waiting --processes 3 --messages 2[/dim]
    [dim]aforesaid explore hybrid_sps --processes 3 --messages 1[/dim]
    [dim]aforesaid explore waiting --messages 1 --crashes 1[/dim]
    [dim]aforesaid explore prc --fifo --option degree=1 --option both_ways=false --link open:p0:p2:p1[/dim]
    """
    from aforesaid.cli.explore import explore_all, link_calls, replay_schedule, settings
    from aforesaid.explore import Scope

    scope = Scope(
        processes=processes,
        messages=messages,
        crashes_max=crashes,
        duplicates_max=duplicates,
        drops_max=drops,
        timer_firings_max=timers,
        fifo=fifo,
        perfect_links=perfect_links,
        links=link_calls(links or ()),
        disconnections_max=disconnections,
        options=settings(options or ()),
    )
    if replay:
        raise typer.Exit(replay_schedule(replay, as_json))
    raise typer.Exit(explore_all(algorithm, scope, states_max, save, as_json))


@app.command()
def algorithms(
    name: Annotated[str | None, Argument(help="Show one algorithm in full.")] = None, as_json: AsJson = False
) -> None:
    """The catalog: what each algorithm needs, promises and costs, and where it is printed."""
    from aforesaid.cli.algorithms import show_algorithms

    show_algorithms(name, as_json)


@app.command()
def draw(
    trace: Annotated[Path, Argument(help="A run=NAME directory, or a directory with one run.")],
    out: Annotated[Path, Option(help="The picture, as SVG.")] = Path("spacetime.svg"),
    messages: Annotated[int, Option(min=1, help="How many messages to draw, from the first one on.")] = 12,
    first: Annotated[int, Option(min=0, help="The first message to draw, counted over the run.")] = 0,
    force: Annotated[bool, Option("--force", help="Replace the file if it exists.")] = False,
) -> None:
    """Draw a trace as a space-time diagram: who said what, and when each process delivered it.

    [dim]aforesaid draw traces/run=demo --out demo.svg[/dim]
    """
    from aforesaid.cli.draw import draw_run

    draw_run(trace, out, messages, first, force)


@app.command()
def sweep(
    grid: Annotated[
        Path, Argument(help="A scenario with a table \\[sweep] of what varies; see docs/sweeps.md.")
    ],
    out: Annotated[
        Path, Option(help="Where traces go: DIR/run=NAME/*.parquet, and the table DIR/sweep.parquet.")
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
) -> None:
    """Run a grid of scenarios on Spark, one task each; started again, it runs only what is missing.

    A scenario that fails is told with its replay command and stops no other.
    Exit codes: 0 all done, 1 a promise was broken (with --check), 2 misuse, 3 a scenario failed.

    [dim]aforesaid sweep scenarios/sweep.toml --out sweep --check[/dim]
    [dim]aforesaid sweep scenarios/sweep.toml --out /shared/sweep --master spark://host:7077[/dim]
    """
    from aforesaid.cli.sweep import sweep_grid
    from aforesaid.pipeline.session import SparkOptions

    options = SparkOptions(master, remote, temporary, memory, debug)
    raise typer.Exit(sweep_grid(grid, out, judge, force, as_json, options))


@app.command()
def metrics(
    traces: Annotated[Path, Argument(help="A directory of runs, or one run=NAME directory.")],
    out: Annotated[Path, Option(help="Where the tables go, each as Parquet and CSV.")],
    force: Annotated[bool, Option("--force", help="Replace tables that are there.")] = False,
    as_json: AsJson = False,
    master: Master = None,
    remote: Remote = None,
    temporary: Temporary = None,
    memory: Memory = "2g",
    debug: Debug = False,
) -> None:
    """Measure traces on Spark: latency, also above the causal optimum, space and traffic over time, growth.

    [dim]aforesaid metrics traces --out metrics[/dim]
    """
    from aforesaid.cli.metrics import measure_runs
    from aforesaid.pipeline.session import SparkOptions

    options = SparkOptions(master, remote, temporary, memory, debug)
    raise typer.Exit(measure_runs(traces, out, force, as_json, options))


@app.command()
def report(
    directories: Annotated[
        list[Path], Argument(help="Where `sweep`, `audit` and `metrics` wrote their tables; any of them.")
    ],
    out: Annotated[Path, Option(help="The page, one HTML file with everything in it.")] = Path("report.html"),
    force: Annotated[bool, Option("--force", help="Replace the file if it exists.")] = False,
) -> None:
    """Make one page to read of what was run, judged and measured. Needs no Spark.

    [dim]aforesaid report sweep audit metrics --out report.html[/dim]
    """
    from aforesaid.cli.report import write_report

    write_report(directories, out, force)


@app.command()
def audit(
    traces: Annotated[
        Path, Argument(help="A directory of runs, or of tables over all runs; see docs/audit.md.")
    ],
    out: Annotated[
        Path, Option(help="Where the tables go: DIR/verdicts.parquet, violations.parquet, summary.json, ...")
    ],
    properties: Annotated[
        list[str] | None,
        Option(
            "--property",
            help="Require this property (may be repeated). Default: what each run's algorithm promises.",
        ),
    ] = None,
    witnesses: Annotated[int, Option(min=1, help="How many violations to word per run and property.")] = 5,
    messages_max: Annotated[
        int, Option(min=1, help="Refuse runs of more messages: a worker holds their table, 400 bytes each.")
    ] = 5_000_000,
    force: Annotated[bool, Option("--force", help="Replace DIR if it exists.")] = False,
    as_json: AsJson = False,
    master: Master = None,
    remote: Remote = None,
    temporary: Temporary = None,
    memory: Memory = "2g",
    debug: Debug = False,
) -> None:
    """Judge any number of runs of any size on Spark, by the rules of `check`; write tables of the findings.

    Rows that cannot be judged are counted and set aside, never dropped; a damaged run stops no other.

    [dim]aforesaid audit traces --out audit[/dim]
    [dim]aforesaid audit /shared/traces --out /shared/audit --master spark://host:7077[/dim]
    """
    from aforesaid.cli.audit import audit_runs
    from aforesaid.pipeline.session import SparkOptions

    options = SparkOptions(master, remote, temporary, memory, debug)
    raise typer.Exit(audit_runs(traces, out, properties, witnesses, messages_max, force, as_json, options))


Directory = Annotated[Path, Argument(help="The directory of a live node, as its configuration says.")]


@app.command()
def node(
    config: Annotated[Path, Option(help="The node's configuration in TOML; see docs/node.md.")],
    log: Annotated[str, Option(help="Log this and worse: debug, info, warning or error.")] = "warning",
) -> None:
    """Run a node that speaks JSON lines: messages in on standard input, deliveries out on standard output.

    A line {"payload": "hello"} is for everyone, {"to": ["bob"], "payload": "hello"} for some.
    The end of the input, or SIGTERM, closes the node once others have what it said.

    [dim]aforesaid node --config alice.toml[/dim]
    """
    from aforesaid.cli.node import run_node

    run_node(config, log)


@app.command()
def cluster(
    count: Annotated[int, Argument(min=1, max=100, help="How many nodes.", metavar="N")],
    directory: Annotated[Path, Option(help="Where configurations and traces go.")] = Path("cluster"),
    algorithm: Annotated[
        str, Option(help="hybrid_multicast_sps, hybrid_multicast, waiting or prc_spray.")
    ] = "hybrid_multicast_sps",
    transport: Annotated[str | None, Option(help="udp or tcp. Default: udp, where it will do.")] = None,
) -> None:
    """Start N nodes on this machine, for trying things; Ctrl-C stops them all.

    Type "p0 hello" to have p0 say hello to everyone. On loopback and in the clear: not for the network.

    [dim]aforesaid cluster 3[/dim]
    """
    from aforesaid.cli.cluster import run_cluster

    run_cluster(count, directory, algorithm, transport or ("tcp" if algorithm == "prc_spray" else "udp"))


@app.command()
def why(
    directory: Directory,
    message: Annotated[
        str | None, Argument(help="A message, as alice#5. Without one: the peers, and how they are.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Ask a live node why a message waits: what is missing, who holds it, since when.

    [dim]aforesaid why cluster/p0 p1#5[/dim]
    """
    from aforesaid.cli.node import explain

    explain(directory, message, as_json)


@app.command()
def evict(directory: Directory, peer: Annotated[str, Argument(help="Who will not come back.")]) -> None:
    """Tell a live node that a peer is gone for good; it tells the others.

    Nobody waits for the peer any more, and nothing of it is let in. docs/node.md says what that costs.

    [dim]aforesaid evict cluster/p0 p1[/dim]
    """
    from aforesaid.cli.node import evict as evict_peer

    evict_peer(directory, peer)


@app.command()
def ingest(
    segments: Annotated[
        Path, Argument(help="Where nodes have their trace segments: one directory, or one above them.")
    ],
    out: Annotated[Path, Option(help="Where the trace goes: DIR/run=NAME/*.parquet.")] = Path("traces"),
    run: Annotated[str, Option(help="The run's name.")] = "nodes",
    force: Annotated[bool, Option("--force", help="Replace a run of the same name.")] = False,
    as_json: AsJson = False,
) -> None:
    """Make one trace of what real nodes wrote down, to be judged by `check` or `audit`.

    A node that was killed is a process that crashed; a record that it did not complete is left out.

    [dim]aforesaid ingest cluster --out traces && aforesaid check traces/run=nodes[/dim]
    """
    from aforesaid.cli.ingest import ingest_segments

    ingest_segments(segments, out, run, force, as_json)


app.add_typer(keys_app)


@app.callback(invoke_without_command=True)
def version(
    show: Annotated[bool, Option("--version", help="Print the version and stop.", is_eager=True)] = False,
) -> None:
    if show:
        typer.echo(f"aforesaid {__version__}")
        raise typer.Exit
