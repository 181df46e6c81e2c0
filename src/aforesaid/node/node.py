"""The public face of a node: `async with Node(config) as node`."""

import asyncio
from collections.abc import AsyncIterator, Callable, Coroutine, Iterable, Mapping, Sequence
from functools import partial
from types import TracebackType
from typing import Any, Self, overload

import msgspec

from aforesaid.core import SECOND, MessageId, Misuse, Process, Reason
from aforesaid.ground import ground
from aforesaid.node.awaiting import drained, lingered, to_the_end, welcomed
from aforesaid.node.building import carrier_of, journal_of, segments_of
from aforesaid.node.carrying.book import Book
from aforesaid.node.carrying.carrier import Carrier
from aforesaid.node.carrying.switchboard import Unreached
from aforesaid.node.config import Config, Security
from aforesaid.node.endings import Closed, HistoryLost, Isolated
from aforesaid.node.history.keeper import Keeper, Since
from aforesaid.node.history.keeping import KeepingHost
from aforesaid.node.host import Host
from aforesaid.node.many import BATCH_MAX, say_many
from aforesaid.node.messages import Message, Receipt
from aforesaid.node.operating.claim import Claim
from aforesaid.node.operating.control import Control
from aforesaid.node.operating.explain import data_of, reasons_of, sentences_of, silences_of
from aforesaid.node.operating.incarnations import next_incarnation
from aforesaid.node.operating.logs import tell
from aforesaid.node.operating.members import Members
from aforesaid.node.operating.metrics import text_of
from aforesaid.node.operating.metrics_port import MetricsPort
from aforesaid.node.operating.status import explained, status_of, waits_of
from aforesaid.node.payloads import Codec, P, bytes_of
from aforesaid.node.surviving import SurvivingHost
from aforesaid.node.talking import Talking
from aforesaid.node.transactions import Transactions
from aforesaid.node.watch import Suspect, Watch
from aforesaid.protocols.membership.epochs import START_COUNT_BIT
from aforesaid.protocols.membership.rejoining import Rejoining, is_the_whole_group
from aforesaid.transport import Address

TURN_MESSAGES, TURN_BYTES = 64, 1024
"""After so many messages said without waiting the rest of the loop has its turn; so many bytes are as one."""


