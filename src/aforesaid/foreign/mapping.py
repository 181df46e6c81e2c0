"""How a log's own words are read: which field, or which group of a pattern, names process, event and message.

Without a mapping the fields are called as here. If a record has no `event`, its fields `sent` and `delivered`
hold the message; if it has one, they are the words by which that says which it is.
"""

import re
from collections.abc import Mapping as Record
from datetime import datetime
from functools import cached_property
from pathlib import Path
from typing import Any, Literal

import msgspec

from aforesaid.core import Misuse, WrongValue
from aforesaid.foreign.events import NO_TIME, Event, time_within

SENT_WORDS = ["sent", "send"]
DELIVERED_WORDS = ["delivered", "deliver", "received", "receive", "recv"]
UNIT_NS = {"s": 10**9, "ms": 10**6, "us": 10**3, "ns": 1}


class Mapping(msgspec.Struct, forbid_unknown_fields=True, dict=True):
    """The names of a log's fields; a dot leads into an object: `body.id`."""

    process: str = "process"
    event: str = "event"
    message: str = "message"
    sent: str | list[str] | None = None
    delivered: str | list[str] | None = None
    time: str = "time"
    time_unit: Literal["s", "ms", "us", "ns"] = "s"
    """Of times that are numbers; texts are read as ISO 8601."""
    follows: str = "follows"
    to: str = "to"
    pattern: str | None = None
    """For lines of text: a regular expression with groups of these names."""

    @cached_property
    def regex(self) -> re.Pattern[str]:
        if self.pattern is None:
            raise Misuse(
                "lines of text need a pattern, a regular expression with groups process, sent and delivered"
            )
        try:
            regex = re.compile(self.pattern)
        except re.error as error:
            raise Misuse(f"the pattern is no regular expression: {error}") from error
        if not {"sent", "delivered"} <= regex.groupindex.keys() and "event" not in regex.groupindex:
            raise Misuse("the pattern lacks groups: sent and delivered, or event and message")
        return regex

    @cached_property
    def _words(self) -> dict[str, bool]:
        sent, delivered = _words(self.sent, SENT_WORDS), _words(self.delivered, DELIVERED_WORDS)
        return dict.fromkeys(sent, True) | dict.fromkeys(delivered, False)

    def event_of(self, record: Record[str, Any], place: str) -> Event | None:
        """The event that a record tells; None if it tells of something else.

        WrongValue if it should tell one and lacks something.
        """
        told = _at(record, self.event)
        if told is None:
            held = {sent: _at(record, field) for field, sent in self._fields}
            found = [(sent, message) for sent, message in held.items() if message not in (None, "")]
            if not found:
                return None
            if len(found) > 1:
                raise WrongValue("it both sends and delivers")
            sent, message = found[0]
        elif str(told) in self._words:
            sent, message = self._words[str(told)], _at(record, self.message)
        else:
            return None
        process = _at(record, self.process)
        for what, value in (("process", process), ("message", message)):
            if value in (None, "") or isinstance(value, dict | list):
                raise WrongValue(f"it names no {what} (field {getattr(self, what)!r})")
        follows = _names(_at(record, self.follows)) if sent else ()
        to = _names(_at(record, self.to)) if sent else ()
        return Event(str(process), sent, str(message), self._time(record), follows, to, place)

    @cached_property
    def _fields(self) -> list[tuple[str, bool]]:
        return [(_field(self.sent, "sent"), True), (_field(self.delivered, "delivered"), False)]

    def _time(self, record: Record[str, Any]) -> int:
        value = _at(record, self.time)
        if value in (None, ""):
            return NO_TIME
        try:
            if isinstance(value, str) and re.search("[-:TW]", value[1:]):
                return time_within(datetime.fromisoformat(value).timestamp(), UNIT_NS["s"])
            if isinstance(value, int | float | str):
                return time_within(value, UNIT_NS[self.time_unit])
        except ValueError:
            pass  # WrongValue is one, and so is what `datetime` says.
        raise WrongValue(f"{value!r} is no time (field {self.time!r})")


def read_mapping(path: Path | None, pattern: str | None = None) -> Mapping:
    """The mapping in a TOML file, or the usual one."""
    mapping = Mapping()
    if path is not None:
        try:
            mapping = msgspec.toml.decode(path.read_bytes(), type=Mapping)
        except (OSError, msgspec.DecodeError) as error:
            raise Misuse(f"cannot read {path}: {getattr(error, 'strerror', None) or error}") from error
    if pattern is not None:
        mapping.pattern = pattern
    return mapping


def _at(record: Record[str, Any], field: str) -> Any:
    """The value of a field, if there is one."""
    if field in record:
        return record[field]
    value: Any = record
    for step in field.split("."):
        if not isinstance(value, dict) or step not in value:
            return None
        value = value[step]
    return value


def _words(given: str | list[str] | None, usual: list[str]) -> list[str]:
    return usual if given is None else [given] if isinstance(given, str) else given


def _field(given: str | list[str] | None, usual: str) -> str:
    return given if isinstance(given, str) else usual


def _names(value: Any) -> tuple[str, ...]:
    if value is None:
        return ()
    if isinstance(value, list):
        return tuple(map(str, value))
    return tuple(re.findall(r"[^\s,;]+", str(value)))
