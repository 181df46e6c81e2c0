"""What a member of a changing group keeps of the past, and how those who come late, or come back, get it.

`log` is what one node delivered, in its order. `history` is that log, what is known by it, and the way of
every message to the application. `keeping` is the host that asks for what it lacks before it goes on live,
and says again what its new group lacks; `answering` hands the log on to who asks. docs/durability.md argues
why nothing is delivered twice or out of order.
"""
