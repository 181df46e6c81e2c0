"""Why a message waits: data first, sentences last.

A protocol that can tell why something waits gives `Reason`s; a host adds since when, where it knows. `worded`
makes sentences of them, for people, and `phrased` what follows "it waited" once it is over; nobody else does.
"""

from typing import NamedTuple

from aforesaid.core.fields import Process
from aforesaid.core.identity import MessageId, Nanoseconds


class Reason(NamedTuple):
    """One reason, of one kind; each kind says below in its sentence what `peer` and `cause` are."""

    kind: str
    message: MessageId
    """The message that was asked about."""
    peer: Process | None = None
    """The peer of whom something is missing, or who is concerned."""
    cause: MessageId | None = None
    """The other message that it waits for, or because of."""
    holder: Process | None = None
    """Who must act first, if that is not `peer`."""
    number: int = 0
    """How many, or which."""
    since: Nanoseconds | None = None
    """When it began, by the clock of the host; None: not known."""

    @property
    def names(self) -> set[Process]:
        """Everyone who is concerned."""
        messages = (self.message, self.cause)
        named = {self.peer, self.holder, *(message.origin for message in messages if message is not None)}
        return {name for name in named if name is not None}


_SENTENCES = {
    "settled": "{message} waits for nothing: its receivers acknowledged it or were evicted.",
    "received": "{message} waits for nothing: every peer has received it.",
    "delivered": "{message} was delivered.",
    "not awaited": "{message} waits for nothing here: if it was for {peer}, it was delivered.",
    "at once": "nothing waits here: {peer} delivers what arrives at once.",
    "kept": "{message} is acknowledged; it is kept because an earlier message is not.",
    "missing permit": "{message} is not sent to {peer}: the permit from {holder} for its message "
    "{cause.number} is missing.",
    "behind": "{message} is not sent to {peer}: {cause}, said before it, is not sent yet.",
    "more permits": "{message} waits for {number} more permits.",
    "queued": "{message} is not sent to {peer} yet: it waits for acks of those sent before it.",
    "missing ack": "{message} was sent to {peer}, whose ack is missing.",
    "frames unacked": "{peer} has frames of {message.origin} to acknowledge.",
    "withheld permit": "{peer} has no permit for {message}: the ack from {holder} for {cause} is missing.",
    "permit owed": "{message} was delivered; the permit from {peer} for it is missing.",
    "evicted": "{holder} has evicted {peer}: nothing of it is delivered any more.",
    "not arrived": "{message} has not arrived; the last of {peer} delivered here is {number}.",
    "missing on channel": "{message} arrived, but {cause}, said to {holder} before it, has not.",
    "held": "{message} is held at {holder} for {cause}, which {peer} named.",
    "named too much": "{message} arrived, and waits until {peer}, which has named more than {holder} keeps, "
    "tells that some of it is delivered.",
    "unnamable": "{message} is not sent to {peer}: it would have to name {number} messages that {peer} must "
    "deliver first, more than it may.",
    "missing cause": "{message} arrived, but {cause}, which its author had delivered first, has not.",
    "untold": "why {message} waits, if it does, its algorithm cannot tell.",
    "outside": "{peer} has not been let into the group yet; what it says waits here.",
    "handshake": "{message} is kept for the new link to {peer} until {peer} tells in their handshake that it "
    "has all that came before; messages kept: {number}.",
    "no room": "{message} arrived, but the application of {holder} has not taken what came before.",
}
"""By kind, how it is said."""


LYING = frozenset(
    ("missing cause", "missing on channel", "held", "named too much", "evicted", "outside", "no room")
)
"""The kinds of reasons for which a message that came is not delivered."""

HELD = frozenset(("missing permit", "behind", "unnamable", "queued", "outside", "handshake"))
"""Those for which a message that was said is not sent."""


def whom(reason: Reason) -> Process | None:
    """For whom a message is held back; None: for everyone."""
    return None if reason.kind == "outside" else reason.peer


def worded(reason: Reason) -> str:
    """A reason as a sentence."""
    return _SENTENCES[reason.kind].format_map(reason._asdict())


PHRASES = {
    "missing cause": "for {cause}, which came before it",
    "missing on channel": "for {cause}, said before it on the same channel",
    "held": "for {cause}, which {peer} had named",
    "named too much": "until {peer}, which had named too much, told that some of it was delivered",
    "evicted": "in vain: {peer} had been evicted",
    "missing permit": "for the permit for {cause}, before it could leave for {peer}",
    "behind": "behind {cause}, said before it, until it could leave for {peer}",
    "unnamable": "until there were fewer messages to name to {peer}",
    "queued": "for acks of {peer} for what had been sent before it",
    "outside": "outside of the group",
    "handshake": "on the new link to {peer} only, for its handshake",
    "given up": "on a new link to {peer} only, for a handshake that was given up",
    "no room": "for its application to take what had come before",
}
"""By kind of wait, what it was for."""


def phrased(reason: Reason) -> str:
    """What a message waited for, when that is over."""
    phrase = PHRASES.get(reason.kind, "for something that its algorithm does not tell")
    named = {name: value for name, value in reason._asdict().items() if value is not None}
    return phrase.format_map({"cause": "another message", "peer": "others", **named})
