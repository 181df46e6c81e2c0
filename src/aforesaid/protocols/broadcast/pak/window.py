"""A sender's window: what it has released, who has acknowledged what, and whether it may release more.

Send conditions: at most ct messages not fully acknowledged (section 4.1 with ct = 1, section 5.1); with
`nak`, the next ct only when all earlier ones are (section 5.2). An ack is *held* until as many of the acker's
messages have been accepted as it says; only then does it take effect.
"""

from collections.abc import Iterator, Sequence
from itertools import islice

from aforesaid.protocols.broadcast.pak.frames import Data


class Window:
    """One process's own messages. Processes are ranks."""

    def __init__(self, n: int, credit: int, nak: bool) -> None:
        self.credit = credit
        self.nak = nak
        self.released = 0
        self.stable = 0
        """Up to which number everyone has delivered them: no more is unacked."""
        self.unacked: dict[int, Data] = {}
        """Released and not stable, by number, oldest first."""
        self.awaited: dict[int, int] = {}
        """By number of an unacked message, how many acks are still to take effect."""
        self.acked = [0] * n
        """By peer, up to which number its acks have taken effect."""
        self.held: dict[int, dict[int, int]] = {}
        """By peer, acks that came before the messages they vouch for: number acked -> acker's own count."""
        self.counted = n - 1
        """How many peers must ack a message."""

    def open(self) -> bool:
        """Whether one more message may be released."""
        if self.nak:
            return self.stable >= self.released - self.released % self.credit
        return self.released - self.stable < self.credit

    def asks_for_ack(self, number: int) -> bool:
        return not self.nak or number % self.credit == 0

    def implied_stable(self, number: int) -> int:
        """Up to which number a sender's messages were stable when it released that one."""
        if self.nak:
            return (number - 1) // self.credit * self.credit
        return number - self.credit

    def release(self, data: Data) -> None:
        self.released = data.number
        self.unacked[data.number] = data
        self.awaited[data.number] = self.counted

    def hold(self, peer: int, upto: int, own_count: int) -> None:
        """An ack came."""
        held = self.held.setdefault(peer, {})
        held[upto] = min(own_count, held.get(upto, own_count))

    def count(self, peer: int, accepted: int) -> bool:
        """Let a peer's acks take effect, given how many of its messages are accepted; True if one did."""
        held = self.held.get(peer)
        if held is None:
            return False
        upto = max((upto for upto, own_count in held.items() if own_count <= accepted), default=0)
        if upto == 0:
            return False
        self._awaits_no_more(peer, upto)
        self.acked[peer] = upto
        left = {later: own_count for later, own_count in held.items() if later > upto}
        if left:
            self.held[peer] = left
        else:
            del self.held[peer]
        return True

    def leave_out(self, peer: int) -> None:
        """A peer's acks are no longer waited for."""
        self.held.pop(peer, None)
        self._awaits_no_more(peer, self.released)
        self.counted -= 1

    def next_stable(self) -> int:
        """The next message that is fully acknowledged now, which is unacked no longer; 0 if there is none."""
        number = self.stable + 1
        if self.awaited.get(number) != 0:
            return 0
        self.stable = number
        del self.unacked[number], self.awaited[number]
        return number

    def lacking(self, peers: Sequence[int], upto: int, count_max: int) -> Iterator[tuple[Data, list[int]]]:
        """The oldest unacked messages up to that number, each with the peers that have not acked it."""
        acked = [max(self.held.get(peer, ()), default=self.acked[peer]) for peer in peers]
        for number, data in islice(self.unacked.items(), count_max):
            lacking = [peer for peer, theirs in zip(peers, acked, strict=True) if theirs < number]
            if lacking and number <= upto:
                yield data, lacking

    def _awaits_no_more(self, peer: int, upto: int) -> None:
        for number in range(self.acked[peer] + 1, upto + 1):
            self.awaited[number] -= 1
