"""What a node said and delivered: trace segments on disk, and the trace that is made of them."""
