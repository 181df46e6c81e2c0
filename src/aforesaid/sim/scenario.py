"""A scenario: one typed value that says everything about a run. Same scenario, same trace.

It is read from TOML, or from the JSON that a trace has of it (`Scenario.from_file`), so that any run can be
run again. A run has two phases: the *fault phase* of `duration_ms`, in which the workload speaks and the
network misbehaves; then the *drain phase*, in which everything heals, nobody new speaks, and whatever is owed
must arrive.
"""

import json
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

from msgspec import Meta, field

from aforesaid.core import Misuse
from aforesaid.protocols.algorithm import Need
from aforesaid.protocols.catalog import CATALOG, Algorithm, algorithm
from aforesaid.protocols.needs import Given, demand
from aforesaid.protocols.outside import absolute
from aforesaid.sim import parts
from aforesaid.sim.explain import Described
from aforesaid.sim.parts import Count, Milliseconds

if TYPE_CHECKING:
    from aforesaid.storage import Place

_Described = TypeVar("_Described")

REMEDIES = {
    Need.RELIABLE_LINKS: "set network.retransmit = true, or no loss",
    Need.FIFO_LINKS: "set network.fifo = true, without duplication or retransmit",
}
"""How a scenario gives an algorithm what it needs."""


class Scenario(Described, frozen=True):
    """One run, entirely."""

    algorithm: str
    """A name of the catalog, or a reference to one from outside (`protocols.outside`)."""
    processes: Annotated[int, Meta(ge=1, le=100_000)]
    seed: Annotated[int, Meta(ge=0, le=2**63 - 1)] = 1
    duration_ms: Annotated[float, Meta(gt=0)] = 1_000.0
    drain_ms: Annotated[float, Meta(gt=0)] = 600_000.0
    """The drain phase is cut after this; the run then counts as cut short."""
    events_max: Count = 1_000_000_000
    sample_ms: Milliseconds = 0
    """Measure buffers and traffic this often; 0: never."""
    receipts: bool | None = None
    """Write down when messages came and what they waited for; null: in runs of up to a million deliveries."""
    options: dict[str, Any] = field(default_factory=dict)
    """The algorithm's own settings."""
    network: parts.Network = field(default_factory=parts.Network)
    detector: parts.Detector = field(default_factory=parts.Detector)
    workload: list[parts.Workload] = field(default_factory=lambda: [parts.Rate(per_second=5.0)])
    fault: list[parts.Fault] = field(default_factory=list)

    @property
    def label(self) -> str:
        """What its runs are called by: the algorithm's own name, wherever that comes from."""
        return algorithm(self.algorithm).name

    @property
    def names(self) -> tuple[str, ...]:
        """The founding processes."""
        return tuple(f"p{number}" for number in range(self.processes))

    @property
    def crashes(self) -> int:
        """How many processes may crash."""
        return sum(_crashes(fault, self.processes) for fault in self.fault)

    @staticmethod
    def from_file(path: Path) -> "Scenario":
        """Read and validate a scenario file; every error is one line that names the file and the key."""
        return read_file(path, "scenario", Scenario.of)

    def validate(self) -> None:
        """Check what types cannot: names, orders of times, and the algorithm's needs."""
        entry = algorithm(self.algorithm)
        entry.validate(self.options)
        _validate_delay(self.network.delay)
        for workload in self.workload:
            where = f"workload {workload.__struct_config__.tag}"
            self._known(_named(workload), where)
            _validate_span(workload, where)
        for fault in self.fault:
            where = f"fault {fault.__struct_config__.tag}"
            self._known(_named(fault), where)
            _validate_span(fault, where)
            _validate_fault(fault, where)
        self._provides(entry)

    def _known(self, names: list[str], where: str) -> None:
        for name in names:
            if name not in self.names and name != "any":
                last = self.names[-1]
                raise Misuse(f"{where} names {name!r}; the processes are p0 to {last}")

    def _provides(self, entry: Algorithm) -> None:
        demand(entry, self._given(), REMEDIES)
        for workload in self.workload:
            fan_out = getattr(workload, "fan_out", 1)
            if entry.unicast and fan_out > 1:
                raise Misuse(f"{entry.name} sends to one process at a time, but fan_out is {fan_out}")
        rewired = [fault for fault in self.fault if isinstance(fault, parts.Rewire | parts.Flap)]
        if rewired and not entry.linked:
            kind = rewired[0].__struct_config__.tag
            linked = ", ".join(other.name for other in CATALOG.values() if other.linked)
            raise Misuse(f"fault {kind}: {entry.name} has no links that open and close; these have: {linked}")
        if self.network.retransmit and self._suspects:
            raise Misuse("network.retransmit gives up on a suspected peer: no false suspicion with it")

    @property
    def _suspects(self) -> bool:
        """Whether the detector errs."""
        return any(isinstance(fault, parts.Suspect) for fault in self.fault)

    def _given(self) -> Given:
        network = self.network
        loses = network.loss > 0 or any(
            isinstance(fault, parts.Partition) and fault.frames == "lost" for fault in self.fault
        )
        return Given(
            processes=self.processes,
            crashes=self.crashes,
            losses=loses and not network.retransmit,
            fifo=network.fifo and not network.retransmit and network.duplication == 0,
            fixed=not any(map(_moves, self.fault)),
            detector=not self._suspects,
        )


