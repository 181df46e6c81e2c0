"""A bucket hands events on as the definition says, whatever comes when, saved and loaded in between."""

import random
from typing import Any

import pyarrow as pa
import pytest

from aforesaid import Misuse
from aforesaid.order import Full, Order
from aforesaid.pipeline.ordering.bucket import Bucket, Columns, Limits

SCHEMA = pa.schema(
    [
        ("shop", pa.string()),
        ("name", pa.int64()),
        ("after", pa.list_(pa.int64())),
        ("price", pa.decimal128(9, 2)),
        ("amount", pa.int64()),
    ]
)
KEYED = Columns("name", "after", "shop", 16)
PLAIN = Columns("name", "after", None, 16)
BEYOND_FLOATS = 2**53 + 1
Event = dict[str, Any]


def event(shop: str | None, name: int | None, *after: int) -> Event:
    amount = None if name is None or name % 3 else BEYOND_FLOATS
    return {"shop": shop, "name": name, "after": list(after), "price": None, "amount": amount}


def graph(chance: random.Random, count: int) -> list[Event]:
    """Three keys, one of them null, that use the same ids."""
    events = []
    for shop in ("north", "south", None):
        for name in range(count):
            earlier = range(max(0, name - 20), name)
            events.append(event(shop, name, *chance.sample(earlier, min(len(earlier), chance.randrange(4)))))
    return events


class Stream:
    """Batches one after the other, each by a new bucket, as in a new process."""

    def __init__(self, columns: Columns, limits: Limits | None = None) -> None:
        self.columns, self.limits = columns, limits or Limits()
        self.saved: Any = None
        self.rows: list[Event] = []
        self.bucket = Bucket(self.columns, self.limits)

    def batch(self, events: list[Event] | None, now_s: float = 1000.0) -> list[Event]:
        self.bucket = Bucket(self.columns, self.limits, self.saved)
        table = None if events is None else pa.Table.from_pylist(events, SCHEMA)
        rows: list[Event] = self.bucket.step(table, now_s).to_pylist()
        self.saved = self.bucket.saved()
        self.rows += rows
        return rows


