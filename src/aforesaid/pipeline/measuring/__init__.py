"""Metrics of traces: latency, space and traffic over time, growth with the size of the group; tidy tables.

`measure` (what a task does) and `optimum` know nothing of Spark; `driver` sums their rows in Spark SQL.
"""

from aforesaid.pipeline.measuring.driver import TABLES, Source, Sources, compute, find_sources, metrics

__all__ = ["TABLES", "Source", "Sources", "compute", "find_sources", "metrics"]
