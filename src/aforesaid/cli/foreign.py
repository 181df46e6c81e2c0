"""`aforesaid ingest --from`: other people's logs as a trace, its verdict, and a page."""

import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import pyarrow as pa

from aforesaid.check import Report, Verdict, check
from aforesaid.cli import EXIT_KEPT, EXIT_OF_VALUE, show
from aforesaid.cli.check import print_report
from aforesaid.core import Misuse
from aforesaid.foreign import Collected, Collection, Mapping, Options, read, read_mapping
from aforesaid.foreign.columns import Columns
from aforesaid.foreign.events import Count
from aforesaid.foreign.formats import settled
from aforesaid.storage import Place, already, appeared, place, sizes_below
from aforesaid.trace import CAUSALITIES, label_of_message
from aforesaid.trace.parquet import ParquetSink, ParquetTrace, open_trace

if TYPE_CHECKING:
    from aforesaid.pipeline.session import SparkOptions


class Asked(NamedTuple):
    """How the logs are to be read."""

    format: str
    mapping: Path | None
    pattern: str | None
    causality: str | None
    sampled: bool
    whole: bool
    one_clock: bool
    by_time: bool
    spark: "SparkOptions | None"
    """Where to read it on Spark; None: here."""


def ingest_foreign(
    files: Sequence[str],
    asked: Asked,
    out: Path,
    run: str,
    judge: bool,
    page: Path | None,
    force: bool,
    as_json: bool,
) -> int:
    if page is not None and page.exists() and not force:
        raise Misuse(f"{page} exists; choose another --report or pass --force")
    count = Count()
    collected = _stored(files, asked, out, run, force, count)
    path = out / f"run={run}"
    trace = open_trace(path)
    told = _told(collected, count, path)
    if not as_json:
        show.out.print(told, markup=False)
    report = None
    if judge or page is not None:
        report = _named(check(trace, witnesses_max=20), _names(trace, collected))
        if not as_json:
            print_report(report)
    if page is not None and report is not None:
        _write_page(page, trace, report, told)
        if not as_json:
            show.out.print(f"report: {page}; open it in a browser", markup=False)
    if as_json:
        facts = _facts(collected, count, path)
        show.print_json(facts | ({} if report is None else {"verdict": report.to_dict()}))
    return EXIT_KEPT if report is None else EXIT_OF_VALUE[report.value()]


def _stored(files: Sequence[str], asked: Asked, out: Path, run: str, force: bool, count: Count) -> Collected:
    if asked.causality not in (None, *CAUSALITIES):
        raise Misuse(f"causality is {' or '.join(CAUSALITIES)}, not {asked.causality!r}")
    if asked.sampled and asked.whole:
        raise Misuse("logs are whole or sampled, not both")
    mapping = read_mapping(asked.mapping, asked.pattern)
    there = out / f"run={run}"
    if not force and appeared(there, "runs.parquet"):
        raise already(there)
    columns, causality = _read(files, asked, mapping, count)
    with ParquetSink(out, run, overwrite=force) as sink:
        options = Options(asked.format, causality, asked.sampled, asked.whole, asked.one_clock, asked.by_time)
        collection = Collection(columns, options, count)
        names = {
            "message": range(len(collection.names)),
            "name": collection.names,
            "place": collection.places,
        }
        sink.beside("names", pa.table({name: list(column) for name, column in names.items()}))
        return collection.close(sink, run)


def _read(files: Sequence[str], asked: Asked, mapping: Mapping, count: Count) -> tuple[Columns, str]:
    if asked.spark is None:
        return read(asked.format, _places(files), mapping, asked.causality, count)
    from aforesaid.pipeline.ingesting import read_lines
    from aforesaid.pipeline.session import spark_session, storage_settings

    with (
        spark_session(replace(asked.spark, small=True), f"aforesaid ingest {files[0]}") as spark,
        show.progress("reading", 1) as move,
    ):
        paths = _places(files, storage_settings(spark))
        columns = read_lines(
            spark,
            asked.format,
            paths,
            mapping,
            count,
            lambda done, total: move(completed=done, total=total),
        )
    return columns, settled(asked.format, paths, asked.causality, columns, count)


def _places(files: Sequence[str], settings: dict[str, str] | None = None) -> list[Place]:
    """The files, and those in and below directories, by name."""
    found: list[Place] = []
    for file in files:
        there = place(file, settings)
        inside = [there / name for name in sorted(sizes_below(there))] if there.is_dir() else [there]
        if not inside:
            raise Misuse(f"{file} has no files in it")
        found += inside
    return found


def _told(collected: Collected, count: Count, path: Path) -> str:
    """What was read, what is missing, and where the trace is; a line for each."""
    run = collected.run
    lines = [
        f"{count.records:,} records: {len(collected.names):,} messages, {collected.deliveries:,} deliveries; "
        f"{count.other:,} about something else, {count.refused:,} refused",
        *(f"refused: {refusal}" for refusal in count.refusals),
        *(f"missing: {gap}" for gap in collected.gaps),
        f"wrote {path} ({run.causality} causality{', sampled' if run.sampled else ''})",
    ]
    return "\n".join(lines)


def _facts(collected: Collected, count: Count, path: Path) -> dict[str, Any]:
    run = collected.run
    return {
        "run": run.run,
        "path": str(path),
        "causality": run.causality,
        "sampled": run.sampled,
        "processes": collected.processes,
        "messages": len(collected.names),
        "deliveries": collected.deliveries,
        "records": count.records,
        "other": count.other,
        "refused": count.refused,
        "refusals": count.refusals,
        "missing": collected.gaps,
    }


def _names(trace: ParquetTrace, collected: Collected) -> dict[str, str]:
    """By our label of a message, what its log calls it, and where."""
    return {
        label_of_message(trace, message): f"{name}, {place}"
        for message, (name, place) in enumerate(zip(collected.names, collected.places, strict=True))
    }


def _named(report: Report, names: dict[str, str]) -> Report:
    """The same report, with the messages of its sentences as their logs call them."""

    def told(match: re.Match[str]) -> str:
        label = match[0].rstrip(",.:")
        rest = match[0][len(label) :]
        return f"{label} ({names[label]}){rest}" if label in names else match[0]

    def named(verdict: Verdict) -> Verdict:
        witnesses = (
            replace(each, sentence=re.sub(r"\S+#\d+[,.:]?", told, each.sentence))
            for each in verdict.witnesses
        )
        return replace(verdict, witnesses=tuple(witnesses))

    return replace(report, verdicts={name: named(verdict) for name, verdict in report.verdicts.items()})


def _write_page(out: Path, trace: ParquetTrace, report: Report, told: str) -> None:
    from aforesaid.report.findings import Findings
    from aforesaid.report.page import page

    found = Findings([str(trace.path)], traces=[trace], drawn=True, note=told)
    found.judged(report)
    try:
        out.write_text(page(found))
    except OSError as error:
        raise Misuse(f"cannot write {out}: {error.strerror}") from error
