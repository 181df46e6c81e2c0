"""The catalog's broadcasts. Stacking is composition: an algorithm gets the layer below as an argument."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

from aforesaid.core import Layer
from aforesaid.protocols.algorithm import (
    BEST_EFFORT,
    DETECTOR,
    FIFO_LINKS,
    FIXED_GROUP,
    MAJORITY,
    NO_CRASH,
    ORDER,
    RELIABLE,
    RELIABLE_LINKS,
    UNIFORM,
    Algorithm,
    Setup,
    in_nanoseconds,
)
from aforesaid.protocols.broadcast.best_effort import BestEffort
from aforesaid.protocols.broadcast.newtop import Newtop
from aforesaid.protocols.broadcast.no_waiting import NoWaiting, NoWaitingCollecting
from aforesaid.protocols.broadcast.pak import Pak
from aforesaid.protocols.broadcast.reliable import EagerReliable
from aforesaid.protocols.broadcast.tree import Tree
from aforesaid.protocols.broadcast.uniform import UniformReliable
from aforesaid.protocols.broadcast.unordered import Unordered
from aforesaid.protocols.broadcast.waiting import Waiting


@dataclass(frozen=True)
class _Below:
    """A broadcast layer that others stand on."""

    suffix: str
    title: str
    needs: tuple[str, ...]
    promises: tuple[str, ...]
    build: Callable[[Setup], Layer]


_RB = _Below(
    "",
    "reliable broadcast",
    (RELIABLE_LINKS,),
    RELIABLE,
    lambda setup: EagerReliable(setup.me, setup.group, setup.incarnation),
)
_URB = _Below(
    "_uniform",
    "uniform broadcast (all-ack)",
    (RELIABLE_LINKS, FIXED_GROUP, DETECTOR),
    UNIFORM,
    lambda setup: UniformReliable(setup.me, setup.group, setup.incarnation),
)
_URB_MAJORITY = _Below(
    "_majority",
    "uniform broadcast (majority)",
    (RELIABLE_LINKS, FIXED_GROUP, MAJORITY),
    UNIFORM,
    lambda setup: UniformReliable(setup.me, setup.group, setup.incarnation, majority=True),
)
_LAYERS = (_RB, _URB, _URB_MAJORITY)


def _alone(below: _Below, setup: Setup) -> Unordered:
    return Unordered(below.build(setup))


def _over(below: _Below, build: Callable[[Setup, Layer], Any], setup: Setup) -> Any:
    return build(setup, below.build(setup))


def _unordered() -> list[Algorithm]:
    """The layers by themselves: no order, the floor of every comparison."""
    best_effort = Algorithm(
        name="best_effort",
        title="best-effort broadcast, in no order",
        paper="causal broadcast slides, layer beb",
        needs=(RELIABLE_LINKS, FIXED_GROUP),
        promises=BEST_EFFORT,
        metadata="one id",
        build=lambda setup: Unordered(BestEffort(setup.me, setup.group, setup.incarnation)),
    )
    return [best_effort] + [
        Algorithm(
            name="reliable" if below is _RB else below.suffix.removeprefix("_"),
            title=f"{below.title}, in no order",
            paper=f"causal broadcast slides, layer {'rb' if below is _RB else 'urb'}",
            needs=below.needs,
            promises=below.promises,
            metadata="one id",
            build=partial(_alone, below),
        )
        for below in _LAYERS
    ]


def _stacked(
    name: str,
    title: str,
    paper: str,
    metadata: str,
    needs: tuple[str, ...],
    build: Callable[[Setup, Layer], Any],
    promises: tuple[str, ...] = (),
) -> list[Algorithm]:
    """A causal broadcast of the slides over each layer."""
    return [
        Algorithm(
            name=f"{name}{below.suffix}",
            title=f"{title}, over {below.title}",
            paper=f"causal broadcast slides, {paper} (corrected)",
            needs=tuple(dict.fromkeys((*below.needs, *needs))),
            promises=(*below.promises, *ORDER, *promises),
            metadata=metadata,
            build=partial(_over, below, build),
        )
        for below in _LAYERS
    ]


def _pak(credit: int, nak: bool, setup: Setup) -> Pak:
    options = {"credit": credit, **in_nanoseconds(setup.options)}
    return Pak(setup.me, setup.group, setup.incarnation, nak=nak, **options)


_PAK_OPTIONS = {
    "k": "the modulus of vector times, at least 2 * credit + 1, which is the default",
    "resend_ms": "send again what was not acknowledged for so long; then it backs off (50)",
    "send_queue_max": "how many messages may wait for credit before the sender is told to wait (1024)",
}
_CREDIT_OPTIONS = {
    "credit": "messages under way that not everyone has acknowledged; for PAK/NAK the batch (3)",
    "receiver_credit": "how many messages of one sender may wait here, 1 to credit (credit)",
    **_PAK_OPTIONS,
}


def _positive_acknowledgment() -> list[Algorithm]:
    """The PAK family: three settings of one protocol."""
    settings: list[tuple[str, str, str, int, bool, Mapping[str, str]]] = [
        ("pak", "positive acknowledgments, one message at a time", "section 4", 1, False, _PAK_OPTIONS),
        ("pak_credit", "positive acknowledgments with credits", "section 5.1", 3, False, _CREDIT_OPTIONS),
        ("pak_nak", "PAK/NAK, a batch acknowledged at a time", "section 5.2", 3, True, _CREDIT_OPTIONS),
    ]
    return [
        Algorithm(
            name=name,
            title=title,
            paper=f"positive acknowledgment paper, {section} (corrected)",
            needs=(FIXED_GROUP, DETECTOR),
            promises=(*RELIABLE, *ORDER, "stability"),
            metadata="one number, one bit and n entries of ceil(log2 k) bits",
            build=partial(_pak, credit, nak),
            options=options,
        )
        for name, title, section, credit, nak, options in settings
    ]


BROADCASTS: tuple[Algorithm, ...] = (
    *_unordered(),
    *_stacked(
        "no_waiting",
        "no-waiting causal broadcast",
        "algorithm 1",
        "every earlier message",
        (FIXED_GROUP,),
        lambda setup, below: NoWaiting(setup.me, below, setup.incarnation),
    ),
    *_stacked(
        "no_waiting_gc",
        "no-waiting, with garbage collection",
        "algorithm 1'",
        "every earlier message not yet everywhere",
        (FIXED_GROUP, DETECTOR),
        lambda setup, below: NoWaitingCollecting(setup.me, setup.group, below, setup.incarnation),
        promises=("stability",),
    ),
    *_stacked(
        "waiting",
        "waiting, with vector clocks",
        "algorithm 2",
        "one id and n counters",
        (FIXED_GROUP,),
        lambda setup, below: Waiting(setup.me, setup.group, below, setup.incarnation),
    ),
    *_positive_acknowledgment(),
    Algorithm(
        name="newtop",
        title="Newtop: Lamport clocks, one order for all",
        paper="hybrid-buffering paper, section 3.1 and table 1 (its reference 9)",
        needs=(RELIABLE_LINKS, FIFO_LINKS, FIXED_GROUP, DETECTOR),
        promises=(*RELIABLE, *ORDER, "stability"),
        metadata="one id and two clocks",
        build=lambda setup: Newtop(setup.me, setup.group, setup.incarnation, **setup.options),
        options={
            "idle_ms": "how long a process with news stays silent before it sends a null message (10)",
            "nulls": "false: no null messages; shows how liveness is lost when a process is idle (true)",
        },
    ),
    Algorithm(
        name="tree",
        title="FIFO broadcast along a spanning tree",
        paper="hybrid-buffering paper, section 1",
        needs=(RELIABLE_LINKS, FIFO_LINKS, FIXED_GROUP, NO_CRASH),
        promises=(*RELIABLE, *ORDER),
        metadata="one id",
        build=lambda setup: Tree(setup.me, setup.group, setup.incarnation, **setup.options),
        options={"fan_out": "children of a process in the tree (2)"},
    ),
)
