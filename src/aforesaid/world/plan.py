"""What happens in a world, drawn from its seed: who is there, what they say, and every fault with its moment.

A plan is data: it can be printed, kept in a file, and made smaller.
"""

from random import Random
from typing import Literal, TypeAlias

import msgspec

from aforesaid.core import Process

Kind: TypeAlias = Literal["fixed", "changing", "durable", "admitting", "keeping"]
"""Durable: a fixed group of nodes that survive; who is killed comes back. Admitting: the same of a group that
newcomers are admitted to. Keeping: a changing group that keeps its history, so that everyone has
everything."""

CHANGING = ("changing", "keeping")
SURVIVING = ("durable", "admitting")

FIXED = (
    "hybrid_multicast_in_order",
    "hybrid_multicast_in_order",
    "hybrid_adaptive_multicast",
    "hybrid_multicast",
    "hybrid_multicast_sps",
    "waiting",
)
"""The algorithms of fixed groups, the default one more often."""

EVICTING = 0.4
"""The share of worlds of these in which a time-out evicts the silent."""

SURVIVES_CRASHES = {name for name in FIXED if name.startswith("hybrid")}


OWED = {"small": 300, "large": 5000}
"""About how many deliveries a world owes at most: many small ones find more than few large ones."""
SMALL_SHARE = 0.9
SECONDS_MIN: dict[Kind, float] = {
    **dict.fromkeys(("fixed", "durable", "admitting"), 2.0),
    **dict.fromkeys(("changing", "keeping"), 6.0),
}

ADMITTING = (*2 * ("hybrid_multicast_in_order",), "hybrid_multicast", "hybrid_multicast_sps")
"""The algorithms of groups that newcomers are admitted to."""

FaultKind: TypeAlias = Literal[
    "halt",
    "part",
    "cut",
    "rough",
    "deaf",
    "reset",
    "clock",
    "kill",
    "kill midway",
    "disk full",
    "disk slow",
    "power",
    "descriptors",
    "admit",
    "join",
    "leave",
    "back",
]
"""Descriptors: a process can open one more at most. Admit: a newcomer starts and is admitted. The last three
in changing groups; back: who was killed, or has left, starts again. Without power a process is killed, and
what was not forced to its disk is gone."""

ANYWHERE: tuple[FaultKind, ...] = ("halt", "part", "cut", "rough", "deaf", "clock", "disk slow")
DEADLY: tuple[FaultKind, ...] = ("kill", "kill midway", "power")
SPARE: tuple[FaultKind, ...] = ("descriptors", "descriptors", "disk full")
"""What some worlds have besides: drawn by themselves, so that all other worlds stay as they were."""
SPARE_SHARE = 0.25
WAYS_UNKNOWN = 0.5
"""In so many of the worlds with datagrams nothing is known of the ways: these are as they always were."""
WIDTHS = (2**16, 2**16, 1472)
BEFALL = dict.fromkeys(("halt", "part", "deaf", "clock", "disk slow", *SPARE, *DEADLY), 1)
BEFALL |= {"admit": 1, "cut": 2}
"""How many a fault befalls at least; none: it befalls the network, or chance decides whom."""


SILENCING = {"halt", "part", "cut", "rough", "descriptors"}
EVICTED_BEATS = 10
"""The time-out of worlds that have one; half of it is longer than anyone's patience."""
PAUSES = (0.45, 1.5)
"""For what share of it somebody pauses there."""


class Fault(msgspec.Struct, frozen=True, omit_defaults=True):
    """Something goes wrong."""

    at_s: float
    kind: FaultKind
    who: tuple[Process, ...] = ()
    for_s: float = 0.0
    amount: float = 0.0

    def __post_init__(self) -> None:
        if len(self.who) < BEFALL.get(self.kind, 0):
            raise ValueError(f"a {self.kind} befalls somebody: name them in who")


