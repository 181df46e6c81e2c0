"""No two modules of tests have one name: pytest would collect the first and stop at the second."""

from collections import Counter
from pathlib import Path

TESTS = Path(__file__).parents[1]


def test_every_module_of_tests_has_a_name_of_its_own() -> None:
    names = Counter(path.name for path in TESTS.rglob("test_*.py"))
    assert len(names) > 100
    assert [name for name, times in names.items() if times > 1] == []
