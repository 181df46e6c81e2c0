"""Writes the published test vectors of the wire format, tests/vectors/wire/*.json.

    python tests/vectors/make_wire.py

Run it to add vectors. If it changes one that was there, the format has changed, and so must its version.
"""

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec

sys.path.insert(0, str(Path(__file__).parents[1]))

from aforesaid.core import Refused
from aforesaid.protocols.frontier import Placed
from aforesaid.security.datagrams import NOBODY, KeyRing, Opener, Sealer, derived_key
from aforesaid.security.keys import ClusterKey
from aforesaid.wire import Header, Reassembly, cluster_id, pack, read_header, unpack
from aforesaid.wire.packet import CLEAR, SEALED
from support.wire_examples import GROUP, MESSAGES, codec

PLACE = Path(__file__).parent / "wire"
CLUSTER = cluster_id("demo", "waiting")
KEY, OTHER_KEY = ClusterKey(bytes(range(32))), ClusterKey(bytes(32))
ALICE, BOB = Header(CLUSTER, "alice", 3), Header(CLUSTER, "bob", 1)
ALICES, BOBS = bytes.fromhex("a11ce00000000001"), bytes.fromhex("b0b0000000000002")
LID = ("alice", "bob", 1, 4)

BAD_FRAMES: dict[str, list[tuple[str, Any]]] = {
    "hybrid_multicast": [
        ("an unknown tag", (5, [1])),
        ("a permit for message 0", (3, [0])),
        ("a field too many", (3, [1, 2])),
        ("true is no number", (3, [True])),
        ("text is no payload", (0, [0, 1, 0, True, "text"])),
        ("a run of one", (0, [0, 7, 5, True, [b"one"]])),
        ("a run of 257", (0, [0, 300, 0, True, [b""] * 257])),
        ("a run that begins before its predecessor", (0, [0, 7, 6, True, [b"one", b"two"]])),
        ("text in a run", (0, [0, 7, 5, True, [b"one", "two"]])),
        ("news with a run that begins before it may", (1, [["bob"], [0, 7, 6, True, [b"one", b"two"]]])),
        ("news of a process without a name", (1, [[""], [0, 1, 0, True, b""]])),
        ("notice of a process without a name", (4, [[""]])),
        ("a roster with a member that has no address", (0, [0, 1, 0, True, [[["bob"]], [], []]])),
        ("a roster that is cut off", (0, [0, 1, 0, True, [[], []]])),
        ("a roster in a run", (0, [0, 7, 5, True, [b"one", [["bob", "here"]]]])),
        ("a run in a roster", (0, [0, 7, 5, True, [[["bob", "here"]], b"one", b"two"]])),
    ],
    "hybrid_adaptive_multicast": [
        ("an unknown tag", (7, [[], 1])),
        ("more is named than may be", (0, [[], 0, 1, 0, [], [["bob", "carol", 1]] * 65, False, b""])),
        ("a wait for a process outside the group", (0, [[], 0, 1, 0, [["mallory", 1]], [], False, b""])),
        ("a constraint on one outside the group", (0, [[], 0, 1, 0, [], [["mallory", "bob", 1]], True, b""])),
        ("a constraint on message 0", (0, [[], 0, 1, 0, [], [["bob", "carol", 0]], True, b""])),
        ("a constraint that is cut off", (0, [[], 0, 1, 0, [], [["bob", "carol"]], True, b""])),
        ("a run that begins before its predecessor", (0, [[], 0, 2, 1, [], [], True, [b"one", b"two"]])),
        ("a round without a number", (5, [[], 0])),
        ("a process is gone that is outside the group", (2, [["mallory"], 1, 1])),
    ],
    "waiting": [
        ("a vector of two in a group of three", (0, [1, [["bob", 0, 1], [[0, 0], b""]]])),
        ("a negative entry", (0, [1, [["bob", 0, 1], [[0, -1, 0], b""]]])),
        ("an origin outside the group", (0, [1, [["mallory", 0, 1], [[0, 0, 0], b""]]])),
    ],
    "prc_spray": [
        ("a copy with a number of a flood", (0, [LID, ["bob", 0, -1], b""])),
        ("an unknown kind of control message", (2, [None, "γ", LID, None, []])),
        ("a route that is too long", (2, [None, "α", LID, ["x"] * 65, []])),
        ("a buffered payload with a number of a flood", (3, [LID, [[["bob", 0, -1], b""]]])),
        ("a process without a name", (4, [["", "bob", 0, 1]])),
    ],
    "prc_spray+frontier": [
        ("a payload without a place", (0, [LID, ["bob", 0, 1], b""])),
        ("a place without a payload", (0, [LID, ["bob", 0, 1], {"a": []}])),
        ("more than a place and a payload", (0, [LID, ["bob", 0, 1], {"a": [], "p": b"", "q": 1}])),
        ("text is no payload", (0, [LID, ["bob", 0, 1], {"a": [], "p": "text"}])),
        ("after message 0", (0, [LID, ["bob", 0, 1], {"a": [["bob", 0, 0]], "p": b""}])),
        ("after a message of nobody", (0, [LID, ["bob", 0, 1], {"a": [["", 0, 1]], "p": b""}])),
        ("a buffered payload without a place", (3, [LID, [[["bob", 0, 1], b""]]])),
        ("a buffered payload with a number of a flood", (3, [LID, [[["bob", 0, -1], {"a": [], "p": b""}]]])),
    ],
}
BAD_BYTES = [
    ("nothing", b""),
    ("an array that is cut off", bytes.fromhex("9200")),
    ("an array said to have 2^32 - 1 fields", bytes.fromhex("9200ddffffffff")),
    ("a map", bytes.fromhex("80")),
]


