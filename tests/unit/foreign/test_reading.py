"""What is read of each format, and what is refused: by file, line and reason, and counted."""

import gzip
import json
from pathlib import Path

import pytest

from aforesaid.core import Misuse
from aforesaid.foreign import Mapping, read, read_mapping
from aforesaid.foreign.events import Count, Event
from aforesaid.foreign.formats import events
from aforesaid.foreign.shiviz import NEEDS_PATTERN

SAYS = r"says (?P<sent>\S+)|reads (?P<delivered>\S+)"
SAYING = b'{"process": "a", "sent": "x"}\n'


def found_in(
    path: Path, format: str, text: str, mapping: Mapping | None = None, causality: str | None = None
) -> tuple[list[Event], Count]:
    path.write_text(text)
    count = Count()
    read(format, [path], mapping or Mapping(), causality, count)
    return list(events(format, [path], mapping or Mapping(), causality, Count())), count


def told(found: list[Event]) -> list[tuple[str, str, str]]:
    return [(event.process, "sent" if event.sent else "delivered", event.message) for event in found]


@pytest.fixture
def log(tmp_path: Path) -> Path:
    return tmp_path / "log"


# Lines


def test_json_lines_by_the_usual_names(log: Path) -> None:
    text = (
        '{"process": "a", "event": "sent", "message": 1, "time": 1.5, "follows": ["0"], "to": "b, c"}\n'
        '{"process": "b", "event": "received", "message": 1, "time": "2026-01-01T00:00:00+00:00"}\n'
        '{"process": "b", "event": "slept"}\n'
    )
    found, count = found_in(log, "jsonl", text)
    first = Event("a", True, "1", 1_500_000_000, ("0",), ("b", "c"), f"{log}:1")
    assert found == [first, Event("b", False, "1", 1_767_225_600 * 10**9, (), (), f"{log}:2")]
    assert (count.records, count.other, count.refused) == (3, 1, 0)


def test_fields_inside_others_and_words_of_ones_own(log: Path) -> None:
    mapping = Mapping(process="who.name", event="did", message="data.id", sent=["put"], delivered="took")
    text = (
        '{"who": {"name": "a"}, "did": "put", "data": {"id": "x"}}\n'
        '{"who": {"name": "b"}, "did": "took", "data": {"id": "x"}}\n'
    )
    assert told(found_in(log, "jsonl", text, mapping)[0]) == [("a", "sent", "x"), ("b", "delivered", "x")]


def test_numbers_in_nanoseconds_stay_exact(log: Path) -> None:
    mapping = Mapping(time_unit="ns")
    text = '{"process": "a", "sent": "x", "time": 1794868976048123457}'
    assert found_in(log, "jsonl", text, mapping)[0][0].time_ns == 1794868976048123457


def test_lines_that_cannot_be_used_are_told_with_number_and_reason(log: Path) -> None:
    good = '{"process": "a", "event": "sent", "message": "x"}'
    bad = {
        "{": "it is no JSON object",
        "[1]": "it is no JSON object",
        '{"event": "sent", "message": "x"}': "it names no process (field 'process')",
        '{"process": "a", "event": "sent"}': "it names no message (field 'message')",
        '{"process": "a", "sent": "y", "time": "soon"}': "'soon' is no time (field 'time')",
        '{"process": "a", "sent": "y", "delivered": "y"}': "it both sends and delivers",
    }
    found, count = found_in(log, "jsonl", "\n".join([good, *bad]))
    assert len(found) == 1
    assert (count.records, count.refused) == (7, 6)
    for number, (refusal, reason) in enumerate(zip(count.refusals, bad.values(), strict=True), 2):
        assert refusal.startswith(f"{log}:{number}: {reason}")


def test_what_is_not_text_is_refused(log: Path) -> None:
    log.write_bytes(SAYING + b"\xff\xfe\n")
    count = Count()
    read("jsonl", [log], Mapping(), None, count)
    assert count.refusals == [f"{log}:2: it is not text in UTF-8"]


def test_packed_files_are_unpacked_whatever_they_are_called(tmp_path: Path) -> None:
    packed = gzip.compress(SAYING)
    for name, data in (("log.gz", packed), ("log", packed), ("plain.gz", SAYING)):
        (tmp_path / name).write_bytes(data)
        found = list(events("jsonl", [tmp_path / name], Mapping(), None, Count()))
        assert told(found) == [("a", "sent", "x")], name


