"""How a directory remembers its sweep: one small file per scenario in DIR/.sweep, whoever dies meanwhile.

`NAME.running` has one byte for each time a task began the scenario, so a scenario that takes its worker down
with it is known by it. `NAME.done` and `NAME.failed` hold the row of what came of it, as JSON. The names
alone tell how far the sweep is, on a cluster as on one machine: every machine sees the directory.
"""

import fcntl
import json
import os
import shutil
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

from aforesaid.core import Misuse

Row: TypeAlias = dict[str, Any]
"""What came of one scenario."""

DONE, FAILED, RUNNING = "done", "failed", "running"


@dataclass(frozen=True)
class Tally:
    """How far a sweep is: the runs in each state."""

    done: frozenset[str]
    failed: frozenset[str]
    running: frozenset[str]


class Ledger:
    """The memory of the sweep in one directory."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.path = root / ".sweep"

    @contextmanager
    def open(self) -> Iterator[None]:
        """Make the directory, and be the only sweep in it; a sweep that was killed is no longer in it."""
        try:
            self.path.mkdir(parents=True, exist_ok=True)
            lock = (self.path / "lock").open("w")
        except OSError as error:
            raise Misuse(f"cannot write to {self.root}: {error.strerror}") from error
        with lock:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError:
                raise Misuse(f"another sweep is at work in {self.root}") from None
            yield

    def begin(self, run: str) -> int:
        """A task begins a scenario; returns how often one has by now."""
        with self._file(run, RUNNING).open("ab") as file:
            file.write(b".")
            return file.tell()

    def end(self, row: Row) -> None:
        """A scenario is done, or failed, and its row says so; all at once."""
        path = self._file(row["run"], row["state"])
        hidden = path.with_name(f".{path.name}-{os.getpid()}")
        hidden.write_text(json.dumps(row))
        hidden.rename(path)
        self._file(row["run"], RUNNING).unlink(missing_ok=True)

    def row(self, run: str, *states: str) -> Row | None:
        """What came of a scenario, if it came to one of the states."""
        for state in states:
            try:
                row: Row = json.loads(self._file(run, state).read_text())
                return row
            except FileNotFoundError:
                continue
        return None

    def tally(self) -> Tally:
        runs: dict[str, set[str]] = {DONE: set(), FAILED: set(), RUNNING: set()}
        for entry in os.scandir(self.path):
            name, _, state = entry.name.rpartition(".")
            if name and not name.startswith(".") and state in runs:
                runs[state].add(name)
        return Tally(*(frozenset(runs[state]) for state in (DONE, FAILED, RUNNING)))

    def forget(self, run: str, *states: str) -> None:
        for state in states:
            self._file(run, state).unlink(missing_ok=True)

    def clear(self, runs: Collection[str]) -> None:
        """Remove what killed tasks left: their marks, and the hidden directories of traces half written."""
        for run in self.tally().running:
            self.forget(run, RUNNING)
        wanted = set(runs)
        for hidden in self.root.glob(".run=*.tmp-*"):
            if hidden.name.removeprefix(".run=").rpartition(".tmp-")[0] in wanted:
                shutil.rmtree(hidden, ignore_errors=True)

    def _file(self, run: str, state: str) -> Path:
        return self.path / f"{run}.{state}"
