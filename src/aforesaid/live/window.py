"""What is in flight, as a trace: the checker judges it as it judges any other.

The window holds the messages that something is still asked of, in the order in which they were said, and what
was delivered of them. All that was said before the first of them is *settled*: it has come to everyone it was
owed to. So whatever comes before a settled message is settled, too, and nothing in the window can have come
too early because of it.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain

import numpy as np

from aforesaid.live.logs import Key
from aforesaid.live.members import NUMBER, NUMBER_BITS, PHANTOM, Deliveries, Member
from aforesaid.live.spans import TO_ALL
from aforesaid.trace.model import (
    NEVER_SENT,
    Bools,
    Int32s,
    Int64s,
    Lists,
    Log,
    Messages,
    Processes,
    Run,
    Stabilities,
)

Said = tuple[int, int, int, tuple[str, ...] | None]


@dataclass(frozen=True)
class WindowTrace:
    """What is in flight, for the checker."""

    run: Run
    processes: Processes
    messages: Messages
    all_logs: Sequence[Log]
    stabilities: Stabilities

    def log(self, process: int) -> Log:
        return self.all_logs[process]

    def logs(self) -> Iterator[tuple[int, Log]]:
        return enumerate(self.all_logs)


class Window:
    """The messages in flight, by column; phantoms apart."""

    def __init__(self) -> None:
        self.key: Int64s = np.empty(0, np.int64)
        self.sent_after: Int32s = np.empty(0, np.int32)
        self.time_ns: Int64s = np.empty(0, np.int64)
        self.audience: Int32s = np.empty(0, np.int32)
        self.arrived_s = np.empty(0, np.float64)
        self._audiences: dict[tuple[int, tuple[str, ...]], int] = {}
        """Who said something to whom, with a number for it."""

    def __len__(self) -> int:
        return len(self.key)

    def add(self, said: Sequence[Said], now_s: float) -> None:
        if not said:
            return
        key, sent_after, time_ns, audience = zip(*said, strict=True)
        ids = [
            TO_ALL
            if names is None
            else self._audiences.setdefault((each >> NUMBER_BITS, names), len(self._audiences))
            for each, names in zip(key, audience, strict=True)
        ]
        self.key = np.concatenate((self.key, np.array(key, np.int64)))
        self.sent_after = np.concatenate((self.sent_after, np.array(sent_after, np.int32)))
        self.time_ns = np.concatenate((self.time_ns, np.array(time_ns, np.int64)))
        self.audience = np.concatenate((self.audience, np.array(ids, np.int32)))
        self.arrived_s = np.concatenate((self.arrived_s, np.full(len(key), now_s)))

    def settle(self, count: int) -> None:
        """Forget the first messages."""
        rest = slice(count, None)
        self.key, self.sent_after, self.time_ns = self.key[rest], self.sent_after[rest], self.time_ns[rest]
        self.audience, self.arrived_s = self.audience[rest], self.arrived_s[rest]
        used, places = np.unique(self.audience[self.audience >= 0], return_inverse=True)
        listed = list(self._audiences)
        self._audiences = {listed[each]: place for place, each in enumerate(used.tolist())}
        self.audience = self.audience.copy()
        self.audience[self.audience >= 0] = places

    def for_strangers(self, members: Sequence[Member]) -> Bools:
        """Which messages are for somebody, by name, of whom there is no log yet."""
        there = {member.origin.name for member in members if member.segments}
        strange = np.array([*(not there.issuperset(names) for _, names in self._audiences), False])
        for_strangers: Bools = strange[self.audience]
        return for_strangers

    def audience_rows(self, members: Sequence[Member], index: Mapping[int, int]) -> list[list[int]]:
        """For each audience, the rows meant: the incarnations that the sender met, or the first there is."""
        named: dict[str, list[Member]] = {}
        for member in sorted((each for each in members if each.row in index), key=_incarnation):
            named.setdefault(member.origin.name, []).append(member)
        rows = []
        for row, names in self._audiences:
            sender = members[row]
            meant = []
            for name in dict.fromkeys(names):
                met = sender.origin.incarnation if name == sender.origin.name else sender.met.get(name)
                fit = [each for each in named.get(name, ()) if met in (None, each.origin.incarnation)]
                meant += [index[each.row] for each in fit[:1]]
            rows.append(meant)
        return rows


class Indices:
    """The places of keys in the table of a window: phantoms first, then messages as they were said."""

    def __init__(self, window: Window, phantoms: Sequence[int], members: Sequence[Member]) -> None:
        self._settled = np.array([member.settled for member in members], np.int64)
        said = np.array([member.said for member in members], np.int64) - self._settled
        self._starts = np.cumsum(said) - said
        self._place = np.full(int(said.sum()), -1, np.int32)
        row, number = window.key >> NUMBER_BITS, window.key & NUMBER
        self._place[self._starts[row] + number - self._settled[row] - 1] = np.arange(len(window))
        self._place += len(phantoms)
        self._phantoms = np.sort(np.array(phantoms, np.int64))
        self._phantom_place = np.argsort(np.array(phantoms, np.int64))

    def inside(self, key: Int64s) -> Bools:
        """Which are not settled."""
        row = (key & ~PHANTOM) >> NUMBER_BITS
        inside: Bools = (key >= PHANTOM) | ((key & NUMBER) > self._settled[row])
        return inside

    def of(self, key: Int64s) -> Int32s:
        row, number = (key & ~PHANTOM) >> NUMBER_BITS, key & NUMBER
        real = key < PHANTOM
        index = np.empty(len(key), np.int32)
        index[real] = self._place[self._starts[row[real]] + number[real] - self._settled[row[real]] - 1]
        if not real.all():
            index[~real] = self._phantom_place[np.searchsorted(self._phantoms, key[~real])]
        return index


def window_trace(
    window: Window,
    after: Mapping[int, tuple[int, ...]],
    phantoms: Sequence[int],
    members: Sequence[Member],
    logs: Mapping[Key, Member],
    fates: Mapping[Key, str],
    run: Run,
) -> WindowTrace:
    """What is in flight; `logs` are the members that are part of the trace, in its order."""
    rows = {member.row: place for place, member in enumerate(logs.values())}
    place_of = np.full(len(members) + 1, -1, np.int32)
    place_of[list(rows)] = list(rows.values())
    indices = Indices(window, phantoms, members)
    strange = np.array(phantoms, np.int64)
    audiences = window.audience_rows(members, rows)
    lengths = np.array([len(each) for each in audiences] + [0], np.int64)
    of_message = np.concatenate((np.full(len(strange), -1, np.int32), window.audience))
    messages = Messages(
        origin=place_of[np.concatenate(((strange & ~PHANTOM), window.key)) >> NUMBER_BITS],
        number=(np.concatenate((strange, window.key)) & NUMBER).astype(np.int32),
        time_ns=np.concatenate((np.full(len(strange), -1, np.int64), window.time_ns)),
        sent_after=np.concatenate((np.full(len(strange), NEVER_SENT, np.int32), window.sent_after)),
        after=_edges(indices, after, len(strange)),
        to_all=of_message < 0,
        audience=Lists.from_lengths(
            lengths[of_message],
            np.array([row for each in of_message.tolist() if each >= 0 for row in audiences[each]], np.int32),
        ),
    )
    return WindowTrace(
        run,
        _processes(indices, logs, fates),
        messages,
        [_log(indices, member) for member in logs.values()],
        _stabilities(indices, rows, logs),
    )


def _edges(indices: Indices, after: Mapping[int, tuple[int, ...]], phantoms: int) -> Lists:
    lengths = np.fromiter(map(len, after.values()), np.int64, len(after))
    parent = np.fromiter(chain.from_iterable(after.values()), np.int64, int(lengths.sum()))
    inside = indices.inside(parent)
    child = np.repeat(np.arange(len(after)), lengths)[inside]
    counts = np.concatenate((np.zeros(phantoms, np.int64), np.bincount(child, minlength=len(after))))
    return Lists.from_lengths(counts, indices.of(parent[inside]))


def _processes(indices: Indices, logs: Mapping[Key, Member], fates: Mapping[Key, str]) -> Processes:
    bases = [np.array(member.base, np.int64) for member in logs.values()]
    return Processes(
        name=[name for name, _ in logs],
        incarnation=np.array([member.dense for member in logs.values()], np.int32),
        began_ns=np.array([member.origin.began_ns for member in logs.values()], np.int64),
        ended_ns=np.array([member.ended[0] if member.ended else -1 for member in logs.values()], np.int64),
        fate=[fates[key] for key in logs],
        joined=np.array([member.origin.joined for member in logs.values()], np.bool_),
        base=Lists.of([indices.of(base[indices.inside(base)]).tolist() for base in bases]),
        complete=np.array(
            [member.ended is not None and not member.broken for member in logs.values()], np.bool_
        ),
        settled=np.array([member.settled for member in logs.values()], np.int32),
    )


def _log(indices: Indices, member: Member) -> Log:
    seen = member.log
    return Log(indices.of(seen.key), seen.time_ns, seen.position, member.delivered)


def _stabilities(indices: Indices, rows: Mapping[int, int], logs: Mapping[Key, Member]) -> Stabilities:
    calls: list[tuple[int, Deliveries]] = [(rows[each.row], each.calls) for each in logs.values()]
    key = np.concatenate([np.empty(0, np.int64), *(seen.key for _, seen in calls)])
    return Stabilities(
        process=np.repeat(
            np.array([row for row, _ in calls], np.int32), [len(seen.key) for _, seen in calls]
        ),
        message=indices.of(key),
        time_ns=np.concatenate([np.empty(0, np.int64), *(seen.time_ns for _, seen in calls)]),
        position=np.concatenate([np.empty(0, np.int32), *(seen.position for _, seen in calls)]),
    )


def _incarnation(member: Member) -> int:
    return member.origin.incarnation
