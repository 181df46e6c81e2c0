"""The detector of silent peers, on a clock of a few lines."""

import pytest

from aforesaid.core import SECOND
from aforesaid.protocols.membership.suspicion import BEATS_MAX, GAPS_MAX, Suspicion

TIMEOUT = 30 * SECOND


class Clock:
    """Heartbeats of one second; b is heard as the test says, everyone else all the time."""

    def __init__(self, me: str = "a", peers: str = "bc") -> None:
        self.now = 1000 * SECOND
        self.suspicion = Suspicion(me, peers, SECOND)
        self.heard: dict[str, int | None] = dict.fromkeys(peers, self.now)
        self.look()

    def look(self) -> None:
        self.suspicion.look(self.heard, self.now)

    def beat(self, times: int = 1, silent: str = "", delay: float = 0.0) -> None:
        for _ in range(times):
            self.now += SECOND
            late = round(delay * SECOND)
            self.heard |= {peer: self.now - late for peer in self.heard if peer not in silent}
            self.look()

    def told_after(self, silent: str) -> int:
        """How many heartbeats of silence it takes."""
        for beats in range(1, 10):
            self.beat(silent=silent)
            if silent in self.suspicion.suspects:
                return beats
        raise AssertionError(f"{silent} is not suspected")


def test_a_regular_peer_is_suspected_after_three_beats_and_no_sooner() -> None:
    clock = Clock()
    clock.beat(20)
    assert clock.told_after("b") == 3
    assert clock.suspicion.suspects == ["b"]


def test_a_peer_whose_gaps_vary_is_given_more_time_but_never_more_than_four_beats() -> None:
    clock = Clock()
    for _ in range(GAPS_MAX):
        clock.beat(2, silent="b")
        clock.beat(2)
    assert clock.told_after("b") == 4
    assert clock.suspicion.silences["b"].patience == BEATS_MAX * SECOND


def test_a_long_silence_teaches_no_patience() -> None:
    clock = Clock()
    clock.beat(GAPS_MAX)
    clock.beat(100, silent="b")
    clock.beat(5)
    assert clock.told_after("b") <= 4


def test_whoever_is_heard_again_is_suspected_no_more() -> None:
    clock = Clock()
    clock.beat(5, silent="b")
    assert clock.suspicion.suspects == ["b"]
    clock.beat()
    assert clock.suspicion.suspects == []


def test_time_in_which_this_process_stood_still_is_no_silence_of_others() -> None:
    clock = Clock()
    clock.beat(5)
    for _ in range(3):
        clock.now += 3 * TIMEOUT
        clock.look()
        assert clock.suspicion.suspects == []
        clock.beat()
    assert clock.suspicion.overdue(TIMEOUT) == []


def test_the_overdue_are_those_silent_for_the_whole_time_out() -> None:
    clock = Clock()
    clock.beat(5)
    clock.beat(30, silent="b")
    assert clock.suspicion.overdue(TIMEOUT) == []
    clock.beat(1, silent="b")
    assert clock.suspicion.overdue(TIMEOUT) == ["b"]


def test_who_was_never_heard_is_not_suspected() -> None:
    clock = Clock()
    clock.suspicion = Suspicion("a", "bc", SECOND)
    clock.heard = {"b": None, "c": clock.now}
    clock.beat(100, silent="b")
    assert clock.suspicion.suspects == []
    assert not clock.suspicion.silences["b"].met


@pytest.mark.parametrize(
    ("me", "peers", "silent", "may"),
    [
        ("a", "bc", "c", True),
        ("a", "bc", "bc", False),
        ("a", "bcde", "de", True),
        ("a", "bcde", "cde", False),
        ("a", "b", "b", True),
        ("b", "a", "a", False),
        ("c", "abd", "ab", False),
        ("a", "bcd", "cd", True),
    ],
)
def test_only_who_hears_most_of_the_group_may_evict(me: str, peers: str, silent: str, may: bool) -> None:
    clock = Clock(me, peers)
    clock.beat(5)
    clock.beat(40, silent=silent)
    assert clock.suspicion.may_evict is may


def test_who_is_gone_is_no_member_any_more() -> None:
    clock = Clock("b", "acd")
    clock.beat(5)
    clock.beat(5, silent="ad")
    assert not clock.suspicion.may_evict
    clock.suspicion.forget("d")
    assert clock.suspicion.may_evict
