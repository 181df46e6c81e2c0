"""Worlds in which a group changes: every schedule of a small script, or one by chance of a large one.

The judge shares nothing with the protocol but its rosters. At every delivery it asks: is it the first, is all
there that came before it and was said here, does the receiver know whom it hears, and does it know all of the
group that the sender knew when it said it. At the end: has everyone all that was said to it, do all who are
left know the same group, is nothing held any more, and did who was dismissed leave.
"""

import pickle
import random
from collections.abc import Iterator, Mapping
from copy import copy
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from aforesaid.core import MessageId, freeze
from aforesaid.protocols.catalog import CATALOG, Setup
from aforesaid.protocols.delivery.hybrid_groups import Roster
from support.recorder import Recorder

STATES_MAX = 400_000
STEPS_MAX = 5_000


class Broken(AssertionError):
    """What the judge has to say."""


class Act(NamedTuple):
    """One line of a process's script: say, admit, dismiss, crash."""

    do: str
    whom: str = ""


class Said(NamedTuple):
    """A message, as the judge knows it."""

    origin: str
    past: frozenset[int]
    audience: frozenset[str]
    knew: frozenset[str]


@dataclass
class Play:
    """Who there is, and what each does."""

    scripts: Mapping[str, tuple[Act, ...]]
    newcomers: Mapping[str, str] = field(default_factory=dict)
    """By newcomer, the member that it knows."""
    algorithm: str = "hybrid_multicast_in_order"
    mutant: Any = None
    """What to do to the protocol objects before they begin."""

    @property
    def founders(self) -> tuple[str, ...]:
        return tuple(name for name in self.scripts if name not in self.newcomers)


class Sink(Recorder):
    """What one call asked for."""

    def __getstate__(self) -> dict[str, Any]:
        return {"timers": self.timers}

    def __setstate__(self, state: dict[str, Any]) -> None:
        Recorder.__init__(self)
        self.timers = state["timers"]


