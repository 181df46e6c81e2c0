"""`aforesaid simulate`: one run with its trace on disk, or many seeds judged in memory."""

import shlex
import time
from collections import Counter
from collections.abc import Sequence
from typing import Any

import msgspec

from aforesaid.check import Report, check
from aforesaid.cli import EXIT_KEPT, EXIT_OF_VALUE, EXIT_UNKNOWN, show, worst
from aforesaid.core import MILLISECOND, Misuse
from aforesaid.protocols.catalog import algorithm
from aforesaid.protocols.outside import absolute
from aforesaid.sim import (
    Experiment,
    Outcome,
    Paper,
    Scenario,
    SimulationFailed,
    experiment_of,
    run_name,
    simulate,
    simulate_into,
)
from aforesaid.sim.keys import put, setting
from aforesaid.sim.network import Counters
from aforesaid.sim.parts import nanoseconds
from aforesaid.sim.scenario import read_file
from aforesaid.storage import Place, place
from aforesaid.trace.parquet import ParquetSink

FRAMES_TOLD = ("sent", "arrived", "lost", "duplicated", "held", "overtook", "control")
OWN_INVARIANT = "an invariant of the protocol's own"


def simulate_once(
    path: str,
    out: str,
    run: str | None,
    seed: int | None,
    named: str | None,
    settings: Sequence[str],
    receipts: bool | None,
    force: bool,
    as_json: bool,
) -> int:
    scenario = _scenario(path, seed, named, settings)
    run = run or run_name(scenario)
    if isinstance(scenario, Paper):
        from aforesaid.cli.simulate_fleet import simulate_fleet_once

        return simulate_fleet_once(scenario, out, run, force, as_json)
    total = nanoseconds(scenario.duration_ms)
    with ParquetSink(out, run, overwrite=force) as sink, show.progress("simulating", total) as move:

        def tell(now: int, events: int, deliveries: int) -> None:
            move(completed=min(now, total), note=f"{deliveries:,} deliveries")

        began = time.perf_counter()
        outcome = simulate_into(sink, scenario, run, progress=tell, receipts=receipts)
        seconds = time.perf_counter() - began
    where = place(out) / f"run={run}"
    if as_json:
        show.print_json(
            {
                **_facts(outcome),
                "seconds": round(seconds, 3),
                "played_s": round(outcome.played_s, 3),
                "trace": str(where),
            }
        )
    else:
        _print(scenario, outcome, seconds, where)
    return EXIT_KEPT if outcome.run.ended == "drained" else EXIT_UNKNOWN


def simulate_seeds(
    path: str,
    out: str,
    seed: int | None,
    named: str | None,
    settings: Sequence[str],
    seeds: int,
    as_json: bool,
) -> int:
    first = _scenario(path, seed, named, settings)
    values: dict[str, int] = {"kept": 0, "violated": 0, "unknown": 0}
    failures: list[dict[str, Any]] = []
    deliveries, broken = 0, list[str]()
    with show.progress("simulating and judging", seeds) as move:
        for done in range(seeds):
            scenario = msgspec.structs.replace(first, seed=first.seed + done)
            value, failure, unpromised, delivered = _judged(scenario)
            values[value] += 1
            deliveries += delivered
            broken += unpromised
            if failure:
                failures.append({"seed": scenario.seed, "verdict": value, **failure})
            move(completed=done + 1, note=f"{values['violated']} violated")
    replay = ["aforesaid", "simulate", path, "--out", out]
    replay += ["--algorithm", named] if named else []
    replay += [word for text in settings for word in ("--set", text)]
    for failure in failures:
        failure["replay"] = shlex.join([*replay, "--seed", str(failure["seed"])])
    if as_json:
        told = {"seeds": seeds, "deliveries": deliveries, **values, "unpromised": Counter(broken)}
        show.print_json({**told, "failures": failures})
    else:
        _print_seeds(first, seeds, deliveries, values, failures)
        if broken:
            show.out.print(f"not promised, not kept: {show.in_runs(broken)}")
    return EXIT_OF_VALUE[worst([value for value, count in values.items() if count])]


def _scenario(path: str, seed: int | None, named: str | None, settings: Sequence[str]) -> Experiment:
    """What a file describes, with what the command line says instead; paths there are relative to here."""

    def changed(data: dict[str, Any]) -> Experiment:
        if isinstance(data.get("sweep"), dict):
            raise Misuse(f"this is a grid of scenarios; run it by: aforesaid sweep {path}")
        for text in settings:
            key, value = setting(text)
            put(data, key, value, f"--set {key}")
        if seed is not None:
            data["seed"] = seed
        if "engine" in data:
            return experiment_of({**data, **({"algorithm": named} if named else {})})
        if named is not None:
            data["algorithm"] = named
            _has_options(named, data.get("options"))
        if isinstance(data.get("algorithm"), str):
            data["algorithm"] = absolute(data["algorithm"])
        return experiment_of(data)

    return read_file(place(path), "scenario", changed)


