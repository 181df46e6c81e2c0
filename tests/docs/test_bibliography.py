"""What is cited is in the bibliography, the page is the module, and no file is cited that is not here."""

import re
from pathlib import Path

import pytest

from aforesaid.core import Misuse
from aforesaid.protocols.bibliography import BIBLIOGRAPHY, Reference, cite
from aforesaid.protocols.catalog import CATALOG
from docs.bibliography_page import PAGE, page

ROOT = Path(__file__).resolve().parents[2]
LABELS = {work.label for work in BIBLIOGRAPHY.values()}
CITED = re.compile(r"([A-Z]\w+|others) \(((?:1[89]|20)\d\d[a-z]?|undated)\)")
"""The last name and the year of a citation."""
ENDS = {(match[1], match[2]) for label in LABELS for match in CITED.finditer(label)}
PLACES = ("src", "docs", "tests", "benchmarks", "examples", "scenarios", "README.md", "CONTRIBUTING.md")
OUTSIDE = re.compile(
    r"algorithms`?, section|our papers|[(\"]slides, |\bshared/(?:papers|design)"
    r"|(?:prc-broadcast|hybrid-buffering|positive-acknowledgment|slides)[\w-]*\.txt"
)


def texts() -> list[tuple[str, str]]:
    """Every text file of ours by its path, this one aside."""
    files = [
        file for place in PLACES for file in ([ROOT / place] if "." in place else (ROOT / place).rglob("*"))
    ]
    return [
        (str(file.relative_to(ROOT)), file.read_text())
        for file in files
        if file.suffix in (".py", ".md", ".toml", ".sh") and file != Path(__file__).resolve()
    ]


def test_the_page_is_the_module() -> None:
    assert PAGE.read_text() == page(), "python tests/docs/bibliography_page.py"


def test_a_citation_is_authors_year_and_section() -> None:
    assert (
        str(cite("almeida2026hybrid", "section 5.6, algorithm 2"))
        == "Almeida (2026), section 5.6, algorithm 2"
    )
    assert str(cite("mattern1995lightweight")) == "Mattern and Fünfrocken (1995)"
    assert str(cite("nedelec2018forget", "section 3")) == "Nédelec, Molli and Mostéfaoui (2018b), section 3"
    assert str(cite("nedelec2017spray")) == "Nédelec and others (2017)"
    assert str(cite("guerraoui-slides", "algorithm 1'")) == "Guerraoui (undated), algorithm 1'"


def test_an_unknown_work_is_misuse() -> None:
    with pytest.raises(Misuse, match="unknown work 'almeida1999'; there are: almeida2026hybrid, "):
        cite("almeida1999")


def test_no_two_works_are_cited_alike() -> None:
    assert len(LABELS) == len(BIBLIOGRAPHY)


@pytest.mark.parametrize("work", BIBLIOGRAPHY.values(), ids=BIBLIOGRAPHY)
def test_a_work_says_what_it_is(work: Reference) -> None:
    assert all(re.fullmatch(r"[^,]+, [^,]+", author) for author in work.authors)
    assert work.title
    assert work.venue
    assert re.fullmatch(r"(10\.\d{4,5}/\S+)?", work.doi)
    assert work.link == "" or work.link.startswith("https://")
    named = re.findall(r"`(\w+)`", work.used_for)
    assert set(named) <= set(CATALOG), "used_for names algorithms of the catalog"


def test_every_algorithm_has_its_works() -> None:
    named = {name for work in BIBLIOGRAPHY.values() for name in re.findall(r"`(\w+)`", work.used_for)}
    variants = {name for name in CATALOG if name.removesuffix("_uniform").removesuffix("_majority") in named}
    assert variants == set(CATALOG)


def test_every_citation_is_in_the_bibliography() -> None:
    missing = [
        f"{path}: {match[0]}"
        for path, text in texts()
        for match in CITED.finditer(text)
        if (match[1], match[2]) not in ENDS
    ]
    assert missing == []


def test_nothing_is_cited_that_is_not_here() -> None:
    missing = [f"{path}: {match[0]}" for path, text in texts() for match in OUTSIDE.finditer(text)]
    assert missing == []
