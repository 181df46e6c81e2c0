"""The frontier's rule by hand, its window, and the layer that carries it."""

from typing import Any

import pytest

from aforesaid.check import check
from aforesaid.core import Ids, MessageId, Misuse, order_of
from aforesaid.protocols.algorithm import Setup
from aforesaid.protocols.broadcast import waiting
from aforesaid.protocols.catalog import CATALOG
from aforesaid.protocols.delivery import rst
from aforesaid.protocols.frontier import Frontier, with_frontier
from aforesaid.protocols.links.perfect import perfectly_linked
from aforesaid.sim import Scenario, simulate


def said(name: str, number: int = 1) -> MessageId:
    return MessageId(name, 0, number)


A, B, C, D, ME = said("a"), said("b"), said("c"), said("d"), said("me")


def learned(window_max: int = 10) -> Frontier:
    """A and b are concurrent, c follows both, d follows nothing."""
    frontier = Frontier("me", 0, window_max)
    for message, after in ((A, ()), (B, ()), (C, (A, B)), (D, ())):
        frontier.take(message, after)
    return frontier


def test_what_is_followed_leaves_the_frontier_and_what_is_said_replaces_it() -> None:
    frontier = learned()
    assert list(frontier.maximal) == [C, D]
    frontier.said(ME)
    assert list(frontier.maximal) == [ME]
    assert frontier.after(ME) == (C, D)


def test_its_own_message_teaches_a_process_nothing_when_it_is_delivered() -> None:
    frontier = learned()
    frontier.said(ME)
    frontier.take(said("e"), (ME,))
    frontier.take(ME, (C, D))
    assert list(frontier.maximal) == [said("e")]


def test_another_incarnation_of_its_own_name_is_another_process() -> None:
    frontier = learned()
    former = MessageId("me", 1, 1)
    frontier.take(former, (C, D))
    assert list(frontier.maximal) == [former]


def test_what_precedes_what() -> None:
    frontier = learned()
    frontier.said(ME)
    for one, other, before in ((A, C, True), (A, ME, True), (C, A, False), (A, B, False), (D, C, False)):
        assert frontier.precedes(one, other) is before
    assert frontier.precedes(ME, ME) is False


def test_what_is_older_than_the_window_is_not_known_and_never_guessed() -> None:
    frontier = learned(window_max=2)
    assert list(frontier.window) == [C, D]
    assert frontier.precedes(C, D) is False
    # That a precedes c could be seen from what c carries; that it does not precede d could not.
    assert frontier.precedes(A, C) is frontier.precedes(A, D) is frontier.precedes(said("x"), D) is None
    assert frontier.after(A) is None
    assert frontier.precedes(A, said("a", 2)) is True, "two of one process are in order, known or not"


def test_what_is_forgotten_still_leaves_the_frontier() -> None:
    frontier = Frontier("me", 0, 1)
    frontier.take(A, ())
    frontier.take(B, ())
    frontier.take(C, (A, B))
    assert list(frontier.maximal) == [C]


def test_only_a_causal_broadcast_has_exact_frontiers() -> None:
    for entry in (rst.ENTRY, CATALOG["reliable"]):
        with pytest.raises(Misuse, match=f"{entry.name} is no causal broadcast"):
            with_frontier(entry)
    assert with_frontier(waiting.ENTRIES[0]).name == "waiting"


def test_without_the_option_nothing_is_carried() -> None:
    setup = Setup("p0", ("p0", "p1"))
    assert order_of(CATALOG["tree"].build(setup)) is None
    asked = Setup("p0", ("p0", "p1"), options={"frontier": True, "window": 7})
    machine: Any = CATALOG["tree"].build(asked)
    assert machine.order.window_max == 7
    assert order_of(perfectly_linked(machine)) is machine.order
    with pytest.raises(Misuse, match="window must be a whole number from 1 on"):
        CATALOG["tree"].build(Setup("p0", ("p0", "p1"), options={"window": 0}))


def lossy(algorithm: str) -> Scenario:
    return Scenario.of(
        {
            "algorithm": algorithm,
            "processes": 4,
            "seed": 5,
            "duration_ms": 300,
            "options": {"frontier": True},
            "network": {"loss": 0.1, "retransmit": True},
            "workload": [{"kind": "rate", "per_second": 20}],
        }
    )


def test_it_is_carried_over_perfect_links() -> None:
    _, trace = simulate(lossy("no_waiting"))
    assert check(trace).value() == "kept"
    assert trace.messages.after.lengths.max() > 1


def test_the_checker_judges_what_messages_carry() -> None:
    """A trace records what a message says of itself, and the rule `recorded` sees what is not so."""

    class Deaf(Frontier):
        def take(self, message_id: MessageId, after: Ids) -> None:
            pass

    def build(setup: Setup) -> Any:
        machine: Any = CATALOG["no_waiting"].build(setup)
        machine.frontier = Deaf(setup.me, setup.incarnation, 10)
        return machine

    _, trace = simulate(lossy("no_waiting"), build=build)
    verdict = check(trace).verdicts["recorded"]
    assert verdict.value == "violated"
    assert "is not recorded as coming before" in verdict.witnesses[0].sentence
