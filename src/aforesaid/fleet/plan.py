"""What a fleet is to do: how many processes, when they enter, speak and crash, and how slow links are."""

from dataclasses import dataclass, field

import numpy as np

from aforesaid.core import MILLISECOND, SECOND, Misuse
from aforesaid.fleet.layout import NEVER, PROCESS_BITS, Step
from aforesaid.fleet.paces import ONE_PACE, PACES_MAX, SHARE_SHIFT
from aforesaid.fleet.records import Int32s, Int64s, Records
from aforesaid.fleet.states import What
from aforesaid.sim.paper import Paper, shares_of_delay

MINUTE = 60 * SECOND

SETTLED = MINUTE // 2
"""After so long a process that entered is surely inside."""

COLUMNS_MAX = 1 << 25
"""An entry of a wire row has 25 bits for its column of the masks."""

PROCESSES_MAX = COLUMNS_MAX // 4
"""Some processes need several columns."""


@dataclass(frozen=True)
class Plan:
    """One run, entirely. Times are nanoseconds."""

    processes: int
    seed: int
    until: int
    schedule: Records
    """Steps, in the order of time."""
    delay: Int64s
    """Rows (from when, delay); t + delay(t) must not fall."""
    chance: Int32s
    """Two starting numbers for each process's own stream of choices."""
    paces: Int64s = field(default_factory=lambda: ONE_PACE)
    """Shares of the delay, the slowest first; each directed pair of processes draws one by the seed."""
    period: int = MINUTE
    patience: int = MINUTE + 7
    """How long an opening or closing may take: with less than 8 hops of the slowest delay, few do."""
    tries: int = 4
    detector: int = 5 * SECOND + 3
    partner_uniform: bool = False
    """Exchanges are asked of any neighbour, not of the oldest."""
    routes_stay: bool = False
    """An arc whose link is in use as a route is not given away."""
    preventive: bool = False
    """Links are made safe as preventive broadcast makes them, not PRC-broadcast."""
    bucket: int = SECOND
    traced: tuple[int, ...] | None = ()
    """The processes whose deliveries are traced; None: all."""
    vectors: bool = False
    """What vector clocks would hold is sampled, too."""
    scenario: str = "{}"
    """What it is the plan of, as its trace keeps it."""

    @property
    def slowest(self) -> int:
        """The longest delay there will be."""
        return int(self.delay[:, 1].max()) * int(self.paces.max()) >> SHARE_SHIFT

    @property
    def algorithm(self) -> str:
        return "preventive_spray" if self.preventive else "prc_spray"

    @property
    def crashes(self) -> int:
        return len(self.steps(What.CRASH))

    def steps(self, *what: What) -> Records:
        """The steps of these kinds."""
        return self.schedule[np.isin(self.schedule["what"], what)]

    def validate(self) -> None:
        if not 1 <= self.processes <= PROCESSES_MAX:
            raise Misuse(f"a fleet has 1 to {PROCESSES_MAX:,} processes, not {self.processes:,}")
        if np.any(np.diff(self.schedule["at"]) < 0):
            raise Misuse("a plan's schedule must be in the order of time")
        if not 1 <= len(self.paces) <= PACES_MAX or len(self.paces) * self.processes > 1 << PROCESS_BITS:
            raise Misuse(f"a plan has 1 to {PACES_MAX} paces, with room for {1 << PROCESS_BITS:,} wire rows")
        at_paces = (self.delay[:, 1:] * self.paces) >> SHARE_SHIFT
        if at_paces.min() < 1 or np.any(np.diff(at_paces) >= 0):
            raise Misuse("each pace must be quicker than the one before it, and take time")
        if np.any(np.diff(self.delay[:, :1], axis=0) + np.diff(at_paces, axis=0) < 0):
            raise Misuse("a delay may not fall so fast that later frames overtake earlier ones")
        if self.period <= 2 * self.slowest:
            raise Misuse("the exchange period must be longer than there and back")
        if self.patience < 1:
            raise Misuse("patience must be longer than no time: what arrives may make nothing due at once")


