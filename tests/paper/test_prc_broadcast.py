"""The prc-broadcast paper against the shipped PRC-broadcast: figure 4, and the counts of section 2.5.

Each test names the figure or section it is from. Figures 1 and 2 are in `test_prc_broadcast_static`; what
algorithm 2 gets wrong as printed is in `test_prc_broadcast_printed`.
"""

from itertools import pairwise, permutations

import pytest

from aforesaid.core import MessageId
from aforesaid.protocols.overlay.frames import ALPHA, BETA, PI, RHO, Buffer
from aforesaid.protocols.overlay.prc.links import OPEN, SAFE
from support.prc_stage import Stage, process, star


def names(message_ids: list[MessageId] | set[MessageId]) -> list[str]:
    """b1 for the first message of B, and so on."""
    return [f"{each.origin.lower()}{each.number}" for each in message_ids]


def b_beta(stage: Stage) -> list[str]:
    return names([message_id for message_id, _ in stage.outgoing("B", "C").buffer])


def b_alpha(stage: Stage) -> list[str]:
    end = stage.incoming("C", "B")
    return sorted(names(end.before or end.memory))


def b_pi(stage: Stage) -> list[str]:
    end = stage.incoming("C", "B")
    return sorted(names(end.memory)) if end.before else []


def test_figure_4() -> None:
    """B adds a link to C, with A as mediator; b1, b2, c1, c2, c3 are said meanwhile.

    Slips of the figure and its text, where the logic says otherwise:
    - section 2.4: B sends α "to Process B"; it is for C. (e): B replies π "to Process A"; it is for C;
    - (f) and (h): A takes c1 before π, and b1 before ρ. Links are FIFO: π and ρ come first;
    - (i): "once Process A sent Bβ": B did. Section 2.4 leaves c1 out of it; the figure has it;
    - (e) to (h): B gets b1, its own, back from A and discards it; the captions pass over it.
    """
    stage = star("A", "BC")

    # (a), (b): α goes from B to A, and from A to C.
    stage.do("B", "open", "C", ("A",))
    assert stage.carry("B", "A").kind == ALPHA
    assert stage.carry("A", "C").kind == ALPHA

    # (c): C answers β, then says c1.
    stage.say("C", "c1")
    assert [type(frame).__name__ for frame in stage.between("C", "A")] == ["Control", "Copy"]
    assert b_alpha(stage) == ["c1"]

    # (d): A routes β to B, and forwards c1 to both.
    assert stage.carry("C", "A").kind == BETA
    stage.carry("C", "A")
    assert len(stage.between("A", "B")) == 2
    assert len(stage.between("A", "C")) == 1

    # (e): C discards c1. B answers π, delivers c1, says b1.
    stage.carry("A", "C")
    assert stage.heard("C") == "c1"
    assert stage.carry("A", "B").kind == BETA
    stage.carry("A", "B")
    stage.say("B", "b1")
    assert b_beta(stage) == ["c1", "b1"]

    # (f): A routes π, discards c1, forwards b1. C says c2, in Bα still.
    assert stage.carry("B", "A").kind == PI
    stage.carry("B", "A")
    stage.carry("B", "A")
    assert stage.heard("A") == "c1 b1"
    stage.say("C", "c2")
    assert b_alpha(stage) == ["c1", "c2"]

    # (g): A forwards c2. B says b2. C answers π with ρ, delivers b1, says c3: these are in Bπ.
    stage.carry("C", "A")
    stage.say("B", "b2")
    assert b_beta(stage) == ["c1", "b1", "b2"]
    assert stage.carry("A", "C").kind == PI
    stage.carry("A", "C")
    stage.say("C", "c3")
    assert (b_alpha(stage), b_pi(stage)) == (["c1", "c2"], ["b1", "c3"])

    # (h): A routes ρ, discards b1, forwards b2 then c3. B gets c2, then ρ, and sends Bβ on the new link.
    assert stage.carry("C", "A").kind == RHO
    stage.carry("C", "A")
    stage.carry("B", "A")
    stage.carry("C", "A")
    assert stage.heard("A") == "c1 b1 c2 b2 c3"
    stage.carry("A", "B")
    stage.carry("A", "B")
    assert b_beta(stage) == ["c1", "b1", "b2", "c2"]
    assert stage.carry("A", "B").kind == RHO
    assert stage.outgoing("B", "C").state == SAFE

    # (i), (j): C delivers b2 alone, expects c3 from B, and a copy of b2 from A besides c2 and c3.
    assert names([each for each, _ in stage.carry("B", "C").messages]) == ["c1", "b1", "b2", "c2"]
    assert stage.heard("C") == "c1 c2 b1 c3 b2"
    assert stage.incoming("C", "B").state == OPEN
    assert names(stage.incoming("C", "B").memory) == ["c3"]
    assert sorted(names(stage.incoming("C", "A").memory)) == ["b2", "c2", "c3"]

    # Afterwards everyone has everything once, in causal order, and nobody remembers anything.
    stage.drain()
    assert stage.heard("A") == "c1 b1 c2 b2 c3"
    assert stage.heard("B") == "c1 b1 b2 c2 c3"
    assert stage.heard("C") == "c1 c2 b1 c3 b2"
    assert stage.held() == 0