def _crashes(fault: parts.Fault, processes: int) -> int:
    """How many processes a fault may crash."""
    if isinstance(fault, parts.Crash):
        return 1 if fault.share is None else round(fault.share * processes)
    return processes if isinstance(fault, parts.Churn) and fault.crashes_per_second else 0


def _moves(fault: parts.Fault) -> bool:
    """True for a fault by which processes join or leave."""
    if isinstance(fault, parts.Churn):
        return fault.joins_per_second > 0 or fault.leaves_per_second > 0
    return isinstance(fault, parts.Join | parts.Leave)


def read_file(path: "Place", kind: str, of: Callable[[dict[str, Any]], _Described]) -> _Described:
    """What a file describes; every error is one line that names it. An algorithm's path is relative to it."""
    parent = path.parent
    data = _beside(parent if isinstance(parent, Path) else Path(), _read_table(path, kind))
    try:
        return of(data)
    except Misuse as error:
        raise Misuse(f"{path}: {error}") from error


def _read_table(path: "Place", kind: str) -> dict[str, Any]:
    """The plain data of a file: JSON if its name ends so (as a trace has its scenario), else TOML."""
    language = "JSON" if path.name.endswith(".json") else "TOML"
    load: Callable[[str], Any] = json.loads if language == "JSON" else tomllib.loads
    try:
        data = load(path.read_bytes().decode())
    except OSError as error:
        raise Misuse(f"cannot read {kind} {path}: {error.strerror or error}") from error
    except ValueError as error:
        raise Misuse(f"{path} is not {language}: {error}") from error
    if not isinstance(data, dict):
        raise Misuse(f"{path} is not a {kind}: expected a table of keys and values")
    return data


def _beside(root: Path, data: dict[str, Any]) -> dict[str, Any]:
    """The same with absolute references: to the algorithm, and to those of a grid."""
    if isinstance(data.get("sweep"), dict):
        data = {**data, "sweep": _beside(root, data["sweep"])}
    named = data.get("algorithm")
    if isinstance(named, str):
        data["algorithm"] = absolute(named, root)
    elif isinstance(named, list):
        data["algorithm"] = [absolute(each, root) if isinstance(each, str) else each for each in named]
    return data


def _named(part: parts.Workload | parts.Fault) -> list[str]:
    """The processes a part of a scenario names."""
    lists = [getattr(part, key, []) for key in ("processes", "hot", "stages")] + getattr(part, "groups", [])
    named = [name for listed in lists for name in listed]
    return named + [getattr(part, key) for key in ("process", "suspected", "contact") if hasattr(part, key)]


def _validate_delay(delay: parts.Delay) -> None:
    if isinstance(delay, parts.Uniform) and delay.max_ms < delay.min_ms:
        raise Misuse(f"network.delay: max_ms {delay.max_ms:g} is below min_ms {delay.min_ms:g}")
    if isinstance(delay, parts.PerLink):
        _validate_delay(delay.spread)
    if isinstance(delay, parts.Schedule):
        times = [at for at, _ in delay.points]
        if times != sorted(set(times)):
            raise Misuse("network.delay: the times of a schedule's points must increase")


def _validate_span(part: parts.Workload | parts.Fault, where: str) -> None:
    """A part that lasts from one time until another."""
    from_ms, until_ms = getattr(part, "from_ms", 0), getattr(part, "until_ms", None)
    if until_ms is not None and until_ms <= from_ms:
        raise Misuse(f"{where}: until_ms {until_ms:g} is not after from_ms {from_ms:g}")


def _validate_fault(fault: parts.Fault, where: str) -> None:
    if isinstance(fault, parts.Partition):
        names = [name for group in fault.groups for name in group]
        if len(set(names)) < len(names):
            raise Misuse("fault partition: a process stands in two groups")
    if isinstance(fault, parts.Crash) and (fault.at_ms is None) == (fault.after_deliveries is None):
        raise Misuse("fault crash: give either at_ms or after_deliveries")
    if (
        isinstance(fault, parts.Crash)
        and fault.share is not None
        and (fault.at_ms is None or fault.process != "any")
    ):
        raise Misuse("fault crash: share goes with at_ms, and the seed chooses the processes")
    if isinstance(fault, parts.Churn) and not (_moves(fault) or fault.crashes_per_second):
        raise Misuse(
            "fault churn: give a rate: joins_per_second, leaves_per_second or crashes_per_second, above 0"
        )
    if isinstance(fault, parts.Rewire) and not fault.open + fault.close + fault.reopen + fault.flap:
        raise Misuse("fault rewire: one of open, close, reopen and flap must be above 0")
    at_ms = getattr(fault, "at_ms", None)
    if at_ms is not None:
        _validate_moment(at_ms, where)


def _validate_moment(at_ms: parts.Moment, where: str) -> None:
    times = at_ms if isinstance(at_ms, list) else [at_ms, at_ms]
    if len(times) != 2 or not 0 <= times[0] <= times[1]:
        raise Misuse(f"{where}: at_ms must be a time from 0 on, or [earliest, latest]; it is {at_ms}")
