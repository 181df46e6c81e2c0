"""The heartbeat of a node: tells the idle that it is there, warns of the silent, evicts who stays silent.

Who is suspected, and who may evict, is decided in `protocols.membership.suspicion`.
"""

from collections.abc import Collection
from typing import NamedTuple

from aforesaid.core import SECOND, MessageId, Owing, Process
from aforesaid.node.config import Config
from aforesaid.node.host import Host
from aforesaid.node.operating.logs import tell
from aforesaid.protocols.membership.suspicion import Suspicion

MEETING_BEATS = 10
"""A peer that was never heard is told of after so many heartbeats, once: groups start one by one."""


class Suspect(NamedTuple):
    """A peer that is silent, and what waits for it."""

    silent_s: float
    owed: int
    """How many of this node's messages it has not acknowledged."""
    oldest: MessageId | None
    """The first of them, where the algorithm can tell."""

    def __str__(self) -> str:
        oldest = "" if self.oldest is None else f", {self.oldest} first"
        return f"silent for {self.silent_s:.1f} s; messages that wait for it: {self.owed}{oldest}"


class Watch:
    """Over the peers of a fixed group."""

    def __init__(self, config: Config) -> None:
        beat = round(config.heartbeat_s * SECOND)
        self._evict_after = round(config.evict_after_s * SECOND)
        self._never = MEETING_BEATS * beat
        self._suspicion = Suspicion(config.name, config.peers, beat)
        self._told: set[Process] = set()
        """The suspects of whom the operator was told."""
        self._unmet: set[Process] = set()
        """Who was never heard, and was told of."""
        self._kept: set[Process] = set()
        """Who would be evicted if this node heard most of the others, and was told of."""

    def regroup(self, peers: Collection[Process]) -> None:
        """These are the peers from here on."""
        self._suspicion.regroup(peers)

    def beat(self, host: Host) -> None:
        """Once per heartbeat."""
        now, suspicion = host.now(), self._suspicion
        host.carrier.beat(now)
        host.groups.take_over()
        for peer in host.gone:
            suspicion.forget(peer)
        suspicion.look({peer: host.carrier.heard_ns(peer) for peer in suspicion.silences}, now)
        if host.error is None:
            self._warn(host)
            if self._evict_after:
                self._evict(host)

    def suspects(self, host: Host) -> dict[Process, Suspect]:
        """Who is suspected now."""
        suspects = [peer for peer in self._suspicion.suspects if peer not in host.gone]
        waits = host.flight.waits() if suspects else {}
        found = {}
        for peer in suspects:
            oldest = waits[peer].id if peer in waits else None
            found[peer] = Suspect(self._suspicion.silences[peer].lasts / SECOND, _owed(host, peer), oldest)
        return found

    def _warn(self, host: Host) -> None:
        suspects = set(self._suspicion.suspects)
        for peer, (silent_s, owed, oldest) in sorted(self.suspects(host).items()):
            if peer in self._told:
                continue
            host.happened("suspect", peer)
            first = {} if oldest is None else {"oldest": str(oldest)}
            tell(
                host.config.name,
                "suspected",
                level="warning",
                peer=peer,
                silent_s=round(silent_s, 1),
                owed=owed,
                **first,
            )
        for peer in sorted(self._told - suspects - host.gone.keys()):
            host.happened("heard", peer)
            tell(host.config.name, "heard again", peer=peer, owed=_owed(host, peer))
        self._told = suspects
        self._kept &= suspects
        for peer, silence in self._suspicion.silences.items():
            if not silence.met and silence.lasts > self._never and peer not in self._unmet:
                self._unmet.add(peer)
                advice = "is it started, at this address, with this node among its peers?"
                tell(host.config.name, "never heard", level="warning", peer=peer, advice=advice)

    def _evict(self, host: Host) -> None:
        overdue = self._suspicion.overdue(self._evict_after)
        if self._suspicion.may_evict:
            for peer in overdue:
                host.evict(peer)
        else:
            for peer in sorted(set(overdue) - self._kept):
                self._kept.add(peer)
                advice = (
                    "most of the group is silent, so this node may be cut off itself; an operator decides"
                )
                tell(host.config.name, "not evicted", level="warning", peer=peer, advice=advice)


def _owed(host: Host, peer: Process) -> int:
    return host.machine.owed(peer) if isinstance(host.machine, Owing) else 0
