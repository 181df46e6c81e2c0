"""What tells runs apart: the keys of their scenarios that differ, and a word for each combination."""

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

_COLUMNS_OF_THEIR_OWN = ("algorithm", "processes", "seed")


def settings(scenarios: Sequence[str]) -> list[str]:
    """For each scenario (as JSON) what it has of the keys that differ: `loss=0.1`; empty if none do.

    The algorithm, the size and the seed are left out: they have columns of their own. A key is called by its
    last word where that is clear.
    """
    flat = [dict(_leaves(_plain(text))) for text in scenarios]
    keys = dict.fromkeys(key for one in flat for key in one)
    differ = [key for key in keys if len({one.get(key) for one in flat}) > 1]
    words = [key.rpartition(".")[2] for key in differ]
    names = [word if words.count(word) == 1 else key for key, word in zip(differ, words, strict=True)]
    return [
        ", ".join(f"{name}={one[key]}" for key, name in zip(differ, names, strict=True) if key in one)
        for one in flat
    ]


def _plain(text: str) -> Mapping[str, Any]:
    try:
        data = json.loads(text)
    except ValueError:
        return {}
    if not isinstance(data, dict):
        return {}
    return {key: value for key, value in data.items() if key not in _COLUMNS_OF_THEIR_OWN}


def _leaves(value: Any, key: str = "") -> Iterator[tuple[str, str]]:
    if isinstance(value, dict):
        for name, item in value.items():
            yield from _leaves(item, f"{key}.{name}" if key else name)
    elif isinstance(value, list):
        for number, item in enumerate(value):
            yield from _leaves(item, f"{key}[{number}]")
    elif value is not None:
        yield key, f"{value:g}" if isinstance(value, float) else json.dumps(value).strip('"')
