"""The logs of nodes while they grow: what is in flight, and the judge that keeps up with them."""
