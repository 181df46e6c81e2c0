"""Who seems to be gone: an accrual failure detector for the members of a fixed group.

After Hayashibara and others (2004): how unlikely a silence is follows from the gaps there were
between signs of life. Peers are looked at once per heartbeat, and the idle ones say once per heartbeat that
they are there. A peer is suspected when, gaps being normally distributed, its silence has a likelihood of
1 in 10^8 (their phi is 8): 5.6 deviations above the mean.

Ours: a regular peer is not suspected for less than 2.4 heartbeats, and no peer for more than 3.5: a suspicion
warns, and a warning must come in time. And time in which this process stood still itself, with its machine or
behind a busy loop, is no silence of others: between two looks a heartbeat and a half counts at most.

Suspicion alone evicts nobody. Who is silent for the time-out is `overdue`, and may be evicted by who is in
touch with most of the group: who hears less is more likely cut off itself, and of two halves the one with the
first name goes on. So two parts of a group do not evict each other. Where words go one way only it comes to
that all the same: who hears from most of the group that it was evicted stops, whomever it has evicted itself.
"""

from collections import deque
from collections.abc import Collection, Iterable, Mapping
from math import sqrt

from aforesaid.core import Nanoseconds, Process

GAPS_MAX = 64
"""Of each peer the last so many gaps count: a minute at the default heartbeat."""

DEVIATIONS = 5.6
BEATS_MAX = 3.5
DEVIATION_BEATS_MIN = 0.25
LOOK_BEATS_MAX = 1.5


def is_most(part: Collection[Process], group: Collection[Process]) -> bool:
    """Whether these are more than half of the group, or the half with the first name."""
    return 2 * len(part) > len(group) or (2 * len(part) == len(group) and min(group) in part)


class Silence:
    """One peer, as it is heard."""

    def __init__(self, beat: Nanoseconds) -> None:
        self._beat = beat
        self._gaps: deque[Nanoseconds] = deque(maxlen=GAPS_MAX)
        self._heard: Nanoseconds | None = None
        self.lasts: Nanoseconds = 0
        """For how long nothing was heard of it, while this process ran."""
        self.met = False
        """True once it was heard at all."""
        self.suspect = False

    def look(self, heard: Nanoseconds | None, now: Nanoseconds, counted: Nanoseconds) -> None:
        """When it was last heard; so much time counts since the last look."""
        before, self.lasts = self.lasts, self.lasts + counted
        if heard is not None and heard != self._heard:
            self.lasts = min(now - heard, counted)
            if self.met:
                # What was longer than patience lasts has been told, and is to teach no patience.
                self._gaps.append(min(before + counted - self.lasts, round(BEATS_MAX * self._beat)))
            self._heard, self.met = heard, True
        # Nobody's patience is shorter than a heartbeat.
        self.suspect = self.met and self.lasts > self._beat and self.lasts > self.patience

    @property
    def patience(self) -> Nanoseconds:
        """A longer silence is suspect."""
        gaps, beat = self._gaps, self._beat
        mean = sum(gaps) / len(gaps) if gaps else 0.0
        deviation = sqrt(sum((gap - mean) ** 2 for gap in gaps) / len(gaps)) if gaps else 0.0
        limit = max(mean, beat) + DEVIATIONS * max(deviation, DEVIATION_BEATS_MIN * beat)
        return round(min(limit, BEATS_MAX * beat))


class Suspicion:
    """All peers of one member."""

    def __init__(self, me: Process, peers: Iterable[Process], beat: Nanoseconds) -> None:
        self._me = me
        self._beat = beat
        self._looked: Nanoseconds | None = None
        self.silences: dict[Process, Silence] = {peer: Silence(beat) for peer in peers}

    def look(self, heard: Mapping[Process, Nanoseconds | None], now: Nanoseconds) -> None:
        """Once per heartbeat: when each was last heard."""
        since = now if self._looked is None else self._looked
        counted = min(now - since, round(LOOK_BEATS_MAX * self._beat))
        self._looked = now
        for peer, silence in self.silences.items():
            silence.look(heard.get(peer), now, counted)

    def regroup(self, peers: Collection[Process]) -> None:
        """These are the peers: newcomers are listened for, others not any more."""
        known = self.silences
        self.silences = {peer: known.get(peer) or Silence(self._beat) for peer in peers}

    def forget(self, peer: Process) -> None:
        """It is gone for good, and no member any more."""
        self.silences.pop(peer, None)

    @property
    def suspects(self) -> list[Process]:
        return [peer for peer, silence in self.silences.items() if silence.suspect]

    def overdue(self, timeout: Nanoseconds) -> list[Process]:
        """Who was heard once and is silent for longer; the time-out is longer than anyone's patience."""
        return [peer for peer, each in self.silences.items() if each.suspect and each.lasts > timeout]

    @property
    def may_evict(self) -> bool:
        """Whether this process is in touch with most of the group."""
        heard = {self._me} | {peer for peer, each in self.silences.items() if each.met and not each.suspect}
        return is_most(heard, {self._me, *self.silences})
