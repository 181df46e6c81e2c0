"""An audit knows declared causality and sampled runs as `check` does, however it gets at them."""

from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from aforesaid.check import Report, check
from aforesaid.foreign import Collection, Options
from aforesaid.foreign.columns import Columns
from aforesaid.foreign.events import Count
from aforesaid.foreign.spans import events_of
from aforesaid.pipeline import AuditOptions, audit
from aforesaid.trace.parquet import ParquetSink, open_trace
from property.foreign.random_spans import random_spans

SEEDS = (8, 27, 30, 44)


@pytest.fixture(scope="module")
def traces(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Runs of declared causality, every other one sampled."""
    root = tmp_path_factory.mktemp("traces")
    for seed in SEEDS:
        for sampled in (False, True):
            run, count = f"{seed}-{'sampled' if sampled else 'seen'}", Count()
            columns = Columns().take(events_of(random_spans(seed), False, count))
            with ParquetSink(root, run) as sink:
                Collection(columns, Options("spans", "declared", sampled), count).close(sink, run)
    return root


@pytest.mark.parametrize("whole_bytes", [1 << 20, 0], ids=["whole", "in slices"])
def test_files_are_judged_as_by_check(spark: SparkSession, traces: Path, whole_bytes: int) -> None:
    found = audit(spark, str(traces), options=AuditOptions(whole_bytes=whole_bytes))
    compare(traces, {outcome.run: outcome.report for outcome in found.outcomes})


def test_frames_are_judged_as_by_check(spark: SparkSession, traces: Path) -> None:
    reader = spark.read.option("basePath", str(traces))
    names = ("runs", "processes", "messages", "deliveries")
    tables: dict[str, Any] = {name: reader.parquet(f"{traces}/run=*/{name}.parquet") for name in names}
    found = audit(spark, **tables)
    compare(traces, {outcome.run: outcome.report for outcome in found.outcomes})


def compare(traces: Path, reports: dict[str, Report | None]) -> None:
    expected = {path.name.removeprefix("run="): check(open_trace(path)) for path in traces.iterdir()}
    values = {report.value() for report in expected.values()}
    assert values == {"kept", "violated", "unknown"}
    for run, report in expected.items():
        found = reports[run]
        assert found is not None
        assert found.to_dict() == report.to_dict(), run
