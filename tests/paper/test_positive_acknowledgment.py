"""Baldoni (1998), causal broadcast by positive acknowledgments: the printed rules fail, ours do not.

Each mutant is the shipped protocol with one rule as the paper prints it, or as it is easily misread, or
without one that crashes make necessary. A schedule written by hand shows how it fails; seeded runs show that
it would be noticed; the shipped protocol goes through the same schedules and the same runs unharmed.
"""

from collections.abc import Callable
from typing import Any

import pytest

from aforesaid.explore import Exploration, Scope, explore
from aforesaid.protocols.broadcast.pak import Ack, Data, ModularVectors, Pak, Relayed
from aforesaid.protocols.broadcast.pak.queues import Queues
from aforesaid.protocols.catalog import Setup
from support.harness import command, judged, scenario
from support.pak_stage import Stage

Build = Callable[[Setup], Pak]


def built(kind: type[Pak] = Pak, **options: Any) -> Build:
    return lambda setup: kind(setup.me, setup.group, setup.incarnation, **options)


# The mutants.


class NoTimer(Pak):
    """The printed protocol stands on reliable FIFO channels (section 2.1): it has no timers."""

    def _keep_time(self, now: int, out: Any) -> None:
        pass


class AdvanceAtFullAck(NoTimer):
    """Figure 7, S5: V[self] advances when a message is fully acknowledged, not when it is sent.

    Then a message that knows more of ours than is fully acknowledged must wait: for all h but the sender.
    """

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        queues = self.queues
        # No process has this rank: nobody is excepted but the sender.
        self.queues = Queues(-1, queues.vectors, queues.credit, queues.receiver_credit)

    def _release_one(self, payload: Any, out: Any) -> None:
        super()._release_one(payload, out)
        self.queues.vector[self.own] = self.window.stable

    def _stabilise(self, out: Any) -> None:
        super()._stabilise(out)
        if self.queues.vector[self.own] < self.window.stable:
            self.queues.vector[self.own] = self.window.stable
            for sender in self.queues.waiting.pop(self.own, ()):
                self._deliver_ready(sender, out)


class AckOnReceipt(Pak):
    """Section 5.2: "an ack message is required from all the processes on the receipt of the ct-th message".

    What is received and not delivered may be any number of messages: no receiver credit is printed there.
    """

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self.queues.receiver_credit = 1 << 30

    def _arrived(self, sender: int, data: Data, out: Any) -> None:
        super()._arrived(sender, data._replace(ack_wanted=False), out)
        accepted = self.queues.accepted[sender]
        if data.ack_wanted and data.number <= accepted:
            out.send((self.group[sender],), Ack(accepted, self.window.released))


class AckWithoutCount(Pak):
    """Section 4.2, lemma 4.3: acks are taken at once. That needs acks never to overtake messages."""

    def _acknowledged(self, peer: int, ack: Ack, out: Any) -> None:
        super()._acknowledged(peer, ack._replace(own_count=0), out)


class TwiceTheCredit(Pak):
    """Section 5.1 with k = 2ct, the number of values in 1..ct above and 1..ct below: one too few."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self.queues.vectors = ModularVectors(len(self.group), 2 * self.window.credit)


class BlockingBroadcast(Pak):
    """Figure 7, S1 and R2 to R4: broadcast waits inside the delivery that called it, and the ack comes after.

    While it waits, acks are heard, but nothing is delivered and nothing is acknowledged.
    """

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self.unanswered: list[int] = []
        self.unheard: list[tuple[str, Any]] = []

    def _ack(self, sender: int, out: Any) -> None:
        self.unanswered.append(sender)

    def receive(self, source: str, message: Any, now: int, out: Any) -> None:
        if self.queue and type(message) is Data:
            self.unheard.append((source, message))
            return
        self._go_on(now, out)
        super().receive(source, message, now, out)

    def expire(self, timer: Any, now: int, out: Any) -> None:
        self._go_on(now, out)
        super().expire(timer, now, out)

    def _go_on(self, now: int, out: Any) -> None:
        while self.unanswered and not self.queue:
            super()._ack(self.unanswered.pop(0), out)
        while self.unheard and not self.queue:
            super().receive(*self.unheard.pop(0), now, out)


class LeaveOutAtOnce(Pak):
    """Not in the paper: a crashed process no longer counts for full acks as soon as its crash is known."""

    def _agree(self) -> None:
        for process in self.survivors.down:
            if process not in self.left_out:
                self.window.leave_out(process)
        self.left_out = self.survivors.down
        self.survivors.agree(self.peers, self.queues.accepted)


class NoRelay(Pak):
    """Not in the paper: survivors leave a crashed sender's messages to chance."""

    def _agree(self) -> None:
        for process in self.survivors.down:
            if process not in self.left_out:
                self.window.leave_out(process)
                self.survivors.kept.pop(process, None)
        self.left_out = self.survivors.down
        self.survivors.everywhere = True

    def _reported(self, peer: int, has: Any, out: Any) -> None:
        pass


