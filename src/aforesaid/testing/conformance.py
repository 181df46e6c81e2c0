"""What an entry claims, put to the test: fault worlds, every schedule of a small scope, copies, bytes.

The kit reads needs and promises, so that nothing is asked of an algorithm that it does not promise, and no
fault is left out that it does not rule out. Passing is no proof, save at the explored scopes. A failure is
told with its seed and with a command that shows it again.
"""

import os
import re
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import msgspec

from aforesaid.check import PROPERTIES, check
from aforesaid.core import AforesaidError, declaration_of
from aforesaid.core.frames import UNDECLARED
from aforesaid.explore import Scope, explore
from aforesaid.protocols.algorithm import Algorithm, Need, Setup
from aforesaid.protocols.catalog import CATALOG
from aforesaid.protocols.outside import NAME, lent
from aforesaid.sim import Outcome, Scenario, SimulationFailed, simulate
from aforesaid.testing.watched import Blindfolded, Copied, Watch, Wired
from aforesaid.testing.worlds import CALM, scopes, worlds
from aforesaid.trace import MemoryTrace
from aforesaid.wire import Codec, shapes_of

HASH_SEEDS = ("1", "2")
CHILD_S_MAX = 120.0
_CHILD = """
import json, sys
from aforesaid.sim import Scenario, simulate
for line in sys.stdin:
    print(simulate(Scenario.of(json.loads(line)))[0].run.digest)
"""


class NonConforming(AforesaidError, AssertionError):
    """An algorithm does not do what its entry, or the contract of its port, says."""

    def __init__(self, text: str, seed: int | None = None, replay: str = "") -> None:
        super().__init__("\n".join(filter(None, (text, replay and f"replay: {replay}"))))
        self.seed = seed
        self.replay = replay


@dataclass(frozen=True)
class Part:
    """One thing that is tried; calling it raises `NonConforming` if it fails."""

    title: str
    run: Callable[[], None]

    def __call__(self) -> None:
        self.run()

    def __str__(self) -> str:
        return self.title


def conforms(
    entry: Algorithm, seeds: int = 20, states_max: int = 20_000, timers: int = 0, keeps: Collection[str] = ()
) -> None:
    """Run an algorithm through everything; raises `NonConforming` at the first thing that fails.

    Each world is run with `seeds` seeds. An exploration is given up after `states_max` states; `timers` may
    fire in each. Gauges named in `keeps` need not be zero at rest, where nobody has crashed.
    """
    for part in parts(entry, seeds, states_max, timers, keeps):
        part()


def parts(
    entry: Algorithm, seeds: int = 20, states_max: int = 20_000, timers: int = 0, keeps: Collection[str] = ()
) -> list[Part]:
    """The same in parts, for `pytest.mark.parametrize("part", parts(ENTRY), ids=str)`."""
    kit = _Kit(entry, seeds, states_max, frozenset(keeps))
    return [
        Part("its entry", kit.declared),
        Part("frames", kit.frames),
        Part("copies", kit.copies),
        Part("opaque payloads", kit.opaque),
        *(
            Part(f"explored: {name}", kit.explored(name, scope))
            for name, scope in scopes(entry, timers).items()
        ),
        *(Part(f"simulated: {name}", kit.simulated(name)) for name in worlds(entry)),
        Part("other hash seeds", kit.hashed),
    ]


