"""`python -m aforesaid.testing mine.py:ENTRY [PART]`: the conformance kit, or one part of it."""

import sys

from aforesaid.core import AforesaidError
from aforesaid.protocols.catalog import algorithm
from aforesaid.testing import parts


def main(reference: str, *titles: str) -> None:
    for part in parts(algorithm(reference)):
        if not titles or part.title in titles:
            part()
            sys.stdout.write(f"conforms: {part}\n")


if __name__ == "__main__":
    try:
        main(*sys.argv[1:])
    except AforesaidError as error:
        sys.exit(str(error))
