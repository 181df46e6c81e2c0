"""Sealed datagrams of a process that survives its starts."""

import pytest

from aforesaid.security.datagrams import KeyRing, Opener, Sealer, Superseded
from aforesaid.security.keys import make_cluster_key
from aforesaid.wire import Header, cluster_id

CLUSTER = cluster_id("demo", "waiting")
FIRST, SECOND, BACKUP = 1 << 32 | 7, 2 << 32 | 5, 2 << 32 | 6


def test_the_latest_start_counts_once_it_seals_for_this_session() -> None:
    ring = KeyRing(make_cluster_key())
    bob = Sealer(ring, Header(CLUSTER, "bob", 1))
    opener = Opener(ring, Header(CLUSTER, "bob", 1), bob.session)
    first, second, backup = (
        Sealer(ring, Header(CLUSTER, "alice", 3, start)) for start in (FIRST, SECOND, BACKUP)
    )
    assert opener.open(first.seal(b"1", bob.session)).body == b"1"
    # A greeting may have been recorded: it takes nobody's place.
    assert not opener.open(second.greet()).fresh
    assert opener.open(first.seal(b"2", bob.session)).body == b"2"
    kept = first.seal(b"3", bob.session)
    assert opener.open(second.seal(b"4", bob.session)).body == b"4"
    for sealed, sealer in ((kept, first), (backup.seal(b"5", bob.session), backup), (first.greet(), first)):
        with pytest.raises(Superseded) as refusal:
            opener.open(sealed)
        assert refusal.value.superseded[0] == sealer.session
    assert opener.open(second.seal(b"6", bob.session)).body == b"6"
