"""Calls peers, and takes calls: makes the streams.

A stream begins with a header and a `Hello` from either end. Whose call is taken, which of two crossing
streams counts and how often a peer is called is decided in `protocols.membership.epochs`. In a fixed group
every peer is called until it is there; in a changing group when there is something to say to it.
"""

import asyncio
import ssl
from collections import Counter, deque
from collections.abc import Mapping
from typing import Protocol

from aforesaid.core import Misuse, Nanoseconds, Process, Refused
from aforesaid.node.carrying.book import Book
from aforesaid.node.carrying.greeting import HELLO_S, Greeted, Greeting
from aforesaid.node.carrying.notes import Entry, Hello, entry_of
from aforesaid.node.operating.logs import tell
from aforesaid.protocols.membership.epochs import (
    CROSSED,
    EVICTED,
    NEWCOMER,
    OUTSIDE,
    Epochs,
    Line,
    Patience,
    TurnedAway,
)
from aforesaid.protocols.membership.rejoining import ROUNDS_MAX, ROUNDS_MIN, ROUNDS_S, Search
from aforesaid.transport import Address, Backoff, Door, Stream, dial
from aforesaid.wire.packet import Header

FINISH_TURNS = 200
"""How many hundredths of a second a node that closes waits for the others to read its last words."""


class Unreached(Misuse):
    """No member could be had."""

    def __init__(self, what: str, search: Search) -> None:
        super().__init__(what)
        self.search = search


