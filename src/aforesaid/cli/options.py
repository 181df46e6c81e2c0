"""Options that several subcommands share."""

from typing import Annotated

from typer import Option

AsJson = Annotated[
    bool, Option("--json", help="Print one JSON value for programs instead of text for people.")
]
