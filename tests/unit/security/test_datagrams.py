"""Sealed datagrams: let in once, by the right process, with a key of the ring; all else is refused."""

import os
import random
from collections.abc import Callable
from typing import Any

import pytest

from aforesaid.core import Misuse, Refused
from aforesaid.security.datagrams import NOBODY, KeyRing, Opener, Sealer
from aforesaid.security.keys import ClusterKey
from aforesaid.security.windows import SIZE, Window
from aforesaid.wire import Header, cluster_id

CLUSTER = cluster_id("demo", "waiting")
OLD, NEW, FOREIGN = (ClusterKey(bytes([number]) * 32) for number in (1, 2, 3))


class Node:
    """One start of a process: what it seals with and opens with."""

    def __init__(self, name: str, *keys: ClusterKey, incarnation: int = 1, **limits: int) -> None:
        self.ring = KeyRing(*(keys or (OLD,)))
        header = Header(CLUSTER, name, incarnation)
        self.sealer = Sealer(self.ring, header)
        self.opener = Opener(self.ring, header, self.sealer.session, **limits)

    def say(self, body: bytes, to: "Node") -> bytes:
        return self.sealer.seal(body, to.sealer.session)

    def hears(self, data: bytes) -> bytes:
        return self.opener.open(data).body

    def refuses(self, data: bytes) -> str:
        with pytest.raises(Refused) as refusal:
            self.opener.open(data)
        return refusal.value.reason


def test_what_is_sealed_for_a_process_it_opens() -> None:
    alice, bob = Node("alice"), Node("bob")
    for body in (b"", b"hello", bytes(1300)):
        data = alice.say(body, bob)
        assert len(data) == len(body) + alice.sealer.overhead
        opened = bob.opener.open(data)
        assert opened == (Header(CLUSTER, "alice", 1), alice.sealer.session, body, True)


def test_two_strangers_meet_by_greetings() -> None:
    alice, bob = Node("alice"), Node("bob")
    greeted = bob.opener.open(alice.sealer.greet())
    assert (greeted.header.source, greeted.body) == ("alice", b"")
    answer = alice.opener.open(bob.sealer.seal(b"hello", greeted.session))
    assert bob.hears(alice.sealer.seal(b"hello too", answer.session)) == b"hello too"


def test_a_greeting_with_a_body_is_refused() -> None:
    """Anyone could replay it to a process that has just started."""
    assert Node("bob").refuses(Node("alice").sealer.seal(b"hello", NOBODY)) == "unbound"


def test_what_came_once_does_not_come_again() -> None:
    alice, bob = Node("alice"), Node("bob")
    first, second, greeting = alice.say(b"1", bob), alice.say(b"2", bob), alice.sealer.greet()
    for data in (second, first, greeting):
        bob.opener.open(data)
        assert bob.refuses(data) == "replayed"


def test_reordering_within_the_window_is_fine_beyond_it_is_stale() -> None:
    alice, bob = Node("alice"), Node("bob")
    sent = [alice.say(b"%d" % number, bob) for number in range(SIZE + 1)]
    assert bob.hears(sent[SIZE]) == b"%d" % SIZE
    assert bob.refuses(sent[0]) == "stale"
    rest = list(enumerate(sent))[1:SIZE]
    random.Random(1).shuffle(rest)
    for number, data in rest:
        assert bob.hears(data) == b"%d" % number
    assert {bob.refuses(data) for _, data in rest} == {"replayed"}


def test_the_window_is_a_set_of_the_last_counters() -> None:
    chance = random.Random(2)
    window, seen, top = Window(), set[int](), 0
    for _ in range(20_000):
        counter = max(1, top + chance.choice((1, 2, -5, -100, -1023, -1024, -1025, 900, 1023, 1024, 5000)))
        try:
            window.admit(counter)
            admitted = ""
        except Refused as refusal:
            admitted = refusal.reason
        expected = "stale" if counter <= top - SIZE else "replayed" if counter in seen else ""
        assert admitted == expected
        seen.add(counter)
        top = max(top, counter)