class Plan(msgspec.Struct, frozen=True, omit_defaults=True):
    """All that a world is told, besides its seed's chance."""

    seed: int
    group: Kind
    algorithm: str
    transport: Literal["udp", "tcp"]
    names: tuple[Process, ...]
    seconds: float
    """How long they talk, and things go wrong; then comes a time in which all must come to rest."""
    rate: float
    """Messages per second that each says."""
    faults: tuple[Fault, ...]
    sealed: bool = False
    delay_s: float = 0.001
    jitter_s: float = 0.001
    loss: float = 0.0
    duplication: float = 0.0
    large: float = 0.0
    """The share of messages with a payload of many datagrams."""
    huge: float = 0.0
    """The share of messages with a payload ten times as large."""
    replies: float = 0.1
    """How many answers a message gets, on average at most; less than one, or they would never end."""
    in_messages: int = 4096
    heartbeat_s: float = 1.0
    manual_acks: bool = False
    segment_bytes: int = 2**20
    out_messages: int = 1024
    socket_bytes: int = 4 * 2**20
    """What a socket keeps of datagrams that nobody reads."""
    first_step: int = 0
    """How long a packet is that the first step of each way takes, as the kernel tells it; 0: it does not."""
    passes: tuple[int, int] = (2**16, 2**16)
    """The longest datagram that arrives, in the first half of the time and after it."""
    evict_after_s: float = 0.0
    """Who is silent for so long is evicted; 0: an operator sees to the dead."""
    durability: Literal["none", "batch", "always"] = "none"
    snapshot_bytes: int = 2**24
    resumes: bool = False
    """Durable: applications resume from the offset that they keep with their own state. Else they go by what
    they acknowledged, and know by the offset what they have already."""
    retention_bytes: int = 0
    receipts: bool = False
    """Whether the segments tell how messages came, too."""

    @property
    def fixed(self) -> bool:
        """Whether everybody is known by name."""
        return self.group not in CHANGING

    @property
    def visitors(self) -> tuple[Process, ...]:
        """Who joins on the way, in a changing group."""
        joins = sum(fault.kind == "join" for fault in self.faults)
        return tuple(f"v{number}" for number in range(1, joins + 1))

    @property
    def survives(self) -> bool:
        """Whether who is killed comes back as itself."""
        return self.group in SURVIVING

    @property
    def newcomers(self) -> tuple[Process, ...]:
        """Who is there once it is admitted."""
        return tuple(name for fault in self.faults if fault.kind == "admit" for name in fault.who)

    def may_be_evicted(self, name: Process) -> bool:
        """Whether faults silence a living process for more than half the time-out, all together."""
        faults = [fault for fault in self.faults if fault.kind in SILENCING]
        faults = [fault for fault in faults if fault.kind != "halt" or name in fault.who]
        return 0 < self.evict_after_s < 2 * sum(fault.for_s for fault in faults)


def plan_of(seed: int, group: Kind) -> Plan:
    """The plan of a seed."""
    chance = Random(f"plan {group} {seed}")
    fixed = group not in CHANGING
    names = tuple(f"p{number}" for number in range(chance.randint(2, 5) if fixed else chance.randint(3, 7)))
    algorithm = chance.choice(ADMITTING if group == "admitting" else FIXED) if fixed else "prc_spray"
    transport: Literal["udp", "tcp"] = chance.choice(("udp", "udp", "tcp")) if fixed else "tcp"
    replies = chance.choice((0.0, 0.1, 0.4))
    seconds, rate = _affordable(chance, group, len(names) ** 2 / (1 - replies))
    draw = _fixed_fault if fixed else _changing_fault
    faults = [draw(chance, names, seconds, algorithm, transport) for _ in range(chance.randint(0, 6))]
    faults += _spare(seed, group, names, seconds)
    newcomers = tuple(f"v{number}" for number in range(chance.randint(1, 3) if group == "admitting" else 0))
    for name in newcomers:
        faults.append(Fault(round(chance.uniform(0.0, 0.7 * seconds), 3), "admit", (name,)))
    if group in ("durable", "admitting"):
        faults += [_fault(chance, chance.choice(DEADLY), names, seconds) for _ in range(chance.randint(1, 6))]
    elif fixed:
        faults = _bearable(faults, names, algorithm)
    plan = Plan(
        seed=seed,
        group=group,
        algorithm=algorithm,
        transport=transport,
        names=names + newcomers,
        seconds=seconds,
        rate=rate,
        faults=tuple(sorted(faults, key=lambda fault: fault.at_s)),
        sealed=transport == "udp" and chance.random() < 0.3,
        delay_s=chance.choice((0.0002, 0.002, 0.02, 0.1)),
        jitter_s=chance.choice((0.0, 0.001, 0.02, 0.1)),
        loss=chance.choice((0.0, 0.0, 0.01, 0.05, 0.2)),
        duplication=chance.choice((0.0, 0.02, 0.2)),
        large=chance.choice((0.0, 0.0, 0.02)),
        replies=replies,
        in_messages=chance.choice((4096, 4096, 16)),
        heartbeat_s=chance.choice((1.0, 0.3)),
        manual_acks=chance.random() < 0.3,
        segment_bytes=chance.choice((2**20, 2**14)),
        out_messages=chance.choice((1024, 1024, 8)),
        socket_bytes=chance.choice((4 * 2**20, 1500)),
        huge=chance.choice((0.0, 0.0, 0.01)),
        # By the seed alone: what else is drawn stays as it was before there were any.
        receipts=seed % 3 == 0 and group not in SURVIVING,
    )
    plan = _with_ways(plan)
    if plan.survives:
        return _that_survive(plan, chance)
    if group == "keeping":
        return _that_keeps(plan, chance)
    return (
        _with_time_out(plan, chance) if algorithm in SURVIVES_CRASHES and chance.random() < EVICTING else plan
    )


def _with_ways(plan: Plan) -> Plan:
    """By a chance of its own: what else is drawn stays as it was before ways had a width."""
    chance = Random(f"ways {plan.group} {plan.seed}")
    if plan.transport != "udp" or chance.random() < WAYS_UNKNOWN:
        return plan
    return msgspec.structs.replace(
        plan, first_step=9001, passes=(chance.choice(WIDTHS), chance.choice(WIDTHS))
    )


