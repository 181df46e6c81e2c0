"""Nédelec, Molli and Mostéfaoui (2018b), section 2.2, and preventive broadcast, which is their (2018a).

Figures 1 and 2 are played step by step against algorithm 1. For preventive broadcast, which the paper builds
on, each rule that its printed version lacks has the smallest schedule that shows it; the same defects are
caught at random in tests/mutants.
"""

from typing import Any

from aforesaid.core import MessageId
from aforesaid.protocols.overlay.frames import Copy, Flood, Join, Lid
from aforesaid.protocols.overlay.link_memory import LinkMemory
from aforesaid.protocols.overlay.preventive import Preventive
from aforesaid.protocols.overlay.preventive_frames import Flush, Ping, Pong, Welcome
from mutants.overlay import AnyPong, BypassAlways, ForAnyIncarnation, LooksEverywhere
from support.harness import Recorder, judged, scenario

STAR = {"A": ("B", "C"), "B": ("A",), "C": ("A",)}
"""Figures 1 and 2: every link of A leads both ways."""


class Figure:
    """The processes of a figure; nothing moves unless the test says so."""

    def __init__(self, views: dict[str, tuple[str, ...]], kind: type[LinkMemory] = LinkMemory) -> None:
        self.machines = {name: kind(name, view, view) for name, view in views.items()}
        self.outs = {name: Recorder() for name in views}

    def broadcast(self, name: str, payload: str) -> None:
        self.machines[name].broadcast(payload, 0, self.outs[name])

    def carry(self, source: str, target: str) -> None:
        """The oldest frame on a link arrives."""
        sent = self.outs[source].sent
        place = next(place for place, (name, _) in enumerate(sent) if name == target)
        self.machines[target].receive(source, sent.pop(place)[1], 0, self.outs[target])

    def memory(self, name: str) -> dict[str, list[str]]:
        """E as the figures write it: what is expected, by link."""
        expected = self.machines[name].expected
        said = {message_id: payload for out in self.outs.values() for message_id, payload in out.delivered}
        return {peer: [said[each] for each in messages] for peer, messages in expected.items() if messages}

    def delivered(self, name: str) -> list[Any]:
        return self.outs[name].payloads

    @property
    def in_flight(self) -> list[tuple[str, str]]:
        return [(source, target) for source, out in self.outs.items() for target, _ in out.sent]


# ---------------------------------------------------------------------------------------------- section 2.2


def test_figure_1_link_memory_empties() -> None:
    figure = Figure(STAR)
    # (a) Process B broadcasts b and awaits a copy of b from Process A.
    figure.broadcast("B", "b")
    assert figure.memory("B") == {"A": ["b"]}
    # (b) Process A receives, delivers and forwards b. It expects a copy from Process C.
    figure.carry("B", "A")
    assert figure.delivered("A") == ["b"]
    assert figure.memory("A") == {"C": ["b"]}
    # (c) B and C receive b. They do not expect other copies. C delivers and forwards b.
    figure.carry("A", "B")
    figure.carry("A", "C")
    assert figure.memory("B") == figure.memory("C") == {}
    assert figure.delivered("C") == ["b"]
    assert figure.in_flight == [("C", "A")]
    # (d) Process A receives its last expected copy. The message is completely removed from the system.
    figure.carry("C", "A")
    assert [figure.memory(name) for name in STAR] == [{}, {}, {}]
    assert figure.in_flight == []
    assert [figure.delivered(name) for name in STAR] == [["b"], ["b"], ["b"]]


def test_figure_2_a_link_that_is_merely_added_delivers_twice() -> None:
    """Algorithm 1 is for static systems: with its line 12 as printed, and as shipped."""
    for kind in (LinkMemory, LooksEverywhere):
        figure = Figure(STAR, kind)
        # (a) Process A broadcasts a and expects a copy from both Process B and Process C.
        figure.broadcast("A", "a")
        assert figure.memory("A") == {"B": ["a"], "C": ["a"]}
        # (b) Process C receives, delivers and forwards a. It does not expect additional copies.
        figure.carry("A", "C")
        assert figure.memory("C") == {}
        # (c) Process B adds a link to Process C. Then it receives, delivers and forwards a.
        figure.machines["B"].out_view = ("A", "C")
        figure.machines["C"].expected["B"] = set()
        figure.carry("A", "B")
        # (d) Process C receives a and mistakes it for a new message.
        figure.carry("B", "C")
        assert figure.delivered("C") == ["a", "a"]
        assert figure.memory("C") == {"A": ["a"]}


def test_algorithm_1_line_12_may_look_at_one_link() -> None:
    """Where every link carries every message once, both ways of asking give the same run."""
    for seed in range(20):
        world = scenario("link_memory", seed=seed, processes=5, network={"fifo": True}, options={"degree": 3})
        printed, _, _ = judged(world, build=LooksEverywhere.of)
        shipped, _, report = judged(world)
        assert report.value() == "kept"
        assert printed.run.digest == shipped.run.digest


