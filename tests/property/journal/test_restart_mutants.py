"""Each rule of durable restart, left out, is noticed by the first restarts."""

from collections.abc import Callable
from typing import Any

import pytest

from aforesaid.check import check
from aforesaid.journal import Durable, Journal
from aforesaid.journal.records import read
from aforesaid.journal.recovery import SEGMENT, numbered
from aforesaid.protocols.catalog import CATALOG
from aforesaid.sim import Scenario
from aforesaid.testing.worlds import worlds
from aforesaid.trace import MemorySink
from aforesaid.world.disk import OpenDisk
from support.restarts import Logged, Restarting

NAME = "hybrid_multicast_in_order"
SEEDS = range(1, 13)


def not_forced(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(OpenDisk, "force", lambda disk, file: disk._machine.effect())


def frames_leave_early(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(Durable, "send", lambda durable, targets, frame: durable._host.send(targets, frame))


def deliveries_leave_early(patch: pytest.MonkeyPatch) -> None:
    def deliver(durable: Durable, message_id: Any, payload: Any) -> None:
        durable._number(message_id, payload)
        durable._hand(durable.offset, message_id, payload)

    patch.setattr(Durable, "deliver", deliver)


def timers_stay_disarmed(patch: pytest.MonkeyPatch) -> None:
    resume = Durable.resume

    def forgetful(durable: Durable, offset: int | None = None) -> None:
        durable._told.timers.clear()
        resume(durable, offset)

    patch.setattr(Durable, "resume", forgetful)


def deliveries_do_not_come_again(patch: pytest.MonkeyPatch) -> None:
    resume = Durable.resume
    patch.setattr(Durable, "resume", lambda durable, offset: resume(durable, durable.offset))


def what_is_read_is_taken_for_forced(patch: pytest.MonkeyPatch) -> None:
    begin = Journal._begin

    def trusting(journal: Journal, again: Any = ()) -> None:
        if again:
            journal.last = journal.recovered.last
            _, name = numbered(journal._disk.names(journal._directory), SEGMENT)[-1]
            read_before = read(name, journal._disk.read(journal._directory / name) or b"")
            journal._checksum = read_before.records[-1].checksum
        begin(journal)

    patch.setattr(Journal, "_begin", trusting)


def outcome(seed: int, setting: str) -> str:
    """What is wrong; empty: nothing."""
    scenario = Scenario.of({"algorithm": NAME, "seed": seed, **worlds(CATALOG[NAME])["loss"]})
    sink = MemorySink()
    simulation = Restarting(scenario, Logged(sink), setting)
    try:
        ended = simulation.run()
    except Exception as error:
        return repr(error)
    simulation.close("mutant", ended)
    wrong = [verdict.property for verdict in check(sink.trace).required_verdicts() if verdict.value != "kept"]
    return ", ".join(wrong)


@pytest.mark.parametrize(
    "mutant",
    [
        not_forced,
        frames_leave_early,
        deliveries_leave_early,
        timers_stay_disarmed,
        deliveries_do_not_come_again,
        what_is_read_is_taken_for_forced,
    ],
)
def test_every_rule_is_needed(
    mutant: Callable[[pytest.MonkeyPatch], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    mutant(monkeypatch)
    assert any(outcome(seed, setting) for seed in SEEDS for setting in ("always", "batch"))
