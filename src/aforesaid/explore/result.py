"""What an exploration comes to: a verdict, the figures, and for a violation the schedule that shows it."""

from dataclasses import dataclass, field
from typing import NamedTuple, TypeAlias

from aforesaid.check import Report, Violation
from aforesaid.core import Process
from aforesaid.explore.schedule import Schedule, Step
from aforesaid.explore.scope import Scope
from aforesaid.trace import MemoryTrace


class End(NamedTuple):
    """What has come of one process."""

    audiences: tuple[int, ...]
    """Whom each of its messages was for."""
    delivered: int
    stable: int
    """The sets of what it delivered and called stable."""
    log: tuple[int, ...]
    """The order of its deliveries, where orders are remembered."""
    gone: bool
    """Whether it crashed, or was isolated and so evicted."""
    links: tuple[Process, ...] = ()
    """Whom it has links to, where they open and close."""
    held: int = 0
    """How much it holds in memory, where links open and close: nothing should be left."""


Outcome: TypeAlias = tuple[End, ...]


@dataclass(frozen=True)
class Progress:
    """How far a search is."""

    states: int
    transitions: int
    depth: int
    """How many steps the schedules have that are being looked at."""
    waiting: int
    """How many states are known and not looked at yet."""
    seconds: float


@dataclass(frozen=True)
class Pruned:
    """What the reductions did, and what they cost."""

    dead_frames: int = 0
    """Distinct pairs of a local state and a frame taken away there."""
    postponed: int = 0
    """States in which some process that could have moved was postponed."""
    prompted: int = 0
    """States in which the receipt of one frame was the only move looked at."""
    restarts: int = 0
    """Searches begun anew because an audit found an assumption wrong, or to find the shortest schedule."""


@dataclass(frozen=True)
class Counterexample:
    """A schedule that breaks a promise; run again, it gives this trace, and the checker this report."""

    steps: tuple[Step, ...]
    report: Report
    trace: MemoryTrace
    failure: str = ""
    """How the protocol broke the contract of its port, if that is it: it raised, it misnamed a delivery, it
    has not emptied its memory at rest."""
    shortest: bool = True
    """Whether no shorter schedule breaks a promise. False only if the search for one was cut off."""

    @property
    def violations(self) -> tuple[Violation, ...]:
        """What the checker saw, of the properties promised."""
        verdicts = self.report.verdicts
        return tuple(w for name in self.report.required for w in verdicts[name].witnesses)

    @property
    def properties(self) -> tuple[str, ...]:
        """The names of the properties broken."""
        return tuple(n for n in self.report.required if self.report.verdicts[n].value == "violated")

    @property
    def sentences(self) -> tuple[str, ...]:
        """What is wrong, in sentences."""
        told = tuple(f"{violation.property}: {violation.sentence}" for violation in self.violations)
        return (*told, self.failure) if self.failure else told

    def __str__(self) -> str:
        lines = [f"{number:3}. {step}" for number, step in enumerate(self.steps, 1)]
        return "\n".join((*lines, *self.sentences))


@dataclass(frozen=True)
class Exploration:
    """The result of exploring an algorithm within a scope."""

    algorithm: str
    scope: Scope
    promises: tuple[str, ...]
    complete: bool
    """True if every schedule within the scope is covered, or a violation was found."""
    states: int
    transitions: int
    depth: int
    local_states: int
    """How many different states single processes were in."""
    ends: int
    """How many different outcomes, at possible ends, the checker judged."""
    cut: int
    """States in which, if what can be lost is lost, nothing but timers is due, and no firing is left: these
    are no ends, and liveness is open there."""
    seconds: float
    pruned: Pruned = Pruned()
    violation: Counterexample | None = None
    outcomes: frozenset[Outcome] = field(default=frozenset(), repr=False)
    interrupted: bool = False
    """True if the keyboard cut the search off."""
    lacking: tuple[str, ...] = ()
    """What the algorithm needs and the scope does not give; only if it was said what to require of it."""

    @property
    def verdict(self) -> str:
        """`violated`, `kept`, or `unknown` if the search was cut off or never saw an end."""
        if self.violation:
            return "violated"
        return "kept" if self.complete and self.ends else "unknown"

    @property
    def reason(self) -> str:
        """Why the verdict is unknown, and what would help; nothing if it is known."""
        if self.verdict != "unknown":
            return ""
        if self.interrupted:
            return f"the search was interrupted after {self.states:,} states"
        if not self.complete:
            return f"the search was cut off after {self.states:,} states; set --states-max higher"
        if self.cut:
            return f"liveness: {self._open}; set --timers above {self.scope.timer_firings_max}"
        return "liveness: no schedule comes to an end, frames go round for ever"

    @property
    def covered(self) -> str:
        """Which schedules the verdict is about."""
        if self.violation:
            some = "every schedule shorter than the one that breaks a promise"
            return (
                some if self.violation.shortest else f"not {some}: the search for a shorter one was cut off"
            )
        if not self.complete:
            return f"not every schedule: {self.reason}"
        if not self.ends:
            return "safety on every schedule, liveness on none"
        if self.cut:
            firings = self.scope.timer_firings_max
            return f"safety on every schedule, liveness not on all: {self._open} (--timers {firings})"
        return "every schedule"

    @property
    def _open(self) -> str:
        states = "1 state" if self.cut == 1 else f"{self.cut:,} states"
        return f"in {states} a timer was due and no firing was left"

    @property
    def schedule(self) -> Schedule | None:
        """The violating schedule, ready to be written to a file."""
        return Schedule(self.algorithm, self.scope, self.violation.steps) if self.violation else None

    def __str__(self) -> str:
        figures = (
            f"{self.algorithm}: {self.verdict}; {self.states:,} states, {self.transitions:,} transitions, "
            f"{self.ends:,} outcomes, {self.seconds:.1f} s"
        )
        outside = (f"outside its model: {sentence}" for sentence in self.lacking)
        return "\n".join(map(str, filter(None, (figures, self.reason, *outside, self.violation))))
