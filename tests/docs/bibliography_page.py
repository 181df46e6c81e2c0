"""docs/bibliography.md as the module has it: `python tests/docs/bibliography_page.py` writes it anew."""

from pathlib import Path

from aforesaid.protocols.bibliography import BIBLIOGRAPHY, Reference

PAGE = Path(__file__).resolve().parents[2] / "docs" / "bibliography.md"

HEAD = """# Bibliography

The works that the algorithms here come from. Source files, pages and catalog entries cite them by the bold
words and a section; Python gets them from `aforesaid.protocols.bibliography` by the key:
`str(cite("almeida2026hybrid", "section 5.6, algorithm 2"))`. Where no DOI stands we have not seen one. What
is implemented otherwise than printed is in [corrections](corrections.md). This page is written by
`python tests/docs/bibliography_page.py`.
"""


def page() -> str:
    """The whole page."""
    return "\n".join([HEAD, *map(_paragraph, BIBLIOGRAPHY.values())])


def _paragraph(work: Reference) -> str:
    authors = "; ".join(work.authors).rstrip(".")
    where = f" [{work.doi or work.url}]({work.link})." if work.link else ""
    return (
        f"- **{work.label}**: {authors}. *{work.title}*. {work.venue}.{where}\n"
        f"  Here: {work.used_for}. Key: `{work.key}`."
    ).replace("?*.", "?*") + "\n"


if __name__ == "__main__":
    PAGE.write_text(page())
