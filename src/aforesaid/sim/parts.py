"""The parts of a scenario: delays, the network, workloads and faults, each one typed value.

Durations end in `_ms`. Unknown keys are errors. Parts say what shall be; what it means is done by the modules
`delays`, `network`, `workloads` and `faults`.
"""

from typing import Annotated, Literal, TypeAlias

from msgspec import Meta, Struct, field

from aforesaid.protocols.options import nanoseconds as nanoseconds

Milliseconds = Annotated[float, Meta(ge=0)]
Probability = Annotated[float, Meta(ge=0, lt=1)]
PositiveRate = Annotated[float, Meta(gt=0)]
NonNegative = Annotated[float, Meta(ge=0)]
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
    control_loss: Probability = 0.0
    """Loses only frames that an overlay's algorithm calls droppable: frames about links, not broadcasts."""
    duplication: Probability = 0.0
    fifo: bool = False
    """True: frames of one link, or of one link instance where they name it, arrive in the order sent."""
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
    hot: Annotated[list[str], Meta(min_length=1)]
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


class Crowd(Kind, frozen=True, tag="crowd"):
    """Every so often some processes, different ones and chosen by the seed, speak at the same moment."""

    every_ms: Annotated[float, Meta(gt=0)]
    size: Count
    from_ms: Milliseconds = 0
    until_ms: Milliseconds | None = None
    fan_out: FanOut = 1


Workload: TypeAlias = Rate | Bursts | HotSpot | Chain | Pipeline | AllToAll | Crowd


class Crash(Kind, frozen=True, tag="crash"):
    """A process stops for good. Of what it had in flight, an arbitrary part is lost (FIFO: a suffix)."""

    at_ms: Moment | None = None
    after_deliveries: Count | None = None
    """Instead of a time: right after the process's so-many-th delivery."""
    process: str = "any"
    share: Annotated[float, Meta(gt=0, le=0.9)] | None = None
    """Instead of one process: this share of those that are up, all at once."""


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


class Churn(Kind, frozen=True, tag="churn"):
    """Processes come and go, each kind of event at its own rate (Poisson)."""

    from_ms: Milliseconds = 0
    until_ms: Milliseconds | None = None
    joins_per_second: NonNegative = 0.0
    leaves_per_second: NonNegative = 0.0
    crashes_per_second: NonNegative = 0.0
    least: Count = 3
    """Nobody leaves or crashes while no more than this many are up."""


class Rewire(Kind, frozen=True, tag="rewire"):
    """The overlay changes: links are opened, closed, reopened and lost, at one rate in all (Poisson)."""

    per_second: PositiveRate
    from_ms: Milliseconds = 0
    until_ms: Milliseconds | None = None
    open: NonNegative = 1.0
    """How often, against the three others: a link to a neighbour's neighbour, who mediates."""
    close: NonNegative = 1.0
    reopen: NonNegative = 0.0
    """Closed, and opened again to the same peer within `reopen_ms`."""
    flap: NonNegative = 0.0
    """A connection is lost, as by the fault of that name."""
    blind: Annotated[float, Meta(ge=0, le=1)] = 0.0
    """How likely a link is opened to just anyone, without a route to it."""
    reopen_ms: Milliseconds = 20


class Flap(Kind, frozen=True, tag="flap"):
    """The connection under one link instance is lost, with a suffix of what was on its way."""

    at_ms: Moment
    process: str = "any"


Fault: TypeAlias = Crash | Pause | Partition | Join | Leave | Suspect | Churn | Rewire | Flap


class Detector(Value, frozen=True):
    """The failure detector: every survivor hears of a crash. Perfect, unless a `suspect` fault errs."""

    delay_ms: Milliseconds = 100
