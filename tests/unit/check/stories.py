"""Traces told as stories: what each process did, in order.

    tell({"a": ["!1", "b1"], "b": ["a1", "!1>a"]})

says that a sent its first message to all and then delivered b's; b delivered a's and then sent its first, to
a alone. Processes have one letter. `c9` delivered without ever being sent is a message that nobody sent; `?7`
is delivery of row 7, whether there is one or not. `=a1` calls a's first message stable; `=?7` row 7.
Messages are rows in the order of the story.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from aforesaid.trace import NEVER_SENT, Lists, MemoryTrace, Messages, Processes, Run, Stabilities


def tell(
    story: Mapping[str, Sequence[str]],
    *,
    after: Mapping[str, Sequence[str]] | None = None,
    fates: Mapping[str, str] | None = None,
    bases: Mapping[str, Sequence[str]] | None = None,
    incomplete: str = "",
    sent_ns: Mapping[str, int] | None = None,
    delivered_ns: Mapping[tuple[str, str], int] | None = None,
    stable_ns: Mapping[tuple[str, str], int] | None = None,
    run: Run | None = None,
    **run_fields: Any,
) -> MemoryTrace:
    """The trace of a story; recorded truly, but for what `after` says of some messages."""
    names = list(story)
    sends = {f"{name}{event[1]}": event[3:] for name in names for event in story[name] if event[0] == "!"}
    delivered = [
        event.strip("=") for name in names for event in story[name] if event.strip("=")[0] not in "!?"
    ]
    rows = list(dict.fromkeys([*sends, *delivered]))
    index = {label: row for row, label in enumerate(rows)}
    sent_after = dict.fromkeys(rows, NEVER_SENT)
    learned: dict[str, list[str]] = {row: [] for row in rows}
    logs: list[list[tuple[int, int]]] = []
    calls: list[tuple[int, int, int, int]] = []
    for name in names:
        log: list[tuple[int, int]] = []
        fresh: list[str] = []
        for event in story[name]:
            if event[0] == "!":
                label = name + event[1]
                sent_after[label] = len(log)
                learned[label], fresh = fresh, [label]
            elif event[0] == "=":
                row = int(event[2:]) if event[1] == "?" else index[event[1:]]
                time = (stable_ns or {}).get((name, event[1:]), 0)
                calls.append((names.index(name), row, time, len(log)))
            else:
                row = int(event[1:]) if event[0] == "?" else index[event]
                log.append((row, (delivered_ns or {}).get((name, event), 0)))
                if event[0] not in (name, "?"):
                    fresh = [*fresh, event]
        logs.append(log)
    recorded = {**{label: list(dict.fromkeys(before)) for label, before in learned.items()}, **(after or {})}
    count = len(names)
    return MemoryTrace(
        run=run or Run("story", **{"clock": "local", **run_fields}),
        processes=Processes(
            name=names,
            incarnation=np.zeros(count, np.int32),
            began_ns=np.zeros(count, np.int64),
            ended_ns=np.full(count, -1, np.int64),
            fate=[(fates or {}).get(name, "alive") for name in names],
            joined=np.array([name in (bases or {}) for name in names], np.bool_),
            base=Lists.of([[index[label] for label in (bases or {}).get(name, ())] for name in names]),
            complete=np.array([name not in incomplete for name in names], np.bool_),
        ),
        messages=Messages(
            origin=np.array([names.index(row[0]) if row[0] in names else -1 for row in rows], np.int32),
            number=np.array([int(row[1]) for row in rows], np.int32),
            time_ns=np.array([(sent_ns or {}).get(row, 0) for row in rows], np.int64),
            sent_after=np.array([sent_after[row] for row in rows], np.int32),
            after=Lists.of([[index[label] for label in recorded[row]] for row in rows]),
            to_all=np.array([not sends.get(row) for row in rows], np.bool_),
            audience=Lists.of([[names.index(name) for name in sends.get(row, "")] for row in rows]),
        ),
        delivery_offsets=np.cumsum([0] + [len(log) for log in logs]),
        delivery_message=np.array([row for log in logs for row, _ in log], np.int32),
        delivery_time_ns=np.array([time for log in logs for _, time in log], np.int64),
        stabilities=stabilities(calls),
    )


def stabilities(calls: Sequence[tuple[int, int, int, int]]) -> Stabilities:
    """The table of calls told as (process, message, time, position)."""
    process, message, time_ns, position = zip(*calls, strict=True) if calls else ((),) * 4
    return Stabilities(
        np.array(process, np.int32),
        np.array(message, np.int32),
        np.array(time_ns, np.int64),
        np.array(position, np.int32),
    )
