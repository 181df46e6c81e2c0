"""Mutants of Spray: naive readings of the paper, and slips in what it leaves to the implementer.

They are not held against traces, as those of the registry, but against the rules of Spray: each names the one
that it breaks.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from aforesaid.protocols.overlay.spray import NEW, PERIOD, Arc, Introduce, Pending, Reply, Request, Spray
from support import spray_rules as rules


@dataclass(frozen=True)
class SprayMutant:
    """One broken rule of Spray."""

    kind: type[Spray]
    breaks: Callable[[type[Spray]], None]


class RemovesByPeer(Spray):
    """Removes what was sent by name, and with it every other arc to the same peers."""

    def _remove(self, arcs: Iterable[Arc]) -> None:
        gone = {arc.peer for arc in arcs}
        self.free = [arc for arc in self.free if arc.peer not in gone]


class SelfNotReplaced(Spray):
    """Sends arcs as they are: the receiver gets arcs to itself."""

    def _turned(self, arcs: Iterable[Arc], receiver: str) -> tuple[Arc, ...]:
        return tuple(arcs)


class OneSelfReplaced(Spray):
    """Turns one arc round, that of the chosen neighbour; others to it may be in the sample."""

    def _turned(self, arcs: Iterable[Arc], receiver: str) -> tuple[Arc, ...]:
        first, *rest = [*arcs, None]
        turned = Arc(self.me) if first and first.peer == receiver else first
        return tuple(arc for arc in (turned, *rest) if arc)


class HalfRoundedUp(Spray):
    def _half(self, arcs: Sequence[Arc]) -> int:
        return (len(arcs) + 1) // 2


class HalfOfAll(Spray):
    """Counts arcs that cannot be given: gives more than half of the others."""

    def _half(self, arcs: Sequence[Arc]) -> int:
        return super()._half(self.view)


class OneMoreReplaced(Spray):
    """The paper's loop from 0 to the number of arcs lost, both included."""

    def _lose(self, peer: str) -> list[Arc]:
        lost = super()._lose(peer)
        return [*lost, *lost[:1]]


class ProbabilityOfWhatIsLeft(Spray):
    """1 - 1/|view| with the view as it is after the loss."""

    def peer_down(self, peer: str, now: int, links: Any) -> None:
        for _ in self._lose(peer):
            if self.view and links.choose("shrink", len(self.view)) > 0:
                self._duplicate(links)


class NeverShrinks(Spray):
    """Replaces every arc of a crashed peer: views keep the length of a group that is gone."""

    def peer_down(self, peer: str, now: int, links: Any) -> None:
        self.arc_down(peer, now, links)


class ShrinksWithoutCrash(Spray):
    """Takes a link that failed for a crash."""

    def arc_down(self, peer: str, now: int, links: Any) -> None:
        self.peer_down(peer, now, links)


class GivesLentArcs(Spray):
    """Draws from the whole view while an exchange is pending: arcs are given twice."""

    def _ours_to_give(self, links: Any) -> list[Arc]:
        return [arc for arc in self.view if links.usable(arc.peer)]

    def _remove(self, arcs: Iterable[Arc]) -> None:
        super()._remove(arc for arc in arcs if arc in self.free)


class GivesUnusableArcs(Spray):
    """Gives arcs that are still being linked: nobody could mediate for their takers."""

    def _ours_to_give(self, links: Any) -> list[Arc]:
        return list(self.free)


class AsksTheFirst(Spray):
    """Asks any neighbour, not the oldest."""

    def _ask(self, links: Any) -> None:
        self.free = [Arc(arc.peer) for arc in self.free]
        super()._ask(links)


class InStep(Spray):
    def _arm_first(self, now: int, links: Any) -> None:
        links.arm(PERIOD, now + self.period)


class GivesBeforeTheAnswer(Spray):
    """Removes what it sends when it sends it: a lost message takes the arcs along."""

    def _ask(self, links: Any) -> None:
        super()._ask(links)
        self.lent = []


class AsksAnewEveryPeriod(Spray):
    """Gives up without an answer; the partner may have taken the offer, and given for it."""

    def expire(self, timer: Any, now: int, links: Any) -> None:
        self.free, self.lent, self.pending = self.view, [], None
        super().expire(timer, now, links)


class TakesOffersTwice(Spray):
    """Remembers no answer."""

    def _answer(self, source: str, request: Request, links: Any) -> None:
        self.answers.clear()
        super()._answer(source, request, links)


class TakesOldOffers(Spray):
    """Knows its last answer only when that very request comes again."""

    def _answer(self, source: str, request: Request, links: Any) -> None:
        if source in self.answers and self.answers[source].exchange != request.exchange:
            del self.answers[source]
        super()._answer(source, request, links)


