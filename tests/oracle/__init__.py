"""An independent judge of hybrid buffering, and the small random world it watches.

`judge` knows the paper's definitions and the event log, nothing of the protocols' code; `world` runs the
protocols and writes the log; `inside` looks at their indexes by brute force. `campaign` runs many worlds,
`exhaust` every schedule of a small one. On a `stage` a test decides itself what arrives next. `mutants` and
`printed` are what the paper prints, to be found wanting.
"""
