"""A machine that comes back: its clock, its timers, its deliveries, and a disk that takes no more."""

from typing import Any

import pytest

from aforesaid.core import MILLISECOND, MessageId, Misuse
from aforesaid.journal import WINDOWS, Durable
from aforesaid.world.disk import OpenDisk, WorldDisk
from support.journals import opened


class Echo:
    """Delivers what it says, and sends it a while later."""

    def __init__(self) -> None:
        self.said: list[bytes] = []

    def broadcast(self, payload: bytes, now: int, out: Any) -> MessageId:
        self.said.append(payload)
        message_id = MessageId("alice", 0, len(self.said))
        out.arm(message_id.number, now + 10 * MILLISECOND)
        out.deliver(message_id, payload)
        return message_id

    def expire(self, timer: int, now: int, out: Any) -> None:
        out.send(("bob",), (timer, now))

    def receive(self, source: str, message: Any, now: int, out: Any) -> None:
        out.stable(message)

    def peer_up(self, peer: str, now: int, out: Any) -> None: ...

    def peer_down(self, peer: str, now: int, out: Any) -> None: ...

    def gauges(self) -> dict[str, int]:
        return {}


class Host:
    """Notes what it is asked for."""

    def __init__(self, disk: WorldDisk, now: int = 0, setting: str = "always", **bounds: int) -> None:
        self.effects: list[tuple[Any, ...]] = []
        self.handed: list[tuple[int, bytes]] = []
        host: Any = self
        self.durable = Durable(opened(disk, **bounds), WINDOWS[setting], _build, host, self.hand, now)
        self.speaker: Any = self.durable.speaker

    def say(self, payload: bytes, now: int = 1) -> MessageId:
        """In a turn of its own."""
        message_id: MessageId = self.speaker.broadcast(payload, now, self)
        self.durable.end_turn(now)
        return message_id

    def hand(self, offset: int, message_id: MessageId, payload: bytes) -> None:
        self.handed.append((offset, payload))
        self.effects.append(("hand", offset))

    def __getattr__(self, name: str) -> Any:
        return lambda *arguments: self.effects.append((name, *arguments))


def _build() -> Any:
    return Echo()


def test_nothing_is_seen_before_the_commit_and_timers_at_once() -> None:
    host = Host(WorldDisk(), setting="batch")
    host.speaker.broadcast(b"a", 1, host)
    assert host.effects == [("arm", 1, 1 + 10 * MILLISECOND)]
    assert host.durable.due_ns == 1 + MILLISECOND
    host.durable.end_turn(MILLISECOND)
    assert host.handed == []
    host.durable.end_turn(1 + MILLISECOND)
    assert host.handed == [(1, b"a")]


def test_one_commit_serves_all_calls_of_a_turn(monkeypatch: pytest.MonkeyPatch) -> None:
    forces: list[int] = []
    host = Host(WorldDisk())
    for letter in (b"a", b"b", b"c"):
        host.speaker.broadcast(letter, 1, host)
    assert host.handed == []
    monkeypatch.setattr(OpenDisk, "force", lambda opened, file: forces.append(file))
    host.durable.end_turn(1)
    assert host.handed == [(1, b"a"), (2, b"b"), (3, b"c")]
    assert len(forces) == 1


def test_the_machines_clock_goes_on_where_it_was() -> None:
    disk = WorldDisk()
    host = Host(disk, now=10**15)
    host.say(b"a", 10**15)
    # The system was started again, and its clock begins at nothing.
    host = Host(disk, now=7)
    host.durable.resume()
    assert host.effects == [("arm", 1, 7 + 10 * MILLISECOND), ("hand", 1)]
    host.speaker.expire(1, 7 + 10 * MILLISECOND, host)
    assert host.effects[2:] == []
    host.durable.end_turn(7 + 10 * MILLISECOND)
    assert host.effects[2:] == [("send", ("bob",), (1, 10**15 + 10 * MILLISECOND))]
    # Nor does the time count in which nobody was there: an answer would seem to have taken as long.
    again = Host(disk, now=10**18)
    assert again.durable.ahead_ns == 10**15 + 10 * MILLISECOND - 10**18


def test_what_was_not_acknowledged_comes_again_and_nothing_else() -> None:
    disk = WorldDisk()
    host = Host(disk)
    for letter in (b"a", b"b", b"c", b"d"):
        host.say(letter)
    host.durable.acknowledge(1)
    host.durable.acknowledge(2)
    host.durable.commit()
    back = Host(disk)
    back.durable.resume()
    assert back.handed == [(3, b"c"), (4, b"d")]
    back = Host(disk)
    back.durable.resume(3)
    assert back.handed == [(4, b"d")]
    back.say(b"e")
    assert back.handed == [(4, b"d"), (5, b"e")]


def test_calls_of_stable_messages_come_again_where_they_stood() -> None:
    disk = WorldDisk()
    host = Host(disk)
    host.say(b"a")
    host.speaker.receive("bob", MessageId("alice", 0, 1), 2, host)
    host.say(b"b", 2)
    back = Host(disk)
    assert (back.handed, back.effects) == ([], [])
    back.durable.resume()
    seen = [effect for effect in back.effects if effect[0] != "arm"]
    assert seen == [("hand", 1), ("stable", MessageId("alice", 0, 1)), ("hand", 2)]


def test_an_offset_that_the_journal_cannot_serve_is_refused() -> None:
    disk = WorldDisk()
    host = Host(disk)
    host.say(b"a")
    host.say(b"b")
    back = Host(disk)
    with pytest.raises(Misuse, match=r"after delivery 3: the journal has 1 to 2"):
        back.durable.resume(3)
    back.durable.acknowledge(2)
    back.durable.commit()
    with pytest.raises(Misuse, match=r"after delivery 1: the journal has 3 to 2"):
        Host(disk).durable.resume(1)


def test_snapshots_are_taken_when_they_are_due_and_hold_what_is_not_acknowledged() -> None:
    disk = WorldDisk()
    host = Host(disk, snapshot_bytes=2000)
    for number in range(100):
        host.say(b"%d" % number, number)
        host.durable.acknowledge(number - 3)
    covers = Host(disk).durable.journal.recovered.covers
    assert covers > 50
    back = Host(disk)
    back.durable.resume()
    assert [payload for _, payload in back.handed][-3:] == [b"97", b"98", b"99"]
    assert len(back.speaker.said) == 100


def test_who_closes_in_order_has_nothing_to_be_told_again() -> None:
    disk = WorldDisk()
    host = Host(disk, setting="batch")
    host.speaker.broadcast(b"a", 1, host)
    host.durable.close()
    assert host.handed == [(1, b"a")]
    back = Host(disk)
    assert back.durable.journal.recovered.records == []
    back.durable.resume()
    assert (back.handed, back.speaker.said) == ([(1, b"a")], [b"a"])


def test_a_full_disk_lets_nothing_go_and_what_was_durable_comes_back() -> None:
    disk = WorldDisk()
    host = Host(disk)
    host.say(b"a")
    disk.room = 10
    for letter in (b"b", b"c"):
        with pytest.raises(Misuse, match="cannot write the journal"):
            host.say(letter)
        disk.room = None
    assert host.handed == [(1, b"a")]
    back = Host(disk)
    back.durable.resume()
    assert back.handed == [(1, b"a")]
    assert back.say(b"d").number == 2