def main() -> None:
    for algorithm, messages in MESSAGES.items():
        write(f"frames-{algorithm}", frames(algorithm, messages))
    write("packets", packets())
    write("datagrams", datagrams())


def write(name: str, value: Any) -> None:
    text = json.dumps(value, indent=1, ensure_ascii=False)
    (PLACE / f"{name}.json").write_text(text + "\n", encoding="utf-8")


def shown(value: Any) -> Any:
    """A message as JSON: named tuples by name, bytes in hexadecimal digits."""
    if isinstance(value, bytes):
        return {"hex": value.hex()}
    if isinstance(value, tuple) and hasattr(value, "_asdict"):
        return {type(value).__name__: {name: shown(item) for name, item in value._asdict().items()}}
    if isinstance(value, Placed):
        return {"Placed": {"after": shown(value.after), "payload": shown(value.payload)}}
    return [shown(item) for item in value] if isinstance(value, tuple) else value


def reason(call: Callable[[bytes], Any], data: bytes) -> str:
    try:
        call(data)
    except Refused as refusal:
        return refusal.reason
    raise AssertionError("it was let in")


def refused(bad: list[tuple[str, bytes]], call: Callable[[bytes], Any]) -> list[dict[str, str]]:
    return [{"why": why, "hex": data.hex(), "reason": reason(call, data)} for why, data in bad]


def frames(algorithm: str, messages: list[Any]) -> dict[str, Any]:
    known = codec(algorithm)
    bad = [(why, msgspec.msgpack.encode(value)) for why, value in BAD_FRAMES[algorithm]] + BAD_BYTES
    return {
        "algorithm": algorithm,
        "group": GROUP,
        "frames": [{"hex": known.encode(message).hex(), "message": shown(message)} for message in messages],
        "refused": refused(bad, known.decode),
    }


