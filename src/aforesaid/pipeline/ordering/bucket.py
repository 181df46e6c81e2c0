"""The rule over a share of the keys: a table of events in, those whose turn it is out. Nothing of Spark.

Keys that have nothing to do with each other share an `Order`, whose names are pairs of a key and an id: what
is held is bounded however many keys there are. An event is known to it by its row; the rows of those that
wait are kept as they came, so that any column is handed on as it was.
"""

import json
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import asdict, dataclass
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from aforesaid.core import Misuse
from aforesaid.order import DeadLetter, Order, Ordered, Why

REMEMBER = 100_000
WAITING_MAX = 100_000
TOLD = ("lacking", "late", "given_up", "turn")
"""The columns that are added to an event."""
PASTS = ("handed", "given_up", "missed")
_LACKS, _WAITED = "aforesaid_lacks", "aforesaid_waited_s"


@dataclass(frozen=True)
class Columns:
    """What the columns of an event mean, and how many buckets there are: fixed by the first run."""

    id: str
    follows: str
    key: str | None
    buckets: int


@dataclass(frozen=True)
class Limits:
    """How long and how many may wait, as for an `Order`; another run may have others."""

    patience_s: float | None = None
    dead_letters: bool = False
    waiting_max: int = WAITING_MAX
    remember: int = REMEMBER


class Saved(NamedTuple):
    """A bucket between two batches."""

    columns: str
    past: bytes
    waiting: bytes
    saved_s: float
    turns: int


class _Clock:
    """The time of the batch; an object of its own, lest a bucket and its order hold each other."""

    now_s = 0.0

    def __call__(self) -> float:
        return self.now_s


