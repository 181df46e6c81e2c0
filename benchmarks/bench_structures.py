"""What the containers of `aforesaid.structures` cost, and that the cost does not grow with the window.

Prints nanoseconds per step, and in brackets the ratio to a bare dict doing set + get + del on the same keys
in the same order, measured in the same run at the same window. The ratio is what to compare between machines:
it should not grow along a row while the window grows by five orders of magnitude. (Both slow down when the
window no longer fits the caches.)

    python benchmarks/bench_structures.py             the structures
    python benchmarks/bench_structures.py --designs   the designs they were chosen from, time and memory
"""

import gc
import random
import sys
import tracemalloc
from collections.abc import Callable
from functools import partial
from time import perf_counter_ns
from typing import Any

from aforesaid.structures import IndexableSlidingMap, Received, ReceivedPicture, SlidingArray

WINDOWS = (10, 100, 1_000, 10_000, 100_000, 1_000_000)
STEPS_MIN = 200_000
REPEATS = 3
MEMORY_WINDOW = 100_000

ORIGIN = ("p1", 0)

Run = Callable[[], float]
Design = Callable[[], Any]
Designs = dict[str, Design]


def main(arguments: list[str]) -> None:
    if arguments == ["--designs"]:
        table("Sliding array: slide = add + read the middle + remove", array_rows(ARRAYS))
        table("Sliding map: add + remove, in order and shuffled", map_rows(MAPS))
        memory_table()
    elif not arguments:
        table("Sliding array: slide = add + read the middle + remove", array_rows({"": SlidingArray}))
        table(
            "Sliding map: add + remove, in order and shuffled; read by index",
            map_rows({"": IndexableSlidingMap}),
        )
        table("Received.add: the window is how far numbers come out of order", received_rows)
    else:
        sys.exit("bench_structures.py takes no argument, or --designs")


# ------------------------------------------------------------------------------------------- the measure

Rows = Callable[[int], dict[str, tuple[Run, Run]]]
"""Of a window: the name of each row, what is measured, and the bare dict that it is compared with."""


def table(title: str, rows: Rows) -> None:
    print(f"\n{title}\nns per step (ratio to the bare dict)")
    cells: dict[str, list[str]] = {}
    for window in WINDOWS:
        bares: dict[Run, float] = {}
        for name, (run, bare) in rows(window).items():
            if bare not in bares:
                bares[bare] = best(bare)
                line = f"  bare dict, {getattr(bare, 'label', '')}"
                cells.setdefault(line, []).append(f"{bares[bare]:.0f} (1.0)")
            ns = best(run)
            cells.setdefault(name, []).append(f"{ns:.0f} ({ns / bares[bare]:.1f})")
    width = max(map(len, cells)) + 2
    print(f"{'window':{width}}" + "".join(f"{window:>13,}" for window in WINDOWS))
    for name, row in cells.items():
        print(f"{name:{width}}" + "".join(f"{cell:>13}" for cell in row))


def best(run: Run) -> float:
    figures = []
    for _ in range(REPEATS):
        gc.collect()
        gc.disable()
        figures.append(run())
        gc.enable()
    return min(figures)


class Bare:
    """A dict that slides over the keys: set the new one, get and delete the old one."""

    def __init__(self, label: str, keys: list[Any], leaving: list[Any], window: int) -> None:
        self.label, self.keys, self.leaving, self.window = label, keys, leaving, window

    def __call__(self) -> float:
        held = dict.fromkeys(self.keys[: self.window])
        steps = zip(self.keys[self.window :], self.leaving, strict=True)
        start = perf_counter_ns()
        for key, leaving in steps:
            held[key] = None
            held[leaving]
            del held[leaving]
        return (perf_counter_ns() - start) / len(self.leaving)


# ----------------------------------------------------------------------------------------------- the rows


def array_rows(designs: Designs) -> Rows:
    def rows(window: int) -> dict[str, tuple[Run, Run]]:
        steps = max(STEPS_MIN, window)
        keys = list(range(window + steps))
        bare = Bare("numbers", keys, keys[:steps], window)
        made: dict[str, tuple[Run, Run]] = {}
        for name, design in designs.items():
            made[f"{name}slide"] = partial(slide, design, window, steps), bare
            made[f"{name}read"] = partial(read, design, window, steps), bare
        return made

    return rows


def slide(design: Design, window: int, steps: int) -> float:
    array = design()
    for _ in range(window):
        array.add(None)
    half = window // 2
    start = perf_counter_ns()
    for _ in range(steps):
        array[array.add(None) - half]
        array.remove()
    return (perf_counter_ns() - start) / steps


def read(design: Design, window: int, steps: int) -> float:
    array = design()
    for number in range(window):
        array.add(number)
    indexes = [array.first + step * 7919 % window for step in range(steps)]
    start = perf_counter_ns()
    for index in indexes:
        array[index]
    return (perf_counter_ns() - start) / steps


def map_rows(designs: Designs) -> Rows:
    def rows(window: int) -> dict[str, tuple[Run, Run]]:
        steps = max(STEPS_MIN, window)
        keys = [("p1", number) for number in range(window + steps)]
        made: dict[str, tuple[Run, Run]] = {}
        for order, leaving in {"in order": keys[:steps], "shuffled": shuffled(keys[:steps], window)}.items():
            bare = Bare(f"permits {order}", keys, leaving, window)
            for name, design in designs.items():
                made[f"{name}{order}"] = partial(add_remove, design, keys, leaving, window), bare
        for name, design in designs.items():
            if hasattr(design, "__getitem__"):
                made[f"{name}read"] = partial(read, design, window, steps), bare
        return made

    return rows


