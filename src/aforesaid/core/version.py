"""The version of this package, for whoever writes it into a trace."""

__version__ = "0.1.0"
