"""The subcommands and their options. What they do lives in the modules they import."""

from pathlib import Path
from typing import Annotated

import typer
from typer import Argument, Option

from aforesaid.cli import commands_node, commands_pictures, commands_pipeline
from aforesaid.cli.keys import app as keys_app
from aforesaid.cli.new import app as new_app
from aforesaid.cli.options import AsJson
from aforesaid.cli.spark import Conf, Debug, Master, Memory, Remote, Temporary
from aforesaid.core.version import STATE_FORMAT, __version__

app = typer.Typer(
    name="aforesaid",
    no_args_is_help=True,
    context_settings={"help_option_names": ["-h", "--help"]},
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
    help="""Causal broadcast and causal delivery: exactly once, and never before what was said before.

Run algorithms in a simulated bad network, judge what they did, explore every schedule there is; sweep and
audit at scale on Spark; or run real nodes.

Exit codes: 0 kept or done, 1 violated, 2 misuse, 3 unknown.""",
)

SIMULATED = "Simulate, judge, explore"


@app.command(rich_help_panel=SIMULATED)
def simulate(
    scenario: Annotated[
        str, Argument(help="A scenario in TOML or JSON; see the directory scenarios/ and docs/scenarios.md.")
    ],
    out: Annotated[
        str, Option(help="Where the trace goes, a directory or a URI: DIR/run=NAME/*.parquet.")
    ] = "traces",
    run: Annotated[str | None, Option(help="The run's name. Default: algorithm, size and seed.")] = None,
    seed: Annotated[int | None, Option(min=0, help="Another seed than the scenario's.")] = None,
    algorithm: Annotated[
        str | None, Option(help="Another algorithm than the scenario's; one of your own as path.py:ENTRY.")
    ] = None,
    settings: Annotated[
        list[str] | None,
        Option(
            "--set",
            metavar="KEY=VALUE",
            help="Another value than the scenario's, as network.loss=0.1; may be repeated.",
        ),
    ] = None,
    seeds: Annotated[
        int,
        Option(
            min=0,
            help="Run so many seeds and judge each in memory; a failing one is told with its replay command.",
        ),
    ] = 0,
    receipts: Annotated[
        bool | None,
        Option(
            help="Write down when messages came and what they waited for. "
            "Default: as the scenario says, else up to a million deliveries."
        ),
    ] = None,
    force: Annotated[bool, Option("--force", help="Replace a run of the same name.")] = False,
    as_json: AsJson = False,
) -> None:
    """Run a scenario and write its trace; same scenario and seed, same trace.

    A file with engine = "fleet" runs PRC-broadcast with up to very many processes on the compiled fleet, and
    traces some of them (docs/fleet.md). The first run compiles for half a minute.

    [dim]aforesaid simulate scenarios/demo.toml --out traces[/dim]
    [dim]aforesaid simulate scenarios/demo.toml --seeds 300[/dim]
    [dim]aforesaid simulate scenarios/demo.toml --set processes=8 --set network.loss=0.1[/dim]
    [dim]aforesaid simulate scenarios/fleet.toml[/dim]
    """
    from aforesaid.cli.simulate import simulate_once, simulate_seeds

    if seeds:
        code = simulate_seeds(scenario, out, seed, algorithm, settings or [], seeds, as_json)
    else:
        code = simulate_once(scenario, out, run, seed, algorithm, settings or [], receipts, force, as_json)
    raise typer.Exit(code)


