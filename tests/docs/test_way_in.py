"""What a newcomer meets first: links that lead somewhere, a citation of this version, two commands in CI."""

import re
import tomllib
from pathlib import Path

import pytest

import aforesaid
from aforesaid.protocols.bibliography import BIBLIOGRAPHY
from docs.markdown_blocks import blocks

ROOT = Path(__file__).resolve().parents[2]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md"))]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_somewhere(page: Path) -> None:
    links = re.findall(r"\]\((?!https?://)([^)#\s]+)", page.read_text())
    assert [link for link in links if not (page.parent / link).exists()] == []


def test_every_page_is_linked_from_the_readme() -> None:
    readme = (ROOT / "README.md").read_text()
    assert [page.name for page in PAGES[1:] if f"{page.relative_to(ROOT)})" not in readme] == []


def test_the_citation_is_of_this_version() -> None:
    text = (ROOT / "CITATION.cff").read_text()
    facts = dict(re.findall(r"^([\w-]+): (.+)$", text, re.MULTILINE))
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert facts["version"] == aforesaid.__version__ == project["version"]
    assert facts["license"] == project["license"]
    assert facts["title"] == project["name"]
    assert set(re.findall(r"^    doi: (.+)$", text, re.MULTILINE)) <= {
        work.doi for work in BIBLIOGRAPHY.values()
    }


def test_the_workflow_calls_the_two_commands_of_the_readme_and_no_others() -> None:
    workflow = (ROOT / ".github" / "workflows" / "ci.yml").read_text()
    ordered = [command for command in re.findall(r"- run: (.+)", workflow) if "sysctl" not in command]
    assert ordered == ["make demo", "make test"]
    for page in PAGES[:2]:
        first = blocks(page, ROOT)[0]
        assert re.findall(r"^(make \w+)", first.text, re.MULTILINE) == ["make demo", "make test"]


def test_comments_above_a_block_are_read(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text(
        "Text.\n<!-- first: aforesaid check t -->\n<!-- quick: exits 0, 1 -->\n```sh\n"
        "$ aforesaid check t --json | head  # remark\nA=1 aforesaid why d p0#7 \\\n  --json\n"
        "ls aforesaid\n```\n"
        "<!-- quick -->\n\n```python\naforesaid = 1\n```\n"
    )
    shell, python = blocks(page, tmp_path)
    assert (shell.place, shell.said) == ("page.md:4", {"first": "aforesaid check t", "quick": "exits 0, 1"})
    assert shell.commands == [["check", "t", "--json"], ["why", "d", "p0#7", "--json"]]
    assert (python.language, python.said, python.commands) == ("python", {}, [])
