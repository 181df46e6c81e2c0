"""The subcommands for real nodes and their options; what they do lives in the modules they import."""

from pathlib import Path
from typing import Annotated, Literal

import typer
from typer import Argument, Option

from aforesaid.cli.options import AsJson
from aforesaid.cli.spark import Conf, Debug, Master, Memory, Remote, Temporary
from aforesaid.core import Misuse

Level = Literal["debug", "info", "warning", "error"]

Directory = Annotated[Path, Argument(help="The directory of a live node, as its configuration says.")]


def node(
    config: Annotated[Path, Option(help="The node's configuration in TOML; see docs/node.md.")],
    resume_from: Annotated[
        int | None,
        Option(min=0, help="With durability, or retention_bytes: the offset up to which you have all."),
    ] = None,
    history: Annotated[
        str | None,
        Option(
            help="With retention_bytes, of a newcomer: `all` that its contact keeps, `from now`, or what was "
            "delivered since a moment, as 2026-01-31T12:00:00Z.",
        ),
    ] = None,
    new_identity: Annotated[
        bool,
        Option(help="With durability: begin anew, where the journal is lost or damaged; it is set aside."),
    ] = False,
    log: Annotated[Level, Option(help="Log this and worse, as JSON lines on standard error.")] = "warning",
) -> None:
    """Run a node that speaks JSON lines: messages in on standard input, deliveries out on standard output.

    A line {"payload": "hello"} is for everyone, {"to": ["bob"], "payload": "hello"} for some.
    The end of the input, SIGTERM or Ctrl-C closes the node once others have what it said.
    It waits for that up to linger_s; a second signal closes it at once.

    Exit codes: 0 closed, 2 misuse, 128 + signal closed at once.

    [dim]aforesaid node --config alice.toml[/dim]
    [dim]aforesaid node --config alice.toml < lines.json > heard.json 2> alice.log[/dim]
    [dim]sleep infinity | aforesaid node --config alice.toml     # only listens[/dim]
    """
    from aforesaid.cli.node import run_node

    raise typer.Exit(run_node(config, log, resume_from, history, new_identity))


def cluster(
    count: Annotated[int, Argument(min=1, max=100, help="How many nodes.", metavar="N")],
    directory: Annotated[Path, Option(help="Where configurations and traces go.")] = Path("cluster"),
    algorithm: Annotated[
        str, Option(help="One that nodes run (docs/node.md), or your own as path.py:ENTRY.")
    ] = "hybrid_multicast_in_order",
    transport: Annotated[str | None, Option(help="udp or tcp. Default: udp, where it will do.")] = None,
) -> None:
    """Start N nodes on this machine, for trying things; Ctrl-C stops them all.

    Type "p0 hello" to have p0 say hello to everyone, "p0>p1 hello" to p1.
    On loopback and in the clear: not for the network.

    [dim]aforesaid cluster 3[/dim]
    """
    from aforesaid.cli.cluster import run_cluster

    run_cluster(count, directory, algorithm, transport)