MUTANTS: dict[str, tuple[str, Build]] = {
    "V[self] advances at the full ack": (
        "figure 7, S5, in section 5.2",
        built(AdvanceAtFullAck, credit=2, nak=True),
    ),
    "acks on receipt": ("section 5.2", built(AckOnReceipt, credit=2)),
    "acks without a count": ("section 4.2, lemma 4.3", built(AckWithoutCount)),
    "k = 2ct": ("section 5.1", built(TwiceTheCredit, credit=2)),
    "receiver credit without a count": (
        "section 5.1, memory requirements",
        built(AckWithoutCount, credit=2, receiver_credit=1),
    ),
    "broadcast blocks": ("figure 7, S1", built(BlockingBroadcast)),
    "the crashed are left out at once": ("not in the paper: crashes", built(LeaveOutAtOnce, credit=3)),
    "nothing is relayed after a crash": ("not in the paper: crashes", built(NoRelay, credit=3)),
}
"""Each with the place that prints or suggests it."""


# Section 4.3 and 5.2: when V[self] advances.


def cross(build: Build) -> Stage:
    """Two processes speak, hear each other, speak again, and everything arrives: six steps."""
    stage = Stage("ab", build)
    stage.say("a")
    stage.say("b")
    stage.flow()
    stage.say("a")
    stage.say("b")
    stage.flow()
    return stage


def test_advancing_at_the_full_ack_deadlocks_pak_nak_in_six_steps() -> None:
    """Each one's second message knows the other's first, which the other counts only at the full ack of its
    batch; and that needs the ack of its second message, given on delivery."""
    stage = cross(built(AdvanceAtFullAck, credit=2, nak=True))
    assert stage.log("a") == ["a1", "b1", "a2"]
    assert stage.log("b") == ["b1", "a1", "b2"]
    assert not stage.flying
    assert stage.held()["pending"] == 2
    assert stage.stable("a") == stage.stable("b") == []


def test_advancing_at_release_does_not() -> None:
    stage = cross(built(NoTimer, credit=2, nak=True))
    assert stage.log("a") == ["a1", "b1", "a2", "b2"]
    assert stage.log("b") == ["b1", "a1", "b2", "a2"]
    assert stage.stable("a") == stage.stable("b") == [1, 2]


def test_the_explorer_finds_that_deadlock_too_and_no_shorter_one() -> None:
    scope = Scope(processes=2, messages=2, fifo=True)
    found = explore(built(AdvanceAtFullAck, credit=2, nak=True), scope)
    assert found.violation is not None
    assert "validity" in found.violation.properties
    assert len(found.violation.steps) == 6 + 2, "and the two arrivals that find it"
    assert explore(built(NoTimer, credit=2, nak=True), scope).verdict == "kept"


# Section 4.2: what acks vouch for.


def ahead_of_an_undelivered_message(build: Build, k: int) -> Stage:
    """c has b1 under way for long; meanwhile a speaks k - 1 times. b's acks to a overtake b1."""
    stage = Stage("abc", build)
    stage.say("b")
    for _ in range(k - 1):
        stage.say("a")
        stage.flow(held=("b>a", "b>c"), kind=Data)
    stage.flow()
    for _ in range(5):
        stage.tick()
        stage.flow()
    return stage


