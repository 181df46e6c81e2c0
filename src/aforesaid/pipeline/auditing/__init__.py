"""Audits: every rule of `check` on any number of runs of any size, as Spark tasks.

`judging` judges runs where they lie, `gathering` and `scattered` rows that others laid out; `driver` chooses
and puts it all together, `results` tells it. What the tasks do (`work`, `sift`, `sifted`, `fitting`, `files`,
`parcels`, `ranges`) knows nothing of Spark.
"""

from aforesaid.pipeline.auditing.driver import audit
from aforesaid.pipeline.auditing.options import AuditOptions
from aforesaid.pipeline.auditing.outcome import Outcome
from aforesaid.pipeline.auditing.results import Audit, summary, write_by_spark, write_results

__all__ = ["Audit", "AuditOptions", "Outcome", "audit", "summary", "write_by_spark", "write_results"]
