"""`aforesaid explore`: every schedule at a small scope, or one schedule again."""

import json
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

from aforesaid.check import check
from aforesaid.cli import EXIT_OF_VALUE, show
from aforesaid.cli.check import print_report
from aforesaid.core import Misuse
from aforesaid.explore import Exploration, LinkCall, Progress, Schedule, Scope, explore, replay
from aforesaid.protocols.catalog import algorithm
from aforesaid.protocols.outside import absolute


def link_calls(texts: Iterable[str]) -> tuple[LinkCall, ...]:
    """`open:p0:p2:p1`: p0 opens a link to p2 by way of p1."""
    calls = []
    for text in texts:
        do, *names = text.split(":")
        if len(names) < (2 if do in ("open", "close", "join") else 1):
            known = "open:p0:p2 or open:p0:p2:p1, close:p0:p2, join:p3:p0, hand_over:p1, leave:p1"
            raise Misuse(f"--link {text}: write {known}")
        process, peer, *route = (*names, "")[: max(2, len(names))]
        calls.append(LinkCall(process, do, peer, tuple(route) or None))
    return tuple(calls)


def settings(texts: Iterable[str]) -> tuple[tuple[str, Any], ...]:
    """`degree=1`, `both_ways=false`, `alpha=routed`: values as in JSON, or text."""
    found = []
    for text in texts:
        name, equals, value = text.partition("=")
        if not equals:
            raise Misuse(f"--option {text}: write NAME=VALUE")
        try:
            found.append((name, json.loads(value)))
        except ValueError:
            found.append((name, value))
    return tuple(found)


def explore_all(name: str, scope: Scope, states_max: int, save: Path | None, as_json: bool) -> int:
    algorithm(name)
    if save is not None and save.exists():
        raise Misuse(f"{save} exists; choose another file to --save the schedule in")
    with show.progress(f"exploring {name}", None, "states") as move:

        def tell(now: Progress) -> None:
            move(completed=now.states, note=f"{now.depth} steps deep, {now.waiting:,} waiting")

        found = explore(name, scope, progress=tell, states_max=states_max)
    if save is not None and found.schedule is not None:
        # By a reference that leads to the algorithm from anywhere, where its name alone would not.
        save.write_text(replace(found.schedule, algorithm=absolute(name)).to_json() + "\n")
    if as_json:
        show.print_json(_facts(found))
    else:
        _print(found, name, save)
    return EXIT_OF_VALUE[found.verdict]


def replay_schedule(path: Path, as_json: bool) -> int:
    """Run a saved schedule again and judge what it does."""
    schedule = read_schedule(path)
    report = check(replay(schedule.algorithm, schedule.scope, schedule.steps))
    if as_json:
        show.print_json(report.to_dict())
    else:
        _print_steps(schedule.steps)
        print_report(report)
    return EXIT_OF_VALUE[report.value()]


def read_schedule(path: Path) -> Schedule:
    try:
        return Schedule.from_json(path.read_bytes())
    except OSError as error:
        raise Misuse(f"cannot read schedule {path}: {error.strerror}") from error
    except Misuse as error:
        raise Misuse(f"{path}: {error}") from error


def _print(found: Exploration, name: str, save: Path | None) -> None:
    scope = found.scope
    faults = ", ".join(
        f"up to {count} {what}"
        for count, what in (
            (scope.crashes_max, "crashes"),
            (scope.duplicates_max, "duplicates"),
            (scope.drops_max, "losses"),
            (scope.timer_firings_max, "timers"),
            (scope.disconnections_max, "lost connections"),
            (scope.suspicions_max, "false suspicions"),
        )
        if count
    )
    show.out.print(
        f"{found.algorithm}, {scope.processes} processes saying {sum(scope.counts)} messages in all, "
        f"{'FIFO links' if scope.fifo else 'any order of frames'}, {faults or 'no faults'}: ",
        show.verdict(found.verdict),
        f": {found.reason}" if found.reason else "",
        sep="",
    )
    show.print_facts(
        "",
        [
            *([("links", "; ".join(map(str, scope.links)))] if scope.links else ()),
            ("covered", found.covered),
            ("states", f"{found.states:,}, by {found.transitions:,} transitions, {found.depth} steps deep"),
            ("outcomes judged", f"{found.ends:,}"),
            ("took", f"{found.seconds:.1f} s"),
        ],
    )
    if found.violation is not None:
        show.out.print("\nThe shortest schedule that breaks a promise:")
        _print_steps(found.violation.steps)
        for sentence in found.violation.sentences:
            show.out.print(sentence)
        if save is not None:
            show.out.print(f"replay: aforesaid explore {name} --replay {save}")
            show.out.print(f"look at it, step by step: aforesaid view {save}")


def _print_steps(steps: Any) -> None:
    for number, step in enumerate(steps, 1):
        show.out.print(f"{number:4}. {step}")


def _facts(found: Exploration) -> dict[str, Any]:
    return {
        "algorithm": found.algorithm,
        "verdict": found.verdict,
        "reason": found.reason or None,
        "complete": found.complete,
        "covered": found.covered,
        "scope": found.scope.to_dict(),
        "promises": list(found.promises),
        "states": found.states,
        "transitions": found.transitions,
        "depth": found.depth,
        "outcomes": found.ends,
        "cut": found.cut,
        "seconds": round(found.seconds, 3),
        "schedule": [step.to_dict() for step in found.violation.steps] if found.violation else None,
        "sentences": list(found.violation.sentences) if found.violation else [],
    }
