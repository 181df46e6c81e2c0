"""The host of a node that survives: killed, or without power, it comes back as itself.

All that its protocol is told goes into a journal, and all that comes of it waits until that is forced to the
disk: frames, deliveries, what the trace says, and the return of `send` and `broadcast`. A thread forces one
batch while the next one gathers. A snapshot is taken in the loop, when all that came before it has left.

What the host knows and the protocol does not is noted in the journal: which incarnation this is, who was met,
who is gone, and how far the trace was at the last snapshot. The events since then come again after a restart;
those that the trace has are not written again.
"""

import asyncio
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import takewhile
from typing import Any

from aforesaid.core import SECOND, Admitting, MessageId, Misuse, Nanoseconds, Payload, Process, Speaker
from aforesaid.ground import ground
from aforesaid.journal import WINDOWS, Durable, Frames, Journal
from aforesaid.node.building import frames_of, machine_of, segments_of, segments_place
from aforesaid.node.carrying.carrier import Carrier
from aforesaid.node.config import Config
from aforesaid.node.flight import Window
from aforesaid.node.host import Host
from aforesaid.node.inbox import Inbox
from aforesaid.node.operating.incarnations import next_incarnation
from aforesaid.node.operating.logs import tell
from aforesaid.node.recording.resuming import START, recorded_since
from aforesaid.node.retention import Retention
from aforesaid.protocols.membership.epochs import START_COUNT_BIT

INCARNATION, GROUP, OPTIONS, TRACE, LEFT = "incarnation", "group", "options", "trace", "left"
"""What is noted, besides (MET, peer) and (GONE, peer)."""
MET, GONE = "met", "gone"


