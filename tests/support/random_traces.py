"""Small random traces, good and bad, each from one seed.

A trace begins as a run of an abstract causal multicast without a network: a scheduler that lets some process
send, or deliver a message whose past it has delivered, or call a message stable that all have delivered, and
tells the real Tracer. A reckless scheduler delivers whatever it likes, twice too. Then a draft of the trace
is spoiled, by none or a few of SPOILERS.
"""

from collections.abc import Callable
from dataclasses import dataclass
from random import Random

import numpy as np

from aforesaid.core import MessageId
from aforesaid.trace import (
    NEVER_SENT,
    Lists,
    MemorySink,
    MemoryTrace,
    Messages,
    Processes,
    Run,
    Stabilities,
    Tracer,
)


@dataclass
class Draft:
    """A trace that can be changed: rows as lists."""

    run: Run
    fate: list[str]
    complete: list[bool]
    base: list[list[int]]
    origin: list[int]
    number: list[int]
    sent_ns: list[int]
    sent_after: list[int]
    after: list[list[int]]
    audience: list[list[int] | None]
    logs: list[list[tuple[int, int]]]
    """For each process, (message, time) in order."""
    calls: list[list[tuple[int, int, int]]]
    """For each process, what it called stable: (message, time, position)."""

    @staticmethod
    def of(trace: MemoryTrace) -> "Draft":
        messages, processes = trace.messages, trace.processes
        rows = range(len(messages))
        to_all = messages.to_all.tolist()
        return Draft(
            run=trace.run,
            fate=list(processes.fate),
            complete=processes.complete.tolist(),
            base=[processes.base[p].tolist() for p in range(len(processes))],
            origin=messages.origin.tolist(),
            number=messages.number.tolist(),
            sent_ns=messages.time_ns.tolist(),
            sent_after=messages.sent_after.tolist(),
            after=[messages.after[m].tolist() for m in rows],
            audience=[None if to_all[m] else messages.audience[m].tolist() for m in rows],
            logs=[
                list(zip(log.message.tolist(), log.time_ns.tolist(), strict=True)) for _, log in trace.logs()
            ],
            calls=[
                list(
                    zip(calls.message.tolist(), calls.time_ns.tolist(), calls.position.tolist(), strict=True)
                )
                for calls in map(trace.stabilities.of, range(len(processes)))
            ],
        )

    def trace(self) -> MemoryTrace:
        count = len(self.fate)
        return MemoryTrace(
            run=self.run,
            processes=Processes(
                name=[f"p{p}" for p in range(count)],
                incarnation=np.zeros(count, np.int32),
                began_ns=np.zeros(count, np.int64),
                ended_ns=np.full(count, -1, np.int64),
                fate=self.fate,
                joined=np.array([bool(base) for base in self.base], np.bool_),
                base=Lists.of(self.base),
                complete=np.array(self.complete, np.bool_),
            ),
            messages=Messages(
                origin=np.array(self.origin, np.int32),
                number=np.array(self.number, np.int32),
                time_ns=np.array(self.sent_ns, np.int64),
                sent_after=np.array(self.sent_after, np.int32),
                after=Lists.of(self.after),
                to_all=np.array([audience is None for audience in self.audience], np.bool_),
                audience=Lists.of([audience or [] for audience in self.audience]),
            ),
            delivery_offsets=np.cumsum([0] + [len(log) for log in self.logs]),
            delivery_message=np.array([message for log in self.logs for message, _ in log], np.int32),
            delivery_time_ns=np.array([time for log in self.logs for _, time in log], np.int64),
            stabilities=Stabilities(
                np.repeat(np.arange(count, dtype=np.int32), [len(calls) for calls in self.calls]),
                np.array([message for calls in self.calls for message, _, _ in calls], np.int32),
                np.array([time for calls in self.calls for _, time, _ in calls], np.int64),
                np.array([position for calls in self.calls for _, _, position in calls], np.int32),
            ),
        )

    def own(self, process: int) -> list[int]:
        """The messages a process sent, in order."""
        return [
            m
            for m in range(len(self.origin))
            if self.origin[m] == process and self.sent_after[m] != NEVER_SENT
        ]

    def insert(self, process: int, position: int, message: int) -> None:
        """One more delivery; what was sent after that position is now sent after one delivery more."""
        log = self.logs[process]
        time = log[position - 1][1] if position else 0
        log.insert(position, (message, max(time, self.sent_ns[message] if message < len(self.origin) else 0)))
        for m in self.own(process):
            self.sent_after[m] += self.sent_after[m] > position
        self.calls[process] = [(m, t, at + (at > position)) for m, t, at in self.calls[process]]

    def remove(self, process: int, position: int) -> int:
        message, _ = self.logs[process].pop(position)
        for m in self.own(process):
            self.sent_after[m] -= self.sent_after[m] > position
        self.calls[process] = [(m, t, at - (at > position)) for m, t, at in self.calls[process]]
        return message


