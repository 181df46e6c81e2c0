"""What it costs to have records on the disk: the journal's own files, SQLite, and the bare force.

    python benchmarks/bench_journal.py [directory]

Records of 100 and of 1,000 bytes, 1, 16 and 256 in a commit. Rounds of all contestants are interleaved, and
medians are told: a disk that others use as well is fast and slow by turns. `bare` writes the same bytes in
one piece and forces them, with no record told from another: what the disk itself takes. SQLite is in WAL
mode, FULL forcing every commit, NORMAL none (a loss of power takes what was committed last). CPU time is this
process's own, and tells what is left of a node's core. Then one byte at a time is flipped of what was
committed and forced: who notices? Last, what a machine costs that is told through a journal, and how fast it
is told again.
"""

import os
import sqlite3
import sys
import tempfile
from collections import Counter
from collections.abc import Callable
from contextlib import closing
from functools import partial
from itertools import count
from pathlib import Path
from statistics import median
from time import perf_counter, process_time
from typing import Any

from aforesaid.ground import REAL
from aforesaid.journal import WINDOWS, Damaged, Durable, Journal, recover
from aforesaid.journal.journal import SNAPSHOT_BYTES
from aforesaid.protocols.algorithm import Setup
from aforesaid.protocols.catalog import CATALOG
from aforesaid.protocols.delivery.hybrid_frames import Msg
from aforesaid.wire import Codec, shapes_of

SIZES, BATCHES = (100, 1000), (1, 16, 256)
ROUNDS = 9
COMMITS = {1: 40, 16: 30, 256: 10}
"""In a round, by records in a commit."""
NAME, GROUP = "hybrid_multicast_in_order", ("alice", "bob")
MESSAGES = 10_000
TURN = 256
"""Messages that a machine receives between two commits."""
INPUT_BYTES = 150
"""What the input of one message takes in a journal."""
FLIPS = 500
RECORDS = [b"%06d" % number + os.urandom(194) for number in range(300)]

Commit = Callable[[list[bytes]], None]


def bare(place: Path) -> Commit:
    file = os.open(place / "bare", os.O_WRONLY | os.O_CREAT | os.O_APPEND)

    def commit(records: list[bytes]) -> None:
        os.write(file, b"".join(records))
        os.fdatasync(file)

    return commit


def journal(place: Path) -> Commit:
    mine = Journal(REAL.disk, place / "journal", "bench", segment_bytes_max=2**30)

    def commit(records: list[bytes]) -> None:
        for record in records:
            mine.append(record)
        mine.commit()

    return commit


def sqlite(mode: str) -> Callable[[Path], Commit]:
    def opened(place: Path) -> Commit:
        base = sqlite3.connect(place / f"{mode}.db", isolation_level=None)
        base.execute("pragma journal_mode=wal")
        base.execute(f"pragma synchronous={mode}")
        base.execute("create table records(sequence integer primary key, record blob)")
        numbers = count(1)

        def commit(records: list[bytes]) -> None:
            base.execute("begin")
            base.executemany("insert into records values(?, ?)", zip(numbers, records, strict=False))
            base.execute("commit")

        return commit

    return opened


CONTESTANTS = {"bare": bare, "journal": journal, "FULL": sqlite("FULL"), "NORMAL": sqlite("NORMAL")}


def main() -> None:
    directory = sys.argv[1] if len(sys.argv) > 1 else None
    print("records/s and microseconds of CPU per record; SQLite's time through the journal's, of both")
    print(f"{'bytes':>5} {'batch':>5}" + "".join(f"{name:>18}" for name in CONTESTANTS) + "   FULL/journal")
    for size in SIZES:
        for batch in BATCHES:
            with tempfile.TemporaryDirectory(dir=directory) as place:
                line(size, batch, Path(place))
    for name, sick in (("the journal", journal_flipped), ("SQLite", sqlite_flipped)):
        with tempfile.TemporaryDirectory(dir=directory) as place:
            print(
                f"{name}, one byte flipped, {FLIPS} times:",
                ", ".join(f"{n} {what}" for what, n in sick(Path(place))),
            )
    with tempfile.TemporaryDirectory(dir=directory) as place:
        machine(Path(place))


def line(size: int, batch: int, place: Path) -> None:
    records = [os.urandom(size) for _ in range(batch)]
    commits = {name: opened(place) for name, opened in CONTESTANTS.items()}
    walls: dict[str, list[float]] = {name: [] for name in commits}
    works: dict[str, list[float]] = {name: [] for name in commits}
    for _ in range(ROUNDS):
        for name, commit in commits.items():
            wall, work = perf_counter(), process_time()
            for _ in range(COMMITS[batch]):
                commit(records)
            done = batch * COMMITS[batch]
            works[name].append((process_time() - work) / done)
            walls[name].append((perf_counter() - wall) / done)
    told = "".join(f"{1 / median(walls[n]):>10,.0f} {1e6 * median(works[n]):7.1f}" for n in commits)
    wall_ratio = median(walls["FULL"]) / median(walls["journal"])
    work_ratio = median(works["FULL"]) / median(works["journal"])
    print(f"{size:>5} {batch:>5}{told}   {wall_ratio:.1f} wall, {work_ratio:.1f} CPU")


