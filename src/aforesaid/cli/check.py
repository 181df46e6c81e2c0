"""`aforesaid check`: judge the runs of a trace and show the evidence."""

from rich.table import Table
from rich.text import Text

from aforesaid.check import PROPERTIES, Report, check
from aforesaid.cli import EXIT_OF_VALUE, show, worst
from aforesaid.core import Misuse
from aforesaid.storage import Place
from aforesaid.trace.parquet import find_runs, open_trace


def check_runs(path: str, properties: list[str] | None, witnesses: int, as_json: bool) -> int:
    for name in properties or ():
        if name not in PROPERTIES:
            raise Misuse(f"unknown property {name!r}; there are: {', '.join(PROPERTIES)}")
    reports = []
    for run in find_runs(path):
        report = _judge(run, properties, witnesses)
        reports.append(report)
        if not as_json:
            print_report(report)
    values = [report.value() for report in reports]
    if as_json:
        show.print_json({"verdict": worst(values), "runs": [report.to_dict() for report in reports]})
    elif len(reports) > 1:
        kept = values.count("kept")
        show.out.print(
            f"{show.counted(len(reports), 'run')}: {kept} kept, {values.count('violated')} violated, ", end=""
        )
        show.out.print(f"{values.count('unknown')} unknown")
        broken = [name for report in reports for name in report.broken_unpromised()]
        if broken:
            show.out.print(f"not promised, not kept: {show.in_runs(broken)}")
    return EXIT_OF_VALUE[worst(values)]


def print_report(report: Report) -> None:
    """A table of the properties required, then each violation in a sentence."""
    title = Text.assemble(report.run.run, ": ", show.verdict(report.value()))
    table = Table(title=title, title_justify="left", box=None, padding=(0, 2, 0, 0), header_style="dim")
    for column in ("property", "verdict", "violations"):
        table.add_column(column, no_wrap=True)
    table.add_column("")
    for name in report.required:
        verdict = report.verdicts[name]
        # What a property says matters when it was not kept; then it is worth the space.
        meaning = "" if verdict.value == "kept" else verdict.note or PROPERTIES[name]
        count = f"{verdict.violations:,}" if verdict.violations else ""
        table.add_row(name, show.verdict(verdict.value), count, Text(meaning, style="dim"))
    show.out.print(table)
    for name in report.required:
        verdict = report.verdicts[name]
        for witness in verdict.witnesses:
            show.out.print(Text(f"  {name}: {witness.sentence}"))
        if verdict.violations > len(verdict.witnesses):
            show.out.print(f"  {name}: ... and {verdict.violations - len(verdict.witnesses):,} more")
    print_unpromised(report)
    show.out.print()


def print_unpromised(report: Report) -> None:
    for name in report.broken_unpromised():
        verdict = report.verdicts[name]
        times = "once" if verdict.violations == 1 else f"{verdict.violations:,} times"
        first = f"; first: {verdict.witnesses[0].sentence}" if verdict.witnesses else ""
        show.out.print(Text(f"  not promised, not kept: {name} was broken {times}{first}"))


def _judge(run: Place, properties: list[str] | None, witnesses: int) -> Report:
    trace = open_trace(run)
    with show.progress(f"judging {run.name}", len(trace.processes)) as move:
        try:
            return check(
                trace,
                properties,
                witnesses_max=witnesses,
                progress=lambda done, total: move(completed=done, total=total),
            )
        except ValueError as error:
            raise Misuse(f"{run}: {error}") from error
