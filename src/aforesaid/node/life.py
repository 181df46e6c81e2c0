"""The life of a node, from `async with` to its end: it founds a group, joins one, or comes back to its own;
it begins again as another incarnation where it has lost its group; it stops.

Law: of one node one host runs at a time, and a next one begins after the last has ended. What an end owes to
the disk, to the trace and to others is done to the end, whoever is cancelled meanwhile.
"""

import asyncio
import errno
from collections.abc import Callable, Coroutine, Sequence
from types import TracebackType
from typing import Any, Self

import msgspec

from aforesaid.core import SECOND, Misuse
from aforesaid.ground import ground
from aforesaid.node.awaiting import drained, lingered, to_the_end, welcomed
from aforesaid.node.building import carrier_of, journal_of, segments_of
from aforesaid.node.carrying.book import Book
from aforesaid.node.carrying.carrier import Carrier
from aforesaid.node.carrying.switchboard import Unreached
from aforesaid.node.config import Config
from aforesaid.node.endings import Closed, Isolated
from aforesaid.node.history.keeper import Keeper, Since
from aforesaid.node.history.keeping import KeepingHost
from aforesaid.node.host import Host
from aforesaid.node.operating.claim import Claim
from aforesaid.node.operating.control import Control
from aforesaid.node.operating.incarnations import next_incarnation
from aforesaid.node.operating.logs import tell
from aforesaid.node.operating.members import Members
from aforesaid.node.operating.metrics_port import MetricsPort
from aforesaid.node.payloads import P
from aforesaid.node.surviving import SurvivingHost
from aforesaid.node.talking import Talking
from aforesaid.node.transactions import Transactions
from aforesaid.node.watch import Watch
from aforesaid.protocols.membership.epochs import START_COUNT_BIT
from aforesaid.protocols.membership.rejoining import Rejoining, is_the_whole_group
from aforesaid.transport import Address

NONE_LEFT = (errno.EMFILE, errno.ENFILE)
"""No descriptor: that passes, and who looks for its group need not fail of it."""


