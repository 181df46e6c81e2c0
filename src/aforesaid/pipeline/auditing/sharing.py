"""Where the tables lie that tasks share, and how executors of other machines come by them."""

import atexit
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from uuid import uuid4

from pyspark.sql import SparkSession

from aforesaid.core import Misuse
from aforesaid.pipeline.auditing.shelf import Shelf


@dataclass(frozen=True)
class Shelves:
    """A directory of this machine for the tables of an audit."""

    spark: SparkSession
    directory: Path
    local: bool
    """Whether tasks run on this machine, and see the directory."""

    def new(self) -> Shelf:
        return Shelf(self.directory / f"table-{uuid4().hex}")

    def share(self, shelf: Shelf) -> Shelf:
        """Make it known to every executor, those included that come later."""
        if not self.local:
            self.spark.addArtifacts(str(shelf.path), file=True)
        return shelf

    def drop(self, shelf: Shelf) -> None:
        if self.local:
            shelf.path.unlink(missing_ok=True)


@contextmanager
def shelves(spark: SparkSession, scratch: Path | None) -> Iterator[Shelves]:
    """Shelves for the length of a block, under `scratch` or in the system's directory for such things."""
    try:
        directory = Path(tempfile.mkdtemp(prefix="aforesaid-audit-", dir=scratch)).resolve()
    except OSError as error:
        raise Misuse(f"cannot put temporary files in {scratch}: {error.strerror}") from error
    local = is_local(spark)
    if not local:
        # An executor that comes later asks for every file that was ever shared, as long as the session lives.
        atexit.register(shutil.rmtree, directory, ignore_errors=True)
    try:
        yield Shelves(spark, directory, local)
    finally:
        if local:
            shutil.rmtree(directory, ignore_errors=True)


def is_local(spark: SparkSession) -> bool:
    """Whether the tasks of a session run on this machine."""
    # A client of Spark Connect does not know where the server's tasks run.
    return hasattr(spark, "_jsparkSession") and str(spark.conf.get("spark.master")).startswith("local")