def shuffled(items: list[Any], window: int) -> list[Any]:
    """The items in random order within each run of `window`: none leaves before it came."""
    chance = random.Random(1)
    runs = [items[start : start + window] for start in range(0, len(items), window)]
    for run in runs:
        chance.shuffle(run)
    return [item for run in runs for item in run]


def add_remove(design: Design, keys: list[Any], leaving: list[Any], window: int) -> float:
    sliding = design()
    for key in keys[:window]:
        sliding.add(key)
    steps = zip(keys[window:], leaving, strict=True)
    start = perf_counter_ns()
    for coming, going in steps:
        sliding.add(coming)
        sliding.remove(going)
    return (perf_counter_ns() - start) / len(leaving)


def received_rows(window: int) -> dict[str, tuple[Run, Run]]:
    steps = max(STEPS_MIN, window)
    keys = list(range(1, window + steps + 1))
    numbers = keys[:steps]
    bare = Bare("numbers", keys, numbers, window)
    return {
        "in order": (partial(receive, (), numbers), bare),
        "duplicates": (partial(receive, ((ORIGIN, steps, ()),), numbers), bare),
        "shuffled": (partial(receive, (), shuffled(numbers, window)), bare),
    }


def receive(before: ReceivedPicture, numbers: list[int]) -> float:
    received = Received(before)
    origin = ORIGIN
    start = perf_counter_ns()
    for number in numbers:
        received.add(origin, number)
    return (perf_counter_ns() - start) / len(numbers)


# ------------------------------------------------------------------------------------ designs not chosen


class DictArray:
    """A dict keyed by index."""

    __slots__ = ("first", "items", "next")

    def __init__(self) -> None:
        self.first = self.next = 1
        self.items: dict[int, Any] = {}

    def add(self, element: Any) -> int:
        index = self.next
        self.items[index] = element
        self.next = index + 1
        return index

    def remove(self) -> Any:
        first = self.first
        element = self.items.pop(first)
        self.first = first + 1
        return element

    def __getitem__(self, index: int) -> Any:
        try:
            return self.items[index]
        except KeyError:
            raise IndexError(index) from None


class BlockArray:
    """Figure 3a: a small array of pointers to larger arrays, of 512 here."""

    __slots__ = ("base", "blocks", "first", "last", "next")

    def __init__(self) -> None:
        self.first = self.next = 1
        self.base = 0
        self.last: list[Any] = [None]
        self.blocks = [self.last]

    def add(self, element: Any) -> int:
        index = self.next
        self.last.append(element)
        self.next = index + 1
        if not self.next & 511:
            self.last = []
            self.blocks.append(self.last)
        return index

    def remove(self) -> Any:
        first = self.first
        if first == self.next:
            raise IndexError(first)
        block = self.blocks[0]
        at = first & 511
        element = block[at]
        block[at] = None
        self.first = first + 1
        if at == 511:
            del self.blocks[0]
            self.base += 1
        return element

    def __getitem__(self, index: int) -> Any:
        if self.first <= index < self.next:
            return self.blocks[(index >> 9) - self.base][index & 511]
        raise IndexError(index)


class BitMap:
    """Figure 3b: a map and a sliding array of bits (bytes: CPython deletes their front in place)."""

    __slots__ = ("bits", "first", "indexes", "next")

    def __init__(self) -> None:
        self.first = self.next = 1
        self.indexes: dict[Any, int] = {}
        self.bits = bytearray()

    def add(self, key: Any) -> int:
        if key in self.indexes:
            raise ValueError(key)
        index = self.next
        self.indexes[key] = index
        self.bits.append(1)
        self.next = index + 1
        return index

    def remove(self, key: Any) -> int:
        index = self.indexes.pop(key)
        first = self.first
        if index != first:
            self.bits[index - first] = 0
        else:
            bits = self.bits
            passed = bits.find(1, 1)
            if passed < 0:
                passed = len(bits)
            del bits[:passed]
            self.first = first + passed
        return index


class OptionalMap:
    """Section 5.3's indexable variant: a map and a sliding array of optional keys."""

    __slots__ = ("indexes", "keys")

    def __init__(self) -> None:
        self.indexes: dict[Any, int] = {}
        self.keys: SlidingArray[Any] = SlidingArray()

    def add(self, key: Any) -> int:
        if key in self.indexes:
            raise ValueError(key)
        index = self.indexes[key] = self.keys.add(key)
        return index

    def remove(self, key: Any) -> int:
        index = self.indexes.pop(key)
        keys = self.keys
        keys[index] = None
        while keys.first < keys.next and keys.peek is None:
            keys.remove()
        return index


ARRAYS: Designs = {
    "list (ours) ": SlidingArray,
    "dict ": DictArray,
    "blocks ": BlockArray,
}
MAPS: Designs = {
    "two maps (ours) ": IndexableSlidingMap,
    "map + bits ": BitMap,
    "map + sliding array ": OptionalMap,
}


def memory_table() -> None:
    print(f"\nMemory: bytes per entry of a window of {MEMORY_WINDOW:,}, and bytes held once it has drained")
    keys = [("p1", number) for number in range(MEMORY_WINDOW)]
    for name, design in (ARRAYS | MAPS).items():
        gc.collect()
        tracemalloc.start()
        container = design()
        for key in keys:
            container.add(key)
        full = tracemalloc.get_traced_memory()[0]
        for key in keys:
            if name in ARRAYS:
                container.remove()
            else:
                container.remove(key)
        drained = tracemalloc.get_traced_memory()[0]
        tracemalloc.stop()
        print(f"{name:24}{full / MEMORY_WINDOW:>8.1f}{drained:>14,}")


if __name__ == "__main__":
    main(sys.argv[1:])