class Node(Talking[P]):
    """A process of a group: says messages, and yields those that are delivered to it."""

    @overload
    def __init__(
        self,
        config: Config,
        resume_from: int | None = None,
        *,
        history: Since | None = None,
        payload: type[P] | Codec[P] | None = None,
    ) -> None: ...
    @overload
    def __init__(
        self: "Node[Any]",
        config: Config,
        resume_from: int | None = None,
        *,
        history: Since | None = None,
        payload: object,
    ) -> None: ...
    def __init__(
        self,
        config: Config,
        resume_from: int | None = None,
        *,
        history: Since | None = None,
        payload: Any = None,
    ) -> None:
        """`resume_from`: the offset up to which the application has all deliveries of a node that survives;
        None: up to where it acknowledged them. `history`: what a newcomer to a group that keeps its history
        is to have of it: "all", "from now", or what was delivered since a moment. `payload`: what is said
        (`payloads.py`); None: bytes."""
        self.config = config = Config.of(msgspec.to_builtins(config))
        self._survives = config.survives
        self._keeper = Keeper(config, resume_from, history)
        self._hands_on_again = config.survives or config.keeps
        """Whether messages have offsets, and may come again to who was killed with them in hand."""
        if resume_from is not None and not (self._hands_on_again and config.directory):
            raise Misuse('resume_from: this node keeps nothing to resume from; set durability = "batch"')
        if resume_from is not None and payload is not None:
            raise Misuse("resume_from: with a payload type answers have offsets, too; see docs/api.md")
        self._resume_from = resume_from
        self._claim: Claim | None = None
        self._untaken: Message[P] | HistoryLost | None = None
        """The last one that was taken: who asks for the next one has done with it."""
        self._leaving = False
        self._group = config.group
        """To whom a broadcast goes; to nobody once this node was dismissed."""
        self._members = frozenset(config.group)
        self._addressed = config.entry.addressed
        self._payload_bytes_max = config.payload_bytes_max
        acknowledge: Callable[[Message[Any]], None] = self._acknowledge
        self._transactions: Transactions | None = None
        if self._hands_on_again:
            acknowledge = self._acknowledge_durably
            if config.directory is not None:
                acknowledge = self._transactions = Transactions(config.directory, acknowledge, self._is_next)
        self._inbox = self._inbox_for(payload, acknowledge)
        self._book = Book()
        self._host: Host | None = None
        self._tasks: list[asyncio.Task[None]] = []
        self._control: Control | None = None
        self._metrics: MetricsPort | None = None
        self._member = asyncio.Event()
        """Set while this node is in its group; cleared while it is between two incarnations."""
        self._turn = 0
        """What was said since the loop last had its turn."""
        self.said = 0
        """How many messages this node has said."""
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
        try:
            await to_the_end(self._take_questions())
        except BaseException:
            await to_the_end(self._stop(in_time=False))
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
        """Leave: wait up to so long until others have what was said, say goodbye, and stop. A node that
        survives stops at once and says no goodbye: it will be back.

        Of several calls the first decides how long, and all wait until the node has stopped.
        """
        if self._host is None:
            return
        if self._closing:
            await self._stopped.wait()
            return
        self._closing, in_time = True, True
        try:
            if linger_s > 0 and self._host.error is None and self._says_goodbye:
                in_time = await lingered(lambda: self._running, linger_s)
        finally:
            try:
                await to_the_end(self._stop(in_time))
            finally:
                self._stopped.set()

    async def leave(self, linger_s: float | None = None) -> None:
        """Close for good, also if this node survives: nobody waits for it, and it cannot come back."""
        self._leaving = True
        await self.close(self.config.linger_s if linger_s is None else linger_s)

    async def drain(self) -> None:
        """Returns once nothing that was said here is under way any more."""
        await drained(self._running)

    # ------------------------------------------------------------------------------------------- messages

    async def send(self, targets: Iterable[Process], payload: P) -> Receipt:
        """Say it to these peers; waits while too much is under way."""
        audience = (targets,) if isinstance(targets, str) else tuple(targets)
        if not self._members.issuperset(audience) or not self._addressed:
            self._refuse(audience)
        data: Any = payload if self._letters is None else self._letters.sealed(payload)
        receipt = self._say_now(audience, data) or await self._say(audience, (bytes_of(data),))
        self.said += 1
        if self._survives:
            await self._forced()
        return receipt

    async def broadcast(self, payload: P) -> Receipt:
        """Say it to everyone, this node included; waits while too much is under way."""
        group = self._group or self._refuse(())
        data: Any = payload if self._letters is None else self._letters.sealed(payload)
        receipt = self._say_now(group, data) or await self._say(group, (bytes_of(data),))
        self.said += 1
        if self._survives:
            await self._forced()
        return receipt

    async def send_many(self, targets: Iterable[Process], payloads: Iterable[P]) -> Receipt:
        """Say these, one after the other, to these peers; the receipt is of the last, and so of all."""
        audience = (targets,) if isinstance(targets, str) else tuple(targets)
        if not self._members.issuperset(audience) or not self._addressed:
            self._refuse(audience)
        return await self._say_many(audience, payloads)

    async def broadcast_many(self, payloads: Iterable[P]) -> Receipt:
        """Say these, one after the other, to everyone; the receipt is of the last, and so of all."""
        return await self._say_many(self.config.group, payloads)

    async def batches(self) -> AsyncIterator[list[Message[P]]]:
        """All messages that are there, up to `BATCH_MAX`, as often as there are any. Who asks for the next
        ones has done with these, unless acks are manual."""
        self._running  # noqa: B018  (raises if the node was never started)
        automatic = self.config.acks == "automatic"
        while batch := await self._inbox.take_all(BATCH_MAX):
            if automatic and not self._hands_on_again:
                self._acknowledge_all(batch)
            yield batch
            if automatic and self._hands_on_again:
                for message in batch:
                    message.ack()

    def __aiter__(self) -> AsyncIterator[Message[P]]:
        return self

    async def __anext__(self) -> Message[P]:
        host = self._running
        if (taken := self._inbox.take_now()) is not None:
            host.taken()
            return taken
        if self._untaken is not None:
            self._untaken.ack()
            self._untaken = None
        try:
            message = await self._inbox.take()
        except HistoryLost as lost:
            self._untaken = lost
            raise
        if message is None:
            raise StopAsyncIteration
        if self.config.acks == "automatic":
            if self._hands_on_again:
                # It is not to be lost if the application is killed while it has it in hand.
                self._untaken = message
            else:
                message.ack()
                self._running.taken()
        return message

    def on_snapshot(
        self, give: Callable[[], tuple[bytes, int]] | None = None, take: Callable[[bytes], None] | None = None
    ) -> None:
        """Before the node is entered: how the application gives its state, with the offset of the last
        message in it, to who lacks messages that are not kept any more, and how it takes another's."""
        self._keeper.on_snapshot(give, take)

    # ------------------------------------------------------------------------------------------ questions

    @property
    def name(self) -> Process:
        return self.config.name

    @property
    def members(self) -> tuple[Process, ...]:
        """To whom a broadcast goes now, this node included."""
        return self._group

    @property
    def address(self) -> Address:
        """Where this node listens."""
        return self._running.carrier.address

    @property
    def metrics_address(self) -> Address | None:
        """Where it answers GET /metrics; None: nowhere."""
        return None if self._metrics is None else self._metrics.address

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

    async def admit(self, peer: Process, address: str) -> None:
        """Let a newcomer into the group, which is there and has this node among its peers; docs/node.md."""
        await self._running.groups.admit(peer, address)
        await self._forced()

    async def dismiss(self, peer: Process) -> None:
        """Have a peer, or this node, leave with all that it said and was said to it; docs/node.md."""
        self._running.groups.dismiss(peer)
        await self._forced()

    def _regroup(self) -> None:
        host = self._running
        self.config = msgspec.structs.replace(self.config, peers=host.config.peers)
        self._group = host.groups.audience
        self._members = frozenset(self._group)
        self._watch.regroup([peer for peer in self.config.peers if peer not in host.gone])

    def introduce(self, peers: Mapping[Process, str]) -> None:
        """Where these peers of a fixed group are from here on; needed where the configuration says port 0."""
        if strangers := [name for name in peers if name not in self.config.peers]:
            raise Misuse(f"{strangers[0]} is no peer of {self.config.name}")
        config = msgspec.structs.replace(self.config, peers={**self.config.peers, **peers})
        msgspec.structs.replace(config, listen=str(self.address)).validate()
        self._running.check()
        self.config = config
        self._running.config = msgspec.structs.replace(self._running.config, peers=config.peers)
        self._running.groups.locate(dict(peers))
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
        tell(self.config.name, "rekeyed", cluster_key=cluster_key)

    @property
    def delivered(self) -> int:
        """How many messages were delivered to this node, its own included."""
        return self._inbox.delivered

    @property
    def closing(self) -> bool:
        return self._closing

    @property
    def outside(self) -> bool:
        """True while it looks for a group that it has lost (prc_spray)."""
        return not self._member.is_set()

    def status(self) -> dict[str, Any]:
        """How this node is, as plain data: `aforesaid top --json` prints it."""
        return status_of(self, self._running)

    def waits(self) -> list[dict[str, Any]]:
        """What waits longest: for each peer its oldest message that is under way, and why it waits."""
        host = self._running
        return explained(host, waits_of(host))

    def gauges(self) -> dict[str, int]:
        """How much is held, by kind: of the protocol and of the queues around it."""
        suspects = self.suspects
        return {
            **self._running.machine.gauges(),
            "suspects": len(suspects),
            "owed_to_suspects": sum(each.owed for each in suspects.values()),
            **self.queues(),
        }

    def queues(self) -> dict[str, int]:
        """How much is held around the protocol."""
        host = self._running
        return {
            "under_way": host.flight.held,
            "inbox_messages": self._inbox.messages,
            "inbox_bytes": self._inbox.bytes,
            "link_bytes": host.carrier.buffered(),
        }

    @property
    def refused(self) -> dict[str, int]:
        """How many packets were not let in, by reason."""
        return dict(self._running.refused + self._inbox.refused)

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

    def _acknowledge(self, message: Message[Any]) -> None:
        """The application has done with a message."""
        self._inbox.done(message)
        if self._host is not None:
            self._host.taken()

    def _acknowledge_all(self, batch: list[Message[P]]) -> None:
        for message in batch if self._inbox.asks else ():
            message.ack()
        self._running.taken()

    def _acknowledge_durably(self, message: Message[Any]) -> None:
        self._acknowledge(message)
        if isinstance(self._host, SurvivingHost | KeepingHost) and message.offset is not None:
            self._host.acknowledge(message.offset)

    def _is_next(self, offset: int) -> bool:
        """Whether the application has acknowledged all that came before this delivery."""
        return isinstance(self._host, SurvivingHost | KeepingHost) and self._host.cursor == offset - 1

    def _stored(self) -> int | None:
        return None if self._transactions is None else self._transactions.stored()

    @property
    def _says_goodbye(self) -> bool:
        return self._leaving or not self._survives

    async def _forced(self) -> None:
        if isinstance(self._host, SurvivingHost):
            await self._host.forced()

    def _refuse(self, audience: tuple[Process, ...]) -> Any:
        self._running.groups.check()
        if not self._addressed:
            raise Misuse(
                f"{self.config.algorithm} broadcasts; to address messages use hybrid_multicast_in_order"
            )
        strangers = ", ".join(str(name) for name in audience if name not in self._members)
        raise Misuse(f"{strangers} is not in the group: {', '.join(self._group)}")

    def _checked(self, payload: bytes) -> bytes:
        if type(payload) is not bytes:
            payload = bytes_of(payload)
        if len(payload) > self._payload_bytes_max:
            raise Misuse(f"a payload of {len(payload)} bytes; payload_bytes_max is {self._payload_bytes_max}")
        return payload

    def _say_now(self, audience: tuple[Process, ...], payload: bytes) -> Receipt | None:
        """Say it if there is room and it is not the loop's turn: most messages go this way."""
        if type(payload) is not bytes or len(payload) > self._payload_bytes_max:
            payload = self._checked(payload)
        self._turn += 1 + len(payload) // TURN_BYTES
        if self._turn >= TURN_MESSAGES or self._closing or self._host is None:
            self._turn = 0
            return None
        return self._host.join_run(audience, payload) or self._host.say_now(audience, (payload,))

    async def _say_many(self, audience: tuple[Process, ...], payloads: Iterable[P]) -> Receipt:
        data: Iterable[Any] = payloads if self._letters is None else map(self._letters.sealed, payloads)
        said: list[bytes] = list(data)
        if set(map(type, said)) != {bytes} or max(map(len, said)) > self._payload_bytes_max:
            said = [self._checked(payload) for payload in said]
        receipt = await say_many(said, partial(self._say_some, audience))
        if self._survives:
            await self._forced()
        return receipt

    async def _say_some(
        self, audience: tuple[Process, ...], payloads: Sequence[bytes]
    ) -> tuple[int, Receipt]:
        """As many as there is room for; one, once there is room for it, if there is none."""
        some = payloads[: 0 if self._closing else self._running.room]
        receipt = self._running.say_now(audience, some) if some else None
        if receipt is None:
            some = payloads[:1]
            receipt = await self._say(audience, some)
        self.said += len(some)
        return len(some), receipt

    async def _say(self, audience: tuple[Process, ...], payloads: Sequence[bytes]) -> Receipt:
        while True:
            if self._closing:
                self._running.check()  # It may have ended for a reason.
                raise Closed(f"{self.config.name} is closed")
            await asyncio.sleep(0)
            host = self._running
            try:
                return host.say_now(audience, payloads) or await host.say(audience, payloads)
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
            away = f"{self.config.name} has been outside its group for {2 * self.config.outside_s:g} s"
            raise Isolated(f"{away}; nobody lets it in at {', '.join(map(str, self._known()))}") from None

    def _contacts(self) -> list[Address]:
        return [Address.parse(text) for text in self.config.contacts]

    def _known(self) -> list[Address]:
        """Where members of its group may be, the likeliest first."""
        return list(dict.fromkeys(self._book.best(self.config.name) + self._contacts() + self._remembered))

    async def _enter_group(self) -> None:
        """Found a group, or join one; who was a member before has lost it, and looks for it."""
        if self._survives:
            await self._come_back()
            return
        if self.config.keeps and self.config.directory is not None:
            self._claim = Claim(self.config.directory)
            self._keeper.stored = self._stored()
        self._remembered = Members(self.config.directory).read() if self.config.entry.linked else []
        try:
            if self._remembered:
                await self._rejoin(0, None)
            else:
                await self._start(self._next_incarnation(), self._contacts(), newcomer=True)
        except BaseException:
            self._keeper.close()
            if self._claim is not None:
                self._claim.release()
            raise

    def _next_incarnation(self, last: int = 0) -> int:
        return next_incarnation(self.config.directory, last, claimed=self._claim is not None)

    async def _come_back(self) -> None:
        """Begin, or go on where the last start was killed."""
        config = self.config
        self._claim = Claim(str(config.directory))
        try:
            host = SurvivingHost(config, self._inbox, self._carrier, journal_of(config))
            self._recall(host)
            stored = self._stored()
            await self._run(host, (), newcomer=False, prepare=lambda: host.resume(self._resume_from, stored))
        except BaseException:
            self._claim.release()
            raise

    def _carrier(self, above: Host) -> Carrier:
        return carrier_of(self.config, above.incarnation, above.start, above, self._book)

    async def _start(self, incarnation: int, contacts: Sequence[Address], newcomer: bool = False) -> None:
        """Begin an incarnation; it founds a group, or joins one through the first member that is there."""
        config = self.config
        host = self._keeper.host(config, incarnation, self._inbox, self._carrier)

        def prepare() -> None:
            if config.directory is not None and config.trace:
                host.recorder = segments_of(config, incarnation, host.wall(), joined=bool(contacts))

        await self._run(host, contacts, newcomer, prepare)

    async def _run(
        self, host: Host, contacts: Sequence[Address], newcomer: bool, prepare: Callable[[], None]
    ) -> None:
        try:
            prepare()
            # From here on others may speak to us, and what they say must find the trace open.
            await host.carrier.start()
            contact = await host.carrier.call(*contacts, newcomer=newcomer) if contacts else None
            host.begin(contact)
            # Who has a long past to hear first is not waited for: its application is to take it meanwhile.
            if not isinstance(host, KeepingHost):
                await welcomed(host, contact)
        except BaseException as error:
            await self._end(host, "isolated", drained=False, error=Isolated(str(error)))
            raise
        self._host = host
        host.groups.on_change = self._regroup
        host.groups.locate({self.config.name: self.config.advertise or str(host.carrier.address)})
        self._regroup()
        self._member.set()
        address, start = str(host.carrier.address), host.start >> START_COUNT_BIT
        tell(self.config.name, "started", incarnation=host.incarnation, start=start, address=address)

    async def _take_questions(self) -> None:
        if self.config.directory is not None:
            control = Control(self, self.config.directory, self._claim)
            await control.start()
            self._control = control
        if self.config.metrics is not None:
            metrics = MetricsPort(lambda: text_of(self.status()))
            await metrics.open(Address.parse(self.config.metrics))
            self._metrics = metrics

    async def _beat(self) -> None:
        """One timer for all peers."""
        members = Members(self.config.directory)
        while True:
            await asyncio.sleep(self.config.heartbeat_s)
            host = self._running
            if host.error is not None and not isinstance(host.error, Isolated):
                return  # Who has failed is not to be taken for alive.
            self._watch.beat(host)
            host.taken()  # Who waits for room may have some, now that a peer is known to be away.
            if host.entry.linked:
                members.keep(host.carrier.members())

    async def _begin_again(self) -> None:
        """An incarnation that has lost its group ends; the next one joins again, through whoever is there."""
        while True:
            host = self._running
            await host.isolation.wait()
            if host.is_member() and is_the_whole_group(host.carrier.members() + self._contacts()):
                host.isolation.clear()
                continue
            tell(self.config.name, "rejoining", level="warning", elsewhere=str(host.elsewhere or ""))
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
            last = self._next_incarnation(last)
            try:
                await self._start(last, rejoining.places(self._known()))
                return
            except Unreached as error:
                tell(self.config.name, "cannot rejoin", level="warning", error=str(error))
                if rejoining.unreached(error.search, despairs=clock() > despair):
                    continue
            except Misuse as error:
                tell(self.config.name, "cannot rejoin", level="warning", error=str(error))
                rejoining.not_let_in()
            await asyncio.sleep(self.config.heartbeat_s)

    async def _stop(self, in_time: bool) -> None:
        if self._control is not None:
            await self._control.close()
        if self._metrics is not None:
            await self._metrics.close()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        host = self._running
        drained = in_time and (host.error is None or host.groups.has_taken_leave) and not host.busy
        self._inbox.close()
        self._member.set()  # Whoever waits for the next incarnation hears that there is none.
        try:
            if host.error is None and self._says_goodbye:
                if isinstance(host, SurvivingHost):
                    host.leave_for_good()
                host.leave()
                host.carrier.bye()
        finally:
            try:
                await self._end(host, "closed", drained, Closed(f"{self.config.name} is closed"))
            finally:
                self._keeper.close()
                if self._transactions is not None:
                    self._transactions.close()
                if self._control is not None:
                    self._control.release()

    async def _end(self, host: Host, how: str, drained: bool, error: Exception) -> None:
        await host.finish()
        if self._says_goodbye:
            host.record("e", host.wall(), how, drained)
        host.end(error)
        recorder, host.recorder = host.recorder, None
        try:
            if recorder is not None:
                recorder.close()
        finally:
            await to_the_end(host.carrier.close())
