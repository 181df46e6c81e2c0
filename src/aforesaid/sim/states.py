"""A run played again, with what each process held at every moment: for whoever steps through it.

The trace itself has gauges of all processes together, every so often (`sample_ms`). This asks a process after
each thing that happened to it, and writes down what changed; nothing else is another than it was.
"""

from typing import Any

from aforesaid.core import Nanoseconds, Process
from aforesaid.sim.scenario import Scenario
from aforesaid.sim.seat import Seat
from aforesaid.sim.simulation import Simulation
from aforesaid.trace import MemorySink, Run, Samples, Tracer


def states_of(run: Run, scenario: Scenario) -> Samples | None:
    """The gauges of each process whenever they changed; None if the run comes out differently now."""
    simulation = _Watched(scenario, Tracer(MemorySink()))
    again = simulation.close(run.run, simulation.run()).run
    return simulation.states() if again.digest == run.digest else None


class _Watched(Simulation):
    def __init__(self, scenario: Scenario, tracer: Tracer) -> None:
        self._held: dict[tuple[int, str], int] = {}
        self._rows: list[tuple[Nanoseconds, int, str, int]] = []
        super().__init__(scenario, tracer)

    def arrive(self, seat: Seat, source: Process, message: Any) -> None:
        super().arrive(seat, source, message)
        self._look(seat)

    def _do(self, seat: Seat, action: Any, first: Any, second: Any) -> None:
        super()._do(seat, action, first, second)
        self._look(seat)

    def states(self) -> Samples:
        return Samples.of_rows(self._rows)

    def _look(self, seat: Seat) -> None:
        if not seat.up:
            return
        for name, value in seat.machine.gauges().items():
            key = seat.index, name
            if self._held.get(key, 0) != value:
                self._held[key] = value
                self._rows.append((self.now, seat.index, name, value))
