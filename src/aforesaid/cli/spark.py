"""The options that every Spark command shares. Imports no pyspark: `--help` stays instant."""

from pathlib import Path
from typing import Annotated

from typer import Option

_PANEL = "Spark"

Master = Annotated[
    str | None,
    Option(
        help="Where Spark runs: local[2], spark://host:7077, yarn, k8s://... Default: every core here.",
        rich_help_panel=_PANEL,
        show_default=False,
    ),
]
Remote = Annotated[
    str | None,
    Option(help="A Spark Connect server, sc://host:15002, instead of a master.", rich_help_panel=_PANEL),
]
Temporary = Annotated[
    Path | None,
    Option(
        help="Where temporary files go. Default: the system's directory for them.", rich_help_panel=_PANEL
    ),
]
Memory = Annotated[
    str, Option(help="The heap of the Spark driver on this machine: 512m, 4g.", rich_help_panel=_PANEL)
]
Debug = Annotated[
    bool, Option("--debug", help="Show Spark's own log and stack traces.", rich_help_panel=_PANEL)
]
Conf = Annotated[
    list[str] | None,
    Option(
        help="A setting of Spark's, KEY=VALUE (may be repeated): spark.hadoop.fs.s3a.endpoint=http://host:9000",
        rich_help_panel=_PANEL,
        show_default=False,
    ),
]
