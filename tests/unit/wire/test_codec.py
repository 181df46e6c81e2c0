"""Frames to bytes and back: every kind, and nothing but Refused for what is none."""

import inspect
import pickle
import tracemalloc
from collections.abc import Callable
from dataclasses import replace
from typing import Any, NamedTuple

import msgspec
import pytest

from aforesaid.core import MessageId, Misuse, Refused, Speaker
from aforesaid.protocols.catalog import CATALOG, Setup
from aforesaid.protocols.delivery import hybrid_frames
from aforesaid.protocols.links.perfect import perfectly_linked
from aforesaid.protocols.overlay import frames as overlay
from aforesaid.sim import simulate
from aforesaid.wire import Codec, shapes_of
from support.harness import Passing, judged, scenario
from support.wire_examples import GROUP, MESSAGES, codec

ALL = [(algorithm, message) for algorithm, messages in MESSAGES.items() for message in messages]


def types_in(value: Any) -> Any:
    """A value with the types of all its parts: named tuples are equal to plain ones, these pictures not."""
    if isinstance(value, tuple):
        return (type(value), *map(types_in, value))
    return (type(value), value)


@pytest.mark.parametrize(("algorithm", "message"), ALL, ids=lambda part: type(part).__name__)
def test_what_is_encoded_is_decoded(algorithm: str, message: Any) -> None:
    known = codec(algorithm)
    assert types_in(known.decode(known.encode(message))) == types_in(message)


def test_every_frame_of_the_protocols_has_a_shape() -> None:
    def frames_in(module: Any) -> set[type]:
        kinds = {kind for _, kind in inspect.getmembers(module, inspect.isclass)}
        return {kind for kind in kinds if kind.__module__ == module.__name__ and issubclass(kind, tuple)}

    assert {each.kind for each in shapes_of("prc_spray")} == frames_in(overlay) - {overlay.Lid}
    timers = {hybrid_frames.Remind, hybrid_frames.Continue}
    assert {each.kind for each in shapes_of("hybrid_sps", GROUP)} == frames_in(hybrid_frames) - timers


def test_an_algorithm_without_a_format_is_a_misuse() -> None:
    with pytest.raises(Misuse, match="newtop"):
        shapes_of("newtop", GROUP)
    with pytest.raises(Misuse, match="fixed group"):
        shapes_of("waiting")


def test_a_frame_with_a_field_of_which_nothing_is_said_has_no_format() -> None:
    class Grown(NamedTuple):
        number: int
        more: Any

    grown = replace(CATALOG["waiting"], frames=(Grown,))
    with pytest.raises(Misuse, match=r"Grown.more: no wire format follows from typing.Any"):
        shapes_of(grown, GROUP)


def test_a_frame_of_another_format_is_a_misuse() -> None:
    for message in (overlay.Fin(overlay.Lid("a", "b", 0, 1)), "text", ()):
        with pytest.raises(Misuse, match="no frame of this format"):
            codec("hybrid_multicast").encode(message)


def test_a_frame_that_is_too_long_is_a_misuse_here_and_refused_there() -> None:
    message = hybrid_frames.Msg(0, 1, 0, False, bytes(1000))
    data = codec("hybrid_multicast").encode(message)
    short = codec("hybrid_multicast", frame_bytes_max=len(data) - 1)
    with pytest.raises(Misuse, match="limit"):
        short.encode(message)
    assert reason(short, data) == "frame size"


def reason(known: Codec, data: bytes) -> str:
    with pytest.raises(Refused) as refusal:
        known.decode(data)
    return refusal.value.reason


encode = msgspec.msgpack.encode
LID = ("alice", "bob", 1, 4)

