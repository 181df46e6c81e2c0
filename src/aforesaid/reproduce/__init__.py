"""What reproduces papers' tables and figures, and goes beyond them: data comes in, files go out.

Nothing here knows the command line: whoever wants to see progress passes `Telling`, and who has a cluster
passes a `Runner`. `making` plans and makes; `figures` and `baselines` say which runs a figure is drawn from,
`running` makes those, `measured` reads them, `drawing` draws. Import modules by name: `figures` needs
matplotlib, `flooding` numba, `table1` neither.
"""
