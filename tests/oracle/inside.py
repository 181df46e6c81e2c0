"""A look inside: the indexes of the algorithms, recomputed by brute force (algorithms, end of section 6)."""

from collections.abc import Collection
from typing import Any

from aforesaid.protocols.delivery.hybrid_frames import Remind
from aforesaid.protocols.repair import Resend


def unacked_by(entry: Any) -> list[str]:
    """Who has not acknowledged a message, unsent copies included."""
    if hasattr(entry, "waiting"):
        return list(entry.waiting)
    return [] if entry.acked else [entry.receiver]


def unsent_to(entry: Any) -> list[str]:
    if hasattr(entry, "unsent"):
        return list(entry.unsent)
    if hasattr(entry, "waiting"):
        return list(entry.waiting) if not entry.sent else []
    return [] if entry.sent else [entry.receiver]


def unfinished(machine: Any) -> bool:
    """Whether a step left something over, so that what it shows is not what it knows."""
    return bool(machine.left or machine.unsettled or machine.behind)


def runs_of(u: Any) -> list[tuple[int, Any]]:
    """The entries, each with its first number; a run takes as many places as it has messages."""
    entries, k = [], u.first
    while k < u.next:
        entry = u[k]
        places = range(k, k + entry.count)
        assert places, "a run of nothing"
        assert places[-1] < u.next, "a run reaches beyond the window"
        assert all(u[place] is entry for place in places), "a run is in pieces"
        entries.append((k, entry))
        k += entry.count
    return entries


def look_at_timers(machine: Any, timers: Collection[Any]) -> None:
    """Any frame may be lost: who waits for one has a timer that rings, at the end of every step."""
    for peer, channel in machine.channels.items():
        asks, flight = Remind(peer) in timers, channel.flight
        again = Resend(peer) in timers
        assert again or not (flight.sent or flight.queue), f"nothing rings for what flies to {peer}"
        assert again or asks or not channel.unacked, f"nothing rings for acks of {peer}"
        owed = channel.missing or getattr(channel, "cons", ())
        assert asks or not owed, f"nothing rings for what {peer} is to tell"


def look(machine: Any) -> None:
    """Assert every invariant of one process's state, at the end of a step."""
    u, p = machine.u, machine.p
    entries = runs_of(u)
    permits = [(k, p[k]) for k in range(p.first, p.next) if p[k] is not None]
    deps = [entry.dep for _, entry in entries]
    assert deps == sorted(deps), "dep decreases"
    assert machine.unsettled or not entries or unacked_by(entries[0][1]), "the first entry is acknowledged"
    unsent = next((k for k, entry in entries if unsent_to(entry)), u.next)
    assert machine.m1 == unsent or (machine.left and machine.m1 <= unsent), "m1"
    if hasattr(machine, "p2"):
        others = (k for k, key in permits if key[0] != permits[0][1][0])
        assert machine.p2 == next(others, p.next), "p2"
        blocked = next((k for k, entry in entries if entry.dep > machine.p2), u.next)
        assert machine.m2 <= blocked, "m2"
        u2 = _u2(entries, u.next)
        assert machine.u2 == u2 or (machine.unsettled and machine.u2 <= u2), "u2"
    _channels(machine, entries, permits)


def _u2(entries: list[tuple[int, Any]], end: int) -> int:
    """The first message up to which somebody besides one receiver has not acknowledged."""
    names: set[str] = set()
    for k, entry in entries:
        names.update(unacked_by(entry))
        if len(names) > 1:
            return k
    return end


def _channels(machine: Any, entries: list[tuple[int, Any]], permits: list[tuple[int, Any]]) -> None:
    for peer, channel in machine.channels.items():
        sent = [(k, e) for k, e in entries if peer in unacked_by(e) and peer not in unsent_to(e)]
        waiting = [k + entry.count - 1 for k, entry in sent]
        assert list(channel.unacked) == waiting, "unacked"
        assert list(channel.missing) == [key[1] for _, key in permits if key[0] == peer], "missing"
        if peer not in machine.behind:
            assert all(number > channel.permitted for number in channel.missing), "a missing permit came"
        if machine.retransmit:
            _flight(channel.flight, waiting)
        assert channel.given <= channel.last, "a permit for what was never said"


def _flight(flight: Any, waiting: list[int]) -> None:
    """What the peer has not acknowledged flies, is lost, queues, or came early; the first never did."""
    flying = [number for number, when in flight.sent.items() if when >= 0]
    assert flight.flying == len(flying), "flying"
    assert set(flying) <= set(flight.order), "order"
    assert flight.sent.keys() - set(flying) <= set(flight.lost), "lost"
    assert set(waiting) >= flight.sent.keys() | set(flight.queue), "what came flies"
    assert not waiting or waiting[0] in flight.sent or waiting[0] == flight.queue[0], "nobody sends the first"
    assert not waiting or flying, "nothing flies, so nothing will happen"
