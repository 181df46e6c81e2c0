"""What PRC-broadcast must survive, as schedules by hand: B adds a link to C with A as mediator, and then...

Each rule takes what builds a process: the shipped one keeps it, and each mutant breaks the rule it names.
"""

from aforesaid.protocols.overlay.frames import ALPHA, BETA, PI, RHO, Buffer, Close, Copy, Fin, Reset
from aforesaid.protocols.overlay.prc.links import CONFIRMED, OPEN
from support.prc_stage import Make, Stage, process, star

HOPS = {ALPHA: ("B", "A", "C"), BETA: ("C", "A", "B"), PI: ("B", "A", "C"), RHO: ("C", "A", "B")}


def handshake(stage: Stage, *kinds: str) -> None:
    """These control messages go their way through A."""
    for kind in kinds:
        first, mediator, last = HOPS[kind]
        stage.carry(first, mediator)
        stage.carry(mediator, last)


def opened(make: Make, **settings: object) -> Stage:
    """B has a link to C, besides those with A."""
    stage = star("A", "BC", make, **settings)
    stage.do("B", "open", "C", ("A",))
    stage.drain()
    assert stage.outgoing("B", "C").state == CONFIRMED
    return stage


def exactly_once(stage: Stage, *said: str) -> None:
    """Everyone delivered just this, in whatever order; and nothing is remembered."""
    for name in stage.machines:
        assert sorted(stage.heard(name).split()) == sorted(said), f"{name} heard {stage.heard(name)}"
    assert stage.held() == 0


def closed_with_copies_in_flight(make: Make = process) -> None:
    """C gives up the link from B while b1 is on it: that copy is no news."""
    stage = opened(make)
    stage.say("B", "b1")
    stage.carry("B", "A")
    stage.carry("A", "C")
    stage.do("C", "peer_down", "B")
    stage.drain()
    exactly_once(stage, "b1")


def reopened_while_an_old_handshake_is_alive(make: Make = process) -> None:
    """β of an attempt that was given up comes after the next attempt has begun, and c1 between the two."""
    reopen_at_beta(star("A", "BC", make))
    reopen_at_rho(star("A", "BC", make))


def reopen_at_beta(stage: Stage) -> None:
    stage.do("B", "open", "C", ("A",))
    handshake(stage, ALPHA)
    stage.carry("C", "A")
    stage.do("B", "close", "C")
    stage.carry("B", "C")
    stage.say("C", "c1")
    stage.carry("C", "A")
    stage.do("B", "open", "C", ("A",))
    handshake(stage, ALPHA)
    stage.carry("A", "B")
    stage.drain()
    exactly_once(stage, "c1")


def reopen_at_rho(stage: Stage) -> None:
    stage.do("B", "open", "C", ("A",))
    handshake(stage, ALPHA, BETA, PI)
    stage.carry("C", "A")
    stage.do("B", "close", "C")
    stage.carry("B", "C")
    stage.do("B", "open", "C", ("A",))
    handshake(stage, ALPHA)
    stage.carry("A", "B")
    stage.say("C", "c1")
    stage.carry_all("B", "C")
    stage.drain()
    exactly_once(stage, "c1")


def a_late_buffer_is_not_for_the_next_attempt(make: Make = process) -> None:
    """Bβ of an attempt that timed out comes when the next one is as far as π."""
    stage = star("A", "BC", make)
    stage.do("B", "open", "C", ("A",))
    handshake(stage, ALPHA, BETA, PI, RHO)
    old = stage.between("B", "C")[0].link
    stage.expire("B", "handshake")
    handshake(stage, ALPHA, BETA)
    stage.say("B", "b1")
    handshake(stage, PI)
    stage.carry("B", "C", old)
    stage.drain()
    exactly_once(stage, "b1")
    assert stage.outgoing("B", "C").state == CONFIRMED


def a_copy_of_an_unknown_link_is_refused(make: Make = process) -> None:
    """C begins anew, unnoticed: B learns it from the answer to the first copy."""
    stage = opened(make)
    stage.machines["C"] = make("C", incarnation=1)
    stage.say("B", "b1")
    stage.carry("B", "C")
    stage.carry_all("C", "B")
    assert "C" not in [peer for peer, _ in stage.machines["B"].links()]


def beta_comes_after_what_precedes_it(make: Make = process) -> None:
    """C said c1 before α: B must have it before β, or it is in Bβ and in no buffer of C."""
    stage = star("A", "BC", make)
    stage.say("C", "c1")
    stage.do("B", "open", "C", ("A",))
    stage.carry("B", "A")
    stage.carry("A", "C")
    if stage.between("C", "B"):
        stage.carry("C", "B")
    stage.drain()
    exactly_once(stage, "c1")