def _has_options(named: str, options: Any) -> None:
    """The options of a file are its algorithm's; another one takes only those that it has, too."""
    entry = algorithm(named)
    known = entry.options.__struct_fields__
    foreign = [name for name in options or {} if name not in known]
    if foreign:
        raise Misuse(
            f"options.{foreign[0]}: {entry.name} has no such option; it has: {', '.join(known) or 'none'}; "
            "--set options={} leaves all options out"
        )


def _facts(outcome: Outcome) -> dict[str, Any]:
    counters = outcome.counters
    return {
        "run": outcome.run.run,
        "algorithm": outcome.run.algorithm,
        "seed": outcome.run.seed,
        "ended": outcome.run.ended,
        "virtual_ms": outcome.ended_ns / MILLISECOND,
        "events": outcome.events,
        "messages": outcome.messages,
        "deliveries": outcome.deliveries,
        "frames": {name: getattr(counters, name) for name in FRAMES_TOLD},
        "control_kinds": counters.control_kinds,
        "put_off": counters.refused,
        "isolated": counters.evicted,
        "faults": counters.faults,
        "held_at_end": outcome.held,
        "digest": outcome.run.digest,
    }


def _print(scenario: Scenario, outcome: Outcome, seconds: float, where: Place) -> None:
    counters = outcome.counters
    faults = ", ".join(f"{count} {name}" for name, count in counters.faults.items()) or "none"
    held = sum(outcome.held.values())
    still = ", ".join(f"{value} {name}" for name, value in outcome.held.items() if value)
    rate = outcome.events / outcome.played_s if outcome.played_s else 0.0
    show.print_facts(
        f"{scenario.label}, {scenario.processes} processes, seed {scenario.seed}",
        [
            ("messages", f"{outcome.messages:,} broadcast, {outcome.deliveries:,} deliveries"),
            (
                "network",
                f"{counters.sent:,} frames: {counters.lost:,} lost, {counters.duplicated:,} duplicated, "
                f"{counters.overtook:,} overtook an earlier one, {counters.held:,} held by a partition",
            ),
            *_of_overlays(counters),
            ("faults", faults),
            ("ended", f"{outcome.run.ended} at {outcome.ended_ns / 1e9:,.3f} s of virtual time"),
            ("buffers at the end", still if held else "all empty"),
            (
                "took",
                f"{outcome.played_s:.2f} s for {outcome.events:,} events ({rate:,.0f} per second); "
                f"{seconds:.2f} s with set-up and the files of the trace",
            ),
            ("digest", outcome.run.digest),
            ("trace", str(where)),
        ],
    )


def _of_overlays(counters: Counters) -> list[tuple[str, str]]:
    """What only some algorithms have: frames about links, broadcasts put off, processes without links."""
    kinds = ", ".join(f"{count:,} {kind}" for kind, count in sorted(counters.control_kinds.items()))
    facts = [
        ("control", counters.control, f"{counters.control:,} of these frames: {kinds}"),
        ("put off", counters.refused, f"{counters.refused:,} broadcasts, tried again: a queue was full"),
        ("isolated", counters.evicted, f"{counters.evicted:,} times a process lost its links and began anew"),
    ]
    return [(name, text) for name, count, text in facts if count]


def _judged(scenario: Experiment) -> tuple[str, dict[str, Any], list[str], int]:
    """One seed: the verdict, what was wrong, what was broken that nobody promised, how much was delivered. A
    crash of ours stops no other seed."""
    if isinstance(scenario, Paper):
        from aforesaid.cli.simulate_fleet import judged_fleet

        return judged_fleet(scenario)
    try:
        outcome, trace = simulate(scenario)
    except SimulationFailed as error:
        return "violated", {"property": OWN_INVARIANT, "sentence": str(error)}, [], 0
    report = check(trace)
    return report.value(), first_failure(report), report.broken_unpromised(), outcome.deliveries


def first_failure(report: Report) -> dict[str, Any]:
    for verdict in report.required_verdicts():
        if verdict.value != "kept":
            sentence = verdict.witnesses[0].sentence if verdict.witnesses else verdict.note
            return {"property": verdict.property, "sentence": sentence}
    return {}


def _print_seeds(
    scenario: Experiment, seeds: int, deliveries: int, values: dict[str, int], failures: list[dict[str, Any]]
) -> None:
    show.out.print(
        f"{scenario.label}: {show.counted(seeds, 'seed')} from {scenario.seed}, "
        f"{deliveries:,} deliveries judged: "
        f"{values['kept']:,} kept, {values['violated']:,} violated, {values['unknown']:,} unknown"
    )
    for failure in failures[:5]:
        show.out.print(f"\nseed {failure['seed']} {failure['verdict']}: {failure.get('property')}")
        show.out.print(f"  {failure.get('sentence')}")
        show.out.print(f"  replay: {failure['replay']}")
    if len(failures) > 5:
        show.out.print(f"\n... and {len(failures) - 5:,} more seeds")
