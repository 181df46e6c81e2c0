"""The audit on Spark: the judgement of `check`, whatever the layout and wherever it runs."""

import gc
import json
import os
import re
import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as sql
from pyspark.sql.types import StructType

from aforesaid.check import Report, check
from aforesaid.core import Misuse
from aforesaid.pipeline.auditing import AuditOptions, Outcome, audit
from aforesaid.pipeline.auditing.results import write_by_spark
from aforesaid.pipeline.auditing.sifted import TABLES
from aforesaid.pipeline.auditing.work import Whole, perform
from aforesaid.pipeline.session import SparkOptions, spark_session
from aforesaid.pipeline.tasks import run_tasks
from aforesaid.sim import Scenario, simulate_into
from aforesaid.trace.parquet import ParquetSink, find_runs, open_trace
from aforesaid.trace.parquet.schema import SCHEMAS
from support.commands import command
from support.injected import Injected, injected, write

SLICED = AuditOptions(witnesses_max=None, slice_deliveries=6_000, whole_bytes=0)
"""Every run in slices, of a few row groups each."""


@pytest.fixture(scope="session")
def spoiled(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, Injected]]:
    """A good run, one with faults in its logs and calls, one whose recorder lies, one with audiences."""
    root = tmp_path_factory.mktemp("traces")
    made = {
        "good": injected(40, 300, faults=0),
        "faulty": injected(60, 400, faults=30, stability=True, seed=3),
        "lying": injected(60, 400, faults=15, lies=6, seed=4),
        "stray": injected(30, 200, faults=10, strays=4, seed=5),
    }
    for name, one in made.items():
        write(one, root, name, row_group_rows=2_000)
    return root, made


def reports(outcomes: list[Outcome]) -> dict[str, Report]:
    return {outcome.run: outcome.report for outcome in outcomes if outcome.report is not None}


def checked(root: Path, witnesses_max: int | None = None) -> dict[str, Report]:
    found = (check(open_trace(path), witnesses_max=witnesses_max) for path in find_runs(root))
    return {report.run.run: report for report in found}


@pytest.mark.parametrize("options", [SLICED, replace(SLICED, whole_bytes=1 << 30)], ids=["sliced", "whole"])
def test_finds_what_was_put_in_and_nothing_else(
    spark: SparkSession, spoiled: tuple[Path, dict[str, Injected]], tmp_path: Path, options: AuditOptions
) -> None:
    root, made = spoiled
    found = audit(spark, root, options=options)
    assert reports(found.outcomes) == checked(root)
    for outcome in found.outcomes:
        assert outcome.report is not None
        for name, verdict in outcome.report.verdicts.items():
            pairs = {(witness.process_index, witness.message_index) for witness in verdict.witnesses}
            assert pairs == made[outcome.run].expected.get(name, set()), (outcome.run, name)
            assert verdict.violations == len(verdict.witnesses)
        assert sum(outcome.refused.values()) == 0
    slices = {outcome.run: outcome.slices for outcome in found.outcomes}
    assert (slices["faulty"] > 2) == (options is SLICED)


