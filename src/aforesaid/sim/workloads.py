"""What processes say, and when: one class per kind of workload in a scenario.

A workload starts with `begin` and hears of every delivery through `heard`, so that real causal chains form:
a reply is said because its question was delivered. It speaks through the simulation's `say` and asks for its
next turn with `at`; it never touches a protocol.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from aforesaid.core import SECOND, Nanoseconds, Process
from aforesaid.sim import parts as model
from aforesaid.sim.chance import Chance
from aforesaid.sim.parts import nanoseconds
from aforesaid.sim.turns import last_moment, poisson, repeat

if TYPE_CHECKING:
    from aforesaid.sim.simulation import Simulation

Spec = TypeVar("Spec")


class Workload(ABC, Generic[Spec]):
    """The base: hears and ignores."""

    hears = False
    """True for workloads that answer what is delivered."""

    def __init__(self, spec: Spec, number: int, stage: "Simulation", chance: Chance) -> None:
        self.spec = spec
        self.number = number
        self.stage = stage
        self.chance = chance

    @abstractmethod
    def begin(self) -> None:
        """The fault phase begins."""

    def heard(self, process: Process, payload: Any) -> None:
        """A process delivered something said by this workload."""

    def joined(self, process: Process) -> None:
        """A process joined the group."""

    def some_others(self, process: Process, count: int) -> tuple[Process, ...]:
        """That many others, chosen by the seed; broadcasts need no audience."""
        if not self.stage.addressed:
            return ()
        others = [other for other in self.stage.members() if other != process]
        return tuple(self.chance.some(others, count))

    def repeat(self, wait: Callable[[], Nanoseconds], action: Callable[[], None]) -> None:
        """Do the action again and again, waiting before each time, until the fault phase ends."""
        repeat(self.stage, wait, action, self.stage.until)

    def poisson(self, per_second: float, action: Callable[[], None]) -> None:
        self.repeat(poisson(per_second, self.chance), action)


class RateLoad(Workload[model.Rate]):
    def begin(self) -> None:
        for process in self.spec.processes or self.stage.members():
            self._speaker(process)

    def joined(self, process: Process) -> None:
        if not self.spec.processes:
            self._speaker(process)

    def _speaker(self, process: Process) -> None:
        def speak() -> None:
            self.stage.say(process, (self.number,), self.some_others(process, self.spec.fan_out))

        if self.spec.arrivals == "poisson":
            self.poisson(self.spec.per_second, speak)
        else:
            period = round(SECOND / self.spec.per_second)
            # A random phase, so that periodic speakers do not all speak at once.
            phase = self.stage.now + self.chance.below(period)
            self.stage.at(phase, lambda: self.repeat(lambda: period, speak))


class BurstLoad(Workload[model.Bursts]):
    def begin(self) -> None:
        self.repeat(lambda: nanoseconds(self.spec.every_ms), self._burst)

    def _burst(self) -> None:
        members = self.stage.members()
        if not members:
            return
        process = self.chance.pick(members)
        for _ in range(self.spec.size):
            self.stage.say(process, (self.number,), self.some_others(process, self.spec.fan_out))


class HotSpotLoad(Workload[model.HotSpot]):
    def begin(self) -> None:
        self.poisson(self.spec.per_second, self._speak)

    def _speak(self) -> None:
        hot = self.chance.uniform() < self.spec.share
        everyone = self.stage.members()
        others = [process for process in everyone if process not in self.spec.hot]
        process = self.chance.pick(self.spec.hot if hot or not others else others)
        self.stage.say(process, (self.number,), self.some_others(process, self.spec.fan_out))


class ChainLoad(Workload[model.Chain]):
    """A payload is (workload, asker, asked, replies left)."""

    hears = True

    def begin(self) -> None:
        self.poisson(self.spec.per_second, self._ask)

    def _ask(self) -> None:
        everyone = self.stage.members()
        if not everyone:
            return
        asker = self.chance.pick(everyone)
        asked = self.chance.pick([process for process in everyone if process != asker] or everyone)
        self.stage.say(asker, (self.number, asker, asked, self.spec.depth), (asked,))

    def heard(self, process: Process, payload: Any) -> None:
        _, asker, asked, left = payload
        if process != asked or left == 0:
            return
        reply = (self.number, asked, asker, left - 1)
        think = nanoseconds(self.spec.think_ms)
        self.stage.at(self.stage.now + think, lambda: self.stage.say(asked, reply, (asker,)))


class PipelineLoad(Workload[model.Pipeline]):
    """A payload is (workload, the stage that says it and those after it)."""

    hears = True

    def begin(self) -> None:
        stages = tuple(self.spec.stages or self.stage.members())
        self.poisson(self.spec.per_second, lambda: self._pass_on(stages))

    def heard(self, process: Process, payload: Any) -> None:
        _, stages = payload
        if len(stages) > 1 and stages[1] == process:
            self._pass_on(stages[1:])

    def _pass_on(self, stages: tuple[Process, ...]) -> None:
        # The last stage has nobody to address.
        if stages[1:] or not self.stage.addressed:
            self.stage.say(stages[0], (self.number, stages), stages[1:2])


class AllToAllLoad(Workload[model.AllToAll]):
    def begin(self) -> None:
        self.repeat(lambda: nanoseconds(self.spec.every_ms), self._round)

    def _round(self) -> None:
        members = self.stage.members()
        for process in members:
            if self.stage.addressed:
                for other in members:
                    if other != process:
                        self.stage.say(process, (self.number,), (other,))
            else:
                self.stage.say(process, (self.number,))


class CrowdLoad(Workload[model.Crowd]):
    def begin(self) -> None:
        period, until = nanoseconds(self.spec.every_ms), last_moment(self.stage, self.spec.until_ms)
        begin = nanoseconds(self.spec.from_ms)
        self.stage.at(begin, lambda: repeat(self.stage, lambda: period, self._speak, until))

    def _speak(self) -> None:
        for process in self.chance.some(self.stage.members(), self.spec.size):
            self.stage.say(process, (self.number,), self.some_others(process, self.spec.fan_out))


_KINDS: dict[type, type[Workload[Any]]] = {
    model.Rate: RateLoad,
    model.Bursts: BurstLoad,
    model.HotSpot: HotSpotLoad,
    model.Chain: ChainLoad,
    model.Pipeline: PipelineLoad,
    model.AllToAll: AllToAllLoad,
    model.Crowd: CrowdLoad,
}


def workload(spec: model.Workload, number: int, stage: "Simulation", chance: Chance) -> Workload[Any]:
    """The workload a scenario's table describes."""
    return _KINDS[type(spec)](spec, number, stage, chance)
