"""How adaptive hybrid buffering does without the word of a process that is gone.

What it told, named or not, is about messages that were sent before it spoke. So everyone else in the group is
asked to tell when all that it *has sent* by now is delivered. What is said and unsent does not count: it is
in nobody's past, and may itself be waiting for an answer. Answers wait for acks only, so they come; and who
is evicted meanwhile need not answer, since what it said counts as delivered.
"""

from abc import abstractmethod
from collections.abc import Sequence
from typing import Any, NamedTuple

from msgspec import Struct

from aforesaid.core import Effects, Nanoseconds, Process, Timer
from aforesaid.protocols.delivery.hybrid_adaptive_frames import AdaptiveChannel, Flush, Flushed, Telling
from aforesaid.protocols.delivery.hybrid_indexes import Exempting
from aforesaid.protocols.delivery.hybrid_process import E, Key


class AskAgain(NamedTuple):
    """The timer: who has not answered."""

    what: str = "ask again"


class Round(NamedTuple):
    """One question to all, and what is known when all have answered."""

    number: int
    waiting: dict[Process, None]
    """Who has not answered."""
    keys: Sequence[Key]
    """Permits that count as given then."""
    tellings: Sequence[Telling]
    """What counts as holding then."""


class Questions(Struct, eq=False):
    """Who is asked, and who asks."""

    group: tuple[Process, ...]
    rounds: list[Round] = []
    number: int = 0
    """Of the last round."""
    asking: dict[Process, None] = {}
    """Who asks, and has no answer yet."""
    patience: int = 1


class Flushing(Exempting[E]):
    """What is asked, and how it is answered."""

    m1: int

    def __init__(
        self, me: Process, incarnation: int = 0, *, group: Sequence[Process] = (), **settings: Any
    ) -> None:
        super().__init__(me, incarnation, **settings)
        self.questions = Questions(tuple(group))

    @abstractmethod
    def _fulfil(self, telling: Telling) -> None: ...

    @abstractmethod
    def _go_ahead(self, now: Nanoseconds, out: Effects) -> None: ...

    def expire(self, timer: Timer, now: Nanoseconds, out: Effects) -> None:
        if type(timer) is not AskAgain:
            super().expire(timer, now, out)
        elif self.questions.rounds:
            self.questions.patience = min(2 * self.questions.patience, self.pace.backoff_max)
            self._ask({peer: None for round_ in self.questions.rounds for peer in round_.waiting}, now, out)

    def _flush(self, keys: Sequence[Key], tellings: Sequence[Telling]) -> None:
        """There will be one question more, about this."""
        if keys or tellings:
            asked = self.questions
            asked.number += 1
            others = {peer: None for peer in asked.group if peer != self.me and peer not in self.evicted}
            asked.rounds.append(Round(asked.number, others, keys, tellings))

    def _ask(self, peers: dict[Process, None], now: Nanoseconds, out: Effects) -> None:
        for peer in peers:
            out.send((peer,), Flush(self._untold(self._channel(peer).known), self.questions.number))
        if self.retransmit and peers:
            out.arm(AskAgain(), now + self.pace.resend_after * self.questions.patience)

    def _answered(self, source: Process, number: int, now: Nanoseconds, out: Effects) -> None:
        for round_ in self.questions.rounds:
            if round_.number <= number:
                round_.waiting.pop(source, None)
        self._end_rounds(now, out)
        self._go_ahead(now, out)

    def _ask_without(self, peer: Process, now: Nanoseconds, out: Effects) -> None:
        """The peer is gone. Whoever has not answered is asked again: it may be waiting for the peer."""
        self.questions.asking.pop(peer, None)
        for round_ in self.questions.rounds:
            round_.waiting.pop(peer, None)
        self.questions.patience = 1
        self._ask({other: None for round_ in self.questions.rounds for other in round_.waiting}, now, out)
        self._end_rounds(now, out)

    def _end_rounds(self, now: Nanoseconds, out: Effects) -> None:
        ended = [round_ for round_ in self.questions.rounds if not round_.waiting]
        if not ended:
            return
        self.questions.rounds = [round_ for round_ in self.questions.rounds if round_.waiting]
        if not self.questions.rounds:
            out.disarm(AskAgain())
        for round_ in ended:
            for key in round_.keys:
                self._release(key, now, out)
            for telling in round_.tellings:
                self._fulfil(telling)

    def _asked(self, source: Process, channel: AdaptiveChannel, number: int, out: Effects) -> None:
        if number > channel.flush:
            channel.flush, channel.flush_until = number, self.m1
        self.questions.asking[source] = None
        self._answer(out)

    def _answer(self, out: Effects) -> None:
        for peer in list(self.questions.asking):
            channel: Any = self._channel(peer)
            if channel.flush_until <= self.u.first:
                del self.questions.asking[peer]
                out.send((peer,), Flushed(self._untold(channel.known), channel.flush))
