"""Runs on disk, or in a store: make one where it belongs, and find out whether it is there already."""

import json
from collections.abc import Callable

from aforesaid.core import Misuse
from aforesaid.protocols.catalog import algorithm
from aforesaid.sim.experiment import Experiment, experiment_of, run_into
from aforesaid.storage import Place
from aforesaid.trace.parquet import ParquetSink, open_trace


def simulate_to(
    scenario: Experiment,
    root: Place,
    run: str,
    replace: bool,
    progress: Callable[[int, int, int], None] | None = None,
) -> None:
    """Run a scenario and store its trace, in the place of a run of that name if asked to."""
    with ParquetSink(root, run, overwrite=replace) as sink:
        run_into(sink, scenario, run, progress)


def has_run(path: Place, scenario: Experiment) -> bool:
    """Whether a directory holds the trace of this very scenario; a broken trace is none.

    Nor is one that another version of an algorithm from outside has made.
    """
    entry = algorithm(scenario.algorithm)
    try:
        run = open_trace(path).run
        same_version = not entry.version or run.code_version.endswith(f", {entry.name} {entry.version}")
        return same_version and experiment_of(json.loads(run.scenario)) == scenario
    except (Misuse, ValueError):
        return False
