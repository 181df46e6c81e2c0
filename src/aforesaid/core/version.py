"""The version of this package, for whoever writes it into a trace."""

__version__ = "0.2.0.dev0"