def pi_comes_after_what_precedes_it(make: Make = process) -> None:
    """B said b1 before β: C must have it before π, or it is in Bπ and never comes from B."""
    stage = star("A", "BC", make)
    stage.do("B", "open", "C", ("A",))
    handshake(stage, ALPHA)
    stage.say("B", "b1")
    stage.carry("C", "A")
    stage.carry("A", "B")
    if stage.between("B", "C"):
        stage.carry("B", "C")
    stage.drain()
    exactly_once(stage, "b1")


def rho_comes_after_what_precedes_it(make: Make = process) -> None:
    """C said c1 between α and π: B must have it before ρ, or sends it again after Bβ."""
    stage = star("A", "BC", make)
    stage.do("B", "open", "C", ("A",))
    handshake(stage, ALPHA, BETA)
    stage.carry("B", "A")
    stage.say("C", "c1")
    stage.carry("A", "C")
    if stage.between("C", "B"):
        stage.carry("C", "B")
        stage.carry("B", "C")
    stage.drain()
    exactly_once(stage, "c1")


def a_hop_that_is_not_open_carries_no_control(make: Make = process) -> None:
    """C gave up the link from A: π comes over it without b1, which comes through D, later."""
    stage = star("A", "BCD", make)
    stage.link("D", "C")
    stage.link("C", "D")
    stage.do("B", "open", "C", ("A",))
    handshake(stage, ALPHA)
    stage.say("B", "b1")
    stage.carry("C", "A")
    stage.carry("A", "B")
    stage.carry_all("B", "A")
    stage.do("C", "peer_down", "A")
    stage.carry_all("A", "C")
    for source, target in ("CD", "DA", "AB"):
        stage.carry_all(source, target)
    stage.say("B", "b2")
    stage.carry_all("B", "C")
    stage.drain()
    assert stage.heard("C") == "b1 b2"


def a_buffer_goes_in_its_order(make: Make = process) -> None:
    """b1 and b2 are said between π and ρ, and C hears them first from Bβ."""
    stage = star("A", "BC", make)
    stage.do("B", "open", "C", ("A",))
    handshake(stage, ALPHA, BETA)
    stage.carry("B", "A")
    stage.say("B", "b1", "b2")
    stage.carry("A", "C")
    handshake(stage, RHO)
    stage.carry("B", "C", Buffer)
    assert stage.heard("C") == "b1 b2"
    stage.drain()
    exactly_once(stage, "b1", "b2")


def what_is_said_on_delivery_from_a_buffer_is_expected_back(make: Make = process) -> None:
    """C answers b1, which it has from Bβ: the answer comes back on the new link."""
    stage = star("A", "BC", make)
    stage.do("B", "open", "C", ("A",))
    handshake(stage, ALPHA, BETA)
    stage.carry("B", "A")
    stage.say("B", "b1")
    stage.carry("A", "C")
    handshake(stage, RHO)
    stage.carry("B", "C", Buffer)
    stage.say("C", "c1")
    stage.drain()
    exactly_once(stage, "b1", "c1")


def what_was_noted_after_pi_is_expected(make: Make = process) -> None:
    """C said c1 after π, and B, which had not heard it by ρ, sends it on the new link."""
    stage = star("A", "BC", make)
    stage.do("B", "open", "C", ("A",))
    handshake(stage, ALPHA, BETA, PI)
    stage.say("C", "c1")
    handshake(stage, RHO)
    stage.carry("B", "C", Buffer)
    stage.drain()
    exactly_once(stage, "c1")


def openings_that_cross_both_come_about(make: Make = process) -> None:
    """B and C each open a link to the other: neither takes what is being opened for a way."""
    stage = star("A", "BC", make)
    stage.do("B", "open", "C", ("A",))
    stage.do("C", "open", "B", ("A",))
    stage.drain()
    for one, other in ("BC", "CB"):
        ends = [end for end in stage.machines[one].prc.state.outgoing.values() if end.target == other]
        assert [end.state for end in ends] == [CONFIRMED]
    assert len(stage.control()) == 16


def lost_control_is_sent_again(make: Make = process, kinds: str = ALPHA + BETA + PI + RHO) -> None:
    """Each control message in turn is lost on its first hop: the attempt is made again, and comes about."""
    for lost in kinds:
        stage = star("A", "BC", make)
        stage.do("B", "open", "C", ("A",))
        for kind in ALPHA + BETA + PI + RHO:
            if kind == lost:
                stage.lose(*HOPS[kind][:2])
                break
            handshake(stage, kind)
        stage.say("B", "b1")
        stage.say("C", "c1")
        stage.drain()
        stage.expire("B", "handshake")
        stage.drain()
        assert stage.outgoing("B", "C").state == CONFIRMED
        exactly_once(stage, "b1", "c1")


