"""`aforesaid view`: runs as a page to look at in a browser."""

import json
from dataclasses import replace
from pathlib import Path

from aforesaid.check import check
from aforesaid.cli import show
from aforesaid.cli.explore import read_schedule
from aforesaid.core import MILLISECOND, Misuse
from aforesaid.explore import replay
from aforesaid.sim import Paper, experiment_of
from aforesaid.sim.states import states_of
from aforesaid.storage import Place
from aforesaid.trace import Samples
from aforesaid.trace.model import NO_SAMPLES
from aforesaid.trace.parquet import ParquetTrace, find_runs, open_trace
from aforesaid.viewer import Packed, packed, page
from aforesaid.viewer.serving import server_of

WITNESSES_MAX = 200
"""Violations of each property that the page lists; it tells how many there are in all."""


STATES_MAX = 20_000
"""Runs of more deliveries are not played again for their states."""


def write_page(paths: list[str], out: Path, force: bool) -> None:
    if out.exists() and not force:
        raise Misuse(f"{out} exists; choose another --out or pass --force")
    runs = _packed(paths)
    text = page(runs)
    try:
        out.write_text(text)
    except OSError as error:
        raise Misuse(f"cannot write {out}: {error.strerror}") from error
    show.out.print(f"view: {out} ({_told(runs)}, {len(text) / 1024:,.0f} kB); open it in a browser")


def serve_page(paths: list[str], port: int) -> None:
    runs = _packed(paths)
    try:
        server = server_of(runs, port)
    except OSError as error:
        raise Misuse(f"cannot serve on port {port}: {error.strerror}") from error
    with server:
        show.out.print(f"view: http://127.0.0.1:{server.server_port}/ ({_told(runs)}); Ctrl-C ends it")
        try:
            server.serve_forever()
        except KeyboardInterrupt:
            return


def _packed(paths: list[str]) -> list[Packed]:
    packs: list[Packed] = []
    for path in paths:
        if path.endswith(".json"):
            packs.append(_packed_schedule(Path(path)))
        else:
            packs.extend(_packed_run(run) for run in find_runs(path))
    return packs


def _packed_schedule(path: Path) -> Packed:
    """What the explorer saved: run again, it happens one step a millisecond."""
    schedule = read_schedule(path)
    trace = replay(schedule.algorithm, schedule.scope, schedule.steps)
    trace = replace(trace, run=replace(trace.run, run=path.stem))
    steps = [(number * MILLISECOND, str(step)) for number, step in enumerate(schedule.steps, 1)]
    return packed(trace, check(trace, witnesses_max=WITNESSES_MAX), steps)


def _packed_run(run: Place) -> Packed:
    trace = open_trace(run)
    with show.progress(f"judging {run.name}", len(trace.processes)) as move:
        try:
            report = check(
                trace,
                witnesses_max=WITNESSES_MAX,
                progress=lambda done, total: move(completed=done, total=total),
            )
        except ValueError as error:
            raise Misuse(f"{run}: {error}") from error
    return packed(trace, report, states=_states(trace))


def _states(trace: ParquetTrace) -> Samples:
    """What each process held, of a simulated run that is short enough to be played again."""
    if trace.delivery_count > STATES_MAX or trace.run.clock == "local":
        return NO_SAMPLES
    try:
        scenario = experiment_of(json.loads(trace.run.scenario))
    except (Misuse, ValueError, TypeError):
        return NO_SAMPLES
    if isinstance(scenario, Paper):
        return NO_SAMPLES
    with show.progress(f"playing {trace.run.run} again", None):
        states = states_of(trace.run, scenario)
    if states is None:
        note = "it comes out differently with this version: stepping will not show what each process held"
        show.err.print(f"{trace.run.run}: {note}", markup=False, soft_wrap=True)
    return NO_SAMPLES if states is None else states


def _told(runs: list[Packed]) -> str:
    return "1 run" if len(runs) == 1 else f"{len(runs)} runs"
