"""Runs one protocol object: gives it what arrives and what is due, and tells it who comes and goes.

The inbox is bounded, but a protocol cannot be told not to deliver. So while the inbox is full the host keeps
frames from the protocol that may lead to deliveries: in a bounded backlog where frames may come in any order
and again, dropping what is more; by not reading from streams where they may not. Acknowledgments still pass
in the first case, so that an application may wait for room to send before it takes messages.
"""

from collections.abc import Callable, Sequence

from aforesaid.core import HandingOver, Message, Misbehaviour, Nanoseconds, Owing, Process, declaration_of
from aforesaid.node.building import backlog_of
from aforesaid.node.carrying.carrier import Carrier
from aforesaid.node.config import Config
from aforesaid.node.endings import Evicted, Superseded
from aforesaid.node.groups import Groups
from aforesaid.node.inbox import Inbox
from aforesaid.node.operating.logs import tell
from aforesaid.node.saying import Saying
from aforesaid.protocols.membership.epochs import EVICTED, START_COUNT_BIT, STRANGER, SUPERSEDED
from aforesaid.protocols.membership.suspicion import is_most
from aforesaid.transport import Address


class Host(Saying):
    """All that a node asks of its protocol, and a carrier tells it."""

    def __init__(
        self, config: Config, incarnation: int, inbox: Inbox, carrier: "Callable[[Host], Carrier]"
    ) -> None:
        super().__init__(config, incarnation, inbox, carrier)
        self.groups = Groups(self)
        self._evictors: set[Process] = set()
        """Of those who are gone: who says that this node is."""
        self.incarnations: dict[Process, int] = {}
        """The incarnation of each peer that was heard."""
        self.elsewhere: Address | None = None
        """Where the group is that this incarnation is not in."""
        self._backlog = backlog_of(self.entry, config)
        self._declared: dict[type, tuple[int, bool, bool]] = {}
        """By kind of frames: where they tell who is gone, whether they may be kept back, and whether they may
        be copies of which nothing comes."""
        self._feeding = False
        self._paused = False

    # --------------------------------------------------------------------------------- for the node

    def begin(self, contact: Process | None) -> None:
        """The first call: found a group, or join one through a member."""
        if self._linking is not None:
            if contact is None:
                self._linking.begin(self.now(), self)
            else:
                self._linking.join(contact, self.now(), self)
        self.end_turn()

    def hand_over(self) -> None:
        """Let the neighbours in a changing group do without this node, if the protocol can."""
        if isinstance(self.machine, HandingOver):
            self.machine.hand_over(self.now(), self)
            self.end_turn()

    @property
    def needed(self) -> bool:
        """True until they can."""
        return isinstance(self.machine, HandingOver) and self.machine.needed

    def leave(self) -> None:
        """The last call to the protocol of a node that closes in order."""
        if self._linking is not None:
            self._linking.leave(self.now(), self)
        self._neighbours = None
        self.flush()

    def evict(self, peer: Process, how: str = "evicted") -> None:
        """The peer will not come back: nobody here waits for it any more."""
        if peer in self.gone or self.error is not None:
            return
        self.flight.settle()
        self.groups.take_over()
        self.flush()
        if peer in self.gone:
            return  # By what the protocol has learnt meanwhile.
        how = "left" if how == "told" and peer in self.groups.leaving else how
        before = self.flight.held
        if self._linking is None:
            self.gone[peer] = "left" if how == "left" else "evicted"
        self.flight.evicting(peer)
        owed = self.machine.owed(peer) if isinstance(self.machine, Owing) else 0
        self._note_gone(peer, how, owed)
        if self.receipts is not None:
            self.receipts.gone(peer)
        self.machine.peer_down(peer, self.now(), self)
        self.carrier.forget(peer)
        self._backlog.forget(peer)
        level = "info" if how == "left" else "warning"
        tell(self.config.name, "peer gone", level=level, peer=peer, how=how, under_way=before)
        self.end_turn()

    def taken(self) -> None:
        """The application took, or acknowledged, a message."""
        if self._senders.waiting:
            self._senders.wake()
        if (self._backlog.frames or self._paused) and not self.inbox.full:
            if self._backlog.frames and not self._feeding:
                self._feeding = True
                self._loop.call_soon(self._feed_backlog)
            if self._paused:
                self._paused = False
                self.carrier.resume()

    def record_latency(self) -> None:
        """How long things took here, by this node's clock alone, goes into its trace when it closes."""
        for what, took in (("acknowledged", self.flight.acknowledged), ("inbox", self.inbox.dwell)):
            if took is not None:
                counts, together = took.news()
                if counts:
                    self.record("t", what, counts, together, self.wall())

    def end(self, error: Exception) -> None:
        super().end(error)
        self._backlog.clear()

    # ---------------------------------------------------------------------------------- for the carrier

    def received(self, source: Process, messages: Sequence[Message]) -> bool:
        if self.error is not None or source in self.gone:
            return False
        now, declared, only_copies = self.now(), self._declared, True
        self._stirred = False
        for message in messages:
            gone_at, deferrable, copy = declared.get(type(message)) or self._learn(type(message))
            only_copies &= copy
            if gone_at >= 0:
                # Even if the message itself has to wait: those who wait for the evicted must not.
                for peer in message[gone_at]:
                    # Of whom it has not heard yet, a newcomer learns what it was when it went.
                    if peer in self.config.peers:
                        self.evict(peer, "told")
            # Nor may it overtake what waits already: the protocol keeps only so much of what comes early.
            if deferrable and (self._backlog.frames or not self.inbox.has_room(message)):
                if not self._backlog.add(source, message):
                    self.refused["inbox full"] += 1  # It comes again.
                elif self.receipts is not None:
                    self.receipts.waits_outside(source, message)
            else:
                self._receive(source, message, now)
        if self._linking is not None and self.inbox.full and not self._paused:
            # On links nothing may be kept back: the transport stops reading instead.
            self._paused = True
            self.carrier.pause()
        return self._stirred or not only_copies

    def met(self, peer: Process, incarnation: int, start: int) -> None:
        self.refusals.welcome(peer)
        if self.incarnations.get(peer) == incarnation:
            tell(
                self.config.name,
                "resumed",
                peer=peer,
                incarnation=incarnation,
                start=start >> START_COUNT_BIT,
            )
            return
        self.incarnations[peer] = incarnation
        self.record("p", peer, incarnation)
        self.happened("open", peer)
        tell(self.config.name, "met", peer=peer, incarnation=incarnation)

    def connected(self, peer: Process) -> None:
        self.happened("open", peer)
        if isinstance(self.machine, Owing):
            self._timers.hurry(self.machine.retries(peer))

    def lost(self, peer: Process) -> None:
        self.happened("close", peer)
        if self._linking is None or self._links_used is None:
            return
        lids = self._links_used.of_lost(peer)
        if self.error is None:
            try:
                for lid in lids:
                    self._linking.link_down(lid, self.now(), self)
                self.end_turn()
            except Exception as error:
                # Nobody stands above: a connection's end is told by the loop.
                self.fail(error)

    def said_bye(self, peer: Process) -> None:
        if self._linking is not None:
            return  # It has ended its links, which is all that anyone needs to know.
        self.evict(peer, "left")

    def turned_away(self, peer: Process, reason: str) -> None:
        if self.error is not None:
            return
        if peer in self.gone:
            # Each has evicted the other. Of two such parts one goes on.
            self._evictors.add(peer)
            if reason != EVICTED or not is_most(self._evictors, self.config.group):
                return
        if reason == STRANGER and self.groups.will_learn(peer):
            return
        self.refusals.turned_away(peer, reason)
        self._bind_run()
        if reason == EVICTED and self.groups.has_taken_leave:
            self.groups.end()
        elif reason == EVICTED:
            tell(
                self.config.name,
                "evicted",
                level="error",
                by=peer,
                advice="stop it; it cannot come back before the group starts anew",
            )
            self.fail(
                Evicted(f"{self.config.name} was evicted, says {peer}: nothing of it is let in any more")
            )
        elif reason == SUPERSEDED:
            self.fail(
                Superseded(
                    f"{peer} has heard a later start of {self.config.name}: it runs elsewhere, or its "
                    "directory was put back from an old backup"
                )
            )
        elif self.refusals.theirs:
            self._senders.end()

    def not_let_in(self, name: Process, reason: str) -> None:
        self.refusals.not_let_in(name, reason)

    def is_member(self) -> bool:
        return self.inside.is_set()

    def neighbours(self) -> frozenset[Process]:
        if self._neighbours is None:
            links = () if self._linking is None else self._linking.links()
            self._neighbours = frozenset(peer for peer, _ in links)
        return self._neighbours

    def apart(self, elsewhere: Address) -> None:
        self.elsewhere = elsewhere
        if self._linking is not None:
            self._linking.leave(self.now(), self)
        self.end_turn()
        self.isolation.set()

    def has_room(self) -> None:
        self._senders.wake()

    def failed(self, error: Exception) -> None:
        self.fail(error)

    # ---------------------------------------------------------------------------------------- the parts

    def _note_gone(self, peer: Process, how: str, owed: int) -> None:
        self.record("x", peer, self.wall(), how, owed)

    def _learn(self, kind: type) -> tuple[int, bool, bool]:
        declared = declaration_of(kind)
        self._declared[kind] = declared.gone_at, declared.deferrable, declared.may_be_old
        return self._declared[kind]

    def _receive(self, source: Process, message: Message, now: Nanoseconds) -> None:
        if self._links_used is not None:
            self._links_used.note(source, message)
        if self.receipts is not None:
            self.receipts.comes(source, message)
        try:
            self.machine.receive(source, message, now, self)
        except Misbehaviour:
            self.refused["misbehaviour"] += 1

    def _feed_backlog(self) -> None:
        self._feeding = False
        try:
            now = self.now()
            backlog, inbox = self._backlog, self.inbox
            while backlog.frames and self.error is None and inbox.has_room(backlog.frames[0][1]):
                self._receive(*backlog.take(), now)
            self.end_turn()
        except Exception as error:
            self.fail(error)
