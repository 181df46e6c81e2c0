"""Frames to the members of a fixed group in datagrams, sealed or in the clear.

Nothing here is reliable. A datagram that is not let in is counted and not answered. Of each peer the first
incarnation that is heard counts: a later one has lost what the group relies on, and is refused until the
group starts anew.
"""

import socket
from collections.abc import Mapping, Sequence
from typing import Any

from aforesaid.core import SECOND, Misbehaviour, Misuse, Nanoseconds, Process, Refused
from aforesaid.ground import ground
from aforesaid.node.carrying.carrier import Above
from aforesaid.node.carrying.notes import Note, encode, is_note, read_note
from aforesaid.node.carrying.securing import Seals
from aforesaid.node.config import Config
from aforesaid.node.operating.logs import tell
from aforesaid.transport import Address, Datagrams
from aforesaid.wire import Inlet, pack

UNGREETED_FRAMES_MAX = 256
"""Frames that wait for a peer's session; the rest is lost, as any datagram may be."""

GREETINGS_APART: Nanoseconds = SECOND // 10
"""A peer whose session is not known is greeted no more often than this."""

BYES = 3
"""A goodbye is said so many times: any one may be lost, and none is acknowledged."""


class Peer:
    """A member of the group."""

    __slots__ = ("greeted", "heard", "incarnation", "numeric", "session", "spoke", "waiting")

    def __init__(self, numeric: Any, session: bytes | None) -> None:
        self.numeric = numeric
        self.session = session
        self.incarnation: int | None = None
        self.heard: Nanoseconds | None = None
        self.spoke: Nanoseconds = 0
        self.greeted: Nanoseconds = 0
        self.waiting: list[Any] = []
        """Frames said before its session was known."""


class DatagramCarrier:
    """The carrier of a fixed group over UDP."""

    def __init__(self, config: Config, seals: Seals, inlet: Inlet, above: Above) -> None:
        self._addresses: Mapping[Process, Address] = {
            name: Address.parse(text) for name, text in config.peers.items()
        }
        self._listen = Address.parse(config.listen)
        self._size_max = config.datagram_bytes_max
        self._heartbeat = round(config.heartbeat_s * SECOND)
        self._seals = seals
        self._inlet = inlet
        self._above = above
        self._now = ground().monotonic_ns
        self._peers: dict[Process, Peer] = {}
        self._gone: set[Process] = set()
        self._body_max = self._size_max - seals.overhead
        self.refused = inlet.refused
        self.address = self._listen
        self._socket: Datagrams | None = None

    async def start(self) -> None:
        self._socket = await Datagrams.open(self._listen, self._size_max, self._arrived)
        self._send = self._socket.send
        self.address = self._socket.address
        for name, address in self._addresses.items():
            _, numeric = await address.resolve(socket.SOCK_DGRAM)
            self._peers[name] = Peer(numeric, None if self._seals.greets else b"")
        for peer in self._peers.values():
            self._greet(peer, self._now())

    def send(self, peer: Process, frames: Sequence[Any]) -> None:
        to = self._peers.get(peer)
        if to is None:
            return
        if to.session is None:
            to.waiting += frames[: UNGREETED_FRAMES_MAX - len(to.waiting)]
            self._greet(to, self._now())
            return
        encode_frame = self._inlet.codec.encode
        to.spoke = self._now()
        seal, session, send, numeric = self._seals.seal, to.session, self._send, to.numeric
        for body in pack([encode_frame(frame) for frame in frames], self._body_max):
            send(seal(body, session), numeric)

    def beat(self, now: Nanoseconds) -> None:
        for peer in self._peers.values():
            if peer.session is None:
                self._greet(peer, now)
            elif now - peer.spoke >= self._heartbeat:
                self._say(peer, b"", now)

    async def call(self, *addresses: Address) -> Process:
        raise Misuse("datagrams are for fixed groups: nobody joins them")

    def members(self) -> list[Address]:
        return []

    def heard_ns(self, peer: Process) -> Nanoseconds | None:
        known = self._peers.get(peer)
        return None if known is None else known.heard

    def connected(self) -> list[Process]:
        """Those heard within the last three heartbeats."""
        since = self._now() - 3 * self._heartbeat
        return [name for name, peer in self._peers.items() if peer.heard is not None and peer.heard > since]

    def forget(self, peer: Process) -> None:
        known = self._peers.pop(peer, None)
        self._gone.add(peer)
        if known is not None and known.session is not None:
            self._seals.forget(peer, known.session)
        self._inlet.reassembly.forget(peer)

    def buffered(self) -> int:
        return 0

    def pause(self) -> None:
        """What the host does not take is lost, and comes again."""

    def resume(self) -> None: ...

    async def rekey(self, config: Config) -> None:
        self._seals.rekey(config)

    def bye(self) -> None:
        now = self._now()
        for peer in self._peers.values():
            for _ in range(BYES if peer.session is not None else 0):
                self._say(peer, encode(Note(bye=True)), now)

    async def close(self) -> None:
        if self._socket is not None:
            self._socket.close()

    def _say(self, peer: Peer, body: bytes, now: Nanoseconds) -> None:
        if peer.session is not None:
            peer.spoke = now
            self._send(self._seals.seal(body, peer.session), peer.numeric)

    def _greet(self, peer: Peer, now: Nanoseconds) -> None:
        if now - peer.greeted >= GREETINGS_APART:
            peer.greeted = peer.spoke = now
            self._send(self._seals.greet(), peer.numeric)

    def _arrived(self, datagrams: list[bytes]) -> None:
        now = self._now()
        try:
            for data in datagrams:
                try:
                    self._open(data, now)
                except Misbehaviour as error:
                    self.refused[error.reason if isinstance(error, Refused) else "misbehaviour"] += 1
            self._above.end_turn()
        except Exception as error:
            self._above.failed(error)

    def _open(self, data: bytes, now: Nanoseconds) -> None:
        if len(data) > self._size_max:
            raise Refused("datagram size")
        (_, source, incarnation), session, body = self._seals.open(data)
        peer = self._peers.get(source)
        if peer is None:
            raise Refused("evicted" if source in self._gone else "stranger")
        if peer.incarnation != incarnation:
            self._meet(source, peer, incarnation)
        silent_since, peer.heard = peer.heard or 0, now
        if peer.session != session:
            self._learn_session(source, peer, session, now)
        if now - silent_since > 3 * self._heartbeat:
            self._above.connected(source)
        if not body:
            return
        if is_note(body):
            if read_note(body).bye:
                self._above.said_bye(source)
            return
        messages = self._inlet.body(source, body, now)
        if messages:
            self._above.received(source, messages)

    def _meet(self, source: Process, peer: Peer, incarnation: int) -> None:
        if peer.incarnation is not None:
            if incarnation > peer.incarnation:
                tell("restarted", level="warning", peer=source, advice="evict it; it has lost its state")
            raise Refused("incarnation")
        peer.incarnation = incarnation
        self._above.met(source, incarnation)

    def _learn_session(self, source: Process, peer: Peer, session: bytes, now: Nanoseconds) -> None:
        """Its session is told by the first datagram of it; ours, by the answer."""
        peer.session = session
        self._say(peer, b"", now)
        waiting, peer.waiting = peer.waiting, []
        if waiting:
            self.send(source, waiting)
