"""Strangers who send a live node whatever they like, as fast as it takes it."""

import asyncio
import os
import random
import socket
import tracemalloc
from pathlib import Path

from aforesaid import Node
from aforesaid.security.datagrams import KeyRing, Opener, Sealer
from aforesaid.security.keyfiles import write_cluster_key
from aforesaid.security.keys import make_cluster_key
from aforesaid.transport.address import Address
from aforesaid.wire import cluster_id
from aforesaid.wire.packet import Header
from net.net_stage import placed_configs, running, take, until

BATCH = 60
ALGORITHM = "hybrid_multicast_in_order"


class Stranger:
    """A socket at the address of a peer: hears what the node says to that peer, and says what it likes."""

    def __init__(self, mine: str, node: str) -> None:
        self.socket = socket.socket(type=socket.SOCK_DGRAM)
        self.socket.bind(Address.parse(mine))
        self.socket.setblocking(False)
        self.node = Address.parse(node)

    def overheard(self) -> list[bytes]:
        heard = []
        while True:
            try:
                heard.append(self.socket.recv(65536))
            except BlockingIOError:
                return heard

    def say(self, data: bytes) -> None:
        self.socket.sendto(data, self.node)


def mutant(data: bytes, chance: random.Random) -> bytes:
    """A datagram with something wrong."""
    changed = bytearray(data)
    match chance.randrange(5):
        case 0:
            changed[chance.randrange(len(changed))] ^= 1 << chance.randrange(8)
        case 1:
            del changed[chance.randrange(len(changed)) :]
        case 2:
            changed += chance.randbytes(chance.randrange(1, 50))
        case 3:
            return chance.randbytes(chance.randrange(0, 1500))
        case 4:
            at = chance.randrange(len(changed))
            changed[at : at + 4] = chance.randbytes(4)
    return bytes(changed)


async def bombard(node: Node, stranger: Stranger, samples: list[bytes], count: int) -> None:
    """So many hostile datagrams, as fast as the node takes them."""
    chance, sent = random.Random(8), 0
    before = sum(node.refused.values())
    while (refused := sum(node.refused.values()) - before) < count:
        assert sent < 2 * count, f"{refused} of {sent} were refused"
        for _ in range(BATCH):
            stranger.say(mutant(chance.choice(samples), chance))
            sent += 1
        stranger.overheard()
        await asyncio.sleep(0)


def sealed_by_a_stranger(cluster: bytes) -> list[bytes]:
    sealer = Sealer(KeyRing(make_cluster_key()), Header(cluster, "bob", 2**60))
    return [sealer.greet(), sealer.seal(b"\x91\xc4\x01x", os.urandom(8))]


async def siege(root: Path, count: int) -> dict[str, int]:
    """So many hostile datagrams into a sealed node; each reason of refusal with its count."""
    key = write_cluster_key(root / "key")
    configs = placed_configs(["alice", "bob", "carol"], root, security={"cluster_key": str(root / "key")})
    stranger = Stranger(configs["bob"].listen, configs["alice"].listen)
    async with running({name: configs[name] for name in ("alice", "carol")}) as nodes:
        alice = nodes["alice"]
        # What a member once said, and what this node says itself: to be replayed and reflected.
        bob = Header(cluster_id("aforesaid", ALGORITHM), "bob", 1)
        member = Sealer(KeyRing(key), bob)
        greeting = member.greet()
        stranger.say(greeting)
        heard: list[bytes] = []

        def answered() -> bool:
            heard.extend(stranger.overheard())
            return bool(heard)

        await until(answered, "alice greets, or answers")
        fresh = Opener(KeyRing(key), bob, member.session).open(heard[0]).session
        stranger.say(member.seal(b"", fresh))
        await until(lambda: alice.peers["bob"] == "connected", "a member is heard")
        samples = [
            greeting,
            *heard,
            *stranger.overheard(),
            *sealed_by_a_stranger(cluster_id("aforesaid", ALGORITHM)),
        ]
        tracemalloc.start()
        await bombard(alice, stranger, samples[:1] * 3 + samples, count)
        size, _ = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        assert size < 2**20, f"{size} bytes were kept"
        assert {"forged", "truncated", "not ours", "version", "cluster", "key"} <= set(alice.refused)
        for again in (greeting, greeting):
            stranger.say(again)
        await until(lambda: alice.refused.get("replayed", 0) > 1, "replays are refused")
        assert alice.gauges()["inbox_messages"] == 0
        await nodes["carol"].send({"alice"}, b"still there?")
        assert [message.payload for message in await take(alice, 1)] == [b"still there?"]
    stranger.socket.close()
    return dict(alice.refused) | {"bytes kept": size}
