"""Runs: consecutive messages to the same processes, which hybrid buffering takes as one.

Ours. What an application says at once to the same processes is one message of several parts to the algorithms
of Almeida (2026): it is entered, decided, sent, lost, repaired, acknowledged and permitted as a whole. Its
parts are messages to the application alone: each has its number and its id, and is delivered by itself.

**A run has the number of its last message.** Then nothing of the algorithms changes that compares numbers: an
ack or a permit for number n is for all up to n, the parts among them; the predecessor of what follows a run
is n; a run's first message is `n - count + 1`. In `u` a run takes as many places as it has parts, all with
the one entry. The indexes of the algorithms pass over whole runs, so that each stands at the first place of
one, or at the end.

Why order is kept. All parts are said in one step, between which the process delivers nothing: their causal
past differs only by the parts before. They have one audience, so that whoever delivers one delivers all, in
order and in one step: nobody can say anything that follows one part and not the others. So to any process a
run is one event, and the arguments for messages are arguments for runs (docs/hybrid-buffering.md).
"""

from collections.abc import Sequence
from typing import Any

from aforesaid.core import RUN_MAX, Effects, MessageId, Misuse, Payload, Process, Run, TakesRuns, new


def run_of(payloads: Sequence[Payload]) -> Any:
    """What is said in place of one payload, to say several: itself, if it is one."""
    if len(payloads) == 1:
        return payloads[0]
    if not 0 < len(payloads) <= RUN_MAX:
        raise Misuse(f"a run has 1 to {RUN_MAX} messages, not {len(payloads)}")
    return Run(payloads)


def count_of(payload: Any) -> int:
    """How many messages it is."""
    return len(payload) if type(payload) is Run else 1


def is_run_of_its_own(message: Any) -> bool:
    """Whether all its numbers are above its predecessor's; for frames that have both."""
    payload = message.payload
    return type(payload) is not Run or message.previous + len(payload) <= message.number


def deliver(origin: Process, incarnation: int, number: int, payload: Any, out: Effects) -> None:
    """A message, or each one of a run, in order."""
    if type(payload) is not Run:
        out.deliver(new(MessageId, (origin, incarnation, number)), payload)
        return
    first = number - len(payload) + 1
    if isinstance(out, TakesRuns):
        out.deliver_run(origin, incarnation, first, payload)
        return
    for each, part in enumerate(payload, first):
        out.deliver(new(MessageId, (origin, incarnation, each)), part)
