"""The space-time diagram: what is seen is what the trace says, and nothing is drawn that it does not say."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from aforesaid.report.logical import logical_times
from aforesaid.report.shapes import FORMATS, Circle, Drawing, Line, Polygon, Words
from aforesaid.report.spacetime import LANES_MAX, Choice, around, from_first, lanes, spacetime
from aforesaid.sim import Scenario, simulate
from aforesaid.trace import MemoryTrace
from aforesaid.trace.telling import Telling
from aforesaid.trace.why import Ways

FAULTS = [
    {"kind": "partition", "from_ms": 100, "until_ms": 200, "groups": [["p0"], ["p1", "p2"]]},
    {"kind": "pause", "process": "p1", "at_ms": 150, "for_ms": 100},
    {"kind": "crash", "process": "p2", "at_ms": 400},
]


def run(receipts: bool = True, **keys: Any) -> MemoryTrace:
    scenario = {
        "algorithm": "waiting",
        "processes": 3,
        "duration_ms": 500,
        "workload": [{"kind": "rate", "per_second": 20}],
        "network": {"delay": {"kind": "lognormal", "median_ms": 15, "sigma": 1.0}},
        "fault": FAULTS,
    }
    return simulate(Scenario.of({**scenario, "receipts": receipts, **keys}))[1]


def drawn(trace: MemoryTrace, violations: dict[tuple[int, int], str] | None = None) -> Drawing:
    rows = from_first(trace, 0, len(trace.messages))
    return spacetime(trace, Choice(rows, lanes(trace, rows), violations or {}))


def bars(drawing: Drawing) -> list[Line]:
    return [shape for shape in drawing.shapes if isinstance(shape, Line) and shape.width == 5]


def words(drawing: Drawing) -> list[str]:
    return [shape.text for shape in drawing.shapes if isinstance(shape, Words)]


def test_every_wait_is_a_bar_and_only_those() -> None:
    trace = run()
    ways = Ways(trace)
    everyone = range(len(trace.processes))
    waited = [way for m in range(len(trace.messages)) for p in everyone if (way := ways.way(m, p)).waits]
    titles = [Telling(ways).summary(way) for way in waited]
    drawing = drawn(trace)
    assert waited
    assert sorted(bar.title for bar in bars(drawing)) == sorted(titles)
    assert all(bar.x2 > bar.x1 and bar.y1 == bar.y2 for bar in bars(drawing))


def test_without_receipts_no_wait_is_drawn_and_the_picture_says_so() -> None:
    drawing = drawn(run(receipts=False))
    assert not bars(drawing)
    assert any("this run has no receipts" in text for text in words(drawing))


def test_every_delivery_of_anothers_message_is_a_ring() -> None:
    trace = run()
    rings = [s for s in drawn(trace).shapes if isinstance(s, Circle) and s.fill == "white"]
    others = sum(int((trace.messages.origin[log.message] != p).sum()) for p, log in trace.logs())
    assert len(rings) == others


def test_faults_are_shaded_and_named() -> None:
    text = words(drawn(run()))
    assert "partition p0 | p1 p2" in text
    assert "pause" in text
    assert "\u2715 crashed" in text


def test_ticks_count_from_the_beginning_of_the_run_not_of_the_epoch() -> None:
    trace = run(fault=[])
    epoch = 1_800_000_000_000_000_000
    messages = replace(trace.messages, time_ns=trace.messages.time_ns + epoch)
    processes = replace(trace.processes, began_ns=trace.processes.began_ns + epoch)
    later = replace(
        trace, messages=messages, processes=processes, delivery_time_ns=trace.delivery_time_ns + epoch
    )
    assert words(drawn(later)) == words(drawn(trace))
    assert any(text.endswith(" ms") for text in words(drawn(trace)))


def test_clocks_that_do_not_compare_give_logical_time() -> None:
    """Skewed by a second, they draw the same; every arrow points to the right."""
    trace = run(fault=[])
    local = replace(trace, run=replace(trace.run, clock="local"))
    skewed = replace(local, delivery_time_ns=local.delivery_time_ns.copy())
    skewed.delivery_time_ns[skewed.delivery_offsets[1] : skewed.delivery_offsets[2]] -= 1_000_000_000
    shapes = [
        [s for s in drawn(t).shapes if isinstance(s, Line) and s.opacity == 0.6] for t in (local, skewed)
    ]
    assert shapes[0] == shapes[1]
    assert all(line.x2 > line.x1 for line in shapes[0])
    assert not [
        text for text in words(drawn(local)) if text.endswith(" ms") and not text.startswith("waited")
    ]
    # Their own clocks do tell how long something waited.
    waited = [text for text in words(drawn(local)) if text.startswith("waited")]
    assert len(waited) == sum(s.width == 5 for s in drawn(local).shapes if isinstance(s, Line)) > 0
    times = logical_times(trace, range(len(trace.messages)), range(3))
    for message, after in enumerate(trace.messages.after[row] for row in range(len(trace.messages))):
        said = times[int(trace.messages.origin[message]), message]
        assert all(times[int(trace.messages.origin[earlier]), earlier] < said for earlier in after)


def test_what_is_wrong_is_crossed_out_with_its_sentence() -> None:
    trace = run()
    message = int(trace.log(0).message[0])
    drawing = drawn(trace, {(0, message): "that is wrong"})
    (mark,) = [s for s in drawing.shapes if isinstance(s, Polygon) and s.title == "that is wrong"]
    assert mark.stroke == "#d1242f"
    assert "<title>that is wrong</title>" in drawing.svg()


def test_around_a_message_are_its_nearest_past_and_future() -> None:
    trace = run(fault=[])
    centre = len(trace.messages) // 2
    chosen = around(trace, centre, 6)
    assert centre in chosen
    assert set(trace.messages.after[centre].tolist()) <= set(chosen)
    assert len(chosen) == 6


def test_so_many_lines_as_there_is_room_for() -> None:
    trace = run(processes=LANES_MAX + 5, duration_ms=20, fault=[])
    last = len(trace.messages) - 1
    chosen = lanes(trace, [last])
    assert len(chosen) == LANES_MAX
    assert int(trace.messages.origin[last]) in chosen


@pytest.mark.parametrize("suffix", FORMATS)
def test_the_same_picture_is_the_same_file_in_every_format(tmp_path: Path, suffix: str) -> None:
    files = [tmp_path / f"{name}{suffix}" for name in "ab"]
    for file in files:
        drawn(run()).save(file)
    assert files[0].read_bytes() == files[1].read_bytes()
    assert files[0].read_bytes()[:4] in (b"<svg", b"%PDF", b"\x89PNG")
