"""What is settled leaves the window: so the state is what is in flight, however long a run is.

A message is settled, and forgotten, once it and all that was said before it have come to everyone they are
owed to; or when it has been in flight for `age_s`: then what was owed is remembered as runs of numbers, and
the verdict on it is unknown.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np

from aforesaid.check.order import Exemption
from aforesaid.check.reading import Reader
from aforesaid.live.logs import Key, fate
from aforesaid.live.members import NUMBER, NUMBER_BITS, PHANTOM, Member, founders, row_of
from aforesaid.live.merge import Merge
from aforesaid.live.window import Window, WindowTrace
from aforesaid.trace.model import Bools

KEEP = 2_000
"""So many settled messages are looked at a while longer: a second delivery comes soon, if ever."""


class Settling:
    """Forgets messages in the window, in the merge and in the members' logs alike."""

    def __init__(self, merge: Merge, window: Window, grace_s: float, age_s: float, keep: int) -> None:
        self._merge, self._window = merge, window
        self.grace_s, self.age_s, self._keep = grace_s, age_s, keep
        self._now_s = 0.0
        self.count = 0
        """How many messages are settled."""

    def settle(
        self, reader: Reader, trace: WindowTrace, logs: dict[Key, Member], now_s: float, stability: bool
    ) -> None:
        """Forget the first messages, up to one that somebody may still deliver.

        `trace` is the window as it was judged; `stability`: whether stable calls are owed, too.
        """
        self._now_s = now_s
        count, strange = len(self._window), len(self._merge.phantoms)
        if not count:
            return
        exempt = Exemption(reader.history, reader.recorded)
        open_ = self._window.for_strangers(self._merge.members)
        lacking: list[tuple[Member, Bools]] = []
        for place, (key, member) in enumerate(logs.items()):
            lacks = _lacks(reader, trace, exempt, place)[strange:]
            if member.origin.joined and not member.let_in:
                # What is for all will be in its base; what is for it by name, somebody knew to be let in.
                lacks &= ~trace.messages.to_all[strange:]
            lacking.append((member, lacks))
            if self._waits_for(key, member, logs):
                open_ |= lacks
        if stability:
            open_ |= self._uncalled(trace, logs)[strange:]
        if self._strangers_expected(logs):
            open_[:] = True
        open_ &= self._window.arrived_s > now_s - self.age_s
        done = min(int(open_.argmax()) if open_.any() else count, count - self._keep)
        if done > 0:
            self._forget(done, lacking)

    def _waits_for(self, key: Key, member: Member, logs: Mapping[Key, Member]) -> bool:
        """Whether what a member lacks may still be delivered by it, or be missed in the end."""
        silent_s = self._now_s - member.grew_s
        if silent_s < self.grace_s:
            return True  # What others have to tell of its end may be on its way.
        if member.ended is not None:
            return silent_s < self.age_s and fate(key, logs) == "alive"
        return silent_s < self.age_s and fate(key, logs) != "evicted"

    def _strangers_expected(self, logs: Mapping[Key, Member]) -> bool:
        """Whether a founder has not been seen yet, and may come."""
        there = {name for name, _ in logs}
        return bool(founders(self._merge.members) - there) and self._now_s < self.age_s

    def _uncalled(self, trace: WindowTrace, logs: dict[Key, Member]) -> Bools:
        """What its origin has not called stable, and may."""
        uncalled = np.ones(len(trace.messages), np.bool_)
        calls = trace.stabilities
        uncalled[calls.message[trace.messages.origin[calls.message] == calls.process]] = False
        waited = np.array([*(self._waits_for(key, each, logs) for key, each in logs.items()), False])
        uncalled &= waited[trace.messages.origin]
        return uncalled

    def _forget(self, done: int, lacking: list[tuple[Member, Bools]]) -> None:
        merge, key = self._merge, self._window.key[:done]
        origin, number = key >> NUMBER_BITS, key & NUMBER
        for member, lacks in lacking:
            lacked = np.flatnonzero(lacks[:done])
            for row in np.unique(origin[lacked]).tolist():
                member.lacks(row, number[lacked][origin[lacked] == row].tolist())
        for row in np.unique(origin).tolist():
            merge.members[row].settled = int(number[origin == row].max())
        for each in key.tolist():
            del merge.after[each]
        settled = np.array([member.settled for member in merge.members], np.int64)
        for member in merge.members:
            for seen in (member.log, member.calls):
                seen.keep((seen.key >= PHANTOM) | ((seen.key & NUMBER) > settled[_rows_of(seen.key)]))
            member.base = tuple(each for each in member.base if (each & NUMBER) > settled[row_of(each)])
            member.frontier = {each for each in member.frontier if (each & NUMBER) > settled[row_of(each)]}
        self._window.settle(done)
        self.count += done


def _lacks(reader: Reader, trace: WindowTrace, exempt: Exemption, place: int) -> Bools:
    """What a member is owed, as far as is known, and has not delivered."""
    owed: Bools = trace.messages.to_all.copy()
    owed[reader.history.addressed(place)] = True
    owed[trace.log(place).message] = False
    not_owed = exempt.of(place)
    return owed if not_owed is None else owed & ~not_owed


def _rows_of(key: Any) -> Any:
    return (key & ~PHANTOM) >> NUMBER_BITS
