"""The links of a process of preventive broadcast: which it uses, and how far the others have come."""

from collections.abc import Iterable, Sequence

from aforesaid.core import Explaining, Keeping, MessageId, Nanoseconds, Process, Reason
from aforesaid.protocols.overlay.frames import Lid, Said
from aforesaid.protocols.overlay.holding import Kept, oldest_of, reasons_of


class Opening:
    """A link that is not safe yet."""

    __slots__ = ("buffer", "lid", "route", "since", "tries")

    def __init__(self, lid: Lid, route: Sequence[Process] | None, tries: int, since: Nanoseconds) -> None:
        self.lid = lid
        self.route = route
        self.tries = tries
        self.since = since
        self.buffer: list[Said] = []
        """What was delivered since the ping of this number."""


class Views(Explaining, Keeping):
    """The links out of one process and into it. A newcomer's first link is in both views, under one name."""

    def __init__(self, me: Process, incarnation: int, founding: Iterable[Lid]) -> None:
        self.me = me
        self.incarnation = incarnation
        self.sent = 0
        self.unsaid: list[Said] = []
        """What a newcomer said before it was let in."""
        links = list(founding)
        self.out_view: dict[Lid, Process] = {lid: lid.other for lid in links if lid.opener == me}
        """Q: the safe links, and where they lead."""
        self.in_view: dict[Lid, None] = {lid: None for lid in links if lid.other == me}
        self.opening: dict[Process, Opening] = {}
        self.unconfirmed: dict[Lid, Opening | None] = {}
        """Links in use whose other end has not acknowledged them; None: a newcomer's first."""
        self.closing: dict[Lid, int] = {}
        """Links we asked to close, and how often."""

    def links(self) -> Sequence[tuple[Process, Lid]]:
        unsure = {*self.closing, *self.unconfirmed}
        return [(peer, lid) for lid, peer in self.out_view.items() if lid not in unsure]

    def kept(self) -> tuple[Reason, ...]:
        return oldest_of(self._kept())

    def reasons(self, message_id: MessageId) -> tuple[Reason, ...]:
        newest = MessageId(self.me, self.incarnation, self.sent)
        return reasons_of(message_id, newest, self.unsaid, self._kept())

    def _kept(self) -> Iterable[Kept]:
        return (Kept(peer, each.buffer, each.since) for peer, each in self.opening.items())

    def _links_to(self, peer: Process) -> list[Lid]:
        """Safe links to the peer; more than one while an old one is being closed."""
        return [lid for lid, target in self.out_view.items() if target == peer and lid not in self.closing]

    def _stands_in(self, lid: Lid, view: Iterable[Lid]) -> bool:
        """True if the view has another link that is confirmed and not being closed by us."""
        gone = {lid, *self.closing, *self.unconfirmed}
        return any(other not in gone for other in view)
