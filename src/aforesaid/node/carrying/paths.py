"""How much one datagram to a peer may hold: asked, not hoped for (as RFC 8899 does).

The route tells how wide its first step is, and nobody how narrow the others are. So where the first step is
wider than what every network passes, a note of that length is sent, which no network may cut up; the peer
tells how long it was when it came. From then on what is said to it leaves in datagrams of that length. It is
asked again and again, for ways change: to who leaves several in a row unanswered go small datagrams, until it
answers. What was put together for large ones leaves in fragments then, so that nothing said is stuck.
"""

from aforesaid.core import Nanoseconds

NARROW_BYTES = 1400
"""Of one datagram, where nothing is known of the way: no network cuts that up."""

WIDE_BYTES = 8192
"""Where the way takes it. Larger ones save little more, and are more to lose at once."""

ASKED_BEATS = 10
"""A way is asked again after so many heartbeats."""

TRIES = 3
"""So many may be unanswered, a heartbeat apart, before it is taken for narrow."""


class Path:
    """The way to one peer."""

    __slots__ = ("_asked", "_narrow", "_unanswered", "_wide", "size")

    def __init__(self, size: int) -> None:
        self.size = self._narrow = size
        """Of one datagram to the peer, in bytes."""
        self._wide = 0
        """What is asked about; 0: nothing."""
        self._unanswered = 0
        self._asked: Nanoseconds = 0
        """When it was last; 0: never."""

    def leads(self, first_step: int, moved: bool) -> None:
        """How much the first step takes now, and whether the peer is at another place than before."""
        # Less than twice as much is not worth the questions: on an ordinary Ethernet nothing is asked.
        wide = min(WIDE_BYTES, first_step) if first_step >= 2 * self._narrow else 0
        if moved or wide != self._wide:
            self._wide, self.size, self._asked, self._unanswered = wide, self._narrow, 0, 0

    def asks(self, now: Nanoseconds, heartbeat: Nanoseconds) -> int:
        """How long a datagram is to be sent now, to ask whether it passes; 0: none."""
        pause = heartbeat if 0 < self._unanswered <= TRIES else ASKED_BEATS * heartbeat
        if not self._wide or (self._asked and now - self._asked < pause):
            return 0
        self._asked = now
        if self._unanswered >= TRIES:
            self.size = self._narrow
        self._unanswered = min(self._unanswered, TRIES) + 1
        return self._wide

    def passed(self, length: int) -> None:
        """A datagram of this length came to the peer."""
        if length == self._wide:
            self.size, self._unanswered = self._wide, 0
