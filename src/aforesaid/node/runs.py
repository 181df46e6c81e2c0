"""What is said in one turn to the same processes goes to the protocol as one run.

Nothing waits for company: a run is what is there when the turn ends, or when the protocol is about to hear of
anything else, or is looked at. Until a run leaves its messages have their numbers, for nobody else says
anything under these. A run is no larger than what leaves in one piece, so that loss takes it whole; a message
that is larger by itself is alone in its run.
"""

from collections.abc import Callable, Collection, Sequence
from typing import Protocol

from aforesaid.core import (
    RUN_MAX,
    Busy,
    InRuns,
    Process,
    Speaker,
    Windowed,
    order_of,
)
from aforesaid.node.carrying.carrier import Carrier
from aforesaid.node.config import Config
from aforesaid.node.several import PART_BYTES, Several

REST_BYTES = 160
"""What is left free in what leaves in one piece: for the rest of the run's frame, an ack and a permit."""


class _Machine(InRuns, Windowed, Protocol):
    """A protocol whose messages can be gathered."""


class Runs(Windowed):
    """The run that is being said. To who keeps account of messages under way it stands for the protocol."""

    def __init__(
        self,
        machine: _Machine,
        config: Config,
        say: Callable[[tuple[Process, ...], list[bytes]], None],
        carrier: Carrier,
    ) -> None:
        self._machine = machine
        self._name = config.name
        self._payload_bytes_max = config.payload_bytes_max
        # A run is to find room where it arrives, if all are configured alike.
        self._parts_max = min(RUN_MAX, config.queues.in_messages)
        self._say = say
        self._carrier = carrier
        self.payloads: list[bytes] = []
        self._targets: tuple[Process, ...] = ()
        self.to_itself = False
        """Whether it is for this node, too."""
        self._size = self._size_max = self._first = self._count_max = 0
        self.bound = True
        """Whether somebody must be asked for each message that is to join it."""
        self._free_count = self._free_size = 0
        """Else, up to how many parts, and bytes, it takes them."""

    def free(self, count: int, size: int) -> None:
        """So many messages more, as long as they are no more bytes, may join this run (`join`): nobody else
        waits for room, and nothing has to be noted of them but that they are under way."""
        self._free_count = min(self._count_max, len(self.payloads) + count)
        self._free_size = min(self._size_max, self._size + size)
        self.bound = False

    def begin(self, targets: tuple[Process, ...]) -> bool:
        """There is none: one to these; False if the protocol has no room."""
        if self._machine.room > 0:
            self._open(targets, 1)
            return True
        return False

    def bind(self) -> None:
        """Each message is to be asked for again."""
        self.bound = True

    def join(self, targets: tuple[Process, ...], payload: bytes) -> int:
        """Say this, too, if it may join the run; its number, or 0: it must be asked for."""
        gathered = self.payloads
        count = len(gathered)
        size = self._size + len(payload) + PART_BYTES
        if self.bound or count >= self._free_count or size > self._free_size or targets != self._targets:
            return 0
        self._size = size
        gathered.append(payload)
        return self._first + count

    def add(self, targets: tuple[Process, ...], said: Several) -> int:
        """Say these, too; the number of the last. Busy, with nothing changed, if the protocol has no room."""
        gathered, count, size = self.payloads, len(said.payloads), said.in_run
        self.bound = True
        if (
            gathered
            and targets == self._targets
            and self._size + size <= self._size_max
            and len(gathered) + count <= self._count_max
        ):
            self._size += size
            gathered += said.payloads
            return self._last
        if not gathered or targets != self._targets or count == 1 or count > self.room:
            if gathered:
                self.close()
            gathered = self._open(targets, count)
            if count == 1 or (size <= self._size_max and count <= self._parts_max):
                self._size = size
                gathered += said.payloads
                return self._last
        self._add_some(said)
        return self._last

    def close(self) -> None:
        """Hand the run to the protocol."""
        if self.payloads:
            payloads, self.payloads, self.bound = self.payloads, [], True
            self._say(self._targets, payloads)

    def close_if(self, fills: Callable[[int, int], bool]) -> None:
        """Close it if so many messages, and bytes, fill what they are for."""
        if self.payloads and fills(len(self.payloads), self._size - PART_BYTES * len(self.payloads)):
            self.close()

    @property
    def size(self) -> int:
        """Of its messages, in bytes, at most."""
        return self._size

    @property
    def room(self) -> int:
        """How many more messages the protocol takes."""
        return self._machine.room - len(self.payloads)

    def _open(self, targets: tuple[Process, ...], count: int) -> list[bytes]:
        gathered = self._begin(count)
        self._targets, self.to_itself = targets, self._name in targets
        self._size_max = min(self._carrier.piece_bytes - REST_BYTES, self._payload_bytes_max)
        return gathered

    def _begin(self, count: int) -> list[bytes]:
        """One to the same as the last; Busy if there is not room for so many."""
        machine = self._machine
        room = machine.room
        if count > room:
            raise Busy(f"{self._name} has room for {room} messages more: try again later")
        self._first, self._size = machine.next_number, 0
        self._count_max = room if room < self._parts_max else self._parts_max
        self.payloads = []
        return self.payloads

    def _add_some(self, said: Several) -> None:
        """More than the run holds that is being said: each as full as it may be."""
        begin = 0
        while True:
            # The run that is being said may be one message that is too large by itself: nothing joins it.
            gathered = self.payloads
            end = said.cut(begin, self._count_max - len(gathered), self._size_max - self._size)
            if end == begin and not gathered:
                end += 1
            gathered += said.payloads[begin:end]
            self._size += said.between(begin, end)
            begin = end
            if begin == len(said.payloads):
                return
            self.close()
            self._begin(1)

    @property
    def _last(self) -> int:
        return self._first + len(self.payloads) - 1

    # ------------------------------------------------------------------- for who keeps account of messages

    @property
    def stable_below(self) -> int:
        return self._machine.stable_below

    def lacking(self, number: int) -> Collection[Process]:
        self.close()
        # What was for nobody else is stable as soon as it is said.
        return () if number < self._machine.stable_below else self._machine.lacking(number)

    def owed(self, peer: Process) -> int:
        self.close()
        return self._machine.owed(peer)

    def retries(self, peer: Process) -> Sequence[object]:
        return self._machine.retries(peer)


def runs_of(
    machine: Speaker,
    config: Config,
    say: Callable[[tuple[Process, ...], list[bytes]], None],
    carrier: Carrier,
) -> Runs | None:
    """None: this protocol takes its messages one by one."""
    # What a message follows, where it carries that, is decided when it is said.
    if isinstance(machine, InRuns) and isinstance(machine, Windowed) and order_of(machine) is None:
        return Runs(machine, config, say, carrier)
    return None