@pytest.mark.parametrize("k", [3, 4, 9, 40])
def test_acks_that_overtake_messages_make_every_k_too_small(k: int) -> None:
    stage = ahead_of_an_undelivered_message(built(AckWithoutCount, k=k), k)
    assert stage.log("c") == [f"a{number}" for number in range(1, k)]
    assert stage.held()["pending"] == 1, "b1 lies k - 1 below, which looks like 1 above: c waits for a"
    assert stage.log("a")[-1] == "b1"


@pytest.mark.parametrize("k", [3, 4, 9, 40])
def test_an_ack_that_waits_for_the_messages_it_vouches_for_does_not(k: int) -> None:
    stage = ahead_of_an_undelivered_message(built(k=k), k)
    assert sorted(stage.log("c")) == sorted([*(f"a{number}" for number in range(1, k)), "b1"])
    assert stage.at_rest()


# Section 5.2: acks on receipt.


def pile_up(build: Build, rounds: int) -> Stage:
    """c lacks f1 for long. What e and b say after it piles up at c; d hears all of it and speaks."""
    stage = Stage("bcdef", build)
    late = ("f>c",)
    stage.say("f")
    stage.flow(held=late)
    stage.say("e")
    stage.flow(held=late)
    stage.say("b")
    stage.flow(held=late)
    for speaker in "eb":
        for _ in range(rounds - 1):
            stage.say(speaker)
            stage.flow(held=late)
    stage.say("d")
    stage.flow(held=late)
    stage.flow()
    return stage


@pytest.mark.parametrize("k", [3, 5, 16])
def test_acks_on_receipt_break_causal_order_whatever_k_is(k: int) -> None:
    stage = pile_up(built(AckOnReceipt, k=k), rounds=k)
    log = stage.log("c")
    assert stage.log("d")[-1] == "d1", "d had heard all of b and of e"
    assert log.index("d1") < log.index("b1"), "d1 lies k above c's count of b, which looks like 0"


@pytest.mark.parametrize("k", [3, 5, 16])
def test_acks_on_delivery_do_not(k: int) -> None:
    stage = pile_up(built(k=k), rounds=k)
    stage.tick()
    stage.flow()
    assert len(stage.log("c")) == 2 * k + 2
    assert stage.log("c").index("d1") > stage.log("c").index("b1")


# Section 5.1: how large k must be.


def concurrent_with_ct_others(build: Build, credit: int) -> Stage:
    """b1 reaches c after ct messages of a that do not know it; then a, which does, speaks again."""
    stage = Stage("abc", build)
    stage.say("b")
    stage.say("a", credit)
    stage.flow(held=("b>c", "b>a"), kind=Data)
    stage.flow()
    stage.say("a", credit)
    stage.flow()
    for _ in range(5):
        stage.tick()
        stage.flow()
    return stage


@pytest.mark.parametrize("credit", [1, 2, 3, 8])
@pytest.mark.parametrize("nak", [False, True])
def test_with_k_of_2ct_a_message_concurrent_with_ct_others_waits_for_ever(credit: int, nak: bool) -> None:
    stage = concurrent_with_ct_others(built(TwiceTheCredit, credit=credit, nak=nak), credit)
    assert stage.log("c") == [f"a{number}" for number in range(1, credit + 1)]
    assert stage.held()["pending"] >= 2, "b1 waits for a, and a's next waits for b1"


@pytest.mark.parametrize("credit", [1, 2, 3, 8])
@pytest.mark.parametrize("nak", [False, True])
def test_k_of_2ct_plus_1_is_enough(credit: int, nak: bool) -> None:
    stage = concurrent_with_ct_others(built(credit=credit, nak=nak), credit)
    assert len(stage.log("c")) == 2 * credit + 1
    assert stage.at_rest()


def explored(credit: int, k: int, messages: tuple[int, ...]) -> Exploration:
    """All schedules on FIFO channels without timers, as printed."""

    def build(setup: Setup) -> Pak:
        pak = NoTimer(setup.me, setup.group, credit=credit)
        pak.queues.vectors = ModularVectors(len(setup.group), k)
        return pak

    return explore(build, Scope(processes=3, messages=messages, fifo=True))


