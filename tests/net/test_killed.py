"""Real processes under load, killed with SIGKILL, one to three at once: the ledgers of examples/ledger.py and
of examples/ledger_in_node.py, the two ways of exactly once."""

import os
import random
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from aforesaid.check import check
from aforesaid.node.recording.ingest import ingest
from aforesaid.trace import MemorySink
from support.ports import free_ports
from support.scale import scaled

EXAMPLES = Path(__file__).parents[2] / "examples"
NAMES = ("north", "south", "west")
KILLS = scaled(20, 200)
SEED = 1
PATIENCE_S = 60.0


class Branches:
    """The processes, and what their databases say."""

    def __init__(self, place: Path, algorithm: str, example: str, says_s: float) -> None:
        self.place = place
        self.example = EXAMPLES / example
        self.in_node = example == "ledger_in_node.py"
        self.ports = dict(zip(NAMES, free_ports(len(NAMES)), strict=True))
        self.environment = {**os.environ, "LEDGER_SAYS_S": str(says_s), "LEDGER_ALGORITHM": algorithm}
        self.running: dict[str, subprocess.Popen[bytes]] = {}

    def start(self, name: str) -> None:
        others = [f"{other}={port}" for other, port in self.ports.items() if other != name]
        command = [sys.executable, str(self.example), name, str(self.ports[name]), *others]
        with (self.place / f"{name}.log").open("ab") as log:
            self.running[name] = subprocess.Popen(
                command, cwd=self.place, env=self.environment, stdout=log, stderr=log
            )

    def kill(self, name: str) -> None:
        process = self.running.pop(name)
        assert process.poll() is None, self.log(name)
        process.send_signal(signal.SIGKILL)
        process.wait()

    def end(self) -> None:
        for process in self.running.values():
            process.kill()
            process.wait()

    def log(self, name: str) -> str:
        return (self.place / f"{name}.log").read_text()

    def asked(self, name: str, query: str) -> list[Any]:
        path = self.place / (f"{name}.node/application.db" if self.in_node else f"{name}.db")
        try:
            with closing(sqlite3.connect(path, timeout=10)) as database:
                return list(database.execute(query))
        except sqlite3.OperationalError:
            return []  # It has not come to that yet.

    def said(self, name: str) -> set[int]:
        """What it has said for certain."""
        if self.in_node:
            return {int(line) for line in (self.place / f"{name}.said").read_text().split()}
        return {row[0] for row in self.asked(name, "SELECT number FROM said")}

    def count(self, name: str) -> int:
        return len(self.asked(name, "SELECT 1 FROM entries"))

    def go_on(self, what: str) -> None:
        """Until everyone has more entries than now."""
        before = {name: self.count(name) for name in NAMES}
        self.until(lambda: all(self.count(name) > before[name] for name in NAMES), what)

    def until(self, holds: Callable[[], bool], what: str) -> None:
        deadline = time.monotonic() + PATIENCE_S
        while not holds():
            for name, process in self.running.items():
                assert process.poll() is None, f"{name} has ended: {self.log(name)[-2000:]}"
            assert time.monotonic() < deadline, (what, {name: self.log(name)[-500:] for name in NAMES})
            time.sleep(0.05)


@pytest.mark.parametrize(
    ("algorithm", "example", "says_s"),
    [
        ("waiting", "ledger.py", 0.004),
        ("hybrid_multicast_in_order", "ledger.py", 0.004),
        ("hybrid_multicast_in_order", "ledger_in_node.py", 0.05),
    ],
)
def test_killed_again_and_again_every_ledger_has_every_entry_once_and_in_order(
    algorithm: str, example: str, says_s: float, tmp_path: Path
) -> None:
    chance = random.Random(f"{algorithm} {SEED}")
    branches = Branches(tmp_path, algorithm, example, says_s)
    try:
        for name in NAMES:
            branches.start(name)
        kills = 0
        while kills < KILLS // 2:
            branches.go_on(f"after {kills} kills not everyone goes on (seed {SEED})")
            time.sleep(chance.uniform(0.0, 0.3))
            victims = chance.sample(NAMES, chance.randint(1, 3))
            for name in victims:
                branches.kill(name)
            kills += len(victims)
            for name in victims:
                time.sleep(chance.uniform(0.0, 0.1))
                branches.start(name)
        said = {name: branches.said(name) for name in NAMES}
        everything = {(name, number) for name, numbers in said.items() for number in numbers}
        assert len(everything) > KILLS

        def all_have_it() -> bool:
            query = "SELECT branch, number FROM entries"
            return all(everything <= set(branches.asked(name, query)) for name in NAMES)

        branches.until(all_have_it, f"something was lost (seed {SEED})")
    finally:
        branches.end()
    for name in NAMES:
        assert branches.asked(name, "SELECT * FROM entries WHERE NOT in_order") == []
        # Offsets without a gap, and (branch, number) is unique by the table itself.
        ((first, last, count),) = branches.asked(
            name, "SELECT min(offset), max(offset), count(*) FROM entries"
        )
        assert (first, last) == (1, count)
    judge(tmp_path)


def judge(place: Path) -> None:
    """By the checker, from the segments of all starts."""
    sink = MemorySink()
    ingest(place, sink, "killed")
    violated = [each for each in check(sink.trace).required_verdicts() if each.value == "violated"]
    assert not violated, [each.witnesses for each in violated]
