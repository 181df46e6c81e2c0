"""The data pipeline on Spark: sweep, audit, metrics, order, watch. Only this package imports pyspark.

Each is a function of a Spark session, whoever started it, and imported when it is first asked for:
`aforesaid.pipeline.audit(spark, "s3a://bucket/traces")`.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from aforesaid.pipeline.auditing import AuditOptions, audit
    from aforesaid.pipeline.measuring import metrics
    from aforesaid.pipeline.ordering import causal_order
    from aforesaid.pipeline.session import SparkOptions, ship, spark_session
    from aforesaid.pipeline.source import register
    from aforesaid.pipeline.sweeping import sweep
    from aforesaid.pipeline.watching import Watch, WatchOptions

__all__ = [
    "AuditOptions",
    "SparkOptions",
    "Watch",
    "WatchOptions",
    "audit",
    "causal_order",
    "metrics",
    "register",
    "ship",
    "spark_session",
    "sweep",
]

_ROOMS = {
    "AuditOptions": "auditing",
    "SparkOptions": "session",
    "Watch": "watching",
    "WatchOptions": "watching",
    "audit": "auditing",
    "causal_order": "ordering",
    "metrics": "measuring",
    "register": "source",
    "ship": "session",
    "spark_session": "session",
    "sweep": "sweeping",
}


def __getattr__(name: str) -> Any:
    if name in _ROOMS:
        return getattr(import_module(f"aforesaid.pipeline.{_ROOMS[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *_ROOMS})
