"""A log that was spoiled, in any format and any way, is read as far as it goes, or refused in one line."""

import json
from collections import Counter
from pathlib import Path
from random import Random
from typing import Any

import pytest

from aforesaid.core import Misuse
from aforesaid.foreign import Mapping, read
from aforesaid.foreign.events import Count
from property.foreign.random_spans import as_jaeger, as_otlp, judged, random_spans
from support.scale import scaled

SEEDS = scaled(300, 5_000)
PATTERN = r"(?P<process>\w+)? ?(says (?P<sent>\S+)|reads (?P<delivered>\S+))"
NETWORK = '{"src": "n1", "dest": "n2", "body": {"type": "tell", "msg_id": 1, "in_reply_to": 4}}'
LOGS = {
    "jsonl": '{"process": "a", "event": "sent", "message": "x", "follows": ["w"], "time": 1}\n'
    '{"process": "b", "delivered": "x", "time": "2026-01-01"}\n',
    "csv": 'process,event,message,time\na,sent,"x",1\nb,delivered,x,2\n',
    "text": "a says x\nb reads x\n",
    "shiviz": 'a {"a": 1}\nsays x\nb {"a": 1, "b": 1}\nreads x\n',
    "maelstrom": f"Sent {NETWORK}\nReceived {NETWORK}\n",
    "otlp": as_otlp(random_spans(3)),
    "jaeger": as_jaeger(random_spans(3)),
}
WRONG: tuple[Any, ...] = (None, 0, -1, 1 << 70, 0.5, "", "x", [], {}, [None], {"key": 1}, True, float("nan"))


def spoiled(text: str, random: Random) -> str:
    """Some characters, or one value of one JSON object, are others."""
    if random.random() < 0.5:
        for _ in range(random.randint(1, 3)):
            place = random.randrange(len(text))
            instead = random.choice(["", "{", "}", '"', ",", "\n", "9", "\x00", "é", text[:place][-9:]])
            text = text[:place] + instead + text[place + random.randint(0, 4) :]
        return text
    lines = text.splitlines() if text.count("\n{") or text.startswith('{"res') else [text]
    place = random.randrange(len(lines))
    try:
        value = json.loads(lines[place])
    except ValueError:
        return text
    lines[place] = json.dumps(changed(value, random))
    return "\n".join(lines)


def changed(value: Any, random: Random) -> Any:
    if isinstance(value, dict | list) and value and random.random() < 0.9:
        keys: list[Any] = list(value) if isinstance(value, dict) else list(range(len(value)))
        key = random.choice(keys)
        value[key] = changed(value[key], random)
        return value
    return random.choice(WRONG)


@pytest.mark.parametrize("format", LOGS)
def test_a_spoiled_log_is_read_or_refused(format: str, tmp_path: Path) -> None:
    path = tmp_path / "log"
    ends: Counter[str] = Counter()
    for seed in range(SEEDS):
        text = spoiled(LOGS[format], Random(seed))
        path.write_text(text)
        count = Count()
        try:
            columns, causality = read(format, [path], Mapping(pattern=PATTERN), None, count)
            judged(columns, count, causality)
            ends["read"] += 1
        except Misuse as error:
            ends["refused" if "\n" not in str(error) else f"refused in several lines, seed {seed}"] += 1
        except Exception as error:
            raise AssertionError(f"seed {seed}, {format}: {text!r}") from error
        assert count.refused + count.other <= count.records, f"seed {seed}, {format}: {count}, {text!r}"
    assert ends.keys() <= {"read", "refused"}, ends
    assert ends["read"] > SEEDS / 20, ends
