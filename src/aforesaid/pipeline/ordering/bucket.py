"""The rule over a share of the keys: a table of events in, those whose turn it is out. Nothing of Spark.

Keys that have nothing to do with each other share an `Order`, whose names are pairs of a key and an id: what
is held is bounded however many keys there are. An event is known to it by its row; the rows of those that
wait are kept as they came, so that any column is handed on as it was.
"""

import json
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import asdict, dataclass
from itertools import chain
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from aforesaid.core import Misuse
from aforesaid.order import DeadLetter, Full, Order, Ordered, Why

REMEMBER = 100_000
WAITING_MAX = 100_000
TOLD = ("lacking", "late", "given_up", "turn")
"""The columns that are added to an event."""
PASTS = ("handed", "given_up", "missed")
PAST, WAITING, EVENTS = range(3)
_LACKS, _WAITED, _KIND = "aforesaid_lacks", "aforesaid_waited_s", "aforesaid_kind"
_OURS = [_LACKS, _WAITED]


@dataclass(frozen=True)
class Columns:
    """What the columns of an event mean, and how many buckets there are: fixed by the first run."""

    id: str
    follows: str
    key: str | None
    buckets: int

    @property
    def named(self) -> list[str]:
        """The columns that make a name."""
        return [self.id, self.key] if self.key else [self.id]


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
        self._columns, self._limits = columns, limits
        self._clock = _Clock()
        self._done: list[Ordered[int] | DeadLetter[int]] = []
        self._order: Order[int] = Order(**self._options())
        self._past: Any = None
        """The names that an order remembers, by kind."""
        self._waiting: Any = None
        """Rows that waited when they were saved, with what they lacked, and how long."""
        self._rows: Any = None
        """The same without that, and those that are just coming behind them."""
        self._handed: Any = None
        """The names of all that were handed on."""
        self._turns = 0
        if saved is not None:
            self._open(saved)

    def step(self, events: Any | None, now_s: float) -> Any:
        """Events have come, or it is time: those handed on or given up now, in order, and what is told."""
        if events is None:
            events = self._waiting.drop_columns(_OURS).slice(0, 0)
        names = self._load(events)
        self._clock.now_s = now_s
        done, put, nameless = self._done, self._order.put, names.nameless
        done += self._order.overdue()
        try:
            for row, (name, causes) in enumerate(names.named(EVENTS), self._rows.num_rows - events.num_rows):
                if name in causes or name in nameless:
                    # It can never be handed on, and must not end the stream.
                    done.append(DeadLetter(name, row, (name,)))
                else:
                    done += put(name, causes, row)
        except Full:
            raise Full(f"{self._order.waiting} wait, and no more may; {self._eldest()}") from None
        return self._told()

    def why(self, id: Hashable, key: Hashable, now_s: float) -> Why:
        """What became of an event, or what it waits for, by what was saved; ids without the key."""
        asked = {self._columns.id: [id]} | ({self._columns.key: [key]} if self._columns.key else {})
        kinds = self._waiting.schema
        names = self._load(
            pa.table({name: pa.array(one, kinds.field(name).type) for name, one in asked.items()})
        )
        self._clock.now_s = now_s
        return self._why(int(names.numbers[EVENTS][0]))

    @property
    def due_s(self) -> float | None:
        """When patience with somebody ends; None if it never does."""
        left = self._order.due_s
        return None if left is None else self._clock.now_s + left

    # ------------------------------------------------------------------------------------ between batches

    def saved(self) -> Saved:
        """All that it knows."""
        known, names = self._order.saved(), self._names
        waiting = self._rows.take(pa.array([row for _, _, row, _ in known["waiting"]], pa.int64()))
        lacks = names.ids([lacking for _, lacking, _, _ in known["waiting"]])
        waited = pa.array([waited for *_, waited in known["waiting"]], pa.float64())
        pasts = [self._handed, *(names.pairs(known[kind]) for kind in PASTS[1:])]
        past = pa.concat_tables(_of_kind(each, kind) for kind, each in enumerate(pasts))
        marks = json.dumps(asdict(self._columns))
        waiting = waiting.append_column(_LACKS, lacks).append_column(_WAITED, waited)
        return Saved(marks, packed(past), packed(waiting), self._clock.now_s, self._turns)

    def _open(self, saved: Saved) -> None:
        mine, earlier = asdict(self._columns), json.loads(saved.columns)
        for name, value in earlier.items():
            if mine[name] != value:
                raise Misuse(f"{name} was {value} when this checkpoint began, and is {mine[name]}")
        self._waiting, self._past = unpacked(saved.waiting), unpacked(saved.past)
        self._clock.now_s, self._turns = saved.saved_s, saved.turns

    def _load(self, events: Any) -> "_Names":
        """Have an order that knows what was saved, as far as it matters to some events."""
        columns = self._columns
        if self._past is None:
            none = events.slice(0, 0)
            self._past = _of_kind(none.select(columns.named), 0)
            lacks = none[columns.follows]
            self._waiting = none.append_column(_LACKS, lacks).append_column(
                _WAITED, pa.array([], pa.float64())
            )
        waiting, past = self._waiting, self._past
        names = self._names = _Names(columns, past, waiting, events)
        ends = np.searchsorted(past[_KIND].to_numpy(), np.arange(1, len(PASTS) + 1)).tolist()
        numbers = [names.numbers[PAST][start:end] for start, end in zip([0, *ends], ends, strict=False)]
        # An order is told of those only that somebody speaks of: most of the past is not looked at.
        numbers[0] = numbers[0][np.isin(numbers[0], names.spoken_of())]
        known: dict[str, Any] = dict(zip(PASTS, (some.tolist() for some in numbers), strict=True))
        waited = waiting[_WAITED].to_pylist()
        known["waiting"] = [
            (name, lacks, row, waited[row]) for row, (name, lacks) in enumerate(names.named(WAITING))
        ]
        self._order = Order.loaded(known, **self._options())
        self._handed = past.select(columns.named).slice(0, ends[0])
        rows = waiting.drop_columns(_OURS)
        self._rows = pa.concat_tables([rows, events]) if columns.follows in events.column_names else rows
        return names

    def _options(self) -> dict[str, Any]:
        options = asdict(self._limits) | {"clock": self._clock}
        return options | {"dead_letters": self._done.append if self._limits.dead_letters else None}

    def _told(self) -> Any:
        done, columns = self._done, self._columns
        table = self._rows.take(pa.array([each.event for each in done], pa.int64())).combine_chunks()
        given_up = pa.array([type(each) is DeadLetter for each in done], pa.bool_())
        handed = pa.concat_tables([self._handed, table.select(columns.named).filter(pc.invert(given_up))])
        self._handed = handed.slice(max(0, handed.num_rows - self._limits.remember))
        told = (
            self._names.ids([each.lacking for each in done]),
            pa.array([type(each) is Ordered and each.late for each in done], pa.bool_()),
            given_up,
            pa.array(range(self._turns, self._turns + len(done)), pa.int64()),
        )
        self._turns += len(done)
        done.clear()
        for name, column in zip(TOLD, told, strict=True):
            table = table.append_column(name, column)
        return table

    def _why(self, name: int) -> Why:
        told = self._order.why(name)
        [id], lacking, roots = self._names.ids([[name], told.lacking, told.roots]).to_pylist()
        return told._replace(id=id, lacking=tuple(lacking), roots=tuple(roots))

    def _eldest(self) -> str:
        """Why it waits."""
        name = self._order.saved()["waiting"][0][0]
        key = self._columns.key and self._names.pairs([name])[self._columns.key][0].as_py()
        return f"{f'of {key}, ' if self._columns.key else ''}{self._why(name)}"


