"""Killed with SIGKILL again and again, every ledger has every entry once and in order; by `kills.py`, which
plays every algorithm and 200 kills of each (`make campaign-net`)."""

from pathlib import Path

import pytest

from net.kills import play

LOAD = {"LEDGER_SAYS_S": "0.03", "LEDGER_AT_ONCE": "2"}
"""One that a busy machine bears, too."""


@pytest.mark.parametrize(
    ("algorithm", "way"),
    [
        ("waiting", "ledger.py"),
        ("hybrid_multicast_in_order", "ledger_in_node.py"),
        ("prc_spray", "ledger_in_node.py"),
    ],
)
def test_killed_again_and_again_every_ledger_has_every_entry_once_and_in_order(
    algorithm: str, way: str, tmp_path: Path
) -> None:
    played = play(tmp_path, algorithm, way, 7, LOAD)
    assert played.kills >= 7
    assert played.said > 100
    assert played.complaints == []
