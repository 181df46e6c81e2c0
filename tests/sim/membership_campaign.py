"""Members that come, go, crash and are cut off from each other, in virtual heartbeats.

    python tests/sim/membership_campaign.py [seed ...]

Words take up to two heartbeats, and some are lost. The overlay heals along its own links only, so that parts
that were cut off stay apart until the elder brings them together. In every run nobody begins again in whose
part the oldest of all is; and after some quiet everybody is in one part and knows the same elder. A failure
prints the line that plays it again. Parts whose members never heard of each other may stay apart.
"""

import sys
from collections import Counter
from random import Random
from typing import NamedTuple

from aforesaid.core import Process, Refused
from aforesaid.protocols.membership.acquaintances import Acquaintances
from aforesaid.protocols.membership.elders import ASK_BEATS, GONE_BEATS, REACH_BEATS, Word
from aforesaid.protocols.membership.epochs import Epochs, Line
from aforesaid.protocols.membership.member import Member
from aforesaid.protocols.membership.rejoining import ROUNDS_MAX, Rejoining, Search, is_the_whole_group

LINKS = 3
"""How many links a member is content with."""
DELAY_BEATS, LOSS = 2, 0.02
MEMORY_BEATS = GONE_BEATS + REACH_BEATS + ASK_BEATS + 4 * DELAY_BEATS
"""For so long the last words of an elder that is gone may be believed."""
TROUBLE_BEATS, QUIET_BEATS = 240, 400


class Known(NamedTuple):
    name: Process
    incarnation: int
    address: str


class Being:
    """A process over its incarnations; its address is its name."""

    def __init__(self, name: Process, founder: bool) -> None:
        self.name = name
        self.founder = founder
        self.book: Acquaintances[Known] = Acquaintances()
        self.incarnation = 0
        self.member: Member[Known] | None = None
        """None: it looks for the group."""
        self.links: set[Process] = set()
        self.epochs: Epochs[Line] = Epochs(name, None, Line)
        self.rejoining: Rejoining[str] = Rejoining(name, founder, None)
        self.search: Search | None = None
        """None: it is a member, or it pauses."""
        self.places: list[Process] = []
        self.rounds = 0


