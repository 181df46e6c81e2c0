"""What real nodes took, by single clocks: from their traces to `aforesaid metrics` and the report."""

import asyncio
from pathlib import Path

from aforesaid.live.spans import read_span
from aforesaid.node.recording.ingest import ingest
from aforesaid.pipeline.measuring.driver import find_sources
from aforesaid.pipeline.measuring.measure import Piece, measure
from aforesaid.pipeline.source.segments import _told
from aforesaid.report.findings import Findings
from aforesaid.report.measurements import section_of_latency
from aforesaid.storage import place
from aforesaid.trace.parquet import ParquetSink
from aforesaid.wire.segments import read_segment
from net.net_stage import PATIENCE_S, group_configs, running

COUNT = 20
DWELL_S = 0.05


async def talk(root: Path) -> None:
    """Alice says something, and bob lets it lie for a while."""
    async with running(group_configs(["alice", "bob"], root)) as nodes:
        for _ in range(COUNT):
            await nodes["alice"].send(("bob",), b"x")
        await nodes["alice"].drain()
        await asyncio.sleep(DWELL_S)
        for _ in range(COUNT):
            await anext(nodes["bob"])


def measured(root: Path) -> dict[str, tuple[int, float, float]]:
    """Of each measure: of how many messages, how long together, and how long at most; in seconds."""
    (source,) = find_sources(place(root)).runs
    found: dict[str, tuple[int, float, float]] = {}
    for batch in measure([Piece(source.path, slice) for slice in source.slices], 100.0):
        for row in batch.to_pylist():
            if row["kind"] == "histogram":
                count, together, most = found.get(row["metric"], (0, 0.0, 0.0))
                together += row["total"] / 1e9
                found[row["metric"]] = count + row["count"], together, max(most, row["high"] / 1e9)
    return found


def test_traces_of_nodes_tell_what_took_how_long_by_one_clock(tmp_path: Path) -> None:
    asyncio.run(asyncio.wait_for(talk(tmp_path / "nodes"), PATIENCE_S))
    with ParquetSink(tmp_path / "traces", "nodes") as sink:
        ingest(tmp_path / "nodes", sink, "nodes")
    found = measured(tmp_path / "traces")
    assert found.keys() == {"acknowledged", "inbox"}
    assert found["acknowledged"][0] == found["inbox"][0] == COUNT
    assert found["inbox"][1] > COUNT * DWELL_S
    assert found["inbox"][2] > DWELL_S
    assert 0 < found["acknowledged"][1] < COUNT * PATIENCE_S
    # Who watches, and who reads segments as rows, passes over it.
    for segment in (tmp_path / "nodes").rglob("*.segment"):
        span = read_span(segment.read_bytes(), "alice-1", 1, 0)
        assert not span.damage
        events = list(_told(place(segment), read_segment(place(segment))[1]))
        assert events[-1]["event"] == "ended"
        assert len(events) == len(span.kind)


def test_the_report_says_by_whose_clock() -> None:
    figures = {f"{name}_ms": 1.25 for name in ("mean", "p50", "p90", "p99", "max")}
    row = {"algorithm": "hybrid_multicast", "processes": 2, "setting": "", "deliveries": 20, **figures}
    found = Findings(tables={"latency": [{**row, "measure": "acknowledged"}, {**row, "measure": "inbox"}]})
    section = section_of_latency(found)
    assert "by the clock of one process" in section
    assert "until all its receivers had it" in section
    assert "from sending to delivery" not in section
