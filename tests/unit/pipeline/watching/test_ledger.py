"""A watch that is killed at any effect on its disk goes on, and no verdict is lost or repeated."""

from collections import Counter
from pathlib import Path
from random import Random
from typing import Any

import pyarrow.parquet as pq
import pytest

from aforesaid.check import check
from aforesaid.core import Misuse
from aforesaid.live.judge import Judge
from aforesaid.live.spans import Span
from aforesaid.node.recording.ingest import ingest
from aforesaid.pipeline.watching import ledger as module
from aforesaid.pipeline.watching.ledger import Ledger
from aforesaid.storage import put_file
from aforesaid.trace import MemorySink
from support.growing import Story, batches
from support.scale import scaled

SEGMENTS = ["segments"]


class Killed(BaseException):
    """Nobody catches it, as nobody catches SIGKILL."""


def play(out: Path, parts: list[list[Span]], kill_at: int) -> int:
    """Go on from where it was until the end, or until so many effects; how many there were."""
    effects = 0

    def struck(call: Any) -> Any:
        def effect(*arguments: Any, **options: Any) -> Any:
            nonlocal effects
            effects += 1
            if effects == kill_at:
                raise Killed
            return call(*arguments, **options)

        return effect

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "put_file", struck(put_file))
        patch.setattr(Path, "write_bytes", struck(Path.write_bytes))
        patch.setattr(Path, "unlink", struck(Path.unlink))
        ledger = Ledger(out)
        (out / "checkpoint" / "offsets").mkdir(parents=True, exist_ok=True)
        judge = ledger.opened(SEGMENTS, Judge(keep=3))
        for number, spans in enumerate(parts):
            if number <= ledger.batch:
                continue  # Spark gives it again if it had not heard of the end.
            told = judge.feed(spans, 0.01)
            row = dict.fromkeys(module.PROGRESS.names, 0) | {"batch": number}
            ledger.commit(number, judge, told.violations, row, SEGMENTS)
        report, last = judge.ending()
        ledger.end(judge, report, last)
    return effects


def written(out: Path) -> tuple[Counter[tuple[str, ...]], list[int]]:
    """The violations in the tables, and the batches of which there is a row."""
    rows = [row for path in sorted((out / "violations").iterdir()) for row in pq.read_table(path).to_pylist()]
    names = ("property", "process", "message", "details")
    progress = [
        row["batch"]
        for path in sorted((out / "progress").iterdir())
        for row in pq.read_table(path).to_pylist()
    ]
    return Counter(tuple(row[name] for name in names) for row in rows), progress


def test_killed_anywhere_no_verdict_is_lost_or_repeated(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "PROGRESS_ROWS", 3)
    seeds = [seed for seed in range(200) if Story(seed).fault == 0.1][: scaled(2, 20)]
    for seed in seeds:
        segments = tmp_path / f"segments{seed}"
        parts = list(batches(Story(seed).write(segments), Random(seed)))
        whole = play(tmp_path / f"{seed}-whole", parts, 0)
        truth, progress = written(tmp_path / f"{seed}-whole")
        assert progress == list(range(len(parts)))
        sink = MemorySink()
        ingest(segments, sink, "story")
        report = check(sink.trace, witnesses_max=None)
        counts = Counter({name: each.violations for name, each in report.verdicts.items() if each.violations})
        assert Counter(name for name, *_ in truth) == counts
        for kill_at in range(1, whole + 1):
            out = tmp_path / f"{seed}-{kill_at}"
            with pytest.raises(Killed):
                play(out, parts, kill_at)
            play(out, parts, 0)
            assert written(out) == (truth, progress), (seed, kill_at)


def test_a_directory_of_another_watch_is_refused(tmp_path: Path) -> None:
    parts = list(batches(Story(1).write(tmp_path / "segments"), Random(1)))
    play(tmp_path / "out", parts, 0)
    with pytest.raises(Misuse, match="is of a watch of segments; choose another --out"):
        Ledger(tmp_path / "out").opened(["others"], Judge())
    for path in (tmp_path / "out" / "checkpoint").iterdir():
        path.rmdir()
    with pytest.raises(Misuse, match="has lost its checkpoint"):
        Ledger(tmp_path / "out").opened(SEGMENTS, Judge())


@pytest.mark.parametrize("damage", [b"", b"junk", b'{"batch": 1}', b"\x80\x05N."])
def test_what_cannot_be_gone_on_from_is_no_verdict(tmp_path: Path, damage: bytes) -> None:
    """An exception would end the command with 1, as if something were violated."""
    out = tmp_path / "out"
    play(out, list(batches(Story(1).write(tmp_path / "segments"), Random(1))), 0)
    (state,) = (out / "state").iterdir()
    for path in (state, out / module.MARKER):
        path.write_bytes(damage)
        with pytest.raises(Misuse, match=rf"{path.name} cannot be read .*; choose another --out"):
            Ledger(out).opened(SEGMENTS, Judge())


def test_who_goes_on_with_a_watch_is_as_patient_as_it_says_now(tmp_path: Path) -> None:
    play(tmp_path / "out", list(batches(Story(1).write(tmp_path / "segments"), Random(1))), 0)
    judge = Ledger(tmp_path / "out").opened(SEGMENTS, Judge(grace_s=7, age_s=700))
    assert (judge.grace_s, judge.age_s) == (7, 700)


def test_a_state_that_is_gone_is_no_verdict(tmp_path: Path) -> None:
    out = tmp_path / "out"
    play(out, list(batches(Story(1).write(tmp_path / "segments"), Random(1))), 0)
    (state,) = (out / "state").iterdir()
    state.unlink()
    with pytest.raises(Misuse, match="state cannot be read"):
        Ledger(out).opened(SEGMENTS, Judge())
