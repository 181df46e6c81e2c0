"""A scenario: one typed value that says everything about a run. Same scenario, same trace.

It is read from TOML (`Scenario.from_toml`) and written into the trace as JSON, so that any run can be run
again. Durations end in `_ms`. A run has two phases: the *fault phase* of `duration_ms`, in which the workload
speaks and the network misbehaves; then the *drain phase*, in which everything heals, nobody new speaks, and
whatever is owed must arrive.
"""

import tomllib
from pathlib import Path
from typing import Annotated, Any, Literal, TypeAlias

import msgspec
from msgspec import Meta, Struct, field

from aforesaid.core import MILLISECOND, Misuse, Nanoseconds
from aforesaid.protocols.catalog import (
    FIFO_LINKS,
    FIXED_GROUP,
    MAJORITY,
    NO_CRASH,
    RELIABLE_LINKS,
    Algorithm,
    algorithm,
)

Milliseconds = Annotated[float, Meta(ge=0)]
Probability = Annotated[float, Meta(ge=0, lt=1)]
PositiveRate = Annotated[float, Meta(gt=0)]
Count = Annotated[int, Meta(ge=1)]
Moment: TypeAlias = float | list[float]
"""A time, or [earliest, latest]: then the seed chooses.

Checked by `_validate_moment`: a constrained float beside a tuple in one union crashes msgspec 0.20 to 0.22
(Python 3.11) at the next garbage collection.
"""


