"""What the PRC-broadcast paper's figure 5 shows: Nédelec, Molli and Mostéfaoui (2018b), section 3.

Read off its vector graphics; the authors' single runs. Space is entries per process (5a), control is control
messages per process and second (5b), over these minutes of the experiment.
"""

from typing import NamedTuple


class Point(NamedTuple):
    """A value of the figure, at a minute or over some minutes."""

    from_minute: float
    until_minute: float
    values: dict[int, float]
    """By how many processes there are."""


SPACE = (
    Point(18, 18, {100: 31.4, 1_000: 41.0}),
    Point(20, 20, {100: 60.5, 1_000: 78.8}),
    Point(25, 25, {100: 118, 1_000: 168}),
    Point(30, 30, {100: 205, 1_000: 269}),
    Point(35, 35, {100: 271, 1_000: 368}),
    Point(41, 50, {100: 346, 1_000: 485}),
)
CONTROL = (
    Point(2, 15, {100: 0.453, 1_000: 0.735}),
    Point(41, 50, {100: 0.354, 1_000: 0.565}),
)