@pytest.mark.parametrize(("credit", "messages"), [(1, (2, 1, 0)), (1, (1, 1, 1)), (2, (2, 1, 0))])
def test_the_explorer_finds_2ct_too_small_and_2ct_plus_1_enough(credit: int, messages: Any) -> None:
    too_small = explored(credit, 2 * credit, messages)
    assert too_small.violation is not None
    assert "validity" in too_small.violation.properties
    assert explored(credit, 2 * credit + 1, messages).verdict == "kept"


def test_figure_6s_k_of_4_for_a_credit_of_1_is_safe_but_not_minimal() -> None:
    assert explored(1, 4, (2, 1, 0)).verdict == "kept"


# Section 5.1, memory requirements: receiver credit.


def discard_and_run_ahead(build: Build, k: int) -> Stage:
    """FIFO links. b1 waits for d1 at a and c, so b2 finds no room there; then a speaks k - 1 times."""
    stage = Stage("abcd", build)
    stage.say("d")
    stage.arrive("d>b")
    stage.say("b", 2)
    for receiver in "ac":
        stage.arrive(f"b>{receiver}", Data)
        stage.arrive(f"b>{receiver}", Data)
    stage.flow()
    for _ in range(k - 1):
        stage.say("a")
        stage.flow()
    for _ in range(5):
        stage.tick("b")
        stage.flow()
    return stage


@pytest.mark.parametrize("k", [5, 6, 21])
def test_receiver_credit_below_ct_is_unsound_if_acks_carry_no_count(k: int) -> None:
    stage = discard_and_run_ahead(built(AckWithoutCount, credit=2, receiver_credit=1, k=k), k)
    assert "b2" not in stage.log("c")
    assert stage.held()["pending"] == 1, "b2 came again, lies k - 1 below, and looks as if it were 1 above"


@pytest.mark.parametrize("k", [5, 6, 21])
def test_it_is_sound_if_they_do(k: int) -> None:
    stage = discard_and_run_ahead(built(credit=2, receiver_credit=1, k=k), k)
    assert len(stage.log("c")) == 3 + k - 1
    assert stage.at_rest()


# Figure 7, S1: waiting inside a delivery.


def answer_each_other(build: Build) -> Stage:
    """Both speak, and both answer what they hear while their first message is under way."""
    stage = Stage("ab", build)
    stage.say("a")
    stage.say("b")
    stage.arrive("a>b")
    stage.say("b")
    stage.arrive("b>a", Data)
    stage.say("a")
    for _ in range(5):
        stage.flow()
        stage.tick()
    return stage


def test_a_broadcast_that_waits_inside_a_delivery_stops_the_acks_it_waits_for() -> None:
    stage = answer_each_other(built(BlockingBroadcast))
    assert stage.log("a") == ["a1", "b1"]
    assert stage.log("b") == ["b1", "a1"]
    assert stage.stable("a") == stage.stable("b") == []
    assert stage.held()["queued"] == 2


def test_a_broadcast_that_queues_does_not() -> None:
    stage = answer_each_other(built())
    assert sorted(stage.log("a")) == sorted(stage.log("b")) == ["a1", "a2", "b1", "b2"]
    assert stage.at_rest()


# Section 5.2: the end of a conversation.


def unfinished_batch(build: Build) -> Stage:
    stage = Stage("ab", build)
    stage.say("a", 2)
    for _ in range(8):
        stage.flow()
        stage.tick()
    stage.flow()
    return stage


def test_the_last_messages_of_an_unfinished_batch_never_become_stable_as_printed() -> None:
    stage = unfinished_batch(built(NoTimer, credit=3, nak=True))
    assert stage.log("b") == ["a1", "a2"]
    assert stage.stable("a") == []


def test_they_do_if_what_is_sent_again_asks_for_an_ack() -> None:
    stage = unfinished_batch(built(credit=3, nak=True))
    assert stage.stable("a") == [1, 2]
    assert stage.at_rest()


# Section 4.1: stability.


def test_a_full_ack_means_that_everyone_has_delivered_the_message() -> None:
    stage = Stage("abcd", built(credit=2))
    stage.say("a")
    stage.arrive("a>b")
    stage.say("b")
    stage.flow(held=("a>d",))
    assert stage.log("d") == [], "b1 depends on a1, which is under way"
    assert stage.stable("a") == stage.stable("b") == []
    stage.flow()
    assert stage.stable("a") == stage.stable("b") == [1]


