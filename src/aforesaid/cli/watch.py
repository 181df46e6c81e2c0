"""`aforesaid watch`: judge a system while it runs; a view in the terminal, a page, an alarm."""

import json
import signal
import subprocess
import sys
import threading
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

from rich.live import Live
from rich.table import Table
from rich.text import Text

from aforesaid.check import Report, Violation
from aforesaid.cli import EXIT_OF_VALUE, show
from aforesaid.cli.check import print_report
from aforesaid.core import Misuse
from aforesaid.pipeline.interrupt import interruptible, within
from aforesaid.pipeline.session import SparkOptions, spark_session
from aforesaid.pipeline.watching import Batch, Watch, WatchOptions
from aforesaid.pipeline.watching.ledger import Row
from aforesaid.report.live import POINTS_MAX, LivePage, live_page
from aforesaid.storage import is_local, place, put_file, remove_tree

ALARM_SECONDS_MAX = 30.0
"""How long a command or a URL may take to hear of a violation."""
SENTENCES_MAX = 20
_NOTIFIED = "notified.json"


def watch_segments(
    segments: list[str],
    out: str,
    until_idle: float | None,
    page: Path | None,
    on_violation: str | None,
    force: bool,
    as_json: bool,
    options: WatchOptions,
    spark_options: SparkOptions,
) -> int:
    for path in segments:
        if is_local(path) and not place(path).exists():
            raise Misuse(f"{path} is not there; nodes write segments to DIRECTORY/segments")
    if is_local(out) and place(out).exists() and not force and not (place(out) / "state").exists():
        raise Misuse(f"{out} exists and is no watch's; choose another --out or pass --force")
    if force:
        remove_tree(place(out))
    shown = _Shown(segments, page, as_json)
    # The JVM hands on a few values for each batch: it need not be quick, but soon there.
    with spark_session(replace(spark_options, small=True), f"aforesaid watch {out}") as spark:
        alarm = _Alarm(on_violation, out)

        def tell(batch: Batch) -> None:
            shown.tell(batch)
            alarm.ring(batch.told.violations, watch.judge.required)

        watch = Watch(spark, segments, out, options, tell)
        shown.begin(watch)
        # What a watch before found, and was killed, or not listened to, before it could tell.
        alarm.ring(_known(watch), watch.judge.required)
        report, last = _watched(watch, shown, until_idle)
        witnesses = [each for verdict in report.verdicts.values() for each in verdict.witnesses]
        alarm.ring(witnesses, report.required)
    _print_end(watch, report, last, out, as_json)
    return EXIT_OF_VALUE[report.value()]


def _known(watch: Watch) -> list[Violation]:
    """The first violations of each property that are written down."""
    return [each for first in watch.judge.witnesses.values() for each in first]


def _watched(watch: Watch, shown: "_Shown", until_idle: float | None) -> tuple[Report, list[Violation]]:
    """Watch until it is over; the judgement."""
    stop = threading.Event()
    with _ended_by_signals(), shown.view() as look:
        try:
            interruptible(watch.start)
            interruptible(lambda: watch.follow(until_idle, stop), look)
        except KeyboardInterrupt:
            stop.set()
            if watch.judge.origin is None:
                within(ALARM_SECONDS_MAX, watch.stop)
                raise Misuse("interrupted before anything was read; nothing is lost") from None
        report, last = interruptible(watch.end)
        shown.end(report)
    return report, last


@contextmanager
def _ended_by_signals() -> Iterator[None]:
    """To be told to end is as Ctrl-C."""

    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGTERM, interrupt)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


