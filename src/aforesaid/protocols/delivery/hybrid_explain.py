"""Why a message waits: which permit, which ack, which predecessor is missing, and from whom.

An explanation looks through the windows of one process; it is for people and costs as much as it finds.
"""

from collections.abc import Collection
from typing import TYPE_CHECKING, Any, TypeVar

from aforesaid.core import MessageId, Misuse, Process, Reason
from aforesaid.protocols.delivery.hybrid_frames import Channel
from aforesaid.protocols.delivery.hybrid_runs import count_of

if TYPE_CHECKING:
    from aforesaid.protocols.delivery.hybrid_flagged import Flagged
    from aforesaid.protocols.delivery.hybrid_process import HybridProcess, Kept

E = TypeVar("E", bound="Kept")

REASONS_MAX = 5
"""How many missing permits are named one by one."""


def explanation(process: "Flagged[Any]", message_id: MessageId) -> tuple[Reason, ...]:
    """What this process knows about a message, its own or another's."""
    if message_id.origin == process.me:
        return _of_own(process, message_id)
    return (of_other(process, message_id),)


def _of_own(process: "Flagged[Any]", message_id: MessageId) -> tuple[Reason, ...]:
    entry = own_entry(process, message_id)
    if entry is None:
        return (Reason("settled", message_id),)
    reasons = [*not_sent(process, message_id, entry), *unacknowledged(process, message_id, entry)]
    unsent = process._unsent_to(entry)
    for peer in process._receivers(entry):
        if peer not in unsent and message_id.number > process.channels[peer].given:
            reasons.append(_missing_ack(process, message_id, entry, peer))
    return tuple(reasons) or (Reason("kept", message_id),)


def own_entry(process: "HybridProcess[E]", message_id: MessageId) -> E | None:
    """What is kept of a message that was said here; None: nothing any more."""
    number, u = message_id.number, process.u
    if message_id.incarnation != process.incarnation or not 0 < number < u.next:
        raise Misuse(f"{process.me} has not said {message_id}")
    return None if number < u.first else u[number]


def run_number(process: "HybridProcess[Any]", number: int) -> int:
    """Of the run that a message which is kept was said in: that of its last message."""
    u, entry = process.u, process.u[number]
    while number + 1 < u.next and u[number + 1] is entry:
        number += 1
    return number


def numbers_of(frame: Any) -> range:
    """Of all messages in a frame."""
    return range(frame.number - count_of(frame.payload) + 1, frame.number + 1)


def not_sent(process: "HybridProcess[E]", message_id: MessageId, entry: E) -> list[Reason]:
    """For want of which permits, or behind which message."""
    reasons: list[Reason] = []
    unsent, u, number = process._unsent_to(entry), process.u, message_id.number
    for peer in unsent:
        reasons += _missing_permits(process, message_id, entry.dep, peer, unsent)
    if unsent and not reasons:
        # Its own permits are there, but nothing overtakes.
        earlier = next((k for k in range(u.first, number) if process._unsent_to(u[k])), number)
        for peer in unsent if earlier < number else ():
            reasons.append(Reason("behind", message_id, peer, message_id._replace(number=earlier)))
    return reasons


def unacknowledged(process: "HybridProcess[E]", message_id: MessageId, entry: E) -> list[Reason]:
    reasons = []
    unsent = process._unsent_to(entry)
    for peer in process._unacked_by(entry):
        if peer not in unsent:
            queued = run_number(process, message_id.number) in process.channels[peer].flight.queue
            reasons.append(Reason("queued" if queued else "missing ack", message_id, peer))
    return reasons


def _missing_permits(
    process: "HybridProcess[Any]", message_id: MessageId, dep: int, peer: Process, unsent: Collection[Process]
) -> list[Reason]:
    p = process.p
    keys = [key for index in range(p.first, min(dep, p.next)) if (key := p[index]) is not None]
    alone = process.overtaking or len(unsent) == 1
    keys = [key for key in keys if not (process.receiver_exempt and alone and key[0] == peer)]
    reasons = [
        Reason("missing permit", message_id, peer, MessageId(sender, 0, number), holder=sender)
        for sender, number in keys[:REASONS_MAX]
    ]
    if len(keys) > REASONS_MAX:
        reasons.append(Reason("more permits", message_id, number=len(keys) - REASONS_MAX))
    return reasons


def _missing_ack(
    process: "HybridProcess[Any]", message_id: MessageId, entry: "Kept", peer: Process
) -> Reason:
    """The oldest ack that keeps a permit back."""
    number, u = message_id.number, process.u
    for earlier in range(u.first, number + 1):
        for name in process._unacked_by(u[earlier]):
            if name != peer or (u[earlier] is not entry and not process.receiver_exempt):
                cause = message_id._replace(number=earlier)
                return Reason("withheld permit", message_id, peer, cause, holder=name)
    raise AssertionError(f"{process.me} owes {peer} a permit for {message_id} that nothing keeps back")


def of_other(process: "HybridProcess[Any]", message_id: MessageId) -> Reason:
    origin, _, number = message_id
    if origin in process.evicted:
        return Reason("evicted", message_id, origin, holder=process.me)
    channel = process.channels.get(origin) or Channel(origin, process.pace)
    if number <= channel.delivered:
        if number in channel.missing or (channel.missing and number > channel.permitted):
            return Reason("permit owed", message_id, origin)
        return Reason("not awaited", message_id, process.me)
    early = {each: frame for frame in (channel.early or {}).values() for each in numbers_of(frame)}
    if number not in early:
        return Reason("not arrived", message_id, origin, number=channel.delivered)
    missing = number
    while missing in early:
        missing = early[missing].previous
    return Reason(
        "missing on channel", message_id, cause=message_id._replace(number=missing), holder=process.me
    )
