"""Repair: what is taken for lost, when it is sent again, and how much may be on its way."""

from typing import Any

import pytest

from aforesaid.core import MILLISECOND, SECOND, freeze
from aforesaid.protocols.repair import LOST, NONE, NOTHING, Flight, Pace, Resend, RoundTrip, Tally
from support.path import Path, World
from support.recorder import Recorder

PACE = Pace(resend_after=50 * MILLISECOND, backoff_max=8, in_flight=32, again=Tally())
TRIP = 10 * MILLISECOND
HYBRID = "hybrid_multicast_in_order"


def leaving(flight: Flight, now: int) -> list[int]:
    """What leaves now."""
    return list(iter(lambda: flight.next(now), 0))


def deadline(flight: Flight) -> int | None:
    out = Recorder()
    flight.rings = 0
    flight.watch(out)
    return out.timers.get(Resend("b"))


def measured(trips: int = 40, in_flight: int = 32) -> tuple[Flight, int]:
    """A flight whose round trip is known, at rest, and the time."""
    flight = Flight("b", PACE._replace(in_flight=in_flight))
    for number in range(1, trips + 1):
        assert flight.enter(number, number * TRIP, Recorder())
        flight.came([number], (number + 1) * TRIP, Recorder())
    return flight, (trips + 1) * TRIP


def test_the_round_trip_is_that_of_rfc_6298() -> None:
    trip = RoundTrip(77)
    assert trip.overdue_after() == 77
    expected, deviation = 0.0, 0.0
    for count, took in enumerate((1000, 1200, 800, 5000, 1000)):
        trip.ended(took)
        if count:
            deviation += (abs(took - expected) - deviation) / 4
            expected += (took - expected) / 8
        else:
            expected, deviation = took, took / 2
        assert trip.smoothed == pytest.approx(expected, abs=5)
        assert trip.deviation == pytest.approx(deviation, abs=5)
        assert trip.overdue_after() == pytest.approx(expected + 4 * deviation, abs=25)


def test_at_rest_only_what_was_learnt_is_kept() -> None:
    flight, now = measured()
    assert flight.sent is NOTHING
    assert flight.order is flight.lost is flight.queue is NONE
    assert (flight.timed, flight.since, flight.rings, flight.latest) == (0, 0, 0, LOST)
    assert flight.smoothed == TRIP
    flight.enter(100, now + 3600 * SECOND, Recorder())
    assert flight.smoothed == TRIP
    assert not NOTHING
    assert not NONE


def test_what_was_sent_again_is_not_timed() -> None:
    flight, now = measured()
    known = flight.smoothed
    flight.enter(100, now, Recorder())
    flight.expired(now + SECOND)
    assert leaving(flight, now + SECOND) == [100]
    flight.came([100], now + SECOND + TRIP, Recorder())
    assert flight.smoothed == known
    flight.enter(101, now + 2 * SECOND, Recorder())
    flight.came([101], now + 2 * SECOND + TRIP, Recorder())
    assert flight.smoothed == known


@pytest.mark.parametrize("trip_ms", [200, 3000, 60_000])
def test_a_round_trip_far_above_the_first_guess_is_known_after_a_few_answers(trip_ms: int) -> None:
    """Though what is sent before that is sent again before it comes."""
    flight, now = Flight("b", PACE), 0
    for number in range(1, 6):
        came = now + trip_ms * MILLISECOND
        flight.enter(number, now, Recorder())
        while (due := deadline(flight)) is not None and due < came:
            flight.expired(due)
            leaving(flight, due)
        flight.came([number], came, Recorder())
        now = came
    assert flight.smoothed == trip_ms * MILLISECOND


def test_the_first_answer_of_who_was_away_is_not_taken_for_a_round_trip() -> None:
    """Else what is lost after it is missed for as long as the peer was away, and its round trip is unknown
    for many answers more: the first clean one tells it."""
    flight = Flight("b", PACE)
    flight.enter(1, 0, Recorder())
    for away_s in range(1, 3600):
        flight.expired(away_s * SECOND)
        leaving(flight, away_s * SECOND)
    now = 3600 * SECOND
    flight.came([1], now, Recorder())
    flight.enter(2, now, Recorder())
    due = deadline(flight)
    assert due is not None
    assert due - now <= PACE.backoff_max * PACE.resend_after
    flight.came([2], now + TRIP, Recorder())
    assert flight.smoothed == TRIP
    assert flight.overdue_after() < 4 * TRIP


