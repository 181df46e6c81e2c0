"""A second judge, for tests only: the definitions written out with Python sets, as slow as they please.

It shares nothing with `aforesaid.check` but the trace. It derives happens-before from the events of the logs,
as an explicit transitive closure, and decides every property by looking at all pairs.
"""

from dataclasses import dataclass, field
from typing import Any

from aforesaid.trace import MemoryTrace

Pairs = set[tuple[Any, ...]]


@dataclass
class Judgement:
    """For each property its value, and exactly what violates it."""

    values: dict[str, str] = field(default_factory=dict)
    violations: dict[str, Pairs] = field(default_factory=dict)

    def note(self, name: str, violations: Pairs, doubt: bool = False) -> None:
        self.values[name] = "violated" if violations else "unknown" if doubt else "kept"
        self.violations[name] = violations


class Brute:
    """One trace, taken apart into plain Python."""

    def __init__(self, trace: MemoryTrace) -> None:
        messages, processes = trace.messages, trace.processes
        self.trace = trace
        self.processes = range(len(processes))
        self.messages = range(len(messages))
        self.origin = messages.origin.tolist()
        self.number = messages.number.tolist()
        self.sent_after = messages.sent_after.tolist()
        self.sent_ns = messages.time_ns.tolist()
        self.recorded = [set(messages.after[m].tolist()) for m in self.messages]
        to_all, audience = (
            messages.to_all.tolist(),
            [set(messages.audience[m].tolist()) for m in self.messages],
        )
        self.audience = [set(self.processes) if to_all[m] else audience[m] for m in self.messages]
        self.fate, self.complete = processes.fate, processes.complete.tolist()
        self.base = [processes.base[p].tolist() for p in self.processes]
        self.logs = [trace.log(p).message.tolist() for p in self.processes]
        self.times = [trace.log(p).time_ns.tolist() for p in self.processes]
        self.sent = {m for m in self.messages if self.sent_after[m] >= 0}
        self.lost = {m for m in self.messages if m not in self.sent and not self.log_is_whole(self.origin[m])}
        self.first: list[dict[int, int]] = []
        for log in self.logs:
            first: dict[int, int] = {}
            for position, message in enumerate(log):
                if message in self.messages:
                    first.setdefault(message, position)
            self.first.append(first)
        self.excused: set[tuple[int, int]] = set()
        """(process, message): what the process may lack although it was owed."""
        self.events = [self._events(p) for p in self.processes]
        self.calls: dict[tuple[int, int], list[tuple[int, int]]] = {}
        """By process and message, the time and the position of each call that it is stable."""
        calls = trace.stabilities
        for p, m, time, position in zip(
            *(column.tolist() for column in (calls.process, calls.message, calls.time_ns, calls.position)),
            strict=True,
        ):
            self.calls.setdefault((p, m), []).append((time, position))

    def log_is_whole(self, origin: int) -> bool:
        return self.complete[origin] if origin >= 0 else all(self.complete)

    def _events(self, process: int) -> list[tuple[str, int]]:
        """What a process did, in order. Its deliveries of its own messages teach it nothing: left out."""
        own = [m for m in self.messages if m in self.sent and self.origin[m] == process]
        own.sort(key=lambda m: self.number[m])
        events: list[tuple[str, int]] = []
        for position in range(len(self.logs[process]) + 1):
            events += [("send", m) for m in own if self.sent_after[m] == position]
            if position < len(self.logs[process]):
                message = self.logs[process][position]
                if message in self.messages and self.origin[message] != process:
                    events.append(("deliver", message))
        return events

    def judge(self) -> Judgement:
        self.find_order()
        said = Judgement()
        self.judge_deliveries(said)
        self.judge_foresight(said)
        self.judge_order(said)
        self.judge_liveness(said)
        self.judge_stability(said)
        said.note("recorded", self.lies, any(self.recorded[m] for m in self.lost))
        return said

    def find_order(self) -> None:
        """Happens-before from the events alone, and the corrected predecessors with it."""
        direct: dict[int, set[int]] = {m: set() for m in self.messages}
        spans: dict[int, list[tuple[str, int]]] = {}
        for events in self.events:
            learned: set[int] = set()
            span: list[tuple[str, int]] = []
            for kind, message in events:
                if kind == "send":
                    direct[message] = set(learned)
                    spans[message] = span
                    span = []
                learned.add(message)
                span.append((kind, message))
        self.direct = direct
        self.past = closure(direct)
        truthful = {m: self.recorded[m] & direct[m] for m in self.messages}
        self.lies: Pairs = {
            ("false", self.origin[m], m, x)
            for m in self.messages
            if m not in self.lost
            for x in self.recorded[m] - truthful[m]
        }
        self.cyclic = any(m in self.past[m] for m in self.messages)
        added = self.suspects(truthful, spans) if self.cyclic else self.immediate()
        added = {m: added[m] - truthful[m] for m in self.messages}
        self.lies |= {("missing", self.origin[m], m, x) for m in added for x in added[m]}
        self.corrected = {m: truthful[m] | added[m] for m in self.messages}
        self.corrected_past = closure(self.corrected)
        assert self.cyclic == any(m in self.corrected_past[m] for m in self.messages)
        if not self.cyclic:
            assert self.past == self.corrected_past, "R' does not generate happens-before"
        self.exempt = [
            set(self.base[p]).union(*(self.corrected_past[x] for x in self.base[p])) for p in self.processes
        ]

    def immediate(self) -> dict[int, set[int]]:
        """The transitive reduction of happens-before: nothing is between a message and these."""
        return {
            m: {x for x in self.past[m] if not any(x in self.past[y] for y in self.past[m])}
            for m in self.messages
        }

    def suspects(
        self, truthful: dict[int, set[int]], spans: dict[int, list[tuple[str, int]]]
    ) -> dict[int, set[int]]:
        """In a circle there is no reduction: what was learned and does not follow from the record."""
        suspects: dict[int, set[int]] = {m: set() for m in self.messages}
        known = closure(truthful)
        if any(m in known[m] for m in self.messages):
            known = truthful
        for message, span in spans.items():
            before_span = self.direct[span[0][1]] if span and span[0][0] == "send" else set()
            here = {x for _, x in span} - before_span
            for x in here - known[message]:
                if not any(x in truthful[y] for y in here):
                    suspects[message].add(x)
        return suspects

    def owes(self, process: int, message: int) -> bool:
        return process in self.audience[message] and message not in self.exempt[process]

    def judge_deliveries(self, said: Judgement) -> None:
        twice, created, strange, doubt = set(), set(), set(), False
        for p, log in enumerate(self.logs):
            for message in log:
                if message not in self.messages:
                    created.add((p, message))
                    continue
                if log.count(message) > 1:
                    twice.add((p, message))
                if message in self.lost:
                    doubt = True
                elif message not in self.sent:
                    created.add((p, message))
                elif p not in self.audience[message]:
                    strange.add((p, message))
        said.note("no_duplicate", twice)
        said.note("no_creation", created, doubt)
        said.note("audience", strange)
        self.delivered_lost = doubt

    def judge_foresight(self, said: Judgement) -> None:
        early: Pairs = set()
        for p, first in enumerate(self.first):
            for message, position in first.items():
                if message in self.sent:
                    if self.origin[message] == p and position < self.sent_after[message]:
                        early.add(("own", p, message))
                    if self.trace.run.clock == "global" and self.times[p][position] < self.sent_ns[message]:
                        early.add(("clock", p, message))
        past = self.corrected_past
        for message in self.messages:
            if message in past[message] and not any(
                x < message and x in past[message] and message in past[x] for x in self.messages
            ):
                early.add(("cycle", self.origin[message], message))
        said.note("no_foresight", early)

    def late(self, process: int, message: int, x: int) -> bool:
        """Whether a process that delivered the message was owed x, and had not delivered it before."""
        first = self.first[process]
        return (
            x != message and self.known(process, x) and first.get(x, len(self.logs[process])) > first[message]
        )

    def judge_order(self, said: Judgement) -> None:
        fifo: Pairs = set()
        some_fifo = False
        for p, first in enumerate(self.first):
            for message in first:
                if message in self.sent:
                    earlier = [
                        x
                        for x in self.sent
                        if self.origin[x] == self.origin[message]
                        and self.number[x] < self.number[message]
                        and self.owes(p, x)
                    ]
                    some_fifo |= any(self.late(p, message, x) for x in earlier)
                    if earlier and self.late(p, message, max(earlier, key=lambda x: self.number[x])):
                        fifo.add((p, message))
        assert some_fifo == bool(fifo)
        said.note("fifo", fifo, self.delivered_lost)
        if self.cyclic:
            said.note("causal", set(), True)
            said.note("causal_unless_lost", set(), True)
            return
        self.judge_causal(said)

    def judge_causal(self, said: Judgement) -> None:
        self.disordered: Pairs = set()  # (p, m, x) for every x -> m that p was owed before m
        immediate: Pairs = set()
        found: Pairs = set()
        for p, first in enumerate(self.first):
            for message in first:
                for x in self.past[message]:
                    if self.late(p, message, x):
                        self.disordered.add((p, message, x))
                        between = [y for y in self.past[message] if x in self.past[y]]
                        if not any(self.known(p, y) for y in between):
                            immediate.add((p, message))
                if self.overtakes(p, message):
                    found.add((p, message))
        # The counted deliveries lie between the fewest that could be blamed and all that are out of order.
        assert immediate <= found <= {(p, message) for p, message, _ in self.disordered}
        assert bool(found) == bool(self.disordered)
        said.note("causal", found, self.delivered_lost)
        self.judge_causal_unless_lost(said)

    def judge_causal_unless_lost(self, said: Judgement) -> None:
        lacking = [
            (p, m) for p in self.processes for m in self.sent if self.owes(p, m) and m not in self.first[p]
        ]
        doubt = any(self.fate[self.origin[m]] == "unknown" for _, m in lacking)
        self.excused = {(p, m) for p, m in lacking if self.fate[self.origin[m]] != "alive"}
        self.excused -= {(p, m) for p, m in lacking if self.fate[self.origin[m]] == "left"}
        disordered = {(p, m, x) for p, m, x in self.disordered if (p, x) not in self.excused}
        found = {(p, m) for p, first in enumerate(self.first) for m in first if self.overtakes(p, m)}
        assert bool(found) == bool(disordered)
        self.excused = set()
        said.note("causal_unless_lost", found, doubt or self.delivered_lost)

    def known(self, process: int, message: int) -> bool:
        return message in self.sent and self.owes(process, message) and (process, message) not in self.excused

    def overtakes(self, process: int, message: int) -> bool:
        """Whether a delivery came before a corrected predecessor, followed through those hidden from p."""
        waiting, seen = list(self.corrected[message]), set()
        while waiting:
            x = waiting.pop()
            if self.late(process, message, x):
                return True
            if x not in seen and not self.known(process, x):
                seen.add(x)
                waiting += self.corrected[x]
        return False

    def judge_liveness(self, said: Judgement) -> None:
        for name in ("validity", "agreement", "uniform_agreement"):
            violations: Pairs = set()
            doubt = False
            for message in self.sent | self.lost:
                holds = self.premise(name, message)
                for p in self.processes:
                    if self.fate[p] not in ("alive", "unknown") or message in self.first[p]:
                        continue
                    if holds == "no" or not self.owes(p, message):
                        continue
                    if (
                        holds == "yes"
                        and message in self.sent
                        and self.fate[p] == "alive"
                        and self.complete[p]
                        and self.trace.run.ended == "drained"
                    ):
                        violations.add((p, message))
                    else:
                        doubt = True
            said.note(name, violations, doubt)

    def premise(self, name: str, message: int) -> str:
        """Whether the property has something to say about a message: yes, no or maybe."""
        if name == "validity":
            origin = self.origin[message]
            fates = [self.fate[origin] if origin >= 0 else "unknown"]
        else:
            fates = [self.fate[p] for p in self.processes if message in self.first[p]]
            if name == "uniform_agreement":
                return "yes" if fates else "no"
        return "yes" if "alive" in fates else "maybe" if "unknown" in fates else "no"

    def judge_stability(self, said: Judgement) -> None:
        found: Pairs = set()
        doubt = False
        for (p, message), calls in self.calls.items():
            if len(calls) > 1:
                found.add(("twice", p, message))
            if message in self.lost:
                doubt = True
            elif message not in self.sent:
                found.add(("created", p, message))
            else:
                for time, position in calls:
                    own, early, open_ = self.too_early(p, message, time, position)
                    found |= {("own", p, message)} if own else set()
                    found |= {("early", p, message)} if early else set()
                    doubt |= open_
        for message in self.sent | self.lost:
            origin = self.origin[message]
            fate, whole = (self.fate[origin], self.complete[origin]) if origin >= 0 else ("unknown", False)
            lacking = [p for p in self.processes if self.owes(p, message) and message not in self.first[p]]
            if (origin, message) in self.calls or fate not in ("alive", "unknown"):
                continue
            if any(self.fate[p] == "alive" and self.complete[p] for p in lacking):
                continue
            for_certain = message in self.sent and fate == "alive" and whole
            if (
                for_certain
                and self.drained
                and not any(self.fate[p] in ("alive", "unknown") for p in lacking)
            ):
                found.add(("missing", origin, message))
            else:
                doubt = True
        said.note("stability", found, doubt)

    def too_early(self, process: int, message: int, time: int, position: int) -> tuple[bool, bool, bool]:
        """Whether a call came before its process's delivery, before a correct one's, before one's perhaps."""
        timed = self.trace.run.clock == "global"
        own = self.owes(process, message) and self.first[process].get(message, position) >= position
        early = doubt = False
        for p in self.processes:
            if self.fate[p] not in ("alive", "unknown") or not self.owes(p, message):
                continue
            if message in self.first[p]:
                late = timed and self.times[p][self.first[p][message]] > time
                certain = self.fate[p] == "alive"
            else:
                late = True
                certain = self.fate[p] == "alive" and self.complete[p] and (timed or self.drained)
            early |= late and certain
            doubt |= late and not certain
        return own, early, doubt

    @property
    def drained(self) -> bool:
        return self.trace.run.ended == "drained"


def closure(direct: dict[int, set[int]]) -> dict[int, set[int]]:
    """Transitive closure (Warshall)."""
    past = {message: set(before) for message, before in direct.items()}
    for middle in past:
        for message in past:
            if middle in past[message]:
                past[message] |= past[middle]
    return past
