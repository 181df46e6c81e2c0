"""A fleet's deliveries in the project's trace format, so that the checker judges them.

Traced are the deliveries at the chosen processes of what these processes said: the run's projection on them.
With all processes it is the whole run.
"""

from collections import deque
from collections.abc import Callable

import numpy as np

from aforesaid.core import SECOND, MessageId, Misuse
from aforesaid.fleet.fleet import Outcome, Progress, simulate_fleet
from aforesaid.fleet.layout import FLOODED
from aforesaid.fleet.plan import Plan
from aforesaid.fleet.records import Records
from aforesaid.fleet.states import What
from aforesaid.fleet.vectors import VectorClocks, Vectors
from aforesaid.protocols.catalog import algorithm
from aforesaid.trace import Run, Sink, Tracer


def trace_fleet(plan: Plan, sink: Sink, run: str, progress: Progress | None = None) -> tuple[Outcome, Run]:
    """Run a plan and write the trace of its traced processes, with samples of what all hold and send."""
    scribe = _Scribe(plan, Tracer(sink))
    clocks = VectorClocks(plan) if plan.vectors or plan.preventive else None
    if clocks:
        outcome = simulate_fleet(clocks.plan, progress, _both(scribe, clocks))
    else:
        outcome = simulate_fleet(plan, progress, scribe.take)
    scribe.reach(plan.until)
    _sample(scribe.tracer, outcome, clocks.vectors() if clocks else None)
    entry = algorithm(plan.algorithm)
    row = scribe.tracer.close(
        Run(
            run=run,
            algorithm=entry.name,
            seed=plan.seed,
            scenario=plan.scenario,
            code_version=entry.code_version,
            ended="drained" if outcome.held == 0 else "cut",
            promises=entry.promised(plan.crashes > 0, outcome.connected),
        )
    )
    return outcome, row


def _both(scribe: "_Scribe", clocks: VectorClocks) -> Callable[[Records], None]:
    """Vectors hear of every process, the trace of those that it is to have."""
    traced = np.zeros(clocks.plan.processes, np.bool_)
    traced[list(scribe.traced)] = True

    def take(events: Records) -> None:
        clocks.take(events)
        scribe.take(events[traced[events["process"]]])

    return take


def _sample(tracer: Tracer, outcome: Outcome, vectors: Vectors | None) -> None:
    """By the names of the simulator's samples: sums over all processes. But means over the time since the
    sample before, where the simulator looks at one moment."""
    plan, series = outcome.plan, outcome.series
    ends = np.minimum((np.arange(len(series.inside)) + 1) * plan.bucket, plan.until)
    lengths = np.diff(ends, prepend=0)
    inside = series.inside * plan.bucket
    control = np.rint(np.cumsum(series.control_all * inside / SECOND))
    flooded = np.rint(np.cumsum(series.control["Flood"] * inside / SECOND))
    counted = vectors.entries if vectors and plan.preventive else np.zeros(len(ends))
    columns = {
        "entries": series.space * inside / lengths + counted,
        "expected": series.expected * inside / lengths,
        "buffered": series.buffered * inside / lengths,
        "links": series.links * inside / lengths,
        "inside": inside / lengths,
        "control_sent": control,
        "flooded_sent": flooded,
        **({"vector_entries": vectors.entries} if vectors and plan.vectors else {}),
    }
    for counter in ("control_sent", "flooded_sent"):
        tracer.sample(0, counter, 0)
    for i, time in enumerate(ends.tolist()):
        for metric, values in columns.items():
            tracer.sample(time, metric, float(values[i]))


class _Scribe:
    """Tells the tracer what the kernel tells."""

    def __init__(self, plan: Plan, tracer: Tracer) -> None:
        self.tracer = tracer
        self.traced = set(range(plan.processes) if plan.traced is None else plan.traced)
        steps = plan.steps(What.ENTER, What.CRASH)
        steps = steps[(steps["at"] < plan.until) & np.isin(steps["who"], list(self.traced))]
        self.comings = deque(steps.tolist())
        self.whole = len(self.traced) == plan.processes
        self._validate(plan)
        self.origins = plan.steps(What.SAY)["who"].tolist()
        self.index: dict[int, int] = {}
        """Of those that are up, and traced still."""
        self.incarnation: dict[int, int] = {}
        self.ids: dict[int, MessageId] = {}
        self.said: dict[int, int] = {}

    def _validate(self, plan: Plan) -> None:
        """What a newcomer is owed is its contact's word: unless all are traced, nobody may come late."""
        said = plan.steps(What.SAY)["at"][:1]
        late = [who for at, what, who, _ in self.comings if what == What.ENTER and said.size and at > said[0]]
        if late and not self.whole:
            raise Misuse(f"p{late[0]} enters after the first broadcast: trace all processes, or not this one")

    def take(self, events: Records) -> None:
        for time, process, what in events.tolist():
            self.reach(time)
            if what == -1 - process:
                self.begin_again(process, time)
            elif process not in self.index or what >= FLOODED:
                continue
            elif what < 0:
                if self.whole:
                    self.tracer.admitted(self.index[process], self.index[-1 - what])
            elif self.origins[what] == process and what not in self.ids:
                self.said[process] += 1
                self.ids[what] = MessageId(f"p{process}", self.incarnation[process], self.said[process])
                self.tracer.sent(self.index[process], self.ids[what], time)
                self.tracer.delivered(self.index[process], self.ids[what], time)
            elif what in self.ids:
                self.tracer.delivered(self.index[process], self.ids[what], time)

    def reach(self, time: int) -> None:
        """Processes begin and end before what comes after."""
        while self.comings and self.comings[0][0] <= time:
            when, what, who, whom = self.comings.popleft()
            if what == What.ENTER:
                self.begin(who, 0, when, joining=self.whole and whom >= 0)
            elif who in self.index:
                self.tracer.ended(self.index.pop(who), "crashed", when)

    def begin(self, process: int, incarnation: int, time: int, joining: bool) -> None:
        self.incarnation[process], self.said[process] = incarnation, 0
        self.index[process] = self.tracer.began(f"p{process}", incarnation, time, joining)

    def begin_again(self, process: int, time: int) -> None:
        """A process was isolated. Its next incarnation comes late (see above): traced, if all are."""
        if process in self.index:
            self.tracer.ended(self.index.pop(process), "evicted", time)
            if self.whole:
                self.begin(process, self.incarnation[process] + 1, time, joining=True)