class Life(Talking[P]):
    """Of this a `Node` is made, too."""

    def __init__(self, config: Config, resume_from: int | None, history: Since | None) -> None:
        self.config = config
        self._survives = config.survives
        self._keeper = Keeper(config, resume_from, history)
        self._hands_on_again = config.survives or config.keeps
        """Whether messages have offsets, and may come again to who was killed with them in hand."""
        if resume_from is not None and not (self._hands_on_again and config.directory):
            raise Misuse('resume_from: this node keeps nothing to resume from; set durability = "batch"')
        self._resume_from = resume_from
        self._claim: Claim | None = None
        self._transactions: Transactions | None = None
        self._leaving = False
        self._book = Book()
        self._host: Host | None = None
        self._tasks: list[asyncio.Task[None]] = []
        self._control: Control | None = None
        self._metrics: MetricsPort | None = None
        self._member = asyncio.Event()
        """Set while this node is in its group; cleared while it is between two incarnations."""
        self._remembered: list[Address] = []
        """Where members were when this node last ran."""
        self._watch = Watch(config)
        self._closing = False
        self._stopped = asyncio.Event()

    async def __aenter__(self) -> Self:
        if self._host is not None:
            raise Misuse("a Node is entered once; make another one")
        await self._enter_group()
        try:
            await to_the_end(self._take_questions())
        except BaseException:
            await to_the_end(self._stop(in_time=False))
            raise
        self._spawn(self._beat(), "heartbeat")
        if self._running.entry.linked:
            self._spawn(self._begin_again(), "rejoining")
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close(linger_s=self.config.linger_s if kind is None else 0.0)

    async def close(self, linger_s: float = 0.0) -> None:
        """Leave: wait up to so long until others have what was said, say goodbye, and stop. A node that
        survives stops at once and says no goodbye: it will be back.

        Of several calls the first decides how long, and all wait until the node has stopped.
        """
        if self._host is None:
            return
        if self._closing:
            await self._stopped.wait()
            return
        self._closing, in_time = True, True
        try:
            if linger_s > 0 and self._host.error is None and self._says_goodbye:
                in_time = await lingered(lambda: self._running, linger_s)
        finally:
            try:
                await to_the_end(self._stop(in_time))
            finally:
                self._stopped.set()

    async def leave(self, linger_s: float | None = None) -> None:
        """Close for good, also if this node survives: nobody waits for it, and it cannot come back."""
        self._leaving = True
        await self.close(self.config.linger_s if linger_s is None else linger_s)

    async def drain(self) -> None:
        """Returns once nothing that was said here is under way any more."""
        await drained(self._running)

    # --------------------------------------------------------------------------------------- of the face

    def _regroup(self) -> None:
        """The host knows another group from here on."""
        raise NotImplementedError

    async def _take_questions(self) -> None:
        """From operators, on the ways that the configuration names."""
        raise NotImplementedError

    # ----------------------------------------------------------------------------------------- the parts

    @property
    def _running(self) -> Host:
        if self._host is None:
            raise Closed("the node has not been started: async with Node(config) as node")
        return self._host

    def _spawn(self, work: Coroutine[Any, Any, None], title: str) -> None:
        task = asyncio.create_task(work, name=f"{title} of {self.config.name}")
        task.add_done_callback(self._ended)
        self._tasks.append(task)

    def _ended(self, task: asyncio.Task[None]) -> None:
        """A task of ours ends by being cancelled; anything else is a failure that must not go unseen."""
        if not task.cancelled() and (error := task.exception()) is not None:
            self._running.fail(error if isinstance(error, Exception) else RuntimeError(repr(error)))

    def _stored(self) -> int | None:
        return None if self._transactions is None else self._transactions.stored()

    @property
    def _says_goodbye(self) -> bool:
        return self._leaving or not self._survives

    async def _inside_again(self) -> None:
        """Until the next incarnation is in its group; not for ever, for the caller may know what to do."""
        try:
            async with asyncio.timeout(2 * self.config.outside_s):
                await self._member.wait()
        except TimeoutError:
            away = f"{self.config.name} has been outside its group for {2 * self.config.outside_s:g} s"
            raise Isolated(f"{away}; nobody lets it in at {', '.join(map(str, self._known()))}") from None

    def _contacts(self) -> list[Address]:
        return [Address.parse(text) for text in self.config.contacts]

    def _known(self) -> list[Address]:
        """Where members of its group may be, the likeliest first."""
        return list(dict.fromkeys(self._book.best(self.config.name) + self._contacts() + self._remembered))

    async def _enter_group(self) -> None:
        """Found a group, or join one; who was a member before has lost it, and looks for it."""
        if self._survives:
            await self._come_back()
            return
        if self.config.keeps and self.config.directory is not None:
            self._claim = Claim(self.config.directory)
            self._keeper.stored = self._stored()
        self._remembered = Members(self.config.directory).read() if self.config.entry.linked else []
        try:
            if self._remembered:
                await self._rejoin(0, None)
            else:
                await self._start(self._next_incarnation(), self._contacts(), newcomer=True)
        except BaseException:
            self._keeper.close()
            if self._claim is not None:
                self._claim.release()
            raise

    def _next_incarnation(self, last: int = 0) -> int:
        return next_incarnation(self.config.directory, last, claimed=self._claim is not None)

    async def _come_back(self) -> None:
        """Begin, or go on where the last start was killed."""
        config = self.config
        self._claim = Claim(str(config.directory))
        try:
            host = self._on_a_journal()
            self._recall(host)
            stored = self._stored()
            await self._run(host, (), newcomer=False, prepare=lambda: host.resume(self._resume_from, stored))
        except BaseException:
            self._claim.release()
            raise

    def _on_a_journal(self) -> SurvivingHost:
        journal = journal_of(self.config)
        try:
            return SurvivingHost(self.config, self._inbox, self._carrier, journal)
        except BaseException:
            journal.close()
            raise

    def _carrier(self, above: Host) -> Carrier:
        return carrier_of(self.config, above.incarnation, above.start, above, self._book)

    async def _start(self, incarnation: int, contacts: Sequence[Address], newcomer: bool = False) -> None:
        """Begin an incarnation; it founds a group, or joins one through the first member that is there."""
        config = self.config
        host = self._keeper.host(config, incarnation, self._inbox, self._carrier)

        def prepare() -> None:
            if config.directory is not None and config.trace:
                segments = segments_of(config, incarnation, host.wall(), joined=bool(contacts))
                if config.receipts:
                    host.record_with_receipts(segments)
                else:
                    host.recorder = segments

        await self._run(host, contacts, newcomer, prepare)

    async def _run(
        self, host: Host, contacts: Sequence[Address], newcomer: bool, prepare: Callable[[], None]
    ) -> None:
        try:
            prepare()
            # From here on others may speak to us, and what they say must find the trace open.
            await host.carrier.start()
            contact = await host.carrier.call(*contacts, newcomer=newcomer) if contacts else None
            host.begin(contact)
            # Who has a long past to hear first is not waited for: its application is to take it meanwhile.
            if not isinstance(host, KeepingHost):
                await welcomed(host, contact)
        except BaseException as error:
            await self._end(host, "isolated", drained=False, error=Isolated(str(error)))
            raise
        self._host = host
        host.groups.on_change = self._regroup
        host.groups.locate({self.config.name: self.config.advertise or str(host.carrier.address)})
        self._regroup()
        self._member.set()
        address, start = str(host.carrier.address), host.start >> START_COUNT_BIT
        tell(self.config.name, "started", incarnation=host.incarnation, start=start, address=address)

    async def _beat(self) -> None:
        """One timer for all peers."""
        members = Members(self.config.directory)
        while True:
            await asyncio.sleep(self.config.heartbeat_s)
            host = self._running
            if host.error is not None and not isinstance(host.error, Isolated):
                return  # Who has failed is not to be taken for alive.
            self._watch.beat(host)
            host.taken()  # Who waits for room may have some, now that a peer is known to be away.
            if host.entry.linked:
                members.keep(host.carrier.members)

    async def _begin_again(self) -> None:
        """An incarnation that has lost its group ends; the next one joins again, through whoever is there."""
        while True:
            host = self._running
            await host.isolation.wait()
            if host.error is not None and not isinstance(host.error, Isolated):
                return  # Who has failed in the same turn ends with its error.
            if host.is_member() and is_the_whole_group(host.carrier.members() + self._contacts()):
                host.isolation.clear()
                continue
            tell(self.config.name, "rejoining", level="warning", elsewhere=str(host.elsewhere or ""))
            self._member.clear()
            isolated = Isolated(f"{self.config.name} is isolated")
            await self._end(host, "isolated", drained=False, error=isolated)
            # Others know this node by its address.
            self.config = msgspec.structs.replace(self.config, listen=str(host.carrier.address))
            await self._rejoin(host.incarnation, host.elsewhere)

    async def _rejoin(self, last: int, elsewhere: Address | None) -> None:
        """Through the first member that is there; if there is none, one founds the group anew."""
        rejoining = Rejoining(self.config.name, not self.config.contacts, elsewhere)
        clock = ground().monotonic_ns
        despair = clock() + round(self.config.outside_s * SECOND)
        while True:
            try:
                last = self._next_incarnation(last)
                await self._start(last, rejoining.places(self._known()))
                return
            except OSError as error:
                if error.errno not in NONE_LEFT:
                    raise
                tell(self.config.name, "cannot rejoin", level="warning", error=str(error))
            except Unreached as error:
                tell(self.config.name, "cannot rejoin", level="warning", error=str(error))
                if rejoining.unreached(error.search, despairs=clock() > despair):
                    continue
            except Misuse as error:
                tell(self.config.name, "cannot rejoin", level="warning", error=str(error))
                rejoining.not_let_in()
            await asyncio.sleep(self.config.heartbeat_s)

    async def _stop(self, in_time: bool) -> None:
        if self._control is not None:
            await self._control.close()
        if self._metrics is not None:
            await self._metrics.close()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        host = self._running
        drained = in_time and (host.error is None or host.groups.has_taken_leave) and not host.busy
        self._inbox.close()
        self._member.set()  # Whoever waits for the next incarnation hears that there is none.
        try:
            if host.error is None and self._says_goodbye:
                if isinstance(host, SurvivingHost):
                    host.leave_for_good()
                host.leave()
                host.carrier.bye()
        finally:
            try:
                await self._end(host, "closed", drained, Closed(f"{self.config.name} is closed"))
            finally:
                self._keeper.close()
                if self._transactions is not None:
                    self._transactions.close()
                if self._control is not None:
                    self._control.release()

    async def _end(self, host: Host, how: str, drained: bool, error: Exception) -> None:
        await host.finish()
        if host.error is None:  # Who has failed may have failed to write its trace.
            host.record_latency()
        if self._says_goodbye:
            host.record("e", host.wall(), how, drained)
        host.end(error)
        recorder, host.recorder = host.recorder, None
        try:
            if recorder is not None:
                recorder.close()
        finally:
            await to_the_end(host.carrier.close())