CALLING = ("when all delivered", "hastily", "never")
"""How a scheduler calls messages stable: only the first way is right."""


class Scheduler:
    """An abstract causal multicast: what is sent is everywhere at once, waiting to be delivered."""

    def __init__(
        self, random: Random, multicast: bool, reckless: bool, calling: str = "when all delivered"
    ) -> None:
        self.random, self.multicast, self.reckless = random, multicast, reckless
        self.calling = calling
        self.sink = MemorySink()
        self.tracer = Tracer(self.sink)
        self.now = 0
        self.count = random.randint(2, 5)
        self.past: list[set[int]] = []
        self.ids: list[MessageId] = []
        self.audience: list[set[int] | None] = []
        self.alive: set[int] = set()
        self.known: list[set[int]] = [set() for _ in range(self.count)]
        self.delivered: list[set[int]] = [set() for _ in range(self.count)]
        self.exempt: list[set[int]] = [set() for _ in range(self.count)]
        self.numbers = [0] * self.count
        self.stable: list[set[int]] = [set() for _ in range(self.count)]

    def run(self) -> MemoryTrace:
        random = self.random
        self.waiting_to_join = list(range(self.count - random.choice((0, 0, 1)), self.count))
        for p in range(self.count):
            self.tracer.began(f"p{p}", 0, 0, joining=p in self.waiting_to_join)
            if p not in self.waiting_to_join:
                self.alive.add(p)
        self.send(0)
        target = random.randint(2, 8)
        while len(self.ids) < target and self.alive:
            self.step(target)
        ended = random.choice(("drained", "drained", "drained", "cut", "failed"))
        if ended == "drained":
            self.drain()
        clock = random.choice(("global", "local"))
        self.tracer.close(Run("random", seed=0, ended=ended, clock=clock))
        return self.sink.trace

    def step(self, target: int) -> None:
        random = self.random
        self.now += random.choice((0, 1, 5))
        choice = random.random()
        process = random.choice(sorted(self.alive))
        if choice < 0.3:
            self.send(process)
        elif choice < 0.34 and len(self.alive) > 2:
            self.tracer.ended(process, random.choice(("left", "crashed", "evicted")), self.now)
            self.alive.remove(process)
        elif choice < 0.42 and self.waiting_to_join:
            self.join(contact=process)
        elif choice < 0.6:
            self.call_stable(process)
        else:
            self.deliver_one(process)

    def send(self, process: int) -> None:
        audience = None
        if self.multicast and self.random.random() < 0.8:
            audience = set(self.random.sample(range(self.count), self.random.randint(1, self.count - 1)))
        self.numbers[process] += 1
        message_id = MessageId(f"p{process}", 0, self.numbers[process])
        listed = None if audience is None else sorted(audience)
        message = self.tracer.sent(process, message_id, self.now, listed)
        self.past.append(set().union(*(self.past[x] | {x} for x in self.known[process])))
        self.ids.append(message_id)
        self.audience.append(audience)
        self.known[process].add(message)
        if self.random.random() < 0.7 and self.is_ready(process, message):
            self.deliver(process, message)

    def is_owed(self, process: int, message: int) -> bool:
        audience = self.audience[message]
        return message not in self.exempt[process] and (audience is None or process in audience)

    def is_ready(self, process: int, message: int) -> bool:
        if not self.is_owed(process, message) or message in self.delivered[process]:
            return False
        return all(x in self.delivered[process] for x in self.past[message] if self.is_owed(process, x))

    def deliver_one(self, process: int) -> None:
        if self.reckless and self.random.random() < 0.5:
            self.deliver(process, self.random.randrange(len(self.ids)))
            return
        ready = [message for message in range(len(self.ids)) if self.is_ready(process, message)]
        if ready:
            self.deliver(process, self.random.choice(ready))

    def deliver(self, process: int, message: int) -> None:
        self.tracer.delivered(process, self.ids[message], self.now)
        self.delivered[process].add(message)
        self.known[process].add(message)

    def join(self, contact: int) -> None:
        newcomer = self.waiting_to_join.pop()
        self.tracer.admitted(contact, newcomer)
        self.alive.add(newcomer)
        self.exempt[newcomer] = set().union(*(self.past[x] | {x} for x in self.known[contact]))

    def call_stable(self, process: int, origin_only: bool = False) -> None:
        """Call the first message stable that is everywhere, if the process has not done so."""
        if self.calling == "never":
            return
        for message, message_id in enumerate(self.ids):
            mine = message_id.origin == f"p{process}"
            if message not in self.stable[process] and (mine or not origin_only):
                around = self.alive.union(self.waiting_to_join)
                if self.calling == "hastily" or all(
                    message in self.delivered[p] for p in around if self.is_owed(p, message)
                ):
                    self.tracer.stable(process, message_id, self.now)
                    self.stable[process].add(message)
                    return

    def drain(self) -> None:
        for process in sorted(self.alive):
            while any(self.is_ready(process, message) for message in range(len(self.ids))):
                self.now += 1
                ready = [message for message in range(len(self.ids)) if self.is_ready(process, message)]
                self.deliver(process, self.random.choice(ready))
        for process in sorted(self.alive):
            for _ in self.ids:
                self.call_stable(process, origin_only=True)


