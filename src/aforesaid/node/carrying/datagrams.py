"""Frames to the members of a fixed group in datagrams, sealed or in the clear.

Nothing here is reliable. A datagram that is not let in is counted and not answered. Of each peer the first
incarnation that is heard counts: a later one has lost what the group relies on, and is refused until the
group starts anew. Of an incarnation that survives its starts the latest one counts; an earlier one is told.
"""

import asyncio
import socket
from collections.abc import Sequence
from typing import Any

from aforesaid.core import SECOND, Misbehaviour, Misuse, Nanoseconds, Process, Refused
from aforesaid.ground import ground
from aforesaid.node.carrying.carrier import Above
from aforesaid.node.carrying.notes import Note, encode, is_note, padded, read_note
from aforesaid.node.carrying.paths import NARROW_BYTES, Path
from aforesaid.node.carrying.securing import Seals
from aforesaid.node.carrying.slices import Slices
from aforesaid.node.config import Config
from aforesaid.node.operating.logs import tell
from aforesaid.protocols.membership.epochs import EVICTED, REMINDER_BEATS, SUPERSEDED, supersedes
from aforesaid.transport import DATAGRAM_MAX, Address, Datagrams, first_step
from aforesaid.wire import Inlet, pack
from aforesaid.wire.packet import claimed_name

UNGREETED_FRAMES_MAX = 256
"""Frames that wait for a peer's session; the rest is lost, as any datagram may be."""

GREETINGS_APART: Nanoseconds = SECOND // 10
"""A peer whose session is not known is greeted no more often than this."""

SOUGHT_BEATS = 10
"""Where a name leads is looked up again after so many heartbeats, and where a silent peer is."""

BYES = 3
"""A goodbye is said so many times: any one may be lost, and none is acknowledged."""


class Peer:
    """A member of the group."""

    __slots__ = (
        *("body_max", "greeted", "heard", "incarnation", "numeric", "path", "session"),
        *("sought", "spoke", "start", "turned_away", "waiting"),
    )

    def __init__(self, session: bytes | None, path: Path, body_max: int) -> None:
        self.numeric: Any = None
        """Where it is; None: not known."""
        self.path = path
        self.body_max = body_max
        """What one datagram to it holds."""
        self.sought: Nanoseconds = 0
        """When it was last looked for."""
        self.session = session
        self.incarnation: int | None = None
        self.start = 0
        """Which start of it."""
        self.heard: Nanoseconds | None = None
        self.spoke: Nanoseconds = 0
        self.greeted: Nanoseconds = 0
        self.turned_away: Nanoseconds = 0
        """When it was last told that it is not let in."""
        self.waiting: list[Any] = []
        """Frames said before its session was known."""


