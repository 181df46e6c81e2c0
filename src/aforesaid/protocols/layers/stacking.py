"""Causal broadcasts of the slides over each layer: stacking is composition, and this is where it is done."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from aforesaid.core import CausalBroadcast, Layer
from aforesaid.protocols.algorithm import ORDER, RELIABLE, UNIFORM, Algorithm, Need, Setup
from aforesaid.protocols.bibliography import cite
from aforesaid.protocols.layers.layered import Relay
from aforesaid.protocols.layers.reliable import EagerReliable
from aforesaid.protocols.layers.uniform import UniformReliable
from aforesaid.protocols.options import Options


@dataclass(frozen=True)
class Below:
    """A broadcast layer that others stand on."""

    name: str
    suffix: str
    """What it adds to the name of whoever stands on it."""
    title: str
    section: str
    needs: tuple[str, ...]
    promises: tuple[str, ...]
    make: Callable[[Setup], Layer]


RB = Below(
    "reliable",
    "",
    "reliable broadcast",
    "layer rb",
    (Need.RELIABLE_LINKS,),
    RELIABLE,
    lambda setup: EagerReliable(setup.me, setup.group, setup.incarnation),
)
URB = Below(
    "uniform",
    "_uniform",
    "uniform broadcast (all-ack)",
    "layer urb",
    (Need.RELIABLE_LINKS, Need.FIXED_GROUP, Need.DETECTOR),
    UNIFORM,
    lambda setup: UniformReliable(setup.me, setup.group, setup.incarnation),
)
URB_MAJORITY = Below(
    "majority",
    "_majority",
    "uniform broadcast (majority)",
    "layer urb",
    (Need.RELIABLE_LINKS, Need.FIXED_GROUP, Need.MAJORITY),
    UNIFORM,
    lambda setup: UniformReliable(setup.me, setup.group, setup.incarnation, majority=True),
)
LAYERS = (RB, URB, URB_MAJORITY)


def over_each(
    name: str,
    title: str,
    section: str,
    metadata: str,
    needs: tuple[str, ...],
    make: Callable[[Setup, Layer], CausalBroadcast],
    promises: tuple[str, ...] = (),
    body: Any = None,
    published: tuple[Below, ...] = (),
) -> tuple[Algorithm, ...]:
    """A causal broadcast over each layer; over the `published` ones its body makes a wire format."""

    def over(below: Below) -> Callable[[Setup, Options], CausalBroadcast]:
        return lambda setup, _: make(setup, below.make(setup))

    return tuple(
        Algorithm(
            name=f"{name}{below.suffix}",
            title=f"{title}, over {below.title}",
            sources=(cite("guerraoui-slides", section),),
            needs=tuple(dict.fromkeys((*below.needs, *needs))),
            promises=(*below.promises, *ORDER, *promises),
            metadata=metadata,
            make=over(below),
            frames=(Relay[body],) if below in published else (),
        )
        for below in LAYERS
    )
