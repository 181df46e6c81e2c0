"""`aforesaid keys`: certificates and cluster keys for real nodes."""

from pathlib import Path
from typing import Annotated

import typer
from typer import Argument, Option

from aforesaid.cli import show

app = typer.Typer(
    name="keys",
    no_args_is_help=True,
    rich_markup_mode="rich",
    help="""Make certificates and cluster keys for real nodes.

There are two ways to secure a cluster; docs/security.md helps to choose.

[bold]A cluster key[/bold] is simple: every node holds the same file.
Whoever has it is a member, and can take any name.

[dim]aforesaid keys cluster cluster.key[/dim]

[bold]Certificates[/bold] bind names: every node has its own key and certificate.
The authority's key stays with whoever admits members.

[dim]aforesaid keys authority keys[/dim]
[dim]aforesaid keys node keys alice bob carol[/dim]

Nothing is ever overwritten. Exit codes: 0 done, 2 misuse.""",
)


@app.command()
def authority(
    directory: Annotated[Path, Argument(help="Where authority.pem and authority.key go.", metavar="DIR")],
) -> None:
    """Make a certificate authority: who has its key decides who is a member.

    Give authority.pem to every node, and authority.key to nobody. It is valid for ten years.

    [dim]aforesaid keys authority keys[/dim]
    """
    from aforesaid.security.keyfiles import write_authority

    _tell(write_authority(directory))


@app.command()
def node(
    directory: Annotated[Path, Argument(help="Where the authority is.", metavar="DIR")],
    names: Annotated[
        list[str], Argument(help="Names of processes, as their configurations say them.", metavar="NAME...")
    ],
    days: Annotated[
        int, Option(min=1, max=36500, help="How long the certificates are valid; renew them before.")
    ] = 825,
) -> None:
    """Make a key and a certificate for each of these nodes: NAME.pem and NAME.key.

    A node needs these two and authority.pem. It is let in under that name and no other.

    [dim]aforesaid keys node keys alice bob carol[/dim]
    """
    from aforesaid.security.keyfiles import write_nodes

    _tell(write_nodes(directory, names, days))


@app.command()
def cluster(
    file: Annotated[Path, Argument(help="The new key's file.", metavar="FILE")],
) -> None:
    """Make a cluster key: the same file for every node.

    To replace a key: have every node accept the new one, then use it, then drop the old one.
    docs/security.md says how.

    [dim]aforesaid keys cluster cluster.key[/dim]
    """
    from aforesaid.security.keyfiles import write_cluster_key

    key = write_cluster_key(file)
    show.out.print(f"wrote {file}: cluster key {key.id.hex()}, for members only", markup=False)


def _tell(paths: list[Path]) -> None:
    for path in paths:
        note = "secret" if path.suffix == ".key" else "not secret"
        show.out.print(f"wrote {path} ({note})", markup=False)