def test_the_message_that_is_timed_may_come_before_it_is_sent_again() -> None:
    """Else nothing would be timed any more."""
    flight = Flight("b", PACE)
    for number in (1, 2):
        flight.enter(number, 0, Recorder())
    flight.expired(50 * MILLISECOND)
    flight.came([1, 2], 60 * MILLISECOND, Recorder())
    flight.enter(3, SECOND, Recorder())
    flight.came([3], SECOND + TRIP, Recorder())
    assert flight.timed == 0
    assert flight.smoothed < 60 * MILLISECOND


def test_gaps_are_filled_at_once_however_many_there_are() -> None:
    flight, now = measured()
    for number in range(100, 130):
        assert flight.enter(number, now, Recorder())
    for number in range(100, 130):
        if number % 3:
            flight.came([number], now + TRIP, Recorder())
    assert leaving(flight, now + TRIP) == []
    due = deadline(flight)
    assert due is not None
    assert TRIP < due - now < 1.1 * TRIP
    flight.expired(due)
    assert leaving(flight, due) == [number for number in range(100, 130) if number % 3 == 0]
    assert flight.backoff == 1, "that was no silence"


def test_who_is_overtaken_is_not_lost() -> None:
    flight, now = measured()
    flight.enter(100, now, Recorder())
    flight.enter(101, now, Recorder())
    flight.came([101], now + TRIP // 2, Recorder())
    assert leaving(flight, now + TRIP // 2) == []
    flight.came([100], now + TRIP, Recorder())
    assert (flight.flying, deadline(flight)) == (0, None)


def test_into_silence_goes_one_message_until_there_is_an_answer() -> None:
    flight, now = measured()
    for number in range(100, 120):
        flight.enter(number, now, Recorder())
    waits, last = [], now
    for _ in range(6):
        due = deadline(flight)
        assert due is not None
        waits.append(due - last)
        last = due
        flight.expired(due)
        assert leaving(flight, due) == [100]
    assert waits == [wait * 50 * MILLISECOND for wait in (1, 2, 4, 8, 8, 8)]
    assert not flight.enter(120, last, Recorder())
    flight.came([100], last + TRIP, Recorder())
    assert leaving(flight, last + TRIP) == [101, 102, 103], "half of the bound, at every silence, and one"
    now, came = last + TRIP, 101
    while flight.flying:
        flight.came([came], now, Recorder())
        came += 1
        leaving(flight, now)
    assert came == 121


def test_what_came_after_all_is_not_sent_again() -> None:
    flight, now = measured()
    for number in range(100, 110):
        flight.enter(number, now, Recorder())
    flight.expired(now + SECOND)
    assert leaving(flight, now + SECOND) == [100]
    flight.came(list(range(100, 109)), now + SECOND + 1, Recorder())
    assert leaving(flight, now + SECOND + 1) == [109]


def test_a_bound_that_is_not_used_does_not_grow() -> None:
    flight, _ = measured(trips=1000)
    assert flight.bound == 32


@pytest.mark.parametrize(("share", "least", "most"), [(0.05, 40, 160), (0.1, 20, 80)])
def test_the_bound_settles_where_the_losses_let_it(share: float, least: int, most: int) -> None:
    world = World(HYBRID, Path(MILLISECOND, share), window=1024)
    world.full = True
    world.speak("s0")
    bounds = []
    for now in range(1, 11):
        world.run(now * SECOND // 10)
        bounds.append(world.machines["s0"].channels["h0"].flight.bound)
    assert least < sum(bounds[2:]) / 8 < most


def flooded(path: Path, **given: Any) -> World:
    world = World(HYBRID, path, window=1024, **given)
    world.full = True
    for me in list(world.machines)[::2]:
        world.speak(me)
    return world


@pytest.mark.parametrize("delay", [MILLISECOND // 10, 10 * MILLISECOND, 200 * MILLISECOND])
def test_without_loss_nothing_is_sent_again(delay: int) -> None:
    world = flooded(Path(delay)).run(40 * delay)
    world.full = False
    assert world.run().sent <= world.heard["h0"] * 1.01


def test_reordering_alone_sends_little_again() -> None:
    world = flooded(Path(MILLISECOND // 10, jitter=10 * MILLISECOND)).run(SECOND)
    world.full = False
    assert world.run().sent <= world.heard["h0"] * 1.1


def test_loss_leaves_a_channel_fast_and_its_messages_early() -> None:
    world = flooded(Path(MILLISECOND, 0.01)).run(200 * MILLISECOND)
    assert world.heard["h0"] > 8_000
    world = World(HYBRID, Path(10 * MILLISECOND, 0.01))
    world.say_every(SECOND // 5_000, "s0", 2 * SECOND)
    took = world.run().latencies
    assert len(took) == 10_000
    assert sum(took) / len(took) < 40 * MILLISECOND
    assert max(took) < 250 * MILLISECOND


def test_after_a_cut_all_comes_soon() -> None:
    end = 4 * SECOND
    world = World(HYBRID, Path(10 * MILLISECOND, cut=(SECOND, end)))
    world.say_every(SECOND // 2_000, "s0", end)
    assert world.run().now < end + SECOND
    assert world.heard["h0"] == 8_000


def test_a_narrow_path_is_used_and_shared() -> None:
    # Without a little jitter, acks would clock some senders into the same places of the queue for ever.
    path = Path(10 * MILLISECOND, jitter=MILLISECOND, rate=5_000, room=50)
    world = flooded(path, pairs=4).run(2 * SECOND)
    before = dict(world.heard)
    world.run(6 * SECOND)
    got = [world.heard[f"h{pair}"] - before[f"h{pair}"] for pair in range(4)]
    assert sum(got) > 0.9 * 4 * 5_000
    assert min(got) > 0.4 * sum(got) / 4


def test_what_is_sent_again_is_counted_and_is_no_part_of_the_state() -> None:
    pace = PACE._replace(again=Tally())
    flight, before = Flight("b", pace), freeze(pace)
    for number in range(1, 4):
        flight.enter(number, 0, Recorder())
    assert (leaving(flight, 0), pace.again.count) == ([], 0)
    flight.expired(SECOND)
    assert (leaving(flight, SECOND), pace.again.count) == ([1], 1)
    assert freeze(pace) == before


def test_on_a_stream_it_is_not_silent_while_anything_comes_and_nothing_of_one_moment_is_overtaken() -> None:
    flight = Flight("b", PACE._replace(ordered=True, in_flight=1000))
    for number in range(1, 101):
        flight.enter(number, 0, Recorder())
    now = 0
    for number in range(1, 100):
        due = deadline(flight)
        assert due is not None
        now += PACE.resend_after // 2
        assert due > now
        flight.came([number], now, Recorder())
        assert leaving(flight, now) == []
    due = deadline(flight)
    assert due is not None
    assert due >= now + PACE.resend_after
    flight.expired(due)
    assert leaving(flight, due) == [100]


def test_on_a_stream_the_answer_to_what_was_sent_again_tells_nothing_of_the_others() -> None:
    flight, now = measured(in_flight=1000)
    flight.pace = flight.pace._replace(ordered=True)
    for number in range(101, 111):
        flight.enter(number, now, Recorder())
    now += SECOND
    flight.expired(now)
    assert leaving(flight, now) == [101]
    now += SECOND
    flight.came([101], now, Recorder())
    assert leaving(flight, now) == list(range(102, 111))
    now += TRIP
    flight.enter(111, now, Recorder())
    flight.came([102], now, Recorder())
    due = deadline(flight)
    assert due is not None
    assert due >= now + PACE.resend_after, "the others may still come"
    now += 2 * TRIP
    assert leaving(flight, now) == []
    flight.came([111], now, Recorder())
    assert leaving(flight, now) == list(range(103, 111)), "they left before what was sent once, and has come"
