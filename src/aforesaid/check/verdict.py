"""What a judgement looks like: violations, a verdict per property, a report per trace.

A verdict is `kept`, `violated` or `unknown`; unknown is an answer, never a guess, and says why. A violation
names the process, the message and the place in the process's log, and tells in one sentence what is wrong,
so that a reader can check it against two logs by hand.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from aforesaid.core.errors import WrongValue
from aforesaid.trace import Run

VALUES = ("kept", "violated", "unknown")
Detail: TypeAlias = str | int | list[str] | None

PROPERTIES: Mapping[str, str] = {
    "no_duplicate": "No process delivers a message twice.",
    "no_creation": "Every message delivered was sent by its origin.",
    "no_foresight": "No message is delivered before it was sent.",
    "audience": "A message is delivered only by those it is addressed to.",
    "fifo": "Messages of one origin are delivered in the order it sent them.",
    "causal": "A message is delivered only after every message that happened before it.",
    "causal_unless_lost": "As causal, but what a crashed or evicted process sent may be missing for good.",
    "validity": "What a correct process sends, every correct process it is addressed to delivers.",
    "agreement": "What one correct process delivers, every correct process it is addressed to delivers.",
    "uniform_agreement": "What any process delivers, every correct process it is addressed to delivers.",
    "stability": "A message is called stable only once every correct process has delivered it, "
    "and in the end every message is.",
    "recorded": "The recorded predecessors of each message agree with its origin's own log.",
}

ALWAYS_REQUIRED = ("no_foresight", "audience", "recorded")
"""Required whatever an algorithm promises: without them the trace itself cannot be believed."""

POTENTIAL_ONLY = ("fifo", "recorded")
"""Not asked of a run with declared causality, unless by name: there an origin's earlier message need not come
first, and the predecessors are not the recorder's word but the messages'."""

REQUIRED_BY_DEFAULT = tuple(
    name for name in PROPERTIES if name not in ("causal_unless_lost", "uniform_agreement", "stability")
)
"""Required of a run that promises nothing by name: all but what is beyond most algorithms, or implied."""


@dataclass(frozen=True)
class Violation:
    """One thing that should not have happened, or did not happen though it should."""

    property: str
    process: str
    message: str
    position: int | None
    """Where in the process's log it was seen, from 0; None for something missing from the log."""
    sentence: str
    process_index: int
    message_index: int
    details: Mapping[str, Detail] = field(default_factory=dict, hash=False)

    def to_dict(self) -> dict[str, object]:
        return {
            "property": self.property,
            "process": self.process,
            "message": self.message,
            "position": self.position,
            "sentence": self.sentence,
            "process_index": self.process_index,
            "message_index": self.message_index,
            **self.details,
        }


@dataclass(frozen=True)
class Verdict:
    """The judgement on one property."""

    property: str
    value: str
    """One of VALUES."""
    violations: int = 0
    """How many there are, of which `witnesses` shows the first few."""
    witnesses: tuple[Violation, ...] = ()
    note: str = ""
    """Why it is unknown; empty otherwise."""

    def to_dict(self) -> dict[str, object]:
        return {
            "value": self.value,
            "violations": self.violations,
            "witnesses": [witness.to_dict() for witness in self.witnesses],
            "note": self.note,
        }


@dataclass(frozen=True)
class Report:
    """The judgement on one trace."""

    run: Run
    verdicts: dict[str, Verdict]
    required: tuple[str, ...]
    """What `value` asks for unless told otherwise, ALWAYS_REQUIRED included."""

    def value(self, required: Sequence[str] | None = None) -> str:
        """Violated if a required property is, else unknown if one is or was not judged, else kept."""
        names = self.required if required is None else required_names(required, self.run.causality)
        values = {self.verdicts[name].value if name in self.verdicts else "unknown" for name in names}
        if "violated" in values:
            return "violated"
        return "unknown" if "unknown" in values else "kept"

    def required_verdicts(self) -> list[Verdict]:
        """The verdicts on what is required, the gravest first."""
        gravity = ("violated", "unknown", "kept")
        verdicts = [self.verdicts[name] for name in self.required]
        return sorted(verdicts, key=lambda verdict: gravity.index(verdict.value))

    def broken_unpromised(self) -> list[str]:
        """What nobody promised and nobody kept: it counts for no verdict, but whoever reads one must know."""
        return [
            name
            for name, verdict in self.verdicts.items()
            if name not in self.required and verdict.value == "violated"
        ]

    def to_dict(self) -> dict[str, object]:
        return {
            "run": self.run.run,
            "value": self.value(),
            "required": list(self.required),
            "verdicts": {name: verdict.to_dict() for name, verdict in self.verdicts.items()},
        }


def required_names(names: Sequence[str], causality: str = "potential") -> tuple[str, ...]:
    """The named properties and those always required, in the order of PROPERTIES."""
    for name in names:
        if name not in PROPERTIES:
            raise WrongValue(f"no property is called {name!r}; there are: {', '.join(PROPERTIES)}")
    always = set(ALWAYS_REQUIRED)
    if causality == "declared":
        always.discard("recorded")
        if "recorded" in names:
            raise WrongValue("what messages declare is not compared with logs: `recorded` does not apply")
    return tuple(name for name in PROPERTIES if name in names or name in always)
