"""Metrics on Spark: the same figures as NumPy gives on the same traces, and tables that a person can use."""

import csv
import json
import shutil
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyarrow.fs import copy_files
from pyspark.sql import SparkSession

from aforesaid.cli import main
from aforesaid.pipeline.measuring import TABLES, metrics
from aforesaid.sim.grid import grid_of
from aforesaid.sim.storing import simulate_to
from aforesaid.trace.parquet import find_runs, open_trace
from support.s3 import Bucket

GRID = {
    "duration_ms": 300,
    "sample_ms": 20,
    "network": {"delay": {"kind": "lognormal", "median_ms": 10}, "retransmit": True},
    "workload": [{"kind": "rate", "per_second": 20}],
    "sweep": {
        "algorithm": ["reliable", "waiting"],
        "processes": [3, 6],
        "network.loss": [0, 0.2],
        "seeds": 2,
    },
}


@pytest.fixture(scope="module")
def measured(tmp_path_factory: pytest.TempPathFactory, spark: SparkSession) -> Path:
    """A directory with traces of a small grid in `traces`, and their tables in `metrics`."""
    root = tmp_path_factory.mktemp("metrics")
    for one in grid_of(GRID).planned:
        simulate_to(one.scenario, root / "traces", one.run, False)
    code, out, _ = aforesaid("metrics", str(root / "traces"), "--out", str(root / "metrics"), "--json")
    assert code == 0
    assert json.loads(out)["runs"] == 16
    return root


def aforesaid(*arguments: str) -> tuple[int, str, str]:
    """Runs the command in this process; gives the exit code and what was printed."""
    from contextlib import redirect_stderr, redirect_stdout
    from io import StringIO

    out, err = StringIO(), StringIO()
    before, sys.argv = sys.argv, ["aforesaid", *arguments]
    try:
        with redirect_stdout(out), redirect_stderr(err), pytest.raises(SystemExit) as stop:
            main()
    finally:
        sys.argv = before
    return int(stop.value.code or 0), out.getvalue(), err.getvalue()


def rows(root: Path, name: str) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = pq.read_table(root / "metrics" / f"{name}.parquet").to_pylist()
    return rows


def latencies_ms(root: Path, algorithm: str, processes: int, loss: float) -> np.ndarray:
    parts = []
    for path in find_runs(root / "traces"):
        trace = open_trace(path)
        scenario = json.loads(trace.run.scenario)
        if (scenario["algorithm"], scenario["processes"], scenario["network"]["loss"]) == (
            algorithm,
            processes,
            loss,
        ):
            for process, log in trace.logs():
                others = trace.messages.origin[log.message] != process
                parts.append((log.time_ns - trace.messages.time_ns[log.message])[others])
    return np.concatenate(parts) / 1e6


def test_latency_is_what_numpy_says(measured: Path) -> None:
    found = [row for row in rows(measured, "latency") if row["measure"] == "latency"]
    assert len(found) == 8
    for row in found:
        expected = latencies_ms(
            measured, row["algorithm"], row["processes"], float(row["setting"].removeprefix("loss="))
        )
        assert row["deliveries"] == len(expected)
        assert row["mean_ms"] == pytest.approx(expected.mean())
        assert row["max_ms"] == pytest.approx(expected.max())
        for share in (50, 90, 99):
            exact = np.percentile(expected, share, method="inverted_cdf")
            assert row[f"p{share}_ms"] == pytest.approx(exact, rel=0.012)


def test_the_tables_add_up(measured: Path) -> None:
    runs = rows(measured, "runs")
    others = sum(row["deliveries"] - row["messages"] for row in runs)
    histogram = [row for row in rows(measured, "histogram") if row["measure"] == "latency"]
    assert sum(row["deliveries"] for row in histogram) == others
    assert {row["optimum"] for row in runs} == {"bound"}
    assert {row["setting"] for row in runs} == {"loss=0", "loss=0.2"}
    measures = {(row["run"], row["metric"]): row["value"] for row in rows(measured, "measures")}
    for row in runs:
        frames = measures[row["run"], "frames_sent"]
        assert measures[row["run"], "frames_per_message"] == pytest.approx(frames / row["messages"])
    series = rows(measured, "series")
    assert {"frames_sent_per_second", "in_flight", "pending"} <= {row["metric"] for row in series}
    assert {row["runs"] for row in series if row["time_ms"] == 0} == {2}


def test_growth_has_the_exponent_of_the_power_law(measured: Path) -> None:
    lines = [
        row
        for row in rows(measured, "growth")
        if (row["algorithm"], row["setting"], row["metric"]) == ("reliable", "loss=0", "frames_per_message")
    ]
    assert [row["processes"] for row in lines] == [3, 6]
    slope = np.log(lines[1]["mean"] / lines[0]["mean"]) / np.log(2)
    assert [row["exponent"] for row in lines] == [pytest.approx(slope)] * 2


def test_every_table_is_there_as_parquet_and_csv(measured: Path) -> None:
    for name in TABLES:
        with (measured / "metrics" / f"{name}.csv").open() as file:
            assert len(list(csv.reader(file))) - 1 == len(rows(measured, name))
        assert (len(rows(measured, name)) > 0) == (name != "refused")


