"""A stored run that was damaged, in any table and any way: what is left of it is judged, or it is unknown.

No violation comes of damage, nothing is kept of which nothing was judged, and other runs never notice.
"""

import pickle
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from typing import Any, cast

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

from aforesaid.core import Misuse
from aforesaid.pipeline.auditing import AuditOptions, Outcome, judging
from aforesaid.pipeline.auditing.layout import Others, Ours, find_layout
from aforesaid.pipeline.auditing.parcels import of_piece, tables_of
from aforesaid.pipeline.auditing.sharing import Shelves
from aforesaid.pipeline.auditing.sifted import TABLES, judge_sifted
from aforesaid.pipeline.auditing.work import Whole, perform
from aforesaid.pipeline.progress import Tell
from aforesaid.trace.parquet import find_runs
from support.random_traces import Scheduler
from support.stored import stored

SEEDS = 4
RUNS = ("damaged", "other")
Damage = Callable[[Any, Random], Any]
Judged = Callable[[Path], dict[str, Outcome]]


def emptied(table: Any, random: Random) -> Any:
    return table.slice(0, 0)


def retyped(table: Any, random: Random) -> Any:
    """A column in another type: wider, which is taken, or one that means something else."""
    place = random.randrange(table.num_columns)
    column, name = table.column(place), table.schema.names[place]
    if pa.types.is_integer(column.type):
        kind = random.choice((pa.int64(), pa.string(), pa.float64()))
        return table.set_column(place, name, column.cast(kind))
    return table.set_column(place, name, pa.array([0.5] * len(table), pa.float64()))


def narrowed(table: Any, random: Random) -> Any:
    return table.drop_columns([random.choice(table.schema.names)])


def nulled(table: Any, random: Random) -> Any:
    return changed(table, random, None)


def overflown(table: Any, random: Random) -> Any:
    """A number that no column of ours can hold."""
    return changed(table, random, 1 << 40)


def negative(table: Any, random: Random) -> Any:
    return changed(table, random, -7)


def doubled(table: Any, random: Random) -> Any:
    return pa.concat_tables([table, table.slice(random.randrange(max(1, len(table))), 1)])


def shuffled(table: Any, random: Random) -> Any:
    order = list(range(len(table)))
    random.shuffle(order)
    return table.take(pa.array(order, pa.int64()))


def changed(table: Any, random: Random, value: int | None) -> Any:
    """One number in one row is another, or missing."""
    columns = [
        place
        for place, field in enumerate(table.schema)
        if pa.types.is_integer(field.type) and not field.name.endswith("_ns")
    ]
    if not len(table) or not columns:
        return table
    place = random.choice(columns)
    column = table.column(place).cast(pa.int64()).to_pylist()
    column[random.randrange(len(column))] = value
    return table.set_column(place, table.schema.names[place], pa.array(column, pa.int64()))


DAMAGES: tuple[Damage, ...] = (
    emptied,
    retyped,
    narrowed,
    nulled,
    overflown,
    negative,
    doubled,
    shuffled,
)


def removed_file(path: Path, random: Random) -> None:
    path.unlink()


def truncated_file(path: Path, random: Random) -> None:
    content = path.read_bytes()
    path.write_bytes(content[: random.randrange(len(content))])


def flipped_file(path: Path, random: Random) -> None:
    content = bytearray(path.read_bytes())
    content[random.randrange(len(content))] ^= 1 << random.randrange(8)
    path.write_bytes(content)


def judged_ours(root: Path) -> dict[str, Outcome]:
    outcomes = perform(Whole(tuple(find_runs(root)), None, None))
    assert isinstance(outcomes, list)
    return {outcome.run: outcome for outcome in outcomes}


def judged_in_slices(root: Path) -> dict[str, Outcome]:
    """The same, each run in many slices, as large ones are; the tasks one after the other, and none sifts."""

    def run_tasks(spark: None, work: Callable[[Any], Any], tasks: Sequence[Any], tell: Tell) -> list[Any]:
        return [pickle.loads(pickle.dumps(work(pickle.loads(pickle.dumps(task))))) for task in tasks]

    layout = find_layout(root)
    assert isinstance(layout, Ours)
    options = AuditOptions(witnesses_max=None, slice_deliveries=4, whole_bytes=-1)
    with pytest.MonkeyPatch.context() as patch, TemporaryDirectory() as shelves:
        patch.setattr(judging, "run_tasks", run_tasks)
        room = Shelves(cast(Any, None), Path(shelves), local=True)
        outcomes = judging.judge_runs(room.spark, layout.runs, options, room)
    found = {outcome.run: outcome for outcome in outcomes}
    assert found["other"].slices > 1
    return found


def judged_others(root: Path) -> dict[str, Outcome]:
    """As Spark's tasks would, in one process."""
    layout = find_layout(root)
    assert isinstance(layout, Others)
    parcels = pa.Table.from_batches([batch for piece in layout.pieces for batch in of_piece(piece)])
    assert parcels.column("failure").null_count == len(parcels)
    runs = sorted(set(parcels.column("run").to_pylist()))
    return {
        run: judge_sifted(run, tables_of(parcels.filter(pc.equal(parcels.column("run"), run))), None, None)
        for run in runs
    }


