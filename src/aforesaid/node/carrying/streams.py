"""Frames to named peers in streams, TLS or in the clear: one stream per pair, made again when it is lost.

What is said to a peer before its stream stands waits, and goes first. When a stream is lost, or cannot be
had, all that was on its way is lost: a suffix of what was said on it. The host hears of that before anything
of the next stream. A stream on which nothing was heard for three heartbeats is lost; idle ends say just
enough to keep it. In a changing group a stream without use and without a link is closed.

How streams come about is the `switchboard`'s business.
"""

import asyncio
import ssl
from collections.abc import Callable, Sequence
from typing import Any

from aforesaid.core import SECOND, Misbehaviour, Misuse, Nanoseconds, Process, Refused
from aforesaid.ground import ground
from aforesaid.node.carrying.book import Book
from aforesaid.node.carrying.carrier import Above
from aforesaid.node.carrying.greeting import Greeted, Greeting
from aforesaid.node.carrying.notes import Entry, Note, encode, entry_of, is_note, read_note, word_of
from aforesaid.node.carrying.pushing import BODY_BYTES_MAX, Pushing
from aforesaid.node.carrying.securing import stream_contexts
from aforesaid.node.carrying.switchboard import Peer, Switchboard
from aforesaid.node.config import Config
from aforesaid.node.operating.logs import tell
from aforesaid.protocols.membership.elders import Word
from aforesaid.protocols.membership.epochs import REMINDER_BEATS
from aforesaid.protocols.membership.member import Member
from aforesaid.transport import Address, Stream
from aforesaid.wire import Inlet, record
from aforesaid.wire.packet import Header

UNUSED: Nanoseconds = 15 * SECOND
"""A stream of a changing group without a link, on which no frame passed for so long, is closed: longer than a
handshake waits by default."""

STRANGER_BEATS = 2
"""One on which no frame passed at all is closed after so many heartbeats: members call strangers now and
then, to tell them of their elder, and who knows better answers at once."""

CONTACT_BEATS = 10
"""Once in so many heartbeats a member calls a contact of whom it has not heard."""

PEERS_MAX = 2**14
"""Of a changing group: more peers are not remembered unless there is a stream to them."""


