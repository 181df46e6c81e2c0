"""Broadcasts on a static overlay (algorithm 1), as fast as memory allows.

`flood` is for one delay on all links: a FIFO of forwards, as in the dynamic kernel. `flood_wheel` is for a
delay of its own on each link: a timing wheel, whose buckets are chains of small chunks.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from aforesaid.core import Misuse
from aforesaid.fleet.compiled import entry, inner
from aforesaid.fleet.errors import FleetBroken
from aforesaid.fleet.layout import DELIVERED, TARGET_SHIFT, Run
from aforesaid.fleet.overlay import Overlay
from aforesaid.fleet.records import Int32s, Int64s, Record, Records, Rows

CHUNK = 64


class Totals(Record):
    receipts: int
    deliveries: int
    twice: int
    """Message << 32 | process where a copy was not expected, plus 1."""
    area: int
    peak: int
    held: int
    ended: int


class Spoke(Record):
    """What arrives at one time: the first and the last chunk of it, and how many entries the last has."""

    first: int
    last: int
    filled: int


@dataclass(frozen=True)
class Flood:
    """What broadcasts on a static overlay came to."""

    receipts: int
    deliveries: int
    area: int
    """Entries of link memory, integrated over time."""
    peak: int
    held: int
    """Entries left at the end: 0 if every copy came."""
    ended: int
    log: Int64s
    """Rows (time, process, message) in the order of delivery, if asked for."""


def flood(overlay: Overlay, said: Int64s, delay: int, log: bool = False) -> Flood:
    """Broadcasts: rows (time, origin) in the order of time; what is sent takes `delay`."""
    _validate(overlay, said)
    n, messages = len(overlay.wires), len(said)
    forwards = n * min(messages, _overlapping(said, delay, n))
    rows = np.zeros((n * messages if log else 0, 3), np.int64)
    totals = np.zeros(1, Totals.dtype)
    _flood(
        overlay.wires,
        np.zeros((messages, n), np.int64),
        overlay.opens,
        np.ascontiguousarray(said, np.int64),
        delay,
        np.zeros(1 << (forwards - 1).bit_length(), np.int64),
        np.zeros(1 << (16 * messages).bit_length(), Run.dtype),
        rows,
        totals[0],
    )
    return _flooded(totals, rows)


def flood_wheel(overlay: Overlay, said: Int64s, delays: Int32s, log: bool = False) -> Flood:
    """The same with a delay for each link: `delays[p, i]` for the i-th entry of p's wire row, at least 1."""
    wires = overlay.wires
    if delays.shape != (len(wires), wires.shape[1] - 1) or delays.min() < 1:
        raise Misuse("a wheel needs one delay of at least 1 for each link")
    _validate(overlay, said)
    n, messages = len(wires), len(said)
    masks = np.zeros((messages, n), np.int64)
    slots = 1 << int(delays.max()).bit_length()
    chunks = n * (wires.shape[1] - 1) * messages // CHUNK + 2 * slots + messages + 1
    wheel = np.zeros(slots, Spoke.dtype)
    wheel["first"] = -1
    rows = np.zeros((n * messages if log else 0, 3), np.int64)
    totals = np.zeros(1, Totals.dtype)
    _flood_wheel(
        wires,
        masks,
        overlay.opens,
        np.ascontiguousarray(said, np.int64),
        np.ascontiguousarray(delays, np.int32),
        wheel,
        np.zeros((chunks, CHUNK + 1), np.int64),
        rows,
        totals[0],
    )
    return _flooded(totals, rows)


def _flooded(totals: Records, rows: Int64s) -> Flood:
    receipts, deliveries, twice, area, peak, held, ended = totals[0].tolist()
    if twice:
        message, process = divmod(twice - 1, 1 << 32)
        raise FleetBroken(f"p{process} received message {message} where it was not expected")
    return Flood(receipts, deliveries, area, peak, held, ended, rows)


def _validate(overlay: Overlay, said: Int64s) -> None:
    times, origins = said[:, 0], said[:, 1]
    if np.any(np.diff(times) < 0) or origins.min() < 0 or origins.max() >= len(overlay.wires):
        raise Misuse("broadcasts must be in the order of time, each from a process of the overlay")


def _overlapping(said: Int64s, delay: int, n: int) -> int:
    """How many broadcasts may be under way together: those within a generous diameter."""
    window = delay * 4 * max(1, int(n).bit_length())
    times = said[:, 0]
    return int((np.searchsorted(times, times + window, side="right") - np.arange(len(times))).max())


@inner
def ones(bits: int) -> int:
    count = 0
    while bits:
        bits &= bits - 1
        count += 1
    return count


