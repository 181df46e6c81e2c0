"""Which counters of one sender came already: a window of bits that moves with the highest (as in IPsec)."""

from aforesaid.core import Refused

SIZE = 1024
_MASK = (1 << SIZE) - 1


class Window:
    """Lets each counter in once; one that is `SIZE` or more below the highest is too old to tell."""

    __slots__ = ("_bits", "_top")

    def __init__(self) -> None:
        self._top = 0
        self._bits = 0
        """Bit i: counter top - i came."""

    def admit(self, counter: int) -> None:
        """Note the counter; raises Refused."""
        ahead = counter - self._top
        if ahead > 0:
            self._bits = (self._bits << ahead | 1) & _MASK if ahead < SIZE else 1
            self._top = counter
            return
        if ahead <= -SIZE:
            raise Refused("stale")
        bit = 1 << -ahead
        if self._bits & bit:
            raise Refused("replayed")
        self._bits |= bit