class StreamCarrier:
    """The carrier over TCP."""

    def __init__(
        self,
        config: Config,
        contexts: tuple[ssl.SSLContext, ssl.SSLContext] | None,
        me: Header,
        inlet: Inlet,
        above: Above,
        book: Book,
    ) -> None:
        self._config = config
        self._me = me
        self._inlet = inlet
        self._above = above
        self._heartbeat = round(config.heartbeat_s * SECOND)
        self._loop = asyncio.get_running_loop()
        self._now = ground().monotonic_ns
        self._choose = ground().chance.randrange
        self._beaten = self._now()
        self._changing = config.entry.linked
        self._book = book
        self._member = Member(me.source, me.incarnation, book)
        self._paused = False
        self.piece_bytes = BODY_BYTES_MAX
        self.refused = inlet.refused
        self.address = Address.parse(config.listen)
        self._contacts = {Address.parse(text) for text in config.contacts}
        self._fixed = {name: Address.parse(text) for name, text in config.peers.items()}
        self._switchboard = Switchboard(
            me, contexts, None if self._changing else self._fixed, self._book, self.refused, self
        )
        self.peers = self._switchboard.peers
        self._pushing = Pushing(config.queues.link_bytes, self._changing, self.refused, self)

    # ----------------------------------------------------------------------------------- for the host

    async def start(self) -> None:
        self.address = await self._switchboard.open(self.address, self._config.advertise)
        self._book.learn([entry_of(self._me.source, self._me.incarnation, self._switchboard.advertised)])
        for peer in self.peers.values():
            self._switchboard.call(peer)

    async def call(self, *addresses: Address, newcomer: bool) -> Process:
        return await self._switchboard.call_anyone(*addresses, newcomer=newcomer)

    def introduce(self, peer: Process, address: Address) -> None:
        self._fixed[peer] = address
        self._switchboard.introduce(peer)

    def withdraw(self, peer: Process) -> None:
        self._switchboard.withdraw(peer)
        self._fixed.pop(peer, None)

    def recall(self, peer: Process, incarnation: int, start: int) -> None:
        if (known := self.peers.get(peer)) is not None:
            known.meet(incarnation, start)

    def members(self) -> list[Address]:
        for name in self.connected():
            self._book.reached(name)
        return self._book.best(but=self._me.source)

    def send(self, peer: Process, frames: Sequence[Any]) -> None:
        to = self.peers.get(peer) or self._heard_of(peer)
        if to is None:
            self.refused["no address"] += 1
            self._above.lost(peer)
            return
        to.kept_until = self._now() + UNUSED
        hurried = self._pushing.hurries(to, frames)
        if hurried and self._changing:
            self._tell_addresses(to, frames)
        encode_frame = self._inlet.codec.encode
        try:
            encoded = [encode_frame(frame) for frame in frames]
        except Misuse:
            # A buffer of a link grew larger than any frame may be: the link cannot be had.
            self.refused["own frame size"] += 1
            self.given_up(to)
            return
        self._pushing.push(to, encoded, hurried)

    def beat(self, now: Nanoseconds) -> None:
        # Who stood still itself, perhaps with its whole machine, lets others be heard before it judges them:
        # else all links of a changing group would end at once, and it would fall to pieces.
        stood_still = now - self._beaten > 3 * self._heartbeat // 2
        self._beaten = now
        neighbours = self._above.neighbours()
        for peer in list(self.peers.values()):
            stream = peer.stream
            if stream is None:
                if len(self.peers) > PEERS_MAX and peer.calling is None:
                    del self.peers[peer.name]
            elif now - stream.heard_ns > 3 * self._heartbeat and not self._paused and not stood_still:
                tell(self._config.name, "silent", peer=peer.name)
                stream.abort()
                self.lost(peer, stream)
            elif self._changing and now > peer.kept_until and peer.name not in neighbours:
                stream.close()
                self.lost(peer, stream)
            elif self._changing:
                self._book.reached(peer.name)
        if self._changing:
            self._tell_of_the_elder(self._above.neighbours())
        elif self._choose(REMINDER_BEATS) == 0:
            self._switchboard.remind_an_evicted()
        self._keep_streams(now)

    def _keep_streams(self, now: Nanoseconds) -> None:
        """Those on which there was nothing to say."""
        for peer in self.peers.values():
            stream = peer.stream
            if stream is not None and now - stream.spoke_ns >= self._heartbeat:
                stream.write(record(b""))

    def heard_ns(self, peer: Process) -> Nanoseconds | None:
        known = self.peers.get(peer)
        if known is None:
            return None
        return known.heard if known.stream is None else known.stream.heard_ns

    def connected(self) -> list[Process]:
        return [name for name, peer in self.peers.items() if peer.stream is not None]

    def forget(self, peer: Process) -> None:
        self._switchboard.evict(peer)
        self._inlet.reassembly.forget(peer)

    def buffered(self) -> int:
        return max((peer.waiting for peer in self.peers.values()), default=0)

    def pause(self) -> None:
        self._paused = True
        for peer in self.peers.values():
            if peer.stream is not None:
                peer.stream.pause()

    def resume(self) -> None:
        self._paused = False
        for peer in self.peers.values():
            if peer.stream is not None:
                peer.stream.resume()

    async def rekey(self, config: Config) -> None:
        self._switchboard.rekey(stream_contexts(config))

    def bye(self) -> None:
        for peer in self.peers.values():
            if peer.stream is not None:
                peer.stream.write(b"".join((*peer.queue, record(encode(Note(bye=True))))))
                peer.hush()

    async def close(self) -> None:
        self._pushing.close()
        await self._switchboard.close()

    # ---------------------------------------------------------------------------- for the switchboard

    @property
    def inside(self) -> bool:
        return not self._changing or self._above.is_member()

    def stands(self, peer: Peer, stream: Stream, greeted: Greeted, epoch: int, greeting: Greeting) -> None:
        incarnation, start = greeted.header.incarnation, greeted.header.start
        if peer.meet(incarnation, start):
            self._inlet.reassembly.forget(peer.name)
            self._above.met(peer.name, incarnation, start)
        self._book.learn([entry_of(peer.name, incarnation, greeted.hello.address)])
        self._book.reached(peer.name)
        peer.stand(stream, epoch)
        # Longer if frames have waited for it.
        peer.kept_until = max(peer.kept_until, self._now() + STRANGER_BEATS * self._heartbeat)
        stream.limit(self._config.queues.link_bytes // 2)
        stream.on_drained = self._above.has_room
        stream.on_lost = lambda: self.lost(peer, stream)
        stream.on_data = self._taking(peer, stream, greeting)
        if self._paused:
            stream.pause()
        self._pushing.write_slice(peer, stream)
        tell(self._config.name, "connected", level="debug", peer=peer.name, epoch=epoch)
        if epoch > 1:
            self._above.connected(peer.name)
        # What came with the greeting, or right after it.
        stream.on_data(b"")

    def lost(self, peer: Peer, stream: Stream) -> None:
        if not peer.lose(stream):
            return
        peer.heard, peer.told, peer.lazy = stream.heard_ns, set(), False
        peer.hush()
        self._book.doubt(peer.name)
        tell(self._config.name, "disconnected", level="debug", peer=peer.name, epoch=peer.epoch)
        self._above.lost(peer.name)
        if not self._changing and peer.name in self.peers:
            self._switchboard.call(peer)
        self._above.has_room()

    def given_up(self, peer: Peer) -> None:
        """All that waits towards a peer is given up."""
        peer.told = set()
        peer.hush()
        if peer.stream is not None:
            stream = peer.stream
            stream.abort()
            self.lost(peer, stream)
        else:
            self._book.doubt(peer.name)
            self._above.lost(peer.name)
            self._above.has_room()

    def turned_away(self, peer: Process, reason: str) -> None:
        if not self._changing:
            self._above.turned_away(peer, reason)

    def not_let_in(self, name: Process, reason: str) -> None:
        self._above.not_let_in(name, reason)

    def failed(self, error: Exception) -> None:
        self._above.failed(error)

    # ---------------------------------------------------------------------------------- for what leaves

    def call_up(self, peer: Peer) -> None:
        self._switchboard.call(peer)

    def has_room(self) -> None:
        self._above.has_room()

    # ------------------------------------------------------------------------------------- the parts

    def _heard_of(self, name: Process) -> Peer | None:
        """A peer of a changing group to whom nothing was said yet."""
        if not self._changing or self._book.address(name) is None:
            return None
        peer = self.peers[name] = Peer(name)
        return peer

    def _tell_of_the_elder(self, neighbours: frozenset[Process]) -> None:
        telling = self._member.beat(neighbours, lambda label, count: self._choose(count))
        word = record(encode(Note(elder=word_of(telling.word))))
        known = self._book.of_a_group(self._me.source, neighbours, self._choose)
        for name in sorted(neighbours):
            peer = self.peers.get(name)
            if peer is not None and peer.stream is not None:
                if news := self._news(peer, known):
                    self._pushing.write(peer, [*news, word])
                else:
                    peer.stream.write(word)
        stranger, elsewhere = telling.stranger, telling.elsewhere
        peer = None if stranger is None else self.peers.get(stranger) or self._heard_of(stranger)
        if peer is not None:
            self._pushing.write(peer, [word])
        address = None if elsewhere is None else self._book.address(elsewhere)
        if address is not None:
            self._above.apart(address)
        self._look_up_a_contact()

    def _look_up_a_contact(self) -> None:
        """One of whom is not known who is there: it may be in another part of the group, or was down when
        this node began, and nobody else need know of it."""
        if self._choose(CONTACT_BEATS) == 0:
            asked = self._contacts - self._switchboard.looked_up
            unknown = sorted(each for each in asked if not self._book.has(each))
            if unknown:
                self._switchboard.look_up(unknown[self._choose(len(unknown))])

    def _tell_addresses(self, peer: Peer, frames: Sequence[Any]) -> None:
        named = {entry for frame in frames for entry in self._book.named_in(frame)}
        if named and (news := self._news(peer, named)):
            self._pushing.write(peer, news)

    def _news(self, peer: Peer, named: set[Entry]) -> list[bytes]:
        """What tells a peer where these are, each once on a stream; nothing if it was told of all."""
        news = {entry for entry in named - peer.told if entry.name != peer.name}
        if not news:
            return []
        peer.told |= news
        return [record(encode(Note(book=tuple(sorted(news, key=lambda entry: entry.name)))))]

    def _taking(self, peer: Peer, stream: Stream, greeting: Greeting) -> Callable[[bytes], None]:
        """What takes the bytes of this stream. A refusal ends it: no correct peer is ever refused."""

        def take(data: bytes) -> None:
            try:
                self._hear(peer, stream, greeting.bodies(data))
            except Misbehaviour as error:
                self.refused[error.reason if isinstance(error, Refused) else "misbehaviour"] += 1
                stream.abort()
                self.lost(peer, stream)
            except Exception as error:
                self._above.failed(error)

        return take

    def _hear(self, peer: Peer, stream: Stream, bodies: Sequence[bytes]) -> None:
        now = self._now()
        for body in bodies:
            if not body or stream.lost:
                continue
            if is_note(body):
                self._heed(peer, read_note(body))
                continue
            messages = self._inlet.body(peer.name, body, now)
            if messages is None:
                raise Misbehaviour(f"{peer.name} sent a body that no correct peer sends")
            peer.kept_until = now + UNUSED
            if messages:
                # A turn for each body: what is passed on from many would come upon the queues all at once.
                news = self._above.received(peer.name, messages)
                self._pushing.heard(peer, messages, news)
                if news:
                    self._above.end_turn()

    def _heed(self, peer: Peer, note: Note) -> None:
        self._book.learn(note.book)
        if note.bye:
            self._book.forget(peer.name, peer.incarnation)
            self._above.said_bye(peer.name)
        if note.elder is not None and self._changing:
            word = Word(note.elder.incarnation, note.elder.name, note.elder.count)
            answer = self._member.heard(peer.name, word, self._above.neighbours())
            if answer is not None and peer.stream is not None:
                peer.stream.write(record(encode(Note(elder=word_of(answer)))))