class _Shown:
    """What is to be seen while it runs."""

    def __init__(self, segments: list[str], page: Path | None, as_json: bool) -> None:
        self._page, self._as_json = page, as_json
        self._content = LivePage(", ".join(segments))
        self._stale = True
        self.watch: Watch | None = None

    def begin(self, watch: Watch) -> None:
        """What is known already, if a watch before got so far."""
        self.watch = watch
        if watch.judge.origin is not None:
            self._take(watch, watch.ledger.rows, _known(watch))

    def tell(self, batch: Batch) -> None:
        """After each batch, in the thread that judged it."""
        if self.watch is None:
            return
        self._take(self.watch, [batch.row], batch.told.violations)
        if self._as_json:
            _print_line({"batch": batch.row})
            for each in batch.told.violations:
                required = each.property in self.watch.judge.required
                _print_line({"violation": each.to_dict(), "required": required})

    def _take(self, watch: Watch, rows: list[Row], violations: list[Violation]) -> None:
        judge, content = watch.judge, self._content
        required, counts = judge.required, judge.counts
        content.progress = [*content.progress, *rows][-POINTS_MAX:]
        found = [(each.property, each.sentence) for each in violations if each.property in required]
        content.sentences += found[: SENTENCES_MAX - len(content.sentences)]
        content.value = "violated" if any(counts[name] for name in required) else "kept"
        content.verdicts = [
            (name, "violated" if counts[name] else "kept", counts[name], "" if counts[name] else "so far")
            for name in required
        ]
        content.members = [
            (member.origin.name, member.said, member.delivered, _state(member)) for member in judge.members
        ]
        content.warnings = list(judge.warnings)
        self._stale = True

    def end(self, report: Report) -> None:
        content = self._content
        content.ended, content.value = True, report.value()
        content.verdicts = [
            (name, verdict.value, verdict.violations, verdict.note)
            for name, verdict in report.verdicts.items()
            if name in report.required
        ]
        content.sentences = [
            (name, witness.sentence)
            for name, verdict in report.verdicts.items()
            if name in report.required
            for witness in verdict.witnesses
        ][:SENTENCES_MAX]
        self._write()

    @contextmanager
    def view(self) -> Iterator[Any]:
        """A table in the terminal, the page in its file; yields what brings both up to date."""
        self._write()
        if self._as_json or not show.err.is_terminal:
            yield self._refresh
            return
        with Live(self._table(), console=show.err, transient=True, auto_refresh=False) as live:

            def look() -> None:
                self._refresh()
                live.update(self._table(), refresh=True)

            yield look

    def _refresh(self) -> None:
        if self._stale:
            self._stale = False
            self._write()

    def _write(self) -> None:
        if self._page is not None:
            try:
                put_file(self._page, live_page(self._content).encode())
            except OSError as error:
                raise Misuse(f"cannot write {self._page}: {error.strerror}") from error

    def _table(self) -> Table:
        content = self._content
        table = Table(box=None, padding=(0, 2, 0, 0), show_header=False)
        if not content.progress:
            table.add_row(Text("waiting for events; Ctrl-C ends and judges", style="dim"))
            return table
        last = content.progress[-1]
        for name, value in (
            ("so far", show.verdict(content.value)),
            ("deliveries", f"{last['deliveries']:,} of {show.counted(last['messages'], 'message')}"),
            ("in flight", f"{last['in_flight']:,}; behind {last['lag_s']:.1f} s"),
        ):
            table.add_row(Text(name, style="dim"), value)
        for name, sentence in content.sentences[-5:]:
            table.add_row(Text(name, style="bold red"), Text(sentence))
        return table


def _state(member: Any) -> str:
    if member.broken:
        return "not read on"
    if not member.segments:
        return "no log yet"
    return "ended" if member.ended else "growing"


class _Alarm:
    """Tells somebody of the first violation; again only if nobody knows whether it did."""

    def __init__(self, whom: str | None, out: str) -> None:
        self._whom = whom
        self._told = place(out) / _NOTIFIED
        self._rung = whom is None or self._told.exists()

    def ring(self, found: list[Violation], required: tuple[str, ...]) -> None:
        serious = [each for each in found if each.property in required]
        if self._rung or not serious:
            return
        self._rung = True
        first = {"watch": str(self._told.parent), **serious[0].to_dict()}
        thread = threading.Thread(target=self._ring, args=(json.dumps(first).encode(),), daemon=True)
        thread.start()
        thread.join(ALARM_SECONDS_MAX)

    def _ring(self, what: bytes) -> None:
        whom = str(self._whom)
        try:
            if whom.startswith(("http://", "https://")):
                headers = {"Content-Type": "application/json"}
                request = urllib.request.Request(whom, what, headers)
                with urllib.request.urlopen(request, timeout=ALARM_SECONDS_MAX):
                    pass
            else:
                subprocess.run(whom, shell=True, input=what, timeout=ALARM_SECONDS_MAX, check=True)
        except (OSError, subprocess.SubprocessError) as error:
            show.err.print(f"aforesaid: --on-violation {whom}: {error}", markup=False)
            return
        with suppress(OSError):
            put_file(self._told, what)


def _print_line(value: dict[str, Any]) -> None:
    try:
        sys.stdout.write(json.dumps(value) + "\n")
        sys.stdout.flush()
    except BrokenPipeError:
        show.nobody_reads()


def _print_end(watch: Watch, report: Report, last: list[Violation], out: str, as_json: bool) -> None:
    totals = watch.judge.totals
    if as_json:
        for each in last:
            _print_line({"violation": each.to_dict(), "required": each.property in report.required})
        _print_line({"verdict": report.value(), "out": out, **report.to_dict()})
        return
    print_report(report)
    for warning in watch.judge.warnings:
        show.out.print(Text(warning, style="yellow"))
    show.print_facts(
        "watched",
        [
            ("events", f"{totals.events:,}: {totals.messages:,} messages, {totals.deliveries:,} deliveries"),
            ("in flight", f"{watch.judge.in_flight:,} messages looked at when it ended"),
            ("written", f"{out}; the same command goes on from there"),
        ],
    )