def damaged(measured: Path, root: Path) -> list[str]:
    """The same traces with three that cannot be read, one of them only when it is; their names."""
    shutil.copytree(measured / "traces", root)
    truncated, flipped, half, *_ = sorted(root.glob("run=*"))
    whole = (truncated / "messages.parquet").read_bytes()
    (truncated / "messages.parquet").write_bytes(whole[: len(whole) // 2])
    deliveries = bytearray((flipped / "deliveries.parquet").read_bytes())
    deliveries[40] ^= 1
    (flipped / "deliveries.parquet").write_bytes(deliveries)
    (half / "runs.parquet").unlink()
    return [path.name.removeprefix("run=") for path in (truncated, flipped, half)]


def test_a_damaged_run_is_told_and_all_others_are_measured(measured: Path, tmp_path: Path) -> None:
    bad = damaged(measured, tmp_path / "traces")
    arguments = ("metrics", str(tmp_path / "traces"), "--out", str(tmp_path / "metrics"))
    code, out, err = aforesaid(*arguments)
    assert (code, err, out.count(" not measured: ")) == (3, "", 3)
    assert len(rows(tmp_path, "runs")) == 13
    told = {row["run"]: row["reason"] for row in rows(tmp_path, "refused")}
    assert sorted(told) == sorted(bad)
    for run, says in zip(bad, ("messages.parquet is damaged", "row group 0", "no runs.parquet"), strict=True):
        assert says in told[run]
    for table in ("runs", "measures"):
        expected = [row for row in rows(measured, table) if row["run"] not in bad]
        assert rows(tmp_path, table) == expected


def test_runs_without_samples_have_latencies_and_no_series(measured: Path, tmp_path: Path) -> None:
    shutil.copytree(measured / "traces", tmp_path / "traces")
    for file in (tmp_path / "traces").glob("run=*/samples.parquet"):
        file.unlink()
    out = tmp_path / "metrics"
    out.mkdir()
    (out / "runs.parquet").write_text("of an earlier time")
    code, _, _ = aforesaid("metrics", str(tmp_path / "traces"), "--out", str(out), "--force")
    assert (code, rows(tmp_path, "series")) == (0, [])
    assert rows(tmp_path, "latency") == rows(measured, "latency")


def test_from_a_store_into_a_store(measured: Path, bucket: Bucket, spark: SparkSession) -> None:
    copy_files(str(measured / "traces"), f"{bucket.name}/traces", destination_filesystem=bucket.place.store)
    arguments = (f"{bucket.uri}/traces", "--out", f"{bucket.uri}/metrics", *bucket.server.conf)
    code, out, err = aforesaid("metrics", *arguments, "--json")
    assert (code, err, json.loads(out)["out"]) == (0, "", f"{bucket.uri}/metrics")
    for name in TABLES:
        stored = pq.read_table((bucket.place / "metrics" / f"{name}.parquet").open("rb"))
        assert stored.to_pylist() == rows(measured, name)
    code, _, err = aforesaid("metrics", *arguments)
    assert (code, f"{bucket.uri}/metrics/" in err) == (2, True)
    assert not any(key.startswith("spark.hadoop.fs.s3a.endpoint") for key in spark.conf.getAll)


def test_tables_as_data_frames(measured: Path, spark: SparkSession) -> None:
    """The names of a user's views are the user's."""
    spark.range(3).createOrReplaceTempView("runs")
    before = [table.name for table in spark.catalog.listTables()]
    frames = metrics(spark, (measured / "traces").as_uri())
    assert {name: frame.toArrow().to_pylist() for name, frame in frames.items()} == {
        name: rows(measured, name) for name in TABLES
    }
    assert [table.name for table in spark.catalog.listTables()] == before
    assert spark.table("runs").count() == 3
    spark.catalog.dropTempView("runs")


def test_the_report_of_it_stands_by_itself(measured: Path, tmp_path: Path) -> None:
    page = tmp_path / "report.html"
    code, _, _ = aforesaid("report", str(measured / "metrics"), "--out", str(page))
    text = page.read_text()
    # Latency of both sizes, series of both with and without loss, growth with and without loss.
    assert (code, text.count("<svg")) == (0, 2 + 4 + 2)
    assert "Not judged" in text


def test_bad_input_is_one_line_and_exit_2(measured: Path, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    local = tmp_path / "local" / "run=r"
    shutil.copytree(str(find_runs(measured / "traces")[0]), local)
    table = pq.read_table(local / "runs.parquet")
    place = table.schema.get_field_index("clock")
    pq.write_table(
        table.set_column(place, table.schema.field(place), pa.array(["local"])), local / "runs.parquet"
    )
    out = str(tmp_path / "out")
    for arguments, says in (
        ((str(tmp_path / "missing"), "--out", out), "does not exist"),
        ((str(tmp_path / "empty"), "--out", out), "is not a trace"),
        ((str(tmp_path / "local"), "--out", out), "has local clocks: times of two processes do not compare"),
        (
            (str(measured / "traces"), "--out", str(measured / "metrics")),
            "runs.parquet exists; choose another --out",
        ),
    ):
        code, printed, err = aforesaid("metrics", *arguments)
        assert (code, printed, err.count("\n")) == (2, "", 1)
        assert says in err