def _make(sources: str) -> Callable[..., None]:
    def kernel(
        wires: Int32s,
        masks: Int64s,
        opens: Int64s,
        said: Int64s,
        delay: int,
        fifo: Int64s,
        runs: Rows[Run],
        log: Int64s,
        totals: Totals,
    ) -> None:
        head, tail, room, spoken = 0, 0, fifo.size - 1, 0
        run, last, ring = 0, 0, runs.shape[0] - 1
        held, peak, area, now, receipts, deliveries, twice = 0, 0, 0, 0, 0, 0, 0
        while sources and (run < last or spoken < said.shape[0]):
            before, message = deliveries, spoken
            if run == last or (spoken < said.shape[0] and said[spoken, 0] <= runs[run & ring].arrival):
                time, p = said[spoken, 0], said[spoken, 1]
                area, now = area + held * (time - now), time
                spoken += 1
                masks[message, p] = DELIVERED | opens[p]
                held += ones(opens[p])
                fifo[tail & room] = (message << 32) | p
                tail += 1
                deliveries += 1
            else:
                time, end = runs[run & ring].arrival, runs[run & ring].end
                area, now = area + held * (time - now), time
                run += 1
                while head < end:
                    forward = fifo[head & room]
                    head += 1
                    message, p = forward >> 32, forward & 0xFFFFFFFF
                    count = int(wires[p, 0])
                    for i in range(1, count + 1):
                        packed = int(wires[p, i])
                        q, bit = packed >> TARGET_SHIFT, 1 << (packed & 63)
                        mask = masks[message, q]
                        if mask & bit:
                            masks[message, q] = mask ^ bit
                        elif mask == 0:
                            masks[message, q] = DELIVERED | (opens[q] & ~bit)
                            held += ones(opens[q])
                            fifo[tail & room] = (message << 32) | q
                            tail += 1
                            deliveries += 1
                        else:
                            twice = (message << 32) + q + 1
                    held -= count
                    receipts += count
                peak = max(peak, held)
            if log.shape[0]:
                for i in range(deliveries - before):
                    forward = fifo[(tail - deliveries + before + i) & room]
                    log[before + i, 0], log[before + i, 1] = time, forward & 0xFFFFFFFF
                    log[before + i, 2] = forward >> 32
            if deliveries > before:
                runs[last & ring].arrival, runs[last & ring].end = time + delay, tail
                last += 1
        totals.receipts, totals.deliveries, totals.twice = receipts, deliveries, twice
        totals.area, totals.peak, totals.held, totals.ended = area, peak, held, now

    return kernel


def _make_wheel(sources: str) -> Callable[..., None]:
    def kernel(
        wires: Int32s,
        masks: Int64s,
        opens: Int64s,
        said: Int64s,
        delays: Int32s,
        wheel: Rows[Spoke],
        chunks: Int64s,
        log: Int64s,
        totals: Totals,
    ) -> None:
        # chunks[c]: the next chunk, then entries message << 40 | process << 6 | bit. A blank chunk's first
        # word leads to the next blank one.
        blank, flying, spoken, room = 0, 0, 0, wheel.shape[0] - 1
        for chunk in range(chunks.shape[0]):
            chunks[chunk, 0] = chunk + 1
        held, peak, area, now, receipts, deliveries, twice = 0, 0, 0, 0, 0, 0, 0
        while sources and (flying or spoken < said.shape[0]):
            if flying == 0:
                now = said[spoken, 0]
            spoke = wheel[now & room]
            first, last, filled, place = spoke.first, spoke.last, spoke.filled, 1
            spoke.first = -1
            while True:
                if spoken < said.shape[0] and said[spoken, 0] == now:
                    message, q, bit = spoken, said[spoken, 1], 0
                    spoken += 1
                elif first >= 0:
                    packed = chunks[first, place]
                    place += 1
                    flying -= 1
                    receipts += 1
                    message, q, bit = packed >> 40, (packed >> 6) & 0x3FFFFFFFF, 1 << (packed & 63)
                    if first == last and place > filled:
                        chunks[first, 0], blank, first = blank, first, -1
                    elif place > CHUNK:
                        following = chunks[first, 0]
                        chunks[first, 0], blank, first, place = blank, first, following, 1
                else:
                    break
                mask = masks[message, q]
                if mask & bit:
                    masks[message, q] = mask ^ bit
                    held -= 1
                    continue
                if mask != 0:
                    twice = (message << 32) + q + 1
                    continue
                masks[message, q] = DELIVERED | (opens[q] & ~bit)
                held += ones(opens[q] & ~bit)
                if log.shape[0]:
                    log[deliveries, 0], log[deliveries, 1], log[deliveries, 2] = now, q, message
                deliveries += 1
                for i in range(1, int(wires[q, 0]) + 1):
                    spoke = wheel[(now + delays[q, i - 1]) & room]
                    if spoke.first < 0 or spoke.filled == CHUNK:
                        fresh = blank
                        blank = chunks[fresh, 0]
                        if spoke.first < 0:
                            spoke.first = fresh
                        else:
                            chunks[spoke.last, 0] = fresh
                        spoke.last, spoke.filled = fresh, 0
                    spoke.filled += 1
                    target = int(wires[q, i])
                    chunks[spoke.last, spoke.filled] = (
                        (message << 40) | ((target >> TARGET_SHIFT) << 6) | (target & 63)
                    )
                    flying += 1
            peak = max(peak, held)
            area += held
            now += 1
        totals.receipts, totals.deliveries, totals.twice = receipts, deliveries, twice
        totals.area, totals.peak, totals.held, totals.ended = area, peak, held, now - 1

    return kernel


_flood = entry(_make)
_flood_wheel = entry(_make_wheel)
