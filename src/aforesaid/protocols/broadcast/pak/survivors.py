"""What the survivors of a crash still owe each other: messages kept, reports, and agreement on the rest.

The paper has no crashes. Here is what its rules give for them. A sender releases message x + ct only when
everyone has delivered x, so what survivors have of a crashed sender differs by ct messages at most. Each
process therefore *keeps* the messages of each sender that it does not know to be everywhere, and when a
process s goes down:
- nothing is taken from s any more, except through survivors;
- each survivor *reports* to the others whom it knows to be down and what it has accepted of them, again
  whenever that changes; whoever has more relays it from what it keeps.

Agreed: every survivor has reported, knowing at least the same processes to be down, and none has more than
is accepted here. None will ever have more: from a process that is down it takes nothing but what a survivor
relays, and all survivors have reported. Only then may s be left out of full acknowledgments. An ack of s
would have vouched that its earlier messages are accepted here (the count it carries); agreement vouches for
that instead. Leaving s out at once lets others run ahead of messages that depend on what s said last, further
than a vector modulo k can tell (tests/paper/test_positive_acknowledgment.py).

Everywhere: moreover none has less. Then what was kept of the crashed is forgotten.
"""

from collections import deque
from collections.abc import Iterable, Mapping, Sequence

from aforesaid.protocols.broadcast.pak.frames import Data


class Survivors:
    """What one process keeps, and what it knows of the others' reports. Processes are ranks."""

    def __init__(self) -> None:
        self.down: tuple[int, ...] = ()
        """In ascending order."""
        self.kept: dict[int, deque[Data]] = {}
        """By sender, what was accepted and may not be everywhere, oldest first. No empty queues."""
        self.reports: dict[int, dict[int, int]] = {}
        """By survivor, its latest report: whom it knows to be down, each with how many it has accepted."""
        self.everywhere = True
        """Whether all survivors are known to have the same of those that are down."""

    def keep(self, sender: int, data: Data) -> None:
        self.kept.setdefault(sender, deque()).append(data)

    def forget(self, sender: int, upto: int) -> bool:
        """The sender's messages up to that number are everywhere; True if one of them was kept."""
        kept = self.kept.get(sender)
        if kept is None or kept[0].number > upto:
            return False
        while kept and kept[0].number <= upto:
            kept.popleft()
        if not kept:
            del self.kept[sender]
        return True

    def kept_above(self, sender: int, upto: int) -> list[Data]:
        """What is kept of a sender beyond that number."""
        return [data for data in self.kept.get(sender, ()) if data.number > upto]

    def lose(self, process: int) -> None:
        """A process is down: agreement is needed anew."""
        self.down = tuple(sorted((*self.down, process)))
        self.reports.pop(process, None)
        self.everywhere = False

    def heard(self, survivor: int, report: dict[int, int]) -> bool:
        """Take a report; False if a newer one of that survivor is known. Both parts of it only grow."""
        known = self.reports.get(survivor)
        if known is not None and _age(report) <= _age(known):
            return False
        self.reports[survivor] = report
        return True

    def agree(self, survivors: Iterable[int], accepted: Sequence[int]) -> bool:
        """Whether all is agreed, given what is accepted here; if it is even everywhere, nothing is kept."""
        agreed = everywhere = True
        for survivor in survivors:
            report = self.reports.get(survivor)
            for process in self.down:
                theirs = None if report is None else report.get(process)
                agreed = agreed and theirs is not None and theirs <= accepted[process]
                everywhere = everywhere and theirs == accepted[process]
        self.everywhere = everywhere
        if everywhere:
            for process in self.down:
                self.kept.pop(process, None)
        return agreed

    def differs(self, survivor: int, accepted: Sequence[int]) -> bool:
        """Whether a survivor's report is missing, or tells of something to relay, in either direction."""
        report = self.reports.get(survivor, {})
        return any(report.get(process) != accepted[process] for process in self.down)


def _age(report: Mapping[int, int]) -> tuple[int, int]:
    return len(report), sum(report.values())
