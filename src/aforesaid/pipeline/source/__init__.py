"""The format `aforesaid`: traces and segments as DataFrames."""

from aforesaid.pipeline.source.source import register

__all__ = ["register"]
