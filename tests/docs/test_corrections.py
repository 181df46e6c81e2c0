"""docs/corrections.md: every correction has a number and a test that is there; every citation is met."""

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "corrections.md").read_text()
ROWS = re.findall(r"^\| ([A-Z]\d+) \|(.*)\|$", PAGE, re.MULTILINE)
NUMBERS = [number for number, _ in ROWS]
CITATION = re.compile(r"docs/corrections\.md, ([A-Z]\d+)(?: to ([A-Z]\d+))?")


def test_numbers_are_unique_and_without_gaps() -> None:
    families: dict[str, list[int]] = {}
    for number in NUMBERS:
        families.setdefault(number[0], []).append(int(number[1:]))
    assert set(families) == {"S", "A", "P", "V", "R", "B"}
    assert len(families["R"]) == 14
    assert all(numbers == list(range(1, len(numbers) + 1)) for numbers in families.values())


def test_every_correction_names_tests_that_are_there() -> None:
    there = {
        name
        for file in (ROOT / "tests").rglob("test_*.py")
        for name in re.findall(r"^(?:async )?def (test_\w+)", file.read_text(), re.MULTILINE)
    }
    for number, row in ROWS:
        named = re.findall(r"`(test_\w+)`", row.rpartition(" | ")[2])
        assert named, f"{number} names no test"
        assert set(named) <= there, number


def test_every_file_named_is_there() -> None:
    for name in re.findall(r"`(tests/[\w/]+(?:\.py)?)`", PAGE):
        assert (ROOT / name).exists(), name
    for name in re.findall(r"`(test_\w+\.py)`", PAGE):
        assert (ROOT / "tests" / "paper" / name).exists(), name


def test_what_the_source_cites_is_numbered_here() -> None:
    cited = [
        number
        for room in ("src", "tests")
        for file in (ROOT / room).rglob("*.py")
        for match in CITATION.finditer(file.read_text())
        for number in filter(None, match.groups())
    ]
    assert len(cited) > 4
    assert set(cited) <= set(NUMBERS)