class Bucket:
    """Made of what was saved, taken a step, saved again: once for each batch."""

    def __init__(self, columns: Columns, limits: Limits, saved: Saved | None = None) -> None:
        self._columns = columns
        self._limits = limits
        self._clock = _Clock()
        self._rows: Any = None
        """Those that wait, and those that are just coming."""
        self._done: list[Ordered[int] | DeadLetter[int]] = []
        self._turns = 0
        self._order: Order[int] = Order(**self._options())
        if saved is not None:
            self._load(saved)

    def step(self, events: Any | None, now_s: float) -> Any:
        """Events have come, or it is time: those handed on or given up now, in order, and what is told."""
        self._clock.now_s = now_s
        done, put = self._done, self._order.put
        done += self._order.overdue()
        for row, (name, causes) in self._take(events):
            if self._plain(name) is None or name in causes:
                # It can never be handed on, and must not end the stream.
                done.append(DeadLetter(name, row, (name,)))
            else:
                done += put(name, causes, row)
        told = self._told()
        done.clear()
        return told

    def why(self, id: Hashable, key: Hashable, now_s: float) -> Why:
        """What became of an event, or what it waits for, without the key."""
        self._clock.now_s = now_s
        told = self._order.why((key, id) if self._columns.key else id)
        plain = self._plain
        return told._replace(
            id=id, lacking=tuple(map(plain, told.lacking)), roots=tuple(map(plain, told.roots))
        )

    @property
    def due_s(self) -> float | None:
        """When patience with somebody ends; None if it never does."""
        left = self._order.due_s
        return None if left is None else self._clock.now_s + left

    # ------------------------------------------------------------------------------------ between batches

    def saved(self) -> Saved:
        """All that it knows."""
        known = self._order.saved()
        waiting = self._rows.take(pa.array([row for _, _, row, _ in known["waiting"]], pa.int64()))
        lacks = [list(map(self._plain, lacking)) for _, lacking, _, _ in known["waiting"]]
        waiting = waiting.append_column(
            _LACKS, pa.array(lacks, waiting.schema.field(self._columns.follows).type)
        )
        waiting = waiting.append_column(
            _WAITED, pa.array([waited for *_, waited in known["waiting"]], pa.float64())
        )
        names = [name for past in PASTS for name in known[past]]
        kinds = np.repeat(np.arange(len(PASTS), dtype=np.int8), [len(known[past]) for past in PASTS])
        past = {"kind": pa.array(kinds), "id": self._array([self._plain(name) for name in names], "id")}
        if self._columns.key:
            past["key"] = self._array([key for key, _ in names], "key")
        marks = json.dumps(asdict(self._columns))
        return Saved(marks, packed(pa.table(past)), packed(waiting), self._clock.now_s, self._turns)

    def _load(self, saved: Saved) -> None:
        mine, earlier = asdict(self._columns), json.loads(saved.columns)
        for name, value in earlier.items():
            if mine[name] != value:
                raise Misuse(f"{name} was {value} when this checkpoint began, and is {mine[name]}")
        waiting, past = unpacked(saved.waiting), unpacked(saved.past)
        self._rows = waiting.drop_columns([_LACKS, _WAITED])
        self._clock.now_s, self._turns = saved.saved_s, saved.turns
        names = values(past["id"])
        if self._columns.key:
            names = list(zip(values(past["key"]), names, strict=True))
        ends = np.searchsorted(past["kind"].to_numpy(), np.arange(1, len(PASTS) + 1)).tolist()
        known: dict[str, Any] = {
            kind: names[start:end] for kind, start, end in zip(PASTS, [0, *ends], ends, strict=False)
        }
        named = self._named(waiting, _LACKS)
        since = values(waiting[_WAITED])
        known["waiting"] = [(name, lacks, row, since[row]) for row, (name, lacks) in enumerate(named)]
        self._order = Order.loaded(known, **self._options())

    def _options(self) -> dict[str, Any]:
        options = asdict(self._limits) | {"clock": self._clock}
        return options | {"dead_letters": self._done.append if self._limits.dead_letters else None}

    # -------------------------------------------------------------------------------------------- columns

    def _take(self, events: Any | None) -> Iterable[tuple[int, tuple[Any, Sequence[Any]]]]:
        """Events behind those that wait; their rows and names."""
        if events is None:
            return ()
        first = 0 if self._rows is None else self._rows.num_rows
        rows = events if self._rows is None else pa.concat_tables([self._rows, events]).combine_chunks()
        self._rows = rows
        return enumerate(self._named(events), first)

    def _named(self, rows: Any, follows: str | None = None) -> list[tuple[Any, Sequence[Any]]]:
        """The name of each row, and the names of what it follows."""
        ids = values(rows[self._columns.id])
        causes = lists(rows[follows or self._columns.follows])
        if self._columns.key is None:
            return list(zip(ids, causes, strict=True))
        keys = values(rows[self._columns.key])
        return [
            ((key, id), [(key, each) for each in some] if some else ())
            for key, id, some in zip(keys, ids, causes, strict=True)
        ]

    def _plain(self, name: Any) -> Any:
        """The id in a name."""
        return name if self._columns.key is None else name[1]

    def _array(self, plain: list[Any], column: str) -> Any:
        return pa.array(plain, self._rows.schema.field(getattr(self._columns, column)).type)

    def _told(self) -> Any:
        done, plain = self._done, self._plain
        table = self._rows.take(pa.array([each.event for each in done], pa.int64()))
        lacking = [list(map(plain, each.lacking)) if each.lacking else [] for each in done]
        told = (
            pa.array(lacking, pa.list_(self._rows.schema.field(self._columns.id).type)),
            pa.array([type(each) is Ordered and each.late for each in done], pa.bool_()),
            pa.array([type(each) is DeadLetter for each in done], pa.bool_()),
            pa.array(range(self._turns, self._turns + len(done)), pa.int64()),
        )
        self._turns += len(done)
        for name, column in zip(TOLD, told, strict=True):
            table = table.append_column(name, column)
        return table


def values(column: Any) -> list[Any]:
    """Numbers or texts as Python's; by NumPy, which is faster, where it has a word for all of them."""
    if column.null_count and not pa.types.is_string(column.type):
        return list(column.to_pylist())
    return list(np.asarray(column).tolist())


def lists(column: Any) -> list[list[Any]]:
    """Lists of such; what is null is none."""
    whole = column.combine_chunks()
    ends = np.cumsum(pc.fill_null(pc.list_value_length(whole), 0)).tolist()
    flat = whole.flatten()
    each = values(flat)
    found = [each[start:end] for start, end in zip([0, *ends], ends, strict=False)]
    return [[one for one in some if one is not None] for some in found] if flat.null_count else found


def packed(table: Any) -> bytes:
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as stream:
        stream.write(table)
    return bytes(sink.getvalue().to_pybytes())


def unpacked(data: bytes) -> Any:
    return pa.ipc.open_stream(data).read_all().combine_chunks()
