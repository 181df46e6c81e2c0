"""The public face of a node: `async with Node(config) as node`."""

import asyncio
import sqlite3
from collections.abc import AsyncIterator, Callable, Iterable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from functools import partial
from typing import Any, NoReturn, overload

import msgspec

from aforesaid.core import Misuse, Process
from aforesaid.node.config import Config, Security
from aforesaid.node.endings import Closed, HistoryLost, Isolated
from aforesaid.node.history.keeper import Since
from aforesaid.node.history.keeping import KeepingHost
from aforesaid.node.many import BATCH_MAX, say_many
from aforesaid.node.messages import Message, Receipt, transaction_of
from aforesaid.node.operating.control import Control
from aforesaid.node.operating.logs import tell
from aforesaid.node.operating.metrics import text_of
from aforesaid.node.operating.metrics_port import MetricsPort
from aforesaid.node.payloads import Codec, P, bytes_of
from aforesaid.node.questions import Questions
from aforesaid.node.several import Several
from aforesaid.node.surviving import SurvivingHost
from aforesaid.node.transactions import Transactions
from aforesaid.transport import Address

TURN_MESSAGES, TURN_BYTES = 64, 1024
"""After so many messages said without waiting the rest of the loop has its turn; so many bytes are as one."""


class Node(Questions[P]):
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
        config = Config.of(msgspec.to_builtins(config))
        super().__init__(config, resume_from, history)
        if resume_from is not None and payload is not None:
            raise Misuse("resume_from: with a payload type answers have offsets, too; see docs/api.md")
        self._untaken: Message[P] | HistoryLost | None = None
        """The last one that was taken: who asks for the next one has done with it."""
        self._group = config.group
        self._members = frozenset(config.group)
        self._addressed = config.entry.addressed
        self._payload_bytes_max = config.payload_bytes_max
        acknowledge: Callable[[Message[Any]], None] = self._acknowledge
        if self._hands_on_again:
            acknowledge = self._acknowledge_durably
            if config.directory is not None:
                acknowledge = self._transactions = Transactions(
                    config.directory, acknowledge, self._unacknowledged
                )
        self._inbox = self._inbox_for(payload, acknowledge)
        self._turn = 0
        """What was said since the loop last had its turn."""

    # ------------------------------------------------------------------------------------------- messages

    async def send(self, targets: Iterable[Process], payload: P) -> Receipt:
        """Say it to these peers; waits while too much is under way."""
        try:
            audience = (targets,) if isinstance(targets, str) else tuple(targets)
            known = self._members.issuperset(audience)
        except TypeError:
            self._refuse((targets,))
        if not known or not self._addressed:
            self._refuse(audience)
        data: Any = payload if self._letters is None else self._letters.sealed(payload)
        receipt = self._say_now(audience, data) or await self._say(audience, Several.one(bytes_of(data)))
        self.said += 1
        if self._hands_on_again:
            await self._forced()
        return receipt

    async def broadcast(self, payload: P) -> Receipt:
        """Say it to everyone, this node included; waits while too much is under way."""
        group = self._group or self._refuse(())
        data: Any = payload if self._letters is None else self._letters.sealed(payload)
        receipt = self._say_now(group, data) or await self._say(group, Several.one(bytes_of(data)))
        self.said += 1
        if self._hands_on_again:
            await self._forced()
        return receipt

    async def send_many(self, targets: Iterable[Process], payloads: Iterable[P]) -> Receipt:
        """Say these, one after the other, to these peers; the receipt is of the last, and so of all."""
        try:
            audience = (targets,) if isinstance(targets, str) else tuple(targets)
            known = self._members.issuperset(audience)
        except TypeError:
            self._refuse((targets,))
        if not known or not self._addressed:
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
        while batch := await self._take_all():
            if automatic and not self._hands_on_again:
                self._acknowledge_all(batch)
            else:
                self._running.taken()
            yield batch
            if automatic and self._hands_on_again:
                for message in batch:
                    message.ack()

    async def _take_all(self) -> list[Message[P]]:
        if self._untaken is not None:
            self._untaken.ack()
            self._untaken = None
        try:
            return await self._inbox.take_all(BATCH_MAX)
        except HistoryLost as lost:
            self._untaken = lost
            raise

    def transaction(self, batch: Sequence[Message[P]]) -> AbstractAsyncContextManager[sqlite3.Connection]:
        """`async with node.transaction(batch) as db`: as `message.transaction()`, one for all of a batch."""
        return transaction_of(batch)

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
        else:
            self._running.taken()
        return message

    def on_snapshot(
        self, give: Callable[[], tuple[bytes, int]] | None = None, take: Callable[[bytes], None] | None = None
    ) -> None:
        """Before the node is entered: how the application gives its state, with the offset of the last
        message in it, to who lacks messages that are not kept any more, and how it takes another's."""
        self._keeper.on_snapshot(give, take)

    def __repr__(self) -> str:
        return f"<Node {self.config.name}>"

    # ------------------------------------------------------------------------------------------ the group

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

    # ------------------------------------------------------------------------------------------ the parts

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

    def _unacknowledged(self, offset: int) -> Iterable[int]:
        """Which of the deliveries up to this one the application has not acknowledged."""
        host = self._host
        return host.unacknowledged(offset) if isinstance(host, SurvivingHost | KeepingHost) else ()

    async def _forced(self) -> None:
        if isinstance(self._host, SurvivingHost | KeepingHost):
            await self._host.forced()

    def _refuse(self, audience: tuple[Any, ...]) -> NoReturn:
        self._running.groups.check()
        if not self._addressed:
            raise Misuse(
                f"{self.config.algorithm} broadcasts; to address messages use hybrid_multicast_in_order"
            )
        strangers = ", ".join(str(name) for name in audience if name not in self._group)
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
        return self._host.join_run(audience, payload) or self._host.say_now(audience, Several.one(payload))

    async def _say_many(self, audience: tuple[Process, ...], payloads: Iterable[P]) -> Receipt:
        if type(payloads) is not list and not isinstance(payloads, Iterable):
            raise Misuse(f"many payloads are a list of them, or the like, not {payloads!r:.50}")
        data: Iterable[Any] = payloads if self._letters is None else map(self._letters.sealed, payloads)
        said: list[bytes] = list(data)
        if list(map(type, said)).count(bytes) != len(said):
            said = list(map(self._checked, said))
        several = Several(said)
        if several.size > self._payload_bytes_max:  # One of them may be larger.
            for payload in said:
                self._checked(payload)
        receipt = await say_many(several, partial(self._say_some, audience))
        if self._hands_on_again:
            await self._forced()
        return receipt

    async def _say_some(self, audience: tuple[Process, ...], said: Several) -> Receipt:
        """As many as there is room for; one, once there is room for it, if there is none."""
        host, receipt = self._running, None
        if not self._closing and (room := host.room):
            receipt = host.say_now(audience, said if room >= len(said) else said.part(0, room))
        if receipt is None:
            receipt = await self._say(audience, said.part(0, 1))
        self.said += receipt.count
        return receipt

    async def _say(self, audience: tuple[Process, ...], said: Several) -> Receipt:
        while True:
            if self._closing:
                self._running.check()  # It may have ended for a reason.
                raise Closed(f"{self.config.name} is closed")
            await asyncio.sleep(0)
            host = self._running
            try:
                return host.say_now(audience, said) or await host.say(audience, said)
            except Isolated:
                if self._closing:
                    raise
                await self._inside_again()

    async def _take_questions(self) -> None:
        if self.config.directory is not None:
            control = Control(self, self.config.directory, self._claim)
            await control.start()
            self._control = control
        if self.config.metrics is not None:
            metrics = MetricsPort(lambda: text_of(self.status()))
            await metrics.open(Address.parse(self.config.metrics))
            self._metrics = metrics
