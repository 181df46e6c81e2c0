"""What an audit may be told."""

from dataclasses import dataclass


@dataclass(frozen=True)
class AuditOptions:
    """What is required, how much is shown, how work is cut."""

    properties: tuple[str, ...] | None = None
    """What every run must keep; None: what its algorithm promises."""
    witnesses_max: int | None = 20
    """How many violations of each property and run are worded; all are counted."""
    slice_deliveries: int = 1 << 22
    """About how many deliveries of a large run one task reads."""
    whole_bytes: int = 8 << 20
    """Runs with smaller files of events are judged whole, so many bytes of them to a task."""


DEFAULTS = AuditOptions()