@app.command(rich_help_panel=SIMULATED)
def check(
    trace: Annotated[str, Argument(help="A directory of runs, or one run=NAME directory; or a URI.")],
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


@app.command(rich_help_panel=SIMULATED)
def explore(
    algorithm: Annotated[str, Argument(help="A name from `aforesaid algorithms`, or path.py:ENTRY.")],
    processes: Annotated[int, Option(min=1, help="How many processes.")] = 3,
    messages: Annotated[int, Option(min=0, help="How many messages each process says.")] = 1,
    crashes: Annotated[int, Option(min=0, help="How many processes may crash, at any moment.")] = 0,
    duplicates: Annotated[int, Option(min=0, help="How many frames may arrive twice.")] = 0,
    drops: Annotated[
        int,
        Option(min=0, help="How many frames may be lost; on links that open and close, of control frames."),
    ] = 0,
    timers: Annotated[
        int,
        Option(
            min=0,
            help="How many timers may fire in all. What goes on by timers needs some to come to its end.",
        ),
    ] = 0,
    fifo: Annotated[
        bool | None,
        Option(
            "--fifo/--any-order",
            help="Whether frames of a link arrive in order. Without either: if the algorithm needs it.",
            show_default=False,
        ),
    ] = None,
    perfect_links: Annotated[
        bool, Option("--perfect-links", help="Put acks and resending between the algorithm and the network.")
    ] = False,
    links: Annotated[
        list[str] | None,
        Option(
            "--link",
            metavar="DO:PROCESS[:PEER[:MEDIATOR...]]",
            help="Open or close a link, at any moment: open:p0:p2:p1 is p0 opening one to p2 by way of p1. "
            "join:p3:p0 lets p3 join through p0; hand_over:p1 and leave:p1 let p1 leave. "
            "May be repeated; each process does its own in the order given.",
        ),
    ] = None,
    disconnections: Annotated[
        int, Option(min=0, help="How many connections under links may be lost, with a tail of their frames.")
    ] = 0,
    suspicions: Annotated[
        int, Option(min=0, help="How often a process may be told that a peer is down which is up.")
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

    An algorithm is explored with what it needs (see `aforesaid algorithms NAME`): in order if it needs FIFO
    links, with a perfect failure detector. A scope that does not give what it needs is refused, with the
    option to set. If liveness stays open because a timer may not fire any more, that is said: set --timers.

    [dim]aforesaid explore waiting --processes 3 --messages 2[/dim]
    [dim]aforesaid explore hybrid_sps --processes 3 --messages 1[/dim]
    [dim]aforesaid explore waiting --messages 1 --crashes 1[/dim]
    [dim]aforesaid explore newtop --processes 2 --timers 4[/dim]
    [dim]aforesaid explore prc --option degree=1 --option both_ways=false --link open:p0:p2:p1[/dim]
    [dim]aforesaid explore prc_spray --option degree=1 --messages 0 --link join:p2:p0 --timers 1[/dim]
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
        suspicions_max=suspicions,
        options=settings(options or ()),
    )
    if replay:
        raise typer.Exit(replay_schedule(replay, as_json))
    raise typer.Exit(explore_all(algorithm, scope, states_max, save, as_json))


@app.command(rich_help_panel=SIMULATED)
def world(
    group: Annotated[
        str,
        Option(
            help="`fixed` (every algorithm), `durable` (they survive), `admitting` (so do they, and others "
            "come), `changing` (prc_spray), or `keeping` (its history is kept)."
        ),
    ] = "fixed",
    seeds: Annotated[int, Option(min=1, help="How many seeds.")] = 20,
    first: Annotated[int, Option(min=0, help="The first seed.")] = 0,
    jobs: Annotated[int, Option(min=0, help="How many processes work; 0: one per core.")] = 0,
    plan: Annotated[Path | None, Option(help="Play this saved plan instead.")] = None,
    save: Annotated[
        Path | None, Option(help="Make the first plan that fails smaller, and write it to this file.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Run real nodes on machines of our own making: a clock that jumps, a network, disks, deaths by seed.

    Each seed draws a group, an algorithm and faults: loss, cuts, halts, kills in the middle of a turn, full
    disks, clocks that jump. Judged are order, that all comes to rest after the last fault, and that nothing
    is left open. The same seed gives the same bytes in every trace segment. See docs/world.md.

    [dim]aforesaid world --seeds 200[/dim]
    [dim]aforesaid world --group changing --seeds 50[/dim]
    [dim]aforesaid world --first 74 --seeds 1 --save smallest.json[/dim]
    [dim]aforesaid world --plan smallest.json[/dim]
    """
    from aforesaid.cli.world import play_plan, play_seeds
    from aforesaid.core import Misuse

    if plan is not None:
        raise typer.Exit(play_plan(plan, save, as_json))
    if group not in ("fixed", "changing", "durable", "admitting", "keeping"):
        raise Misuse(f"--group {group}: fixed, changing, durable, admitting or keeping")
    raise typer.Exit(play_seeds(group, first, seeds, jobs, save, as_json))  # type: ignore[arg-type]


@app.command(rich_help_panel=SIMULATED)
def algorithms(
    name: Annotated[
        str | None, Argument(help="Show one algorithm in full; one of your own as path.py:ENTRY.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """The catalog: what each algorithm needs, promises and costs, and where it is printed."""
    from aforesaid.cli.algorithms import show_algorithms

    show_algorithms(name, as_json)


@app.command(rich_help_panel=SIMULATED)
def reproduce(
    figures: Annotated[
        list[str],
        Argument(
            help="Of figure5 vectors baselines table1 churn crossover flood, or files; one or more.",
            metavar="FIGURE",
        ),
    ],
    out: Annotated[
        Path, Option(help="Where pictures, CSV and JSON go; the runs they are drawn from go to OUT/runs.")
    ] = Path("figures"),
    processes: Annotated[
        list[int] | None,
        Option(help="How many processes (may be repeated); by default as above.", metavar="COUNT"),
    ] = None,
    seeds: Annotated[
        int, Option(help="How many seeds: the mean is drawn, with its 95 % interval as a band.")
    ] = 1,
    seed: Annotated[int, Option(help="The first seed. How many links processes get varies with it.")] = 1,
    settings: Annotated[
        list[str] | None,
        Option(
            "--set",
            metavar="KEY=VALUE",
            help="Another value of the experiment, as period_ms=30000 (docs/scenarios.md); may be repeated.",
        ),
    ] = None,
    formats: Annotated[
        list[str] | None,
        Option(
            "--format",
            metavar="[png|svg|pdf]",
            help="Kind of picture (may be repeated). Default: png and svg.",
        ),
    ] = None,
    titles: Annotated[bool, Option("--title/--no-title", help="Whether pictures have a title.")] = True,
    force: Annotated[bool, Option("--force", help="Run again what OUT/runs has already.")] = False,
    jobs: Annotated[
        int | None, Option(help="How many runs at a time. Default: one for each core.", show_default=False)
    ] = None,
    as_json: AsJson = False,
    spark: Annotated[
        bool,
        Option(
            "--spark",
            help="Make the runs on Spark, on this machine unless one of these says where.",
            rich_help_panel="Spark",
        ),
    ] = False,
    master: Master = None,
    remote: Remote = None,
    temporary: Temporary = None,
    memory: Memory = "2g",
    debug: Debug = False,
    conf: Conf = None,
) -> None:
    """Reproduce the figures of the PRC-broadcast paper, or make figures for a paper of your own.

    figure5: local space (a) and control messages (b) over time, beside the paper's own points; 100, 1,000 and
    10,000 processes on the compiled fleet.
    vectors: local space beside that of preventive broadcast in the same experiment, and of vector clocks over
    the same messages; 100 and 1,000 processes.
    baselines: local space of PRC-broadcast, preventive broadcast and vector clocks, each measured in the
    simulator; 30 processes.
    table1: what broadcasts cost; groups of 10, 30 and 100.
    churn: figure 5 while 0, 1 or 5 % of 1,000 processes crash per minute.
    crossover: from which delay on is a vector clock smaller? 10 and 100 broadcasts per second.
    flood: time and memory of one broadcast to a million processes.
    FILE.toml: a scenario, or a grid as for `sweep`; local space and traffic over time, a curve for each of
    its combinations. It needs sample_ms.

    Runs are spread over all cores, or over a cluster with --master, and kept in OUT/runs: started again, only
    what is missing is run, so a figure changes its format or title in a moment. The fleet compiles for half a
    minute the first time; 10,000 processes then take about half a minute. A violation stops all with its
    message and process, and exit code 1. Each FIGURE.json has seeds, settings and versions; docs/reproduce.md
    tells more.

    [dim]aforesaid reproduce figure5 --processes 100 --processes 1000 --seeds 10[/dim]
    [dim]aforesaid reproduce figure5 --seeds 20 --set period_ms=30000 --format pdf --no-title[/dim]
    [dim]aforesaid reproduce scenarios/per-link.toml --seeds 5[/dim]
    """
    from aforesaid.cli.reproduce import Where, reproduce_figures
    from aforesaid.reproduce.asking import Asked, Look
    from aforesaid.sim.keys import setting

    look = Look(tuple(formats or ("png", "svg")), titles)
    values = dict(map(setting, settings or ()))
    asked = Asked(out, tuple(processes or ()), seed, seeds, values, look)
    where = Where(jobs, spark, master, remote, temporary, memory, debug, tuple(conf or ()))
    raise typer.Exit(reproduce_figures(figures, asked, where, force, as_json))


for panel, commands in (
    (SIMULATED, (commands_pictures.draw, commands_pictures.view)),
    (
        "The data pipeline, on Spark",
        (
            commands_pipeline.sweep,
            commands_pipeline.audit,
            commands_pipeline.watch,
            commands_pipeline.metrics,
            commands_pipeline.report,
        ),
    ),
    (
        "Real nodes",
        (
            commands_node.node,
            commands_node.cluster,
            commands_node.why,
            commands_node.top,
            commands_node.admit,
            commands_node.dismiss,
            commands_node.evict,
            commands_node.rekey,
            commands_node.ingest,
        ),
    ),
):
    for command in commands:
        app.command(rich_help_panel=panel)(command)
app.add_typer(keys_app, rich_help_panel="Real nodes")
app.add_typer(new_app, rich_help_panel=SIMULATED)


@app.callback(invoke_without_command=True)
def version(
    show: Annotated[
        bool,
        Option(
            "--version",
            help="Print the version and what nodes of others must share with it, and stop.",
            is_eager=True,
        ),
    ] = False,
) -> None:
    if show:
        from aforesaid.wire.packet import VERSION

        typer.echo(f"aforesaid {__version__}\nstate format {STATE_FORMAT}, wire format {VERSION}")
        raise typer.Exit
