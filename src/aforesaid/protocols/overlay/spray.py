"""Spray: peer sampling whose views are as long as ln N.

Nédelec and others (2017); Nédelec, Molli and Mostéfaoui (2018b), section 3, builds its overlay with it.

The view is a multiset of arcs, each a peer and an age. Joins add arcs, leaves and crashes take some away, and
exchanges only move them: so views stay near ln N, and nobody needs to know N.
- Join: the newcomer takes its contact; the contact introduces it to the peer of each of its arcs.
- Every period, arcs grow older, and half of them, rounded down, go to the oldest neighbour, at least the one
  to it. It gives half of its own for them, rounded down, none to the asker. An arc given to
  the peer that it names is turned round and names the giver: nobody ever has an arc to itself.
- Peer down: its arcs go, and each is replaced, with probability 1 - 1/|view|, by a second arc to a random
  neighbour. Arc down: the same, with certainty.
- Either way (ours), an arc that an introduction made less than two periods ago is not replaced: it came with
  a newcomer that has few arcs yet, and goes with it; or every crash soon after joining would add a view.
- Leave in good order (ours; the paper has crashes only): the leaver tells how many arcs go with it, and each
  arc to it is replaced, on average, (that number - 1)/|view| times. If its view is like others', as many arcs
  go as by a crash; if it has not exchanged yet and has but one arc, those go that its join has brought. Its
  contact tells those it was introduced to, for they may have no link to it yet.
So visits, however short and however they end, do not make views grow; and no view gets shorter than
`VIEW_MIN` by them.

The paper's exchange is a remote call that does not fail. Here messages may be lost, delayed and reordered:
- only arcs with a usable link are given, half of these, and only over a usable link;
- what was offered is *lent* until the answer comes: it stays in the view, and is given to nobody else;
- a request without an answer is sent again a period later, in place of a new one. It is answered as before,
  and its arcs are not taken again: whatever is lost, exchanges neither lose nor make arcs.
  The answer is remembered while the link to the asker is usable;
- if the partner goes down, or the link to it, the offer is taken back. Only then arcs may be doubled, and as
  many lost on average: if the partner had taken the offer, and its answer is lost with the link;
- a lent arc that goes down is not replaced here: who has taken it replaces it.

Memory: the view, the request that is out, and per neighbour one answer, and whom it was introduced to. No
view is longer than `VIEW_MAX`, whatever others tell.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Annotated, Any, NamedTuple, TypeAlias

from aforesaid.core import Count, Nanoseconds, Number, Process, Timer, frame
from aforesaid.core.fields import AtMost
from aforesaid.protocols.overlay.sampling import Links, Sampler

PERIOD: Timer = "spray period"
VIEW_MIN = 3
"""Who has so few arcs loses none by a leave or a crash: the laws that these follow are of averages, and a
group that many visit and few stay in would lose a little by each visit."""
VIEW_MAX = 2**10
"""Above all that a group brings; below it, half of a view fits into a sample."""


NEW = 64
"""Added to the age of an arc that an introduction made, as long as it is new; no age counts so far."""
NEW_PERIODS = 2
"""Every newcomer has exchanged by then."""


class Arc(NamedTuple):
    """One entry of a view: a wanted neighbour, and how many periods ago the arc was made."""

    peer: Process
    age: Count = 0

    @property
    def new(self) -> bool:
        """True if it came with the peer's join, a short while ago."""
        return self.age >= NEW

    @property
    def periods(self) -> int:
        return self.age % NEW

    def older(self) -> "Arc":
        """A period later."""
        periods = min(self.periods + 1, NEW - 1)
        return Arc(self.peer, periods + (NEW if self.new and periods < NEW_PERIODS else 0))


Sample: TypeAlias = Annotated[tuple[Arc, ...], AtMost(VIEW_MAX)]


@frame()
class Introduce(NamedTuple):
    """Take an arc to this newcomer."""

    newcomer: Process


@frame()
class Request(NamedTuple):
    """An offer of arcs, for half of the receiver's."""

    exchange: tuple[Count, Number]
    """The asker's incarnation, and its own count of exchanges."""
    sample: Sample


@frame()
class Reply(NamedTuple):
    """The offer was taken; these are given for it."""

    exchange: tuple[Count, Number]
    sample: Sample


@frame()
class Withdraw(NamedTuple):
    """The newcomer I introduced to you has left, and so many arcs with it."""

    newcomer: Process
    arcs: Count


class Pending(NamedTuple):
    """The exchange that this process has begun."""

    partner: Process
    request: Request


