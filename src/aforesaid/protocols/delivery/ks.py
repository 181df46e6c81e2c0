"""KS: causal delivery with the least metadata for the least latency, buffering at the receiver; multicast.

Kshemkalyani and Singhal (1998), as read by Almeida (2026), section 3.1 and table 1.
Model: reliable links in any order, duplicates welcome; a fixed group; no crash.

LOG has an entry (s, t, destinations) for messages of the causal past: of the t-th message of s it is not yet
known that it was delivered to these destinations, nor that it will be before anything said from here on. A
message to D carries the LOG, which tells each receiver d what it must deliver first: the entries that name d.
What D gets to know need not be said again: *after* this message, the others of D will wait for the same. So
towards d all of D but d is left out of the entries, and from the LOG all of D; the message's own entry stands
for it. An entry without destinations is kept while it is the newest of its sender: it says that all older
ones that are not there are done with. By the same inference two logs are merged, see `merged`.
SR[s] is the last message of s delivered here; an entry (s, t) that names this process asks for SR[s] >= t.

Deviations:
- Table 1 asks for FIFO links. They are not needed: an earlier message on the same link is an entry like any
  other (tests/unit/protocols/delivery run it in any order).
- A message to oneself is delivered at once and not logged; neither is one to nobody else.
- A null entry of this process is purged as soon as a newer one is added, not with the next event.
- What waits is never rescanned: it is filed under the first (s, t) it misses, and looked at again, from that
  entry on, when that message is delivered. SR takes each such t: it is the number of a message to here.

Cost, with L the identifiers in the LOG, at most O(n^2): a send is O(|D| L), since each target gets its own
copy of the LOG; a delivery is O(L + those the message carries); waiting is one pass over what the message
carries in all, and an arrival touches only what it sets free. How many messages wait is bounded by what is in
transit only.
`peer_down` does nothing: no process crashes in this model. If one did and a message of it were lost, what
causally follows would wait for ever; order and exactly-once would still hold.
"""

from collections import deque
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, TypeAlias

from aforesaid.core import (
    Count,
    Effects,
    MessageId,
    Misbehaviour,
    Nanoseconds,
    Number,
    Payload,
    Process,
    frame,
)
from aforesaid.protocols.addressed import GroupMember
from aforesaid.protocols.algorithm import ORDER, RELIABLE, Algorithm, Need
from aforesaid.protocols.bibliography import cite


class Entry(NamedTuple):
    """One entry of a LOG: the message's sender and number (s, t), and the destinations that are left.

    Processes are ranks among the group's sorted names.
    """

    sender: Count
    number: Number
    destinations: tuple[Count, ...]


Entries: TypeAlias = dict[int, Entry]
"""One sender's entries, by number."""


@frame()
class Logged(NamedTuple):
    """A message, as one member of its audience gets it."""

    message_id: MessageId
    audience: tuple[Count, ...]
    log: tuple[Entry, ...]
    payload: Payload


class Pending(NamedTuple):
    """A message received and not delivered yet; no entry before `place` asks for what is missing."""

    sender: int
    message: Logged
    place: int


