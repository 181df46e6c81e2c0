"""What each application has over all its lives: it keeps the offset of the last delivery with its state."""

from aforesaid.core import MessageId, Process
from aforesaid.node.endings import HistoryLost


class Having:
    """By process, up to which offset its application has all, and what it was told to be lost."""

    def __init__(self) -> None:
        self._last: dict[Process, int] = {}
        self._lost: dict[Process, list[HistoryLost]] = {}
        self.complaints: list[str] = []

    def last(self, name: Process) -> int:
        return self._last.get(name, 0)

    def takes(self, name: Process, offset: int, resumes: bool) -> bool:
        """The next delivery; false if it has it already, which is for who does not say what it has."""
        has = self.last(name)
        if offset <= has and not resumes:
            return False
        if offset != has + 1:
            self.complaints.append(f"{name} was handed {offset} after {has}")
        self._last[name] = offset
        return True

    def told(self, name: Process, lost: HistoryLost, resumes: bool) -> None:
        """That messages are lost has a place among the deliveries."""
        self.takes(name, lost.offset, resumes)
        self._lost.setdefault(name, []).append(lost)

    def knows_lost(self, name: Process, message: MessageId) -> bool:
        author = message.origin, message.incarnation
        spans = [each.spans[author] for each in self._lost.get(name, ()) if author in each.spans]
        return any(first <= message.number <= last for first, last in spans)
