"""Local space of PRC-broadcast beside what it is compared to, each measured: the algorithms themselves run.

In the simulator, on the paper's load and delay in a tenth of its time: ten processes speak every second from
minute 1 to 10, and links take 1 ms until minute 3, then ever longer, 2.5 s from minute 7 on. Vector clocks
send everything to everyone, and so a message costs n^2 frames: groups are small. The two others run on an
overlay in which each process has links with the next ln n ones, both ways for PRC-broadcast, one way and
twice as many for preventive broadcast; each minute half of them are replaced.
"""

from math import ceil, log
from typing import Any

from aforesaid.reproduce.asking import Asked, Groups
from aforesaid.reproduce.figures import draw, summary, write_series
from aforesaid.reproduce.measured import Group
from aforesaid.reproduce.telling import Rows

SIZE = 30
ALGORITHMS = {"prc": "PRC-broadcast", "preventive": "preventive broadcast", "waiting": "vector clocks"}
MINUTE_MS = 60_000


def plan_baselines(asked: Asked) -> Groups:
    groups: Groups = {}
    for count in asked.processes or (SIZE,):
        for name in ALGORITHMS:
            runs = asked.groups({**_base(count), **_links(name, count)}, {"processes": [count]})
            groups[name, count] = next(iter(runs.values()))
    return groups


def make_baselines(asked: Asked, groups: Groups) -> Rows:
    """One figure over all algorithms and sizes."""
    measured = {
        f"{ALGORITHMS[name]}, {count:,} processes": Group(runs, asked.runs)
        for (name, count), runs in groups.items()
    }
    draw(measured, "space", "Local space of causal broadcasts", asked.out / "baselines", asked)
    write_series(measured, asked.out / "baselines-series.csv")
    return [{"runs": label, **summary(group, "space")} for label, group in measured.items()]


def _base(count: int) -> dict[str, Any]:
    return {
        "duration_ms": 10 * MINUTE_MS,
        # Not in step with the speaking: else every sample would see the same moment of it.
        "sample_ms": 977,
        "network": {
            "fifo": True,
            "delay": {"kind": "schedule", "points": [[3 * MINUTE_MS, 1], [7 * MINUTE_MS, 2_501]]},
        },
        "workload": [{"kind": "crowd", "every_ms": 1_000, "size": min(10, count), "from_ms": MINUTE_MS}],
    }


def _links(name: str, count: int) -> dict[str, Any]:
    """The algorithm, its links, and how often they change."""
    if name == "waiting":
        return {"algorithm": name}
    degree = min(ceil(log(count)), count // 4)
    degree *= 1 if name == "prc" else 2
    own = {"alpha": "routed"} if name == "prc" else {}
    return {
        "algorithm": name,
        "options": {**own, "degree": degree, "handshake_ms": MINUTE_MS},
        "fault": [{"kind": "rewire", "per_second": count * degree / 60}],
    }