def check_outcomes(found: dict[str, Outcome], whole: dict[str, Outcome], what: object) -> str:
    """What became of the damaged run, beside what became of all when nothing was damaged."""
    assert found["other"].value == whole["other"].value, (what, found["other"].refusal)
    assert not found["other"].refused, (what, found["other"].refused)
    one = found["damaged"]
    assert one.value in (whole["damaged"].value, "unknown"), (what, one.report and one.report.to_dict())
    judged = sum(one.rows.values()) - sum(one.refused.values())
    assert judged > 0 or one.value == "unknown", what
    if one.report is None:
        assert one.refusal, what
        assert judged == 0, what
    return one.value


@pytest.fixture(scope="module")
def traces(tmp_path_factory: pytest.TempPathFactory) -> dict[Path, dict[str, Outcome]]:
    """Directories of two good runs, small, of changing groups and with audiences now and then; and what
    becomes of them undamaged."""
    found = {}
    for seed in range(SEEDS):
        root = tmp_path_factory.mktemp(f"traces-{seed}")
        for number, run in enumerate(RUNS):
            random = Random(10 * seed + number)
            stored(Scheduler(random, multicast=seed % 3 == 0, reckless=False).run(), root, run)
        found[root] = judged_ours(root)
    return found


@contextmanager
def restored(file: Path) -> Iterator[Path]:
    """A file to damage for the length of a block."""
    content = file.read_bytes()
    try:
        yield file
    finally:
        file.write_bytes(content)


@pytest.mark.parametrize(("judged", "seeds"), [(judged_ours, range(SEEDS)), (judged_in_slices, range(1, 3))])
def test_damaged_files_of_ours(traces: dict[Path, dict[str, Outcome]], judged: Judged, seeds: range) -> None:
    values: Counter[str] = Counter()
    for seed, (root, whole) in islice(enumerate(traces.items()), seeds.start, seeds.stop):
        for table in (*TABLES, "samples"):
            for damage in (removed_file, truncated_file, flipped_file):
                with restored(root / "run=damaged" / f"{table}.parquet") as file:
                    damage(file, Random(seed))
                    value = check_outcomes(judged(root), whole, (seed, table, damage))
                if table != "stabilities":
                    assert value == (whole["damaged"].value if table == "samples" else "unknown")
                values[value] += 1
    assert min(values["kept"], values["unknown"]) > len(seeds), values


@pytest.mark.parametrize(("judged", "seeds"), [(judged_ours, range(SEEDS)), (judged_in_slices, range(1, 3))])
def test_damaged_rows_of_ours(traces: dict[Path, dict[str, Outcome]], judged: Judged, seeds: range) -> None:
    values: Counter[str] = Counter()
    for seed, (root, whole) in islice(enumerate(traces.items()), seeds.start, seeds.stop):
        for table in (*TABLES, "samples"):
            for damage in DAMAGES:
                with restored(root / "run=damaged" / f"{table}.parquet") as file:
                    pq.write_table(damage(pq.read_table(file), Random(seed)), file)
                    values[check_outcomes(judged(root), whole, (seed, table, damage))] += 1
    assert min(values["kept"], values["unknown"]) > len(seeds), values


def as_others_write(root: Path, target: Path, damaged: str, damage: Damage, random: Random) -> None:
    """Tables over all runs, of which one run's rows of one table are damaged."""
    for table in TABLES:
        parts = []
        for run in find_runs(root):
            rows = pq.read_table(Path(str(run)) / f"{table}.parquet")
            name = run.name.removeprefix("run=")
            if (name, table) == ("damaged", damaged):
                rows = damage(rows, random)
            parts.append(rows.append_column("run", pa.array([name] * len(rows), pa.string())))
        target.mkdir(exist_ok=True)
        pq.write_table(pa.concat_tables(parts, promote_options="permissive"), target / f"{table}.parquet")


def test_damaged_rows_of_others(traces: dict[Path, dict[str, Outcome]], tmp_path: Path) -> None:
    values: Counter[str] = Counter()
    for seed, (root, whole) in enumerate(traces.items()):
        for table in TABLES:
            for damage in (emptied, nulled, overflown, negative, doubled, shuffled):
                target = tmp_path / f"{seed}-{table}-{damage.__name__}"
                as_others_write(root, target, table, damage, Random(seed))
                values[check_outcomes(judged_others(target), whole, (seed, table, damage))] += 1
    assert min(values["kept"], values["unknown"]) > SEEDS, values


@pytest.mark.parametrize("table", TABLES)
def test_damaged_files_of_others(table: str, traces: dict[Path, dict[str, Outcome]], tmp_path: Path) -> None:
    """Whose rows they held nobody can say: a table that is gone makes every run unknown, by name; a file that
    cannot be read, or that has columns of another type, is refused by name."""
    root, whole = next(iter(traces.items()))

    def others(name: str) -> Path:
        as_others_write(root, tmp_path / name, "", shuffled, Random(1))
        return tmp_path / name / f"{table}.parquet"

    others("removed").unlink()
    for run, outcome in judged_others(tmp_path / "removed").items():
        assert outcome.value == (whole[run].value if table == "stabilities" else "unknown")
        assert table == "stabilities" or table in outcome.refusal
    truncated_file(others("truncated"), Random(1))
    with pytest.raises(Misuse, match=f"{table}.parquet"):
        judged_others(tmp_path / "truncated")
    rows = pq.read_table(others("retyped"))
    place, column = 0, rows.schema.names[0]
    changed_rows = rows.set_column(place, column, pa.array([0.5] * len(rows), pa.float64()))
    pq.write_table(changed_rows, tmp_path / "retyped" / f"{table}.parquet")
    with pytest.raises(Misuse, match=f"column {column} of table {table} is double, expected"):
        judged_others(tmp_path / "retyped")