class _Kit:
    """One algorithm, and how it is tried."""

    def __init__(self, entry: Algorithm, seeds: int, states_max: int, keeps: frozenset[str]) -> None:
        self.entry, self.seeds, self.states_max, self.keeps = entry, seeds, states_max, keeps
        self.worlds = worlds(entry)

    def declared(self) -> None:
        entry = self.entry
        wrong = [
            *([] if NAME.fullmatch(entry.name) else [f"the name {entry.name!r} is not a-z, 0-9 and _"]),
            *([] if entry.version or entry.name in CATALOG else ["it has no version"]),
            *(f"nothing can need {need!r}" for need in entry.needs if need not in set(Need)),
            *(f"nothing can promise {name!r}" for name in entry.promises if name not in PROPERTIES),
            *(f"{kind!r} is not declared: write @frame()" for kind in entry.frames if not _is_declared(kind)),
        ]
        try:
            if entry.frames:
                self._codec()
            entry.build(Setup("p0", ("p0", "p1")))
        except Exception as error:
            wrong.append(f"{type(error).__name__}: {error}")
        if wrong:
            raise NonConforming(f"{entry.name}: {'; '.join(wrong)}")

    def frames(self) -> None:
        """Declared, hashable, and the same after a round trip on the wire where there is a wire format."""
        codec = self._codec() if self.entry.frames else None
        self._same("frames that were bytes", lambda machine: Wired(machine, codec), "frames")

    def copies(self) -> None:
        self._same("copies of its states", Copied, "copies")

    def opaque(self) -> None:
        self._same("payloads that it cannot see", Blindfolded, "opaque payloads")

    def hashed(self) -> None:
        """Whoever iterates over a set of names does another thing with other hashes."""
        reference = reference_of(self.entry)
        if reference is None:
            return
        runs = [msgspec.structs.replace(run, algorithm=reference) for run in self._some_runs("")]
        told = [_digests(runs, hash_seed) for hash_seed in HASH_SEEDS]
        for run, one, other in zip(runs, *told, strict=True):
            if one != other:
                raise self._failed(
                    "does another thing with another PYTHONHASHSEED: it iterates over a set",
                    run.seed,
                    self._again("other hash seeds"),
                )

    def simulated(self, world: str) -> Callable[[], None]:
        def run() -> None:
            for seed in range(1, self.seeds + 1):
                with lent(self.entry) as reference:
                    self._judge(world, self._scenario(reference, world, seed))

        return run

    def explored(self, name: str, scope: Scope) -> Callable[[], None]:
        def run() -> None:
            found = explore(self.entry, scope, states_max=self.states_max)
            if found.schedule is None or found.violation is None:
                return
            schedule = replace(found.schedule, algorithm=reference_of(self.entry) or self.entry.name)
            file = _kept(f"{self.entry.name}-{name}", schedule.to_json())
            replay = shlex.join(["aforesaid", "explore", schedule.algorithm, "--replay", str(file)])
            raise self._failed(f"breaks its word in the schedule\n{found.violation}", None, replay)

        return run

    def _judge(self, world: str, scenario: Scenario) -> None:
        outcome, trace = self._run(scenario, world)
        report = check(trace)
        fault = ""
        for verdict in report.required_verdicts():
            if verdict.value == "violated":
                fault = f"breaks {verdict.property}: {verdict.witnesses[0].sentence}"
                break
        held = {name: count for name, count in outcome.held.items() if count and name not in self.keeps}
        if not fault and held and not scenario.crashes:
            fault = f"holds {', '.join(f'{n} {name}' for name, n in held.items())} at rest"
        if fault:
            how = ("--seeds", "1") if "breaks" in fault else ("--force",)
            replay = self._simulate(scenario, world, *how)
            raise self._failed(f"{fault} (world: {world})", scenario.seed, replay)

    def _same(self, how: str, watch: Watch, part: str) -> None:
        """It does with a watcher what it does without, and what it did the time before."""
        with lent(self.entry) as reference:
            for scenario in self._some_runs(reference):
                again = self._again(part)
                digest = self._run(scenario, part)[0].run.digest
                if self._run(scenario, part)[0].run.digest != digest:
                    raise self._failed("does another thing the second time", scenario.seed, again)
                watched = self._run(scenario, part, lambda setup: watch(self.entry.build(setup)))
                if watched[0].run.digest != digest:
                    raise self._failed(f"does another thing with {how}", scenario.seed, again)

    def _some_runs(self, reference: str) -> Iterator[Scenario]:
        for world in (CALM, *(name for name in ("duplication", "crash") if name in self.worlds)):
            yield self._scenario(reference, world, 1)

    def _scenario(self, reference: str, world: str, seed: int) -> Scenario:
        plain = {"algorithm": reference, "seed": seed, **self.worlds[world]}
        return msgspec.convert(plain, Scenario)

    def _run(
        self, scenario: Scenario, part: str, build: Callable[[Setup], Any] | None = None
    ) -> tuple[Outcome, MemoryTrace]:
        try:
            outcome, trace = simulate(scenario, build=build)
        except SimulationFailed as error:
            cause = error.__cause__
            told = str(cause) if isinstance(cause, AforesaidError) else f"raises {cause!r}"
            replay = self._simulate(scenario, part, "--seeds", "1") if build is None else self._again(part)
            raise self._failed(told, scenario.seed, replay) from error
        if outcome.run.ended != "drained":
            told = f"does not come to rest: after {outcome.events:,} events something is still under way"
            raise self._failed(told, scenario.seed, self._simulate(scenario, part, "--force"))
        return outcome, trace

    def _codec(self) -> Codec:
        """Of its own frames: those of links below it are not its business."""
        needs = tuple(need for need in self.entry.needs if need != Need.RELIABLE_LINKS)
        group = tuple(f"p{rank}" for rank in range(4)) if Need.FIXED_GROUP in needs else ()
        return Codec(shapes_of(replace(self.entry, needs=needs), group))

    def _failed(self, text: str, seed: int | None, replay: str) -> NonConforming:
        with_seed = "" if seed is None else f", seed {seed}"
        return NonConforming(f"{self.entry.name} {self.entry.version}{with_seed}: {text}", seed, replay)

    def _simulate(self, scenario: Scenario, world: str, *how: str) -> str:
        reference = reference_of(self.entry) or self.entry.name
        whole = msgspec.structs.replace(scenario, algorithm=reference)
        file = _kept(f"{self.entry.name}-{world}-{scenario.seed}", whole.to_json())
        return shlex.join(["aforesaid", "simulate", str(file), *how])

    def _again(self, part: str) -> str:
        reference = reference_of(self.entry) or self.entry.name
        return shlex.join(["python", "-m", "aforesaid.testing", reference, part])