class SurvivingHost(Host):
    """Stands on a journal."""

    def __init__(
        self, config: Config, inbox: Inbox, carrier: "Callable[[Host], Carrier]", journal: Journal
    ) -> None:
        self._journal = journal
        self._held_up_at = config.queues.in_messages
        self._again: Counter[str] = Counter()
        """By letter, how many of the events that come again are in the trace already."""
        self._forced = asyncio.Event()
        """Set when the batch that gathers now has been forced, or never will be."""
        self._commit: asyncio.Future[None] | None = None
        """That of the batch that is on its way to the disk."""
        self._commit_began: Nanoseconds = 0
        """When it left."""
        self._alarm: asyncio.TimerHandle | None = None
        self._begun = self._finishing = False
        self._thread = ThreadPoolExecutor(1, thread_name_prefix=f"journal of {config.name}")
        super().__init__(config, 0, inbox, carrier)
        self._remember()
        if config.retention_bytes and isinstance(self.flight, Window):
            self.flight.retention = Retention(config, self._away, self.now)

    # --------------------------------------------------------------------------------- for the node

    @property
    def cursor(self) -> int:
        """Up to here the application has acknowledged all."""
        return self.durable.cursor

    def resume(self, offset: int | None, stored: int | None = None) -> None:
        """Hand on what the application lacks, before anything else happens. `stored`: up to where it has all
        by its last transaction; what it acknowledged otherwise may be more."""
        if offset is None and stored is not None:
            offset = max(stored, self.cursor)
        if self.durable.said is not None:
            self.flight.resume(self.durable.said, self.now())
        if self.config.trace:
            self._open_trace()
        self.durable.resume(offset)
        self._again.clear()
        # Who is met from here on is to know of this start, and of the journal's first words.
        self._commit_now()

    def begin(self, contact: Process | None) -> None:
        """The carrier has started: what timers have had to say meanwhile may leave."""
        self._begun = True
        super().begin(contact)

    @property
    def busy(self) -> bool:
        return super().busy or self.durable.waiting > 0

    async def forced(self) -> None:
        """Returns when all that was said before is on the disk; cancelled meanwhile, it may be said."""
        # What is gathered is one record, in the batch that gathers now.
        last = self._journal.last + (self._runs is not None and bool(self._runs.payloads))
        await self._forced.wait()
        if self._journal.durable < last:
            self.check()

    def acknowledge(self, offset: int) -> None:
        """The application has this delivery."""
        if self.error is None:
            self.durable.acknowledge_one(offset)
            if self._alarm is None and self._commit is None:
                self._commit_if_due()

    def unacknowledged(self, offset: int) -> Iterator[int]:
        """Which deliveries up to this one the application has not acknowledged."""
        return takewhile(offset.__ge__, self.durable.unacknowledged)

    def lag(self) -> dict[str, float]:
        """How far the disk is behind: records that may be lost, effects that wait for it, and for how many
        seconds the batch that is on its way to the disk has been."""
        return {
            "records": self._journal.last - self._journal.durable,
            "effects": self.durable.waiting,
            "commit_s": 0.0 if self._commit is None else (self.now() - self._commit_began) / SECOND,
        }

    @property
    def waits_for(self) -> tuple[Process, ...]:
        """Who is away, and owed as much as retention holds: nothing more can be said before they are back."""
        retention = self.flight.retention if isinstance(self.flight, Window) else None
        return () if retention is None else retention.full_for

    def leave_for_good(self) -> None:
        """No later start of this node will come."""
        self.durable.note(LEFT, True)

    async def finish(self) -> None:
        """Force the last of it; the next start has nothing to be told again."""
        self._finishing = True
        while self._commit is not None:
            await asyncio.wait([self._commit])
        try:
            if self.error is None:
                self._commit_now()
                self._snapshot()
        except Exception as error:
            self.fail(error)
        finally:
            self._thread.shutdown()
            try:
                self._journal.close()
            except Misuse as error:
                tell(self.config.name, "cannot close the journal", level="error", error=str(error))

    def end(self, error: Exception) -> None:
        super().end(error)
        if self._alarm is not None:
            self._alarm.cancel()
        self._forced.set()

    # ---------------------------------------------------------------------------------- every turn

    def end_turn(self) -> None:
        if self.error is None:
            # Receipts tell what others have, which does not rest on this disk.
            self.flight.settle()
            self.groups.take_over()
            if self.groups.inside:
                self.inside.set()
            self.flush()

    def flush(self) -> None:
        """Nothing leaves yet: it waits for the disk."""
        self._flush_due = False
        if self.error is None:
            if self._runs is not None:
                self._runs.close()
            self._commit_if_due()

    def met(self, peer: Process, incarnation: int, start: int) -> None:
        self.durable.note((MET, peer), (incarnation, start))
        super().met(peer, incarnation, start)

    def record(self, *event: Any) -> None:
        if self.recorder is None:
            return
        if self._again[event[0]]:
            self._again[event[0]] -= 1
        else:
            self.recorder.add(event)

    # ------------------------------------------------------------------------------ for the journal

    def delivered(self, message_id: MessageId) -> None:
        self.record("d", *message_id, self.wall())

    def called(self, name: str, told: Sequence[Any], result: Any) -> None:
        if name == "peer_down":
            how, owed = self.durable.noted[GONE, told[0]]
            self.record("x", told[0], self.wall(), how, owed)
        else:
            audience = tuple(told[0]) if self.entry.addressed else None
            count = len(told[1]) if name == "send_run" else 1
            for number in range(result.number - count + 1, result.number + 1):
                self.record("s", number, self.wall(), audience)

    # ------------------------------------------------------------------------------------- the parts

    def _away(self) -> list[Process]:
        here = {*self.carrier.connected(), *self.gone}
        return [peer for peer in self.config.peers if peer not in here]

    def _machine(self) -> Speaker:
        config, fresh = self.config, self._journal.recovered.snapshot is None
        if fresh:
            self.incarnation = next_incarnation(config.directory, claimed=True)
        facts = {INCARNATION: self.incarnation, GROUP: config.group, OPTIONS: config.options}
        self.durable = Durable(
            self._journal,
            WINDOWS[config.durability],
            lambda: machine_of(config, self.incarnation),
            self,
            self._hand,
            ground().monotonic_ns(),
            self if config.trace else None,
            facts,
            self._frames,
        )
        noted = self.durable.noted
        if LEFT in noted:
            raise Misuse(
                f"directory: the node of {config.directory} has left its group for good and cannot come "
                "back; give another one another directory"
            )
        self._check_group(noted[GROUP])
        self.incarnation = noted[INCARNATION]
        chance = int.from_bytes(ground().urandom(START_COUNT_BIT // 8))
        self.start = self._journal.epoch << START_COUNT_BIT | chance
        return self.durable.speaker

    def _frames(self, noted: dict[Any, Any]) -> Frames:
        """The format of the frames in the journal: that of this configuration, or it is another node's."""
        config = self.config
        # Where groups change, the journal knows who the peers are.
        if config.entry.tells is None:
            self._same("peers", noted[GROUP], config.group)
        self._same("options", noted[OPTIONS], config.options)
        return frames_of(config)

    def _check_group(self, before: tuple[Process, ...]) -> None:
        """The configuration names the peers of the first start, or those there are now."""
        machine, group = self.durable.machine, self.config.group
        if self.config.entry.tells and isinstance(machine, Admitting) and set(group) != set(machine.roster()):
            self._same("peers", before, group)

    def _same(self, what: str, before: Any, now: Any) -> None:
        if before != now:
            place = self.config.directory
            raise Misuse(f"{what}: the journal in {place} is of a node with {before}, not with {now}")

    def _remember(self) -> None:
        """What earlier starts knew of the peers."""
        self.groups.take_over()
        for key, value in self.durable.noted.items():
            match key:
                case ("met", peer):
                    self.incarnations[peer] = value[0]
                    self.carrier.recall(peer, *value)
                case ("gone", peer):
                    self.gone[peer] = "left" if value[0] == "left" else "evicted"
                    self.carrier.forget(peer)

    def _open_trace(self) -> None:
        place = segments_place(self.config)
        last, self._again = recorded_since(
            place, self.config.name, self.incarnation, self.durable.noted.get(TRACE, START)
        )
        self.recorder = segments_of(self.config, self.incarnation, self.wall(), False, last + 1)
        for peer, incarnation in self.incarnations.items():
            self.recorder.add(("p", peer, incarnation))

    def _note_gone(self, peer: Process, how: str, owed: int) -> None:
        self.durable.note((GONE, peer), (how, owed))

    def _hand(self, offset: int, message_id: MessageId, payload: Payload) -> None:
        self.inbox.put(message_id, payload, offset=offset)

    def _commit_if_due(self) -> None:
        due_ns = self.durable.due_ns
        self.inbox.held_up = self.durable.waiting >= self._held_up_at
        if due_ns is None or self._commit is not None or not self._begun or self._finishing:
            return
        late = self.now() - due_ns
        if late >= 0:
            self._begin_commit()
        elif self._alarm is None:
            self._alarm = self._loop.call_later(-late / SECOND, self._wake)

    def _wake(self) -> None:
        self._alarm = None
        try:
            self.flush()
        except Exception as error:
            self.fail(error)

    def _begin_commit(self) -> None:
        if self._alarm is not None:
            self._alarm.cancel()
            self._alarm = None
        if self._runs is not None:
            self._runs.close()
        batch, count = self.durable.begin_commit()
        forced, self._forced = self._forced, asyncio.Event()
        self._commit_began = self.now()
        self._commit = self._loop.run_in_executor(self._thread, self._journal.force, batch)
        self._commit.add_done_callback(lambda commit: self._committed(commit, count, forced))

    def _committed(self, commit: "asyncio.Future[None]", count: int, forced: asyncio.Event) -> None:
        """A batch is on the disk: what rests on it leaves, to the application before anyone else."""
        self._commit = None
        try:
            commit.result()
            if self.error is None:
                self.durable.let_go(count)
                self.flight.settle()
                super().flush()
                if self._journal.snapshot_due and not self._finishing:
                    self._commit_now()
                    self._snapshot()
                self._commit_if_due()
                self.groups.take_over()
                self.taken()
        except Exception as error:
            self.fail(error)
        finally:
            forced.set()

    def _commit_now(self) -> None:
        """Without a thread, while none is at work."""
        if self._runs is not None:
            self._runs.close()
        batch, count = self.durable.begin_commit()
        self._journal.force(batch)
        self.durable.let_go(count)
        self.flight.settle()
        super().flush()

    def _record_said(self, place: int, last: MessageId, count: int, targets: tuple[Process, ...]) -> None:
        """When it is on the disk."""

    def _snapshot(self) -> None:
        """When all that came before has left."""
        if self.recorder is not None:
            self.durable.noted[TRACE] = self.recorder.mark()
        self.durable.snapshot()
