"""`aforesaid world`: real nodes under seeds, or one seed or plan again."""

from collections import Counter
from pathlib import Path
from typing import Any

import msgspec

from aforesaid.cli import show
from aforesaid.core import Misuse
from aforesaid.world.campaign import campaign, never
from aforesaid.world.plan import Kind, Plan
from aforesaid.world.shrink import shrink
from aforesaid.world.trial import Outcome, run

SHOWN = 5
"""Of the complaints about one world."""


def play_seeds(group: Kind, first: int, seeds: int, jobs: int, save: Path | None, as_json: bool) -> int:
    """Each is judged; a failing one is told with its replay command, the first made smaller."""
    _refuse_to_overwrite(save)
    did: Counter[str] = Counter()
    failed: list[Outcome] = []
    totals: Counter[str] = Counter()
    with show.progress(f"{group} groups", seeds) as move:
        for done, outcome in enumerate(campaign(range(first, first + seeds), group, jobs), 1):
            did += outcome.did
            totals["messages"] += outcome.messages
            totals["deliveries"] += outcome.deliveries
            totals["seconds"] += round(outcome.seconds)
            if outcome.complaints:
                failed.append(outcome)
            move(completed=done, note=f"{len(failed)} failed")
    untried = never(did, group)
    smallest = _smallest(failed[0].plan) if failed else None
    if as_json:
        facts = [{"seed": each.plan.seed, "complaints": each.complaints} for each in failed]
        show.print_json(
            {
                "seeds": seeds,
                **totals,
                "failed": facts,
                "smallest": msgspec.to_builtins(smallest),
                "did": did,
                "untried": untried,
            }
        )
    else:
        _print(group, seeds, totals, failed, did, untried)
    if smallest is not None:
        _tell(smallest, save, as_json)
    return 1 if failed else 0


def play_plan(path: Path, save: Path | None, as_json: bool) -> int:
    """A saved plan again."""
    _refuse_to_overwrite(save)
    try:
        plan = msgspec.json.decode(path.read_bytes(), type=Plan)
    except OSError as error:
        raise Misuse(f"cannot read plan {path}: {error.strerror}") from error
    except msgspec.DecodeError as error:
        raise Misuse(f"{path} is no plan: {error}") from error
    outcome = run(plan)
    if as_json:
        show.print_json({"complaints": outcome.complaints, "digest": outcome.digest, "did": outcome.did})
    else:
        _print_plan(plan)
        _print_outcome(outcome)
    if outcome.complaints and save is not None:
        _tell(_smallest(plan), save, as_json)
    return 1 if outcome.complaints else 0


def _refuse_to_overwrite(save: Path | None) -> None:
    if save is not None and save.exists():
        raise Misuse(f"{save} exists; choose another file to --save the plan in")


def _smallest(plan: Plan) -> Plan:
    """The smallest plan that was found to fail still."""
    with show.progress("making the plan smaller", None, "tries") as move:
        tries = 0

        def fails(smaller: Plan) -> bool:
            nonlocal tries
            tries += 1
            move(completed=tries, note=f"{len(smaller.names)} nodes, {len(smaller.faults)} faults")
            return bool(run(smaller).complaints)

        return shrink(plan, fails)


def _tell(smallest: Plan, save: Path | None, as_json: bool) -> None:
    if not as_json:
        show.out.print(f"the smallest plan that was found to fail, of seed {smallest.seed}:")
        _print_plan(smallest)
    if save is None:
        return
    save.write_bytes(msgspec.json.format(msgspec.json.encode(smallest)) + b"\n")
    show.err.print(f"smallest plan that fails: {save}; replay: aforesaid world --plan {save}")


def _print(
    group: Kind,
    seeds: int,
    totals: Counter[str],
    failed: list[Outcome],
    did: Counter[str],
    untried: list[str],
) -> None:
    for outcome in failed:
        show.out.print(f"seed {outcome.plan.seed}: ", show.verdict("violated"), sep="")
        _print_outcome(outcome)
        show.out.print(f"  replay: aforesaid world --group {group} --first {outcome.plan.seed} --seeds 1")
    show.out.print(
        f"{seeds:,} worlds of {group} groups, {totals['seconds']:,} s of theirs: {totals['messages']:,} "
        f"messages, {totals['deliveries']:,} deliveries, {len(failed)} failed"
    )
    show.print_facts("what went wrong", [(what, f"{count:,}") for what, count in sorted(did.items())])
    if untried:
        show.out.print(f"never tried in these seeds: {', '.join(untried)}")


def _print_plan(plan: Plan) -> None:
    shown: list[tuple[str, Any]] = [("nodes", ", ".join(plan.names)), ("algorithm", plan.algorithm)]
    shown += [("transport", plan.transport), ("talk", f"{plan.rate:g} a second for {plan.seconds:g} s")]
    shown += [(f"at {fault.at_s:g} s", _fault(fault)) for fault in plan.faults]
    show.print_facts("plan", shown)


def _fault(fault: Any) -> str:
    return f"{fault.kind} {' '.join(fault.who)} for {fault.for_s:g} s"


def _print_outcome(outcome: Outcome) -> None:
    for complaint in outcome.complaints[:SHOWN]:
        show.out.print(f"  {complaint}")
    if not outcome.complaints:
        said, heard = f"{outcome.messages:,} messages", f"{outcome.deliveries:,} deliveries"
        show.out.print(f"kept: {said}, {heard}, {outcome.seconds:.0f} s; segments {outcome.digest}")
