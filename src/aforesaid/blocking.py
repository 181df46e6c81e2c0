"""Nodes for scripts and threads, without `async`: calls return when they are done, or raise `TimeoutError`.

    with Node(config) as node:
        node.send(["bob"], b"hello")
        print(node.receive(timeout_s=5.0).payload)

The node lives in an event loop in a thread of its own; every call is handed to that loop and waited for, so
calls may come from any thread. Nobody polls. Time-outs run in the loop: a `receive` that ends with one has
taken nothing, and a `send` that does has said nothing. Ctrl-C while a call waits does the same to it.
"""

import asyncio
import threading
from collections import deque
from collections.abc import Callable, Coroutine, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from pathlib import Path
from types import TracebackType
from typing import Any, Generic, Self, TypeVar, overload

from aforesaid import node as of_loop
from aforesaid.core import MessageId, Misuse, Process
from aforesaid.node import Closed, Codec, Config
from aforesaid.node.payloads import P
from aforesaid.transport import Address

Result = TypeVar("Result")

BEGIN = "with Node(config) as node"


class Node(Generic[P]):
    """As `aforesaid.Node`; every call may have a `timeout_s`, None is for as long as it takes."""

    @overload
    def __init__(
        self,
        config: Config,
        resume_from: int | None = None,
        *,
        payload: type[P] | Codec[P] | None = None,
    ) -> None: ...
    @overload
    def __init__(
        self: "Node[Any]", config: Config, resume_from: int | None = None, *, payload: object
    ) -> None: ...
    def __init__(self, config: Config, resume_from: int | None = None, *, payload: Any = None) -> None:
        self._node: of_loop.Node[P] = of_loop.Node(config, resume_from, payload=payload)
        self._loop = LoopThread(config.name)
        self._handed_back: deque[of_loop.Message[P]] = deque()
        """Taken by a call that was interrupted before it could return it."""

    def __enter__(self) -> Self:
        self._loop.start()
        try:
            self._loop.call(self._node.__aenter__)
        except BaseException:
            self._loop.stop()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            self._loop.call(lambda: self._node.__aexit__(kind, error, trace))
        finally:
            self._loop.stop()

    def __repr__(self) -> str:
        return repr(self._node)

    # ------------------------------------------------------------------------------------------ messages

    def send(self, targets: Iterable[Process], payload: P, timeout_s: float | None = None) -> "Receipt":
        return self._receipt(lambda: self._node.send(targets, payload), timeout_s)

    def broadcast(self, payload: P, timeout_s: float | None = None) -> "Receipt":
        return self._receipt(lambda: self._node.broadcast(payload), timeout_s)

    def receive(self, timeout_s: float | None = None) -> "Message[P]":
        """The next message; `Closed` if there will be none."""
        message = self._next(timeout_s)
        if message is None:
            raise Closed(f"{self.name} is closed")
        return message

    def __iter__(self) -> "Iterator[Message[P]]":
        while (message := self._next(None)) is not None:
            yield message

    def request(self, peer: Process, payload: P, *, timeout_s: float) -> P:
        return self._loop.call(lambda: self._node.request(peer, payload, timeout_s=timeout_s))

    def publish(self, topic: str, payload: P, timeout_s: float | None = None) -> "Receipt":
        return self._receipt(lambda: self._node.publish(topic, payload), timeout_s)

    def subscribe(self, *topics: str, timeout_s: float | None = None) -> "Receipt":
        return self._receipt(lambda: self._node.subscribe(*topics), timeout_s)

    def unsubscribe(self, *topics: str, timeout_s: float | None = None) -> "Receipt":
        return self._receipt(lambda: self._node.unsubscribe(*topics), timeout_s)

    def drain(self, timeout_s: float | None = None) -> None:
        self._loop.call(lambda: self._node.drain(), timeout_s)

    # ----------------------------------------------------------------------------------------- questions

    @property
    def name(self) -> Process:
        return self._node.name

    @property
    def address(self) -> Address:
        return self.ask(lambda node: node.address)

    @property
    def peers(self) -> dict[Process, str]:
        return self.ask(lambda node: node.peers)

    def introduce(self, peers: Mapping[Process, str]) -> None:
        self.ask(lambda node: node.introduce(peers))

    def evict(self, peer: Process) -> None:
        self.ask(lambda node: node.evict(peer))

    def status(self) -> dict[str, Any]:
        return self.ask(lambda node: node.status())

    def ask(self, question: "Callable[[of_loop.Node[P]], Result]") -> Result:
        """Anything else that a node can be asked, in its loop: `node.ask(lambda node: node.explain(id))`."""

        async def answer() -> Result:
            return question(self._node)

        return self._loop.call(answer)

    # ----------------------------------------------------------------------------------------- the parts

    @classmethod
    def _facing(cls, loop: "LoopThread", node: "of_loop.Node[P]") -> Self:
        """Of a node that runs in this loop, and is closed by others."""
        self: Any = cls(node.config)
        self._loop, self._node = loop, node
        return self  # type: ignore[no-any-return]

    def _receipt(
        self, say: Callable[[], Coroutine[Any, Any, of_loop.Receipt]], timeout_s: float | None
    ) -> "Receipt":
        return Receipt(self._loop, self._loop.call(say, timeout_s))

    def _next(self, timeout_s: float | None) -> "Message[P] | None":
        node = self._node

        async def take() -> of_loop.Message[P] | None:
            return self._handed_back.popleft() if self._handed_back else await anext(node, None)

        message = self._loop.call(take, timeout_s, self._handed_back.append)
        return None if message is None else Message(self._loop, message)


