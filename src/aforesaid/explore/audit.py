"""Proof, after the search, of what the search assumed.

Reductions assume things of the protocol that no look at one state can tell. They are facts about local
steps, and the search has met every local step there is (within the scope); so they are checked against the
whole graph of local steps before a result is believed:
- a frame that was taken away as dead is a no-op in every local state that can follow (closed over steps);
- states that are one but for the order of mappings behave alike, for every input (see `picture`);
- whoever has sent g finds h dead, for every pair that postponing relied on.
The explored graph is enough. Suppose some run of the full system is not mirrored by an explored one, and
take the shortest: up to its last step it is mirrored, so its local states were explored, so the audit has
covered them, so the last step is a no-op on a dead frame or is mirrored as well.
"""

import pickle
from collections import defaultdict
from collections.abc import Iterable

from aforesaid.explore.cells import Cells
from aforesaid.explore.local import LocalGraph
from aforesaid.explore.picture import differing


def revived(cells: Cells) -> set[int]:
    """The frames that were taken away as dead and have an effect in some later local state."""
    graph, following = cells.graph, _following(cells.graph)
    dead = {local: set(frames) for local, frames in cells.taken_away.items()}
    found: set[int] = set()
    waiting = list(dead)
    while waiting:
        local = waiting.pop()
        for after in following.get(local, ()):
            known = dead.setdefault(after, set())
            new = dead[local] - known - found
            if new:
                found.update(frame for frame in new if not graph.is_no_op(after, frame))
                known |= new
                waiting.append(after)
    return found


def misrepresented(graph: LocalGraph) -> set[str]:
    """The attributes whose mappings differ in order between equal states that do not behave alike."""
    looked_at = graph.looked_at
    waiting = True
    while waiting:
        waiting = False
        for local in range(len(graph.rows)):
            usual, *others = graph.representations.get(local, {"": b""}).values()
            for pickled in others:
                for do, what in graph.inputs[local][looked_at[local, pickled] :]:
                    looked_at[local, pickled] += 1
                    waiting = True
                    if graph.run(local, do, what, pickled) != graph.step(local, do, what):
                        return set(differing(pickle.loads(usual), pickle.loads(pickled)))
    return set()


def unmet(cells: Cells, obligations: Iterable[tuple[int, int]]) -> bool:
    """Whether some process that has sent g finds h alive, for a pair (g, h)."""
    wanted = defaultdict(set)
    for sent, dead in obligations:
        wanted[sent].add(dead)
    steps = [step for steps in list(cells.graph.steps.values()) for step in steps]
    return not all(
        cells.is_dead(step.after, dead)
        for step in steps
        for sent in step.sent
        for dead in wanted.get(sent, ())
    )


def _following(graph: LocalGraph) -> dict[int, set[int]]:
    following: dict[int, set[int]] = defaultdict(set)
    for (local, _, _), steps in graph.steps.items():
        following[local].update(step.after for step in steps if step.after != local)
    return following
