"""What a process of a fixed group needs to address its messages, so that a file holds its algorithm only.

Names, ranks and numbers: the group is sorted, a process's rank is its place in it, every send takes the next
number, whomever it is for. A process never sends to itself; what it says to itself it delivers at once.
"""

from collections.abc import Sequence
from typing import NamedTuple

from aforesaid.core import Effects, MessageId, Misbehaviour, Misuse, Nanoseconds, Payload, Process, Timer


class Queued(NamedTuple):
    """A message not sent yet."""

    target: Process
    message_id: MessageId
    payload: Payload


class GroupMember:
    """A member of a fixed group; no timers, and peers may come and go, unless it says otherwise."""

    def __init__(self, me: Process, group: Sequence[Process], incarnation: int) -> None:
        self.group = tuple(sorted(group))
        self.rank = {name: rank for rank, name in enumerate(self.group)}
        if me not in self.rank:
            raise Misuse(f"{me} is not in its own group: {', '.join(self.group)}")
        self.me = me
        self.incarnation = incarnation
        self.said = 0
        """How many messages this process has sent, to whomever."""

    def expire(self, timer: Timer, now: Nanoseconds, out: Effects) -> None:
        raise Misuse(f"{type(self).__name__} has no timers, but {timer!r} expired")

    def peer_up(self, peer: Process, now: Nanoseconds, out: Effects) -> None:
        """Nothing changes: the group is fixed."""

    def peer_down(self, peer: Process, now: Nanoseconds, out: Effects) -> None:
        """Nothing changes: the paper's model has no crash."""

    def _others(self, targets: Sequence[Process]) -> list[Process]:
        """The targets besides this process, each once, in the order given."""
        for target in targets:
            if target not in self.rank:
                raise Misuse(f"{target} is not in the group: {', '.join(self.group)}")
        return [target for target in dict.fromkeys(targets) if target != self.me]

    def _only_other(self, targets: Sequence[Process], algorithm: str) -> list[Process]:
        """The one target besides this process, if there is one: for unicast."""
        others = self._others(targets)
        if len(others) > 1:
            raise Misuse(f"{algorithm} is unicast: one target besides {self.me}, not {', '.join(others)}")
        return others

    def _next_id(self) -> MessageId:
        self.said += 1
        return MessageId(self.me, self.incarnation, self.said)

    def _rank_of(self, source: Process) -> int:
        """The rank of a frame's source."""
        rank = self.rank.get(source)
        if rank is None:
            raise Misbehaviour(f"{source} is not in the group: {', '.join(self.group)}")
        return rank
