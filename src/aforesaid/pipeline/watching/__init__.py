"""Watching a system while it runs: segments in, verdicts out, exactly once over restarts."""

from aforesaid.pipeline.watching.driver import Batch, Watch, WatchOptions

__all__ = ["Batch", "Watch", "WatchOptions"]
