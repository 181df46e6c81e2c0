"""Causal broadcast by positive acknowledgments (Baldoni (1998)): PAK, credits, PAK/NAK; vectors modulo k.

A process may have `credit` (ct) messages under way that not everyone has acknowledged; PAK is ct = 1
(section 4). With `nak` only every ct-th message is acknowledged, and the next ct wait for that (section 5.2).
So no two processes are far apart in what they have delivered of a third: entry h of a message's vector time
lies at most ct above or below V[h] wherever the message is not delivered yet, and it is enough to send and
compare entries modulo k = 2ct + 1. Everything a delivery is decided by is modulo k; numbers in frames are
whole, so that old duplicates do no harm on a network that loses, duplicates and reorders. A sender's side is
in `window`, a receiver's in `queues`, what a crash needs in `survivors`.

Deviations from the paper, each with a test in tests/paper/test_positive_acknowledgment.py:
- V[self] advances when a message is released, which carries the vector time before it. Advancing at the full
  ack (figure 7, S5) deadlocks PAK/NAK;
- acks are given on delivery, to the sender only, cumulatively, and carry the acker's own count; an ack counts
  only when so many of the acker's messages were accepted. With acks on receipt (section 5.2), or overtaking
  the acker's messages, the vectors' entries drift apart without bound: no k is large enough;
- k is at least 2ct + 1, the number of values from -ct to ct (figure 6 has 4 for ct = 1: safe, not minimal).
  With 2ct a message concurrent with ct others is taken for one that must wait, and waits for ever;
- `broadcast` never blocks: over credit a message waits in a bounded queue. A wait inside a delivery
  (figure 7, S1) stops the acks that it waits for;
- a full ack is stability (section 4.1), and is reported as such, in order;
- receiver credit wr (section 5.1, memory requirements): a message is accepted if it is the next of its sender
  and fewer than wr of that sender wait; one of the wr next that comes too early is put aside until then; any
  other is discarded, and its sender sends it again. With wr < ct this is sound only because acks carry
  counts: a discarded message was received, and yet is not accepted;
- one timer per process sends again what some peer has not acknowledged, oldest first, with back-off. What is
  sent again asks for an ack, also in PAK/NAK: so the last messages of an unfinished batch become stable too;
- crashes: see `survivors`. What is kept for them is forgotten when a later message of the sender, or its word
  Settled, tells that it is everywhere. If Settled is lost, whoever still keeps something acks it once more
  after REMIND_TICKS quiet periods, and a settled sender answers that with Settled: memory returns to empty
  (tests/unit/protocols/broadcast/pak/test_pak_rules.py and test_pak_crashes.py).

The group is fixed and its members are of one incarnation. `peer_down` must be true (perfect detector): a
process wrongly taken for dead is no longer waited for, and the vectors may drift apart at its place.
"""

from collections import deque
from collections.abc import Mapping, Sequence
from typing import Any

from aforesaid.core import (
    MILLISECOND,
    Busy,
    Effects,
    MessageId,
    Misbehaviour,
    Misuse,
    Nanoseconds,
    Payload,
    Process,
    Timer,
)
from aforesaid.protocols.addressed import GroupMember
from aforesaid.protocols.broadcast.pak.frames import RESEND, Ack, Data, Has, Relayed, Settled
from aforesaid.protocols.broadcast.pak.queues import Queues
from aforesaid.protocols.broadcast.pak.survivors import Survivors
from aforesaid.protocols.broadcast.pak.vector import ModularVectors
from aforesaid.protocols.broadcast.pak.window import Window

REMIND_TICKS = 4
"""For how many expiries in a row a settled sender may leave us in doubt before it is reminded."""


