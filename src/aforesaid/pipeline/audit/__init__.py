"""Audits: every rule of `check` on any number of runs of any size, as Spark tasks over their files.

`sift` and `work` know nothing of Spark; `judging` and `relay` hand their functions to it; `driver` puts it
all together, and `results` writes it down.
"""

from aforesaid.pipeline.audit.driver import Audit, audit
from aforesaid.pipeline.audit.judging import AuditOptions
from aforesaid.pipeline.audit.results import summary, write_results
from aforesaid.pipeline.audit.work import Outcome

__all__ = ["Audit", "AuditOptions", "Outcome", "audit", "summary", "write_results"]