class RemembersForEver(Spray):
    def expire(self, timer: Any, now: int, links: Any) -> None:
        answers = self.answers
        super().expire(timer, now, links)
        self.answers = answers


class IncarnationsAreOne(Spray):
    """Numbers exchanges without the incarnation: a reborn asker gets its predecessor's answer."""

    def __init__(self, me: str, period: int, incarnation: int = 0) -> None:
        super().__init__(me, period)


class AnswersTheDead(Spray):
    """Takes an offer over any link, or none."""

    def _answer(self, source: str, request: Request, links: Any) -> None:
        unusable, links.unusable = links.unusable, set()
        super()._answer(source, request, links)
        links.unusable = unusable


class TakesLateAnswers(Spray):
    """Takes the answer to an offer that it has taken back."""

    def _complete(self, reply: Reply, links: Any) -> None:
        self.pending = self.pending or Pending("q", Request(reply.exchange, ()))
        super()._complete(reply, links)


class ReplacesLentArcs(Spray):
    """Replaces an arc that its taker replaces as well."""

    def _lose(self, peer: str) -> list[Arc]:
        lost = [arc for arc in self.view if arc.peer == peer]
        super()._lose(peer)
        return lost


class NewcomersAreReplaced(Spray):
    """Replaces what a join has brought, although it goes with the newcomer: every such crash adds a view."""

    def _replace(self, lost: Iterable[Arc], *how: Any) -> None:
        super()._replace((Arc(arc.peer) for arc in lost), *how)


class CrashesTakeTheLast(Spray):
    """Lets crashes make a view as short as they will: one that keeps coming back dissolves a group."""

    def _keep_enough(self, lost: int, links: Any) -> None: ...


class NewForEver(Spray):
    """Never replaces an arc that an introduction made."""

    def expire(self, timer: Any, now: int, links: Any) -> None:
        new = Counter(arc.peer for arc in self.free if arc.new)
        super().expire(timer, now, links)
        self.free = [Arc(arc.peer, NEW) if new[arc.peer] else arc for arc in self.free]


class NewcomersAreOldest(Spray):
    """Takes the mark of a new arc for its age."""

    def _place_of_partner(self, arcs: Sequence[Arc], links: Any) -> int:
        return max(range(len(arcs)), key=lambda place: arcs[place].age)


class IntroducesToItself(Spray):
    """Forwards a newcomer to each arc, whoever that is and whether or not it can be reached."""

    def welcomed(self, newcomer: str, now: int, links: Any) -> None:
        for arc in self.view:
            links.send(arc.peer, Introduce(newcomer))


class LeaversAreReplaced(Spray):
    """Takes a leave for a link that failed: what a join brought stays when it is undone."""

    def left(self, peer: str, arcs: int, now: int, links: Any) -> None:
        self.arc_down(peer, now, links)


class LeaversAreCrashed(Spray):
    """Takes a leave for a crash, whatever goes with it."""

    def left(self, peer: str, arcs: int, now: int, links: Any) -> None:
        self.peer_down(peer, now, links)


class LosesItsLast(Spray):
    """Follows the law of averages down to nothing."""

    def left(self, peer: str, arcs: int, now: int, links: Any) -> None:
        more = len(self.view)
        self.free += [Arc("")] * more
        super().left(peer, arcs, now, links)
        self.free = [arc for arc in self.free if arc.peer]


class NothingWithdrawn(Spray):
    """Lets those it introduced find out for themselves that the newcomer has gone."""

    def welcomed(self, newcomer: str, now: int, links: Any) -> None:
        super().welcomed(newcomer, now, links)
        self.introduced.clear()


class HeirsAreMore(Spray):
    """Takes a new arc whenever a leaver names one: every visit to a few makes views grow."""

    def inherit(self, peer: str, leaver: str, now: int, links: Any) -> None:
        self._take(Arc(peer), leaver, links)


class Boundless(Spray):
    def _take(self, arc: Arc, mediator: str, links: Any) -> None:
        self.free.append(arc)
        links.connect(arc.peer, mediator)


class RemovesOneByOne(Spray):
    def _remove(self, arcs: Iterable[Arc]) -> None:
        for arc in arcs:
            self.free.remove(arc)


class NeverSettles(Spray):
    def settle(self) -> None:
        pass


class SettlesAtOnce(Spray):
    """Leaves the exchange that is out without an answer for ever."""

    def expire(self, timer: Any, now: int, links: Any) -> None:
        if not self.settled:
            super().expire(timer, now, links)


