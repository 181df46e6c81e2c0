"""Who does not let whom in, and why: kept to be told, once in a while, and for `peers`.

What a peer says of us was sealed by it, or came over its stream: it is believed. What was not let in here
proves nothing, for anyone may have sent it under any name: it is told, is shown of peers that are silent, and
stops nobody.
"""

from collections.abc import Collection

from aforesaid.core import SECOND, Nanoseconds, Process
from aforesaid.ground import ground
from aforesaid.node.config import Config
from aforesaid.node.endings import Unwelcome
from aforesaid.node.operating.logs import tell

AGAIN: Nanoseconds = 10 * SECOND
"""The same refusal is not told again before; if it was not repeated for longer, it is over."""

OURS = {
    "key": "it uses another cluster key",
    "tls": "its certificate, or its cluster key, is not accepted",
    "certificate name": "its certificate is for another name",
    "forged": "it was not sealed with our cluster key",
    "cluster": "it is of another cluster, or runs another algorithm",
    "mode": "it has a cluster key and this node has none, or the other way round",
    "version": "it speaks another version of the wire format",
    "stranger": "it is not among our peers",
    "incarnation": "it is another start of the peer, without what the group relies on; start the group anew",
    "claimed": "it has the name of another node that runs",
    "superseded": "a later start of the peer was heard",
    "another name": "another node is at its address",
}
"""What was not let in, by the reason that is counted."""

USUAL = {"stranger", "incarnation", "claimed", "another name"}
"""Not worth a word in a changing group, where processes come, go and start again."""

THEIRS = {
    "stranger": "this node is not among its peers",
    "incarnation": "it goes by another start of this node; start the group anew",
    "claimed": "another node that runs has this name",
}
"""Why a peer does not let this node in."""


class Refusals:
    """Of one incarnation of a node."""

    def __init__(self, config: Config) -> None:
        self._name = config.name
        self._peers = frozenset(config.peers)
        self._worth_a_word = OURS.keys() - (USUAL if config.entry.linked else ())
        self._now = ground().monotonic_ns
        self._told: dict[tuple[str, str, Process], Nanoseconds] = {}
        self._ours: dict[Process, tuple[str, Nanoseconds]] = {}
        """Of peers: the last refusal, and when it was."""
        self.theirs: dict[Process, str] = {}
        """By peer, why it does not let this node in."""

    def regroup(self, peers: Collection[Process]) -> None:
        """These are the peers from here on."""
        self._peers = frozenset(peers)

    def turned_away(self, peer: Process, reason: str) -> None:
        """A peer says why this node is not let in."""
        if reason in THEIRS:
            self.theirs[peer] = reason
            self._tell("turned away", peer, reason, THEIRS[reason])

    def not_let_in(self, name: Process, reason: str) -> None:
        """Something that came under this name was refused."""
        if reason in self._worth_a_word:
            # Anyone may write any name: those of no peer share one line.
            peer = name if name in self._peers else ""
            self._tell("refused", peer, reason, OURS[reason], source=name)
            if peer:
                self._ours[peer] = reason, self._now()

    def welcome(self, peer: Process) -> None:
        """It is there, in an incarnation that was not heard before."""
        self.theirs.pop(peer, None)
        self._ours.pop(peer, None)

    def state(self, peer: Process, connected: bool) -> str | None:
        """Why nothing gets through between the two, if that is so."""
        if peer in self.theirs:
            return f"refuses us: {THEIRS[self.theirs[peer]]}"
        reason, when = self._ours.get(peer, ("", 0))
        if not connected and reason and self._now() - when < AGAIN:
            return f"refused: {OURS[reason]}"
        return None

    def check(self, targets: Collection[Process]) -> None:
        """Unwelcome if what is said to these would go nowhere."""
        for peer, reason in self.theirs.items():
            if peer in targets:
                raise Unwelcome(f"{peer} does not let this node in: {THEIRS[reason]}")

    def _tell(self, event: str, peer: Process, reason: str, words: str, **fields: str) -> None:
        now, key = self._now(), (event, reason, peer)
        if now - self._told.get(key, now - AGAIN) >= AGAIN:
            self._told[key] = now
            tell(
                self._name,
                event,
                level="warning",
                **({"peer": peer, **fields} if peer else fields),
                reason=words,
            )
