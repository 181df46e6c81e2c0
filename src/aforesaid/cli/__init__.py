"""The command line: one file per subcommand, imported only when it runs, so that `--help` is instant.

Exit codes: 0 kept (or done), 1 violated, 2 misuse, 3 unknown, 130 interrupted, 141 if whoever read
the results has gone (`| head`), as for any other program. Results go to standard output, progress and errors
to standard error. A misuse is one line, without a stack trace.
"""

import os
import sys
from collections.abc import Collection
from importlib.util import find_spec

EXIT_KEPT, EXIT_VIOLATED, EXIT_MISUSE, EXIT_UNKNOWN = 0, 1, 2, 3
EXIT_INTERRUPTED = 130
EXIT_NOBODY_READS = 141

EXIT_OF_VALUE = {"kept": EXIT_KEPT, "violated": EXIT_VIOLATED, "unknown": EXIT_UNKNOWN}

_EXTRA_OF_MODULE = {
    "numpy": "trace",
    "pyarrow": "trace",
    "matplotlib": "report",
    "numba": "fleet",
    "pyspark": "spark",
    "py4j": "spark",
    "pandas": "spark",
    "cryptography": "node",
}

_EXTRAS_OF_COMMAND = {"reproduce": ("trace", "report", "fleet"), "report": ("trace", "report")}
"""Where the first module that is missing does not tell all that will be."""


def worst(values: Collection[str]) -> str:
    """One verdict for many: a violation outweighs ignorance, and ignorance outweighs success."""
    return next((value for value in ("violated", "unknown") if value in values), "kept")


def main() -> None:
    """The entry point of `aforesaid`."""
    if os.environ.get("NO_COLOR"):
        import typer.rich_utils

        typer.rich_utils.COLOR_SYSTEM = None
    from aforesaid.cli.app import app
    from aforesaid.core import Misuse

    try:
        app(prog_name="aforesaid")
    except Misuse as error:
        _fail(str(error), EXIT_MISUSE)
    except ModuleNotFoundError as error:
        extra = _EXTRA_OF_MODULE.get((error.name or "").partition(".")[0])
        if extra is None:
            raise
        _fail(f"this command needs {error.name}: pip install 'aforesaid[{_extras(extra)}]'", EXIT_MISUSE)


def _extras(extra: str) -> str:
    """The one, and whatever else the command will miss."""
    needed = _EXTRAS_OF_COMMAND.get(sys.argv[1] if len(sys.argv) > 1 else "", ())
    missing = {_EXTRA_OF_MODULE[module] for module in _EXTRA_OF_MODULE if not _is_there(module)}
    return ",".join(each for each in dict.fromkeys((extra, *needed)) if each == extra or each in missing)


def _is_there(module: str) -> bool:
    try:
        return find_spec(module) is not None
    except ValueError:
        return False


def _fail(line: str, code: int) -> None:
    sys.stderr.write(f"aforesaid: {line}\n")
    sys.exit(code)
