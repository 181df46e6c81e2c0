"""Reads stable calls out of `stabilities.parquet`, one process at a time (see `by_process`)."""

import numpy as np

from aforesaid.core import Misuse
from aforesaid.trace.model import NO_STABILITIES, Stabilities
from aforesaid.trace.parquet.by_process import ByProcess
from aforesaid.trace.parquet.spill import Rows, joined


class StoredStabilities(ByProcess):
    """The stable calls of one run's processes."""

    def __len__(self) -> int:
        return self._table.row_count

    def of(self, process: int) -> Stabilities:
        """A process's calls, by position."""
        parts = self._parts(process)
        if not parts:
            return NO_STABILITIES
        rows = joined(parts)
        if np.any(rows.position[1:] < rows.position[:-1]):
            rows = rows.at(np.argsort(rows.position, kind="stable"))
        return Stabilities(**rows._asdict())

    def _read_group(self, group: int) -> Rows:
        rows = super()._read_group(group)
        if len(rows.position) and rows.position.min() < 0:
            raise Misuse(f"{self._table.path}: column position holds {rows.position.min()}, less than 0")
        return rows
