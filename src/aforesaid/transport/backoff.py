"""How long to wait before another try: twice as long each time, up to a limit, not in step with others."""

import random

FIRST_S = 0.05
MOST_S = 5.0


class Backoff:
    """The waits between tries that fail."""

    def __init__(self, first_s: float = FIRST_S, most_s: float = MOST_S) -> None:
        self._first_s = first_s
        self._most_s = most_s
        self._next_s = first_s

    def wait_s(self) -> float:
        """The next wait, jittered between half of it and all of it."""
        wait, self._next_s = self._next_s, min(2 * self._next_s, self._most_s)
        return wait * (0.5 + random.random() / 2)

    def reset(self) -> None:
        self._next_s = self._first_s
