"""Commands as their users meet them, inside the test's own process."""

import sys
from collections.abc import Callable

import pytest

from aforesaid.cli import main

Run = Callable[..., tuple[int, str, str]]


def command(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], *words: str) -> Run:
    """Runs `aforesaid WORDS ARGUMENTS`; gives the exit code, what was printed, and what was complained of."""

    def run(*arguments: str) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["aforesaid", *words, *arguments])
        with pytest.raises(SystemExit) as stop:
            main()
        printed = capsys.readouterr()
        return int(stop.value.code or 0), printed.out, printed.err

    return run
