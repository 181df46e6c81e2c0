"""One world from beginning to end, by its plan, and what there is to complain of.

First they talk, and things go wrong. Then every fault is over, the killed are evicted by whoever is left, and
all must come to rest: everything owed arrives, nobody waits for ever, nothing is held any more. Then they
close in order, and nothing may be left open. The traces they wrote are judged by the checker.
"""

import asyncio
import hashlib
import logging
import tempfile
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from aforesaid.check import check
from aforesaid.core import Misuse
from aforesaid.node.operating.logs import logger
from aforesaid.node.recording.ingest import ingest
from aforesaid.trace import MemorySink, MemoryTrace
from aforesaid.world.cast import Cast
from aforesaid.world.fates import Fates
from aforesaid.world.loop import Stuck
from aforesaid.world.plan import Plan
from aforesaid.world.world import World, quiet_burial

REST_S = 240.0
"""So long after the last fault all must be at rest."""

POLL_S = 0.5
ROUND_POLLS = 40
"""In a changing group last words are said again every so many polls: who was outside missed them."""

COMPLAINTS_MAX = 20


@dataclass
class Outcome:
    """What came of a plan."""

    plan: Plan
    complaints: list[str] = field(default_factory=list)
    did: Counter[str] = field(default_factory=Counter)
    """What happened, how often: that a world was quiet is no proof of anything."""
    seconds: float = 0.0
    messages: int = 0
    deliveries: int = 0
    digest: str = ""
    """Of all trace segments."""


def run(plan: Plan) -> Outcome:
    """Play it."""
    with tempfile.TemporaryDirectory(prefix="aforesaid-world-") as scratch, quiet_burial():
        trial = Trial(plan, Path(scratch))
        with counting(trial.outcome.did):
            try:
                trial.world.run(trial.main())
            except Stuck as error:
                trial.complain(str(error))
        outcome = trial.judged()
        trial.world.bury()
        del trial
        return outcome


@contextmanager
def counting(did: Counter[str]) -> Iterator[None]:
    """What nodes tell meanwhile is counted, and not written anywhere."""
    counter, level, propagate = _Counting(did), logger.level, logger.propagate
    logger.addHandler(counter)
    logger.setLevel(logging.DEBUG)
    logger.propagate = False
    try:
        yield
    finally:
        logger.removeHandler(counter)
        logger.setLevel(level)
        logger.propagate = propagate


class _Counting(logging.Handler):
    def __init__(self, did: Counter[str]) -> None:
        super().__init__()
        self._did = did

    def emit(self, record: logging.LogRecord) -> None:
        self._did[f"told: {record.getMessage()}"] += 1


