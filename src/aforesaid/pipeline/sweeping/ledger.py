"""How a directory remembers its sweep: small files in DIR/.sweep, whoever dies meanwhile.

`NAME.running/` has one file for each time a task began the scenario and has not ended it, so a scenario that
takes its worker down with it is known by it. `NAME.done` and `NAME.failed` hold the row of what came of it,
as JSON. The names alone tell how far the sweep is, by one listing. Nothing is renamed, appended to or locked
in a store; on a cluster with its own directories, every machine must see the directory.
"""

import json
from collections.abc import Collection, Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from typing import Any, TypeAlias
from uuid import uuid4

from aforesaid.pipeline.sweeping.lock import alone
from aforesaid.storage import Place, Remote, listing, put_file, remove_tree, writing

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

    def __init__(self, root: Place) -> None:
        self.root = root
        self.path = root / ".sweep"

    @contextmanager
    def open(self) -> Iterator[None]:
        """Make the directory, and be the only sweep in it; a sweep that was killed is no longer in it."""
        with ExitStack() as held:
            with writing(self.root):
                self.path.mkdir(parents=True, exist_ok=True)
                held.enter_context(alone(self.path / "lock", self.root))
            yield

    def is_here(self) -> bool:
        """Whether this machine sees the directory that was opened; all see a store."""
        return isinstance(self.path, Remote) or (self.path / "lock").exists()

    def begin(self, run: str) -> int:
        """A task begins a scenario; returns how many have by now, and have not ended."""
        attempts = self._file(run, RUNNING)
        attempts.mkdir(exist_ok=True)
        # Another attempt may end just now, and clear the directory.
        with suppress(FileNotFoundError):
            (attempts / uuid4().hex).write_bytes(b"")
        return len(listing(attempts))

    def end(self, row: Row) -> None:
        """A scenario is done, or failed, and its row says so; all at once."""
        put_file(self._file(row["run"], row["state"]), json.dumps(row).encode())
        remove_tree(self._file(row["run"], RUNNING))

    def row(self, run: str, *states: str) -> Row | None:
        """What came of a scenario, if it came to one of the states."""
        for state in states:
            with suppress(FileNotFoundError):
                row: Row = json.loads(self._file(run, state).read_text())
                return row
        return None

    def tally(self) -> Tally:
        runs: dict[str, set[str]] = {DONE: set(), FAILED: set(), RUNNING: set()}
        for file in listing(self.path):
            name, _, state = file.rpartition(".")
            if name and not name.startswith(".") and state in runs:
                runs[state].add(name)
        return Tally(*(frozenset(runs[state]) for state in (DONE, FAILED, RUNNING)))

    def forget(self, run: str, *states: str) -> None:
        for state in states:
            self._file(run, state).unlink(missing_ok=True)

    def clear(self, runs: Collection[str]) -> None:
        """Remove what killed tasks left: their marks, and the hidden names of what is half written."""
        for run in self.tally().running:
            remove_tree(self._file(run, RUNNING))
        ours = {f".run={run}" for run in runs} | {".sweep.parquet", ".sweep.csv"}
        for name, is_directory in listing(self.root).items():
            if name.rpartition(".tmp-")[0] in ours:
                left = self.root / name
                remove_tree(left) if is_directory else left.unlink(missing_ok=True)

    def _file(self, run: str, state: str) -> Place:
        return self.path / f"{run}.{state}"
