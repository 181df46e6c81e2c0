"""`aforesaid report`: one page to read."""

from pathlib import Path

from aforesaid.cli import show
from aforesaid.core import Misuse
from aforesaid.report.findings import read_findings
from aforesaid.report.page import page


def write_report(directories: list[Path], out: Path, force: bool) -> None:
    if out.exists() and not force:
        raise Misuse(f"{out} exists; choose another --out or pass --force")
    text = page(read_findings(directories))
    try:
        out.write_text(text)
    except OSError as error:
        raise Misuse(f"cannot write {out}: {error.strerror}") from error
    show.out.print(f"report: {out} ({len(text) / 1024:,.0f} kB); open it in a browser")
