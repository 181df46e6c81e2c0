"""An algorithm of somebody's own, as a file outside the package: the template under another name."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import aforesaid.testing.template

TEXT = Path(aforesaid.testing.template.__file__).read_text()


def write(directory: Path, name: str, **replaced: str) -> Path:
    """NAME.py in a directory, with an entry of that name; words of the text may be replaced."""
    text = TEXT.replace('name="mine"', f'name="{name}"')
    for old, new in replaced.items():
        text = text.replace(old, new)
    file = directory / f"{name}.py"
    file.write_text(text)
    return file


@contextmanager
def forgotten(directory: Path) -> Iterator[None]:
    """What is imported from a directory in the block is gone after it."""
    try:
        yield
    finally:
        for name, module in list(sys.modules.items()):
            if (getattr(module, "__file__", None) or "").startswith(str(directory)):
                del sys.modules[name]
