"""Broadcast layers that causal broadcasts stand on (beb, rb, urb), and how they are stacked."""
