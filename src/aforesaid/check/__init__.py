"""The one judge of traces. It shares no code with what it judges: it knows the trace, and NumPy."""

from aforesaid.check.history import MalformedTrace
from aforesaid.check.judge import Progress, check
from aforesaid.check.verdict import ALWAYS_REQUIRED, PROPERTIES, VALUES, Report, Verdict, Violation

__all__ = [
    "ALWAYS_REQUIRED",
    "PROPERTIES",
    "VALUES",
    "MalformedTrace",
    "Progress",
    "Report",
    "Verdict",
    "Violation",
    "check",
]