def random_trace(seed: int) -> tuple[MemoryTrace, list[str]]:
    """A trace, and the names of what was done to it."""
    random = Random(seed)
    multicast = random.random() < 0.5
    reckless = random.random() < 0.15
    calling = random.choices(CALLING, (6, 1, 1))[0]
    draft = Draft.of(Scheduler(random, multicast, reckless, calling).run())
    done = (["multicast"] if multicast else ["broadcast"]) + (["reckless"] if reckless else [])
    done.append(f"calls {calling}")
    for _ in range(random.choice((0, 1, 1, 1, 2, 3))):
        spoil = random.choice(SPOILERS)
        if spoil(draft, random):
            done.append(spoil.__name__)
    if random.random() < 0.3:
        renumber(draft, random)
    if random.random() < 0.3:
        record_truly(draft, random)
        done.append("record_truly")
    return draft.trace(), done


def some_delivery(draft: Draft, random: Random) -> tuple[int, int] | None:
    places = [(p, position) for p, log in enumerate(draft.logs) for position in range(len(log))]
    return random.choice(places) if places else None


def swap(draft: Draft, random: Random) -> bool:
    """Two deliveries of one process change places."""
    long = [log for log in draft.logs if len(log) > 1]
    if not long:
        return False
    log = random.choice(long)
    i = random.randrange(len(log) - 1)
    j = i + 1 if random.random() < 0.6 else random.randrange(len(log))
    (m1, t1), (m2, t2) = log[i], log[j]
    log[i], log[j] = (m2, t1), (m1, t2)
    return True


def drop(draft: Draft, random: Random) -> bool:
    """A delivery is left out."""
    place = some_delivery(draft, random)
    if place is None:
        return False
    draft.remove(*place)
    return True


def move(draft: Draft, random: Random) -> bool:
    """A delivery happens at another point of the process's life, before or after other sends."""
    place = some_delivery(draft, random)
    if place is None:
        return False
    message = draft.remove(*place)
    draft.insert(place[0], random.randint(0, len(draft.logs[place[0]])), message)
    return True


def duplicate(draft: Draft, random: Random) -> bool:
    """A process delivers something again."""
    place = some_delivery(draft, random)
    if place is None:
        return False
    process, position = place
    message = draft.logs[process][position][0]
    draft.insert(process, random.randint(position + 1, len(draft.logs[process])), message)
    return True


def deliver_anything(draft: Draft, random: Random) -> bool:
    """A process delivers a message out of the blue, for it or not."""
    process = random.randrange(len(draft.logs))
    draft.insert(process, random.randint(0, len(draft.logs[process])), random.randrange(len(draft.origin)))
    return True