def authors_experiment(processes: int, seed: int = 1) -> Paper:
    """The experiment as the authors' own code runs it, where that differs from what their paper says.

    Every 100 ms one process joins, of 10,000 ten, so that all join within 100 s. Any neighbour is the partner
    of an exchange; arcs in use as routes are not given away.
    """
    return Paper(
        processes,
        seed,
        joins_per_second=max(10.0, processes / 100),
        joins_at_once=max(1, processes // 1_000),
        partner="any",
        routes_stay=True,
    )


def plan_of(paper: Paper) -> Plan:
    """The plan of the paper's experiment."""
    paper.validate()
    rng = np.random.default_rng([paper.seed, paper.processes])
    schedule, total = _schedule(paper, rng)
    plan = Plan(
        processes=total,
        seed=paper.seed,
        until=round(paper.minutes * MINUTE),
        schedule=schedule,
        delay=delays(paper),
        chance=rng.integers(1, 2147483398, (total, 2), dtype=np.int32),
        paces=paces_of(paper.delay_spread),
        period=round(paper.period_ms * MILLISECOND),
        # Not on a round moment: nothing else is to happen at the same time.
        patience=round(paper.handshake_ms * MILLISECOND) + 7,
        tries=paper.tries,
        detector=round(paper.detector_ms * MILLISECOND) + 3,
        bucket=round(paper.sample_ms * MILLISECOND),
        traced=None if paper.traced == "all" else _spread(schedule, paper.traced),
        partner_uniform=paper.partner == "any",
        routes_stay=paper.routes_stay,
        preventive=paper.algorithm == "preventive_spray",
        vectors=paper.vectors,
        scenario=paper.to_json(),
    )
    plan.validate()
    return plan


def _spread(schedule: Records, count: int) -> tuple[int, ...]:
    """So many processes, or as many as there are, of those that are surely inside before the first broadcast.

    What a process is owed that comes later is its contact's word, which only a whole trace has.
    """
    what, at = schedule["what"], schedule["at"]
    said = at[what == What.SAY]
    first = said[0] if len(said) else NEVER
    inside = schedule["who"][(what == What.ENTER) & (at <= first - SETTLED)]
    places = np.linspace(0, len(inside) - 1, min(count, len(inside)))
    return tuple(inside[np.round(places).astype(np.int64)].tolist())


def paces_of(sigma: float) -> Int64s:
    """Shares of the delay that links draw from; those that round to the same are one."""
    shares = np.round(np.array(shares_of_delay(sigma)) * (1 << SHARE_SHIFT)).astype(np.int64)
    return np.ascontiguousarray(np.unique(shares)[::-1])


def delays(paper: Paper) -> Int64s:
    """1 ms until minute 15, then 10 ms more every 6 s, until minute 40; or what the experiment says."""
    if isinstance(paper.delay_ms, list):
        return _sloping(paper.delay_ms)
    if paper.delay_ms is not None:
        steady = [round(paper.speak_from * MINUTE), round(paper.delay_ms * MILLISECOND)]
        return np.array([[0, MILLISECOND], steady], np.int64)
    steps = np.arange(251)
    times = np.where(steps == 0, 0, 15 * MINUTE + (steps - 1) * 6 * SECOND)
    return np.stack([times, MILLISECOND + steps * 10 * MILLISECOND], 1)


def _sloping(points: list[tuple[float, float]]) -> Int64s:
    """A step every second along straight lines between points, and at each point."""
    minutes, delays_ms = np.array(points).T
    times = np.union1d(np.arange(0, minutes[-1] * 60), minutes * 60)
    steps = np.stack([times * SECOND, np.interp(times / 60, minutes, delays_ms) * MILLISECOND], 1)
    return np.round(steps).astype(np.int64)


def _schedule(paper: Paper, rng: np.random.Generator) -> tuple[Records, int]:
    enters = _enters(paper, rng)
    crashes = _crashes(paper, rng, enters) if paper.crashes_per_minute else enters[:0]
    crashed = crashes["what"] == What.CRASH
    enters, crashes = np.concatenate([enters, crashes[~crashed]]), crashes[crashed]
    says = _says(paper, rng, enters, crashes)
    settle = np.array(
        [(round(min(paper.speak_until, paper.minutes) * MINUTE), What.SETTLE, 0, 0)], Step.dtype
    )
    steps = np.concatenate([enters, crashes, says, settle])
    return steps[np.argsort(steps["at"], kind="stable")], len(enters)


def _enters(paper: Paper, rng: np.random.Generator) -> Records:
    """Processes enter one by one or in batches, each through one that is surely inside by then."""
    steps = np.zeros(paper.processes, Step.dtype)
    order = np.arange(paper.processes)
    # Not on a round moment: nothing else is to happen at the same time.
    first = order - order % paper.joins_at_once
    steps["at"] = at = np.round(first * (SECOND / paper.joins_per_second)).astype(np.int64) + 37_003
    steps["what"], steps["who"] = What.ENTER, order
    rising = delays(paper)
    slow = rising[np.searchsorted(rising[:, 0], at, side="right") - 1, 1]
    slow = slow * shares_of_delay(paper.delay_spread)[0]
    inside = np.maximum(1, np.searchsorted(at, at - 5 * slow))
    steps["whom"] = np.where(order == 0, -1, (rng.random(paper.processes) * inside).astype(np.int64))
    return steps


def _crashes(paper: Paper, rng: np.random.Generator, enters: Records) -> Records:
    """While processes speak, some of those that have entered crash; for each, one enters through another."""
    share = paper.crashes_per_minute / 100
    rows: list[tuple[int, int, int, int]] = []
    up: list[int] = []
    gone: set[int] = set()
    newcomer, time = len(enters), paper.speak_from * MINUTE
    entered = _admit(enters, 0, time, up, gone, rng)
    while (time := time + rng.exponential(MINUTE / (share * max(1, len(up))))) < paper.speak_until * MINUTE:
        entered = _admit(enters, entered, time, up, gone, rng)
        if len(up) > 1:
            victim = up.pop(int(rng.integers(len(up))))
            gone.add(victim)
            rows.append((int(time), What.CRASH, victim, 0))
            rows.append((int(time) + 1_009, What.ENTER, newcomer, up[int(rng.integers(len(up)))]))
            up.append(newcomer)
            newcomer += 1
    _admit(enters, entered, NEVER, up, gone, rng)
    return np.array(rows, Step.dtype)


def _admit(
    enters: Records, entered: int, time: float, up: list[int], gone: set[int], rng: np.random.Generator
) -> int:
    """Who enters until then is up; through another, if the contact crashed. How many have entered."""
    until = int(np.searchsorted(enters["at"], time))
    for who in range(entered, until):
        if int(enters["whom"][who]) in gone:
            enters["whom"][who] = up[int(rng.integers(len(up)))]
        up.append(who)
    return until


def _says(paper: Paper, rng: np.random.Generator, enters: Records, crashes: Records) -> Records:
    """Every second, processes chosen at random among all inside; different ones, if there are enough."""
    rows = []
    begin, end = round(paper.speak_from * 60), round(min(paper.speak_until, paper.minutes) * 60)
    gone = np.full(1 + max(enters["who"].max(), crashes["who"].max(initial=0)), NEVER)
    gone[crashes["who"]] = crashes["at"]
    for second in range(begin, end):
        time = second * SECOND
        settled = enters["who"][enters["at"] <= time - SETTLED]
        settled = settled[gone[settled] > time]
        count = paper.broadcasts_per_second if len(settled) else 0
        chosen = rng.choice(settled, count, replace=count > len(settled))
        # A microsecond apart: one wave of copies follows the other, and finds its masks in the cache.
        rows += [(time + 1_009 * i, What.SAY, int(who), 0) for i, who in enumerate(chosen)]
    return np.array(rows, Step.dtype)