def packets() -> dict[str, Any]:
    large = bytes(range(100))
    bodies = [[b"one"], [b"one", b"", b"x" * 300], [bytes([number]) for number in range(20)]]
    good = ALICE.encode()
    bad_headers = [
        ("too short", good[:19]),
        ("another protocol", b"\x16" + good[1:]),
        ("another version", good[:1] + b"\x01" + good[2:]),
        ("the version before this one", good[:1] + b"\x02" + good[2:]),
        ("another cluster", Header(cluster_id("other", "waiting"), "alice", 3).encode()),
        ("sealed where none was expected", ALICE.encode(SEALED)),
        ("a name of no bytes", good[:3] + b"\x00" + good[4:]),
        ("a name that is no UTF-8", good[:-1] + b"\xff"),
    ]
    bad_bodies = [("no body", b""), ("text in place of a frame", b"\x91\xa1x"), ("a number", b"\x01")]
    bad_fragments = [
        ("a place outside the count", bytes(8) + bytes.fromhex("0000000a0000000200000002") + b"x"),
        ("a frame of 4 GiB", bytes(8) + bytes.fromhex("ffffffff0000ffff00000000") + b"x"),
        ("another hash", bytes(8) + bytes.fromhex("000000010000000100000000") + b"x"),
    ]
    return {
        "headers": [
            {
                "cluster": "demo",
                "algorithm": "waiting",
                "source": header.source,
                "incarnation": header.incarnation,
                "start": header.start,
                "hex": header.encode(CLEAR).hex(),
            }
            for header in (
                ALICE,
                Header(CLUSTER, "bob", 1, 7 << 32 | 0xABCD),
                Header(CLUSTER, "Zoë", 2**64 - 1),
            )
        ],
        "bodies": [
            {"frames": [each.hex() for each in body], "hex": pack(body, 9999)[0].hex()} for body in bodies
        ],
        "fragments": {
            "frame": large.hex(),
            "size_max": 65,
            "bodies": [each.hex() for each in pack([large], 65)],
        },
        "refused_headers": refused(bad_headers, lambda data: read_header(data, CLUSTER, CLEAR)),
        "refused_bodies": refused(bad_bodies, unpack),
        "refused_fragments": refused(bad_fragments, lambda data: Reassembly().add("a", data, 0)),
    }


def datagrams() -> dict[str, Any]:
    def sealer(key: ClusterKey = KEY, me: Header = ALICE) -> Sealer:
        return Sealer(KeyRing(key), me, ALICES)

    def opener() -> Opener:
        return Opener(KeyRing(KEY), BOB, BOBS)

    mine = sealer()
    good = [(NOBODY, b""), (BOBS, b"\x91\xc4\x03one"), (BOBS, b"")]
    sealed = [(receiver, body, mine.seal(body, receiver)) for receiver, body in good]
    whole = sealed[1][2]
    bad = [
        ("cut off", whole[:-40]),
        ("the last bit is another", whole[:-1] + bytes([whole[-1] ^ 1])),
        ("another counter", whole[:52] + b"\x07" + whole[53:]),
        ("for another session", sealer().seal(b"x", bytes(7) + b"\x01")),
        ("a greeting with a body", sealer().seal(b"x", NOBODY)),
        ("an unknown key", sealer(OTHER_KEY).seal(b"x", BOBS)),
        ("the receiver's own name", sealer(me=BOB).seal(b"x", BOBS)),
    ]
    return {
        "cluster_key": KEY.secret.hex(),
        "key_id": KEY.id.hex(),
        "sender": {"cluster": CLUSTER.hex(), "source": "alice", "incarnation": 3, "session": ALICES.hex()},
        "receiver": {"source": "bob", "incarnation": 1, "session": BOBS.hex()},
        "datagrams": [
            {
                "for": receiver.hex(),
                "body": body.hex(),
                "derived_key": derived_key(KEY, data[: -24 - len(body)]).hex(),
                "hex": data.hex(),
            }
            for receiver, body, data in sealed
        ],
        "refused": refused(bad, lambda data: opener().open(data)),
    }


if __name__ == "__main__":
    main()
