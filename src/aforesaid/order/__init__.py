"""Anybody's events in causal order, in one process: each has an id and names the ids it follows."""

from aforesaid.order.arrange import arrange, arrange_async
from aforesaid.order.order import Full, Order, Unfinished
from aforesaid.order.words import DeadLetter, Ordered, Why

__all__ = [
    "DeadLetter",
    "Full",
    "Order",
    "Ordered",
    "Unfinished",
    "Why",
    "arrange",
    "arrange_async",
]
