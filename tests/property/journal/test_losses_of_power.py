"""A journal on a disk that loses what was not forced, of an owner that is killed at any effect.

Whatever happens, the next start has every record that was durable, and of the others a prefix; and the
snapshot that it begins with is of a number, and of records, that were written.
"""

from pathlib import Path
from random import Random

from aforesaid.journal import Journal
from aforesaid.world.disk import WorldDisk
from aforesaid.world.machine import Killed
from support.journals import OWNER, PLACE, mounted
from support.scale import scaled

SEEDS = scaled(250, 10_000)
STARTS = 6


class Owner:
    """Appends, commits and takes snapshots by chance; its state is the records themselves."""

    def __init__(self, seed: int) -> None:
        self.chance = Random(seed)
        self.disk = WorldDisk()
        self.state: list[bytes] = []
        """What it was told in the present start and those before it."""
        self.durable = 0
        self.epoch = 0

    def start(self) -> str:
        """One life: what stood there is compared, then it goes on until it is killed; how it ended."""
        disk, machine = mounted(self.disk)
        machine.fuse = self.chance.randint(0, 60)
        try:
            journal = Journal(
                disk, PLACE, OWNER, epoch_known=self.epoch, segment_bytes_max=self.chance.choice((200, 2000))
            )
            self.epoch = journal.epoch
            self.compare(journal)
            while True:
                self.step(journal)
        except Killed:
            pass
        if self.chance.random() < 0.5:
            return "killed"
        return "lost" if self.disk.lose_power(self.chance) else "forced"

    def step(self, journal: Journal) -> None:
        match self.chance.randrange(8):
            case 0:
                journal.snapshot(b"|".join(self.state))
            case 1 | 2:
                journal.commit()
            case _:
                self.state.append(b"%d" % self.chance.randrange(10**6) * self.chance.choice((1, 9)))
                journal.append(self.state[-1])
        # Only a commit that has returned is a promise.
        self.durable = journal.durable

    def compare(self, journal: Journal) -> None:
        recovered = journal.recovered
        covered = recovered.snapshot.split(b"|") if recovered.snapshot else []
        found = covered + recovered.records
        assert len(found) == recovered.last >= self.durable
        assert found == self.state[: len(found)]
        self.state = found
        self.durable = len(found)


def test_what_was_durable_is_there_whatever_happens() -> None:
    ends: list[str] = []
    for seed in range(SEEDS):
        owner = Owner(seed)
        try:
            ends += [owner.start() for _ in range(STARTS)]
        except Exception as error:
            again = f"python -m pytest {Path(__file__).name}"
            raise AssertionError(f"seed {seed} of {again}: {error!r}") from error
    assert {"killed", "lost", "forced"} == set(ends)
    assert ends.count("lost") > SEEDS / 2