def test_agrees_with_plain_sql(
    spark: SparkSession, spoiled: tuple[Path, dict[str, Injected]], tmp_path: Path
) -> None:
    """Broadcast order by joins over the tables, which share nothing with the checker."""
    root, _ = spoiled
    path = root / "run=faulty"
    for name in ("deliveries", "messages"):
        spark.read.parquet(str(path / f"{name}.parquet")).createOrReplaceTempView(name)
    first = "(select process, message, min(position) at, min(time_ns) ns from deliveries group by 1, 2)"
    sent = "(select * from messages where sent_after >= 0)"
    overtaken = f"""select distinct late.process, late.message from {first} late join edges using (message)
        left join {first} early on early.process = late.process and early.message = edges.earlier
        where early.at is null or early.at > late.at"""
    queries = {
        "no_duplicate": "select process, message from deliveries group by 1, 2 having count(*) > 1",
        "no_creation": f"select process, message from {first} left anti join {sent} using (message)",
        "no_foresight": f"""select process, message from {first} d join {sent} m using (message)
            where d.ns < m.time_ns""",
        "causal": f"with edges as (select message, explode(after) earlier from {sent}) {overtaken}",
        "fifo": f"""with edges as (select b.message, a.message earlier from {sent} a join {sent} b
            on a.origin = b.origin and a.number + 1 = b.number) {overtaken}""",
        "agreement": f"""select p.process, m.message from (select distinct process from deliveries) p
            cross join {sent} m left anti join deliveries d
            on d.process = p.process and d.message = m.message""",
    }
    (outcome,) = audit(spark, path, options=SLICED).outcomes
    assert outcome.report is not None
    for name, query in queries.items():
        witnesses = outcome.report.verdicts[name].witnesses
        pairs = {(witness.process_index, witness.message_index) for witness in witnesses}
        assert {tuple(row) for row in spark.sql(query).collect()} == pairs, name
        assert pairs, name


def as_others_write(root: Path, target: Path, names: dict[str, str]) -> Path:
    """Runs as tables over all of them: rows in no order, several files, the run in a column."""
    random = np.random.default_rng(1)
    for name in ("runs", "processes", "messages", "deliveries", "stabilities"):
        parts = []
        for run in find_runs(root):
            table = pq.read_table(run / f"{name}.parquet")
            parts.append(table.append_column("run", pa.array([names[run.name]] * len(table), pa.string())))
        table = pa.concat_tables(parts)
        table = table.take(pa.array(random.permutation(len(table))))
        (target / name).mkdir(parents=True)
        half = len(table) // 2 + 1
        for part in range(2):
            pq.write_table(table.slice(part * half, half), target / name / f"part-{part}.parquet")
    return target


@pytest.mark.parametrize("options", [SLICED, replace(SLICED, whole_bytes=1 << 30)], ids=["sliced", "whole"])
def test_takes_others_layout(
    spark: SparkSession, spoiled: tuple[Path, dict[str, Injected]], tmp_path: Path, options: AuditOptions
) -> None:
    root, _ = spoiled
    names = {run.name: f"their {run.name}/{place}" for place, run in enumerate(find_runs(root))}
    foreign = as_others_write(root, tmp_path / "foreign", names)
    found = audit(spark, foreign, options=options, scratch=tmp_path)
    ours = {names[f"run={name}"]: report.verdicts for name, report in checked(root).items()}
    assert {run: report.verdicts for run, report in reports(found.outcomes).items()} == ours
    read = {outcome.run: outcome.rows for outcome in found.outcomes}
    assert read == {names[path.name]: open_trace(path).event_counts for path in find_runs(root)}
    assert {outcome.slices > 1 for outcome in found.outcomes} == {options is SLICED}
    assert [path.name for path in tmp_path.iterdir()] == ["foreign"]


def test_takes_and_gives_dataframes(
    spark: SparkSession, spoiled: tuple[Path, dict[str, Injected]], tmp_path: Path
) -> None:
    """From JSON, where every integer is 64 bits wide, to tables that SQL can ask."""
    root, made = spoiled
    foreign = as_others_write(root, tmp_path / "foreign", {run.name: run.name for run in find_runs(root)})
    frames: dict[str, Any] = {}
    for name in ("runs", "processes", "messages", "deliveries", "stabilities"):
        spark.read.parquet(str(foreign / name)).write.json(str(tmp_path / name))
        written = spark.read.parquet(str(foreign / name)).schema.json().replace('"integer"', '"long"')
        frames[name] = spark.read.schema(StructType.fromJson(json.loads(written))).json(str(tmp_path / name))
    found = audit(spark, **frames, options=AuditOptions(witnesses_max=None))
    assert found.value == "violated"
    ours = {f"run={name}": report.verdicts for name, report in checked(root).items()}
    assert {run: report.verdicts for run, report in reports(found.outcomes).items()} == ours
    found.verdicts.write.saveAsTable("audited_verdicts", path=str(tmp_path / "table"))
    asked = "select violations from audited_verdicts where run = 'run=faulty' and property = 'causal'"
    rows = spark.sql(asked)
    assert [row["violations"] for row in rows.collect()] == [len(made["faulty"].expected["causal"])]
    spark.sql("drop table audited_verdicts")
    assert found.violations.where("run = 'run=faulty' and property = 'causal'").count() == len(
        made["faulty"].expected["causal"]
    )
    assert found.summary.where("value = 'kept'").count() == 1
    assert (found.refused.count(), found.quarantine.count()) == (0, 0)


