"""`aforesaid new`: a working algorithm of the user's own to begin with, and its test."""

import keyword
import re
import sys
from importlib.resources import files
from pathlib import Path
from typing import Annotated

import typer
from typer import Argument, Option

from aforesaid.cli import show
from aforesaid.core import Misuse

app = typer.Typer(name="new", no_args_is_help=True, help="Begin an algorithm of your own.")

TEXTS = {"{name}.py": "template.py", "test_{name}.py": "template_test.py.txt"}


@app.callback()
def new() -> None:
    """Begin an algorithm of your own."""


@app.command()
def algorithm(
    name: Annotated[str, Argument(help="What it shall be called: a-z, 0-9 and _.")],
    into: Annotated[Path, Option(help="The directory to write to.")] = Path(),
) -> None:
    """Write NAME.py, a small causal broadcast that works, and test_NAME.py, which puts it to the test.

    [dim]aforesaid new algorithm mine && aforesaid algorithms mine.py:ENTRY[/dim]
    """
    _may_be_called(name)
    texts = {into / file.format(name=name): _text(template, name) for file, template in TEXTS.items()}
    for path in texts:
        if path.exists():
            raise Misuse(f"{path} exists; choose another name, or another directory with --into")
    try:
        into.mkdir(parents=True, exist_ok=True)
        for path, text in texts.items():
            path.write_text(text)
    except OSError as error:
        raise Misuse(f"cannot write to {into}: {error.strerror}") from error
    module, test = texts
    show.out.print(
        f"Wrote {module} and {test}. Then:\n  aforesaid algorithms {module}:ENTRY\n"
        f"  python -m pytest {test}\ndocs/your-algorithm.md goes on from here.",
        markup=False,
    )


def _may_be_called(name: str) -> None:
    from aforesaid.protocols.catalog import CATALOG
    from aforesaid.protocols.outside import NAME

    if not NAME.fullmatch(name):
        raise Misuse(
            f"{name!r}: a name is a-z, 0-9 and _, begins with a letter and has 40 characters at most"
        )
    if name in CATALOG:
        raise Misuse(f"{name} is the name of an algorithm of ours; choose another")
    if keyword.iskeyword(name) or name in sys.stdlib_module_names:
        raise Misuse(f"{name} is a word of Python's own; choose another")


def _text(template: str, name: str) -> str:
    text = files("aforesaid.testing").joinpath(template).read_text()
    return re.sub(r"(\b|(?<=_))mine(\b|(?=_))", name, text)
