"""What receipts cost: the simulator's time and the trace's bytes, with them and without.

Each run is stored, with and without by turns, five times; the least processor time of each counts. Both
write the same trace, digest and all.
"""

import tempfile
import time
from pathlib import Path
from typing import Any

from aforesaid.sim import Scenario, simulate_into
from aforesaid.trace.parquet import ParquetSink

AIM_TIME, AIM_BYTES = 1.2, 1.5
ROUNDS = 5
RATE = {"workload": [{"kind": "rate", "per_second": 20}], "sample_ms": 50}
OVERLAY = {"workload": [{"kind": "rate", "per_second": 5}], "network": {"fifo": True}}
REWIRED = {**OVERLAY, "fault": [{"kind": "rewire", "from_ms": 0, "per_second": 20}]}
SCENARIOS: dict[str, tuple[str, int, int, dict[str, Any]]] = {
    "waiting, 8 processes": ("waiting", 8, 8_000, RATE),
    "waiting, 8, loss 10 %": ("waiting", 8, 2_000, {**RATE, "network": {"loss": 0.1, "retransmit": True}}),
    "waiting, 32 processes": ("waiting", 32, 200, RATE),
    "reliable, 8 processes": ("reliable", 8, 8_000, RATE),
    "no_waiting_gc, 8": ("no_waiting_gc", 8, 2_000, RATE),
    "hybrid_sps, 8": ("hybrid_sps", 8, 20_000, RATE),
    "prc, 32, links change": ("prc", 32, 1_500, REWIRED),
}


def stored(scenario: Scenario, receipts: bool) -> tuple[float, int, str]:
    """Seconds of processor time, bytes, and the digest."""
    with tempfile.TemporaryDirectory() as root:
        began = time.process_time()
        with ParquetSink(root, "run") as sink:
            outcome = simulate_into(sink, scenario, "run", receipts=receipts)
        seconds = time.process_time() - began
        size = sum(file.stat().st_size for file in Path(root).rglob("*.parquet"))
        return seconds, size, outcome.run.digest


def main() -> None:
    print(f"{'scenario':24} {'seconds':>8} {'with':>8} {'ratio':>6} {'kB':>8} {'with':>8} {'ratio':>6}")
    for name, (algorithm, processes, duration_ms, rest) in SCENARIOS.items():
        scenario = Scenario.of(
            {"algorithm": algorithm, "processes": processes, "duration_ms": duration_ms, **rest}
        )
        best = {False: float("inf"), True: float("inf")}
        sizes, digests = {}, set()
        for _ in range(ROUNDS):
            for receipts in best:
                seconds, sizes[receipts], digest = stored(scenario, receipts)
                best[receipts] = min(best[receipts], seconds)
                digests.add(digest)
        assert len(digests) == 1, f"{name}, seed {scenario.seed}: receipts changed the run"
        print(
            f"{name:24} {best[False]:8.2f} {best[True]:8.2f} {best[True] / best[False]:6.2f} "
            f"{sizes[False] / 1e3:8.1f} {sizes[True] / 1e3:8.1f} {sizes[True] / sizes[False]:6.2f}"
        )
    print(f"aim: at most {AIM_TIME:g} times the time and {AIM_BYTES:g} times the bytes")


if __name__ == "__main__":
    main()
