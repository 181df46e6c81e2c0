"""DataFrames with the columns of traces: checked before any work, or read where only Spark can."""

from collections.abc import Mapping
from pathlib import Path

import pyarrow as pa
from pyspark.errors import AnalysisException
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as sql
from pyspark.sql.pandas.types import to_arrow_schema

from aforesaid.core import Misuse
from aforesaid.pipeline.auditing.sifted import TABLES
from aforesaid.trace.parquet.schema import OPTIONAL, RUN_PREFIX, check_columns


def checked_frames(frames: Mapping[str, DataFrame]) -> Mapping[str, DataFrame]:
    """The same, if each has the columns of its table, and the run's name."""
    for name in TABLES:
        if name not in frames:
            if name not in OPTIONAL:
                raise Misuse(f"there is no DataFrame {name}; an audit needs {', '.join(_NEEDED)}")
            continue
        if "run" not in frames[name].columns:
            raise Misuse(f"the DataFrame {name} lacks column run")
        schema: pa.Schema = to_arrow_schema(frames[name].schema)
        check_columns(Path(f"the DataFrame {name}"), name, schema)
    return frames


_NEEDED = [name for name in TABLES if name not in OPTIONAL]


def frames_at(spark: SparkSession, root: str) -> dict[str, DataFrame]:
    """The tables at a URI that Spark's own reader knows, in our layout or in others'."""
    frames = {}
    for name in TABLES:
        ours = _read(spark, f"{root}/{RUN_PREFIX}*/{name}.parquet")
        if ours is not None:
            frames[name] = ours.withColumn("run", _run_of_file())
            continue
        for path in (f"{root}/{name}.parquet", f"{root}/{name}"):
            others = _read(spark, path)
            if others is not None:
                frames[name] = others
                break
    if not frames:
        raise Misuse(f"{root} is not a trace: Spark finds no table there")
    return frames


def _read(spark: SparkSession, path: str) -> DataFrame | None:
    try:
        return spark.read.parquet(path)
    except AnalysisException as error:
        if error.getCondition() == "PATH_NOT_FOUND":
            return None
        raise


def _run_of_file() -> Column:
    """The run's name, from the directory its file is in."""
    path = sql.regexp_extract(sql.col("_metadata.file_path"), f"/{RUN_PREFIX}([^/]*)/", 1)
    # What a URI says by a percent sign; a plus is a plus there.
    return sql.url_decode(sql.replace(path, sql.lit("+"), sql.lit("%2B")))
