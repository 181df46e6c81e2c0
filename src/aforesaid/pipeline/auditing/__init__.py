"""Audits: every rule of `check` on any number of runs of any size, as Spark tasks over their files.

`sift` and `work` know nothing of Spark; `judging` and `relay` hand their functions to it; `driver` puts it
all together, and `results` writes it down.
"""

from aforesaid.pipeline.auditing.driver import Audit, audit
from aforesaid.pipeline.auditing.judging import AuditOptions
from aforesaid.pipeline.auditing.results import summary, write_results
from aforesaid.pipeline.auditing.work import Outcome

__all__ = ["Audit", "AuditOptions", "Outcome", "audit", "summary", "write_results"]
