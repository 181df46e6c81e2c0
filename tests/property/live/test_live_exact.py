"""The judge of growing logs finds what `check` finds afterwards, wherever the batches are cut."""

from pathlib import Path
from random import Random

from aforesaid.check import Report, Violation, check
from aforesaid.live.judge import Judge, restored
from aforesaid.node.recording.ingest import ingest
from aforesaid.trace import MemorySink
from support.growing import Story, batches
from support.scale import scaled

SEEDS = scaled(300, 20_000)


def found(violations: list[Violation]) -> set[tuple[object, ...]]:
    return {
        (each.property, each.details.get("kind"), each.process, each.message, each.position)
        for each in violations
        if each.property != "recorded"
    }


def watched(
    story: Story, seed: int, directory: Path
) -> tuple[Judge, Report, list[Violation], list[Violation]]:
    random = Random(seed)
    judge, live = Judge(grace_s=1, age_s=1e9, keep=random.choice((0, 0, 3, 10_000))), []
    # Some logs are so far behind that others go on without them.
    slow = random.random() < 0.3
    for spans in batches(story.write(directory), random):
        live += judge.feed(spans, elapsed_s=random.choice((0.1, 3)) if slow else 0.01).violations
        if random.random() < 0.2:
            judge = restored(judge.saved())
    ended = restored(judge.saved())
    report, last = ended._ended(None)
    assert report == judge.ending()[0]
    return ended, report, live, last


def test_what_check_finds_is_found_and_nothing_else(tmp_path: Path) -> None:
    settled = exact = violated = 0
    for seed in range(SEEDS):
        directory = tmp_path / str(seed)
        judge, report, live, last = watched(Story(seed), seed, directory)
        sink = MemorySink()
        ingest(directory, sink, "story")
        truth = check(sink.trace, witnesses_max=None)
        assert set(truth.verdicts) - {"recorded"} == set(report.verdicts), seed
        mine = found(live + last)
        for name, verdict in report.verdicts.items():
            true = found(list(truth.verdicts[name].witnesses))
            ours = {each for each in mine if each[0] == name}
            if name in judge.doubts:
                assert ours <= true, seed
                assert verdict.value in ("violated", "unknown"), seed
            else:
                assert ours == true, seed
                assert verdict.value == truth.verdicts[name].value, (seed, name)
                exact += 1
            violated += bool(true)
        settled += judge.in_flight == 0
    assert settled > SEEDS / 20
    assert exact > 5 * SEEDS
    assert violated > SEEDS / 3
