"""A fleet's deliveries in the project's trace format, so that the checker judges them.

Traced are the deliveries at the chosen processes of what these processes said: the run's projection on them.
With all processes it is the whole run.
"""

import json

from aforesaid import __version__
from aforesaid.core import MessageId, Misuse
from aforesaid.protocols.catalog import algorithm
from aforesaid.sim.fleet.fleet import FleetStopped, Outcome, Progress, simulate_fleet
from aforesaid.sim.fleet.layout import AT, CRASH, ENTER, SAY, WHAT, WHO, Int64s
from aforesaid.sim.fleet.plan import Plan
from aforesaid.trace import Run, Sink, Tracer


def trace_fleet(plan: Plan, sink: Sink, run: str, progress: Progress | None = None) -> tuple[Outcome, Run]:
    """Run a plan and write the trace of its traced processes."""
    scribe = _Scribe(plan, Tracer(sink))
    outcome = simulate_fleet(plan, progress, scribe.take)
    if outcome.evicted:
        raise FleetStopped("a process was isolated and began again: such runs cannot be traced")
    scribe.finish()
    entry = algorithm("prc_spray")
    row = scribe.tracer.close(
        Run(
            run=run,
            algorithm=entry.name,
            seed=plan.seed,
            scenario=json.dumps({"fleet": plan.meta}),
            code_version=__version__,
            ended="drained" if outcome.held == 0 else "cut",
            promises=entry.promised(plan.crashes > 0),
        )
    )
    return outcome, row


class _Scribe:
    """Tells the tracer what the kernel tells."""

    def __init__(self, plan: Plan, tracer: Tracer) -> None:
        self.tracer = tracer
        self.traced = set(range(plan.processes) if plan.traced is None else plan.traced)
        rows = plan.schedule[(plan.schedule[:, WHAT] == ENTER) | (plan.schedule[:, WHAT] == CRASH)]
        self.comings = [row for row in rows.tolist() if row[WHO] in self.traced]
        self.whole = len(self.traced) == plan.processes
        self._validate(plan)
        self.origins = plan.schedule[plan.schedule[:, WHAT] == SAY, WHO].tolist()
        self.index: dict[int, int] = {}
        self.ids: dict[int, MessageId] = {}
        self.said: dict[int, int] = {}

    def _validate(self, plan: Plan) -> None:
        """What a newcomer is owed is its contact's word: unless all are traced, nobody may come late."""
        said = plan.schedule[plan.schedule[:, WHAT] == SAY, AT]
        late = [row[WHO] for row in self.comings if row[WHAT] == ENTER and len(said) and row[AT] > said[0]]
        if late and not self.whole:
            raise Misuse(f"p{late[0]} enters after the first broadcast: trace all processes, or not this one")

    def take(self, events: Int64s) -> None:
        for time, process, what in events.tolist():
            self.reach(time)
            if what < 0:
                if self.whole:
                    self.tracer.admitted(self.index[process], self.index[-1 - what])
            elif self.origins[what] == process:
                number = self.said[process] = self.said.get(process, 0) + 1
                self.ids[what] = MessageId(f"p{process}", 0, number)
                self.tracer.sent(self.index[process], self.ids[what], time)
                self.tracer.delivered(self.index[process], self.ids[what], time)
            elif what in self.ids:
                self.tracer.delivered(self.index[process], self.ids[what], time)

    def reach(self, time: int) -> None:
        """Processes begin and end before what comes after."""
        while self.comings and self.comings[0][AT] <= time:
            when, what, who, whom = self.comings.pop(0)
            if what == ENTER:
                self.index[who] = self.tracer.began(f"p{who}", 0, when, joining=self.whole and whom >= 0)
            else:
                self.tracer.ended(self.index[who], "crashed", when)

    def finish(self) -> None:
        self.reach(1 << 62)
