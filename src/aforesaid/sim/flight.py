"""Frames on their way when what carries them breaks: a FIFO channel loses a suffix, another one any part."""

from collections.abc import Sequence
from heapq import heapify
from typing import TYPE_CHECKING, Any

from aforesaid.core import Process, link_of
from aforesaid.sim.chance import Chance
from aforesaid.sim.network import Channel

if TYPE_CHECKING:
    from aforesaid.sim.simulation import Simulation


def lose_on_crash(simulation: "Simulation", source: Process, chance: Chance) -> None:
    """A process crashed, and part of what it had sent is lost, on each of its channels."""
    links: dict[Process, dict[Any, None]] = {target: {} for target in simulation.seats}
    for entry in simulation.agenda:
        if entry[2] == simulation.arrive and entry[4] == source:
            links[entry[3].name][link_of(entry[5])] = None
    for sender, target, link in simulation.network.held():
        if sender == source:
            links[target][link] = None
    # A target to which nothing is on its way draws, too: traces stay what they were before links had names.
    channels = [(source, target, link) for target, named in links.items() for link in named or (None,)]
    _lose(simulation, channels, chance)


def lose_connection(
    simulation: "Simulation", one: Process, other: Process, link: Any, chance: Chance
) -> None:
    """The connection under a link instance is gone, with part of what was on it, in each direction."""
    simulation.network.disconnect(link)
    _lose(simulation, [(one, other, link), (other, one, link)], chance)


def _lose(simulation: "Simulation", channels: Sequence[Channel], chance: Chance) -> None:
    agenda, network = simulation.agenda, simulation.network
    flying: dict[Channel, list[int]] = {channel: [] for channel in channels}
    for place, entry in enumerate(agenda):
        if entry[2] == simulation.arrive:
            places = flying.get((entry[4], entry[3].name, link_of(entry[5])))
            if places is not None:
                places.append(place)
    held = network.held()
    lost: set[int] = set()
    for channel, places in flying.items():
        places.sort(key=lambda place: agenda[place][:2])
        # What a partition holds was sent after what is on its way: it is the tail of the channel.
        kept = _survivors(len(places) + held.count(channel), simulation.scenario.network.fifo, chance)
        lost.update(place for number, place in enumerate(places) if number not in kept)
        network.keep_held(channel, {number - len(places) for number in kept})
    simulation.counters.lost += len(lost)
    # In place: the simulation's loop holds this list.
    agenda[:] = [entry for place, entry in enumerate(agenda) if place not in lost]
    heapify(agenda)


def _survivors(count: int, fifo: bool, chance: Chance) -> set[int]:
    """Which frames of a broken channel, oldest first, arrive all the same."""
    if fifo:
        return set(range(chance.between(0, count)))
    return {number for number in range(count) if chance.uniform() < 0.5}