def batches(chance: random.Random, events: list[Event]) -> list[list[Event]]:
    coming = events + chance.sample(events, len(events) // 4)
    chance.shuffle(coming)
    cuts = sorted(chance.sample(range(len(coming)), chance.randrange(1, 9)))
    return [coming[start:end] for start, end in zip([0, *cuts], [*cuts, len(coming)], strict=True)]


def causes(row: Event) -> set[tuple[Any, Any]]:
    return {(row["shop"], each) for each in row["after"]}


@pytest.mark.parametrize("seed", range(40))
def test_each_is_handed_on_once_in_causal_order_and_as_it_came(seed: int) -> None:
    chance = random.Random(seed)
    events = graph(chance, chance.randrange(1, 120))
    stream = Stream(KEYED)
    came: set[tuple[Any, Any]] = set()
    for batch in batches(chance, events):
        came |= {(row["shop"], row["name"]) for row in batch}
        stream.batch(batch)
        # By the definition: what has come with all that it follows, directly or not.
        ready: set[tuple[Any, Any]] = set()
        for row in events:
            if (row["shop"], row["name"]) in came and causes(row) <= ready:
                ready.add((row["shop"], row["name"]))
        assert {(row["shop"], row["name"]) for row in stream.rows} == ready, f"seed {seed}"
    before: set[tuple[Any, Any]] = set()
    for row in stream.rows:
        assert causes(row) <= before, f"seed {seed}"
        before.add((row["shop"], row["name"]))
    assert [row["turn"] for row in stream.rows] == list(range(len(events)))
    plain = [{name: row[name] for name in SCHEMA.names} for row in stream.rows]
    assert sorted(map(str, plain)) == sorted(map(str, events)), f"seed {seed}"


@pytest.mark.parametrize("seed", range(20))
@pytest.mark.parametrize("dead_letters", [False, True])
def test_what_never_comes_is_told_and_nothing_is_silent(seed: int, dead_letters: bool) -> None:
    chance = random.Random(seed)
    events = graph(chance, 60)
    lost = {(row["shop"], row["name"]) for row in events if chance.random() < 0.05}
    coming = [row for row in events if (row["shop"], row["name"]) not in lost]
    stream = Stream(KEYED, Limits(5.0, dead_letters))
    for batch in batches(chance, coming):
        stream.batch(batch)
    due_s = stream.bucket.due_s
    assert due_s is None or due_s == 1005.0
    stream.batch(None, 1004.9)
    early = len(stream.rows)
    stream.batch(None, 1005.0)
    assert (len(stream.rows) > early) == (due_s is not None)
    assert stream.bucket.due_s is None
    assert sorted((str(row["shop"]), row["name"]) for row in stream.rows) == sorted(
        (str(row["shop"]), row["name"]) for row in coming
    )
    doomed = set(lost)
    for row in events:
        if causes(row) & doomed:
            doomed.add((row["shop"], row["name"]))
    before: set[tuple[Any, Any]] = set()
    for row in stream.rows:
        name = (row["shop"], row["name"])
        assert row["given_up"] == (dead_letters and name in doomed), f"seed {seed}"
        lacking = {(row["shop"], each) for each in row["lacking"]}
        if row["given_up"]:
            assert lacking, f"seed {seed}"
            assert lacking <= causes(row) & doomed, f"seed {seed}"
        else:
            assert lacking == causes(row) - before, f"seed {seed}"
            before.add(name)


def test_who_comes_after_its_followers_were_handed_on_is_late() -> None:
    stream = Stream(PLAIN, Limits(5.0))
    stream.batch([event("", 2, 1)])
    assert [row["lacking"] for row in stream.batch(None, 1006.0)] == [[1]]
    assert [(row["name"], row["late"]) for row in stream.batch([event("", 1)], 1007.0)] == [(1, True)]


def test_what_can_never_be_handed_on_is_given_up_at_once_and_ends_nothing() -> None:
    stream = Stream(PLAIN)
    rows = stream.batch([event("", None, 1), event("", 7, 7), event("", 1)])
    assert [(row["name"], row["given_up"]) for row in rows] == [(None, True), (7, True), (1, False)]


def test_nobody_and_null_are_nothing_to_follow() -> None:
    stream = Stream(KEYED)
    rows = stream.batch([event("x", 1) | {"after": None}, event("x", 2) | {"after": [None, 1]}])
    assert [row["name"] for row in rows] == [1, 2]


def test_why_tells_of_a_key_what_an_event_waits_for_in_the_end() -> None:
    stream = Stream(KEYED)
    stream.batch([event("x", 3, 2), event("x", 2, 1), event("y", 1)])
    bucket = Bucket(KEYED, Limits(), stream.saved)
    assert str(bucket.why(3, "x", 1002.5)) == "3 has waited 2.5 s for 2, in the end for 1: not come"
    assert str(bucket.why(1, "y", 1002.5)) == "1 was handed on"
    assert bucket.why(1, "x", 1002.5).held_up == 1


def test_too_many_that_wait_for_ever_are_told_and_nothing_of_the_batch_is_taken() -> None:
    stream = Stream(PLAIN, Limits(waiting_max=1))
    stream.batch([event("", 2, 1)])
    with pytest.raises(Full, match="1 wait, and no more may; 2 has waited"):
        stream.batch([event("", 3, 1)])
    assert [row["name"] for row in stream.batch([event("", 1)])] == [1, 2]
    keyed = Stream(KEYED, Limits(waiting_max=1))
    with pytest.raises(Full, match=r"1 wait, and no more may; of north, 2 has waited 0\.0 s for 1: not come"):
        keyed.batch([event("north", 2, 1), event("south", 2, 1)])


def test_of_all_that_is_remembered_only_what_is_spoken_of_is_looked_at(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    stream = Stream(KEYED)
    stream.batch([event("x", name) for name in range(500)])
    told: list[dict[str, Any]] = []
    loaded = Order.loaded

    def noted(known: dict[str, Any], **options: Any) -> Order[int]:
        told.append(known)
        return loaded(known, **options)

    monkeypatch.setattr(Order, "loaded", noted)
    rows = stream.batch([event("x", 500, 7), event("x", 8), event("y", 7)])
    assert [(row["shop"], row["name"]) for row in rows] == [("x", 500), ("y", 7)]
    assert len(told[0]["handed"]) == 2, "7 and 8 of x"


def test_what_is_held_has_a_bound() -> None:
    stream = Stream(PLAIN, Limits(remember=50))
    stream.batch([event("", name) for name in range(100)])
    size = len(stream.saved.past)
    for first in range(100, 1000, 100):
        stream.batch([event("", name, name - 1) for name in range(first, first + 100)])
    assert len(stream.saved.past) == size
    assert [row["name"] for row in stream.rows] == list(range(1000))


def test_a_checkpoint_is_not_gone_on_with_by_other_columns() -> None:
    stream = Stream(PLAIN)
    stream.batch([event("", 1)])
    with pytest.raises(Misuse, match="buckets was 16 when this checkpoint began, and is 8"):
        Bucket(Columns("name", "after", None, 8), Limits(), stream.saved)
