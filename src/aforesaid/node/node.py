"""The public face of a node: `async with Node(config) as node`."""

import asyncio
import time
from collections.abc import AsyncIterator, Coroutine, Iterable
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import msgspec

from aforesaid import __version__
from aforesaid.core import SECOND, MessageId, Misuse, Process
from aforesaid.node.carrier import Carrier
from aforesaid.node.config import Config
from aforesaid.node.control import Control
from aforesaid.node.datagrams import DatagramCarrier
from aforesaid.node.explain import explain
from aforesaid.node.host import Closed, Host, Isolated
from aforesaid.node.inbox import Inbox
from aforesaid.node.incarnations import next_incarnation
from aforesaid.node.logs import tell
from aforesaid.node.messages import Message, Receipt
from aforesaid.node.securing import datagram_seals, stream_contexts
from aforesaid.node.segments import Origin, SegmentWriter
from aforesaid.node.streams import StreamCarrier
from aforesaid.protocols.catalog import algorithm
from aforesaid.transport import Address
from aforesaid.wire import Codec, Inlet, Limits, Reassembly, cluster_id, shapes_of
from aforesaid.wire.packet import Header

FRAME_BYTES, FRAME_BYTES_PER_MEMBER = 1024, 80
"""What a frame may take besides one payload: names of members, or a counter for each."""

TURNS_EVERY = 64
"""After so many messages said without waiting, the rest of the loop has its turn."""

DRAIN_POLL_S = 0.005