def test_a_mark_of_unicode_at_the_beginning_is_no_part_of_a_log(log: Path) -> None:
    log.write_bytes(b"\xef\xbb\xbf" + SAYING)
    assert told(list(events("jsonl", [log], Mapping(), None, Count()))) == [("a", "sent", "x")]
    found, _ = found_in(log, "csv", "\ufeffprocess,event,message\na,sent,x\n")
    assert told(found) == [("a", "sent", "x")]


def test_csv(log: Path) -> None:
    found, count = found_in(log, "csv", "process,event,message\na,sent,x\nb,delivered,x\nb,delivered\n")
    assert told(found) == [("a", "sent", "x"), ("b", "delivered", "x")]
    assert count.refusals == [f"{log}:4: it has 2 fields, the first line has 3"]


def test_text_by_a_pattern(log: Path) -> None:
    mapping = Mapping(pattern=r"^(?P<process>\w+): (?:says (?P<sent>\S+)|reads (?P<delivered>\S+))")
    found, count = found_in(log, "text", "a: says x\nb: sleeps\nb: reads x\n", mapping)
    assert told(found) == [("a", "sent", "x"), ("b", "delivered", "x")]
    assert (count.other, count.refused) == (1, 0)


@pytest.mark.parametrize(
    ("pattern", "text"),
    [
        (None, "lines of text need a pattern"),
        ("(", "the pattern is no regular expression"),
        (r"(?P<process>\w+) (?P<sent>\S+)", "the pattern lacks groups"),
    ],
)
def test_patterns_that_will_not_do(log: Path, pattern: str | None, text: str) -> None:
    with pytest.raises(Misuse, match=text):
        found_in(log, "text", "a: says x\n", Mapping(pattern=pattern))


def test_a_mapping_that_is_none(tmp_path: Path) -> None:
    path = tmp_path / "map.toml"
    path.write_text('proces = "host"\n')
    with pytest.raises(Misuse, match=r"cannot read .*map.toml: .*proces"):
        read_mapping(path)
    with pytest.raises(Misuse, match="No such file"):
        read_mapping(tmp_path / "none.toml")


# Maelstrom


def test_maelstrom_in_the_words_of_several_libraries(log: Path) -> None:
    text = (
        '2023/03/01 12:00:00 Received {c1 n1 {"type":"echo","msg_id":7}}\n'
        'Sent {"src": "n1", "dest": "c1", "body": {"type": "echo_ok", "in_reply_to": 7}}\n'
        'DEBUG:root:sending {"src": "n1", "dest": "n2", "body": {"type": "tell", "msg_id": 1}}\n'
        "Node n1 initialized\n"
        'Received {"src": "n2", "dest": "n1", "body": {"type": "tell"}}\n'
    )
    found, count = found_in(log, "maelstrom", text)
    assert told(found) == [("n1", "delivered", "c1:7"), ("n1", "sent", "n1:re:c1:7"), ("n1", "sent", "n1:1")]
    assert found[1].follows == ("c1:7",)
    assert count.other == 1
    assert count.refusals[0].startswith(f"{log}:5: it is no message of Maelstrom's: it has no msg_id")


# ShiViz


def test_vector_clocks_alone_are_refused_with_the_reason(log: Path) -> None:
    with pytest.raises(Misuse) as error:
        found_in(log, "shiviz", 'a {"a": 1}\nsays x\n')
    assert str(error.value) == NEEDS_PATTERN


def test_what_the_clocks_say_of_each_other(log: Path) -> None:
    text = (
        'a {"a": 1}\nsays x\n'
        'b {"b": 1, "a": 1}\nreads x\n'
        'b {"b": 3, "a": 1}\nsleeps\n'  # b's second event is missing
        'c {"c": 1}\nreads x\n'  # does not know that x was said
        'a {"a": 1}\nsays y\n'  # a's clock stands still
        "nonsense\n"
        'c {"c": 2}\n'
    )
    found, count = found_in(log, "shiviz", text, Mapping(pattern=SAYS))
    assert told(found) == [("a", "sent", "x"), ("b", "delivered", "x")]
    assert count.gaps == ["1 events of b before its 3th are missing"]
    assert count.refusals == [
        f"{log}:9: the clock of a is at 1 after 1",
        f'{log}:11: it is no host with its clock, such as alice {{"alice": 1}}',
        f"{log}:12: no text follows this clock",
        f"{log}:7: its clock does not know of a's event 1, which sent x",
    ]
    assert (count.records, count.other) == (7, 1)


# Exports


