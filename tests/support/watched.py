"""A story whose logs grow on disk while somebody watches, and what the watch is to find."""

import json
from collections import Counter
from pathlib import Path
from random import Random

import pyarrow.parquet as pq

from aforesaid.check import check
from aforesaid.node.recording.ingest import ingest
from aforesaid.trace import MemorySink
from support.growing import Story

Found = Counter[tuple[str, ...]]


class GrowingFiles:
    """The logs of a story, written a few bytes at a time: records are torn in between."""

    def __init__(self, seed: int, directory: Path, steps: int) -> None:
        self.directory = directory / "segments"
        self.directory.mkdir(parents=True)
        self._random = Random(seed)
        written = Story(seed, steps=steps).write(directory / "whole", bytes_max=3_000)
        self._left = {
            log: [(number, data) for number, data in enumerate(segments, 1)]
            for log, segments in written.items()
        }

    @property
    def left(self) -> int:
        return sum(len(data) for segments in self._left.values() for _, data in segments)

    def grow(self, bytes_max: int) -> None:
        """Each log a little."""
        for log, segments in self._left.items():
            if segments:
                number, data = segments[0]
                cut = self._random.randint(0, min(len(data), bytes_max))
                with (self.directory / f"{log}-{number:06d}.segment").open("ab") as file:
                    file.write(data[:cut])
                segments[0] = (number, data[cut:])
                if cut == len(data):
                    segments.pop(0)

    def truth(self) -> Found:
        """What `check` says of the same segments."""
        sink = MemorySink()
        ingest(self.directory, sink, "story")
        verdicts = check(sink.trace, witnesses_max=None).verdicts.values()
        return Counter(
            (each.property, each.process, each.message, str(each.position))
            for verdict in verdicts
            for each in verdict.witnesses
        )


def found(out: Path) -> Found:
    """The violations in the tables of a watch, those only that are committed."""
    last = json.loads((out / "committed.json").read_text())["batch"]
    rows = [row for path in (out / "violations").iterdir() for row in pq.read_table(path).to_pylist()]
    return Counter(
        (row["property"], row["process"], row["message"], str(row["position"]))
        for row in rows
        if row["batch"] <= last
    )
