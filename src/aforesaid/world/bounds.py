"""What a node may hold, whatever befalls it: queues as long as they are configured, and so all else."""

from aforesaid.node.flight import Window
from aforesaid.node.node import Node
from aforesaid.world.plan import Plan


def beyond(plan: Plan, node: Node) -> list[str]:
    """What is more than it may be; [] if nothing is."""
    host = node._running
    inbox, flight = host.inbox, host.flight
    if inbox.closing or plan.group not in ("fixed", "changing"):
        # Its last messages come in whether anyone takes them or not; so does what an earlier life is owed.
        return []
    others = len(plan.names) - 1
    found = []
    if isinstance(flight, Window) and flight.held > plan.out_messages:
        found.append(f"has {flight.held} messages of its own under way")
    if inbox._own_messages > plan.in_messages:
        found.append(f"has {inbox._own_messages} messages from itself to take")
    strangers = inbox.messages - inbox._own_messages
    if plan.fixed and strangers > plan.in_messages + others * plan.out_messages:
        found.append(f"has {strangers} messages from others to take")
    return found