def otlp(*spans: dict[str, object], service: str = "web") -> str:
    attributes = [{"key": "service.name", "value": {"stringValue": service}}]
    scope = [{"spans": [{"traceId": "T", "startTimeUnixNano": "5", **span} for span in spans]}]
    return (
        json.dumps({"resourceSpans": [{"resource": {"attributes": attributes}, "scopeSpans": scope}]}) + "\n"
    )


def test_kinds_as_numbers_and_as_words(log: Path) -> None:
    text = otlp({"spanId": "1", "kind": 3}) + otlp(
        {"spanId": "2", "kind": "SPAN_KIND_SERVER", "parentSpanId": "1", "startTimeUnixNano": 6}, service="db"
    )
    assert told(found_in(log, "otlp", text)[0]) == [("web", "sent", "t/1"), ("db", "delivered", "t/1")]


def test_exports_of_other_signals_are_other_and_broken_spans_are_refused(log: Path) -> None:
    text = otlp({"spanId": "1", "kind": 4}, {"kind": 4}) + '{"resourceMetrics": []}\n{"spans": []}\n'
    found, count = found_in(log, "otlp", text)
    assert told(found) == [("web", "sent", "t/1")]
    assert count.refusals == [
        f"{log}:1: a span of it: Object missing required field `spanId`",
        f"{log}:3: it has no resourceSpans",
    ]
    assert (count.records, count.other) == (4, 1)


def test_a_service_that_runs_twice_is_two_processes(log: Path) -> None:
    lines = []
    for instance in ("one", "two"):
        export = json.loads(otlp({"spanId": instance, "kind": 4}))
        attributes = export["resourceSpans"][0]["resource"]["attributes"]
        attributes.append({"key": "service.instance.id", "value": {"stringValue": instance}})
        lines.append(json.dumps(export))
    found, _ = found_in(log, "otlp", "\n".join(lines))
    assert [event.process for event in found] == ["web/one", "web/two"]
    assert [event.process for event in found_in(log, "otlp", lines[0])[0]] == ["web"]


def test_for_potential_causality_only_callers_say_when_they_sent(log: Path) -> None:
    text = otlp({"spanId": "1"}) + otlp({"spanId": "2", "kind": 2, "parentSpanId": "1"}, service="db")
    found, count = found_in(log, "otlp", text, causality="potential")
    assert told(found) == [("db", "delivered", "t/1")]
    assert "when it sent is not known" in count.refusals[0]
    assert told(found_in(log, "otlp", text)[0]) == [("web", "sent", "t/1"), ("db", "delivered", "t/1")]


def test_of_spans_that_begin_at_the_same_time_causes_come_first(log: Path) -> None:
    text = (
        otlp({"spanId": "3", "kind": 4, "parentSpanId": "2"}, {"spanId": "2", "kind": 4, "parentSpanId": "1"})
        + otlp({"spanId": "1", "kind": 4})
        + "".join(otlp({"spanId": f"9{n}", "kind": 5, "parentSpanId": n}, service="post") for n in "321")
    )
    found, _ = found_in(log, "otlp", text)
    assert [event.message for event in found if event.process == "post"] == ["t/1", "t/2", "t/3"]


# The wrong format


@pytest.mark.parametrize(
    ("asked", "text", "looks"),
    [
        ("jaeger", otlp({"spanId": "1", "kind": 4}), "otlp"),
        ("otlp", '{"data": [{"spans": [{"spanID": "1"}]}]}', "jaeger"),
        ("otlp", '{"process": "a", "sent": "x"}\n', "jsonl"),
        ("jsonl", "process,event,message\na,sent,x\n", "csv"),
        ("jsonl", 'alice {"alice": 1}\nsays x\n', "shiviz"),
        ("jsonl", 'Sent {"src": "n1", "dest": "n2", "body": {"msg_id": 1}}\n', "maelstrom"),
    ],
)
def test_a_file_of_another_format_is_called_by_its_name(log: Path, asked: str, text: str, looks: str) -> None:
    with pytest.raises(Misuse) as error:
        found_in(log, asked, text)
    assert f"no message is sent or delivered in {log}, read as {asked}; it looks like {looks}" in str(
        error.value
    )


def test_misuse(log: Path, tmp_path: Path) -> None:
    with pytest.raises(Misuse, match="no format is called 'xml'; there are: shiviz, jsonl"):
        found_in(log, "xml", "")
    with pytest.raises(Misuse, match="cannot be declared: no message says what it follows"):
        found_in(log, "jsonl", '{"process": "a", "sent": "x"}', causality="declared")
    with pytest.raises(Misuse, match=r"cannot read .*none: No such file"):
        read("jsonl", [tmp_path / "none"], Mapping(), None, Count())
