"""Mutants of adaptive hybrid buffering: constraints that are kept, named or closed wrongly."""

from collections.abc import Iterable, Sequence
from typing import Any

from aforesaid.protocols.delivery.hybrid_adaptive import HybridAdaptive
from aforesaid.protocols.delivery.hybrid_constraints import Constraint, Constraints


def hide(known: Constraints, hidden: Sequence[Constraint]) -> None:
    """These learnt constraints are no candidates."""
    for it in hidden:
        known._withdraw(it)
        if known.on.get(it.at, {}).pop(it.by, None) and not known.on[it.at]:
            del known.on[it.at]


def show(known: Constraints, hidden: Sequence[Constraint]) -> None:
    """They are candidates again."""
    for it in hidden:
        known.on.setdefault(it.at, {})[it.by] = it
        known.candidates[it.at, it.by] = it
        for process in {it.at, it.by, it.told_by}:
            known.concerned[process] = known.concerned.get(process, 0) + 1
    known.candidates = dict(sorted(known.candidates.items(), key=lambda item: item[1].place))


class Knowing(HybridAdaptive):
    """One whose constraints are kept wrongly."""

    Wrong: type[Constraints]

    def __init__(self, me: str, *arguments: Any, **settings: Any) -> None:
        super().__init__(me, *arguments, **settings)
        self.constraints = self.Wrong(me)


class PermitsByOwnAcks(Knowing):
    """A permit waits for messages of one's own only."""

    class Wrong(Constraints):
        def settled(self) -> Iterable[str]:
            for constraint in self.order:
                self.dirty.update(dict.fromkeys(constraint.below))
            return super().settled()

        def closed_below(self, peer: str, run: int) -> int:
            own = (it for it in self.order if it.open and it.by == self.me and it.at != peer)
            return next((it.place for it in own), self.order.next)


class ForgetsSuperseded(Knowing):
    """A constraint that is superseded never counts any more, whoever's boundary is above it."""

    class Wrong(Constraints):
        def _supersede(self, constraint: Constraint) -> None:
            constraint.open = False


class SupersededHolds(Knowing):
    """A constraint that is superseded is told to hold."""

    class Wrong(Constraints):
        def _supersede(self, constraint: Constraint) -> None:
            self._close(constraint)


class SupersededLost(Knowing):
    """A constraint that is superseded is not found when it holds."""

    class Wrong(Constraints):
        def learn(self, at: str, by: str, number: int, told_by: str) -> None:
            known = self.learnt.get((at, by))
            if known and known[-1].number < number:
                del self.learnt[at, by]
            super().learn(at, by, number, told_by)


class StandsForAll(Knowing):
    """A message to X stands for what it waits for there, also if its sender is gone."""

    class Wrong(Constraints):
        def sent(self, at: str, number: int) -> Constraint:
            for constraint in list(self.on.get(at, {}).values()):
                hide(self, [constraint])
                self._supersede(constraint)
            return super().sent(at, number)


class FirstVersionOnly(Knowing):
    """Of a pair only the oldest that is not known to hold is known."""

    class Wrong(Constraints):
        def learn(self, at: str, by: str, number: int, told_by: str) -> None:
            if (at, by) not in self.learnt:
                super().learn(at, by, number, told_by)


class PassesAll(Knowing):
    """If the oldest constraint concerns the peer, none is waited for."""

    class Wrong(Constraints):
        def closed_below(self, peer: str, run: int) -> int:
            order = self.order
            first = order.first
            return order.next if first < order.next and order.peek.concerns(peer) else first


class RunsAhead(Knowing):
    """Where the last search for one peer ended the next begins, whoever asks."""

    class Wrong(Constraints):
        ahead = 0

        def closed_below(self, peer: str, run: int) -> int:
            self.ahead = super().closed_below(peer, max(run, self.ahead))
            return self.ahead


class LearntNotPassedOn(Knowing):
    """What was learnt is left to its teller: it is never named, and makes nothing opaque."""

    class Wrong(Constraints):
        def chosen(self, peer: str, room: int) -> Any:
            learnt = [it for it in self.candidates.values() if it.by != self.me]
            hide(self, learnt)
            chosen = super().chosen(peer, room)
            show(self, learnt)
            return chosen


class OwnNotNamed(Knowing):
    """What was learnt is named, what one said oneself is not."""

    class Wrong(Constraints):
        def chosen(self, peer: str, room: int) -> Any:
            chosen, boundary = super().chosen(peer, room)
            return [it for it in chosen if it.by != self.me], boundary


class LooksNoFurther(Knowing):
    """Where looking ends because the receiver knows so many, nothing is taken to be unnamed."""

    class Wrong(Constraints):
        def chosen(self, peer: str, room: int) -> Any:
            chosen, boundary = super().chosen(peer, room)
            if boundary is not None and boundary.concerns(peer):
                boundary = None
            return chosen, boundary


class BoundaryTooLow(Knowing):
    """The boundary is the oldest that is not named."""

    class Wrong(Constraints):
        def chosen(self, peer: str, room: int) -> Any:
            chosen, boundary = super().chosen(peer, room)
            if boundary is not None:
                boundary.below.pop()
                boundary = next(it for it in self.candidates.values() if not it.concerns(peer))
                boundary.below.append(peer)
            return chosen, boundary


class AckOfAll(Knowing):
    """An ack is taken for all that the peer was sent."""

    class Wrong(Constraints):
        def acknowledged(self, constraint: Constraint) -> None:
            youngest = self.candidates.get((constraint.at, self.me))
            if youngest is not None and youngest is not constraint:
                super().acknowledged(youngest)
            super().acknowledged(constraint)


class FactOfAll(Knowing):
    """What holds of a pair is taken for all of it."""

    class Wrong(Constraints):
        def fact(self, at: str, by: str, number: int) -> None:
            super().fact(at, by, 1 << 60)