def test_section_2_5_a_ring_holds_nothing_but_what_it_said_itself() -> None:
    """ "Processes do not consume space when the system topology is a ring": all but the origin."""
    ring = {name: LinkMemory(name, (after,), (before,)) for name, after, before in ("ABC", "BCA", "CAB")}
    outs = {name: Recorder() for name in ring}
    ring["A"].broadcast("a", 0, outs["A"])
    held = []
    for source, target in ("AB", "BC", "CA"):
        held.append([machine.gauges()["expected"] for machine in ring.values()])
        [(_, frame)] = outs[source].take_sent()
        ring[target].receive(source, frame, 0, outs[target])
    assert held == [[1, 0, 0]] * 3
    assert ring["A"].gauges()["expected"] == 0


# ------------------------------------------------------------------- (2018a): preventive broadcast

GROUP = ("a", "b", "c", "d")


def ring(name: str, kind: type[Preventive] = Preventive, **settings: Any) -> Preventive:
    """One of four processes in a ring of safe links: a to b to c to d to a."""
    return kind(name, GROUP, degree=1, patience=1_000, **settings)


def flushed(out: Recorder) -> list[list[Any]]:
    """What was sent as the first frame of new links."""
    return [[body for _, body in frame.messages] for _, frame in out.sent if isinstance(frame, Flush)]


def test_a_new_link_is_used_once_the_pong_has_come() -> None:
    """a opens a link to c, mediated by b: two hops and a pong, the three messages of Table 1."""
    a, b, c = (ring(name) for name in "abc")
    said, mediated, answered = Recorder(), Recorder(), Recorder()
    a.broadcast("before", 0, said)
    a.open("c", ("b",), 0, said)
    a.broadcast("after", 0, said)
    before, ping, after = (frame for _, frame in said.take_sent())
    assert isinstance(ping, Ping)
    assert isinstance(after, Copy)
    for frame in (before, ping):
        b.receive("a", frame, 0, mediated)
    for target, frame in mediated.take_sent():
        assert target == "c"
        c.receive("b", frame, 0, answered)
    # The ping came over safe links: what was delivered before it is here.
    assert answered.payloads == ["before"]
    pong = answered.sent[-1]
    assert pong == ("a", Pong(ping.opening, 0))
    a.receive("c", pong[1], 0, said)
    assert flushed(said) == [["after"]]
    assert list(a.out_view) == [Lid("a", "b", 0, 1), ping.opening]
    a.broadcast("at last", 0, said)
    assert [target for target, frame in said.sent if isinstance(frame, Copy)] == ["b", "c"]


def test_a_pong_counts_for_its_number_only() -> None:
    """The buffer overflows, a new number begins, and then the first pong comes: "y" would be lost to c."""
    kept = {}
    for kind in (Preventive, AnyPong):
        a, out = ring("a", kind, buffer_max=1), Recorder()
        a.open("c", ("b",), 0, out)
        first = out.take_sent()[0][1].opening
        a.broadcast("x", 0, out)
        a.broadcast("y", 0, out)
        again = next(frame.body for _, frame in out.sent if isinstance(frame, Flood))
        assert again.number == first.number + 1
        a.receive("c", Pong(first, 0), 0, out)
        early = flushed(out)
        a.receive("c", Pong(again, 0), 0, out)
        kept[kind] = early, flushed(out)
    # c vouches for nothing after the first ping when it answers it: an empty buffer lacks "x" and "y".
    assert kept == {Preventive: ([], [[]]), AnyPong: ([[]], [[]])}


def test_the_bypass_is_for_a_process_that_has_delivered_nothing() -> None:
    used = {}
    for kind in (Preventive, BypassAlways):
        for said in (0, 1):
            alone, out = kind("a", ("a",), patience=1_000), Recorder()
            for _ in range(said):
                alone.broadcast("x", 0, out)
            alone.open("b", None, 0, out)
            used[kind, said] = list(alone.out_view.values())
    assert used[Preventive, 0] == ["b"]
    # b does not have "x", and would get what follows it.
    assert used[Preventive, 1] == []
    assert used[BypassAlways, 1] == ["b"]


def test_a_link_is_for_the_incarnation_that_answered() -> None:
    """c answers a's ping, is isolated, and joins again through d before the first frame of the link comes."""
    heard = {}
    for kind in (Preventive, ForAnyIncarnation):
        later, out = kind("c", ("c",), 1, patience=1_000), Recorder()
        later.join("d", 0, out)
        [(_, join)] = out.take_sent()
        assert isinstance(join, Join)
        later.receive("d", Welcome(join.lid, ()), 0, out)
        link = Lid("a", "c", 0, 2)
        later.receive("a", Flush(link, 0, ()), 0, out)
        # What a said before this is on its way to d, and d will pass it on.
        later.receive("a", Copy(link, MessageId("a", 0, 5), "fifth"), 0, out)
        heard[kind] = out.payloads
    assert heard == {Preventive: [], ForAnyIncarnation: ["fifth"]}