class _Names:
    """A number for each key and id of a batch: a pair with a text in it is dear to compare so often."""

    def __init__(self, columns: Columns, *tables: Any) -> None:
        """Tables of the past, of those that wait, and of events."""
        self._columns = columns
        lists = {
            place: _flat(tables[place][column])
            for place, column in ((WAITING, _LACKS), (EVENTS, columns.follows))
            if column in tables[place].column_names
        }
        ids = [_whole(table[columns.id]) for table in tables]
        codes, self._ids = _coded([*ids, *(flat for flat, _ in lists.values())])
        keys: list[Any] = [np.zeros(len(each), np.int64) for each in ids]
        self._keys: Any = None
        if columns.key:
            keys, self._keys = _coded([_whole(table[columns.key]) for table in tables])
        self._count = max(1, len(self._ids))
        self.numbers = [key * self._count + code for key, code in zip(keys, codes, strict=False)]
        """By table, those of its rows."""
        self._causes = {
            place: (np.repeat(keys[place], lengths) * self._count + code, np.cumsum(lengths))
            for (place, (_, lengths)), code in zip(lists.items(), codes[len(ids) :], strict=True)
        }
        none = ids[EVENTS].is_null().to_numpy(zero_copy_only=False)
        self.nameless = set(self.numbers[EVENTS][none].tolist())

    def named(self, place: int) -> Iterable[tuple[int, list[int]]]:
        """The name of each row of a table, and the names of what it follows."""
        flat, ends = self._causes[place]
        each, stops = flat.tolist(), ends.tolist()
        causes = [each[start:end] for start, end in zip([0, *stops], stops, strict=False)]
        return zip(self.numbers[place].tolist(), causes, strict=True)

    def spoken_of(self) -> Any:
        """Those of events, and of all that somebody follows."""
        return np.concatenate([self.numbers[EVENTS], *(flat for flat, _ in self._causes.values())])

    def ids(self, names: Sequence[Sequence[Any]]) -> Any:
        """Lists of names as lists of ids."""
        ends = np.cumsum([0, *map(len, names)])
        flat = np.fromiter(chain.from_iterable(names), np.int64, int(ends[-1]))
        return pa.ListArray.from_arrays(
            pa.array(ends, pa.int32()), self._ids.take(pa.array(flat % self._count))
        )

    def pairs(self, names: Sequence[int]) -> Any:
        """Names as a table has them."""
        flat = np.array(names, np.int64)
        table = {self._columns.id: self._ids.take(pa.array(flat % self._count))}
        if self._columns.key:
            table[self._columns.key] = self._keys.take(pa.array(flat // self._count))
        return pa.table(table)


def _of_kind(names: Any, kind: int) -> Any:
    return names.append_column(_KIND, pa.array(np.full(names.num_rows, kind, np.int8)))


def _whole(column: Any) -> Any:
    return column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column


def _coded(arrays: list[Any]) -> tuple[list[Any], Any]:
    """For each array the places of its values among all there are, null being one."""
    kind = arrays[0].type
    whole = pa.concat_arrays([each.cast(kind) for each in arrays]).dictionary_encode("encode")
    codes = whole.indices.to_numpy().astype(np.int64)
    return np.split(codes, np.cumsum([len(each) for each in arrays])[:-1]), whole.dictionary


def _flat(column: Any) -> tuple[Any, Any]:
    """What lists hold, and how much each; nulls are nothing."""
    whole = _whole(column)
    lengths = pc.fill_null(pc.list_value_length(whole), 0).to_numpy().astype(np.int64)
    flat = whole.flatten()
    if flat.null_count:
        there = flat.is_valid().to_numpy(zero_copy_only=False)
        lists = np.repeat(np.arange(len(lengths)), lengths)[there]
        flat, lengths = flat.drop_null(), np.bincount(lists, minlength=len(lengths))
    return flat, lengths


def packed(table: Any) -> bytes:
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as stream:
        stream.write(table)
    return bytes(sink.getvalue().to_pybytes())


def unpacked(data: bytes) -> Any:
    return pa.ipc.open_stream(data).read_all().combine_chunks()
