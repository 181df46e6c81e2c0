"""Why a message waits, in sentences: which permit, which ack, which predecessor is missing, and from whom.

An explanation looks through the windows of one process; it is for people and costs as much as it finds.
"""

from typing import TYPE_CHECKING, Any

from aforesaid.core import MessageId, Misuse, Process
from aforesaid.protocols.delivery.hybrid_frames import Channel

if TYPE_CHECKING:
    from aforesaid.protocols.delivery.hybrid_process import HybridProcess

REASONS_MAX = 5
"""How many missing permits are named one by one."""


def explanation(process: "HybridProcess[Any]", message_id: MessageId) -> tuple[str, ...]:
    """What this process knows about a message, its own or another's."""
    if message_id.origin == process.me:
        return _of_own(process, message_id)
    return _of_other(process, message_id)


def _of_own(process: "HybridProcess[Any]", message_id: MessageId) -> tuple[str, ...]:
    number = message_id.number
    u = process.u
    if message_id.incarnation != process.incarnation or not 0 < number < u.next:
        raise Misuse(f"{process.me} has not said {message_id}")
    if number < u.first:
        return (f"{message_id} waits for nothing: its receivers acknowledged it or were evicted.",)
    entry = u[number]
    unsent, unacked = process._unsent_to(entry), process._unacked_by(entry)
    sentences: list[str] = []
    for peer in unsent:
        sentences += _missing_permits(process, message_id, entry.dep, peer)
    for peer in unacked:
        if peer not in unsent:
            sentences.append(f"{message_id} was sent to {peer}, whose ack is missing.")
    for peer in process._receivers(entry):
        if peer not in unsent and number > process.channels[peer].given:
            sentences.append(_missing_ack(process, message_id, peer))
    return tuple(sentences) or (
        f"{message_id} is acknowledged; it is kept because an earlier message is not.",
    )


def _missing_permits(
    process: "HybridProcess[Any]", message_id: MessageId, dep: int, peer: Process
) -> list[str]:
    p = process.p
    keys = [key for index in range(p.first, min(dep, p.next)) if (key := p[index]) is not None]
    keys = [key for key in keys if not (process.receiver_exempt and key[0] == peer)]
    sentences = [
        f"{message_id} is not sent to {peer}: the permit from {sender} for its message {number} is missing."
        for sender, number in keys[:REASONS_MAX]
    ]
    if len(keys) > REASONS_MAX:
        sentences.append(f"{message_id} waits for {len(keys) - REASONS_MAX} more permits.")
    return sentences


def _missing_ack(process: "HybridProcess[Any]", message_id: MessageId, peer: Process) -> str:
    """The oldest ack that keeps a permit back."""
    number, u = message_id.number, process.u
    for earlier in range(u.first, number + 1):
        for name in process._unacked_by(u[earlier]):
            if name != peer or (earlier < number and not process.receiver_exempt):
                label = message_id._replace(number=earlier)
                return f"{peer} has no permit for {message_id}: the ack from {name} for {label} is missing."
    raise AssertionError(f"{process.me} owes {peer} a permit for {message_id} that nothing keeps back")


def _of_other(process: "HybridProcess[Any]", message_id: MessageId) -> tuple[str, ...]:
    origin, _, number = message_id
    if origin in process.evicted:
        return (f"{process.me} has evicted {origin}: nothing of it is delivered any more.",)
    channel = process.channels.get(origin, Channel())
    if number <= channel.delivered:
        if number in channel.missing:
            return (f"{message_id} was delivered; the permit from {origin} for it is missing.",)
        return (f"{message_id} waits for nothing here: if it was for {process.me}, it was delivered.",)
    early = {message.number: message for message in channel.early.values()}
    if number not in early:
        return (f"{message_id} has not arrived; the last of {origin} delivered here is {channel.delivered}.",)
    missing = number
    while missing in early:
        missing = early[missing].previous
    predecessor = message_id._replace(number=missing)
    return (f"{message_id} arrived, but {predecessor}, said to {process.me} before it, has not.",)