def _spare(seed: int, group: Kind, names: tuple[Process, ...], seconds: float) -> list[Fault]:
    """One more, in some worlds of those groups that it does not end."""
    chance = Random(f"spare {group} {seed}")
    kinds = {"fixed": SPARE[:2], "changing": SPARE}.get(group, ())
    if not kinds or chance.random() > SPARE_SHARE:
        return []
    fault = _fault(chance, chance.choice(kinds), names, seconds)
    if fault.kind == "descriptors":
        # Few are opened at any moment: it lasts, or it would be nothing.
        fault = msgspec.structs.replace(fault, at_s=round(fault.at_s / 3, 3), for_s=seconds)
    return [fault]


def _that_survive(plan: Plan, chance: Random) -> Plan:
    return msgspec.structs.replace(
        plan,
        durability=chance.choice(("batch", "batch", "always")),
        snapshot_bytes=chance.choice((2**10, 2**14, 2**24)),
        resumes=chance.random() < 0.5,
    )


def _that_keeps(plan: Plan, chance: Random) -> Plan:
    """A log is not forced: who loses power, and has acknowledged what its log lost, cannot go on. So nobody
    does; some more are cut off."""
    faults = [fault for fault in plan.faults if fault.kind != "power"]
    faults += [_fault(chance, "part", plan.names, plan.seconds) for _ in range(chance.randint(0, 2))]
    return msgspec.structs.replace(
        plan,
        faults=tuple(sorted(faults, key=lambda fault: fault.at_s)),
        resumes=chance.random() < 0.5,
        retention_bytes=chance.choice((2**30, 2**30, 2**16)),
        large=chance.choice((plan.large, 0.2)),
    )


def _with_time_out(plan: Plan, chance: Random) -> Plan:
    """Somebody pauses, for less than half the time-out or for longer than it."""
    evict_after_s = round(EVICTED_BEATS * plan.heartbeat_s, 3)
    pause = _fault(chance, "halt", plan.names, plan.seconds)
    pause = msgspec.structs.replace(pause, for_s=round(chance.choice(PAUSES) * evict_after_s, 3))
    faults = tuple(sorted((*plan.faults, pause), key=lambda fault: fault.at_s))
    return msgspec.structs.replace(plan, evict_after_s=evict_after_s, faults=faults)


def _affordable(chance: Random, group: Kind, owed_per_word: float) -> tuple[float, float]:
    """For how long they talk, and how fast: rather short than slow."""
    fixed = group not in CHANGING
    seconds = chance.choice((4.0, 8.0, 15.0)) if fixed else chance.choice((10.0, 25.0))
    rate = chance.choice((2.0, 10.0, 40.0, 100.0)) if fixed else chance.choice((1.0, 5.0, 20.0))
    words = OWED["small" if chance.random() < SMALL_SHARE else "large"] / owed_per_word
    seconds = max(SECONDS_MIN[group], min(seconds, round(words / rate, 1)))
    return seconds, min(rate, round(words / seconds, 2))


def _fixed_fault(
    chance: Random, names: tuple[Process, ...], seconds: float, algorithm: str, transport: str
) -> Fault:
    kinds = list(ANYWHERE)
    if transport == "tcp":
        kinds += ["reset", "reset"]
    if algorithm in SURVIVES_CRASHES:
        kinds += [*DEADLY, "disk full"]
    return _fault(chance, chance.choice(kinds), names, seconds)


def _changing_fault(
    chance: Random, names: tuple[Process, ...], seconds: float, algorithm: str, transport: str
) -> Fault:
    kinds = [*ANYWHERE]
    kinds += ["reset", *DEADLY, "back", "back", "join", "join", "leave", "leave"]
    return _fault(chance, chance.choice(kinds), names, seconds)


def _fault(chance: Random, kind: FaultKind, names: tuple[Process, ...], seconds: float) -> Fault:
    at_s = round(chance.uniform(0.2, 0.9 * seconds), 3)
    for_s = round(chance.choice((0.1, 0.5, 2.0, 5.0)) * chance.uniform(0.5, 1.5), 3)
    amount = round(chance.random(), 3)
    if kind == "part":
        who = tuple(sorted(chance.sample(names, chance.randint(1, len(names) - 1))))
    elif kind == "cut":
        who = tuple(chance.sample(names, 2))
    else:
        who = (chance.choice(names),)
    return Fault(at_s, kind, who, for_s, amount)


def _bearable(faults: list[Fault], names: tuple[Process, ...], algorithm: str) -> list[Fault]:
    """Of a fixed group two are left: a group of one proves nothing."""
    victims: set[Process] = set()
    kept = []
    for fault in faults:
        if fault.kind in (*DEADLY, "disk full"):
            if len(victims | set(fault.who)) > len(names) - 2:
                continue
            victims |= set(fault.who)
        kept.append(fault)
    return kept