class Pak(GroupMember):
    """The protocol at one process of a fixed group."""

    def __init__(
        self,
        me: Process,
        group: Sequence[Process],
        incarnation: int = 0,
        *,
        credit: int = 1,
        nak: bool = False,
        k: int | None = None,
        receiver_credit: int | None = None,
        resend_after: Nanoseconds = 50 * MILLISECOND,
        send_queue_max: int = 1024,
        backoff_max: int = 64,
        burst_max: int = 32,
    ) -> None:
        validate_credit(credit, k, receiver_credit)
        _at_least(1, resend_after, "resend_after")
        _at_least(0, send_queue_max, "send_queue_max")
        _at_least(1, backoff_max, "backoff_max")
        _at_least(1, burst_max, "burst_max")
        super().__init__(me, group, incarnation)
        self.own = self.rank[me]
        self.resend_after = resend_after
        self.send_queue_max = send_queue_max
        self.backoff_max = backoff_max
        self.burst_max = burst_max
        self.peers = tuple(rank for rank in range(len(self.group)) if rank != self.own)
        """The ranks of the others that are not known to be down."""
        self.names = tuple(self.group[rank] for rank in self.peers)

        # As a sender.
        self.window = Window(len(self.group), credit, bool(nak))
        self.queue: deque[Payload] = deque()
        """What waits for credit, in the order of their numbers; empty while the window is open."""
        self.settled = 0
        """Up to which number we told everyone that our messages are stable."""

        # As a receiver.
        vectors = ModularVectors(len(self.group), k or 2 * credit + 1)
        self.queues = Queues(self.own, vectors, credit, receiver_credit or credit)
        self.survivors = Survivors()
        self.left_out: tuple[int, ...] = ()
        """Those down who no longer count for full acks."""

        # The timer.
        self.armed = 0
        """With which back-off; 0 if it is not."""
        self.backoff = 1
        self.due = 0
        """What was released when the timer was armed: only that has waited long enough to be sent again."""
        self.quiet: dict[int, int] = {}
        """By sender of whom something is kept, for how many expiries it said nothing."""

    def broadcast(self, payload: Payload, now: Nanoseconds, out: Effects) -> MessageId:
        if len(self.queue) >= self.send_queue_max and not self.window.open():
            raise Busy(f"{self.me} has {len(self.queue)} messages waiting for acks of earlier ones")
        self.queue.append(payload)
        number = self.window.released + len(self.queue)
        self._release(out)
        self._keep_time(now, out)
        return MessageId(self.me, self.incarnation, number)

    def receive(self, source: Process, message: Any, now: Nanoseconds, out: Effects) -> None:
        peer = self._rank_of(source)
        if peer in self.survivors.down:
            return
        kind = type(message)
        if kind is Data:
            self._arrived(peer, message, out)
        elif kind is Ack:
            self._acknowledged(peer, message, out)
        elif kind is Settled:
            self._everywhere(peer, message.upto)
        elif kind is Relayed:
            self._relayed(message, out)
        elif kind is Has:
            self._reported(peer, message, out)
        else:
            raise Misbehaviour(f"{source} sent a {kind.__name__}, which is no frame of this protocol")
        self._release(out)
        self._keep_time(now, out)

    def expire(self, timer: Timer, now: Nanoseconds, out: Effects) -> None:
        if timer != RESEND:
            raise Misuse(f"there is no timer {timer!r} here, only {RESEND!r}")
        self.armed = 0
        resent = self._resend(out)
        resent = self._ask(out) or resent
        resent = self._remind(out) or resent
        if resent:
            self.backoff = min(2 * self.backoff, self.backoff_max)
        self._keep_time(now, out)

    def peer_down(self, peer: Process, now: Nanoseconds, out: Effects) -> None:
        rank = self.rank.get(peer)
        if rank is None:
            raise Misuse(f"{peer} is not in the group: {', '.join(self.group)}")
        if rank == self.own or rank in self.survivors.down:
            return
        self.peers = tuple(other for other in self.peers if other != rank)
        self.names = tuple(self.group[other] for other in self.peers)
        self.survivors.lose(rank)
        self.queues.forget_early(rank)
        self.quiet.pop(rank, None)
        self._advanced()
        self._report(self.names, out)
        self._agree()
        self._release(out)
        self._keep_time(now, out)

    def gauges(self) -> Mapping[str, int]:
        return {
            "queued": len(self.queue),
            "unacked": len(self.window.unacked),
            "pending": self.queues.pending(),
            "kept": sum(map(len, self.survivors.kept.values())),
        }

    # Sending.

    def _release(self, out: Effects) -> None:
        """Report what became stable, release what credit allows, and tell the others when all is settled."""
        window = self.window
        self._stabilise(out)
        while self.queue and window.open():
            self._release_one(self.queue.popleft(), out)
            self._stabilise(out)
        if self.settled < window.stable and not window.unacked and not self.queue:
            self.settled = window.stable
            if self.names:
                out.send(self.names, Settled(self.settled))

    def _release_one(self, payload: Payload, out: Effects) -> None:
        number = self.window.released + 1
        data = Data(number, self.queues.stamp(), payload, self.window.asks_for_ack(number))
        self.queues.vector[self.own] = number
        self.window.release(data)
        if self.names:
            out.send(self.names, data)
        out.deliver(MessageId(self.me, self.incarnation, number), payload)

    def _stabilise(self, out: Effects) -> None:
        while number := self.window.next_stable():
            out.stable(MessageId(self.me, self.incarnation, number))

    def _acknowledged(self, peer: int, ack: Ack, out: Effects) -> None:
        upto, own_count = ack
        if upto > self.window.released:
            raise Misbehaviour(f"{self.group[peer]} acknowledges message {upto}, which was not sent yet")
        if upto > self.window.acked[peer]:
            self.window.hold(peer, upto, own_count)
            self._count_acks(peer)
        elif upto == self.settled:
            # Whoever acks again what is settled may not have heard that it is.
            out.send((self.group[peer],), Settled(upto))

    def _count_acks(self, peer: int) -> None:
        if self.window.count(peer, self.queues.accepted[peer]):
            self._advanced()

    # Receiving.

    def _arrived(self, sender: int, data: Data, out: Effects) -> None:
        """Accept a message, or ack it once more, or put it aside, or discard it."""
        queues = self.queues
        if data.number <= queues.accepted[sender]:
            if data.ack_wanted and data.number <= queues.vector[sender]:
                self._ack(sender, out)
            elif data.ack_wanted:
                queues.ask_for_ack(sender, data.number)
            return
        next_one: Data | None = data
        while next_one is not None and queues.accept(sender, next_one):
            self._accepted(sender, next_one, out)
            next_one = queues.take_early(sender)

    def _accepted(self, sender: int, data: Data, out: Effects) -> None:
        self._everywhere(sender, self.window.implied_stable(data.number))
        self.survivors.keep(sender, data)
        if sender not in self.survivors.down:
            self.quiet[sender] = 0
        self._advanced()
        if len(self.queues.arrivals[sender]) == 1:
            self._deliver_ready(sender, out)
        # After the deliveries: what the acks set free depends on them.
        self._count_acks(sender)

    def _deliver_ready(self, sender: int, out: Effects) -> None:
        acks: dict[int, None] = {}
        for origin, arrival in self.queues.ready(sender):
            out.deliver(MessageId(self.group[origin], self.incarnation, arrival.number), arrival.payload)
            if arrival.ack_wanted:
                acks[origin] = None
        for origin in acks:
            self._ack(origin, out)
        if self.left_out:
            self.queues.drop_orphans(self.left_out)

    def _ack(self, sender: int, out: Effects) -> None:
        if sender not in self.survivors.down:
            out.send((self.group[sender],), Ack(self.queues.vector[sender], self.window.released))

    def _everywhere(self, sender: int, upto: int) -> None:
        if self.survivors.forget(sender, upto):
            if sender not in self.survivors.kept:
                self.quiet.pop(sender, None)
            self._advanced()

    # Crashes.

    def _relayed(self, relayed: Relayed, out: Effects) -> None:
        origin = self._rank_of(relayed.origin)
        if origin == self.own:
            raise Misbehaviour(f"a message of {self.me} was relayed to {self.me}")
        before = self.queues.accepted[origin]
        self._arrived(origin, relayed.data._replace(ack_wanted=False), out)
        if self.queues.accepted[origin] > before and origin in self.survivors.down:
            self._report(self.names, out)
            self._agree()

    def _reported(self, peer: int, has: Has, out: Effects) -> None:
        report = {self._rank_of(name): accepted for name, accepted in has.accepted}
        for process, accepted in report.items():
            for data in self.survivors.kept_above(process, accepted):
                out.send((self.group[peer],), Relayed(self.group[process], data))
        if has.answer_wanted and self.survivors.down:
            self._report((self.group[peer],), out)
        if self.survivors.heard(peer, report):
            self._advanced()
            self._agree()

    def _report(self, targets: Sequence[Process], out: Effects, answer_wanted: bool = False) -> None:
        if targets:
            accepted = self.queues.accepted
            report = tuple((self.group[process], accepted[process]) for process in self.survivors.down)
            out.send(targets, Has(report, answer_wanted))

    def _agree(self) -> None:
        """Once the survivors agree on what the crashed have said, their acks are no longer waited for."""
        survivors = self.survivors
        if survivors.everywhere or not survivors.agree(self.peers, self.queues.accepted):
            return
        for process in survivors.down:
            self.queues.forget_early(process)
            if process not in self.left_out:
                self.window.leave_out(process)
        self.left_out = survivors.down
        self.queues.drop_orphans(self.left_out)

    # The timer.

    def _keep_time(self, now: Nanoseconds, out: Effects) -> None:
        """The timer is armed as long as someone may not have heard something, and no longer."""
        if self.window.unacked or self.survivors.kept or not self.survivors.everywhere:
            if self.armed == 0 or self.armed > self.backoff:
                self.armed = self.backoff
                self.due = self.window.released
                out.arm(RESEND, now + self.resend_after * self.backoff)
        elif self.armed:
            self.armed = 0
            self.backoff = 1
            out.disarm(RESEND)

    def _advanced(self) -> None:
        """Something new was heard: no more backing off."""
        self.backoff = 1

    def _resend(self, out: Effects) -> bool:
        """Send again the oldest messages to those who have not acked them."""
        resent = False
        for data, peers in self.window.lacking(self.peers, self.due, self.burst_max):
            out.send([self.group[peer] for peer in peers], data._replace(ack_wanted=True))
            resent = True
        return resent

    def _ask(self, out: Effects) -> bool:
        """Report again to survivors whose report is missing or differs, and ask for theirs."""
        if self.survivors.everywhere:
            return False
        targets = [self.group[p] for p in self.peers if self.survivors.differs(p, self.queues.accepted)]
        self._report(targets, out, answer_wanted=True)
        return bool(targets)

    def _remind(self, out: Effects) -> bool:
        """Ack once more what has long been delivered and is still kept: its sender may be settled."""
        reminded = False
        for sender in sorted(self.quiet):
            self.quiet[sender] = min(self.quiet[sender] + 1, REMIND_TICKS)
            if self.quiet[sender] == REMIND_TICKS and not self.queues.arrivals[sender]:
                self._ack(sender, out)
                reminded = True
        return reminded


def validate_credit(credit: int, k: int | None, receiver_credit: int | None) -> None:
    """Refuse credits and moduli that do not go together."""
    _at_least(1, credit, "credit")
    if k is not None:
        _at_least(1, k, "k")
        if k < 2 * credit + 1:
            raise Misuse(
                f"k must be at least 2 * credit + 1 = {2 * credit + 1}, not {k}: an entry of a vector time "
                f"may lie {credit} above or below its receiver's, and modulo {k} that cannot be told apart"
            )
    if receiver_credit is not None:
        _at_least(1, receiver_credit, "receiver_credit")
        if receiver_credit > credit:
            raise Misuse(f"receiver_credit must be at most the credit, {credit}, not {receiver_credit}")


def _at_least(least: int, value: int, name: str) -> None:
    if not isinstance(value, int) or isinstance(value, bool) or value < least:
        raise Misuse(f"{name} must be a whole number from {least} on, not {value!r}")
