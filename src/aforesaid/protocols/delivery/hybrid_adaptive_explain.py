"""Why a message waits with adaptive hybrid buffering: as in `hybrid_explain`, and for which constraint."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from aforesaid.core import MessageId, Process, Reason
from aforesaid.protocols.delivery.hybrid_explain import (
    not_sent,
    numbers_of,
    of_other,
    own_entry,
    run_number,
    unacknowledged,
)

if TYPE_CHECKING:
    from aforesaid.protocols.delivery.hybrid_adaptive import HybridAdaptive


def explanation(process: "HybridAdaptive", message_id: MessageId) -> tuple[Reason, ...]:
    """What this process knows about a message, its own or another's."""
    if message_id.origin != process.me:
        return (_held(process, message_id) or of_other(process, message_id),)
    entry = own_entry(process, message_id)
    if entry is None:
        return (Reason("settled", message_id),)
    reasons = [
        *(not_sent(process, message_id, entry) or _unnamable(process, message_id)),
        *unacknowledged(process, message_id, entry),
        *_withheld(process, message_id),
    ]
    return tuple(reasons) or (Reason("kept", message_id),)


def _unnamable(process: "HybridAdaptive", message_id: MessageId) -> Iterator[Reason]:
    entry = process.u[message_id.number]
    for peer in process._unsent_to(entry):
        count = len(process.constraints.on.get(peer, ()))
        if count > process.constraints.bound:
            yield Reason("unnamable", message_id, peer, number=count)


def _withheld(process: "HybridAdaptive", message_id: MessageId) -> Iterator[Reason]:
    """Of each receiver that may pass nothing on, the oldest message that may be undelivered."""
    order, own = process.constraints.order, run_number(process, message_id.number)
    for peer, channel in process.channels.items():
        for place, number in channel.unnamed:
            if number == own:
                waits = (order[k] for k in range(order.first, place + 1))
                cause = next(it for it in waits if it.open and not it.concerns(peer))
                missing = MessageId(cause.by, 0, cause.number)
                yield Reason("withheld permit", message_id, peer, missing, holder=cause.at)


def _held(process: "HybridAdaptive", message_id: MessageId) -> Reason | None:
    """It came, or something before it on its channel, and waits for another's message."""
    origin: Process = message_id.origin
    channel = process.channels.get(origin)
    early = channel.early if channel else None
    if not channel or not early or not any(message_id.number in numbers_of(it) for it in early.values()):
        return None
    first = early.get(channel.delivered)
    for by, number in first.waits if first else ():
        other = process.channels.get(by)
        if other is None or other.delivered < number:
            return Reason("held", message_id, origin, MessageId(by, 0, number), holder=process.me)
    return Reason("named too much", message_id, origin, holder=process.me) if first else None
