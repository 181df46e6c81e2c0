"""How a node is, as plain data: the control socket hands it to `aforesaid top` and `aforesaid why`, and the
metrics are made of it. Nothing else counts what these tell."""

from typing import TYPE_CHECKING, Any

from aforesaid.core import SECOND, Keeping, Owing, Repairing, worded
from aforesaid.node.endings import Dismissed
from aforesaid.node.history.keeping import KeepingHost
from aforesaid.node.operating.explain import reasons_of
from aforesaid.node.surviving import SurvivingHost

if TYPE_CHECKING:
    from aforesaid.node.host import Host
    from aforesaid.node.questions import Questions


def status_of(node: "Questions[Any]", host: "Host") -> dict[str, Any]:
    """Everything at this moment; counts are since the node started, or its last incarnation did."""
    suspects = node.suspects
    return {
        "name": node.name,
        "cluster": host.config.cluster,
        "algorithm": host.entry.name,
        "incarnation": host.incarnation,
        "state": _state(node, host),
        "clock_s": host.now() / SECOND,
        "said": node.said,
        "delivered": node.delivered,
        "resent": host.machine.resent if isinstance(host.machine, Repairing) else None,
        "evicted": list(host.gone.values()).count("evicted"),
        "refused": node.refused,
        "peers": node.peers,
        "suspects": {peer: round(suspect.silent_s, 3) for peer, suspect in suspects.items()},
        "owed": _owed(host),
        "waits": waits_of(host),
        "queues": node.queues(),
        "latency": _latency(host),
        "protocol": dict(host.machine.gauges()),
        "journal": host.lag() if isinstance(host, SurvivingHost) else None,
        "waits_for": list(host.waits_for) if isinstance(host, SurvivingHost) else [],
        "history": host.facts() if isinstance(host, KeepingHost) else None,
    }


def waits_of(host: "Host") -> list[dict[str, Any]]:
    """Of each peer that has not acknowledged all: the oldest message that waits for it; the longest first.
    Then of each link that is being opened: the oldest message that is kept for it."""
    waits = sorted(host.flight.waits().items(), key=lambda each: (each[1].said_ns, each[0]))
    now = host.now()
    found = [
        {"message": str(receipt.id), "peer": peer, "seconds": round((now - receipt.said_ns) / SECOND, 3)}
        for peer, receipt in waits
    ]
    kept = host.machine.kept() if isinstance(host.machine, Keeping) else ()
    for reason in sorted(kept, key=lambda each: each.since or 0):
        seconds = round((now - (reason.since or now)) / SECOND, 3)
        found.append({"message": str(reason.message), "peer": reason.peer, "seconds": seconds})
    return found


def explained(host: "Host", waits: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The same with the first reason of each that concerns its peer."""
    found = []
    for each in waits:
        reasons = reasons_of(host, each["message"])
        reason = next((reason for reason in reasons if each["peer"] in reason.names), None)
        found.append(each if reason is None else {**each, "why": worded(reason)})
    return found


def _state(node: "Questions[Any]", host: "Host") -> str:
    if node.closing:
        return "closing"
    if isinstance(host.error, Dismissed):
        return "left"
    if host.error is not None:
        return "outside" if node.outside else f"failed: {host.error}"
    return "running"


def _latency(host: "Host") -> dict[str, Any]:
    acknowledged = host.flight.acknowledged
    return {
        "acknowledged": None if acknowledged is None else acknowledged.facts(),
        "inbox": host.inbox.dwell.facts(),
    }


def _owed(host: "Host") -> dict[str, int]:
    machine = host.machine
    if not isinstance(machine, Owing):
        return {}
    return {peer: machine.owed(peer) for peer in host.config.peers if peer not in host.gone}
