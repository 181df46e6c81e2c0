"""What nodes that keep their history tell each other besides the frames of their algorithm."""

from typing import Annotated, NamedTuple

from aforesaid.core import Count, frame
from aforesaid.core.fields import AtMost, Within

BLOCKS_MAX = 2**14
"""In one answer."""

OLDEST, FROM_NOW = -1, -2
"""In the place of a moment: all that is kept, or nothing."""


@frame()
class Ask(NamedTuple):
    """Who does not have everything asks a member for its log."""

    place: Count
    """The offset in that member's log from which it is wanted; 0: where something is first lacking."""
    since: Annotated[int, Within(least=FROM_NOW)]
    """With place 0, of who was never in the group: what was delivered since this moment, in nanoseconds."""
    newcomer: bool
    joined: bool
    """The asker was let in by this member: it is to hear what came before that moment, and no more."""
    takes: bool
    """The asker takes a snapshot of the application in place of messages."""
    floors: bytes
    """What it knows; with place 0."""


@frame()
class Past(NamedTuple):
    """An answer: some blocks of the log, and where the next one begins."""

    place: Count
    """0: the member cannot answer."""
    done: bool
    """There was no more."""
    base: bytes
    """Floors: up to here nothing was asked for, or the snapshot holds it."""
    lost: bytes
    """Floors: up to here messages that the asker lacks are in the log no more."""
    floors: bytes
    """To who was let in, with the last answer: what the member knew at that moment."""
    snapshot: bytes
    """Of the application."""
    blocks: Annotated[tuple[bytes, ...], AtMost(BLOCKS_MAX)]


HISTORY = (Ask, Past)
