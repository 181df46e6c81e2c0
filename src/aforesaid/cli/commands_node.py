"""The subcommands for real nodes and their options; what they do lives in the modules they import."""

from pathlib import Path
from typing import Annotated, Literal

import typer
from typer import Argument, Option

from aforesaid.cli.options import AsJson

Level = Literal["debug", "info", "warning", "error"]

Directory = Annotated[Path, Argument(help="The directory of a live node, as its configuration says.")]


def node(
    config: Annotated[Path, Option(help="The node's configuration in TOML; see docs/node.md.")],
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

    raise typer.Exit(run_node(config, log))


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


def evict(directory: Directory, peer: Annotated[str, Argument(help="Who will not come back.")]) -> None:
    """Tell a live node that a peer is gone for good.

    Nobody waits for the peer any more, and nothing of it is let in; docs/node.md says what that costs.
    With hybrid buffering the node tells the others; with waiting, tell every one of them.

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
    segments: Annotated[
        Path, Argument(help="Where nodes have their trace segments: one directory, or one above them.")
    ],
    out: Annotated[Path, Option(help="Where the trace goes: DIR/run=NAME/*.parquet.")] = Path("traces"),
    run: Annotated[str, Option(help="The run's name.")] = "nodes",
    force: Annotated[bool, Option("--force", help="Replace a run of the same name.")] = False,
    as_json: AsJson = False,
) -> None:
    """Make one trace of what real nodes wrote down, to be judged by `check` or `audit`.

    Collect the segments of all nodes: what depends on one that is missing is unknown.
    Stop the nodes first, or their logs have no end, as if they had crashed.
    A record that a killed node did not complete is left out.

    [dim]aforesaid ingest cluster --out traces && aforesaid check traces/run=nodes[/dim]
    """
    from aforesaid.cli.ingest import ingest_segments

    ingest_segments(segments, out, run, force, as_json)
