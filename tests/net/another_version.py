"""`aforesaid` of another version: python another_version.py VERSION STATE_FORMAT ARGUMENTS..."""

import sys

from aforesaid.core import version

version.__version__, version.STATE_FORMAT = sys.argv[1], int(sys.argv[2])
del sys.argv[1:3]

from aforesaid.cli import main  # noqa: E402

main()
