"""The command line: one file per subcommand, imported only when it runs, so that `--help` is instant.

Exit codes: 0 kept (or done), 1 violated, 2 misuse, 3 unknown, 130 interrupted (by typer). Results go to
standard output, progress and errors to standard error. A misuse is one line, without a stack trace.
"""

import sys
from collections.abc import Collection

EXIT_KEPT, EXIT_VIOLATED, EXIT_MISUSE, EXIT_UNKNOWN = 0, 1, 2, 3

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


def worst(values: Collection[str]) -> str:
    """One verdict for many: a violation outweighs ignorance, and ignorance outweighs success."""
    return next((value for value in ("violated", "unknown") if value in values), "kept")


def main() -> None:
    """The entry point of `aforesaid`."""
    from aforesaid.cli.app import app
    from aforesaid.core import Misuse

    try:
        app(prog_name="aforesaid")
    except Misuse as error:
        _fail(str(error), EXIT_MISUSE)
    except BrokenPipeError:
        # The reader of our output has gone (`| head`): not our failure to report.
        sys.stderr.close()
    except ModuleNotFoundError as error:
        extra = _EXTRA_OF_MODULE.get((error.name or "").partition(".")[0])
        if extra is None:
            raise
        _fail(f"this command needs {error.name}: pip install 'aforesaid[{extra}]'", EXIT_MISUSE)


def _fail(line: str, code: int) -> None:
    sys.stderr.write(f"aforesaid: {line}\n")
    sys.exit(code)
