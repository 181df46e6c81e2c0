"""Protocols drawn by lot: state machines that follow a random table, right and wrong in every way.

They are what the explorer's reductions are tried on. Frames die and revive, commute and do not, deliveries
depend on the order in a dictionary; nothing that the reductions assume holds of all of them.
"""

from functools import cache
from random import Random
from typing import Any, NamedTuple

from aforesaid.core import MessageId, frame
from aforesaid.protocols.catalog import Setup

STATES, KINDS, HOPS = 3, 3, 2


class Rule(NamedTuple):
    """What a machine does with a note."""

    state: int
    deals: str
    """What happens to the message it carries: deliver, deliver once, hold, drop."""
    flushes: bool
    """Whether all that is held is delivered."""
    calls_stable: bool
    answers: tuple[tuple[int, str], ...]
    """Notes sent: their kind, and to whom: back, on, all."""


@frame(droppable=True, link="link")
class Note(NamedTuple):
    """A message on its way, with a kind that decides what happens to it."""

    kind: int
    hops: int
    message_id: MessageId
    payload: str
    link: int | None = None


@cache
def table(seed: int) -> dict[tuple[int, int, int], Rule]:
    """By state, kind and hops left: a rule."""
    chance = Random(seed)
    return {
        (state, kind, hops): _rule(chance, hops)
        for state in range(STATES)
        for kind in range(KINDS)
        for hops in range(HOPS + 1)
    }


def _rule(chance: Random, hops: int) -> Rule:
    answers = [
        (chance.randrange(KINDS), chance.choice(("back", "on", "all")))
        for _ in range(chance.choice((0, 0, 1, 1, 2)) if hops else 0)
    ]
    return Rule(
        state=chance.randrange(STATES),
        deals=chance.choices(("deliver", "once", "hold", "drop"), (1, 12, 3, 4))[0],
        flushes=chance.random() < 0.3,
        calls_stable=chance.random() < 0.05,
        answers=tuple(answers),
    )


class Chaotic:
    """The machine of one process."""

    linked = False
    """Whether notes travel on one of two links."""

    def __init__(self, seed: int, me: str, group: tuple[str, ...]) -> None:
        self.seed, self.me = seed, me
        self.peers = tuple(peer for peer in group if peer != me)
        self.state = self.sent = 0
        self.held: dict[MessageId, str] = {}
        self.delivered: set[MessageId] = set()
        self.stable: set[MessageId] = set()

    def broadcast(self, payload: str, now: int, out: Any) -> MessageId:
        self.sent += 1
        note = self._note(self.sent % KINDS, HOPS, MessageId(self.me, 0, self.sent), payload)
        self._follow(self.me, note, out)
        out.send(self.peers, note)
        return note.message_id

    def receive(self, source: str, message: Any, now: int, out: Any) -> None:
        self._follow(source, message, out)

    def expire(self, timer: Any, now: int, out: Any) -> None:
        raise NotImplementedError

    def peer_down(self, peer: str, now: int, out: Any) -> None:
        self._flush(out)
        self.state = (self.state + 1) % STATES

    def _follow(self, source: str, note: Note, out: Any) -> None:
        kind, hops, message_id, payload, _ = note
        rule = table(self.seed)[self.state, kind, hops]
        self.state = rule.state
        if rule.deals == "deliver" or (rule.deals == "once" and message_id not in self.delivered):
            self._deliver(message_id, payload, out)
        elif rule.deals == "hold" and message_id not in self.delivered:
            self.held[message_id] = payload
        if rule.flushes:
            self._flush(out)
        if rule.calls_stable and message_id not in self.stable:
            self.stable.add(message_id)
            out.stable(message_id)
        for answer_kind, whom in rule.answers:
            targets = [peer for peer in self.peers if whom == "all" or (whom == "back") == (peer == source)]
            if targets and hops:
                out.send(targets, self._note(answer_kind, hops - 1, message_id, payload))

    def _note(self, kind: int, hops: int, message_id: MessageId, payload: str) -> Note:
        return Note(kind, hops, message_id, payload, kind % 2 if self.linked else None)

    def _flush(self, out: Any) -> None:
        held, self.held = self.held, {}
        for message_id, payload in held.items():
            if message_id not in self.delivered:
                self._deliver(message_id, payload, out)

    def _deliver(self, message_id: MessageId, payload: str, out: Any) -> None:
        self.delivered.add(message_id)
        out.deliver(message_id, payload)


class Linked(Chaotic):
    """One of two processes, with two links between them that open, close and break."""

    linked = True

    def begin(self, now: int, out: Any) -> None:
        """Nobody asks for it in a scope; nor for the next three."""

    def join(self, contact: str, now: int, out: Any) -> None: ...

    def leave(self, now: int, out: Any) -> None: ...

    def settle(self, now: int, out: Any) -> None: ...

    @property
    def inside(self) -> bool:
        return True

    def open(self, peer: str, route: Any, now: int, out: Any) -> None:
        self.peer_down(peer, now, out)

    def close(self, peer: str, now: int, out: Any) -> None:
        self.state = self.seed % STATES

    def link_down(self, lid: int, now: int, out: Any) -> None:
        if self.state == lid:
            out.isolated()
        self.close(self.peers[0], now, out)

    def links(self) -> list[tuple[str, int]]:
        return [(peer, lid) for peer in self.peers for lid in (0, 1) if lid != self.state]

    def gauges(self) -> dict[str, int]:
        return {"held": len(self.held)}


def chaotic(seed: int, machine: type[Chaotic] = Chaotic) -> Any:
    """How to build the machine of that seed."""

    def build(setup: Setup) -> Chaotic:
        return machine(seed, setup.me, setup.group)

    build.__name__ = f"chaotic_{seed}"
    return build
