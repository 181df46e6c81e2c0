"""The judge against a brute-force judge, on thousands of small random traces.

Value and exact set of violations must agree for every property, and every kind of fault must have been there.
"""

from collections import Counter
from random import Random

import pytest

from aforesaid.check import PROPERTIES, Report, Verdict, check, history
from aforesaid.trace import MemoryTrace
from property.check.brute_judge import Brute, Judgement, Pairs
from support.random_traces import CALLING, SPOILERS, Scheduler, random_trace
from support.scale import scaled

BLOCKS = scaled(3, 12)
FEW = (history.FEW, 0, 3)
"""Which processes have to do with few of a run's messages: as it is, which is none here; all; some."""
BLOCK_SEEDS = 1_500
HONEST_SEEDS = scaled(800, 2_000)


@pytest.mark.parametrize("block", range(BLOCKS))
def test_agrees_with_brute_force(block: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(history, "FEW", FEW[block % len(FEW)])
    seen: Counter[str] = Counter()
    for seed in range(block * BLOCK_SEEDS, (block + 1) * BLOCK_SEEDS):
        trace, done = random_trace(seed)
        try:
            brute = Brute(trace)
            said = brute.judge()
            report = check(trace, tuple(PROPERTIES), witnesses_max=None)
            compare(report, said)
            check_witnesses(trace, report, brute)
        except Exception as error:
            raise AssertionError(f"seed {seed}, {done}: {error}") from error
        seen.update(done)
        seen.update(f"{name} {value}" for name, value in said.values.items())
        seen.update(f"no_foresight {kind}" for kind, *_ in said.violations["no_foresight"])
        seen.update(f"recorded {kind}" for kind, *_ in said.violations["recorded"])
        clock = trace.run.clock
        seen.update(f"stability {kind} by a {clock} clock" for kind, *_ in said.violations["stability"])
        if said.violations["causal"] and said.violations["recorded"]:
            seen["causal under lies"] += 1
    require_all_kinds(seen)


def compare(report: Report, said: Judgement) -> None:
    for name in PROPERTIES:
        verdict = report.verdicts[name]
        found = pairs(verdict)
        assert verdict.value == said.values[name], (name, verdict, said.violations[name])
        assert found == said.violations[name], (name, found ^ said.violations[name])
        assert verdict.violations == len(found) == len(verdict.witnesses), (name, verdict)
        assert bool(verdict.note) == (verdict.value == "unknown"), (name, verdict)


def pairs(verdict: Verdict) -> Pairs:
    """A verdict's violations in the brute-force judge's terms."""
    found: Pairs = set()
    for witness in verdict.witnesses:
        place = (witness.process_index, witness.message_index)
        if verdict.property in ("no_foresight", "stability"):
            found.add((witness.details["kind"], *place))
        elif verdict.property == "recorded":
            found.add((witness.details["kind"], *place, witness.details["predecessor_index"]))
        else:
            found.add(place)
    return found


def check_witnesses(trace: MemoryTrace, report: Report, brute: Brute) -> None:
    """What a witness says about positions and predecessors is so."""
    for verdict in report.verdicts.values():
        for witness in verdict.witnesses:
            process, message = witness.process_index, witness.message_index
            if witness.position is not None:
                assert trace.log(process).message[witness.position] == message, witness
            if verdict.property == "causal":
                predecessor = witness.details["predecessor_index"]
                assert isinstance(predecessor, int)
                assert (process, message, predecessor) in brute.disordered, witness
                assert witness.details["predecessor_position"] == brute.first[process].get(predecessor)
            if verdict.property == "stability" and witness.details["kind"] == "early":
                late = witness.details["late_index"]
                assert isinstance(late, int)
                assert (brute.fate[late], brute.owes(late, message)) == ("alive", True), witness
                place = brute.first[late].get(message)
                if trace.run.clock == "global":
                    at = None if place is None else brute.times[late][place]
                    assert witness.details["delivered_ns"] == at, witness
                    assert at is None or at > witness.details["called_ns"], witness
                else:
                    assert place is None, witness


def require_all_kinds(seen: Counter[str]) -> None:
    expected = [spoil.__name__ for spoil in SPOILERS]
    expected += ["multicast", "broadcast", "reckless", "record_truly", "causal under lies"]
    expected += [f"calls {how}" for how in CALLING]
    expected += [f"{name} {value}" for name in PROPERTIES for value in ("kept", "violated")]
    expected += [
        f"{name} unknown"
        for name in PROPERTIES
        if name not in ("no_duplicate", "no_foresight", "audience", "recorded")
    ]
    expected += [f"no_foresight {kind}" for kind in ("own", "clock", "cycle")]
    expected += [f"recorded {kind}" for kind in ("false", "missing")]
    expected += [
        f"stability {kind} by a {clock} clock"
        for kind in ("created", "twice", "own", "early", "missing")
        for clock in ("global", "local")
    ]
    rare = {kind: seen[kind] for kind in expected if seen[kind] < BLOCK_SEEDS // 150}
    assert not rare, f"too rare to mean anything: {rare}"


def test_honest_recorder_is_never_accused() -> None:
    """What the Tracer records agrees with the logs whatever happens, and in a good run all is kept."""
    reckless_faults = 0
    for seed in range(HONEST_SEEDS):
        random = Random(seed)
        reckless = seed % 2 == 0
        trace = Scheduler(random, multicast=seed % 4 < 2, reckless=reckless).run()
        report = check(trace)
        assert report.verdicts["recorded"].value == "kept", f"seed {seed}: {report.verdicts['recorded']}"
        assert report.verdicts["no_foresight"].value == "kept", f"seed {seed}"
        if reckless:
            reckless_faults += report.verdicts["causal"].value == "violated"
        else:
            # A joiner that nobody admitted has no known fate.
            certain = trace.run.ended == "drained" and "unknown" not in trace.processes.fate
            allowed = ("kept",) if certain else ("kept", "unknown")
            value = report.value([*report.required, "stability"])
            assert value in allowed, f"seed {seed}: {report.to_dict()}"
    assert reckless_faults > HONEST_SEEDS // 20
