"""Preventive broadcast by hand: four processes in a circle, and frames that arrive when the test says so."""

from typing import Any

from aforesaid.protocols.overlay.frames import Lid
from aforesaid.protocols.overlay.preventive import Preventive
from support.harness import Recorder

GROUP = ("a", "b", "c", "d")
PATIENCE = 1_000


def member(name: str, degree: int = 1, kind: type[Preventive] = Preventive, **settings: Any) -> Preventive:
    """One of four processes in a circle; at degree 1, a ring: a to b to c to d to a."""
    return kind(name, GROUP, degree=degree, patience=PATIENCE, **settings)


def founding(opener: str, other: str) -> Lid:
    return Lid(opener, other, 0, (GROUP.index(other) - GROUP.index(opener)) % 4)


def neighbours_of(machine: Preventive) -> list[str]:
    return [peer for peer, _ in machine.links()]


class Circle:
    """Four processes whose frames arrive in the order they were sent, once a test says so."""

    def __init__(self, degree: int = 1, kind: type[Preventive] = Preventive, **settings: Any) -> None:
        self.kind = kind
        self.machines = {name: member(name, degree, kind, **settings) for name in GROUP}
        self.outs = {name: Recorder() for name in GROUP}

    def add(self, name: str, contact: str) -> Preventive:
        self.machines[name] = newcomer = self.kind(name, (name,), patience=PATIENCE)
        self.outs[name] = Recorder()
        newcomer.join(contact, 0, self.outs[name])
        return newcomer

    def carry(self) -> list[Any]:
        """Carry every frame there is, and those that follow; returns them."""
        carried = []
        while any(out.sent for out in self.outs.values()):
            for source, out in self.outs.items():
                for target, frame in out.take_sent():
                    carried.append(frame)
                    self.machines[target].receive(source, frame, 0, self.outs[target])
        return carried

    def neighbours(self, name: str) -> list[str]:
        return neighbours_of(self.machines[name])


def kinds(frames: list[Any]) -> list[str]:
    return [type(frame).__name__ for frame in frames]


def frames(out: Recorder) -> list[Any]:
    return [frame for _, frame in out.take_sent()]