class GroupWorld:
    """Processes, what is on its way, and what the judge knows."""

    def __init__(self, play: Play, retransmit: bool = False) -> None:
        self.machines: dict[str, Any] = {}
        self.scripts = dict(play.scripts)
        for name in play.scripts:
            contact = play.newcomers.get(name)
            group = tuple(play.founders) if contact is None else (contact, name)
            setup = Setup(name, group, 0, {"retransmit": retransmit}, newcomer=contact is not None)
            self.machines[name] = CATALOG[play.algorithm].build(setup)
            if play.mutant is not None:
                play.mutant(self.machines[name])
        self.sinks = {name: Sink() for name in self.machines}
        self.retransmit = retransmit
        self.flying: list[tuple[str, str, Any]] = []
        self.said: list[Said] = []
        self.delivered: dict[str, frozenset[int]] = dict.fromkeys(self.machines, frozenset())
        self.knows: dict[str, frozenset[int]] = dict.fromkeys(self.machines, frozenset())
        self.crashed: tuple[str, ...] = ()
        self.untold: dict[str, tuple[str, ...]] = {}
        """By who crashed, whom the detector has not told yet."""
        self.now = 0
        self.pictures = {name: freeze(machine) for name, machine in self.machines.items()}

    # ------------------------------------------------------------------------------------------- the moves

    def moves(self) -> list[tuple[Any, ...]]:
        found: list[tuple[Any, ...]] = [("act", name) for name in self.machines if self.may_act(name)]
        seen = set()
        for place, (source, target, frame) in enumerate(self.flying):
            key = source, target, frame
            if key not in seen and not self.machines[target]._is_stranger(source):
                seen.add(key)
                found.append(("arrive", place))
                if source in self.crashed:
                    found.append(("lose", place))
            elif key not in seen and self.crashed and not self.machines[target].dismissed:
                # The operator admits again whom a member does not know because the admission was lost.
                seen.add(key)
                if source not in self.crashed and target not in self.crashed:
                    found.append(("readmit", target, source))
        found += [("tell", name, gone) for gone, names in self.untold.items() for name in names]
        if self.crashed and not found:
            # An admission was lost with who made it: the operator tells who has left meanwhile.
            left = [name for name, machine in self.machines.items() if machine.drained]
            for name, machine in self.machines.items():
                if name not in self.crashed and not machine.drained:
                    missed = [x for x in left if x in machine.members and x not in machine.evicted]
                    found += [("evict", name, gone) for gone in missed]
        return found

    def may_act(self, name: str) -> bool:
        machine, script = self.machines[name], self.scripts[name]
        if not script or name in self.crashed or not machine.welcome:
            return False
        act = script[0]
        if machine.dismissed:
            return act.do == "crash"
        return act.do not in ("admit", "dismiss") or self.makes_sense(machine, act)

    def makes_sense(self, machine: Any, act: Act) -> bool:
        """Whether it may be asked for: nobody is admitted twice, nor dismissed who is not there."""
        if act.do == "admit":
            return act.whom not in machine.members
        return act.whom in machine.roster()

    def move(self, move: tuple[Any, ...]) -> None:
        match move:
            case ("act", name):
                self.act(name)
            case ("arrive", place):
                source, target, frame = self.flying.pop(place)
                self.call(target, "receive", source, frame)
            case ("lose", place):
                del self.flying[place]
            case ("tell", name, gone):
                self.untold[gone] = tuple(each for each in self.untold[gone] if each != name)
                self.call(name, "peer_down", gone)
            case ("evict", name, gone):
                self.call(name, "peer_down", gone)
            case ("readmit", name, whom):
                self.call(name, "admit", whom, f"at {whom}")
            case ("expire", name, timer):
                self.now = max(self.now, self.sinks[name].timers.pop(timer))
                self.call(name, "expire", timer)

    def act(self, name: str) -> None:
        act, *rest = self.scripts[name]
        self.scripts[name] = tuple(rest)
        machine = self.machines[name]
        if act.do == "say":
            audience = [peer for peer in machine.roster() if peer != name]
            self.say(name, audience)
        elif act.do == "crash":
            self.crash(name)
        elif act.do == "admit":
            self.call(name, "admit", act.whom, f"at {act.whom}")
        else:
            self.call(name, "dismiss", act.whom)

    def say(self, name: str, audience: list[str]) -> None:
        machine, index = self.machines[name], len(self.said)
        knew = frozenset((*machine.members, *(f"-{peer}" for peer in machine.leaving)))
        self.said.append(Said(name, self.knows[name], frozenset(audience), knew))
        self.knows[name] |= {index}
        self.call(name, "send", audience, index)

    def crash(self, name: str) -> None:
        self.crashed = (*self.crashed, name)
        self.sinks[name].timers.clear()
        self.flying = [frame for frame in self.flying if frame[1] != name]
        self.untold = {
            gone: tuple(each for each in names if each != name) for gone, names in self.untold.items()
        }
        self.untold[name] = tuple(each for each in self.machines if each not in self.crashed)

    def call(self, name: str, method: str, *arguments: Any) -> None:
        sink, machine = self.sinks[name], self.machines[name]
        try:
            getattr(machine, method)(*arguments, self.now, sink)
        except Exception as error:
            raise Broken(f"{name} raised {error!r}") from error
        for target, frame in sink.take_sent():
            if target not in self.crashed and not self.machines[target].drained:
                self.flying.append((name, target, frame))
        delivered, sink.delivered = sink.delivered, []
        for message_id, index in delivered:
            self.judge(name, message_id, index)
        if not self.retransmit:
            for timer in list(sink.timers):
                if type(timer).__name__ == "Continue":
                    self.move(("expire", name, timer))

    # ------------------------------------------------------------------------------------------- the judge

    def judge(self, name: str, message_id: MessageId, index: int) -> None:
        machine, said = self.machines[name], self.said[index]
        if said.origin != message_id.origin or name not in said.audience:
            raise Broken(f"{name} delivers {message_id}, which was not said to it")
        if index in self.delivered[name]:
            raise Broken(f"{name} delivers {message_id} twice")
        missing = [
            earlier
            for earlier in said.past
            if name in self.said[earlier].audience
            and earlier not in self.delivered[name]
            and self.said[earlier].origin not in machine.evicted
        ]
        if missing:
            raise Broken(f"{name} delivers {message_id} before {[self.said[each] for each in missing]}")
        if said.origin not in machine.members and (machine.welcome or not self.crashed):
            raise Broken(f"{name} hears {said.origin}, and does not know it")
        if not self.crashed and not machine.dismissed:
            pending = {each.name for _, roster in machine.news for each in roster.members}
            pending |= {f"-{peer}" for _, roster in machine.news for peer in roster.leaving}
            known = {*machine.members, *(f"-{peer}" for peer in machine.leaving), *pending}
            if said.knew - known:
                raise Broken(f"{name} hears {message_id} of {said.origin}, who knew of {said.knew - known}")
        self.delivered[name] |= {index}
        self.knows[name] |= said.past | {index}

    def judge_end(self) -> None:
        left = {name: machine for name, machine in self.machines.items() if name not in self.crashed}
        for name, machine in left.items():
            if machine.dismissed and not machine.drained:
                raise Broken(f"{name} was dismissed and does not leave: {machine.gauges()}")
            if any(machine.gauges().values()) and not machine.drained:
                raise Broken(f"{name} holds {machine.gauges()}")
            lost = (
                [
                    said
                    for index, said in enumerate(self.said)
                    if name in said.audience
                    and index not in self.delivered[name]
                    and said.origin not in self.crashed
                    and said.origin not in machine.evicted - machine.turnover.left_in_order.keys()
                ]
                if name not in self.evicted_alive()
                else []
            )
            if lost:
                raise Broken(f"{name} never got {lost}")
        staying = {
            name: machine for name, machine in left.items() if machine.welcome and not machine.dismissed
        }
        rosters = {name: set(machine.roster()) for name, machine in staying.items()}
        for name, roster in rosters.items():
            if roster != set(staying):
                raise Broken(f"{name} knows {sorted(roster)}, and there are {sorted(staying)}")

    def evicted_alive(self) -> set[str]:
        return {
            peer
            for machine in self.machines.values()
            for peer in machine.evicted
            if peer not in self.crashed and peer not in machine.turnover.left_in_order
        }

    def after(self, move: tuple[Any, ...]) -> "GroupWorld":
        """The world after a move; of this one only what the move concerns is copied."""
        world = copy(self)
        for part in ("machines", "sinks", "scripts", "delivered", "knows", "untold", "pictures"):
            setattr(world, part, dict(getattr(self, part)))
        world.flying, world.said = list(self.flying), list(self.said)
        name = self.flying[move[1]][1] if move[0] in ("arrive", "lose") else move[1]
        pair = self.machines[name], self.sinks[name]
        world.machines[name], world.sinks[name] = pickle.loads(pickle.dumps(pair, pickle.HIGHEST_PROTOCOL))
        world.move(move)
        world.pictures[name] = freeze(world.machines[name])
        return world

    def key(self) -> Any:
        """What tells this world from others."""
        machines = tuple(self.pictures.values())
        flying = tuple(sorted(repr(frame) for frame in self.flying))
        order = tuple((name, tuple(sorted(known))) for name, known in self.delivered.items())
        return machines, flying, order, tuple(self.scripts.values()), self.crashed, repr(self.untold)


