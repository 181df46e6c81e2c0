"""Nédelec, Molli and Mostéfaoui (2018b), algorithm 2 as it is printed, on algorithm 1, with its line numbers.

What it leaves open is filled in kindly: routes are given; a control message without a route or a safe first
hop is lost, and so is a Bβ for which nothing is prepared; no link is opened while it is being opened. Control
messages and copies share the FIFO links between two processes; a link has no name of its own.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from aforesaid.core import Effects, MessageId, Process


class Copy(NamedTuple):
    message_id: MessageId
    body: Any


class Send(NamedTuple):
    """send-α, send-β, send-π or send-ρ (from, to), on its way past the mediators that are left."""

    kind: str
    opener: Process
    other: Process
    route: tuple[Process, ...]
    path: tuple[Process, ...]


class Bbeta(NamedTuple):
    messages: tuple[tuple[MessageId, Any], ...]


class Closed(NamedTuple):
    """Not printed: how the other end learns that a link is closed."""


class PrintedPRC:
    """One process. `closing`: a closed link leaves the views, too, which lines 41 to 45 forget."""

    inside = True

    def __init__(self, me: Process, *, closing: bool = True, any_order: bool = False) -> None:
        self.me = me
        self.closing = closing
        self.any_order = any_order
        self.sent = 0
        self.out_view: dict[Process, None] = {}
        self.in_view: dict[Process, None] = {}
        self.expected: dict[Process, set[MessageId]] = {}
        self.buffers: dict[Process, list[tuple[MessageId, Any]]] = {}
        """B, line 1."""
        self.receiving: dict[Process, tuple[set[MessageId], set[MessageId], bool]] = {}
        """S, line 2."""
        self.opening: set[Process] = set()
        self.upcall: Callable[[Any, Effects], None] = lambda body, out: None
        """PRC-deliver (line 8) calls the application, which may broadcast in turn."""

    def broadcast(self, payload: Any, now: int, out: Effects) -> MessageId:
        self.sent += 1
        message_id = MessageId(self.me, 0, self.sent)
        self._receive_copy(message_id, payload, None, out)
        return message_id

    def receive(self, source: Process, frame: Any, now: int, out: Effects) -> None:
        match frame:
            case Copy(message_id, body):
                self._receive_copy(message_id, body, source, out)
            case Send(path=(following, *rest)):
                if following in self.out_view:
                    out.send((following,), frame._replace(path=tuple(rest)))
            case Send():
                {"α": self._alpha, "β": self._beta, "π": self._pi, "ρ": self._rho}[frame.kind](frame, out)
            case Bbeta(messages):
                self._b_beta(source, messages, out)
            case Closed():
                self._close_o(source)
                self._close_i(source)

    def _receive_copy(self, message_id: MessageId, body: Any, source: Process | None, out: Effects) -> None:
        """Algorithm 1, lines 7 to 17."""
        received = any(message_id in expected for expected in self.expected.values())
        if not received:
            for link in self.in_view:
                self.expected.setdefault(link, set()).add(message_id)
        if source is not None and source in self.expected:
            self.expected[source].discard(message_id)
        if not received:
            out.send(tuple(self.out_view), Copy(message_id, body))
            self._deliver(message_id, body, out)

    def _deliver(self, message_id: MessageId, body: Any, out: Effects) -> None:
        """Lines 6 to 13."""
        for buffer in self.buffers.values():
            buffer.append((message_id, body))
        for first, second, received_pi in self.receiving.values():
            (second if received_pi else first).add(message_id)
        out.deliver(message_id, body)
        self.upcall(body, out)

    def open(self, to: Process, route: Sequence[Process] | None, now: int, out: Effects) -> None:
        """Lines 15 to 17."""
        if to in self.opening:
            return
        self.opening.add(to)
        self.out_view.pop(to, None)
        self._send("α", self.me, to, tuple(route or ()), out)

    def _alpha(self, frame: Send, out: Effects) -> None:
        """Lines 23 to 25, and the opening at the receiver, lines 18 and 19."""
        self.in_view.pop(frame.opener, None)
        self.receiving[frame.opener] = (set(), set(), False)
        self._send("β", frame.opener, self.me, frame.route, out)

    def _beta(self, frame: Send, out: Effects) -> None:
        """Lines 20 to 22."""
        self.buffers[frame.other] = []
        self._send("π", self.me, frame.other, frame.route, out)

    def _pi(self, frame: Send, out: Effects) -> None:
        """Lines 30 to 33."""
        first, second, _ = self.receiving.get(frame.opener, (set(), set(), False))
        self.receiving[frame.opener] = (first, second, True)
        self._send("ρ", frame.opener, self.me, frame.route, out)

    def _rho(self, frame: Send, out: Effects) -> None:
        """Lines 26 to 29."""
        self.opening.discard(frame.other)
        out.send((frame.other,), Bbeta(tuple(self.buffers.pop(frame.other, ()))))
        self.out_view[frame.other] = None

    def _b_beta(self, source: Process, messages: tuple[tuple[MessageId, Any], ...], out: Effects) -> None:
        """Lines 34 to 40. Bβ is a union (line 10): a set, whose order may be any."""
        if source not in self.receiving:
            return
        first, second, _ = self.receiving.pop(source)
        for message_id, body in messages[::-1] if self.any_order else messages:
            if message_id not in first and message_id not in second:
                self._receive_copy(message_id, body, source, out)
        self.expected[source] = second - {message_id for message_id, _ in messages}
        self.in_view[source] = None

    def close(self, to: Process, now: int, out: Effects) -> None:
        """Close the links to and from a peer, which learns of it after all that was sent to it."""
        self._close_o(to)
        self._close_i(to)
        out.send((to,), Closed())

    def _close_o(self, to: Process) -> None:
        """Lines 41 and 42."""
        self.opening.discard(to)
        self.buffers.pop(to, None)
        if self.closing:
            self.out_view.pop(to, None)

    def _close_i(self, source: Process) -> None:
        """Lines 43 to 45."""
        self.receiving.pop(source, None)
        self.expected.pop(source, None)
        if self.closing:
            self.in_view.pop(source, None)

    def expire(self, timer: Any, now: int, out: Effects) -> None:
        """There is no timer."""

    def peer_up(self, peer: Process, now: int, out: Effects) -> None: ...

    def peer_down(self, peer: Process, now: int, out: Effects) -> None:
        """The peer crashed, or is held to have."""
        self.close(peer, now, out)

    def links(self) -> list[tuple[Process, Any]]:
        return [(peer, None) for peer in self.out_view]

    def settle(self, now: int, out: Effects) -> None: ...

    def begin(self, now: int, out: Effects) -> None: ...

    def link_down(self, lid: Any, now: int, out: Effects) -> None:
        """The paper's connections are not lost; nor does it say how a process joins or leaves."""

    def join(self, contact: Process, now: int, out: Effects) -> None: ...

    def leave(self, now: int, out: Effects) -> None: ...

    def gauges(self) -> Mapping[str, int]:
        expected = sum(len(link) for link in self.expected.values())
        buffered = sum(len(buffer) for buffer in self.buffers.values())
        noted = sum(len(first) + len(second) for first, second, _ in self.receiving.values())
        return {"expected": expected, "buffered": buffered + noted}

    def _send(
        self, kind: str, opener: Process, other: Process, route: tuple[Process, ...], out: Effects
    ) -> None:
        """Over safe links: the target itself if it is in the view, else past the mediators."""
        target = other if kind in "απ" else opener
        hops = route if kind in "απ" else route[::-1]
        way = (target,) if target in self.out_view else (*hops, target)
        if way[0] in self.out_view:
            out.send((way[0],), Send(kind, opener, other, route, way[1:]))