def test_dataframes_of_other_types_are_refused_before_any_work(spark: SparkSession) -> None:
    frames: dict[str, Any] = {
        name: spark.createDataFrame(SCHEMAS[name].empty_table()).withColumn("run", sql.lit("x"))
        for name in TABLES
    }
    wrong = frames["deliveries"].withColumn("position", sql.col("position").cast("string"))
    for given, told in (
        ({"deliveries": wrong}, "column position of table deliveries is string, expected int32"),
        ({"deliveries": wrong.drop("position")}, "table deliveries lacks column position"),
        ({"messages": frames["messages"].drop("run")}, "the DataFrame messages lacks column run"),
        ({"messages": None}, "there is no DataFrame messages"),
    ):
        with pytest.raises(Misuse, match=told):
            audit(spark, **{**frames, **given})
    with pytest.raises(Misuse, match="either traces, by path or URI, or DataFrames"):
        audit(spark)
    assert audit(spark, **frames).value == "unknown"


def test_a_store_that_only_spark_can_read(
    spark: SparkSession, spoiled: tuple[Path, dict[str, Injected]], tmp_path: Path
) -> None:
    root, _ = spoiled
    spark.conf.set("fs.viewfs.mounttable.audited.link./data", root.as_uri())
    spark.conf.set("fs.viewfs.mounttable.audited.link./out", tmp_path.as_uri())
    found = audit(spark, "viewfs://audited/data", options=AuditOptions(witnesses_max=None))
    assert reports(found.outcomes) == checked(root)
    write_by_spark(found, "viewfs://audited/out/found")
    written = spark.read.parquet(str(tmp_path / "found" / "verdicts.parquet"))
    assert written.count() == found.verdicts.count()
    assert json.loads((next((tmp_path / "found").glob("summary.json/part-*"))).read_text())["runs"] == 4


@pytest.mark.parametrize("options", [SLICED, replace(SLICED, whole_bytes=1 << 30)], ids=["sliced", "whole"])
@pytest.mark.parametrize("layout", ["ours", "others"])
def test_a_missing_table_is_unknown_by_name(
    spark: SparkSession,
    spoiled: tuple[Path, dict[str, Injected]],
    tmp_path: Path,
    layout: str,
    options: AuditOptions,
) -> None:
    """And the other runs are judged."""
    root, _ = spoiled
    traces = tmp_path / "traces"
    shutil.copytree(root / "run=good", traces / "run=good")
    lacking = {}
    for name in ("runs", "processes", "messages", "deliveries"):
        for how in ("removed", "emptied"):
            path = shutil.copytree(root / "run=good", traces / f"run={name}-{how}")
            lacking[path.name.removeprefix("run=")] = name
            file = path / f"{name}.parquet"
            empty = pq.read_table(file).slice(0, 0)
            file.unlink()
            if how == "emptied" or layout == "others":
                pq.write_table(empty, file)
    for name in ("stabilities", "samples"):
        path = shutil.copytree(root / "run=good", traces / f"run={name}-removed")
        if layout == "ours":
            (path / f"{name}.parquet").unlink()
    if layout == "others":
        names = {run.name: run.name.removeprefix("run=") for run in find_runs(traces)}
        traces = as_others_write(traces, tmp_path / "others", names)
    found = {outcome.run: outcome for outcome in audit(spark, traces, options=options).outcomes}
    assert {run: found[run].value for run in found if run not in lacking} == dict.fromkeys(
        ("good", "samples-removed", "stabilities-removed"), "kept"
    )
    for run, table in lacking.items():
        assert found[run].value == "unknown"
        assert table in found[run].refusal
        assert sum(found[run].refused.values()) == sum(found[run].rows.values())


