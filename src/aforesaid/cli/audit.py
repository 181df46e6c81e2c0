"""`aforesaid audit`: judge any number of runs on Spark, and write down what was found."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace

from pyspark.sql import SparkSession
from rich.table import Table
from rich.text import Text

from aforesaid.check import PROPERTIES
from aforesaid.cli import EXIT_OF_VALUE, show
from aforesaid.cli.check import print_report
from aforesaid.core import Misuse
from aforesaid.pipeline.auditing import (
    Audit,
    AuditOptions,
    Outcome,
    audit,
    summary,
    write_by_spark,
    write_results,
)
from aforesaid.pipeline.auditing.layout import find_layout
from aforesaid.pipeline.interrupt import interruptible
from aforesaid.pipeline.session import SparkOptions, spark_session, storage_settings
from aforesaid.storage import Unreachable, already, appearing, is_local, place
from aforesaid.trace.parquet.schema import RUN_PREFIX

RUNS_SHOWN = 20
"""How many runs are shown, those that were not kept in full; the rest is in the tables."""


def audit_runs(
    path: str,
    out: str,
    properties: list[str] | None,
    witnesses: int,
    force: bool,
    as_json: bool,
    spark_options: SparkOptions,
) -> int:
    for name in properties or ():
        if name not in PROPERTIES:
            raise Misuse(f"unknown property {name!r}; there are: {', '.join(PROPERTIES)}")
    # What is on this machine is looked at before Spark is started; only a session knows how to reach stores.
    if is_local(out) and place(out).exists() and not force:
        raise already(place(out))
    if is_local(path):
        find_layout(place(path))
    options = AuditOptions(None if properties is None else tuple(properties), witnesses)
    with (
        # The JVM hands rows on in parcels, if at all: to compile its code well takes longer than to run it.
        spark_session(replace(spark_options, small=True), f"aforesaid audit {path}") as spark,
        _written(spark, out, force) as write,
    ):
        with show.progress(f"auditing {path}", 1) as move:

            def tell(done: int, total: int) -> None:
                move(completed=done, total=total)

            scratch = spark_options.temporary
            found = interruptible(lambda: audit(spark, path, options=options, scratch=scratch, tell=tell))
        write(found)
    if as_json:
        runs = [_facts(outcome) for outcome in found.outcomes]
        show.print_json({"verdict": found.value, "summary": summary(found), "out": out, "runs": runs})
    else:
        _print(found, out)
        _print_where_to_look(found, path)
    return EXIT_OF_VALUE[found.value]


@contextmanager
def _written(spark: SparkSession, out: str, force: bool) -> Iterator[Callable[[Audit], None]]:
    """What writes the results; they appear when the block ends well."""
    try:
        target = place(out, storage_settings(spark)).resolve()
    except Unreachable:
        yield lambda found: write_by_spark(found, out, force)
        return
    with appearing(target, "summary.json", force) as directory:
        yield lambda found: write_results(found, directory)


def _facts(outcome: Outcome) -> dict[str, object]:
    report = {} if outcome.report is None else outcome.report.to_dict()
    return {**report, "run": outcome.run, "value": outcome.value, "refusal": outcome.refusal}


def _print(found: Audit, out: str) -> None:
    bad = [outcome for outcome in found.outcomes if outcome.value != "kept"]
    _print_table(bad[:RUNS_SHOWN] or found.outcomes[:RUNS_SHOWN])
    for outcome in bad[:RUNS_SHOWN]:
        if outcome.report is not None:
            print_report(outcome.report)
        else:
            show.out.print(
                Text.assemble(outcome.run, ": ", show.verdict("unknown"), f": {outcome.refusal}\n")
            )
    left = len(bad or found.outcomes) - RUNS_SHOWN
    if left > 0:
        which = "not kept" if bad else "kept"
        show.out.print(f"... and {show.counted(left, 'more run')} {which}; {out} has them all\n")
    _print_summary(found, out)


def _print_where_to_look(found: Audit, path: str) -> None:
    """The way to the first violation, if its run lies here as a directory of its own."""
    violated = next((outcome.run for outcome in found.outcomes if outcome.value == "violated"), None)
    if violated is None or not is_local(path):
        return
    run = f"{RUN_PREFIX}{violated}"
    where = place(path) if place(path).name == run else place(path) / run
    if where.exists():
        show.out.print(f"look at the first that was violated: aforesaid view {where}")


def _print_table(outcomes: Sequence[Outcome]) -> None:
    table = Table(box=None, padding=(0, 2, 0, 0), header_style="dim")
    # A name cut short is another name: rather it goes on in the next line.
    table.add_column("run", overflow="fold")
    table.add_column("verdict", no_wrap=True)
    table.add_column("violated or unknown", overflow="fold")
    for column in ("deliveries", "refused rows"):
        table.add_column(column, no_wrap=True, justify="right")
    for outcome in outcomes:
        verdicts = [] if outcome.report is None else outcome.report.required_verdicts()
        names = ", ".join(verdict.property for verdict in verdicts if verdict.value != "kept")
        refused = sum(outcome.refused.values())
        table.add_row(
            outcome.run,
            show.verdict(outcome.value),
            names,
            f"{outcome.rows.get('deliveries', 0):,}",
            f"{refused:,}" if refused else "",
        )
    show.out.print(table)
    show.out.print()


def _print_summary(found: Audit, out: str) -> None:
    told = summary(found)
    memory = told["memory_bytes"]
    show.print_facts(
        f"{show.counted(told['runs'], 'run')}: "
        + ", ".join(f"{told[value]:,} {value}" for value in ("kept", "violated", "unknown")),
        [
            (
                "events",
                f"{told['events_read']:,} read = {told['events_judged']:,} judged "
                f"+ {told['events_refused']:,} refused",
            ),
            *((f"{count:,} refused", reason) for reason, count in told["refused_because"].items()),
            ("took", ", ".join(f"{stage} {seconds:.1f} s" for stage, seconds in told["seconds"].items())),
            ("memory", ", ".join(f"{who} {_mega(count)}" for who, count in memory.items() if count)),
            ("written", out),
        ],
    )
    reports = [outcome.report for outcome in found.outcomes if outcome.report is not None]
    broken = [name for report in reports for name in report.broken_unpromised()]
    if broken:
        show.out.print(f"not promised, not kept: {show.in_runs(broken)}")


def _mega(count: int) -> str:
    return f"{count / 1e6:,.0f} MB"