BAD: list[tuple[str, Any, str]] = [
    ("hybrid_multicast", (7, [1]), "frame tag"),
    ("hybrid_multicast", (-1, [1]), "frame tag"),
    ("hybrid_multicast", (3, [0]), "frame shape"),
    ("hybrid_multicast", (3, [True]), "frame shape"),
    ("hybrid_multicast", (3, [1.0]), "frame shape"),
    ("hybrid_multicast", (3, [1, 2]), "frame shape"),
    ("hybrid_multicast", (3, []), "frame shape"),
    ("hybrid_multicast", (3, {}), "frame shape"),
    ("hybrid_multicast", (0, [0, 1, 0, True, "text"]), "frame shape"),
    ("hybrid_multicast", (1, [[""], [0, 1, 0, True, b""]]), "frame shape"),
    ("hybrid_multicast", (0, [0, 1, 0, True, [[["bob"]], [], []]]), "frame shape"),
    ("hybrid_multicast", (0, [0, 1, 0, True, [[["bob", "x" * 256]], [], []]]), "frame shape"),
    ("waiting", (0, [1, [["bob", 0, 1], [[0, 0], b""]]]), "frame shape"),
    ("waiting", (0, [1, [["bob", 0, 1], [[0, 0, 0, 0], b""]]]), "frame shape"),
    ("waiting", (0, [1, [["bob", 0, 1], [[0, -1, 0], b""]]]), "frame shape"),
    ("waiting", (0, [1, [["mallory", 0, 1], [[0, 0, 0], b""]]]), "frame shape"),
    ("waiting", (0, [1, [["bob", 0, 0], [[0, 0, 0], b""]]]), "frame shape"),
    ("prc_spray", (0, [LID, ["bob", 0, -1], b""]), "frame shape"),
    ("prc_spray", (1, [LID, ["bob", 0, -1], b""]), "frame shape"),
    ("prc_spray", (2, [None, "γ", LID, None, []]), "frame shape"),
    ("prc_spray", (2, [None, "α", LID, ["x"] * 65, []]), "frame shape"),
    ("prc_spray", (3, [LID, [[["bob", 0, -1], b"payload"]]]), "frame sense"),
    ("prc_spray", (3, [LID, [[["bob", 0, 1], [None, "α", LID, None, []]]]]), "frame sense"),
    ("prc_spray", (3, [LID, [[["bob", 0, 0], b""]]]), "frame sense"),
    ("prc_spray", (4, [["", "bob", 0, 1]]), "frame shape"),
    ("prc_spray", (4, [["x" * 256, "bob", 0, 1]]), "frame shape"),
]


@pytest.mark.parametrize(("algorithm", "value", "why"), BAD)
def test_what_no_correct_peer_sends_is_refused(algorithm: str, value: Any, why: str) -> None:
    assert reason(codec(algorithm), encode(value)) == why


def test_bytes_that_are_no_msgpack_are_refused() -> None:
    known = codec("hybrid_multicast")
    whole = known.encode(hybrid_frames.Permit(7))
    assert reason(known, whole + b"\x00") == "frame shape"
    assert {reason(known, whole[:end]) for end in range(len(whole))} == {"frame tag", "frame shape"}
    # A name that is no UTF-8 is another kind of error in msgspec.
    assert reason(codec("prc_spray"), b"\x92\x04\x91\x94\xa1\xff\xa1b\x00\x01") == "frame shape"


def test_a_longer_form_of_the_outer_array_is_no_way_to_another_tag() -> None:
    known = codec("hybrid_multicast")
    fields = encode(hybrid_frames.Msg(0, 1, 0, False, b""))
    assert reason(known, b"\xdc\x00\x02\x03" + fields) == "frame shape"


@pytest.mark.parametrize(
    "announced",
    [
        b"\x92\x01\x92\xdd\xff\xff\xff\xff",  # News with 2^32 - 1 names
        b"\x92\x00\x95\x00\x01\x00\xc3\xc6\xff\xff\xff\xff",  # Msg with 4 GiB of payload
        b"\x92\x00\xdd\xff\xff\xff\xff",  # Msg with 2^32 - 1 fields
        b"\xdd\x00\x02\xff\xff",
        b"\x92\x01\x92" + b"\x91" * 100_000,
    ],
)
def test_an_announced_length_costs_nothing(announced: bytes) -> None:
    known = codec("hybrid_multicast")
    reason(known, announced)
    tracemalloc.start()
    try:
        reason(known, announced)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 20_000


# ------------------------------------------------------------------------------------- in the simulator


