"""A schedule: what happened, step by step, as people read it and as a file keeps it.

A step names everything by text: processes by name, frames and timers by what they say. So a schedule can be
read, stored as JSON, edited, and run again (`replay`) without knowing how the explorer numbers things.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from aforesaid.core import MessageId, Misuse, Process
from aforesaid.explore.scope import CALLS, LinkCall, Scope

SCHEDULE_VERSION = 1

_WORDS = {
    "broadcast": "{process} broadcasts {what}",
    "send": "{process} sends {what} to {audience}",
    "receive": "{process} receives {what} from {peer}",
    "lose": "the network loses {what} from {peer} to {process}",
    "crash": "{process} crashes",
    "suspect": "{process} is told that {peer} is down",
    "mistrust": "{process} is told, wrongly, that {peer} is down",
    "disconnect": "the connection {what} between {process} and {peer} is lost",
    "link_down": "{process} is told that the connection {what} is lost",
    "expire": "at {process} the timer {what} fires",
}
DEEDS = (*_WORDS, *CALLS)


@dataclass(frozen=True)
class Step:
    """One event of a schedule."""

    do: str
    """One of DEEDS."""
    process: Process
    """Where it happens; for a frame, its target."""
    peer: Process = ""
    """The source of the frame, who is suspected, or the other end of a link."""
    what: str = ""
    """The message that is said, the mediators of a new link, the frame, the link instance, or the timer."""
    keep: bool = False
    """True: the network keeps a copy of the frame that it delivers."""
    choices: tuple[int, ...] = ()
    """What the host answered when the protocol let it choose."""
    audience: tuple[Process, ...] = ()
    """Whom a message is sent to."""

    def __str__(self) -> str:
        if self.do in _WORDS:
            audience = ", ".join(self.audience) or "nobody"
            text = _WORDS[self.do].format(**{**vars(self), "audience": audience})
        else:
            text = str(LinkCall(self.process, self.do, self.peer, (self.what,) if self.what else None))
        if self.keep:
            text += ", and the network keeps a copy"
        if self.choices:
            text += f" (choosing {', '.join(map(str, self.choices))})"
        return text

    def to_dict(self) -> dict[str, Any]:
        values: dict[str, Any] = {"do": self.do, "process": self.process}
        for name in ("peer", "what", "keep"):
            if getattr(self, name):
                values[name] = getattr(self, name)
        for name in ("choices", "audience"):
            if getattr(self, name):
                values[name] = list(getattr(self, name))
        return values

    @staticmethod
    def from_dict(values: Mapping[str, Any]) -> "Step":
        try:
            lists = {name: tuple(values.get(name, ())) for name in ("choices", "audience")}
            step = Step(**{**values, **lists})
        except TypeError as error:
            raise Misuse(f"not a step of a schedule: {dict(values)!r}") from error
        if step.do not in DEEDS:
            raise Misuse(f"a step cannot {step.do!r}; it can: {', '.join(DEEDS)}")
        return step


@dataclass(frozen=True)
class Schedule:
    """A schedule with all that is needed to run it again: what a schedule file holds."""

    algorithm: str
    scope: Scope
    steps: tuple[Step, ...]

    def to_json(self) -> str:
        return json.dumps(
            {
                "schedule": SCHEDULE_VERSION,
                "algorithm": self.algorithm,
                "scope": self.scope.to_dict(),
                "steps": [step.to_dict() for step in self.steps],
            },
            indent=1,
        )

    @staticmethod
    def from_json(text: str | bytes) -> "Schedule":
        try:
            values = json.loads(text)
            if values["schedule"] != SCHEDULE_VERSION:
                raise Misuse(f"schedule version {values['schedule']}; this program reads {SCHEDULE_VERSION}")
            return Schedule(
                values["algorithm"],
                Scope.from_dict(values["scope"]),
                tuple(Step.from_dict(step) for step in values["steps"]),
            )
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise Misuse(f"not a schedule file: {error!r}") from error


def shown(value: Any) -> str:
    """A frame, a timer or a part of one, in one line: `Relay(p0#1, Stamped((0, 0), p0#1))`.

    Different values may look the same; the explorer finds a frame by its link and its text, and the
    messages of one protocol on one link differ in their text.
    """
    if isinstance(value, MessageId):
        return str(value)
    if isinstance(value, tuple):
        parts = ", ".join(shown(part) for part in value)
        if hasattr(value, "_fields"):
            return f"{type(value).__name__}({parts})" if value else type(value).__name__
        return f"({parts})"
    if isinstance(value, set | frozenset):
        return f"{{{', '.join(sorted(map(shown, value)))}}}"
    return value if isinstance(value, str) else repr(value)
