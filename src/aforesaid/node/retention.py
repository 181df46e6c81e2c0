"""While a member of a group that survives is away, the others go on speaking: as much as retention holds.

Own messages under way are bounded by `queues.out_messages` and `out_bytes`: so a slow peer slows who speaks.
A peer that is away is not slow; it will be back, and is owed all of it. So while one is silent the bound is
`retention_bytes`, and `retention_s` for the oldest; then who speaks waits, and is told for whom.
"""

from collections.abc import Callable, Sequence

from aforesaid.core import SECOND, Nanoseconds, Process
from aforesaid.node.config import Config
from aforesaid.node.messages import Receipt
from aforesaid.node.operating.logs import tell


class Retention:
    """How much more may be said while somebody is away."""

    def __init__(
        self, config: Config, away: Callable[[], Sequence[Process]], now: Callable[[], Nanoseconds]
    ) -> None:
        """`away`: the peers that are silent, and not gone for good."""
        self._name = config.name
        self._bytes_max = config.retention_bytes
        self._age_max = round(config.retention_s * SECOND)
        self._away, self._now = away, now
        self.full_for: tuple[Process, ...] = ()
        """For whom everyone waits who wants to say something; nobody: there is room, or no one is away."""

    def room(self, held: int, size: int, oldest: Receipt) -> int:
        """For how many more, where the queues have none."""
        away = tuple(self._away())
        late = self._age_max and self._now() - oldest.said_ns > self._age_max
        full_for = away if late or size >= self._bytes_max else ()
        if full_for and full_for != self.full_for:
            tell(
                self._name,
                "retention is full",
                level="warning",
                waits_for=", ".join(full_for),
                messages=held,
                bytes=size,
                advice="they are to be started again, or evicted",
            )
        self.full_for = full_for
        return 1 if away and not full_for else 0