SPRAY_MUTANTS = [
    SprayMutant(RemovesByPeer, rules.what_was_sent_is_removed_and_nothing_else),
    SprayMutant(RemovesByPeer, rules.exchanges_neither_make_nor_lose_arcs),
    SprayMutant(SelfNotReplaced, rules.every_arc_to_its_receiver_is_turned_round),
    SprayMutant(SelfNotReplaced, rules.exchanges_neither_make_nor_lose_arcs),
    SprayMutant(OneSelfReplaced, rules.every_arc_to_its_receiver_is_turned_round),
    SprayMutant(OneSelfReplaced, rules.exchanges_neither_make_nor_lose_arcs),
    SprayMutant(HalfRoundedUp, rules.the_oldest_is_asked_and_offered_half),
    SprayMutant(HalfRoundedUp, rules.the_partner_gives_half_of_its_own),
    SprayMutant(HalfOfAll, rules.only_usable_arcs_are_given_and_only_usable_partners_asked),
    SprayMutant(OneMoreReplaced, rules.arcs_of_a_crashed_peer_are_replaced_but_for_one_in_a_viewful),
    SprayMutant(OneMoreReplaced, rules.arcs_that_go_down_are_all_replaced),
    SprayMutant(ProbabilityOfWhatIsLeft, rules.arcs_of_a_crashed_peer_are_replaced_but_for_one_in_a_viewful),
    SprayMutant(NeverShrinks, rules.arcs_of_a_crashed_peer_are_replaced_but_for_one_in_a_viewful),
    SprayMutant(ShrinksWithoutCrash, rules.arcs_that_go_down_are_all_replaced),
    SprayMutant(GivesLentArcs, rules.what_is_lent_is_given_to_nobody_else),
    SprayMutant(GivesLentArcs, rules.exchanges_neither_make_nor_lose_arcs),
    SprayMutant(GivesUnusableArcs, rules.only_usable_arcs_are_given_and_only_usable_partners_asked),
    SprayMutant(AsksTheFirst, rules.the_oldest_is_asked_and_offered_half),
    SprayMutant(InStep, rules.the_first_exchange_comes_anywhere_within_a_period),
    SprayMutant(GivesBeforeTheAnswer, rules.an_unanswered_request_is_sent_again_and_no_other),
    SprayMutant(AsksAnewEveryPeriod, rules.an_unanswered_request_is_sent_again_and_no_other),
    SprayMutant(AsksAnewEveryPeriod, rules.exchanges_neither_make_nor_lose_arcs),
    SprayMutant(TakesOffersTwice, rules.a_request_that_comes_again_is_answered_as_before),
    SprayMutant(TakesOffersTwice, rules.exchanges_neither_make_nor_lose_arcs),
    SprayMutant(TakesOldOffers, rules.an_older_request_that_comes_late_is_not_answered),
    SprayMutant(RemembersForEver, rules.answers_are_forgotten_with_their_links),
    SprayMutant(IncarnationsAreOne, rules.a_new_incarnation_does_not_ask_again_but_anew),
    SprayMutant(AnswersTheDead, rules.a_request_over_no_usable_link_is_not_answered),
    SprayMutant(TakesLateAnswers, rules.the_offer_to_a_lost_partner_is_taken_back),
    SprayMutant(ReplacesLentArcs, rules.a_lent_arc_that_goes_down_is_replaced_by_its_taker_only),
    SprayMutant(NewcomersAreReplaced, rules.who_crashes_soon_after_joining_takes_away_what_it_brought),
    SprayMutant(NewForEver, rules.who_crashes_soon_after_joining_takes_away_what_it_brought),
    SprayMutant(NewcomersAreOldest, rules.the_mark_of_a_new_arc_is_no_age),
    SprayMutant(CrashesTakeTheLast, rules.who_has_few_arcs_loses_none_by_a_crash),
    SprayMutant(IntroducesToItself, rules.neighbours_that_cannot_be_reached_are_stood_in_for),
    SprayMutant(LeaversAreReplaced, rules.who_leaves_takes_away_what_it_brought),
    SprayMutant(LeaversAreCrashed, rules.who_leaves_takes_away_what_it_brought),
    SprayMutant(LosesItsLast, rules.who_has_few_arcs_loses_none_by_a_leave),
    SprayMutant(NothingWithdrawn, rules.who_was_introduced_to_a_newcomer_hears_that_it_left),
    SprayMutant(HeirsAreMore, rules.an_heir_takes_the_place_of_a_second_arc),
    SprayMutant(Boundless, rules.views_are_bounded),
    SprayMutant(RemovesOneByOne, rules.removing_arcs_takes_a_look_at_each),
    SprayMutant(NeverSettles, rules.settled_processes_begin_nothing_and_finish_what_they_began),
    SprayMutant(SettlesAtOnce, rules.settled_processes_begin_nothing_and_finish_what_they_began),
]
