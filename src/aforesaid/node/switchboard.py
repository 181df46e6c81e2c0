"""Who is called, whose calls are taken, and which of two crossing streams counts.

A stream begins with a header and a `Hello` from either end. Who calls says which stream between the two it
knew last, its *epoch*; who is called gives the new stream the next one. So when both call at once, or one end
has not noticed yet that a stream is lost, the ends agree which stream counts: a call by someone who knows the
present stream tells that it is lost; a call by someone who does not crossed it on the way and is refused. If
both have said hello and wait for an answer, the call of the lesser name counts.

In a fixed group every peer is called until it is there, and of each name the first incarnation that is heard
counts. In a changing group a peer is called when there is something to say to it, and given up after some
calls in vain; a later incarnation of a name takes the place of an earlier one. Who is not a member yet takes
no calls: what those who join through it say before it is one, the members of its group would never hear.
"""

import asyncio
import ssl
from collections import Counter
from collections.abc import Collection, Mapping
from typing import Protocol

from aforesaid.core import SECOND, Misuse, Nanoseconds, Process, Refused
from aforesaid.node.book import Book
from aforesaid.node.greeting import HELLO_S, Greeted, Greeting
from aforesaid.node.logs import tell
from aforesaid.node.notes import Entry, Hello, entry_of
from aforesaid.transport import Address, Backoff, Stream, dial, listen, stop_listening
from aforesaid.wire.packet import Header

STRANGERS_MAX = 128
"""Streams that have not said yet who they are; more are not taken."""

CALLS_MAX = 3
"""How often a peer of a changing group is called in vain before what was said to it is given up."""

CROSSINGS_MAX = 100
"""How often a peer may say that its own call is on its way: it must come, unless the peer has ended."""

FINISH_TURNS = 200
"""How many hundredths of a second a node that closes waits for the others to read its last words."""

CONTACT_CALLS_MAX = 6
"""How often a newcomer calls its contacts, over some two seconds."""

OUTSIDE = "no member yet"
"""Why a newcomer takes no calls."""


class Unreached(Misuse):
    """No member could be had."""

    def __init__(self, what: str, outsiders: Collection[Process]) -> None:
        super().__init__(what)
        self.outsiders = outsiders
        """Who was there, and no member either."""


class Peer:
    """A process that is, or may be, at the other end of a stream."""

    __slots__ = (
        "calling",
        "epoch",
        "hailed",
        "heard",
        "incarnation",
        "name",
        "queue",
        "queued",
        "stream",
        "told",
        "used",
    )

    def __init__(self, name: Process) -> None:
        self.name = name
        self.stream: Stream | None = None
        self.epoch = 0
        """Of the last stream there was."""
        self.incarnation = 0
        """The one that was heard; 0: none yet."""
        self.calling: asyncio.Task[None] | None = None
        self.hailed = False
        """True while it has our hello and we have not its answer."""
        self.queue: list[bytes] = []
        """What was said before the stream stands."""
        self.queued = 0
        self.told: set[Entry] = set()
        """The addresses that it was told on this stream."""
        self.heard: Nanoseconds | None = None
        self.used: Nanoseconds = 0


class User(Protocol):
    """For whom the switchboard works."""

    @property
    def inside(self) -> bool:
        """False for a newcomer that was not let in yet."""

    def stands(self, peer: Peer, stream: Stream, greeted: Greeted, epoch: int, greeting: Greeting) -> None:
        """A stream to the peer stands; the one before, if any, was lost."""

    def lost(self, peer: Peer, stream: Stream) -> None:
        """The other end has given this stream up."""

    def given_up(self, peer: Peer) -> None:
        """The peer cannot be reached."""

    def failed(self, error: Exception) -> None: ...


