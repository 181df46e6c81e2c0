"""A run of another version of an algorithm from outside is not the run that a sweep asks for."""

from pathlib import Path

import pytest

from aforesaid.core import Misuse
from aforesaid.pipeline.sweeping.driver import plan
from aforesaid.pipeline.sweeping.ledger import Ledger
from aforesaid.pipeline.sweeping.task import run_one
from aforesaid.protocols import outside
from aforesaid.sim.grid import Grid, grid_of
from aforesaid.sim.storing import has_run
from support.own_algorithm import forgotten, write


def grid(file: Path) -> Grid:
    outside._loaded.cache_clear()
    return grid_of({"processes": 3, "duration_ms": 100, "sweep": {"algorithm": [f"{file}:ENTRY"]}})


def test_a_run_of_another_version_is_not_kept(tmp_path: Path) -> None:
    ledger = Ledger(tmp_path / "out")
    with forgotten(tmp_path), ledger.open():
        file = write(tmp_path, "own_version")
        (one,) = grid(file).planned
        run_one(ledger.root, one.run, one.scenario.to_json(), judge=False)
        assert has_run(ledger.root / f"run={one.run}", one.scenario)
        assert plan(grid(file), ledger).missing == ()
    with forgotten(tmp_path), ledger.open():
        write(tmp_path, "own_version", **{'version="0.1"': 'version="0.2.1"'})
        assert not has_run(ledger.root / f"run={one.run}", grid(file).planned[0].scenario)
        with pytest.raises(Misuse, match="is not the run of this grid's scenario"):
            plan(grid(file), ledger)
        assert len(plan(grid(file), ledger, force=True).missing) == 1
