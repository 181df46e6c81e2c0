"""What is kept for links that are being opened, told as reasons.

A message that was delivered here goes on every safe link at once. A link whose handshake is under way gets it
with its first frame, when the other end has told that it has all that came before: until then it is kept.
"""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from aforesaid.core import MessageId, Misuse, Nanoseconds, Process, Reason
from aforesaid.protocols.overlay.frames import Said


class Kept(NamedTuple):
    """For one link that is being opened."""

    peer: Process
    messages: Sequence[Said]
    since: Nanoseconds
    """When its handshake came to where messages are kept."""

    def reason(self, message_id: MessageId) -> Reason:
        count = sum(said.number > 0 for said, _ in self.messages)
        return Reason("handshake", message_id, self.peer, number=count, since=self.since)

    def has(self, message_id: MessageId) -> bool:
        """Hosts ask about what was just said, or about the oldest."""
        messages = self.messages
        if messages and messages[-1][0] == message_id:
            return True
        return any(said == message_id for said, _ in messages)


def oldest_of(links: Iterable[Kept]) -> tuple[Reason, ...]:
    """For each link, the oldest message that is kept for it; neither control messages nor its own count."""
    found = []
    for kept in links:
        first = next(
            (said for said, _ in kept.messages if said.number > 0 and said.origin != kept.peer), None
        )
        if first is not None:
            found.append(kept.reason(first))
    return tuple(found)


def reasons_of(
    message_id: MessageId, newest: MessageId, unsaid: Iterable[Said], links: Iterable[Kept]
) -> tuple[Reason, ...]:
    """Why a message has not left for everyone; `newest` is what this process said last."""
    me = newest.origin
    if message_id[:2] == newest[:2] and message_id.number > newest.number:
        raise Misuse(f"{me} has not said {message_id}")
    if any(said == message_id for said, _ in unsaid):
        return (Reason("outside", message_id, me),)
    kept = tuple(each.reason(message_id) for each in links if each.has(message_id))
    return kept or (Reason("at once", message_id, me),)
