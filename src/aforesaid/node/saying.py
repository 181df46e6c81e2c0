"""What the application says: at once where there is room, else in turn with all who wait for it."""

import asyncio
from collections.abc import Callable
from typing import Self

from aforesaid.core import Busy, Process
from aforesaid.node.carrying.carrier import Carrier
from aforesaid.node.config import Config
from aforesaid.node.flight import WindowFlight
from aforesaid.node.inbox import Inbox
from aforesaid.node.messages import Receipt
from aforesaid.node.operating.logs import tell
from aforesaid.node.runs import Runs
from aforesaid.node.several import Several
from aforesaid.node.turns import Turns

FLUSH_FRAMES = 256
"""A turn with so many frames is flushed at once."""

BUSY_S = 0.001
"""How long a sender waits when it is the protocol that has no room."""

DEAF_S = 5.0
"""Who has waited so long to say something while its own messages fill its inbox may wait for itself."""


class Saying(Turns):
    """Says messages, and keeps account of them."""

    def __init__(
        self, config: Config, incarnation: int, inbox: Inbox, carrier: Callable[[Self], Carrier]
    ) -> None:
        super().__init__(config, incarnation, inbox, carrier)
        self._name = config.name
        self._window = self.flight if isinstance(self.flight, WindowFlight) else None
        self.gone: dict[Process, str] = {}
        """Who is gone for good, and how: evicted, or left."""

    @property
    def room(self) -> int:
        """How many messages can be said at once; 0: who wants to say one waits for its turn."""
        if self._senders.waiting or self.error is not None or self._runs is None:
            return 0
        return max(0, min(self._room(), self._runs.room))

    def join_run(self, targets: tuple[Process, ...], payload: bytes) -> Receipt | None:
        """Say it if it may join the run that is being said, or begin one: most messages go this way. Else
        None."""
        runs, window = self._runs, self._window
        if runs is None or window is None:
            return None
        if runs.bound:
            self._let_join(runs, window, targets)
        number = runs.join(targets, payload)
        if not number:
            runs.bind()
            return None
        size = len(payload)
        self._unflushed += size
        receipt = Receipt(self._name, self.incarnation, number, size, self.now(), 1, window)
        window.add(receipt)
        if not self._flush_due:
            self._flush_soon()
        return receipt

    def say_now(self, targets: tuple[Process, ...], said: Several) -> Receipt | None:
        """Say them if there is room for one at least; else None."""
        if self._senders.waiting or self._room() <= 0 or self.error is not None:
            return None
        try:
            return self._say(targets, said)
        except Busy:
            return None

    async def say(self, targets: tuple[Process, ...], said: Several) -> Receipt:
        """Say them once there is room; cancelled before that, nothing was said."""
        while True:
            late = self._loop.call_later(DEAF_S, self._warn_if_deaf)
            try:
                await self._senders.wait()
            finally:
                late.cancel()
            try:
                return self._say(targets, said)
            except Busy:
                await asyncio.sleep(BUSY_S)

    def _say(self, targets: tuple[Process, ...], said: Several) -> Receipt:
        if self.refusals.theirs:
            self.refusals.check(targets)
        size, count = said.size, len(said.payloads)
        if self._runs is not None:
            incarnation, number = self.incarnation, self._runs.add(targets, said)
        else:
            for payload in said.payloads:
                place = 0 if self.recorder is None else self.recorder.pending
                message_id = self._say_it(targets, payload, self.now(), self)
                self._record_said(place, message_id, 1, targets)
                _, incarnation, number = message_id
        self._unflushed += size
        receipt = Receipt(self._name, incarnation, number, size, self.now(), count)
        if self.gone or self.groups.leaving:
            receipt.lost = self.groups.leaving.union(self.gone) & frozenset(targets)
        if not self.flight.tells:
            receipt.untold = self.entry.name
        self.flight.said(receipt)
        if self._outbox.count >= FLUSH_FRAMES:
            self._flush_due = True
            self._flush_if_due()
        else:
            self._flush_soon()
        return receipt

    def _let_join(self, runs: Runs, window: WindowFlight, targets: tuple[Process, ...]) -> None:
        """How much more may be said in this run, or in one to these that begins, without all these questions.
        None of the answers changes before it is closed; but for those who bind it (`Runs.bind`)."""
        if self._senders.waiting or self.gone or self.groups.leaving or self.error is not None:
            return
        if not runs.payloads and not runs.begin(targets):
            return
        count, size = self._room(), window.bytes_left
        if runs.to_itself:
            count, size = self.inbox.left_for_own(len(runs.payloads), runs.size, count, size)
        if not self.refusals.theirs:
            runs.free(count, size)

    def _warn_if_deaf(self) -> None:
        if self.inbox.room_for_own <= 0:
            advice = "take messages in a task of its own"
            tell(
                self.config.name,
                "speaks and does not hear",
                level="warning",
                inbox=self.inbox.messages,
                advice=advice,
            )
