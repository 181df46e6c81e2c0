"""Why a run of the fleet stops, in the two families of errors of this package."""

from aforesaid.core import AforesaidError, Misbehaviour, Misuse


class FleetStopped(AforesaidError, RuntimeError):
    """A run cannot go on, for one of the two reasons below."""


class FleetFull(FleetStopped, Misuse):
    """The caller's plan needs more room than a fleet has; nothing is proved by it."""


class FleetBroken(FleetStopped, Misbehaviour):
    """A process did what no correct one does: with it, a message would have been delivered twice."""