def buffers_are_bounded(make: Make = process) -> None:
    """B says more than the bound before ρ comes: the attempt is made again."""
    stage = star("A", "BC", make, buffer_max=3)
    stage.do("B", "open", "C", ("A",))
    handshake(stage, ALPHA, BETA)
    for number in range(40):
        stage.say("B", f"b{number}")
        assert sum(len(end.buffer) for end in stage.machines["B"].prc.state.outgoing.values()) <= 3


def receivers_buffers_are_bounded(make: Make = process) -> None:
    """C notes no more than twice the bound for a link whose π does not come."""
    stage = star("A", "BC", make, buffer_max=3)
    stage.do("B", "open", "C", ("A",))
    handshake(stage, ALPHA)
    stage.say("C", *(f"c{number}" for number in range(40)))
    noted = [end.noted for end in stage.machines["C"].prc.state.incoming.values() if end.state != OPEN]
    assert sum(noted) <= 6


def who_hears_nobody_is_isolated(make: Make = process) -> None:
    """C loses the link from A, its only one: it says so to its host, and ends its own link to A."""
    stage = star("A", "BC", make)
    lid = next(iter(stage.machines["C"].prc.state.incoming))
    stage.do("C", "link_down", lid)
    assert stage.sinks["C"].isolations == 1
    assert [type(frame) for frame in stage.between("C", "A")] == [Fin]


def a_last_link_is_not_closed(make: Make = process) -> None:
    """C asks to close its links with A, and A those with C; each is somebody's last."""
    stage = star("A", "BC", make)
    for one, other in ("CA", "AC", "BA"):
        stage.do(one, "close", other)
        stage.drain()
    assert [sink.isolations for sink in stage.sinks.values()] == [0, 0, 0]
    stage.say("A", "a1")
    stage.drain()
    exactly_once(stage, "a1")


def a_receiver_hears_of_the_end_of_a_link(make: Make = process) -> None:
    """B takes C for crashed. What it would say of that is lost, but for Fin, which is on the link itself."""
    stage = opened(make)
    stage.do("B", "peer_down", "C")
    for frame in stage.between("B", "C"):
        if isinstance(frame, Reset):
            stage.lose("B", "C", Reset)
    stage.say("A", "a1")
    stage.drain()
    exactly_once(stage, "a1")


def nothing_follows_fin(make: Make = process) -> None:
    """Both ways: B agrees to close and ends its part; what it says then is not on the link any more."""
    stage = star("A", "BC", make, both_ways=True)
    lid = stage.link("B", "C", both_ways=True)
    stage.do("C", "close", "B")
    stage.carry("C", "B", Close)
    stage.say("B", "b1")
    assert not [frame for frame in stage.between("B", "C") if isinstance(frame, Copy) and frame.link == lid]
    stage.drain()
    exactly_once(stage, "b1")


def both_ways_the_reverse_buffer_holds_what_the_buffer_brought(make: Make = process) -> None:
    """C hears b1 first from Bβ, and then sends its own buffer: b1 is in it, and B waits for it no longer."""
    stage = star("A", "BC", make, both_ways=True)
    stage.do("B", "open", "C", ("A",))
    handshake(stage, ALPHA, BETA)
    stage.carry("B", "A")
    stage.say("B", "b1")
    stage.carry("A", "C")
    handshake(stage, RHO)
    stage.carry("B", "C", Buffer)
    (reverse,) = [frame for frame in stage.between("C", "B") if isinstance(frame, Buffer)]
    assert [body for _, body in reverse.messages] == ["b1"]
    stage.drain()
    exactly_once(stage, "b1")


def a_newer_alpha_ends_older_attempts(make: Make = process) -> None:
    """Reset of an attempt is late, the next α comes first: C has one attempt of B, not two."""
    stage = star("A", "BC", make)
    stage.do("B", "open", "C", ("A",))
    handshake(stage, ALPHA)
    stage.expire("B", "handshake")
    handshake(stage, ALPHA)
    attempts = [end for end in stage.machines["C"].prc.state.incoming.values() if end.source == "B"]
    assert len(attempts) == 1
    stage.drain()


def the_newcomers_first_link_is_empty(make: Make = process) -> None:
    """A still expects a1 from B and C when it welcomes N: N is not to bring it."""
    stage = star("A", "BC", make)
    stage.add("N", make("N"))
    stage.say("A", "a1")
    stage.do("N", "join", "A")
    stage.say("N", "n1")
    assert stage.heard("N") == ""
    stage.carry("N", "A")
    stage.drain()
    assert stage.heard("N") == "n1"
    assert stage.held() == 0
    assert sorted(stage.heard("B").split()) == ["a1", "n1"]
