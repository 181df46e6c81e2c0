"""Every schedule of the PAK family at small scope, the shipped objects, judged by the checker at every end.

A message for which there is no receiver credit is discarded, and its frame is then gone: receiving it without
an effect is a step that counts. So where wr < ct the search is run without its reductions of no-ops.
"""

from dataclasses import replace
from typing import Any

import pytest

from aforesaid.explore import ALL, NONE, Reductions, Scope, explore
from aforesaid.protocols.broadcast.pak import Pak
from aforesaid.protocols.catalog import Setup

DISCARDING = replace(NONE, dead_frames=True)

PAK: dict[str, Any] = {}
CREDIT: dict[str, Any] = {"credit": 2}
NAK: dict[str, Any] = {"credit": 2, "nak": True}
NARROW: dict[str, Any] = {"credit": 2, "receiver_credit": 1}

SCOPES = [
    ("three speak", PAK, Scope(messages=1), ALL),
    ("one twice, one once", PAK, Scope(messages=(2, 1, 0)), ALL),
    ("one three times, one once", PAK, Scope(messages=(3, 1, 0)), ALL),
    ("two, twice each", PAK, Scope(processes=2, messages=2), ALL),
    ("a duplicate", PAK, Scope(messages=(1, 1, 0), duplicates_max=1), ALL),
    ("a loss", PAK, Scope(messages=(1, 1, 0), drops_max=1, timer_firings_max=1), ALL),
    ("a crash", PAK, Scope(messages=(1, 1, 0), crashes_max=1), ALL),
    ("a crash of one who speaks twice", PAK, Scope(messages=(2, 0, 0), crashes_max=1), ALL),
    ("credit", CREDIT, Scope(messages=(2, 1, 0)), ALL),
    ("credit, two speak twice", CREDIT, Scope(processes=2, messages=2), ALL),
    ("credit, FIFO", CREDIT, Scope(messages=(2, 1, 0), fifo=True), ALL),
    ("credit, a loss", CREDIT, Scope(messages=(2, 0, 0), drops_max=1, timer_firings_max=1), ALL),
    ("credit, a crash", CREDIT, Scope(messages=(2, 0, 0), crashes_max=1), ALL),
    ("credit, a crash of one of two", CREDIT, Scope(messages=(1, 1, 0), crashes_max=1), ALL),
    ("PAK/NAK", NAK, Scope(processes=2, messages=(2, 2)), ALL),
    ("PAK/NAK, two batches", NAK, Scope(processes=2, messages=(4, 2)), ALL),
    ("PAK/NAK, three", NAK, Scope(messages=(2, 2, 0)), ALL),
    ("PAK/NAK, unfinished", NAK, Scope(processes=2, messages=(2, 1), timer_firings_max=2), ALL),
    ("receiver credit", NARROW, Scope(messages=(2, 0, 0), timer_firings_max=2), DISCARDING),
    ("receiver credit, FIFO", NARROW, Scope(messages=(2, 1, 0), fifo=True, timer_firings_max=1), DISCARDING),
]


@pytest.mark.parametrize(
    ("options", "scope", "reductions"), [row[1:] for row in SCOPES], ids=[row[0] for row in SCOPES]
)
def test_every_schedule_keeps_every_promise(
    options: dict[str, Any], scope: Scope, reductions: Reductions
) -> None:
    def build(setup: Setup) -> Pak:
        return Pak(setup.me, setup.group, setup.incarnation, **options)

    found = explore(build, scope, reductions=reductions)
    assert found.violation is None, str(found)
    assert found.verdict == "kept"
    assert found.states > 100
