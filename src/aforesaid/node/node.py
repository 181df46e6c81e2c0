"""The public face of a node: `async with Node(config) as node`."""

import asyncio
from collections.abc import AsyncIterator, Coroutine, Iterable, Mapping, Sequence
from types import TracebackType
from typing import Any, Self

import msgspec

from aforesaid.core import SECOND, MessageId, Misuse, Process, Reason
from aforesaid.ground import ground
from aforesaid.node.building import carrier_of, segments_of
from aforesaid.node.carrying.book import Book
from aforesaid.node.carrying.switchboard import Unreached
from aforesaid.node.config import Config, Security
from aforesaid.node.endings import Closed, Isolated
from aforesaid.node.host import Host
from aforesaid.node.inbox import Inbox
from aforesaid.node.messages import Message, Receipt
from aforesaid.node.operating.control import Control
from aforesaid.node.operating.explain import data_of, reasons_of, sentences_of, silences_of
from aforesaid.node.operating.incarnations import next_incarnation
from aforesaid.node.operating.logs import tell
from aforesaid.node.operating.members import Members
from aforesaid.node.watch import Suspect, Watch
from aforesaid.protocols.membership.rejoining import Rejoining, is_the_whole_group
from aforesaid.transport import Address

TURN_MESSAGES, TURN_BYTES = 64, 1024
"""After so many messages said without waiting the rest of the loop has its turn; so many bytes are as one."""

DRAIN_POLL_S = 0.005