class Sea:
    """The world: who is there, who is cut off from whom, and which words are under way."""

    def __init__(self, seed: int, member: type[Member[Known]] = Member) -> None:
        self.seed = seed
        self.chance = Random(seed)
        self.member = member
        self.beats = 0
        self.beings: dict[Process, Being] = {}
        self.side: dict[Process, int] = {}
        """On which side of a partition; nobody is cut off: empty."""
        self.words: list[tuple[int, Process, Process, Word]] = []
        self.happened: Counter[str] = Counter()
        self.deaths: list[tuple[int, int]] = []
        """When which incarnation ended."""
        self._numbers = 0

    def choose(self, label: str, count: int) -> int:
        return self.chance.randrange(count)

    # ------------------------------------------------------------------------------------- who is there

    def arrive(self) -> None:
        members = [being for being in self.beings.values() if being.member is not None]
        being = Being(f"p{len(self.beings) + self.happened['crash'] + self.happened['leave']}", not members)
        self.beings[being.name] = being
        self.learn(being, being)
        if members:
            self._enter(being, self.chance.choice(members))
            if self.side:
                self.side[being.name] = self.side.get(min(being.links), 0)
        else:
            self._begin(being)
        self.happened["arrive"] += 1

    def go(self, name: Process, how: str) -> None:
        being = self.beings.pop(name)
        self.deaths.append((self.beats, being.incarnation))
        for peer in being.links:
            self.beings[peer].links.discard(name)
            if how == "leave":
                self.beings[peer].book.forget(name, being.incarnation)
            else:
                self.beings[peer].book.doubt(name)
        self.happened[how] += 1

    def cut(self, sides: int) -> None:
        self.side = {name: self.chance.randrange(sides) for name in self.beings}
        for being in self.beings.values():
            being.links = {peer for peer in being.links if self.reach(being.name, peer)}
        self.happened["cut"] += 1

    def heal(self) -> None:
        self.side = {}

    def reach(self, one: Process, other: Process) -> bool:
        return other in self.beings and self.side.get(one, 0) == self.side.get(other, 0)

    def part(self, name: Process) -> set[Process]:
        found, left = {name}, [name]
        while left:
            new = self.beings[left.pop()].links - found
            found |= new
            left += new
        return found

    def _begin(self, being: Being) -> None:
        self._numbers += 1
        being.incarnation = self._numbers
        being.member, being.search = self.member(being.name, self._numbers, being.book), None

    def learn(self, being: Being, of: Being) -> None:
        being.book.learn([Known(of.name, of.incarnation, of.name)])

    def _link(self, one: Being, other: Being) -> None:
        one.links.add(other.name)
        other.links.add(one.name)
        for being, peer in ((one, other), (other, one)):
            self.learn(being, peer)
            being.book.reached(peer.name)

    def _enter(self, being: Being, contact: Being) -> None:
        """Become a member through this one, with links to some of its neighbours."""
        self._begin(being)
        near = sorted(contact.links - {being.name})
        self._link(being, contact)
        for name in self.chance.sample(near, min(len(near), LINKS - 1)):
            self._link(being, self.beings[name])

    # --------------------------------------------------------------------------------------- a heartbeat

    def beat(self) -> None:
        self.beats += 1
        due = [word for word in self.words if word[0] <= self.beats]
        self.words = [word for word in self.words if word[0] > self.beats]
        for _, source, target, word in due:
            self._hear(source, target, word)
        for name in list(self.beings):
            being = self.beings[name]
            if being.member is None:
                self._seek(being)
            elif not being.links and len(self.beings) > 1:
                self.lose_group(being, None)
            else:
                self._tell(being, being.member)

    def _say(self, source: Process, target: Process, word: Word) -> None:
        if self.chance.random() < LOSS:
            self.happened["word lost"] += 1
        else:
            self.words.append((self.beats + self.chance.randint(1, DELAY_BEATS), source, target, word))

    def _hear(self, source: Process, target: Process, word: Word) -> None:
        if not (source in self.beings and self.reach(source, target)):
            return
        being = self.beings[target]
        self.learn(being, self.beings[source])
        if being.member is None:
            if being.search is not None:
                being.search.called_by(source)
            return
        answer = being.member.heard(source, word, being.links)
        if answer is not None:
            self.happened["stranger answered"] += 1
            self._say(target, source, answer)

    def _tell(self, being: Being, member: Member[Known]) -> None:
        self._shuffle(being)
        telling = member.beat(being.links, self.choose)
        for peer in sorted(being.links):
            self._say(being.name, peer, telling.word)
        if telling.stranger is not None:
            self._say(being.name, telling.stranger, telling.word)
        if telling.elsewhere is not None:
            self._judge(being)
            self.happened["went over"] += 1
            self.lose_group(being, telling.elsewhere)
        elif len(being.links) < LINKS:
            far = sorted(set().union(*(self.beings[peer].links for peer in being.links)) - {being.name})
            if far:
                self._link(being, self.beings[self.chance.choice(far)])

    def _shuffle(self, being: Being) -> None:
        """As peer sampling does: a neighbour names its own neighbours, with their addresses."""
        if being.links:
            neighbour = self.beings[self.chance.choice(sorted(being.links))]
            for name in sorted(neighbour.links - {being.name}):
                self.learn(being, self.beings[name])

    def _judge(self, being: Being) -> None:
        """Nobody begins again in whose part the oldest of all is, or was a moment ago."""
        oldest = min(each.incarnation for each in self.beings.values() if each.member is not None)
        older = [number for when, number in self.deaths if self.beats - when <= MEMORY_BEATS]
        here = {self.beings[name].incarnation for name in self.part(being.name)}
        assert oldest not in here or min(older, default=oldest) < oldest, (
            f"{being.name} left the oldest part at beat {self.beats}"
        )

    def lose_group(self, being: Being, elsewhere: Process | None) -> None:
        if is_the_whole_group(list(being.book.likeliest(being.name))):
            return
        for peer in being.links:
            self.beings[peer].links.discard(being.name)
            self.beings[peer].book.doubt(being.name)
        self.deaths.append((self.beats, being.incarnation))
        being.links, being.member, being.search = set(), None, None
        being.rejoining = Rejoining(being.name, being.founder, elsewhere)
        self.happened["lost its group"] += 1

    def _seek(self, being: Being) -> None:
        """A round of calls; or the end of a pause, and the first round."""
        if being.search is None:
            being.places = being.rejoining.places([known.name for known in being.book.likeliest(being.name)])
            being.search, being.rounds = Search(), 0
        if any(self._call(being, place, being.search) for place in being.places):
            return
        being.rounds += 1
        if being.rounds >= ROUNDS_MAX:
            founds, being.search = being.rejoining.unreached(being.search), None
            if founds:
                self._begin(being)
                self.happened["founded"] += 1

    def _call(self, being: Being, place: Process, search: Search) -> bool:
        """True if this is a member, and so the caller is one now."""
        other = self.beings.get(place)
        if other is None or not self.reach(being.name, place) or (other.member is None and not other.search):
            return False
        try:
            other.epochs.called(being.name, being.incarnation, 0, other.member is not None)
        except Refused as refusal:
            search.refused(place, refusal.reason)
            self.learn(other, being)
            if other.search is not None:
                other.search.called_by(being.name)
            return False
        self._enter(being, other)
        self.happened["joined again"] += 1
        return True


