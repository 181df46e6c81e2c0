"""Groups in pieces: the elder tells the parts apart, and the younger part comes over to the older one."""

import random
from itertools import pairwise
from pathlib import Path
from typing import Any

from aforesaid import Config, Node
from aforesaid.node.carrying.notes import entry_of
from aforesaid.node.carrying.streams import StreamCarrier
from aforesaid.protocols.membership.elders import ASK_BEATS, GONE_BEATS, REACH_BEATS, Elder, Word
from net.crowd import PRC
from net.net_stage import complaints, free_addresses, judged, run, take, until


class Members:
    """Members whose links are given; they tell each other as nodes do."""

    def __init__(self, count: int) -> None:
        self.elders = {f"p{n}": Elder(f"p{n}", incarnation=n) for n in range(count)}
        self.links: set[frozenset[str]] = set()

    def link(self, *names: str) -> None:
        """In a row."""
        self.links |= {frozenset(pair) for pair in pairwise(names)}

    def beat(self, times: int = 1, gone: str = "") -> None:
        for _ in range(times):
            words = []
            for name in self.elders.keys() - {gone}:
                self.elders[name].beat()
                words.append((name, self.elders[name].word))
            for name, word in words:
                for other in self.elders.keys() - {gone}:
                    if frozenset((name, other)) in self.links:
                        self.elders[other].hear(word)
            for name in self.elders.keys() - {gone}:
                if (stranger := self.elders[name].doubted) in self.elders.keys() - {gone}:
                    self.meet(name, stranger)

    def meet(self, one: str, other: str) -> bool:
        """One tells the other, which it has no link to; true if it was answered."""
        answered = self.elders[other].meet(one, self.elders[one].word)
        if answered:
            self.elders[one].meet(other, self.elders[other].word)
        return answered

    def known_to(self, name: str) -> str:
        return self.elders[name].word.name

    def apart(self) -> dict[str, str]:
        found = {name: elder.apart() for name, elder in self.elders.items()}
        return {name: elsewhere for name, elsewhere in found.items() if elsewhere is not None}


def test_everyone_comes_to_know_the_elder_of_its_part() -> None:
    group = Members(5)
    group.link("p4", "p1", "p0")
    group.link("p3", "p2")
    group.beat(3)
    assert [group.known_to(f"p{n}") for n in range(5)] == ["p0", "p0", "p2", "p2", "p0"]


def test_who_is_in_the_younger_part_is_told_by_a_stranger() -> None:
    group = Members(4)
    group.link("p0", "p3")
    group.link("p1", "p2")
    group.beat(2)
    assert group.meet("p2", "p3"), "p3 knows an older elder and answers"
    assert not group.meet("p3", "p1"), "p1 is the one that learns something"
    group.beat(REACH_BEATS)
    assert group.apart() == {}
    group.beat()
    assert group.apart() == {"p1": "p3", "p2": "p3"}
    assert group.apart() == {}, "it is said once"


def test_nobody_goes_who_hears_of_that_elder_from_a_neighbour_as_well() -> None:
    """A newcomer, or a long way between two members of one part."""
    group = Members(REACH_BEATS)
    group.link(*(f"p{n}" for n in range(REACH_BEATS)))
    group.beat(2)
    last = f"p{REACH_BEATS - 1}"
    assert group.known_to(last) != "p0"
    group.meet("p0", last)
    group.beat(REACH_BEATS + 1)
    assert group.known_to(last) == "p0"
    assert group.apart() == {}


def test_an_elder_that_is_gone_is_followed_by_the_next_and_does_not_come_back() -> None:
    group = Members(4)
    group.link("p0", "p1", "p2", "p3")
    group.beat(5)
    last_word = group.elders["p0"].word
    group.beat(GONE_BEATS + 10, gone="p0")
    assert {group.known_to(name) for name in ("p1", "p2", "p3")} == {"p1"}
    group.elders["p2"].hear(last_word)
    group.elders["p3"].meet("stranger", last_word)
    group.beat(REACH_BEATS + 1, gone="p0")
    assert group.known_to("p2") == "p1"
    assert group.apart() == {}, "nobody looks for a group whose elder is gone"


def test_a_newcomer_believes_no_stranger_that_does_not_know_yet_that_the_elder_is_gone() -> None:
    group = Members(4)
    group.link("p1", "p3")
    group.beat()
    last_word = Word(0, "p0", 7)
    group.elders["p2"].hear(last_word)
    assert group.meet("p2", "p3") is False, "p3 is told, and p0 is older than its own elder"
    group.beat(REACH_BEATS + 1, gone="p0")
    assert group.elders["p3"].doubted == "p2"
    group.elders["p3"].meet("p2", last_word)
    assert group.apart() == {}, "it has not counted on"
    group.beat(ASK_BEATS, gone="p0")
    assert group.elders["p3"].doubted is None
    assert group.apart() == {}


def test_a_part_that_was_cut_off_from_a_living_elder_finds_out() -> None:
    group = Members(4)
    group.link("p0", "p1", "p2", "p3")
    group.beat(5)
    group.links.remove(frozenset(("p1", "p2")))
    group.beat(GONE_BEATS + 2)
    assert group.known_to("p3") == "p2"
    group.meet("p0", "p3")
    group.beat(REACH_BEATS + 1)
    assert group.apart() == {"p3": "p0"}


def test_the_oldest_counts_on_and_is_never_apart() -> None:
    elder, chance = Elder("a", 1), random.Random(1)
    for _ in range(100):
        elder.beat()
        word = Word(chance.randrange(2, 9), "b", chance.randrange(1000))
        assert elder.meet("b", word)
        elder.hear(word)
        assert elder.apart() is None
    assert elder.word == Word(1, "a", 100)


def carrier(node: Node) -> StreamCarrier:
    found = node._running.carrier
    assert isinstance(found, StreamCarrier)
    return found


def knows_a0(node: Node) -> bool:
    return carrier(node)._member.elder.word.name == "a0"


def test_two_groups_that_come_to_know_of_each_other_become_one(tmp_path: Path) -> None:
    """As after a partition in which either side went on: no link can be made between the two any more."""

    async def main() -> None:
        names = ["a0", "a1", "b0", "b1", "b2"]
        addresses = dict(zip(names, free_addresses(len(names)), strict=True))
        nodes: dict[str, Node] = {}
        for name in names:
            founder = f"{name[0]}0"
            facts: dict[str, Any] = {"name": name, "listen": addresses[name], **PRC}
            facts |= {"directory": str(tmp_path / name), "heartbeat_s": 0.05}
            facts |= {} if name == founder else {"contact": addresses[founder]}
            nodes[name] = await Node(Config.of(facts)).__aenter__()
        before = {name: node.incarnation for name, node in nodes.items()}
        await nodes["a0"].broadcast(b"to the a's")
        await nodes["b0"].broadcast(b"to the b's")
        for name, node in nodes.items():
            assert [message.payload for message in await take(node, 1)] == [f"to the {name[0]}'s".encode()]
        carrier(nodes["b1"])._book.learn([entry_of("a1", before["a1"], addresses["a1"])])
        await until(lambda: all(map(knows_a0, nodes.values())), "the b's go over")
        await nodes["a0"].broadcast(b"to all")
        for node in nodes.values():
            assert (await take(node, 1))[0].payload == b"to all"
        assert [nodes[name].incarnation for name in ("a0", "a1")] == [before["a0"], before["a1"]]
        for node in reversed(nodes.values()):
            await node.close()

    run(main())
    report, trace = judged(tmp_path)
    assert not complaints(report)
    assert trace.processes.fate.count("evicted") >= 3
