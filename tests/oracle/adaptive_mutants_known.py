"""Mutants of adaptive hybrid buffering: constraints that are kept, named or closed wrongly."""

from collections.abc import Iterable, Sequence
from typing import Any

from aforesaid.protocols.delivery.hybrid_adaptive import HybridAdaptive
from aforesaid.protocols.delivery.hybrid_adaptive_frames import Name
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
        self.constraints = self.Wrong(me, self.constraints.bound)


class PermitsByOwnAcks(Knowing):
    """A permit waits for messages of one's own only."""

    class Wrong(Constraints):
        def settled(self) -> Iterable[str]:
            waiting = [peer for constraint in self.order for peer in constraint.waiting]
            return dict.fromkeys((*super().settled(), *waiting))

        def closed_below(self, peer: str, run: int) -> int:
            own = (it for it in self.order if it.open and it.by == self.me and it.at != peer)
            return next((it.place for it in own), self.order.next)


class ForgetsSuperseded(Knowing):
    """A constraint that is superseded never counts any more, whoever's boundary is above it."""

    class Wrong(Constraints):
        def _supersede(self, constraint: Constraint) -> None:
            constraint.open = False


class SupersededLost(Knowing):
    """A constraint that is superseded is not found when it holds."""

    class Wrong(Constraints):
        def learn(self, at: str, by: str, number: int, told_by: str) -> None:
            known = self.learnt.get(by, {}).get(at)
            if known and known[-1].number < number:
                del self.learnt[by][at]
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
            if at not in self.learnt.get(by, ()):
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
            names, *places = super().chosen(peer, room)
            return tuple(name for name in names if name.by != self.me), *places


class WaitsForTheOldest(Knowing):
    """A message waits up to the oldest that is not named."""

    class Wrong(Constraints):
        def chosen(self, peer: str, room: int) -> Any:
            names, unnamed, named = super().chosen(peer, room)
            if unnamed:
                oldest = next(it for it in self.candidates.values() if not it.concerns(peer))
                oldest.waiting.append(peer)
                unnamed = oldest.place
            return names, unnamed, named


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
        def hold(self, names: Iterable[Name]) -> None:
            super().hold([name._replace(number=1 << 60) for name in names])
