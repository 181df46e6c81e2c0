"""Cycles in what should be an order: which messages are entangled, and a short cycle to show for it.

Tarjan's strongly connected components, with an explicit stack, over what is left when everything before all
cycles has been taken away. Plain Python: an honest trace never comes here.
"""

from collections import deque

from aforesaid.check.order import Order


def entangled(order: Order) -> list[list[int]]:
    """The sets of two or more messages that all come before each other; each sorted, by first message."""
    parent, starts = order.parent.tolist(), order.starts.tolist()
    settled = set(order.topological)
    index: dict[int, int] = {}
    low: dict[int, int] = {}
    open_messages: list[int] = []
    is_open: set[int] = set()
    knots: list[list[int]] = []
    for root in range(order.message_count):
        if root in settled or root in index:
            continue
        path = [(root, starts[root])]
        while path:
            message, place = path.pop()
            if message not in index:
                index[message] = low[message] = len(index)
                open_messages.append(message)
                is_open.add(message)
            while place < starts[message + 1]:
                earlier = parent[place]
                if earlier not in settled and earlier not in index:
                    # Come back to this edge afterwards: by then the other end has its low link.
                    path.append((message, place))
                    path.append((earlier, starts[earlier]))
                    break
                if earlier in is_open:
                    low[message] = min(low[message], low[earlier])
                place += 1
            else:
                if low[message] == index[message]:
                    knot = _closed(open_messages, is_open, message)
                    if len(knot) > 1:
                        knots.append(knot)
    return sorted(knots)


def _closed(open_messages: list[int], is_open: set[int], root: int) -> list[int]:
    knot: list[int] = []
    while not knot or knot[-1] != root:
        knot.append(open_messages.pop())
        is_open.remove(knot[-1])
    return sorted(knot)


def shortest_cycle(order: Order, knot: list[int]) -> list[int]:
    """A shortest cycle through the first of an entangled set: each before the next, and so round."""
    first, members = knot[0], set(knot)
    next_after = {first: first}
    queue = deque([first])
    while queue:
        message = queue.popleft()
        for earlier in order.before(message).tolist():
            if earlier == first:
                cycle = [first]
                while message != first:
                    cycle.append(message)
                    message = next_after[message]
                return cycle
            if earlier in members and earlier not in next_after:
                next_after[earlier] = message
                queue.append(earlier)
    raise AssertionError(f"message {first} is entangled but on no cycle")
