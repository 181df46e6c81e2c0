"""Tells rows that can be judged from rows that cannot, and invents and hides no violation by it.

A log may lack its last events: that is what `complete` = false says, and the judge knows what it means. So a
log with a row that cannot be used is cut there: the row and all after it are refused, and the process is no
longer complete. Positions are 0, 1, 2, ..., so a row that is gone, wherever it went, leaves a gap, unless it
was the last; a row that nobody can be found for therefore makes every log incomplete.

A send that cannot be used, or that came after the cut of its origin's log, becomes a *lost* one: delivered by
others, perhaps, but by whom and when it was sent is not known. So do all later sends of that origin. Its
index stays in the table, so that deliveries of it still say something.

Lost sends no longer vouch for what came before them; so a run that has any cannot be reproached with missing
predecessors (see `work`). All other rules are sound on what is left.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from aforesaid.trace import NEVER_SENT
from aforesaid.trace.model import Bools, Int32s, Int64s

USED = 0
REASONS = {
    1: "it names no process of the run",
    2: "it names no message of the run",
    3: "it has no position",
    4: "it has no time",
    5: "another row has the same position",
    6: "it is a copy of another row",
    7: "it comes after a gap or a refused row in the log of its process",
    8: "it has no index of its own in the run",
    9: "it names no process of the run as its origin",
    10: "a number or list in it is missing or out of range",
    11: "it comes after a refused row among its origin's messages",
    12: "its position lies outside its process's log",
}
"""Why a row is refused, by code."""
_NO_PROCESS, _NO_MESSAGE, _NO_POSITION, _NO_TIME, _SAME_POSITION, _COPY, _AFTER_GAP = range(1, 8)
_NO_INDEX, _NO_ORIGIN, _OUT_OF_RANGE, _AFTER_REFUSED, _OUTSIDE = range(8, 13)

Codes = npt.NDArray[np.int8]


@dataclass(frozen=True)
class Sifted:
    """Rows with what became of each."""

    table: Any
    """The rows, those of logs and calls by process and position."""
    codes: Codes
    """USED, or why not, for each row."""
    holed: set[int]
    """Processes whose log or calls lack something."""
    anyone: bool
    """Whether something is lacking that may be anyone's."""

    def used(self) -> Any:
        return self.table.filter(pa.array(self.codes == USED))

    def reasons(self) -> dict[str, int]:
        """How many rows were refused, by reason."""
        codes, counts = np.unique(self.codes[self.codes != USED], return_counts=True)
        return {REASONS[code]: count for code, count in zip(codes.tolist(), counts.tolist(), strict=True)}

    def refused(self, rows_max: int) -> list[tuple[str, str]]:
        """The first rows refused: the reason, and the row as it came."""
        places = np.flatnonzero(self.codes != USED)[:rows_max]
        rows = self.table.take(pa.array(places)).to_pylist()
        told = self.codes[places].tolist()
        return [(REASONS[code], str(row)) for code, row in zip(told, rows, strict=True)]


def sift_deliveries(table: Any, process_count: int, message_count: int) -> Sifted:
    """Rows of `deliveries`, with every row of each process they name."""
    process, position = _integers(table, "process"), _integers(table, "position")
    # One key sorts many times faster than two; what is outside of its halves is refused anyway.
    key = (np.clip(process, -1, process_count) << 32) + np.clip(position, -1, (1 << 31) - 1)
    if np.any(key[1:] < key[:-1]):
        order = np.argsort(key)
        table = table.take(pa.array(order))
        process, position = process[order], position[order]
    message, time_ns = _integers(table, "message"), _integers(table, "time_ns")
    codes = np.zeros(len(process), np.int8)
    codes[time_ns == _NONE] = _NO_TIME
    codes[(message < 0) | (message >= message_count)] = _NO_MESSAGE
    again = _same_as_before(process, position)
    copy = again & _same_as_before(message, time_ns)
    codes[again & ~copy] = _SAME_POSITION
    codes[:-1][(again & ~copy)[1:]] = _SAME_POSITION
    codes[copy] = _COPY
    codes[position < 0] = _NO_POSITION
    codes[(process < 0) | (process >= process_count)] = _NO_PROCESS
    _cut(codes, process, position)
    wanting = (codes != USED) & (codes != _COPY)
    holed = set(np.unique(process[wanting & (codes != _NO_PROCESS)]).tolist())
    return Sifted(table, codes, holed, bool((codes == _NO_PROCESS).any()))


