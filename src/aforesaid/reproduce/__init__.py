"""What reproduces papers' tables and figures, and goes beyond them: data comes in, files go out.

Nothing here knows the command line: whoever wants to see progress passes `Telling`. Import modules by name:
`figures` needs numba and matplotlib, `table1` neither.
"""
