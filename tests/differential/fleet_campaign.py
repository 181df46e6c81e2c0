"""Random plans through the fleet's kernel and the reference: the slow target; every test run plays a share.

    python tests/differential/fleet_campaign.py [plans, 2000 unless told] [first seed]

Joins before, during and after the talking, one by one and in batches; crashes; impatient handshakes; delays
up to 2.5 s, in half of the plans one for each link; the authors' options. Every third plan is of preventive
broadcast on Spray, the others are of PRC-broadcast. In every tenth plan patience is
shorter than the delay, or hardly longer. The last plan is churn among 5,000. A difference prints the line
that plays its plan again.
"""

import sys
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from multiprocessing import get_context
from pathlib import Path
from random import Random
from typing import Any

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).parents[1]))

from aforesaid.fleet import Paper, Plan
from aforesaid.fleet.plan import paces_of
from differential.compared import compare
from support.compiling import compile_once

DELAYS_MS = (1.0, 10.000003, 40.000007, 300.000019, 1_300.000003, 2_500.000009)

SPREAD = 0.3
"""How far delays of links differ, where they do: the slowest of them takes 4.4 s."""


def drawn(seed: int) -> Plan:
    """One to two minutes with exchanges every ten to twenty seconds."""
    random = Random(seed)
    delay_ms = random.choice(DELAYS_MS)
    processes, minutes = random.randint(2, 32), random.uniform(1.2, 1.8)
    speak_from = random.uniform(0.2, 0.8)
    # In how many minutes all enter: at once, before the first word, while some speak, or until the end.
    entering = random.choice((0.001, speak_from / 2, (speak_from + minutes) / 2, minutes))
    parts: dict[str, Any] = {
        "joins_per_second": min(10_000.0, processes / entering / 60),
        "joins_at_once": random.choice((1, 1, 2, 5, 10)),
        "speak_until": random.uniform(speak_from, minutes - 0.2),
        "broadcasts_per_second": random.choice((1, 2, 4)),
        "crashes_per_minute": random.choice((0.0, 0.0, 10.0, 40.0, 90.0)),
        "partner": random.choice(("oldest", "any")),
        "routes_stay": random.random() < 0.5,
    }
    paper = Paper(processes, seed, minutes, delay_ms=delay_ms, speak_from=speak_from, traced="all", **parts)
    period_s, patience_s = random.choice((10, 20)), delay_ms / 1e3 * random.choice((1.5, 4, 9, 30)) + 0.2
    return replace(paper.plan(), period=period_s * 10**9 + 11, patience=round(patience_s * 1e9) + 7)


def impatient(seed: int) -> Plan:
    """Who asks gives up, or asks again, while the answer is under way. A minute, and few: they fall apart."""
    random = Random(seed)
    delay_ms, processes = random.choice(DELAYS_MS[1:5]), random.randint(2, 10)
    minutes, speak_from = random.uniform(0.6, 1.0), random.uniform(0.1, 0.3)
    entering = random.choice((0.001, speak_from / 2, (speak_from + minutes) / 2))
    parts: dict[str, Any] = {
        "joins_per_second": min(10_000.0, processes / entering / 60),
        "joins_at_once": random.choice((1, 2, 5)),
        "speak_until": random.uniform(speak_from, minutes - 0.2),
        "broadcasts_per_second": random.choice((1, 2, 4)),
        "crashes_per_minute": random.choice((0.0, 0.0, 40.0)),
    }
    paper = Paper(processes, seed, minutes, delay_ms=delay_ms, speak_from=speak_from, traced="all", **parts)
    period_s, share = random.choice((10, 20)), random.choice((0.1, 0.3, 0.6, 0.9, 1.1, 1.5))
    return replace(paper.plan(), period=period_s * 10**9 + 11, patience=round(delay_ms * 1e6 * share) + 7)


def churn_among_many() -> Plan:
    """5,000 enter within ten seconds; then 60 of them crash, while a few speak."""
    parts: dict[str, Any] = {
        "minutes": 0.9,
        "speak_from": 0.3,
        "speak_until": 0.7,
        "broadcasts_per_second": 1,
    }
    crowd = Paper(5_000, 1, joins_per_second=500.0, joins_at_once=50, crashes_per_minute=3.0, **parts)
    return replace(crowd.plan(), period=20 * 10**9 + 11, traced=None)


def differences(seed: int) -> list[str]:
    if seed < 0:
        return compare(churn_among_many()).differences
    plan = impatient(seed) if seed % 10 == 9 else drawn(seed)
    # In half of them, a delay for each link; every third is of preventive broadcast.
    paces = paces_of(SPREAD * (seed // 2 % 2))
    return compare(replace(plan, paces=paces, preventive=seed % 3 == 2)).differences


def main() -> int:
    words = sys.argv[1:]
    count, first = int(words[0]) if words else 2_000, int(words[1]) if words[1:] else 0
    compile_once()
    seeds = [*range(first, first + count), *([-1] if count > 1 else [])]
    different = 0
    with ProcessPoolExecutor(2, get_context("spawn")) as pool:
        for seed, found in zip(seeds, pool.map(differences, seeds, chunksize=8), strict=True):
            if found:
                different += 1
                sys.stdout.write(f"{found[0]} (and {len(found) - 1} more): python {sys.argv[0]} 1 {seed}\n")
                sys.stdout.flush()
    sys.stdout.write(f"fleet campaign: {len(seeds):,} plans, {different} different\n")
    return 1 if different else 0


if __name__ == "__main__":
    sys.exit(main())
