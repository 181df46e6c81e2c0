"""The past of one node, from its first start in this process to its end: its history, and its hosts.

A `Node` begins many incarnations; what they deliver goes into one history. What a newcomer is to have of
the past is said once: "all" that its contact keeps, nothing but what comes "from now" on, or what was
delivered since a moment. Who was in the group before goes on where it was, whatever is said.
"""

from collections.abc import Callable
from datetime import datetime
from typing import Literal, TypeAlias

from aforesaid.core import SECOND, Misuse
from aforesaid.node.carrying.carrier import Carrier
from aforesaid.node.config import Config
from aforesaid.node.history.frames import FROM_NOW, OLDEST
from aforesaid.node.history.history import Give, History, Snapshots, Take
from aforesaid.node.history.keeping import KeepingHost
from aforesaid.node.host import Host
from aforesaid.node.inbox import Inbox

Since: TypeAlias = Literal["all", "from now"] | datetime


class Keeper:
    """What a node that keeps its history needs besides what others do."""

    def __init__(self, config: Config, resume_from: int | None, since: Since | None) -> None:
        if since is not None and not config.keeps:
            raise Misuse("history: set retention_bytes, here and at every member of a changing group")
        self._resume_from = resume_from
        self.stored: int | None = None
        """Up to which offset the application has all, by its last transaction."""
        self._since_ns = _nanoseconds(since)
        self._snapshots = Snapshots()
        self._history: History | None = None

    def on_snapshot(self, give: Give | None, take: Take | None) -> None:
        self._snapshots.give, self._snapshots.take = give, take

    def host(
        self, config: Config, incarnation: int, inbox: Inbox, carrier: Callable[[Host], Carrier]
    ) -> Host:
        """Of one incarnation; the first one opens the history, in a directory that is claimed."""
        if not config.keeps:
            return Host(config, incarnation, inbox, carrier)
        if self._history is None:
            self._history = History(config, inbox, self._snapshots, self._resume_from, self.stored)
        return KeepingHost(config, incarnation, inbox, carrier, self._history, self._since_ns)

    def close(self) -> None:
        if self._history is not None:
            history, self._history = self._history, None
            history.close()


def _nanoseconds(since: Since | None) -> int:
    if since == "all":
        return OLDEST
    if since in (None, "from now"):
        return FROM_NOW
    if not isinstance(since, datetime) or since.tzinfo is None:
        raise Misuse('history: "all", "from now", or a datetime with a time zone')
    return max(0, round(since.timestamp() * SECOND))
