"""One broadcast to very many processes on a static overlay: its time and memory."""

import resource
import time

import numpy as np

from aforesaid.fleet import flood, random_overlay
from aforesaid.reproduce.asking import Asked
from aforesaid.reproduce.telling import Rows, Telling

SIZE, DEGREE = 1_000_000, 20


def flood_of_many(asked: Asked, telling: Telling) -> Rows:
    rows: Rows = []
    for count in asked.processes or (SIZE,):
        random_overlay(3, 1, asked.seed)  # Compiles.
        began = time.process_time()
        with telling(f"an overlay of {count:,} processes", None):
            overlay = random_overlay(count, min(DEGREE, count // 3), asked.seed)
        built = time.process_time() - began
        flood(overlay, np.array([[0, 0]]), 1)
        began = time.process_time()
        outcome = flood(overlay, np.array([[0, asked.seed % count]]), 1)
        spent = time.process_time() - began
        rows.append(
            {
                "processes": count,
                "degree": int(overlay.wires[0, 0]),
                "overlay built (CPU s)": round(built, 2),
                "one broadcast (CPU s)": round(spent, 3),
                "deliveries": outcome.deliveries,
                "receipts": outcome.receipts,
                "ns per receipt": round(spent * 1e9 / outcome.receipts, 1),
                "hops": outcome.ended,
                "entries held at most, per process": round(outcome.peak / count, 2),
                "peak memory (MB)": round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3),
            }
        )
    return rows