def reference_of(entry: Algorithm) -> str | None:
    """How an entry is named on the command line; None if it stands in no module."""
    if CATALOG.get(entry.name) is entry:
        return entry.name
    module = sys.modules.get(entry.make.__module__)
    names = [name for name, value in vars(module).items() if value is entry] if module else []
    if not names or module is None or module.__file__ is None:
        return None
    top = "." not in module.__name__ and Path(module.__file__).suffix == ".py"
    return f"{module.__file__ if top else module.__name__}:{names[0]}"


def _is_declared(kind: Any) -> bool:
    return declaration_of(getattr(kind, "__origin__", kind)) is not UNDECLARED


def _kept(name: str, text: str) -> Path:
    """A file that a replay command names."""
    directory = Path(tempfile.gettempdir()) / "aforesaid-conformance"
    directory.mkdir(exist_ok=True)
    file = directory / f"{re.sub(r'[^a-z0-9_-]+', '-', name)}.json"
    file.write_text(text + "\n")
    return file


def _digests(runs: list[Scenario], hash_seed: str) -> list[str]:
    environment = {
        **os.environ,
        "PYTHONHASHSEED": hash_seed,
        "PYTHONPATH": os.pathsep.join(filter(None, sys.path)),
    }
    done = subprocess.run(
        [sys.executable, "-c", _CHILD],
        input="".join(f"{run.to_json()}\n" for run in runs),
        env=environment,
        capture_output=True,
        text=True,
        timeout=CHILD_S_MAX,
        check=False,
    )
    if done.returncode:
        raise NonConforming(f"a process of its own cannot run it: {done.stderr.strip().splitlines()[-1]}")
    return done.stdout.split()
