"""What a task does: run one scenario into the directory, judge it if asked, say in one row what came of it.

Nothing that goes wrong leaves this module as an exception: a scenario that fails is a row with its error, and
stops no other. A worker that dies cannot say so; the next attempt sees the mark it left and, after
ATTEMPTS_MAX, says it instead of dying, too.
"""

import json
import os
import shlex
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import TypeAlias

from aforesaid.check import Report, check
from aforesaid.core import Misuse
from aforesaid.pipeline.sweeping.ledger import DONE, FAILED, Ledger, Row
from aforesaid.protocols.catalog import algorithm
from aforesaid.sim import Experiment, Paper, experiment_of
from aforesaid.sim.storing import has_run, simulate_to
from aforesaid.storage import Place, Remote, appeared
from aforesaid.trace.parquet import open_trace

ATTEMPTS_MAX = 3
"""Workers that one scenario may take down; Spark must be ready to start it once more (see `retrying`).

One of the attempts may be a second one of a task that is alive (speculation), and count all the same.
"""

Simulator: TypeAlias = Callable[[Experiment, Place, str, bool], None]
"""Runs a scenario and stores its trace: (scenario, root, run, whether to replace a run of that name)."""


def run_one(
    root: Place, run: str, scenario_json: str, judge: bool, simulator: Simulator = simulate_to
) -> Row:
    """Run a scenario unless its trace is there, and write its row into the directory's ledger."""
    ledger = Ledger(root)
    if not Path(__file__).exists():
        # On a cluster, where the package comes in an archive: compiled once for all executors, or once by
        # each where they share no directory.
        shared = tempfile.gettempdir() if isinstance(root, Remote) else ledger.path
        os.environ.setdefault("NUMBA_CACHE_DIR", f"{shared}/numba")
    scenario = experiment_of(json.loads(scenario_json))
    path = root / f"run={run}"
    attempts = ledger.begin(run)
    began = time.perf_counter()
    try:
        if attempts > ATTEMPTS_MAX:
            raise RuntimeError(f"{ATTEMPTS_MAX} workers died while they ran it")
        there = has_run(path, scenario)
        if not there:
            _simulate(simulator, scenario, root, run)
        seconds = None if there else round(time.perf_counter() - began, 3)
        row = {**_stored(path, scenario, judge), "seconds": seconds}
    except Exception as error:
        row = _failed(root, run, scenario, error)
    ledger.end(row)
    return row


def _simulate(simulator: Simulator, scenario: Experiment, root: Place, run: str) -> None:
    path = root / f"run={run}"
    try:
        simulator(scenario, root, run, appeared(path, "runs.parquet"))
    except Misuse:
        # Another attempt at the same task may have been faster.
        if not has_run(path, scenario):
            raise


def _stored(path: Place, scenario: Experiment, judge: bool) -> Row:
    """The row of a stored run, read from its trace: what is not on disk did not happen."""
    trace = open_trace(path)
    # Of a fleet some processes are traced; who else joins a scenario is in its trace only.
    processes = scenario.processes if isinstance(scenario, Paper) else len(trace.processes)
    return {
        "run": trace.run.run,
        "state": DONE,
        "algorithm": trace.run.algorithm,
        "processes": processes,
        "seed": trace.run.seed,
        "ended": trace.run.ended,
        "messages": len(trace.messages),
        "deliveries": trace.delivery_count,
        "digest": trace.run.digest,
        "code_version": trace.run.code_version,
        **(_judged(check(trace)) if judge else {}),
    }


def _judged(report: Report) -> Row:
    worst = report.required_verdicts()[0]
    sentence = worst.witnesses[0].sentence if worst.witnesses else worst.note
    value = report.value()
    return {
        "verdict": value,
        "violations": sum(verdict.violations for verdict in report.required_verdicts()),
        "evidence": None if value == "kept" else f"{worst.property}: {sentence}",
        "unpromised": ", ".join(report.broken_unpromised()) or None,
    }


def _failed(root: Place, run: str, scenario: Experiment, error: Exception) -> Row:
    """The row of a failure; its scenario goes into a file that `aforesaid simulate` takes."""
    again = root / "failed" / f"{run}.json"
    again.parent.mkdir(exist_ok=True)
    again.write_text(scenario.to_json() + "\n")
    return {
        "run": run,
        "state": FAILED,
        "algorithm": algorithm(scenario.algorithm).name,
        "processes": scenario.processes,
        "seed": scenario.seed,
        "error": " ".join(str(error).split()) or type(error).__name__,
        "replay": shlex.join(["aforesaid", "simulate", str(again), "--out", str(root), "--run", run]),
    }
