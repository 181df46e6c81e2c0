"""An observer of a fixed group who sees everything as it happens, and shares nothing with nodes and checker.

What a process has said or heard is a set of messages, as the bits of a number: so is a message's past. A
message is out of order at a process if something of its past comes there after it.
"""

from collections.abc import Iterable
from functools import reduce
from operator import or_

from aforesaid.core import MessageId as Id
from aforesaid.core import Process


class Witness:
    """Knows who said what, who heard it, and what came before."""

    def __init__(self) -> None:
        self._ids: list[Id] = []
        self._bits: dict[Id, int] = {}
        self._past: dict[Id, int] = {}
        self._audience: dict[Id, frozenset[Process]] = {}
        self._addressed: dict[Process, int] = {}
        self._known: dict[Process, int] = {}
        self._heard: dict[Process, int] = {}
        self._skipped: dict[Process, list[tuple[Id, int]]] = {}
        """Deliveries before which something of the past was missing, and what it was."""
        self._intents: list[tuple[tuple[Process, ...], int]] = []
        """Whom something was meant for, and what had come before."""
        self.complaints: list[str] = []
        self.deliveries = 0

    def intends(self, process: Process, audience: tuple[Process, ...]) -> int:
        """Somebody is about to say something, and may not live to tell us that it has; its number."""
        self._intents.append((audience, self._known.get(process, 0)))
        return len(self._intents) - 1

    def said(
        self, process: Process, message: Id, audience: Iterable[Process], intent: int | None = None
    ) -> None:
        if message in self._bits:
            return  # Its own copy came before the call returned.
        past = self._known.get(process, 0)
        if intent is not None:
            audience, past = self._intents[intent]
        bit = 1 << len(self._ids)
        self._ids.append(message)
        self._bits[message] = bit
        self._audience[message] = frozenset(audience)
        for target in self._audience[message]:
            self._addressed[target] = self._addressed.get(target, 0) | bit
        self._past[message] = past
        self._known[process] = self._known.get(process, 0) | bit

    def heard(
        self, process: Process, message: Id, group: Iterable[Process], intent: int | None = None
    ) -> None:
        # Who was killed in the middle of saying something never got to tell us.
        self.said(message.origin, message, group, intent)
        bit, past, before = self._bits[message], self._past[message], self._heard.get(process, 0)
        self.deliveries += 1
        if before & bit:
            self.complaints.append(f"{process} heard {_name(message)} twice")
        missing = past & self._addressed.get(process, 0) & ~before
        if missing:
            self._skipped.setdefault(process, []).append((message, missing))
        self._heard[process] = before | bit
        self._known[process] = self._known.get(process, 0) | past | bit

    def judge(self, survivors: set[Process]) -> list[str]:
        """When all is at rest: what was out of order, and what those who are left never heard."""
        found = list(self.complaints)
        for process, skipped in self._skipped.items():
            heard = self._heard.get(process, 0)
            for message, missing in skipped:
                for late in self._names(missing & heard):
                    found.append(f"{process} heard {_name(message)} before {late}, which came before it")
        return found + self.lacking(survivors)

    def lacking(self, survivors: set[Process]) -> list[str]:
        """What those who are left have not heard of each other."""
        return [
            f"{process} has not heard {_name(message)}"
            for message, bit in self._bits.items()
            if message.origin in survivors
            for process in sorted(self._audience[message] & survivors)
            if not self._heard.get(process, 0) & bit
        ]

    def uneven(self, survivors: set[Process]) -> list[tuple[Process, Id]]:
        """What one of those who are left has heard, and another one has not."""
        heard = [self._heard.get(process, 0) for process in survivors]
        everything = reduce(or_, heard, 0)
        return [
            (process, message)
            for process in sorted(survivors)
            for message in self._ids
            if self._bits[message] & everything & ~self._heard.get(process, 0)
        ]

    def _names(self, bits: int) -> list[str]:
        return [_name(message) for message in self._ids if self._bits[message] & bits]

    @property
    def messages(self) -> int:
        return len(self._ids)


def _name(message: Id) -> str:
    return f"{message.origin}#{message.number}"
