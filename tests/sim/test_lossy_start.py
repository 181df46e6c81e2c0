"""Speed where much is lost from the first message on: everyone who sends again, on all kinds of paths.

Nothing is known of the round trip then, and answers tell little of it: most are to one of several sendings.
Here the round trip is from 0.2 ms to 60 s, up to half of all is lost in both directions, or in one; messages
are said one by one, in runs, both ways, and in a closed loop with notes to a third, which needs permits. All
is heard in order, and takes at most TIMES as long as if the round trip had been known from the beginning, and
so many first waits more. One of these is what RFC 6298 waits after one measurement, three round trips, or
what nothing is sent again before. Replay: `python tests/sim/test_lossy_start.py ALGORITHM TALK TRIP_MS THERE
BACK SEED`.
"""

import sys
from pathlib import Path

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).parents[1]))

import pytest

from aforesaid.core import MILLISECOND, SECOND
from aforesaid.protocols.catalog import CATALOG
from support.lossy import LINKS, TALKS, A, B, Lossy, Network, told
from support.scale import scaled

ALGORITHMS = [*(name for name in CATALOG if name.startswith("hybrid_")), LINKS]
TRIPS_MS = (0.2, 20.0, 200.0, 3_000.0, 60_000.0)
RESEND_AFTER = 50 * MILLISECOND
TIMES = 3
WAITS = {
    (0.0, 0.0): 20,
    (0.1, 0.1): 30,
    (0.2, 0.2): 30,
    (0.3, 0.0): 60,
    (0.0, 0.3): 60,
    (0.3, 0.3): 400,
    (0.4, 0.4): 1_000,
    (0.5, 0.5): 10_000,
}
"""By what is lost of what the first one sends, and of what it is sent. In a closed loop of 30, or among 150
messages, some dozens wait for several sendings, the next for twice as long as the one before; at a half the
sums of such waits have no mean to speak of, and the bar only tells them from waits that grow for ever."""
SEEDS = scaled(1, 20)


def first_wait(network: Network) -> int:
    return max(RESEND_AFTER, 3 * network.trip)


def played(algorithm: str, talk: str, network: Network, seed: int) -> tuple[int, int]:
    """How long it took, and how long it may have taken."""
    world = Lossy(algorithm, TALKS[talk], network, seed).play()
    for me in (A, B):
        assert world.heard[me] == sorted(set(world.heard[me])), f"{me} heard something twice, or too early"
    said = TALKS[talk]
    heard = len(world.heard[A]) + len(world.heard[B])
    assert heard == said.messages * len(said.speakers), "not all was heard"
    allowed = WAITS[network.there, network.back] * first_wait(network)
    if world.last > allowed:
        with told(network.trip):
            allowed += TIMES * Lossy(algorithm, TALKS[talk], network, seed).play().last
    return world.last, allowed


@pytest.mark.parametrize("trip_ms", TRIPS_MS)
@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_loss_from_the_first_message_on_slows_nobody_for_long(algorithm: str, trip_ms: float) -> None:
    for there, back in WAITS:
        network = Network(round(trip_ms * MILLISECOND), there, back)
        for talk in TALKS:
            for seed in range(SEEDS):
                took, allowed = played(algorithm, talk, network, seed)
                replay = f"{algorithm} '{talk}' {trip_ms:g} {there:g} {back:g} {seed}"
                assert took <= allowed, (
                    f"{took / SECOND:.3f} s, and {allowed / SECOND:.3f} are allowed: "
                    f"python tests/sim/test_lossy_start.py {replay}"
                )


def main() -> None:
    algorithm, talk, trip_ms, there, back, seed = sys.argv[1:]
    network = Network(round(float(trip_ms) * MILLISECOND), float(there), float(back))
    took, allowed = played(algorithm, talk, network, int(seed))
    sys.stdout.write(f"{took / SECOND:.3f} s, and {allowed / SECOND:.3f} are allowed\n")


if __name__ == "__main__":
    main()
