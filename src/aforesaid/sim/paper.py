"""The experiment of Nédelec, Molli and Mostéfaoui (2018b), section 3, as a file or a program describes it.

It runs on the fleet (`aforesaid.fleet`), which is compiled; this description of it is not, so that files
are read and validated without.
"""

from itertools import pairwise
from math import exp
from statistics import NormalDist
from typing import TYPE_CHECKING, Annotated, Any, Literal, Self, TypeAlias, get_args

from msgspec import Meta

from aforesaid.core import Misuse
from aforesaid.sim.explain import Described

if TYPE_CHECKING:
    from aforesaid.fleet.plan import Plan

Minutes = Annotated[float, Meta(ge=0, le=100_000)]
LinkDelay = Annotated[float, Meta(ge=1, lt=30_000)]
Milliseconds = Annotated[float, Meta(ge=1, le=1e9)]
Rising: TypeAlias = Annotated[list[tuple[Minutes, LinkDelay]], Meta(min_length=1)]
"""Points (minute, milliseconds) of a delay that follows straight lines between them."""

NO_NETWORK = (
    "on the fleet delay_ms is a number or points, and delay_spread says how far links differ from it; "
    'without engine = "fleet" the simulator takes network.delay = {kind = "per_link", ...}'
)

FleetAlgorithm: TypeAlias = Literal["prc_spray", "preventive_spray"]

PARTS = 16
"""How many delays links may have, relative to each other."""


def shares_of_delay(sigma: float) -> list[float]:
    """What delays of links are drawn from, as shares of the median, the slowest first.

    They are the middles of equal parts of a log-normal distribution.
    """
    middles = [NormalDist().inv_cdf((place + 0.5) / PARTS) for place in range(PARTS)]
    return [exp(sigma * middle) for middle in reversed(middles)]


class Paper(Described, frozen=True, tag_field="engine", tag="fleet"):
    """One run on the fleet, entirely."""

    processes: Annotated[int, Meta(ge=2, le=1_000_000)]
    seed: Annotated[int, Meta(ge=0, le=2**63 - 1)] = 1
    minutes: Annotated[float, Meta(gt=0, le=100_000)] = 60.0
    joins_per_second: Annotated[float, Meta(gt=0, le=10_000)] = 10.0
    joins_at_once: Annotated[int, Meta(ge=1, le=10_000)] = 1
    """How many enter at the same moment: they do not see each other's arcs."""
    broadcasts_per_second: Annotated[int, Meta(ge=0, le=1_000)] = 10
    speak_from: Minutes = 2.0
    speak_until: Minutes = 50.0
    """Minutes; exchanges end with the broadcasts."""
    delay_ms: LinkDelay | Rising | None = None
    """1 ms until processes speak, then this; or what the points say; None: the paper's rising delay."""
    delay_spread: Annotated[float, Meta(ge=0, le=2)] = 0.0
    """Each link draws its own share of that delay: the standard deviation of the logarithms of all shares."""
    crashes_per_minute: Annotated[float, Meta(ge=0, le=100)] = 0.0
    """Processes that crash, as a share of all in percent, each replaced by a newcomer at once."""
    sample_ms: Annotated[float, Meta(ge=10)] = 1000.0
    period_ms: Milliseconds = 60_000.0
    """How often a process exchanges half of its arcs."""
    handshake_ms: Milliseconds = 60_000.0
    """How long an opening or closing may take."""
    tries: Annotated[int, Meta(ge=1, le=100)] = 4
    detector_ms: Milliseconds = 5_000.0
    """How long after a crash the survivors are told."""
    traced: Annotated[int, Meta(ge=0)] | Literal["all"] = 20
    """How many processes are traced, spread evenly over those inside before the first broadcast; or all."""
    partner: Literal["oldest", "any"] = "oldest"
    """Which neighbour an exchange is asked of."""
    routes_stay: bool = False
    """An arc whose link is in use as a route is not given away."""
    vectors: bool = False
    """Whether the vector clocks that the same messages would need are sampled, too."""
    algorithm: FleetAlgorithm = "prc_spray"

    @classmethod
    def of(cls, data: dict[str, Any]) -> Self:
        """Validate plain data; who asks for another network than the fleet has is told where it is."""
        for key in ("network", "delay_ms"):
            if isinstance(data.get(key), dict):
                raise Misuse(f"{key}: {NO_NETWORK}")
        named, runs = data.get("algorithm", "prc_spray"), get_args(FleetAlgorithm)
        if named not in runs:
            raise Misuse(f"algorithm: the fleet runs {' and '.join(runs)}, not {named}")
        return super().of(data)

    @property
    def label(self) -> str:
        """What its runs are called by."""
        return "fleet" if self.algorithm == "prc_spray" else f"fleet-{self.algorithm}"

    @property
    def duration_ms(self) -> float:
        return self.minutes * 60_000

    @property
    def delay_ms_max(self) -> float:
        """The slowest delay there will be, on the slowest links."""
        slowest = shares_of_delay(self.delay_spread)[0]
        if isinstance(self.delay_ms, list):
            return slowest * max(slow for _, slow in self.delay_ms)
        return slowest * (self.delay_ms or 2_501.0)

    def validate(self) -> None:
        """Check what types cannot."""
        if self.processes < 2:
            raise Misuse("the experiment needs at least 2 processes")
        if self.speak_until < self.speak_from:
            raise Misuse(
                f"speak_until: {self.speak_until:g} is before speak_from, which is {self.speak_from:g}; "
                "both are minutes"
            )
        if isinstance(self.delay_ms, list):
            self._validate_delay(self.delay_ms, shares_of_delay(self.delay_spread)[0])
        if self.period_ms <= 2 * self.delay_ms_max:
            raise Misuse(
                f"period_ms: {self.period_ms:g} is not longer than there and back, "
                f"with delays of up to {self.delay_ms_max:.6g} ms"
            )
        if self.vectors and self.algorithm != "prc_spray":
            raise Misuse(f"vectors are measured over prc_spray, not over {self.algorithm}")
        if self.sample_ms > self.duration_ms:
            raise Misuse(f"sample_ms: {self.sample_ms:g} is longer than the run of {self.minutes:g} minutes")

    @staticmethod
    def _validate_delay(points: list[tuple[float, float]], share: float) -> None:
        for (before, slow), (minute, quick) in pairwise(points):
            if minute <= before:
                raise Misuse("delay_ms: the minutes of its points must increase")
            if share * (slow - quick) >= (minute - before) * 60_000:
                raise Misuse(f"delay_ms: it falls so fast until minute {minute:g} that frames would overtake")

    def plan(self) -> "Plan":
        """What the fleet is to do, moment by moment."""
        from aforesaid.fleet.plan import plan_of

        return plan_of(self)
