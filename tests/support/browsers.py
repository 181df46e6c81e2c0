"""The browser of this machine, if there is one: no Python package brings any."""

import os
import shutil

NAMES = ("chromium", "chromium-browser", "google-chrome", "chrome")

MISSING = (
    "left out: tests/browser, which looks at the explorer page in a browser, and there is none here: "
    "`apt-get install chromium`, or set AFORESAID_BROWSER to the path of a Chromium or Chrome"
)


def installed() -> str | None:
    return next(filter(None, (os.environ.get("AFORESAID_BROWSER"), *map(shutil.which, NAMES))), None)
