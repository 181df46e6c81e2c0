"""`aforesaid report`: one page to read."""

import os
from pathlib import Path

from aforesaid.cli import show
from aforesaid.core import Misuse
from aforesaid.report.findings import read_findings
from aforesaid.report.page import page


def write_report(
    directories: list[Path], out: Path, note: Path | None, view: Path | None, force: bool
) -> None:
    if out.exists() and not force:
        raise Misuse(f"{out} exists; choose another --out or pass --force")
    found = read_findings(directories)
    if note is not None:
        found.note = _text(note)
    if view is not None:
        # As a browser that reads the report finds it.
        found.explorer = Path(os.path.relpath(view, out.parent)).as_posix()
    text = page(found)
    try:
        out.write_text(text)
    except OSError as error:
        raise Misuse(f"cannot write {out}: {error.strerror}") from error
    show.out.print(f"report: {out} ({len(text) / 1024:,.0f} kB); open it in a browser")


def _text(path: Path) -> str:
    try:
        return path.read_text()
    except (OSError, UnicodeDecodeError) as error:
        raise Misuse(f"cannot read {path}: {error}") from error
