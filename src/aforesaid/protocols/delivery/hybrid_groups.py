"""Hybrid buffering in a group whose members may be admitted and dismissed.

Groups do not change in Almeida (2026); all this is ours. The group is a set of *facts*: x is a member, at
this address; x is leaving; x is gone. Facts are only ever added, and only a `Roster` tells them: a message
like any other, with a number, acks and permits, in causal order with all that is said. So a message of the
application carries nothing more than before, and the rules rest on causal delivery alone, whatever is held or
unpermitted when the group changes.

1. *Admission.* Who admits x says its roster, x in it, to all its members and to x.
2. *Merging.* Who hears facts that it did not know (N), from one who did not know some of its own (L), says
   all it knows to those whom N and L are about, before it says anything else.
3. *Dismissal.* Who dismisses x says so to all its members and to x. Who hears that x is leaving says nothing
   more to x, but for one roster, its *farewell*.
4. *Draining.* Who is dismissed waits for the farewell of every member that it knows, until all that it said
   is acknowledged, and until no permit is missing. Then it says, last of all, that it is gone, to all at
   once. Whoever hears that forgets it as if it were evicted; nothing is lost by that.
5. *Eviction.* Who evicts one whose rosters it heard says its own to all: others may never get those.
6. Frames of one who is no member are dropped, and come again; but a newcomer hears everyone until it is
   welcome, for whoever admitted it may be gone.

A newcomer's channels all begin with nothing, since nobody who did not know it said anything to it. It knows
who admits it, and is *welcome* when it has that roster.

**Claim I.** If q knows f and g, of which f is about x and g about y, then q said, or something q delivered
follows, one message that tells x and y of both, unless one of them left or is gone; founders know each other
from the start. Proof, by the order in which things happen. q learns facts as an author (rule 1, 3: it tells
all members all that it knows), or by a roster R of p. Two facts of R: p knew both when it said R. Two that q
knew: they were told before. One of N and one of L: rule 2. So, by causal delivery:
- *nobody hears x before knowing it*: if q delivers x's message then x knew q when it said it, so some message
  told q of x, and comes before;
- *who knows more tells*: what q says, knowing of f, reaches nobody who does not know of f.
Concurrent changes, and a change concurrent with an eviction, are cases of this: rule 2 is for nothing else.

**Claim II.** Nothing that was said to one who is dismissed is lost to it. Let d say m to x, and x be gone
without m. d knew x, and not that x was leaving. By claim I one message told both, whose author e did not know
that x was leaving either, or d would. If x knew e then it had e's farewell, so that message before, and so it
knew d and had d's farewell, which comes after m. If not, e is in d's place: so back to a founder, whom x
knows. And x does not wait for ever: whoever it knows is told that x is leaving, by claim I.
What it said itself is acknowledged by all when it goes, and no permit of its is missing: none matters but
that for its last word, which tells nothing that others may not pass on.

**Evictions.** With causal order unless lost, a roster of one who is evicted may reach some and not others.
By rule 5 whoever has it tells all, or is evicted itself, having told somebody; so all members who are left
come to know the same. Meanwhile one of them may speak to another who does not know it: rule 6. Only if the
newcomer alone has it does nobody learn of it: nobody lets it in until somebody admits it again.

A name that left or is gone is not admitted again: others may yet hear that it is gone.
"""

from abc import abstractmethod
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import NamedTuple

from msgspec import Struct

from aforesaid.core import (
    Admitting,
    Effects,
    MessageId,
    Misuse,
    Nanoseconds,
    Payload,
    Process,
)
from aforesaid.protocols.delivery.hybrid_batches import Batched


class Member(NamedTuple):
    """One of the group, and where it is."""

    name: Process
    address: str


class Roster(NamedTuple):
    """All that its author knows of the group."""

    members: tuple[Member, ...]
    """Whoever was ever one."""
    leaving: tuple[Process, ...]
    """Who was dismissed."""
    gone: tuple[Process, ...]
    """Who was evicted, or has left: its author itself, if this is its last word."""


class Turnover(Struct, eq=False):
    """What a process keeps of changes, besides the facts."""

    welcome: bool = True
    count: int = 0
    tellers: dict[Process, None] = {}
    """Whose rosters were heard."""
    farewells: dict[Process, None] = {}
    """Who says nothing more to this process."""
    left_in_order: dict[Process, None] = {}
    """Of those who are gone: who was dismissed, and has said so itself."""
    last_word: bool = False