def create(draft: Draft, random: Random) -> bool:
    """A process delivers what nobody sent: a row never sent, from somebody or nobody, or no row at all."""
    process = random.randrange(len(draft.logs))
    message = random.choice((len(draft.origin), len(draft.origin), -1))
    if message >= 0 and random.random() < 0.7:
        draft.origin.append(random.randrange(-1, len(draft.logs)))
        draft.number.append(random.randint(0, 9))
        draft.sent_ns.append(-1)
        draft.sent_after.append(NEVER_SENT)
        draft.after.append(random.sample(range(message), 1) if random.random() < 0.3 else [])
        draft.audience.append(None if random.random() < 0.8 else [process])
    draft.insert(process, random.randint(0, len(draft.logs[process])), message)
    return True


def unsend(draft: Draft, random: Random) -> bool:
    """The last message of a process was never sent; it may be that its log lost the sending."""
    senders = [p for p in range(len(draft.logs)) if draft.own(p)]
    if not senders:
        return False
    process = random.choice(senders)
    draft.sent_after[draft.own(process)[-1]] = NEVER_SENT
    if random.random() < 0.7:
        draft.complete[process] = False
    return True


def lose_events(draft: Draft, random: Random) -> bool:
    """A log is not complete."""
    draft.complete[random.randrange(len(draft.complete))] = False
    return True


def exclude(draft: Draft, random: Random) -> bool:
    """Somebody is struck from the audience of a message."""
    message = random.randrange(len(draft.origin))
    audience = draft.audience[message]
    everyone = list(range(len(draft.logs))) if audience is None else audience
    struck = random.choice(everyone) if everyone else -1
    draft.audience[message] = [p for p in everyone if p != struck]
    return True


def resend(draft: Draft, random: Random) -> bool:
    """A process sends its messages at other points of its log: after what it foresaw, perhaps."""
    senders = [p for p in range(len(draft.logs)) if draft.own(p) and draft.logs[p]]
    if not senders:
        return False
    process = random.choice(senders)
    own = draft.own(process)
    points = sorted(random.randint(0, len(draft.logs[process])) for _ in own)
    for message, point in zip(own, points, strict=True):
        draft.sent_after[message] = point
    return True


def contradict(draft: Draft, random: Random) -> bool:
    """A process delivers, before anything else, what came after its own first message."""
    for process in random.sample(range(len(draft.logs)), len(draft.logs)):
        own = draft.own(process)
        later = [m for m in range(len(draft.origin)) if own and own[0] in draft.after[m]]
        later = [m for m in later if draft.origin[m] != process]
        if later:
            draft.insert(process, 0, random.choice(later))
            for m in own:
                draft.sent_after[m] = max(1, draft.sent_after[m])
            return True
    return False


def turn_clock(draft: Draft, random: Random) -> bool:
    """A message is sent later, or a delivery happens earlier, than the rest says."""
    place = some_delivery(draft, random)
    if random.random() < 0.5 or place is None:
        draft.sent_ns[random.randrange(len(draft.origin))] += random.randint(1, 20)
    else:
        process, position = place
        message, time = draft.logs[process][position]
        draft.logs[process][position] = (message, max(0, time - random.randint(1, 20)))
    return True


def add_lie(draft: Draft, random: Random) -> bool:
    """The recorder names a predecessor that need not be one."""
    message, other = (random.randrange(len(draft.origin)) for _ in range(2))
    if other in draft.after[message]:
        return False
    draft.after[message].append(other)
    return True


def forget(draft: Draft, random: Random) -> bool:
    """The recorder forgets a predecessor."""
    named = [after for after in draft.after if after]
    if not named:
        return False
    after = random.choice(named)
    after.remove(random.choice(after))
    return True


def some_call(draft: Draft, random: Random) -> tuple[int, int] | None:
    places = [(p, place) for p, calls in enumerate(draft.calls) for place in range(len(calls))]
    return random.choice(places) if places else None


def call_anything(draft: Draft, random: Random) -> bool:
    """A process calls a message stable out of the blue, for it or not, too early or not."""
    process = random.randrange(len(draft.logs))
    position = random.randint(0, len(draft.logs[process]))
    time = draft.logs[process][position - 1][1] if position else 0
    draft.calls[process].append((random.randrange(len(draft.origin)), time, position))
    return True


def call_early(draft: Draft, random: Random) -> bool:
    """A message is called stable at an earlier point of the process's life, or of the clock only."""
    place = some_call(draft, random)
    if place is None:
        return False
    message, time, position = draft.calls[place[0]][place[1]]
    time = max(0, time - random.randint(1, 20))
    if random.random() < 0.6:
        position = random.randint(0, position)
    draft.calls[place[0]][place[1]] = (message, time, position)
    return True


