"""Hybrid buffering in steps of bounded length: what one frame sets free is spread over several, in order."""

from collections import defaultdict
from functools import partial
from typing import Any

import pytest

from aforesaid.explore import Scope, explore
from aforesaid.protocols.delivery.hybrid_frames import Ack, Continue, Msg, Permit
from aforesaid.protocols.delivery.hybrid_in_order import HybridMulticastInOrder
from aforesaid.protocols.repair import NOTHING
from aforesaid.reproduce.costs import lines_of
from oracle.campaign import VARIANTS, play
from oracle.kinds import ALL
from oracle.watched import watched
from oracle.world import Plan
from support.recorder import Recorder

PEERS = [f"p{i}" for i in range(10)]
BATCH = 64
LINES_PER_MESSAGE = 100
"""More than any algorithm takes for a message that leaves, and for one that is settled."""


def hub_with(kind: Any, held: int, retransmit: bool = True) -> tuple[Any, Recorder]:
    """A process that has delivered a flagged message of each peer, and holds what it said after that."""
    hub, out = kind("hub", batch=BATCH, in_flight=1 << 20, retransmit=retransmit), Recorder()
    for peer in PEERS:
        hub.receive(peer, Msg(0, 1, 0, True, None), 0, out)
    for number in range(held):
        hub.send((PEERS[number % 10],), None, 0, out)
    out.take_sent()
    return hub, out


def run_on(hub: Any, out: Recorder) -> list[int]:
    """All steps that are left; how many lines each took."""
    lines = []
    while out.timers.pop(Continue(), None) is not None:
        lines.append(lines_of(partial(hub.expire, Continue(), 0, out)))
    return lines


def leaving(out: Recorder) -> list[tuple[str, int]]:
    return [(peer, frame.number) for peer, frame in out.take_sent() if type(frame) is Msg]


@pytest.mark.parametrize("retransmit", [False, True])
@pytest.mark.parametrize("kind", ALL)
def test_no_step_is_longer_than_a_batch_however_much_a_permit_sets_free(kind: Any, retransmit: bool) -> None:
    for held in (1_000, 4_000):
        hub, out = hub_with(kind, held, retransmit)
        for peer in PEERS:
            lines = [lines_of(partial(hub.receive, peer, Permit(1), 0, out)), *run_on(hub, out)]
            assert max(lines) < LINES_PER_MESSAGE * BATCH
        left = leaving(out)
        assert len(left) == held
        assert hub.gauges()["unsent"] == 0
        assert not hub.left


@pytest.mark.parametrize("kind", ALL)
def test_no_step_is_longer_than_a_batch_however_many_permits_one_tells(kind: Any) -> None:
    hub, out = kind("hub", batch=BATCH, retransmit=False), Recorder()
    for number in range(1, 2_001):
        hub.receive("p0", Msg(0, number, number - 1, True, None), 0, out)
        hub.send(("p1",), None, 0, out)
    out.take_sent()
    lines = [lines_of(partial(hub.receive, "p0", Permit(2_000), 0, out)), *run_on(hub, out)]
    assert max(lines) < LINES_PER_MESSAGE * BATCH
    assert leaving(out) == [("p1", number) for number in range(1, 2_001)]
    assert not hub.behind
    assert hub.gauges()["missing_permits"] == 0


@pytest.mark.parametrize("kind", ALL)
def test_no_step_is_longer_than_a_batch_however_much_an_ack_settles(kind: Any) -> None:
    """All but the first are acknowledged; then the first is."""
    hub, out = kind("hub", batch=BATCH, retransmit=False), Recorder()
    hub.send(("first",), None, 0, out)
    for number in range(2, 2_002):
        hub.send((PEERS[number % 10],), None, 0, out)
        hub.receive(PEERS[number % 10], Ack(number, 0), 0, out)
    out.take_sent()
    lines = [lines_of(partial(hub.receive, "first", Ack(1, 0), 0, out))]
    while Continue() in out.timers:
        # Who speaks now is not told more than is known: the permit follows.
        number = hub.send(("first",), None, 0, out).number
        del out.timers[Continue()]
        lines.append(lines_of(partial(hub.expire, Continue(), 0, out)))
    assert len(lines) > 2_000 // BATCH
    assert max(lines) < LINES_PER_MESSAGE * BATCH
    permits: dict[str, int] = {}
    for peer, frame in out.take_sent():
        if type(frame) is Permit or not frame.flagged:
            permits[peer] = frame.number
    assert {permits[peer] for peer in PEERS} == set(range(1_992, 2_002))
    # What was said meanwhile is permitted in the end; by CSPS, with the acks for what was said before it.
    assert permits["first"] == (number if hub.receiver_exempt else 2_002)
    assert not hub.unsettled
    hub.receive("first", Ack(number, 0), 0, out)
    assert not any(hub.gauges().values())


