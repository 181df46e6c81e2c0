"""The experiment of Nédelec, Molli and Mostéfaoui (2018b), section 3, as a file or a program describes it.

It runs on the fleet (`aforesaid.fleet`), which is compiled; this description of it is not, so that files
are read and validated without.
"""

from typing import TYPE_CHECKING, Annotated, ClassVar, Literal

from msgspec import Meta

from aforesaid.core import Misuse
from aforesaid.sim.explain import Described

if TYPE_CHECKING:
    from aforesaid.fleet.plan import Plan

Minutes = Annotated[float, Meta(ge=0, le=100_000)]


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
    delay_ms: Annotated[float, Meta(ge=1, lt=30_000)] | None = None
    """1 ms until processes speak, then this; None: the paper's rising delay."""
    crashes_per_minute: Annotated[float, Meta(ge=0, le=100)] = 0.0
    """Processes that crash, as a share of all in percent, each replaced by a newcomer at once."""
    sample_ms: Annotated[float, Meta(ge=10)] = 1000.0
    traced: Annotated[int, Meta(ge=0)] | Literal["all"] = 20
    """How many processes are traced, spread evenly over those inside before the first broadcast; or all."""
    partner: Literal["oldest", "any"] = "oldest"
    """Which neighbour an exchange is asked of."""
    routes_stay: bool = False
    """An arc whose link is in use as a route is not given away."""

    algorithm: ClassVar[str] = "prc_spray"
    label: ClassVar[str] = "fleet"
    """What its runs are called by."""

    @property
    def duration_ms(self) -> float:
        return self.minutes * 60_000

    def validate(self) -> None:
        """Check what types cannot."""
        if self.processes < 2:
            raise Misuse("the experiment needs at least 2 processes")
        if self.speak_until < self.speak_from:
            raise Misuse(
                f"speak_until: {self.speak_until:g} is before speak_from, which is {self.speak_from:g}; "
                "both are minutes"
            )
        if self.sample_ms > self.duration_ms:
            raise Misuse(f"sample_ms: {self.sample_ms:g} is longer than the run of {self.minutes:g} minutes")

    def plan(self) -> "Plan":
        """What the fleet is to do, moment by moment."""
        from aforesaid.fleet.plan import plan_of

        return plan_of(self)