def trouble(sea: Sea, count: int) -> None:
    """Churn, crashes of elders, and partitions that heal."""
    chance = sea.chance
    for _ in range(count):
        sea.arrive()
        sea.beat()
    for _ in range(TROUBLE_BEATS):
        if chance.random() < 0.04:
            sea.arrive()
        members = [being for being in sea.beings.values() if being.member is not None]
        if chance.random() < 0.04 and len(members) > count // 2:
            elder = min(members, key=lambda being: being.incarnation)
            goes = elder if chance.random() < 0.3 else chance.choice(members)
            sea.happened["elder gone"] += goes is elder
            sea.go(goes.name, chance.choice(("crash", "leave")))
        if not sea.side and chance.random() < 0.02:
            sea.cut(sides=chance.randint(2, 3))
        elif sea.side and chance.random() < 0.03:
            sea.heal()
        sea.beat()
    sea.heal()
    for _ in range(QUIET_BEATS):
        sea.beat()


def judge(sea: Sea) -> None:
    assert all(being.member is not None for being in sea.beings.values()), "somebody still looks for it"
    parts = {frozenset(sea.part(name)) for name in sea.beings}
    for part in parts:
        known = {name for one in part for name in sea.beings if sea.beings[one].book.entry(name)}
        assert known <= part, f"in {len(parts)} parts that know of each other: {[sorted(p) for p in parts]}"
        elders = {being.member.elder.word.name for name in part if (being := sea.beings[name]).member}
        assert elders == {min(part, key=lambda name: sea.beings[name].incarnation)}
    # Parts of which nobody has ever heard of anybody in another cannot find each other; they are rare.
    sea.happened["in one part"] += len(parts) == 1


def play(seed: int, member: type[Member[Known]] = Member) -> Counter[str]:
    """What happened in one run."""
    sea = Sea(seed, member)
    try:
        trouble(sea, count=8 + seed % 12)
        judge(sea)
    except AssertionError as error:
        raise AssertionError(f"{error}\npython tests/sim/membership_campaign.py {seed}") from error
    return sea.happened


def all_cut_off(seed: int) -> Counter[str]:
    """Everybody loses its group at once, and some do so a little later; all know of each other."""
    sea = Sea(seed)
    for _ in range(3 + seed % 10):
        sea.arrive()
    beings = list(sea.beings.values())
    for being in beings:
        for other in beings:
            sea.learn(being, other)
    for being in beings:
        sea.lose_group(being, None)
    sea.happened.clear()
    waking = sorted((sea.chance.randrange(2 * ROUNDS_MAX), being.name) for being in beings)
    asleep = {name: sea.beings.pop(name) for _, name in waking}
    for beat in range(2 * ROUNDS_MAX):
        sea.beings |= {name: asleep[name] for when, name in waking if when == beat}
        sea.beat()
    for _ in range(QUIET_BEATS):
        sea.beat()
    try:
        judge(sea)
        assert sea.happened["founded"] == 1, f"{sea.happened['founded']} founders"
    except AssertionError as error:
        raise AssertionError(f"{error}\nall_cut_off({seed}) in tests/sim/membership_campaign.py") from error
    return sea.happened


if __name__ == "__main__":
    for text in sys.argv[1:] or map(str, range(100)):
        sys.stdout.write(f"{text}: {dict(play(int(text)))}\n")
