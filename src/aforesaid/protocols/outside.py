"""Algorithms from outside: an entry of somebody else's module, wherever a name of the catalog would do.

A reference is `path.py:ENTRY` (a file), `module:ENTRY` (what can be imported), or a name that an installed
package offers by an entry point of the group `aforesaid.algorithms`. Whatever keeps a reference for later, or
for elsewhere, makes it `absolute` first; traces and reports bear the entry's own name.

A file is loaded under its stem and stays in `sys.modules`: so its classes can be pickled, and whoever imports
the stem meets the same classes. Where the module came without its path (`arrived`, on an executor of a
sweep), it is imported by its name. Every failure is one line that names the reference.
"""

import importlib.util
import re
import sys
import traceback
from collections.abc import Container, Iterator
from contextlib import contextmanager
from functools import cache
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from types import ModuleType

from aforesaid.core import Misuse
from aforesaid.protocols.algorithm import Algorithm, Need

GROUP = "aforesaid.algorithms"
NAME = re.compile(r"[a-z][a-z0-9_]{0,39}")
"""What an algorithm may be called: it stands in the names of runs and directories."""

_stand_ins: dict[str, Algorithm] = {}
"""By reference, what is used in its place."""


def find(reference: str, taken: Container[str] = ()) -> Algorithm | None:
    """The entry that a reference names; None if nothing is offered by that name. Some names are taken."""
    if reference in _stand_ins:
        return _stand_ins[reference]
    place = _place(reference)
    if place is None:
        return None
    entry = _loaded(reference, place)
    if entry.name in taken:
        raise Misuse(f"{reference}: {entry.name} is the name of an algorithm of ours; choose another")
    return entry


def absolute(reference: str, root: Path = Path()) -> str:
    """The same reference, wherever it is read: a file's path is relative to `root` now."""
    path, colon, attribute = reference.rpartition(":")
    return f"{(root / path).resolve()}:{attribute}" if colon and path.endswith(".py") else reference


def importable(reference: str) -> str:
    """The reference as `module:ENTRY`, for where the module can be imported and its file is not known."""
    place = _place(reference)
    if place is None:
        raise Misuse(f"{reference} is no algorithm from outside")
    path, _, attribute = place.rpartition(":")
    return f"{Path(path).stem if path.endswith('.py') else path}:{attribute}"


def arrived(reference: str, place: str) -> None:
    """From now on this reference is what can be imported as `place`."""
    if reference not in _stand_ins:
        _stand_ins[reference] = _loaded(reference, place)


@contextmanager
def lent(entry: Algorithm) -> Iterator[str]:
    """A reference, for the length of a block, to an entry that stands in no module."""
    reference = f"<{entry.name}>"
    _stand_ins[reference] = entry
    try:
        yield reference
    finally:
        del _stand_ins[reference]


def offered() -> list[str]:
    """The names that installed packages offer."""
    return sorted(_offers())


def source_of(reference: str) -> Path:
    """The file, or the directory of the package, that holds the module of a reference."""
    name = importable(reference).partition(":")[0]
    place = _place(reference) or ""
    if place.rpartition(":")[0].endswith(".py"):
        return Path(place.rpartition(":")[0])
    importlib.import_module(name)
    file = sys.modules[name.partition(".")[0]].__file__
    if file is None:
        raise Misuse(f"{reference}: {name.partition('.')[0]} is a namespace without a file")
    return Path(file).parent if Path(file).name == "__init__.py" else Path(file)


def _place(reference: str) -> str | None:
    """Where the entry stands: `path.py:ENTRY` or `module:ENTRY`."""
    if ":" in reference:
        return absolute(reference)
    offer = _offers().get(reference)
    return None if offer is None else offer.value


@cache
def _offers() -> dict[str, EntryPoint]:
    return {offer.name: offer for offer in entry_points(group=GROUP)}


@cache
def _loaded(reference: str, place: str) -> Algorithm:
    where, _, attribute = place.rpartition(":")
    module = _module_of_file(reference, where) if where.endswith(".py") else _module(reference, where)
    entry = getattr(module, attribute, None)
    if entry is None:
        there = [name for name, value in vars(module).items() if isinstance(value, Algorithm)]
        raise Misuse(f"{reference}: {where} has no {attribute}; its algorithms: {', '.join(there) or 'none'}")
    if not isinstance(entry, Algorithm):
        raise Misuse(f"{reference}: {attribute} is no Algorithm but {type(entry).__name__}")
    _judge(reference, entry)
    return entry


def _judge(reference: str, entry: Algorithm) -> None:
    if not NAME.fullmatch(entry.name):
        raise Misuse(f"{reference}: the name {entry.name!r} has to be a-z, 0-9 and _, 40 characters at most")
    if ":" not in reference and entry.name != reference:
        raise Misuse(f"{reference}: an installed package offers {entry.name} by this name")
    if not entry.version:
        raise Misuse(f'{reference}: {entry.name} has no version; write version="0.1" into its entry')
    if unknown := set(entry.needs) - set(Need):
        raise Misuse(f"{reference}: nothing can need {min(unknown)!r}; there are: {', '.join(Need)}")


def _module_of_file(reference: str, where: str) -> ModuleType:
    path = Path(where).resolve()
    if not path.is_file():
        raise Misuse(f"{reference}: there is no file {where}")
    if not path.stem.isidentifier() or path.stem in sys.stdlib_module_names:
        raise Misuse(f"{reference}: no module can be called {path.stem}; give the file another name")
    known = sys.modules.get(path.stem)
    if known is not None:
        if _is_same(known, path):
            return known
        raise Misuse(f"{reference}: another module is called {path.stem}; give the file another name")
    spec = importlib.util.spec_from_file_location(path.stem, path)
    if spec is None or spec.loader is None:
        raise Misuse(f"{reference}: Python cannot load {where}")
    module = importlib.util.module_from_spec(spec)
    sys.modules[path.stem] = module
    try:
        spec.loader.exec_module(module)
    except Exception as error:
        del sys.modules[path.stem]
        raise Misuse(f"{reference}: {_told(error, str(path))}") from error
    return module


def _is_same(module: ModuleType, path: Path) -> bool:
    """Whether a module is this file, or a copy of it."""
    file = Path(module.__file__ or "")
    return file.is_file() and (file.resolve() == path or file.read_bytes() == path.read_bytes())


def _module(reference: str, name: str) -> ModuleType:
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        if error.name is not None and f"{name}.".startswith(f"{error.name}."):
            raise Misuse(
                f"{reference}: there is no module {name}; a file is written path/{name}.py:ENTRY"
            ) from error
        raise Misuse(f"{reference}: {_told(error, '')}") from error
    except Exception as error:
        raise Misuse(f"{reference}: {_told(error, '')}") from error


def _told(error: Exception, file: str) -> str:
    """What went wrong in a module, and in which line: the last one of the file, if it is known."""
    if isinstance(error, SyntaxError):
        line, where = error.lineno, error.filename
    else:
        frames = [frame for frame in traceback.extract_tb(error.__traceback__) if "importlib" not in frame[0]]
        own = [frame for frame in frames if frame.filename == file] or frames[1:]
        line, where = (own[-1].lineno, own[-1].filename) if own else (None, file)
    place = f"{Path(where or file).name}, line {line}: " if line else ""
    return f"{place}{type(error).__name__}: {' '.join(str(error).split())}"
