"""The fenced blocks of a page, each with what an HTML comment directly above it says of it.

- `<!-- not run: reason -->`: cannot be run, nor parsed as a command of ours;
- `<!-- quick -->`, `<!-- quick: exits 0, 1 -->`: the commands are run, and end like this;
- `<!-- file: alice.toml -->`: the block is written to this file;
- `<!-- first: aforesaid ... -->`, or `python ...`: what the text takes for granted; run before the block;
- `<!-- beside: bob at 127.0.0.1:7402 -->`: a Python program that runs until it is stopped, and this peer.
"""

import re
import shlex
from dataclasses import dataclass
from pathlib import Path

_FENCE = re.compile(r"^ *```(\w*)\n(.*?)^ *```$", re.MULTILINE | re.DOTALL)
_ABOVE = re.compile(r"((?:<!-- [^\n]* -->\n)*)\Z")
_SAID = re.compile(r"<!-- ([\w ]+?)(?:: (.*))? -->")
_KINDS = {"not run", "quick", "file", "first", "beside"}


@dataclass(frozen=True)
class Block:
    """One fenced block."""

    page: str
    line: int
    language: str
    text: str
    said: dict[str, str]
    """The comments above it, by their first word."""

    @property
    def place(self) -> str:
        return f"{self.page}:{self.line}"

    @property
    def commands(self) -> list[list[str]]:
        """The words of each `aforesaid` command in it."""
        if self.language not in ("", "sh"):
            return []
        lines = [line for line in self._lines() if re.search(r"\baforesaid [a-z-]", line)]
        return [words[1:] for line in lines for words in _split(line) if words[:1] == ["aforesaid"]]

    def _lines(self) -> list[str]:
        """Its lines without prompts and remarks; a line that is continued is one."""
        whole = self.text.replace("\\\n", " ")
        return [re.sub(r"(^|\s)# .*", "", line.removeprefix("$ ")) for line in whole.splitlines()]


def _split(line: str) -> list[list[str]]:
    """The words of each command of a line; settings of the environment and redirections are left out."""
    lexer = shlex.shlex(line, posix=True, punctuation_chars="&|<>")
    lexer.whitespace_split, lexer.commenters = True, ""
    found: list[list[str]] = [[]]
    for word in lexer:
        if re.fullmatch(r"[&|<>]+", word):
            found.append([])
        elif not re.match(r"[A-Z_]+=", word):
            found[-1].append(word)
    return found


def blocks(page: Path, root: Path) -> list[Block]:
    """All blocks of a page."""
    text = page.read_text()
    found = []
    for fence in _FENCE.finditer(text):
        above = _ABOVE.search(text[: fence.start()])
        said = dict(_SAID.findall(above[1] if above else ""))
        line = text.count("\n", 0, fence.start()) + 1
        known = {kind: what for kind, what in said.items() if kind in _KINDS}
        found.append(Block(str(page.relative_to(root)), line, fence[1], fence[2], known))
    return found