def journal_flipped(place: Path) -> list[tuple[str, int]]:
    commit = journal(place)
    for record in RECORDS:
        commit([record])
    return flipped(place / "journal", lambda: recover(REAL.disk, place / "journal", "bench").records)


def sqlite_flipped(place: Path) -> list[tuple[str, int]]:
    """Half of the records are in the database, the others in its WAL."""
    with tempfile.TemporaryDirectory(dir=place) as live:
        commit = sqlite("FULL")(Path(live))
        for record in RECORDS[: len(RECORDS) // 2]:
            commit([record])
        with closing(sqlite3.connect(Path(live) / "FULL.db")) as other:
            other.execute("pragma wal_checkpoint(truncate)")
        for record in RECORDS[len(RECORDS) // 2 :]:
            commit([record])
        for name in ("FULL.db", "FULL.db-wal"):
            (place / name).write_bytes((Path(live) / name).read_bytes())

    def read() -> list[bytes]:
        with tempfile.TemporaryDirectory(dir=place.parent) as copy:
            for file in place.iterdir():
                (Path(copy) / file.name).write_bytes(file.read_bytes())
            with closing(sqlite3.connect(Path(copy) / "FULL.db")) as base:
                return [record for (record,) in base.execute("select record from records order by sequence")]

    return flipped(place, read)


def flipped(place: Path, read: Callable[[], list[bytes]]) -> list[tuple[str, int]]:
    """What readers make of each flip."""
    assert read() == RECORDS
    found: Counter[str] = Counter()
    files = {file: file.read_bytes() for file in sorted(place.iterdir())}
    total = sum(map(len, files.values()))
    for file, data in files.items():
        for at in range(0, len(data), total // FLIPS):
            file.write_bytes(data[:at] + bytes([data[at] ^ 16]) + data[at + 1 :])
            try:
                records = read()
            except (Damaged, sqlite3.Error):
                found["refused"] += 1
            else:
                whole = records == RECORDS
                lost = not whole and records == RECORDS[: len(records)]
                found["not harmed" if whole else "lost in silence" if lost else "wrong in silence"] += 1
        file.write_bytes(data)
    return found.most_common()


class Sink:
    """An effects sink that does nothing."""

    def send(self, *_: Any) -> None: ...

    deliver = stable = admit = isolated = arm = disarm = send

    def choose(self, label: str, count: int) -> int:
        return 0


def machine(place: Path) -> None:
    """A receiver of hybrid buffering: alone; told through a journal, until a snapshot is due; and back."""
    build = partial(CATALOG[NAME].build, Setup("bob", GROUP))
    sink = Sink()
    alone = 1e6 * received(build(), sink, MESSAGES)
    durable = durable_at(place, build, sink)
    told = 1e6 * received(durable.speaker, sink, MESSAGES, end_turn=durable.commit)
    messages = MESSAGES
    while (messages + MESSAGES) * INPUT_BYTES < SNAPSHOT_BYTES:
        received(durable.speaker, sink, MESSAGES, messages, durable.commit)
        messages += MESSAGES
        durable.acknowledge(durable.offset)
    durable.journal.close()
    wall, work = perf_counter(), process_time()
    back = durable_at(place, build, sink)
    wall, work = perf_counter() - wall, process_time() - work
    inputs = len(back.journal.recovered.records)
    assert back.offset == messages
    print(
        f"a machine receives 100 bytes: alone {alone:.1f} us of CPU; durably, {TURN} a commit, {told:.1f}\n"
        f"a restart before a snapshot of {SNAPSHOT_BYTES:,} bytes is due: {inputs:,} inputs read and told "
        f"again in {work:.2f} s of CPU, {wall:.2f} s"
    )


def durable_at(place: Path, build: Callable[[], Any], sink: Any) -> Durable:
    journal, frames = Journal(REAL.disk, place, "bench"), Codec(shapes_of(NAME, GROUP))
    return Durable(journal, WINDOWS["batch"], build, sink, sink.send, 0, frames=lambda _: frames)


def received(
    speaker: Any, sink: Any, count: int, before: int = 0, end_turn: Callable[[], object] = list
) -> float:
    """Seconds of CPU per message."""
    frames = [
        Msg(0, number, number - 1, False, bytes(100)) for number in range(before + 1, before + count + 1)
    ]
    work = process_time()
    for number, frame in enumerate(frames, 1):
        speaker.receive("alice", frame, 0, sink)
        if not number % TURN:
            end_turn()
    return (process_time() - work) / count


if __name__ == "__main__":
    main()
