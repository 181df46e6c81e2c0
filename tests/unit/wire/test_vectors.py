"""The published vectors hold, both ways, and a reader that shares nothing with the package reads them too."""

import json
from pathlib import Path
from typing import Any

import pytest

from aforesaid.core import MessageId, Refused
from aforesaid.protocols.frontier import Placed
from aforesaid.security.datagrams import KeyRing, Opener, Sealer
from aforesaid.security.keys import ClusterKey
from aforesaid.wire import Codec, Header, Reassembly, cluster_id, pack, read_header, unpack
from aforesaid.wire.packet import CLEAR
from support.wire_examples import MESSAGES, shapes
from unit.wire import plain_reader

PLACE = Path(__file__).parents[2] / "vectors" / "wire"
FORMATS = [path.stem for path in sorted(PLACE.glob("frames-*.json"))]


def vectors(name: str) -> Any:
    return json.loads((PLACE / f"{name}.json").read_text(encoding="utf-8"))


def kinds(value: Any) -> dict[str, type]:
    """The classes of all named tuples in a value, by name."""
    if not isinstance(value, tuple):
        return {}
    mine = {type(value).__name__: type(value)} if hasattr(value, "_fields") else {}
    return {**mine, **{name: kind for item in value for name, kind in kinds(item).items()}}


def said(value: Any, known: dict[str, type]) -> Any:
    """The message that a vector shows."""
    if isinstance(value, list):
        return tuple(said(item, known) for item in value)
    if not isinstance(value, dict):
        return value
    ((name, content),) = value.items()
    if name == "hex":
        return bytes.fromhex(content)
    if name == "Placed":
        # Its ids are plain tuples until they are asked for.
        after, payload = (said(item, known) for item in content.values())
        return Placed(tuple(map(tuple, after)), payload)
    return known[name](**{field: said(item, known) for field, item in content.items()})


def plain(value: Any) -> Any:
    """What a vector shows, without the names."""
    if isinstance(value, list):
        return [plain(item) for item in value]
    if not isinstance(value, dict):
        return value
    ((name, content),) = value.items()
    if name == "Placed":
        return {field[0]: plain(item) for field, item in content.items()}
    return bytes.fromhex(content) if name == "hex" else [plain(item) for item in content.values()]


def reason(call: Any, *arguments: Any) -> str:
    with pytest.raises(Refused) as refusal:
        call(*arguments)
    return refusal.value.reason


def test_there_are_vectors_of_every_format_and_every_tag() -> None:
    assert {vectors(name)["algorithm"] for name in FORMATS} == set(MESSAGES)
    for name in FORMATS:
        file = vectors(name)
        tags = {bytes.fromhex(vector["hex"])[1] for vector in file["frames"]}
        assert tags == set(range(len(shapes(file["algorithm"], file["group"]))))


@pytest.mark.parametrize("name", FORMATS)
def test_frames(name: str) -> None:
    file = vectors(name)
    codec = Codec(shapes(file["algorithm"], file["group"]))
    known = kinds((*MESSAGES[file["algorithm"]], MessageId("a", 0, 1)))
    for vector in file["frames"]:
        data, message = bytes.fromhex(vector["hex"]), said(vector["message"], known)
        assert codec.encode(message) == data
        assert repr(codec.decode(data)) == repr(message)
        assert plain_reader.msgpack(data) == [data[1], plain(vector["message"])]
    for vector in file["refused"]:
        assert reason(codec.decode, bytes.fromhex(vector["hex"])) == vector["reason"], vector["why"]


def test_headers() -> None:
    file = vectors("packets")
    for vector in file["headers"]:
        cluster = cluster_id(vector["cluster"], vector["algorithm"])
        header = Header(cluster, vector["source"], vector["incarnation"], vector["start"])
        data = bytes.fromhex(vector["hex"])
        assert header.encode() == data
        assert read_header(data, cluster, CLEAR) == (header, len(data))
        assert plain_reader.cluster_id(vector["cluster"], vector["algorithm"]) == cluster
        assert plain_reader.header(data) == {"mode": 0, "end": len(data), **header._asdict()}
    for vector in file["refused_headers"]:
        assert reason(read_header, bytes.fromhex(vector["hex"]), cluster, CLEAR) == vector["reason"]


def test_bodies_and_fragments() -> None:
    file = vectors("packets")
    for vector in file["bodies"]:
        frames, data = [bytes.fromhex(frame) for frame in vector["frames"]], bytes.fromhex(vector["hex"])
        assert pack(frames, len(data)) == [data]
        assert unpack(data) == plain_reader.msgpack(data) == frames
    large = file["fragments"]
    frame, bodies = bytes.fromhex(large["frame"]), [bytes.fromhex(body) for body in large["bodies"]]
    assert pack([frame], large["size_max"]) == bodies
    assert plain_reader.reassembled([plain_reader.msgpack(body) for body in bodies]) == frame
    reassembly = Reassembly()
    *first, last = [reassembly.add("a", fragment, 0) for fragment in map(unpack, bodies)]  # type: ignore[arg-type]
    assert (set(first), last) == ({None}, frame)
    for vector in file["refused_bodies"]:
        assert reason(unpack, bytes.fromhex(vector["hex"])) == vector["reason"], vector["why"]
    for vector in file["refused_fragments"]:
        assert reason(Reassembly().add, "a", bytes.fromhex(vector["hex"]), 0) == vector["reason"]


def test_datagrams() -> None:
    file = vectors("datagrams")
    key = ClusterKey(bytes.fromhex(file["cluster_key"]))
    assert key.id.hex() == file["key_id"]
    ring, cluster = KeyRing(key), bytes.fromhex(file["sender"]["cluster"])

    def end(who: dict[str, Any]) -> tuple[Header, bytes]:
        return Header(cluster, who["source"], who["incarnation"]), bytes.fromhex(who["session"])

    sealer, opener = Sealer(ring, *end(file["sender"])), Opener(ring, *end(file["receiver"]))
    for vector in file["datagrams"]:
        body, data = bytes.fromhex(vector["body"]), bytes.fromhex(vector["hex"])
        assert sealer.seal(body, bytes.fromhex(vector["for"])) == data
        assert opener.open(data)[:3] == (*end(file["sender"]), body)
        assert plain_reader.opened(key.secret, data) == body
    for vector in file["refused"]:
        fresh = Opener(ring, *end(file["receiver"]))
        assert reason(fresh.open, bytes.fromhex(vector["hex"])) == vector["reason"], vector["why"]