def chain(*names: str) -> Stage:
    """Neighbours in a row, each linked both ways."""
    stage = Stage((name, process(name)) for name in names)
    for one, other in pairwise(names):
        stage.link(one, other)
        stage.link(other, one)
    return stage


def added(stage: Stage, opener: str, other: str, route: tuple[str, ...] | None) -> list[str]:
    """The control messages it takes to add a link."""
    stage.do(opener, "open", other, route)
    stage.drain()
    assert stage.outgoing(opener, other).state > SAFE
    assert stage.incoming(other, opener).state == OPEN
    return stage.control()


def test_section_2_5_six_control_messages_with_a_mediator_there_and_a_link_back() -> None:
    """A adds B through C, and B has A in its out-view: β and ρ take one hop."""
    stage = Stage((name, process(name)) for name in "ABC")
    for one, other in ("AC", "CB", "BA"):
        stage.link(one, other)
    assert sorted(added(stage, "A", "B", ("C",))) == [ALPHA, ALPHA, BETA, PI, PI, RHO]


def test_section_2_5_eight_control_messages_between_neighbours_of_a_neighbour() -> None:
    assert sorted(added(star("C", "AB"), "A", "B", ("C",))) == sorted(2 * [ALPHA, BETA, PI, RHO])


@pytest.mark.parametrize(
    ("links", "route", "messages"),
    [("AC CB BA", "C", 5), ("AC CA CB BC", "C", 7), ("AC CA CD DC DB BD", "CD", 10)],
)
def test_five_seven_and_ten_if_alpha_takes_the_new_connection(links: str, route: str, messages: int) -> None:
    """Not the paper's: α only asks, need not come after what precedes it, and is one message."""
    stage = Stage((name, process(name, alpha_direct=True)) for name in sorted(set(links) - {" "}))
    for one, other in map(tuple, links.split()):
        stage.link(one, other)
    assert len(added(stage, "A", "B", tuple(route))) == messages


def test_both_directions_take_no_more_control_messages_than_one() -> None:
    """Section 3: links are bidirectional "but the overhead remains minor"; in one handshake there is none."""
    stage = star("C", "AB", both_ways=True)
    assert len(added(stage, "A", "B", ("C",))) == 8
    assert stage.outgoing("B", "A").state > SAFE
    assert stage.incoming("A", "B").state == OPEN


@pytest.mark.parametrize("mediators", [1, 2, 3, 5])
def test_section_2_5_a_route_of_any_length_takes_four_messages_per_hop(mediators: int) -> None:
    row = [f"P{number}" for number in range(mediators + 2)]
    control = added(chain(*row), row[0], row[-1], tuple(row[1:-1]))
    assert len(control) == 4 * (mediators + 1)


@pytest.mark.parametrize("processes", [4, 6, 9])
def test_section_2_5_without_a_route_each_message_takes_every_link_once(processes: int) -> None:
    """At most 4 |P|²: a control message is broadcast, and every safe link carries a broadcast once."""
    row = [f"P{number}" for number in range(processes)]
    stage = Stage((name, process(name)) for name in row)
    links = [(one, other) for one, other in permutations(row, 2) if {one, other} != {row[0], row[-1]}]
    for one, other in links:
        stage.link(one, other)
    assert len(added(stage, row[0], row[-1], None)) == 4 * len(links) < 4 * processes**2
    assert stage.held() == 0


def test_the_buffer_is_no_control_message_and_the_first_frame_of_its_link() -> None:
    """Section 2.3: "B will receive Bβ before upcoming broadcast messages on this new link"."""
    stage = star("C", "AB")
    added(stage, "A", "B", ("C",))
    on_the_new_link = [frame for source, target, frame in stage.sent if (source, target) == ("A", "B")]
    assert isinstance(on_the_new_link[0], Buffer)