class Grouped(Batched, Admitting):
    """One process and its group; without one, everybody is heard and nobody admitted."""

    me: Process

    def __init__(self, batch: int) -> None:
        super().__init__(batch)
        self.members: dict[Process, str] = {}
        """Whoever was ever a member, and where it is."""
        self.leaving: dict[Process, None] = {}
        self.news: list[tuple[Process, Roster]] = []
        """What the present step has heard of the group."""
        self.turnover = Turnover()
        self._draining = False

    @abstractmethod
    def _say_own(
        self, targets: Sequence[Process], payload: Payload, now: Nanoseconds, out: Effects
    ) -> MessageId:
        """Say it, however much is said already."""

    @property
    @abstractmethod
    def _all_acknowledged(self) -> bool:
        """Whether everyone has all that was said here."""

    @property
    @abstractmethod
    def _permits_missing(self) -> bool:
        """Whether what is said now may have to wait."""

    # ------------------------------------------------------------------------------------------- the port

    def found(self, group: Iterable[Process], addresses: Mapping[Process, str], newcomer: bool) -> None:
        """Who the members are; a newcomer knows itself and some of them."""
        self.members = {name: addresses.get(name, "") for name in group}
        self.turnover.welcome = not newcomer

    def locate(self, addresses: Mapping[Process, str], now: Nanoseconds, out: Effects) -> None:
        self.members.update((name, at) for name, at in addresses.items() if name in self.members)

    @property
    def everyone(self) -> Mapping[Process, str]:
        return self.members

    @property
    def gone(self) -> Collection[Process]:
        return self.evicted

    def roster(self) -> Mapping[Process, str]:
        return {name: self.members[name] for name in self._present()}

    @property
    def changes(self) -> int:
        return self.turnover.count

    @property
    def welcome(self) -> bool:
        return self.turnover.welcome

    @property
    def dismissals(self) -> Collection[Process]:
        return self.leaving

    @property
    def dismissed(self) -> bool:
        return self.me in self.leaving

    @property
    def drained(self) -> bool:
        return self.turnover.last_word and self._all_acknowledged

    @property
    def took_leave(self) -> bool:
        return self.turnover.last_word

    def admit(self, peer: Process, address: str, now: Nanoseconds, out: Effects) -> None:
        self._check_may_change()
        if peer in self.leaving or peer in self.evicted:
            raise Misuse(f"{peer} was a member before: give the newcomer another name")
        if peer in self.members:
            raise Misuse(f"{peer} is a member already")
        self.members[peer] = address
        self._tell(self._present(), now, out)

    def dismiss(self, peer: Process, now: Nanoseconds, out: Effects) -> None:
        self._check_may_change()
        if peer not in self._present():
            raise Misuse(f"{peer} is not in the group: {', '.join(sorted(self._present()))}")
        told = self._present()
        self._dismiss(peer)
        self._tell(told, now, out)
        self._leave_if_drained(now, out)

    # ------------------------------------------------------------------------------------------- the parts

    def _is_stranger(self, source: Process) -> bool:
        return self.turnover.welcome and bool(self.members) and source not in self.members

    def _present(self) -> list[Process]:
        """To whom something may be said, this process included."""
        return [name for name in self.members if name not in self.leaving and name not in self.evicted]

    def _check_may_change(self) -> None:
        if self.dismissed:
            raise Misuse(f"{self.me} was dismissed")
        if not self.members or not self.turnover.welcome:
            raise Misuse(f"{self.me} is in no group")

    def _take_news(self, now: Nanoseconds, out: Effects) -> None:
        """The step is over: what it has heard of the group."""
        news, self.news = self.news, []
        for source, roster in news:
            if source not in self.evicted:
                self._hear(source, roster, now, out)
        self._leave_if_drained(now, out)

    def _hear(self, source: Process, roster: Roster, now: Nanoseconds, out: Effects) -> None:
        members, leaving, gone = roster
        self.turnover.tellers[source] = None
        if source in gone:
            self.turnover.left_in_order[source] = None
        lacks = [
            *(self.members.keys() - {member.name for member in members}),
            *(self.leaving.keys() - set(leaving)),
            *(self.evicted.keys() - set(gone)),
        ]
        news = [name for name in gone if name != self.me and name not in self.evicted]
        for name in news:
            self.peer_down(name, now, out)
        if self.me in leaving:
            self.turnover.farewells[source] = None
        news += self._enter(members)
        left = [name for name in leaving if name not in self.leaving]
        for name in left:
            self._dismiss(name)
        self.turnover.welcome = self.turnover.welcome or any(each.name == self.me for each in members)
        self.turnover.count += 1
        # Names in a fixed order: sets have none.
        concerned = dict.fromkeys([*news, *left, *sorted(lacks)]) if (news or left) and lacks else {}
        self._tell([*(name for name in concerned if name not in self.leaving), *left], now, out)

    def _dismiss(self, peer: Process) -> None:
        self.leaving[peer] = None
        self._draining = self.dismissed

    def _enter(self, members: Iterable[Member]) -> list[Process]:
        entered = [member for member in members if member.name not in self.members]
        self.members.update(entered)
        return [member.name for member in entered]

    def _tell(self, targets: Collection[Process], now: Nanoseconds, out: Effects) -> None:
        """Say all that is known of the group."""
        self.turnover.count += 1
        others = [name for name in targets if name != self.me and name not in self.evicted]
        if others and not self.turnover.last_word:
            out.numbered(self._say_own(others, self._all_known(), now, out))

    def _all_known(self) -> Roster:
        members = tuple(Member(name, address) for name, address in self.members.items())
        gone = (*self.evicted, self.me) if self.turnover.last_word else tuple(self.evicted)
        return Roster(members, tuple(self.leaving), gone)

    def _pass_on(self, gone: Process, now: Nanoseconds, out: Effects) -> None:
        """One who was heard of the group is evicted: others may not have all that it told."""
        if not self.members:
            return
        if gone in self.turnover.tellers and gone not in self.turnover.left_in_order:
            self._tell(self._present(), now, out)
        self.turnover.count += 1
        self._leave_if_drained(now, out)

    def _leave_if_drained(self, now: Nanoseconds, out: Effects) -> None:
        """Who was dismissed says its last word when nobody says anything to it, and all that it said came."""
        if not self._draining or not self._all_acknowledged or self._permits_missing:
            return
        others = [name for name in self.members if name != self.me and name not in self.evicted]
        if all(name in self.turnover.farewells for name in others):
            self._draining, self.turnover.last_word = False, True
            self.turnover.count += 1
            if others:
                out.numbered(self._say_own(others, self._all_known(), now, out))
