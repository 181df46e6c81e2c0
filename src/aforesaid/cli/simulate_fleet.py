"""`aforesaid simulate` on the fleet: one run with its trace on disk, or one seed judged in memory."""

import time
from typing import Any

from aforesaid.check import check
from aforesaid.cli import EXIT_KEPT, EXIT_OF_VALUE, EXIT_UNKNOWN, show
from aforesaid.cli.simulate import OWN_INVARIANT, first_failure
from aforesaid.fleet import FleetBroken, FleetStopped, Outcome, trace_fleet
from aforesaid.sim import Paper
from aforesaid.storage import Place, place
from aforesaid.trace import MemorySink, Run
from aforesaid.trace.parquet import ParquetSink, open_trace


def simulate_fleet_once(paper: Paper, out: str, run: str, force: bool, as_json: bool) -> int:
    plan = paper.plan()
    began = time.perf_counter()
    try:
        with ParquetSink(out, run, overwrite=force) as sink, show.progress("simulating", plan.until) as move:
            move(note="compiling, or loading what was compiled")

            def tell(now: int, receipts: int, deliveries: int) -> None:
                move(completed=now, note=f"{deliveries:,} deliveries")

            outcome, row = trace_fleet(plan, sink, run, tell)
    except FleetStopped as error:
        show.err.print(str(error), markup=False)
        return EXIT_OF_VALUE[_value(error)]
    seconds = time.perf_counter() - began
    facts = _facts(paper, outcome, row, place(out) / f"run={run}")
    if as_json:
        show.print_json({**facts, "seconds": round(seconds, 3)})
    else:
        _print(paper, outcome, facts, seconds)
    return EXIT_KEPT if row.ended == "drained" else EXIT_UNKNOWN


def judged_fleet(paper: Paper) -> tuple[str, dict[str, Any], list[str], int]:
    """One seed: the verdict, what was wrong, or broken and not promised, how much the traced delivered."""
    sink = MemorySink()
    try:
        trace_fleet(paper.plan(), sink, "judged")
    except FleetStopped as error:
        return _value(error), {"property": OWN_INVARIANT, "sentence": str(error)}, [], 0
    report = check(sink.trace)
    return report.value(), first_failure(report), report.broken_unpromised(), len(sink.trace.delivery_message)


def _value(error: FleetStopped) -> str:
    """A fleet without room has proved nothing."""
    return "violated" if isinstance(error, FleetBroken) else "unknown"


def _facts(paper: Paper, outcome: Outcome, row: Run, where: Place) -> dict[str, Any]:
    trace = open_trace(where)
    return {
        "run": row.run,
        "algorithm": row.algorithm,
        "seed": row.seed,
        "ended": row.ended,
        "virtual_ms": paper.duration_ms,
        "messages": outcome.broadcasts,
        "deliveries": outcome.deliveries,
        "receipts": outcome.receipts,
        "traced": {
            "processes": len(set(trace.processes.name)),
            "messages": len(trace.messages),
            "deliveries": trace.delivery_count,
        },
        "control_kinds": outcome.control,
        "crashes": outcome.plan.crashes,
        "isolated": outcome.evicted,
        "connected": outcome.connected,
        "held_at_end": outcome.held,
        "digest": row.digest,
        "trace": str(where),
    }


def _print(paper: Paper, outcome: Outcome, facts: dict[str, Any], seconds: float) -> None:
    traced = facts["traced"]
    kinds = ", ".join(f"{count:,} {kind}" for kind, count in outcome.control.items() if count)
    isolated = (
        f", {outcome.evicted:,} times a process lost its links and began anew" if outcome.evicted else ""
    )
    together = "" if outcome.connected else "; at the end the overlay has fallen apart"
    show.print_facts(
        f"{paper.algorithm} on the fleet, {paper.processes:,} processes, seed {paper.seed}",
        [
            (
                "messages",
                f"{outcome.broadcasts:,} broadcast, {outcome.deliveries:,} deliveries, "
                f"{outcome.receipts:,} receipts",
            ),
            (
                "traced",
                f"{traced['processes']:,} processes: {traced['messages']:,} messages of theirs, "
                f"{traced['deliveries']:,} deliveries",
            ),
            ("control", f"{sum(outcome.control.values()):,} messages: {kinds}"),
            ("faults", f"{outcome.plan.crashes:,} crashes{isolated}{together}"),
            ("ended", f"{facts['ended']} at {paper.minutes:g} minutes of virtual time"),
            ("entries held at the end", _held(outcome)),
            ("took", f"{seconds:.2f} s, {outcome.cpu_seconds:.2f} s of it in the kernel"),
            ("digest", facts["digest"]),
            ("trace", facts["trace"]),
        ],
    )


def _held(outcome: Outcome) -> str:
    """Counters are for ever, whoever has come to rest."""
    nothing = "none but counters" if outcome.plan.preventive else "none"
    return f"{outcome.held:,}" if outcome.held else nothing