@pytest.mark.parametrize("kind", ALL)
def test_what_is_said_meanwhile_overtakes_nothing(kind: Any) -> None:
    hub, out = hub_with(kind, 1_000)
    for peer in PEERS:
        hub.receive(peer, Permit(1), 0, out)
        # SPS may have sent some before the last permit came.
        while Continue() in out.timers:
            hub.send(("p3",), None, 0, out)
            del out.timers[Continue()]
            hub.expire(Continue(), 0, out)
    last: dict[str, int] = defaultdict(int)
    left = leaving(out)
    for peer, number in left:
        assert number > last[peer]
        last[peer] = number
    assert hub.overtaking or [number for _, number in left] == sorted(number for _, number in left)
    assert len(left) == hub.u.next - 1 > 1_000


@pytest.mark.parametrize("kind", ALL)
def test_resending_takes_no_longer_step_either(kind: Any) -> None:
    """A thousand had to wait; when the one that asked is answered, the bound lets them go."""
    hub, out = kind("hub", batch=BATCH, in_flight=1), Recorder()
    for _ in range(1_001):
        hub.send(("p1",), None, 0, out)
    hub.channels["p1"].flight.bound = 2_000
    out.take_sent()
    lines = [lines_of(partial(hub.receive, "p1", Ack(1, 0), 1_000, out))]
    while min(out.timers.values()) == 1_000:
        timer = min(out.timers, key=lambda timer: out.timers[timer])
        del out.timers[timer]
        lines.append(lines_of(partial(hub.expire, timer, 1_000, out)))
    assert leaving(out) == [("p1", number) for number in range(2, 1_002)]
    assert max(lines) < LINES_PER_MESSAGE * BATCH
    assert len(lines) > 1_000 // BATCH


def test_a_run_is_looked_at_once_however_many_messages_it_is() -> None:
    hub, out = HybridMulticastInOrder("hub", batch=BATCH), Recorder()
    for _ in range(BATCH // 2):
        said = hub.send_run(("p1", "p2"), [b""] * BATCH, 0, out)
    hub.receive("p1", Ack(said.number, 0), 0, out)
    hub.receive("p2", Ack(said.number, 0), 0, out)
    assert hub.stable_below == said.number + 1
    assert Continue() not in out.timers


@pytest.mark.parametrize("name", VARIANTS)
def test_worlds_in_which_every_step_leaves_something_over(name: str) -> None:
    multicast = VARIANTS[name][2]
    for crash in ("", "apart", "alone"):
        for seed in range(12):
            rounds = seed % 2 == 0
            play(
                name, Plan(seed, 4, 40, multicast, loss=0.1 * (seed % 3), rounds=rounds, crash=crash, batch=1)
            )


@pytest.mark.parametrize("name", ["hybrid_basic", "hybrid_sps", "hybrid_in_order"])
def test_every_schedule_of_steps_that_leave_something_over(name: str) -> None:
    """p0 tells p1 something, then p2; until p0 permits it, p2 holds what it has to say."""
    talk: dict[str, Any] = {"audiences": (((1,), (2,)), (), ((1,), (1,)))}
    options = (("batch", 1), ("retransmit", False))
    found = explore(watched(name), Scope(processes=3, **talk, options=options, timer_firings_max=3))
    assert (found.verdict, found.cut) == ("kept", 0), str(found)
    assert explore(watched(name), Scope(processes=3, **talk, options=options)).cut > 0, (
        "nothing was left over"
    )


def test_the_empty_tables_stayed_empty() -> None:
    assert not NOTHING
