"""What a fleet is to do: how many processes, when they enter, speak and crash, and how slow links are."""

from dataclasses import asdict, dataclass, field

import numpy as np

from aforesaid.core import MILLISECOND, SECOND, Misuse
from aforesaid.sim.fleet.layout import CRASH, ENTER, SAY, SCHEDULE, SETTLE, WHAT, WORDS_MAX, Int32s, Int64s

MINUTE = 60 * SECOND

PROCESSES_MAX = (1 << 25) // WORDS_MAX
"""An entry of a wire row has 25 bits for its column."""


@dataclass(frozen=True)
class Plan:
    """One run, entirely. Times are nanoseconds."""

    processes: int
    seed: int
    until: int
    schedule: Int64s
    """Rows (when, what, who, whom), in the order of time."""
    delay: Int64s
    """Rows (from when, delay); t + delay(t) must not fall."""
    chance: Int32s
    """Two starting numbers for each process's own stream of choices."""
    period: int = MINUTE
    patience: int = MINUTE + 7
    """How long an opening or closing may take: more than 8 hops of the slowest delay."""
    tries: int = 4
    detector: int = 5 * SECOND + 3
    bucket: int = SECOND
    traced: tuple[int, ...] | None = ()
    """The processes whose deliveries are traced; None: all."""
    meta: dict[str, object] = field(default_factory=dict)

    @property
    def crashes(self) -> int:
        return int(np.sum(self.schedule[:, WHAT] == CRASH))

    def validate(self) -> None:
        if not 1 <= self.processes <= PROCESSES_MAX:
            raise Misuse(f"a fleet has 1 to {PROCESSES_MAX:,} processes, not {self.processes:,}")
        if np.any(np.diff(self.schedule[:, 0]) < 0):
            raise Misuse("a plan's schedule must be in the order of time")
        rises = np.diff(self.delay[:, 0]) + np.diff(self.delay[:, 1])
        if np.any(rises < 0):
            raise Misuse("a delay may not fall so fast that later frames overtake earlier ones")
        if self.period <= 2 * int(self.delay[:, 1].max()):
            raise Misuse("the exchange period must be longer than there and back")


@dataclass(frozen=True)
class Paper:
    """The experiment of the PRC-broadcast paper, section 3."""

    processes: int
    seed: int = 1
    minutes: float = 60.0
    joins_per_second: float = 10.0
    broadcasts_per_second: int = 10
    speak_from: float = 2.0
    speak_until: float = 50.0
    """Minutes; exchanges end with the broadcasts."""
    delay_ms: float | None = None
    """1 ms until processes speak, then this; None: the paper's rising delay."""
    crashes_per_minute: float = 0.0
    """Processes that crash, as a share of all in percent, each replaced by a newcomer at once."""
    sample_ms: float = 1000.0
    traced: tuple[int, ...] | None = ()

    def plan(self) -> Plan:
        if self.processes < 2:
            raise Misuse("the experiment needs at least 2 processes")
        rng = np.random.default_rng([self.seed, self.processes])
        schedule, total = self._schedule(rng)
        plan = Plan(
            processes=total,
            seed=self.seed,
            until=round(self.minutes * MINUTE),
            schedule=schedule,
            delay=self.delays(),
            chance=rng.integers(1, 2147483398, (total, 2), dtype=np.int32),
            bucket=round(self.sample_ms * MILLISECOND),
            traced=self.traced,
            meta=asdict(self),
        )
        plan.validate()
        return plan

    def delays(self) -> Int64s:
        """1 ms until minute 15, then 10 ms more every 6 s, until minute 40."""
        if self.delay_ms is not None:
            steady = [round(self.speak_from * MINUTE), round(self.delay_ms * MILLISECOND)]
            return np.array([[0, MILLISECOND], steady], np.int64)
        steps = np.arange(251)
        times = np.where(steps == 0, 0, 15 * MINUTE + (steps - 1) * 6 * SECOND)
        return np.stack([times, MILLISECOND + steps * 10 * MILLISECOND], 1)

    def _schedule(self, rng: np.random.Generator) -> tuple[Int64s, int]:
        enters = self._enters(rng)
        crashes = self._crashes(rng, len(enters))
        enters = np.concatenate([enters, crashes[crashes[:, 1] == ENTER]])
        says = self._says(rng, enters, crashes)
        settle = np.array([[round(min(self.speak_until, self.minutes) * MINUTE), SETTLE, 0, 0]], np.int64)
        rows = np.concatenate([enters, crashes[crashes[:, 1] == CRASH], says, settle])
        return rows[np.argsort(rows[:, 0], kind="stable")], len(enters)

    def _enters(self, rng: np.random.Generator) -> Int64s:
        """Processes enter one by one, each through one that is surely inside by then."""
        rows = np.zeros((self.processes, SCHEDULE), np.int64)
        order = np.arange(self.processes)
        # Not on a round moment: nothing else is to happen at the same time.
        rows[:, 0] = np.round(order * (SECOND / self.joins_per_second)).astype(np.int64) + 37_003
        rows[:, 1], rows[:, 2] = ENTER, order
        delays = self.delays()
        slow = delays[np.searchsorted(delays[:, 0], rows[:, 0], side="right") - 1, 1]
        inside = np.maximum(1, np.searchsorted(rows[:, 0], rows[:, 0] - 5 * slow))
        rows[:, 3] = np.where(order == 0, -1, (rng.random(self.processes) * inside).astype(np.int64))
        return rows

    def _crashes(self, rng: np.random.Generator, first: int) -> Int64s:
        """While processes speak, some crash; for each, one enters through another that is up."""
        rate = self.crashes_per_minute / 100 * self.processes
        rows: list[tuple[int, int, int, int]] = []
        if rate:
            up = list(range(self.processes))
            time = self.speak_from * MINUTE
            while (time := time + rng.exponential(MINUTE / rate)) < self.speak_until * MINUTE:
                victim = up.pop(int(rng.integers(len(up))))
                rows.append((int(time), CRASH, victim, 0))
                rows.append((int(time) + 1_009, ENTER, first, up[int(rng.integers(len(up)))]))
                up.append(first)
                first += 1
        return np.array(rows, np.int64).reshape(-1, SCHEDULE)

    def _says(self, rng: np.random.Generator, enters: Int64s, crashes: Int64s) -> Int64s:
        """Every second, processes chosen at random among all inside; different ones, if there are enough."""
        rows = []
        begin, end = round(self.speak_from * 60), round(min(self.speak_until, self.minutes) * 60)
        gone = {int(who): int(when) for when, what, who, _ in crashes if what == CRASH}
        for second in range(begin, end):
            time = second * SECOND
            settled = enters[enters[:, 0] <= time - MINUTE // 2, 2]
            if gone:
                settled = np.array([who for who in settled if gone.get(int(who), time + 1) > time])
            count = self.broadcasts_per_second if len(settled) else 0
            chosen = rng.choice(settled, count, replace=count > len(settled))
            # A microsecond apart: one wave of copies follows the other, and finds its masks in the cache.
            rows += [(time + 1_009 * i, SAY, int(who), 0) for i, who in enumerate(chosen)]
        return np.array(rows, np.int64).reshape(-1, SCHEDULE)
