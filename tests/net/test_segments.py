"""Trace segments: rotated, readable whatever killed their writer, and merged into a trace that is judged."""

import random
import resource
import shutil
from pathlib import Path
from typing import Any

import pytest

from aforesaid import Misuse
from aforesaid.check import check
from aforesaid.node.operating.incarnations import next_incarnation
from aforesaid.node.recording.ingest import ingest
from aforesaid.node.recording.segments import SegmentWriter
from aforesaid.trace import MemorySink, MemoryTrace
from aforesaid.wire.segments import Event, Origin, read_segment
from net.net_stage import complaints, judged

GROUP = ("a", "b", "c")


def written(root: Path, name: str, events: list[Event], bytes_max: int = 2**20, **facts: Any) -> list[Path]:
    given = {
        "name": name,
        "incarnation": 7,
        "algorithm": "hybrid_multicast_sps",
        "cluster": "test",
        "group": GROUP,
        "joined": False,
        "began_ns": 1,
        "segment": 1,
        "code_version": "0",
        **facts,
    }
    writer = SegmentWriter(root / name, Origin(**given), bytes_max)
    for event in events:
        writer.add(event)
        writer.write()
    writer.close()
    return sorted((root / name).glob("*.segment"))


def met(*names: str) -> list[Event]:
    return [("p", name, 7) for name in names]


END: list[Event] = [("e", 99, "closed", True)]


def a_story(root: Path, at_c: list[Event]) -> None:
    """a asks b and c; b, having heard it, answers c."""
    written(root, "a", [*met("b", "c"), ("s", 1, 10, ("b", "c")), *END])
    written(root, "b", [*met("a", "c"), ("d", "a", 7, 1, 12), ("s", 1, 13, ("c",)), *END])
    written(root, "c", [*met("a", "b"), *at_c, *END])


def test_the_right_order_is_kept_and_the_wrong_one_is_found(tmp_path: Path) -> None:
    question, answer = ("d", "a", 7, 1, 20), ("d", "b", 7, 1, 21)
    a_story(tmp_path / "right", [question, answer])
    report, trace = judged(tmp_path / "right")
    assert not complaints(report)
    assert trace.messages.after[1].tolist() == [0], "the merge tells the tracer who knew what"
    assert trace.processes.incarnation.tolist() == [0, 0, 0]

    a_story(tmp_path / "wrong", [answer, question])
    report, _ = judged(tmp_path / "wrong")
    assert report.verdicts["causal"].value == "violated"

    a_story(tmp_path / "lost", [question])
    report, _ = judged(tmp_path / "lost")
    assert report.verdicts["validity"].value == "violated"

    a_story(tmp_path / "twice", [question, answer, question])
    report, _ = judged(tmp_path / "twice")
    assert report.verdicts["no_duplicate"].value == "violated"

    a_story(tmp_path / "invented", [question, answer, ("d", "a", 7, 2, 30)])
    report, _ = judged(tmp_path / "invented")
    assert report.verdicts["no_creation"].value == "violated"


def test_what_nobody_said_makes_no_other_message_a_made_up_one(tmp_path: Path) -> None:
    """c waits for what b never said; b stands as early, and waits for what c says only after that."""
    written(tmp_path, "a", [*met("b", "c"), ("d", "c", 7, 1, 20), *END])
    written(tmp_path, "b", [*met("a", "c"), ("d", "c", 7, 1, 20), *END])
    written(tmp_path, "c", [*met("a", "b"), ("d", "b", 7, 9, 20), ("s", 1, 21, ("a", "b")), *END])
    report, _ = judged(tmp_path)
    assert [witness.message for witness in report.verdicts["no_creation"].witnesses] == ["b#9"]


def test_the_order_of_files_does_not_matter(tmp_path: Path) -> None:
    """c asks, b answers, a hears: whoever is read first has to wait for the others."""
    written(tmp_path, "a", [*met("b", "c"), ("d", "c", 7, 1, 20), ("d", "b", 7, 1, 21), *END])
    written(tmp_path, "b", [*met("a", "c"), ("d", "c", 7, 1, 12), ("s", 1, 13, ("a",)), *END])
    written(tmp_path, "c", [*met("a", "b"), ("s", 1, 10, ("a", "b")), *END])
    report, trace = judged(tmp_path)
    assert not complaints(report)
    assert len(trace.messages) == 2


