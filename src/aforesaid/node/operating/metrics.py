"""A node's status as OpenMetrics text (openmetrics.io, version 1.0.0): what Prometheus and others fetch."""

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from aforesaid.core.version import __version__

CONTENT_TYPE = "application/openmetrics-text; version=1.0.0; charset=utf-8"


class Sample(NamedTuple):
    """One value, and what it is of."""

    value: float
    labels: Mapping[str, str] = {}
    suffix: str = ""
    """Of a family that has samples of several kinds."""


class Family(NamedTuple):
    """A metric; of a unit its name ends with it."""

    name: str
    kind: str
    help: str
    samples: Iterable[Sample]
    unit: str = ""


SUFFIX = {"counter": "_total", "info": "_info"}


def text_of(status: Mapping[str, Any]) -> str:
    """All families that this node has something to say of."""
    lines = [line for family in _families(status) for line in _lines(family)]
    return "\n".join([*lines, "# EOF\n"])


def _families(status: Mapping[str, Any]) -> Iterable[Family]:
    facts = {key: str(status[key]) for key in ("name", "cluster", "algorithm", "incarnation")}
    yield Family("aforesaid_node", "info", "The node.", [Sample(1, {**facts, "version": __version__})])
    running = Sample(status["state"] == "running")
    yield Family(
        "aforesaid_running", "gauge", "1 while it is neither closing, failed nor outside.", [running]
    )
    yield from _counters(status)
    yield from _peers(status)
    yield from _queues(status)
    yield from _latency(status["latency"])
    if status["journal"] is not None:
        yield from _journal(status["journal"])


def _counters(status: Mapping[str, Any]) -> Iterable[Family]:
    counted = (
        ("said", "Messages that this node has said.", status["said"]),
        ("delivered", "Messages delivered to this node, its own included.", status["delivered"]),
        ("resent", "Messages, or frames of them, that were taken for lost and sent again.", status["resent"]),
    )
    for name, words, value in counted:
        if value is not None:
            yield Family(f"aforesaid_{name}_messages", "counter", words, [Sample(value)], "messages")
    words = "Peers that this node has evicted."
    yield Family("aforesaid_evictions", "counter", words, [Sample(status["evicted"])])
    words = "What was not let in, by reason."
    yield Family("aforesaid_refusals", "counter", words, _labelled("reason", status["refused"]))


def _peers(status: Mapping[str, Any]) -> Iterable[Family]:
    states = Counter(state.partition(":")[0] for state in status["peers"].values())
    yield Family("aforesaid_peers", "gauge", "Peers, by how they are.", _labelled("state", states))
    silent, owed = status["suspects"], status["owed"]
    waits = {each["peer"]: each["seconds"] for each in status["waits"]}
    words = "For how long a suspected peer has been silent."
    yield Family("aforesaid_suspect_silent_seconds", "gauge", words, _labelled("peer", silent), "seconds")
    words = "Messages, or frames of them, that this peer has not acknowledged."
    yield Family("aforesaid_owed_messages", "gauge", words, _labelled("peer", owed), "messages")
    words = "For how long the oldest message that waits for this peer has waited."
    yield Family("aforesaid_oldest_wait_seconds", "gauge", words, _labelled("peer", waits), "seconds")


def _queues(status: Mapping[str, Any]) -> Iterable[Family]:
    queues = status["queues"]
    for name, unit, key, words in (
        ("under_way", "messages", "under_way", "Own messages that not all receivers have acknowledged."),
        ("inbox", "messages", "inbox_messages", "Messages that the application has not taken."),
        ("inbox", "bytes", "inbox_bytes", "Their payloads."),
        ("link", "bytes", "link_bytes", "Bytes that wait towards the peer towards whom most do."),
    ):
        yield Family(f"aforesaid_{name}_{unit}", "gauge", words, [Sample(queues[key])], unit)
    words = "What the algorithm holds, by kind."
    yield Family("aforesaid_protocol_held", "gauge", words, _labelled("kind", status["protocol"]))


def _latency(latency: Mapping[str, Any]) -> Iterable[Family]:
    for name, key, words in (
        ("acknowledgment", "acknowledged", "From when an own message was said until all receivers had it."),
        ("inbox_dwell", "inbox", "From when a message was delivered until the application took it."),
    ):
        if (facts := latency[key]) is not None:
            yield Family(f"aforesaid_{name}_seconds", "histogram", words, _histogram(facts), "seconds")


def _histogram(facts: Mapping[str, Any]) -> Iterable[Sample]:
    for bound, count in facts["within_s"]:
        yield Sample(count, {"le": str(bound)}, "_bucket")
    yield Sample(facts["count"], {"le": "+Inf"}, "_bucket")
    yield Sample(facts["count"], suffix="_count")
    yield Sample(facts["sum_s"], suffix="_sum")


def _journal(lag: Mapping[str, float]) -> Iterable[Family]:
    for name, unit, key, words in (
        ("unforced", "records", "records", "Records that are not on the disk yet."),
        ("held", "effects", "effects", "Frames, deliveries and the like that wait for the disk."),
        ("commit", "seconds", "commit_s", "For how long the disk has been at the present batch."),
    ):
        yield Family(f"aforesaid_journal_{name}_{unit}", "gauge", words, [Sample(lag[key])], unit)


def _labelled(label: str, values: Mapping[str, float]) -> list[Sample]:
    return [Sample(value, {label: name}) for name, value in values.items()]


def _lines(family: Family) -> Iterable[str]:
    yield f"# TYPE {family.name} {family.kind}"
    if family.unit:
        yield f"# UNIT {family.name} {family.unit}"
    yield f"# HELP {family.name} {family.help}"
    for value, labels, suffix in family.samples:
        told = ",".join(f'{name}="{_escaped(text)}"' for name, text in labels.items())
        name = f"{family.name}{suffix or SUFFIX.get(family.kind, '')}"
        yield f"{name}{f'{{{told}}}' if told else ''} {value + 0}"


def _escaped(text: str) -> str:
    return text.replace("\\", r"\\").replace('"', r"\"").replace("\n", r"\n")
