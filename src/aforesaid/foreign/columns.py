"""Events as columns: names once each, the rest as numbers, so that a log may have very many lines."""

from array import array
from collections.abc import Iterable
from typing import Self

import numpy as np

from aforesaid.foreign.events import Event
from aforesaid.trace.model import Int32s, Int64s


class Columns:
    """Some events, those of each process in its order. What is called a code is a place in a dictionary."""

    def __init__(self) -> None:
        self.processes: dict[str, int] = {}
        self.messages: dict[str, int] = {}
        self.process, self.message = array("i"), array("i")
        self.sent, self.time_ns = array("b"), array("q")
        self.follower, self.followed = array("i"), array("i")
        """Pairs of messages: the one says that it follows the other."""
        self.addressed, self.addressee = array("i"), array("i")
        """Pairs of a message and a name in `addressees` that it is for."""
        self.addressees: dict[str, int] = {}
        self.sent_at: dict[int, str] = {}
        """By message, where it was sent; all places if there are several."""
        self.seen_at: dict[int, str] = {}
        """By message, where it was first delivered, if it was not sent before."""

    def __len__(self) -> int:
        return len(self.process)

    def take(self, events: Iterable[Event]) -> Self:
        processes, messages = self.processes, self.messages
        for event in events:
            message = messages.setdefault(event.message, len(messages))
            self.process.append(processes.setdefault(event.process, len(processes)))
            self.message.append(message)
            self.sent.append(event.sent)
            self.time_ns.append(event.time_ns)
            if event.sent:
                self._note_sending(message, event.place)
                for name in event.follows:
                    self.follower.append(message)
                    self.followed.append(messages.setdefault(name, len(messages)))
                for name in event.to:
                    self.addressed.append(message)
                    self.addressee.append(self.addressees.setdefault(name, len(self.addressees)))
            elif message not in self.sent_at:
                self.seen_at.setdefault(message, event.place)
        return self

    def extend(self, other: "Columns") -> None:
        """Put other events behind these."""
        process = _codes(self.processes, other.processes)
        message = _codes(self.messages, other.messages)
        addressee = _codes(self.addressees, other.addressees)
        for mine, column, codes in (
            (self.process, other.process, process),
            (self.message, other.message, message),
            (self.follower, other.follower, message),
            (self.followed, other.followed, message),
            (self.addressed, other.addressed, message),
            (self.addressee, other.addressee, addressee),
        ):
            mine.frombytes(codes[int32s(column)].tobytes())
        self.sent.extend(other.sent)
        self.time_ns.extend(other.time_ns)
        for code, place in other.sent_at.items():
            self._note_sending(int(message[code]), place)
        for code, place in other.seen_at.items():
            self.seen_at.setdefault(int(message[code]), place)

    def _note_sending(self, message: int, place: str) -> None:
        before = self.sent_at.get(message)
        self.sent_at[message] = place if before is None else f"{before} and {place}"


def _codes(mine: dict[str, int], others: dict[str, int]) -> Int32s:
    """My code for each of another's."""
    return np.array([mine.setdefault(name, len(mine)) for name in others], np.int32)


def int32s(column: "array[int]") -> Int32s:
    return np.frombuffer(column, np.int32) if column else np.empty(0, np.int32)


def int64s(column: "array[int]") -> Int64s:
    return np.frombuffer(column, np.int64) if column else np.empty(0, np.int64)