# Crashes, of which the paper has none.


def run_ahead_of_the_crashed(build: Build, k: int) -> Stage:
    """z1 has reached j only, and z is gone. j1 depends on it. h, told at once, speaks k - 1 times."""
    stage = Stage("hijz", build)
    stage.say("z")
    stage.arrive("z>j")
    stage.lose("z>h", "z>i")
    stage.crash("z")
    stage.say("j")
    stage.flow()
    stage.down("z", "h", "i")
    for _ in range(k - 1):
        stage.say("h")
        stage.flow(held=("j>h", "j>i"), kind=Relayed)
    stage.down("z", "j")
    stage.flow()
    return stage


@pytest.mark.parametrize("k", [3, 4, 12])
def test_leaving_the_crashed_out_of_full_acks_at_once_makes_every_k_too_small(k: int) -> None:
    stage = run_ahead_of_the_crashed(built(LeaveOutAtOnce, k=k), k)
    assert stage.log("i") == [f"h{number}" for number in range(1, k)]
    assert stage.held()["pending"] == 2, "z1 and with it j1 lie k - 1 below, which looks like 1 above"


@pytest.mark.parametrize("k", [3, 4, 12])
def test_leaving_them_out_when_the_survivors_agree_on_what_they_said_does_not(k: int) -> None:
    stage = run_ahead_of_the_crashed(built(k=k), k)
    assert sorted(stage.log("i")) == sorted(["z1", "j1", *(f"h{number}" for number in range(1, k))])
    assert stage.at_rest()


def test_without_relays_the_survivors_do_not_agree() -> None:
    stages = [Stage("abc", built(kind)) for kind in (NoRelay, Pak)]
    for stage in stages:
        stage.say("c")
        stage.lose("c>b")
        stage.flow()
        stage.crash("c")
        stage.down("c")
        stage.flow()
    broken, kept = stages
    assert broken.log("a") == kept.log("a") == kept.log("b") == ["c1"]
    assert broken.log("b") == []
    assert not [frame for frame in broken.flying if type(frame.message) is Relayed]


# All of them in seeded runs.

WILD = {"delay": {"kind": "lognormal", "median_ms": 10, "sigma": 1.6}}
FIFO = {**WILD, "fifo": True}
TALK = [{"kind": "rate", "per_second": 30}, {"kind": "chain", "per_second": 20}]
CRASHES = [{"kind": "crash", "at_ms": [30, 350]}, {"kind": "crash", "at_ms": [30, 350]}]
SEEDS = 24

WORLDS: dict[str, dict[str, Any]] = {
    "V[self] advances at the full ack": {"network": FIFO},
    "the crashed are left out at once": {"network": WILD, "processes": 5, "fault": CRASHES},
    "nothing is relayed after a crash": {"network": WILD, "processes": 5, "fault": CRASHES},
}


@pytest.mark.parametrize("name", MUTANTS)
def test_the_mutant_is_noticed_in_seeded_runs(name: str) -> None:
    """By the checker, or because it never comes to rest: what waits for ever is held for ever."""
    _, build = MUTANTS[name]
    noticed = 0
    for seed in range(SEEDS):
        world = {"network": WILD, "workload": TALK, "drain_ms": 20_000, **WORLDS.get(name, {})}
        outcome, _, report = judged(scenario("pak", seed=seed, **world), build=build)
        noticed += report.value() == "violated" or any(outcome.held.values())
    assert noticed >= 3, f"{name} was noticed in {noticed} of {SEEDS} runs only"


@pytest.mark.parametrize(
    "options", [{}, {"credit": 2}, {"credit": 2, "nak": True}, {"credit": 3, "receiver_credit": 1}], ids=str
)
@pytest.mark.parametrize("world", ["the crashed are left out at once", "V[self] advances at the full ack"])
def test_the_protocol_itself_goes_through_these_runs_unharmed(options: dict[str, Any], world: str) -> None:
    for seed in range(SEEDS):
        run = scenario("pak", seed=seed, **{"network": WILD, "workload": TALK, **WORLDS[world]})
        outcome, _, report = judged(run, build=built(**options))
        assert report.value() == "kept", command(run)
        assert not any(outcome.held.values()), command(run)