class Node:
    """A process of a group: says messages, and yields those that are delivered to it."""

    def __init__(self, config: Config) -> None:
        self.config = config = Config.of(msgspec.to_builtins(config))
        self._members = frozenset(config.group)
        self._addressed = algorithm(config.algorithm).addressed
        self._payload_bytes_max = config.payload_bytes_max
        queues = config.queues
        self._inbox = Inbox(queues.in_messages, queues.in_bytes, self._acknowledge)
        self._host: Host | None = None
        self._tasks: list[asyncio.Task[None]] = []
        self._control: Control | None = None
        self._member = asyncio.Event()
        """Set while this node is in its group; cleared while it is between two incarnations."""
        self._said = 0
        self._closing = False

    # ------------------------------------------------------------------------------------ life and death

    async def __aenter__(self) -> Self:
        if self._host is not None:
            raise Misuse("a Node is entered once; make another one")
        contact = self.config.contact
        address = None if contact is None else Address.parse(contact)
        await self._start(next_incarnation(self.config.directory), address)
        if self.config.directory is not None:
            control = Control(self, self.config.directory)
            try:
                await control.start()
            except BaseException:
                await self._stop()
                raise
            self._control = control
        self._spawn(self._beat(), "heartbeat")
        if self._running.entry.linked:
            self._spawn(self._begin_again(), "rejoining")
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close(linger_s=self.config.linger_s if kind is None else 0.0)

    async def close(self, linger_s: float = 0.0) -> None:
        """Leave: wait up to so long until others have what was said, say goodbye, and stop."""
        if self._closing or self._host is None:
            return
        self._closing = True
        try:
            if linger_s > 0 and self._host.error is None:
                await self._linger(linger_s)
        finally:
            await self._stop()

    async def drain(self) -> None:
        """Returns once nothing that was said here is under way any more."""
        host = self._running
        while host.busy:
            host.check()
            await asyncio.sleep(DRAIN_POLL_S)

    # ------------------------------------------------------------------------------------------- messages

    async def send(self, targets: Iterable[Process], payload: bytes) -> Receipt:
        """Say it to these peers; waits while too much is under way."""
        audience = (targets,) if isinstance(targets, str) else tuple(targets)
        if not self._members.issuperset(audience) or not self._addressed:
            self._refuse(audience)
        receipt = self._say_now(audience, payload)
        return receipt or await self._say(audience, payload)

    async def broadcast(self, payload: bytes) -> Receipt:
        """Say it to everyone, this node included; waits while too much is under way."""
        receipt = self._say_now(self.config.group, payload)
        return receipt or await self._say(self.config.group, payload)

    def __aiter__(self) -> AsyncIterator[Message]:
        return self

    async def __anext__(self) -> Message:
        self._running  # noqa: B018  (raises if the node was never started)
        message = await self._inbox.take()
        if message is None:
            raise StopAsyncIteration
        if self.config.acks == "automatic":
            message.ack()
        return message

    # ------------------------------------------------------------------------------------------ questions

    @property
    def name(self) -> Process:
        return self.config.name

    @property
    def address(self) -> Address:
        """Where this node listens."""
        return self._running.carrier.address

    @property
    def incarnation(self) -> int:
        return self._running.incarnation

    @property
    def peers(self) -> dict[Process, str]:
        """Each peer, and how it is: connected, silent, evicted or left."""
        host = self._running
        connected = set(host.carrier.connected())
        names = dict.fromkeys((*self.config.peers, *sorted(connected), *host.gone))
        return {
            name: host.gone.get(name) or ("connected" if name in connected else "silent") for name in names
        }

    def explain(self, message_id: MessageId | str) -> tuple[str, ...]:
        """Why a message waits, in sentences: what is missing, who holds it, since when."""
        return explain(self._running, message_id)

    def evict(self, peer: Process) -> None:
        """The operator's word that a peer will not come back; docs/node.md says what it means."""
        if peer == self.config.name or (self.config.peers and peer not in self.config.peers):
            raise Misuse(f"{peer} is no peer of {self.config.name}")
        self._running.evict(peer)

    def gauges(self) -> dict[str, int]:
        """How much is held, by kind: of the protocol and of the queues around it."""
        host = self._running
        return {
            **host.machine.gauges(),
            "under_way": host.flight.held,
            "inbox_messages": self._inbox.messages,
            "inbox_bytes": self._inbox.bytes,
            "link_bytes": host.carrier.buffered(),
        }

    @property
    def refused(self) -> dict[str, int]:
        """How many packets were not let in, by reason."""
        return dict(self._running.refused)

    # ------------------------------------------------------------------------------------------ the parts

    @property
    def _running(self) -> Host:
        if self._host is None:
            raise Closed("the node has not been started: async with Node(config) as node")
        return self._host

    def _spawn(self, work: Coroutine[Any, Any, None], title: str) -> None:
        task = asyncio.create_task(work, name=f"{title} of {self.config.name}")
        task.add_done_callback(self._ended)
        self._tasks.append(task)

    def _ended(self, task: asyncio.Task[None]) -> None:
        """A task of ours ends by being cancelled; anything else is a failure that must not go unseen."""
        if not task.cancelled() and (error := task.exception()) is not None:
            self._running.fail(error if isinstance(error, Exception) else RuntimeError(repr(error)))

    def _acknowledge(self, message: Message) -> None:
        """The application has done with a message."""
        self._inbox.done(message)
        if self._host is not None:
            self._host.taken()

    def _refuse(self, audience: tuple[Process, ...]) -> None:
        if not self._addressed:
            raise Misuse(f"{self.config.algorithm} broadcasts; to address messages use hybrid_multicast_sps")
        strangers = ", ".join(name for name in audience if name not in self._members)
        raise Misuse(f"{strangers} is not in the group: {', '.join(self.config.group)}")

    def _say_now(self, audience: tuple[Process, ...], payload: bytes) -> Receipt | None:
        """Say it if there is room and it is not the loop's turn: most messages go this way."""
        if type(payload) is not bytes:
            payload = _bytes_of(payload)
        if len(payload) > self._payload_bytes_max:
            raise Misuse(f"a payload of {len(payload)} bytes; payload_bytes_max is {self._payload_bytes_max}")
        self._said += 1
        if self._said % TURNS_EVERY == 0 or self._closing or self._host is None:
            return None
        return self._host.say_now(audience, payload)

    async def _say(self, audience: tuple[Process, ...], payload: bytes) -> Receipt:
        while True:
            if self._closing:
                raise Closed(f"{self.config.name} is closed")
            await asyncio.sleep(0)
            host = self._running
            try:
                return host.say_now(audience, bytes(payload)) or await host.say(audience, bytes(payload))
            except Isolated:
                if self._closing:
                    raise
                await self._member.wait()

    async def _start(self, incarnation: int, contact: Address | None) -> None:
        """Begin an incarnation; it founds a group, or joins one through the member at an address."""
        config = self.config
        host = Host(config, incarnation, self._inbox, lambda above: self._carrier(above, incarnation))
        try:
            if config.directory is not None and config.trace:
                host.recorder = self._segments(host, contact is not None)
            # From here on others may speak to us, and what they say must find the trace open.
            await host.carrier.start()
            host.begin(None if contact is None else await host.carrier.call(contact))
            await self._welcomed(host, contact)
        except BaseException as error:
            await self._end(host, "isolated", drained=False, error=Isolated(str(error)))
            raise
        self._host = host
        self._member.set()
        tell("started", name=config.name, incarnation=incarnation, address=str(host.carrier.address))

    async def _welcomed(self, host: Host, contact: Address | None) -> None:
        """Returns once the node is a member; Misuse if it was not let in."""
        waits = [asyncio.create_task(host.inside.wait()), asyncio.create_task(host.isolation.wait())]
        try:
            await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for wait in waits:
                wait.cancel()
            await asyncio.gather(*waits, return_exceptions=True)
        if not host.inside.is_set():
            raise Misuse(f"contact: the member at {contact} did not let {self.config.name} in")

    def _carrier(self, above: Host, incarnation: int) -> Carrier:
        config = self.config
        frame_bytes_max = config.payload_bytes_max + FRAME_BYTES + FRAME_BYTES_PER_MEMBER * len(config.group)
        if above.entry.linked:
            # The buffer of a new link is one frame, of many payloads.
            frame_bytes_max = max(frame_bytes_max, config.queues.link_bytes)
        codec = Codec(shapes_of(config.algorithm, config.group), frame_bytes_max)
        limits = Limits(frame_bytes_max=frame_bytes_max, bytes_per_source_max=4 * frame_bytes_max)
        inlet = Inlet(codec, Reassembly(limits))
        me = Header(cluster_id(config.cluster, config.algorithm), config.name, incarnation)
        if config.transport == "udp":
            return DatagramCarrier(config, datagram_seals(config, me), inlet, above)
        return StreamCarrier(config, stream_contexts(config), me, inlet, above)

    def _segments(self, host: Host, joined: bool) -> SegmentWriter:
        config = self.config
        origin = Origin(
            name=config.name,
            incarnation=host.incarnation,
            algorithm=config.algorithm,
            cluster=config.cluster,
            group=config.group,
            joined=joined,
            began_ns=host.wall(),
            segment=1,
            code_version=__version__,
        )
        return SegmentWriter(Path(str(config.directory)) / "segments", origin, config.trace_segment_bytes)

    async def _beat(self) -> None:
        """One timer for all peers: heartbeats to the idle, and eviction of the silent if so configured."""
        evict_after = round(self.config.evict_after_s * SECOND)
        beaten = time.monotonic_ns()
        while True:
            await asyncio.sleep(self.config.heartbeat_s)
            host, now = self._running, time.monotonic_ns()
            host.carrier.beat(now)
            # Who stood still itself lets others be heard before it judges them.
            stood_still = now - beaten > 1.5 * SECOND * self.config.heartbeat_s
            beaten = now
            if evict_after and host.error is None and not stood_still:
                for peer in self.config.peers:
                    heard = host.carrier.heard_ns(peer)
                    if peer not in host.gone and heard is not None and now - heard > evict_after:
                        host.evict(peer)

    async def _begin_again(self) -> None:
        """An incarnation that has lost its group ends; the next one joins again, through whoever is there."""
        while True:
            host = self._running
            await host.isolation.wait()
            members = host.carrier.members()
            if self.config.contact is not None:
                members.append(Address.parse(self.config.contact))
            if host.elsewhere is not None:
                members.insert(0, host.elsewhere)
            if not members:
                # Everybody has left: this node is the group.
                host.isolation.clear()
                continue
            tell("rejoining", level="warning", name=self.config.name, elsewhere=str(host.elsewhere or ""))
            self._member.clear()
            isolated = Isolated(f"{self.config.name} is isolated")
            await self._end(host, "isolated", drained=False, error=isolated)
            await self._rejoin(host.incarnation, members)

    async def _rejoin(self, last: int, members: list[Address]) -> None:
        """Try them in turn. If none is there, a founder founds its group anew; others go on trying."""
        while True:
            for contact in dict.fromkeys(members):
                last = next_incarnation(self.config.directory, last)
                try:
                    await self._start(last, contact)
                except Misuse as error:
                    tell("cannot rejoin", level="warning", error=str(error))
                else:
                    return
            if self.config.contact is None:
                await self._start(next_incarnation(self.config.directory, last), None)
                return
            await asyncio.sleep(self.config.heartbeat_s)

    async def _linger(self, linger_s: float) -> None:
        try:
            async with asyncio.timeout(linger_s):
                await self.drain()
                if self._running.entry.linked:
                    await self._hand_over()
                    await self.drain()
        except Isolated:
            # Whoever could have heard is gone; there is nothing to wait for.
            tell("closed while isolated", level="warning", name=self.config.name)
        except TimeoutError:
            host = self._running
            tell("closed too early", level="warning", under_way=host.flight.held, **host.machine.gauges())

    async def _hand_over(self) -> None:
        """Until the neighbours have linked with each other, where they have few other links."""
        host, began = self._running, time.monotonic()
        host.hand_over()
        while host.machine.needed:
            host.check()
            await asyncio.sleep(DRAIN_POLL_S)
        # The last steps of a handshake need no mediator, and take less than those that did.
        await asyncio.sleep(time.monotonic() - began)

    async def _stop(self) -> None:
        host = self._running
        if self._control is not None:
            await self._control.close()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        drained = host.error is None and not host.busy
        if host.error is None:
            if host.entry.linked:
                host.machine.leave(host.now(), host)
            host.flush()
            host.carrier.bye()
        await self._end(host, "closed", drained, Closed(f"{self.config.name} is closed"))
        self._inbox.close()

    async def _end(self, host: Host, how: str, drained: bool, error: Exception) -> None:
        host.record("e", host.wall(), how, drained)
        host.end(error)
        if host.recorder is not None:
            host.recorder.close()
            host.recorder = None
        await host.carrier.close()


def _bytes_of(payload: Any) -> bytes:
    if isinstance(payload, bytes):
        return payload
    if isinstance(payload, bytearray | memoryview):
        return bytes(payload)
    raise Misuse(f"a payload is bytes, not {type(payload).__name__}")
