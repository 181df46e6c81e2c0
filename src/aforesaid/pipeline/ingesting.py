"""Others' logs read on Spark, a task for each file: what is slow about them is to make events of lines.

What comes back of a line is a few numbers, and of a name one copy. The driver puts the parts behind each
other in the order of the files, and makes the trace.
"""

from collections.abc import Sequence
from functools import partial

from pyspark.sql import SparkSession

from aforesaid.core import Misuse
from aforesaid.foreign.columns import Columns
from aforesaid.foreign.events import Count
from aforesaid.foreign.formats import LINES
from aforesaid.foreign.mapping import Mapping
from aforesaid.pipeline.progress import Tell
from aforesaid.pipeline.tasks import run_tasks
from aforesaid.storage import Place

WAVE_TASKS = 32
"""How many files' events the driver takes over at a time."""


def read_lines(
    spark: SparkSession,
    format: str,
    paths: Sequence[Place],
    mapping: Mapping,
    count: Count,
    tell: Tell = lambda done, total: None,
) -> Columns:
    """The events of files that have one in a line, in the order of the files."""
    if format not in LINES or format == "shiviz":
        on_spark = ", ".join(name for name in LINES if name != "shiviz")
        raise Misuse(f"{format} is not read on Spark, as its lines hang together; {on_spark} are")
    columns = Columns()
    for first in range(0, len(paths), WAVE_TASKS):
        wave = paths[first : first + WAVE_TASKS]
        for part, counted in run_tasks(spark, partial(_read, format, mapping), wave, tell):
            columns.extend(part)
            count.add(counted)
    return columns


def _read(format: str, mapping: Mapping, path: Place) -> tuple[Columns, Count]:
    count = Count()
    return Columns().take(LINES[format]([path], mapping, count)), count