class Ks(GroupMember):
    """KS at one process of a fixed group."""

    def __init__(self, me: Process, group: Sequence[Process], incarnation: int = 0) -> None:
        super().__init__(me, group, incarnation)
        self.own = self.rank[me]
        self.log: dict[int, Entries] = {}
        """LOG, by sender. No entry names this process."""
        self.delivered = [0] * len(self.group)
        """SR: by sender, the number of its last message delivered here."""
        self.pending: dict[tuple[int, int], list[Pending]] = {}
        """What waits, by the (s, t) it waits for."""
        self.held: set[tuple[int, int]] = set()
        """The (sender, number) of what waits, to know duplicates by."""

    def send(self, targets: Sequence[Process], payload: Payload, now: Nanoseconds, out: Effects) -> MessageId:
        audience = tuple(sorted(self.rank[target] for target in self._others(targets)))
        message_id = self._next_id()
        for rank in audience:
            message = Logged(message_id, audience, self._attached(rank, audience), payload)
            out.send((self.group[rank],), message)
        if audience:
            self._settle(audience)
        if self.me in targets:
            out.deliver(message_id, payload)
        return message_id

    def receive(self, source: Process, message: Any, now: Nanoseconds, out: Effects) -> None:
        sender = self._rank_of(source)
        if type(message) is not Logged or not self._fits(message):
            raise Misbehaviour(f"{source} sent what no process of a group of {len(self.group)} would send")
        number = message.message_id.number
        if number > self.delivered[sender] and (sender, number) not in self.held:
            self.held.add((sender, number))
            self._deliver_ready(Pending(sender, message, 0), out)

    def gauges(self) -> Mapping[str, int]:
        """The log never empties: the newest entry of each sender stays."""
        entries = [entry for entries in self.log.values() for entry in entries.values()]
        return {
            "pending": len(self.held),
            "log_entries": len(entries),
            "log_destinations": sum(len(entry.destinations) for entry in entries),
        }

    def _fits(self, message: Logged) -> bool:
        highest = len(self.group) - 1
        named = (message.audience, *(entry.destinations for entry in message.log))
        return (
            self.own in message.audience
            and all(0 <= entry.sender <= highest for entry in message.log)
            and all(min(ranks) >= 0 and max(ranks) <= highest for ranks in named if ranks)
        )

    def _attached(self, target: int, audience: tuple[int, ...]) -> tuple[Entry, ...]:
        """The LOG as the target of a message to this audience gets it."""
        told = set(audience) - {target}
        return tuple(entry for entries in self.log.values() for entry in without(told, entries).values())

    def _settle(self, audience: tuple[int, ...]) -> None:
        """What the audience was told with the message just sent need not be said again; log the message."""
        # Null at first, so that it is the newest of its sender and not among what the audience was told.
        self.log.setdefault(self.own, {})[self.said] = Entry(self.own, self.said, ())
        told = set(audience)
        for sender, entries in self.log.items():
            self.log[sender] = without(told, entries)
        self.log[self.own][self.said] = Entry(self.own, self.said, audience)

    def _deliver_ready(self, first: Pending, out: Effects) -> None:
        """Deliver the message if nothing is missing, then all that this sets free."""
        ready = deque((first,))
        while ready:
            sender, message, place = ready.popleft()
            place = self._first_missing(message.log, place)
            if place < len(message.log):
                missing = message.log[place]
                waiting = self.pending.setdefault((missing.sender, missing.number), [])
                waiting.append(Pending(sender, message, place))
                continue
            number = message.message_id.number
            self.held.remove((sender, number))
            self.delivered[sender] = number
            self._learn(sender, message)
            out.deliver(message.message_id, message.payload)
            if self.pending:
                ready.extend(self.pending.pop((sender, number), ()))

    def _first_missing(self, log: tuple[Entry, ...], place: int) -> int:
        for at in range(place, len(log)):
            sender, number, destinations = log[at]
            if number > self.delivered[sender] and self.own in destinations:
                return at
        return len(log)

    def _learn(self, sender: int, message: Logged) -> None:
        """Merge what the message carries, and its own entry, into the LOG."""
        theirs: dict[int, Entries] = {}
        for entry in (*message.log, Entry(sender, message.message_id.number, message.audience)):
            if self.own in entry.destinations:
                entry = left(entry, {self.own})
            theirs.setdefault(entry.sender, {})[entry.number] = entry
        for origin, entries in theirs.items():
            self.log[origin] = merged(self.log.get(origin, {}), entries)


def left(entry: Entry, told: set[int]) -> Entry:
    """The entry without these destinations."""
    sender, number, destinations = entry
    return Entry(sender, number, tuple(rank for rank in destinations if rank not in told))


def without(told: set[int], entries: Entries) -> Entries:
    """One sender's entries without these destinations; a null entry goes unless it is the newest."""
    newest = max(entries)
    kept: Entries = {}
    for number, entry in entries.items():
        if not told.isdisjoint(entry.destinations):
            entry = left(entry, told)
        if entry.destinations or number == newest:
            kept[number] = entry
    return kept


def merged(mine: Entries, theirs: Entries) -> Entries:
    """What two logs together know of one sender.

    An entry that one side lacks, though it has a newer one, became null in that side's past: it is done with.
    Of an entry that both have, only those destinations are left that both name.
    """
    if mine == theirs:
        return mine
    newest_mine, newest_theirs = max(mine, default=0), max(theirs)
    newest = max(newest_mine, newest_theirs)
    both: Entries = {}
    for number, entry in mine.items():
        if number in theirs:
            done = set(entry.destinations).difference(theirs[number].destinations)
            both[number] = left(entry, done) if done else entry
        elif number > newest_theirs:
            both[number] = entry
    for number, entry in theirs.items():
        if number > newest_mine and number not in mine:
            both[number] = entry
    return {number: entry for number, entry in both.items() if entry.destinations or number == newest}


ENTRY = Algorithm(
    name="ks",
    title="KS: the least metadata for the least latency",
    sources=(cite("kshemkalyani1998necessary"), cite("almeida2026hybrid", "section 3.1 and table 1")),
    needs=(Need.RELIABLE_LINKS, Need.FIXED_GROUP, Need.NO_CRASH),
    promises=(*RELIABLE, *ORDER),
    metadata="one id, the audience and up to n^2 (sender, number, destinations)",
    make=lambda setup, _: Ks(setup.me, setup.group, setup.incarnation),
    addressed=True,
)