def placed_deliveries(
    table: Any, process_count: int, message_count: int
) -> tuple[Int32s, Int64s, Int64s] | None:
    """The logs of rows of which none is at fault: messages, times, and the length of each log; else None.

    Then a row's position says where it belongs, and nothing has to be sorted or looked at twice.
    """
    columns = [table.column(name).combine_chunks() for name in ("process", "position", "time_ns", "message")]
    if any(column.null_count for column in columns):
        return None
    process, position, time_ns, message = (column.to_numpy() for column in columns)
    if not (_within(process, process_count) and _within(message, message_count)):
        return None
    lengths = np.bincount(process, minlength=process_count)
    if np.any(position < 0) or np.any(position >= lengths[process]):
        return None
    place = position + (np.cumsum(lengths) - lengths)[process]
    taken = np.zeros(len(place), np.bool_)
    taken[place] = True
    if not taken.all():
        return None
    messages, times_ns = np.empty_like(message), np.empty_like(time_ns)
    messages[place], times_ns[place] = message, time_ns
    return messages, times_ns, lengths


def sift_messages(table: Any, log_lengths: Int64s, message_count: int) -> Sifted:
    """All rows of `messages`. Those refused can still be put in as lost (`with_lost`)."""
    process_count = len(log_lengths)
    index, origin = _integers(table, "message"), _integers(table, "origin")
    number, sent_after = _integers(table, "number"), _integers(table, "sent_after")
    codes = np.zeros(len(index), np.int8)
    for column, bound in (("after", message_count), ("audience", process_count)):
        codes[_bad_lists(table.column(column), bound)] = _OUT_OF_RANGE
    codes[(number < 0) | (sent_after < NEVER_SENT) | _nulls(table.column("after"))] = _OUT_OF_RANGE
    sent = sent_after != NEVER_SENT
    nobody = (origin < np.where(sent, 0, -1)) | (origin >= process_count)
    codes[nobody] = _NO_ORIGIN
    outside = (index < 0) | (index >= message_count)
    times = np.bincount(index[~outside], minlength=message_count)
    outside[~outside] = times[index[~outside]] > 1
    codes[outside] = _NO_INDEX
    _cut_sends(codes, index, origin, number, sent_after, log_lengths)
    wanting = codes != USED
    known = wanting & ~nobody & (origin >= 0)
    return Sifted(table, codes, set(np.unique(origin[known]).tolist()), bool((wanting & nobody).any()))


def sift_stabilities(table: Any, log_lengths: Int64s, message_count: int) -> Sifted:
    """Rows of `stabilities`; among calls at one position the earlier goes first."""
    table = table.sort_by([(name, "ascending") for name in ("process", "position", "time_ns", "message")])
    process, position = _integers(table, "process"), _integers(table, "position")
    message, time_ns = _integers(table, "message"), _integers(table, "time_ns")
    codes = np.zeros(len(process), np.int8)
    codes[time_ns == _NONE] = _NO_TIME
    codes[(message < 0) | (message >= message_count)] = _NO_MESSAGE
    stranger = (process < 0) | (process >= len(log_lengths))
    length = log_lengths[np.where(stranger, 0, process)] if len(log_lengths) else np.zeros_like(process)
    codes[(position < 0) | (position > length)] = _OUTSIDE
    codes[stranger] = _NO_PROCESS
    holed = set(np.unique(process[(codes != USED) & ~stranger]).tolist())
    return Sifted(table, codes, holed, bool(stranger.any()))


