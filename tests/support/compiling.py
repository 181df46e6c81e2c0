"""The fleet's kernels, compiled before the tests that use them begin."""

from aforesaid.fleet import Paper, simulate_fleet


def compile_once() -> None:
    """By one worker of all; the others wait for it, as all processes do that share a cache."""
    simulate_fleet(Paper(2, minutes=0.1).plan())
