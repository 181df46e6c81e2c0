"""What the hybrid-buffering processes say to each other, and what each keeps of one peer.

Almeida (2026), section 5. One channel per ordered pair of processes; its messages have ascending
numbers, and each names its predecessor on the channel, so that the receiver can restore FIFO order.

Deviations from the paper:
- acks and permits are cumulative per channel (docs/corrections.md, R12): Ack n tells that all messages of the
  channel up to n were delivered, Permit n permits them all, and an unflagged Msg n is itself a permit for all
  up to n. So what one step has to tell one peer is one number, and a late or repeated frame tells nothing
  new;
- an ack that is sent again because a permit is missing says so, and names the oldest missing one. The paper's
  sender answers any old ack with a permit it may never have owed, and cannot tell which one was lost. Naming
  only the youngest would not do: an older permit may be needed to get the younger one given;
- Early is ours: the sender learns at once what came before its time, and so what did not (`repair`);
- News, PermitNews and Notice are ours: processes do not fail in the paper. What they are for: see
  `hybrid_eviction`.
"""

from collections import deque
from typing import Any, NamedTuple

from aforesaid.core import Count, Members, Number, Payloads, Process, frame
from aforesaid.protocols.delivery.hybrid_runs import is_run_of_its_own
from aforesaid.protocols.repair import NONE, Flight, Pace, RoundTrip


@frame(deferrable=True, holds=is_run_of_its_own, numbered=("incarnation", "number"))
class Msg(NamedTuple):
    """A message of the application, or a run of them, on its way (MSG)."""

    incarnation: Count
    number: Number
    """Of a run, that of its last message."""
    previous: Count
    """The number before it on this channel, 0 if it is the first."""
    flagged: bool
    """Whoever delivers it needs a permit before it may pass on what it knows."""
    payload: Payloads


@frame(deferrable=True, gone="gone")
class News(NamedTuple):
    """A message to a peer that may not know of an eviction: it tells who is gone."""

    gone: Members
    message: Msg


@frame(gone="gone")
class Notice(NamedTuple):
    """Who is gone, for a peer that owes us permits: it may be waiting for one of them."""

    gone: Members


# An ack with a request for a permit is more than an ack.
@frame(cumulative=lambda ack: not ack.wanted)
class Ack(NamedTuple):
    """Everything of this channel up to `number` was delivered (ACK)."""

    number: Count
    wanted: Count
    """The oldest message whose permit is missing, if this is a reminder, else 0."""


@frame()
class Early(NamedTuple):
    """Everything of this channel up to `number` was delivered, and `came` has come before its time."""

    number: Count
    came: Number


@frame(cumulative=True)
class Permit(NamedTuple):
    """What the messages of this channel up to `number` tell may be passed on (PERMIT)."""

    number: Number


@frame(gone="gone")
class PermitNews(NamedTuple):
    """A permit to a peer that may not know of an eviction: it tells who is gone, for it may rest on that."""

    gone: Members
    number: Number


REMIND = "remind"


class Remind(NamedTuple):
    """The timer of one peer: of the permits it owes."""

    peer: Process
    what: str = REMIND
    """Without it, it would be equal to the peer's other timer."""


class Continue(NamedTuple):
    """The timer of what a step left over (`hybrid_batches`); it has no peer, and so is equal to no other."""


class Channel:
    """What a process keeps of one peer, in both directions. All numbers are 0 for "none yet"."""

    __slots__ = (
        "delivered",
        "early",
        "flight",
        "given",
        "known",
        "last",
        "missing",
        "news",
        "patience",
        "permits",
        "permitted",
        "told",
        "unacked",
    )

    def __init__(self, peer: Process, pace: Pace) -> None:
        self.last = 0
        """The last message said to the peer (ls), network-sent or not."""
        self.unacked: deque[int] = NONE
        """The messages network-sent to the peer and not acknowledged, ascending."""
        self.flight = Flight(peer, pace)
        """Which of them are on their way, are lost, or have to wait for those to come."""
        self.given = 0
        """The highest permit given to the peer, by Permit or by an unflagged Msg. A message of this channel
        that was network-sent and has a higher number still needs its permit."""
        self.delivered = 0
        """The last message of the peer delivered here (ld)."""
        self.early: dict[int, Any] | None = None
        """Messages of the peer that came before their predecessor, by the predecessor's number (rb)."""
        self.permitted = 0
        """The highest permit known from the peer (pk); it may be ahead of what was delivered (R5)."""
        self.missing: deque[int] = NONE
        """The peer's messages delivered here whose permits are missing (miss), ascending."""
        self.permits = RoundTrip(pace.resend_after)
        """How long the peer's permits take."""
        self.patience = 1
        """How many times as long it takes until the peer is reminded again."""
        self.known = self.told = 0
        """Of the evictions, in their order, how many the peer is known to know, and how many the messages
        that left for it tell."""
        self.news: dict[int, int] | None = None
        """By number, how many the messages tell that are not acknowledged. Like `early` it is there only if
        it has something: two empty ones would cost as much as all else of a peer that is at rest."""

    def tell(self, number: int, count: int) -> None:
        """This message tells of so many evictions."""
        self.told = count
        if self.news is None:
            self.news = {}
        self.news[number] = count

    def heard(self, number: int) -> None:
        """The peer acknowledged all messages up to this one: it knows what they told."""
        news = self.news or {}
        self.known = max(self.known, *(count for k, count in news.items() if k <= number), 0)
        self.news = {k: count for k, count in news.items() if count > self.known} or None

    def forget(self, place: int) -> None:
        """One eviction is undone: those that came after it move up."""
        self.known -= self.known > place
        self.told -= self.told > place
        if self.news:
            self.news = {number: count - (count > place) for number, count in self.news.items()}
