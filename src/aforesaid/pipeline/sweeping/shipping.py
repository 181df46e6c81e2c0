"""Algorithms from outside on their way to the executors: nobody but the driver has to have them.

The module of each, a file or a whole package, travels as an archive that executors import from. Its name has
a part of its content's hash, so that no session takes one for another. A task is told by which name it can be
imported there, and uses that in place of the path that the scenario has. What the module imports besides, and
is not installed on the executors, does not travel.
"""

import hashlib
import tempfile
import zipfile
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from pyspark.sql import SparkSession

from aforesaid.protocols import outside
from aforesaid.protocols.catalog import CATALOG


@contextmanager
def shipped(spark: SparkSession, references: Iterable[str]) -> Iterator[Mapping[str, str]]:
    """Executors get the modules of those that are not ours; by reference, what to import there.

    They fetch the archives when they begin a task: these are there for the length of the block.
    """
    places = {}
    with tempfile.TemporaryDirectory(prefix="aforesaid-modules-") as scratch:
        archives: dict[Path, Path] = {}
        for reference in sorted(set(references) - CATALOG.keys()):
            source = outside.source_of(reference)
            if source not in archives:
                archives[source] = _packed(source, Path(scratch))
                spark.addArtifacts(str(archives[source]), pyfile=True)
            places[reference] = outside.importable(reference)
        yield places


def _packed(source: Path, scratch: Path) -> Path:
    """A module or package as an archive; its content tells its name."""
    files = [source]
    if source.is_dir():
        files = [file for file in sorted(source.rglob("*")) if file.is_file() and file.suffix != ".pyc"]
    content = hashlib.blake2b(digest_size=8)
    for file in files:
        content.update(str(file.relative_to(source.parent)).encode() + file.read_bytes())
    archive = scratch / f"{source.stem}-{content.hexdigest()}.zip"
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as packed:
        for file in files:
            packed.write(file, file.relative_to(source.parent))
    return archive
