"""What a node tells of itself: who its peers are and how, what waits and why, how much is held."""

from typing import Any

from aforesaid.core import MessageId, Process, Reason
from aforesaid.node.life import Life
from aforesaid.node.operating.explain import data_of, reasons_of, sentences_of, silences_of
from aforesaid.node.operating.status import explained, status_of, waits_of
from aforesaid.node.payloads import P
from aforesaid.node.watch import Suspect
from aforesaid.transport import Address


class Questions(Life[P]):
    """Of this a `Node` is made, too."""

    _group: tuple[Process, ...]
    """To whom a broadcast goes; to nobody once this node was dismissed."""
    said = 0
    """How many messages this node has said."""

    @property
    def name(self) -> Process:
        return self.config.name

    @property
    def members(self) -> tuple[Process, ...]:
        """To whom a broadcast goes now, this node included."""
        return self._group

    @property
    def address(self) -> Address:
        """Where this node listens."""
        return self._running.carrier.address

    @property
    def metrics_address(self) -> Address | None:
        """Where it answers GET /metrics; None: nowhere."""
        return None if self._metrics is None else self._metrics.address

    @property
    def incarnation(self) -> int:
        return self._running.incarnation

    @property
    def peers(self) -> dict[Process, str]:
        """Each peer, and how it is: connected, silent, evicted, left, or who does not let whom in."""
        host = self._running
        connected = set(host.carrier.connected()) - self.suspects.keys()
        names = dict.fromkeys((*self.config.peers, *sorted(connected), *host.gone))
        return {
            name: host.gone.get(name)
            or host.refusals.state(name, name in connected)
            or ("connected" if name in connected else "silent")
            for name in names
        }

    @property
    def suspects(self) -> dict[Process, Suspect]:
        """The peers of a fixed group that are silent for too long: for how long, and what waits for them."""
        return self._watch.suspects(self._running)

    def explain(self, message_id: MessageId | str) -> tuple[str, ...]:
        """Why a message waits, in sentences: what is missing, who holds it, since when."""
        return sentences_of(self._running, self.reasons(message_id))

    def reasons(self, message_id: MessageId | str) -> tuple[Reason, ...]:
        """The same for programs."""
        return reasons_of(self._running, message_id)

    def why(self, message_id: MessageId | str) -> dict[str, Any]:
        """The same as plain data: sentences, reasons, and who was last heard how many seconds ago."""
        host, reasons = self._running, self.reasons(message_id)
        return {
            "sentences": sentences_of(host, reasons),
            "reasons": [data_of(host, reason) for reason in reasons],
            "heard_s_ago": silences_of(host, reasons),
        }

    @property
    def delivered(self) -> int:
        """How many messages were delivered to this node, its own included."""
        return self._inbox.delivered

    @property
    def closing(self) -> bool:
        return self._closing

    @property
    def outside(self) -> bool:
        """True while it looks for a group that it has lost (prc_spray)."""
        return not self._member.is_set()

    def status(self) -> dict[str, Any]:
        """How this node is, as plain data: `aforesaid top --json` prints it."""
        return status_of(self, self._running)

    def waits(self) -> list[dict[str, Any]]:
        """What waits longest: for each peer its oldest message that is under way, and why it waits."""
        host = self._running
        return explained(host, waits_of(host))

    def gauges(self) -> dict[str, int]:
        """How much is held, by kind: of the protocol and of the queues around it."""
        suspects = self.suspects
        return {
            **self._running.machine.gauges(),
            "suspects": len(suspects),
            "owed_to_suspects": sum(each.owed for each in suspects.values()),
            **self.queues(),
        }

    def queues(self) -> dict[str, int]:
        """How much is held around the protocol."""
        host = self._running
        return {
            "under_way": host.flight.held,
            "inbox_messages": self._inbox.messages,
            "inbox_bytes": self._inbox.bytes,
            "link_bytes": host.carrier.buffered(),
        }

    @property
    def refused(self) -> dict[str, int]:
        """How many packets were not let in, by reason."""
        return dict(self._running.refused + self._inbox.refused)