class Wired:
    """A protocol whose every message goes through bytes before it is sent, and whose payloads are bytes."""

    def __init__(self, machine: Any, known: Codec, seen: set[Any]) -> None:
        self._machine = machine
        self._known = known
        self._seen = seen

    def __getattr__(self, name: str) -> Any:
        attribute = getattr(self._machine, name)
        return self._through(name, attribute) if callable(attribute) else attribute

    def _through(self, name: str, method: Callable[..., Any]) -> Callable[..., Any]:
        def call(*arguments: Any) -> Any:
            *others, out = arguments or (None,)
            if not hasattr(out, "choose"):
                return method(*arguments)
            if name in ("broadcast", "send"):
                others[-2] = pickle.dumps(others[-2])
            return method(*others, Bytes(out, self._known, self._seen))

        return call


class Bytes(Passing):
    """The effects sink of such a protocol."""

    def __init__(self, out: Any, known: Codec, seen: set[Any]) -> None:
        super().__init__(out)
        self._known = known
        self._seen = seen

    def send(self, targets: Any, message: Any) -> None:
        data = self._known.encode(message)
        self._seen.add(data[1])
        self.out.send(targets, self._known.decode(data))

    def deliver(self, message_id: MessageId, payload: Any) -> None:
        self.out.deliver(message_id, pickle.loads(payload))


RUNS: dict[str, dict[str, Any]] = {
    "hybrid_multicast_sps": {
        "processes": 5,
        "network": {"loss": 0.1, "duplication": 0.1},
        "detector": {"delay_ms": 20},
        "workload": [{"kind": "rate", "per_second": 100, "fan_out": 2}],
        "fault": [{"kind": "crash", "at_ms": 200, "process": "p2"}],
    },
    "waiting": {
        "network": {"duplication": 0.1},
        "workload": [{"kind": "chain", "per_second": 50}],
    },
    "prc_spray": {
        "processes": 12,
        "duration_ms": 1500,
        "options": {"degree": 2, "handshake_ms": 400, "period_ms": 100},
        "network": {"fifo": True, "control_loss": 0.05},
        "detector": {"delay_ms": 40},
        "workload": [{"kind": "rate", "per_second": 20}],
        "fault": [
            {"kind": "churn", "joins_per_second": 5, "leaves_per_second": 2, "crashes_per_second": 2},
            {"kind": "rewire", "per_second": 20, "open": 3, "reopen": 1, "flap": 0.5, "blind": 0.5},
        ],
    },
}

RUNS["prc"] = {
    "processes": 8,
    "options": {"degree": 2, "both_ways": False},
    "network": {"fifo": True},
    "workload": [{"kind": "rate", "per_second": 20}],
    "fault": [{"kind": "rewire", "per_second": 50, "open": 2, "close": 2}],
}


def on_links(setup: Setup) -> Speaker:
    return perfectly_linked(CATALOG["waiting"].build(setup))


AGREE = 6
"""Only where links go one way there is an end that has to agree by a frame of its own."""


@pytest.mark.parametrize(
    ("algorithm", "build", "tags"),
    [
        ("hybrid_multicast_sps", CATALOG["hybrid_multicast_sps"].build, {*range(4)}),
        ("waiting", on_links, {0, 1}),
        ("prc_spray", CATALOG["prc_spray"].build, {*range(16)} - {AGREE}),
        ("prc", CATALOG["prc"].build, {AGREE}),
    ],
)
def test_a_simulation_whose_messages_go_through_bytes_is_the_same_simulation(
    algorithm: str, build: Callable[[Setup], Any], tags: set[int]
) -> None:
    run = scenario(algorithm, seed=3, **RUNS[algorithm])
    known = Codec(shapes_of(algorithm, tuple(f"p{number}" for number in range(run.processes))))
    seen: set[int] = set()
    outcome, _, report = judged(run, lambda setup: Wired(build(setup), known, seen))
    assert outcome.run.digest == simulate(run, build=build)[0].run.digest
    assert report.value() == "kept"
    assert seen >= tags, "a kind of frame was never sent"