def explored(play: Play) -> tuple[int, int]:
    """Every schedule; how many worlds and how many ends there are."""
    start = GroupWorld(play)
    seen, ends, waiting = {start.key()}, 0, [start]
    while waiting:
        world = waiting.pop()
        moves = world.moves()
        if not moves:
            if world.flying:
                raise Broken(f"strangers for ever: {world.flying}")
            world.judge_end()
            ends += 1
        for move in moves:
            after = world.after(move)
            key = after.key()
            if key not in seen:
                seen.add(key)
                waiting.append(after)
        if len(seen) > STATES_MAX:
            raise AssertionError("the play is too large")
    return len(seen), ends


def by_chance(play: Play, seed: int, loss: float = 0.0, doubles: float = 0.0) -> GroupWorld:
    """One schedule, on a network that loses and repeats, with timers; judged at its end."""
    chance = random.Random(seed)
    world = GroupWorld(play, retransmit=True)
    for _ in range(STEPS_MAX):
        moves = world.moves()
        lively = [move for move in moves if move[0] != "lose"]
        timers = list(armed(world))
        if not lively and not timers:
            break
        acting = [move for move in lively if move[0] != "arrive"]
        if lively and (not timers or chance.random() < 0.9):
            # Most of a script happens while something is on its way.
            move = chance.choice(acting if acting and chance.random() < 0.2 else lively)
        else:
            move = min(timers, key=lambda move: (world.sinks[move[1]].timers[move[2]], repr(move)))
        if move[0] == "arrive":
            source, _, _ = world.flying[move[1]]
            healed = not acting
            if chance.random() < (0.4 if source in world.crashed else 0.0 if healed else loss):
                del world.flying[move[1]]
                continue
            if chance.random() < doubles:
                world.flying.append(world.flying[move[1]])
        world.move(move)
    else:
        raise Broken("no rest")
    world.judge_end()
    return world


def armed(world: GroupWorld) -> Iterator[tuple[str, str, Any]]:
    for name, sink in world.sinks.items():
        if name not in world.crashed and not world.machines[name].drained:
            for timer in sink.timers:
                yield "expire", name, timer


def rosters_said(world: GroupWorld) -> int:
    return sum(len(sink.own) for sink in world.sinks.values())


__all__ = ["Act", "Broken", "GroupWorld", "Play", "Roster", "by_chance", "explored", "rosters_said"]