def why(
    place: Annotated[str, Argument(help="A live node's directory; or a stored run, run=NAME, or its URI.")],
    message: Annotated[
        str | None,
        Argument(
            help="A message, as alice#5. Without one: of a node the peers and how they are, and what waits "
            "longest; of a run what waited longest."
        ),
    ] = None,
    process: Annotated[
        str | None,
        Argument(help="Of a run: where it was delivered. Without one: at each process, in a line."),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Why a message waits at a live node; or why it waited, in a stored run, and what was the root of it.

    A live node tells what is missing, who holds it, since when.
    Of a run it is told when the message was said, when it came and from whom, what it waited for, how long,
    and the same of what released it, to the root. A simulated run without receipts is played again with them.

    [dim]aforesaid why cluster/p0[/dim]
    [dim]aforesaid why cluster/p0 p1#5[/dim]
    [dim]aforesaid why traces/run=demo[/dim]
    [dim]aforesaid why traces/run=demo p1#5 p0[/dim]
    """
    if _stored(place):
        from aforesaid.cli.why import explain_run

        explain_run(place, message, process, as_json)
        return
    if not Path(place).exists():
        raise Misuse(f"{place} does not exist; name a run, or the directory of a live node")
    if process is not None:
        raise Misuse(f"{place} holds no runs; of a live node, ask with its directory and a message only")
    from aforesaid.cli.node import explain

    explain(Path(place), message, as_json)


def _stored(place: str) -> bool:
    """Whether there are runs; else it may be a node's directory."""
    path = Path(place)
    return "://" in place or (path / "runs.parquet").exists() or any(path.glob("run=*"))


def top(
    directories: Annotated[
        list[Path], Argument(help="The directories of nodes, or one above them.", metavar="DIRECTORY...")
    ],
    every: Annotated[float, Option(min=0.1, help="Ask again after so many seconds.")] = 1.0,
    once: Annotated[bool, Option("--once", help="Ask once, with rates over one such pause.")] = False,
    as_json: AsJson = False,
) -> None:
    """A live table of nodes: who is up, how fast they speak and hear, what waits longest and for whom.

    It asks each node over the control socket in its directory, on this machine; Ctrl-C ends it.
    With --once, and in a pipe, one table is printed; with --json what the nodes say.

    Exit codes: 0 all nodes answer, 2 misuse, 3 one or more do not.

    [dim]aforesaid top cluster[/dim]
    [dim]aforesaid top cluster/p0 cluster/p1 --once[/dim]
    [dim]aforesaid top cluster --json[/dim]
    """
    from aforesaid.cli.top import watch

    raise typer.Exit(watch(directories, every, once, as_json))


def admit(
    directory: Directory,
    peer: Annotated[str, Argument(help="The name of the newcomer.", metavar="NAME")],
    address: Annotated[str, Argument(help="Where it listens.", metavar="HOST:PORT")],
) -> None:
    """Let a newcomer into the group of a live node, without a restart of anybody.

    Start the newcomer first, with newcomer = true and this node, or several members, among its peers.
    It learns of the others, and they of it, in causal order with the messages. Hybrid multicast only.

    [dim]aforesaid admit cluster/p0 p3 127.0.0.1:7403[/dim]
    """
    from aforesaid.cli.node import admit as admit_peer

    admit_peer(directory, peer, address)


def dismiss(
    directory: Directory, peer: Annotated[str, Argument(help="Who is to leave; it may be the node itself.")]
) -> None:
    """Have a member leave the group of a live node in order: nothing that it said or was told is lost.

    It must run, and ends when everything is delivered; one that does not is evicted instead.
    Its name cannot be admitted again. Hybrid multicast only.

    [dim]aforesaid dismiss cluster/p0 p1[/dim]
    """
    from aforesaid.cli.node import dismiss as dismiss_peer

    dismiss_peer(directory, peer)


def evict(directory: Directory, peer: Annotated[str, Argument(help="Who will not come back.")]) -> None:
    """Tell a live node that a peer is gone for good.

    Nobody waits for the peer any more, and nothing of it is let in; docs/node.md says what that costs.
    The node tells the others.

    [dim]aforesaid evict cluster/p0 p1[/dim]
    """
    from aforesaid.cli.node import evict as evict_peer

    evict_peer(directory, peer)


def rekey(
    directory: Directory,
    key: Annotated[Path, Argument(help="The cluster key to use from now on.")],
    accept: Annotated[list[Path] | None, Option(help="A further key that is accepted; repeat it.")] = None,
) -> None:
    """Have a live node use another cluster key, without a stop and without loss.

    In three rounds, each on all nodes before the next:
    accept the new key, use it, accept the old one no more.

    [dim]aforesaid rekey cluster/p0 old.key --accept new.key[/dim]
    [dim]aforesaid rekey cluster/p0 new.key --accept old.key[/dim]
    [dim]aforesaid rekey cluster/p0 new.key[/dim]
    """
    from aforesaid.cli.node import rekey as rekey_node

    rekey_node(directory, key, accept or [])


def ingest(
    files: Annotated[
        list[str],
        Argument(
            help="The directory of nodes' trace segments, or one above it; or others' logs.",
            metavar="FILE...",
        ),
    ],
    format: Annotated[
        str,
        Option(
            "--from",
            help="nodes, or whose: shiviz, otlp, jaeger, jsonl, csv, text, maelstrom.",
            metavar="FORMAT",
        ),
    ] = "nodes",
    out: Annotated[Path, Option(help="Where the trace goes: DIR/run=NAME/*.parquet.")] = Path("traces"),
    run: Annotated[str | None, Option(help="The run's name; without one: as the format.")] = None,
    mapping: Annotated[
        Path | None, Option("--map", help="TOML that says which fields name process, event, message, ...")
    ] = None,
    pattern: Annotated[
        str | None,
        Option(help="A regular expression with groups process, sent, delivered, ... for lines of text."),
    ] = None,
    causality: Annotated[
        str | None,
        Option(help="potential: all that a process did before counts; declared: only what messages follow."),
    ] = None,
    sampled: Annotated[
        bool, Option("--sampled", help="Events are missing: nothing is said to be kept.")
    ] = False,
    whole: Annotated[
        bool, Option("--whole", help="Nothing is missing: what is not in the logs did not happen.")
    ] = False,
    one_clock: Annotated[
        bool, Option("--one-clock", help="Times of different processes compare, as `metrics` needs.")
    ] = False,
    by_time: Annotated[
        bool, Option("--by-time", help="A process's events are ordered by time, not by line.")
    ] = False,
    judge: Annotated[bool, Option("--check", help="Judge the trace at once.")] = False,
    page: Annotated[Path | None, Option("--report", help="Judge it, and write this page to read.")] = None,
    force: Annotated[bool, Option("--force", help="Replace a run, or a page, of the same name.")] = False,
    on_spark: Annotated[
        bool, Option("--spark", help="Read files with an event in a line on Spark, a task for each.")
    ] = False,
    as_json: AsJson = False,
    master: Master = None,
    remote: Remote = None,
    temporary: Temporary = None,
    memory: Memory = "2g",
    debug: Debug = False,
    conf: Conf = None,
) -> None:
    """Make one trace of what real nodes wrote down, or of other people's logs, to be judged.

    Nodes: collect the segments of all: what depends on one that is missing is unknown.
    Stop the nodes first, or their logs have no end, as if they had crashed.
    A record that a killed node did not complete is left out.

    Others' logs: docs/foreign.md has an example of each format. What cannot be read is told and counted,
    and whatever hangs on it is unknown. FILE may be a directory or a URI, too.

    Exit codes: 0 done, or kept; 1 violated (with --check or --report), 2 misuse, 3 unknown.

    [dim]aforesaid ingest cluster --out traces && aforesaid check traces/run=nodes[/dim]
    [dim]aforesaid ingest spans.jsonl --from otlp --report page.html[/dim]
    [dim]aforesaid ingest app.log --from text --pattern '...' --report page.html[/dim]
    """
    from aforesaid.cli.ingest import ingest_segments

    if format == "nodes":
        ingest_segments(list(map(Path, files)), out, run or "nodes", force, as_json)
        return
    from aforesaid.cli.foreign import Asked, ingest_foreign

    spark = None
    if on_spark:
        from aforesaid.pipeline.session import SparkOptions

        spark = SparkOptions(master, remote, temporary, memory, debug, tuple(conf or ()))
    asked = Asked(format, mapping, pattern, causality, sampled, whole, one_clock, by_time, spark)
    raise typer.Exit(ingest_foreign(files, asked, out, run or format, judge, page, force, as_json))