class Message(Generic[P]):
    """As `aforesaid.Message`."""

    def __init__(self, loop: "LoopThread", message: "of_loop.Message[P]") -> None:
        self._loop = loop
        self._message = message
        self.id: MessageId = message.id
        self.origin: Process = message.origin
        self.payload: P = message.payload
        self.offset = message.offset
        self.topic = message.topic
        self.asks = message.asks

    def ack(self) -> None:
        async def acknowledge() -> None:
            self._message.ack()

        self._loop.call(acknowledge)

    def reply(self, payload: P, timeout_s: float | None = None) -> "Receipt":
        return Receipt(self._loop, self._loop.call(lambda: self._message.reply(payload), timeout_s))

    def __repr__(self) -> str:
        return repr(self._message)


class Receipt:
    """As `aforesaid.Receipt`."""

    def __init__(self, loop: "LoopThread", receipt: of_loop.Receipt) -> None:
        self._loop = loop
        self._receipt = receipt
        self.id = receipt.id

    def delivered(self, timeout_s: float | None = None) -> frozenset[Process]:
        return self._loop.call(self._receipt.delivered, timeout_s)

    def stable(self, timeout_s: float | None = None) -> frozenset[Process]:
        return self._loop.call(self._receipt.stable, timeout_s)

    def __repr__(self) -> str:
        return repr(self._receipt)


class Cluster(Sequence[Node[P]], Generic[P]):
    """As `aforesaid.Cluster`: some nodes in this process, all in one thread beside the caller's."""

    @overload
    def __init__(
        self,
        names: int | Iterable[Process],
        *,
        payload: type[P] | Codec[P] | None = None,
        directory: str | Path | None = None,
        **settings: Any,
    ) -> None: ...
    @overload
    def __init__(
        self: "Cluster[Any]",
        names: int | Iterable[Process],
        *,
        payload: object,
        directory: str | Path | None = None,
        **settings: Any,
    ) -> None: ...
    def __init__(
        self,
        names: int | Iterable[Process],
        *,
        payload: Any = None,
        directory: str | Path | None = None,
        **settings: Any,
    ) -> None:
        self._cluster: of_loop.Cluster[P] = of_loop.Cluster(
            names, payload=payload, directory=directory, **settings
        )
        self._loop = LoopThread("cluster")
        self._nodes: list[Node[P]] = []

    def __enter__(self) -> Self:
        self._loop.start()
        try:
            self._loop.call(self._cluster.__aenter__)
        except BaseException:
            self._loop.stop()
            raise
        self._nodes = [Node._facing(self._loop, node) for node in self._cluster]
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            self._loop.call(lambda: self._cluster.__aexit__(kind, error, trace))
        finally:
            self._loop.stop()

    def __getitem__(self, key: Any) -> Any:
        """By name, or by number."""
        if isinstance(key, str):
            key = list(self._cluster).index(self._cluster[key])
        return self._nodes[key]

    def __len__(self) -> int:
        return len(self._nodes)