def edited(path: Path, name: str, edit: Any) -> None:
    """Rewrite a table of a run, row by row."""
    file = path / f"{name}.parquet"
    table = pq.read_table(file)
    rows = table.to_pylist()
    edit(rows)
    schema = pa.schema([field.with_nullable(True) for field in table.schema])
    pq.write_table(pa.Table.from_pylist(rows, schema), file)


@pytest.fixture
def audit_command(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Any:
    """Runs `aforesaid audit ARGUMENTS` in an empty directory, in the tests' own session."""
    monkeypatch.chdir(tmp_path)

    return command(monkeypatch, capsys, "audit")


def test_what_was_not_promised_and_not_kept_is_told_and_counts_for_nothing(audit_command: Any) -> None:
    scenario = {"algorithm": "reliable", "processes": 3, "workload": [{"kind": "rate", "per_second": 40}]}
    with ParquetSink(Path("traces"), "r") as sink:
        simulate_into(sink, Scenario.of(scenario), "r")
    code, out, _ = audit_command("traces", "--out", "out")
    assert (code, out.splitlines()[-1]) == (0, "not promised, not kept: fifo in 1 run, causal in 1 run")


def test_bad_rows_are_set_aside_and_counted(
    audit_command: Any, spoiled: tuple[Path, dict[str, Injected]], tmp_path: Path
) -> None:
    """A broken run is judged as far as it goes, a damaged one not at all, and neither stops the others."""
    root, _ = spoiled
    traces = tmp_path / "traces"
    for name in ("good", "rows", "torn", "new"):
        shutil.copytree(root / "run=good", traces / f"run={name}")

    def spoil(rows: list[dict[str, Any]]) -> None:
        at = next(place for place, row in enumerate(rows) if row["process"] == 39 and row["position"] == 250)
        rows[at]["message"] = None
        rows.append(dict(rows[5]))

    edited(traces / "run=rows", "deliveries", spoil)
    torn = traces / "run=torn" / "deliveries.parquet"
    torn.write_bytes(torn.read_bytes()[:-100])
    edited(traces / "run=new", "runs", lambda rows: rows[0].update(schema_version=99))
    count = open_trace(root / "run=good").delivery_count
    messages = open_trace(root / "run=good").event_counts["messages"]

    code, out, err = audit_command(str(traces), "--out", "out", "--json")
    assert (code, err) == (3, "")
    told = json.loads(out)
    assert [(run["run"], run["value"]) for run in told["runs"]] == [
        ("good", "kept"),
        ("new", "unknown"),
        ("rows", "unknown"),
        ("torn", "unknown"),
    ]
    summary = json.loads(Path("out/summary.json").read_text())
    assert summary["events_read"] == summary["events_judged"] + summary["events_refused"]
    assert summary["events_read"] == 4 * messages + 3 * count + 1
    refused = {(row["run"], row["table"]): 0 for row in pq.read_table("out/refused.parquet").to_pylist()}
    for row in pq.read_table("out/refused.parquet").to_pylist():
        refused[row["run"], row["table"]] += row["rows"]
    length = len(open_trace(root / "run=good").log(39))
    assert refused["rows", "deliveries"] == 1 + length - 250
    assert refused["new", "deliveries"] == count
    set_aside = pq.read_table("out/quarantine.parquet").to_pylist()
    reasons = [row["reason"] for row in set_aside if row["run"] == "rows"]
    assert len(reasons) == 1 + length - 250
    assert {"it names no message of the run", "it is a copy of another row"} < set(reasons)
    notes = {
        (row["run"], row["property"]): row["note"]
        for row in pq.read_table("out/verdicts.parquet").to_pylist()
    }
    assert "schema version 99" in notes["new", "causal"]
    assert "damaged" in notes["torn", "causal"]
    assert "deliveries are missing" in notes["rows", "agreement"]


def test_a_large_run_is_judged_without_its_bad_rows(
    spark: SparkSession, spoiled: tuple[Path, dict[str, Injected]], tmp_path: Path
) -> None:
    root, made = spoiled
    for name in ("good", "faulty"):
        shutil.copytree(root / f"run={name}", tmp_path / f"run={name}")
    sound = next(process for process in range(8, 60) if process not in made["faulty"].faults)

    def spoil(rows: list[dict[str, Any]]) -> None:
        last = max(place for place, row in enumerate(rows) if row["process"] == sound)
        rows[last]["message"] = -5

    edited(tmp_path / "run=faulty", "deliveries", spoil)
    found = audit(spark, tmp_path, options=SLICED)
    good, faulty = sorted(found.outcomes, key=lambda outcome: outcome.value)
    assert (good.value, good.refused) == ("kept", {})
    assert faulty.refused == {("deliveries", "it names no message of the run"): 1}
    assert faulty.path == str(tmp_path / "run=faulty")
    assert faulty.slices > 2
    assert faulty.report is not None
    for name in ("causal", "fifo", "no_duplicate", "no_creation", "no_foresight"):
        pairs = {(one.process_index, one.message_index) for one in faulty.report.verdicts[name].witnesses}
        assert pairs == made["faulty"].expected[name]
    assert set(found.seconds) == {"judging", "sifting"}


def test_what_a_task_complains_of_is_one_line(spark: SparkSession, tmp_path: Path) -> None:
    """Its own words as they are, anything else as the exception it was; never a stack trace."""
    absent = Whole((tmp_path / "run=1",), None, None)
    with pytest.raises(Misuse, match="run=1: it does not exist there; executors must see the data") as one:
        run_tasks(spark, perform, [absent])
    assert "\n" not in str(one.value)

    def fail(number: int) -> None:
        raise LookupError(f"number {number}", "and more")

    with (
        pytest.raises(
            Misuse, match=r"^Spark failed: LookupError: \('number 7', 'and more'\) \(--debug"
        ) as other,
        spark_session(SparkOptions(), "test") as running,
    ):
        run_tasks(running, fail, [7])
    assert "\n" not in str(other.value)


def test_a_worker_is_not_searched_for_garbage_over_and_over(spark: SparkSession) -> None:
    """Spark's daemon collects garbage after every task; what a worker has imported is kept out of that."""

    def known(task: int) -> tuple[int, int]:
        return os.getpid(), gc.get_freeze_count()

    seen: set[int] = set()
    for _ in range(10):
        for pid, frozen in run_tasks(spark, known, [0, 1]):
            if pid in seen:
                assert frozen > 10_000
                return
            seen.add(pid)
    raise AssertionError(f"no worker is used again: {seen}")


def test_what_is_one_task_to_prepare_is_no_job_of_its_own(
    spark: SparkSession, spoiled: tuple[Path, dict[str, Injected]]
) -> None:
    """Nothing is asked of Spark but to judge."""
    root, _ = spoiled
    spark.sparkContext.setJobGroup("one run", "")
    try:
        found = audit(spark, root / "run=good", options=SLICED)
    finally:
        spark.sparkContext.setJobGroup("", "")
    assert (found.value, found.outcomes[0].slices > 2) == ("kept", True)
    assert len(spark.sparkContext.statusTracker().getJobIdsForGroup("one run")) == 1


def test_writes_tables_and_sentences(
    audit_command: Any, spoiled: tuple[Path, dict[str, Injected]], tmp_path: Path
) -> None:
    root, made = spoiled
    code, out, _ = audit_command(str(root), "--out", "out", "--witnesses", "2")
    assert code == 1
    assert "4 runs: 1 kept, 3 violated, 0 unknown" in out
    assert re.search(f"aforesaid view {root}/run=(?!good)", out)
    violations = pq.read_table("out/violations.parquet").to_pylist()
    causal = [row for row in violations if (row["run"], row["property"]) == ("faulty", "causal")]
    assert [row["rank"] for row in causal] == [1, 2]
    assert all(row["sentence"] in out and row["required"] for row in causal)
    verdicts = pq.read_table("out/verdicts.parquet").to_pylist()
    counted = {(row["run"], row["property"]): row["violations"] for row in verdicts}
    assert counted["faulty", "causal"] == len(made["faulty"].expected["causal"])
    assert {path.name for path in tmp_path.iterdir()} == {"out"}
    code, _, err = audit_command(str(root), "--out", "out")
    assert (code, err) == (2, "aforesaid: out exists; choose another --out or pass --force\n")
    code, _, _ = audit_command(str(root / "run=good"), "--out", "out", "--force", "--property", "fifo")
    assert code == 0
    assert pq.read_table("out/summary.parquet").column("run").to_pylist() == ["good"]


def test_misuse_is_one_line(audit_command: Any, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    for arguments, told in (
        (("nowhere", "--out", "out"), "nowhere does not exist"),
        (("empty", "--out", "out"), "empty is not a trace"),
        (("empty", "--out", "out", "--property", "haste"), "unknown property 'haste'"),
        (("empty", "--out", "out", "--memory", "much"), "'much' is no amount of memory"),
        (("empty", "--out", "o", "--master", "local", "--remote", "sc://h"), "choose one of"),
    ):
        code, _, err = audit_command(*arguments)
        assert code == 2
        assert told in err
        assert err.count("\n") == 1
    assert {path.name for path in tmp_path.iterdir()} == {"empty"}


def elsewhere(root: Path, out: Path, *options: str) -> dict[str, Any]:
    """The audit by a command of its own; all that it tells."""
    aforesaid = str(Path(sys.executable).with_name("aforesaid"))
    command = [aforesaid, "audit", str(root), "--out", str(out), "--json", *options]
    done = subprocess.run(command, capture_output=True, text=True, timeout=240, cwd=out.parent, check=False)
    assert (done.returncode, done.stderr) == (1, "")
    told: dict[str, Any] = json.loads(done.stdout)
    return told


def test_spark_connect_says_the_same(
    connect: str, spoiled: tuple[Path, dict[str, Injected]], tmp_path: Path
) -> None:
    root, _ = spoiled
    told = elsewhere(root, tmp_path / "out", "--remote", connect)
    assert {run["run"]: run["verdicts"] for run in told["runs"]} == {
        run: json.loads(json.dumps(report.to_dict()["verdicts"])) for run, report in checked(root, 5).items()
    }
    assert {path.name for path in tmp_path.iterdir()} == {"out"}


NOTEBOOK = """
import json, sys
from aforesaid.pipeline import AuditOptions, SparkOptions, audit, spark_session

with spark_session(SparkOptions(remote=sys.argv[1]), "notebook") as spark:
    names = ("runs", "processes", "messages", "deliveries", "stabilities")
    tables = {name: spark.read.parquet(f"{sys.argv[2]}/{name}") for name in names}
    found = audit(spark, **tables, options=AuditOptions(slice_deliveries=6_000, whole_bytes=0))
    counted = found.verdicts.where("value = 'violated'").groupBy("run").sum("violations").collect()
    print(json.dumps({row[0]: row[1] for row in counted}))
"""


def test_a_notebook_on_spark_connect_audits_dataframes(
    connect: str, spoiled: tuple[Path, dict[str, Injected]], tmp_path: Path
) -> None:
    root, made = spoiled
    foreign = as_others_write(root, tmp_path, {f"run={name}": name for name in made})
    command = [sys.executable, "-c", NOTEBOOK, connect, str(foreign)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=240, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert json.loads(done.stdout) == {
        name: sum(len(pairs) for pairs in one.expected.values()) for name, one in made.items() if one.expected
    }
