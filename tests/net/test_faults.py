"""Real processes on a bad network: loss, doubling, reordering, spikes, partitions, halts, and kill -9."""

import asyncio
from functools import partial
from pathlib import Path

from aforesaid.transport.proxy import LossyRelay, Weather
from net.net_stage import complaints, judged, run, until
from net.node_process import NodeProcess
from net.weather import relayed, storm

NAMES = ["p0", "p1", "p2", "p3"]


def has(node: NodeProcess, count: int) -> bool:
    return len(node.delivered) == count


def test_kill_9_in_bad_weather(tmp_path: Path) -> None:
    async def main() -> None:
        weather = Weather(loss=0.03, duplication=0.03, spike=0.003)
        did = await storm(tmp_path, NAMES, seconds=5.0, weather=weather, seed=7)
        for fault in ("lost", "doubled", "spiked", "parted", "halted", "killed"):
            assert did[fault] > 0, did

    run(main())
    report, trace = judged(tmp_path)
    assert not complaints(report)
    assert report.value() == "kept"
    assert trace.processes.name == NAMES
    assert trace.processes.fate == ["alive", "alive", "alive", "evicted"]
    assert trace.processes.complete.tolist() == [True, True, True, False]
    assert len(trace.messages) > 300
    assert len(list(tmp_path.glob("p0/segments/*.segment"))) > 1


def test_a_partition_that_heals_is_only_a_delay(tmp_path: Path) -> None:
    async def main() -> None:
        relay = LossyRelay(Weather(loss=0.0, duplication=0.0), seed=1)
        nodes = await relayed(relay, NAMES, tmp_path)
        relay.part({"p0"}, {"p1", "p2", "p3"})
        nodes["p0"].say(payload="from the island")
        nodes["p1"].say(payload="from the mainland")
        await until(lambda: len(nodes["p2"].delivered) == 1, "the mainland goes on")
        assert len(nodes["p0"].delivered) == 1
        sentences = await nodes["p0"].ask(why="p0#1")
        assert any("p1, whose ack is missing" in sentence for sentence in sentences), sentences
        assert any("p1 was never heard" in s or "p1 was last heard" in s for s in sentences), sentences
        relay.heal()
        for node in nodes.values():
            await until(partial(has, node, 2), "everyone has both")
        await asyncio.gather(*(node.end() for node in nodes.values()))
        relay.close()

    run(main())
    assert not complaints(judged(tmp_path)[0])