class LoopThread:
    """An event loop in a thread, to which others hand work and wait for it."""

    def __init__(self, title: str) -> None:
        self._thread = threading.Thread(target=self._run, name=f"node {title}", daemon=True)
        self._started = threading.Event()
        self._handing = threading.Lock()
        """Nothing is handed to a loop that will not do it any more."""
        self._loop: asyncio.AbstractEventLoop | None = None
        self._stop: asyncio.Event | None = None

    def start(self) -> None:
        if self._started.is_set():
            raise Misuse("a Node is entered once; make another one")
        self._thread.start()
        self._started.wait()

    def stop(self) -> None:
        with self._handing:
            loop, self._loop = self._loop, None
        if loop is not None and self._stop is not None:
            loop.call_soon_threadsafe(self._stop.set)
            self._thread.join()

    def call(
        self,
        work: Callable[[], Coroutine[Any, Any, Result]],
        timeout_s: float | None = None,
        keep: Callable[[Any], None] | None = None,
    ) -> Result:
        """The result of this work. `keep` takes it if the caller is interrupted and it was done in spite of
        that."""
        if timeout_s is not None and not (isinstance(timeout_s, int | float) and timeout_s >= 0):
            raise Misuse(f"timeout_s: {timeout_s!r} is no time to wait for; seconds, as 5.0, or None")
        if threading.current_thread() is self._thread:
            raise Misuse("this is the thread of the node's loop, which cannot wait for itself")
        answer: Future[Result] = Future()
        with self._handing:
            if self._loop is None:
                begun = self._started.is_set()
                raise Closed("the node is closed" if begun else f"the node has not been started: {BEGIN}")
            self._loop.call_soon_threadsafe(self._begin, work, timeout_s, answer)
        try:
            return answer.result()
        except BaseException as error:
            # An error of the work itself, or Ctrl-C.
            if not answer.done() or error is not answer.exception():
                self._interrupt(answer, keep)
            raise

    def _begin(
        self,
        work: Callable[[], Coroutine[Any, Any, Result]],
        timeout_s: float | None,
        answer: "Future[Result]",
    ) -> None:
        task = asyncio.ensure_future(_within(timeout_s, work))
        answer.task = task  # type: ignore[attr-defined]  # For whoever has to cancel it.

        def done(task: "asyncio.Task[Result]") -> None:
            if task.cancelled():
                answer.set_exception(Closed("the node was closed meanwhile"))
            elif error := task.exception():
                answer.set_exception(error)
            else:
                answer.set_result(task.result())

        task.add_done_callback(done)

    def _interrupt(self, answer: "Future[Any]", keep: Callable[[Any], None] | None) -> None:
        with self._handing:
            if self._loop is not None:
                self._loop.call_soon_threadsafe(lambda: answer.task.cancel())  # type: ignore[attr-defined]
        if answer.exception() is None and keep is not None and answer.result() is not None:
            keep(answer.result())

    def _run(self) -> None:
        asyncio.run(self._live())

    async def _live(self) -> None:
        self._stop = asyncio.Event()
        self._loop = asyncio.get_running_loop()
        self._started.set()
        await self._stop.wait()
        # What was handed over before has begun; the end of the loop cancels it, and tells whoever waits.


async def _within(timeout_s: float | None, work: Callable[[], Coroutine[Any, Any, Result]]) -> Result:
    """In a time-out of the loop's; `TimeoutError` says that it was not done."""
    try:
        async with asyncio.timeout(timeout_s) as limit:
            return await work()
    except TimeoutError as error:
        if limit.expired():
            raise TimeoutError(f"not within {timeout_s:g} s") from error
        raise
