"""One rule for each property; `judge` runs them. Rules know nothing of each other."""

from aforesaid.check.rules.audience import Audience
from aforesaid.check.rules.base import Case, Findings, Question, Rule, Watcher
from aforesaid.check.rules.causal import Causal, CausalUnlessLost
from aforesaid.check.rules.fifo import Fifo
from aforesaid.check.rules.liveness import Agreement, Liveness, Tally, UniformAgreement, Validity
from aforesaid.check.rules.no_creation import NoCreation
from aforesaid.check.rules.no_duplicate import NoDuplicate
from aforesaid.check.rules.no_foresight import NoForesight
from aforesaid.check.rules.recorded import Recorded
from aforesaid.check.rules.stability import Stability

__all__ = [
    "Agreement",
    "Audience",
    "Case",
    "Causal",
    "CausalUnlessLost",
    "Fifo",
    "Findings",
    "Liveness",
    "NoCreation",
    "NoDuplicate",
    "NoForesight",
    "Question",
    "Recorded",
    "Rule",
    "Stability",
    "Tally",
    "UniformAgreement",
    "Validity",
    "Watcher",
]
