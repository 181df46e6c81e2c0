"""Make a plan that fails smaller: fewer faults, fewer processes, a shorter time, a calmer network."""

from collections.abc import Callable, Iterator

from msgspec.structs import replace

from aforesaid.core import Process
from aforesaid.world.plan import BEFALL, Plan

TRIES_MAX = 80


def shrink(plan: Plan, fails: Callable[[Plan], bool], tries_max: int = TRIES_MAX) -> Plan:
    """The smallest that was found and fails still."""
    tries = 0
    again = True
    while again and tries < tries_max:
        again = False
        for smaller in _smaller(plan):
            tries += 1
            if tries > tries_max:
                break
            if fails(smaller):
                plan, again = smaller, True
                break
    return plan


def _smaller(plan: Plan) -> Iterator[Plan]:
    faults = plan.faults
    for place in range(len(faults)):
        yield replace(plan, faults=faults[:place] + faults[place + 1 :])
    for name in reversed(plan.names[1:]):
        if len(plan.names) > 2:
            yield _without(plan, name)
    last_s = max((fault.at_s + fault.for_s for fault in faults), default=0.5)
    if last_s < 0.9 * plan.seconds:
        yield replace(plan, seconds=round(last_s, 3))
    if plan.rate > 1:
        yield replace(plan, rate=plan.rate / 2)
    for key in ("loss", "duplication", "large", "huge", "replies", "jitter_s"):
        if getattr(plan, key):
            yield replace(plan, **{key: 0.0})
    if plan.first_step:
        yield replace(plan, first_step=0, passes=(2**16, 2**16))
    for key in ("sealed", "manual_acks"):
        if getattr(plan, key):
            yield replace(plan, **{key: False})


def _without(plan: Plan, name: Process) -> Plan:
    left = [(fault, tuple(who for who in fault.who if who != name)) for fault in plan.faults]
    kept = tuple(replace(fault, who=who) for fault, who in left if len(who) >= BEFALL.get(fault.kind, 0))
    return replace(plan, names=tuple(each for each in plan.names if each != name), faults=kept)
