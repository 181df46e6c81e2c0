"""The version of this package, for whoever writes it into a trace, and of what its nodes' snapshots hold."""

__version__ = "0.2.0.dev0"

STATE_FORMAT = 1
"""A node comes back from the snapshot of another version that has the same one. Whoever changes what protocol
objects hold, or what it means, adds one, once between two releases; most such changes are seen by
`tests/unit/journal/test_state_format.py`."""
