"""Reasons of a live node: data first; who is concerned follows from the data, whatever peers are called."""

from types import SimpleNamespace
from typing import Any

from aforesaid.core import SECOND, MessageId, Reason
from aforesaid.node.operating.explain import data_of, sentences_of, silences_of

OWN = MessageId("alice", 0, 1)
WAITS = Reason("missing permit", OWN, "bob", MessageId("carol", 0, 2), holder="carol", since=5 * SECOND)


def host(*peers: str, heard: dict[str, int] | None = None) -> Any:
    """As much of a host as an explanation looks at; its clock shows 9 s, the one on the wall 1 h more."""
    return SimpleNamespace(
        config=SimpleNamespace(peers=dict.fromkeys(peers)),
        gone={},
        carrier=SimpleNamespace(heard_ns=(heard or {}).get),
        now=lambda: 9 * SECOND,
        wall=lambda: 3609 * SECOND,
    )


def test_peers_with_names_out_of_our_own_sentences_are_not_concerned() -> None:
    asked = host("permit", "message", "bob", "carol", heard={"bob": 7 * SECOND})
    assert silences_of(asked, [WAITS]) == {"bob": 2.0, "carol": None}
    assert sentences_of(asked, [WAITS]) == (
        "alice#1 is not sent to bob: the permit from carol for its message 2 is missing.",
        "bob was last heard 2.0 s ago.",
        "carol was never heard.",
    )


def test_of_a_link_that_is_being_opened_it_is_told_since_when() -> None:
    waits = Reason("handshake", OWN, "bob", number=2, since=5 * SECOND)
    assert sentences_of(host("bob", heard={"bob": 7 * SECOND}), [waits]) == (
        "alice#1 is kept for the new link to bob until bob tells in their handshake that it has "
        "all that came before; messages kept: 2.",
        "Messages are kept for bob since 4.0 s ago.",
        "bob was last heard 2.0 s ago.",
    )


def test_a_peer_called_permit_is_concerned_if_it_is() -> None:
    waits = Reason("missing ack", OWN, "permit")
    assert list(silences_of(host("permit", "message"), [waits])) == ["permit"]


def test_data_has_what_the_sentence_has_and_since_when() -> None:
    assert data_of(host(), WAITS) == {
        "kind": "missing permit",
        "message": "alice#1",
        "peer": "bob",
        "cause": "carol#2",
        "holder": "carol",
        "since": "1970-01-01T01:00:05.000+00:00",
    }
    assert data_of(host(), Reason("more permits", OWN, number=3)) == {
        "kind": "more permits",
        "message": "alice#1",
        "number": 3,
    }
