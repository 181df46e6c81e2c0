"""The judge of the fleet: the reference protocol, run over a fleet's own plan.

A host of its own, without the simulator's extra nanosecond between frames of a link: everything sent takes
the same time, and what arrives at the same time arrives in the order in which it was sent. At one moment
comes first what is planned, then what is due, then what arrives, as in the kernel: impatient processes ask
again at the pace at which others give up, so that timers and frames do meet. Choices come from the same
streams, so kernel and reference must agree in everything.
"""

from collections import Counter
from collections.abc import Callable, Sequence
from heapq import heappop, heappush
from typing import Any

from aforesaid.core import declaration_of
from aforesaid.fleet.paces import LOW, SHARE_SHIFT, pace_between
from aforesaid.fleet.plan import Plan
from aforesaid.fleet.states import What
from aforesaid.protocols.overlay.frames import Control, Flood, Join, Sampled, Welcome
from aforesaid.protocols.overlay.living import Living
from aforesaid.protocols.overlay.prc import PRC
from aforesaid.protocols.overlay.preventive_frames import Welcome as PreventiveWelcome
from aforesaid.protocols.overlay.preventive_sampled import PreventiveBothWays
from aforesaid.protocols.overlay.sampling import Links
from aforesaid.protocols.overlay.spray import Arc, Spray
from support.harness import Recorder

PLANNED, DUE, ARRIVING = range(3)
"""What comes first at one moment."""


def name(number: int) -> str:
    """Names whose order is that of the numbers."""
    return f"p{number:06d}"


class PlannedSpray(Spray):
    """Spray with a plan's options."""

    def __init__(self, host: "Host", incarnation: int) -> None:
        super().__init__(name(host.number), host.run.plan.period, incarnation)
        self.host = host

    def _place_of_partner(self, arcs: Sequence[Arc], links: Links) -> int:
        if self.host.run.plan.partner_uniform:
            return links.choose("partner", len(arcs))
        return super()._place_of_partner(arcs, links)

    def _ours_to_give(self, links: Links) -> list[Arc]:
        arcs = super()._ours_to_give(links)
        self.usable = len(arcs)
        if self.host.run.plan.routes_stay:
            routes = {peer for pair in self.host.machine.retained for peer in pair}
            arcs = [arc for arc in arcs if arc.peer not in routes]
        return arcs

    def _half(self, arcs: Sequence[Arc]) -> int:
        """Of the arcs that stay, too."""
        return self.usable // 2