def test_clocks_are_not_trusted_for_the_order(tmp_path: Path) -> None:
    """Every clock is wrong by as much as it likes."""
    a_story(tmp_path, [("d", "a", 7, 1, 1), ("d", "b", 7, 1, 0)])
    assert not complaints(judged(tmp_path)[0])


def test_segments_are_rotated_and_read_as_one(tmp_path: Path) -> None:
    events: list[Event] = [("s", number, number, ("b",)) for number in range(1, 201)]
    paths = written(tmp_path, "a", events, bytes_max=1024)
    assert len(paths) > 3
    assert [event for path in paths for event in read_segment(path)[1]] == [
        ("s", number, number, ["b"]) for number in range(1, 201)
    ]
    paths[1].unlink()
    with pytest.raises(Misuse, match=r"is segment 3, but 2 is missing"):
        judged(tmp_path)


def test_a_segment_cut_anywhere_or_damaged_at_its_end_gives_a_prefix(tmp_path: Path) -> None:
    events: list[Event] = [("s", number, number, ("b",)) for number in range(1, 11)]
    (path,) = written(tmp_path, "a", events)
    whole, plain = path.read_bytes(), [("s", number, number, ["b"]) for number in range(1, 11)]
    lengths = set()
    for cut in range(len(whole) + 1):
        path.write_bytes(whole[:cut])
        origin, found = read_segment(path)
        read = list(found)
        assert read == plain[: len(read)]
        assert origin is not None or not read
        lengths.add(len(read))
    assert lengths == set(range(11))
    chance = random.Random(1)
    for _ in range(200):
        damaged = bytearray(whole)
        damaged[chance.randrange(len(whole) - 40, len(whole))] ^= 1 << chance.randrange(8)
        path.write_bytes(bytes(damaged))
        read = list(read_segment(path)[1])
        assert read == plain[: len(read)]
        assert len(read) < 10


def test_how_nodes_ended_is_told_by_their_logs_and_the_others(tmp_path: Path) -> None:
    written(tmp_path, "a", [*met("b", "c"), ("x", "c", 30, "evicted", 1), ("x", "b", 98, "left", 0), *END])
    written(tmp_path, "b", [*met("a", "c"), ("x", "c", 31, "evicted", 0), *END])
    written(tmp_path, "c", met("a", "b"))
    _, trace = judged(tmp_path)
    assert trace.processes.fate == ["alive", "alive", "evicted"]
    assert trace.processes.complete.tolist() == [True, True, False]

    early = tmp_path / "early"
    written(early, "a", [*met("b"), ("x", "b", 30, "left", 0), ("s", 1, 40, ("b",)), *END])
    written(early, "b", [*met("a"), *END])
    assert judged(early)[1].processes.fate == ["alive", "left"], "a went on speaking after b had left"

    hearsay = tmp_path / "hearsay"
    written(hearsay, "a", [*met("b", "c"), ("x", "c", 30, "told", 0), ("x", "b", 31, "told", 0), *END])
    written(hearsay, "b", [*met("a", "c"), ("x", "c", 20, "left", 0), *END])
    written(hearsay, "c", [*met("a", "b"), *END])
    fates = judged(hearsay)[1].processes.fate
    assert fates == ["alive", "evicted", "alive"], "c left, as b knows; who told a of b is lost"

    hasty = tmp_path / "hasty"
    written(hasty, "a", [*met("b"), ("s", 1, 20, ("b",)), ("e", 30, "closed", False)])
    written(hasty, "b", [*met("a"), ("x", "a", 31, "left", 0), *END])
    assert judged(hasty)[1].processes.fate == ["evicted", "alive"], "what a said may be lost with it"

    owed = tmp_path / "owed"
    written(owed, "a", [*met("b"), ("s", 1, 20, ("b",)), ("x", "b", 30, "left", 1), *END])
    written(owed, "b", [*met("a"), *END])
    assert judged(owed)[1].processes.fate == ["alive", "left"], "b left before it had all that was said"


