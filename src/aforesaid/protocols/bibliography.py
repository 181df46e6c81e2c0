"""The works that our algorithms come from, and how a place in one of them is cited.

Law: a work is cited by authors, year and section, never by a file; `str(cite(key, section))` is that
citation, and it is what docstrings, pages and catalog entries say. The works stand in `bibliography.toml`;
docs/bibliography.md is that list, and a test holds the two equal.
"""

import tomllib
from dataclasses import dataclass
from importlib.resources import files

from aforesaid.core import Misuse


@dataclass(frozen=True, kw_only=True)
class Reference:
    """One work. `authors` are written "Surname, Given names"."""

    key: str
    authors: tuple[str, ...]
    title: str
    venue: str
    year: int | None = None
    """None if the work bears no date."""
    used_for: str
    """What of this package comes from it."""
    doi: str = ""
    url: str = ""
    suffix: str = ""
    """"a", "b": tells apart works of the same authors and year."""

    @property
    def label(self) -> str:
        """Authors and year, as in "Raynal, Schiper and Toueg (1991)"; no two works share one."""
        surnames = [author.partition(",")[0] for author in self.authors]
        if len(surnames) > 3:
            names = f"{surnames[0]} and others"
        else:
            names = " and ".join(filter(None, (", ".join(surnames[:-1]), surnames[-1])))
        return f"{names} ({self.year or 'undated'}{self.suffix})"

    @property
    def link(self) -> str:
        """Where to find it: the DOI's address, else `url`, else nothing."""
        return f"https://doi.org/{self.doi}" if self.doi else self.url


@dataclass(frozen=True)
class Citation:
    """A place in a work."""

    reference: Reference
    section: str = ""
    """As in "section 5.6, algorithm 2"; empty for the work as a whole."""

    def __str__(self) -> str:
        return ", ".join(filter(None, (self.reference.label, self.section)))


def cite(key: str, section: str = "") -> Citation:
    """The citation of a work of this bibliography."""
    if key not in BIBLIOGRAPHY:
        raise Misuse(f"unknown work {key!r}; there are: {', '.join(BIBLIOGRAPHY)}")
    return Citation(BIBLIOGRAPHY[key], section)


_WORKS = tomllib.loads(files(__package__).joinpath("bibliography.toml").read_text())["work"]

BIBLIOGRAPHY = {work["key"]: Reference(**work | {"authors": tuple(work["authors"])}) for work in _WORKS}
"""Every work by its key, in the order of the authors' names."""
