"""A restart is another process, with other hashes: a machine told again there is the same one.

One child restores a machine of every algorithm from its snapshot and its inputs, and sends it back with the
effects it had.
"""

import os
import pickle
import subprocess
import sys
from typing import Any

import pytest

from aforesaid.core import freeze
from aforesaid.journal import ToldMachine
from aforesaid.protocols.catalog import CATALOG
from aforesaid.sim import Scenario, simulate
from aforesaid.sim.simulation import Simulation
from aforesaid.testing.worlds import CALM, worlds
from support.noting import Noting

CHILD = """
import pickle, sys
from aforesaid.journal import restored
from support.noting import Noting

answers = []
for snapshot, records in pickle.load(sys.stdin.buffer):
    out = Noting()
    told = restored(snapshot, records, out, bytes)
    answers.append((told.machine, told.timers, out.noted))
pickle.dump(answers, sys.stdout.buffer)
"""


class Written(ToldMachine):
    """Keeps what it was told."""

    def __init__(self, machine: Any) -> None:
        self.records: list[bytes] = []
        super().__init__(machine, self.records.append)
        self.begun = self.snapshot()
        self.out = Noting()

    def tell(self, name: str, *arguments: Any) -> Any:
        *told, self.out.host = arguments
        return super().tell(name, *told, self.out)


def test_a_machine_told_again_in_another_process_is_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    machines: list[Written] = []
    build = Simulation._machine

    def written(simulation: Simulation, *setup: Any) -> Any:
        machines.append(Written(build(simulation, *setup)))
        return machines[-1].speaker

    monkeypatch.setattr(Simulation, "_machine", written)
    for name, entry in CATALOG.items():
        world = worlds(entry)
        simulate(Scenario.of({"algorithm": name, "seed": 3, **world.get("loss", world[CALM])}))
    child = subprocess.run(
        [sys.executable, "-c", CHILD],
        input=pickle.dumps([(told.begun, told.records) for told in machines]),
        stdout=subprocess.PIPE,
        env={**os.environ, "PYTHONHASHSEED": "4711", "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
        check=True,
        timeout=120,
    )
    assert sum(len(told.out.noted) for told in machines) > 100 * len(CATALOG)
    for told, (machine, timers, noted) in zip(machines, pickle.loads(child.stdout), strict=True):
        kind = type(told.machine).__name__
        assert freeze(machine) == freeze(told.machine), kind
        assert timers == told.timers, kind
        assert noted == told.out.noted, kind
