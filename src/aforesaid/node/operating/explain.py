"""Why a message waits at a live node: the protocol's reasons, since when, and how long peers were silent."""

import re
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from aforesaid.core import SECOND, Explaining, Joining, MessageId, Misuse, Process, Reason, worded

if TYPE_CHECKING:
    from aforesaid.node.host import Host

_LABEL = re.compile(r"(?P<origin>.+?)(~(?P<incarnation>\d+))?#(?P<number>\d+)")


def reasons_of(host: "Host", message_id: MessageId | str) -> tuple[Reason, ...]:
    """What this node knows of a message."""
    meant = parse(host, message_id) if isinstance(message_id, str) else message_id
    if host.config.peers and meant.origin not in host.config.group:
        raise Misuse(f"{meant.origin} is not in the group: {', '.join(host.config.group)}")
    reasons = _reasons(host, meant)
    if meant.origin != host.config.name:
        return reasons
    said = host.flight.said_at(meant.number)
    return reasons if said is None else tuple(reason._replace(since=said) for reason in reasons)


def sentences_of(host: "Host", reasons: Sequence[Reason]) -> tuple[str, ...]:
    """The reasons in sentences, and of each peer that is concerned when it was last heard."""
    silences = []
    for reason in reasons:
        if reason.kind == "handshake" and reason.since is not None:
            lasted = (host.now() - reason.since) / SECOND
            silences.append(f"Messages are kept for {reason.peer} since {lasted:.1f} s ago.")
    for peer, ago in silences_of(host, reasons).items():
        silences.append(f"{peer} was {'never heard' if ago is None else f'last heard {ago:.1f} s ago'}.")
    return (*map(worded, reasons), *silences)


def silences_of(host: "Host", reasons: Sequence[Reason]) -> dict[Process, float | None]:
    """Of each peer that is concerned: how many seconds ago it was heard; None: never."""
    concerned = {name for reason in reasons for name in reason.names}
    found: dict[Process, float | None] = {}
    for peer in host.config.peers:
        if peer in concerned and peer not in host.gone:
            heard = host.carrier.heard_ns(peer)
            found[peer] = None if heard is None else (host.now() - heard) / SECOND
    return found


def data_of(host: "Host", reason: Reason) -> dict[str, Any]:
    """A reason for programs; what it does not say is left out."""
    data = {name: value for name, value in reason._asdict().items() if value not in (None, 0)}
    for name in ("message", "cause"):
        if name in data:
            data[name] = str(data[name])
    if reason.since is not None:
        moment = datetime.fromtimestamp((host.wall() - host.now() + reason.since) / SECOND, UTC)
        data["since"] = moment.isoformat(timespec="milliseconds")
    return data


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


def _reasons(host: "Host", meant: MessageId) -> tuple[Reason, ...]:
    machine = host.machine
    if isinstance(machine, Explaining):
        return machine.reasons(meant)
    if isinstance(machine, Joining) and not machine.inside:
        return (Reason("outside", meant, host.config.name),)
    return (Reason("at once", meant, host.entry.name),)
