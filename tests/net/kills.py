"""Real processes under load, killed with SIGKILL, one to three at once: the ledgers of examples/ledger.py and
of examples/ledger_in_node.py, the two ways of exactly once.

    python tests/net/kills.py 200                   every algorithm of nodes, either way, so often for each
    python tests/net/kills.py 200 waiting           one algorithm

Prints what was said, how fast while they were killed, and how often anything was lost, doubled or misordered;
exit code 1 if it was.
"""

import os
import random
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).parents[1]))

from aforesaid.check import check
from aforesaid.node.recording.ingest import ingest
from aforesaid.protocols.catalog import CATALOG
from aforesaid.trace import MemorySink
from support.ports import free_ports

EXAMPLES = Path(__file__).parents[2] / "examples"
WAYS = ("ledger.py", "ledger_in_node.py")
ALGORITHMS = tuple(name for name, entry in CATALOG.items() if entry.deployable)
NAMES = ("north", "south", "west")
SEED = 1
PATIENCE_S = 120.0
LOAD = {"LEDGER_SAYS_S": "0.015", "LEDGER_AT_ONCE": "25"}
CHANGING_LOAD = {**LOAD, "LEDGER_AT_ONCE": "40"}
"""Up to 1,500 messages a second from each: more than 1,000 in all, the time included in which some are dead.
To come back into a changing group takes longer."""


class Branches:
    """The processes, and what their databases say."""

    def __init__(self, place: Path, algorithm: str, way: str, load: dict[str, str]) -> None:
        self.place = place
        self.example = EXAMPLES / way
        self.in_node = way == "ledger_in_node.py"
        self.changing = CATALOG[algorithm].linked
        self.ports = dict(zip(NAMES, free_ports(len(NAMES)), strict=True))
        self.environment = {**os.environ, **load, "LEDGER_ALGORITHM": algorithm}
        self.running: dict[str, subprocess.Popen[bytes]] = {}

    def start(self, name: str) -> None:
        others = [f"{other}={port}" for other, port in self.ports.items() if other != name]
        if self.changing and name == NAMES[0]:
            others = []  # It founds the group.
        command = [sys.executable, str(self.example), name, str(self.ports[name]), *others]
        with (self.place / f"{name}.log").open("ab") as log:
            self.running[name] = subprocess.Popen(
                command, cwd=self.place, env=self.environment, stdout=log, stderr=log
            )

    def begin(self) -> None:
        """Until everyone is there, and knows so: who was never in its group needs the founder to be there."""
        for name in NAMES:
            self.start(name)
            self.until(lambda name=name: self.count(name) > 0, f"{name} does not begin")  # type: ignore[misc]
        if self.changing:
            where = [self.place / f"{name}.node" / "members" for name in NAMES]
            self.until(lambda: all(path.exists() for path in where), "not everyone knows members")

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
            text = (self.place / f"{name}.said").read_text()
            return set(map(int, text[: text.rfind("\n") + 1].split()))
        return {row[0] for row in self.asked(name, "SELECT number FROM said")}

    def count(self, name: str) -> int:
        return sum(row[0] for row in self.asked(name, "SELECT max(offset) FROM entries") if row[0])

    def go_on(self, what: str) -> None:
        """Until everyone has more entries than now."""
        before = {name: self.count(name) for name in NAMES}
        self.until(lambda: all(self.count(name) > before[name] for name in NAMES), what)

    def until(self, holds: Callable[[], bool], what: str, poll_s: float = 0.05) -> None:
        deadline = time.monotonic() + PATIENCE_S
        while not holds():
            for name, process in self.running.items():
                assert process.poll() is None, f"{name} has ended: {self.log(name)[-2000:]}"
            assert time.monotonic() < deadline, (what, {name: self.log(name)[-500:] for name in NAMES})
            time.sleep(poll_s)


@dataclass
class Played:
    kills: int
    said: int
    """Messages, of which all are known to be said."""
    rate: float
    """Messages per second, while processes were killed and came back."""
    complaints: list[str]


def play(place: Path, algorithm: str, way: str, kills_min: int, load: dict[str, str]) -> Played:
    chance = random.Random(f"{algorithm} {way} {SEED}")
    branches = Branches(place, algorithm, way, load)
    complaints: list[str] = []
    try:
        branches.begin()
        began, kills = time.monotonic(), 0
        while kills < kills_min:
            branches.go_on(f"after {kills} kills not everyone goes on (seed {SEED})")
            time.sleep(chance.uniform(0.0, 0.3))
            victims = chance.sample(NAMES, chance.randint(1, 3))
            for name in victims:
                branches.kill(name)
            kills += len(victims)
            for name in victims:
                time.sleep(chance.uniform(0.0, 0.1))
                branches.start(name)
        took_s = time.monotonic() - began
        everything = {(name, number) for name in NAMES for number in branches.said(name)}

        def lacking(name: str) -> int:
            return len(everything.difference(branches.asked(name, "SELECT branch, number FROM entries")))

        for name in NAMES:
            try:
                branches.until(lambda name=name: not lacking(name), "", poll_s=1.0)  # type: ignore[misc]
            except AssertionError as error:
                complaints.append(f"{name} lacks {lacking(name)} (seed {SEED}): {error}")
    finally:
        branches.end()
    for name in NAMES:
        misordered = branches.asked(name, "SELECT branch, number FROM entries WHERE NOT in_order")
        if misordered:
            complaints.append(f"{name} has {len(misordered)} too early, first {misordered[0]}")
        # Offsets without a gap, and (branch, number) is unique by the table itself.
        ((first, last, count),) = branches.asked(
            name, "SELECT min(offset), max(offset), count(*) FROM entries"
        )
        if (first, last) != (1, count):
            complaints.append(f"{name} has {count} entries, by their offsets {first} to {last}")
    complaints += violations(place)
    return Played(kills, len(everything), len(everything) / took_s, complaints)


def violations(place: Path) -> list[str]:
    """By the checker, from the segments of all starts."""
    sink = MemorySink()
    ingest(place, sink, "killed")
    violated = [each for each in check(sink.trace).required_verdicts() if each.value == "violated"]
    return [f"{each.property}: {witness.sentence}" for each in violated for witness in each.witnesses]


def tell(what: str) -> None:
    sys.stdout.write(f"{what}\n")
    sys.stdout.flush()


def main(kills: str, *algorithms: str) -> int:
    failed = 0
    for algorithm in algorithms or ALGORITHMS:
        load = CHANGING_LOAD if CATALOG[algorithm].linked else LOAD
        for way in WAYS:
            with tempfile.TemporaryDirectory() as scratch:
                played = play(Path(scratch), algorithm, way, int(kills), load)
            failed += bool(played.complaints)
            what = f"{played.kills} kills, {played.said:,} messages, {played.rate:,.0f}/s meanwhile"
            verdict = "something went wrong" if played.complaints else "0 lost, 0 doubled, 0 misordered"
            tell(f"{algorithm:26} {way:18} {what}: {verdict}")
            for complaint in played.complaints[:5]:
                tell(f"  {complaint}")
    return failed > 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