def test_every_flipped_bit_is_refused() -> None:
    alice, bob = Node("alice"), Node("bob")
    bob.hears(alice.say(b"first", bob))
    data = alice.say(b"hello", bob)
    reasons = set()
    for bit in range(8 * len(data)):
        flipped = bytearray(data)
        flipped[bit // 8] ^= 1 << bit % 8
        reasons.add(bob.refuses(bytes(flipped)))
    assert {"not ours", "version", "mode", "cluster", "key", "session", "forged", "truncated"} <= reasons
    assert bob.hears(data) == b"hello"


def test_every_truncation_is_refused_and_so_is_more() -> None:
    alice, bob = Node("alice"), Node("bob")
    data = alice.say(b"hello", bob)
    for end in range(len(data)):
        assert bob.refuses(data[:end]) in ("truncated", "forged")
    assert bob.refuses(data + b"\x00") == "forged"


def test_another_cluster_and_another_key_are_refused() -> None:
    bob = Node("bob")
    assert bob.refuses(Node("alice", FOREIGN).say(b"hello", bob)) == "key"
    # A key of the same short name.
    ring = KeyRing(FOREIGN)
    mallory = Sealer(ring, Header(CLUSTER, "alice", 1))
    data = bytearray(mallory.seal(b"hello", bob.sealer.session))
    at = data.index(FOREIGN.id)
    data[at : at + 4] = OLD.id
    assert bob.refuses(bytes(data)) == "forged"
    stranger = Sealer(KeyRing(OLD), Header(cluster_id("other", "waiting"), "alice", 1))
    assert bob.refuses(stranger.seal(b"hello", bob.sealer.session)) == "cluster"


def test_what_was_sealed_for_another_process_is_refused() -> None:
    alice, bob, carol = Node("alice"), Node("bob"), Node("carol")
    assert carol.refuses(alice.say(b"for bob", bob)) == "session"


def test_a_member_that_redirects_cannot_make_the_seal_fit() -> None:
    alice, bob, carol = Node("alice"), Node("bob"), Node("carol")
    data = alice.say(b"for bob", bob)
    redirected = data.replace(bob.sealer.session, carol.sealer.session)
    assert carol.refuses(redirected) == "forged"


def test_what_one_sealed_itself_is_refused() -> None:
    alice = Node("alice")
    assert alice.refuses(alice.sealer.greet()) == "reflected"


def test_replays_across_restarts_are_refused() -> None:
    alice, bob = Node("alice"), Node("bob")
    captured = [alice.say(b"old", bob), alice.say(b"unheard", bob)]
    bob.hears(captured[0])
    # The receiver restarts: it has forgotten its windows, but is another session.
    again = Node("bob", incarnation=2)
    assert {again.refuses(data) for data in captured} == {"session"}
    # The sender restarts: what it said before is over, even what was never heard.
    restarted = Node("alice", incarnation=2)
    assert bob.refuses(restarted.say(b"new", bob)) == "incarnation"
    assert bob.hears(alice.say(b"still here", bob)) == b"still here"
    bob.opener.forget("alice")
    assert bob.hears(restarted.say(b"newer", bob)) == b"newer"
    assert {bob.refuses(data) for data in captured} == {"incarnation"}


def test_a_recorded_greeting_of_an_earlier_start_binds_nothing() -> None:
    earlier, alice, bob = Node("alice", incarnation=1), Node("alice", incarnation=2), Node("bob")
    later = Node("alice", incarnation=3)
    assert not bob.opener.open(earlier.sealer.greet()).fresh
    assert not bob.opener.open(later.sealer.greet()).fresh
    assert bob.opener.open(alice.say(b"", bob)).fresh
    assert bob.refuses(later.sealer.greet()) == "incarnation"
    assert bob.refuses(earlier.sealer.greet()) == "incarnation"
    assert bob.hears(alice.say(b"hello", bob)) == b"hello"


def test_two_claimants_of_one_incarnation_and_of_the_own_name() -> None:
    bob = Node("bob")
    assert bob.hears(Node("alice").say(b"I am alice", bob)) == b"I am alice"
    assert bob.refuses(Node("alice").say(b"so am I", bob)) == "claimed"
    assert bob.refuses(Node("bob", incarnation=9).say(b"and I am you", bob)) == "claimed"


def test_no_more_senders_than_the_limit_are_remembered_and_no_stranger_is() -> None:
    bob = Node("bob", senders_max=2)
    for name in ("a", "b"):
        bob.hears(Node(name).say(b"hello", bob))
    assert bob.refuses(Node("c").say(b"hello", bob)) == "senders"
    bob.opener.forget("a")
    assert bob.hears(Node("c").say(b"hello", bob)) == b"hello"
    for number in range(50):
        assert bob.refuses(Node(f"x{number}", FOREIGN).say(b"hello", bob)) == "key"
    assert len(bob.opener._known) == len(bob.opener._senders) == 2


def test_keys_are_rotated_while_all_speak_and_nothing_is_lost() -> None:
    nodes = [Node(name) for name in "abc"]
    delayed: list[tuple[Node, bytes, bytes]] = []

    def everyone_speaks() -> None:
        for node in nodes:
            for other in nodes:
                if other is not node:
                    assert other.hears(node.say(b"now", other)) == b"now"
                    delayed.append((other, node.say(b"later", other), b"later"))

    everyone_speaks()
    steps: tuple[Callable[[Any], object], ...] = (
        lambda node: node.ring.install(NEW),
        lambda node: node.ring.use(NEW.id),
    )
    for step in steps:
        for node in nodes:
            step(node)
            everyone_speaks()
    for receiver, data, body in delayed:
        assert receiver.hears(data) == body
        assert receiver.refuses(data) == "replayed"
    late = [(receiver, data) for receiver, data, _ in delayed if OLD.id in data]
    assert late
    for node in nodes:
        node.ring.remove(OLD.id)
        everyone_speaks()
    assert {receiver.refuses(data) for receiver, data in late} == {"key"}


def test_a_key_that_was_removed_and_comes_back_lets_no_replay_in() -> None:
    alice, bob = Node("alice"), Node("bob", NEW, OLD)
    data = alice.say(b"hello", bob)
    assert bob.hears(data) == b"hello"
    bob.ring.remove(OLD.id)
    assert bob.refuses(data) == "key"
    bob.ring.install(OLD)
    assert bob.refuses(data) == "replayed"


def test_a_ring_keeps_the_key_that_it_uses() -> None:
    ring = KeyRing(OLD)
    with pytest.raises(Misuse, match="in use"):
        ring.remove(OLD.id)
    with pytest.raises(Misuse, match="not installed"):
        ring.use(NEW.id)


def test_no_nonce_is_used_twice_with_one_key() -> None:
    """Whatever is forgotten, rotated, evicted or restarted. What is clear of a datagram gives both."""
    used: list[bytes] = []
    chance = random.Random(4)
    receivers = [bytes([number]) * 8 for number in range(6)]
    for _ in range(5):
        ring = KeyRing(OLD, NEW)
        sealer = Sealer(ring, Header(CLUSTER, "alice", 0), receivers_max=4)
        for _ in range(2_000):
            match chance.randrange(20):
                case 0:
                    sealer.forget(chance.choice(receivers))
                case 1:
                    ring.use(chance.choice((OLD, NEW)).id)
                case _:
                    used.append(sealer.seal(b"", chance.choice(receivers))[:-16])
    assert len(set(used)) == len(used) > 8_000


def test_a_forked_process_seals_nothing() -> None:
    """It would use the keys and the nonces of its parent."""
    alice, bob = Node("alice"), Node("bob")
    alice.say(b"before", bob)
    reads, writes = os.pipe()
    child = os.fork()
    if not child:
        try:
            alice.say(b"after", bob)
            os.write(writes, b"sealed")
        except Misuse as error:
            os.write(writes, str(error).encode())
        finally:
            os._exit(0)
    os.waitpid(child, 0)
    told = os.read(reads, 1000).decode()
    os.close(reads)
    os.close(writes)
    assert told.startswith("the process was forked")
    alice.say(b"after", bob)
