"""How long to wait before another try: twice as long each time, up to a limit, not in step with others."""

from aforesaid.ground import ground

FIRST_S = 0.05
MOST_S = 5.0


class Backoff:
    """The waits between tries that fail."""

    def __init__(self) -> None:
        self._next_s = FIRST_S

    def wait_s(self) -> float:
        """The next wait, jittered between half of it and all of it."""
        wait, self._next_s = self._next_s, min(2 * self._next_s, MOST_S)
        return wait * (0.5 + ground().chance.random() / 2)
