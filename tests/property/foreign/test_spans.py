"""Span graphs are judged as by all pairs, whatever they were exported as; sampled ones never falsely."""

from collections import Counter
from pathlib import Path
from random import Random

from aforesaid.foreign import Mapping, read
from aforesaid.foreign.events import Count
from property.foreign.random_spans import as_jaeger, as_otlp, judged, overtaken, random_spans, value_of
from support.scale import scaled

SEEDS = scaled(1_500, 30_000)
STORED_SEEDS = scaled(60, 1_000)


def test_agrees_with_all_pairs() -> None:
    values: Counter[str] = Counter()
    for seed in range(SEEDS):
        spans = random_spans(seed)
        value = value_of(spans)
        values[value] += 1
        if value != "none":
            assert value == ("violated" if overtaken(spans) else "kept"), f"seed {seed}: {spans}"
    assert min(values["kept"], values["violated"]) > SEEDS / 20, values


def test_nothing_sampled_is_called_violated() -> None:
    values: Counter[str] = Counter()
    for seed in range(SEEDS):
        spans = random_spans(seed)
        if not overtaken(spans):
            random = Random(seed)
            left = [span for span in spans if random.random() < 0.7]
            value = value_of(left)
            assert value != "violated", f"seed {seed}: {left}"
            values[value] += 1
    assert min(values["kept"], values["unknown"]) > SEEDS / 20, values


def test_exports_tell_the_same(tmp_path: Path) -> None:
    for seed in range(STORED_SEEDS):
        spans = random_spans(seed)
        for format, text in (("otlp", as_otlp(spans)), ("jaeger", as_jaeger(spans))):
            path = tmp_path / format
            path.write_text(text)
            if any(span.kind in ("client", "producer") for span in spans):
                count = Count()
                events, causality = read(format, [path], Mapping(), None, count)
                assert causality == "declared"
                assert count.records == len(spans), f"seed {seed}, {format}: {count}"
                report = judged(events, count)
                assert report.value() == value_of(spans), f"seed {seed}, {format}"
