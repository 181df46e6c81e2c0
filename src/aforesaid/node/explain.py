"""Why a message waits at a live node: the protocol's own sentences, and how long peers have been silent."""

import re
import time
from typing import TYPE_CHECKING, Any

from aforesaid.core import SECOND, MessageId, Misuse

if TYPE_CHECKING:
    from aforesaid.node.host import Host

_LABEL = re.compile(r"(?P<origin>.+?)(~(?P<incarnation>\d+))?#(?P<number>\d+)")


def explain(host: "Host", message_id: MessageId | str) -> tuple[str, ...]:
    """What this node knows of a message, in sentences."""
    meant = parse(host, message_id) if isinstance(message_id, str) else message_id
    if host.config.peers and meant.origin not in host.config.group:
        raise Misuse(f"{meant.origin} is not in the group: {', '.join(host.config.group)}")
    if hasattr(host.machine, "explain"):
        sentences = host.machine.explain(meant)
    elif host.entry.linked:
        sentences = _of_flooding(host, meant)
    else:
        sentences = _of_waiting(host.machine, meant)
    return (*sentences, *_silences(host, sentences))


def parse(host: "Host", label: str) -> MessageId:
    """A message by how it is written, `alice#5`; without an incarnation, the one known here."""
    match = _LABEL.fullmatch(label)
    if match is None:
        raise Misuse(f"{label!r} is no message; write alice#5, or alice~INCARNATION#5")
    origin = match["origin"]
    if match["incarnation"]:
        incarnation = int(match["incarnation"])
    elif origin == host.config.name:
        incarnation = host.incarnation
    else:
        incarnation = host.incarnations.get(origin, 0)
    number = int(match["number"])
    if not number:
        raise Misuse(f"{label}: messages are counted from 1")
    return MessageId(origin, incarnation, number)


def _silences(host: "Host", sentences: tuple[str, ...]) -> list[str]:
    """Of each peer that the sentences name: when it was last heard."""
    text, now = " ".join(sentences), time.monotonic_ns()
    found = []
    for peer in host.config.peers:
        if re.search(rf"(?<![\w.-]){re.escape(peer)}(?![\w.-])", text) and peer not in host.gone:
            heard = host.carrier.heard_ns(peer)
            ago = "was never heard" if heard is None else f"was last heard {(now - heard) / SECOND:.1f} s ago"
            found.append(f"{peer} {ago}.")
    return found


def _of_waiting(links: Any, meant: MessageId) -> tuple[str, ...]:
    """Waiting vector clocks over perfect links."""
    waiting = links.above
    rank = waiting.rank[meant.origin]
    if meant.origin == waiting.me:
        if not 0 < meant.number <= waiting.sent:
            raise Misuse(f"{waiting.me} has not said {meant}")
        lacking = [peer for peer, frames in links.unacked.items() if frames]
        return tuple(f"{peer} has frames of {waiting.me} to acknowledge." for peer in lacking) or (
            f"{meant} waits for nothing: every peer has received it.",
        )
    if meant.number <= waiting.vector[rank]:
        return (f"{meant} was delivered.",)
    for (entry, count), pending in waiting.pending.items():
        for message in pending:
            if message.sender == rank and message.vector[rank] + 1 == meant.number:
                missing = f"{waiting.group[entry]}#{count}"
                return (f"{meant} arrived, but {missing}, which its author had delivered first, has not.",)
    return (f"{meant} has not arrived; the last of {meant.origin} delivered here is {waiting.vector[rank]}.",)


def _of_flooding(host: "Host", meant: MessageId) -> tuple[str, ...]:
    if not host.machine.inside:
        return (f"{host.config.name} has not been let into the group yet; what it says waits here.",)
    return (f"nothing waits here: {host.entry.name} delivers what arrives at once.",)
