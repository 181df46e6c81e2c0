"""The trace: one schema for simulated, real and foreign systems.

`model` is a trace in memory, `tracer` records one; `parquet` (imported by name, it needs PyArrow) stores it.
"""

from aforesaid.trace.memory import MemorySink
from aforesaid.trace.model import (
    ENDINGS,
    FATES,
    NEVER_SENT,
    NO_STABILITIES,
    SCHEMA_VERSION,
    Lists,
    Log,
    MemoryTrace,
    Messages,
    Processes,
    Run,
    Samples,
    Stabilities,
    Trace,
    label_of_message,
)
from aforesaid.trace.tracer import Sink, Tracer

__all__ = [
    "ENDINGS",
    "FATES",
    "NEVER_SENT",
    "NO_STABILITIES",
    "SCHEMA_VERSION",
    "Lists",
    "Log",
    "MemorySink",
    "MemoryTrace",
    "Messages",
    "Processes",
    "Run",
    "Samples",
    "Sink",
    "Stabilities",
    "Trace",
    "Tracer",
    "label_of_message",
]
