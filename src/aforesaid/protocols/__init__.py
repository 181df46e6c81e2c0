"""Protocols: sans-I/O state machines, one file per algorithm. `catalog` finds and builds them by name."""