class Host(Recorder):
    """One process of the reference, and its effects sink: what it sends or arms is on the agenda at once."""

    def __init__(self, run: "Reference", number: int) -> None:
        super().__init__()
        self.run = run
        self.number = number
        self.up = True
        self.alone = False
        self.incarnation = 0
        self.awaits = 0
        """Counters that are under way to it, as a newcomer to preventive broadcast."""
        self.chance = [int(x) for x in run.plan.chance[number]]
        self.begin()

    def begin(self) -> None:
        """A machine for this incarnation. Exchanges end with the talking, for who enters later, too."""
        plan, me = self.run.plan, name(self.number)
        self.timers.clear()
        self.awaits = 0
        settings: dict[str, Any] = {"patience": plan.patience, "tries": plan.tries}
        links = (
            PreventiveBothWays(me, (me,), self.incarnation, **settings)
            if plan.preventive
            else PRC(me, (me,), self.incarnation, alpha_direct=False, **settings)
        )
        self.machine = Living(links, PlannedSpray(self, self.incarnation))
        if self.run.settled:
            self.machine.settle(self.run.now, self)

    def call(self, method: str, *arguments: Any) -> None:
        """Call the machine; if that left it isolated, begin again through anyone inside."""
        if self.up:
            getattr(self.machine, method)(*arguments, self.run.now, self)
            if self.alone:
                self.alone = False
                self.begin_again()

    def begin_again(self) -> None:
        contacts = [n for n, host in self.run.hosts.items() if host.up and host is not self]
        contacts = sorted(n for n in contacts if self.run.hosts[n].machine.inside)
        if contacts:
            self.run.evicted += 1
            self.incarnation += 1
            self.begin()
            self.machine.join(name(contacts[self.choose("contact", len(contacts))]), self.run.now, self)

    def send(self, targets: Any, message: Any) -> None:
        run = self.run
        if isinstance(message, PreventiveWelcome):
            newcomer = run.hosts[int(message.link.opener[1:])]
            if newcomer.up and newcomer.machine.prc.joining == message.link:
                newcomer.awaits = len(message.received)
        if declaration_of(type(message)).control:
            run.control[run.now // run.plan.bucket, kind_of(message)] += len(targets)
        for target in targets:
            delay = run.delay(self.number, int(target[1:]))
            run.at(run.now + delay, ARRIVING, run.arrive, int(target[1:]), name(self.number), message)

    def isolated(self) -> None:
        self.alone = True

    def arm(self, timer: Any, deadline: int) -> None:
        self.timers[timer] = self.run.order
        self.run.at(deadline, DUE, self.expire, timer, self.run.order)

    def expire(self, timer: Any, armed: int) -> None:
        if self.timers.get(timer) == armed:
            del self.timers[timer]
            self.call("expire", timer)

    def choose(self, label: str, count: int) -> int:
        high = self.draw()
        return ((high << 31) | self.draw()) % count

    def draw(self) -> int:
        self.chance = [self.chance[0] * 40014 % 2147483563, self.chance[1] * 40692 % 2147483399]
        return (self.chance[0] - self.chance[1]) % 2147483562


def kind_of(message: Any) -> str:
    match message:
        case Control(kind=kind):
            return kind
        case Sampled(message=sampled):
            return type(sampled).__name__
        case Flood() | Join() | Welcome() | PreventiveWelcome():
            return type(message).__name__
    raise TypeError(message)


class Reference:
    """A run of the reference over a plan."""

    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        self.now = 0
        self.order = 0
        self.agenda: list[tuple[int, int, int, Callable[..., None], tuple[Any, ...]]] = []
        self.hosts: dict[int, Host] = {}
        self.spoken = 0
        self.evicted = 0
        self.settled = False
        self.control: Counter[tuple[int, str]] = Counter()
        self.space: dict[int, tuple[int, int]] = {}
        """By moment: expected entries, or the counters of preventive broadcast, and handshake buffers, over
        all processes."""

    def run(self, looks: list[int]) -> None:
        """Run to the end of the plan, and look at the space held at these moments."""
        for time, what, who, whom in self.plan.schedule.tolist():
            self.at(time, PLANNED, self.planned, what, who, whom)
        rest = sorted(looks)
        while self.agenda:
            time, _, _, step, arguments = heappop(self.agenda)
            while rest and rest[0] <= time:
                self.space[rest[0]] = self.held()
                rest.pop(0)
            if time >= self.plan.until:
                return
            self.now = time
            step(*arguments)
        self.space.update(dict.fromkeys(rest, self.held()))

    def held(self) -> tuple[int, int]:
        gauges = [host.machine.gauges() for host in self.hosts.values() if host.up]
        expected, buffered = (sum(g[name] for g in gauges) for name in ("expected", "buffered"))
        if self.plan.preventive:
            hosts = [host for host in self.hosts.values() if host.up]
            counters = (host.machine.entries() if host.machine.inside else host.awaits for host in hosts)
            return sum(counters) - buffered, buffered
        return expected, buffered

    def at(self, time: int, rank: int, step: Callable[..., None], *arguments: Any) -> None:
        heappush(self.agenda, (time, rank, self.order, step, arguments))
        self.order += 1

    def delay(self, source: int, target: int) -> int:
        times, delays, shares = self.plan.delay[:, 0], self.plan.delay[:, 1], self.plan.paces
        pace = pace_between(self.plan.seed & LOW, source, target, len(shares))
        return int(delays[times.searchsorted(self.now, side="right") - 1]) * int(shares[pace]) >> SHARE_SHIFT

    def arrive(self, target: int, source: str, message: Any) -> None:
        self.hosts[target].call("receive", source, message)

    def planned(self, what: int, who: int, whom: int) -> None:
        if what == What.ENTER:
            host = self.hosts[who] = Host(self, who)
            if whom >= 0:
                host.call("join", name(whom))
            else:
                host.call("begin")
        elif what == What.SAY:
            self.spoken += 1
            if self.hosts[who].up and self.hosts[who].machine.inside:
                self.hosts[who].call("broadcast", self.spoken - 1)
        elif what == What.SETTLE:
            self.settled = True
            for host in self.hosts.values():
                host.call("settle")
        elif what == What.CRASH:
            self.hosts[who].up = False
            self.at(self.now + self.plan.detector, DUE, self.tell, who)

    def tell(self, dead: int) -> None:
        for number in sorted(self.hosts):
            self.hosts[number].call("peer_down", name(dead))
