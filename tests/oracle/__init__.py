"""An independent judge of hybrid buffering, and the small random world it watches.

`judge` knows the paper's definitions and the event log, nothing of the protocols' code; its local half is a
`mind` for each process. `world` runs the protocols and writes the log; `inside` looks at their indexes by
brute force. `campaign` runs many worlds; `watched` gives processes a mind of their own, for the explorer. On
a `stage` a test decides itself what arrives next. `mutants` and `printed` are what the paper prints, to be
found wanting.
"""
