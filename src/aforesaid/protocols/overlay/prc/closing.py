"""Closing a link in two phases: ask, and close once the other end agrees.

An end refuses to lose its last link. Whoever sends on the link ends it with Fin, its last frame, so that
nothing on its way is lost; where both ends send, each does.

Close, Agree and Keep may be lost, and an answer may come when its question is no longer open. So both ends
have a timer: who asked asks again; who agreed, and sees no end of the link, asks in its turn.
"""

from aforesaid.core import Effects, Nanoseconds, Process
from aforesaid.protocols.overlay.frames import Agree, Close, Fin, Keep, Lid
from aforesaid.protocols.overlay.prc.links import SAFE, Asked, Down, Links


class Closing:
    """The closing of links at one process."""

    def __init__(self, links: Links, patience: Nanoseconds, tries_max: int) -> None:
        self.links = links
        self.patience = patience
        self.tries_max = tries_max

    def ask(self, lid: Lid, now: Nanoseconds, out: Effects) -> None:
        """Close a complete link, unless this process needs it."""
        if lid not in self.links.closing and not self.links.last(lid):
            self._ask(lid, 1, now, out)

    def asked(self, source: Process, lid: Lid, out: Effects) -> None:
        if self.links.known(lid):
            self.links.notices.append(Asked(lid))
        else:
            self.links.refuse(source, lid, out)

    def agree(self, lid: Lid, now: Nanoseconds, out: Effects) -> None:
        """The other end may close the link, unless this process needs it."""
        links = self.links
        peer = lid.far_end(links.me)
        if not links.complete(lid) or (lid not in links.closing and links.last(lid)):
            out.send((peer,), Keep(lid))
            return
        asked = links.closing.setdefault(lid, 0)
        if lid in links.outgoing:
            self._end(lid, out)
        else:
            out.send((peer,), Agree(lid))
            if not asked:
                out.arm(("close", lid), now + self.patience)

    def agreed(self, lid: Lid, out: Effects) -> None:
        """The other end, which only receives on the link, agrees."""
        if self.links.closing.get(lid) and lid in self.links.outgoing:
            self._end(lid, out)

    def kept(self, lid: Lid, out: Effects) -> None:
        """The other end refuses. A link of which it already ended its part is past refusal."""
        if self.links.closing.get(lid):
            del self.links.closing[lid]
            out.disarm(("close", lid))

    def ended(self, lid: Lid, out: Effects) -> None:
        """The other end's last frame on the link came in. Where both send on it, we end as well."""
        links = self.links
        heard = links.incoming.pop(lid, None) is not None
        if heard and lid in links.outgoing:
            self._end(lid, out)
        elif heard or lid in links.outgoing:
            self._gone(lid, out)

    def expired(self, lid: Lid, now: Nanoseconds, out: Effects) -> None:
        """No answer, or no end of what we agreed to close: ask (again), and in the end close alone."""
        tries = self.links.closing[lid]
        if tries < self.tries_max:
            self._ask(lid, tries + 1, now, out)
        else:
            self.links.part(lid, out)
            self._gone(lid, out)

    def _ask(self, lid: Lid, tries: int, now: Nanoseconds, out: Effects) -> None:
        self.links.closing[lid] = tries
        out.send((lid.far_end(self.links.me),), Close(lid))
        out.arm(("close", lid), now + self.patience)

    def _end(self, lid: Lid, out: Effects) -> None:
        """Send Fin, after which nothing is sent on the link; where nothing is received either, it is gone."""
        outgoing = self.links.outgoing.pop(lid)
        if outgoing.state >= SAFE:
            out.send((outgoing.target,), Fin(lid))
        if lid not in self.links.incoming:
            self._gone(lid, out)

    def _gone(self, lid: Lid, out: Effects) -> None:
        self.links.notices.append(Down(lid, agreed=lid in self.links.closing))
        self.links.drop(lid, out)
