"""Logs with an event in a line: JSON, CSV, text that a pattern reads, and what Maelstrom's nodes log."""

import csv
import re
from collections.abc import Iterable, Iterator, Sequence
from io import TextIOWrapper
from typing import Any

import msgspec

from aforesaid.core import Misuse, WrongValue
from aforesaid.foreign.events import Count, Event, Line, lines, opened
from aforesaid.foreign.mapping import Mapping
from aforesaid.storage import Place


def jsonl(paths: Sequence[Place], mapping: Mapping, count: Count) -> Iterator[Event]:
    """One JSON object in a line."""
    return _mapped(_objects(lines(paths, count), count), mapping, count)


def text(paths: Sequence[Place], mapping: Mapping, count: Count) -> Iterator[Event]:
    """Lines that a pattern finds something in; others are about something else."""
    return _mapped(matched(lines(paths, count), mapping, count), mapping, count)


def matched(
    found: Iterable[Line], mapping: Mapping, count: Count
) -> Iterator[tuple[str, dict[str, str | None]]]:
    for place, line in found:
        match = mapping.regex.search(line)
        if match is None:
            count.other += 1
        else:
            yield place, match.groupdict()


def table(paths: Sequence[Place], mapping: Mapping, count: Count) -> Iterator[Event]:
    """CSV with a line of names first, in each file."""
    return _mapped(_rows(paths, count), mapping, count)


def _rows(paths: Sequence[Place], count: Count) -> Iterator[tuple[str, dict[str, str]]]:
    for path in paths:
        try:
            with opened(path) as file:
                rows = csv.reader(TextIOWrapper(file, "utf-8-sig", newline=""))
                names = next(rows, [])
                for row in rows:
                    count.records += 1
                    place = f"{path}:{rows.line_num}"
                    if len(row) != len(names):
                        count.refuse(place, f"it has {len(row)} fields, the first line has {len(names)}")
                    else:
                        yield place, dict(zip(names, row, strict=True))
        except (UnicodeDecodeError, csv.Error) as error:
            raise Misuse(f"cannot read {path}: {error}") from error


def _objects(found: Iterable[Line], count: Count) -> Iterator[tuple[str, dict[str, Any]]]:
    decode = msgspec.json.Decoder(dict[str, Any]).decode
    for place, line in found:
        try:
            record = decode(line)
        except msgspec.DecodeError as error:
            count.refuse(place, f"it is no JSON object: {error}")
        else:
            yield place, record


def _mapped(records: Iterable[tuple[str, Any]], mapping: Mapping, count: Count) -> Iterator[Event]:
    for place, record in records:
        try:
            event = mapping.event_of(record, place)
        except WrongValue as error:
            count.refuse(place, str(error))
            continue
        if event is None:
            count.other += 1
        else:
            yield event


_LOGGED = re.compile(r"\b(sent|sending|received|receiving)\b:?\s*(\{.*\})\s*$", re.IGNORECASE)
_GO = re.compile(r"\{(\S+) (\S+) (\{.*\})\}")
"""How the library for Go writes what it received: a structure, and JSON only inside."""


def maelstrom(paths: Sequence[Place], mapping: Mapping, count: Count) -> Iterator[Event]:
    """What nodes write to standard error, in `node-logs`: `Sent {...}` and `Received {...}`, a message each.

    A message is known by its sender and `msg_id`, a reply without one by what it replies to. It follows what
    it replies to.
    """
    for place, line in lines(paths, count):
        match = _LOGGED.search(line)
        if match is None:
            count.other += 1
            continue
        try:
            yield _of_network(match[1][0] in "sS", _message(match[2]), place)
        except (msgspec.DecodeError, WrongValue) as error:
            count.refuse(place, f"it is no message of Maelstrom's: {error}")


class _Body(msgspec.Struct):
    msg_id: int | None = None
    in_reply_to: int | None = None


class _Message(msgspec.Struct):
    src: str
    dest: str
    body: _Body


def _message(told: str) -> _Message:
    go = _GO.fullmatch(told)
    if go is None:
        return msgspec.json.decode(told, type=_Message)
    return _Message(go[1], go[2], msgspec.json.decode(go[3], type=_Body))


def _of_network(sent: bool, message: _Message, place: str) -> Event:
    body, src, dest = message.body, message.src, message.dest
    if body.msg_id is not None:
        name = f"{src}:{body.msg_id}"
    elif body.in_reply_to is not None:
        name = f"{src}:re:{dest}:{body.in_reply_to}"
    else:
        raise WrongValue("it has no msg_id and replies to none, so nobody can tell it from others")
    follows = (f"{dest}:{body.in_reply_to}",) if sent and body.in_reply_to is not None else ()
    return Event(src if sent else dest, sent, name, follows=follows, to=(dest,) if sent else (), place=place)