def test_who_left_a_changing_group_as_others_still_heard_each_other_is_owed_nothing(tmp_path: Path) -> None:
    """b's clock is two seconds behind. Its last message came to c, and never to a, that closed soon after."""
    s = 1_000_000_000
    facts: dict[str, Any] = {"algorithm": "prc_spray", "group": ()}
    said: list[Event] = [("s", 1, 3 * s, None), ("d", "b", 7, 1, 3 * s), ("s", 2, 5 * s, None)]

    def fates(root: Path, closes: int) -> tuple[list[str], list[str]]:
        a: list[Event] = [
            ("a", "b", 7),
            ("a", "c", 7),
            ("d", "b", 7, 1, 5 * s),
            ("e", closes, "closed", True),
        ]
        c: list[Event] = [("d", "b", 7, 1, 5 * s), ("d", "b", 7, 2, 7 * s), ("e", 9 * s, "closed", True)]
        written(root, "a", a, **facts)
        written(
            root, "b", [*said, ("d", "b", 7, 2, 5 * s), ("e", 9 * s, "closed", True)], joined=True, **facts
        )
        written(root, "c", c, joined=True, **facts)
        report, trace = judged(root)
        return complaints(report), trace.processes.fate

    assert fates(tmp_path / "early", 7 * s + s // 2) == ([], ["left", "alive", "alive"])
    # Who was there for a second more, and by all clocks, should have had it.
    lacks, there = fates(tmp_path / "late", 8 * s + s // 2)
    assert any(each.startswith("agreement violated") for each in lacks)
    assert there == ["alive", "alive", "alive"]


def test_segments_of_several_clusters_are_refused(tmp_path: Path) -> None:
    with pytest.raises(Misuse, match="no trace segments"):
        judged(tmp_path)
    written(tmp_path, "a", END)
    written(tmp_path, "b", END, cluster="other")
    with pytest.raises(Misuse, match=r"several clusters: other \(hybrid_multicast_sps\), test"):
        judged(tmp_path)


def test_every_start_is_a_new_incarnation(tmp_path: Path) -> None:
    first = next_incarnation(str(tmp_path))
    second = next_incarnation(str(tmp_path))
    (tmp_path / "incarnation").write_text(f"{10**15}\n")
    assert first < second < 10**15 < next_incarnation(str(tmp_path)) == 10**15 + 1
    assert next_incarnation(None, last=10**15) == 10**15 + 1
    (tmp_path / "incarnation").write_text("x")
    with pytest.raises(Misuse, match="holds no incarnation; remove it if"):
        next_incarnation(str(tmp_path))
    (tmp_path / "incarnation").write_text(f"{2**63 - 1}\n")
    with pytest.raises(Misuse, match="would be too large"):
        next_incarnation(str(tmp_path))


def warned(root: Path) -> tuple[list[str], MemoryTrace]:
    warnings: list[str] = []
    sink = MemorySink()
    ingest(root, sink, "nodes", warn=warnings.append)
    return warnings, sink.trace


def test_a_log_that_is_missing_makes_nobody_a_liar(tmp_path: Path) -> None:
    """b's segments were not collected: what it said is unknown, not invented."""
    a_story(tmp_path, [("d", "a", 7, 1, 20), ("d", "b", 7, 1, 21)])
    shutil.rmtree(tmp_path / "b")
    warnings, trace = warned(tmp_path)
    assert warnings == ["no segments of b (7), whom others met: collect them, or much is unknown"]
    assert trace.processes.fate == ["alive", "unknown", "alive"]
    report = check(trace)
    assert report.verdicts["no_creation"].value == "unknown"
    assert report.value() == "unknown"

    stranger = tmp_path / "stranger"
    a_story(stranger, [("d", "a", 7, 1, 20), ("d", "b", 7, 1, 21), ("d", "zoe", 7, 1, 22)])
    assert warned(stranger)[0] == []
    assert judged(stranger)[0].verdicts["no_creation"].value == "violated", "nobody knows zoe"


def test_who_waits_for_somebody_that_waits_is_not_held_up_by_a_missing_log(tmp_path: Path) -> None:
    """b heard c, whose log is lost, and then spoke to a, whose clock is behind."""
    written(tmp_path, "a", [*met("b", "c"), ("d", "b", 7, 1, 1), *END])
    written(tmp_path, "b", [*met("a", "c"), ("d", "c", 7, 1, 50), ("s", 1, 51, ("a",)), *END])
    report, _ = judged(tmp_path)
    assert report.verdicts["no_creation"].value != "violated", report.verdicts["no_creation"].witnesses
    assert report.verdicts["causal"].value != "violated"


def test_damage_is_told_and_never_taken_for_a_verdict(tmp_path: Path) -> None:
    """c only listens: events that its log lacks in the middle would look like a broken order."""
    said: list[Event] = [("s", number, number, ("c",)) for number in range(1, 101)]
    heard: list[Event] = [("d", "a", 7, number, number) for number in range(1, 101)]
    written(tmp_path, "a", [*met("c"), *said, *END])
    paths = written(tmp_path, "c", [*met("a"), *heard, *END], bytes_max=1024)
    assert len(paths) > 1
    assert warned(tmp_path)[0] == []
    whole = paths[0].read_bytes()
    paths[0].write_bytes(whole[:500] + bytes([whole[500] ^ 1]) + whole[501:])
    with pytest.raises(Misuse, match=f"{paths[0]} is damaged, and more follows it"):
        judged(tmp_path)
    paths[0].write_bytes(whole)
    last = paths[-1].read_bytes()
    paths[-1].write_bytes(last[:-3])
    warnings, trace = warned(tmp_path)
    assert [warning.partition(": its last ")[0] for warning in warnings] == [str(paths[-1])]
    assert trace.processes.fate == ["alive", "crashed"]
    assert check(trace).value() == "kept"


def test_segments_may_lie_anywhere_but_once(tmp_path: Path) -> None:
    events: list[Event] = [("s", number, number, ("b",)) for number in range(1, 101)]
    first, *others = written(tmp_path, "a", events, bytes_max=1024)
    (tmp_path / "archive").mkdir()
    shutil.move(first, tmp_path / "archive")
    assert len(judged(tmp_path)[1].messages) == 100
    shutil.copy(others[0], tmp_path / "archive")
    with pytest.raises(Misuse, match="is a copy of"):
        judged(tmp_path)


def test_a_start_that_came_to_nothing_is_nobodys_eviction(tmp_path: Path) -> None:
    a_story(tmp_path, [("d", "a", 7, 1, 20), ("d", "b", 7, 1, 21)])
    failed: list[Event] = [("e", 99, "isolated", False)]
    written(tmp_path, "c", failed, incarnation=8)
    report, trace = judged(tmp_path)
    assert trace.processes.fate == ["alive", "alive", "alive"]
    assert not complaints(report)
    assert "causal" in {verdict.property for verdict in report.required_verdicts()}


def test_a_writer_that_failed_writes_no_more(tmp_path: Path) -> None:
    """What it wrote before can be read; what would follow a torn record could not."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    origin = Origin("a", 7, "hybrid_multicast_sps", "test", GROUP, False, 1, 1, "0")
    writer = SegmentWriter(tmp_path, origin, 2**20)
    number = 0

    def write_on() -> None:
        nonlocal number
        while True:
            number += 1
            writer.add(("s", number, number, ("b",)))
            writer.write()

    resource.setrlimit(resource.RLIMIT_FSIZE, (1024, hard))
    try:
        with pytest.raises(Misuse, match=r"cannot write .*: File too large"):
            write_on()
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    with pytest.raises(Misuse, match="cannot write"):
        writer.write()
    writer.close()
    (path,) = tmp_path.glob("*.segment")
    assert path.stat().st_size == 1024
    assert [event[1] for event in read_segment(path)[1]] == list(range(1, number))


def test_a_segment_of_a_later_version_is_refused(tmp_path: Path) -> None:
    written(tmp_path, "a", END, version=2)
    with pytest.raises(Misuse, match="is of version 2; this aforesaid reads 1"):
        judged(tmp_path)
