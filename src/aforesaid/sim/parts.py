"""The parts of a scenario: delays, the network, workloads and faults, each one typed value.

Durations end in `_ms`. Unknown keys are errors. Parts say what shall be; what it means is done by the modules
`delays`, `network`, `workloads` and `faults`.
"""

from typing import Annotated, Literal, TypeAlias

from msgspec import Meta, Struct, field

from aforesaid.core import MILLISECOND, Nanoseconds

Milliseconds = Annotated[float, Meta(ge=0)]
Probability = Annotated[float, Meta(ge=0, lt=1)]
PositiveRate = Annotated[float, Meta(gt=0)]
Count = Annotated[int, Meta(ge=1)]
Moment: TypeAlias = float | list[float]
"""A time, or [earliest, latest]: then the seed chooses.

Checked by `Scenario.validate`: a constrained float beside a tuple in one union crashes msgspec 0.20 to 0.22
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


FanOut = Annotated[int, Meta(ge=1)]
"""For algorithms that address their messages: how many others each message is for. Broadcasts are for all."""


class Rate(Kind, frozen=True, tag="rate"):
    """Each named process (default: all) speaks at its own rate, independent of what it hears."""

    per_second: PositiveRate
    arrivals: Literal["poisson", "periodic"] = "poisson"
    fan_out: FanOut = 1
    processes: list[str] = field(default_factory=list)


class Bursts(Kind, frozen=True, tag="bursts"):
    """Every so often one process, chosen by the seed, says many things at once."""

    every_ms: Annotated[float, Meta(gt=0)]
    size: Count
    fan_out: FanOut = 1


class HotSpot(Kind, frozen=True, tag="hot_spot"):
    """A few processes say most of everything."""

    per_second: PositiveRate
    hot: list[str]
    share: Annotated[float, Meta(ge=0, le=1)] = 0.8
    fan_out: FanOut = 1


class Chain(Kind, frozen=True, tag="chain"):
    """Requests and replies: who is asked answers once it has heard, back and forth `depth` times."""

    per_second: PositiveRate
    depth: Count = 4
    think_ms: Milliseconds = 1


class Pipeline(Kind, frozen=True, tag="pipeline"):
    """Items enter at the first stage; each stage speaks once it has heard the stage before it."""

    per_second: PositiveRate
    stages: list[str] = field(default_factory=list)
    """Processes in order; default: all of them."""


class AllToAll(Kind, frozen=True, tag="all_to_all"):
    """Rounds: every process speaks at the same moment, to each other one if messages are addressed."""

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


class Suspect(Kind, frozen=True, tag="suspect"):
    """The detector errs: one process is told that another crashed, which did not."""

    at_ms: Moment
    process: str = "any"
    suspected: str = "any"


Fault: TypeAlias = Crash | Pause | Partition | Join | Leave | Suspect


class Detector(Value, frozen=True):
    """The failure detector: every survivor hears of a crash. Perfect, unless a `suspect` fault errs."""

    delay_ms: Milliseconds = 100


def nanoseconds(milliseconds: float) -> Nanoseconds:
    """Whole nanoseconds; the simulator knows nothing finer."""
    return round(milliseconds * MILLISECOND)
