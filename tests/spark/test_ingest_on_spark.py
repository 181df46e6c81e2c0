"""Others' logs read on Spark are the trace that is read here, faults and all."""

import gzip
from pathlib import Path
from random import Random

import numpy as np
import pytest
from pyspark.sql import SparkSession

from aforesaid.core import Misuse
from aforesaid.foreign import Collected, Collection, Mapping, Options, read
from aforesaid.foreign.columns import Columns
from aforesaid.foreign.events import Count
from aforesaid.pipeline.ingesting import read_lines
from aforesaid.trace import MemorySink, MemoryTrace
from property.foreign.test_lines import as_lines, played


def logs(directory: Path) -> list[Path]:
    """One run's lines in several files, some packed, with nonsense in between; an id is sent twice."""
    lines = [line for seed in range(20) for line in as_lines(played(Random(seed), reckless=True))]
    paths = []
    for number in range(5):
        part = lines[number::5][: 200 * (number + 1)]
        text = "\n".join([*part, "nonsense", '{"event": "sent"}'])
        path = directory / f"{number}.jsonl{'.gz' if number % 2 else ''}"
        path.write_bytes(gzip.compress(text.encode()) if number % 2 else text.encode())
        paths.append(path)
    return paths


def made(columns: Columns, count: Count) -> tuple[MemoryTrace, Collected]:
    sink = MemorySink()
    collected = Collection(columns, Options("jsonl", "potential"), count).close(sink, "run")
    return sink.trace, collected


def test_on_spark_and_here_it_is_the_same_trace(spark: SparkSession, tmp_path: Path) -> None:
    paths = logs(tmp_path)
    here, there = Count(), Count()
    local, told = made(read("jsonl", paths, Mapping(), "potential", here)[0], here)
    remote, told_there = made(read_lines(spark, "jsonl", paths, Mapping(), there), there)
    assert (told_there, there) == (told, here)
    assert here.refused == 10
    assert any("is sent more than once" in gap for gap in told.gaps)
    for name in ("origin", "number", "time_ns", "sent_after"):
        assert np.array_equal(getattr(remote.messages, name), getattr(local.messages, name)), name
    for name in ("after", "audience"):
        ours, theirs = getattr(local.messages, name), getattr(remote.messages, name)
        assert np.array_equal(theirs.offsets, ours.offsets), name
        assert np.array_equal(theirs.values, ours.values), name
    assert np.array_equal(remote.delivery_message, local.delivery_message)
    assert np.array_equal(remote.delivery_offsets, local.delivery_offsets)


def test_what_hangs_together_is_not_read_in_parts(spark: SparkSession, tmp_path: Path) -> None:
    for format in ("otlp", "shiviz"):
        with pytest.raises(Misuse, match=f"{format} is not read on Spark"):
            read_lines(spark, format, [tmp_path / "log"], Mapping(), Count())


def test_a_file_that_is_not_there_is_named(spark: SparkSession, tmp_path: Path) -> None:
    with pytest.raises(Misuse, match=r"none\.jsonl: No such file"):
        read_lines(spark, "jsonl", [tmp_path / "none.jsonl"], Mapping(), Count())
