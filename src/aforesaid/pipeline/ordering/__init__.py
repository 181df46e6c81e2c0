"""Anybody's events in causal order, as an operator of Structured Streaming."""

from aforesaid.pipeline.ordering.operator import causal_order
from aforesaid.pipeline.ordering.reading import why

__all__ = ["causal_order", "why"]
