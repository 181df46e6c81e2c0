"""Identities, errors and the picture of a state."""

import pickle
import subprocess
import sys
from collections import deque

import pytest

from aforesaid import MessageId
from aforesaid.core import freeze, message_label, process_label


def test_a_message_id_reads_as_origin_and_number() -> None:
    assert str(MessageId("p2", 0, 5)) == "p2#5"
    assert str(MessageId("p2", 3, 5)) == "p2~3#5"
    assert process_label("p2", 1) == "p2~1"
    assert message_label("p2", 0, 1) == "p2#1"


class Box:
    __slots__ = ("content",)

    def __init__(self, content: object) -> None:
        self.content = content


@pytest.mark.parametrize(
    ("one", "other", "equal"),
    [
        ({"a": [1], "b": 2}, {"b": 2, "a": [1]}, True),
        ({1, 2}, {2, 1}, True),
        ([1, 2], [2, 1], False),
        (deque([1]), [1], True),
        ((1, 2), [1, 2], False),
        (MessageId("a", 0, 1), ("a", 0, 1), False),
        (Box({1: [2]}), Box({1: [2]}), True),
        (Box({1: [2]}), Box({1: [3]}), False),
        (bytearray(b"x"), bytearray(b"x"), True),
    ],
)
def test_pictures_are_equal_exactly_when_contents_are(one: object, other: object, equal: bool) -> None:
    assert (freeze(one) == freeze(other)) is equal
    if equal:
        assert hash(freeze(one)) == hash(freeze(other))


def test_a_message_id_survives_pickling() -> None:
    message_id = MessageId("a", 1, 2)
    assert pickle.loads(pickle.dumps(message_id)) == message_id


def test_importing_the_package_imports_nothing_heavy() -> None:
    heavy = "{'numba', 'pyspark', 'matplotlib', 'pyarrow', 'numpy', 'typer', 'rich', 'asyncio'}"
    code = f"import sys, aforesaid; print(sorted({heavy} & set(sys.modules)))"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert loaded.stdout.strip() == "[]"