class Trial:
    """A world and its cast."""

    def __init__(self, plan: Plan, scratch: Path) -> None:
        self.plan = plan
        self.world = World(plan.seed)
        self.scratch = scratch
        self.outcome = Outcome(plan, did=self.world.network.did)
        self.cast = Cast(plan, self.world, scratch)

    def complain(self, what: str) -> None:
        self.outcome.complaints.append(what)

    async def main(self) -> None:
        plan, cast = self.plan, self.cast
        await cast.enter([name for name in plan.names if name not in plan.newcomers])
        fates = Fates(cast)
        faults = [asyncio.ensure_future(fates.suffer(fault)) for fault in plan.faults]
        await asyncio.sleep(plan.seconds)
        await asyncio.gather(*faults)
        cast.calm()
        await self._rest()
        await self._close()

    async def _rest(self) -> None:
        """Until nothing is owed to anyone."""
        deadline = self.world.now_s + REST_S
        polls = 0
        while True:
            if polls % ROUND_POLLS == 0:
                await self.cast.last_words()
            self.cast.tell_of_the_dead()
            polls += 1
            await asyncio.sleep(POLL_S)
            lacking = self.cast.lacking()
            if not lacking or self.world.now_s > deadline:
                break
        for what in lacking[:COMPLAINTS_MAX]:
            self.complain(f"{REST_S:g} s after the last fault {what}")

    async def _close(self) -> None:
        cast = self.cast
        for actor in cast.open_lives():
            if actor.node is not None:
                self.outcome.did.update({f"refused: {why}": n for why, n in actor.node.refused.items()})
            actor.leaves.set()
        deadline = self.world.now_s + REST_S
        while cast.open_lives() and self.world.now_s < deadline:
            await asyncio.sleep(POLL_S)
        for actor in cast.open_lives():
            self.complain(f"{actor.name} does not close")
        await asyncio.sleep(1.0)
        for actor in cast.actors:
            if actor.over and actor.machine.alive and actor.machine.open:
                self.complain(f"{actor.name} has closed, and has {len(actor.machine.open)} descriptors open")
            if actor.over and actor.machine.alive:
                left = [task for machine, task in self.world.loop.tasks if machine is actor.machine]
                for task in left:
                    if not task.done():
                        self.complain(f"{actor.name} has closed, and goes on with {task.get_coro()}")

    def judged(self) -> Outcome:
        outcome, world = self.outcome, self.world
        outcome.seconds = world.now_s
        outcome.complaints += self.cast.complaints()
        for context in world.loop.failures:
            error = context.get("exception")
            self.complain(f"nobody caught {error!r} ({context.get('message')})")
        self._judge_segments()
        outcome.deliveries = max(outcome.deliveries, self.cast.witness.deliveries)
        outcome.complaints = outcome.complaints[:COMPLAINTS_MAX]
        return outcome

    def _judge_segments(self) -> None:
        """By the checker, from the files that the nodes wrote."""
        digest, root = hashlib.sha256(), self.scratch / "disks"
        survives = self.plan.survives
        for name, disk in sorted(self.world.disks.items()):
            # Of who lost power the traces may lack what others know: they are no witness (docs/node.md). Who
            # survives writes again what they lack.
            torn = {_incarnation_of(path) for path in disk.torn}
            for path, file in sorted(disk.files.items()):
                digest.update(f"{name} {path} ".encode())
                digest.update(file.data)
                if path.parent.name == "segments" and (_incarnation_of(path) not in torn or survives):
                    to = root / name / path.name
                    to.parent.mkdir(parents=True, exist_ok=True)
                    to.write_bytes(file.data)
        self.outcome.digest = digest.hexdigest()[:16]
        if self.plan.group == "changing" and any(disk.torn for disk in self.world.disks.values()):
            # Who was let in when is in the log of whoever let it in: without that nothing can be said.
            self.outcome.did["traces not judged"] += 1
            return
        sink = MemorySink()
        try:
            ingest(root, sink, f"world-{self.plan.seed}")
        except Misuse as error:
            self.complain(f"nobody can read the traces: {error}")
            return
        trace = sink.trace
        self.outcome.messages = len(trace.messages)
        self.outcome.deliveries = len(trace.delivery_message)
        if self.plan.receipts:
            self._judge_story(trace)
        report = check(trace)
        for verdict in report.required_verdicts():
            if verdict.value == "violated":
                for witness in verdict.witnesses:
                    self.complain(f"{verdict.property} is violated: {witness.sentence}")

    def _judge_story(self, trace: MemoryTrace) -> None:
        """Of each delivery it is told how it came, and what was waited for ended no earlier than it began."""
        receipts, waits = trace.story.receipts, trace.story.waits
        told = set(zip(receipts.process.tolist(), receipts.position.tolist(), strict=True))
        if told != _said_and_delivered(trace):
            self.complain("receipts are not those of what was delivered")
        ended = waits.until_ns >= 0
        if (receipts.waited_ns < 0).any() or (waits.until_ns < waits.time_ns)[ended].any():
            self.complain("something waited for less than no time")
        self.outcome.did["wait in a trace"] += int((receipts.waited_ns > 0).sum()) + len(waits)


def _said_and_delivered(trace: MemoryTrace) -> set[tuple[int, int]]:
    """The deliveries, by process and position, of what others said."""
    return {
        (process, position)
        for process, log in trace.logs()
        for position, message in enumerate(log.message.tolist())
        if trace.messages.origin[message] != process
    }


def _incarnation_of(segment: Path) -> str:
    """By the name of a trace segment."""
    return segment.name.rpartition("-")[0]
