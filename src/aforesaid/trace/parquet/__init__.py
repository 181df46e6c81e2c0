"""Traces as Parquet files: the public names. Needs PyArrow, so `aforesaid.trace` does not import it."""

from aforesaid.trace.parquet.reader import ParquetTrace, find_runs, open_trace
from aforesaid.trace.parquet.writer import MEMORY_ROWS_MAX, ROW_GROUP_ROWS, ParquetSink

__all__ = ["MEMORY_ROWS_MAX", "ROW_GROUP_ROWS", "ParquetSink", "ParquetTrace", "find_runs", "open_trace"]
