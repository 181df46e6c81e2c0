"""The group of a node, as its protocol knows it: who is let in, who is spoken to, who has left.

A protocol that is `Admitting` changes its roster as messages arrive, and the host takes over what it says at
the end of every turn, before the frames of that turn leave: newcomers are reached where their roster says
they are, and who has left is forgotten. After a restart the protocol's word counts, not the configuration's.

A newcomer has to be there before it is admitted: what tells others of it also waits for it.
"""

import asyncio
from collections.abc import Callable
from typing import TYPE_CHECKING

import msgspec

from aforesaid.core import Admitting, Misuse, Process
from aforesaid.core.identity import check_name
from aforesaid.node.endings import Dismissed
from aforesaid.node.operating.logs import tell
from aforesaid.transport import Address

if TYPE_CHECKING:
    from aforesaid.node.host import Host

ADMIT_S = 10.0
"""How long a newcomer may take to answer."""

POLL_S = 0.01

ADDRESS_CHARS_MAX = 255
ROSTER_BYTES_PER_MEMBER = 16
"""What a roster takes for a member, besides its name and its address."""


class Groups:
    """Of one host."""

    def __init__(self, host: "Host") -> None:
        self._host = host
        machine, changes = host.machine, host.entry.tells is not None
        self._machine = machine if changes and isinstance(machine, Admitting) else None
        self._seen = -1
        self._founding = frozenset(() if host.config.newcomer else host.config.peers)
        self.leaving: frozenset[Process] = frozenset()
        """Who was dismissed, and may be gone by now: nothing is said to them."""
        self.on_change: Callable[[], None] = lambda: None
        """Who wants to know of a change."""

    # ------------------------------------------------------------------------------------- every turn

    def take_over(self) -> None:
        """Called at the end of every turn: what the protocol has learnt of the group."""
        machine = self._machine
        if machine is None:
            return
        if machine.changes != self._seen:
            self._seen = machine.changes
            self._adopt(machine)
        if machine.drained and not self._host.busy:
            self.end()

    @property
    def inside(self) -> bool:
        """False for a newcomer that nobody has admitted yet."""
        return self._machine is None or self._machine.welcome

    @property
    def audience(self) -> tuple[Process, ...]:
        """Who is spoken to when everyone is, the evicted among them, who hear nothing; nobody once this node
        was dismissed."""
        if self._machine is None:
            return self._host.config.group
        if self._machine.dismissed:
            return ()
        return tuple(name for name in self._host.config.group if name not in self.leaving)

    @property
    def has_taken_leave(self) -> bool:
        """Whether this node has said its last word: others do well not to hear it any more."""
        return self._machine is not None and self._machine.took_leave

    def will_learn(self, peer: Process) -> bool:
        """Whether a peer to whom this node is a stranger may not have heard of it yet."""
        return self._machine is not None and peer not in self._founding

    def check(self) -> None:
        """Dismissed if this node is to say nothing more."""
        if self._machine is not None and self._machine.dismissed:
            raise Dismissed(f"{self._host.config.name} was dismissed: it says nothing more")

    def end(self) -> None:
        """It has left, and lost nothing; what it was told can still be taken."""
        host = self._host
        if host.error is None:
            tell(host.config.name, "left", how="dismissed")
            host.inbox.close()
            host.end(Dismissed(f"{host.config.name} was dismissed, and has left"))
            host.inside.set()

    def _adopt(self, machine: Admitting) -> None:
        host = self._host
        left = set(machine.dismissals) & set(machine.gone)
        config = host.config
        peers = {
            name: config.peers.get(name, address)
            for name, address in machine.everyone.items()
            if name != config.name and name not in left
        }
        host.config = msgspec.structs.replace(config, peers=peers)
        for name, address in peers.items():
            if name not in config.peers and name not in machine.gone:
                tell(config.name, "admitted", peer=name, address=address)
                host.carrier.introduce(name, Address.parse(address))
        host.refusals.regroup(peers)
        self.leaving = frozenset(machine.dismissals)
        for name in machine.gone:
            if name not in host.gone and name in machine.everyone:
                host.evict(name, "left" if name in left else "told")
        self.on_change()

    # ------------------------------------------------------------------------------- for the operator

    def locate(self, addresses: dict[Process, str]) -> None:
        """Where members are, this node among them: newcomers will be told."""
        if self._machine is not None:
            self._machine.locate(addresses, self._host.now(), self._host)

    async def admit(self, peer: Process, text: str) -> None:
        """Have a peer in the group that is there and knows this node."""
        machine, host = self._able("admit"), self._host
        check_name(peer)
        self._check_room(machine, peer, text)
        config = msgspec.structs.replace(host.config, peers={**host.config.peers, peer: text})
        msgspec.structs.replace(config, listen=str(host.carrier.address)).validate()
        # Whatever cannot be is said before anybody is called.
        if peer in machine.everyone:
            machine.admit(peer, text, host.now(), host)
        host.carrier.introduce(peer, Address.parse(text))
        await self._heard(peer, text)
        self._able("admit").admit(peer, text, host.now(), host)
        host.end_turn()

    def dismiss(self, peer: Process) -> None:
        """Have a peer, or this node, leave in order."""
        machine, host = self._able("dismiss"), self._host
        machine.dismiss(peer, host.now(), host)
        tell(host.config.name, "dismissed", peer=peer)
        host.end_turn()

    def _able(self, what: str) -> Admitting:
        """The protocol, which has heard all that was said, so that its next number is free."""
        self._host.check()
        machine = self._host.machine
        if self._machine is None or not isinstance(machine, Admitting):
            raise Misuse(
                f"{what}: {self._host.entry.name} has a fixed group; hybrid_multicast_in_order, "
                "hybrid_multicast_sps and hybrid_multicast have groups that change"
            )
        return machine

    def _check_room(self, machine: Admitting, peer: Process, text: str) -> None:
        if len(text) > ADDRESS_CHARS_MAX:
            raise Misuse(f"admit: the address of {peer} has more than {ADDRESS_CHARS_MAX} characters")
        everyone = {**machine.everyone, peer: text}
        size = sum(len(n.encode()) + len(at) + ROSTER_BYTES_PER_MEMBER for n, at in everyone.items())
        if 2 * size > self._host.config.payload_bytes_max:
            raise Misuse(f"admit: {len(everyone)} members are too many for payload_bytes_max")

    async def _heard(self, peer: Process, text: str) -> None:
        carrier = self._host.carrier
        try:
            async with asyncio.timeout(ADMIT_S):
                while peer not in carrier.connected():
                    self._host.check()
                    carrier.beat(self._host.now())
                    await asyncio.sleep(POLL_S)
        except TimeoutError:
            carrier.withdraw(peer)
            raise Misuse(
                f"admit: {peer} is not heard at {text}: start it first, with newcomer = true and "
                f"{self._host.config.name} among its peers"
            ) from None
        except BaseException:
            carrier.withdraw(peer)
            raise