def call_twice(draft: Draft, random: Random) -> bool:
    """A process calls a message stable again; the two calls may stand in any order."""
    place = some_call(draft, random)
    if place is None:
        return False
    message, time, position = draft.calls[place[0]][place[1]]
    later = random.randint(position, len(draft.logs[place[0]]))
    draft.calls[place[0]].insert(random.randint(0, len(draft.calls[place[0]])), (message, time + 1, later))
    return True


def call_never(draft: Draft, random: Random) -> bool:
    """A call is left out."""
    place = some_call(draft, random)
    if place is None:
        return False
    draft.calls[place[0]].pop(place[1])
    return True


def call_phantom(draft: Draft, random: Random) -> bool:
    """A process calls a message stable that nobody sent: a row never sent, or no row at all."""
    process = random.randrange(len(draft.logs))
    message = random.choice((len(draft.origin), len(draft.origin), -1))
    if message >= 0 and random.random() < 0.7:
        draft.origin.append(random.randrange(-1, len(draft.logs)))
        draft.number.append(random.randint(0, 9))
        draft.sent_ns.append(-1)
        draft.sent_after.append(NEVER_SENT)
        draft.after.append([])
        draft.audience.append(None)
    draft.calls[process].append((message, 0, random.randint(0, len(draft.logs[process]))))
    return True


def change_fate(draft: Draft, random: Random) -> bool:
    """A process ended in another way."""
    process = random.randrange(len(draft.fate))
    draft.fate[process] = random.choice(("alive", "left", "crashed", "evicted", "unknown", "unknown"))
    return True


def change_base(draft: Draft, random: Random) -> bool:
    """A process is a joiner with another base."""
    count = len(draft.origin)
    draft.base[random.randrange(len(draft.base))] = random.sample(
        range(count), random.randint(0, min(2, count))
    )
    return True


SPOILERS: tuple[Callable[[Draft, Random], bool], ...] = (
    swap,
    drop,
    move,
    duplicate,
    deliver_anything,
    create,
    unsend,
    lose_events,
    exclude,
    resend,
    contradict,
    turn_clock,
    add_lie,
    forget,
    call_anything,
    call_early,
    call_twice,
    call_never,
    call_phantom,
    change_fate,
    change_base,
)


def renumber(draft: Draft, random: Random) -> None:
    """List the messages in another order: by origin they stay in order, but not by what came before what."""
    count = len(draft.origin)
    shuffled = random.sample(range(count), count)
    places: dict[int, list[int]] = {}
    for message in shuffled:
        places.setdefault(draft.origin[message], []).append(message)
    queues = {origin: iter(sorted(messages)) for origin, messages in places.items()}
    old = [next(queues[draft.origin[message]]) for message in shuffled]
    new = {message: place for place, message in enumerate(old)}
    for name in ("origin", "number", "sent_ns", "sent_after", "after", "audience"):
        column = getattr(draft, name)
        setattr(draft, name, [column[message] for message in old])
    draft.after = [[new[x] for x in after] for after in draft.after]
    draft.base = [[new[x] for x in base] for base in draft.base]
    draft.logs = [[(new.get(m, m), time) for m, time in log] for log in draft.logs]
    draft.calls = [[(new.get(m, m), time, at) for m, time, at in calls] for calls in draft.calls]


def record_truly(draft: Draft, random: Random) -> None:
    """A recorder that names all that the origin learned since its last send, and perhaps more: no lie."""
    count = len(draft.origin)
    for process, log in enumerate(draft.logs):
        learned: list[int] = []
        fresh: list[int] = []
        own = draft.own(process)
        for position in range(len(log) + 1):
            for message in own:
                if draft.sent_after[message] == position:
                    more = random.sample(learned, min(len(learned), random.choice((0, 0, 1))))
                    draft.after[message] = list(dict.fromkeys(fresh + more))
                    learned.append(message)
                    fresh = [message]
            if position < len(log):
                message = log[position][0]
                if 0 <= message < count and draft.origin[message] != process and message not in learned:
                    learned.append(message)
                    fresh.append(message)
    for message in range(count):
        if draft.sent_after[message] == NEVER_SENT:
            draft.after[message] = []
