"""How long a frame is under way: one function (source, target, now) -> nanoseconds per delay model."""

from bisect import bisect_right
from collections.abc import Callable
from typing import TypeAlias

from aforesaid.core import Nanoseconds, Process
from aforesaid.sim.chance import QUANTILES, Chance, lognormal_quantiles
from aforesaid.sim.parts import Constant, Delay, LogNormal, PerLink, Schedule, Uniform, nanoseconds

Sampler: TypeAlias = Callable[[Process, Process, Nanoseconds], Nanoseconds]


def sampler(delay: Delay, chance: Chance) -> Sampler:
    """The delay model as a function that draws from one stream of chance."""
    match delay:
        case Constant(ms=ms):
            fixed = nanoseconds(ms)
            return lambda source, target, now: fixed
        case Uniform(min_ms=low_ms, max_ms=high_ms):
            low, width = nanoseconds(low_ms), nanoseconds(high_ms) - nanoseconds(low_ms) + 1
            uniform = chance.uniform
            return lambda source, target, now: low + int(uniform() * width)
        case LogNormal(median_ms=median_ms, sigma=sigma):
            table = lognormal_quantiles(nanoseconds(median_ms), sigma)
            uniform = chance.uniform
            return lambda source, target, now: table[int(uniform() * QUANTILES)]
        case PerLink():
            return _per_link(delay, chance)
        case Schedule():
            return _schedule(delay, chance)


def _per_link(delay: PerLink, chance: Chance) -> Sampler:
    drawn: dict[tuple[Process, Process], Nanoseconds] = {}
    jitter = nanoseconds(delay.jitter_ms) + 1

    def sample(source: Process, target: Process, now: Nanoseconds) -> Nanoseconds:
        link = (source, target)
        if link not in drawn:
            # From the link's own stream: algorithms that send other frames still meet the same links.
            own = chance.branch(f"{source}>{target}")
            drawn[link] = sampler(delay.spread, own)(source, target, now)
        return drawn[link] + int(chance.uniform() * jitter)

    return sample


def _schedule(delay: Schedule, chance: Chance) -> Sampler:
    times = [nanoseconds(at_ms) for at_ms, _ in delay.points]
    delays = [nanoseconds(ms) for _, ms in delay.points]
    jitter = nanoseconds(delay.jitter_ms) + 1

    def sample(source: Process, target: Process, now: Nanoseconds) -> Nanoseconds:
        after = bisect_right(times, now)
        if after == 0 or after == len(times):
            base = delays[min(after, len(times) - 1)]
        else:
            start, end = times[after - 1], times[after]
            rise = delays[after] - delays[after - 1]
            base = delays[after - 1] + rise * (now - start) // (end - start)
        return base + int(chance.uniform() * jitter)

    return sample
