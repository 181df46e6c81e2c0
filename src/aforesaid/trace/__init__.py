"""The trace: one schema for simulated, real and foreign systems.

`model` is a trace in memory, `story` what no verdict needs of it, `tracer` records one; `parquet` (imported
by name, it needs PyArrow) stores it.
"""

from aforesaid.trace.memory import MemorySink
from aforesaid.trace.model import (
    CAUSALITIES,
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
from aforesaid.trace.story import NO_STORY, Chronicle, Events, Receipts, Story, Waits
from aforesaid.trace.tracer import Sink, Tracer

__all__ = [
    "CAUSALITIES",
    "ENDINGS",
    "FATES",
    "NEVER_SENT",
    "NO_STABILITIES",
    "NO_STORY",
    "SCHEMA_VERSION",
    "Chronicle",
    "Events",
    "Lists",
    "Log",
    "MemorySink",
    "MemoryTrace",
    "Messages",
    "Processes",
    "Receipts",
    "Run",
    "Samples",
    "Sink",
    "Stabilities",
    "Story",
    "Trace",
    "Tracer",
    "Waits",
    "label_of_message",
]
