"""Starts of an incarnation that survives them: the latest counts, and nobody goes back."""

import pytest

from aforesaid.core import Refused
from aforesaid.protocols.membership.epochs import CROSSED, SUPERSEDED, Epochs, Line, supersedes

FIRST, SECOND, BACKUP = 1 << 32 | 7, 2 << 32 | 5, 2 << 32 | 6


def test_a_later_start_takes_the_place_of_an_earlier_one_and_no_other_does() -> None:
    assert supersedes(SECOND, FIRST)
    assert not supersedes(SECOND, SECOND)
    for start, known in ((FIRST, SECOND), (BACKUP, SECOND), (0, FIRST), (FIRST, 0)):
        with pytest.raises(Refused, match=SUPERSEDED):
            supersedes(start, known)


def test_a_call_of_a_later_start_does_not_cross_the_stream_of_the_one_before() -> None:
    ours: Epochs[Line] = Epochs("alice", ["bob"], Line)
    line, epoch = ours.called("bob", 3, 0, True, FIRST)
    line.meet(3, FIRST)
    line.stand(object(), epoch)
    with pytest.raises(Refused, match=CROSSED):
        ours.called("bob", 3, 0, True, FIRST)
    assert ours.called("bob", 3, 0, True, SECOND) == (line, epoch + 1)
    line.meet(3, SECOND)
    for start in (FIRST, BACKUP):
        with pytest.raises(Refused, match=SUPERSEDED):
            ours.called("bob", 3, 9, True, start)
        line.lose(line.stream)
        with pytest.raises(Refused, match=SUPERSEDED):
            ours.answered("bob", 3, 9, "", start)
