"""`aforesaid why` of a stored run: when a message came, what it waited for, and the root of it."""

import json

from aforesaid.cli import show
from aforesaid.core import Misuse
from aforesaid.sim import Paper, experiment_of, simulate_into
from aforesaid.trace import MemorySink
from aforesaid.trace.parquet import ParquetTrace, find_runs, open_trace
from aforesaid.trace.telling import Telling
from aforesaid.trace.why import Told, Way, Ways

LONGEST = 10


def explain_run(path: str, message: str | None, process: str | None, as_json: bool) -> None:
    runs = find_runs(path)
    if len(runs) > 1:
        raise Misuse(f"{path} holds {len(runs)} runs; name one of them, such as {runs[0]}")
    trace, note = with_story(open_trace(runs[0]))
    ways = Ways(trace)
    telling = Telling(ways)
    if note:
        show.err.print(note, markup=False, soft_wrap=True)
    if message is None:
        longest, held = telling.longest(LONGEST), telling.longest_held(LONGEST)
        if as_json or longest or not held:
            _tell_list(telling, longest, as_json)
        if held and not as_json:
            show.out.print("\n".join(held), markup=False)
        return
    row = ways.message(message)
    if process is not None:
        _tell(telling, ways.chain(row, ways.process(process)), as_json)
        return
    every = [ways.way(row, place) for place in ways.audience(row)]
    _tell_list(telling, every, as_json)


def with_story(trace: ParquetTrace) -> tuple[Told, str]:
    """The trace with its receipts, played again if it was simulated without; and what to say of that."""
    if len(trace.story.receipts) or not len(trace.messages):
        return trace, ""
    if trace.run.clock == "local":
        return trace, "the nodes wrote no receipts (receipts = true): only sending and delivery are known"
    try:
        experiment = experiment_of(json.loads(trace.run.scenario))
    except (Misuse, ValueError, TypeError):
        return trace, "the run has no receipts, and no scenario to play it again: only deliveries are known"
    if isinstance(experiment, Paper):
        return trace, "the run has no receipts, and the fleet writes none: only deliveries are known"
    sink = MemorySink()
    again = simulate_into(sink, experiment, trace.run.run, receipts=True).run
    if again.digest != trace.run.digest:
        return trace, (
            f"the run has no receipts, and {again.code_version} plays it differently than "
            f"{trace.run.code_version} did: only deliveries are known"
        )
    return sink.trace, "the run has no receipts: it was played again with them, and came out the same"


def _tell(telling: Telling, chain: list[Way], as_json: bool) -> None:
    if as_json:
        show.print_json(telling.data(chain))
    else:
        show.out.print("\n".join(telling.sentences(chain)), markup=False)


def _tell_list(telling: Telling, ways: list[Way], as_json: bool) -> None:
    if as_json:
        show.print_json([telling.data([way]) for way in ways])
    else:
        show.out.print("\n".join(map(telling.summary, ways)) or "nothing waited", markup=False)