class Switchboard:
    """Calls, and takes calls."""

    def __init__(
        self,
        me: Header,
        contexts: tuple[ssl.SSLContext, ssl.SSLContext] | None,
        fixed: Mapping[Process, Address] | None,
        book: Book,
        refused: Counter[str],
        user: User,
    ) -> None:
        self._me = me
        self._contexts = contexts or (None, None)
        """For the end that is called and the end that calls; None: in the clear."""
        self._fixed = fixed
        """The addresses of a fixed group; None: the group is a changing one."""
        self._book = book
        self._refused = refused
        self._user = user
        self._strangers: set[Greeting] = set()
        self._server: asyncio.Server | None = None
        self._hello = Hello()
        self._closed = False
        self.peers: dict[Process, Peer] = {name: Peer(name) for name in fixed or ()}
        self.gone: dict[Process, int] = {}
        """Evicted names, each with its incarnation."""

    async def open(self, address: Address, advertised: str | None) -> Address:
        """Take calls; says where."""
        self._server, address = await listen(address, self._contexts[0], self._opened)
        self._hello = Hello(address=advertised or str(address))
        return address

    async def rekey(self, address: Address, contexts: tuple[ssl.SSLContext, ssl.SSLContext] | None) -> None:
        """Streams that stand go on; who calls from here on needs a key that is accepted now."""
        self._contexts = contexts or (None, None)
        if self._server is not None:
            await stop_listening(self._server)
        self._server, _ = await listen(address, self._contexts[0], self._opened)
        if self._closed:
            await stop_listening(self._server)

    @property
    def advertised(self) -> str:
        return self._hello.address

    async def call_anyone(self, *addresses: Address) -> Process:
        """Call whoever is at one of these; its name."""
        backoff, last, outsiders = Backoff(), "nobody answers", set[Process]()
        for turn in range(1, CONTACT_CALLS_MAX + 1):
            for address in addresses:
                try:
                    # Not long at first: where nothing answers at all, the others are not to wait for it.
                    async with asyncio.timeout(2 * HELLO_S * turn / CONTACT_CALLS_MAX):
                        return await self._call_once(None, address, outsiders)
                except (OSError, Refused) as error:
                    last = str(error) or type(error).__name__
            await asyncio.sleep(backoff.wait_s())
        where = ", ".join(map(str, addresses))
        raise Unreached(f"contact: cannot reach a member at {where}: {last}", outsiders)

    def call(self, peer: Peer) -> None:
        """Call a peer until it is there, or is given up."""
        if peer.calling is None and peer.stream is None and not self._closed:
            peer.calling = asyncio.create_task(self._keep_calling(peer), name=f"calling {peer.name}")

    def expire(self, now: Nanoseconds) -> None:
        """Hang up on callers that do not say who they are."""
        for greeting in [each for each in self._strangers if now - each.began > HELLO_S * SECOND]:
            self._strangers.discard(greeting)
            self._refused["hello too late"] += 1
            greeting.stream.abort()

    def drop(self, peer: Peer) -> None:
        """Say no more to a peer; what is written still goes."""
        if peer.calling is not None:
            peer.calling.cancel()
        if peer.stream is not None:
            stream, peer.stream = peer.stream, None
            stream.close()

    async def close(self) -> None:
        self._closed = True
        if self._server is not None:
            await stop_listening(self._server)
        for greeting in self._strangers:
            greeting.stream.abort()
        self._strangers.clear()
        calls = [peer.calling for peer in self.peers.values() if peer.calling is not None]
        streams = [peer.stream for peer in self.peers.values() if peer.stream is not None]
        for stream in streams:
            stream.finish()
        for call in calls:
            call.cancel()
        for peer in self.peers.values():
            peer.stream = None
        await asyncio.gather(*calls, return_exceptions=True)
        await _gone_through(streams)

    # ---------------------------------------------------------------------------------------- calling

    async def _keep_calling(self, peer: Peer) -> None:
        backoff, failed = Backoff(), Counter[bool]()
        try:
            while peer.stream is None:
                try:
                    async with asyncio.timeout(2 * HELLO_S):
                        await self._call_once(peer, self._address(peer))
                except (OSError, Refused) as error:
                    tell("call failed", level="debug", peer=peer.name, error=str(error))
                    crossed = isinstance(error, Refused) and error.reason == "crossed"
                    failed[crossed] += 1
                    if self._fixed is None and failed[crossed] >= (CROSSINGS_MAX if crossed else CALLS_MAX):
                        break
                    await asyncio.sleep(Backoff().wait_s() if crossed else backoff.wait_s())
        except asyncio.CancelledError:
            raise
        except Exception as error:
            self._user.failed(error)
        finally:
            peer.calling = None
        if peer.stream is None and not self._closed:
            self._user.given_up(peer)

    def _address(self, peer: Peer) -> Address:
        address = self._book.address(peer.name) if self._fixed is None else self._fixed[peer.name]
        if address is None:
            raise Refused("no address")
        return address

    async def _call_once(
        self, peer: Peer | None, address: Address, outsiders: set[Process] | None = None
    ) -> Process:
        """One call, to a peer or to whoever is there; its name once the stream stands."""
        stream = await dial(address, self._contexts[1])
        greeting = Greeting(stream, self._me, expected=None if peer is None else peer.name)
        try:
            greeted = await self._hail(peer, greeting)
            name = greeted.header.source
            if greeted.hello.refusal == OUTSIDE and outsiders is not None:
                outsiders.add(name)
            if greeted.hello.refusal:
                raise Refused(greeted.hello.refusal)
            at = peer or self.peers.setdefault(name, Peer(name))
            if at.stream is not None and greeted.hello.epoch <= at.epoch:
                raise Refused("crossed")
            self._compare_incarnations(at, greeted.header.incarnation)
            self._end_present(at)
            self._user.stands(at, stream, greeted, greeted.hello.epoch, greeting)
            return name
        except BaseException:
            if peer is None or peer.stream is not stream:
                stream.abort()
            raise

    async def _hail(self, peer: Peer | None, greeting: Greeting) -> Greeted:
        if peer is None:
            greeting.say(Hello(0, self._hello.address))
            return await greeting.answer
        if peer.stream is not None:
            raise Refused("crossed")
        peer.hailed = True
        try:
            greeting.say(Hello(peer.epoch, self._hello.address))
            return await greeting.answer
        finally:
            peer.hailed = False

    # ------------------------------------------------------------------------------- being called

    def _opened(self, stream: Stream) -> None:
        """Someone calls."""
        if self._closed or len(self._strangers) >= STRANGERS_MAX:
            self._refused["too many strangers"] += 1
            stream.abort()
            return
        greeting = Greeting(stream, self._me, expected=None)
        self._strangers.add(greeting)
        greeting.answer.add_done_callback(lambda _: self._called(greeting))

    def _called(self, greeting: Greeting) -> None:
        """A caller has said who it is, or will not any more."""
        if greeting not in self._strangers:
            return
        self._strangers.discard(greeting)
        error = greeting.answer.exception()
        if error is not None:
            self._refused[error.reason if isinstance(error, Refused) else "stream"] += 1
            greeting.stream.abort()
            return
        greeted = greeting.answer.result()
        try:
            peer = self._admit(greeted)
        except Refused as refusal:
            self._refused[refusal.reason] += 1
            if refusal.reason == OUTSIDE:
                # Whoever looks for the group here may be found where it calls from.
                source, incarnation = greeted.header.source, greeted.header.incarnation
                self._book.learn([entry_of(source, incarnation, greeted.hello.address)])
            greeting.say(Hello(refusal=refusal.reason))
            greeting.stream.close()
            return
        self._end_present(peer)
        epoch = max(peer.epoch, greeted.hello.epoch) + 1
        greeting.say(Hello(epoch, self._hello.address))
        self._user.stands(peer, greeting.stream, greeted, epoch, greeting)

    def _admit(self, greeted: Greeted) -> Peer:
        """The peer that calls, if its call is to be taken."""
        name, incarnation = greeted.header.source, greeted.header.incarnation
        if name == self._me.source:
            raise Refused("claimed")
        if not self._user.inside:
            raise Refused(OUTSIDE)
        if name in self.gone and (self._fixed is not None or incarnation <= self.gone[name]):
            raise Refused("evicted")
        if name not in self.peers:
            if self._fixed is not None:
                raise Refused("stranger")
            self.peers[name] = Peer(name)
        peer = self.peers[name]
        self._compare_incarnations(peer, incarnation)
        if peer.stream is not None and incarnation == peer.incarnation and greeted.hello.epoch < peer.epoch:
            raise Refused("crossed")
        if peer.hailed and self._me.source < name:
            raise Refused("crossed")
        return peer

    def _end_present(self, peer: Peer) -> None:
        """Another stream takes the place of the present one, of which both ends have lost a suffix."""
        if peer.stream is not None:
            stream = peer.stream
            stream.abort()
            self._user.lost(peer, stream)

    def _compare_incarnations(self, peer: Peer, incarnation: int) -> None:
        if incarnation == peer.incarnation or not peer.incarnation:
            return
        if incarnation < peer.incarnation:
            raise Refused("incarnation")
        if self._fixed is not None:
            tell("restarted", level="warning", peer=peer.name, advice="evict it; it has lost its state")
            raise Refused("incarnation")


async def _gone_through(streams: list[Stream]) -> None:
    """Until the other ends have read what was written, or some time has passed; then the streams end anyway.

    Time is counted in turns of the loop: on a busy machine everything takes longer, the other ends too.
    """
    for _ in range(FINISH_TURNS):
        if not any(stream.open for stream in streams):
            return
        await asyncio.sleep(0.01)
    for stream in streams:
        stream.abort()
