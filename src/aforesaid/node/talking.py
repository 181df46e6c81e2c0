"""What a node can do on top of `send`, `broadcast` and receiving: ask, answer, publish, subscribe.

It takes a payload type (`payloads.py`), and every member of the group has to have the same.
"""

import asyncio
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, Generic

from aforesaid.core import Misuse, Process
from aforesaid.node.config import Config
from aforesaid.node.endings import PeerGone
from aforesaid.node.inbox import Inbox
from aforesaid.node.letter_inbox import LetterInbox
from aforesaid.node.letters import Asked, Letters, Published, Sealed, Subscribed
from aforesaid.node.messages import Message, Receipt
from aforesaid.node.payloads import P, codec_of
from aforesaid.node.requests import Requests, check_deadline
from aforesaid.node.topics import Topics, check_topic

if TYPE_CHECKING:
    from aforesaid.node.host import Host
    from aforesaid.node.surviving import SurvivingHost

TOPICS = "topics"
"""What a journal calls (TOPICS, process): all that the process wants to hear."""


class Talking(Generic[P]):
    """Of this a `Node` is made, too."""

    config: Config
    _addressed: bool
    """Whether messages can be for some only."""
    _inbox: Inbox
    _letters: Letters[P] | None = None
    """None: payloads are plain bytes."""

    # ------------------------------------------------------------------------------ requests and answers

    async def request(self, peer: Process, payload: P, *, timeout_s: float) -> P:
        """Ask a peer, and return what it answers (`message.reply`), in its place in the order: when all that
        was delivered here before the answer has been taken. `NoAnswer` after so many seconds; `PeerGone` if
        the peer is evicted or leaves; `Closed`, or why else the node ended."""
        letters, inbox = self._talks("request")
        check_deadline(timeout_s)
        if not isinstance(peer, str):
            raise Misuse(f"request: one peer is asked, not {peer!r}; ask each of several")
        body = letters.codec.encode(payload)
        self._running.check()
        if (error := self._gone(peer)) is not None:
            raise error
        return await inbox.requests.ask(  # type: ignore[no-any-return]
            peer,
            timeout_s,
            lambda key: letters.say((peer,), Sealed(Asked(key, body))),
            lambda key: self._why_late(peer, inbox.before(key)),
        )

    # -------------------------------------------------------------------------------------------- topics

    async def publish(self, topic: str, payload: P) -> Receipt:
        """Say it to all who want to hear this topic, as far as this node knows; waits while too much is under
        way. This node hears it itself if it has subscribed."""
        letters, inbox = self._talks("publish")
        check_topic(topic)
        sealed: Any = Sealed(Published(topic, letters.codec.encode(payload)))
        if self._addressed:
            return await self.send(inbox.topics.audience(topic, self._running.gone), sealed)
        return await self.broadcast(sealed)

    async def subscribe(self, *topics: str) -> Receipt:
        """Hear these topics, too. Once the receipt says delivered, all that is published comes here."""
        return await self._change_topics(add=topics)

    async def unsubscribe(self, *topics: str) -> Receipt:
        """Hear them no more. What others publish before they know it still comes."""
        return await self._change_topics(drop=topics)

    @property
    def subscriptions(self) -> frozenset[str]:
        """The topics that this node wants to hear."""
        return self._talks("subscriptions")[1].topics.own

    def audience(self, topic: str) -> tuple[Process, ...]:
        """Who would hear what is published on a topic now, as far as this node knows."""
        if not self._addressed:
            raise Misuse(f"audience: {self.config.algorithm} broadcasts, and who wants it takes it")
        return self._talks("audience")[1].topics.audience(topic, self._running.gone)

    # -------------------------------------------------------------------------------------- of the shell

    @property
    def _running(self) -> "Host":
        raise NotImplementedError

    @property
    def peers(self) -> dict[Process, str]:
        raise NotImplementedError

    async def send(self, targets: Iterable[Process], payload: P) -> Receipt:
        raise NotImplementedError

    async def broadcast(self, payload: P) -> Receipt:
        raise NotImplementedError

    # ----------------------------------------------------------------------------------------- the parts

    def _inbox_for(self, payload: Any, acknowledge: Callable[[Message[Any]], None]) -> Inbox:
        """Of a node with this payload type; None: with plain bytes."""
        config, queues = self.config, self.config.queues
        bounds = queues.in_messages, queues.in_bytes
        if payload is None:
            by_taking = config.acks == "automatic" and not (config.survives or config.keeps)
            return Inbox(*bounds, None if by_taking else acknowledge, config.name)
        self._letters = Letters(codec_of(payload), self.send)
        topics = Topics(config.name, not self._addressed)
        requests = Requests(self._gone, config.heartbeat_s)
        return LetterInbox(*bounds, acknowledge, config.name, self._letters, topics, requests)

    def _recall(self, host: "SurvivingHost") -> None:
        """After a restart: what each process wants to hear was noted, and is from here on."""
        if not isinstance(self._inbox, LetterInbox):
            return
        durable, topics = host.durable, self._inbox.topics

        def note(peer: Process, wanted: frozenset[str]) -> None:
            if host.error is None and durable.noted.get((TOPICS, peer)) != wanted:
                durable.note((TOPICS, peer), wanted)

        for key, wanted in durable.noted.items():
            if isinstance(key, tuple) and key[0] == TOPICS:
                topics.wants(key[1], wanted)
        # Not in the middle of a commit; the letter itself comes again until this is on the disk.
        call_soon = asyncio.get_running_loop().call_soon
        topics.note = lambda peer, wanted: call_soon(note, peer, wanted)

    def _talks(self, what: str) -> tuple[Letters[P], LetterInbox]:
        if self._letters is None or not isinstance(self._inbox, LetterInbox):
            raise Misuse(
                f"{what}: this node says plain bytes; give every member of the group a payload type, as "
                "Node(config, payload=bytes)"
            )
        return self._letters, self._inbox

    def _gone(self, peer: Process) -> PeerGone | None:
        how = self._running.gone.get(peer)
        if how is None:
            return None
        return PeerGone(f"{peer} {'has left' if how == 'left' else 'was evicted'}, and will not answer")

    def _why_late(self, peer: Process, before: int | None) -> str:
        if before is None:
            return f"it is {self.peers.get(peer, 'this node itself')}"
        return f"its answer is here, behind {before} messages that nobody takes; take them in another task"

    async def _change_topics(self, add: tuple[str, ...] = (), drop: tuple[str, ...] = ()) -> Receipt:
        topics = self._talks("subscribe")[1].topics
        if not add and not drop:
            raise Misuse("subscribe: no topic is named")
        for topic in (*add, *drop):
            check_topic(topic)
        async with topics.changing:
            wanted = topics.changed(add, drop)
            sealed: Any = Sealed(Subscribed(sorted(wanted)))
            receipt = await self.broadcast(sealed)
            topics.wants(self.config.name, wanted)
        return receipt