class Peer(Line):
    """A process that is, or may be, at the other end of a stream."""

    __slots__ = ("calling", "heard", "kept_until", "late", "late_bytes", "lazy", "queue", "queued", "told")

    stream: Stream | None

    def __init__(self, name: Process) -> None:
        super().__init__(name)
        self.calling: asyncio.Task[None] | None = None
        self.queue: deque[bytes] = deque()
        """What was said before the stream stands, or is more than it takes at a time."""
        self.queued = 0
        self.lazy = False
        """Whether what is flooded comes to it, and from it, from others first."""
        self.late: list[bytes] = []
        """Frames in no hurry (`pushing`); they go before all else."""
        self.late_bytes = 0
        self.told: set[Entry] = set()
        """The addresses that it was told on this stream."""
        self.heard: Nanoseconds | None = None
        self.kept_until: Nanoseconds = 0
        """A stream of a changing group that carries no link is closed then, unless it is used before."""

    @property
    def waiting(self) -> int:
        """The bytes that wait towards it."""
        late = self.queued + self.late_bytes
        return late if self.stream is None else late + self.stream.buffered

    def hush(self) -> None:
        """What waits towards it is not said any more."""
        self.queue.clear()
        self.queued = 0
        self.be_late_no_more()

    def be_late_no_more(self) -> list[bytes]:
        """What was in no hurry, to be said at once or not any more."""
        late, self.late, self.late_bytes = self.late, [], 0
        return late


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

    def turned_away(self, peer: Process, reason: str) -> None:
        """A peer does not take our call."""

    def not_let_in(self, name: Process, reason: str) -> None:
        """Whoever seems to have this name was refused."""

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
        self._search = Search()
        self._newcomer = False
        self._door = Door(self._contexts[0], self._opened, self._turned_out)
        self._hello = Hello()
        self._open = self._closed = False
        self._epochs = Epochs(me.source, fixed, Peer)
        self.peers = self._epochs.lines
        self._looking: asyncio.Task[None] | None = None
        self.looked_up: set[Address] = set()

    async def open(self, address: Address, advertised: str | None) -> Address:
        """Take calls; says where."""
        address = await self._door.open(address)
        self._open = True
        self._hello = Hello(address=advertised or str(address))
        return address

    def rekey(self, contexts: tuple[ssl.SSLContext, ssl.SSLContext] | None) -> None:
        """Streams that stand go on; who calls from here on needs a key that is accepted now."""
        self._contexts = contexts or (None, None)
        self._door.context = self._contexts[0]

    @property
    def advertised(self) -> str:
        return self._hello.address

    async def call_anyone(self, *addresses: Address, newcomer: bool) -> Process:
        """Call whoever is at one of these; its name."""
        self._newcomer = newcomer
        backoff, last, clock = Backoff(), "nobody answers", asyncio.get_running_loop().time
        late = clock() + ROUNDS_S
        for turn in range(1, ROUNDS_MAX + 1):
            if turn > ROUNDS_MIN and clock() > late:
                break
            for address in addresses:
                try:
                    # Not long at first: where nothing answers at all, the others are not to wait for it.
                    async with asyncio.timeout(2 * HELLO_S * turn / ROUNDS_MAX):
                        return await self._call_once(None, address)
                except (OSError, Refused) as error:
                    last = str(error) or type(error).__name__
            await asyncio.sleep(backoff.wait_s())
        where = ", ".join(map(str, addresses))
        raise Unreached(f"contact: cannot reach a member at {where}: {last}", self._search)

    def look_up(self, address: Address) -> None:
        """Call whoever is at this address once, so that each knows of the other from then on."""
        if self._looking is None and not self._closed:
            self._looking = asyncio.create_task(self._look_up(address), name=f"looking up {address}")

    async def _look_up(self, address: Address) -> None:
        try:
            async with asyncio.timeout(2 * HELLO_S):
                await self._call_once(None, address)
            self.looked_up.add(address)
        except (OSError, Refused) as error:
            # There is a stream to it already, perhaps to another address that leads there, too.
            if isinstance(error, Refused) and error.reason == CROSSED:
                self.looked_up.add(address)
        finally:
            self._looking = None

    def remind_an_evicted(self) -> None:
        """One of them in turn: it may live, and have evicted this process as well, so that neither calls."""
        gone = self._epochs.gone
        if self._fixed and gone and self._looking is None and not self._closed:
            name = next(iter(gone))
            gone[name] = gone.pop(name)
            reminding = self._remind(name, self._fixed[name])
            self._looking = asyncio.create_task(reminding, name=f"reminding {name}")

    async def _remind(self, name: Process, address: Address) -> None:
        try:
            async with asyncio.timeout(2 * HELLO_S):
                stream = await dial(address, self._contexts[1])
                try:
                    greeting = Greeting(stream, self._me, expected=name)
                    greeting.say(Hello(refusal=EVICTED))
                    answer = (await greeting.answer).hello
                finally:
                    stream.abort()
            if answer.refusal:
                self._user.turned_away(name, answer.refusal)
        except (OSError, Refused):
            pass  # Most of them are dead.
        finally:
            self._looking = None

    def call(self, peer: Peer) -> None:
        """Call a peer until it is there, or is given up; not one of whom it is not known yet where it is."""
        untold = self._fixed is not None and not self._fixed[peer.name].known
        if peer.calling is None and peer.stream is None and not self._closed and not untold:
            peer.calling = asyncio.create_task(self._keep_calling(peer), name=f"calling {peer.name}")

    def introduce(self, name: Process) -> None:
        """Its address is known: call it, unless nobody is called yet."""
        if name not in self._epochs.gone:
            peer = self.peers.setdefault(name, Peer(name))
            if self._open:
                self.call(peer)

    def withdraw(self, name: Process) -> None:
        """It is no member after all."""
        peer = self.peers.pop(name, None)
        if peer is not None:
            self._hang_up(peer)

    def evict(self, name: Process) -> None:
        """Let nothing of a peer in, and say no more to it; what is written still goes."""
        self._hang_up(self._epochs.evict(name))

    def _hang_up(self, peer: Peer) -> None:
        if peer.calling is not None:
            peer.calling.cancel()
        if peer.stream is not None:
            stream, peer.stream = peer.stream, None
            stream.close()

    async def close(self) -> None:
        self._closed = True
        await self._door.close()
        calls = [peer.calling for peer in self.peers.values() if peer.calling is not None]
        calls += [] if self._looking is None else [self._looking]
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
        backoff, patience = Backoff(), Patience(endless=self._fixed is not None)
        try:
            while peer.stream is None:
                try:
                    async with asyncio.timeout(2 * HELLO_S):
                        await self._call_once(peer, self._address(peer))
                except (OSError, Refused) as error:
                    tell(self._me.source, "call failed", level="debug", peer=peer.name, error=str(error))
                    self._tell_refusal(peer.name, error)
                    crossed = isinstance(error, Refused) and error.reason == CROSSED
                    if patience.spent(crossed):
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

    async def _call_once(self, peer: Peer | None, address: Address) -> Process:
        """One call, to a peer or to whoever is there; its name once the stream stands."""
        stream = await dial(address, self._contexts[1])
        greeting = Greeting(stream, self._me, expected=None if peer is None else peer.name)
        try:
            greeted = await self._hail(peer, greeting)
            name, hello = greeted.header.source, greeted.hello
            self._search.refused(name, hello.refusal)
            header = greeted.header
            at = self._epochs.answered(name, header.incarnation, hello.epoch, hello.refusal, header.start)
            self._end_present(at)
            self._user.stands(at, stream, greeted, hello.epoch, greeting)
            return name
        except BaseException:
            if peer is None or peer.stream is not stream:
                stream.abort()
            raise

    async def _hail(self, peer: Peer | None, greeting: Greeting) -> Greeted:
        if peer is None:
            newcomer = self._newcomer and not self._user.inside
            greeting.say(Hello(0, self._hello.address, newcomer=newcomer))
            return await greeting.answer
        epoch = self._epochs.hail(peer)
        try:
            greeting.say(Hello(epoch, self._hello.address))
            return await greeting.answer
        finally:
            self._epochs.hail_over(peer)

    # ------------------------------------------------------------------------------- being called

    def _opened(self, stream: Stream) -> None:
        """Someone calls."""
        greeting = Greeting(stream, self._me, expected=None)
        greeting.answer.add_done_callback(lambda _: self._called(greeting))

    def _turned_out(self, why: str) -> None:
        """Somebody who is nobody to us; told seldom, for there may be very many."""
        self._refused[why] += 1
        if str(self._refused[why]).strip("0") == "1":
            tell(self._me.source, "strangers turned out", level="warning", why=why, so_far=self._refused[why])

    def _called(self, greeting: Greeting) -> None:
        """A caller has said who it is, or will not any more."""
        if not self._door.let_in(greeting.stream):
            return
        error = greeting.answer.exception()
        if error is not None:
            self._refused[error.reason if isinstance(error, Refused) else "stream"] += 1
            self._tell_refusal(greeting.claimed_name, error)
            greeting.stream.abort()
            return
        greeted = greeting.answer.result()
        (_, name, incarnation, start), hello = greeted
        if hello.refusal:
            self._user.turned_away(name, hello.refusal)
        try:
            peer, epoch = self._epochs.called(name, incarnation, hello.epoch, self._user.inside, start)
            if hello.refusal:
                raise Refused(hello.refusal)
        except Refused as refusal:
            self._refused[refusal.reason] += 1
            self._tell_refusal(name, refusal)
            if refusal.reason == OUTSIDE:
                # Whoever looks for the group here may be found where it calls from.
                self._search.called_by(name, hello.newcomer)
                self._book.learn([entry_of(name, incarnation, hello.address)])
            outside = NEWCOMER if self._newcomer else OUTSIDE
            greeting.say(Hello(refusal=outside if refusal.reason == OUTSIDE else refusal.reason))
            greeting.stream.close()
            return
        self._end_present(peer)
        greeting.say(Hello(epoch, self._hello.address))
        self._user.stands(peer, greeting.stream, greeted, epoch, greeting)

    def _tell_refusal(self, name: Process, error: BaseException) -> None:
        if isinstance(error, TurnedAway):
            self._user.turned_away(name, error.reason)
        elif isinstance(error, Refused | ssl.SSLError):
            self._user.not_let_in(name, error.reason if isinstance(error, Refused) else "tls")

    def _end_present(self, peer: Peer) -> None:
        """Another stream takes the place of the present one, of which both ends have lost a suffix."""
        if peer.stream is not None:
            stream = peer.stream
            stream.abort()
            self._user.lost(peer, stream)


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