class Spray(Sampler):
    """Spray at one process."""

    def __init__(self, me: Process, period: Nanoseconds, incarnation: int = 0) -> None:
        self.me = me
        self.period = period
        self.incarnation = incarnation
        self.free: list[Arc] = []
        self.lent: list[Arc] = []
        """What the pending exchange offers, as it was before arcs to the partner were turned round."""
        self.pending: Pending | None = None
        self.begun = 0
        self.answers: dict[Process, Reply] = {}
        """By neighbour, the last answer: its request may come again."""
        self.introduced: dict[Process, list[Process]] = {}
        """By neighbour that came through us, those we introduced it to."""
        self.settled = False

    @property
    def view(self) -> list[Arc]:
        """All arcs from this process."""
        return self.free + self.lent

    def begin(self, neighbours: Sequence[Process], now: Nanoseconds, links: Links) -> None:
        for peer in neighbours:
            self._take(Arc(peer), peer, links)
        self._arm_first(now, links)

    def joined(self, contact: Process, now: Nanoseconds, links: Links) -> None:
        self._take(Arc(contact), contact, links)
        self._arm_first(now, links)

    def welcomed(self, newcomer: Process, now: Nanoseconds, links: Links) -> None:
        """One arc to the newcomer for each of ours, made by neighbours that can reach it through us."""
        able = [arc.peer for arc in self.view if arc.peer != newcomer and links.usable(arc.peer)]
        if not able:
            self._take(Arc(newcomer, NEW), newcomer, links)
            return
        missing = len(self.view) - len(able)
        stand_ins = [able[links.choose("introduce", len(able))] for _ in range(missing)]
        self.introduced[newcomer] = able + stand_ins
        for peer in self.introduced[newcomer]:
            links.send(peer, Introduce(newcomer))

    def receive(self, source: Process, message: Any, now: Nanoseconds, links: Links) -> None:
        match message:
            case Introduce(newcomer):
                self._take(Arc(newcomer, NEW), source, links)
            case Request():
                self._answer(source, message, links)
            case Reply():
                self._complete(message, links)
            case Withdraw(newcomer, arcs):
                self.left(newcomer, arcs, now, links)
                links.release(newcomer)

    def expire(self, timer: Timer, now: Nanoseconds, links: Links) -> None:
        self.free = [arc.older() for arc in self.free]
        self.lent = [arc.older() for arc in self.lent]
        self.answers = {peer: reply for peer, reply in self.answers.items() if links.usable(peer)}
        self.introduced = {peer: to for peer, to in self.introduced.items() if links.usable(peer)}
        if self.pending:
            links.send(self.pending.partner, self.pending.request)
        elif not self.settled:
            self._ask(links)
        if self.pending or not self.settled:
            links.arm(timer, now + self.period)

    def peer_down(self, peer: Process, now: Nanoseconds, links: Links) -> None:
        size = len(self.view)
        self._replace(self._lose(peer), lambda: links.choose("shrink", size) > 0, links)

    def arc_down(self, peer: Process, now: Nanoseconds, links: Links) -> None:
        self._replace(self._lose(peer), lambda: True, links)

    def left(self, peer: Process, arcs: int, now: Nanoseconds, links: Links) -> None:
        size = len(self.view)
        lost = len(self._lose(peer))
        for _ in range(lost):
            copies, rest = divmod(min(max(arcs - 1, 0), VIEW_MAX), size)
            for _ in range(copies + (links.choose("stay", size) < rest)):
                self._duplicate(links)
        self._keep_enough(lost, links)
        for neighbour in self.introduced.pop(peer, ()):
            if neighbour != peer:
                links.send(neighbour, Withdraw(peer, arcs))

    def weight(self) -> int:
        return len(self.view)

    def inherit(self, peer: Process, leaver: Process, now: Nanoseconds, links: Links) -> None:
        """A second arc to some other peer is turned to this one; without any, the view grows."""
        arcs = Counter(arc.peer for arc in self.view)
        second = next((arc for arc in self.free if arcs[arc.peer] > 1 and arc.peer != leaver), None)
        if second is not None:
            self._remove((second,))
        self._take(Arc(peer), leaver, links)

    def wants(self, peer: Process) -> bool:
        return any(arc.peer == peer for arc in self.view)

    def settle(self) -> None:
        self.settled = True

    def gauges(self) -> Mapping[str, int]:
        return {"exchanges": 1 if self.pending else 0}

    def _arm_first(self, now: Nanoseconds, links: Links) -> None:
        """The first exchange comes anywhere within a period, so that processes do not exchange in step."""
        if not self.settled:
            links.arm(PERIOD, now + 1 + links.choose("phase", self.period))

    def _ask(self, links: Links) -> None:
        """Offer half to the oldest neighbour; the arc to it is part of that half."""
        ours = self._ours_to_give(links)
        if not ours:
            return
        half = self._half(ours)
        chosen = ours.pop(self._place_of_partner(ours, links))
        self.lent = [chosen, *_drawn(half - 1, ours, links)]
        self._remove(self.lent)
        self.begun += 1
        request = Request((self.incarnation, self.begun), self._turned(self.lent, chosen.peer))
        self.pending = Pending(chosen.peer, request)
        links.send(chosen.peer, request)

    def _place_of_partner(self, arcs: Sequence[Arc], links: Links) -> int:
        """Which of the arcs leads to the partner of an exchange: the oldest."""
        return max(range(len(arcs)), key=lambda place: arcs[place].periods)

    def _answer(self, source: Process, request: Request, links: Links) -> None:
        known = self.answers.get(source)
        if known and known.exchange >= request.exchange:
            if known.exchange == request.exchange:
                links.send(source, known)
            return
        if not links.usable(source):
            return  # It could mediate nothing. If it is alive and still offers, it will ask again.
        ours = self._ours_to_give(links)
        others = [arc for arc in ours if arc.peer != source]
        given = _drawn(self._half(ours), others, links)
        self._remove(given)
        self.answers[source] = Reply(request.exchange, tuple(given))
        links.send(source, self.answers[source])
        self._swap(given, request.sample, source, links)

    def _complete(self, reply: Reply, links: Links) -> None:
        if self.pending and self.pending.request.exchange == reply.exchange:
            partner, given = self.pending.partner, self.lent
            self.pending, self.lent = None, []
            self._swap(given, reply.sample, partner, links)

    def _swap(self, given: Iterable[Arc], taken: Sample, partner: Process, links: Links) -> None:
        """The given arcs have left the view. New links are asked for first: none that stays wanted flaps."""
        for arc in taken:
            self._take(arc, partner, links)
        for arc in given:
            links.release(arc.peer, partner)

    def _take(self, arc: Arc, mediator: Process, links: Links) -> None:
        if len(self.free) + len(self.lent) < VIEW_MAX:
            self.free.append(arc)
            links.connect(arc.peer, mediator)

    def _duplicate(self, links: Links) -> None:
        if view := self.view:
            peer = view[links.choose("duplicate", len(view))].peer
            self._take(Arc(peer), peer, links)

    def _replace(self, lost: Iterable[Arc], chance: Callable[[], bool], links: Links) -> None:
        """Those of the arcs that did not come with a newcomer, and of these those that chance wants."""
        gone = 0
        for arc in lost:
            if arc.new or not chance():
                gone += 1
            else:
                self._duplicate(links)
        self._keep_enough(gone, links)

    def _keep_enough(self, lost: int, links: Links) -> None:
        """Of arcs lost, so many are replaced after all."""
        for _ in range(min(lost, VIEW_MIN - len(self.view))):
            self._duplicate(links)

    def _lose(self, peer: Process) -> list[Arc]:
        """Drop all arcs to the peer; those of them that are ours to replace."""
        if self.pending and self.pending.partner == peer:
            self.free, self.lent, self.pending = self.view, [], None
        ours = [arc for arc in self.free if arc.peer == peer]
        self.free = [arc for arc in self.free if arc.peer != peer]
        self.lent = [arc for arc in self.lent if arc.peer != peer]
        return ours

    def _ours_to_give(self, links: Links) -> list[Arc]:
        return [arc for arc in self.free if links.usable(arc.peer)]

    def _half(self, arcs: Sequence[Arc]) -> int:
        return len(arcs) // 2

    def _remove(self, arcs: Iterable[Arc]) -> None:
        """Arcs of the same peer and age are the same to everyone: one of them goes for each."""
        gone = Counter(arcs)
        kept = []
        for arc in self.free:
            if gone[arc]:
                gone[arc] -= 1
            else:
                kept.append(arc)
        self.free = kept

    def _turned(self, arcs: Iterable[Arc], receiver: Process) -> Sample:
        """As the receiver is to take them: arcs to itself become new arcs to us."""
        return tuple(Arc(self.me) if arc.peer == receiver else arc for arc in arcs)


def _drawn(count: int, arcs: Iterable[Arc], links: Links) -> list[Arc]:
    """So many of the arcs, or all, at random, none twice."""
    urn = list(arcs)
    return [urn.pop(links.choose("arc", len(urn))) for _ in range(min(count, len(urn)))]
