"""`aforesaid world`: real nodes under seeds, or one seed or plan again."""

from collections import Counter
from pathlib import Path
from typing import Any

import msgspec

from aforesaid.cli import EXIT_INTERRUPTED, show
from aforesaid.core import Misuse
from aforesaid.world.campaign import campaign, never
from aforesaid.world.plan import Kind, Plan
from aforesaid.world.shrink import shrink
from aforesaid.world.trial import Outcome, run

SHOWN = 5
"""Of the complaints about one world."""


class _Played:
    """What the seeds so far have shown."""

    def __init__(self, group: Kind) -> None:
        self.group = group
        self.seeds = 0
        self.totals = Counter({"messages": 0, "deliveries": 0, "seconds": 0})
        self.did: Counter[str] = Counter()
        self.failed: list[Outcome] = []

    def take(self, outcome: Outcome) -> None:
        self.seeds += 1
        self.did += outcome.did
        self.totals["messages"] += outcome.messages
        self.totals["deliveries"] += outcome.deliveries
        self.totals["seconds"] += round(outcome.seconds)
        if outcome.complaints:
            self.failed.append(outcome)
            # At once: a campaign may take hours.
            show.err.print(f"seed {outcome.plan.seed} failed; {_replay(self.group, outcome.plan.seed)}")

    def facts(self, smallest: Plan | None) -> dict[str, Any]:
        return {
            "seeds": self.seeds,
            **self.totals,
            "failed": [{"seed": each.plan.seed, "complaints": each.complaints} for each in self.failed],
            "smallest": msgspec.to_builtins(smallest),
            "did": self.did,
            "untried": never(self.did, self.group),
        }


def play_seeds(group: Kind, first: int, seeds: int, jobs: int, save: Path | None, as_json: bool) -> int:
    """Each is judged; a failing one is told with its replay command, the first made smaller."""
    _refuse_to_overwrite(save)
    played = _Played(group)
    interrupted = False
    with show.progress(f"{group} groups", seeds) as move:
        try:
            for outcome in campaign(range(first, first + seeds), group, jobs):
                played.take(outcome)
                move(completed=played.seeds, note=f"{len(played.failed)} failed")
        except KeyboardInterrupt:
            interrupted = True
    smallest = _smallest(played.failed[0].plan) if played.failed and not interrupted else None
    if as_json:
        show.print_json(played.facts(smallest))
    else:
        _print(played)
    if smallest is not None:
        _tell(smallest, save, as_json)
    if interrupted:
        rest = f"--first {first + played.seeds} --seeds {seeds - played.seeds}"
        show.err.print(f"interrupted; to go on: aforesaid world --group {group} {rest}", soft_wrap=True)
        return EXIT_INTERRUPTED
    return 1 if played.failed else 0


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


def _replay(group: Kind, seed: int) -> str:
    return f"replay: aforesaid world --group {group} --first {seed} --seeds 1"


def _print(played: _Played) -> None:
    for outcome in played.failed:
        show.out.print(f"seed {outcome.plan.seed}: ", show.verdict("violated"), sep="")
        _print_outcome(outcome)
        show.out.print(f"  {_replay(played.group, outcome.plan.seed)}")
    totals, did = played.totals, played.did
    show.out.print(
        f"{played.seeds:,} worlds of {played.group} groups, {totals['seconds']:,} s of theirs: "
        f"{totals['messages']:,} messages, {totals['deliveries']:,} deliveries, {len(played.failed)} failed"
    )
    show.print_facts("what went wrong", [(what, f"{count:,}") for what, count in sorted(did.items())])
    if untried := never(did, played.group):
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