class DatagramCarrier:
    """The carrier of a fixed group over UDP."""

    def __init__(self, config: Config, seals: Seals, inlet: Inlet, above: Above, start: int = 0) -> None:
        self._start = start
        self._addresses: dict[Process, Address] = {
            name: Address.parse(text) for name, text in config.peers.items()
        }
        self._name = config.name
        self._listen = Address.parse(config.listen)
        self._widens = config.datagram_bytes_max is None
        self._size = config.datagram_bytes_max or NARROW_BYTES
        """Of a datagram to whom more is not known to pass."""
        self._heartbeat = round(config.heartbeat_s * SECOND)
        self._seals = seals
        self._inlet = inlet
        self._above = above
        self._now = ground().monotonic_ns
        self._body_max = self._size - seals.overhead
        self._peers = {name: self._stranger() for name in self._addresses}
        self.piece_bytes = self._body_max
        self._gone: dict[Process, Peer] = {}
        self._slices = Slices(self._body_max, self._say_to)
        self.refused = inlet.refused
        self.address = self._listen
        self._socket: Datagrams | None = None
        self._searches: set[asyncio.Future[None]] = set()

    async def start(self) -> None:
        self._socket = await Datagrams.open(self._listen, DATAGRAM_MAX, self._arrived)
        self._send, self._send_all = self._socket.send, self._socket.send_all
        self.address = self._socket.address
        await asyncio.gather(*(self._find(name, peer) for name, peer in self._peers.items()))

    async def _find(self, name: Process, peer: Peer) -> None:
        """Where a peer is just now: names may be known later, and mean another place then."""
        peer.sought = self._now()
        if not self._addresses[name].known:
            return
        family, before = socket.AF_UNSPEC if self._socket is None else self._socket.family, peer.numeric
        try:
            family, peer.numeric = await self._addresses[name].resolve(socket.SOCK_DGRAM, family)
        except Misuse as error:
            tell(self._name, "cannot find", level="warning", peer=name, error=str(error))
            return
        if self._widens:
            peer.path.leads(first_step(family, peer.numeric), moved=peer.numeric != before)
            self._measure(peer)
        if peer.numeric != before or peer.session is None:
            self._greet(peer, self._now())

    def _stranger(self) -> Peer:
        return Peer(None if self._seals.greets else b"", Path(self._size), self._body_max)

    def _ask_for_more(self, peer: Peer, now: Nanoseconds) -> None:
        """Whether a longer datagram passes, if it is time to. Of who is not heard silence tells nothing."""
        if peer.heard is None or now - peer.heard > 3 * self._heartbeat or self._socket is None:
            return
        if peer.session is not None and (size := peer.path.asks(now, self._heartbeat)):
            note = padded(size - self._seals.overhead)
            self._socket.send_uncut(self._seals.seal(note, peer.session), peer.numeric)
            self._measure(peer)

    def _measure(self, *changed: Peer) -> None:
        """How much leaves in one piece to all that there are."""
        for peer in changed:
            peer.body_max = peer.path.size - self._seals.overhead
        self.piece_bytes = min([peer.body_max for peer in self._peers.values()], default=self._body_max)

    def _seek_silent(self, now: Nanoseconds) -> None:
        """Who is silent for long may have moved; so may somebody who is heard, and hears nothing: what comes
        does not tell whether its name means the same place still."""
        for name, peer in self._peers.items():
            named = peer.numeric is None or self._addresses[name].version is None
            since = peer.sought if named else max(peer.heard or 0, peer.sought)
            if now - since > SOUGHT_BEATS * self._heartbeat:
                self._seek(name, peer)

    def _seek(self, name: Process, peer: Peer) -> None:
        task = asyncio.ensure_future(self._find(name, peer))
        self._searches.add(task)
        task.add_done_callback(self._searches.discard)

    def send(self, peer: Process, frames: Sequence[Any]) -> None:
        to = self._peers.get(peer)
        if to is None or to.numeric is None:
            return
        if to.session is None:
            to.waiting += frames[: UNGREETED_FRAMES_MAX - len(to.waiting)]
            self._greet(to, self._now())
            return
        encode_frame = self._inlet.codec.encode
        to.spoke = self._now()
        seal, session = self._seals.seal, to.session
        encoded = self._slices.take_large(peer, [encode_frame(frame) for frame in frames])
        if encoded:
            self._send_all([seal(body, session) for body in pack(encoded, to.body_max)], to.numeric)

    def beat(self, now: Nanoseconds) -> None:
        self._seek_silent(now)
        for peer in self._peers.values():
            if peer.session is None:
                self._greet(peer, now)
                continue
            self._ask_for_more(peer, now)
            if now - peer.spoke >= self._heartbeat:
                self._say(peer, b"", now)
        for gone in self._gone.values():
            if gone.session is not None and now - gone.turned_away >= REMINDER_BEATS * self._heartbeat:
                self._turn_away(gone, gone.session, EVICTED, gone.start, now)

    async def call(self, *addresses: Address, newcomer: bool) -> Process:
        raise Misuse("datagrams are for fixed groups: nobody joins them")

    def introduce(self, peer: Process, address: Address) -> None:
        self._addresses[peer] = address
        if peer not in self._gone:
            known = self._peers.get(peer)
            if known is None:
                known = self._peers[peer] = self._stranger()
                self._measure()
            if self._socket is not None:
                self._seek(peer, known)

    def withdraw(self, peer: Process) -> None:
        self._peers.pop(peer, None)
        self._addresses.pop(peer, None)
        self._measure()

    def recall(self, peer: Process, incarnation: int, start: int) -> None:
        if (known := self._peers.get(peer)) is not None:
            known.incarnation, known.start = incarnation, start

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
        if known is not None:
            self._gone[peer] = known
            self._measure()
            if known.session is not None:
                self._seals.forget(peer, known.session)
        self._inlet.reassembly.forget(peer)
        self._slices.forget(peer)

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
        self._slices.close()
        for search in self._searches:
            search.cancel()
        await asyncio.gather(*self._searches, return_exceptions=True)
        if self._socket is not None:
            self._socket.close()

    def _say_to(self, name: Process, body: bytes) -> None:
        if (peer := self._peers.get(name)) is not None:
            self._say(peer, body, self._now())

    def _say(self, peer: Peer, body: bytes, now: Nanoseconds) -> None:
        if peer.session is not None:
            peer.spoke = now
            self._send_to(peer, body, peer.session)

    def _send_to(self, peer: Peer, body: bytes, session: bytes) -> None:
        if peer.numeric is not None:
            self._send(self._seals.seal(body, session), peer.numeric)

    def _greet(self, peer: Peer, now: Nanoseconds) -> None:
        if peer.numeric is not None and now - peer.greeted >= GREETINGS_APART:
            peer.greeted = peer.spoke = now
            self._send(self._seals.greet(), peer.numeric)

    def _arrived(self, datagrams: list[bytes]) -> None:
        now = self._now()
        try:
            for data in datagrams:
                try:
                    self._open(data, now)
                except Misbehaviour as error:
                    self._tell_superseded(error, claimed_name(data), now)
                    reason = error.reason if isinstance(error, Refused) else "misbehaviour"
                    self.refused[reason] += 1
                    self._above.not_let_in(claimed_name(data), reason)
            self._above.end_turn()
        except Exception as error:
            self._above.failed(error)

    def _open(self, data: bytes, now: Nanoseconds) -> None:
        (_, source, incarnation, start), session, body, fresh = self._seals.open(data)
        peer = self._peers.get(source)
        if peer is None:
            if source not in self._gone:
                raise Refused("stranger")
            gone = self._gone[source]
            if body and is_note(body) and fresh and session == gone.session:
                self._heed_refusal(source, read_note(body))
            raise self._turn_away(gone, session, EVICTED, start, now)
        if not fresh and peer.session != session:
            # Anyone may have recorded it: who is there now answers this.
            self._send_to(peer, b"", session)
            return
        if peer.incarnation != incarnation:
            if peer.incarnation is not None:
                raise self._turn_away(peer, session, "incarnation", start, now)
            self._meet(source, peer, incarnation, start)
        elif peer.start != start:
            try:
                supersedes(start, peer.start)
            except Refused:
                raise self._turn_away(peer, session, SUPERSEDED, start, now) from None
            self._meet(source, peer, incarnation, start)
            # It lost what was on its way to it.
            peer.heard = None
        silent_since, peer.heard = peer.heard or 0, now
        if peer.session != session:
            self._learn_session(source, peer, session, now)
        if now - silent_since > 3 * self._heartbeat:
            self._above.connected(source)
            self._ask_for_more(peer, now)
        if not body:
            return
        if is_note(body):
            self._heed(source, peer, read_note(body), len(data), now)
            return
        messages = self._inlet.body(source, body, now)
        if messages:
            self._above.received(source, messages)

    def _meet(self, source: Process, peer: Peer, incarnation: int, start: int) -> None:
        peer.incarnation, peer.start = incarnation, start
        self._inlet.reassembly.forget(source)
        self._above.met(source, incarnation, start)

    def _heed(self, source: Process, peer: Peer, note: Note, length: int, now: Nanoseconds) -> None:
        self._heed_refusal(source, note)
        if note.padding:
            self._say(peer, encode(Note(passed=length)), now)
        if note.passed:
            peer.path.passed(note.passed)
            self._measure(peer)
        if note.bye:
            self._above.said_bye(source)

    def _heed_refusal(self, source: Process, note: Note) -> None:
        if note.refusal and note.start == self._start:
            self._above.turned_away(source, note.refusal)

    def _turn_away(self, peer: Peer, session: bytes, reason: str, start: int, now: Nanoseconds) -> Refused:
        """Who has shown that it is a member, and is not let in, is told why; not with every datagram."""
        if now - peer.turned_away >= self._heartbeat:
            peer.turned_away = now
            self._send_to(peer, encode(Note(refusal=reason, start=start)), session)
        return Refused(reason)

    def _tell_superseded(self, error: Misbehaviour, source: Process, now: Nanoseconds) -> None:
        """What was sealed by a start before the last one is not let in, but who sealed it is told."""
        superseded, peer = getattr(error, "superseded", None), self._peers.get(source)
        if superseded is not None and peer is not None:
            session, start = superseded
            self._turn_away(peer, session, SUPERSEDED, start, now)

    def _learn_session(self, source: Process, peer: Peer, session: bytes, now: Nanoseconds) -> None:
        """Its session is told by the first datagram of it; ours, by the answer."""
        peer.session = session
        self._say(peer, b"", now)
        waiting, peer.waiting = peer.waiting, []
        if waiting:
            self.send(source, waiting)