def with_lost(sifted: Sifted, message_count: int) -> Any:
    """The table of messages with every index once: refused rows as lost sends, of their origin if known."""
    table, codes = sifted.table, sifted.codes
    index = _integers(table, "message")
    row_of = np.full(message_count, -1, np.int64)
    inside = (index >= 0) & (index < message_count)
    usable = inside & (codes != _NO_INDEX) & (codes != _NO_ORIGIN)
    row_of[index[usable]] = np.flatnonzero(usable)
    rows = pa.array(row_of, mask=row_of < 0)
    lost = (row_of < 0) | (codes[row_of] != USED)
    lost_mask = pa.array(lost)
    number = pc.fill_null(table.column("number").combine_chunks().take(rows), 0)
    empty = pa.scalar([], pa.list_(pa.int32()))
    return pa.table(
        {
            "message": pa.array(np.arange(message_count, dtype=np.int32)),
            "origin": pc.fill_null(table.column("origin").combine_chunks().take(rows), -1),
            "number": pc.if_else(pc.less(number, 0), 0, number),
            "time_ns": table.column("time_ns").combine_chunks().take(rows),
            "sent_after": pc.if_else(
                lost_mask,
                pa.scalar(NEVER_SENT, pa.int32()),
                table.column("sent_after").combine_chunks().take(rows),
            ),
            "after": _where(lost_mask, empty, table.column("after").combine_chunks().take(rows)),
            "audience": _where(
                lost_mask,
                pa.scalar(None, pa.list_(pa.int32())),
                table.column("audience").combine_chunks().take(rows),
            ),
        }
    )


_NONE = int(np.iinfo(np.int64).min)
"""In the place of a null."""


def _integers(table: Any, column: str) -> Int64s:
    values: Int64s = (
        pc.fill_null(table.column(column).cast(pa.int64()), _NONE).combine_chunks().to_numpy(False)
    )
    return values


def _within(index: Int32s, count: int) -> bool:
    return not len(index) or bool(index.min() >= 0 and index.max() < count)


def _same_as_before(*columns: Int64s) -> Bools:
    same = np.zeros(len(columns[0]), np.bool_)
    if len(same):
        same[1:] = np.logical_and.reduce([column[1:] == column[:-1] for column in columns])
    return same


def _cut(codes: Codes, process: Int64s, position: Int64s) -> None:
    """Refuse what comes after a gap or a refused row in its process's log; rows are by process, position."""
    rows = np.flatnonzero((codes != _NO_PROCESS) & (codes != _NO_POSITION) & (codes != _COPY))
    if not len(rows):
        return
    first = ~_same_as_before(process[rows])
    starts = np.flatnonzero(first)
    rank = np.arange(len(rows)) - starts[np.cumsum(first) - 1]
    _cut_from(codes, rows, first, (codes[rows] == USED) & (position[rows] == rank), _AFTER_GAP)


def _cut_sends(
    codes: Codes, index: Int64s, origin: Int64s, number: Int64s, sent_after: Int64s, log_lengths: Int64s
) -> None:
    """Refuse what its origin sent after something that is refused, or after the end of its log."""
    rows = np.flatnonzero((codes == USED) & (sent_after != NEVER_SENT))
    if not len(rows):
        return
    rows = rows[np.lexsort((index[rows], origin[rows]))]
    first = ~_same_as_before(origin[rows])
    starts = np.flatnonzero(first)
    rank = np.arange(len(rows)) - starts[np.cumsum(first) - 1]
    fit = (number[rows] == rank + 1) & (sent_after[rows] <= log_lengths[origin[rows]])
    fit[1:] &= first[1:] | (sent_after[rows][1:] >= sent_after[rows][:-1])
    _cut_from(codes, rows, first, fit, _AFTER_REFUSED)


def _cut_from(codes: Codes, rows: Int64s, first: Bools, fit: Bools, code: int) -> None:
    """From the first row of each group that does not fit on, refuse what is not refused already."""
    misfits = np.cumsum(~fit)
    before_group: Int64s = (misfits - ~fit)[first][np.cumsum(first) - 1]
    late = rows[misfits > before_group]
    codes[late[codes[late] == USED]] = code


def _bad_lists(column: Any, bound: int) -> Bools:
    """Which rows have a list with an element that is missing or outside 0 to bound."""
    column = column.combine_chunks()
    values = pc.fill_null(column.flatten().cast(pa.int64()), -1).to_numpy(False)
    rows = pc.list_parent_indices(column).to_numpy(False)
    bad = np.zeros(len(column), np.bool_)
    bad[rows[(values < 0) | (values >= bound)]] = True
    return bad


def _nulls(column: Any) -> Bools:
    nulls: Bools = column.is_null().to_numpy()
    return nulls


def _where(mask: Any, instead: Any, column: Any) -> Any:
    return pc.if_else(mask, instead, column.cast(pa.list_(pa.int32())))