class Node:
    """A process of a group: says messages, and yields those that are delivered to it."""

    def __init__(self, config: Config) -> None:
        self.config = config = Config.of(msgspec.to_builtins(config))
        self._members = frozenset(config.group)
        self._addressed = config.entry.addressed
        self._payload_bytes_max = config.payload_bytes_max
        queues = config.queues
        self._inbox = Inbox(queues.in_messages, queues.in_bytes, self._acknowledge, config.name)
        self._book = Book()
        self._host: Host | None = None
        self._tasks: list[asyncio.Task[None]] = []
        self._control: Control | None = None
        self._member = asyncio.Event()
        """Set while this node is in its group; cleared while it is between two incarnations."""
        self._turn = 0
        """What was said since the loop last had its turn."""
        self._remembered: list[Address] = []
        """Where members were when this node last ran."""
        self._watch = Watch(config)
        self._closing = False
        self._stopped = asyncio.Event()

    # ------------------------------------------------------------------------------------ life and death

    async def __aenter__(self) -> Self:
        if self._host is not None:
            raise Misuse("a Node is entered once; make another one")
        await self._enter_group()
        if self.config.directory is not None:
            try:
                await _to_the_end(self._take_questions(self.config.directory))
            except BaseException:
                await _to_the_end(self._stop(in_time=False))
                raise
        self._spawn(self._beat(), "heartbeat")
        if self._running.entry.linked:
            self._spawn(self._begin_again(), "rejoining")
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close(linger_s=self.config.linger_s if kind is None else 0.0)

    async def close(self, linger_s: float = 0.0) -> None:
        """Leave: wait up to so long until others have what was said, say goodbye, and stop.

        Of several calls the first decides how long, and all wait until the node has stopped.
        """
        if self._host is None:
            return
        if self._closing:
            await self._stopped.wait()
            return
        self._closing, in_time = True, True
        try:
            if linger_s > 0 and self._host.error is None:
                in_time = await self._linger(linger_s)
        finally:
            try:
                await _to_the_end(self._stop(in_time))
            finally:
                self._stopped.set()

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
        return receipt or await self._say(audience, _bytes_of(payload))

    async def broadcast(self, payload: bytes) -> Receipt:
        """Say it to everyone, this node included; waits while too much is under way."""
        receipt = self._say_now(self.config.group, payload)
        return receipt or await self._say(self.config.group, _bytes_of(payload))

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
        """Each peer, and how it is: connected, silent, evicted, left, or who does not let whom in."""
        host = self._running
        connected = set(host.carrier.connected()) - self.suspects.keys()
        names = dict.fromkeys((*self.config.peers, *sorted(connected), *host.gone))
        return {
            name: host.gone.get(name)
            or host.refusals.state(name, name in connected)
            or ("connected" if name in connected else "silent")
            for name in names
        }

    @property
    def suspects(self) -> dict[Process, Suspect]:
        """The peers of a fixed group that are silent for too long: for how long, and what waits for them."""
        return self._watch.suspects(self._running)

    def explain(self, message_id: MessageId | str) -> tuple[str, ...]:
        """Why a message waits, in sentences: what is missing, who holds it, since when."""
        return sentences_of(self._running, self.reasons(message_id))

    def reasons(self, message_id: MessageId | str) -> tuple[Reason, ...]:
        """The same for programs."""
        return reasons_of(self._running, message_id)

    def why(self, message_id: MessageId | str) -> dict[str, Any]:
        """The same as plain data: sentences, reasons, and who was last heard how many seconds ago."""
        host, reasons = self._running, self.reasons(message_id)
        return {
            "sentences": sentences_of(host, reasons),
            "reasons": [data_of(host, reason) for reason in reasons],
            "heard_s_ago": silences_of(host, reasons),
        }

    def evict(self, peer: Process) -> None:
        """The operator's word that a peer will not come back; docs/node.md says what it means."""
        if peer not in self.peers:
            raise Misuse(f"{peer} is no peer of {self.config.name}")
        self._running.check()
        self._running.evict(peer)

    def introduce(self, peers: Mapping[Process, str]) -> None:
        """Where these peers of a fixed group are from here on; needed where the configuration says port 0."""
        if strangers := [name for name in peers if name not in self.config.peers]:
            raise Misuse(f"{strangers[0]} is no peer of {self.config.name}")
        config = msgspec.structs.replace(self.config, peers={**self.config.peers, **peers})
        msgspec.structs.replace(config, listen=str(self.address)).validate()
        self._running.check()
        self.config = config
        for name, text in peers.items():
            self._running.carrier.introduce(name, Address.parse(text))

    async def rekey(self, cluster_key: str, accept: Sequence[str] = ()) -> None:
        """Use the cluster key of this file from here on, and accept those too; see docs/security.md."""
        if self.config.security.cluster_key is None:
            raise Misuse(f"{self.config.name} uses no cluster key")
        self._running.check()
        security = Security(cluster_key=cluster_key, accept_cluster_keys=list(accept))
        config = msgspec.structs.replace(self.config, security=security)
        await self._running.carrier.rekey(config)
        self.config = config
        tell("rekeyed", name=config.name, cluster_key=cluster_key)

    def gauges(self) -> dict[str, int]:
        """How much is held, by kind: of the protocol and of the queues around it."""
        host, suspects = self._running, self.suspects
        return {
            **host.machine.gauges(),
            "suspects": len(suspects),
            "owed_to_suspects": sum(each.owed for each in suspects.values()),
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
            raise Misuse(
                f"{self.config.algorithm} broadcasts; to address messages use hybrid_multicast_in_order"
            )
        strangers = ", ".join(str(name) for name in audience if name not in self._members)
        raise Misuse(f"{strangers} is not in the group: {', '.join(self.config.group)}")

    def _say_now(self, audience: tuple[Process, ...], payload: bytes) -> Receipt | None:
        """Say it if there is room and it is not the loop's turn: most messages go this way."""
        if type(payload) is not bytes:
            payload = _bytes_of(payload)
        if len(payload) > self._payload_bytes_max:
            raise Misuse(f"a payload of {len(payload)} bytes; payload_bytes_max is {self._payload_bytes_max}")
        self._turn += 1 + len(payload) // TURN_BYTES
        if self._turn >= TURN_MESSAGES or self._closing or self._host is None:
            self._turn = 0
            return None
        return self._host.say_now(audience, payload)

    async def _say(self, audience: tuple[Process, ...], payload: bytes) -> Receipt:
        while True:
            if self._closing:
                self._running.check()  # It may have ended for a reason.
                raise Closed(f"{self.config.name} is closed")
            await asyncio.sleep(0)
            host = self._running
            try:
                return host.say_now(audience, payload) or await host.say(audience, payload)
            except Isolated:
                if self._closing:
                    raise
                await self._inside_again()

    async def _inside_again(self) -> None:
        """Until the next incarnation is in its group; not for ever, for the caller may know what to do."""
        try:
            async with asyncio.timeout(2 * self.config.outside_s):
                await self._member.wait()
        except TimeoutError:
            known = dict.fromkeys(self._book.best(but=self.config.name) + self._contacts())
            away = f"{self.config.name} has been outside its group for {2 * self.config.outside_s:g} s"
            raise Isolated(f"{away}; nobody lets it in at {', '.join(map(str, known))}") from None

    def _contacts(self) -> list[Address]:
        return [Address.parse(text) for text in self.config.contacts]

    async def _enter_group(self) -> None:
        """Found a group, or join one; who was a member before has lost it, and looks for it."""
        self._remembered = Members(self.config.directory).read() if self.config.entry.linked else []
        if self._remembered:
            await self._rejoin(0, None)
        else:
            await self._start(next_incarnation(self.config.directory), self._contacts())

    async def _start(self, incarnation: int, contacts: Sequence[Address]) -> None:
        """Begin an incarnation; it founds a group, or joins one through the first member that is there."""
        config = self.config
        host = Host(
            config, incarnation, self._inbox, lambda above: carrier_of(config, incarnation, above, self._book)
        )
        try:
            if config.directory is not None and config.trace:
                host.recorder = segments_of(config, incarnation, host.wall(), joined=bool(contacts))
            # From here on others may speak to us, and what they say must find the trace open.
            await host.carrier.start()
            contact = await host.carrier.call(*contacts) if contacts else None
            host.begin(contact)
            await self._welcomed(host, contact)
        except BaseException as error:
            await self._end(host, "isolated", drained=False, error=Isolated(str(error)))
            raise
        self._host = host
        self._member.set()
        tell("started", name=config.name, incarnation=incarnation, address=str(host.carrier.address))

    async def _take_questions(self, directory: str) -> None:
        control = Control(self, directory)
        await control.start()
        self._control = control

    async def _welcomed(self, host: Host, contact: Process | None) -> None:
        """Returns once the node is a member; Misuse if it was not let in."""
        waits = [asyncio.create_task(host.inside.wait()), asyncio.create_task(host.isolation.wait())]
        try:
            await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for wait in waits:
                wait.cancel()
            await asyncio.gather(*waits, return_exceptions=True)
        host.check()
        if not host.inside.is_set():
            raise Misuse(f"contact: {contact} did not let {self.config.name} in")

    async def _beat(self) -> None:
        """One timer for all peers."""
        members = Members(self.config.directory)
        while True:
            await asyncio.sleep(self.config.heartbeat_s)
            host = self._running
            if host.error is not None and not isinstance(host.error, Isolated):
                return  # Who has failed is not to be taken for alive.
            self._watch.beat(host)
            if host.entry.linked:
                members.keep(host.carrier.members())

    async def _begin_again(self) -> None:
        """An incarnation that has lost its group ends; the next one joins again, through whoever is there."""
        while True:
            host = self._running
            await host.isolation.wait()
            if is_the_whole_group(host.carrier.members() + self._contacts()):
                host.isolation.clear()
                continue
            tell("rejoining", level="warning", name=self.config.name, elsewhere=str(host.elsewhere or ""))
            self._member.clear()
            isolated = Isolated(f"{self.config.name} is isolated")
            await self._end(host, "isolated", drained=False, error=isolated)
            # Others know this node by its address.
            self.config = msgspec.structs.replace(self.config, listen=str(host.carrier.address))
            await self._rejoin(host.incarnation, host.elsewhere)

    async def _rejoin(self, last: int, elsewhere: Address | None) -> None:
        """Through the first member that is there; if there is none, one founds the group anew."""
        rejoining = Rejoining(self.config.name, not self.config.contacts, elsewhere)
        clock = ground().monotonic_ns
        despair = clock() + round(self.config.outside_s * SECOND)
        while True:
            last = next_incarnation(self.config.directory, last)
            known = self._book.best(but=self.config.name) + self._contacts() + self._remembered
            try:
                await self._start(last, rejoining.places(known))
                return
            except Unreached as error:
                tell("cannot rejoin", level="warning", error=str(error))
                if rejoining.unreached(error.search, despairs=clock() > despair):
                    continue
            except Misuse as error:
                tell("cannot rejoin", level="warning", error=str(error))
                rejoining.not_let_in()
            await asyncio.sleep(self.config.heartbeat_s)

    async def _linger(self, linger_s: float) -> bool:
        """False if there was more to do than there was time."""
        self._inbox.closing = True
        self._running.taken()
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
            return False
        return True

    async def _hand_over(self) -> None:
        """Until the neighbours have linked with each other, where they have few other links."""
        host, began = self._running, self._running.now()
        host.hand_over()
        while host.needed:
            host.check()
            await asyncio.sleep(DRAIN_POLL_S)
        # The last steps of a handshake need no mediator, and take less than those that did.
        await asyncio.sleep((host.now() - began) / SECOND)

    async def _stop(self, in_time: bool) -> None:
        if self._control is not None:
            await self._control.close()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        host = self._running
        drained = in_time and host.error is None and not host.busy
        self._inbox.close()
        self._member.set()  # Whoever waits for the next incarnation hears that there is none.
        try:
            if host.error is None:
                host.leave()
                host.carrier.bye()
        finally:
            await self._end(host, "closed", drained, Closed(f"{self.config.name} is closed"))

    async def _end(self, host: Host, how: str, drained: bool, error: Exception) -> None:
        host.record("e", host.wall(), how, drained)
        host.end(error)
        recorder, host.recorder = host.recorder, None
        try:
            if recorder is not None:
                recorder.close()
        finally:
            await _to_the_end(host.carrier.close())


async def _to_the_end(work: Coroutine[Any, Any, None]) -> None:
    """Await what must not be left half done; who is cancelled meanwhile hears of it afterwards."""
    task, cancelled = asyncio.ensure_future(work), None
    while not task.done():
        try:
            await asyncio.wait([task])
        except asyncio.CancelledError as error:
            cancelled = error
    task.result()
    if cancelled is not None:
        raise cancelled


def _bytes_of(payload: Any) -> bytes:
    if isinstance(payload, bytes):
        return payload
    if isinstance(payload, bytearray | memoryview):
        return bytes(payload)
    raise Misuse(f"a payload is bytes, not {type(payload).__name__}")