class Value(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A part of a scenario: unknown keys are errors."""


class Kind(Value, frozen=True, tag_field="kind"):
    """One of several kinds of a part: the key `kind` says which."""


class Constant(Kind, frozen=True, tag="constant"):
    """Every frame takes the same time."""

    ms: Milliseconds


class Uniform(Kind, frozen=True, tag="uniform"):
    """Any time between the two is as likely."""

    min_ms: Milliseconds
    max_ms: Milliseconds


class LogNormal(Kind, frozen=True, tag="lognormal"):
    """Most frames near the median, some much later: what networks look like. Cut at 3.7 sigma."""

    median_ms: Milliseconds
    sigma: Annotated[float, Meta(ge=0, le=3)] = 0.5


class PerLink(Kind, frozen=True, tag="per_link"):
    """Each directed link draws its own fixed delay once, and adds a jitter to each frame."""

    spread: "Constant | Uniform | LogNormal"
    jitter_ms: Milliseconds = 0


class Schedule(Kind, frozen=True, tag="schedule"):
    """One delay for all links that changes over time: straight lines between [at_ms, delay_ms] points."""

    points: Annotated[list[tuple[Milliseconds, Milliseconds]], Meta(min_length=1)]
    jitter_ms: Milliseconds = 0


Delay: TypeAlias = Constant | Uniform | LogNormal | PerLink | Schedule


class Network(Value, frozen=True):
    """What happens to a frame between two processes, in the fault phase."""

    delay: Delay = field(default_factory=lambda: Uniform(min_ms=1, max_ms=20))
    loss: Probability = 0.0
    duplication: Probability = 0.0
    fifo: bool = False
    """True: frames of one link arrive in the order they were sent."""
    retransmit: bool = False
    """True: put perfect links (numbers, acks, resending) between the algorithm and the network."""
    retransmit_ms: Annotated[float, Meta(gt=0)] = 50.0


class Rate(Kind, frozen=True, tag="rate"):
    """Each named process (default: all) speaks at its own rate, independent of what it hears."""

    per_second: PositiveRate
    arrivals: Literal["poisson", "periodic"] = "poisson"
    processes: list[str] = []


class Bursts(Kind, frozen=True, tag="bursts"):
    """Every so often one process, chosen by the seed, says many things at once."""

    every_ms: Annotated[float, Meta(gt=0)]
    size: Count


class HotSpot(Kind, frozen=True, tag="hot_spot"):
    """A few processes say most of everything."""

    per_second: PositiveRate
    hot: list[str]
    share: Annotated[float, Meta(ge=0, le=1)] = 0.8


class Chain(Kind, frozen=True, tag="chain"):
    """Requests and replies: who is asked answers once it has heard, back and forth `depth` times."""

    per_second: PositiveRate
    depth: Count = 4
    think_ms: Milliseconds = 1


class Pipeline(Kind, frozen=True, tag="pipeline"):
    """Items enter at the first stage; each stage speaks once it has heard the stage before it."""

    per_second: PositiveRate
    stages: list[str] = []
    """Processes in order; default: all of them."""


class AllToAll(Kind, frozen=True, tag="all_to_all"):
    """Rounds: every process speaks at the same moment."""

    every_ms: Annotated[float, Meta(gt=0)]


Workload: TypeAlias = Rate | Bursts | HotSpot | Chain | Pipeline | AllToAll


class Crash(Kind, frozen=True, tag="crash"):
    """A process stops for good. Of what it had in flight, an arbitrary part is lost (FIFO: a suffix)."""

    at_ms: Moment | None = None
    after_deliveries: Count | None = None
    """Instead of a time: right after the process's so-many-th delivery."""
    process: str = "any"


class Pause(Kind, frozen=True, tag="pause"):
    """A process stands still and then goes on; nothing is lost."""

    at_ms: Moment
    for_ms: Milliseconds
    process: str = "any"


class Partition(Kind, frozen=True, tag="partition"):
    """No frame passes between groups; one way only if asked: from the first group to the others."""

    from_ms: Milliseconds
    until_ms: Milliseconds
    groups: Annotated[list[list[str]], Meta(min_length=2)]
    one_way: bool = False
    frames: Literal["held", "lost"] = "held"
    """`held`: like TCP, what is sent meanwhile arrives after healing. `lost`: like UDP."""


class Join(Kind, frozen=True, tag="join"):
    """New processes enter, each through one contact."""

    at_ms: Moment
    count: Count = 1
    every_ms: Milliseconds = 0
    contact: str = "any"


class Leave(Kind, frozen=True, tag="leave"):
    """A process says goodbye and is gone."""

    at_ms: Moment
    process: str = "any"


Fault: TypeAlias = Crash | Pause | Partition | Join | Leave


class Detector(Value, frozen=True):
    """The perfect failure detector: every survivor hears of a crash, and never of one that was not."""

    delay_ms: Milliseconds = 100


class Scenario(Value, frozen=True):
    """One run, entirely."""

    algorithm: str
    processes: Annotated[int, Meta(ge=1, le=100_000)]
    seed: int = 1
    duration_ms: Annotated[float, Meta(gt=0)] = 1_000.0
    drain_ms: Annotated[float, Meta(gt=0)] = 600_000.0
    """The drain phase is cut after this; the run then counts as cut short."""
    events_max: Count = 1_000_000_000
    sample_ms: Milliseconds = 0
    """Measure buffers and traffic this often; 0: never."""
    options: dict[str, Any] = {}
    """The algorithm's own settings."""
    network: Network = field(default_factory=Network)
    detector: Detector = field(default_factory=Detector)
    workload: list[Workload] = field(default_factory=lambda: [Rate(per_second=5.0)])
    fault: list[Fault] = []

    @property
    def names(self) -> tuple[str, ...]:
        """The founding processes."""
        return tuple(f"p{number}" for number in range(self.processes))

    @staticmethod
    def from_toml(path: Path) -> "Scenario":
        """Read and validate a scenario file; every error is one line that names the file and the key."""
        try:
            text = path.read_bytes()
        except OSError as error:
            raise Misuse(f"cannot read scenario {path}: {error.strerror}") from error
        try:
            return Scenario.of(tomllib.loads(text.decode()))
        except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
            raise Misuse(f"{path} is not TOML: {error}") from error
        except Misuse as error:
            raise Misuse(f"{path}: {error}") from error

    @staticmethod
    def of(data: dict[str, Any]) -> "Scenario":
        """Validate plain data; every error names the key and what is allowed there."""
        try:
            scenario = msgspec.convert(data, Scenario)
        except msgspec.ValidationError as error:
            raise Misuse(explain(error, data)) from error
        scenario.validate()
        return scenario

    def to_json(self) -> str:
        """The whole scenario, defaults included."""
        return msgspec.json.encode(self).decode()

    def validate(self) -> None:
        """Check what types cannot: names, orders of times, and the algorithm's needs."""
        entry = algorithm(self.algorithm)
        entry.validate(self.options)
        _validate_delay(self.network.delay)
        for workload in self.workload:
            self._known(_named(workload), f"workload {workload.__struct_config__.tag}")
        for fault in self.fault:
            self._known(_named(fault), f"fault {fault.__struct_config__.tag}")
            _validate_fault(fault)
        self._provides(entry)

    def _known(self, names: list[str], where: str) -> None:
        for name in names:
            if name not in self.names and name != "any":
                last = self.names[-1]
                raise Misuse(f"{where} names {name!r}; the processes are p0 to {last}")

    def _provides(self, entry: Algorithm) -> None:
        loses = self.network.loss > 0 or any(
            isinstance(fault, Partition) and fault.frames == "lost" for fault in self.fault
        )
        if RELIABLE_LINKS in entry.needs and loses and not self.network.retransmit:
            raise Misuse(
                f"{entry.name} needs reliable links, but this network loses frames: "
                "set network.retransmit = true, or no loss"
            )
        fifo = self.network.fifo and not self.network.retransmit and self.network.duplication == 0
        if FIFO_LINKS in entry.needs and not fifo:
            raise Misuse(
                f"{entry.name} needs FIFO links: set network.fifo = true, without duplication or retransmit"
            )
        if FIXED_GROUP in entry.needs and any(isinstance(fault, Join | Leave) for fault in self.fault):
            raise Misuse(f"{entry.name} needs a fixed group, but processes join or leave in this scenario")
        crashes = sum(isinstance(fault, Crash) for fault in self.fault)
        if NO_CRASH in entry.needs and crashes:
            raise Misuse(
                f"{entry.name} promises nothing once a process crashes, and one does in this scenario"
            )
        if MAJORITY in entry.needs and 2 * crashes >= self.processes:
            raise Misuse(
                f"{entry.name} needs a correct majority, but {crashes} of {self.processes} may crash here"
            )


def nanoseconds(milliseconds: float) -> Nanoseconds:
    """Whole nanoseconds; the simulator knows nothing finer."""
    return round(milliseconds * MILLISECOND)


def explain(error: msgspec.ValidationError, data: Any) -> str:
    """msgspec's message, with the key in TOML's words and the allowed values where a choice was wrong."""
    text, _, path = str(error).partition(" - at `$")
    keys = path.rstrip("`").lstrip(".").replace("[...]", "")
    where = f"{keys}: " if keys else ""
    for marker, allowed in _CHOICES.items():
        if keys.endswith(marker) and text.startswith("Invalid"):
            return f"{where}{text[0].lower()}{text[1:]}; allowed: {', '.join(allowed)}"
    if text.startswith("Object contains unknown field"):
        fields = _fields_at(keys, data)
        known = f"; known keys: {', '.join(fields)}" if fields else ""
        return f"{where}unknown key {text.rsplit(' ', 1)[-1]}{known}"
    text = text.replace("Object missing required field", "missing key")
    return f"{where}{text[0].lower()}{text[1:]}"


def _tags(union: Any) -> list[str]:
    return [str(kind.__struct_config__.tag) for kind in union.__args__]


_CHOICES = {
    "delay.kind": _tags(Delay),
    "spread.kind": ["constant", "uniform", "lognormal"],
    "workload.kind": _tags(Workload),
    "fault.kind": _tags(Fault),
    "arrivals": ["poisson", "periodic"],
    "frames": ["held", "lost"],
}


def _fields_at(keys: str, data: Any) -> list[str]:
    """The keys known where an unknown one stood, for the error message."""
    tables: dict[str, Any] = {"": Scenario, "network": Network, "detector": Detector}
    if keys in tables:
        return list(tables[keys].__struct_fields__)
    unions: dict[str, Any] = {"network.delay": Delay, "workload": Workload, "fault": Fault}
    if keys not in unions:
        return []
    found = data.get(keys, []) if keys != "network.delay" else [data["network"]["delay"]]
    for kind in unions[keys].__args__:
        fields = ["kind", *kind.__struct_fields__]
        for table in found:
            if table.get("kind") == kind.__struct_config__.tag and set(table) - set(fields):
                return fields
    return []


def _named(part: Workload | Fault) -> list[str]:
    """The processes a part of a scenario names."""
    if isinstance(part, Rate):
        return part.processes
    if isinstance(part, HotSpot):
        return part.hot
    if isinstance(part, Pipeline):
        return part.stages
    if isinstance(part, Partition):
        return [name for group in part.groups for name in group]
    if isinstance(part, Join):
        return [part.contact]
    if isinstance(part, Crash | Pause | Leave):
        return [part.process]
    return []


def _validate_delay(delay: Delay) -> None:
    if isinstance(delay, Uniform) and delay.max_ms < delay.min_ms:
        raise Misuse(f"network.delay: max_ms {delay.max_ms:g} is below min_ms {delay.min_ms:g}")
    if isinstance(delay, PerLink):
        _validate_delay(delay.spread)
    if isinstance(delay, Schedule):
        times = [at for at, _ in delay.points]
        if times != sorted(set(times)):
            raise Misuse("network.delay: the times of a schedule's points must increase")


def _validate_fault(fault: Fault) -> None:
    if isinstance(fault, Partition) and fault.until_ms <= fault.from_ms:
        raise Misuse(f"fault partition: until_ms {fault.until_ms:g} is not after from_ms {fault.from_ms:g}")
    if isinstance(fault, Partition):
        names = [name for group in fault.groups for name in group]
        if len(set(names)) < len(names):
            raise Misuse("fault partition: a process stands in two groups")
    if isinstance(fault, Crash) and (fault.at_ms is None) == (fault.after_deliveries is None):
        raise Misuse("fault crash: give either at_ms or after_deliveries")
    if isinstance(fault, Crash | Pause | Join | Leave) and fault.at_ms is not None:
        _validate_moment(fault.at_ms, f"fault {fault.__struct_config__.tag}")


def _validate_moment(at_ms: Moment, where: str) -> None:
    times = at_ms if isinstance(at_ms, list) else [at_ms, at_ms]
    if len(times) != 2 or not 0 <= times[0] <= times[1]:
        raise Misuse(f"{where}: at_ms must be a time from 0 on, or [earliest, latest]; it is {at_ms}")
